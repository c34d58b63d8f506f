//! The scripted Codex: what it does by default, and what on cue.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{path::Path, process::Command};

use pilothouse_testkit::{
    AppServer, FakeAgent,
    agent::{Action, Ask, EOF, Rule, SpawnChild},
};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

#[test]
fn it_tells_its_version() {
    let agent = FakeAgent::new(&[]).unwrap();
    let output = Command::new(agent.executable()).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "codex-cli 0.171.0\n");
    let help = Command::new(agent.executable()).args(["app-server", "--help"]).output().unwrap();
    assert!(help.status.success());
    assert!(String::from_utf8(help.stdout).unwrap().contains("app-server"));
}

#[tokio::test]
async fn without_rules_it_answers_like_codex() {
    let (agent, mut server) = start(&[]);
    let early = server.request("thread/start", json!({})).await.unwrap();
    assert_eq!(early["error"]["message"], "Not initialized");
    let hello = server.initialize().await.unwrap();
    assert!(hello["userAgent"].as_str().unwrap().starts_with("testkit/0.171.0 "));

    let thread = server.start_thread(json!({"cwd": "/home/dev/project"})).await.unwrap();
    let turn = server.start_turn(&thread, "hello").await.unwrap();
    let completed = server.wait_for_method("turn/completed").await.unwrap();
    assert_eq!(completed["params"]["turn"]["id"], turn);
    assert_eq!(completed["params"]["turn"]["status"], "completed");
    let text = &completed["params"]["turn"]["items"][0]["text"];
    assert_eq!(text, "Hello from the fake Codex");

    let fork = server.call("thread/fork", json!({"threadId": thread})).await.unwrap();
    assert_eq!(fork["thread"]["forkedFromId"], thread);
    let resumed = server.call("thread/resume", json!({"threadId": thread})).await.unwrap();
    assert_eq!(resumed["thread"]["id"], thread);
    let idle = server.request("turn/interrupt", json!({"threadId": thread, "turnId": turn}));
    assert_eq!(idle.await.unwrap()["error"]["message"], "no active turn to interrupt");
    let unknown = server.request("no/such", json!({})).await.unwrap();
    assert_eq!(unknown["error"]["code"], -32600);
    assert!(server.close().await.unwrap().success());

    let heard = agent.heard().unwrap();
    assert_eq!(heard[0]["method"], "thread/start");
    assert_eq!(heard.last().unwrap()["method"], "no/such");
}

#[tokio::test]
async fn a_command_waits_for_its_approval() {
    let cases = [
        ("accept", "completed", "completed"),
        ("decline", "declined", "completed"),
        ("cancel", "declined", "interrupted"),
    ];
    for (decision, item_status, turn_status) in cases {
        let (_agent, mut server, _thread) = start_turn(&asking()).await;
        let asked = server.wait_for_method("item/commandExecution/requestApproval").await.unwrap();
        assert_eq!(asked["params"]["command"], "/bin/bash -lc 'mkdir x'");
        server.answer(&asked, json!({"decision": decision})).await.unwrap();
        let ran = |it: &serde_json::Value| {
            it["method"] == "item/completed" && it["params"]["item"]["type"] == "commandExecution"
        };
        let item = server.wait_for(ran).await.unwrap();
        assert_eq!(item["params"]["item"]["status"], item_status);
        let completed = server.wait_for_method("turn/completed").await.unwrap();
        assert_eq!(completed["params"]["turn"]["status"], turn_status);
    }
}

#[tokio::test]
async fn an_interrupt_resolves_what_was_asked_after_the_turn() {
    let (_agent, mut server, thread) = start_turn(&asking()).await;
    let asked = server.wait_for_method("item/commandExecution/requestApproval").await.unwrap();
    let params = json!({"threadId": thread, "turnId": asked["params"]["turnId"]});
    server.call("turn/interrupt", params).await.unwrap();
    let resolved = server.wait_for_method("serverRequest/resolved").await.unwrap();
    assert_eq!(resolved["params"]["requestId"], asked["id"]);
    let order: Vec<_> = server
        .recorded()
        .iter()
        .filter_map(|it| it.msg["method"].as_str())
        .filter(|it| ["turn/completed", "serverRequest/resolved"].contains(it))
        .collect();
    assert_eq!(order, ["turn/completed", "serverRequest/resolved"]);
}

#[tokio::test]
async fn names_stand_for_the_ids_of_the_message() {
    let params = json!({"thread": "$threadId", "text": "in $cwd", "id": "$id"});
    let unheard = json!({"method": "x/y", "params": params});
    let rule = Rule::on(
        "turn/start",
        vec![Action::Send(unheard), Action::BeginTurn, Action::EndTurn("failed".into())],
    );
    let (_agent, mut server, thread) = start_turn(&[rule]).await;
    let sent = server.wait_for_method("x/y").await.unwrap();
    assert_eq!(sent["params"], json!({"thread": thread, "text": "in /home/dev/p", "id": 3}));
    let completed = server.wait_for_method("turn/completed").await.unwrap();
    assert_eq!(completed["params"]["turn"]["error"]["message"], "scripted failure");
}

#[tokio::test]
async fn it_waits_for_replies_messages_and_files() {
    let dir = tempfile::tempdir().unwrap();
    let go = dir.path().join("go");
    let says = |text: &str| Action::Send(json!({"method": text}));
    let rule = Rule::on(
        "turn/start",
        vec![
            Action::BeginTurn,
            Action::Send(json!({"id": "mine", "method": "ask/me", "params": {}})),
            Action::ExpectReply(json!("mine")),
            says("replied"),
            Action::Expect("turn/interrupt".into()),
            says("interrupted"),
            Action::WaitFile(go.clone()),
            says("gone on"),
        ],
    );
    let (_agent, mut server, thread) = start_turn(&[rule]).await;
    let asked = server.wait_for_method("ask/me").await.unwrap();
    server.answer(&asked, json!({})).await.unwrap();
    server.wait_for_method("replied").await.unwrap();
    server.call("turn/interrupt", json!({"threadId": thread, "turnId": "x"})).await.unwrap();
    server.wait_for_method("interrupted").await.unwrap();
    std::fs::write(&go, "").unwrap();
    server.wait_for_method("gone on").await.unwrap();
}

#[tokio::test]
async fn it_dies_on_cue() {
    for (action, code, signal) in
        [(Action::Exit(3), Some(3), None), (Action::KillSelf, None, Some(9))]
    {
        let (_agent, mut server) = start(&[Rule::on("initialize", vec![action])]);
        assert!(server.initialize().await.is_err());
        let status = server.close().await.unwrap();
        assert_eq!(status.code(), code);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), signal);
    }
}

#[tokio::test]
async fn it_writes_what_is_no_message() {
    let rule = Rule::on_nth(
        "turn/start",
        1,
        vec![
            Action::Raw("{\"torn\":".into()),
            Action::Raw("1}\n".into()),
            Action::BigLine(3 << 20),
            Action::Flood(500),
            Action::Stderr(1 << 20),
            Action::Default,
        ],
    );
    let (_agent, mut server, _thread) = start_turn(&[rule]).await;
    server.wait_for(|it| it["torn"] == 1).await.unwrap();
    let big = server.wait_for_method("item/agentMessage/delta").await.unwrap();
    assert_eq!(big["params"]["delta"].as_str().unwrap().len(), 3 << 20);
    server.wait_for_method("turn/completed").await.unwrap();
    let n_words =
        server.recorded().iter().filter(|it| it.msg["params"]["delta"] == "word ").count();
    assert_eq!(n_words, 500);
}

#[tokio::test]
async fn an_agent_that_ignores_sigterm_and_the_end_of_input_must_be_killed() {
    let said = json!({"method": "still/here"});
    let rules = [
        Rule::on(
            "initialized",
            vec![Action::IgnoreSigterm, Action::Send(json!({"method": "ready"}))],
        ),
        Rule::on(EOF, vec![Action::Send(said), Action::Hang]),
    ];
    let (_agent, mut server) = start(&rules);
    server.initialize().await.unwrap();
    server.wait_for_method("ready").await.unwrap();
    let pid = pid(server.pid().unwrap());
    kill_process(pid, Signal::TERM).unwrap();
    // It still answers, so it has survived the signal.
    server.call("thread/list", json!({})).await.unwrap();
    server.close_stdin();
    server.wait_for_method("still/here").await.unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    test_kill_process(pid).unwrap();
    server.kill().await.unwrap();
    assert!(test_kill_process(pid).is_err());
}

#[tokio::test]
async fn a_child_left_behind_outlives_its_agent() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let child = SpawnChild { pid_file: pid_file.clone(), clear_env: true, ignore_sigterm: true };
    let rule = Rule::on(
        "initialized",
        vec![
            Action::SpawnChild(child),
            Action::WaitFile(pid_file.clone()),
            Action::Send(json!({"method": "ready"})),
        ],
    );
    let (_agent, mut server) = start(&[rule]);
    server.initialize().await.unwrap();
    server.wait_for_method("ready").await.unwrap();
    server.kill().await.unwrap();
    let child: u32 = std::fs::read_to_string(&pid_file).unwrap().parse().unwrap();
    assert_eq!(std::fs::read(format!("/proc/{child}/environ")).unwrap(), b"");
    kill_process(pid(child), Signal::TERM).unwrap();
    test_kill_process(pid(child)).unwrap();
    kill_process(pid(child), Signal::KILL).unwrap();
}

fn asking() -> [Rule; 1] {
    let ask = Ask { command: "mkdir x".into(), ..Ask::default() };
    let end = Action::EndTurn("completed".into());
    [Rule::on("turn/start", vec![Action::BeginTurn, Action::Ask(ask), end])]
}

async fn start_turn(rules: &[Rule]) -> (FakeAgent, AppServer, String) {
    let (agent, mut server) = start(rules);
    server.initialize().await.unwrap();
    let thread = server.start_thread(json!({"cwd": "/home/dev/p"})).await.unwrap();
    let input = json!([{"type": "text", "text": "go"}]);
    let params = json!({"threadId": thread, "input": input});
    server.send(&json!({"id": 3, "method": "turn/start", "params": params})).await.unwrap();
    (agent, server, thread)
}

fn start(rules: &[Rule]) -> (FakeAgent, AppServer) {
    let agent = FakeAgent::new(rules).unwrap();
    let server = AppServer::start(&agent.executable(), Path::new("/"), &[]).unwrap();
    (agent, server)
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(number.try_into().unwrap()).unwrap()
}
