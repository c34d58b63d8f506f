//! Which sessions this node runs, and how intents find the node that runs theirs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use pilothouse_core::{
    Actor, Answer, Intent, Origin, Prompt, Seq, Session, SessionId, Spec, Status,
};
use pilothouse_store::{
    Claim, Conclusion, MAX_PAGE, NodeId, Nudge, Posted, SessionFilter, Store, StoreError,
};
use tokio::sync::{broadcast, mpsc, oneshot};
use uuid::Uuid;

use crate::{
    Error,
    broker::Shared,
    clock,
    driver::{Driver, End, MAX_ORDERS, Order},
};

/// How long a node that owns a session may take to do something.
const OWNER_PATIENCE: Duration = Duration::from_secs(30);
/// How long who holds a kept agent has to claim its sessions, before they are looked for again.
const HANDOVER: Duration = Duration::from_millis(500);
/// How often an intent is carried again when the session changes hands on its way.
const MAX_TRIES: u32 = 3;

/// The sessions that this node runs.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    drivers: Mutex<BTreeMap<SessionId, mpsc::Sender<Order>>>,
    /// Held while a session is claimed, so that two tasks don't claim it both.
    opening: tokio::sync::Mutex<()>,
}

impl Owned {
    fn find(&self, id: SessionId) -> Option<mpsc::Sender<Order>> {
        let drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        drivers.get(&id).filter(|it| !it.is_closed()).cloned()
    }

    pub(crate) fn all(&self) -> Vec<mpsc::Sender<Order>> {
        let drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        drivers.values().cloned().collect()
    }

    fn insert(&self, id: SessionId, orders: mpsc::Sender<Order>) {
        let mut drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        drivers.insert(id, orders);
    }

    fn remove_closed(&self, id: SessionId) {
        let mut drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        if drivers.get(&id).is_some_and(mpsc::Sender::is_closed) {
            drivers.remove(&id);
        }
    }
}

impl Shared {
    /// Begins a session that is new, on this node.
    #[expect(clippy::disallowed_methods, reason = "names are minted here and nowhere else")]
    pub(crate) async fn begin(
        self: &Arc<Self>,
        spec: Spec,
        by: &Actor,
        fork_of: Option<Origin>,
        prompt: Option<Prompt>,
    ) -> Result<SessionId, Error> {
        if self.leaving.is_cancelled() {
            return Err(Error::Stopping);
        }
        let id = SessionId(Uuid::now_v7());
        let Claim { epoch, .. } = self.store.claim(id).await?;
        let (orders, inbox) = mpsc::channel(MAX_ORDERS);
        let mut driver = Driver::new(Arc::clone(self), id, epoch, Session::default(), inbox);
        driver.begin(spec, by, fork_of, prompt).await?;
        self.run(id, driver, orders);
        Ok(id)
    }

    fn run(self: &Arc<Self>, id: SessionId, driver: Driver, orders: mpsc::Sender<Order>) {
        self.owned.insert(id, orders);
        let shared = Arc::clone(self);
        self.tasks.spawn(async move {
            match driver.run().await {
                End::Retired => tracing::debug!(session = %id, "session rests"),
                End::Lost(error) => tracing::warn!(session = %id, %error, "session given up"),
            }
            shared.owned.remove_closed(id);
        });
    }

    /// The session's driver on this node, which takes it over if nobody runs it.
    pub(crate) async fn driver(
        self: &Arc<Self>,
        id: SessionId,
    ) -> Result<mpsc::Sender<Order>, Error> {
        if let Some(orders) = self.owned.find(id) {
            return Ok(orders);
        }
        let _one_at_a_time = self.owned.opening.lock().await;
        if let Some(orders) = self.owned.find(id) {
            return Ok(orders);
        }
        if self.leaving.is_cancelled() {
            return Err(Error::Stopping);
        }
        // A claim on a name that nobody gave would make a session of it.
        if self.store.session(id).await?.is_none() {
            return Err(Error::NoSuchSession(id));
        }
        let Claim { epoch, .. } = self.store.claim(id).await?;
        self.refuse_stale(id).await?;
        let session = fold(&*self.store, id).await?;
        let (orders, inbox) = mpsc::channel(MAX_ORDERS);
        let mut driver = Driver::new(Arc::clone(self), id, epoch, session, inbox);
        let runs_here = driver.recover().await;
        if !matches!(runs_here, Ok(true)) {
            self.store.release(id, epoch).await?;
        }
        if !runs_here? {
            // Who holds its agent claims it in a moment.
            tokio::time::sleep(HANDOVER).await;
            return Err(StoreError::Held { session: id, node: self.store.node().clone() }.into());
        }
        self.run(id, driver, orders.clone());
        Ok(orders)
    }

    /// What was posted to an earlier owner may have been done by it, which then died or rested
    /// before it said so. Only answers are carried out by who comes next: they count once however
    /// often they are given.
    async fn refuse_stale(&self, id: SessionId) -> Result<(), StoreError> {
        for posted in self.store.inbox().await? {
            if posted.session == id && !matches!(posted.intent, Intent::Answer { .. }) {
                let problem = "the session changed hands before it was said what became of it; look at it, and try again".to_owned();
                self.store.conclude(posted.id, Conclusion::Failed(problem)).await?;
            }
        }
        Ok(())
    }

    /// Carries an intent to the session's owner, wherever that is.
    pub(crate) async fn act(
        self: &Arc<Self>,
        id: SessionId,
        intent: Intent,
        by: &Actor,
    ) -> Result<Seq, Error> {
        self.act_since(clock::now(), id, intent, by).await
    }

    /// The same for what was wanted earlier: an answer counts from when it was given.
    async fn act_since(
        self: &Arc<Self>,
        at: Timestamp,
        id: SessionId,
        intent: Intent,
        by: &Actor,
    ) -> Result<Seq, Error> {
        for _ in 0..MAX_TRIES {
            match self.act_here(at, id, &intent, by).await {
                Err(Error::Store(StoreError::Held { .. })) => {
                    match self.post(id, intent.clone(), by).await {
                        Err(Error::Store(StoreError::NoOwner(_))) => {}
                        result => return result,
                    }
                }
                result => return result,
            }
        }
        Err(Error::TimedOut { doing: "finding the session's owner", seconds: 0 })
    }

    /// The same, unless another node owns the session.
    async fn act_here(
        self: &Arc<Self>,
        at: Timestamp,
        id: SessionId,
        intent: &Intent,
        by: &Actor,
    ) -> Result<Seq, Error> {
        for _ in 0..MAX_TRIES {
            let orders = self.driver(id).await?;
            let (reply, done) = oneshot::channel();
            let order =
                Order::Intent { at, intent: Box::new(intent.clone()), by: by.clone(), reply };
            // It may have retired in this moment; then it is opened again.
            if orders.send(order).await.is_err() {
                continue;
            }
            if let Ok(result) = done.await {
                return result;
            }
        }
        Err(Error::TimedOut { doing: "finding the session's owner", seconds: 0 })
    }

    /// Puts an intent in the owner's inbox and waits for what becomes of it.
    #[expect(clippy::disallowed_methods, reason = "names are minted here and nowhere else")]
    async fn post(&self, id: SessionId, intent: Intent, by: &Actor) -> Result<Seq, Error> {
        let secret = self.is_secret(id, &intent).await?;
        let name = Uuid::now_v7();
        let mut nudges = self.store.subscribe();
        let posted = Posted { id: name, session: id, intent, by: by.clone(), secret };
        self.store.post(posted).await?;
        let over = tokio::time::sleep(OWNER_PATIENCE);
        tokio::pin!(over);
        loop {
            match self.store.conclusion(name).await? {
                Some(Conclusion::Done(seq)) => return Ok(seq),
                Some(Conclusion::Refused(refusal)) => return Err(refusal.into()),
                Some(Conclusion::Failed(problem)) => return Err(Error::Elsewhere(problem)),
                None => {}
            }
            loop {
                let nudge = tokio::select! {
                    nudge = nudges.recv() => nudge,
                    () = &mut over => return Err(Error::TimedOut {
                        doing: "waiting for the node that runs the session",
                        seconds: OWNER_PATIENCE.as_secs(),
                    }),
                };
                match nudge {
                    Ok(Nudge::Concluded(it)) if it != name => {}
                    Ok(Nudge::Concluded(_)) | Err(broadcast::error::RecvError::Lagged(_)) => break,
                    // An owner that died may be seen by a change of who is there.
                    Ok(Nudge::Presence) => {
                        if self.store.owner(id).await?.is_none_or(|(_, alive)| !alive) {
                            let problem = "its process ended before it had done it".to_owned();
                            return Err(Error::Elsewhere(problem));
                        }
                        break;
                    }
                    Ok(Nudge::Feed(_) | Nudge::Inbox | Nudge::Secret(_) | Nudge::Delta(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return Err(Error::Stopping),
                }
            }
        }
    }

    /// Whether an intent holds what must not be stored.
    async fn is_secret(&self, id: SessionId, intent: &Intent) -> Result<bool, Error> {
        let Intent::Answer { ask, answer: Answer::Chosen { .. }, .. } = intent else {
            return Ok(false);
        };
        let ask = pilothouse_core::AskRef { session: id, ask: *ask };
        let Some(view) = self.store.ask(ask).await? else { return Ok(false) };
        Ok(match &view.subject {
            pilothouse_core::Subject::Question { questions } => {
                questions.iter().any(|it| it.is_secret)
            }
            pilothouse_core::Subject::Command { .. }
            | pilothouse_core::Subject::FileChange { .. }
            | pilothouse_core::Subject::Permissions { .. }
            | pilothouse_core::Subject::Form { .. }
            | pilothouse_core::Subject::Url { .. }
            | pilothouse_core::Subject::Tool { .. }
            | pilothouse_core::Subject::Adoption { .. } => false,
        })
    }

    async fn conclude(self: &Arc<Self>, posted: Posted) {
        let Posted { id, session, intent, by, secret } = posted;
        let at = clock::of(id).unwrap_or_else(clock::now);
        let result = if secret {
            self.act_since(at, session, intent, &by).await
        } else {
            // The list that it was read from may be older than its conclusion, or than the end of
            // its owner: who takes a session over concludes what must not be done again.
            drop(self.driver(session).await);
            if matches!(self.store.conclusion(id).await, Ok(Some(_))) {
                return;
            }
            match self.act_here(at, session, &intent, &by).await {
                // It is in the inbox of the owner by now; to post it again would do it twice.
                Err(Error::Store(StoreError::Held { .. })) => return,
                result => result,
            }
        };
        if let Err(error) = self.store.conclude(id, conclusion(result)).await {
            tracing::warn!(%session, %error, "could not say what became of an intent");
        }
    }
}

/// What whoever posted an intent is told.
pub(crate) fn conclusion(result: Result<Seq, Error>) -> Conclusion {
    match result {
        Ok(seq) => Conclusion::Done(seq),
        Err(Error::Refused(refusal)) => Conclusion::Refused(refusal),
        Err(error) => Conclusion::Failed(error.to_string()),
    }
}

/// Carries out what other nodes want of this node's sessions, until the broker leaves.
pub(crate) async fn serve_inbox(shared: Arc<Shared>, mut nudges: broadcast::Receiver<Nudge>) {
    let under_way = Arc::new(Mutex::new(BTreeSet::<Uuid>::new()));
    // What came before this node listened.
    take_inbox(&shared, &under_way).await;
    loop {
        let nudge = tokio::select! {
            nudge = nudges.recv() => nudge,
            () = shared.leaving.cancelled() => return,
        };
        match nudge {
            Ok(Nudge::Inbox) | Err(broadcast::error::RecvError::Lagged(_)) => {
                take_inbox(&shared, &under_way).await;
            }
            Ok(Nudge::Secret(posted)) => {
                let shared = Arc::clone(&shared);
                let tasks = shared.tasks.clone();
                tasks.spawn(async move { shared.conclude(Posted::clone(&posted)).await });
            }
            Ok(Nudge::Delta(delta)) => {
                // Deltas of this node's own sessions are in its tails already.
                if shared.owned.find(delta.session_id).is_none() {
                    let delta = &*delta;
                    shared.live.add(delta.session_id, &delta.item_id, delta.kind, &delta.text);
                }
            }
            // Who held a kept agent may have gone.
            Ok(Nudge::Presence) if shared.keeps => {
                shared.tasks.spawn(take_up(Arc::clone(&shared)));
            }
            Ok(Nudge::Feed(_) | Nudge::Concluded(_) | Nudge::Presence) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

async fn take_inbox(shared: &Arc<Shared>, under_way: &Arc<Mutex<BTreeSet<Uuid>>>) {
    let inbox = match shared.store.inbox().await {
        Ok(inbox) => inbox,
        Err(error) => {
            tracing::warn!(%error, "could not read the inbox");
            return;
        }
    };
    for posted in inbox {
        let id = posted.id;
        if !under_way.lock().unwrap_or_else(PoisonError::into_inner).insert(id) {
            continue;
        }
        let (shared, under_way) = (Arc::clone(shared), Arc::clone(under_way));
        let tasks = shared.tasks.clone();
        tasks.spawn(async move {
            shared.conclude(posted).await;
            under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        });
    }
}

/// Puts on record what became of the sessions that these nodes, which are dead, left in the middle
/// of something. No agent is started for that, and what callers ask goes on waiting, here.
pub(crate) async fn reconcile(shared: Arc<Shared>, dead: BTreeSet<NodeId>) {
    if !dead.is_empty()
        && let Err(error) = run_unfinished(&shared, &dead).await
    {
        tracing::warn!(%error, "could not look for what dead nodes left unfinished");
    }
}

async fn run_unfinished(shared: &Arc<Shared>, dead: &BTreeSet<NodeId>) -> Result<(), Error> {
    let status = vec![Status::Running, Status::WaitingApproval];
    let filter = SessionFilter { status, ..SessionFilter::default() };
    let mut cursor = None;
    loop {
        let page = shared.store.sessions(filter.clone(), MAX_PAGE, cursor).await?;
        for view in page.rows {
            let id = view.session_id;
            let is_left = view.node.is_some_and(|it| dead.contains(&NodeId(it)));
            if is_left && let Err(error) = shared.driver(id).await {
                // Another node may have been first.
                tracing::debug!(session = %id, %error, "could not take an unfinished session");
            }
        }
        cursor = page.next;
        if cursor.is_none() || shared.leaving.is_cancelled() {
            return Ok(());
        }
    }
}

/// Holds the kept agents that nobody holds, and runs their sessions from now on.
pub(crate) async fn take_up(shared: Arc<Shared>) {
    let names: BTreeSet<_> = shared.pool.take_up().await.into_iter().collect();
    if names.is_empty() {
        return;
    }
    if let Err(error) = run_sessions_of(&shared, &names).await {
        tracing::warn!(%error, "could not look for the sessions of kept agents");
    }
}

async fn run_sessions_of(shared: &Arc<Shared>, names: &BTreeSet<String>) -> Result<(), Error> {
    let mut cursor = None;
    loop {
        let page = shared.store.sessions(SessionFilter::default(), MAX_PAGE, cursor).await?;
        for view in page.rows.iter().filter(|it| it.attached) {
            let id = view.session_id;
            let session = fold(&*shared.store, id).await?;
            let process = session.agent().and_then(|it| it.process.as_ref());
            if process.is_some_and(|it| names.contains(it))
                && let Err(error) = shared.driver(id).await
            {
                tracing::debug!(session = %id, %error, "could not run a kept agent's session");
            }
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

/// A session as its log makes it: the last snapshot and what came after.
pub(crate) async fn fold(store: &dyn Store, id: SessionId) -> Result<Session, Error> {
    let mut session = store.snapshot(id).await?.unwrap_or_default();
    loop {
        let page = store.read(id, session.seq(), MAX_PAGE).await?;
        for envelope in &page.events {
            session.apply(envelope);
        }
        if !page.more {
            return Ok(session);
        }
    }
}
