//! How each fact changes a session.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Closing, MAX_QUEUED_PROMPTS, MAX_REMEMBERED, Opening, Session, Settlement, Thread};
use crate::{
    Actor, Answer, Ask, AskId, CommandProgress, Decision, EndedTurn, Event, Progress, Settled,
    Turn, item,
};

impl Session {
    pub(super) fn apply_event(&mut self, at: Timestamp, event: &Event) {
        match event {
            Event::Opened { format: _, spec, by, fork_of } => {
                self.spec.clone_from(spec);
                self.opening = Some(Opening { at, by: by.clone(), fork_of: fork_of.clone() });
                self.attaching = !spec.agentless;
            }
            Event::Attached { thread, facts } => {
                // A fork is on disk from its first moment; so is what was there to be resumed.
                let forked = self.opening.as_ref().is_some_and(|it| it.fork_of.is_some());
                let resumed =
                    self.thread.as_ref().is_some_and(|it| it.durable && it.name == *thread);
                let durable = (forked || resumed) && !self.spec.ephemeral;
                self.thread = Some(Thread { name: thread.clone(), durable });
                self.agent = Some(facts.clone());
                self.attaching = false;
                self.attach_error = None;
                self.ended_name = None;
                if let Some(turn) = &mut self.turn
                    && turn.progress == Progress::Waiting
                {
                    turn.progress = Progress::Told;
                }
            }
            Event::AttachFailed { error } => {
                self.attaching = false;
                self.attach_error = Some(error.clone());
            }
            Event::Detached { cause: _ } => {
                self.agent = None;
                self.attaching = false;
                self.told.clear();
            }
            Event::TurnRequested { turn, prompt, by, queued } => {
                if *queued {
                    self.queue.pop_front();
                }
                let progress = if self.agent.is_some() {
                    Progress::Told
                } else {
                    self.attaching = true;
                    Progress::Waiting
                };
                self.spec.override_with(&prompt.overrides);
                self.expiries.clear();
                self.turns = turn.0;
                self.turn = Some(Turn {
                    id: *turn,
                    prompt: prompt.clone(),
                    by: by.clone(),
                    progress,
                    interrupted: false,
                    open_items: BTreeSet::new(),
                    requested_at: at,
                });
            }
            Event::PromptQueued { prompt, by } => {
                if self.queue.len() < MAX_QUEUED_PROMPTS {
                    self.queue.push_back((prompt.clone(), by.clone()));
                }
            }
            Event::TurnStarted { turn: _, name } => {
                if let Some(turn) = &mut self.turn {
                    turn.progress = Progress::Started(name.clone());
                }
                if let Some(thread) = &mut self.thread {
                    thread.durable = !self.spec.ephemeral;
                }
            }
            Event::InterruptRequested { turn: _, by: _ } => {
                if let Some(turn) = &mut self.turn {
                    turn.interrupted = true;
                }
            }
            Event::ItemStarted { turn: _, item, kind: _, body: _, agent: _ } => {
                if let Some(turn) = &mut self.turn {
                    item::open(&mut turn.open_items, item);
                }
            }
            Event::ItemCompleted { turn: _, item, kind: _, body: _, agent: _ }
            | Event::ItemAbandoned { item } => {
                if let Some(turn) = &mut self.turn {
                    turn.open_items.remove(item);
                }
            }
            Event::AskRaised { ask } => {
                self.asked = ask.id.0;
                // What was said to another request of that name is not what is said to this one.
                self.told.remove(&ask.key);
                self.asks.insert(ask.id, Ask::clone(ask));
            }
            Event::AskSettled { ask, how } => {
                if let Some(ask) = self.asks.remove(ask) {
                    self.remember_told(&ask, how);
                    self.take_note_of(at, &ask, how);
                }
                if self.settlements.len() >= MAX_REMEMBERED {
                    self.settlements.pop_first();
                }
                self.settlements.insert(*ask, Settlement { at, how: how.clone() });
            }
            Event::CommandStarted { ask, by: _ } => {
                self.set_command(*ask, CommandProgress::Started);
            }
            Event::CommandEnded { ask, result: _ } => {
                self.set_command(*ask, CommandProgress::Ended { seq: self.seq });
            }
            Event::TurnEnded { turn: _, outcome, report } => {
                if let Some(turn) = self.turn.take() {
                    let name = match turn.progress {
                        Progress::Started(name) => Some(name),
                        Progress::Waiting | Progress::Told => None,
                    };
                    self.ended_name.clone_from(&name);
                    self.last_turn = Some(EndedTurn {
                        id: turn.id,
                        prompt: turn.prompt.text,
                        outcome: outcome.clone(),
                        report: report.clone(),
                        name,
                        requested_at: turn.requested_at,
                        ended_at: at,
                    });
                }
            }
            Event::Renamed { title, by: _ } => self.spec.title = Some(title.clone()),
            Event::Adopted { caller, by: _ } => {
                self.adopter = Some(Actor::Caller { id: caller.clone() });
            }
            Event::Closed { reason, by } => {
                self.closing = Some(Closing { at, reason: reason.clone(), by: by.clone() });
                self.queue.clear();
            }
            Event::AskNotShown { ask: _, via: _, why: _ }
            | Event::AskEchoed { key: _, ask: _ }
            | Event::Steered { turn: _, prompt: _, by: _ }
            | Event::Noted { method: _, body: _ }
            | Event::RequestRefused { method: _, body: _, answer: _ }
            | Event::Managed { what: _, by: _ } => {}
        }
    }

    fn take_note_of(&mut self, at: Timestamp, ask: &Ask, how: &Settled) {
        match how {
            Settled::Answered { answer, .. } => {
                self.expiries.remove(&ask.digest);
                if ask.is_callers_command() && *answer == Answer::plain(Decision::Accept) {
                    self.set_command(ask.id, CommandProgress::Accepted { at });
                }
            }
            Settled::Expired { answer: None, .. } if ask.is_of_agent() => {
                if self.expiries.len() >= MAX_REMEMBERED {
                    self.expiries.pop_first();
                }
                *self.expiries.entry(ask.digest.clone()).or_default() += 1;
            }
            Settled::Expired { .. } | Settled::Withdrawn | Settled::Lost => {}
        }
    }

    fn set_command(&mut self, ask: AskId, progress: CommandProgress) {
        if self.commands.len() >= MAX_REMEMBERED && !self.commands.contains_key(&ask) {
            self.commands.pop_first();
        }
        self.commands.insert(ask, progress);
    }
}
