//! Coming back to a thread that ran on while nobody listened: what was missed is read, what Codex
//! says meanwhile waits, and then all of it is told in order, each item once.

use std::collections::BTreeSet;

use jiff::Timestamp;
use pilothouse_core::{Attach, FromAgent, Outcome, Spec, ToAgent};
use serde_json::{Value, json};

use super::{
    Output, Tag,
    items::sub_agents,
    params,
    peer::{Peer, Phase},
    requests::{Outgoing, Purpose},
    seat::Seat,
    strangers::request_id,
    wire::{Incoming, REFUSED, refusal, text},
};

/// Turns that are looked at to find the one that was under way.
const MAX_TURNS: u32 = 16;
/// Items of a turn that are read at once.
const PAGE: u32 = 100;
/// Most items of a turn that are remembered as told, so that none is told twice.
const MAX_TOLD: usize = 65_536;
/// Most messages that wait until what was missed is read.
const MAX_HELD: usize = 4_096;
/// Most bytes of them.
const MAX_HELD_BYTES: usize = 64 << 20;
/// Most wishes that wait as long.
const MAX_WISHES: usize = 256;

/// What a session knows of the thread to which it comes back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Missed {
    /// Codex's name for the thread.
    pub thread: String,
    /// The turn that was under way.
    pub turn: Option<MissedTurn>,
    /// The turn before it, by Codex's name.
    pub last_turn: Option<String>,
}

/// What a session knows of the turn that was under way.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MissedTurn {
    /// Codex's name for it, if it was heard.
    pub name: Option<String>,
    /// When it was asked for, in seconds since 1970.
    pub since: i64,
    /// Items that are over, by Codex's names.
    pub done: BTreeSet<String>,
    /// Items that have begun, as they were then.
    pub open: Vec<(String, Value)>,
    /// What it waits for, by our names for requests.
    pub asks: Vec<String>,
    /// Somebody wanted it to stop.
    pub interrupted: bool,
}

/// What is known so far of what was missed.
#[derive(Debug)]
pub(crate) struct Rejoin {
    missed: Missed,
    /// The turn as Codex tells it now.
    turn: Option<Value>,
    /// The items that were read so far.
    items: Vec<Value>,
    /// The thread says that a turn is under way.
    is_active: bool,
    /// The thread says that it waits for somebody.
    is_waiting: bool,
    held: Vec<(usize, Incoming)>,
    n_bytes: usize,
    wishes: Vec<ToAgent>,
}

impl Peer {
    /// Brings a session back to its thread, which this process never lost. What was missed follows,
    /// and what goes on; [`FromAgent::NotReady`] says that the thread is not there any more.
    pub fn rejoin(&mut self, now: Timestamp, tag: Tag, missed: Missed, spec: &Spec) -> Vec<Output> {
        let how = Attach::Resume { thread: missed.thread.clone() };
        let outputs = self.attach(now, tag, &how, spec);
        if let Some(seat) = self.seats.get_mut(&tag) {
            seat.begin_rejoin(missed);
        }
        outputs
    }

    /// Whether what Codex says of a session's thread must wait.
    pub(super) fn is_rejoining(&self, tag: Tag) -> bool {
        self.seats.get(&tag).is_some_and(|it| it.rejoin.is_some())
    }

    /// Keeps a message until what was missed is read. Pieces of streams are live only.
    pub(super) fn hold(
        &mut self,
        now: Timestamp,
        tag: Tag,
        message: Incoming,
        n_bytes: usize,
    ) -> Vec<Output> {
        let rejoin = self.seats.get_mut(&tag).and_then(|it| it.rejoin.as_mut());
        let Some(rejoin) = rejoin else { return vec![] };
        if let Incoming::Notification { method, params: _ } = &message
            && (method.ends_with("elta") || method.ends_with("summaryPartAdded"))
        {
            return vec![];
        }
        rejoin.n_bytes = rejoin.n_bytes.saturating_add(n_bytes);
        rejoin.held.push((n_bytes, message));
        if rejoin.held.len() > MAX_HELD || rejoin.n_bytes > MAX_HELD_BYTES {
            return self.give_up_rejoin(now, tag, "it said more than could wait meanwhile");
        }
        vec![]
    }

    /// Keeps what the session wants until what was missed is read.
    pub(super) fn hold_wish(&mut self, now: Timestamp, tag: Tag, message: ToAgent) -> Vec<Output> {
        let rejoin = self.seats.get_mut(&tag).and_then(|it| it.rejoin.as_mut());
        let Some(rejoin) = rejoin else { return vec![] };
        if rejoin.wishes.len() >= MAX_WISHES {
            return self.give_up_rejoin(
                now,
                tag,
                "more was wanted of it than could wait meanwhile",
            );
        }
        rejoin.wishes.push(message);
        vec![]
    }

    /// The session has its thread again: asks which turns there were.
    pub(super) fn look_back(&mut self, now: Timestamp, tag: Tag, result: &Value) -> Vec<Output> {
        let Some(seat) = self.seats.get_mut(&tag) else { return vec![] };
        let (number, thread) = (seat.number, seat.thread.clone());
        let Some(rejoin) = &mut seat.rejoin else { return vec![] };
        rejoin.is_active = text(result, &["thread", "status", "type"]) == Some("active");
        let flags = result.pointer("/thread/status/activeFlags").and_then(Value::as_array);
        rejoin.is_waiting = flags.is_some_and(|it| !it.is_empty());
        let params = json!({"threadId": thread, "limit": MAX_TURNS});
        let purpose = Purpose::LookBack { tag, seat: number };
        self.submit(now, Outgoing::new(purpose, "thread/turns/list", params))
    }

    /// Codex told which turns, or which items, there were.
    pub(super) fn on_looked_back(
        &mut self,
        now: Timestamp,
        method: &str,
        tag: Tag,
        number: u64,
        result: &Value,
    ) -> Vec<Output> {
        let seat = self.seats.get_mut(&tag).filter(|it| it.number == number);
        let Some(Seat { rejoin: Some(rejoin), .. }) = seat else { return vec![] };
        let data = result.get("data").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut cursor = Value::Null;
        if method == "thread/turns/list" {
            rejoin.turn = rejoin.missed.find_turn(data).cloned();
            if rejoin.turn.is_none() {
                return self.catch_up(now, tag);
            }
        } else {
            let items = data.iter().map(|it| it.get("item").unwrap_or(it).clone());
            rejoin.items.extend(items);
            cursor = result.get("nextCursor").cloned().unwrap_or_default();
            if !cursor.is_string() || data.is_empty() || rejoin.items.len() >= MAX_TOLD {
                return self.catch_up(now, tag);
            }
        }
        let turn = rejoin.turn.as_ref().and_then(|it| it.get("id"));
        let thread = &rejoin.missed.thread;
        let mut params = json!({"threadId": thread, "turnId": turn, "limit": PAGE});
        if cursor.is_string() {
            params["cursor"] = cursor;
        }
        let purpose = Purpose::LookBack { tag, seat: number };
        self.submit(now, Outgoing::new(purpose, "thread/items/list", params))
    }

    /// What was missed can't be read, so nobody can say what the session's agent did.
    pub(super) fn give_up_rejoin(
        &mut self,
        now: Timestamp,
        tag: Tag,
        problem: &str,
    ) -> Vec<Output> {
        let mut outputs = self.detach(now, tag, true);
        let cause = format!("Pilothouse could not catch up with the kept agent: {problem}");
        outputs.push(Output::Said(tag, FromAgent::Exited { cause, fault: None }));
        outputs
    }

    /// Tells what was missed, then what was held, then what was wanted.
    fn catch_up(&mut self, now: Timestamp, tag: Tag) -> Vec<Output> {
        let Some(seat) = self.seats.get_mut(&tag) else { return vec![] };
        let Some(rejoin) = seat.rejoin.take() else { return vec![] };
        let Rejoin { missed, turn, items, is_active, is_waiting, held, wishes, n_bytes: _ } =
            *rejoin;
        let thread = missed.thread.clone();
        let had_turn = missed.turn.is_some();
        let known = missed.turn.unwrap_or_default();
        let mut outputs = Vec::new();
        if let Some(name) = turn.as_ref().and_then(|it| text(it, &["id"])) {
            outputs.extend(seat.start_turn(name).map(|it| Output::Said(tag, it)));
        }
        let mut children = Vec::new();
        for item in &items {
            children.extend(sub_agents(item));
            outputs.extend(seat.tell_missed(&thread, item).map(|it| Output::Said(tag, it)));
        }
        for (_, message) in &held {
            if let Incoming::Notification { method, params } = message
                && method == "thread/tokenUsage/updated"
                && let Some(usage) = params.get("tokenUsage")
            {
                seat.gathered.usage(usage);
            }
        }
        let is_over = turn.as_ref().is_some_and(|it| text(it, &["status"]) != Some("inProgress"));
        if is_over && let Some(turn) = &turn {
            outputs.extend(seat.end_missed(tag, turn));
        } else if turn.is_none() && had_turn && !is_active {
            outputs.extend(seat.lose_missed(tag));
        }
        let runs = seat.turn.is_some();
        for (child, path) in children {
            let is_new = !self.threads.contains_key(&child);
            outputs.extend(self.adopt(now, tag, &child, path));
            if runs && is_new && self.threads.contains_key(&child) {
                outputs.extend(self.listen_to(now, &child));
            }
        }
        for (n_bytes, message) in held {
            outputs.extend(self.on_message(now, message, n_bytes).into_iter().map(again));
        }
        // Codex repeats all that it waits for before it answers anything else.
        if runs && !is_waiting {
            let gone = known.asks.into_iter().filter(|it| !self.asks.contains_key(it));
            outputs.extend(gone.map(|key| Output::Said(tag, FromAgent::Settles { key })));
        }
        if runs
            && known.interrupted
            && let Some(name) = known.name
        {
            outputs.extend(self.tell(now, tag, ToAgent::Interrupt { turn: name }));
        }
        for wish in wishes {
            outputs.extend(self.tell(now, tag, wish));
        }
        outputs
    }

    /// A sub-agent's thread speaks to those only who have asked for it.
    fn listen_to(&mut self, now: Timestamp, child: &str) -> Vec<Output> {
        let Phase::Up(version) = self.phase else { return vec![] };
        let how = Attach::Resume { thread: child.to_owned() };
        let Ok((method, params)) = params::attach(version, &how, &Spec::default()) else {
            return vec![];
        };
        self.submit(now, Outgoing::new(Purpose::Quiet, method, params))
    }
}

impl Rejoin {
    /// Nobody will hear what was held; nothing may wait for an answer to it.
    pub(super) fn refuse(self) -> impl Iterator<Item = Output> {
        let requests = self.held.into_iter().filter_map(|(_, it)| request_id(it));
        requests.map(|id| Output::Line(refusal(&id, REFUSED, "the session was closed")))
    }
}

impl Missed {
    /// The turn among those that Codex knows, the newest first.
    fn find_turn<'a>(&self, turns: &'a [Value]) -> Option<&'a Value> {
        let known = self.turn.as_ref()?;
        if let Some(name) = &known.name {
            return turns.iter().find(|it| text(it, &["id"]) == Some(name));
        }
        let is_new = |it: &&Value| {
            let started = it.get("startedAt").and_then(Value::as_i64);
            text(it, &["id"]) != self.last_turn.as_deref()
                && started.is_none_or(|at| at >= known.since)
        };
        turns.iter().take_while(is_new).last()
    }
}

impl Seat {
    fn begin_rejoin(&mut self, missed: Missed) {
        self.last_turn.clone_from(&missed.last_turn);
        if let Some(known) = &missed.turn {
            self.turn.clone_from(&known.name);
            self.told = Some(known.done.iter().take(MAX_TOLD).cloned().collect());
            for (item, body) in &known.open {
                self.items.start(&missed.thread, item, body);
            }
        }
        self.rejoin = Some(Box::new(Rejoin {
            missed,
            turn: None,
            items: vec![],
            is_active: false,
            is_waiting: false,
            held: vec![],
            n_bytes: 0,
            wishes: vec![],
        }));
    }

    /// An item that is over; told unless it was.
    fn tell_missed(&mut self, thread: &str, body: &Value) -> Option<FromAgent> {
        let item = text(body, &["id"])?.to_owned();
        self.items.complete(thread, &item);
        self.gathered.item(body, false);
        if !self.is_untold(&item) {
            return None;
        }
        let kind = text(body, &["type"]).unwrap_or("unknown").to_owned();
        Some(FromAgent::ItemCompleted { item, kind, body: body.clone(), agent: None })
    }

    /// Takes note that an item's end is told. Returns whether it was not yet, as far as that matters:
    /// outside of a turn that was come back to, Codex itself says it once.
    pub(super) fn is_untold(&mut self, item: &str) -> bool {
        match &mut self.told {
            Some(told) if told.len() < MAX_TOLD => told.insert(item.to_owned()),
            Some(_) | None => true,
        }
    }

    fn end_missed(&mut self, tag: Tag, turn: &Value) -> Option<Output> {
        let name = self.turn.take()?;
        self.last_turn = Some(name.clone());
        let (outcome, report) = std::mem::take(&mut self.gathered).end(turn);
        Some(Output::Said(tag, FromAgent::TurnEnded { name: Some(name), outcome, report }))
    }

    /// A turn that Codex knows nothing of, and that does not run.
    fn lose_missed(&mut self, tag: Tag) -> Vec<Output> {
        let name = self.turn.take();
        let cause = match &name {
            Some(_) => "Codex does not know the turn any more",
            None => "Codex was not told of the turn before Pilothouse went; prompt again",
        };
        let outcome = Outcome::Lost { cause: cause.to_owned(), fault: None };
        let (_, report) = std::mem::take(&mut self.gathered).end(&Value::Null);
        vec![Output::Said(tag, FromAgent::TurnEnded { name, outcome, report })]
    }
}

/// What was held may have been asked before.
fn again(output: Output) -> Output {
    if let Output::Said(tag, FromAgent::Asks(request)) = output {
        return Output::Said(tag, FromAgent::AsksAgain(request));
    }
    output
}
