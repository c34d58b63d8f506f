//! `codex` and `codex-reply` as Codex's own MCP server had them, until 0.154 dropped it.
//!
//! A call blocks to the end of its turn. What the agent asks meanwhile goes to the client as a
//! form in that server's shape, and to the inbox at the same time. In reading order: the two tools
//! here; `turn`, the wait for the end; `forms`, what the client is shown and what it says.

mod forms;
mod turn;

use std::{path::PathBuf, sync::Arc, time::Duration};

use pilothouse::{Broker, Error, Start};
use pilothouse_core::{
    Answerers, Event, Intent, Overrides, Patience, Prompt, Refusal, Seq, SessionId, SessionView,
    Spec, Status, TurnId, WhenBusy,
};
use pilothouse_store::{MAX_PAGE, SessionFilter};
use rmcp::model::{CallToolResult, ContentBlock, ProtocolVersion, Tool};
use serde_json::{Map, Value, json};

use super::{
    Call,
    arguments::Arguments,
    problem::Problem,
    profile,
    start::{POLICIES, SANDBOXES, folder, prompt_text},
};

/// The client's version from which on servers ask nothing of clients while a call is open.
const NO_REQUESTS_SINCE: &str = "2026-07-28";
/// Sessions in a page, and pages that are searched for a thread of an earlier process.
const PAGE: usize = 100;
const MAX_PAGES: usize = 10;

/// How long to wait before looking at a session again although nothing was heard of it.
const LOOK_AGAIN: Duration = Duration::from_mins(10);
/// How far before a prompt's last event its first one is, at most.
const NEAR_BY: u64 = 8;

const CODEX: &str = "codex";
const REPLY: &str = "codex-reply";

/// The names of `codex`'s arguments, as a refusal tells them.
const FIELDS: [&str; 11] = [
    "prompt",
    "model",
    "profile",
    "cwd",
    "approval-policy",
    "sandbox",
    "config",
    "base-instructions",
    "developer-instructions",
    "compact-prompt",
    "include-plan-tool",
];

/// The two tools, in words of our own.
pub(crate) fn all() -> Vec<Tool> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let choice = |words: Vec<&str>, about: &str| json!({ "type": "string", "enum": words, "description": about });
    let codex = json!({
        "type": "object",
        "properties": {
            "prompt": text("What Codex should do first."),
            "approval-policy": choice(
                POLICIES.iter().map(|it| it.0).collect(),
                "When Codex asks before it acts.",
            ),
            "sandbox": choice(
                SANDBOXES.iter().map(|it| it.0).collect(),
                "What its commands may touch.",
            ),
            "cwd": text("Where it works; relative to the server's directory."),
            "model": text("The model, else the configured one."),
            "profile": text("A profile of Codex's configuration."),
            "config": {
                "type": "object",
                "additionalProperties": true,
                "description": "Settings over those of config.toml.",
            },
            "base-instructions": text("Instructions in place of Codex's own."),
            "developer-instructions": text("Instructions beside Codex's own."),
            "compact-prompt": text("How the conversation is to be summarised when it is long."),
            "include-plan-tool": {
                "type": "boolean",
                "description": "Whether the model may keep a plan.",
            },
        },
        "required": ["prompt"],
        "additionalProperties": false,
    });
    let reply = json!({
        "type": "object",
        "properties": {
            "threadId": text("The thread, as codex told it."),
            "conversationId": text("The older name of threadId."),
            "prompt": text("What Codex should do next."),
        },
        "required": ["prompt"],
    });
    let result = fields(json!({
        "type": "object",
        "properties": { "threadId": { "type": "string" }, "content": { "type": "string" } },
        "required": ["threadId", "content"],
    }));
    let tool = |name: &'static str, title: &str, about: &'static str, arguments: Value| {
        Tool::new(name, about, fields(arguments))
            .with_title(title)
            .with_raw_output_schema(Arc::clone(&result))
    };
    vec![
        tool(CODEX, "Codex", "Run a Codex session to the end of its first turn.", codex),
        tool(REPLY, "Codex Reply", "Send a thread its next prompt, and wait for the end.", reply),
    ]
}

fn fields(schema: Value) -> Arc<Map<String, Value>> {
    let Value::Object(fields) = schema else { return Arc::default() };
    Arc::new(fields)
}

/// A result in that server's shape. Without a thread there is nothing but the words.
fn told(thread: Option<&str>, content: impl Into<String>, failed: bool) -> CallToolResult {
    let content = content.into();
    let blocks = vec![ContentBlock::text(content.clone())];
    let mut res =
        if failed { CallToolResult::error(blocks) } else { CallToolResult::success(blocks) };
    if let Some(thread) = thread {
        res.structured_content = Some(json!({ "threadId": thread, "content": content }));
    }
    res
}

fn refused(doing: &str, problem: &str) -> CallToolResult {
    told(None, format!("Failed to {doing}: {problem}"), true)
}

/// A new session as a call wants it.
struct Wanted {
    spec: Spec,
    prompt: String,
}

impl Call<'_> {
    /// Carries out a call of either tool, whatever it takes.
    pub(crate) async fn legacy(&self, tool: &str, arguments: Arguments) -> CallToolResult {
        let outcome = match tool {
            CODEX => self.legacy_codex(arguments).await,
            REPLY => self.legacy_reply(arguments).await,
            _ => return told(None, format!("Unknown tool '{tool}'"), true),
        };
        outcome.unwrap_or_else(|problem| {
            let hint = problem.hint.map(|it| format!(" {it}")).unwrap_or_default();
            told(None, format!("{}{hint}", problem.message), true)
        })
    }

    async fn legacy_codex(&self, arguments: Arguments) -> Result<CallToolResult, Problem> {
        let Wanted { spec, prompt } = match self.wanted(arguments) {
            Ok(wanted) => wanted,
            Err(problem) => {
                let doing = "parse configuration for Codex tool";
                return Ok(refused(doing, &problem.message));
            }
        };
        let broker = self.broker().await?;
        let by = self.server.caller.clone();
        let prompt = Prompt { text: prompt, images: vec![], overrides: Overrides::default() };
        let session = broker.start(Start { spec, prompt: Some(prompt), by }).await?;
        self.to_the_end(broker, session, TurnId(1)).await
    }

    fn wanted(&self, mut arguments: Arguments) -> Result<Wanted, Problem> {
        let prompt = prompt_text(&mut arguments)?;
        let approval_policy = arguments.choice("approval-policy", &POLICIES)?;
        let sandbox = arguments.choice("sandbox", &SANDBOXES)?;
        let cwd = arguments.text("cwd")?;
        let model = arguments.text("model")?;
        let profile = arguments.text("profile")?;
        let mut config = arguments.object("config")?.unwrap_or_default();
        let base_instructions = arguments.text("base-instructions")?;
        let developer_instructions = arguments.text("developer-instructions")?;
        if let Some(words) = arguments.text("compact-prompt")? {
            config.insert("compact_prompt".to_owned(), words.into());
        }
        if let Some(wanted) = arguments.flag("include-plan-tool")? {
            // Both spellings: what a version does not know it passes over.
            config.insert("include_plan_tool".to_owned(), wanted.into());
            config.insert("tools.update_plan".to_owned(), json!({ "enabled": wanted }));
        }
        if let Some(unknown) = arguments.unknown_names().first() {
            let fields = FIELDS.map(|it| format!("`{it}`")).join(", ");
            let problem = format!("unknown field, expected one of {fields}");
            return Err(Problem::argument(unknown, problem));
        }
        let cwd = folder("cwd", cwd.as_deref(), &self.server.options.cwd)?;
        if let Some(name) = &profile {
            config = profile::laid_under(self.codex_home(), name, config)?;
        }
        // While the client shows forms there is somebody who can answer, however long it takes.
        let patience = if self.shows_forms() { Patience::Forever } else { Patience::Attended };
        let spec = Spec {
            approval_policy,
            sandbox,
            model,
            profile,
            base_instructions,
            developer_instructions,
            config,
            answerers: self.server.options.answerers,
            patience,
            cwd: cwd.to_string_lossy().into_owned(),
            ..Spec::default()
        };
        Ok(Wanted { spec, prompt })
    }

    async fn legacy_reply(&self, mut arguments: Arguments) -> Result<CallToolResult, Problem> {
        let doing = "parse configuration for Codex tool";
        let read = |arguments: &mut Arguments| -> Result<_, Problem> {
            Ok((arguments.text("threadId")?, arguments.text("conversationId")?))
        };
        let thread = match read(&mut arguments) {
            Ok((thread, older)) => thread.or(older),
            Err(problem) => return Ok(refused(doing, &problem.message)),
        };
        let text = match prompt_text(&mut arguments) {
            Ok(text) => text,
            Err(problem) => return Ok(refused(doing, &problem.message)),
        };
        let Some(thread) = thread else {
            let problem = "either threadId or conversationId must be provided";
            return Ok(refused("parse thread_id", problem));
        };
        let broker = self.broker().await?;
        let Some(session) = self.session_of(broker, &thread).await? else {
            let problem = format!("Session not found for thread_id: {thread}");
            return Ok(told(Some(&thread), problem, true));
        };
        match self.prompt(broker, session, text).await {
            Ok(Some(turn)) => self.to_the_end(broker, session, turn).await,
            Ok(None) => Ok(told(Some(&thread), "The call was taken back.".to_owned(), true)),
            Err(problem) => Ok(told(Some(&thread), problem.message, true)),
        }
    }

    /// Sends a prompt as soon as the session rests, as a call that was taken back may have left it
    /// ending a turn. Gives the prompt's turn; nothing if the client takes this call back, too.
    async fn prompt(
        &self,
        broker: &Broker,
        session: SessionId,
        text: String,
    ) -> Result<Option<TurnId>, Problem> {
        let prompt = Prompt { text, images: vec![], overrides: Overrides::default() };
        let intent = Intent::Prompt { prompt, when_busy: WhenBusy::default() };
        let seq = loop {
            match broker.act(session, intent.clone(), &self.server.caller).await {
                Err(Error::Refused(Refusal::Busy)) => {}
                seq => break seq?,
            }
            let rests =
                |it: &SessionView| !matches!(it.status, Status::Running | Status::WaitingApproval);
            match self.patiently(broker.wait_until(session, LOOK_AGAIN, rests)).await {
                Some(view) => drop(view?),
                None => return Ok(None),
            }
        };
        let after = Seq(seq.0.saturating_sub(NEAR_BY));
        let page = broker.events(session, after, MAX_PAGE).await?;
        for envelope in page.events.iter().rev().filter(|it| it.seq <= seq) {
            if let Event::TurnRequested { turn, .. } = &envelope.event {
                return Ok(Some(*turn));
            }
        }
        Ok(Some(TurnId(broker.session(session).await?.turns)))
    }

    /// The session that a thread belongs to: one of this process, else the newest that any process
    /// of this store has had.
    async fn session_of(
        &self,
        broker: &Broker,
        thread: &str,
    ) -> Result<Option<SessionId>, Problem> {
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let listing = broker.sessions(SessionFilter::default(), PAGE, cursor).await?;
            let found = listing.rows.iter().find(|it| {
                it.thread_id.as_deref() == Some(thread) && it.status != Status::Cancelled
            });
            if let Some(view) = found {
                return Ok(Some(view.session_id));
            }
            match listing.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        Ok(None)
    }

    fn codex_home(&self) -> Option<&PathBuf> {
        self.server.options.codex_home.as_ref()
    }

    /// Whether the client can be asked while its call is open, and may answer.
    fn shows_forms(&self) -> bool {
        let version = self.context.protocol_version();
        let takes_requests =
            version.is_some_and(|it: ProtocolVersion| it.as_str() < NO_REQUESTS_SINCE);
        let capabilities = self.context.client_capabilities();
        let declared = capabilities.is_some_and(|it| it.elicitation.is_some());
        let may = match self.server.options.answerers {
            Answerers::Caller => true,
            // A form of this shape is answered by programs as often as by people.
            Answerers::Human => false,
        };
        takes_requests && declared && may
    }
}
