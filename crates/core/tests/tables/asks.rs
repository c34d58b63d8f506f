//! How asks are raised, and how they stop being pending without an answer.

use pilothouse_core::{
    FromAgent, MAX_PENDING_ASKS, Patience, Policy, Request, Rule, RuleOutcome, Spec, SubAgent,
    Subject,
};

use crate::stage::{
    Input, Stage, accept, and, asking, asks, asks_about, busy, check, command, ended, exited, idle,
    prompt, ready, request, settles, started,
};

#[test]
fn an_agent_may_ask_at_any_time() {
    check(&idle(), asks("k"), &["ask 1 raised"]);
    check(&[ready(), prompt("go")], asks("k"), &["ask 1 raised"]);
    check(&busy(), asks("k"), &["ask 1 raised"]);
    check(&asking(), asks("l"), &["ask 2 raised"]);
    check(&asking(), asks("k"), &[]);
    // The agent may come back to what is settled.
    check(&and(asking(), [accept(1)]), asks("k"), &["ask 2 raised"]);
    check(&[], asks("k"), &[]);
}

#[test]
fn an_agent_may_stop_waiting() {
    check(&asking(), settles("k"), &["ask 1 withdrawn"]);
    check(&asking(), settles("l"), &[]);
    check(&busy(), settles("k"), &[]);
    check(&and(asking(), [accept(1)]), settles("k"), &[]);
    check(&and(asking(), [ended("x")]), settles("k"), &[]);
}

#[test]
fn the_asks_of_a_sub_agent_outlive_the_turn_but_not_the_agent() {
    let sub_agent = SubAgent { thread_id: "v".to_owned(), path: None };
    let theirs = Request { agent: Some(sub_agent), ..request("s", command()) };
    let given = and(asking(), [Input::Agent(FromAgent::Asks(Box::new(theirs)))]);
    let mut stage = Stage::open(Spec::default(), None, None).after(&given);
    stage.check(ended("x"), &["ask 1 withdrawn", "turn 1 completed"]);
    stage.check(exited(), &["ask 2 lost", "detached: signal 9"]);
}

#[test]
fn an_ask_without_a_turn_outlives_turns_but_not_the_agent() {
    let mut stage = Stage::open(Spec::default(), None, None).after(&and(idle(), [asks("k")]));
    assert!(stage.ask(1).turn.is_none());
    stage.check(prompt("go"), &["turn 1 requested: go", "→ start turn 1: go"]);
    stage.check(ended("x"), &["turn 1 completed"]);
    stage.check(exited(), &["ask 1 lost", "detached: signal 9"]);
}

#[test]
fn patience_has_its_end_fixed_when_the_ask_is_raised() {
    for (patience, present, expected) in [
        (Patience::Attended, true, None),
        (Patience::Attended, false, Some(60)),
        (Patience::Forever, false, None),
        (Patience::Ms(5_000), true, Some(5)),
        (Patience::Ms(5_000), false, Some(5)),
        (Patience::Ms(0), false, Some(0)),
    ] {
        let spec = Spec { patience, ..Spec::default() };
        let mut given = and(busy(), [Input::Present(present), asks("k")]);
        // Whoever comes or goes later changes nothing.
        given.push(Input::Present(!present));
        let stage = Stage::open(spec, None, None).after(&given);
        let seconds = stage.ask(1).expires_at.map(|it| it.duration_since(stage.now).as_secs());
        assert_eq!(seconds, expected, "{patience:?}, present: {present}");
        assert_eq!(stage.session.next_deadline(), stage.ask(1).expires_at);
    }
}

#[test]
fn endless_patience_is_the_end_of_time() {
    let spec = Spec { patience: Patience::Ms(u64::MAX), ..Spec::default() };
    let mut stage = Stage::open(spec, None, None).after(&asking());
    assert_eq!(stage.ask(1).expires_at, Some(jiff::Timestamp::MAX));
    stage.check(Input::Tick(1_000_000_000), &[]);
}

#[test]
fn time_runs_out() {
    let expired = ["ask 1 expired after 60 s", "→ expire k after 60 s"];
    check(&asking(), Input::Tick(59), &[]);
    check(&asking(), Input::Tick(60), &expired);
    check(&asking(), Input::Tick(-3_600), &[]);
    check(&busy(), Input::Tick(3_600), &[]);
    check(&and(asking(), [Input::Tick(60)]), Input::Tick(60), &[]);
    // An answer comes after the end, but before the clock was looked at.
    check(&and(asking(), [Input::Wait(60)]), accept(1), &expired);
    check(
        &and(asking(), [Input::Wait(59)]),
        accept(1),
        &["ask 1 answered by a: accept", "→ answer k: accept"],
    );
}

#[test]
fn time_runs_out_for_each_ask_by_itself() {
    let given = and(asking(), [Input::Wait(30), asks("l")]);
    let mut stage = Stage::open(Spec::default(), None, None).after(&given);
    stage.check(Input::Tick(30), &["ask 1 expired after 60 s", "→ expire k after 60 s"]);
    stage.check(Input::Tick(45), &["ask 2 expired after 75 s", "→ expire l after 75 s"]);
}

#[test]
fn what_nobody_answers_three_times_stops_the_turn() {
    let mut stage = Stage::open(Spec::default(), None, None).after(&busy());
    for (number, key) in [(1, "k"), (2, "l")] {
        stage.check(asks(key), &[&format!("ask {number} raised")]);
        let expired = format!("ask {number} expired after 60 s");
        stage.check(Input::Tick(60), &[&expired, &format!("→ expire {key} after 60 s")]);
    }
    stage.check(asks("m"), &["ask 3 raised"]);
    stage.check(
        Input::Tick(60),
        &[
            "ask 3 expired after 60 s",
            "interrupt of turn 1",
            "→ expire m after 60 s",
            "→ interrupt x",
        ],
    );
    // Another turn, or an answer, begins the count anew.
    let given = [ended("x"), prompt("again"), started("y"), asks("n"), Input::Tick(60)];
    let mut stage = stage.after(&given);
    stage.check(asks("o"), &["ask 5 raised"]);
    stage.check(accept(5), &["ask 5 answered by a: accept", "→ answer o: accept"]);
    let mut stage = stage.after(&[asks("p"), Input::Tick(60)]);
    stage.check(asks("q"), &["ask 7 raised"]);
    stage.check(Input::Tick(60), &["ask 7 expired after 60 s", "→ expire q after 60 s"]);
}

#[test]
fn too_many_asks_are_refused_at_once() {
    let many = (0..MAX_PENDING_ASKS).map(|it| asks(&format!("k{it}")));
    let given: Vec<_> = busy().into_iter().chain(many).collect();
    let mut stage = Stage::open(Spec::default(), None, None).after(&given);
    stage.check(
        asks("one-more"),
        &["request refused: 256 requests are pending already", "→ expire one-more after 0 s"],
    );
    stage.check(accept(1), &["ask 1 answered by a: accept", "→ answer k0: accept"]);
    stage.check(asks("one-more"), &["ask 257 raised"]);
}

#[test]
fn rules_answer_at_once_and_the_strictest_wins() {
    use RuleOutcome::{Allow, Ask, Refuse, Silent};
    let raised = &["ask 1 raised"][..];
    let accepted =
        &["ask 1 raised", "ask 1 answered by rule-0, bound: accept", "→ answer k: accept"][..];
    for (outcomes, expected) in [
        (&[][..], raised),
        (&[Silent], raised),
        (&[Allow], accepted),
        (
            &[Allow, Allow],
            &[
                "ask 1 raised",
                "ask 1 answered by rule-0, rule-1, bound: accept",
                "→ answer k: accept",
            ],
        ),
        (&[Allow, Silent], accepted),
        (&[Allow, Ask], raised),
        (&[Ask, Allow], raised),
        (
            &[Allow, Ask, Refuse],
            &["ask 1 raised", "ask 1 answered by rule-2, bound: decline", "→ answer k: decline"],
        ),
    ] {
        Stage::open(Spec::default(), None, None)
            .under(policy(outcomes))
            .after(&busy())
            .check(asks("k"), expected);
    }
}

#[test]
fn rules_do_not_say_what_the_agent_does_not_take() {
    let url = Subject::Url {
        server: "s".to_owned(),
        message: String::new(),
        url: "https://example.org".to_owned(),
    };
    let questions = Subject::Question { questions: vec![] };
    let unoffered = Request { offers: vec![], ..request("k", command()) };
    for (input, expected) in [
        (asks_about("k", questions), &["ask 1 raised"][..]),
        (Input::Agent(FromAgent::Asks(Box::new(unoffered))), &["ask 1 raised"]),
        (
            asks_about("k", url),
            &["ask 1 raised", "ask 1 answered by rule-0, bound: accept", "→ answer k: accept"],
        ),
    ] {
        Stage::open(Spec::default(), None, None)
            .under(policy(&[RuleOutcome::Allow]))
            .after(&busy())
            .check(input, expected);
    }
}

fn policy(outcomes: &[RuleOutcome]) -> Policy {
    let rules = outcomes
        .iter()
        .enumerate()
        .map(|(nth, &outcome)| Rule::new(&format!("rule-{nth}"), outcome, |_, _| true));
    Policy::of(rules.collect())
}
