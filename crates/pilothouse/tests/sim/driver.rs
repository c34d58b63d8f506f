//! The loop that owns one session, cut into steps between which anything may happen.

use std::collections::VecDeque;

use jiff::Timestamp;
use pilothouse::{
    core::{
        Effect, Envelope, Event, FromAgent, Intent, Moment, Policy, Refusal, Seq, Session, Step,
    },
    store::Epoch,
};

use crate::errand::Ending;

/// Most messages of an agent that are put on record together.
pub(crate) const MAX_BATCH: usize = 5;

/// One session on one node.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) epoch: Epoch,
    pub(crate) session: Session,
    /// Its agent, by number.
    pub(crate) agent: Option<usize>,
    /// What is under way; nothing else is looked at before it is done.
    pub(crate) work: VecDeque<Work>,
    /// What is wanted of it, and when it was: errands by number.
    pub(crate) orders: VecDeque<usize>,
    pub(crate) since_snapshot: usize,
}

/// A step that is still to be done.
#[derive(Debug)]
pub(crate) enum Work {
    /// Put on record. On failure the session is as before, or it is tried again.
    Append {
        events: Vec<Envelope>,
        before: Option<Box<Session>>,
    },
    Perform(Effect),
    /// Tell whoever wanted it.
    Reply(usize),
}

impl Driver {
    pub(crate) fn new(epoch: Epoch, session: Session) -> Self {
        Self {
            epoch,
            session,
            agent: None,
            work: VecDeque::new(),
            orders: VecDeque::new(),
            since_snapshot: 0,
        }
    }

    /// Begins a session that is new.
    pub(crate) fn begin(&mut self, now: Timestamp, step: Step, errand: usize) {
        self.take_up(now, step, false);
        self.work.push_back(Work::Reply(errand));
    }

    /// Puts on record what became of a session whose node is gone.
    pub(crate) fn recover(&mut self, now: Timestamp) {
        let session = &self.session;
        if session.agent().is_some()
            || session.is_attaching()
            || session.turn().is_some()
            || !session.asks().is_empty()
        {
            let cause = "the Pilothouse that ran it is gone".to_owned();
            self.take_up_all(now, vec![FromAgent::Exited { cause, fault: None }], false);
        }
    }

    /// Carries out what somebody wants, as of when it was wanted; a refusal changes nothing.
    pub(crate) fn intend(
        &mut self,
        now: Timestamp,
        at: Timestamp,
        intent: Intent,
        by: &pilothouse::core::Actor,
        errand: usize,
    ) -> Result<(), Refusal> {
        let policy = Policy::default();
        let moment = Moment { now: at, human_present: false, policy: &policy };
        let step = self.session.on_intent(&moment, intent, by)?;
        self.take_up(now, step, false);
        self.work.push_back(Work::Reply(errand));
        Ok(())
    }

    /// Hears what its agent has said.
    pub(crate) fn hear(&mut self, now: Timestamp, messages: Vec<FromAgent>) {
        self.take_up_all(now, messages, false);
    }

    /// Looks at the clock.
    pub(crate) fn tick(&mut self, now: Timestamp) {
        let step = self.session.on_tick(now);
        self.take_up(now, step, true);
    }

    /// The agent could not be brought.
    pub(crate) fn rests(&self) -> bool {
        let session = &self.session;
        self.work.is_empty()
            && self.orders.is_empty()
            && session.turn().is_none()
            && session.asks().is_empty()
            && !session.is_attaching()
    }

    pub(crate) fn seq(&self) -> Ending {
        Ending::Done(self.session.seq())
    }

    fn take_up_all(&mut self, now: Timestamp, messages: Vec<FromAgent>, human_present: bool) {
        let policy = Policy::default();
        let (mut events, mut effects) = (vec![], vec![]);
        for message in messages {
            let gone = matches!(&message, FromAgent::Exited { .. });
            let moment = Moment { now, human_present, policy: &policy };
            let step = self.session.on_agent(&moment, message);
            for event in step.record {
                events.push(self.take_note(now, event));
            }
            effects.extend(step.then);
            if gone {
                self.agent = None;
            }
        }
        self.push(events, None, effects);
    }

    /// What cannot be refused is tried again when the store fails.
    fn take_up(&mut self, now: Timestamp, step: Step, insist: bool) {
        let before = (!insist).then(|| Box::new(self.session.clone()));
        let events = step.record.into_iter().map(|it| self.take_note(now, it)).collect();
        self.push(events, before, step.then);
    }

    fn push(&mut self, events: Vec<Envelope>, before: Option<Box<Session>>, then: Vec<Effect>) {
        if !events.is_empty() {
            self.work.push_back(Work::Append { events, before });
        }
        self.work.extend(then.into_iter().map(Work::Perform));
    }

    fn take_note(&mut self, at: Timestamp, event: Event) -> Envelope {
        let envelope = Envelope { seq: Seq(self.session.seq().0 + 1), at, event };
        self.session.apply(&envelope);
        envelope
    }
}
