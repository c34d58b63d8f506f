//! What must be true of a log, told a second time and more simply than the core tells it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pilothouse_core::{
    Actor, Answer, Ask, AskId, Decision, Effect, Event, Outcome, Progress, Prompt, Session,
    Settled, Status, Step, Subject, ToAgent, TurnId,
};

use crate::happening::SECRET;

/// What a reader of the log, and of what was told to the agent, knows.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    turns: u32,
    turn: Option<TurnId>,
    turn_name: Option<String>,
    ended_name: Option<String>,
    by_agent: BTreeSet<TurnId>,
    told: BTreeMap<TurnId, u32>,
    interrupted: bool,
    interrupts_told: u32,
    open_items: BTreeSet<String>,
    raised: u32,
    pending: BTreeMap<AskId, Ask>,
    queue: VecDeque<Prompt>,
    attached: bool,
    /// How the requests of the attached agent were settled last, by their keys.
    settled: BTreeMap<String, Settled>,
    attaching: bool,
    attach_failed: bool,
    last: Option<Outcome>,
    owner: Option<Actor>,
    closed: bool,
    /// Commands that a person or a rule allowed, and that were not run yet.
    allowed: BTreeSet<AskId>,
    running: BTreeSet<AskId>,
}

impl Ledger {
    /// Enters a step, after which the session is `after`, and complains if anything is wrong.
    pub(crate) fn enter(&mut self, step: &Step, after: &Session) {
        let was_closed = self.closed;
        let asks: BTreeMap<_, _> = self.asks_of(step);
        for event in &step.record {
            // What runs when a session is closed is still ended by whoever runs it.
            let late = matches!(event, Event::CommandEnded { .. });
            assert!(!was_closed || late, "recorded after the end: {event:?}");
            self.enter_event(event);
        }
        assert!(!was_closed || step.then.is_empty(), "done after the end: {step:?}");
        for effect in &step.then {
            self.enter_effect(effect, step, &asks);
        }
        every_settlement_is_told(step, &asks);
        every_owner_was_let_in(step, &asks);
        self.compare(after);
    }

    /// All asks that were pending before the step, or were raised in it, by number.
    fn asks_of(&self, step: &Step) -> BTreeMap<AskId, Ask> {
        let raised = step.record.iter().filter_map(|it| match it {
            Event::AskRaised { ask } => Some((ask.id, Ask::clone(ask))),
            _ => None,
        });
        self.pending.clone().into_iter().chain(raised).collect()
    }

    fn enter_event(&mut self, event: &Event) {
        if self.closed {
            let late = matches!(event, Event::Detached { .. } | Event::CommandEnded { .. });
            assert!(late, "recorded after the end: {event:?}");
        }
        match event {
            Event::Opened { by, .. } => {
                assert_eq!(self.turns, 0);
                self.owner = Some(by.clone());
            }
            Event::Attached { .. } => {
                assert!(self.attaching && !self.attached, "nobody brought this agent");
                (self.attaching, self.attached, self.attach_failed) = (false, true, false);
                self.ended_name = None;
            }
            Event::AttachFailed { .. } => {
                assert!(self.attaching, "nobody brought this agent");
                (self.attaching, self.attach_failed) = (false, true);
            }
            Event::Detached { .. } => {
                let of_agent = self.pending.values().find(|it| it.is_of_agent());
                assert_eq!(of_agent, None, "an ask outlives its agent");
                assert_eq!(self.turn, None, "a turn outlives its agent");
                (self.attaching, self.attached) = (false, false);
            }
            Event::TurnRequested { turn, prompt, by, queued } => {
                assert_eq!(self.turn, None, "one turn at a time");
                assert_eq!(turn.0, self.turns + 1, "turn numbers rise by one");
                if *queued {
                    assert_eq!(self.queue.pop_front().as_ref(), Some(prompt), "first come");
                }
                if *by == Actor::Agent && *prompt == Prompt::default() {
                    self.by_agent.insert(*turn);
                }
                (self.turns, self.turn, self.turn_name) = (turn.0, Some(*turn), None);
                (self.interrupted, self.interrupts_told) = (false, 0);
                self.open_items.clear();
            }
            Event::PromptQueued { prompt, by: _ } => self.queue.push_back(prompt.clone()),
            Event::TurnStarted { turn, name } => {
                assert_eq!(self.turn, Some(*turn));
                assert_eq!(self.turn_name, None, "started twice");
                assert_ne!(self.ended_name.as_ref(), Some(name), "began again after its end");
                let told = self.told.get(turn).copied().unwrap_or(0);
                let of_its_own = self.by_agent.contains(turn);
                assert!(told == 1 || of_its_own && told == 0, "{turn:?} was told {told} times");
                self.turn_name = Some(name.clone());
            }
            Event::Steered { turn, .. } => assert_eq!(self.turn, Some(*turn)),
            Event::InterruptRequested { turn, by: _ } => {
                assert_eq!(self.turn, Some(*turn));
                assert!(!self.interrupted, "once is enough");
                self.interrupted = true;
            }
            Event::ItemStarted { turn, item, .. } => {
                assert_eq!(*turn, self.turn);
                self.open_items.insert(item.clone());
            }
            Event::ItemCompleted { turn, item, .. } => {
                assert_eq!(*turn, self.turn);
                self.open_items.remove(item);
            }
            Event::ItemAbandoned { item } => assert!(self.open_items.remove(item)),
            Event::AskRaised { ask } => {
                assert_eq!(ask.id.0, self.raised + 1, "ask numbers rise by one");
                if ask.is_of_agent() {
                    assert!(self.attached, "nobody is there to ask");
                    assert_eq!(ask.turn, self.turn);
                } else {
                    assert_eq!((ask.turn, &ask.item, &ask.agent), (None, &None, &None));
                }
                let same = |it: &&Ask| it.key == ask.key && it.asked_by == ask.asked_by;
                assert_eq!(self.pending.values().find(same), None, "asked twice");
                self.raised = ask.id.0;
                self.pending.insert(ask.id, Ask::clone(ask));
            }
            Event::AskSettled { ask, how } => {
                let ask = self.pending.remove(ask);
                let ask = ask.expect("an ask is settled once, after it was raised");
                let yes = Answer::plain(Decision::Accept);
                let allowed = matches!(how, Settled::Answered { answer, by, .. }
                    if *answer == yes && !matches!(by, Actor::Caller { .. }));
                if allowed && ask.asked_by.is_some() {
                    self.allowed.insert(ask.id);
                }
                no_secret_leaves(&ask, how);
                if ask.is_of_agent() {
                    self.settled.insert(ask.key, how.clone());
                }
            }
            Event::TurnEnded { turn, outcome, report: _ } => {
                assert_eq!(self.turn, Some(*turn));
                let own = |it: &&Ask| it.turn == Some(*turn) && it.agent.is_none();
                assert_eq!(self.pending.values().find(own), None, "an ask outlives its turn");
                assert!(self.open_items.is_empty(), "items outlive their turn");
                self.turn = None;
                self.ended_name = self.turn_name.take();
                self.last = Some(outcome.clone());
            }
            Event::Adopted { caller, by } => {
                assert!(matches!(by, Actor::Human { .. }), "{by:?} gave a session away");
                self.owner = Some(Actor::Caller { id: caller.clone() });
            }
            Event::Closed { .. } => {
                assert!(self.pending.is_empty() && self.turn.is_none());
                self.closed = true;
                self.queue.clear();
            }
            Event::AskNotShown { ask, via: _, why: _ } => {
                assert!(self.pending.contains_key(ask), "it waits for nobody");
            }
            Event::CommandStarted { ask, by: _ } => {
                assert!(self.allowed.remove(ask), "nobody allowed it, or it runs twice");
                self.running.insert(*ask);
            }
            Event::CommandEnded { ask, result: _ } => {
                assert!(self.running.remove(ask), "it does not run");
            }
            Event::AskEchoed { key, ask: _ } => {
                assert!(self.attached, "nobody is there to ask {key}");
            }
            Event::Noted { .. }
            | Event::RequestRefused { .. }
            | Event::Managed { .. }
            | Event::Renamed { .. } => {}
        }
    }

    fn enter_effect(&mut self, effect: &Effect, step: &Step, asks: &BTreeMap<AskId, Ask>) {
        match effect {
            Effect::Attach(_) => {
                assert!(!self.attaching && !self.attached, "one agent is enough");
                self.attaching = true;
            }
            Effect::Detach => {
                let detached = |it: &&Event| matches!(it, Event::Detached { .. });
                assert_eq!(step.record.iter().filter(detached).count(), 1);
            }
            Effect::Tell(message) => {
                assert!(self.attached, "nobody is there to be told {message:?}");
                match message {
                    ToAgent::StartTurn { turn, prompt: _ } => {
                        assert_eq!(self.turn, Some(*turn));
                        assert_eq!(self.turn_name, None, "told of a turn that runs");
                        let n_told = self.told.entry(*turn).or_default();
                        *n_told += 1;
                        assert_eq!(*n_told, 1, "told twice of {turn:?}");
                    }
                    ToAgent::Steer { turn, prompt: _ } => {
                        assert_eq!(self.turn_name.as_ref(), Some(turn));
                    }
                    ToAgent::Interrupt { turn } => {
                        assert_eq!(self.turn_name.as_ref(), Some(turn));
                        assert!(self.interrupted);
                        self.interrupts_told += 1;
                    }
                    ToAgent::Answer { key, answer, .. } if step.record.is_empty() => {
                        let said = match &self.settled[key] {
                            Settled::Answered { answer, .. } => Some(answer),
                            Settled::Expired { answer, .. } => answer.as_ref(),
                            Settled::Withdrawn | Settled::Lost => None,
                        };
                        assert_eq!(said, Some(answer), "{key} was told something else again");
                    }
                    ToAgent::Expire { key, waited_s } if step.record.is_empty() => {
                        let how = Settled::Expired { waited_s: *waited_s, answer: None };
                        assert_eq!(self.settled[key], how, "{key} was told something else again");
                    }
                    ToAgent::Answer { key, .. } => {
                        let n_settled = n_settled(step, asks, key, |how| {
                            matches!(
                                how,
                                Settled::Answered { .. } | Settled::Expired { answer: Some(_), .. }
                            )
                        });
                        assert_eq!(n_settled, 1, "{key} was answered without a settlement");
                    }
                    ToAgent::Expire { key, waited_s } => {
                        let n_settled = n_settled(step, asks, key, |how| {
                            *how == Settled::Expired { waited_s: *waited_s, answer: None }
                        });
                        assert_eq!(n_settled, 1, "{key} expired without a settlement");
                    }
                    ToAgent::Manage(what) => {
                        let same = |it: &Event| matches!(it, Event::Managed { what: it, .. } if it == what);
                        assert!(step.record.iter().any(same));
                    }
                }
            }
        }
    }

    fn compare(&self, session: &Session) {
        assert_eq!(session.status(), self.status());
        assert_eq!(session.owner(), self.owner.as_ref());
        assert_eq!(session.turns(), self.turns);
        assert_eq!(session.turn().map(|it| it.id), self.turn);
        assert_eq!(session.agent().is_some(), self.attached);
        assert_eq!(*session.asks(), self.pending);
        assert_eq!(
            session.next_deadline(),
            self.pending.values().filter_map(|it| it.expires_at).min()
        );
        if let Some(turn) = session.turn() {
            let told = self.told.get(&turn.id).copied().unwrap_or(0);
            match &turn.progress {
                Progress::Waiting => {
                    assert_eq!(told, 0);
                    assert!(self.attaching, "a turn waits for an agent that nobody brings");
                }
                Progress::Told => assert_eq!(told, 1, "{turn:?} is not known to the agent"),
                Progress::Started(name) => {
                    assert_eq!(Some(name), self.turn_name.as_ref());
                    assert_eq!(self.interrupted, self.interrupts_told > 0, "an interrupt was lost");
                }
            }
        }
        if self.attached && self.turn.is_none() {
            assert!(self.queue.is_empty(), "a prompt waits behind nothing");
        }
        assert!(self.queue.len() <= pilothouse_core::MAX_QUEUED_PROMPTS);
    }

    fn status(&self) -> Status {
        if self.closed {
            Status::Cancelled
        } else if self.pending.values().any(|it| !matches!(it.subject, Subject::Adoption { .. })) {
            Status::WaitingApproval
        } else if self.turn.is_some() {
            Status::Running
        } else if self.attach_failed
            || matches!(self.last, Some(Outcome::Failed { .. } | Outcome::Lost { .. }))
        {
            Status::Error
        } else {
            Status::Idle
        }
    }
}

fn n_settled(
    step: &Step,
    asks: &BTreeMap<AskId, Ask>,
    key: &str,
    fits: impl Fn(&Settled) -> bool,
) -> usize {
    let settled = step.record.iter().filter(|it| match it {
        Event::AskSettled { ask, how } => asks[ask].key == key && fits(how),
        _ => false,
    });
    settled.count()
}

/// The agent waits for an answer, or for the word that none comes, exactly once.
fn every_settlement_is_told(step: &Step, asks: &BTreeMap<AskId, Ask>) {
    for event in &step.record {
        let Event::AskSettled { ask, how } = event else { continue };
        let key = &asks[ask].key;
        let told = step.then.iter().filter(|it| match it {
            Effect::Tell(ToAgent::Answer { key: it, .. } | ToAgent::Expire { key: it, .. }) => {
                it == key
            }
            Effect::Tell(_) | Effect::Attach(_) | Effect::Detach => false,
        });
        let expected = match how {
            Settled::Answered { .. } | Settled::Expired { .. } if !asks[ask].is_of_agent() => 0,
            Settled::Answered { .. } | Settled::Expired { .. } => 1,
            Settled::Withdrawn | Settled::Lost => 0,
        };
        assert_eq!(told.count(), expected, "{event:?} in {step:?}");
    }
}

/// A session has another owner if a person said yes to just that, and then always.
fn every_owner_was_let_in(step: &Step, asks: &BTreeMap<AskId, Ask>) {
    let accept = Answer::plain(Decision::Accept);
    let let_in = step.record.iter().filter_map(|it| match it {
        Event::AskSettled { ask, how: Settled::Answered { answer, .. } } if *answer == accept => {
            match &asks[ask].subject {
                Subject::Adoption { caller, client: _ } => Some(caller),
                _ => None,
            }
        }
        _ => None,
    });
    let adopted = step.record.iter().filter_map(|it| match it {
        Event::Adopted { caller, by: _ } => Some(caller),
        _ => None,
    });
    assert!(let_in.eq(adopted), "{step:?}");
}

fn no_secret_leaves(ask: &Ask, how: &Settled) {
    if let Settled::Answered { answer, by, .. } = how
        && ask.is_secret()
    {
        assert!(matches!(by, Actor::Human { .. }), "{by:?} answered what only a person may");
        assert!(matches!(answer, Answer::Redacted | Answer::Decided { .. }));
    }
    let text = serde_json::to_string(how).expect("a settlement is JSON");
    assert!(!text.contains(SECRET), "a secret is on record: {text}");
}
