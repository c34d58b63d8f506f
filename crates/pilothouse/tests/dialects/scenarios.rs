//! What every Codex is driven through, in every dialect, with a scripted model behind it.

use anyhow::{Context as _, bail, ensure};
use pilothouse::core::{
    AgentError, Decision, Event, Intent, Prompt, SessionId, SessionView, Status, Subject,
    TurnStatus,
};
use pilothouse_testkit::model::DefaultScript;
use serde_json::{Value, json};

use crate::room::{Case, LONG, Room, caller};

/// The longest prompt that today's Codex takes, far too long for an argument.
const LONGEST_PROMPT: usize = 1024 * 1024;

/// What came of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// It works.
    Works,
    /// It is not there, and Pilothouse says so: with this code or these words.
    Absent(&'static str),
}

/// The scenarios, in the order of a table's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    Start,
    Accept,
    Decline,
    FileChange,
    Resume,
    Fork,
    Interrupt,
    FailedTurn,
    OddPrompts,
}

impl Scenario {
    pub(crate) const ALL: [Self; 9] = [
        Self::Start,
        Self::Accept,
        Self::Decline,
        Self::FileChange,
        Self::Resume,
        Self::Fork,
        Self::Interrupt,
        Self::FailedTurn,
        Self::OddPrompts,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::FileChange => "file change",
            Self::Resume => "resume",
            Self::Fork => "fork",
            Self::Interrupt => "interrupt",
            Self::FailedTurn => "failed turn",
            Self::OddPrompts => "any prompt",
        }
    }

    /// Plays it.
    pub(crate) async fn play(self, case: Case) -> anyhow::Result<Found> {
        let mut room = Room::open(case).await?;
        let found = match self {
            Self::Start => room.start_and_go_on().await,
            Self::Accept => room.answer_a_command(Decision::Accept).await,
            Self::Decline => room.answer_a_command(Decision::Decline).await,
            Self::FileChange => room.change_a_file().await,
            Self::Resume => room.resume_in_another_broker().await,
            Self::Fork => room.fork().await,
            Self::Interrupt => room.interrupt().await,
            Self::FailedTurn => room.fail().await,
            Self::OddPrompts => room.prompt_oddly().await,
        };
        room.broker.stop().await;
        found.with_context(|| format!("{} with Codex {case:?}", self.name()))
    }
}

impl Room {
    async fn start_and_go_on(&self) -> anyhow::Result<Found> {
        let id = self.start(&json!([[{"msg": "hello there"}]])).await?;
        let view = self.completed(id, "hello there").await?;
        let Case { version, dialect } = self.case;
        let spoken = view.dialect.unwrap_or_default();
        ensure!(spoken.starts_with(dialect.name()), "the session says {spoken:?}");
        let said = view.agent_version.as_deref();
        ensure!(said == Some(version), "the session says version {said:?}");
        ensure!(view.thread_id.is_some_and(|it| !it.is_empty()), "there is no thread");
        // At once: in some dialects the process of the last turn has only just gone.
        self.prompt(id, &json!([[{"msg": "and again"}]])).await?;
        self.completed(id, "and again").await?;
        let read = self.last_read();
        ensure!(read.contains("hello there"), "the model forgot the first turn: {read}");
        Ok(Found::Works)
    }

    async fn answer_a_command(&self, decision: Decision) -> anyhow::Result<Found> {
        let id = self.start(&json!([[{"cmd": "touch made"}], [{"msg": "went on"}]])).await?;
        let Some(ask) = self.ask(id).await? else {
            self.rests(id).await?;
            return self.nobody_is_asked(id).await;
        };
        let is_touch = |it: &str| it.contains("touch");
        ensure!(
            matches!(&ask.subject, Subject::Command { command, .. } if is_touch(command)),
            "asked: {:?}",
            ask.subject
        );
        ensure!(ask.offers.iter().any(|it| it.decision == decision), "offers: {:?}", ask.offers);
        self.answer(&ask, decision).await?;
        self.completed(id, "went on").await?;
        let is_made = self.folder.path().join("made").exists();
        ensure!(is_made == (decision == Decision::Accept), "the file is there: {is_made}");
        Ok(Found::Works)
    }

    async fn change_a_file(&self) -> anyhow::Result<Found> {
        let patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch";
        let id = self.start(&json!([[{"patch": patch}], [{"msg": "changed"}]])).await?;
        if let Some(ask) = self.ask(id).await? {
            let Subject::FileChange { changes, .. } = &ask.subject else {
                bail!("asked: {:?}", ask.subject)
            };
            let [change] = changes.as_slice() else { bail!("asked: {changes:?}") };
            ensure!(change.path.ends_with("new.txt"), "asked: {change:?}");
            ensure!(change.diff.contains("hello"), "asked: {change:?}");
            self.answer(&ask, Decision::Accept).await?;
        }
        self.completed(id, "changed").await?;
        let text = std::fs::read_to_string(self.folder.path().join("new.txt"));
        let log = self.log(id).await?;
        ensure!(text.is_ok_and(|it| it == "hello\n"), "the file was not changed: {log:#?}");
        let is_told = log.iter().any(|it| {
            matches!(it, Event::ItemCompleted { kind, body, .. }
                if kind == "fileChange" && body["status"] == "completed")
        });
        ensure!(is_told, "nobody was told of the change: {log:#?}");
        Ok(Found::Works)
    }

    /// Everything of the first broker is gone, and what it was asked to be must still hold.
    async fn resume_in_another_broker(&mut self) -> anyhow::Result<Found> {
        let id = self.start(&json!([[{"msg": "my name is Bruno"}]])).await?;
        self.completed(id, "my name is Bruno").await?;
        self.reopen().await?;
        self.prompt(id, &json!([[{"cmd": "touch made"}], [{"msg": "here again"}]])).await?;
        if let Some(ask) = self.ask(id).await? {
            self.answer(&ask, Decision::Accept).await?;
        } else {
            let view = self.rests(id).await?;
            if let Some(absent) = absent(view.last_turn.and_then(|it| it.error))? {
                return Ok(absent);
            }
            self.nobody_is_asked(id).await.context("the thread forgot when to ask")?;
        }
        self.completed(id, "here again").await?;
        let read = self.last_read();
        ensure!(read.contains("my name is Bruno"), "the thread is another: {read}");
        Ok(Found::Works)
    }

    async fn fork(&self) -> anyhow::Result<Found> {
        let id = self.start(&json!([[{"msg": "my name is Bruno"}]])).await?;
        self.completed(id, "my name is Bruno").await?;
        let fork = self.broker.fork(id, &caller()).await?;
        let ready = |it: &SessionView| it.attached || it.agent_error.is_some();
        let view = self.broker.wait_until(fork, LONG, ready).await?;
        if let Some(absent) = absent(view.agent_error)? {
            return Ok(absent);
        }
        self.prompt(fork, &json!([[{"msg": "a copy"}]])).await?;
        self.completed(fork, "a copy").await?;
        let read = self.last_read();
        ensure!(read.contains("my name is Bruno"), "the copy is empty: {read}");
        Ok(Found::Works)
    }

    async fn interrupt(&self) -> anyhow::Result<Found> {
        let id = self.start(&json!([[{"msg": "one moment"}, {"gate": "never"}]])).await?;
        self.model.reached_gate("never").await?;
        self.broker.act(id, Intent::Interrupt, &caller()).await?;
        let view = self.rests(id).await?;
        let status = view.last_turn.map(|it| it.status);
        ensure!(status == Some(TurnStatus::Interrupted), "the turn is {status:?}");
        ensure!(view.status == Status::Idle, "the session is {:?}", view.status);
        self.prompt(id, &json!([[{"msg": "goes on"}]])).await?;
        self.completed(id, "goes on").await?;
        Ok(Found::Works)
    }

    async fn fail(&self) -> anyhow::Result<Found> {
        let status = json!({"http": 400, "message": "no such flavour"});
        let id = self.start(&json!([[status]])).await?;
        let view = self.rests(id).await?;
        let turn = view.last_turn.context("no turn")?;
        ensure!(turn.status == TurnStatus::Failed, "the turn is {:?}", turn.status);
        let error = turn.error.context("a failed turn without a reason")?;
        ensure!(error.message.contains("no such flavour"), "the reason is {error:?}");
        self.prompt(id, &json!([[{"msg": "goes on"}]])).await?;
        self.completed(id, "goes on").await?;
        Ok(Found::Works)
    }

    /// Words that a command line would take for something else arrive as they are.
    async fn prompt_oddly(&self) -> anyhow::Result<Found> {
        self.model.set_default_script(DefaultScript::Hello);
        let long = format!("{}the end", "word ".repeat(LONGEST_PROMPT / 5 - 10));
        for text in ["--help", "resume", "-", "a 'b' \"c\" \\ $HOME\n\td = [1]", &long] {
            let id = self.start_with(self.spec(), Some(Prompt::text(text))).await?;
            let view = self.rests(id).await?;
            let shown: String = text.chars().take(40).collect();
            let turn = view.last_turn.context("no turn")?;
            ensure!(turn.status == TurnStatus::Completed, "{shown:?}: {:?}", turn.error);
            let read = self.last_message();
            ensure!(read.trim_end() == text, "the model read {} bytes for {shown:?}", read.len());
        }
        // No words at all, and too many, are taken as such, or refused in as many words.
        for text in [String::new(), "word ".repeat(LONGEST_PROMPT / 4)] {
            let id = self.start_with(self.spec(), Some(Prompt::text(&text))).await?;
            let turn = self.rests(id).await?.last_turn.context("no turn")?;
            let is_clear = turn.error.is_some_and(|it| !it.message.is_empty());
            let is_done = turn.status == TurnStatus::Completed;
            ensure!(is_done || is_clear, "{} bytes: {:?}", text.len(), turn.status);
        }
        // Pictures that are none, and that are not there, likewise.
        let text = self.folder.path().join("text.png");
        std::fs::write(&text, "no picture at all")?;
        for image in [text, self.folder.path().join("missing.png")] {
            let images = vec![image.display().to_string()];
            let prompt = Prompt { images, ..Prompt::text("look at this") };
            let id = self.start_with(self.spec(), Some(prompt)).await?;
            let turn = self.rests(id).await?.last_turn.context("no turn")?;
            let is_clear = turn.error.is_some_and(|it| !it.message.is_empty());
            let is_done = turn.status == TurnStatus::Completed;
            ensure!(is_done || is_clear, "{}: {:?}", image.display(), turn.status);
        }
        Ok(Found::Works)
    }

    /// The user's last words, as the model read them.
    fn last_message(&self) -> String {
        let Some(request) = self.model.requests().pop() else { return String::new() };
        let users = request.input().iter().rev().find(|it| it["role"] == "user");
        let text = users.and_then(|it| it["content"][0]["text"].as_str());
        text.unwrap_or_default().to_owned()
    }

    /// The session must say so itself, before anybody relies on being asked.
    async fn nobody_is_asked(&self, id: SessionId) -> anyhow::Result<Found> {
        let view = self.broker.session(id).await?;
        let dialect = view.dialect.unwrap_or_default();
        ensure!(dialect.contains("no approvals"), "nobody was asked, and {dialect:?} says nothing");
        let log = self.log(id).await?;
        let is_warned = log.iter().any(|it| {
            matches!(it, Event::Noted { method, body }
                if method == "warning" && body["message"].as_str().is_some_and(|it| it.contains("asks nobody")))
        });
        ensure!(is_warned, "nobody was warned: {log:#?}");
        Ok(Found::Absent("no approvals"))
    }
}

/// An absence that is told as one; any other error is none.
fn absent(error: Option<AgentError>) -> anyhow::Result<Option<Found>> {
    let Some(error) = error else { return Ok(None) };
    let code = error.detail.get("code").and_then(Value::as_str);
    ensure!(code == Some("EXEC_NOT_SUPPORTED"), "{error:?}");
    ensure!(error.message.starts_with("Pilothouse could not "), "{error:?}");
    Ok(Some(Found::Absent("EXEC_NOT_SUPPORTED")))
}
