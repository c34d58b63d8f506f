//! More rules never allow more, and nobody but a person says what is secret.

use jiff::Timestamp;
use pilothouse_core::{
    Answer, Ask, AskId, Decision, Envelope, Facts, FromAgent, Intent, Moment, Policy, Request, Seq,
    Session, Spec, Verdict,
};
use proptest::prelude::*;

use crate::{
    config,
    happening::{actor, answer, policy, request, rules},
    is_person,
};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn another_strict_rule_never_grants(
        request in request(),
        outcomes in rules(),
        at in 0..4_usize,
        refuse in any::<bool>(),
    ) {
        use pilothouse_core::RuleOutcome::{Ask as AskPerson, Refuse};
        let ask = ask(request);
        let before = policy(&outcomes).verdict(&ask);
        let mut more = outcomes;
        more.insert(at.min(more.len()), if refuse { Refuse } else { AskPerson });
        let after = policy(&more).verdict(&ask);
        prop_assert!(!is_yes(&after), "{before:?} became {after:?}");
    }

    #[test]
    fn another_rule_that_allows_never_overrules_a_stricter_one(
        request in request(),
        outcomes in rules(),
        at in 0..4_usize,
    ) {
        use pilothouse_core::RuleOutcome::{Allow, Ask as AskPerson, Refuse};
        let ask = ask(request);
        let before = policy(&outcomes).verdict(&ask);
        let strict = outcomes.iter().any(|it| matches!(it, AskPerson | Refuse));
        let mut more = outcomes;
        more.insert(at.min(more.len()), Allow);
        let after = policy(&more).verdict(&ask);
        if strict {
            prop_assert_eq!(is_yes(&after), is_yes(&before));
            prop_assert!(!is_yes(&after));
        }
    }

    #[test]
    fn rules_give_no_answer_that_the_agent_does_not_take(
        request in request(),
        outcomes in rules(),
    ) {
        let ask = ask(request);
        if let Verdict::Answered { answer, rule: _ } = policy(&outcomes).verdict(&ask) {
            prop_assert_eq!(ask.check(&answer), Ok(()));
            prop_assert!(!ask.is_secret());
        }
    }

    #[test]
    fn an_answer_is_taken_only_if_it_fits(
        request in request(),
        answer in answer(),
        by in actor(),
    ) {
        let (session, moment_policy) = (asked(request), Policy::default());
        let ask = &session.asks()[&AskId(1)];
        let moment = moment(&moment_policy);
        let intent = Intent::Answer {
            ask: ask.id, answer: answer.clone(), digest: None, reason: None, note: None,
        };
        if session.on_intent(&moment, intent, &by).is_ok() {
            prop_assert_eq!(ask.check(&answer), Ok(()));
            prop_assert!(!ask.is_secret() || is_person(&by));
        }
    }

    #[test]
    fn an_amendment_is_never_wider_than_what_was_offered(
        request in request(),
        answer in answer(),
    ) {
        let ask = ask(request);
        if let Answer::Decided { decision, execpolicy_amendment, network_policy_amendment } = &answer
            && ask.check(&answer).is_ok()
            && ask.subject.kind() != pilothouse_core::AskKind::Question
        {
            let mut offers = ask.offers.iter().filter(|it| it.decision == *decision);
            let fits = offers.any(|offer| {
                let prefix = execpolicy_amendment.as_ref().is_none_or(|given| {
                    let proposed = offer.execpolicy_amendment.as_ref();
                    proposed.is_some_and(|it| given.starts_with(it))
                });
                let host = network_policy_amendment.as_ref().is_none_or(|given| {
                    offer.network_policy_amendment.as_ref() == Some(given)
                });
                prefix && host
            });
            prop_assert!(fits, "{answer:?} is more than {:?}", ask.offers);
        }
    }
}

fn is_yes(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Person => false,
        Verdict::Answered { answer, rule: _ } => *answer != Answer::plain(Decision::Decline),
    }
}

fn moment(policy: &Policy) -> Moment<'_> {
    Moment { now: Timestamp::UNIX_EPOCH, human_present: true, policy }
}

fn ask(request: Request) -> Ask {
    asked(request).asks()[&AskId(1)].clone()
}

/// A session whose agent has just asked.
fn asked(request: Request) -> Session {
    let (mut session, policy) = (Session::default(), Policy::default());
    let by = pilothouse_core::Actor::Caller { id: "a".to_owned() };
    let take = |session: &mut Session, record: Vec<_>| {
        for event in record {
            let seq = Seq(session.seq().0 + 1);
            session.apply(&Envelope { seq, at: Timestamp::UNIX_EPOCH, event });
        }
    };
    take(&mut session, Session::open(Spec::default(), &by, None, None).record);
    let ready = FromAgent::Ready { thread: "t".to_owned(), facts: Facts::default() };
    let record = session.on_agent(&moment(&policy), ready).record;
    take(&mut session, record);
    let record = session.on_agent(&moment(&policy), FromAgent::Asks(Box::new(request))).record;
    take(&mut session, record);
    session
}
