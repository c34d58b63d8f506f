//! Who may answer what, and which answers fit.

use std::collections::BTreeMap;

use pilothouse_core::{
    Actor, Answer, Answerers, AskId, Decision, FromAgent, Intent, NetworkAmendment, Offer, Prompt,
    Question, Reach, Refusal, Request, Settled, Spec, Subject, WhenBusy,
};

use crate::stage::{
    Input, Stage, accept, and, answer, asking, asks, asks_about, busy, caller, check, command,
    ended, human, idle, request, started,
};

const HUMAN_ONLY: &[&str] = &["refused: only a person may answer this"];
const NOT_YOURS: &[&str] = &["refused: the session belongs to another caller"];

#[test]
fn who_may_answer() {
    let rule = || Actor::Policy { rule: "r".to_owned() };
    let accepted =
        |by: &str| vec![format!("ask 1 answered by {by}: accept"), "→ answer k: accept".to_owned()];
    let said = |it: &[&str]| it.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    for (answerers, by, expected) in [
        (Answerers::Caller, caller("a"), accepted("a")),
        (Answerers::Caller, caller("b"), said(NOT_YOURS)),
        (Answerers::Caller, human(), accepted("human")),
        (Answerers::Caller, rule(), accepted("r")),
        (Answerers::Caller, Actor::Clock, said(HUMAN_ONLY)),
        (Answerers::Caller, Actor::Agent, said(HUMAN_ONLY)),
        (Answerers::Caller, Actor::Node, said(HUMAN_ONLY)),
        (Answerers::Human, caller("a"), said(HUMAN_ONLY)),
        (Answerers::Human, caller("b"), said(HUMAN_ONLY)),
        (Answerers::Human, human(), accepted("human")),
    ] {
        let spec = Spec { answerers, ..Spec::default() };
        let mut stage = Stage::open(spec, None, None).after(&asking());
        let input = answer(by.clone(), 1, Answer::plain(Decision::Accept));
        assert_eq!(stage.lines(input), expected, "{by:?}, {answerers:?}");
    }
}

#[test]
fn a_caller_may_answer_what_its_own_prompt_led_to_in_an_older_callers_session() {
    let prompted_by_b = Input::Wants(
        caller("b"),
        Intent::Prompt { prompt: Prompt::text("go on"), when_busy: WhenBusy::Refuse },
    );
    let given = and(idle(), [prompted_by_b, started("2"), asks("k")]);
    let accept = |by: &str| answer(caller(by), 1, Answer::plain(Decision::Accept));
    check(&given, accept("b"), &["ask 1 answered by b: accept", "→ answer k: accept"]);
    check(&given, accept("a"), &["ask 1 answered by a: accept", "→ answer k: accept"]);
    check(&given, accept("c"), NOT_YOURS);
}

#[test]
fn a_secret_is_told_by_people_only_and_is_not_recorded() {
    let given = and(busy(), [asks_about("k", question(true))]);
    let rule = Actor::Policy { rule: "r".to_owned() };
    check(&given, answer(caller("a"), 1, chosen("hunter2")), HUMAN_ONLY);
    check(&given, answer(rule, 1, chosen("hunter2")), HUMAN_ONLY);
    check(
        &given,
        answer(human(), 1, chosen("hunter2")),
        &["ask 1 answered by human: redacted", r#"→ answer k: {"q": ["hunter2"]}"#],
    );
    // That nothing was told is no secret.
    check(
        &given,
        answer(human(), 1, Answer::plain(Decision::Cancel)),
        &["ask 1 answered by human: cancel", "→ answer k: cancel"],
    );
}

#[test]
fn answers_to_questions() {
    let given = and(busy(), [asks_about("k", question(false))]);
    let many = |pairs: &[(&str, &[&str])]| {
        let words = |words: &[&str]| words.iter().map(|&it| it.to_owned()).collect();
        Answer::chosen(pairs.iter().map(|(id, it)| ((*id).to_owned(), words(it))).collect())
    };
    for (answer_given, expected) in [
        (chosen("red"), r#"ask 1 answered by a: {"q": ["red"]}"#),
        (Answer::plain(Decision::Cancel), "ask 1 answered by a: cancel"),
        (many(&[]), r#"refused: answers: question "q" has no answer"#),
        (many(&[("q", &[])]), r#"refused: answers: question "q" has no answer"#),
        (
            many(&[("q", &["red"]), ("r", &["red"])]),
            r#"refused: answers: no question "r"; the questions are: q"#,
        ),
        (
            Answer::plain(Decision::Accept),
            "refused: answers: this is a question: answer it with `answers`",
        ),
        (
            Answer::Filled { content: serde_json::json!({}) },
            "refused: content: only a form takes `content`; give a `decision`",
        ),
        (Answer::Redacted, "refused: answer: a redacted answer cannot be given again"),
    ] {
        let mut stage = Stage::open(Spec::default(), None, None).after(&given);
        let lines = stage.lines(answer(caller("a"), 1, answer_given));
        assert_eq!(lines[0], expected);
    }
}

#[test]
fn a_decision_must_be_offered() {
    let given = asking();
    check(
        &given,
        answer(caller("a"), 1, Answer::plain(Decision::AcceptForSession)),
        &["refused: decision: acceptForSession is not offered here; use one of: accept, decline"],
    );
    check(
        &given,
        answer(caller("a"), 1, chosen("red")),
        &["refused: answers: only a question takes `answers`; give a `decision`"],
    );
}

#[test]
fn an_amendment_may_be_narrower_but_not_wider() {
    let wider = "refused: execpolicy_amendment: must be what the agent proposed, or begin with all \
                 of it";
    let missing = "refused: execpolicy_amendment: this decision needs the command prefix";
    let stray = "refused: execpolicy_amendment: goes with acceptWithExecpolicyAmendment only";
    let taken = "ask 1 answered by a: acceptWithExecpolicyAmendment";
    let with_prefix = Decision::AcceptWithExecpolicyAmendment;
    for (decision, prefix, expected) in [
        (with_prefix, Some(&["git", "push"][..]), taken),
        (with_prefix, Some(&["git", "push", "--dry-run"]), taken),
        (with_prefix, Some(&["git"]), wider),
        (with_prefix, Some(&["git", "pull"]), wider),
        (with_prefix, Some(&["push", "git"]), wider),
        (with_prefix, Some(&[]), missing),
        (with_prefix, None, missing),
        (Decision::Accept, Some(&["git", "push"]), stray),
        (Decision::ApplyNetworkPolicyAmendment, Some(&["git", "push"]), stray),
        (Decision::Accept, None, "ask 1 answered by a: accept"),
    ] {
        let answer = Answer::Decided {
            decision,
            execpolicy_amendment: prefix.map(words),
            network_policy_amendment: None,
        };
        check_answer_to_amendable(answer, expected);
    }
}

#[test]
fn a_host_must_be_the_one_that_was_proposed() {
    let other = "refused: network_policy_amendment: must be one that the agent proposed";
    let missing = "refused: network_policy_amendment: this decision needs `action` and `host`";
    let stray = "refused: network_policy_amendment: goes with applyNetworkPolicyAmendment only";
    let with_host = Decision::ApplyNetworkPolicyAmendment;
    for (decision, host, expected) in [
        (
            with_host,
            Some(("allow", "example.org")),
            "ask 1 answered by a: applyNetworkPolicyAmendment",
        ),
        (with_host, Some(("deny", "example.org")), other),
        (with_host, Some(("allow", "example.com")), other),
        (with_host, None, missing),
        (Decision::Decline, Some(("allow", "example.org")), stray),
        (Decision::AcceptWithExecpolicyAmendment, Some(("allow", "example.org")), stray),
    ] {
        let host = host.map(|(action, host)| NetworkAmendment {
            action: action.to_owned(),
            host: host.to_owned(),
        });
        let prefix = decision == Decision::AcceptWithExecpolicyAmendment;
        let answer = Answer::Decided {
            decision,
            execpolicy_amendment: prefix.then(|| words(&["git", "push"])),
            network_policy_amendment: host,
        };
        check_answer_to_amendable(answer, expected);
    }
}

#[test]
fn an_answer_is_bound_to_what_was_shown() {
    let mut stage = Stage::open(Spec::default(), None, None).after(&asking());
    let digest = stage.ask(1).digest.clone();
    assert_eq!(digest, command().digest());
    assert_eq!(digest.len(), 64);
    let other = Subject::FileChange { changes: vec![], grant_root: None }.digest();
    assert_ne!(digest, other);
    stage.check(
        accept_shown(&other),
        &["refused: the request is not the one that was shown; look at it again"],
    );
    stage.check(
        accept_shown(&digest),
        &["ask 1 answered by a, bound: accept", "→ answer k: accept"],
    );
}

#[test]
fn an_answer_that_comes_second_hears_who_was_first_and_when() {
    let mut stage = Stage::open(Spec::default(), None, None).after(&asking());
    let at = stage.now;
    stage.check(
        answer(human(), 1, Answer::plain(Decision::Decline)),
        &["ask 1 answered by human: decline", "→ answer k: decline"],
    );
    stage.check(Input::Tick(5), &[]);
    let refusal = stage.step(accept(1)).unwrap_err();
    let Refusal::AlreadySettled { settlement: Some(settlement) } = refusal else {
        panic!("{refusal:?}")
    };
    assert_eq!(settlement.at, at);
    assert_eq!(
        settlement.how,
        Settled::Answered {
            answer: Answer::plain(Decision::Decline),
            by: human(),
            reason: None,
            note: None,
            bound: false,
        }
    );
}

#[test]
fn an_answer_to_what_is_not_pending() {
    let settled = &["refused: the request is settled already"][..];
    let unknown = &["refused: there is no such request in this session"][..];
    for (given, ask, expected) in [
        (idle(), 1, unknown),
        (busy(), 1, unknown),
        (asking(), 0, unknown),
        (asking(), 2, unknown),
        (and(asking(), [ended("x")]), 1, settled),
        (and(asking(), [Input::Tick(60)]), 1, settled),
        (and(asking(), [crate::stage::exited()]), 1, settled),
        (and(asking(), [crate::stage::close()]), 1, settled),
        (and(asking(), [crate::stage::close()]), 2, unknown),
    ] {
        check(&given, accept(ask), expected);
    }
}

#[test]
fn a_reason_is_told_and_a_note_is_not() {
    let mut stage = Stage::open(Spec::default(), None, None).after(&asking());
    let intent = Intent::Answer {
        ask: AskId(1),
        answer: Answer::plain(Decision::Decline),
        digest: None,
        reason: Some("use the test database".to_owned()),
        note: Some("again!".to_owned()),
    };
    let step = stage.step(Input::Wants(human(), intent)).unwrap();
    let told = format!("{:?}", step.then);
    assert!(told.contains("use the test database") && !told.contains("again!"), "{told}");
    let recorded = format!("{:?}", step.record);
    assert!(recorded.contains("use the test database") && recorded.contains("again!"));
}

fn accept_shown(digest: &str) -> Input {
    let answer = Answer::plain(Decision::Accept);
    let digest = Some(digest.to_owned());
    let intent = Intent::Answer { ask: AskId(1), answer, digest, reason: None, note: None };
    Input::Wants(caller("a"), intent)
}

/// To a command whose agent proposes to allow `git push`, and a host.
#[track_caller]
fn check_answer_to_amendable(given: Answer, expected: &str) {
    let offers = vec![
        Offer::plain(Decision::Accept, Reach::Once),
        Offer {
            execpolicy_amendment: Some(words(&["git", "push"])),
            ..Offer::plain(Decision::AcceptWithExecpolicyAmendment, Reach::Always)
        },
        Offer {
            network_policy_amendment: Some(NetworkAmendment {
                action: "allow".to_owned(),
                host: "example.org".to_owned(),
            }),
            ..Offer::plain(Decision::ApplyNetworkPolicyAmendment, Reach::Always)
        },
        Offer::plain(Decision::Decline, Reach::Once),
    ];
    let asks = FromAgent::Asks(Box::new(Request { offers, ..request("k", command()) }));
    let mut stage =
        Stage::open(Spec::default(), None, None).after(&and(busy(), [Input::Agent(asks)]));
    assert_eq!(stage.lines(answer(caller("a"), 1, given))[0], expected);
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&it| it.to_owned()).collect()
}

fn question(is_secret: bool) -> Subject {
    let question = Question {
        id: "q".to_owned(),
        header: String::new(),
        question: "Which?".to_owned(),
        is_other: true,
        is_secret,
        options: None,
        ..Question::default()
    };
    Subject::Question { questions: vec![question] }
}

fn chosen(word: &str) -> Answer {
    Answer::chosen(BTreeMap::from([("q".to_owned(), vec![word.to_owned()])]))
}
