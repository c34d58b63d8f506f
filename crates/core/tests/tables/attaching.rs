//! How an agent comes to a session, leaves it, and is brought back.

use pilothouse_core::{
    Effect, Intent, Origin, Overrides, Prompt, Sandbox, Session, SessionId, Spec, WhenBusy,
};
use uuid::Uuid;

use crate::stage::{
    Stage, asking, busy, caller, check, close, ended, exited, idle, not_ready, prompt, ready,
    ready_as, started, wants,
};

#[test]
fn opening_brings_an_agent() {
    let by = caller("a");
    let open = |fork_of, prompt| Session::open(Spec::default(), &by, fork_of, prompt);
    let attaches = |step: &pilothouse_core::Step| match &step.then[..] {
        [Effect::Attach(attach)] => format!("{attach:?}"),
        _ => String::new(),
    };
    assert_eq!(attaches(&open(None, None)), "Start");
    assert_eq!(attaches(&open(None, Some(Prompt::text("go")))), "Start");
    assert_eq!(attaches(&open(Some(origin()), None)), r#"Fork { thread: "theirs" }"#);
    assert_eq!(open(None, None).record.len(), 1);
    assert_eq!(open(None, Some(Prompt::text("go"))).record.len(), 2);
}

#[test]
fn the_first_prompt_is_told_when_the_agent_is_ready() {
    let mut stage = Stage::open(Spec::default(), None, Some(Prompt::text("go")));
    stage.check(ready(), &["attached t", "→ start turn 1: go"]);
    stage.check(ready(), &[]);
    stage.check(started("x"), &["turn 1 started as x"]);
}

#[test]
fn an_agent_that_comes_too_late_is_not_wanted() {
    check(&[close()], ready(), &[]);
    check(&[close()], not_ready(), &[]);
    check(&idle(), ready_as("u"), &[]);
    check(&idle(), not_ready(), &[]);
    check(&[ready(), exited()], ready(), &[]);
}

#[test]
fn a_thread_is_resumed_once_a_turn_has_made_it_durable() {
    let ephemeral = || Spec { ephemeral: true, ..Spec::default() };
    let new = "→ attach to a new thread";
    for (spec, fork_of, given, expected) in [
        // Codex writes a thread down with its first turn, not before.
        (Spec::default(), None, vec![ready(), exited()], new),
        (Spec::default(), None, vec![ready(), prompt("go"), exited()], new),
        (
            Spec::default(),
            None,
            vec![ready(), prompt("go"), started("x"), exited()],
            "→ attach to t",
        ),
        (Spec::default(), None, vec![not_ready()], new),
        (ephemeral(), None, vec![ready(), prompt("go"), started("x"), exited()], new),
        // A fork is on disk from its first moment.
        (Spec::default(), Some(origin()), vec![ready(), exited()], "→ attach to t"),
        (Spec::default(), Some(origin()), vec![not_ready()], "→ attach to a copy of theirs"),
    ] {
        let mut stage = Stage::open(spec, fork_of, None).after(&given);
        let lines = stage.lines(prompt("on"));
        assert_eq!(lines.last().map(String::as_str), Some(expected), "after {given:?}");
    }
}

#[test]
fn a_resumed_thread_stays_durable_and_another_one_is_not() {
    let exited_once = [ready(), prompt("go"), started("x"), exited(), prompt("on")];
    let mut stage =
        Stage::open(Spec::default(), None, None).after(&exited_once).after(&[ready(), exited()]);
    stage.check(prompt("again"), &["turn 3 requested: again", "→ attach to t"]);
    let mut stage = Stage::open(Spec::default(), None, None)
        .after(&exited_once)
        .after(&[ready_as("u"), exited()]);
    stage.check(prompt("again"), &["turn 3 requested: again", "→ attach to a new thread"]);
}

#[test]
fn a_turn_that_waits_for_an_agent_fails_with_it() {
    check(
        &[prompt("go")],
        not_ready(),
        &["attach failed: no such model", "turn 1 failed: no such model"],
    );
    let tried_again = [prompt("go"), not_ready()];
    check(&tried_again, prompt("on"), &["turn 2 requested: on", "→ attach to a new thread"]);
}

#[test]
fn one_agent_is_brought_at_a_time() {
    check(&[], prompt("go"), &["turn 1 requested: go"]);
    let given = [ready(), exited(), prompt("go"), wants(Intent::Interrupt)];
    check(&given, prompt("on"), &["turn 2 requested: on"]);
}

#[test]
fn only_an_idle_agent_is_released() {
    let refused =
        ["refused: a turn is under way; wait for it, interrupt it, or steer or queue the prompt"];
    for (given, expected) in [
        (idle(), &["detached: idle", "→ detach"][..]),
        (vec![ready(), wants(Intent::Release)], &[]),
        (vec![], &refused),
        (busy(), &refused),
        (asking(), &refused),
    ] {
        check(&given, wants(Intent::Release), expected);
    }
}

#[test]
fn late_words_of_an_agent_that_was_let_go_are_not_heard() {
    let released = [ready(), prompt("go"), started("x"), ended("x"), wants(Intent::Release)];
    for input in [started("y"), ended("x"), crate::stage::asks("k"), crate::stage::item("i")] {
        check(&released, input, &[]);
    }
    check(&released, prompt("on"), &["turn 2 requested: on", "→ attach to t"]);
}

#[test]
fn what_a_prompt_changes_sticks_but_for_the_schema() {
    let overrides = Overrides {
        cwd: Some("/new".to_owned()),
        sandbox: Some(Sandbox::ReadOnly),
        model: Some("m".to_owned()),
        output_schema: Some(serde_json::json!({ "type": "object" })),
        ..Overrides::default()
    };
    let with_overrides = Prompt { overrides, ..Prompt::text("go") };
    let intent = Intent::Prompt { prompt: with_overrides, when_busy: WhenBusy::Refuse };
    let stage = Stage::open(Spec::default(), None, None).after(&[ready(), wants(intent)]);
    let expected = Spec {
        cwd: "/new".to_owned(),
        sandbox: Some(Sandbox::ReadOnly),
        model: Some("m".to_owned()),
        ..Spec::default()
    };
    assert_eq!(*stage.session.spec(), expected);
}

fn origin() -> Origin {
    Origin { session: SessionId(Uuid::from_u128(7)), thread: "theirs".to_owned() }
}
