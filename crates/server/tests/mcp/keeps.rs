//! What gets lost elsewhere and is kept here, however small the pieces that a caller takes.

use pilothouse_testkit::{
    FakeAgent, ScriptedModel,
    agent::{Action, Ask, Rule},
};
use serde_json::{Value, json};

use crate::{client::Client, real_codex};

fn completed() -> Action {
    Action::EndTurn("completed".to_owned())
}

fn about_item(method: &str, mut params: Value) -> Action {
    params["threadId"] = "$threadId".into();
    params["turnId"] = "$turnId".into();
    Action::Send(json!({"method": method, "params": params}))
}

fn command(output: Option<&str>) -> Value {
    json!({
        "type": "commandExecution", "id": "call_1", "command": "/bin/bash -lc 'make'", "cwd": "/",
        "status": if output.is_some() { "completed" } else { "inProgress" },
        "aggregatedOutput": output, "exitCode": output.map(|_| 0), "commandActions": [],
    })
}

async fn started(
    turn: Vec<Action>,
    policy: &str,
) -> (tempfile::TempDir, FakeAgent, Client, String) {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("work", policy, home.path()).await;
    (home, agent, client, session)
}

/// All events from a place on, a few at a time, as long as there are any.
async fn all(client: &mut Client, session: &str, mut cursor: u64, step: Value) -> Vec<Value> {
    let mut events: Vec<Value> = vec![];
    loop {
        let mut poll = json!({"action": "poll", "sessionId": session, "cursor": cursor});
        for (name, value) in step.as_object().unwrap() {
            poll[name] = value.clone();
        }
        let found = client.done("codex_check", poll).await;
        assert!(found.get("cursorResetTo").is_none(), "{found}");
        let page = found["events"].as_array().unwrap();
        if page.is_empty() {
            return events;
        }
        events.extend(page.iter().cloned());
        let next = found["nextCursor"].as_u64().unwrap();
        assert!(next > cursor, "{found}");
        cursor = next;
    }
}

/// A long text, no part of which is like another.
fn numbers(n: u32) -> String {
    (0..n).map(|it| format!("{it:09}\n")).collect::<Vec<_>>().concat()
}

fn ids(events: &[Value]) -> Vec<u64> {
    events.iter().map(|it| it["id"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn text_that_comes_after_an_event_was_delivered_is_not_lost_with_it() {
    let home = tempfile::tempdir().unwrap();
    let gate = home.path().join("gate");
    let delta = |text: &str| {
        about_item("item/commandExecution/outputDelta", json!({"itemId": "call_1", "delta": text}))
    };
    let (_home, _agent, mut client, session) = started(
        vec![
            Action::BeginTurn,
            about_item("item/started", json!({"item": command(None)})),
            delta("A"),
            Action::WaitFile(gate.clone()),
            delta("B"),
            delta("CD"),
            about_item("item/completed", json!({"item": command(Some("ABCD"))})),
            completed(),
        ],
        "never",
    )
    .await;
    client.poll_until(&session, |it| it["live"].to_string().contains("\"A\"")).await;
    let before = all(&mut client, &session, 0, json!({"maxEvents": 100})).await;
    std::fs::write(&gate, "").unwrap();
    client.outcome(&session).await;
    let after = all(&mut client, &session, 0, json!({"maxEvents": 100})).await;
    // What was delivered is as it was, and what came since is in events of its own.
    assert_eq!(before[..], after[..before.len()]);
    let rest = Value::from(after[before.len()..].to_vec()).to_string();
    assert!(rest.contains("\"output\":\"ABCD\""), "{rest}");
}

#[tokio::test]
async fn behind_an_approval_there_is_no_gap_however_much_follows() {
    let ask = Ask { command: "touch f".to_owned(), ..Ask::default() };
    let mut turn = vec![Action::BeginTurn, Action::Ask(ask)];
    // More than twice what codex-mcp keeps.
    turn.extend((0..2_200).map(|it| Action::Message(format!("word {it}"))));
    turn.push(completed());
    let (_home, _agent, mut client, session) = started(turn, "untrusted").await;
    let action = client.action(&session).await;
    let first = all(&mut client, &session, 0, json!({"maxEvents": 100})).await;
    client.decide(&session, &action, "accept").await;
    client.poll_until(&session, |it| it["status"] == "idle").await;
    let last = first.len() as u64;
    let rest = all(&mut client, &session, last, json!({"maxEvents": 400})).await;
    assert_eq!(ids(&rest), (last..last + rest.len() as u64).collect::<Vec<_>>());
    let text = Value::from(rest.clone()).to_string();
    for n in [0, 1_000, 2_199] {
        assert!(text.contains(&format!("\"word {n}\"")), "{n}");
    }
    let kinds =
        |events: &[Value], kind: &str| events.iter().filter(|it| it["type"] == kind).count();
    assert_eq!(kinds(&first, "approval_request"), 1);
    assert_eq!((kinds(&rest, "approval_result"), kinds(&rest, "result")), (1, 1));
}

#[tokio::test]
async fn fewer_bytes_than_one_event_has_still_go_forward_through_all() {
    let long = "lorem ipsum ".repeat(400);
    let (_home, _agent, mut client, session) =
        started(vec![Action::BeginTurn, Action::Message(long.clone()), completed()], "never").await;
    client.outcome(&session).await;
    let whole = all(&mut client, &session, 0, json!({"maxEvents": 100})).await;
    for max_bytes in [1, 100, 500] {
        let step = json!({"responseMode": "full", "pollOptions": {"maxBytes": max_bytes}});
        let cut = all(&mut client, &session, 0, step).await;
        assert_eq!(ids(&cut), ids(&whole), "{max_bytes}");
    }
    // What was cut is not gone.
    let said = whole.iter().rev().find(|it| it["data"]["kind"] == "agentMessage").unwrap();
    let page = json!({
        "action": "output", "sessionId": session, "itemId": said["data"]["itemId"],
        "limit": 40_000,
    });
    assert_eq!(client.done("codex_check", page).await["output"]["text"], long.as_str());
}

#[tokio::test]
async fn output_that_looks_like_noise_is_output() {
    let model = ScriptedModel::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut client = real_codex::client(&model, home.path()).await;
    let lines = [
        "WARNING: the tests are red",
        "(base) user@host",
        "(conda) x",
        "PSReadLine",
        "oh-my-posh",
        "Loading personal and system profiles took 500ms.",
        "A new version of everything is available",
        "[warn] not JSON",
        "{\"jsonrpc\": \"2.0\"}",
    ];
    std::fs::write(home.path().join("noise.txt"), lines.join("\n") + "\n").unwrap();
    let steps = json!([[{"cmd": "cat noise.txt"}], [{"msg": "read"}]]);
    let arguments = json!({
        "prompt": format!("go\nSCRIPT:{steps}"), "approvalPolicy": "never",
        "sandbox": "danger-full-access", "cwd": home.path(), "wait": true,
    });
    let done = client.done("codex", arguments).await;
    let session = done["sessionId"].as_str().unwrap();
    let events = all(&mut client, session, 0, json!({"maxEvents": 100})).await;
    let ran = events
        .iter()
        .rfind(|it| it["data"]["kind"] == "commandExecution" && it["data"].get("output").is_some());
    let ran = &ran.unwrap_or_else(|| panic!("{events:?}"))["data"];
    assert_eq!(ran["output"], lines.join("\n") + "\n");
    let page = json!({"action": "output", "sessionId": session, "itemId": ran["itemId"]});
    assert_eq!(client.done("codex_check", page).await["output"]["text"], lines.join("\n") + "\n");
}

#[tokio::test]
async fn megabytes_of_output_and_a_long_diff_are_told_in_few_bytes_and_read_in_pages() {
    let output = numbers(500_000);
    let diff = numbers(30_000);
    let change = json!({
        "type": "fileChange", "id": "call_2", "status": "completed",
        "changes": [{"path": "/long.txt", "kind": {"type": "add"}, "diff": diff}],
    });
    let turn = vec![
        Action::BeginTurn,
        about_item("item/completed", json!({"item": command(Some(&output))})),
        about_item("item/completed", json!({"item": change})),
        completed(),
    ];
    let (_home, _agent, mut client, session) = started(turn, "never").await;
    client.poll_until(&session, |it| it["status"] == "idle").await;
    let mut cursor = 0;
    loop {
        let poll = json!({"action": "poll", "sessionId": session, "cursor": cursor});
        let result = client.call("codex_check", poll).await;
        assert!(result.to_string().len() < 8 * 1_024, "{}", result.to_string().len());
        if result["structuredContent"]["events"] == json!([]) {
            break;
        }
        cursor = result["structuredContent"]["nextCursor"].as_u64().unwrap();
    }
    // Whoever wants everything gets no more than a client can take, and goes on behind it.
    let full = json!({
        "action": "poll", "sessionId": session, "cursor": 0, "maxEvents": 100,
        "responseMode": "full",
    });
    let result = client.call("codex_check", full).await;
    assert!(result.to_string().len() < 64 * 1_024, "{}", result.to_string().len());
    let listed = client.call("codex_session", json!({"action": "list"})).await;
    assert!(listed.to_string().len() < 1_024, "{listed}");
    for (item, expected) in [("call_1", output), ("call_2", format!("/long.txt\n{diff}\n"))] {
        let whole = paged(&mut client, &session, &json!(item)).await;
        assert_eq!(whole.len(), expected.len(), "{item}");
        assert!(whole == expected, "{item}");
    }
}

/// Pages through an item; gives all of its text.
async fn paged(client: &mut Client, session: &str, item: &Value) -> String {
    let (mut offset, mut whole) = (0, String::new());
    loop {
        let page = json!({
            "action": "output", "sessionId": session, "itemId": item, "offset": offset,
            "limit": 49_152,
        });
        let page = client.done("codex_check", page).await["output"].take();
        whole.push_str(page["text"].as_str().unwrap());
        match page["nextOffset"].as_u64() {
            Some(next) => offset = next,
            None => return whole,
        }
    }
}

#[tokio::test]
async fn an_approval_of_a_long_change_is_told_in_few_bytes_and_read_in_pages() {
    let content = numbers(30_000);
    let ask = Action::AskFile { path: "/long.txt".to_owned(), content: content.clone() };
    let (_home, _agent, mut client, session) =
        started(vec![Action::BeginTurn, ask, completed()], "untrusted").await;
    let action = client.action(&session).await;
    let poll = json!({
        "action": "poll", "sessionId": session, "pollOptions": {"includeEvents": false},
    });
    let result = client.call("codex_check", poll).await;
    assert!(result.to_string().len() < 8 * 1_024, "{}", result.to_string().len());
    let cut = &result["structuredContent"]["truncatedFields"];
    assert!(cut.to_string().contains("actions[0].diff"), "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    let item = action["itemId"].as_str().unwrap();
    assert!(text.contains(&format!("codex_check output, itemId {item}")), "{text}");
    assert!(paged(&mut client, &session, &action["itemId"]).await.contains(&content));
    client.decide(&session, &action, "accept").await;
    assert_eq!(client.outcome(&session).await["status"], "completed");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_marked_and_lose_nothing_around_them() {
    // The second half of a line that some other code page wrote.
    let raw = |message: Value| {
        let line = format!("{message}\n").into_bytes();
        let at = line.windows(5).position(|it| it == b"BYTES").unwrap();
        Action::RawBytes([&line[..at], &[0xc4, 0xe3, 0xba, 0xc3], &line[at + 5..]].concat())
    };
    let about = json!({"threadId": "t", "turnId": "u", "itemId": "call_1"});
    let with = |more: Value| {
        let mut params = about.clone();
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        params
    };
    let item = json!({
        "type": "commandExecution", "id": "call_1", "command": "type f", "cwd": "/",
        "status": "completed", "aggregatedOutput": "before BYTES after", "exitCode": 0,
        "commandActions": [],
    });
    let rules = [
        Rule::on("thread/start", vec![Action::Answer(json!({"thread": {"id": "t"}}))]),
        Rule::on(
            "turn/start",
            vec![
                Action::Answer(json!({"turn": {"id": "u", "status": "inProgress", "items": []}})),
                raw(json!({
                    "id": 900, "method": "item/commandExecution/requestApproval",
                    "params": with(json!({"command": "del BYTES", "cwd": "/"})),
                })),
                Action::ExpectReply(json!(900)),
                raw(json!({"method": "item/completed", "params": with(json!({"item": item}))})),
                Action::Send(json!({
                    "method": "turn/completed",
                    "params": {"threadId": "t", "turn": {"id": "u", "status": "completed", "items": []}},
                })),
            ],
        ),
    ];
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&rules).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("work", "untrusted", home.path()).await;
    let action = client.action(&session).await;
    let command = action["params"]["command"].as_str().unwrap();
    assert!(command.starts_with("del \u{fffd}"), "{command:?}");
    client.decide(&session, &action, "accept").await;
    assert_eq!(client.outcome(&session).await["status"], "completed");
    let output = paged(&mut client, &session, &json!("call_1")).await;
    assert!(output.starts_with("before \u{fffd}") && output.ends_with(" after"), "{output:?}");
}

#[tokio::test]
async fn what_a_tool_of_an_agents_server_gave_is_kept_as_it_was() {
    let given = json!({
        "content": [
            {"type": "text", "text": "t", "_meta": {"a": [1, null]}},
            {"type": "hologram", "data": "?"},
        ],
        "structuredContent": {"deep": {"x": 1.5}}, "isError": true, "_meta": {"m": {"n": "o"}},
    });
    let item = json!({
        "type": "mcpToolCall", "id": "call_1", "server": "s", "tool": "t", "status": "failed",
        "arguments": {"q": 1}, "result": given, "error": null,
    });
    let turn =
        vec![Action::BeginTurn, about_item("item/completed", json!({"item": item})), completed()];
    let (_home, _agent, mut client, session) = started(turn, "never").await;
    client.outcome(&session).await;
    let full = json!({"maxEvents": 100, "responseMode": "full"});
    let events = all(&mut client, &session, 0, full).await;
    let call = events.iter().find(|it| it["data"]["kind"] == "mcpToolCall").unwrap();
    assert_eq!(call["data"]["item"]["result"], given);
}

#[tokio::test]
async fn whoever_sleeps_as_long_as_it_is_told_is_back_before_an_ask_expires() {
    for (timeout, expected) in [(Value::Null, 60_000), (json!(4_000), 4_000), (json!(0), 60_000)] {
        let ask = Ask { command: "touch f".to_owned(), ..Ask::default() };
        let home = tempfile::tempdir().unwrap();
        let gate = home.path().join("gate");
        let turn =
            vec![Action::BeginTurn, Action::WaitFile(gate.clone()), Action::Ask(ask), completed()];
        let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
        let mut client = Client::start(home.path(), &agent).await;
        let started = json!({
            "prompt": "work", "approvalPolicy": "untrusted", "sandbox": "read-only",
            "advanced": {"approvalTimeoutMs": timeout},
        });
        let started = client.done("codex", started).await;
        let interval = started["pollInterval"].as_u64().unwrap();
        assert!(interval * 2 <= expected, "{timeout}: {started}");
        let session = started["sessionId"].as_str().unwrap().to_owned();
        // So it is while the turn runs: asked just after a look, it is seen at the next.
        let poll = json!({"action": "poll", "sessionId": session});
        let running = client.done("codex_check", poll.clone()).await;
        let interval = running["pollInterval"].as_u64().unwrap();
        assert!(interval * 2 <= expected, "{timeout}: {running}");
        std::fs::write(&gate, "").unwrap();
        let action = client.action(&session).await;
        assert_eq!(action.get("expiresAt").is_some(), timeout != json!(0), "{action}");
        assert_eq!(client.done("codex_check", poll).await["pollInterval"], 1_000);
    }
}

#[tokio::test]
async fn the_text_alone_is_enough_to_go_on() {
    let ask = Ask {
        command: "touch f".to_owned(),
        reason: Some("to begin".to_owned()),
        ..Ask::default()
    };
    let turn = vec![
        Action::BeginTurn,
        Action::Ask(ask),
        Action::Message("all is done".to_owned()),
        completed(),
    ];
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let word = |text: &str, start: &str| {
        let found = text.split([' ', ',', '\n', '.', ':']).find(|it| it.starts_with(start));
        found.unwrap_or_else(|| panic!("{start}: {text}")).to_owned()
    };
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    let begin = json!({"prompt": "work", "approvalPolicy": "untrusted", "sandbox": "read-only"});
    let said = text(&client.call("codex", begin).await);
    let session = word(&said, "sess_");
    assert!(said.contains("codex_check"), "{said}");
    let mut poll = json!({"action": "poll", "sessionId": session, "waitMs": 1_000});
    // A model that is told nothing of use gives up sooner than this.
    let mut looks = 0..20;
    let said = loop {
        let said = text(&client.call("codex_check", poll.clone()).await);
        if said.contains("req_") {
            break said;
        }
        looks.next().expect("the text never names the request");
    };
    assert!(said.contains("touch f") && said.contains("(to begin)"), "{said}");
    let decision = said.rsplit("-> ").next().unwrap().split('|').next().unwrap().trim();
    let answer = json!({
        "action": "respond_permission", "sessionId": session, "requestId": word(&said, "req_"),
        "decision": decision,
    });
    client.done("codex_check", answer).await;
    poll["cursor"] = Value::Null;
    loop {
        let said = text(&client.call("codex_check", poll.clone()).await);
        if said.contains("turn completed") {
            assert!(said.contains("all is done"), "{said}");
            break;
        }
        looks.next().expect("the text never tells the end");
    }
}
