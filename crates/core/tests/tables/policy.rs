//! What rules may answer, and what is said for a person who does not.

use jiff::Timestamp;
use pilothouse_core::{
    Answer, Ask, AskId, Change, Clarity, Decision, Offer, OnExpiry, Part, Piece, Policy, Question,
    Reach, Rule, RuleOutcome, Subject, Verdict,
};
use serde_json::{Value, json};

use crate::stage::command;

#[test]
fn what_only_people_may_say_no_rule_answers() {
    let forms = json!({"type": "object", "properties": {}});
    for subject in [
        question(true),
        question(false),
        Subject::Form { server: "s".to_owned(), message: String::new(), schema: forms },
        Subject::Adoption { caller: "c".to_owned(), client: None },
    ] {
        for outcome in [RuleOutcome::Allow, RuleOutcome::Refuse] {
            let policy = Policy::of(vec![all(outcome, None)]);
            assert_eq!(policy.verdict(&ask(subject.clone())), Verdict::Person, "{subject:?}");
        }
    }
}

#[test]
fn a_refusal_is_the_mildest_no_that_the_agent_takes() {
    for (offers, expected) in [
        (&[Decision::Accept, Decision::Decline, Decision::Cancel][..], Some(Decision::Decline)),
        (&[Decision::Accept, Decision::Cancel], Some(Decision::Cancel)),
        (&[Decision::Accept], None),
    ] {
        let offers = offers.iter().map(|it| Offer::plain(*it, Reach::Once)).collect();
        let ask = Ask { offers, ..ask(command()) };
        let verdict = Policy::of(vec![all(RuleOutcome::Refuse, None)]).verdict(&ask);
        let expected = expected.map_or(Verdict::Person, |it| Verdict::Answered {
            answer: Answer::plain(it),
            rule: "all".to_owned(),
        });
        assert_eq!(verdict, expected);
    }
}

#[test]
fn who_allowed_a_line_together_is_named() {
    let about = |name: &'static str, file: &'static str| {
        Rule::new(name, RuleOutcome::Allow, move |_, part| {
            part.piece == Piece::File { path: file.to_owned() }
        })
    };
    let rules = vec![about("second", "b"), about("first", "a"), about("none", "c")];
    let policy = Policy { rules, parts: files };
    let answered = |rule: &str| Verdict::Answered {
        answer: Answer::plain(Decision::Accept),
        rule: rule.to_owned(),
    };
    assert_eq!(policy.verdict(&ask(change(&["a", "b"]))), answered("first, second"));
    assert_eq!(policy.verdict(&ask(change(&["b", "b"]))), answered("second"));
    assert_eq!(policy.verdict(&ask(change(&["a", "d"]))), Verdict::Person);
    // There is nothing to agree to.
    assert_eq!(policy.verdict(&ask(change(&[]))), Verdict::Person);
}

#[test]
fn what_is_understood_in_part_is_for_a_person() {
    let parts = |_: &Ask| {
        [Clarity::Opaque, Clarity::Clear]
            .map(|clarity| Part { piece: Piece::Whole, clarity })
            .into()
    };
    let policy = Policy { rules: vec![all(RuleOutcome::Allow, None)], parts };
    assert_eq!(policy.verdict(&ask(command())), Verdict::Person);
    let policy = Policy { rules: vec![all(RuleOutcome::Refuse, None)], parts };
    assert!(matches!(policy.verdict(&ask(command())), Verdict::Answered { .. }));
}

#[test]
fn the_strictest_is_said_for_who_does_not_answer() {
    use OnExpiry::{Cancel, Decline, Default, Expire, Wait};
    for (said, expected) in [
        (&[][..], None),
        (&[None], None),
        (&[None, Some(Wait)], Some(Wait)),
        (&[Some(Default), Some(Wait)], Some(Wait)),
        (&[Some(Decline), Some(Wait), Some(Default)], Some(Decline)),
        (&[Some(Cancel), Some(Decline)], Some(Cancel)),
        (&[Some(Expire), Some(Default)], Some(Default)),
    ] {
        let rules = said.iter().map(|it| all(RuleOutcome::Silent, *it)).collect();
        let policy = Policy::of(rules);
        assert_eq!(policy.on_expiry(&ask(command())), expected, "{said:?}");
        assert_eq!(policy.on_expiry(&ask(question(false))), expected, "{said:?}");
        assert_eq!(policy.on_expiry(&ask(question(true))), None, "{said:?}");
        let adoption = Subject::Adoption { caller: "c".to_owned(), client: None };
        assert_eq!(policy.on_expiry(&ask(adoption)), None, "{said:?}");
    }
}

#[test]
fn only_a_rule_that_matches_says_what_happens_without_an_answer() {
    let rule = Rule::new("files", RuleOutcome::Ask, |_, part| part.piece != Piece::Whole);
    let rules = vec![rule.unanswered(Some(OnExpiry::Decline))];
    let policy = Policy { rules, parts: files };
    assert_eq!(policy.on_expiry(&ask(command())), None);
    assert_eq!(policy.on_expiry(&ask(change(&["a"]))), Some(OnExpiry::Decline));
}

fn all(outcome: RuleOutcome, on_expiry: Option<OnExpiry>) -> Rule {
    Rule::new("all", outcome, |_, _| true).unanswered(on_expiry)
}

fn question(is_secret: bool) -> Subject {
    let question = Question {
        id: "q".to_owned(),
        header: String::new(),
        question: String::new(),
        is_other: false,
        other_label: None,
        multiple: false,
        default: None,
        is_secret,
        options: None,
    };
    Subject::Question { questions: vec![question] }
}

fn change(paths: &[&str]) -> Subject {
    let changes = paths.iter().map(|it| Change {
        path: (*it).to_owned(),
        kind: "update".to_owned(),
        move_path: None,
        diff: String::new(),
    });
    Subject::FileChange { changes: changes.collect(), grant_root: None }
}

fn files(ask: &Ask) -> Vec<Part> {
    let Subject::FileChange { changes, .. } = &ask.subject else { return Part::whole(ask) };
    let parts = changes
        .iter()
        .map(|it| Part { piece: Piece::File { path: it.path.clone() }, clarity: Clarity::Clear });
    parts.collect()
}

fn ask(subject: Subject) -> Ask {
    let offers = [Decision::Accept, Decision::Decline];
    Ask {
        id: AskId(1),
        key: "k".to_owned(),
        turn: None,
        item: None,
        digest: subject.digest(),
        subject,
        offers: offers.map(|it| Offer::plain(it, Reach::Once)).to_vec(),
        reason: None,
        params: Value::Null,
        agent: None,
        asked_by: None,
        raised_at: Timestamp::UNIX_EPOCH,
        expires_at: None,
        on_expiry: OnExpiry::default(),
    }
}
