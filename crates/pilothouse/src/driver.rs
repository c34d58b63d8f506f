//! The loop that owns one session: everything that can happen to it, in one enum.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use pilothouse_core::{
    Actor, Ask, Attach, Effect, Envelope, Event, FromAgent, Intent, Moment, Outcome, Policy,
    Progress, Prompt, Seq, Session, SessionId, Spec, Step, ToAgent, WhenBusy,
};
use pilothouse_store::{Append, Epoch, StoreError};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use crate::{
    Error,
    agent::pool::{Lease, Whereabouts, Wire},
    broker::{Shared, thread_spec},
    clock,
    ownership::conclusion,
    rejoin,
    rules::Scene,
    spill,
};

/// Orders that may wait for a session; those who send are tasks of ours and wait for room.
pub(crate) const MAX_ORDERS: usize = 64;
/// Messages of an agent that are put on record together.
const MAX_BATCH: usize = 256;
/// Events between two snapshots.
const SNAPSHOT_EVERY: u64 = 1_000;
/// How long facts of an agent are offered to a store that fails, before the agent is let go.
const STORE_PATIENCE: Duration = Duration::from_secs(30);
/// How long between two offers.
const STORE_RETRY: Duration = Duration::from_millis(250);
/// How long a session without an agent stays with its node, for those who come back at once.
const RETIRE_AFTER: Duration = Duration::from_secs(5);
/// Why a session has no agent where only a turn has a process.
const NO_TURN: &str = "`codex exec` runs for a turn only; the next prompt begins one";

/// What the broker wants of a session.
#[derive(Debug)]
pub(crate) enum Order {
    /// Somebody wants something done, and has wanted it since then.
    Intent {
        at: Timestamp,
        intent: Box<Intent>,
        by: Actor,
        reply: oneshot::Sender<Result<Seq, Error>>,
    },
    /// Give a way to ask the agent something in its own words.
    Wire { reply: oneshot::Sender<Option<Wire>> },
    /// The broker is leaving: interrupt what runs, so that the agent can say how it ended.
    Wind { reply: oneshot::Sender<()> },
    /// The broker has let all agents go.
    Stop { cause: String },
}

/// How a driver ended.
#[derive(Debug)]
pub(crate) enum End {
    /// Nothing was left to do.
    Retired,
    /// The store would not have it.
    Lost(StoreError),
}

pub(crate) struct Driver {
    shared: Arc<Shared>,
    id: SessionId,
    epoch: Epoch,
    session: Session,
    lease: Option<Lease>,
    orders: mpsc::Receiver<Order>,
    since_snapshot: u64,
    idle_since: Instant,
    winding: Vec<oneshot::Sender<()>>,
    /// The session is on its way back to the agent that it had.
    rejoins: bool,
}

enum Happening {
    Agent(Vec<FromAgent>),
    Order(Option<Order>),
    Deadline,
    Idle,
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        id: SessionId,
        epoch: Epoch,
        session: Session,
        orders: mpsc::Receiver<Order>,
    ) -> Self {
        Self {
            shared,
            id,
            epoch,
            session,
            lease: None,
            orders,
            since_snapshot: 0,
            idle_since: Instant::now(),
            winding: vec![],
            rejoins: false,
        }
    }

    /// Puts the beginning of a new session on record, and begins it.
    pub(crate) async fn begin(
        &mut self,
        spec: Spec,
        by: &Actor,
        fork_of: Option<pilothouse_core::Origin>,
        prompt: Option<Prompt>,
    ) -> Result<Seq, Error> {
        let step = Session::open(spec, by, fork_of, prompt);
        self.carry_out(step).await?;
        Ok(self.session.seq())
    }

    /// Brings the session back to the agent that it had, if that was kept. Gives where it is.
    async fn rejoin(&mut self) -> Result<Whereabouts, Error> {
        let agent = self.session.agent().and_then(|it| it.process.clone());
        let Some(process) = agent else { return Ok(Whereabouts::Gone) };
        let found = self.shared.pool.find_kept(&process).await.map_err(Error::Agent)?;
        if found != Whereabouts::Here {
            return Ok(found);
        }
        let missed = rejoin::missed(&*self.shared.store, self.id, &self.session).await?;
        let Some(missed) = missed else { return Ok(Whereabouts::Gone) };
        // Before anything is told to the agent: if this fails, it is left as it is.
        self.carry_out(self.session.on_rejoin()).await?;
        let spec = thread_spec(self.id, self.session.spec());
        self.lease = self.shared.pool.rejoin(&process, missed, spec).await;
        self.rejoins = self.lease.is_some();
        Ok(if self.rejoins { Whereabouts::Here } else { Whereabouts::Gone })
    }

    /// Puts on record what became of a session whose node is gone, unless its agent is still there.
    /// Gives whether it may be run here: another node may hold its agent.
    pub(crate) async fn recover(&mut self) -> Result<bool, Error> {
        match self.rejoin().await? {
            Whereabouts::Here => return Ok(true),
            Whereabouts::Elsewhere => return Ok(false),
            Whereabouts::Gone => {}
        }
        let unfinished = self.session.agent().is_some()
            || self.session.is_attaching()
            || self.session.turn().is_some()
            || self.session.runs_command()
            || !self.session.asks().is_empty();
        if unfinished {
            let cause = "the Pilothouse that ran it is gone".to_owned();
            let step = self.decide(FromAgent::Exited { cause, fault: None }, false);
            self.carry_out(step).await?;
        }
        Ok(true)
    }

    /// Leaves a kept agent that is at work, for who comes back. Gives whether it did.
    async fn part(&mut self) -> Result<bool, StoreError> {
        let Some(lease) = self.lease.as_ref().filter(|it| it.is_kept) else { return Ok(false) };
        let last = lease.mailbox.take_now();
        self.on_agent(last).await?;
        let session = &self.session;
        let waits = session.turn().is_some() || session.asks().values().any(Ask::is_of_agent);
        if !waits || session.agent().is_none() {
            return Ok(false);
        }
        if let Some(lease) = self.lease.take() {
            lease.part().await;
        }
        Ok(true)
    }

    /// Runs until nothing is left to do or the store takes the session away.
    pub(crate) async fn run(mut self) -> End {
        loop {
            let deadline = self.session.next_deadline();
            let idle = self.idle_limit().map(|it| self.idle_since + it);
            let happening = tokio::select! {
                biased;
                order = self.orders.recv() => Happening::Order(order),
                messages = said(self.lease.as_ref()) => Happening::Agent(messages),
                () = clock::at(deadline) => Happening::Deadline,
                () = until(idle) => Happening::Idle,
            };
            let done = match happening {
                Happening::Agent(messages) => self.on_agent(messages).await.map(|()| false),
                Happening::Order(order) => self.on_order(order).await,
                Happening::Deadline => self.on_deadline().await.map(|()| false),
                Happening::Idle if self.session.agent().is_some() => {
                    let released = self.intend(Intent::Release, &Actor::Node).await;
                    self.idle_since = Instant::now();
                    match released {
                        Err(Error::Store(error)) => Err(error),
                        Ok(_) | Err(_) => Ok(false),
                    }
                }
                Happening::Idle => Ok(true),
            };
            match done {
                Ok(false) => {}
                Ok(true) => {
                    self.let_go(true).await;
                    let released = self.shared.store.release(self.id, self.epoch).await;
                    return released.map_or_else(End::Lost, |()| End::Retired);
                }
                Err(error) => {
                    // It can't record, so it may not act: its agent goes first.
                    self.let_go(true).await;
                    tracing::error!(session = %self.id, %error, "session stopped");
                    return End::Lost(error);
                }
            }
            if self.session.turn().is_none() {
                for wound in self.winding.drain(..) {
                    wound.send(()).ok();
                }
            }
        }
    }

    /// How long the session may rest as it is.
    fn idle_limit(&self) -> Option<Duration> {
        let session = &self.session;
        let waits = session.turn().is_some() || !session.asks().is_empty();
        if waits || session.is_attaching() || session.runs_command() {
            return None;
        }
        // A thread that can't be taken up again is lost with its agent.
        if self.lease.as_ref().is_some_and(|it| !it.can.resume) && session.agent().is_some() {
            return None;
        }
        if session.agent().is_some() { Some(self.shared.idle_session) } else { Some(RETIRE_AFTER) }
    }

    async fn on_order(&mut self, order: Option<Order>) -> Result<bool, StoreError> {
        self.idle_since = Instant::now();
        match order {
            Some(Order::Intent { at, intent, by, reply }) => {
                let result = self.intend_at(at, *intent, &by).await;
                let fenced = matches!(&result, Err(Error::Store(StoreError::Fenced(_))));
                drop(reply.send(result));
                if fenced { Err(StoreError::Fenced(self.id)) } else { Ok(false) }
            }
            Some(Order::Wire { reply }) => {
                drop(reply.send(self.lease.as_ref().map(Lease::wire)));
                Ok(false)
            }
            Some(Order::Wind { reply }) => {
                if self.part().await? {
                    reply.send(()).ok();
                    return Ok(true);
                }
                if self.session.turn().is_some() {
                    self.winding.push(reply);
                    match self.intend(Intent::Interrupt, &Actor::Node).await {
                        Err(Error::Store(error)) => Err(error),
                        Ok(_) | Err(_) => Ok(false),
                    }
                } else {
                    reply.send(()).ok();
                    Ok(false)
                }
            }
            Some(Order::Stop { cause }) => {
                // What the agent still said before it went comes first.
                if let Some(lease) = &self.lease {
                    let last = lease.mailbox.take_now();
                    self.on_agent(last).await?;
                }
                let step = self.decide(FromAgent::Exited { cause, fault: None }, false);
                self.insist(step).await?;
                Ok(true)
            }
            None => Ok(true),
        }
    }

    /// An answer that was posted in time beats the clock, even if it was heard too late because
    /// this process did not run: it was stopped, or its machine slept.
    async fn on_deadline(&mut self) -> Result<(), StoreError> {
        for posted in self.shared.store.inbox().await? {
            let Intent::Answer { ask, .. } = &posted.intent else { continue };
            let Some(ask) = self.session.asks().get(ask) else { continue };
            let (Some(at), Some(limit)) = (clock::of(posted.id), ask.expires_at) else { continue };
            if posted.session == self.id && at < limit {
                let result = self.intend_at(at, posted.intent, &posted.by).await;
                self.shared.store.conclude(posted.id, conclusion(result)).await?;
            }
        }
        let step = self.session.on_tick(clock::now());
        self.insist(step).await
    }

    async fn intend(&mut self, intent: Intent, by: &Actor) -> Result<Seq, Error> {
        self.intend_at(clock::now(), intent, by).await
    }

    async fn intend_at(
        &mut self,
        now: Timestamp,
        mut intent: Intent,
        by: &Actor,
    ) -> Result<Seq, Error> {
        // What would be added to the turn must not vanish where nothing can be added.
        if let Intent::Prompt { when_busy: busy @ WhenBusy::Steer, .. } = &mut intent
            && self.lease.as_ref().is_some_and(|it| !it.can.steer)
        {
            *busy = WhenBusy::Refuse;
        }
        let raises = matches!(&intent, Intent::Adopt { .. } | Intent::Ask { .. });
        let human_present = raises && self.shared.human_present().await;
        let policy = self.policy(raises);
        let moment = Moment { now, human_present, policy: &policy };
        let step = self.session.on_intent(&moment, intent, by)?;
        self.carry_out(step).await?;
        self.give_up_unwanted().await?;
        Ok(self.session.seq())
    }

    async fn on_agent(&mut self, messages: Vec<FromAgent>) -> Result<(), StoreError> {
        let asks =
            messages.iter().any(|it| matches!(it, FromAgent::Asks(_) | FromAgent::AsksAgain(_)));
        let human_present = asks && self.shared.human_present().await;
        let (mut events, mut effects) = (vec![], vec![]);
        for message in messages {
            let message = self.in_this_light(message);
            match message {
                FromAgent::Delta { item, stream, text } => {
                    // Nobody may hear of an item before it began.
                    if events.iter().any(|it| begins(it, &item)) {
                        self.append_patiently(std::mem::take(&mut events)).await?;
                    }
                    self.shared.live.add(self.id, &item, stream, &text);
                    self.shared.publish(self.id, item, stream, text);
                }
                FromAgent::ItemStarted { .. }
                | FromAgent::ItemCompleted { .. }
                | FromAgent::Notes { .. }
                | FromAgent::Ready { .. }
                | FromAgent::NotReady { .. }
                | FromAgent::TurnStarted { .. }
                | FromAgent::TurnRefused { .. }
                | FromAgent::Asks(_)
                | FromAgent::AsksAgain(_)
                | FromAgent::Settles { .. }
                | FromAgent::TurnEnded { .. }
                | FromAgent::Refused { .. }
                | FromAgent::Exited { .. } => {
                    let gone = matches!(&message, FromAgent::Exited { .. });
                    let message = spill::spill(&*self.shared.store, message).await;
                    let message = self.without_strange_echo(message).await;
                    let step = self.decide(message, human_present);
                    // The next message is decided on what this one will have changed. If the store
                    // refuses all of them the session goes, so nothing is ahead of the log for long.
                    for event in step.record {
                        events.push(self.take_note(event));
                    }
                    effects.extend(step.then);
                    if gone {
                        self.lease = None;
                    }
                }
            }
        }
        self.idle_since = Instant::now();
        self.append_patiently(events).await?;
        self.perform(effects).await
    }

    /// A session that came back has lost its agent if it can't have its thread.
    fn in_this_light(&mut self, message: FromAgent) -> FromAgent {
        if !self.rejoins {
            return message;
        }
        if let FromAgent::NotReady { error } = message {
            self.rejoins = false;
            let cause = format!("the kept agent no longer has the thread: {}", error.message);
            return FromAgent::Exited { cause, fault: None };
        }
        self.rejoins = !matches!(&message, FromAgent::Ready { .. });
        message
    }

    /// Whoever names an ask that this store does not have is no tool of ours.
    async fn without_strange_echo(&self, mut message: FromAgent) -> FromAgent {
        if let FromAgent::Asks(request) | FromAgent::AsksAgain(request) = &mut message
            && let Some(ask) = request.echo_of
        {
            let known = self.shared.store.ask(ask).await;
            let asked_by_caller = known.is_ok_and(|it| it.is_some_and(|it| it.asked_by.is_some()));
            if !asked_by_caller {
                request.echo_of = None;
            }
        }
        message
    }

    fn decide(&self, message: FromAgent, human_present: bool) -> Step {
        let policy = self.policy(matches!(&message, FromAgent::Asks(_) | FromAgent::AsksAgain(_)));
        let moment = Moment { now: clock::now(), human_present, policy: &policy };
        self.session.on_agent(&moment, message)
    }

    /// The rules that hold now, if something is asked.
    fn policy(&self, asks: bool) -> Arc<Policy> {
        if !asks {
            return Arc::default();
        }
        let said = self.session.agent().and_then(|it| it.cwd.as_deref());
        let workspace = said.unwrap_or(&self.session.spec().cwd);
        self.shared.policy.at(&Scene { session: Some(self.id), workspace: Some(workspace) })
    }

    fn take_note(&mut self, event: Event) -> Envelope {
        let envelope = Envelope { seq: self.session.seq().next(), at: clock::now(), event };
        self.session.apply(&envelope);
        envelope
    }

    /// Records a step all or nothing, then performs it. On failure the session is as before.
    async fn carry_out(&mut self, step: Step) -> Result<(), Error> {
        let before = (!step.record.is_empty()).then(|| self.session.clone());
        let events = step.record.into_iter().map(|it| self.take_note(it)).collect::<Vec<_>>();
        if let Err(error) = self.append(&events).await {
            if let Some(before) = before {
                self.session = before;
            }
            return Err(error.into());
        }
        self.perform(step.then).await?;
        Ok(())
    }

    /// Records what cannot be refused, as long as the store has any hope.
    async fn insist(&mut self, step: Step) -> Result<(), StoreError> {
        let events = step.record.into_iter().map(|it| self.take_note(it)).collect();
        self.append_patiently(events).await?;
        self.perform(step.then).await
    }

    async fn append_patiently(&mut self, events: Vec<Envelope>) -> Result<(), StoreError> {
        let give_up = Instant::now() + STORE_PATIENCE;
        loop {
            match self.append(&events).await {
                Ok(()) => return Ok(()),
                Err(
                    error @ (StoreError::Fenced(_)
                    | StoreError::OutOfOrder { .. }
                    | StoreError::Shut),
                ) => return Err(error),
                Err(error) if Instant::now() >= give_up => return Err(error),
                Err(error) => {
                    tracing::warn!(session = %self.id, %error, "the store failed; trying again");
                    tokio::time::sleep(STORE_RETRY).await;
                }
            }
        }
    }

    async fn append(&mut self, events: &[Envelope]) -> Result<(), StoreError> {
        let Some(first) = events.first() else { return Ok(()) };
        let Some(view) = self.session.view(self.id) else { return Ok(()) };
        let due = self.since_snapshot + events.len() as u64 >= SNAPSHOT_EVERY;
        let append = Append {
            session: self.id,
            epoch: self.epoch,
            expected: Seq(first.seq.0 - 1),
            events: events.to_vec(),
            view,
            snapshot: due.then(|| Box::new(self.session.clone())),
        };
        self.shared.store.append(append).await?;
        self.since_snapshot = if due { 0 } else { self.since_snapshot + events.len() as u64 };
        for envelope in events {
            self.shared.live.take_note(self.id, &envelope.event);
            log(self.id, &envelope.event);
        }
        Ok(())
    }

    async fn perform(&mut self, effects: Vec<Effect>) -> Result<(), StoreError> {
        for effect in effects {
            match effect {
                Effect::Tell(message) => self.tell(message).await,
                Effect::Detach => {
                    let forever = self.session.closing().is_some();
                    self.let_go(forever).await;
                }
                Effect::Attach(how) => self.bring(how).await?,
            }
        }
        Ok(())
    }

    async fn bring(&mut self, how: Attach) -> Result<(), StoreError> {
        self.let_go(true).await;
        let spec = thread_spec(self.id, self.session.spec());
        let turn = self.session.turn().map(|it| (it.id, it.prompt.clone()));
        let message = match self.shared.pool.attach(self.id, how, spec, turn).await {
            Ok(Some(lease)) => {
                self.lease = Some(lease);
                return Ok(());
            }
            Ok(None) => FromAgent::Exited { cause: NO_TURN.to_owned(), fault: None },
            Err(error) => FromAgent::NotReady { error },
        };
        let step = self.decide(message, false);
        let events = step.record.into_iter().map(|it| self.take_note(it)).collect();
        self.append_patiently(events).await
    }

    /// Where a turn has a process of its own, one that has not said which turn it is in can't be
    /// told to stop by that turn's name. While it brings the agent it is of no use to another
    /// turn, or to none, for it is at work on its own.
    async fn give_up_unwanted(&mut self) -> Result<(), StoreError> {
        let brought_for = self.lease.as_ref().and_then(|it| it.brought_for.clone());
        let Some((brought_for, how)) = brought_for else { return Ok(()) };
        let turn = self.session.turn();
        if self.session.is_attaching() {
            if turn.is_none_or(|it| it.id != brought_for) {
                self.bring(how).await?;
            }
        } else if turn.is_some_and(|it| it.interrupted && it.progress == Progress::Told)
            && let Some(lease) = &self.lease
        {
            lease.give_up().await;
        }
        Ok(())
    }

    async fn tell(&self, message: ToAgent) {
        if let Some(lease) = &self.lease {
            lease.tell(message).await;
        } else {
            tracing::debug!(session = %self.id, "nobody is there to be told");
        }
    }

    async fn let_go(&mut self, forever: bool) {
        if let Some(lease) = self.lease.take() {
            lease.detach(forever).await;
        }
    }
}

fn begins(envelope: &Envelope, item: &str) -> bool {
    matches!(&envelope.event, Event::ItemStarted { item: it, .. } if it == item)
}

async fn said(lease: Option<&Lease>) -> Vec<FromAgent> {
    match lease {
        Some(lease) => lease.mailbox.take(MAX_BATCH).await,
        None => std::future::pending().await,
    }
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}

fn log(id: SessionId, event: &Event) {
    match event {
        Event::Attached { thread, .. } => tracing::info!(session = %id, thread, "agent attached"),
        Event::TurnEnded { turn, outcome: Outcome::Lost { cause, .. }, .. } => {
            tracing::warn!(session = %id, turn = turn.0, cause, "turn lost");
        }
        Event::TurnEnded { turn, .. } => tracing::info!(session = %id, turn = turn.0, "turn ended"),
        Event::AskRaised { ask } => tracing::info!(session = %id, ask = ask.id.0, "ask raised"),
        Event::AskSettled { ask, .. } => tracing::info!(session = %id, ask = ask.0, "ask settled"),
        Event::Detached { cause } => tracing::info!(session = %id, cause, "agent detached"),
        Event::Opened { .. }
        | Event::TurnRequested { .. }
        | Event::PromptQueued { .. }
        | Event::Steered { .. }
        | Event::TurnStarted { .. }
        | Event::InterruptRequested { .. }
        | Event::ItemStarted { .. }
        | Event::ItemCompleted { .. }
        | Event::ItemAbandoned { .. }
        | Event::Noted { .. }
        | Event::RequestRefused { .. }
        | Event::Managed { .. }
        | Event::AttachFailed { .. }
        | Event::AskNotShown { .. }
        | Event::AskEchoed { .. }
        | Event::CommandStarted { .. }
        | Event::CommandEnded { .. }
        | Event::Renamed { .. }
        | Event::Adopted { .. }
        | Event::Closed { .. } => tracing::debug!(session = %id, "on record"),
    }
}
