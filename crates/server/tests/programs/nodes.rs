//! Two programs on one store: a session that an MCP client started is answered in the browser's
//! way, with the real Codex.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::room::{Room, poll};

#[tokio::test]
async fn a_waiting_poll_hears_of_an_answer_in_the_console_at_once() {
    let room = Room::new().await;
    let mut mcp = room.mcp().await;
    let serve = room.serve().await;
    let mut took = vec![];
    for n in 0..5 {
        let (session, ask) = mcp.start_and_ask(&room, &format!("touch f{n}")).await;
        let mut seen = serve.get(&format!("/api/v1/asks/{ask}")).await;
        assert_eq!(seen["state"], "pending", "{seen}");
        let digest = seen["digest"].take();
        // Everything that there is so far is read, so that the next poll waits.
        let cursor = mcp.drain(&session).await;
        let waiting = mcp.send("codex_check", poll(&session, cursor, 20_000)).await;
        let path = format!("/api/v1/asks/{ask}/answer");
        let (status, body) =
            serve.post(&path, json!({"decision": "accept", "digest": digest})).await;
        let answered = Instant::now();
        assert_eq!(status, 200, "{body}");
        let polled = mcp.reply(waiting).await;
        took.push(answered.elapsed());
        let events = polled["structuredContent"]["events"].as_array().unwrap();
        assert!(!events.is_empty(), "{polled}");
        mcp.finish(&session).await;
        assert!(room.folder.path().join(format!("f{n}")).exists());
    }
    took.sort();
    assert!(took[2] < Duration::from_millis(20), "{took:?}");
}

#[tokio::test]
async fn of_two_answers_at_the_same_instant_one_wins_and_the_other_is_told_who() {
    let room = Room::new().await;
    let mut mcp = room.mcp().await;
    let serve = room.serve().await;
    for n in 0..8 {
        let (session, ask) = mcp.start_and_ask(&room, &format!("touch f{n}")).await;
        let digest = serve.get(&format!("/api/v1/asks/{ask}")).await["digest"].take();
        let respond = json!({"action": "respond_permission", "sessionId": session,
            "requestId": ask, "decision": "accept"});
        let path = format!("/api/v1/asks/{ask}/answer");
        let over_mcp = async { mcp.call("codex_check", respond).await };
        let over_http = serve.post(&path, json!({"decision": "decline", "digest": digest}));
        let (over_mcp, (status, body)) = tokio::join!(over_mcp, over_http);
        let mcp_won = over_mcp["isError"] != json!(true);
        assert_ne!(mcp_won, status == 200, "{over_mcp} {status} {body}");
        if mcp_won {
            assert_eq!(status, 409, "{body}");
            assert_eq!(body["code"], "ALREADY_SETTLED", "{body}");
            assert_eq!(body["settlement"]["how"]["by"]["type"], "caller", "{body}");
        } else {
            assert_eq!(over_mcp["structuredContent"]["error"]["code"], "ALREADY_SETTLED");
            let words = over_mcp["content"][0]["text"].as_str().unwrap();
            assert!(words.contains("console"), "it says who: {words}");
        }
        mcp.finish(&session).await;
        assert_eq!(room.folder.path().join(format!("f{n}")).exists(), mcp_won);
    }
}

#[tokio::test]
async fn another_program_follows_what_is_said_as_it_is_said() {
    let room = Room::new().await;
    let mut mcp = room.mcp().await;
    let serve = room.serve().await;
    let mut feed = serve.follow().await;
    // Said in two pieces, with a gate between them: what is told in time is told as a delta.
    let item = json!({"type": "message", "role": "assistant", "id": "msg_1", "content": []});
    let piece = |text: &str| json!({"raw": {"type": "response.output_text.delta", "item_id": "msg_1", "delta": text}});
    let mut whole = item.clone();
    whole["content"] = json!([{"type": "output_text", "text": "one two three four"}]);
    let script = json!([[
        {"raw": {"type": "response.output_item.added", "item": item}},
        piece("one two three"),
        {"gate": "go on"},
        piece(" four"),
        {"item": whole},
    ]]);
    let started = mcp.start(&room, &script).await;
    room.model.reached_gate("go on").await.unwrap();
    let mut text = String::new();
    while !text.contains("one two three") {
        let (name, data) = feed.next().await;
        if name == "delta" {
            assert_eq!(data["sessionId"], started);
            text.push_str(data["text"].as_str().unwrap());
        }
    }
    let session = serve.get(&format!("/api/v1/sessions/{started}")).await;
    assert_eq!(session["status"], "running", "it is live, not told afterwards: {session}");
    room.model.open_gate("go on");
    mcp.finish(&started).await;
}

#[tokio::test]
async fn a_session_goes_on_in_the_console_after_its_client_has_left() {
    let room = Room::new().await;
    let mut mcp = room.mcp().await;
    let session = mcp.start(&room, &json!([[{"msg": "the word is quince"}]])).await;
    mcp.finish(&session).await;
    mcp.leave().await;
    let serve = room.serve().await;
    let body = json!({"prompt": "go\nSCRIPT:[[{\"msg\": \"still here\"}]]"});
    let (status, body) = serve.post(&format!("/api/v1/sessions/{session}/prompt"), body).await;
    assert_eq!(status, 202, "{body}");
    let view = serve.until(&session, |it| it["lastTurn"]["output"] == "still here").await;
    assert_eq!(view["turns"], 2);
    assert!(room.model.requests().pop().unwrap().input_text().contains("quince"));
}

#[tokio::test]
async fn an_answer_in_time_wins_even_if_the_owner_was_stopped_past_the_deadline() {
    let room = Room::new().await;
    let mut mcp = room.mcp().await;
    let serve = room.serve().await;
    let script = json!([[{"cmd": "touch f"}], [{"msg": "done"}]]);
    let session = mcp.start_with(&room, &script, json!({"approvalTimeoutMs": 3_000})).await;
    let ask = mcp.asked(&session).await;
    let seen = serve.get(&format!("/api/v1/asks/{ask}")).await;
    let limit: jiff::Timestamp = seen["expiresAt"].as_str().unwrap().parse().unwrap();
    let owner = mcp.child.id().unwrap();
    signal(owner, "STOP");
    let path = format!("/api/v1/asks/{ask}/answer");
    let answer = serve.post(&path, json!({"decision": "accept", "digest": seen["digest"]}));
    let past_the_deadline = async {
        while jiff::Timestamp::now() <= limit {
            tokio::task::yield_now().await;
        }
        signal(owner, "CONT");
    };
    let ((status, body), ()) = tokio::join!(answer, past_the_deadline);
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["settlement"]["how"]["type"], "answered", "{body}");
    mcp.finish(&session).await;
    assert!(room.folder.path().join("f").exists());
}

pub(crate) fn signal(pid: u32, name: &str) {
    // The shell has it built in; a bare machine may have no program of that name.
    let line = format!("kill -s {name} {pid}");
    assert!(std::process::Command::new("sh").args(["-c", &line]).status().unwrap().success());
}
