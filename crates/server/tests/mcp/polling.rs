//! What a caller learns of a session, when, and in how many bytes.

use std::time::{Duration, Instant};

use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule},
};
use serde_json::{Value, json};

use crate::client::Client;

fn completed() -> Action {
    Action::EndTurn("completed".to_owned())
}

#[tokio::test]
async fn a_waiting_poll_returns_with_the_change() {
    let home = tempfile::tempdir().unwrap();
    let gate = home.path().join("gate");
    let turn = vec![
        Action::BeginTurn,
        Action::WaitFile(gate.clone()),
        Action::Message("there".to_owned()),
        completed(),
    ];
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("work", "never", home.path()).await;
    client.poll_until(&session, |it| it["events"].to_string().contains("item/completed")).await;
    let poll = |wait: u64| json!({"action": "poll", "sessionId": session, "waitMs": wait, "maxEvents": 50});
    client.done("codex_check", poll(0)).await;
    // Nothing happens, which takes few bytes to say.
    let nothing = client.done("codex_check", poll(50)).await;
    assert_eq!(nothing["events"], json!([]));
    assert!(nothing.to_string().len() <= 120, "{nothing}");
    // Another call is served while this one waits.
    let params = json!({"name": "codex_check", "arguments": poll(20_000)});
    let waiting = client.send("tools/call", params).await;
    client.done("codex_session", json!({"action": "list"})).await;
    std::fs::write(&gate, "").unwrap();
    let begin = Instant::now();
    let found = client.result("codex_check", waiting).await;
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!(!found["structuredContent"]["events"].as_array().unwrap().is_empty(), "{found}");
    let outcome = client.poll_until(&session, |it| it["status"] == "idle").await;
    // Once per turn: it came with this poll or the one before.
    let again = client.done("codex_check", poll(0)).await;
    assert!(again.get("result").is_none(), "{outcome} {again}");
}

#[tokio::test]
async fn events_have_numbers_without_gaps_and_each_reader_its_place() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("hello", "never", home.path()).await;
    client.outcome(&session).await;
    let mut one_by_one = vec![];
    loop {
        let poll = json!({"action": "poll", "sessionId": session, "reader": "slow"});
        let found = client.done("codex_check", poll).await;
        let events = found["events"].as_array().unwrap();
        assert_eq!(found.get("result").is_some(), one_by_one.is_empty(), "{found}");
        let Some(event) = events.first() else { break };
        assert_eq!(events.len(), 1);
        assert_eq!(found["nextCursor"], one_by_one.len() + 1);
        one_by_one.push(event.clone());
    }
    let ids: Vec<_> = one_by_one.iter().map(|it| it["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (0..ids.len() as u64).collect::<Vec<_>>());
    let all = json!({"action": "poll", "sessionId": session, "cursor": 0, "maxEvents": 500});
    let found = client.done("codex_check", all).await;
    assert_eq!(found["events"], Value::from(one_by_one.clone()));
    assert_eq!(found["result"]["output"], "Hello from the fake Codex");
    let beyond = json!({"action": "poll", "sessionId": session, "cursor": 9_999});
    assert_eq!(client.done("codex_check", beyond).await["nextCursor"], ids.len());
    let types: std::collections::BTreeSet<_> =
        one_by_one.iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert!(types.contains("output") && types.contains("result"), "{types:?}");

    // Another process tells the same.
    let mut other = Client::start(home.path(), &agent).await;
    let all = json!({"action": "poll", "sessionId": session, "maxEvents": 500});
    let found = other.done("codex_check", all).await;
    let theirs = found["events"].as_array().unwrap();
    assert_eq!(&theirs[..ids.len()], &one_by_one[..]);
}

#[tokio::test]
async fn results_fit_and_make_progress_and_nothing_is_out_of_reach() {
    let home = tempfile::tempdir().unwrap();
    let words = (0..20_000).map(|it| format!("word{it}")).collect::<Vec<_>>().join(" ");
    let turn = vec![Action::BeginTurn, Action::Message(words.clone()), completed()];
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("work", "never", home.path()).await;
    client.poll_until(&session, |it| it["status"] == "idle").await;
    for (max_bytes, mode) in [(1, "full"), (1_000, "full"), (3_000, "minimal"), (65_536, "full")] {
        let (mut cursor, mut cut) = (0, false);
        loop {
            let poll = json!({
                "action": "poll", "sessionId": session, "cursor": cursor, "maxEvents": 100,
                "responseMode": mode, "reader": format!("{mode}{max_bytes}"),
                "pollOptions": {"maxBytes": max_bytes},
            });
            let result = client.call("codex_check", poll).await;
            let found = &result["structuredContent"];
            // What cannot be made smaller is let through: the frame, and what an event is.
            assert!(
                result.to_string().len() <= max_bytes.max(1_200) + 200,
                "{max_bytes}: {result}"
            );
            cut |= found["truncatedFields"].to_string().contains("result.output");
            let next = found["nextCursor"].as_u64().unwrap();
            if found["events"].as_array().unwrap().is_empty() {
                break;
            }
            assert!(next > cursor, "{found}");
            cursor = next;
        }
        assert!(cut, "{max_bytes} {mode}");
    }
    let all = json!({"action": "poll", "sessionId": session, "cursor": 0, "maxEvents": 100});
    let result = client.call("codex_check", all).await;
    assert!(result.to_string().len() <= 64 * 1024);
    let text = result["content"][0]["text"].as_str().unwrap();
    let (_, item) = text.rsplit_once("itemId ").unwrap();
    let item = item.trim_end_matches('.');
    let (mut offset, mut whole) = (0, String::new());
    loop {
        let page = json!({
            "action": "output", "sessionId": session, "itemId": item, "offset": offset,
            "limit": 40_000,
        });
        let page = client.done("codex_check", page).await["output"].take();
        whole.push_str(page["text"].as_str().unwrap());
        match page["nextOffset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(whole, words);
}

#[tokio::test]
async fn a_session_with_one_approval_takes_few_bytes() {
    let home = tempfile::tempdir().unwrap();
    let ask = Ask { command: "touch f".to_owned(), ..Ask::default() };
    let turn = vec![
        Action::BeginTurn,
        Action::Ask(ask),
        Action::Message("finished".to_owned()),
        completed(),
    ];
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let arguments = json!({
        "prompt": "work", "approvalPolicy": "untrusted", "sandbox": "workspace-write",
        "cwd": home.path(), "wait": true,
    });
    let started = client.call("codex", arguments).await;
    let action = &started["structuredContent"]["actions"][0];
    let session = started["structuredContent"]["sessionId"].as_str().unwrap().to_owned();
    let text = started["content"][0]["text"].as_str().unwrap();
    for needed in [&session, action["requestId"].as_str().unwrap(), "touch f", "accept|"] {
        assert!(text.contains(needed), "{needed}: {text}");
    }
    let answer = json!({
        "action": "respond_permission", "sessionId": session, "requestId": action["requestId"],
        "decision": "accept", "waitMs": 10_000,
    });
    let answered = client.call("codex_check", answer).await;
    let rest = json!({
        "action": "poll", "sessionId": session, "waitMs": 10_000,
        "pollOptions": {"includeEvents": false},
    });
    let mut n_bytes = started.to_string().len() + answered.to_string().len();
    let mut last = answered;
    while last["structuredContent"].get("result").is_none() {
        last = client.call("codex_check", rest.clone()).await;
        n_bytes += last.to_string().len();
    }
    assert_eq!(last["structuredContent"]["result"]["output"], "finished");
    assert!(last["content"][0]["text"].as_str().unwrap().contains("finished"));
    assert!(n_bytes < 2_500, "{n_bytes}: {started} {last}");
}

#[tokio::test]
async fn a_prompt_while_a_turn_runs_is_added_to_it_or_waits_for_its_own() {
    let home = tempfile::tempdir().unwrap();
    let turn = vec![
        Action::BeginTurn,
        Action::Expect("turn/steer".to_owned()),
        Action::Message("steered".to_owned()),
        completed(),
    ];
    let agent = FakeAgent::new(&[Rule::on_nth("turn/start", 1, turn)]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("first", "never", home.path()).await;
    client.poll_until(&session, |it| it["events"].to_string().contains("item/completed")).await;
    let reply = |prompt: &str, when_busy: &str| json!({"sessionId": session, "prompt": prompt, "whenBusy": when_busy});
    client.done("codex_reply", reply("third", "queue")).await;
    client.done("codex_reply", reply("second", "steer")).await;
    // Each turn's result comes once, although the next turn begins in the same moment.
    let first = client.outcome(&session).await;
    assert_eq!((&first["status"], &first["output"]), (&json!("completed"), &json!("steered")));
    let second = client.outcome(&session).await;
    assert_eq!(second["output"], "Hello from the fake Codex");
    let heard = agent.heard().unwrap();
    let input = |method: &str, nth: usize| {
        let mut requests = heard.iter().filter(|it| it["method"] == method);
        requests.nth(nth).unwrap()["params"]["input"][0]["text"].clone()
    };
    // Whoever comes later is told how it stands now.
    let poll = json!({"action": "poll", "sessionId": session, "reader": "late"});
    let late = client.done("codex_check", poll.clone()).await;
    assert_eq!(late["result"]["output"], second["output"]);
    assert!(client.done("codex_check", poll).await.get("result").is_none());
    assert_eq!(input("turn/steer", 0), "second");
    assert_eq!(input("turn/start", 1), "third");
}

#[tokio::test]
async fn a_caller_sees_others_only_if_it_asks_and_never_answers_for_them() {
    let home = tempfile::tempdir().unwrap();
    let ask = Ask { command: "touch f".to_owned(), ..Ask::default() };
    let turn = vec![Action::BeginTurn, Action::Ask(ask), completed()];
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let mut owner = Client::start(home.path(), &agent).await;
    let mut other = Client::start(home.path(), &agent).await;
    let session = owner.session("work", "untrusted", home.path()).await;
    let action = owner.action(&session).await;
    let list = |scope: &str| json!({"action": "list", "scope": scope});
    assert_eq!(other.done("codex_session", list("own")).await["sessions"], json!([]));
    let all = other.done("codex_session", list("all")).await;
    assert_eq!(all["sessions"][0]["sessionId"], session.as_str());
    assert_eq!(other.action(&session).await["digest"], action["digest"]);
    let answer = json!({
        "action": "respond_permission", "sessionId": session, "requestId": action["requestId"],
        "decision": "accept",
    });
    let error = other.refused("codex_check", answer).await;
    assert_eq!(error["code"], "HUMAN_ONLY", "{error}");
    assert!(error["hint"].as_str().unwrap().contains("pilothouse inbox"), "{error}");
    owner.decide(&session, &action, "decline").await;
    let outcome = other.outcome(&session).await;
    assert_eq!(outcome["status"], "completed");
}

#[tokio::test]
async fn what_is_being_said_is_shown_and_sessions_are_managed() {
    let home = tempfile::tempdir().unwrap();
    let delta = |text: &str| {
        let params = json!({
            "threadId": "$threadId", "turnId": "$turnId", "itemId": "msg_1", "delta": text,
        });
        Action::Send(json!({"method": "item/agentMessage/delta", "params": params}))
    };
    let item = json!({
        "threadId": "$threadId", "turnId": "$turnId",
        "item": {"type": "agentMessage", "id": "msg_1", "text": "", "phase": null},
    });
    let turn = vec![
        Action::BeginTurn,
        Action::Send(json!({"method": "item/started", "params": item})),
        delta("so "),
        delta("far"),
    ];
    let agent = FakeAgent::new(&[Rule::on_nth("turn/start", 1, turn)]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("work", "never", home.path()).await;
    let found = client.poll_until(&session, |it| it["live"].to_string().contains("so far")).await;
    assert_eq!(found["live"], json!([{"itemId": "msg_1", "text": "so far"}]));
    let page = json!({"action": "output", "sessionId": session, "itemId": "msg_1"});
    assert_eq!(client.done("codex_check", page).await["output"]["text"], "so far");

    let act = |action: &str| json!({"action": action, "sessionId": session});
    assert_eq!(client.done("codex_session", act("interrupt")).await["success"], true);
    let reply = json!({"sessionId": session, "prompt": "on", "wait": true});
    let replied = client.done("codex_reply", reply).await;
    assert_eq!(replied["result"]["status"], "completed", "{replied}");
    let mut rename = act("rename");
    rename["title"] = "My work".into();
    client.done("codex_session", rename).await;
    client.done("codex_session", act("clean_background_terminals")).await;
    let fork = client.done("codex_session", act("fork")).await;
    assert_eq!(fork["status"], "idle");
    let mut get = act("get");
    get["includeSensitive"] = true.into();
    let info = client.done("codex_session", get).await;
    assert_eq!((&info["title"], &info["turns"]), (&json!("My work"), &json!(2)));
    assert_ne!(info["threadId"], fork["threadId"]);
    assert_eq!(
        client.done("codex_session", json!({"action": "models"})).await["models"],
        json!([])
    );
    client.done("codex_session", act("cancel")).await;
    client.done("codex_session", act("cancel")).await;
    let reply = json!({"sessionId": session, "prompt": "on"});
    assert_eq!(client.refused("codex_reply", reply).await["code"], "CANCELLED");
    let listed = client.done("codex_session", json!({"action": "list"})).await;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn each_mode_tells_as_much_as_its_name_says() {
    let home = tempfile::tempdir().unwrap();
    let words = "word ".repeat(1_000);
    let delta = json!({
        "method": "item/agentMessage/delta",
        "params": {
            "threadId": "$threadId", "turnId": "$turnId", "itemId": "m2", "delta": words,
        },
    });
    let item = json!({"type": "agentMessage", "id": "m2", "text": "", "phase": null});
    let params = json!({"threadId": "$threadId", "turnId": "$turnId", "item": item});
    let turn = vec![
        Action::BeginTurn,
        Action::Message(words.clone()),
        Action::Send(json!({"method": "item/started", "params": params})),
        Action::Send(delta),
    ];
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("work", "never", home.path()).await;
    // A call that waits tells what is being said at its end, although no event is new.
    let waits = json!({
        "action": "poll", "sessionId": session, "waitMs": 300, "maxEvents": 100,
        "responseMode": "full",
    });
    loop {
        let found = client.done("codex_check", waits.clone()).await;
        if found["live"][0]["itemId"] == "m2" && found["live"][0]["text"] == words.as_str() {
            break;
        }
    }
    for (mode, n_text, n_live) in
        [("minimal", 1_500, 256), ("delta_compact", 5_000, 2_048), ("full", 5_000, 5_000)]
    {
        let poll = json!({
            "action": "poll", "sessionId": session, "cursor": 0, "maxEvents": 100,
            "responseMode": mode,
        });
        let found = client.done("codex_check", poll).await;
        let events = found["events"].as_array().unwrap();
        let said = events.iter().find(|it| {
            it["data"]["method"] == "item/completed" && it["data"]["kind"] == "agentMessage"
        });
        let said = &said.unwrap()["data"];
        let text = if mode == "full" { &said["item"]["text"] } else { &said["text"] };
        let n_bytes = text.as_str().unwrap().len();
        assert!(n_bytes <= n_text + 20 && n_bytes + 20 >= n_text, "{mode}: {n_bytes}");
        let live = found["live"][0]["text"].as_str().unwrap().len();
        assert_eq!(live, n_live, "{mode}");
    }
}

#[tokio::test]
async fn what_is_not_wanted_is_left_out_and_not_used_up() {
    let home = tempfile::tempdir().unwrap();
    let ask = Ask { command: "touch f".to_owned(), ..Ask::default() };
    let turn = vec![Action::BeginTurn, Action::Ask(ask), completed()];
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("work", "untrusted", home.path()).await;
    let poll =
        |options: Value| json!({"action": "poll", "sessionId": session, "pollOptions": options});
    let asked = json!({"includeEvents": false});
    let asked = loop {
        let found = client.done("codex_check", poll(asked.clone())).await;
        if found["actions"].is_array() {
            break found;
        }
    };
    assert_eq!((&asked["events"], &asked["nextCursor"]), (&json!([]), &json!(0)));
    let without = client.done("codex_check", poll(json!({"includeActions": false}))).await;
    assert!(without.get("actions").is_none(), "{without}");
    assert_eq!(without["events"][0]["id"], 0);
    // A turn may end before the answer to it has returned, which has its result then.
    let decided = client.decide(&session, &asked["actions"][0], "accept").await;
    loop {
        let found = client.done("codex_check", poll(json!({"includeResult": false}))).await;
        assert!(found.get("result").is_none(), "{found}");
        if found["status"] == "idle" && found["events"] == json!([]) {
            break;
        }
    }
    let found = client.done("codex_check", poll(json!({}))).await;
    let results = [&decided["result"]["status"], &found["result"]["status"]];
    let n_results = results.into_iter().filter(|it| *it == "completed").count();
    assert_eq!(n_results, 1, "{decided} {found}");
    // None counts as one.
    let mut none = poll(json!({}));
    none["cursor"] = 0.into();
    none["maxEvents"] = 0.into();
    assert_eq!(client.done("codex_check", none).await["events"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_list_is_told_in_pages() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let mut started = vec![];
    for _ in 0..3 {
        started.push(client.session("work", "never", home.path()).await);
    }
    let (mut found, mut cursor) = (vec![], Value::Null);
    for n_more in [2, 1] {
        let list = json!({"action": "list", "limit": 2, "cursor": cursor});
        let page = client.done("codex_session", list).await;
        let sessions = page["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), n_more);
        found.extend(sessions.iter().map(|it| it["sessionId"].as_str().unwrap().to_owned()));
        cursor = page["nextCursor"].clone();
    }
    assert!(cursor.is_null());
    found.sort();
    started.sort();
    assert_eq!(found, started);
    let bad = json!({"action": "list", "cursor": "nonsense"});
    assert_eq!(client.refused("codex_session", bad).await["code"], "INVALID_ARGUMENT");
}
