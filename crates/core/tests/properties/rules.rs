//! More rules never allow more, and nobody but a person says what is secret.

use jiff::Timestamp;
use pilothouse_core::{
    Answer, Ask, AskId, Clarity, Decision, Envelope, Facts, FromAgent, Intent, Moment, Offer, Part,
    Piece, Policy, Reach, Request, Rule, RuleOutcome, Seq, Session, Spec, Subject, Verdict,
};
use proptest::{collection::vec, prelude::*};

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
    fn what_is_not_understood_is_never_allowed(marks in marks(), about in abouts()) {
        let verdict = parted(&about).verdict(&command(&marks));
        if marks.iter().any(|it| clarity(*it) == Clarity::Opaque) {
            prop_assert!(!is_yes(&verdict), "{verdict:?}");
        }
    }

    #[test]
    fn a_line_is_allowed_for_each_of_its_parts_and_refused_for_one(
        marks in marks(),
        about in abouts(),
    ) {
        let verdict = parted(&about).verdict(&command(&marks));
        let says = |mark: u8, outcome| about.contains(&(mark, outcome));
        let has = |outcome| marks.iter().any(|it| says(*it, outcome));
        let is_free = |mark: u8| {
            clarity(mark) == Clarity::Harmless || says(mark, RuleOutcome::Allow)
        };
        let expected = !has(RuleOutcome::Refuse)
            && !has(RuleOutcome::Ask)
            && has(RuleOutcome::Allow)
            && marks.iter().all(|it| clarity(*it) != Clarity::Opaque && is_free(*it));
        prop_assert_eq!(is_yes(&verdict), expected);
        prop_assert_eq!(is_no(&verdict), has(RuleOutcome::Refuse));
    }

    #[test]
    fn another_strict_rule_never_allows_more_of_a_line(
        marks in marks(),
        about in abouts(),
        mark in 0..MARKS,
        refuse in any::<bool>(),
        at in 0..5_usize,
    ) {
        let ask = command(&marks);
        let before = parted(&about).verdict(&ask);
        let mut more = about;
        let outcome = if refuse { RuleOutcome::Refuse } else { RuleOutcome::Ask };
        more.insert(at.min(more.len()), (mark, outcome));
        let after = parted(&more).verdict(&ask);
        prop_assert!(!is_yes(&after) || is_yes(&before), "{before:?} became {after:?}");
        prop_assert!(!is_no(&before) || is_no(&after), "{before:?} became {after:?}");
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
        Verdict::Answered { answer, rule: _ } => *answer == Answer::plain(Decision::Accept),
    }
}

fn is_no(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Answered { .. }) && !is_yes(verdict)
}

/// How many sorts of commands there are.
const MARKS: u8 = 9;

fn marks() -> impl Strategy<Value = Vec<u8>> {
    vec(0..MARKS, 1..5)
}

/// Rules, each about one sort of commands.
fn abouts() -> impl Strategy<Value = Vec<(u8, RuleOutcome)>> {
    let outcome = prop_oneof![
        1 => Just(RuleOutcome::Silent),
        5 => Just(RuleOutcome::Allow),
        1 => Just(RuleOutcome::Ask),
        1 => Just(RuleOutcome::Refuse),
    ];
    vec((0..MARKS, outcome), 0..8)
}

fn clarity(mark: u8) -> Clarity {
    match mark {
        0 => Clarity::Opaque,
        1 | 2 => Clarity::Harmless,
        _ => Clarity::Clear,
    }
}

/// A line of such commands.
fn command(marks: &[u8]) -> Ask {
    let line: Vec<String> = marks.iter().map(u8::to_string).collect();
    let subject = Subject::Command {
        command: line.join(" "),
        argv: vec![],
        cwd: "/w".to_owned(),
        write_stdin: false,
        host: None,
    };
    let offers = [Decision::Accept, Decision::Decline].map(|it| Offer::plain(it, Reach::Once));
    ask(Request {
        key: "k".to_owned(),
        subject,
        offers: offers.to_vec(),
        reason: None,
        item: None,
        params: serde_json::Value::Null,
        agent: None,
        echo_of: None,
    })
}

fn parted(about: &[(u8, RuleOutcome)]) -> Policy {
    let mark = |part: &Part| match &part.piece {
        Piece::Command { argv, .. } => argv[0].parse::<u8>().ok(),
        Piece::Whole | Piece::File { .. } => None,
    };
    let rules = about.iter().enumerate().map(|(nth, &(about, outcome))| {
        Rule::new(&format!("rule-{nth}"), outcome, move |_, part| mark(part) == Some(about))
    });
    Policy { rules: rules.collect(), parts: words }
}

fn words(ask: &Ask) -> Vec<Part> {
    let Subject::Command { command, .. } = &ask.subject else { return Part::whole(ask) };
    let parts = command.split(' ').map(|it| Part {
        clarity: clarity(it.parse().unwrap_or(0)),
        piece: Piece::Command { argv: vec![it.to_owned()], hidden: vec![], dirs: None },
    });
    parts.collect()
}

fn moment(policy: &Policy) -> Moment<'_> {
    Moment { now: Timestamp::UNIX_EPOCH, human_present: true, policy }
}

fn ask(request: Request) -> Ask {
    asked(request).asks()[&AskId(1)].clone()
}

/// A session whose agent has just asked.
fn asked(request: Request) -> Session {
    // The echo of another ask is none itself.
    let request = Request { echo_of: None, ..request };
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
