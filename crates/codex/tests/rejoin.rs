//! Coming back to a thread that ran on while nobody listened.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use jiff::Timestamp;
use pilothouse_codex::{Client, Missed, MissedTurn, Output, Peer, Tag, can_be_kept};
use pilothouse_core::{Answer, Decision, FromAgent, Outcome, Spec, ToAgent};
use serde_json::{Value, json};

const A: Tag = Tag(1);
const NOW: Timestamp = Timestamp::UNIX_EPOCH;

#[test]
fn versions_before_0_153_cannot_be_come_back_to() {
    for (version, expected) in
        [("0.125.0", false), ("0.148.0", false), ("0.153.4", true), ("0.171.0", true)]
    {
        assert_eq!(can_be_kept(Some(version)), expected, "{version}");
    }
    assert!(can_be_kept(None));
}

#[test]
fn items_that_were_missed_are_told_once_and_before_what_goes_on() {
    let mut peer = rejoining(running());
    // Both come before the answer that lists what was missed: one of them is listed as well.
    assert_eq!(notify(&mut peer, "item/completed", &completed("i2", "two")), []);
    assert_eq!(notify(&mut peer, "item/completed", &completed("i3", "three")), []);
    assert_eq!(notify(&mut peer, "item/agentMessage/delta", &delta()), []);
    turns(&mut peer, &json!([{"id": "u", "status": "inProgress"}]));
    let told = items(&mut peer, &json!([item("i1", "one"), item("i2", "two")]));
    assert_eq!(said(&told), ["i2: two", "i3: three"]);
    // Told late a second time.
    assert_eq!(notify(&mut peer, "item/completed", &completed("i2", "two")), []);
    let ended = json!({"threadId": "t", "turn": {"id": "u", "status": "completed"}});
    assert_eq!(said(&notify(&mut peer, "turn/completed", &ended)), ["u Completed: three"]);
}

#[test]
fn a_turn_that_ended_meanwhile_ends_as_it_did() {
    for (status, expected) in [
        ("completed", "u Completed: two"),
        ("interrupted", "u Interrupted: two"),
        ("failed", "u Failed: two"),
    ] {
        let mut peer = rejoining(running());
        turns(
            &mut peer,
            &json!([{"id": "v", "status": "completed"}, {"id": "u", "status": status}]),
        );
        let told = items(&mut peer, &json!([item("i1", "one"), item("i2", "two")]));
        assert_eq!(said(&told), ["i2: two", expected]);
    }
}

#[test]
fn a_turn_whose_name_was_not_heard_is_found() {
    let unheard = MissedTurn { since: 100, ..MissedTurn::default() };
    let missed =
        |turn| Missed { thread: "t".into(), turn: Some(turn), last_turn: Some("before".into()) };
    let turn =
        |id: &str, at: i64, status: &str| json!({"id": id, "status": status, "startedAt": at});
    let mut peer = rejoining(missed(unheard.clone()));
    turns(&mut peer, &json!([turn("u", 100, "completed"), turn("before", 100, "completed")]));
    assert_eq!(
        said(&items(&mut peer, &json!([item("i", "x")]))),
        ["u began", "i: x", "u Completed: x"]
    );

    let mut peer = rejoining_as(missed(unheard), &json!({"type": "idle"}));
    let told =
        turns(&mut peer, &json!([turn("before", 100, "completed"), turn("old", 9, "failed")]));
    assert!(
        matches!(&told[..], [Output::Said(A, FromAgent::TurnEnded { name: None, outcome: Outcome::Lost { cause, .. }, .. })] if cause.contains("prompt again")),
        "{told:?}"
    );
}

#[test]
fn what_is_asked_again_says_so_and_can_be_answered() {
    let mut peer = rejoining(running());
    let ask = json!({"id": 7, "method": "item/commandExecution/requestApproval",
        "params": {"threadId": "t", "turnId": "u", "itemId": "c", "command": "ls", "cwd": "/w"}});
    assert_eq!(peer.receive(NOW, &ask.to_string()), []);
    // Before it is heard here nobody can be told of it.
    let yes = Answer::plain(Decision::Accept);
    let answer = ToAgent::Answer { key: "p:7".into(), answer: yes, reason: None };
    assert_eq!(peer.tell(NOW, A, answer), []);
    turns(&mut peer, &json!([{"id": "u", "status": "inProgress"}]));
    let told = items(&mut peer, &json!([item("i1", "one")]));
    let [Output::Said(A, FromAgent::AsksAgain(request)), Output::Line(line)] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(request.key, "p:7");
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line, json!({"id": 7, "result": {"decision": "accept"}}));
}

#[test]
fn what_is_not_asked_again_is_withdrawn_and_an_interrupt_is_told_again() {
    let turn = MissedTurn {
        name: Some("u".into()),
        asks: vec!["p:3".into()],
        interrupted: true,
        ..MissedTurn::default()
    };
    let missed = Missed { thread: "t".into(), turn: Some(turn), last_turn: None };
    let mut peer = rejoining_as(missed, &json!({"type": "active", "activeFlags": []}));
    turns(&mut peer, &json!([{"id": "u", "status": "inProgress"}]));
    let told = items(&mut peer, &json!([]));
    let [Output::Said(A, FromAgent::Settles { key }), Output::Line(line)] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(key, "p:3");
    assert!(line.contains("turn/interrupt"), "{line}");
}

#[test]
fn a_thread_that_is_not_there_says_so() {
    let mut peer = up();
    peer.rejoin(NOW, A, running(), &Spec::default());
    let error = json!({"id": 2, "error": {"code": -32600, "message": "no rollout found"}});
    let told = peer.receive(NOW, &error.to_string());
    assert!(matches!(&told[..], [Output::Said(A, FromAgent::NotReady { .. })]), "{told:?}");

    let mut peer = rejoining(running());
    let error = json!({"id": 3, "error": {"code": -32600, "message": "unknown variant"}});
    let told = peer.receive(NOW, &error.to_string());
    let exited = |it: &Output| matches!(it, Output::Said(A, FromAgent::Exited { .. }));
    assert!(told.last().is_some_and(exited), "{told:?}");
}

#[test]
fn more_than_can_wait_ends_it_and_leaves_nothing_waiting() {
    let mut peer = rejoining(running());
    let ask = json!({"id": 7, "method": "item/commandExecution/requestApproval",
        "params": {"threadId": "t", "turnId": "u", "itemId": "c", "command": "ls", "cwd": "/w"}});
    assert_eq!(peer.receive(NOW, &ask.to_string()), []);
    let told: Vec<_> = (0..5_000)
        .flat_map(|nth| notify(&mut peer, "item/completed", &completed(&nth.to_string(), "x")))
        .collect();
    let [Output::Line(refused), Output::Line(stopped), Output::Said(A, FromAgent::Exited { .. })] =
        &told[..]
    else {
        panic!("{told:?}")
    };
    let refused: Value = serde_json::from_str(refused).unwrap();
    assert_eq!((&refused["id"], refused["error"].is_object()), (&json!(7), true));
    assert!(stopped.contains("turn/interrupt"), "{stopped}");
}

/// Turn `u` was under way in thread `t`, and item `i1` was over.
fn running() -> Missed {
    let turn = MissedTurn {
        name: Some("u".into()),
        done: BTreeSet::from(["i1".to_owned()]),
        ..MissedTurn::default()
    };
    Missed { thread: "t".into(), turn: Some(turn), last_turn: None }
}

fn up() -> Peer {
    let client = Client { name: "c".into(), title: "C".into(), version: "1".into() };
    let mut peer = Peer::new(client, "p".into());
    peer.hello(NOW);
    respond(&mut peer, 1, &json!({"userAgent": "c/0.171.0 (x)"}));
    peer
}

fn rejoining(missed: Missed) -> Peer {
    rejoining_as(missed, &json!({"type": "active", "activeFlags": ["waitingOnApproval"]}))
}

/// The thread was resumed, and what was missed was asked for.
fn rejoining_as(missed: Missed, status: &Value) -> Peer {
    let mut peer = up();
    let sent = peer.rejoin(NOW, A, missed, &Spec::default());
    assert!(
        matches!(&sent[..], [Output::Line(line)] if line.contains("thread/resume")),
        "{sent:?}"
    );
    let told = respond(&mut peer, 2, &json!({"thread": {"id": "t", "status": status}}));
    let [Output::Said(A, FromAgent::Ready { .. }), Output::Line(line)] = &told[..] else {
        panic!("{told:?}")
    };
    assert!(line.contains("thread/turns/list"), "{line}");
    peer
}

fn turns(peer: &mut Peer, turns: &Value) -> Vec<Output> {
    let told = respond(peer, 3, &json!({"data": turns, "nextCursor": null}));
    if let [Output::Line(line)] = &told[..] {
        assert!(line.contains("thread/items/list"), "{line}");
    }
    told
}

/// In two pages.
fn items(peer: &mut Peer, items: &Value) -> Vec<Output> {
    let items = items.as_array().unwrap();
    let entry = |it: &Value| json!({"turnId": "u", "item": it});
    let (first, rest) = items.split_at(items.len().min(1));
    let page = |it: &[Value]| it.iter().map(entry).collect::<Vec<_>>();
    if first.is_empty() {
        return respond(peer, 4, &json!({"data": [], "nextCursor": null}));
    }
    let more = respond(peer, 4, &json!({"data": page(first), "nextCursor": "more"}));
    assert!(matches!(&more[..], [Output::Line(line)] if line.contains("\"cursor\":\"more\"")));
    respond(peer, 5, &json!({"data": page(rest), "nextCursor": null}))
}

fn item(id: &str, words: &str) -> Value {
    json!({"type": "agentMessage", "id": id, "text": words})
}

fn completed(id: &str, words: &str) -> Value {
    json!({"threadId": "t", "turnId": "u", "item": item(id, words)})
}

fn delta() -> Value {
    json!({"threadId": "t", "turnId": "u", "itemId": "i4", "delta": "x"})
}

fn respond(peer: &mut Peer, id: i64, result: &Value) -> Vec<Output> {
    peer.receive(NOW, &json!({"id": id, "result": result}).to_string())
}

fn notify(peer: &mut Peer, method: &str, params: &Value) -> Vec<Output> {
    peer.receive(NOW, &json!({"method": method, "params": params}).to_string())
}

fn said(outputs: &[Output]) -> Vec<String> {
    let word = |it: &Output| {
        let Output::Said(A, message) = it else { return format!("{it:?}") };
        if let FromAgent::TurnStarted { name } = message {
            return format!("{name} began");
        }
        if let FromAgent::ItemCompleted { item, body, .. } = message {
            return format!("{item}: {}", body["text"].as_str().unwrap());
        }
        let FromAgent::TurnEnded { name, outcome, report } = message else {
            return format!("{it:?}");
        };
        let how = match outcome {
            Outcome::Completed => "Completed",
            Outcome::Interrupted => "Interrupted",
            Outcome::Failed { .. } => "Failed",
            Outcome::Lost { .. } => "Lost",
        };
        let output = report.output.as_deref().unwrap_or("nothing");
        format!("{} {how}: {output}", name.as_deref().unwrap_or("?"))
    };
    outputs.iter().map(word).collect()
}
