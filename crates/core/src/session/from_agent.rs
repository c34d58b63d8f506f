//! What an agent says, and what that leads to.

use jiff::Timestamp;

use super::{Effect, MAX_PENDING_ASKS, Moment, Session, Step, caller::limit};
use crate::{
    Actor, AgentError, Ask, AskId, CommandEnd, CommandProgress, CommandResult, Event, Facts, Fault,
    FromAgent, OnExpiry, Outcome, Progress, Prompt, Report, Request, Settled, Subject, ToAgent,
    TurnId, Verdict,
};

impl Session {
    /// Decides what a message from the agent leads to.
    pub fn on_agent(&self, moment: &Moment<'_>, message: FromAgent) -> Step {
        match message {
            FromAgent::Ready { thread, facts } => self.on_ready(thread, facts),
            FromAgent::NotReady { error } => self.on_not_ready(error),
            FromAgent::Exited { cause, fault } => self.on_exited(&cause, fault),
            // Late words of an agent that was let go: nobody is there to hear them.
            FromAgent::TurnStarted { .. }
            | FromAgent::TurnRefused { .. }
            | FromAgent::ItemStarted { .. }
            | FromAgent::ItemCompleted { .. }
            | FromAgent::Delta { .. }
            | FromAgent::Asks(_)
            | FromAgent::AsksAgain(_)
            | FromAgent::Settles { .. }
            | FromAgent::TurnEnded { .. }
            | FromAgent::Notes { .. }
            | FromAgent::Refused { .. }
                if self.agent.is_none() =>
            {
                Step::default()
            }
            FromAgent::TurnStarted { name } => self.on_turn_started(name),
            FromAgent::TurnRefused { error } => self.on_turn_refused(error),
            FromAgent::ItemStarted { item, kind, body, agent } => {
                let turn = self.turn.as_ref().map(|it| it.id);
                record(Event::ItemStarted { turn, item, kind, body, agent })
            }
            FromAgent::ItemCompleted { item, kind, body, agent } => {
                let turn = self.turn.as_ref().map(|it| it.id);
                record(Event::ItemCompleted { turn, item, kind, body, agent })
            }
            FromAgent::Delta { item: _, stream: _, text: _ } => Step::default(),
            FromAgent::Asks(request) => self.on_request(moment, *request),
            FromAgent::AsksAgain(request) => {
                self.tell_again(&request.key).unwrap_or_else(|| self.on_request(moment, *request))
            }
            FromAgent::Settles { key } => self.on_settles(&key),
            FromAgent::TurnEnded { name, outcome, report } => {
                self.on_turn_ended(name.as_deref(), outcome, report)
            }
            FromAgent::Notes { method, body } => record(Event::Noted { method, body }),
            FromAgent::Refused { method, body, answer } => {
                record(Event::RequestRefused { method, body, answer })
            }
        }
    }

    fn on_ready(&self, thread: String, facts: Facts) -> Step {
        // It came too late: the session was closed, or took another agent, while it was starting.
        if self.closing.is_some() || !self.attaching {
            return Step::default();
        }
        let mut step = record(Event::Attached { thread, facts });
        if let Some(turn) = &self.turn
            && turn.progress == Progress::Waiting
        {
            let prompt = turn.prompt.clone();
            step.then.push(Effect::Tell(ToAgent::StartTurn { turn: turn.id, prompt }));
        }
        step
    }

    fn on_not_ready(&self, error: AgentError) -> Step {
        if !self.attaching {
            return Step::default();
        }
        let mut step = record(Event::AttachFailed { error: error.clone() });
        step.record.extend(self.end_turn(Outcome::Failed { error }, Report::default()));
        step
    }

    fn on_exited(&self, cause: &str, fault: Option<Fault>) -> Step {
        let lost = Outcome::Lost { cause: cause.to_owned(), fault };
        let mut record: Vec<_> = self.lose_asks().chain(self.lose_commands()).collect();
        record.extend(self.end_turn_only(lost, Report::default()));
        if self.agent.is_some() || self.attaching {
            record.push(Event::Detached { cause: cause.to_owned() });
        }
        Step { record, then: vec![] }
    }

    fn on_turn_started(&self, name: String) -> Step {
        if self.ended_name.as_ref() == Some(&name) {
            return Step::default();
        }
        let Some(turn) = &self.turn else {
            // The agent takes turns of its own accord too: after a compaction, for a review.
            let turn = TurnId(self.turns + 1);
            let prompt = Prompt::default();
            let by = Actor::Agent;
            return Step {
                record: vec![
                    Event::TurnRequested { turn, prompt, by, queued: false },
                    Event::TurnStarted { turn, name },
                ],
                then: vec![],
            };
        };
        match &turn.progress {
            Progress::Waiting | Progress::Told => {
                let mut step = record(Event::TurnStarted { turn: turn.id, name: name.clone() });
                if turn.interrupted {
                    step.then.push(Effect::Tell(ToAgent::Interrupt { turn: name }));
                }
                step
            }
            Progress::Started(_) => Step::default(),
        }
    }

    fn on_turn_refused(&self, error: AgentError) -> Step {
        let Some(turn) = &self.turn else { return Step::default() };
        match turn.progress {
            Progress::Told => {
                let outcome =
                    if turn.interrupted { Outcome::Interrupted } else { Outcome::Failed { error } };
                self.after_turn(self.end_turn(outcome, Report::default()))
            }
            Progress::Waiting | Progress::Started(_) => Step::default(),
        }
    }

    fn on_turn_ended(&self, name: Option<&str>, outcome: Outcome, report: Report) -> Step {
        let Some(turn) = &self.turn else { return Step::default() };
        let ours = match (&turn.progress, name) {
            (Progress::Waiting, _) => false,
            // Said again of the turn before.
            (Progress::Told, Some(name)) => self.ended_name.as_deref() != Some(name),
            (Progress::Told | Progress::Started(_), None) => true,
            (Progress::Started(ours), Some(name)) => ours == name,
        };
        if ours { self.after_turn(self.end_turn(outcome, report)) } else { Step::default() }
    }

    /// What the end of a turn leads to: the prompt that has waited longest has its turn.
    pub(super) fn after_turn(&self, record: Vec<Event>) -> Step {
        let next = self.next_from_queue();
        Step { record: record.into_iter().chain(next.record).collect(), then: next.then }
    }

    fn on_request(&self, moment: &Moment<'_>, request: Request) -> Step {
        if self.asks.values().any(|it| it.key == request.key && it.is_of_agent()) {
            return Step::default();
        }
        let Request { key, subject, offers, reason, item, params, agent, echo_of } = request;
        // A person has that question before them already, and its tool tells the agent itself.
        if let Some(ask) = echo_of {
            return record(Event::AskEchoed { key, ask });
        }
        if let Subject::Adoption { .. } = &subject {
            debug_assert!(false, "no agent asks for a session");
            return Step::default();
        }
        if self.asks.len() >= MAX_PENDING_ASKS {
            let method = format!("{:?}", subject.kind());
            let answer = format!("refused: {MAX_PENDING_ASKS} requests are pending already");
            return Step {
                record: vec![Event::RequestRefused { method, body: params, answer }],
                then: vec![Effect::Tell(ToAgent::Expire { key, waited_s: 0 })],
            };
        }
        let id = AskId(self.asked + 1);
        let digest = subject.digest();
        let turn = self.turn.as_ref().map(|it| it.id);
        let ask = Ask {
            id,
            key,
            turn,
            item,
            subject,
            offers,
            reason,
            digest,
            params,
            agent,
            asked_by: None,
            raised_at: moment.now,
            expires_at: self.deadline(moment),
            on_expiry: OnExpiry::default(),
        };
        raise(moment, ask)
    }

    /// When an ask that is raised now expires.
    pub(super) fn deadline(&self, moment: &Moment<'_>) -> Option<Timestamp> {
        limit(self.spec.patience, moment)
    }

    /// Codex says so after every answer, and after the turn is over too. Only an ask that is still
    /// pending is news.
    fn on_settles(&self, key: &str) -> Step {
        let pending = self.asks.values().filter(|it| it.key == key && it.is_of_agent());
        let record =
            pending.map(|it| Event::AskSettled { ask: it.id, how: Settled::Withdrawn }).collect();
        Step { record, then: vec![] }
    }

    /// Leaves nothing of the turn open: an interrupted turn never completes its items, and Codex
    /// withdraws its requests only after the turn is over. A sub-agent's asks outlive the turn.
    pub(super) fn end_turn(&self, outcome: Outcome, report: Report) -> Vec<Event> {
        let Some(turn) = &self.turn else { return vec![] };
        let asks = self.asks.values().filter(|it| it.turn == Some(turn.id) && it.agent.is_none());
        asks.map(|it| Event::AskSettled { ask: it.id, how: Settled::Withdrawn })
            .chain(self.end_turn_only(outcome, report))
            .collect()
    }

    fn end_turn_only(&self, outcome: Outcome, report: Report) -> Vec<Event> {
        let Some(turn) = &self.turn else { return vec![] };
        let items = turn.open_items.iter().cloned().map(|item| Event::ItemAbandoned { item });
        items.chain([Event::TurnEnded { turn: turn.id, outcome, report }]).collect()
    }

    fn lose_asks(&self) -> impl Iterator<Item = Event> {
        let asks = self.asks.values().filter(|it| it.is_of_agent());
        asks.map(|it| Event::AskSettled { ask: it.id, how: Settled::Lost })
    }

    /// Whoever ran them is gone; nobody can say what they did, and they must not run again.
    pub(super) fn lose_commands(&self) -> impl Iterator<Item = Event> {
        let started = self.commands.iter().filter(|(_, it)| **it == CommandProgress::Started);
        started.map(|(ask, _)| Event::CommandEnded {
            ask: *ask,
            result: CommandResult {
                end: CommandEnd::Lost,
                stdout: String::new(),
                stderr: String::new(),
                truncated: false,
            },
        })
    }

    /// Settles those that `done` does not settle already.
    pub(super) fn settle_rest(&self, done: &[Event], how: &Settled) -> Vec<Event> {
        let is_done = |id: AskId| {
            done.iter().any(|it| matches!(it, Event::AskSettled { ask, how: _ } if *ask == id))
        };
        self.asks
            .keys()
            .filter(|it| !is_done(**it))
            .map(|&ask| Event::AskSettled { ask, how: how.clone() })
            .collect()
    }
}

/// Puts an ask before people, unless a rule answers it.
pub(super) fn raise(moment: &Moment<'_>, mut ask: Ask) -> Step {
    if let Some(on_expiry) = moment.policy.on_expiry(&ask) {
        ask.on_expiry = on_expiry;
        if on_expiry == OnExpiry::Wait {
            ask.expires_at = None;
        }
    }
    let verdict = moment.policy.verdict(&ask);
    let (id, is_of_agent) = (ask.id, ask.is_of_agent());
    let key = ask.key.clone();
    let mut step = record(Event::AskRaised { ask: Box::new(ask) });
    if let Verdict::Answered { answer, rule } = verdict {
        step.record.push(Event::AskSettled {
            ask: id,
            how: Settled::Answered {
                answer: answer.clone(),
                by: Actor::Policy { rule },
                reason: None,
                note: None,
                bound: true,
            },
        });
        if is_of_agent {
            step.then.push(Effect::Tell(ToAgent::Answer { key, answer, reason: None }));
        }
    }
    step
}

fn record(event: Event) -> Step {
    Step { record: vec![event], then: vec![] }
}
