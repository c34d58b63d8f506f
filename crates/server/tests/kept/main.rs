//! Agents that outlive Pilothouse, with the real Codex: whatever becomes of the program, the turn
//! goes on, the question waits, and all of it is on record once.
#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic, and most events are not what it looks for"
)]

#[expect(dead_code, reason = "the tests of several programs need more of it")]
#[path = "../programs/room.rs"]
mod room;
mod stage;

use std::time::Duration;

use pilothouse_core::{Answer, Decision, Event, Outcome, Settled};
use pilothouse_testkit::{Chance, chance};
use serde_json::json;

use crate::stage::{Log, Stage};

#[tokio::test]
async fn the_answer_after_a_kill_reaches_the_same_turn_once() {
    let stage = Stage::new().await;
    let mut mcp = stage.room.mcp().await;
    let session = stage.ask_to_run(&mut mcp).await;
    mcp.child.kill().await.unwrap();
    stage.answer_and_finish(&session).await;
}

#[tokio::test]
async fn the_answer_after_a_stop_reaches_the_same_turn_once() {
    let stage = Stage::new().await;
    let mut mcp = stage.room.mcp().await;
    let session = stage.ask_to_run(&mut mcp).await;
    // It waits for no turn.
    mcp.leave().await;
    stage.answer_and_finish(&session).await;
}

#[tokio::test]
async fn another_program_takes_over_when_the_one_that_held_the_agent_dies() {
    let stage = Stage::new().await;
    let serve = stage.room.serve().await;
    let mut mcp = stage.room.mcp().await;
    let session = stage.ask_to_run(&mut mcp).await;
    mcp.child.kill().await.unwrap();
    stage.accept(&serve, &session).await;
    stage.finish(&serve, &session).await;
    stage.ran_once(&stage.log().await);
}

#[tokio::test]
async fn an_answer_on_record_that_was_not_told_is_told_once() {
    let stage = Stage::new().await;
    let mut mcp = stage.room.mcp().await;
    let session = stage.ask_to_run(&mut mcp).await;
    mcp.child.kill().await.unwrap();
    // As if it had died between the two.
    stage
        .record(|session| {
            let ask = *session.asks().keys().next().unwrap();
            let how = Settled::Answered {
                answer: Answer::plain(Decision::Accept),
                by: pilothouse_core::Actor::Human { via: "cli".to_owned(), verified: true },
                reason: None,
                note: None,
                bound: true,
            };
            Event::AskSettled { ask, how }
        })
        .await;
    let serve = stage.room.serve().await;
    stage.finish(&serve, &session).await;
    stage.ran_once(&stage.log().await);
}

#[tokio::test]
async fn what_is_said_meanwhile_is_whole_and_on_record_once() {
    let stage = Stage::new().await;
    let mut mcp = stage.room.mcp().await;
    let script = json!([
        [{"msg": "at first", "phase": "commentary"}, {"cmd": "ls"}],
        [{"gate": "early"}, {"msg": "meanwhile", "phase": "commentary"}, {"words": 60, "phase": "commentary"}, {"cmd": "ls"}],
        [{"gate": "late"}, {"msg": "at last", "phase": "final_answer"}],
    ]);
    let session = stage.start_unasked(&mut mcp, &script).await;
    stage.room.model.reached_gate("early").await.unwrap();
    mcp.child.kill().await.unwrap();
    // It goes on as somebody comes back.
    stage.room.model.open_gate("early");
    let serve = stage.room.serve().await;
    stage.room.model.reached_gate("late").await.unwrap();
    serve.until(&session, |it| it["attached"] == true).await;
    stage.room.model.open_gate("late");
    stage.finish(&serve, &session).await;
    let log = stage.log().await;
    log.each_item_once();
    let said = log.said();
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!((&*said[0], &*said[1], &*said[3]), ("at first", "meanwhile", "at last"));
    assert_eq!(said[2].split_whitespace().count(), 60, "{said:?}");
    assert_eq!(log.outcomes(), [&Outcome::Completed]);
    assert_eq!(log.n_attached(), 1, "it never left: {log:?}");
}

#[tokio::test]
async fn a_turn_that_ended_while_nobody_was_there_ends_as_it_did() {
    let stage = Stage::new().await;
    let mut mcp = stage.room.mcp().await;
    let script = json!([
        [{"msg": "before", "phase": "commentary"}, {"gate": "alone"}, {"msg": "after", "phase": "final_answer"}],
    ]);
    let session = mcp.start(&stage.room, &script).await;
    stage.room.model.reached_gate("alone").await.unwrap();
    mcp.child.kill().await.unwrap();
    stage.room.model.open_gate("alone");
    stage.codex_wrote("task_complete").await;
    let serve = stage.room.serve().await;
    let view = stage.finish(&serve, &session).await;
    assert_eq!(view["lastTurn"]["output"], "after", "{view}");
    let log = stage.log().await;
    log.each_item_once();
    assert_eq!(log.said(), ["before", "after"]);
    assert_eq!(log.outcomes(), [&Outcome::Completed]);
    // And it goes on from there.
    let prompt = "again\nSCRIPT:[[{\"msg\": \"back\", \"phase\": \"final_answer\"}]]";
    let path = format!("/api/v1/sessions/{session}/prompt");
    let (status, body) = serve.post(&path, json!({ "prompt": prompt })).await;
    assert!((200..300).contains(&status), "{status} {body}");
    serve.until(&session, |it| it["lastTurn"]["output"] == "back").await;
}

#[tokio::test]
async fn an_agent_that_nobody_comes_back_to_is_ended_with_all_it_started() {
    let stage = Stage::keeping_for(3).await;
    let mut mcp = stage.room.mcp().await;
    let session = stage.ask_to_run(&mut mcp).await;
    mcp.child.kill().await.unwrap();
    assert!(!stage.running().is_empty(), "it is kept");
    stage.all_gone(Duration::from_secs(30)).await;
    assert_eq!(stage.records(), [""; 0]);
    let serve = stage.room.serve().await;
    let path = format!("/api/v1/sessions/{session}/prompt");
    let prompt = "again\nSCRIPT:[[{\"msg\": \"back\", \"phase\": \"final_answer\"}]]";
    let (status, body) = serve.post(&path, json!({ "prompt": prompt })).await;
    assert!((200..300).contains(&status), "{status} {body}");
    serve.until(&session, |it| it["lastTurn"]["output"] == "back").await;
    let log = stage.log().await;
    assert!(matches!(log.outcomes()[..], [Outcome::Lost { .. }, ..]), "{log:?}");
    assert_eq!(log.settlements(), [&Settled::Lost]);
}

#[tokio::test]
async fn a_codex_that_dies_meanwhile_is_lost_as_ever() {
    let stage = Stage::new().await;
    let mut mcp = stage.room.mcp().await;
    let session = stage.ask_to_run(&mut mcp).await;
    mcp.child.kill().await.unwrap();
    stage.kill_all();
    stage.all_gone(Duration::from_secs(10)).await;
    let serve = stage.room.serve().await;
    let path = format!("/api/v1/sessions/{session}/prompt");
    let prompt = "again\nSCRIPT:[[{\"msg\": \"back\", \"phase\": \"final_answer\"}]]";
    let (status, body) = serve.post(&path, json!({ "prompt": prompt })).await;
    assert!((200..300).contains(&status), "{status} {body}");
    serve.until(&session, |it| it["lastTurn"]["output"] == "back").await;
    let log = stage.log().await;
    assert!(matches!(log.outcomes()[..], [Outcome::Lost { .. }, ..]), "{log:?}");
    assert_eq!(stage.records().len(), 1, "that of the next one");
}

#[tokio::test]
async fn what_a_guard_left_that_was_killed_is_swept() {
    let stage = Stage::new().await;
    let mut mcp = stage.room.mcp().await;
    let session = stage.ask_to_run(&mut mcp).await;
    mcp.child.kill().await.unwrap();
    let left = stage.running();
    stage.kill_guard();
    let serve = stage.room.serve().await;
    let path = format!("/api/v1/sessions/{session}/prompt");
    let prompt = "again\nSCRIPT:[[{\"msg\": \"back\", \"phase\": \"final_answer\"}]]";
    stage.these_gone(&left, Duration::from_secs(20)).await;
    let (status, body) = serve.post(&path, json!({ "prompt": prompt })).await;
    assert!((200..300).contains(&status), "{status} {body}");
    serve.until(&session, |it| it["lastTurn"]["output"] == "back").await;
}

/// To repeat it: `PILOTHOUSE_KILL_SEED` as it was printed.
#[tokio::test]
async fn one_kill_after_another_does_nothing_twice() {
    let seed = chance::seed("PILOTHOUSE_KILL_SEED");
    println!("PILOTHOUSE_KILL_SEED={seed}");
    let mut chance = Chance::new(seed);
    let stage = Stage::new().await;
    let mut mcp = stage.room.mcp().await;
    let step =
        |n: u32| json!([{"words": 30, "phase": "commentary"}, {"cmd": format!("echo {n} >> ran")}]);
    let script = json!([step(1), step(2), step(3), [{"msg": "finished", "phase": "final_answer"}]]);
    let session = mcp.start(&stage.room, &script).await;
    // Before the agent has begun the turn there is nothing to keep.
    mcp.asked(&session).await;
    mcp.child.kill().await.unwrap();
    for _ in 0..6 {
        let moment = Duration::from_millis(chance.below(1_500));
        tokio::select! {
            biased;
            () = stage::after(moment) => {}
            () = stage.follow(&session) => break,
        }
    }
    stage.follow(&session).await;
    let ran = std::fs::read_to_string(stage.room.folder.path().join("ran")).unwrap();
    assert_eq!(ran, "1\n2\n3\n");
    assert_eq!(stage.room.model.requests().len(), 4);
    let log = stage.log().await;
    log.each_item_once();
    let said = log.said();
    assert_eq!((said.len(), said.last().map(String::as_str)), (4, Some("finished")), "{said:?}");
    assert_eq!(log.outcomes(), [&Outcome::Completed]);
    assert_eq!((log.n_attached(), log.n_raised()), (1, 3), "{log:?}");
    assert!(log.settlements().iter().all(|it| matches!(it, Settled::Answered { .. })), "{log:?}");
}

impl Log {
    fn said(&self) -> Vec<String> {
        let said = self.completed("agentMessage");
        said.map(|it| it["text"].as_str().unwrap().to_owned()).collect()
    }
}
