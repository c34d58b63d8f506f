//! What surfaces show of a session and of its asks.

use pilothouse_core::{
    ApprovalPolicy, AskState, AskView, Facts, FromAgent, Intent, Outcome, Report, Session,
    SessionId, Settled, Settlement, Spec, Status, TurnStatus,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::stage::{
    Input, Stage, accept, and, asking, asks, busy, close, ended, error, exited, idle, not_ready,
    prompt, ready, turn_ended, turn_refused, wants,
};

#[test]
fn a_status_is_one_word_for_all_of_it() {
    let failed = || turn_ended(Some("x"), Outcome::Failed { error: error("quota") });
    let expire = Input::Tick(60);
    for (given, expected) in [
        (vec![], Status::Idle),
        (vec![not_ready()], Status::Error),
        (vec![not_ready(), prompt("go")], Status::Running),
        (vec![not_ready(), prompt("go"), ready()], Status::Running),
        (vec![not_ready(), prompt("go"), ready(), ended("x")], Status::Idle),
        (idle(), Status::Idle),
        (vec![prompt("go")], Status::Running),
        (vec![ready(), prompt("go")], Status::Running),
        (busy(), Status::Running),
        (asking(), Status::WaitingApproval),
        (and(asking(), [accept(1)]), Status::Running),
        (and(asking(), [expire]), Status::Running),
        (and(idle(), [asks("k")]), Status::WaitingApproval),
        (and(busy(), [wants(Intent::Interrupt)]), Status::Running),
        (and(busy(), [ended("x")]), Status::Idle),
        (and(busy(), [turn_ended(Some("x"), Outcome::Interrupted)]), Status::Idle),
        (and(busy(), [failed()]), Status::Error),
        (and(busy(), [failed(), prompt("on")]), Status::Running),
        (vec![ready(), prompt("go"), turn_refused()], Status::Error),
        (and(busy(), [exited()]), Status::Error),
        (vec![ready(), exited()], Status::Idle),
        (and(asking(), [close()]), Status::Cancelled),
    ] {
        let stage = Stage::open(Spec::default(), None, None).after(&given);
        assert_eq!(stage.session.status(), expected, "after {given:?}");
    }
}

#[test]
fn a_turn_is_shown_while_it_runs_and_after_it() {
    for (given, expected) in [
        (idle(), None),
        (vec![prompt("go")], Some((TurnStatus::Requested, None))),
        (vec![ready(), prompt("go")], Some((TurnStatus::Requested, None))),
        (busy(), Some((TurnStatus::Started, Some("x")))),
        (and(busy(), [ended("x")]), Some((TurnStatus::Completed, Some("x")))),
        (
            and(busy(), [turn_ended(None, Outcome::Interrupted)]),
            Some((TurnStatus::Interrupted, Some("x"))),
        ),
        (vec![ready(), prompt("go"), turn_refused()], Some((TurnStatus::Failed, None))),
        (and(busy(), [exited()]), Some((TurnStatus::Lost, Some("x")))),
    ] {
        let stage = Stage::open(Spec::default(), None, None).after(&given);
        let turn = stage.session.view(session_id()).unwrap().last_turn;
        let shown = turn.as_ref().map(|it| (it.status, it.turn_id.as_deref()));
        assert_eq!(shown, expected, "after {given:?}");
    }
}

#[test]
fn there_is_nothing_to_show_before_the_first_event() {
    assert_eq!(Session::default().view(session_id()), None);
}

#[test]
fn a_session_before_its_agent_shows_what_was_asked_for() {
    let stage = Stage::open(spec(), None, None).after(&[prompt("go")]);
    insta::assert_json_snapshot!(stage.session.view(session_id()));
}

#[test]
fn a_session_with_its_agent_shows_what_the_agent_confirmed() {
    let facts = Facts {
        version: Some("0.171.0".to_owned()),
        dialect: "app-server".to_owned(),
        model: Some("gpt-test".to_owned()),
        approval_policy: Some("on-request".to_owned()),
        sandbox: Some("read-only".to_owned()),
        effort: Some("high".to_owned()),
        ..Facts::default()
    };
    let ready = FromAgent::Ready { thread: "t".to_owned(), facts };
    let given = [Input::Agent(ready), Input::Wait(5), prompt("go"), asks("k")];
    let stage = Stage::open(spec(), None, None).after(&given);
    insta::assert_json_snapshot!(stage.session.view(session_id()));
}

#[test]
fn a_session_that_was_closed_shows_its_last_turn() {
    let report = Report {
        output: Some("Done.".to_owned()),
        usage: Some(json!({ "total": 7 })),
        files: vec!["/w/a.rs".to_owned()],
    };
    let ended = FromAgent::TurnEnded { name: None, outcome: Outcome::Completed, report };
    let given = and(busy(), [Input::Wait(5), Input::Agent(ended), Input::Wait(5), close()]);
    let stage = Stage::open(spec(), None, None).after(&given);
    insta::assert_json_snapshot!(stage.session.view(session_id()));
}

#[test]
fn an_ask_is_shown_whole_before_and_after_it_is_settled() {
    let stage = Stage::open(spec(), None, None).after(&asking());
    let mut view = AskView::pending(session_id(), Some("Fix it"), stage.ask(1));
    assert_eq!((view.state, view.ask()), (AskState::Pending, stage.ask(1).id));
    insta::assert_json_snapshot!("ask_pending", view);
    view.settle(Settlement { at: stage.now, how: Settled::Expired { waited_s: 60, answer: None } });
    assert_eq!(view.state, AskState::Settled);
    let value = serde_json::to_value(&view).unwrap();
    assert_eq!(value["settlement"]["how"], json!({ "type": "expired", "waitedS": 60 }));
    assert_ne!(value["subject"], Value::Null);
}

fn session_id() -> SessionId {
    SessionId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001))
}

fn spec() -> Spec {
    Spec {
        cwd: "/w".to_owned(),
        approval_policy: Some(ApprovalPolicy::Untrusted),
        model: Some("gpt-asked".to_owned()),
        title: Some("Fix it".to_owned()),
        ..Spec::default()
    }
}
