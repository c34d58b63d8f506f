//! Prompts, interrupts, the queue, and the ends of turns.

use pilothouse_core::{Intent, MAX_QUEUED_PROMPTS, Management, Outcome, Spec, Status, WhenBusy};

use crate::stage::{
    Input, Stage, and, asking, asks, busy, check, close, ended, error, exited, idle, item,
    item_completed, not_ready, prompt, prompt_when_busy, ready, started, turn_ended, turn_refused,
    wants,
};

#[test]
fn a_prompt_begins_a_turn_when_none_is_under_way() {
    check(&idle(), prompt("go"), &["turn 1 requested: go", "→ start turn 1: go"]);
    check(&[], prompt("go"), &["turn 1 requested: go"]);
    let twice = and(busy(), [ended("x")]);
    check(&twice, prompt("on"), &["turn 2 requested: on", "→ start turn 2: on"]);
}

#[test]
fn a_prompt_while_a_turn_is_under_way() {
    let refused =
        ["refused: a turn is under way; wait for it, interrupt it, or steer or queue the prompt"];
    let steered = ["turn 1 steered: more", "→ steer x: more"];
    let told = vec![ready(), prompt("go")];
    let waiting = vec![prompt("go")];
    for (given, when_busy, expected) in [
        (busy(), WhenBusy::Refuse, &refused[..]),
        (busy(), WhenBusy::Steer, &steered),
        (busy(), WhenBusy::Queue, &["queued: more"]),
        (told.clone(), WhenBusy::Refuse, &refused),
        (told.clone(), WhenBusy::Steer, &refused),
        (told, WhenBusy::Queue, &["queued: more"]),
        (waiting.clone(), WhenBusy::Refuse, &refused),
        (waiting.clone(), WhenBusy::Steer, &refused),
        (waiting, WhenBusy::Queue, &["queued: more"]),
        (asking(), WhenBusy::Refuse, &refused),
        (asking(), WhenBusy::Steer, &steered),
        (asking(), WhenBusy::Queue, &["queued: more"]),
    ] {
        check(&given, prompt_when_busy("more", when_busy), expected);
    }
}

#[test]
fn interrupt_at_each_progress() {
    check(&idle(), wants(Intent::Interrupt), &["refused: no turn is under way"]);
    let waiting = [prompt("go")];
    check(&waiting, wants(Intent::Interrupt), &["interrupt of turn 1", "turn 1 interrupted"]);
    let told = [ready(), prompt("go")];
    check(&told, wants(Intent::Interrupt), &["interrupt of turn 1"]);
    check(&busy(), wants(Intent::Interrupt), &["interrupt of turn 1", "→ interrupt x"]);
}

#[test]
fn an_interrupt_before_the_turn_has_a_name_is_told_when_it_has() {
    let given = [ready(), prompt("go"), wants(Intent::Interrupt)];
    check(&given, started("x"), &["turn 1 started as x", "→ interrupt x"]);
    check(&given, turn_refused(), &["turn 1 interrupted"]);
    check(&given, wants(Intent::Interrupt), &[]);
}

#[test]
fn a_second_interrupt_is_told_but_not_recorded() {
    check(&and(busy(), [wants(Intent::Interrupt)]), wants(Intent::Interrupt), &["→ interrupt x"]);
}

#[test]
fn interrupt_while_an_ask_is_pending() {
    let mut stage = Stage::open(Spec::default(), None, None).after(&and(asking(), [item("i")]));
    stage.check(wants(Intent::Interrupt), &["interrupt of turn 1", "→ interrupt x"]);
    // The ask stays until the agent says that the turn is over.
    assert_eq!(stage.session.status(), Status::WaitingApproval);
    let expected = ["ask 1 withdrawn", "item i abandoned", "turn 1 interrupted"];
    stage.check(turn_ended(Some("x"), Outcome::Interrupted), &expected);
}

#[test]
fn the_end_of_a_turn() {
    let failed = || Outcome::Failed { error: error("quota") };
    for (given, input, expected) in [
        (idle(), ended("x"), &[][..]),
        (busy(), ended("x"), &["turn 1 completed"]),
        (busy(), turn_ended(None, failed()), &["turn 1 failed: quota"]),
        // Said of a turn that is not ours.
        (busy(), ended("y"), &[]),
        // A turn may end without having begun.
        (vec![ready(), prompt("go")], ended("y"), &["turn 1 completed"]),
        (vec![ready(), prompt("go")], turn_refused(), &["turn 1 failed: no"]),
        (busy(), turn_refused(), &[]),
        (idle(), turn_refused(), &[]),
        (
            and(busy(), [item("i"), item("j"), item_completed("i")]),
            ended("x"),
            &["item j abandoned", "turn 1 completed"],
        ),
        (asking(), ended("x"), &["ask 1 withdrawn", "turn 1 completed"]),
    ] {
        check(&given, input, expected);
    }
}

#[test]
fn late_words_of_a_turn_that_ended_are_not_about_the_next_one() {
    let next = and(busy(), [ended("x"), prompt("on")]);
    check(&next, started("x"), &[]);
    check(&next, ended("x"), &[]);
    check(&next, started("y"), &["turn 2 started as y"]);
    check(&and(busy(), [ended("x")]), started("x"), &[]);
    // Another process may count from the beginning again.
    let resumed = and(busy(), [ended("x"), exited(), prompt("on"), ready()]);
    check(&resumed, started("x"), &["turn 2 started as x"]);
}

#[test]
fn an_agent_takes_turns_of_its_own_accord() {
    let expected = ["turn 1 requested by the agent: ", "turn 1 started as z"];
    check(&idle(), started("z"), &expected);
    check(&busy(), started("z"), &[]);
}

#[test]
fn queued_prompts_have_their_turns_in_order() {
    let mut stage = Stage::open(Spec::default(), None, None).after(&busy());
    for text in ["one", "two"] {
        stage.check(prompt_when_busy(text, WhenBusy::Queue), &[&format!("queued: {text}")]);
    }
    let expected =
        ["turn 1 completed", "turn 2 requested from the queue: one", "→ start turn 2: one"];
    stage.check(ended("x"), &expected);
    let expected =
        ["turn 2 failed: no", "turn 3 requested from the queue: two", "→ start turn 3: two"];
    stage.check(turn_refused(), &expected);
    stage.check(started("z"), &["turn 3 started as z"]);
    stage.check(ended("z"), &["turn 3 completed"]);
}

#[test]
fn a_prompt_that_waits_for_a_turn_that_nobody_was_told_of_has_its_turn_after_it() {
    let given = [prompt("go"), prompt_when_busy("next", WhenBusy::Queue)];
    let mut stage = Stage::open(Spec::default(), None, None).after(&given);
    stage.check(
        wants(Intent::Interrupt),
        &["interrupt of turn 1", "turn 1 interrupted", "turn 2 requested from the queue: next"],
    );
    stage.check(ready(), &["attached t", "→ start turn 2: next"]);
}

#[test]
fn the_queue_has_a_bound() {
    let queued = |n: usize| prompt_when_busy(&n.to_string(), WhenBusy::Queue);
    let full: Vec<_> = busy().into_iter().chain((0..MAX_QUEUED_PROMPTS).map(queued)).collect();
    check(&full, queued(99), &["refused: 16 prompts are waiting already"]);
}

#[test]
fn a_full_queue_does_not_outlive_its_agent_for_ever() {
    let queued = |n: usize| prompt_when_busy(&n.to_string(), WhenBusy::Queue);
    let mut given: Vec<_> = busy().into_iter().chain((0..MAX_QUEUED_PROMPTS).map(queued)).collect();
    given.push(exited());
    let expected = ["turn 2 requested from the queue: 0", "queued: on", "→ attach to t"];
    check(&given, prompt("on"), &expected);
}

#[test]
fn prompts_that_waited_when_the_agent_went_away_go_first() {
    let given = and(busy(), [prompt_when_busy("next", WhenBusy::Queue), exited()]);
    let mut stage = Stage::open(Spec::default(), None, None).after(&given);
    let expected = ["turn 2 requested from the queue: next", "queued: on", "→ attach to t"];
    stage.check(prompt("on"), &expected);
    stage.check(ready(), &["attached t", "→ start turn 2: next"]);
    let expected =
        ["turn 2 completed", "turn 3 requested from the queue: on", "→ start turn 3: on"];
    stage.check(ended("y"), &expected);
}

#[test]
fn an_exit_ends_everything() {
    for (given, expected) in [
        (vec![], &["detached: signal 9"][..]),
        (vec![prompt("go")], &["turn 1 lost: signal 9", "detached: signal 9"]),
        (idle(), &["detached: signal 9"]),
        (and(idle(), [asks("k")]), &["ask 1 lost", "detached: signal 9"]),
        (busy(), &["turn 1 lost: signal 9", "detached: signal 9"]),
        (
            and(asking(), [item("i")]),
            &["ask 1 lost", "item i abandoned", "turn 1 lost: signal 9", "detached: signal 9"],
        ),
        (vec![ready(), exited()], &[]),
        (vec![not_ready()], &[]),
    ] {
        check(&given, exited(), expected);
    }
}

#[test]
fn a_close_ends_everything_and_nothing_happens_after_it() {
    check(&idle(), close(), &["closed: done", "detached: closed", "→ detach"]);
    check(&[not_ready()], close(), &["closed: done"]);
    let given = and(asking(), [item("i"), prompt_when_busy("next", WhenBusy::Queue)]);
    let mut stage = Stage::open(Spec::default(), None, None).after(&given);
    stage.check(
        close(),
        &[
            "ask 1 withdrawn",
            "item i abandoned",
            "turn 1 interrupted",
            "closed: done",
            "detached: closed",
            "→ detach",
        ],
    );
    for input in [
        ready(),
        not_ready(),
        started("y"),
        ended("x"),
        item("i"),
        asks("l"),
        exited(),
        Input::Tick(1_000_000),
        close(),
        wants(Intent::Release),
    ] {
        stage.check(input, &[]);
    }
    let closed = ["refused: the session is closed (done)"];
    stage.check(prompt("on"), &closed);
    stage.check(wants(Intent::Interrupt), &closed);
    stage.check(wants(Intent::Rename { title: "t".to_owned() }), &closed);
    stage.check(wants(Intent::Manage { what: Management::Compact }), &closed);
}

#[test]
fn management_needs_an_agent_and_mostly_rest() {
    let manage = |what| wants(Intent::Manage { what });
    let done = ["managed", "→ manage"];
    let detached = ["refused: no agent is attached; a prompt brings one"];
    let needs_rest = || [Management::Compact, Management::Archive];
    for what in needs_rest() {
        check(&idle(), manage(what), &done);
    }
    for what in needs_rest() {
        let mut stage = Stage::open(Spec::default(), None, None).after(&busy());
        assert!(stage.lines(manage(what))[0].starts_with("refused: a turn is under way"));
    }
    check(&busy(), manage(Management::CleanTerminals), &done);
    check(&[], manage(Management::CleanTerminals), &detached);
}

#[test]
fn a_name_can_be_changed() {
    check(&idle(), wants(Intent::Rename { title: "Fix".to_owned() }), &["renamed: Fix"]);
}
