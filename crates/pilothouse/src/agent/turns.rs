//! A session in the exec dialect: a process for each turn, and nobody in between.
//!
//! A thread has no name before its first process runs, and that one needs a prompt. So a session
//! is brought its agent with the turn that waits for it, and what tells the agent to begin that
//! turn, once it is there, comes too late to mean anything.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use pilothouse_codex::exec::{self, Reader, Stdin};
use pilothouse_core::{AgentError, FromAgent, Prompt, Spec, ToAgent, TurnId};
use serde_json::{Value, json};
use tokio::{
    fs,
    io::AsyncWriteExt,
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    connection::Order,
    launch::{Launch, Program, failure},
    lines::Line,
    mailbox::Mailbox,
    process::{Exit, Output, Process},
    tree::Ladder,
};

/// How long a process may take to say which thread it is in. It waits for the MCP servers before.
const START_LIMIT: Duration = Duration::from_mins(2);
/// How long a process with nothing left to do may take to leave by itself.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);

/// What a session has for an agent.
pub(crate) struct Turns {
    launch: Arc<Launch>,
    program: Program,
    spec: Spec,
    thread: Option<String>,
    mailbox: Arc<Mailbox>,
    orders: mpsc::Receiver<Order>,
    /// The turn whose process brought the session its agent.
    first: Option<TurnId>,
    running: Option<Running>,
    ending: JoinSet<()>,
    /// Why the session is about to lose its agent.
    leaving: Option<String>,
}

struct Running {
    name: String,
    process: Process,
    reader: Reader,
    schema: Option<PathBuf>,
    /// It is ended then.
    until: Option<Instant>,
    /// It has said which thread it is in.
    spoke: bool,
    /// Why it is not waited for any longer, if it did not.
    given_up: Option<String>,
}

enum Happening {
    Process(Option<Output>),
    Order(Option<Order>),
    Deadline,
}

impl Turns {
    pub(crate) fn new(
        launch: Arc<Launch>,
        program: Program,
        spec: Spec,
        thread: Option<String>,
        mailbox: Arc<Mailbox>,
        orders: mpsc::Receiver<Order>,
    ) -> Self {
        Self {
            launch,
            program,
            spec,
            thread,
            mailbox,
            orders,
            first: None,
            running: None,
            ending: JoinSet::new(),
            leaving: None,
        }
    }

    /// Begins with the turn that waits, and goes on until the session lets go.
    pub(crate) async fn run(mut self, turn: TurnId, prompt: Prompt) {
        self.first = Some(turn);
        self.start(&prompt).await;
        loop {
            if self.running.is_none()
                && let Some(cause) = self.leaving.take()
            {
                self.mailbox.push(FromAgent::Exited { cause, fault: None }, 0);
                return;
            }
            let deadline = self.running.as_ref().and_then(|it| it.until);
            let is_leaving = self.leaving.is_some();
            let happening = tokio::select! {
                biased;
                output = next(self.running.as_mut()) => Happening::Process(output),
                order = self.orders.recv(), if !is_leaving => Happening::Order(order),
                () = at(deadline) => Happening::Deadline,
            };
            match happening {
                Happening::Process(Some(Output::Line(line))) => self.on_line(line),
                Happening::Process(Some(Output::Exit(exit))) => self.on_exit(Some(&exit)).await,
                Happening::Process(None) => self.on_exit(None).await,
                Happening::Order(order) => self.on_order(order).await,
                Happening::Deadline => self.on_deadline(),
            }
            if self.mailbox.is_overrun() {
                self.leave("the agent outran its session", self.launch.config.ladder);
            }
        }
    }

    async fn on_order(&mut self, order: Option<Order>) {
        let ladder = self.launch.config.ladder;
        match order {
            Some(Order::Tell { tag: _, message }) => self.tell(*message).await,
            Some(Order::Request { tag: _, method, params: _, reply }) => {
                let message = format!(
                    "Pilothouse could not ask Codex for {method}: `codex exec` takes no requests; \
                     use app-server"
                );
                // Who asked may have gone meanwhile.
                drop(reply.send(Err(failure("EXEC_NOT_SUPPORTED", &message))));
            }
            Some(Order::GiveUp) => {
                if let Some(running) = self.running.as_mut().filter(|it| !it.spoke) {
                    running.reader.interrupted();
                    self.end(ladder);
                }
            }
            Some(Order::End { ladder }) => self.leave("Pilothouse is stopping", ladder),
            // Nothing comes back to a process that goes with its turn.
            Some(Order::Rejoin { .. } | Order::Part { .. }) => {}
            Some(Order::Detach { .. } | Order::Attach { .. }) | None => {
                self.leave("Pilothouse let it go", ladder);
            }
        }
    }

    async fn tell(&mut self, message: ToAgent) {
        match message {
            ToAgent::StartTurn { turn, .. } if self.first == Some(turn) => self.first = None,
            ToAgent::StartTurn { turn: _, prompt } => self.start(&prompt).await,
            ToAgent::Interrupt { turn } => {
                let Some(running) = self.running.as_mut().filter(|it| it.reader.turn() == turn)
                else {
                    return;
                };
                running.reader.interrupted();
                self.end(self.launch.config.ladder);
            }
            ToAgent::Steer { .. } => self.cannot("turn/steer", "add to a turn that is under way"),
            ToAgent::Manage(what) => {
                use pilothouse_core::Management as It;
                match what {
                    // Nothing runs on after its turn here.
                    It::CleanTerminals => {}
                    It::Compact => self.cannot("thread/compact", "shorten a thread"),
                    It::Review { .. } => self.cannot("review/start", "review beside its turns"),
                    It::Archive => self.cannot("thread/archive", "put a thread away"),
                }
            }
            // Nobody is asked anything.
            ToAgent::Answer { .. } | ToAgent::Expire { .. } => {}
        }
    }

    fn cannot(&self, method: &str, what: &str) {
        let message = format!("`codex exec` cannot {what}; use app-server");
        let body = json!({"error": {"message": message}});
        self.mailbox.push(FromAgent::Notes { method: method.to_owned(), body }, 0);
    }

    /// To a session that waits for its agent the one means something, to one that has it the other.
    fn refuse(&self, error: AgentError) {
        self.mailbox.push(FromAgent::NotReady { error: error.clone() }, 0);
        self.mailbox.push(FromAgent::TurnRefused { error }, 0);
    }

    async fn start(&mut self, prompt: &Prompt) {
        if self.running.is_some() {
            let message = "Pilothouse could not begin the turn: the one before has not ended";
            return self.refuse(failure("SESSION_BUSY", message));
        }
        match self.begin(prompt).await {
            Ok(running) => self.running = Some(running),
            Err(error) => self.refuse(error),
        }
        self.spec.override_with(&prompt.overrides);
    }

    async fn begin(&self, prompt: &Prompt) -> Result<Running, AgentError> {
        let version = self.program.version.as_deref();
        let mut invocation = exec::command(&self.spec, self.thread.as_deref(), prompt, version)
            .map_err(|it| failure("EXEC_NOT_SUPPORTED", &it.to_string()))?;
        let name = self.launch.name();
        let schema = match &invocation.output_schema {
            Some(schema) => Some(keep(schema, &name).await?),
            None => None,
        };
        if let Some(path) = &schema {
            invocation = invocation.with_schema_file(&path.to_string_lossy());
        }
        let args = invocation.args.iter().map(Into::into).collect();
        let process = match self.launch.start(&self.program, &name, args, None).await {
            Ok(process) => process,
            Err(error) => {
                discard(schema.as_deref()).await;
                return Err(error);
            }
        };
        // Whatever is not written stays unsaid, and Codex tells that it has no prompt.
        if let Stdin::Text(text) = &invocation.stdin
            && let Err(error) = process.handle().write(text.clone())
        {
            tracing::warn!(process = name, %error, "a prompt could not be written");
        }
        process.handle().close_stdin();
        let reader = Reader::new(&invocation, &name);
        let until = Some(Instant::now() + START_LIMIT);
        Ok(Running { name, process, reader, schema, until, spoke: false, given_up: None })
    }

    fn on_line(&mut self, line: Line) {
        let Some(running) = &mut self.running else { return };
        let name = &running.name;
        let text = match line {
            Line::Text { text, lossy: _ } => text,
            Line::TooLong { bytes } => {
                tracing::warn!(process = name, bytes, "skipped a line over the limit");
                return;
            }
            Line::Torn { text } => {
                tracing::warn!(process = name, bytes = text.len(), "its last line was torn");
                return;
            }
        };
        let mut n_bytes = text.len();
        for message in running.reader.line(&text) {
            if let FromAgent::Ready { thread, .. } = &message {
                running.spoke = true;
                running.until = None;
                self.thread = Some(thread.clone());
            }
            self.mailbox.push(message, std::mem::take(&mut n_bytes));
        }
        if running.reader.is_garbled() && running.given_up.is_none() {
            running.given_up = Some("it goes on".to_owned());
            self.end(self.launch.config.ladder);
            return;
        }
        if running.reader.is_over() && (running.until.is_none() || !running.spoke) {
            running.until = Some(Instant::now() + LEAVE_LIMIT);
        }
    }

    fn on_deadline(&mut self) {
        if let Some(running) = &mut self.running {
            let is_mute = !running.spoke && !running.reader.is_over();
            running.given_up = is_mute.then(|| {
                let waited = START_LIMIT.as_secs();
                format!("`codex exec` named no thread within {waited} s")
            });
        }
        self.end(self.launch.config.ladder);
    }

    fn leave(&mut self, cause: &str, ladder: Ladder) {
        self.leaving.get_or_insert_with(|| cause.to_owned());
        self.end(ladder);
    }

    fn end(&mut self, ladder: Ladder) {
        let Some(running) = self.running.as_mut().filter(|_| self.ending.is_empty()) else {
            return;
        };
        running.until = None;
        let (handle, name) = (running.process.handle().clone(), running.name.clone());
        // Its stdin is closed already; the time for that goes to the next rung.
        let (close_stdin, term) = (Duration::ZERO, ladder.close_stdin + ladder.term);
        let ladder = Ladder { close_stdin, term, ..ladder };
        self.ending.spawn(async move {
            match handle.end(ladder).await {
                Ok(ended) => tracing::debug!(process = name, rung = ?ended.rung, "agent ended"),
                Err(error) => tracing::error!(process = name, %error, "agent would not end"),
            }
        });
    }

    async fn on_exit(&mut self, exit: Option<&Exit>) {
        let Some(mut running) = self.running.take() else { return };
        while self.ending.join_next().await.is_some() {}
        self.launch.forget(&running.name).await;
        discard(running.schema.as_deref()).await;
        if let Some(cause) = &running.given_up {
            let late =
                || failure("TIMEOUT", &format!("Pilothouse could not begin the turn: {cause}"));
            return self.refuse(running.reader.unspoken(cause).unwrap_or_else(late));
        }
        let exit = exec::Exit {
            code: exit.and_then(|it| it.status).and_then(|it| it.code()),
            stderr: running.process.handle().stderr_tail().join("\n"),
        };
        for message in running.reader.exited(&exit) {
            self.mailbox.push(message, 0);
        }
    }
}

async fn next(running: Option<&mut Running>) -> Option<Output> {
    match running {
        Some(running) => running.process.next().await,
        None => std::future::pending().await,
    }
}

async fn at(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}

/// Writes a schema where Codex can read it, and nobody else.
async fn keep(schema: &Value, name: &str) -> Result<PathBuf, AgentError> {
    let path = std::env::temp_dir().join(format!("pilothouse-schema-{name}.json"));
    let write = async {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let mut file = options.open(&path).await?;
        file.write_all(schema.to_string().as_bytes()).await?;
        file.flush().await
    };
    match write.await {
        Ok(()) => Ok(path),
        Err(error) => {
            discard(Some(&path)).await;
            let message = format!("Pilothouse could not write {}: {error}", path.display());
            Err(failure("INTERNAL", &message))
        }
    }
}

async fn discard(schema: Option<&Path>) {
    if let Some(path) = schema
        && let Err(error) = fs::remove_file(path).await
    {
        tracing::debug!(%error, "a schema's file could not be removed");
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
