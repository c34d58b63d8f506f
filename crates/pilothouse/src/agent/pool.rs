//! One agent process for many sessions: which sessions may share, and the lease each has.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use pilothouse_codex::Tag;
use pilothouse_core::{AgentError, Attach, FromAgent, Isolation, SessionId, Spec, ToAgent};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use super::{
    connection::{Connection, MAX_ORDERS, Order},
    locate::{self, Located, Places},
    mailbox::Mailbox,
    process::{Process, Spawn},
    tree::{Ladder, Marker},
};
use crate::config::AgentConfig;

/// What must be equal for two sessions to share a process. Binary, home and environment are the
/// same for all agents of one broker, so what is left is whether a session wants its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Shared,
    Own(SessionId),
}

#[derive(Debug)]
pub(crate) struct Pool {
    config: AgentConfig,
    store_name: String,
    node: String,
    state: tokio::sync::Mutex<State>,
    tags: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    located: Option<Located>,
    processes: BTreeMap<Key, mpsc::Sender<Order>>,
    pids: Arc<Mutex<BTreeMap<String, u32>>>,
    n_started: u64,
    tasks: JoinSet<()>,
    stopped: bool,
}

/// A session's hold on an agent.
#[derive(Debug)]
pub(crate) struct Lease {
    tag: Tag,
    orders: mpsc::Sender<Order>,
    pub(crate) mailbox: Arc<Mailbox>,
    detached: bool,
}

impl Lease {
    pub(crate) async fn tell(&self, message: ToAgent) {
        let order = Order::Tell { tag: self.tag, message: Box::new(message) };
        // A process that is gone says so through the mailbox.
        drop(self.orders.send(order).await);
    }

    pub(crate) async fn detach(mut self, forever: bool) {
        self.detached = true;
        drop(self.orders.send(Order::Detach { tag: self.tag, forever }).await);
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
            config,
            store_name,
            node,
            state: tokio::sync::Mutex::default(),
            tags: AtomicU64::new(1),
        }
    }

    /// Brings a thread to a session, in a process that may be new. What comes of it, and all that
    /// follows, is in the lease's mailbox.
    pub(crate) async fn attach(
        &self,
        session: SessionId,
        how: Attach,
        spec: Spec,
    ) -> Result<Lease, AgentError> {
        let key = match spec.isolation {
            Isolation::Shared => Key::Shared,
            Isolation::Process => Key::Own(session),
        };
        let tag = Tag(self.tags.fetch_add(1, Ordering::Relaxed));
        let mailbox = Arc::new(Mailbox::default());
        let mut order =
            Order::Attach { tag, how, spec: Box::new(spec), mailbox: Arc::clone(&mailbox) };
        // A process may leave between being found and being asked; a new one then serves.
        for _ in 0..2 {
            let orders = self.process(&key).await?;
            match orders.send(order).await {
                Ok(()) => return Ok(Lease { tag, orders, mailbox, detached: false }),
                Err(mpsc::error::SendError(again)) => order = again,
            }
        }
        Err(failure("APP_SERVER_START_FAILED", "its process left as soon as it had come"))
    }

    /// Asks an agent something that belongs to no session.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Value, AgentError> {
        let orders = self.process(&Key::Shared).await?;
        request(&orders, None, method, params).await
    }

    /// The process ids of the agents that run, by name.
    pub(crate) async fn pids(&self) -> BTreeMap<String, u32> {
        let pids = Arc::clone(&self.state.lock().await.pids);
        let pids = pids.lock().unwrap_or_else(PoisonError::into_inner);
        pids.clone()
    }

    /// Finds the agent's program, once.
    pub(crate) async fn locate(&self) -> Result<Located, AgentError> {
        let mut state = self.state.lock().await;
        self.located(&mut state)
    }

    fn located(&self, state: &mut State) -> Result<Located, AgentError> {
        if let Some(located) = &state.located {
            return Ok(located.clone());
        }
        let places = Places::from_env(self.config.binary.clone());
        let located = locate::locate(&places)
            .map_err(|it| failure("APP_SERVER_START_FAILED", &it.to_string()))?;
        state.located = Some(located.clone());
        Ok(located)
    }

    async fn process(&self, key: &Key) -> Result<mpsc::Sender<Order>, AgentError> {
        let mut state = self.state.lock().await;
        if state.stopped {
            return Err(failure("CANCELLED", "this Pilothouse is stopping"));
        }
        state.processes.retain(|_, it| !it.is_closed());
        while state.tasks.try_join_next().is_some() {}
        if let Some(orders) = state.processes.get(key) {
            return Ok(orders.clone());
        }
        let located = self.located(&mut state)?;
        state.n_started += 1;
        // Names of asks contain it, so it must never come again on this machine.
        let name = format!("{}-{}", self.node, state.n_started);
        let marker = Marker {
            store: self.store_name.clone(),
            node: self.node.clone(),
            process: state.n_started.to_string(),
        };
        let mut spawn = Spawn::new(located.path.clone(), marker);
        spawn.args = pilothouse_codex::app_server_args().iter().map(Into::into).collect();
        spawn.env.clone_from(&self.config.env);
        spawn.guard.clone_from(&self.config.guard);
        let process = Process::spawn(spawn).await.map_err(|it| {
            let problem = format!("could not start {}: {it}", located.path.display());
            failure("APP_SERVER_START_FAILED", &problem)
        })?;
        let (orders, inbox) = mpsc::channel(MAX_ORDERS);
        let (ladder, idle) = (self.config.ladder, self.config.idle_process);
        let pid = process.handle().agent_pid();
        state.pids.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), pid);
        let connection = Connection::new(process, name.clone(), inbox, ladder, idle);
        let pids = Arc::clone(&state.pids);
        state.tasks.spawn(async move {
            connection.run().await;
            pids.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
        });
        state.processes.insert(key.clone(), orders.clone());
        Ok(orders)
    }

    /// Ends all agents and waits until they are gone.
    pub(crate) async fn stop(&self, ladder: Ladder) {
        let mut state = self.state.lock().await;
        state.stopped = true;
        for orders in std::mem::take(&mut state.processes).into_values() {
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

/// A failure to bring an agent, with the code that surfaces show.
pub(crate) fn failure(code: &str, message: &str) -> AgentError {
    AgentError { message: message.to_owned(), detail: json!({ "code": code }) }
}

/// What a session hears when no agent could be brought.
pub(crate) fn not_ready(error: AgentError) -> FromAgent {
    FromAgent::NotReady { error }
}
