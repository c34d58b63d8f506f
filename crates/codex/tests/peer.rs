//! The conversation when it does not go as recorded: early, late, twice, lost, too much.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use jiff::{SignedDuration, Timestamp};
use pilothouse_codex::{Client, Output, Peer, Tag};
use pilothouse_core::{
    AgentError, Attach, FromAgent, Management, Outcome, Prompt, Spec, ToAgent, TurnId,
};
use serde_json::{Value, json};

const A: Tag = Tag(1);
const B: Tag = Tag(2);
const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn at(seconds: i64) -> Timestamp {
    NOW + SignedDuration::from_secs(seconds)
}

#[test]
fn threads_wait_for_the_handshake() {
    let mut peer = peer();
    assert_eq!(methods(&peer.hello(NOW)), ["initialize"]);
    assert_eq!(peer.attach(NOW, A, &Attach::Start, &spec()), []);
    assert_eq!(peer.request(NOW, None, 5, "model/list", Value::Null), []);
    let outputs = respond(&mut peer, 1, &json!({"userAgent": "c/0.171.0 (x)"}));
    let version = Some("0.171.0".to_owned());
    assert_eq!(outputs[1], Output::Up { version });
    assert_eq!(methods(&outputs), ["initialized", "model/list", "thread/start"]);
}

#[test]
fn the_handshake_opts_out_of_what_would_be_dropped() {
    let line = line(&peer().hello(NOW)[0]);
    assert_eq!(line["params"]["capabilities"]["experimentalApi"], true);
    let out = line["params"]["capabilities"]["optOutNotificationMethods"].as_array().unwrap();
    assert!(out.contains(&json!("account/rateLimits/updated")));
    for needed in
        ["turn/completed", "thread/closed", "thread/status/changed", "serverRequest/resolved"]
    {
        assert!(!out.contains(&json!(needed)), "{needed}");
    }
}

#[test]
fn a_handshake_without_an_answer_breaks_the_connection() {
    let mut peer = peer();
    peer.hello(NOW);
    peer.attach(NOW, A, &Attach::Start, &spec());
    peer.request(NOW, None, 5, "model/list", Value::Null);
    assert_eq!(peer.next_deadline(), Some(at(30)));
    let cause = "Codex did not answer initialize within 30 s".to_owned();
    let error = AgentError { message: cause.clone(), detail: Value::Null };
    assert_eq!(
        peer.on_tick(at(30)),
        [
            Output::Answered { id: 5, result: Err(error.clone()) },
            Output::Said(A, FromAgent::NotReady { error }),
            Output::Broken { cause },
        ]
    );
    assert_eq!(peer.tags().count(), 0);
}

#[test]
fn what_comes_before_the_thread_is_known_is_heard_after_it() {
    let mut peer = up();
    peer.attach(NOW, A, &Attach::Start, &spec());
    let status = json!({"threadId": "t", "name": "s", "status": "starting"});
    assert_eq!(notify(&mut peer, "mcpServer/startupStatus/updated", &status), []);
    let asked = json!({"id": 0, "method": "mcpServer/elicitation/request", "params": {"threadId": "t", "url": "https://x"}});
    assert_eq!(peer.receive(NOW, &asked.to_string()), []);
    let outputs = respond(&mut peer, 2, &json!({"thread": {"id": "t"}}));
    let [
        Output::Said(A, FromAgent::Ready { thread, facts }),
        Output::Said(A, FromAgent::Notes { .. }),
        Output::Said(A, FromAgent::Asks(_)),
    ] = outputs.as_slice()
    else {
        panic!("{outputs:?}")
    };
    assert_eq!((thread.as_str(), facts.process.as_deref()), ("t", Some("p")));
    assert_eq!((facts.dialect.as_str(), facts.version.as_deref()), ("app-server", Some("0.171.0")));
}

#[test]
fn a_request_by_a_thread_that_stays_unknown_is_refused() {
    let mut peer = up();
    let asked = json!({"id": 3, "method": "item/fileChange/requestApproval", "params": {"threadId": "nobody's"}});
    assert_eq!(peer.receive(NOW, &asked.to_string()), []);
    let deadline = peer.next_deadline().unwrap();
    let outputs = peer.on_tick(deadline);
    assert_eq!(line(&outputs[0])["id"], 3);
    assert!(line(&outputs[0]).get("error").is_some());
    assert_eq!(peer.next_deadline(), None);
}

#[test]
fn ids_of_both_sides_are_apart_and_a_second_response_is_none() {
    let mut peer = up();
    peer.attach(NOW, A, &Attach::Start, &spec());
    let asked = json!({"id": 2, "method": "attestation/generate", "params": {}});
    assert_eq!(line(&peer.receive(NOW, &asked.to_string())[0])["id"], 2);
    assert_eq!(respond(&mut peer, 2, &json!({"thread": {"id": "t"}})).len(), 1);
    assert_eq!(respond(&mut peer, 2, &json!({"thread": {"id": "u"}})), []);
    assert_eq!(respond(&mut peer, 99, &json!({})), []);
}

#[test]
fn a_turn_s_beginning_is_told_once_and_another_end_ends_it_too() {
    let mut peer = with_thread();
    start_turn(&mut peer);
    let started = Output::Said(A, FromAgent::TurnStarted { name: "u".into() });
    assert_eq!(respond(&mut peer, 3, &json!({"turn": {"id": "u"}})), [started]);
    let other = json!({"threadId": "t", "turn": {"id": "other"}});
    assert_eq!(notify(&mut peer, "turn/started", &other), []);
    let done = json!({"threadId": "t", "turn": {"id": "u", "status": "completed"}});
    let outputs = notify(&mut peer, "turn/completed", &done);
    let [Output::Said(A, FromAgent::TurnEnded { name, outcome, .. })] = outputs.as_slice() else {
        panic!("{outputs:?}")
    };
    assert_eq!((name.as_deref(), outcome), (Some("u"), &Outcome::Completed));
    assert_eq!(notify(&mut peer, "turn/completed", &done), []);
}

#[test]
fn a_turn_that_codex_will_not_begin_is_refused() {
    let mut peer = with_thread();
    start_turn(&mut peer);
    let outputs = fail(&mut peer, 3, -32600, "thread not found: t");
    let [Output::Said(A, FromAgent::TurnRefused { error })] = outputs.as_slice() else {
        panic!("{outputs:?}")
    };
    assert!(error.message.starts_with("thread not found: t (") && error.detail["code"] == -32600);
    start_turn(&mut peer);
    let outputs = peer.on_tick(at(90));
    let [Output::Said(A, FromAgent::TurnRefused { error })] = outputs.as_slice() else {
        panic!("{outputs:?}")
    };
    assert_eq!(error.message, "Codex did not answer turn/start within 90 s");
}

#[test]
fn an_overloaded_codex_is_asked_again_later_and_not_for_ever() {
    let mut peer = up();
    peer.request(NOW, None, 5, "model/list", Value::Null);
    let mut now = NOW;
    for id in 2..8 {
        assert_eq!(fail(&mut peer, id, -32001, "Server overloaded; retry later."), []);
        now = peer.next_deadline().unwrap().max(now);
        assert_eq!(methods(&peer.on_tick(now)), ["model/list"]);
    }
    let outputs = fail(&mut peer, 8, -32001, "Server overloaded; retry later.");
    assert!(
        matches!(outputs.as_slice(), [Output::Answered { id: 5, result: Err(_) }]),
        "{outputs:?}"
    );
}

#[test]
fn a_thread_that_is_closing_is_resumed_once_it_has_closed() {
    let mut peer = up();
    let how = Attach::Resume { thread: "t".into() };
    peer.attach(NOW, A, &how, &spec());
    let closing = "thread t is closing; retry thread/resume after the thread is closed";
    assert_eq!(fail(&mut peer, 2, -32600, closing), []);
    // Late words of its closing are not about the thread that comes.
    assert_eq!(notify(&mut peer, "thread/closed", &json!({"threadId": "t"})), []);
    let now = peer.next_deadline().unwrap();
    assert_eq!(methods(&peer.on_tick(now)), ["thread/resume"]);
    assert!(matches!(
        respond(&mut peer, 3, &json!({"thread": {"id": "t"}})).as_slice(),
        [Output::Said(A, FromAgent::Ready { .. })]
    ));
}

#[test]
fn few_requests_are_under_way_and_the_rest_waits_or_fails() {
    let mut peer = up();
    let n_sent =
        |outputs: &[Output]| outputs.iter().filter(|it| matches!(it, Output::Line(_))).count();
    let sent: usize =
        (0..100).map(|id| n_sent(&peer.request(NOW, None, id, "model/list", json!({})))).sum();
    assert_eq!(sent, 32);
    let outputs = respond(&mut peer, 2, &json!({}));
    assert_eq!((outputs.len(), n_sent(&outputs)), (2, 1));
    let mut refused = 0;
    for id in 100..2_000 {
        let outputs = peer.request(NOW, None, id, "model/list", json!({}));
        refused += outputs
            .iter()
            .filter(|it| matches!(it, Output::Answered { result: Err(_), .. }))
            .count();
    }
    assert_eq!(refused, 1_900 - (1_024 - 67));
    // Whoever waits is answered in the end.
    let gone = peer.exited("gone", None);
    assert_eq!(gone.iter().filter(|it| matches!(it, Output::Answered { .. })).count(), 32 + 1_024);
}

#[test]
fn an_interrupt_also_ends_what_runs() {
    let mut peer = with_turn();
    let outputs = peer.tell(NOW, A, ToAgent::Interrupt { turn: "u".into() });
    assert_eq!(line(&outputs[0])["params"], json!({"threadId": "t", "turnId": "u"}));
    assert_eq!(methods(&respond(&mut peer, 4, &json!({}))), ["thread/backgroundTerminals/clean"]);
}

#[test]
fn a_session_leaves_with_all_that_it_had() {
    let mut peer = with_turn();
    let asked = json!({"id": 0, "method": "item/commandExecution/requestApproval", "params": {"threadId": "t", "turnId": "u", "command": "x"}});
    peer.receive(NOW, &asked.to_string());
    let outputs = peer.detach(NOW, A, true);
    assert_eq!(line(&outputs[0]), json!({"id": 0, "result": {"decision": "cancel"}}));
    assert_eq!(methods(&outputs[1..]), ["turn/interrupt"]);
    // A step that fails does not keep it here.
    assert_eq!(
        methods(&fail(&mut peer, 4, -32600, "no active turn to interrupt")),
        ["thread/backgroundTerminals/clean"]
    );
    let outputs = respond(&mut peer, 5, &json!({}));
    assert_eq!(line(&outputs[0])["params"], json!({"threadId": "t"}));
    assert_eq!(methods(&outputs), ["thread/unsubscribe"]);
    assert_eq!(peer.tags().count(), 0);
    // Nobody hears it any more, and nothing that it asks hangs.
    assert_eq!(
        notify(
            &mut peer,
            "turn/completed",
            &json!({"threadId": "t", "turn": {"id": "u", "status": "interrupted"}})
        ),
        []
    );
    let late =
        json!({"id": 1, "method": "item/fileChange/requestApproval", "params": {"threadId": "t"}});
    assert!(line(&peer.receive(NOW, &late.to_string())[0]).get("error").is_some());
}

#[test]
fn a_session_that_leaves_while_its_thread_starts_leaves_no_thread() {
    let mut peer = up();
    peer.attach(NOW, A, &Attach::Start, &spec());
    assert_eq!(peer.detach(NOW, A, true), []);
    let outputs = respond(&mut peer, 2, &json!({"thread": {"id": "t"}}));
    assert_eq!(methods(&outputs), ["thread/backgroundTerminals/clean"]);
    assert_eq!(methods(&respond(&mut peer, 3, &json!({}))), ["thread/unsubscribe"]);
}

#[test]
fn a_session_that_comes_back_at_once_waits_until_it_has_left() {
    let mut peer = with_turn();
    assert_eq!(methods(&peer.detach(NOW, A, false)), ["turn/interrupt"]);
    let how = Attach::Resume { thread: "t".into() };
    assert_eq!(peer.attach(NOW, A, &how, &spec()), []);
    assert_eq!(methods(&respond(&mut peer, 4, &json!({}))), ["thread/backgroundTerminals/clean"]);
    assert_eq!(methods(&respond(&mut peer, 5, &json!({}))), ["thread/unsubscribe"]);
    assert_eq!(methods(&respond(&mut peer, 6, &json!({}))), ["thread/resume"]);
    let outputs = respond(&mut peer, 7, &json!({"thread": {"id": "t"}}));
    assert!(matches!(outputs.as_slice(), [Output::Said(A, FromAgent::Ready { .. })]));
}

#[test]
fn two_sessions_do_not_share_a_thread() {
    let mut peer = with_thread();
    let how = Attach::Resume { thread: "t".into() };
    let outputs = peer.attach(NOW, B, &how, &spec());
    assert!(
        matches!(outputs.as_slice(), [Output::Said(B, FromAgent::NotReady { .. })]),
        "{outputs:?}"
    );
    assert_eq!(peer.tags().collect::<Vec<_>>(), [A]);
}

#[test]
fn a_thread_that_waits_without_a_request_is_noted() {
    let mut peer = with_turn();
    let status =
        |flags: Value| json!({"threadId": "t", "status": {"type": "active", "activeFlags": flags}});
    let waits = status(json!(["waitingOnApproval"]));
    assert_eq!(notify(&mut peer, "thread/status/changed", &waits), []);
    assert_eq!(peer.next_deadline(), Some(at(10)));
    assert_eq!(peer.on_tick(at(9)), []);
    let outputs = peer.on_tick(at(10));
    let [Output::Said(A, FromAgent::Notes { method, body })] = outputs.as_slice() else {
        panic!("{outputs:?}")
    };
    assert_eq!(method, "pilothouse/waitsWithoutRequest");
    assert!(body["message"].as_str().unwrap().contains("has asked nothing"), "{body}");
    // Once is enough, and going on is the end of it.
    assert_eq!(peer.on_tick(at(60)), []);
    notify(&mut peer, "thread/status/changed", &waits);
    notify(&mut peer, "thread/status/changed", &status(json!([])));
    assert_eq!(peer.next_deadline(), None);
    // Whoever has asked waits for the answer, and that is on record already.
    notify(&mut peer, "thread/status/changed", &waits);
    let params =
        json!({"threadId": "t", "turnId": "u", "itemId": "i", "command": "ls", "cwd": "/"});
    let request =
        json!({"id": 7, "method": "item/commandExecution/requestApproval", "params": params});
    assert_eq!(peer.receive(NOW, &request.to_string()).len(), 1);
    assert_eq!(peer.on_tick(at(60)), []);
}

#[test]
fn a_thread_that_codex_closes_takes_its_turn_along() {
    let mut peer = with_turn();
    let idle = json!({"threadId": "t", "status": {"type": "idle"}});
    assert_eq!(notify(&mut peer, "thread/status/changed", &idle), []);
    let outputs = notify(&mut peer, "thread/closed", &json!({"threadId": "t"}));
    let [
        Output::Said(A, FromAgent::TurnEnded { outcome, .. }),
        Output::Said(A, FromAgent::Exited { .. }),
    ] = outputs.as_slice()
    else {
        panic!("{outputs:?}")
    };
    assert!(matches!(outcome, Outcome::Lost { .. }));
    assert_eq!(peer.tags().count(), 0);
}

#[test]
fn a_program_that_speaks_no_protocol_is_not_understood() {
    let mut peer = peer();
    peer.hello(NOW);
    peer.attach(NOW, A, &Attach::Start, &spec());
    assert_eq!(peer.receive(NOW, "Welcome to something else!"), []);
    let outputs = peer.exited("exit status: 0", None);
    let [Output::Said(A, FromAgent::NotReady { error }), Output::Said(A, FromAgent::Exited { .. })] =
        outputs.as_slice()
    else {
        panic!("{outputs:?}")
    };
    assert_eq!(error.detail["code"], "PROTOCOL_PARSE_ERROR");
    assert!(error.message.contains("exit status: 0"), "{error:?}");
}

#[test]
fn a_program_that_goes_on_without_a_protocol_is_given_up() {
    let unclear = |outputs: &[Output]| match outputs {
        [
            Output::Answered { id: 5, result: Err(asked) },
            Output::Said(A, FromAgent::NotReady { error }),
            Output::Broken { cause },
        ] => {
            assert_eq!(asked, error);
            assert_eq!(&error.message, cause);
            error.detail["code"] == "PROTOCOL_PARSE_ERROR"
        }
        _ => false,
    };
    let begun = || {
        let mut peer = peer();
        peer.hello(NOW);
        peer.attach(NOW, A, &Attach::Start, &spec());
        peer.request(NOW, None, 5, "model/list", Value::Null);
        peer
    };
    // A banner may come first, but not for ever.
    let mut slow = begun();
    assert_eq!(slow.receive(at(1), "Welcome!"), []);
    assert_eq!(slow.next_deadline(), Some(at(11)));
    assert_eq!(slow.on_tick(at(10)), []);
    let outputs = slow.on_tick(at(11));
    assert!(unclear(&outputs), "{outputs:?}");
    assert_eq!(slow.next_deadline(), None);
    let mut long = begun();
    let told = (0..100).find_map(|it| {
        let outputs = long.receive(NOW, &format!("line {it}"));
        (!outputs.is_empty()).then_some((it, outputs))
    });
    let (n_lines, outputs) = told.unwrap();
    assert_eq!(n_lines, 63);
    assert!(unclear(&outputs), "{outputs:?}");
    // Whoever comes only then hears the same.
    let late = long.attach(NOW, B, &Attach::Start, &spec());
    let [Output::Said(B, FromAgent::NotReady { error })] = late.as_slice() else {
        panic!("{late:?}")
    };
    assert_eq!(error.detail["code"], "PROTOCOL_PARSE_ERROR");
    // Whoever speaks after its banner is heard, and its slips are only counted.
    let mut wrapped = begun();
    wrapped.receive(NOW, "Welcome!");
    respond(&mut wrapped, 1, &json!({"userAgent": "c/0.171.0 (x)"}));
    for _ in 0..100 {
        assert_eq!(wrapped.receive(at(20), "nonsense"), []);
    }
    assert_eq!(wrapped.tags().count(), 1);
}

#[test]
fn a_request_that_codex_leaves_without_an_answer_has_timed_out() {
    let mut peer = with_thread();
    peer.request(NOW, None, 5, "model/list", Value::Null);
    let outputs = peer.on_tick(at(30));
    let [Output::Answered { id: 5, result: Err(error) }] = outputs.as_slice() else {
        panic!("{outputs:?}")
    };
    assert_eq!(error.detail["code"], "TIMEOUT");
}

#[test]
fn a_sub_agent_is_known_by_the_turn_that_it_serves() {
    let mut peer = with_turn();
    // What it says before its turn is known waits for it.
    let item = |id: &str| json!({"threadId": "child", "turnId": "v", "item": {"id": id, "type": "agentMessage", "text": "x"}});
    assert_eq!(notify(&mut peer, "item/started", &item("i")), []);
    let started = json!({"threadId": "child", "turn": {"id": "v", "rootTurnId": "u"}});
    let outputs = notify(&mut peer, "turn/started", &started);
    let [Output::Said(A, FromAgent::ItemStarted { agent: Some(agent), .. })] = outputs.as_slice()
    else {
        panic!("{outputs:?}")
    };
    assert_eq!((agent.thread_id.as_str(), &agent.path), ("child", &None));
    let activity = json!({"threadId": "t", "turnId": "u", "item": {"id": "s", "type": "subAgentActivity", "agentThreadId": "child", "agentPath": "/helper"}});
    notify(&mut peer, "item/started", &activity);
    let outputs = notify(&mut peer, "item/completed", &item("i"));
    let [Output::Said(A, FromAgent::ItemCompleted { agent: Some(agent), .. })] = outputs.as_slice()
    else {
        panic!("{outputs:?}")
    };
    assert_eq!(agent.path.as_deref(), Some("/helper"));
    // Its turn is stopped with the session's, and its end is not the session's.
    let outputs = peer.tell(NOW, A, ToAgent::Interrupt { turn: "u".into() });
    let turns: Vec<_> = outputs.iter().map(|it| line(it)["params"]["turnId"].clone()).collect();
    assert_eq!(turns, ["u", "v"]);
    let done = json!({"threadId": "child", "turn": {"id": "v", "status": "interrupted"}});
    assert_eq!(notify(&mut peer, "turn/completed", &done), []);
    let outputs = notify(
        &mut peer,
        "turn/completed",
        &json!({"threadId": "t", "turn": {"id": "u", "status": "completed"}}),
    );
    let [Output::Said(A, FromAgent::TurnEnded { report, .. })] = outputs.as_slice() else {
        panic!("{outputs:?}")
    };
    assert_eq!(report.output, None);
}

#[test]
fn an_item_that_begins_twice_is_told_once() {
    let mut peer = with_turn();
    let item =
        json!({"threadId": "t", "turnId": "u", "item": {"id": "i", "type": "commandExecution"}});
    assert_eq!(notify(&mut peer, "item/started", &item).len(), 1);
    assert_eq!(notify(&mut peer, "item/started", &item), []);
    assert_eq!(notify(&mut peer, "item/completed", &item).len(), 1);
}

#[test]
fn what_codex_withdraws_is_withdrawn_once() {
    let mut peer = with_turn();
    let asked = json!({"id": 0, "method": "item/commandExecution/requestApproval", "params": {"threadId": "t", "turnId": "u", "command": "x"}});
    peer.receive(NOW, &asked.to_string());
    let resolved = json!({"threadId": "t", "requestId": 0});
    let settled = Output::Said(A, FromAgent::Settles { key: "p:0".into() });
    assert_eq!(notify(&mut peer, "serverRequest/resolved", &resolved), [settled]);
    assert_eq!(notify(&mut peer, "serverRequest/resolved", &resolved), []);
}

#[test]
fn the_unknown_is_noted_if_it_is_about_a_thread_and_nothing_else_is() {
    let mut peer = with_turn();
    let check = |peer: &mut Peer, method: &str, params: Value, n: usize| {
        assert_eq!(notify(peer, method, &params).len(), n, "{method} {params}");
    };
    check(&mut peer, "brand/new", json!({"threadId": "t"}), 1);
    check(&mut peer, "brand/new", json!({"threadId": "other"}), 0);
    check(&mut peer, "brand/new", json!({}), 0);
    check(&mut peer, "warning", json!({"threadId": null, "message": "m"}), 1);
    check(&mut peer, "account/rateLimits/updated", json!({"threadId": "t"}), 0);
    check(&mut peer, "codex/event/task_started", json!({"threadId": "t"}), 0);
}

#[test]
fn lines_that_make_no_sense_are_counted() {
    let mut peer = with_turn();
    for line in ["", "nonsense", "[1]", "{}", "{\"id\":null}", "\u{1b}[31merror"] {
        assert_eq!(peer.receive(NOW, line), []);
    }
    assert_eq!(peer.n_malformed(), 6);
}

#[test]
fn what_is_managed_goes_out_and_its_failure_is_noted() {
    let mut peer = with_thread();
    let target = json!({"type": "uncommittedChanges"});
    let review = Management::Review { target: target.clone() };
    let outputs = peer.tell(NOW, A, ToAgent::Manage(review));
    let expected = json!({"threadId": "t", "target": target, "delivery": "inline"});
    assert_eq!(line(&outputs[0])["params"], expected);
    let started = Output::Said(A, FromAgent::TurnStarted { name: "r".into() });
    assert_eq!(respond(&mut peer, 3, &json!({"turn": {"id": "r"}})), [started]);
    assert_eq!(
        methods(&peer.tell(NOW, A, ToAgent::Manage(Management::Compact))),
        ["thread/compact/start"]
    );
    let outputs = fail(&mut peer, 4, -32600, "no");
    assert!(
        matches!(outputs.as_slice(), [Output::Said(A, FromAgent::Notes { method, .. })] if method == "thread/compact/start")
    );
}

#[test]
fn a_raw_request_is_about_the_session_s_thread_and_is_always_answered() {
    let mut peer = with_thread();
    let outputs = peer.request(NOW, Some(A), 9, "thread/read", Value::Null);
    assert_eq!(line(&outputs[0])["params"], json!({"threadId": "t"}));
    let answered = Output::Answered { id: 9, result: Ok(json!({"x": 1})) };
    assert_eq!(respond(&mut peer, 3, &json!({"x": 1})), [answered]);
    let outputs = peer.request(NOW, Some(B), 10, "thread/read", Value::Null);
    assert!(matches!(outputs.as_slice(), [Output::Answered { id: 10, result: Err(_) }]));
    peer.exited("gone", None);
    let outputs = peer.request(NOW, None, 11, "model/list", Value::Null);
    assert!(matches!(outputs.as_slice(), [Output::Answered { id: 11, result: Err(_) }]));
}

#[test]
fn the_end_of_the_process_is_told_to_every_session() {
    let mut peer = with_turn();
    peer.attach(NOW, B, &Attach::Start, &spec());
    let exited =
        |tag| Output::Said(tag, FromAgent::Exited { cause: "signal 9".into(), fault: None });
    assert_eq!(peer.exited("signal 9", None), [exited(A), exited(B)]);
    assert_eq!(peer.exited("signal 9", None), []);
    assert_eq!(peer.next_deadline(), None);
}

#[test]
fn effort_and_mode_go_with_the_first_turn_only() {
    let mut peer = up();
    let mode = json!({"mode": "plan", "settings": {"model": "m"}});
    let spec =
        Spec { effort: Some("high".into()), collaboration_mode: Some(mode.clone()), ..spec() };
    peer.attach(NOW, A, &Attach::Start, &spec);
    respond(&mut peer, 2, &json!({"thread": {"id": "t"}}));
    let first = start_turn(&mut peer);
    assert_eq!(
        (&first["params"]["effort"], &first["params"]["collaborationMode"]),
        (&json!("high"), &mode)
    );
    let second = start_turn(&mut peer);
    assert!(
        second["params"].get("effort").is_none()
            && second["params"].get("collaborationMode").is_none()
    );
}

fn peer() -> Peer {
    let client = Client { name: "c".into(), title: "C".into(), version: "1".into() };
    Peer::new(client, "p".into())
}

fn spec() -> Spec {
    Spec { cwd: "/w".into(), ..Spec::default() }
}

fn up() -> Peer {
    let mut peer = peer();
    peer.hello(NOW);
    respond(&mut peer, 1, &json!({"userAgent": "c/0.171.0 (x)"}));
    peer
}

/// Session `A` has thread `t`; two requests were sent.
fn with_thread() -> Peer {
    let mut peer = up();
    peer.attach(NOW, A, &Attach::Start, &spec());
    respond(&mut peer, 2, &json!({"thread": {"id": "t"}}));
    peer
}

/// Turn `u` runs there; three requests were sent.
fn with_turn() -> Peer {
    let mut peer = with_thread();
    start_turn(&mut peer);
    respond(&mut peer, 3, &json!({"turn": {"id": "u"}}));
    peer
}

fn start_turn(peer: &mut Peer) -> Value {
    let message = ToAgent::StartTurn { turn: TurnId(1), prompt: Prompt::text("hi") };
    line(&peer.tell(NOW, A, message)[0])
}

fn respond(peer: &mut Peer, id: i64, result: &Value) -> Vec<Output> {
    peer.receive(NOW, &json!({"id": id, "result": result}).to_string())
}

fn fail(peer: &mut Peer, id: i64, code: i64, message: &str) -> Vec<Output> {
    let error = json!({"code": code, "message": message});
    peer.receive(NOW, &json!({"id": id, "error": error}).to_string())
}

fn notify(peer: &mut Peer, method: &str, params: &Value) -> Vec<Output> {
    peer.receive(NOW, &json!({"method": method, "params": params}).to_string())
}

fn line(output: &Output) -> Value {
    match output {
        Output::Line(line) => serde_json::from_str(line).unwrap(),
        other @ (Output::Said(..)
        | Output::Up { .. }
        | Output::Answered { .. }
        | Output::Broken { .. }) => {
            panic!("{other:?}")
        }
    }
}

fn methods(outputs: &[Output]) -> Vec<String> {
    let method = |it: &Output| match it {
        Output::Line(line) => {
            let line: Value = serde_json::from_str(line).unwrap();
            line["method"].as_str().map(Into::into)
        }
        Output::Said(..) | Output::Up { .. } | Output::Answered { .. } | Output::Broken { .. } => {
            None
        }
    };
    outputs.iter().filter_map(method).collect()
}
