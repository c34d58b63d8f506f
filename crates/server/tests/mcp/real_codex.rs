//! The real Codex with a scripted model, as a caller drives it.

use std::path::Path;

use pilothouse_testkit::{ScriptedModel, codex_binary};
use serde_json::{Value, json};

use crate::client::{Client, below};

const COMMAND: &str = "go\nSCRIPT:[[{\"cmd\": \"mkdir -p sub && echo hi > sub/f.txt\"}],\
                       [{\"msg\": \"finished\", \"phase\": \"final_answer\"}]]";
const PATCH: &str = "patch\nSCRIPT:[\
    [{\"patch\": \"*** Begin Patch\\n*** Add File: hello.txt\\n+hello\\n*** End Patch\\n\"}],\
    [{\"msg\": \"patched\", \"phase\": \"final_answer\"}]]";

async fn client(model: &ScriptedModel, home: &Path) -> Client {
    let codex = codex_binary().unwrap().display().to_string();
    let mut env = model.env();
    env.push(("PILOTHOUSE_CODEX".to_owned(), codex));
    // A login shell would run the profile of whoever tests.
    env.push(("HOME".to_owned(), model.codex_home().display().to_string()));
    Client::start_with(home, &env).await
}

#[tokio::test]
async fn a_command_is_accepted_a_change_declined_and_the_session_goes_on() {
    let model = ScriptedModel::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let mut client = client(&model, home.path()).await;
    let session = client.session(COMMAND, "untrusted", project.path()).await;

    let action = client.action(&session).await;
    assert_eq!((&action["type"], &action["kind"]), (&json!("approval"), &json!("command")));
    assert!(action["params"]["command"].to_string().contains("mkdir -p sub"), "{action}");
    assert!(!project.path().join("sub").exists());
    client.decide(&session, &action, "accept").await;
    let outcome = client.outcome(&session).await;
    assert_eq!((&outcome["status"], &outcome["output"]), (&json!("completed"), &json!("finished")));
    assert_eq!(std::fs::read_to_string(project.path().join("sub/f.txt")).unwrap(), "hi\n");

    let reply = json!({"sessionId": session, "prompt": PATCH, "wait": true});
    let replied = client.call("codex_reply", reply).await;
    let action = &replied["structuredContent"]["actions"][0];
    assert_eq!(action["kind"], "fileChange", "{replied}");
    assert!(action["diff"].as_str().unwrap().contains("+hello"), "{action}");
    assert!(action["paths"][0].as_str().unwrap().ends_with("hello.txt"), "{action}");
    assert!(replied["content"][0]["text"].as_str().unwrap().contains("+hello"));
    client.decide(&session, action, "decline").await;
    let outcome = client.outcome(&session).await;
    assert_eq!((&outcome["status"], &outcome["output"]), (&json!("completed"), &json!("patched")));
    assert!(!project.path().join("hello.txt").exists());
    assert!(client.close().await.success());
}

#[tokio::test]
async fn three_sessions_share_one_codex_and_do_not_mix() {
    let model = ScriptedModel::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let projects = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let mut client = client(&model, home.path()).await;
    let mut sessions = vec![];
    for project in &projects {
        sessions.push(client.session(COMMAND, "untrusted", project.path()).await);
    }
    let mut actions: Vec<Value> = vec![];
    for session in &sessions {
        actions.push(client.action(session).await);
    }
    let codexes = below(client.pid()).iter().filter(|(_, name)| name == "codex").count();
    assert_eq!(codexes, 1, "{:?}", below(client.pid()));

    // Answered in another order than asked, and one not at all.
    client.decide(&sessions[2], &actions[2], "accept").await;
    let interrupt = json!({"action": "interrupt", "sessionId": sessions[1]});
    client.done("codex_session", interrupt).await;
    client.decide(&sessions[0], &actions[0], "decline").await;
    let expected = [("completed", false), ("interrupted", false), ("completed", true)];
    for ((session, project), (status, written)) in sessions.iter().zip(&projects).zip(expected) {
        let outcome = client.outcome(session).await;
        assert_eq!(outcome["status"], status, "{outcome}");
        assert_eq!(project.path().join("sub/f.txt").exists(), written);
    }
    let late = json!({
        "action": "respond_permission", "sessionId": sessions[1],
        "requestId": actions[1]["requestId"], "decision": "accept",
    });
    assert_eq!(client.refused("codex_check", late).await["code"], "ALREADY_SETTLED");
    // The interrupted session is as good as new.
    let hello = "again\nSCRIPT:[[{\"msg\": \"hello again\"}]]";
    let reply = json!({"sessionId": sessions[1], "prompt": hello, "wait": true});
    let replied = client.done("codex_reply", reply).await;
    assert_eq!(replied["result"]["output"], "hello again", "{replied}");
    let started = below(client.pid());
    assert!(client.close().await.success());
    assert!(started.iter().all(|(pid, _)| !crate::client::is_alive(*pid)));
}
