//! Brokers with the real Codex and a scripted model behind it.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{path::PathBuf, sync::Arc, time::Duration};

use pilothouse::{
    Broker, Config, Said, Start,
    core::{
        Actor, Answer, ApprovalPolicy, AskView, Decision, Event, Intent, Patience, Prompt, Reach,
        Sandbox, Seq, SessionId, SessionView, Spec, Status, Subject, TurnStatus, WhenBusy,
    },
    store::{AskFilter, Memory, MemoryWorld, NodeId},
};
use pilothouse_testkit::{ScriptedModel, codex_binary};
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(25);

struct Room {
    model: ScriptedModel,
    broker: Broker,
    folder: tempfile::TempDir,
}

#[tokio::test]
async fn an_accepted_command_runs_and_a_declined_one_does_not() {
    let room = room("").await;
    let id = room.start(&json!([[{"cmd": "touch yes"}], [{"msg": "done"}]])).await;
    let ask = room.ask(id).await;
    assert!(matches!(&ask.subject, Subject::Command { command, .. } if command.contains("touch")));
    assert!(ask.offers.iter().any(|it| it.decision == Decision::Accept && it.reach == Reach::Once));
    room.answer(&ask, Decision::Accept, None).await;
    let view = room.at_rest(id).await;
    assert_eq!(view.last_turn.unwrap().output.as_deref(), Some("done"));
    assert!(room.folder.path().join("yes").exists());

    room.prompt(id, &json!([[{"cmd": "touch no"}], [{"msg": "then not"}]])).await;
    let ask = room.ask(id).await;
    room.answer(&ask, Decision::Decline, Some("use the other disk")).await;
    let view = room.at_rest(id).await;
    assert_eq!(view.last_turn.unwrap().output.as_deref(), Some("then not"));
    assert!(!room.folder.path().join("no").exists());
    assert!(room.model_read().contains("use the other disk"), "the reason reaches the model");
    room.broker.stop().await;
}

#[tokio::test]
async fn a_file_change_is_asked_with_its_diff_and_declined() {
    let room = room("").await;
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch";
    let id = room.start(&json!([[{"patch": patch}], [{"msg": "ok"}]])).await;
    let ask = room.ask(id).await;
    let Subject::FileChange { changes, .. } = &ask.subject else { panic!("{:?}", ask.subject) };
    assert_eq!(changes.len(), 1);
    assert!(changes[0].path.ends_with("new.txt"));
    assert_eq!(changes[0].diff, "hello\n");
    room.answer(&ask, Decision::Decline, None).await;
    room.at_rest(id).await;
    assert!(!room.folder.path().join("new.txt").exists());
    let log = room.broker.events(id, Seq(0), 1_000).await.unwrap().events;
    let declined = log.iter().any(|it| {
        matches!(&it.event, Event::ItemCompleted { kind, body, .. }
            if kind == "fileChange" && body["status"] == "declined")
    });
    assert!(declined, "{log:#?}");
    room.broker.stop().await;
}

#[tokio::test]
async fn nobody_answers_and_the_model_never_reads_of_a_refusal() {
    let room = room("").await;
    let script = json!([[{"cmd": "touch no"}], [{"msg": "went on"}]]);
    let mut start = room.spec(&script);
    start.spec.patience = Patience::Ms(50);
    let id = room.broker.start(start).await.unwrap();
    room.at_rest(id).await;
    let read = room.model_read();
    assert!(!read.contains("rejected by user"), "{read}");
    assert!(read.contains("answered"), "it reads that nobody answered");
    assert!(!room.folder.path().join("no").exists());
    room.broker.stop().await;
}

#[tokio::test]
async fn a_killed_agent_loses_the_turn_and_the_thread_remembers_the_earlier_ones() {
    let room = room("").await;
    let id = room.start(&json!([[{"msg": "my name is Bruno"}]])).await;
    room.at_rest(id).await;
    room.prompt(id, &json!([[{"msg": "one moment"}, {"gate": "never"}]])).await;
    room.model.reached_gate("never").await.unwrap();
    let pids = room.broker.agent_pids().await;
    let pid = pids.values().next().copied().unwrap();
    kill(pid);
    let view = room.at_rest(id).await;
    assert_eq!((view.status, view.last_turn.unwrap().status), (Status::Error, TurnStatus::Lost));
    room.prompt(id, &json!([[{"msg": "here again"}]])).await;
    let view = room.at_rest(id).await;
    assert_eq!(view.last_turn.unwrap().output.as_deref(), Some("here again"));
    let last = room.model.requests().pop().unwrap().input_text();
    assert!(last.contains("my name is Bruno"), "{last}");
    room.broker.stop().await;
}

#[tokio::test]
async fn an_interrupt_stops_the_turn_the_command_and_the_question() {
    let room = room("").await;
    let id = room.start(&json!([[{"cmd": "touch never"}], [{"msg": "no"}]])).await;
    room.ask(id).await;
    room.broker.act(id, Intent::Interrupt, &caller()).await.unwrap();
    let view = room.at_rest(id).await;
    assert_eq!(view.last_turn.unwrap().status, TurnStatus::Interrupted);
    assert_eq!(view.pending_request_count, 0);
    room.prompt(id, &json!([[{"msg": "goes on"}]])).await;
    assert_eq!(room.at_rest(id).await.last_turn.unwrap().output.as_deref(), Some("goes on"));
    room.broker.stop().await;
}

#[tokio::test]
async fn a_form_of_an_mcp_server_inside_codex_is_an_ask_and_its_content_goes_back() {
    let probe = pilothouse_testkit::bin("probe-mcp").unwrap();
    let room = room(&format!(
        "[mcp_servers.probe]\ncommand = {:?}\ndefault_tools_approval_mode = \"approve\"\n",
        probe.display().to_string()
    ))
    .await;
    let call = json!({"call": "ask_form", "args": {}, "ns": "mcp__probe"});
    let id = room.start(&json!([[call], [{"msg": "thanks"}]])).await;
    let ask = room.ask(id).await;
    let Subject::Form { schema, .. } = &ask.subject else { panic!("{:?}", ask.subject) };
    let content = fill(schema);
    let said = Said {
        answer: Answer::Filled { content: content.clone() },
        digest: Some(ask.digest.clone()),
        reason: None,
        note: None,
    };
    room.broker.answer(ask.request_id, said, &human()).await.unwrap();
    room.at_rest(id).await;
    let read = room.model_read();
    let first = content.as_object().unwrap().values().next().unwrap();
    assert!(read.contains(first.as_str().unwrap_or_default()), "{content} {read}");
    room.broker.stop().await;
}

#[tokio::test]
async fn nothing_is_left_of_a_stopped_broker_whatever_codex_had_started() {
    let probe = pilothouse_testkit::bin("probe-mcp").unwrap();
    let pids = tempfile::tempdir().unwrap();
    let (mcp, sleeper) = (pids.path().join("mcp"), pids.path().join("sleeper"));
    let room = room(&format!(
        "[mcp_servers.probe]\ncommand = {:?}\nargs = [\"--ignore-sigterm\", \"--ignore-eof\", \
         \"--pid-file\", {:?}]\n",
        probe.display().to_string(),
        mcp.display().to_string(),
    ))
    .await;
    let line = format!(
        "env -i setsid sh -c 'echo $$ > {}; exec sleep 600' >/dev/null 2>&1 </dev/null &",
        sleeper.display()
    );
    let mut start = room.spec(&json!([
        [{"cmd": line}],
        [{"msg": "started"}, {"gate": "never"}],
    ]));
    start.spec.sandbox = Some(Sandbox::DangerFullAccess);
    start.spec.approval_policy = Some(ApprovalPolicy::Never);
    room.broker.start(start).await.unwrap();
    room.model.reached_gate("never").await.unwrap();
    let mut left = vec![read_pid(&mcp), read_pid(&sleeper)];
    left.extend(room.broker.agent_pids().await.values());
    assert!(left.iter().all(|it| is_alive(*it)), "{left:?}");
    let began = std::time::Instant::now();
    room.broker.stop().await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(!left.iter().any(|it| is_alive(*it)), "{left:?}");
}

impl Room {
    fn spec(&self, script: &Value) -> Start {
        let spec = Spec {
            cwd: self.folder.path().display().to_string(),
            approval_policy: Some(ApprovalPolicy::Untrusted),
            sandbox: Some(Sandbox::WorkspaceWrite),
            patience: Patience::Forever,
            ..Spec::default()
        };
        Start { spec, prompt: Some(scripted(script)), by: caller() }
    }

    async fn start(&self, script: &Value) -> SessionId {
        self.broker.start(self.spec(script)).await.unwrap()
    }

    async fn prompt(&self, id: SessionId, script: &Value) {
        let prompt = Intent::Prompt { prompt: scripted(script), when_busy: WhenBusy::Refuse };
        self.broker.act(id, prompt, &caller()).await.unwrap();
    }

    async fn ask(&self, id: SessionId) -> AskView {
        let waits = |it: &SessionView| it.pending_request_count > 0;
        let view = self.broker.wait_until(id, LONG, waits).await.unwrap();
        assert!(waits(&view), "{view:#?}");
        let filter = AskFilter { session: Some(id), pending: true, opened_by: None };
        self.broker.asks(filter, 10, None).await.unwrap().rows.remove(0)
    }

    async fn answer(&self, ask: &AskView, decision: Decision, reason: Option<&str>) {
        let said = Said {
            answer: Answer::plain(decision),
            digest: Some(ask.digest.clone()),
            reason: reason.map(str::to_owned),
            note: None,
        };
        self.broker.answer(ask.request_id, said, &human()).await.unwrap();
    }

    async fn at_rest(&self, id: SessionId) -> SessionView {
        let rests =
            |it: &SessionView| !matches!(it.status, Status::Running | Status::WaitingApproval);
        let view = self.broker.wait_until(id, LONG, rests).await.unwrap();
        assert!(rests(&view), "{view:#?}");
        view
    }

    /// Everything that the model was given to read.
    fn model_read(&self) -> String {
        self.model.requests().iter().map(|it| it.body.to_string()).collect()
    }
}

async fn room(extra_toml: &str) -> Room {
    let model = ScriptedModel::start().await.unwrap();
    model.write_codex_home_with(model.codex_home(), extra_toml).unwrap();
    let world = MemoryWorld::new();
    let store = Memory::open(&world, NodeId("a".to_owned()));
    let store_name = format!("{}-{:p}", std::process::id(), Arc::as_ptr(&world));
    let mut config = Config::new(store, &store_name, "test");
    config.agent.binary = Some(codex_binary().unwrap());
    config.agent.guard =
        Some(pilothouse::agent::process::GuardCommand { program: example("guard"), args: vec![] });
    for (name, value) in model.env() {
        config.agent.env.insert(name.into(), Some(value.into()));
    }
    // Codex's commands run in a login shell, and this machine's profile is no part of the test.
    let home = model.codex_home().as_os_str().to_owned();
    config.agent.env.insert("HOME".into(), Some(home));
    let broker = Broker::open(config).await.unwrap();
    Room { model, broker, folder: tempfile::tempdir().unwrap() }
}

fn example(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.push("examples");
    path.push(name);
    assert!(path.exists(), "build the examples first: cargo build -p pilothouse --examples");
    path
}

fn scripted(script: &Value) -> Prompt {
    Prompt::text(&format!("go\nSCRIPT:{script}"))
}

fn caller() -> Actor {
    Actor::Caller { id: "test".to_owned() }
}

fn human() -> Actor {
    Actor::Human { via: "test".to_owned(), verified: true }
}

/// Any content that a schema of the probe allows, with words that can be found again.
fn fill(schema: &Value) -> Value {
    let fields = schema["properties"].as_object().unwrap().iter().map(|(name, property)| {
        let value = match property["type"].as_str().unwrap() {
            "boolean" => json!(true),
            "integer" | "number" => property.get("minimum").cloned().unwrap_or(json!(1)),
            "string" => {
                let chosen = property["enum"].get(0).or(property["oneOf"][0].get("const"));
                chosen.cloned().unwrap_or(json!("quince"))
            }
            other => panic!("{other}"),
        };
        (name.clone(), value)
    });
    Value::Object(fields.collect())
}

fn read_pid(path: &std::path::Path) -> u32 {
    let text = std::fs::read_to_string(path);
    text.unwrap_or_else(|it| panic!("{}: {it}", path.display())).trim().parse().unwrap()
}

fn is_alive(pid: u32) -> bool {
    // A zombie is no longer alive; its parent may just not have looked yet.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|it| !it.rsplit(')').next().unwrap().trim().starts_with('Z'))
}

fn kill(pid: u32) {
    // The shell has it built in; a bare machine may have no program of that name.
    let line = format!("kill -9 {pid}");
    assert!(std::process::Command::new("sh").args(["-c", &line]).status().unwrap().success());
}
