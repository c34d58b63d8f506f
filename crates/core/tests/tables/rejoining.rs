//! What becomes of a session whose node went and whose agent stayed.

use std::collections::BTreeMap;

use pilothouse_core::{Answer, FromAgent, Patience, Question, Spec, Step, Subject};

use crate::stage::{
    Input, Stage, accept, and, answer, asking, asks, busy, check, command, ended, exited, human,
    ready, request, settles,
};

/// The same request, as one who has come back hears it.
fn again(key: &str) -> Input {
    Input::Agent(FromAgent::AsksAgain(Box::new(request(key, command()))))
}

#[test]
fn a_request_that_is_heard_again_is_no_new_ask() {
    check(&asking(), again("k"), &[]);
    check(&busy(), again("k"), &["ask 1 raised"]);
    check(&asking(), again("l"), &["ask 2 raised"]);
}

#[test]
fn an_answer_on_record_is_told_to_who_asks_again() {
    let answered = and(asking(), [accept(1)]);
    check(&answered, again("k"), &["→ answer k: accept"]);
    // A name that is used for one request after another is not one that is heard again.
    check(&answered, asks("k"), &["ask 2 raised"]);
    check(&and(asking(), [accept(1), asks("k")]), again("k"), &[]);
    check(&and(asking(), [settles("k")]), again("k"), &["ask 2 raised"]);
    check(&and(asking(), [accept(1), ended("x")]), again("k"), &["→ answer k: accept"]);
    // Another process, another request.
    check(&and(asking(), [accept(1), exited()]), again("k"), &[]);
}

#[test]
fn what_nobody_answered_while_nobody_was_there_is_told() {
    let spec = Spec { patience: Patience::Ms(1_000), ..Spec::default() };
    let mut stage = Stage::open(spec, None, None).after(&[ready(), asks("k")]);
    stage.check(Input::Tick(601), &["ask 1 expired after 601 s", "→ expire k after 601 s"]);
    stage.check(again("k"), &["→ expire k after 601 s"]);
}

#[test]
fn a_secret_that_was_not_told_is_asked_again() {
    let question = Question { id: "q".to_owned(), is_secret: true, ..Question::default() };
    let secret = Subject::Question { questions: vec![question] };
    let asked = |key: &str| Input::Agent(FromAgent::Asks(Box::new(request(key, secret.clone()))));
    let words = Answer::chosen(BTreeMap::from([("q".to_owned(), vec!["hidden".to_owned()])]));
    let mut stage = Stage::open(Spec::default(), None, None).after(&[ready(), asked("k")]);
    stage.check(
        answer(human(), 1, words),
        &["ask 1 answered by human: redacted", r#"→ answer k: {"q": ["hidden"]}"#],
    );
    let heard = FromAgent::AsksAgain(Box::new(request("k", secret)));
    stage.check(Input::Agent(heard), &["ask 2 raised"]);
}

#[test]
fn nothing_else_is_lost_with_the_node() {
    let stage = Stage::open(Spec::default(), None, None).after(&asking());
    assert_eq!(stage.session.on_rejoin(), Step::default());
}
