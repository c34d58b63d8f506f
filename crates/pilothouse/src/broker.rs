//! The front door: opens sessions, finds them, carries intents to their owner, and shows them.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pilothouse_core::{
    Actor, AgentError, AskRef, AskView, Cursor, Intent, Origin, Prompt, Refusal, Seq, Session,
    SessionId, SessionView, Settled, Settlement, Spec, Stream, TurnStatus,
};
use pilothouse_store::{
    AskFilter, Listing, LiveDelta, NodeId, NodeView, Nudge, Page, Presence, SessionFilter, Store,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::{broadcast, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{
    Config, Error,
    agent::{
        kept,
        locate::Located,
        pool::Pool,
        tree::{self, Ladder, Marker},
    },
    command::Commands,
    driver,
    feed::Feed,
    live::{Live, LiveItem},
    ownership::Owned,
    rules::PolicySource,
};

/// How long a running turn is given to end when the broker leaves.
const WIND_DOWN: Duration = Duration::from_millis(400);

/// What all parts of a broker share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) pool: Pool,
    pub(crate) policy: PolicySource,
    pub(crate) live: Live,
    pub(crate) commands: Commands,
    pub(crate) idle_session: Duration,
    /// Agents may outlive this process.
    pub(crate) keeps: bool,
    pub(crate) owned: Owned,
    pub(crate) tasks: TaskTracker,
    pub(crate) leaving: CancellationToken,
    stopped: AtomicBool,
}

impl Shared {
    /// Whether a surface is open, on any node, that shows asks to a person who may answer.
    pub(crate) async fn human_present(&self) -> bool {
        match self.store.nodes().await {
            Ok(nodes) => nodes.iter().any(|it| it.alive && it.presence.human_surfaces > 0),
            // Not knowing is no reason to let a person's answer expire.
            Err(error) => {
                tracing::warn!(%error, "could not see who is present");
                true
            }
        }
    }

    pub(crate) fn publish(&self, session: SessionId, item: String, stream: Stream, text: String) {
        let delta = LiveDelta { session_id: session, item_id: item, kind: stream, text };
        self.store.publish(delta);
    }
}

/// What a session's thread is made from: its commands can be told from other sessions'.
pub(crate) fn thread_spec(id: SessionId, spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    let name = "shell_environment_policy.set.PILOTHOUSE_SESSION".to_owned();
    spec.config.entry(name).or_insert_with(|| json!(id.to_string()));
    spec
}

/// What a new session should be.
#[derive(Debug, Clone)]
pub struct Start {
    /// What it is asked to be.
    pub spec: Spec,
    /// What its agent should do first.
    pub prompt: Option<Prompt>,
    /// Who wants it.
    pub by: Actor,
}

/// A broker: what every surface talks to. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Broker {
    pub(crate) shared: Arc<Shared>,
}

impl Broker {
    /// Opens a broker, and ends what dead brokers of the same store left running.
    pub async fn open(config: Config) -> Result<Self, Error> {
        let Config { store, store_name, program, retention, agent, policy } = config;
        let node = store.node().0.clone();
        let idle_session = agent.idle_session;
        let keep = agent.keep.clone();
        let shared = Arc::new(Shared {
            commands: Commands::new(agent.guard.clone(), store_name.clone(), node.clone()),
            pool: Pool::new(agent, store_name.clone(), node),
            policy,
            live: Live::default(),
            idle_session,
            keeps: keep.is_some(),
            owned: Owned::default(),
            tasks: TaskTracker::new(),
            leaving: CancellationToken::new(),
            stopped: AtomicBool::new(false),
            store,
        });
        let presence = Presence { program, human_surfaces: 0, console: None };
        shared.store.set_presence(presence).await?;
        let nudges = shared.store.subscribe();
        shared.tasks.spawn(crate::ownership::serve_inbox(Arc::clone(&shared), nudges));
        // As it is now: what nodes leave that die later is for others to find.
        let nodes = shared.store.nodes().await?;
        let dead = nodes.into_iter().filter(|it| !it.alive).map(|it| it.node).collect();
        // Kept agents first: what they work on is not lost.
        let (keeps, settling) = (shared.keeps, Arc::clone(&shared));
        shared.tasks.spawn(async move {
            if keeps {
                crate::ownership::take_up(Arc::clone(&settling)).await;
            }
            crate::ownership::reconcile(settling, dead).await;
        });
        let folder = keep.map(|it| it.folder);
        shared.tasks.spawn(sweep(Arc::clone(&shared), store_name, folder));
        shared.tasks.spawn(crate::upkeep::retire(Arc::clone(&shared), retention));
        Ok(Self { shared })
    }

    /// This node's name.
    pub fn node(&self) -> &str {
        &self.shared.store.node().0
    }

    /// Begins a session. It is on record when this returns; its agent may still be on its way.
    pub async fn start(&self, start: Start) -> Result<SessionId, Error> {
        let Start { spec, prompt, by } = start;
        self.shared.begin(spec, &by, None, prompt).await
    }

    /// Begins a session that is a copy of another, from where that one is now.
    pub async fn fork(&self, source: SessionId, by: &Actor) -> Result<SessionId, Error> {
        let session = self.fold(source).await?;
        let thread = session.thread().filter(|it| it.durable).map(|it| it.name.clone());
        let thread = thread.ok_or_else(|| {
            let message = "the session has had no turn yet, so there is nothing to fork".to_owned();
            let detail = json!({ "code": "THREAD_FORK_RESUME_FAILED" });
            Error::Agent(AgentError { message, detail })
        })?;
        let origin = Origin { session: source, thread };
        self.shared.begin(session.spec().clone(), by, Some(origin), None).await
    }

    /// Has something done, wherever the session's owner is. Gives the session's last event then.
    pub async fn act(&self, id: SessionId, intent: Intent, by: &Actor) -> Result<Seq, Error> {
        self.shared.act(id, intent, by).await
    }

    /// Answers an ask. Gives how it was settled, which is by this answer and no other.
    pub async fn answer(&self, ask: AskRef, said: Said, by: &Actor) -> Result<AskView, Error> {
        let Said { answer, digest, reason, note } = said;
        let intent = Intent::Answer { ask: ask.ask, answer, digest, reason, note };
        self.act(ask.session, intent, by).await?;
        let view = self.ask(ask).await?;
        // The clock may have been first, in the same moment.
        match &view.settlement {
            Some(Settlement { how: Settled::Answered { by: who, .. }, .. }) if who == by => {
                Ok(view)
            }
            settlement => {
                let settlement = settlement.clone().map(Box::new);
                Err(Refusal::AlreadySettled { settlement }.into())
            }
        }
    }

    /// One session at a glance.
    pub async fn session(&self, id: SessionId) -> Result<SessionView, Error> {
        self.shared.store.session(id).await?.ok_or(Error::NoSuchSession(id))
    }

    /// Sessions, the one that was active last first.
    pub async fn sessions(
        &self,
        filter: SessionFilter,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<Listing<SessionView>, Error> {
        Ok(self.shared.store.sessions(filter, limit, cursor).await?)
    }

    /// Asks, the newest first.
    pub async fn asks(
        &self,
        filter: AskFilter,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<Listing<AskView>, Error> {
        Ok(self.shared.store.asks(filter, limit, cursor).await?)
    }

    /// One ask.
    pub async fn ask(&self, ask: AskRef) -> Result<AskView, Error> {
        self.shared.store.ask(ask).await?.ok_or(Error::NoSuchAsk(ask))
    }

    /// Events of one session after a place.
    pub async fn events(&self, id: SessionId, after: Seq, limit: usize) -> Result<Page, Error> {
        Ok(self.shared.store.read(id, after, limit).await?)
    }

    /// The session as its log makes it.
    pub async fn fold(&self, id: SessionId) -> Result<Session, Error> {
        let session = crate::ownership::fold(&*self.shared.store, id).await?;
        if session.opening().is_none() { Err(Error::NoSuchSession(id)) } else { Ok(session) }
    }

    /// What a session's agent is saying right now, at most so many bytes of each item.
    pub fn live(&self, id: SessionId, limit: usize) -> Vec<LiveItem> {
        self.shared.live.of(id, limit)
    }

    /// All sessions' events from a place on, else from now on, and deltas as they come.
    pub async fn feed(&self, after: Option<Cursor>) -> Result<Feed, Error> {
        Feed::open(Arc::clone(&self.shared), after).await
    }

    /// Waits until the session's log has grown past a place, or for so long.
    pub async fn wait_past(
        &self,
        id: SessionId,
        seen: Seq,
        limit: Duration,
    ) -> Result<SessionView, Error> {
        self.wait_until(id, limit, |it| it.last_seq > seen).await
    }

    /// Waits until the session is as wanted, or for so long; gives it as it is then.
    pub async fn wait_until(
        &self,
        id: SessionId,
        limit: Duration,
        wanted: impl Fn(&SessionView) -> bool,
    ) -> Result<SessionView, Error> {
        // Before the first look, so that nothing falls between look and wait.
        let mut nudges = self.shared.store.subscribe();
        let over = tokio::time::sleep(limit);
        tokio::pin!(over);
        loop {
            let view = self.session(id).await?;
            if wanted(&view) {
                return Ok(view);
            }
            loop {
                let nudge = tokio::select! {
                    nudge = nudges.recv() => nudge,
                    () = &mut over => return Ok(view),
                    () = self.shared.leaving.cancelled() => return Err(Error::Stopping),
                };
                match nudge {
                    Ok(Nudge::Feed(Some(session))) if session != id => {}
                    Ok(Nudge::Feed(_)) | Err(broadcast::error::RecvError::Lagged(_)) => break,
                    Ok(
                        Nudge::Inbox
                        | Nudge::Secret(_)
                        | Nudge::Concluded(_)
                        | Nudge::Presence
                        | Nudge::Delta(_),
                    ) => {}
                    Err(broadcast::error::RecvError::Closed) => return Err(Error::Stopping),
                }
            }
        }
    }

    /// Waits until a session's agent has come, or has said why not.
    pub async fn wait_ready(&self, id: SessionId, limit: Duration) -> Result<SessionView, Error> {
        let settled = |it: &SessionView| {
            let over = it.last_turn.as_ref().is_some_and(|turn| {
                !matches!(turn.status, TurnStatus::Requested | TurnStatus::Started)
            });
            it.attached || it.agent_error.is_some() || it.cancelled_at.is_some() || over
        };
        let view = self.wait_until(id, limit, settled).await?;
        match (&view.agent_error, settled(&view)) {
            (Some(error), _) => Err(Error::Agent(error.clone())),
            (None, true) => Ok(view),
            (None, false) => {
                Err(Error::TimedOut { doing: "bringing the agent", seconds: limit.as_secs() })
            }
        }
    }

    /// Asks a session's agent something in its own words.
    pub async fn request(
        &self,
        id: SessionId,
        method: &str,
        params: Value,
    ) -> Result<Value, Error> {
        let orders = self.shared.driver(id).await?;
        let (reply, wire) = oneshot::channel();
        orders.send(driver::Order::Wire { reply }).await.map_err(|_| Error::Stopping)?;
        let wire = wire.await.map_err(|_| Error::Stopping)?.ok_or(Refusal::Detached)?;
        wire.request(method, params).await.map_err(Error::Agent)
    }

    /// Asks an agent something that belongs to no session, such as which models there are.
    pub async fn request_any(&self, method: &str, params: Value) -> Result<Value, Error> {
        self.shared.pool.request(method, params).await.map_err(Error::Agent)
    }

    /// A large text or picture that the log names by its digest.
    pub async fn blob(&self, digest: String) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.shared.store.blob(digest).await?)
    }

    /// A random key of this name that all nodes of the store share, now and later; made when it is
    /// first asked for.
    pub async fn shared_key(&self, name: &str) -> Result<[u8; 32], Error> {
        // The system's random numbers are behind these, 122 bits each.
        let (first, second) = (Uuid::new_v4(), Uuid::new_v4());
        let digest = Sha256::new().chain_update(first).chain_update(second).finalize();
        Ok(self.shared.store.key(name.to_owned(), digest.into()).await?)
    }

    /// Says what this node shows to people.
    pub async fn set_presence(&self, presence: Presence) -> Result<(), Error> {
        Ok(self.shared.store.set_presence(presence).await?)
    }

    /// Says whether deltas of other nodes' sessions should come here.
    pub async fn set_interest(&self, interested: bool) -> Result<(), Error> {
        Ok(self.shared.store.set_interest(interested).await?)
    }

    /// Who is there.
    pub async fn nodes(&self) -> Result<Vec<NodeView>, Error> {
        Ok(self.shared.store.nodes().await?)
    }

    /// The agent's program.
    pub async fn locate_agent(&self) -> Result<Located, Error> {
        self.shared.pool.locate().await.map_err(Error::Agent)
    }

    /// The process ids of this node's agents, by name.
    pub async fn agent_pids(&self) -> BTreeMap<String, u32> {
        self.shared.pool.pids().await
    }

    /// Ends everything that this broker started, with what became of it on record. Idempotent.
    pub async fn stop(&self) {
        if self.shared.stopped.swap(true, Ordering::SeqCst) {
            self.shared.tasks.wait().await;
            return;
        }
        let drivers = self.shared.owned.all();
        let winding = drivers.iter().map(|orders| async {
            let (reply, wound) = oneshot::channel();
            if orders.send(driver::Order::Wind { reply }).await.is_ok() {
                drop(wound.await);
            }
        });
        // Whoever does not end in time is lost, and the log says so.
        let winding = tokio::time::timeout(WIND_DOWN, futures_util::future::join_all(winding));
        let (_, ()) = tokio::join!(winding, self.shared.commands.stop());
        self.shared.leaving.cancel();
        self.shared.pool.stop(Ladder::BRIEF).await;
        for orders in drivers {
            let cause = "Pilothouse stopped".to_owned();
            drop(orders.send(driver::Order::Stop { cause }).await);
        }
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        if let Err(error) = self.shared.store.close().await {
            tracing::warn!(%error, "could not close the store");
        }
    }
}

/// What was said to an ask.
#[derive(Debug, Clone)]
pub struct Said {
    /// The answer.
    pub answer: pilothouse_core::Answer,
    /// The digest of what was shown.
    pub digest: Option<String>,
    /// Why, for the agent to read.
    pub reason: Option<String>,
    /// A note that stays in the log.
    pub note: Option<String>,
}

/// Ends agents whose broker is gone.
async fn sweep(shared: Arc<Shared>, store_name: String, kept: Option<PathBuf>) {
    let (store, runtime) = (Arc::clone(&shared.store), tokio::runtime::Handle::current());
    let is_alive = move |marker: &Marker| {
        if kept.as_deref().is_some_and(|it| kept::is_kept(it, marker)) {
            return true;
        }
        // Not whether it is on record: the file may be younger than the node.
        let alive = runtime.block_on(store.is_alive(NodeId(marker.node.clone())));
        alive.unwrap_or_else(|error| {
            tracing::warn!(%error, %marker, "could not see whether an agent's node lives");
            true
        })
    };
    match tokio::task::spawn_blocking(move || tree::sweep(&store_name, is_alive)).await {
        Ok(Ok(hunt)) if hunt.n_killed > 0 => {
            tracing::warn!(n = hunt.n_killed, "ended what dead nodes had left running");
        }
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::warn!(%error, "could not look for what dead nodes left"),
        Err(error) => tracing::warn!(%error, "looking for what dead nodes left failed"),
    }
}
