//! A broker with a real Codex and a scripted model behind it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use pilothouse::{
    AgentConfig, Broker, Config, Dialect, Said, Start,
    agent::process::GuardCommand,
    core::{
        Actor, Answer, ApprovalPolicy, AskView, Decision, Event, Intent, Patience, Prompt, Sandbox,
        Seq, SessionId, SessionView, Spec, Status, TurnStatus, WhenBusy,
    },
    store::{AskFilter, Memory, MemoryWorld, NodeId},
};
use pilothouse_testkit::{ScriptedModel, installed_codex};
use serde_json::Value;

/// Longest wait for anything; old versions are slow to stop.
pub(crate) const LONG: Duration = Duration::from_secs(25);
/// More events than any scenario leaves.
const ALL: usize = 1_000;

/// A version of Codex, and how it is spoken to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) version: &'static str,
    pub(crate) dialect: Dialect,
}

impl Case {
    pub(crate) fn new(version: &'static str, dialect: Dialect) -> Self {
        Self { version, dialect }
    }
}

pub(crate) struct Room {
    pub(crate) case: Case,
    pub(crate) model: ScriptedModel,
    world: Arc<MemoryWorld>,
    pub(crate) broker: Broker,
    pub(crate) folder: tempfile::TempDir,
}

impl Room {
    pub(crate) async fn open(case: Case) -> anyhow::Result<Self> {
        Self::open_with(case, |_| {}).await
    }

    /// Like [`Room::open`], with changes to how the agent is started.
    pub(crate) async fn open_with(
        case: Case,
        change: impl FnOnce(&mut AgentConfig),
    ) -> anyhow::Result<Self> {
        let model = ScriptedModel::start().await?;
        let world = MemoryWorld::new();
        let broker = broker(case, &model, &world, "a", change).await?;
        Ok(Self { case, model, world, broker, folder: tempfile::tempdir()? })
    }

    /// Everything of the broker goes, and another comes.
    pub(crate) async fn reopen(&mut self) -> anyhow::Result<()> {
        self.broker.stop().await;
        self.broker = broker(self.case, &self.model, &self.world, "b", |_| {}).await?;
        Ok(())
    }

    pub(crate) fn spec(&self) -> Spec {
        Spec {
            cwd: self.folder.path().display().to_string(),
            approval_policy: Some(ApprovalPolicy::Untrusted),
            sandbox: Some(Sandbox::WorkspaceWrite),
            patience: Patience::Forever,
            ..Spec::default()
        }
    }

    pub(crate) async fn start(&self, script: &Value) -> anyhow::Result<SessionId> {
        self.start_with(self.spec(), Some(scripted(script))).await
    }

    pub(crate) async fn start_with(
        &self,
        spec: Spec,
        prompt: Option<Prompt>,
    ) -> anyhow::Result<SessionId> {
        Ok(self.broker.start(Start { spec, prompt, by: caller() }).await?)
    }

    pub(crate) async fn prompt(&self, id: SessionId, script: &Value) -> anyhow::Result<()> {
        self.prompt_with(id, scripted(script)).await
    }

    pub(crate) async fn prompt_with(&self, id: SessionId, prompt: Prompt) -> anyhow::Result<()> {
        let prompt = Intent::Prompt { prompt, when_busy: WhenBusy::Refuse };
        self.broker.act(id, prompt, &caller()).await?;
        Ok(())
    }

    /// What the session asks, or nothing if its turn ends without a question.
    pub(crate) async fn ask(&self, id: SessionId) -> anyhow::Result<Option<AskView>> {
        let waits = |it: &SessionView| it.status != Status::Running;
        let view = self.broker.wait_until(id, LONG, waits).await?;
        ensure!(waits(&view), "it still runs: {view:#?}");
        let filter = AskFilter { session: Some(id), pending: true, opened_by: None };
        Ok(self.broker.asks(filter, 10, None).await?.rows.pop())
    }

    pub(crate) async fn answer(&self, ask: &AskView, decision: Decision) -> anyhow::Result<()> {
        let said = Said {
            answer: Answer::plain(decision),
            digest: Some(ask.digest.clone()),
            reason: None,
            note: None,
        };
        let human = Actor::Human { via: "test".to_owned(), verified: true };
        self.broker.answer(ask.request_id, said, &human).await?;
        Ok(())
    }

    pub(crate) async fn rests(&self, id: SessionId) -> anyhow::Result<SessionView> {
        let rests =
            |it: &SessionView| !matches!(it.status, Status::Running | Status::WaitingApproval);
        let view = self.broker.wait_until(id, LONG, rests).await?;
        ensure!(rests(&view), "it still runs: {view:#?}\n{:#?}", self.log(id).await?);
        Ok(view)
    }

    pub(crate) async fn completed(
        &self,
        id: SessionId,
        output: &str,
    ) -> anyhow::Result<SessionView> {
        let view = self.rests(id).await?;
        let turn = view.last_turn.as_ref().context("no turn")?;
        let is_right =
            turn.status == TurnStatus::Completed && turn.output.as_deref() == Some(output);
        ensure!(is_right, "not {output:?}: {turn:#?}\n{:#?}", self.log(id).await?);
        Ok(view)
    }

    pub(crate) async fn log(&self, id: SessionId) -> anyhow::Result<Vec<Event>> {
        let page = self.broker.events(id, Seq(0), ALL).await?;
        Ok(page.events.into_iter().map(|it| it.event).collect())
    }

    /// What the model was last given to read.
    pub(crate) fn last_read(&self) -> String {
        self.model.requests().pop().map(|it| it.input_text()).unwrap_or_default()
    }
}

async fn broker(
    case: Case,
    model: &ScriptedModel,
    world: &Arc<MemoryWorld>,
    node: &str,
    change: impl FnOnce(&mut AgentConfig),
) -> anyhow::Result<Broker> {
    let store = Memory::open(world, NodeId(node.to_owned()));
    let store_name = format!("{}-{:p}", std::process::id(), Arc::as_ptr(world));
    let mut config = Config::new(store, &store_name, "test");
    config.agent.binary = Some(installed_codex(case.version)?);
    config.agent.dialect = Some(case.dialect);
    config.agent.guard = Some(GuardCommand { program: guard()?, args: vec![] });
    for (name, value) in model.env() {
        config.agent.env.insert(name.into(), Some(value.into()));
    }
    // Codex's commands run in a login shell, and this machine's profile is no part of the test.
    let home = model.codex_home().as_os_str().to_owned();
    config.agent.env.insert("HOME".into(), Some(home));
    change(&mut config.agent);
    Ok(Broker::open(config).await?)
}

/// The guard beside the running test or example.
fn guard() -> anyhow::Result<PathBuf> {
    let mut path = std::env::current_exe()?;
    path.pop();
    path.pop();
    path.push("examples/guard");
    ensure!(path.exists(), "build the examples first: cargo build -p pilothouse --examples");
    Ok(path)
}

pub(crate) fn scripted(script: &Value) -> Prompt {
    Prompt::text(&format!("go\nSCRIPT:{script}"))
}

pub(crate) fn caller() -> Actor {
    Actor::Caller { id: "test".to_owned() }
}
