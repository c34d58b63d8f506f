//! One agent process for many sessions: which sessions may share, and the lease each has.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use pilothouse_codex::{Capabilities, Dialect, Missed, Tag, app_server_args, capabilities, proto};
use pilothouse_core::{AgentError, Attach, Isolation, Prompt, SessionId, Spec, ToAgent, TurnId};
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use super::{
    connection::{Connection, MAX_ORDERS, Order},
    conversation::Conversation,
    kept::{self, Found, Record},
    launch::{Launch, Program, failure},
    locate::Located,
    mailbox::Mailbox,
    process::Process,
    tree::Ladder,
    turns::Turns,
};
use crate::config::AgentConfig;

/// How long a session's last process may take to go before the next is started.
const LAST_LIMIT: Duration = Duration::from_secs(15);

/// What must be equal for two sessions to share a process. Binary, home and environment are the
/// same for all agents of one broker, so what is left is whether a session wants its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Shared,
    Own(SessionId),
}

impl Key {
    fn session(&self) -> Option<SessionId> {
        match self {
            Self::Shared => None,
            Self::Own(session) => Some(*session),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pool {
    launch: Arc<Launch>,
    state: tokio::sync::Mutex<State>,
    tags: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Who takes the orders for what runs: a process, or a session with a process a turn.
    processes: BTreeMap<Key, mpsc::Sender<Order>>,
    /// Those that outlive us, by their names; some were started by brokers that are gone.
    kept: BTreeMap<String, Kept>,
    tasks: JoinSet<()>,
    stopped: bool,
}

#[derive(Debug)]
struct Kept {
    orders: mpsc::Sender<Order>,
    /// What can be done with it.
    can: Capabilities,
}

/// Where a kept agent is that a session had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// With this broker.
    Here,
    /// With another broker.
    Elsewhere,
    /// It is gone, or there never was one.
    Gone,
}

/// A session's hold on an agent.
#[derive(Debug)]
pub(crate) struct Lease {
    tag: Tag,
    orders: mpsc::Sender<Order>,
    pub(crate) mailbox: Arc<Mailbox>,
    /// What can be done in its dialect.
    pub(crate) can: Capabilities,
    /// The turn that it was brought for and can't be parted from, and how it was brought.
    pub(crate) brought_for: Option<(TurnId, Attach)>,
    /// The agent outlives us.
    pub(crate) is_kept: bool,
    detached: bool,
}

impl Lease {
    pub(crate) async fn tell(&self, message: ToAgent) {
        let order = Order::Tell { tag: self.tag, message: Box::new(message) };
        // A process that is gone says so through the mailbox.
        drop(self.orders.send(order).await);
    }

    /// Ends the turn that was begun and has no name yet, where turns have processes.
    pub(crate) async fn give_up(&self) {
        drop(self.orders.send(Order::GiveUp).await);
    }

    pub(crate) async fn detach(mut self, forever: bool) {
        self.detached = true;
        drop(self.orders.send(Order::Detach { tag: self.tag, forever }).await);
    }

    /// Leaves a kept agent at what it does, for who comes back to it.
    pub(crate) async fn part(mut self) {
        self.detached = true;
        drop(self.orders.send(Order::Part { tag: self.tag }).await);
    }

    /// A way to ask the agent something, for others to hold.
    pub(crate) fn wire(&self) -> Wire {
        Wire { tag: self.tag, orders: self.orders.clone() }
    }
}

/// A way to ask a session's agent something in its own words.
#[derive(Debug)]
pub(crate) struct Wire {
    tag: Tag,
    orders: mpsc::Sender<Order>,
}

impl Wire {
    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Value, AgentError> {
        request(&self.orders, Some(self.tag), method, params).await
    }
}

impl Drop for Lease {
    /// A session that ends without a word must not leave its thread running.
    fn drop(&mut self) {
        if self.detached {
            return;
        }
        drop(self.orders.try_send(Order::Detach { tag: self.tag, forever: true }));
    }
}

impl Pool {
    pub(crate) fn new(config: AgentConfig, store_name: String, node: String) -> Self {
        Self {
            launch: Arc::new(Launch::new(config, store_name, node)),
            state: tokio::sync::Mutex::default(),
            tags: AtomicU64::new(1),
        }
    }

    /// Brings a thread to a session, in a process that may be new. What comes of it, and all that
    /// follows, is in the lease's mailbox. There is nothing to bring where only a turn has a
    /// process and none waits for one.
    pub(crate) async fn attach(
        &self,
        session: SessionId,
        how: Attach,
        spec: Spec,
        turn: Option<(TurnId, Prompt)>,
    ) -> Result<Option<Lease>, AgentError> {
        let program = self.launch.program().await?;
        let tag = Tag(self.tags.fetch_add(1, Ordering::Relaxed));
        let mailbox = Arc::new(Mailbox::default());
        let can = program.capabilities();
        let is_possible = match &how {
            Attach::Start => true,
            Attach::Resume { .. } => can.resume,
            Attach::Fork { .. } => can.fork,
        };
        if !is_possible {
            return Err(cannot(&program, &how));
        }
        let is_kept = self.launch.keeps(&program).is_some();
        let lease = |orders, brought_for| {
            let mailbox = Arc::clone(&mailbox);
            Lease { tag, orders, mailbox, can, brought_for, is_kept, detached: false }
        };

        match program.dialect {
            Dialect::AppServer => {
                let key = match spec.isolation {
                    Isolation::Shared => Key::Shared,
                    Isolation::Process => Key::Own(session),
                };
                let mut order = attach_order(tag, how, spec, &mailbox);
                // A process may leave between being found and being asked; a new one then serves.
                for _ in 0..2 {
                    let orders = self.app_server(&key, &program).await?;
                    match orders.send(order).await {
                        Ok(()) => return Ok(Some(lease(orders, None))),
                        Err(mpsc::error::SendError(again)) => order = again,
                    }
                }
                Err(failure("APP_SERVER_START_FAILED", "its process left as soon as it had come"))
            }
            Dialect::Proto => {
                let key = Key::Own(session);
                self.clear(&key).await?;
                let orders = self.proto(key, &program, &spec).await?;
                let order = attach_order(tag, how, spec, &mailbox);
                // One that is gone already is told like one that goes at once.
                orders.send(order).await.map_err(|_| {
                    failure("APP_SERVER_START_FAILED", "its process left as soon as it had come")
                })?;
                Ok(Some(lease(orders, None)))
            }
            Dialect::Exec => {
                let thread = match &how {
                    Attach::Resume { thread } => Some(thread.clone()),
                    Attach::Start | Attach::Fork { .. } => None,
                };
                let Some((turn, prompt)) = turn else { return Ok(None) };
                let key = Key::Own(session);
                self.clear(&key).await?;
                let mut state = self.open_state().await?;
                let (orders, inbox) = mpsc::channel(MAX_ORDERS);
                let launch = Arc::clone(&self.launch);
                let turns = Turns::new(launch, program, spec, thread, Arc::clone(&mailbox), inbox);
                state.tasks.spawn(turns.run(turn, prompt));
                state.processes.insert(key, orders.clone());
                Ok(Some(lease(orders, Some((turn, how)))))
            }
        }
    }

    /// Asks an agent something that belongs to no session.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Value, AgentError> {
        let program = self.launch.program().await?;
        match program.dialect {
            Dialect::AppServer => {
                let orders = self.app_server(&Key::Shared, &program).await?;
                request(&orders, None, method, params).await
            }
            Dialect::Exec | Dialect::Proto => {
                let dialect = program.dialect;
                let message = format!(
                    "Pilothouse could not ask Codex for {method}: `codex {dialect}` takes no                      requests; use app-server"
                );
                Err(failure("EXEC_NOT_SUPPORTED", &message))
            }
        }
    }

    /// The process ids of the agents that run, by name.
    pub(crate) async fn pids(&self) -> BTreeMap<String, u32> {
        self.launch.pids().await
    }

    /// Finds the agent's program, once.
    pub(crate) async fn locate(&self) -> Result<Located, AgentError> {
        self.launch.locate().await
    }

    async fn open_state(&self) -> Result<tokio::sync::MutexGuard<'_, State>, AgentError> {
        let mut state = self.state.lock().await;
        if state.stopped {
            return Err(failure("CANCELLED", "this Pilothouse is stopping"));
        }
        state.processes.retain(|_, it| !it.is_closed());
        state.kept.retain(|_, it| !it.orders.is_closed());
        while state.tasks.try_join_next().is_some() {}
        Ok(state)
    }

    /// Waits until what a session had before is gone: two processes may not write to one thread.
    async fn clear(&self, key: &Key) -> Result<(), AgentError> {
        let Some(last) = self.open_state().await?.processes.get(key).cloned() else {
            return Ok(());
        };
        tokio::time::timeout(LAST_LIMIT, last.closed()).await.map_err(|_| {
            let message = "Pilothouse could not start Codex: the session's last process does not \
                           end; try again later, or start a new session";
            failure("APP_SERVER_START_FAILED", message)
        })
    }

    async fn app_server(
        &self,
        key: &Key,
        program: &Program,
    ) -> Result<mpsc::Sender<Order>, AgentError> {
        let mut state = self.open_state().await?;
        if let Some(orders) = state.processes.get(key) {
            return Ok(orders.clone());
        }
        if let Some(keep) = self.launch.keeps(program) {
            let name = self.launch.name();
            let process = self.launch.start_kept(program, &name, key.session(), keep).await?;
            let orders = self.look_after(&mut state, process, &name, program.capabilities());
            state.processes.insert(key.clone(), orders.clone());
            return Ok(orders);
        }
        let args = app_server_args().iter().map(Into::into).collect();
        self.converse(&mut state, key.clone(), program, args, None).await
    }

    /// Finds the kept agent of a name, and holds it from now on if nobody does.
    pub(crate) async fn find_kept(&self, name: &str) -> Result<Whereabouts, AgentError> {
        let Some(keep) = &self.launch.config.keep else { return Ok(Whereabouts::Gone) };
        let mut state = self.open_state().await?;
        if state.kept.contains_key(name) {
            return Ok(Whereabouts::Here);
        }
        match kept::take(&keep.folder, &self.launch.store_name, name).await {
            Found::Elsewhere => Ok(Whereabouts::Elsewhere),
            Found::Gone => Ok(Whereabouts::Gone),
            Found::Held(held) => {
                let (process, record) = *held;
                let can = capabilities(Dialect::AppServer, record.version.as_deref());
                self.launch.note(name, process.handle().agent_pid()).await;
                let orders = self.look_after(&mut state, process, name, can);
                self.share(&mut state, &record, orders).await;
                tracing::info!(process = name, "came back to an agent");
                Ok(Whereabouts::Here)
            }
        }
    }

    /// Holds all kept agents that nobody holds; gives the names of those that are new here.
    pub(crate) async fn take_up(&self) -> Vec<String> {
        let Some(keep) = &self.launch.config.keep else { return vec![] };
        let mut res = Vec::new();
        for name in kept::names(&keep.folder) {
            let is_new = self.open_state().await.is_ok_and(|it| !it.kept.contains_key(&name));
            if is_new && self.find_kept(&name).await.is_ok_and(|it| it == Whereabouts::Here) {
                res.push(name);
            }
        }
        res
    }

    /// Brings a session back to its thread in a kept agent that we hold; nothing if that has gone
    /// meanwhile.
    pub(crate) async fn rejoin(&self, name: &str, missed: Missed, spec: Spec) -> Option<Lease> {
        let state = self.open_state().await.ok()?;
        let Kept { orders, can } = state.kept.get(name)?;
        let tag = Tag(self.tags.fetch_add(1, Ordering::Relaxed));
        let mailbox = Arc::new(Mailbox::default());
        let (orders, can) = (orders.clone(), *can);
        drop(state);
        let order = Order::Rejoin {
            tag,
            missed: Box::new(missed),
            spec: Box::new(spec),
            mailbox: Arc::clone(&mailbox),
        };
        orders.send(order).await.ok()?;
        Some(Lease { tag, orders, mailbox, can, brought_for: None, is_kept: true, detached: false })
    }

    /// New sessions may share it too, if we would have started it like that.
    async fn share(&self, state: &mut State, record: &Record, orders: mpsc::Sender<Order>) {
        let Ok(program) = self.launch.program().await else { return };
        if self.launch.likeness(&program) == record.likeness {
            let key = record.serves.map_or(Key::Shared, Key::Own);
            state.processes.entry(key).or_insert(orders);
        }
    }

    fn look_after(
        &self,
        state: &mut State,
        process: Process,
        name: &str,
        can: Capabilities,
    ) -> mpsc::Sender<Order> {
        let (orders, inbox) = mpsc::channel(MAX_ORDERS);
        let AgentConfig { ladder, idle_process, .. } = self.launch.config;
        let peer = Conversation::app_server(name);
        let connection =
            Connection::new(process, peer, name.to_owned(), inbox, ladder, idle_process).kept();
        let (launch, ended) = (Arc::clone(&self.launch), name.to_owned());
        state.tasks.spawn(async move {
            connection.run().await;
            launch.forget(&ended).await;
        });
        state.kept.insert(name.to_owned(), Kept { orders: orders.clone(), can });
        orders
    }

    async fn proto(
        &self,
        key: Key,
        program: &Program,
        spec: &Spec,
    ) -> Result<mpsc::Sender<Order>, AgentError> {
        let args = proto::args(spec, program.version.as_deref())
            .map_err(|it| failure("EXEC_NOT_SUPPORTED", &it.to_string()))?;
        let cwd = Some(PathBuf::from(&spec.cwd)).filter(|it| !it.as_os_str().is_empty());
        if let Some(cwd) = cwd.as_deref().filter(|it| !it.is_dir()) {
            return Err(failure("INVALID_ARGUMENT", &no_directory(cwd)));
        }
        let args = args.into_iter().map(OsString::from).collect();
        let mut state = self.open_state().await?;
        self.converse(&mut state, key, program, args, cwd).await
    }

    async fn converse(
        &self,
        state: &mut State,
        key: Key,
        program: &Program,
        args: Vec<OsString>,
        cwd: Option<PathBuf>,
    ) -> Result<mpsc::Sender<Order>, AgentError> {
        let name = self.launch.name();
        let process = self.launch.start(program, &name, args, cwd).await?;
        let peer = match program.dialect {
            Dialect::Proto => Conversation::proto(&name, program.version.clone()),
            Dialect::AppServer | Dialect::Exec => Conversation::app_server(&name),
        };
        let (orders, inbox) = mpsc::channel(MAX_ORDERS);
        let AgentConfig { ladder, idle_process, .. } = self.launch.config;
        let connection = Connection::new(process, peer, name.clone(), inbox, ladder, idle_process);
        let launch = Arc::clone(&self.launch);
        state.tasks.spawn(async move {
            connection.run().await;
            launch.forget(&name).await;
        });
        state.processes.insert(key, orders.clone());
        Ok(orders)
    }

    /// Ends all agents and waits until they are gone.
    pub(crate) async fn stop(&self, ladder: Ladder) {
        let mut state = self.state.lock().await;
        state.stopped = true;
        let kept = std::mem::take(&mut state.kept).into_values().map(|it| it.orders);
        let processes = std::mem::take(&mut state.processes).into_values();
        for orders in kept.chain(processes) {
            drop(orders.send(Order::End { ladder }).await);
        }
        while state.tasks.join_next().await.is_some() {}
    }
}

async fn request(
    orders: &mpsc::Sender<Order>,
    tag: Option<Tag>,
    method: &str,
    params: Value,
) -> Result<Value, AgentError> {
    let gone = || failure("SESSION_NOT_RUNNING", "the agent's process is gone");
    let (reply, answer) = oneshot::channel();
    let order = Order::Request { tag, method: method.to_owned(), params, reply };
    orders.send(order).await.map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

fn attach_order(tag: Tag, how: Attach, spec: Spec, mailbox: &Arc<Mailbox>) -> Order {
    Order::Attach { tag, how, spec: Box::new(spec), mailbox: Arc::clone(mailbox) }
}

/// A dialect has no way to come to a thread like that.
fn cannot(program: &Program, how: &Attach) -> AgentError {
    let what = match how {
        Attach::Start => "begin a thread",
        Attach::Resume { .. } => "take up a thread whose process is gone",
        Attach::Fork { .. } => "copy a thread",
    };
    let version = program.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let dialect = program.dialect;
    let message = format!(
        "Pilothouse could not {what}: Codex{version}, spoken to as {dialect}, has no way to; start \
         a new session, or install today's Codex"
    );
    failure("EXEC_NOT_SUPPORTED", &message)
}

fn no_directory(cwd: &Path) -> String {
    format!("Pilothouse could not start Codex in {}: it is no directory; correct it", cwd.display())
}
