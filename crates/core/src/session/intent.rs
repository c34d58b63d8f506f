//! What actors want of a session, and what the rules say to it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CallerRequest, Effect, MAX_QUEUED_PROMPTS, Moment, Session, Settlement, Step};
use crate::{
    Actor, Answer, Answerers, Ask, AskId, CommandResult, Decision, Event, Management, Origin,
    Outcome, Progress, Prompt, Report, Settled, Spec, ToAgent, TurnId, event,
};

/// What becomes of a prompt while a turn is under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WhenBusy {
    /// It is refused.
    #[default]
    Refuse,
    /// It is added to the turn.
    Steer,
    /// It waits for its own turn.
    Queue,
}

/// Something that an actor wants done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Intent {
    /// Begin a turn.
    Prompt {
        /// What is wanted.
        prompt: Prompt,
        /// What if one is under way.
        when_busy: WhenBusy,
    },
    /// Stop the turn.
    Interrupt,
    /// Answer an ask.
    Answer {
        /// Which.
        ask: AskId,
        /// What.
        answer: Answer,
        /// The digest of what was shown.
        digest: Option<String>,
        /// Why, for the agent to read.
        reason: Option<String>,
        /// A note that stays in the log.
        note: Option<String>,
    },
    /// Do something to the thread as a whole.
    Manage {
        /// What.
        what: Management,
    },
    /// Let an idle agent go; the session stays.
    Release,
    /// Call it something else.
    Rename {
        /// What.
        title: String,
    },
    /// Ask a person to give it to the caller that says so.
    Adopt {
        /// What the caller's program calls itself.
        client: Option<String>,
    },
    /// Ask a person something of the caller's own.
    Ask {
        /// What.
        request: Box<CallerRequest>,
    },
    /// Take back what a caller asked.
    Withdraw {
        /// Which.
        ask: AskId,
    },
    /// Say that a client that was to show an ask did not.
    NotShown {
        /// Which.
        ask: AskId,
        /// The client.
        via: String,
        /// What it did instead.
        why: String,
    },
    /// Begin to run the command that a person allowed the caller to run.
    StartCommand {
        /// The ask that allowed it.
        ask: AskId,
    },
    /// Say what became of that command.
    EndCommand {
        /// The ask that allowed it.
        ask: AskId,
        /// What.
        result: Box<CommandResult>,
    },
    /// End it for good.
    Close {
        /// Why.
        reason: String,
    },
}

/// The rules say no.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Refusal {
    /// It takes nothing any more.
    #[error("the session is closed ({reason})")]
    Closed {
        /// Why.
        reason: String,
    },
    /// One turn at a time.
    #[error("a turn is under way; wait for it, interrupt it, or steer or queue the prompt")]
    Busy,
    /// There is nothing to stop.
    #[error("no turn is under way")]
    Idle,
    /// No agent is there to do it.
    #[error("no agent is attached; a prompt brings one")]
    Detached,
    /// As many prompts wait as may.
    #[error("{limit} prompts are waiting already")]
    QueueFull {
        /// How many may.
        limit: u32,
    },
    /// It only holds what its caller asks people.
    #[error("no agent works in this session; start another one with `codex`")]
    Agentless,
    /// Nobody has said yes to this command, or it is no command of a caller's.
    #[error("nobody has allowed this command to run")]
    NotAccepted,
    /// A command that was allowed runs once.
    #[error("the command has been started already")]
    StartedAlready,
    /// The yes was given too long ago.
    #[error("the command was allowed over {limit_s} s ago and not run; ask again")]
    AcceptedTooLongAgo {
        /// How long a yes holds.
        limit_s: u32,
    },
    /// It does not run.
    #[error("the command does not run")]
    NotRunning,
    /// Never raised.
    #[error("there is no such request in this session")]
    NoSuchAsk,
    /// Not pending any more.
    #[error("the request is settled already")]
    AlreadySettled {
        /// How and when, if that is remembered.
        settlement: Option<Box<Settlement>>,
    },
    /// A program tried to answer what only a person may.
    #[error("only a person may answer this")]
    HumanOnly,
    /// The caller does not own the session.
    #[error("the session belongs to another caller")]
    NotYours,
    /// Something else was shown than what would be answered.
    #[error("the request is not the one that was shown; look at it again")]
    DigestMismatch,
    /// The answer does not fit.
    #[error("{field}: {problem}")]
    Misfit {
        /// The field at fault.
        field: String,
        /// What is wrong and what was expected.
        problem: String,
    },
}

impl Session {
    /// Decides how a session begins.
    pub fn open(spec: Spec, by: &Actor, fork_of: Option<Origin>, prompt: Option<Prompt>) -> Step {
        let attach = match &fork_of {
            Some(origin) => crate::Attach::Fork { thread: origin.thread.clone() },
            None => crate::Attach::Start,
        };
        let format = event::FORMAT;
        let agentless = spec.agentless;
        let prompt = prompt.filter(|_| !agentless);
        let mut record = vec![Event::Opened { format, spec, by: by.clone(), fork_of }];
        record.extend(prompt.map(|prompt| Event::TurnRequested {
            turn: TurnId(1),
            prompt,
            by: by.clone(),
            queued: false,
        }));
        let then = if agentless { vec![] } else { vec![Effect::Attach(attach)] };
        Step { record, then }
    }

    /// Decides what an intent leads to.
    pub fn on_intent(
        &self,
        moment: &Moment<'_>,
        intent: Intent,
        by: &Actor,
    ) -> Result<Step, Refusal> {
        if let Some(closing) = &self.closing {
            return match intent {
                Intent::Close { .. }
                | Intent::Release
                | Intent::Withdraw { .. }
                | Intent::NotShown { .. } => Ok(Step::default()),
                Intent::Answer { ask, .. } => Err(self.not_pending(ask)),
                Intent::EndCommand { ask, result } => self.on_end_command(ask, *result),
                Intent::Prompt { .. }
                | Intent::Interrupt
                | Intent::Ask { .. }
                | Intent::StartCommand { .. }
                | Intent::Manage { .. }
                | Intent::Rename { .. }
                | Intent::Adopt { .. } => Err(Refusal::Closed { reason: closing.reason.clone() }),
            };
        }
        match intent {
            Intent::Prompt { .. } if self.spec.agentless => Err(Refusal::Agentless),
            Intent::Prompt { prompt, when_busy } => self.on_prompt(prompt, when_busy, by),
            Intent::Interrupt => self.on_interrupt(by),
            Intent::Answer { ask, answer, digest, reason, note } => {
                let said = Said { answer, digest, reason, note };
                self.on_answer(moment.now, ask, said, by)
            }
            Intent::Manage { what } => self.on_manage(what, by),
            Intent::Release => self.on_release(),
            Intent::Rename { title } => {
                Ok(Step { record: vec![Event::Renamed { title, by: by.clone() }], then: vec![] })
            }
            Intent::Adopt { client } => self.on_adopt(moment, client, by),
            Intent::Ask { request } => self.on_ask(moment, *request, by),
            Intent::Withdraw { ask } => Ok(self.on_withdraw(ask)),
            Intent::NotShown { ask, via, why } => Ok(self.on_not_shown(ask, via, why)),
            Intent::StartCommand { ask } => self.on_start_command(moment.now, ask, by),
            Intent::EndCommand { ask, result } => self.on_end_command(ask, *result),
            Intent::Close { reason } => Ok(self.on_close(reason, by)),
        }
    }

    fn on_prompt(&self, prompt: Prompt, when_busy: WhenBusy, by: &Actor) -> Result<Step, Refusal> {
        match &self.turn {
            None if self.queue.is_empty() => {
                let turn = TurnId(self.turns + 1);
                Ok(self.begin_turn(turn, prompt, by.clone(), false))
            }
            // Prompts that waited when the agent went away go first, which makes room for this one.
            None => {
                let mut step = self.next_from_queue();
                step.record.push(Event::PromptQueued { prompt, by: by.clone() });
                Ok(step)
            }
            Some(turn) => match (when_busy, &turn.progress) {
                (WhenBusy::Steer, Progress::Started(name)) => Ok(Step {
                    record: vec![Event::Steered {
                        turn: turn.id,
                        prompt: prompt.clone(),
                        by: by.clone(),
                    }],
                    then: vec![Effect::Tell(ToAgent::Steer { turn: name.clone(), prompt })],
                }),
                (WhenBusy::Queue, _) => {
                    self.room_in_queue()?;
                    let record = vec![Event::PromptQueued { prompt, by: by.clone() }];
                    Ok(Step { record, then: vec![] })
                }
                (WhenBusy::Steer, Progress::Waiting | Progress::Told) | (WhenBusy::Refuse, _) => {
                    Err(Refusal::Busy)
                }
            },
        }
    }

    fn room_in_queue(&self) -> Result<(), Refusal> {
        if self.queue.len() < MAX_QUEUED_PROMPTS {
            return Ok(());
        }
        Err(Refusal::QueueFull { limit: u32::try_from(MAX_QUEUED_PROMPTS).unwrap_or(u32::MAX) })
    }

    /// The turn for the prompt that has waited longest; nothing if none waits.
    pub(super) fn next_from_queue(&self) -> Step {
        let Some((prompt, by)) = self.queue.front().cloned() else { return Step::default() };
        self.begin_turn(TurnId(self.turns + 1), prompt, by, true)
    }

    fn begin_turn(&self, turn: TurnId, prompt: Prompt, by: Actor, queued: bool) -> Step {
        let then = if self.agent.is_some() {
            vec![Effect::Tell(ToAgent::StartTurn { turn, prompt: prompt.clone() })]
        } else if self.attaching {
            vec![]
        } else {
            vec![Effect::Attach(self.attach())]
        };
        Step { record: vec![Event::TurnRequested { turn, prompt, by, queued }], then }
    }

    fn on_interrupt(&self, by: &Actor) -> Result<Step, Refusal> {
        let turn = self.turn.as_ref().ok_or(Refusal::Idle)?;
        let mut step = Step::default();
        if !turn.interrupted {
            step.record.push(Event::InterruptRequested { turn: turn.id, by: by.clone() });
        }
        match &turn.progress {
            // Nobody was told of it, so nobody will say that it ended.
            Progress::Waiting => {
                let ended = self.end_turn(Outcome::Interrupted, Report::default());
                let next = self.after_turn(ended);
                step.record.extend(next.record);
                step.then.extend(next.then);
            }
            Progress::Told => {}
            Progress::Started(name) => {
                step.then.push(Effect::Tell(ToAgent::Interrupt { turn: name.clone() }));
            }
        }
        Ok(step)
    }

    fn on_answer(
        &self,
        now: Timestamp,
        id: AskId,
        said: Said,
        by: &Actor,
    ) -> Result<Step, Refusal> {
        let Some(ask) = self.asks.get(&id) else { return Err(self.not_pending(id)) };
        // Time may have run out before the clock was looked at.
        if ask.expires_at.is_some_and(|it| it <= now) {
            return Ok(self.on_tick(now));
        }
        self.may_answer(ask, by)?;
        let Said { answer, digest, reason, note } = said;
        if digest.as_ref().is_some_and(|it| *it != ask.digest) {
            return Err(Refusal::DigestMismatch);
        }
        ask.check(&answer)
            .map_err(|it| Refusal::Misfit { field: it.field, problem: it.problem })?;
        let on_record = match &answer {
            Answer::Chosen { .. } if ask.is_secret() => Answer::Redacted,
            Answer::Decided { .. }
            | Answer::Chosen { .. }
            | Answer::Filled { .. }
            | Answer::Redacted => answer.clone(),
        };
        let how = Settled::Answered {
            answer: on_record,
            by: by.clone(),
            reason: reason.clone(),
            note,
            bound: digest.is_some(),
        };
        let mut step = Step { record: vec![Event::AskSettled { ask: id, how }], then: vec![] };
        match ask.adopter() {
            Some(caller) if answer == Answer::plain(Decision::Accept) => {
                let caller = caller.to_owned();
                step.record.push(Event::Adopted { caller, by: by.clone() });
            }
            None if ask.is_of_agent() => {
                let key = ask.key.clone();
                step.then.push(Effect::Tell(ToAgent::Answer { key, answer, reason }));
            }
            // The caller reads its answer from the log.
            Some(_) | None => {}
        }
        Ok(step)
    }

    fn not_pending(&self, ask: AskId) -> Refusal {
        if ask.0 == 0 || ask.0 > self.asked {
            return Refusal::NoSuchAsk;
        }
        Refusal::AlreadySettled { settlement: self.settlements.get(&ask).cloned().map(Box::new) }
    }

    /// A caller may answer approvals of its own session, unless that is turned off. Secrets are for
    /// people alone.
    fn may_answer(&self, ask: &Ask, by: &Actor) -> Result<(), Refusal> {
        match by {
            Actor::Human { .. } => Ok(()),
            Actor::Policy { .. } if ask.is_callers_command() => Ok(()),
            // Or it would give itself what it asks for.
            Actor::Caller { .. } | Actor::Policy { .. } if !ask.is_of_agent() => {
                Err(Refusal::HumanOnly)
            }
            Actor::Policy { .. } if !ask.is_secret() => Ok(()),
            Actor::Caller { .. } => {
                if self.spec.answerers == Answerers::Human || ask.is_secret() {
                    return Err(Refusal::HumanOnly);
                }
                let owner = self.owner();
                let is_owner = owner == Some(by);
                // A caller has a new name after each restart of its host. What it prompts of an
                // older caller's session is its own work too; a person's session never is.
                let prompted = self
                    .turn
                    .as_ref()
                    .is_some_and(|turn| ask.turn == Some(turn.id) && turn.by == *by);
                let of_caller = matches!(owner, Some(Actor::Caller { .. }));
                if is_owner || (of_caller && prompted) { Ok(()) } else { Err(Refusal::NotYours) }
            }
            Actor::Policy { .. } | Actor::Clock | Actor::Agent | Actor::Node => {
                Err(Refusal::HumanOnly)
            }
        }
    }

    fn on_manage(&self, what: Management, by: &Actor) -> Result<Step, Refusal> {
        let needs_rest = match &what {
            Management::CleanTerminals => false,
            Management::Compact | Management::Review { .. } | Management::Archive => true,
        };
        if self.agent.is_none() {
            return Err(Refusal::Detached);
        }
        if needs_rest && self.turn.is_some() {
            return Err(Refusal::Busy);
        }
        Ok(Step {
            record: vec![Event::Managed { what: what.clone(), by: by.clone() }],
            then: vec![Effect::Tell(ToAgent::Manage(what))],
        })
    }

    fn on_release(&self) -> Result<Step, Refusal> {
        if self.turn.is_some() || !self.asks.is_empty() || self.attaching || self.runs_command() {
            return Err(Refusal::Busy);
        }
        if self.agent.is_none() {
            return Ok(Step::default());
        }
        let record = vec![Event::Detached { cause: "idle".to_owned() }];
        Ok(Step { record, then: vec![Effect::Detach] })
    }

    /// Unlike after an interrupt nobody waits for the agent's word: it is let go.
    fn on_close(&self, reason: String, by: &Actor) -> Step {
        let mut record = self.end_turn(Outcome::Interrupted, Report::default());
        record.extend(self.settle_rest(&record, &Settled::Withdrawn));
        record.push(Event::Closed { reason, by: by.clone() });
        let mut then = vec![];
        if self.agent.is_some() || self.attaching {
            record.push(Event::Detached { cause: "closed".to_owned() });
            then.push(Effect::Detach);
        }
        Step { record, then }
    }
}

struct Said {
    answer: Answer,
    digest: Option<String>,
    reason: Option<String>,
    note: Option<String>,
}
