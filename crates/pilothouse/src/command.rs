//! A caller's command that a person or a rule allowed: run once, with what becomes of it on record.
//!
//! That it starts is on record before it does, so whoever finds a start without an end knows that
//! it may have done anything, and never runs it again. The process that runs it need not be the one
//! that owns the session; its node stands in the log, so that all others can see whether it lives.

mod output;
mod runner;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use pilothouse_core::{
    Actor, Answer, AskRef, AskView, CommandEnd, CommandResult, Decision, Event, Intent, Refusal,
    RuleOutcome, Seq, Subject,
};
use pilothouse_store::{MAX_PAGE, NodeId, StoreError};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::runner::Program;
use crate::{
    Broker, Error, Said,
    agent::{process::GuardCommand, tree::Marker},
    broker::Shared,
    rules::Scene,
};

/// How long a command may take unless more is asked for.
pub const COMMAND_TIMEOUT: Duration = Duration::from_mins(2);
/// The longest that may be asked for.
pub const MAX_COMMAND_TIMEOUT: Duration = Duration::from_hours(1);
/// How much of what a command prints is kept, in bytes of text, of both its streams together.
pub const MAX_COMMAND_OUTPUT: usize = 64 * 1024;

/// How often a command that runs elsewhere is looked after, should its node die without a word.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long the end of a command is offered to a store that fails.
const END_PATIENCE: Duration = Duration::from_secs(30);
/// How long between two offers.
const END_RETRY: Duration = Duration::from_millis(250);
/// How long commands that still run may take to go when the broker leaves.
const LEAVE: Duration = Duration::from_millis(900);
/// Between a caller and the node that runs its command, in the name of who runs it.
const ON_NODE: &str = " on ";

/// Where bash may be. Lines are read as bash reads them, so it is bash that should run them.
const BASHES: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
/// What runs lines where there is no bash.
const SH: &str = "/bin/sh";

/// How a command is run. What is run, and where, is what the ask says.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// All of its environment, but for the mark by which Pilothouse finds what it started.
    pub env: BTreeMap<OsString, OsString>,
    /// When it is ended, with all that it started; [`MAX_COMMAND_TIMEOUT`] at most.
    pub timeout: Duration,
    /// How much of what it prints is kept; [`MAX_COMMAND_OUTPUT`] at most.
    pub max_output: usize,
    /// Ends it, with all that it started.
    pub taken_back: CancellationToken,
}

impl CommandSpec {
    /// With that environment and the usual bounds.
    pub fn new(env: BTreeMap<OsString, OsString>) -> Self {
        Self {
            env,
            timeout: COMMAND_TIMEOUT,
            max_output: MAX_COMMAND_OUTPUT,
            taken_back: CancellationToken::new(),
        }
    }
}

/// The shell that runs lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineShell {
    /// Where it is.
    pub path: PathBuf,
    /// It is bash, so that a line means to it what it means to [`shell::read`](crate::shell::read).
    pub is_bash: bool,
}

impl LineShell {
    /// Bash if it is where it usually is, else `/bin/sh`.
    pub fn find() -> Self {
        let bash = BASHES.iter().map(Path::new).find(|it| it.is_file());
        let path = bash.unwrap_or(Path::new(SH)).to_owned();
        Self { path, is_bash: bash.is_some() }
    }
}

/// The commands that this node runs.
#[derive(Debug)]
pub(crate) struct Commands {
    guard: Option<GuardCommand>,
    store_name: String,
    node: String,
    n_started: AtomicU64,
    running: Mutex<BTreeSet<AskRef>>,
    leaving: CancellationToken,
    tasks: TaskTracker,
}

/// A command's place among those that run here; one at most has it.
struct Slot {
    shared: Arc<Shared>,
    ask: AskRef,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.commands.running().remove(&self.ask);
    }
}

impl Commands {
    pub(crate) fn new(guard: Option<GuardCommand>, store_name: String, node: String) -> Self {
        Self {
            guard,
            store_name,
            node,
            n_started: AtomicU64::new(0),
            running: Mutex::default(),
            leaving: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Ends all that run, and waits until that is on record, but not for long.
    pub(crate) async fn stop(&self) {
        self.leaving.cancel();
        self.tasks.close();
        if tokio::time::timeout(LEAVE, self.tasks.wait()).await.is_err() {
            tracing::warn!("a command's end could not be recorded; it will be found lost");
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, BTreeSet<AskRef>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs(&self, ask: AskRef) -> bool {
        self.running().contains(&ask)
    }

    /// A mark that no other process on this machine has.
    fn marker(&self) -> Marker {
        let number = self.n_started.fetch_add(1, Ordering::Relaxed) + 1;
        Marker {
            store: self.store_name.clone(),
            node: self.node.clone(),
            process: format!("command-{number}"),
        }
    }

    /// Who a command is run by: the log says on which node, so that all can see whether it lives.
    fn runner(&self, by: &Actor) -> Actor {
        let who = match by {
            Actor::Caller { id } => id,
            Actor::Human { via, verified: _ } => via,
            Actor::Policy { rule } => rule,
            Actor::Clock | Actor::Agent | Actor::Node => "pilothouse",
        };
        Actor::Caller { id: format!("{who}{ON_NODE}{}", self.node) }
    }
}

/// The node in the name of who runs a command.
fn node_of(runner: &Actor) -> Option<&str> {
    match runner {
        Actor::Caller { id } => id.rsplit_once(ON_NODE).map(|(_, node)| node),
        Actor::Human { .. } | Actor::Policy { .. } | Actor::Clock | Actor::Agent | Actor::Node => {
            None
        }
    }
}

/// What the log says of a command.
#[derive(Debug, Default)]
struct Trace {
    /// Up to where it was read.
    after: Seq,
    started_by: Option<Actor>,
    result: Option<CommandResult>,
}

impl Broker {
    /// Answers a caller's command with yes in the name of a rule that is not among those of the
    /// settings, unless one of those wants a person to be asked. Gives the ask as it is then.
    pub async fn allow_command(&self, ask: AskRef, rule: &str) -> Result<AskView, Error> {
        let session = self.fold(ask.session).await?;
        let Some(pending) = session.asks().get(&ask.ask) else { return self.ask(ask).await };
        let workspace = Some(session.spec().cwd.as_str());
        let policy = self.shared.policy.at(&Scene { session: Some(ask.session), workspace });
        let weighed = policy.weigh(pending);
        let wants_person =
            weighed.iter().flat_map(|it| &it.rules).any(|it| it.outcome == RuleOutcome::Ask);
        if !wants_person {
            let answer = Answer::plain(Decision::Accept);
            let digest = Some(pending.digest.clone());
            let said = Said { answer, digest, reason: None, note: None };
            match self.answer(ask, said, &Actor::Policy { rule: rule.to_owned() }).await {
                Ok(view) => return Ok(view),
                // Somebody was faster; the ask says what they said.
                Err(Error::Refused(Refusal::AlreadySettled { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        self.ask(ask).await
    }

    /// Runs a caller's command that was allowed, and gives what became of it. It runs once, however
    /// often and wherever this is called: whoever comes later gets what came of the first run, when
    /// it is over, and a run whose process is gone is lost. One that is not allowed is refused, and
    /// so is one that was allowed too long ago.
    ///
    /// Dropping the future does not end the command; `taken_back` does.
    pub async fn run_command(
        &self,
        ask: AskRef,
        spec: CommandSpec,
        by: &Actor,
    ) -> Result<CommandResult, Error> {
        let view = self.ask(ask).await?;
        let program = program_of(&view).ok_or(Refusal::NotAccepted)?;
        let mut trace = Trace::default();
        loop {
            // Before the log: what ended meanwhile is in it by then.
            let ran_here = self.shared.commands.runs(ask);
            let seen = self.session(ask.session).await?.last_seq;
            self.read_on(ask, &mut trace).await?;
            if let Some(result) = trace.result {
                return Ok(result);
            }
            match &trace.started_by {
                None if !ran_here => {
                    if let Some(result) = self.run_here(ask, &program, &spec, by).await? {
                        return Ok(result);
                    }
                }
                Some(runner) if !ran_here && self.is_gone(ask, runner).await? => {
                    self.give_up_command(ask).await?;
                }
                None | Some(_) => {
                    self.wait_past(ask.session, seen, LOOK_AGAIN).await?;
                }
            }
        }
    }

    /// Reads what the log says of a command since it was last read.
    async fn read_on(&self, ask: AskRef, trace: &mut Trace) -> Result<(), Error> {
        loop {
            let page = self.events(ask.session, trace.after, MAX_PAGE).await?;
            for envelope in page.events {
                trace.after = envelope.seq;
                if let Event::CommandStarted { ask: which, by } = envelope.event {
                    if which == ask.ask {
                        trace.started_by = Some(by);
                    }
                } else if let Event::CommandEnded { ask: which, result } = envelope.event
                    && which == ask.ask
                {
                    trace.result = Some(result);
                }
            }
            if !page.more {
                return Ok(());
            }
        }
    }

    /// Whether nobody runs the command any more, as far as can be seen.
    async fn is_gone(&self, ask: AskRef, runner: &Actor) -> Result<bool, Error> {
        let commands = &self.shared.commands;
        match node_of(runner) {
            Some(node) if node == commands.node => Ok(!commands.runs(ask)),
            Some(node) => Ok(!self.shared.store.is_alive(NodeId(node.to_owned())).await?),
            None => Ok(false),
        }
    }

    /// Says that a command's runner is gone, unless its end came on record after all.
    async fn give_up_command(&self, ask: AskRef) -> Result<(), Error> {
        let result = Box::new(without_output(CommandEnd::Lost));
        let intent = Intent::EndCommand { ask: ask.ask, result };
        match self.act(ask.session, intent, &Actor::Node).await {
            Ok(_) | Err(Error::Refused(Refusal::NotRunning)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Starts it here and waits for its end; nothing if somebody else was faster.
    async fn run_here(
        &self,
        ask: AskRef,
        program: &Program,
        spec: &CommandSpec,
        by: &Actor,
    ) -> Result<Option<CommandResult>, Error> {
        let commands = &self.shared.commands;
        if commands.leaving.is_cancelled() {
            return Err(Error::Stopping);
        }
        if !commands.running().insert(ask) {
            return Ok(None);
        }
        let slot = Slot { shared: Arc::clone(&self.shared), ask };
        let (broker, program, spec) = (self.clone(), program.clone(), spec.clone());
        let runner = commands.runner(by);
        let (reply, done) = oneshot::channel();
        // A task of its own: whoever waits may stop waiting, and its end must be recorded.
        commands.tasks.spawn(async move {
            let result = broker.start_and_end(ask, &program, &spec, &runner).await;
            drop(slot);
            drop(reply.send(result));
        });
        done.await.unwrap_or(Err(Error::Stopping))
    }

    async fn start_and_end(
        &self,
        ask: AskRef,
        program: &Program,
        spec: &CommandSpec,
        runner: &Actor,
    ) -> Result<Option<CommandResult>, Error> {
        match self.act(ask.session, Intent::StartCommand { ask: ask.ask }, runner).await {
            Ok(_) => {}
            Err(Error::Refused(Refusal::StartedAlready)) => return Ok(None),
            // It may be on record all the same; then it is found without a runner, and lost.
            Err(error) => return Err(error),
        }
        let commands = &self.shared.commands;
        let result =
            program.run(spec, commands.marker(), commands.guard.clone(), &commands.leaving).await;
        self.record_end(ask, &result, runner).await;
        Ok(Some(result))
    }

    /// Puts the end on record, as long as the store has any hope.
    async fn record_end(&self, ask: AskRef, result: &CommandResult, runner: &Actor) {
        let give_up = Instant::now() + END_PATIENCE;
        loop {
            let intent = Intent::EndCommand { ask: ask.ask, result: Box::new(result.clone()) };
            match self.act(ask.session, intent, runner).await {
                Ok(_) => return,
                // Somebody took this node for dead, or the session's last owner died.
                Err(Error::Refused(refusal)) => {
                    tracing::warn!(%ask, %refusal, "a command's end is not on record");
                    return;
                }
                Err(error) => {
                    let over = Instant::now() >= give_up
                        || matches!(error, Error::Stopping | Error::Store(StoreError::Shut));
                    tracing::warn!(%ask, %error, over, "a command's end could not be recorded");
                    if over {
                        return;
                    }
                    tokio::time::sleep(END_RETRY).await;
                }
            }
        }
    }
}

/// What an ask lets a caller run; nothing if it is no caller's, or about no command.
fn program_of(view: &AskView) -> Option<Program> {
    let Subject::Command { command, argv, cwd, write_stdin: false, host: None } = &view.subject
    else {
        return None;
    };
    view.asked_by.is_some().then(|| Program::new(command, argv, Path::new(cwd)))
}

fn without_output(end: CommandEnd) -> CommandResult {
    CommandResult { end, stdout: String::new(), stderr: String::new(), truncated: false }
}
