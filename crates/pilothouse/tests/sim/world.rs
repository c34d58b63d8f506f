//! Nodes, their store, agents and a clock, and a seed that says what happens next.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::PathBuf,
    sync::Arc,
};

use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use pilothouse::{
    Broker, Config, Feed, FeedItem,
    core::{
        Actor, Answer, Cursor, Decision, Effect, FromAgent, Intent, Patience, Prompt, Seq, Session,
        SessionId, Spec, WhenBusy,
    },
    store::{
        Append, AskFilter, Conclusion, FeedEntry, Later, MAX_PAGE, Memory, MemoryWorld, NodeId,
        Posted, Store, StoreError,
    },
};
use pilothouse_testkit::Chance;
use uuid::Uuid;

use crate::{
    agent::Agent,
    driver::{Driver, MAX_BATCH, Work},
    errand::{Ending, Errand, MAX_TRIES, PATIENCE_S, State},
    truth::{Count, Truth},
};

const NODES: usize = 3;
const SESSIONS: usize = 3;
const STEPS: usize = 500;
/// Rounds in which everything that is under way must come to rest.
const CALM_ROUNDS: usize = 400;
const SNAPSHOT_EVERY: usize = 15;
const ASKS_WAIT_MS: u64 = 60_000;

pub(crate) struct World {
    chance: Chance,
    now: Timestamp,
    memory: Arc<MemoryWorld>,
    nodes: Vec<Node>,
    n_nodes: usize,
    sessions: Vec<SessionId>,
    agents: Vec<Agent>,
    errands: Vec<Errand>,
    truth: Truth,
    watcher: Broker,
    readers: Vec<Reader>,
    n_minted: u64,
}

struct Node {
    store: Arc<Memory>,
    /// Others think it dead, and it does not know.
    is_cut_off: bool,
    drivers: BTreeMap<SessionId, Driver>,
    appends_to_fail: u32,
    under_way: BTreeSet<Uuid>,
    /// What was read of the inbox, and not looked at yet.
    inbox: VecDeque<Posted>,
}

struct Reader {
    feed: Feed,
    from: usize,
    entries: Vec<FeedEntry>,
}

impl World {
    /// Plays one history to its rest, and holds it against the rules.
    pub(crate) async fn play(seed: u64) -> Count {
        let memory = MemoryWorld::new();
        let store: Arc<dyn Store> = Memory::open(&memory, NodeId("watcher".to_owned()));
        let watcher = Broker::open(Config::new(store, "sim", "sim")).await.unwrap();
        let mut world = Self {
            chance: Chance::new(seed),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            nodes: vec![],
            n_nodes: 0,
            memory,
            sessions: vec![],
            agents: vec![],
            errands: vec![],
            truth: Truth::default(),
            watcher,
            readers: vec![],
            n_minted: 0,
        };
        for _ in 0..NODES {
            let node = world.new_node();
            world.nodes.push(node);
        }
        world.watch(true).await;
        for _ in 0..STEPS {
            world.step().await;
        }
        world.come_to_rest().await;
        world.check().await;
        world.watcher.stop().await;
        world.truth.close()
    }

    async fn step(&mut self) {
        let node = self.chance.index(NODES);
        match self.chance.below(100) {
            0..12 => self.want(node),
            12..24 if !self.errands.is_empty() => {
                let errand = self.chance.index(self.errands.len());
                self.carry(errand);
            }
            24..60 => {
                let sessions: Vec<_> = self.nodes[node].drivers.keys().copied().collect();
                if !sessions.is_empty() {
                    let session = sessions[self.chance.index(sessions.len())];
                    self.drive(node, session);
                }
            }
            60..76 if !self.agents.is_empty() => {
                let agent = self.chance.index(self.agents.len());
                self.agents[agent].act(&mut self.chance, false);
            }
            76..80 => self.read_inbox(node),
            80..86 => self.look_at_inbox(node),
            86..89 => self.conclude(node),
            89..92 => {
                let ms = self.chance.below(9_000);
                self.wait(i64::try_from(ms).unwrap());
            }
            92 if self.chance.once_in(4) => self.kill(node),
            93 if self.chance.once_in(4) => self.cut_off(node),
            94 => self.nodes[node].appends_to_fail = 1 + u32::from(self.chance.once_in(2)),
            95 if self.readers.len() < 4 => self.watch(false).await,
            _ => {
                let n_items = self.chance.below(6);
                self.read(n_items).await;
            }
        }
    }

    // What people and programs do.

    /// Somebody at a node wants something.
    fn want(&mut self, node: usize) {
        if self.sessions.is_empty() || self.sessions.len() < SESSIONS && self.chance.once_in(4) {
            return self.open(node);
        }
        let session = self.sessions[self.chance.index(self.sessions.len())];
        let by = Actor::Human { via: "cli".to_owned(), verified: true };
        let intent = match self.chance.below(20) {
            0..8 => {
                let when_busy = match self.chance.below(3) {
                    0 => WhenBusy::Refuse,
                    1 => WhenBusy::Steer,
                    _ => WhenBusy::Queue,
                };
                Intent::Prompt { prompt: self.prompt(), when_busy }
            }
            8..17 => match self.some_answer(node, session) {
                Some(intent) => intent,
                None => return,
            },
            17 => Intent::Interrupt,
            18 => Intent::Rename { title: "another".to_owned() },
            _ if self.chance.once_in(4) => Intent::Close { reason: "enough".to_owned() },
            _ => Intent::Release,
        };
        self.send(node, session, intent, by);
    }

    fn send(&mut self, node: usize, session: SessionId, intent: Intent, by: Actor) {
        let state = State::Seeking { tries: 0 };
        let at = self.now;
        self.errands.push(Errand::new(node, session, intent, by, at, state));
    }

    fn some_answer(&mut self, node: usize, session: SessionId) -> Option<Intent> {
        let filter = AskFilter { session: Some(session), pending: true, ..AskFilter::default() };
        let asks = ready(self.nodes[node].store.asks(filter, 10, None)).ok()?.rows;
        let ask = asks.get(self.chance.index(asks.len().max(1)))?;
        let decision = if self.chance.once_in(2) { Decision::Accept } else { Decision::Decline };
        let digest = Some(ask.digest.clone());
        let answer = Answer::plain(decision);
        Some(Intent::Answer { ask: ask.ask(), answer, digest, reason: None, note: None })
    }

    fn open(&mut self, node: usize) {
        let session = SessionId(self.mint());
        let Ok(claim) = ready(self.nodes[node].store.claim(session)) else { return };
        let by = Actor::Human { via: "cli".to_owned(), verified: true };
        let spec = Spec { patience: Patience::Ms(ASKS_WAIT_MS), ..Spec::default() };
        let prompt = self.prompt();
        let step = Session::open(spec, &by, None, Some(prompt.clone()));
        let intent = Intent::Prompt { prompt, when_busy: WhenBusy::Refuse };
        let (at, state) = (self.now, State::Ordered { tries: MAX_TRIES });
        self.errands.push(Errand::new(node, session, intent, by, at, state));
        let mut driver = Driver::new(claim.epoch, Session::default());
        driver.begin(self.now, step, self.errands.len() - 1);
        self.nodes[node].drivers.insert(session, driver);
        self.sessions.push(session);
    }

    fn prompt(&mut self) -> Prompt {
        self.n_minted += 1;
        Prompt::text(&format!("prompt {}", self.n_minted))
    }

    /// Carries an errand a step further.
    fn carry(&mut self, number: usize) {
        let errand = self.errands[number].clone();
        let node = errand.node;
        let next = match errand.state {
            State::Over(_) | State::Ordered { .. } => return,
            State::Seeking { tries: MAX_TRIES.. } => State::Over(Ending::Unknown),
            State::Seeking { tries } => self.seek(number, &errand, tries),
            State::Posted { name } => {
                let store = &self.nodes[node].store;
                match (ready(store.conclusion(name)), ready(store.owner(errand.session))) {
                    (Ok(Some(conclusion)), _) => State::Over(Ending::of(&conclusion)),
                    (Ok(None), Ok(Some((_, false)))) | (Err(_), _) => State::Over(Ending::Unknown),
                    (Ok(None), _) if self.seconds_since(errand.at) >= PATIENCE_S => {
                        self.truth.count.unheard += 1;
                        State::Over(Ending::Unknown)
                    }
                    (Ok(None), _) => return,
                }
            }
        };
        self.errands[number].state = next;
    }

    fn seek(&mut self, number: usize, errand: &Errand, tries: u32) -> State {
        let (node, session) = (errand.node, errand.session);
        let store = Arc::clone(&self.nodes[node].store);
        let is_concluded =
            || errand.concludes.is_some_and(|it| !matches!(ready(store.conclusion(it)), Ok(None)));
        if let Some(driver) = self.nodes[node].drivers.get_mut(&session) {
            if is_concluded() {
                return self.leave(number);
            }
            driver.orders.push_back(number);
            return State::Ordered { tries };
        }
        if !matches!(ready(store.session(session)), Ok(Some(_))) {
            return State::Over(Ending::Unknown);
        }
        let before = ready(store.owner(session));
        match ready(store.claim(session)) {
            Ok(claim) => {
                if let Ok(Some((_, false))) = before {
                    self.truth.count.takeovers += 1;
                }
                refuse_stale(&*store, session);
                let folded = fold(&*store, session);
                assert_eq!(folded, self.truth.fold(session), "it was folded to something else");
                let mut driver = Driver::new(claim.epoch, folded);
                driver.recover(self.now);
                if is_concluded() {
                    self.nodes[node].drivers.insert(session, driver);
                    return self.leave(number);
                }
                driver.orders.push_back(number);
                self.nodes[node].drivers.insert(session, driver);
                State::Ordered { tries }
            }
            // It is in the inbox of the owner by now; to post it again would do it twice.
            Err(StoreError::Held { .. }) if errand.concludes.is_some() => self.leave(number),
            Err(StoreError::Held { .. }) => {
                let name = self.mint();
                let (intent, by) = (errand.intent.clone(), errand.by.clone());
                match ready(store.post(Posted { id: name, session, intent, by, secret: false })) {
                    Ok(()) => {
                        self.truth.count.posts += 1;
                        State::Posted { name }
                    }
                    Err(StoreError::NoOwner(_)) => State::Seeking { tries: tries + 1 },
                    Err(_) => State::Over(Ending::Unknown),
                }
            }
            Err(_) => State::Over(Ending::Unknown),
        }
    }

    /// Somebody else carries out what was posted, or has done it.
    fn leave(&mut self, number: usize) -> State {
        let errand = &mut self.errands[number];
        if let Some(id) = errand.concludes.take() {
            self.nodes[errand.node].under_way.remove(&id);
        }
        State::Over(Ending::Unknown)
    }

    // What nodes do.

    fn read_inbox(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        if node.inbox.is_empty() {
            node.inbox = ready(node.store.inbox()).unwrap_or_default().into();
        }
    }

    /// Begins to carry out the next of what was read.
    fn look_at_inbox(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        let Some(posted) = node.inbox.pop_front() else { return };
        let Posted { id, session, intent, by, secret: _ } = posted;
        if !node.under_way.insert(id) {
            return;
        }
        let (at, state) = (minted_at(id), State::Seeking { tries: 0 });
        self.errands.push(Errand::new(number, session, intent, by, at, state).posted(id));
    }

    /// Says what became of something that another node had posted.
    fn conclude(&mut self, number: usize) {
        let over = self
            .errands
            .iter_mut()
            .find(|it| it.node == number && it.concludes.is_some() && it.is_over());
        let Some(errand) = over else { return };
        let (Some(id), State::Over(ending)) = (errand.concludes.take(), &errand.state) else {
            return;
        };
        let conclusion = match ending {
            Ending::Done(seq) => Conclusion::Done(*seq),
            Ending::Refused => Conclusion::Refused(pilothouse::core::Refusal::Busy),
            Ending::Unknown => Conclusion::Failed("it failed".to_owned()),
        };
        ready(self.nodes[number].store.conclude(id, conclusion)).ok();
        self.nodes[number].under_way.remove(&id);
    }

    /// A driver does the next step of what is under way, else takes something up.
    fn drive(&mut self, node: usize, session: SessionId) {
        let Some(driver) = self.nodes[node].drivers.get_mut(&session) else { return };
        match driver.work.pop_front() {
            Some(Work::Append { events, before }) => self.append(node, session, events, before),
            Some(Work::Perform(effect)) => self.perform(node, session, effect),
            Some(Work::Reply(errand)) => self.errands[errand].state = State::Over(driver.seq()),
            None => self.take_up(node, session),
        }
    }

    fn take_up(&mut self, node: usize, session: SessionId) {
        let now = self.now;
        let Some(driver) = self.nodes[node].drivers.get_mut(&session) else { return };
        let is_due = driver.session.next_deadline().is_some_and(|it| it <= now);
        let has_said = driver.agent.is_some_and(|it| !self.agents[it].outbox.is_empty());
        match self.chance.below(4) {
            0 | 1 if !driver.orders.is_empty() => {
                let Some(number) = driver.orders.pop_front() else { return };
                let Errand { intent, by, at, .. } = self.errands[number].clone();
                if driver.intend(now, at, intent, &by, number).is_err() {
                    self.errands[number].state = State::Over(Ending::Refused);
                }
            }
            0..3 if has_said => {
                let Some(agent) = driver.agent else { return };
                let outbox = &mut self.agents[agent].outbox;
                let n_heard = (1 + self.chance.index(MAX_BATCH)).min(outbox.len());
                let messages: Vec<FromAgent> = outbox.drain(..n_heard).collect();
                driver.hear(now, messages);
            }
            _ if is_due => self.tick(node, session),
            3 if driver.rests() && driver.agent.is_none() => {
                let epoch = driver.epoch;
                ready(self.nodes[node].store.release(session, epoch)).ok();
                self.end(node, session);
            }
            _ => {}
        }
    }

    /// An answer that was posted in time beats the clock.
    fn tick(&mut self, node: usize, session: SessionId) {
        let posted = ready(self.nodes[node].store.inbox()).unwrap_or_default();
        let Some(driver) = self.nodes[node].drivers.get_mut(&session) else { return };
        for posted in posted.into_iter().filter(|it| it.session == session) {
            let Intent::Answer { ask, .. } = &posted.intent else { continue };
            let Some(ask) = driver.session.asks().get(ask) else { continue };
            let at = minted_at(posted.id);
            if ask.expires_at.is_some_and(|it| at < it) {
                let Posted { id, session, intent, by, secret: _ } = posted;
                let number = self.errands.len();
                let answer = intent.clone();
                let taken = driver.intend(self.now, at, answer, &by, number).is_ok();
                let state = if taken {
                    State::Ordered { tries: MAX_TRIES }
                } else {
                    State::Over(Ending::Refused)
                };
                let errand = Errand::new(node, session, intent, by, at, state);
                self.errands.push(errand.posted(id));
                if taken {
                    return;
                }
            }
        }
        driver.tick(self.now);
    }

    fn append(
        &mut self,
        number: usize,
        session: SessionId,
        events: Vec<pilothouse::core::Envelope>,
        before: Option<Box<Session>>,
    ) {
        let node = &mut self.nodes[number];
        let Some(driver) = node.drivers.get_mut(&session) else { return };
        let due = driver.since_snapshot + events.len() >= SNAPSHOT_EVERY;
        let append = Append {
            session,
            epoch: driver.epoch,
            expected: Seq(events[0].seq.0 - 1),
            events: events.clone(),
            view: driver.session.view(session).unwrap(),
            snapshot: due.then(|| Box::new(driver.session.clone())),
        };
        let appended = if node.appends_to_fail > 0 {
            node.appends_to_fail -= 1;
            self.truth.count.failed_appends += 1;
            Err(StoreError::Full { path: PathBuf::from("store.db") })
        } else {
            ready(node.store.append(append))
        };
        match (appended, before) {
            (Ok(_), _) => {
                driver.since_snapshot = if due { 0 } else { driver.since_snapshot + events.len() };
                self.truth.take(number, session, driver.epoch, &events);
            }
            (Err(StoreError::Full { .. }), Some(before)) => {
                driver.session = *before;
                let is_new = driver.session.opening().is_none();
                for work in driver.work.drain(..) {
                    if let Work::Reply(errand) = work {
                        self.errands[errand].state = State::Over(Ending::Unknown);
                    }
                }
                if is_new {
                    self.end(number, session);
                    self.sessions.retain(|it| *it != session);
                }
            }
            (Err(StoreError::Full { .. }), None) => {
                driver.work.push_front(Work::Append { events, before: None });
            }
            // It can't record, so it may not act.
            (Err(_), _) => self.end(number, session),
        }
    }

    fn perform(&mut self, node: usize, session: SessionId, effect: Effect) {
        let Some(driver) = self.nodes[node].drivers.get_mut(&session) else { return };
        match effect {
            Effect::Tell(message) => {
                if let Some(agent) = driver.agent {
                    self.truth.tell(session, &message);
                    self.agents[agent].hear(message);
                }
            }
            Effect::Detach => {
                if let Some(agent) = driver.agent.take() {
                    self.agents[agent].kill();
                }
            }
            Effect::Attach(how) => {
                let number = self.agents.len();
                if let Some(old) = driver.agent.replace(number) {
                    self.agents[old].kill();
                }
                let fails = self.chance.once_in(12);
                self.agents.push(Agent::start(number, &how, fails));
            }
        }
    }

    /// A driver ends: its agent goes, what it had not looked at is carried again.
    fn end(&mut self, node: usize, session: SessionId) {
        let Some(driver) = self.nodes[node].drivers.remove(&session) else { return };
        if let Some(agent) = driver.agent {
            self.agents[agent].kill();
        }
        for work in driver.work {
            if let Work::Reply(errand) = work {
                self.errands[errand].state = State::Over(Ending::Unknown);
            }
        }
        for errand in driver.orders {
            self.errands[errand].again();
        }
    }

    // What happens to them.

    fn new_node(&mut self) -> Node {
        self.n_nodes += 1;
        Node {
            store: Memory::open(&self.memory, NodeId(format!("node {}", self.n_nodes))),
            is_cut_off: false,
            drivers: BTreeMap::new(),
            appends_to_fail: 0,
            under_way: BTreeSet::new(),
            inbox: VecDeque::new(),
        }
    }

    /// Its process dies with all that it knew, and its agents with it. Another comes.
    fn kill(&mut self, number: usize) {
        self.truth.count.kills += 1;
        let node = self.new_node();
        let dead = std::mem::replace(&mut self.nodes[number], node);
        self.memory.kill(dead.store.node());
        for driver in dead.drivers.into_values() {
            if let Some(agent) = driver.agent {
                self.agents[agent].kill();
            }
        }
        for errand in self.errands.iter_mut().filter(|it| it.node == number) {
            errand.concludes = None;
            if !errand.is_over() {
                errand.state = State::Over(Ending::Unknown);
            }
        }
    }

    /// It lives, with its agents, and others think it dead.
    fn cut_off(&mut self, node: usize) {
        if !self.nodes[node].is_cut_off {
            self.truth.count.lost_leases += 1;
            self.nodes[node].is_cut_off = true;
            self.memory.kill(self.nodes[node].store.node());
        }
    }

    fn wait(&mut self, ms: i64) {
        self.now = self.now.checked_add(SignedDuration::from_millis(ms)).unwrap();
    }

    fn seconds_since(&self, then: Timestamp) -> i64 {
        self.now.duration_since(then).as_secs()
    }

    /// A name of version 7, by the clock of this world.
    fn mint(&mut self) -> Uuid {
        self.n_minted += 1;
        let ms = u64::try_from(self.now.as_millisecond()).unwrap();
        let mut rest = [0; 10];
        rest[2..].copy_from_slice(&self.n_minted.to_be_bytes());
        uuid::Builder::from_unix_timestamp_millis(ms, &rest).into_uuid()
    }

    // What others see.

    /// Someone begins to read the feed, from the beginning or from somewhere.
    async fn watch(&mut self, whole: bool) {
        let length = self.truth.all.len();
        let from = if whole { 0 } else { self.chance.index(length + 1) };
        let cursor = Cursor(u64::try_from(from).unwrap());
        let feed = self.watcher.feed(Some(cursor)).await.unwrap();
        self.readers.push(Reader { feed, from, entries: vec![] });
    }

    /// A reader reads on, at most so far.
    async fn read(&mut self, n_items: u64) {
        // Else tokio would have it wait for having done so much at once.
        tokio::task::yield_now().await;
        let number = self.chance.index(self.readers.len());
        let reader = &mut self.readers[number];
        for _ in 0..n_items {
            match reader.feed.next().now_or_never() {
                Some(Ok(FeedItem::Event(entry))) => reader.entries.push(*entry),
                Some(Ok(FeedItem::Live(_) | FeedItem::Delta(_))) => {}
                Some(Ok(FeedItem::Reset(at))) => panic!("the feed began anew at {at:?}"),
                Some(Err(error)) => panic!("{error}"),
                None => return,
            }
        }
    }

    // The end.

    /// No more faults: everything that is under way comes to rest.
    async fn come_to_rest(&mut self) {
        for node in 0..NODES {
            self.nodes[node].appends_to_fail = 0;
            if self.nodes[node].is_cut_off {
                self.kill(node);
            }
        }
        // Whoever looks next takes over what dead nodes left.
        for session in self.sessions.clone() {
            let by = Actor::Human { via: "cli".to_owned(), verified: true };
            self.send(0, session, Intent::Rename { title: "last".to_owned() }, by);
        }
        for _ in 0..CALM_ROUNDS {
            for errand in 0..self.errands.len() {
                self.carry(errand);
            }
            for node in 0..NODES {
                self.read_inbox(node);
                self.look_at_inbox(node);
                self.conclude(node);
                for session in self.sessions.clone() {
                    for _ in 0..12 {
                        self.drive(node, session);
                    }
                }
            }
            for agent in &mut self.agents {
                agent.act(&mut self.chance, true);
            }
            self.wait(1_000);
            if self.is_at_rest() {
                break;
            }
        }
        assert!(
            self.is_at_rest(),
            "it never rests: {:?}",
            self.errands.iter().find(|it| !it.is_over())
        );
        for _ in 0..self.readers.len() * 40 {
            self.read(u64::MAX).await;
        }
    }

    fn is_at_rest(&self) -> bool {
        let drivers = || self.nodes.iter().flat_map(|it| it.drivers.values());
        self.errands.iter().all(|it| it.is_over() && it.concludes.is_none())
            && drivers().all(Driver::rests)
            && drivers().filter_map(|it| it.agent).all(|it| self.agents[it].outbox.is_empty())
    }

    async fn check(&self) {
        let store: &dyn Store = &*self.nodes[0].store;
        assert_eq!(ready(store.check()).unwrap(), Vec::<String>::new());
        for session in &self.sessions {
            let log = self.truth.log(*session);
            let page = ready(store.read(*session, Seq(0), MAX_PAGE)).unwrap();
            assert_eq!(page.events, log, "the log is not what was taken");
            let folded = self.truth.fold(*session);
            assert_eq!(fold(store, *session), folded);
            // Whoever opened it may have died before anything was on record.
            if !log.is_empty() {
                assert_eq!(self.watcher.fold(*session).await.unwrap(), folded);
            }
            for driver in self.nodes.iter().filter_map(|it| it.drivers.get(session)) {
                assert_eq!(driver.session, folded, "an owner believes something else");
            }
        }
        let attached: BTreeSet<usize> = self
            .nodes
            .iter()
            .flat_map(|it| it.drivers.values())
            .filter_map(|it| it.agent)
            .collect();
        for agent in &self.agents {
            let is_attached = agent.is_alive && attached.contains(&agent.number);
            assert!(!agent.is_alive || is_attached, "agent {} serves nobody", agent.number);
            self.truth.agrees_with_agent(agent, is_attached);
        }
        for errand in self.errands.iter().filter(|it| !it.is_posted) {
            if let (Intent::Prompt { prompt, .. }, State::Over(ending)) =
                (&errand.intent, &errand.state)
            {
                self.truth.agrees_with_ending(&prompt.text, ending);
            }
        }
        for reader in &self.readers {
            self.truth.agrees_with_feed(reader.from, &reader.entries);
        }
        for node in &self.nodes {
            let page = ready(node.store.feed(Cursor(0), MAX_PAGE)).unwrap();
            self.truth.agrees_with_feed(0, &page.entries);
        }
    }
}

/// What was posted to an earlier owner may have been done by it: only answers, which count once
/// however often they are given, are carried out by who comes next.
fn refuse_stale(store: &dyn Store, session: SessionId) {
    for posted in ready(store.inbox()).unwrap_or_default() {
        if posted.session == session && !matches!(posted.intent, Intent::Answer { .. }) {
            let problem = "the session changed hands".to_owned();
            ready(store.conclude(posted.id, Conclusion::Failed(problem))).ok();
        }
    }
}

fn fold(store: &dyn Store, session: SessionId) -> Session {
    let mut res = ready(store.snapshot(session)).unwrap().unwrap_or_default();
    for envelope in ready(store.read(session, res.seq(), MAX_PAGE)).unwrap().events {
        res.apply(&envelope);
    }
    res
}

fn minted_at(name: Uuid) -> Timestamp {
    let (seconds, nanos) = name.get_timestamp().unwrap().to_unix();
    Timestamp::new(i64::try_from(seconds).unwrap(), i32::try_from(nanos).unwrap()).unwrap()
}

/// A store in memory does everything at once.
fn ready<T>(later: Later<'_, T>) -> Result<T, StoreError> {
    later.now_or_never().expect("memory never waits")
}
