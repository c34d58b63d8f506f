//! An agent as a session sees one: it takes turns, works, asks, and may go at any moment.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pilothouse::core::{
    AgentError, Attach, Decision, Facts, FromAgent, Offer, Outcome, Reach, Report, Request, Stream,
    Subject, ToAgent,
};
use pilothouse_testkit::Chance;
use serde_json::json;

/// Questions that it has open at once.
const MAX_WAITING: usize = 3;

/// One process with one thread.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) number: usize,
    pub(crate) is_alive: bool,
    /// Said, and not heard yet.
    pub(crate) outbox: VecDeque<FromAgent>,
    /// The items that it ever told of, in order.
    pub(crate) items: Vec<String>,
    /// How often it was told an answer, or that there is none, by request.
    pub(crate) told: BTreeMap<String, u32>,
    turn: Option<String>,
    waiting: BTreeSet<String>,
    n_turns: u32,
    n_asks: u32,
}

impl Agent {
    pub(crate) fn start(number: usize, how: &Attach, fails: bool) -> Self {
        let mut agent = Self {
            number,
            is_alive: !fails,
            outbox: VecDeque::new(),
            items: vec![],
            told: BTreeMap::new(),
            turn: None,
            waiting: BTreeSet::new(),
            n_turns: 0,
            n_asks: 0,
        };
        let thread = match how {
            Attach::Start | Attach::Fork { .. } => format!("t{number}"),
            Attach::Resume { thread } => thread.clone(),
        };
        agent.outbox.push_back(if fails {
            let message = "it would not start".to_owned();
            FromAgent::NotReady { error: AgentError { message, ..AgentError::default() } }
        } else {
            FromAgent::Ready { thread, facts: Facts::default() }
        });
        agent
    }

    /// Its process is ended, and nothing that it said is heard any more.
    pub(crate) fn kill(&mut self) {
        self.is_alive = false;
        self.outbox.clear();
    }

    pub(crate) fn hear(&mut self, message: ToAgent) {
        if !self.is_alive {
            return;
        }
        match message {
            ToAgent::StartTurn { .. } if self.turn.is_some() => {
                let error = AgentError::default();
                self.outbox.push_back(FromAgent::TurnRefused { error });
            }
            ToAgent::StartTurn { .. } => {
                self.n_turns += 1;
                let name = format!("a{}-t{}", self.number, self.n_turns);
                self.turn = Some(name.clone());
                self.outbox.push_back(FromAgent::TurnStarted { name });
            }
            ToAgent::Interrupt { turn } if self.turn.as_ref() == Some(&turn) => {
                // Codex says so first, and withdraws its requests after.
                self.end_turn(Outcome::Interrupted);
                for key in std::mem::take(&mut self.waiting) {
                    self.outbox.push_back(FromAgent::Settles { key });
                }
            }
            ToAgent::Answer { key, .. } | ToAgent::Expire { key, .. } => {
                *self.told.entry(key.clone()).or_default() += 1;
                if self.waiting.remove(&key) {
                    self.outbox.push_back(FromAgent::Settles { key });
                }
            }
            ToAgent::Interrupt { .. } | ToAgent::Steer { .. } | ToAgent::Manage(_) => {}
        }
    }

    /// Does something of its own accord; ends the turn if it is to finish.
    pub(crate) fn act(&mut self, chance: &mut Chance, finish: bool) {
        if !self.is_alive {
            return;
        }
        if !finish && chance.once_in(60) {
            self.is_alive = false;
            self.outbox
                .push_back(FromAgent::Exited { cause: "it crashed".to_owned(), fault: None });
            return;
        }
        if self.turn.is_none() {
            return;
        }
        match chance.below(5) {
            _ if finish && self.waiting.is_empty() => self.end_turn(Outcome::Completed),
            _ if finish => {}
            0 | 1 => self.work(chance),
            2 | 3 if self.waiting.len() < MAX_WAITING => self.ask(),
            _ if self.waiting.is_empty() => self.end_turn(Outcome::Completed),
            _ => self.work(chance),
        }
    }

    fn end_turn(&mut self, outcome: Outcome) {
        let name = self.turn.take();
        self.outbox.push_back(FromAgent::TurnEnded { name, outcome, report: Report::default() });
    }

    fn work(&mut self, chance: &mut Chance) {
        let item = format!("a{}-i{}", self.number, self.items.len());
        self.items.push(item.clone());
        let (kind, body, agent) = ("agentMessage".to_owned(), json!({"id": item}), None);
        let started = FromAgent::ItemStarted {
            item: item.clone(),
            kind: kind.clone(),
            body: body.clone(),
            agent,
        };
        self.outbox.push_back(started);
        let text = "piece".to_owned();
        self.outbox.push_back(FromAgent::Delta { item: item.clone(), stream: Stream::Text, text });
        if !chance.once_in(4) {
            self.outbox.push_back(FromAgent::ItemCompleted { item, kind, body, agent: None });
        }
    }

    fn ask(&mut self) {
        self.n_asks += 1;
        let key = format!("a{}-k{}", self.number, self.n_asks);
        self.waiting.insert(key.clone());
        let (command, cwd) = (format!("run {key}"), "/".to_owned());
        let subject =
            Subject::Command { command, argv: vec![], cwd, write_stdin: false, host: None };
        self.outbox.push_back(FromAgent::Asks(Box::new(Request {
            key,
            subject,
            offers: vec![
                Offer::plain(Decision::Accept, Reach::Once),
                Offer::plain(Decision::Decline, Reach::Once),
            ],
            reason: None,
            item: None,
            params: json!({}),
            agent: None,
            echo_of: None,
        })));
    }
}
