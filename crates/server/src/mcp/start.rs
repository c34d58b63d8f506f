//! `codex` and `codex_reply`: a prompt, and all that it can change.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use pilothouse::{Dialect, Error, Start};
use pilothouse_core::{
    AgentError, ApprovalPolicy, Intent, Isolation, Overrides, Patience, Prompt, Refusal, Sandbox,
    SessionView, Spec, Status, TurnStatus, WhenBusy,
};
use serde_json::{Map, Value};

use super::{
    Call, Reply,
    arguments::{Arguments, whole},
    check::Query,
    problem::{Code, Problem},
    profile,
    session::titled,
    word,
};

/// Most letters of a prompt.
const MAX_PROMPT: usize = 1024 * 1024;
/// Most pictures of a prompt.
const MAX_IMAGES: usize = 100;
/// How long an agent may take to come before the caller gets the handle without it, unless it
/// waits for longer or less.
const START_PATIENCE: Duration = Duration::from_secs(15);

pub(crate) const POLICIES: [(&str, ApprovalPolicy); 4] = [
    ("untrusted", ApprovalPolicy::Untrusted),
    ("on-failure", ApprovalPolicy::OnFailure),
    ("on-request", ApprovalPolicy::OnRequest),
    ("never", ApprovalPolicy::Never),
];
pub(crate) const SANDBOXES: [(&str, Sandbox); 3] = [
    ("read-only", Sandbox::ReadOnly),
    ("workspace-write", Sandbox::WorkspaceWrite),
    ("danger-full-access", Sandbox::DangerFullAccess),
];
/// Words that the agent takes for its manner and its summaries.
const PERSONALITIES: [(&str, &str); 3] =
    [("none", "none"), ("friendly", "friendly"), ("pragmatic", "pragmatic")];
const SUMMARIES: [(&str, &str); 4] =
    [("auto", "auto"), ("concise", "concise"), ("detailed", "detailed"), ("none", "none")];
/// Leaves the effort to the agent's own configuration.
const FROM_CONFIG: &str = "config";
/// The effort in the agent's own configuration.
const EFFORT_KEY: &str = "model_reasoning_effort";

impl Call<'_> {
    pub(crate) async fn start(&self, mut arguments: Arguments) -> Result<Reply, Problem> {
        let prompt = prompt_text(&mut arguments)?;
        let approval_policy = arguments.required_choice("approvalPolicy", &POLICIES)?;
        let sandbox = arguments.required_choice("sandbox", &SANDBOXES)?;
        let effort = arguments.text("effort")?;
        let cwd = arguments.text("cwd")?;
        let model = arguments.text("model")?;
        let profile = arguments.text("profile")?;
        let wait = self.wait(&mut arguments)?;
        let mut more = arguments.within("advanced")?;
        let patience = match more.count("approvalTimeoutMs")? {
            None => Patience::Attended,
            Some(0) => Patience::Forever,
            Some(ms) => Patience::Ms(ms),
        };
        let isolation = [("shared", Isolation::Shared), ("process", Isolation::Process)];
        let cwd = folder("cwd", cwd.as_deref(), &self.server.options.cwd)?;
        let mut config = more.object("config")?.unwrap_or_default();
        if let Some(name) = &profile {
            config = profile::laid_under(self.server.options.codex_home.as_ref(), name, config)?;
        }
        let effort = match effort {
            Some(it) if it == FROM_CONFIG => None,
            Some(it) => Some(it),
            // Whoever names a profile that says how hard to think means that.
            None if profile.is_some() && config.contains_key(EFFORT_KEY) => None,
            None => self.server.options.default_effort.clone(),
        };
        let output_schema = more.object("outputSchema")?.map(Value::Object);
        let images = more.texts("images")?.unwrap_or_default();
        let spec = Spec {
            approval_policy: Some(approval_policy),
            sandbox: Some(sandbox),
            model,
            effort,
            profile,
            summary: more.choice("summary", &SUMMARIES)?.map(str::to_owned),
            personality: more.choice("personality", &PERSONALITIES)?.map(str::to_owned),
            base_instructions: more.text("baseInstructions")?,
            developer_instructions: more.text("developerInstructions")?,
            config,
            ephemeral: more.flag("ephemeral")?.unwrap_or_default(),
            collaboration_mode: more.object("collaborationMode")?.map(Value::Object),
            isolation: more.choice("isolation", &isolation)?.unwrap_or_default(),
            answerers: self.server.options.answerers,
            patience,
            title: titled(&mut more)?,
            agentless: false,
            cwd: cwd.to_string_lossy().into_owned(),
        };
        arguments.absorb(&more);
        let wants_json = output_schema.is_some();
        let overrides = Overrides { output_schema, ..Overrides::default() };
        let prompt =
            Prompt { text: prompt, images: pictures("advanced.images", images, &cwd)?, overrides };
        let broker = self.broker().await?;
        let by = self.server.caller.clone();
        let session = broker.start(Start { spec, prompt: Some(prompt), by: by.clone() }).await?;
        self.server.readers().started(session, patience, wants_json);
        let mut warnings = arguments.warnings();
        let began = Instant::now();
        let patience = wait.map_or(START_PATIENCE, |it| it.min(START_PATIENCE));
        let ready = self.patiently(broker.wait_ready(session, patience)).await;
        let wait = wait.map(|it| it.saturating_sub(began.elapsed()));
        let view = match ready {
            Some(Ok(view)) => match failed_start(&view) {
                None => view,
                Some(why) => {
                    self.give_up(session).await;
                    return Err(
                        Problem::from(Error::Agent(why)).or_code(Code::AppServerStartFailed)
                    );
                }
            },
            Some(Err(error @ Error::Agent(_))) => {
                self.give_up(session).await;
                let problem = Problem::from(error).or_code(Code::AppServerStartFailed);
                return Err(Problem { message: complete(&problem.message), ..problem });
            }
            Some(Err(Error::TimedOut { .. })) | None => {
                warnings.push("Codex is still starting; poll with codex_check.".to_owned());
                broker.session(session).await?
            }
            Some(Err(error)) => return Err(error.into()),
        };
        if let Some(confirmed) = &view.approval_policy
            && word(&approval_policy) != *confirmed
        {
            let asked = word(&approval_policy);
            let asked = asked.as_str().unwrap_or_default();
            warnings.push(format!("approvalPolicy {asked} became {confirmed}: {WHY_MAPPED}"));
        }
        Ok(self.answer_with(&view, wait, true).await?.warn(warnings))
    }

    pub(crate) async fn reply(&self, mut arguments: Arguments) -> Result<Reply, Problem> {
        let session = Self::session_id(&mut arguments)?;
        let text = prompt_text(&mut arguments)?;
        let cwd = arguments.text("cwd")?;
        let output_schema = arguments.object("outputSchema")?.map(Value::Object);
        let wants_json = output_schema.is_some();
        let mut overrides = Overrides {
            cwd: None,
            approval_policy: arguments.choice("approvalPolicy", &POLICIES)?,
            sandbox: arguments.choice("sandbox", &SANDBOXES)?,
            model: arguments.text("model")?,
            effort: arguments.text("effort")?.filter(|it| it != FROM_CONFIG),
            summary: arguments.choice("summary", &SUMMARIES)?.map(str::to_owned),
            personality: arguments.choice("personality", &PERSONALITIES)?.map(str::to_owned),
            output_schema,
        };
        let images = arguments.texts("images")?.unwrap_or_default();
        let wait = self.wait(&mut arguments)?;
        let busy = [("steer", WhenBusy::Steer), ("queue", WhenBusy::Queue)];
        let when_busy = arguments.choice("whenBusy", &busy)?.unwrap_or_default();
        let broker = self.broker().await?;
        let view = broker.session(session).await?;
        let mut base = PathBuf::from(&view.cwd);
        if cwd.is_some() {
            base = folder("cwd", cwd.as_deref(), &base)?;
            overrides.cwd = Some(base.to_string_lossy().into_owned());
        }
        let prompt = Prompt { text, images: pictures("images", images, &base)?, overrides };
        let before = view.turns;
        let intent = Intent::Prompt { prompt, when_busy };
        broker.act(session, intent, &self.server.caller).await.map_err(|error| {
            let steers = when_busy == WhenBusy::Steer;
            no_steering(&view).filter(|_| steers && is_busy(&error)).unwrap_or_else(|| error.into())
        })?;
        let was_idle = !matches!(view.status, Status::Running | Status::WaitingApproval);
        let view = broker.session(session).await?;
        if was_idle && view.turns > before {
            self.server.readers().replied(session, before, wants_json);
        }
        Ok(self.answer_with(&view, wait, false).await?.warn(arguments.warnings()))
    }

    fn wait(&self, arguments: &mut Arguments) -> Result<Option<Duration>, Problem> {
        match arguments.any("wait") {
            None | Some(Value::Bool(false)) => Ok(None),
            Some(Value::Bool(true)) => Ok(Some(self.max_wait())),
            Some(other) => match whole(&other) {
                Some(0) => Ok(None),
                Some(ms) => Ok(Some(Duration::from_millis(ms).min(self.max_wait()))),
                None => Err(Problem::argument("wait", "must be true, false or milliseconds")),
            },
        }
    }

    /// A session that never had an agent is of no use to anyone.
    async fn give_up(&self, session: pilothouse_core::SessionId) {
        let Ok(broker) = self.broker().await else { return };
        let intent = Intent::Close { reason: "Codex could not be started".to_owned() };
        if let Err(error) = broker.act(session, intent, &self.server.caller).await {
            tracing::debug!(%session, %error, "could not close a session that never began");
        }
    }

    /// The handle, what Codex confirmed, and what the turn came to if that was waited for.
    async fn answer_with(
        &self,
        view: &SessionView,
        wait: Option<Duration>,
        with_facts: bool,
    ) -> Result<Reply, Problem> {
        let broker = self.broker().await?;
        let mut fields = Map::new();
        let mut say = |name: &str, value: Option<&String>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value.as_str().into());
            }
        };
        say("threadId", view.thread_id.as_ref());
        if with_facts {
            say("model", view.model.as_ref());
            say("approvalPolicy", view.approval_policy.as_ref());
            say("sandbox", view.sandbox.as_ref());
            say("effort", view.effort.as_ref());
            say("cwd", Some(&view.cwd));
            say("console", self.console(broker).await.as_ref());
        }
        let Some(wait) = wait else {
            let interval = self.server.readers().patience_ms(view.session_id) / 2;
            fields.insert("sessionId".to_owned(), view.session_id.to_string().into());
            fields.insert("status".to_owned(), word(&view.status));
            fields.insert("pollInterval".to_owned(), interval.into());
            let status = word(&view.status);
            let text = format!(
                "{} {}. Go on with codex_check poll.",
                view.session_id,
                status.as_str().unwrap_or_default()
            );
            return Ok(Reply { fields, text });
        };
        let mut reply = self.poll(Query::rest(view.session_id, wait)).await?;
        reply.fields.remove("events");
        // Its place in the log was not used up, so that nothing is skipped.
        reply.fields.append(&mut fields);
        Ok(reply)
    }
}

fn is_busy(error: &Error) -> bool {
    matches!(error, Error::Refused(Refusal::Busy))
}

/// Why nothing can be added to the turn of a session, if that is so.
fn no_steering(view: &SessionView) -> Option<Problem> {
    let dialect: Dialect = view.dialect.as_deref()?.split(' ').next()?.parse().ok()?;
    let version = view.agent_version.as_deref();
    if dialect.can(version).steer {
        return None;
    }
    let version = version.map(|it| format!(" {it}")).unwrap_or_default();
    let message = format!(
        "Pilothouse could not add to the turn: Codex{version}, spoken to as {dialect}, takes \
         nothing while it works; reply with whenBusy queue, or when the turn is over"
    );
    Some(Problem::new(Code::ExecNotSupported, message))
}

const WHY_MAPPED: &str = "the installed Codex has no such policy.";

/// Why a session came to nothing, if it never had an agent.
pub(crate) fn failed_start(view: &SessionView) -> Option<AgentError> {
    if view.thread_id.is_some() || view.attached {
        return None;
    }
    let turn = view.last_turn.as_ref()?;
    match turn.status {
        TurnStatus::Failed | TurnStatus::Lost => {
            let why = turn.error.clone().unwrap_or_default();
            let message = if why.message.is_empty() { "no reason was given" } else { &why.message };
            Some(AgentError { message: complete(message), ..why })
        }
        TurnStatus::Requested
        | TurnStatus::Started
        | TurnStatus::Completed
        | TurnStatus::Interrupted => None,
    }
}

/// A failed start as a sentence: what looks for Codex says what it could not do.
pub(crate) fn complete(why: &str) -> String {
    const DOING: [&str; 5] = ["find ", "start ", "read ", "use ", "understand "];
    if why.starts_with("Pilothouse could not ") {
        return why.to_owned();
    }
    if why.starts_with("could not ") {
        return format!("Pilothouse {why}");
    }
    if DOING.iter().any(|it| why.starts_with(it)) {
        return format!("Pilothouse could not {why}");
    }
    format!("Pilothouse could not start Codex: {why}")
}

pub(crate) fn prompt_text(arguments: &mut Arguments) -> Result<String, Problem> {
    let prompt = arguments.required("prompt")?;
    // Counting letters is only needed where bytes do not settle it.
    if prompt.len() > MAX_PROMPT && prompt.chars().count() > MAX_PROMPT {
        let problem =
            format!("has {} characters; the limit is {MAX_PROMPT}", prompt.chars().count());
        return Err(
            Problem::argument("prompt", problem).hint("Put it in a file and name its path.")
        );
    }
    Ok(prompt)
}

/// An existing directory, absolute.
pub(crate) fn folder(field: &str, given: Option<&str>, base: &Path) -> Result<PathBuf, Problem> {
    let path = given.map_or_else(|| base.to_owned(), |it| base.join(it));
    match fs::metadata(&path) {
        Ok(it) if it.is_dir() => Ok(fs::canonicalize(&path).unwrap_or(path)),
        Ok(_) => Err(Problem::argument(field, format!("{} is not a directory", path.display()))),
        Err(error) => Err(Problem::argument(field, format!("{}: {error}", path.display()))),
    }
}

/// Existing files, absolute; data URLs as they are.
fn pictures(field: &str, given: Vec<String>, base: &Path) -> Result<Vec<String>, Problem> {
    if given.len() > MAX_IMAGES {
        return Err(Problem::argument(field, format!("takes at most {MAX_IMAGES}")));
    }
    let each = given.into_iter().enumerate().map(|(index, it)| {
        if it.starts_with("data:") {
            return Ok(it);
        }
        let path = base.join(&it);
        let problem = match fs::metadata(&path) {
            Ok(it) if it.is_file() => return Ok(path.to_string_lossy().into_owned()),
            Ok(_) => format!("{} is not a file", path.display()),
            Err(error) => format!("{}: {error}", path.display()),
        };
        Err(Problem::argument(&format!("{field}[{index}]"), problem))
    });
    each.collect()
}
