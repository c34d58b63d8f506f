//! The real Codex with the scripted model, through the smallest client.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use pilothouse_testkit::{
    AppServer, ScriptedModel, codex_binary,
    model::DefaultScript,
    scenarios::{self, Scenario},
};
use serde_json::{Value, json};

const COMMAND: &str =
    "go\nSCRIPT:[[{\"cmd\": \"mkdir -p sub && echo hi > sub/f.txt\"}], [{\"msg\": \"finished\"}]]";
/// Enough to use the time in which one waits for Codex.
const N_RECORDERS: usize = 4;
const ASKED: &str = "item/commandExecution/requestApproval";

#[tokio::test]
async fn an_accepted_command_runs() {
    let mut stage = Stage::set().await;
    let thread = stage.thread("untrusted").await;
    stage.server.start_turn(&thread, COMMAND).await.unwrap();
    let completed = stage.decide("accept").await;
    assert_eq!(completed["params"]["turn"]["status"], "completed");
    let written = std::fs::read_to_string(stage.project.path().join("sub/f.txt")).unwrap();
    assert_eq!(written, "hi\n");
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].thread, thread);
    assert!(requests[0].tools.iter().any(|it| it == "exec_command"));
}

#[tokio::test]
async fn a_declined_command_does_not_run_and_the_model_is_told() {
    let mut stage = Stage::set().await;
    let thread = stage.thread("untrusted").await;
    stage.server.start_turn(&thread, COMMAND).await.unwrap();
    let completed = stage.decide("decline").await;
    assert_eq!(completed["params"]["turn"]["status"], "completed");
    assert!(!stage.project.path().join("sub").exists());
    let told = stage.model.requests()[1].input_text();
    assert!(told.contains("rejected by user"), "{told}");
}

#[tokio::test]
async fn a_plain_prompt_is_a_demonstration() {
    for (decision, words, is_written) in
        [("accept", "Thank you", true), ("decline", "You declined", false)]
    {
        let mut stage = Stage::set().await;
        let thread = stage.thread("on-request").await;
        stage.server.start_turn(&thread, "Please say hello").await.unwrap();
        let completed = stage.decide(decision).await;
        let text = completed["params"]["turn"]["items"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(words), "{decision}: {text}");
        let greeting = stage.project.path().join("hello-from-pilothouse.txt");
        assert_eq!(greeting.exists(), is_written, "{decision}");
    }
}

#[tokio::test]
async fn a_default_script_of_a_test_is_played_per_prompt() {
    let mut stage = Stage::set().await;
    stage.model.set_default_script(DefaultScript::Hello);
    let thread = stage.thread("on-request").await;
    stage.server.start_turn(&thread, "hello").await.unwrap();
    let completed = stage.server.wait_for_method("turn/completed").await.unwrap();
    let text = &completed["params"]["turn"]["items"][0]["text"];
    assert_eq!(text, "Hello from the scripted model");
}

#[tokio::test]
async fn a_gate_holds_the_stream_until_it_is_opened() {
    let mut stage = Stage::set().await;
    let thread = stage.thread("on-request").await;
    let prompt = "go\nSCRIPT:[[{\"msg\": \"one\"}, {\"gate\": \"g\"}, {\"msg\": \"two\"}]] thanks";
    stage.server.start_turn(&thread, prompt).await.unwrap();
    stage.model.reached_gate("g").await.unwrap();
    // What the server says when asked now was said before the gate was opened.
    let status = stage.server.call("thread/read", json!({"threadId": thread})).await.unwrap();
    assert_eq!(status["thread"]["status"]["type"], "active");
    stage.model.open_gate("g");
    let completed = stage.server.wait_for_method("turn/completed").await.unwrap();
    assert_eq!(completed["params"]["turn"]["items"][0]["text"], "two");
}

#[tokio::test]
async fn the_model_fails_on_cue() {
    let mut stage = Stage::set().await;
    let thread = stage.thread("on-request").await;
    for op in [
        json!({"http": 500, "message": "on cue"}),
        json!({"failed": {"code": "rate_limit_exceeded", "message": "on cue"}}),
        json!({"incomplete": "max_output_tokens"}),
        json!({"cut": true}),
        json!({"eof": true}),
    ] {
        let prompt = format!("fail\nSCRIPT:{}", json!([[{"msg": "so far"}, op]]));
        stage.server.start_turn(&thread, &prompt).await.unwrap();
        let completed = stage.server.wait_for_method("turn/completed").await.unwrap();
        assert_eq!(completed["params"]["turn"]["status"], "failed", "{op}");
    }
}

#[tokio::test]
async fn a_bad_script_says_so() {
    let mut stage = Stage::set().await;
    let thread = stage.thread("on-request").await;
    for script in ["", "[[", "{}", "[{}]", "[[{\"nonsense\": 1}]]", "[[{\"msg\": 1}]]"] {
        let prompt = format!("go\nSCRIPT:{script}");
        stage.server.start_turn(&thread, &prompt).await.unwrap();
        let completed = stage.server.wait_for_method("turn/completed").await.unwrap();
        let text = completed["params"]["turn"]["items"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("BAD SCRIPT"), "{script}: {text}");
    }
}

#[tokio::test]
async fn every_scenario_can_be_recorded_without_a_trace_of_this_machine() {
    let codex = codex_binary().unwrap();
    let recordings = stream::iter(Scenario::ALL)
        .map(|scenario| scenarios::record(scenario, &codex))
        .buffered(N_RECORDERS)
        .try_collect::<Vec<_>>();
    for (scenario, recording) in Scenario::ALL.iter().zip(recordings.await.unwrap()) {
        assert_eq!(recording.header.as_ref().unwrap().scenario, scenario.name());
        let ended = recording.from_codex().any(|it| it["method"] == "turn/completed");
        assert!(ended, "{scenario}");
        let temporary = std::env::temp_dir().display().to_string();
        let root = pilothouse_testkit::workspace_root().display().to_string();
        for line in recording.lines() {
            let text = line.msg.to_string();
            assert!(!text.contains(&temporary), "{scenario}: {text}");
            assert!(!text.contains(&root), "{scenario}: {text}");
        }
    }
}

struct Stage {
    server: AppServer,
    model: ScriptedModel,
    project: tempfile::TempDir,
}

impl Stage {
    async fn set() -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let project = tempfile::tempdir().unwrap();
        let mut server =
            AppServer::start(&codex_binary().unwrap(), project.path(), &model.env()).unwrap();
        server.initialize().await.unwrap();
        Self { server, model, project }
    }

    async fn thread(&mut self, policy: &str) -> String {
        let cwd = self.project.path();
        let params = json!({"approvalPolicy": policy, "sandbox": "workspace-write", "cwd": cwd});
        self.server.start_thread(params).await.unwrap()
    }

    async fn decide(&mut self, decision: &str) -> Value {
        let request = self.server.wait_for_method(ASKED).await.unwrap();
        self.server.answer(&request, json!({"decision": decision})).await.unwrap();
        self.server.wait_for_method("turn/completed").await.unwrap()
    }
}
