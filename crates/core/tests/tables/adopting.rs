//! How a session comes to another caller.

use pilothouse_core::{
    Actor, Answer, Answerers, Decision, Intent, MAX_PENDING_ADOPTIONS, Patience, SessionId, Spec,
    Status, Subject,
};
use uuid::Uuid;

use crate::stage::{
    Input, Stage, accept, and, answer, asking, asks, busy, caller, check, close, ended, exited,
    human, idle, prompt, ready, settles, wants,
};

const HUMAN_ONLY: &[&str] = &["refused: only a person may answer this"];

#[test]
fn a_person_gives_a_session_to_the_caller_that_asks_for_it() {
    let mut stage = stage(&asking());
    stage.check(adopt("b"), &["ask 2 raised"]);
    let ask = stage.ask(2);
    let client = Some("editor 1".to_owned());
    assert_eq!(ask.subject, Subject::Adoption { caller: "b".to_owned(), client });
    assert!(ask.turn.is_none() && !ask.is_of_agent());
    // Until then nothing is the caller's.
    let theirs = || answer(caller("b"), 1, Answer::plain(Decision::Accept));
    stage.check(theirs(), &["refused: the session belongs to another caller"]);
    stage.check(yes(2), &["ask 2 answered by human: accept", "adopted by b"]);
    assert_eq!(owner(&stage), caller("b"));
    stage.check(theirs(), &["ask 1 answered by b: accept", "→ answer k: accept"]);
    // What its prompt led to stays the old owner's work, and nothing after that.
    stage.check(asks("l"), &["ask 3 raised"]);
    stage.check(accept(3), &["ask 3 answered by a: accept", "→ answer l: accept"]);
    stage.check(ended("x"), &["turn 1 completed"]);
    stage.check(asks("m"), &["ask 4 raised"]);
    stage.check(accept(4), &["refused: the session belongs to another caller"]);
}

#[test]
fn only_a_person_gives_it() {
    let given = and(idle(), [adopt("b")]);
    for by in [
        caller("a"),
        caller("b"),
        Actor::Policy { rule: "r".to_owned() },
        Actor::Clock,
        Actor::Agent,
        Actor::Node,
    ] {
        check(&given, answer(by, 1, Answer::plain(Decision::Accept)), HUMAN_ONLY);
    }
    let decline = answer(human(), 1, Answer::plain(Decision::Decline));
    let mut stage = stage(&given);
    stage.check(decline, &["ask 1 answered by human: decline"]);
    assert_eq!(owner(&stage), caller("a"));
    // It may ask again, and go on asking until someone says yes.
    stage.check(adopt("b"), &["ask 2 raised"]);
    let cancel = answer(human(), 2, Answer::plain(Decision::Cancel));
    stage.check(
        cancel,
        &["refused: decision: cancel is not offered here; use one of: accept, decline"],
    );
}

#[test]
fn only_a_caller_asks_for_it_and_once() {
    check(
        &idle(),
        Input::Wants(human(), intent()),
        &["refused: adopt: only a caller asks for a session; a person may use any"],
    );
    check(&idle(), adopt("a"), &[]);
    check(&and(idle(), [adopt("b")]), adopt("b"), &[]);
    check(&and(idle(), [adopt("b")]), adopt("c"), &["ask 2 raised"]);
    check(&and(idle(), [adopt("b"), yes(1)]), adopt("b"), &[]);
    check(&and(idle(), [adopt("b"), yes(1)]), adopt("a"), &["ask 2 raised"]);
    check(&and(idle(), [close()]), adopt("b"), &["refused: the session is closed (done)"]);
    let mut stage = stage(&idle());
    for n in 1..=MAX_PENDING_ADOPTIONS {
        stage.check(adopt(&format!("caller {n}")), &[&format!("ask {n} raised")]);
    }
    stage.check(adopt("b"), &["refused: adopt: 8 callers ask for the session already"]);
    stage.check(asks("k"), &["ask 9 raised"]);
}

#[test]
fn it_waits_whatever_becomes_of_turn_and_agent() {
    let mut stage = stage(&[ready(), adopt("b")]);
    stage.check(settles("adopt-1"), &[]);
    stage.check(asks("adopt-1"), &["ask 2 raised"]);
    stage.check(settles("adopt-1"), &["ask 2 withdrawn"]);
    stage.check(prompt("go"), &["turn 1 requested: go", "→ start turn 1: go"]);
    stage.check(ended("x"), &["turn 1 completed"]);
    stage.check(exited(), &["detached: signal 9"]);
    stage.check(yes(1), &["ask 1 answered by human: accept", "adopted by b"]);
}

#[test]
fn it_ends_with_its_time_and_with_the_session() {
    check(&and(busy(), [adopt("b")]), Input::Tick(60), &["ask 1 expired after 60 s"]);
    check(
        &and(idle(), [adopt("b")]),
        close(),
        &["ask 1 withdrawn", "closed: done", "detached: closed", "→ detach"],
    );
    check(&and(idle(), [Input::Present(true), adopt("b")]), Input::Tick(3_600), &[]);
    let spec = Spec { patience: Patience::Forever, ..Spec::default() };
    let mut stage = Stage::open(spec, None, None).after(&[adopt("b")]);
    stage.check(Input::Tick(3_600), &[]);
    stage.check(yes(1), &["ask 1 answered by human: accept", "adopted by b"]);
}

#[test]
fn it_keeps_nobody_from_working() {
    let stage = stage(&and(idle(), [adopt("b")]));
    assert_eq!(stage.session.status(), Status::Idle);
    let view = stage.session.view(SessionId(Uuid::nil())).unwrap();
    assert_eq!(view.pending_request_count, 1);
    let running = stage.after(&[prompt("go")]);
    assert_eq!(running.session.status(), Status::Running);
}

#[test]
fn who_owns_a_session_still_leaves_to_people_what_is_theirs() {
    let spec = Spec { answerers: Answerers::Human, ..Spec::default() };
    let mut stage = Stage::open(spec, None, None).after(&and(asking(), [adopt("b"), yes(2)]));
    stage.check(answer(caller("b"), 1, Answer::plain(Decision::Accept)), HUMAN_ONLY);
    stage.check(wants(Intent::Rename { title: "t".to_owned() }), &["renamed: t"]);
}

fn stage(given: &[Input]) -> Stage {
    Stage::open(Spec::default(), None, None).after(given)
}

fn intent() -> Intent {
    Intent::Adopt { client: Some("editor 1".to_owned()) }
}

fn adopt(by: &str) -> Input {
    Input::Wants(caller(by), intent())
}

fn yes(ask: u32) -> Input {
    answer(human(), ask, Answer::plain(Decision::Accept))
}

fn owner(stage: &Stage) -> Actor {
    stage.session.view(SessionId(Uuid::nil())).unwrap().opened_by
}
