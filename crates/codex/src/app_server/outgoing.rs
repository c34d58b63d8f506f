//! What sessions want of Codex, as requests and answers.

use jiff::Timestamp;
use pilothouse_core::{AgentError, Answer, Attach, Decision, FromAgent, Management, Prompt};
use serde_json::{Value, json};

use super::{
    Output, Tag,
    answers::{answer, expire, unanswered},
    asks::{Asked, Form},
    params,
    peer::Peer,
    requests::{LeaveStep, Outgoing, Purpose},
    seat::Seat,
    versions::Feature,
};

impl Peer {
    pub(super) fn start_turn(&mut self, now: Timestamp, tag: Tag, prompt: &Prompt) -> Vec<Output> {
        let version = self.version();
        let Some((seat, thread)) = self.seated(tag) else {
            let message = "the agent has no thread for this session; prompt again to bring one";
            let error = AgentError { message: message.to_owned(), detail: Value::Null };
            return vec![Output::Said(tag, FromAgent::TurnRefused { error })];
        };
        let Some(state) = self.seats.get_mut(&tag) else { return vec![] };
        let first = std::mem::take(&mut state.first);
        let params = params::turn(version, &thread, prompt, first, &state.sandboxes);
        let purpose = Purpose::StartTurn { tag, seat };
        self.submit(now, Outgoing::new(purpose, "turn/start", params))
    }

    pub(super) fn steer(
        &mut self,
        now: Timestamp,
        tag: Tag,
        turn: &str,
        prompt: &Prompt,
    ) -> Vec<Output> {
        let Some((seat, thread)) = self.seated(tag) else { return vec![] };
        let purpose = Purpose::Manage { tag, seat };
        let params =
            json!({"threadId": thread, "expectedTurnId": turn, "input": params::input(prompt)});
        self.submit(now, Outgoing::new(purpose, "turn/steer", params))
    }

    /// Stops the turn, and those of its sub-agents, which would run on.
    pub(super) fn interrupt(&mut self, now: Timestamp, tag: Tag, turn: &str) -> Vec<Output> {
        let Some((_, own)) = self.seated(tag) else { return vec![] };
        let Some(seat) = self.seats.get(&tag) else { return vec![] };
        let children = seat.threads().into_iter().filter(|(thread, _)| *thread != own);
        let turns: Vec<_> = [(own.clone(), turn.to_owned())]
            .into_iter()
            .chain(children.filter_map(|(thread, turn)| Some((thread, turn?))))
            .collect();
        let mut outputs = Vec::new();
        for (thread, turn) in turns {
            let params = json!({"threadId": thread, "turnId": turn});
            let purpose = Purpose::Interrupt { thread };
            outputs.extend(self.submit(now, Outgoing::new(purpose, "turn/interrupt", params)));
        }
        outputs
    }

    /// Ends the commands that run on in a thread after their turn was stopped.
    pub(super) fn clean(&mut self, now: Timestamp, thread: &str, purpose: Purpose) -> Vec<Output> {
        if !self.version().has(Feature::CleanTerminals) {
            return vec![];
        }
        let params = json!({"threadId": thread});
        self.submit(now, Outgoing::new(purpose, "thread/backgroundTerminals/clean", params))
    }

    pub(super) fn answer(
        &mut self,
        now: Timestamp,
        tag: Tag,
        key: &str,
        said: &Answer,
        reason: Option<&str>,
    ) -> Vec<Output> {
        let Some(asked) = self.take_ask(tag, key) else { return vec![] };
        let mut outputs = Vec::new();
        let stops = *said == Answer::plain(Decision::Cancel);
        if let Some(reason) = reason.filter(|it| !it.trim().is_empty() && !stops) {
            outputs.extend(self.steer_asker(now, &asked, reason));
        }
        outputs.push(Output::Line(answer(&asked, said)));
        outputs
    }

    pub(super) fn expire(
        &mut self,
        now: Timestamp,
        tag: Tag,
        key: &str,
        waited_s: u64,
    ) -> Vec<Output> {
        let Some(asked) = self.take_ask(tag, key) else { return vec![] };
        let mut outputs = self.steer_asker(now, &asked, &unanswered(waited_s));
        outputs.push(Output::Line(expire(&asked, waited_s)));
        outputs
    }

    fn take_ask(&mut self, tag: Tag, key: &str) -> Option<Asked> {
        if self.asks.get(key)?.tag != tag {
            return None;
        }
        self.asks.remove(key)
    }

    /// Says something to the agent that waits, before its answer goes out: an answer takes no
    /// words. Where no turn waits there is nobody to read it.
    fn steer_asker(&mut self, now: Timestamp, asked: &Asked, words: &str) -> Vec<Output> {
        let can_read = asked.form != Form::Legacy && self.version().has(Feature::Steer);
        let Some(turn) = asked.turn.as_ref().filter(|_| can_read) else { return vec![] };
        let input = params::input(&Prompt::text(words));
        let params = json!({"threadId": asked.thread, "expectedTurnId": turn, "input": input});
        self.submit(now, Outgoing::new(Purpose::Quiet, "turn/steer", params))
    }

    pub(super) fn manage(&mut self, now: Timestamp, tag: Tag, what: Management) -> Vec<Output> {
        let Some((seat, thread)) = self.seated(tag) else { return vec![] };
        let purpose = Purpose::Manage { tag, seat };
        let (method, params) = match what {
            Management::CleanTerminals => {
                let threads = self.seats.get(&tag).map(Seat::threads).unwrap_or_default();
                let clean = |(thread, _): (String, _)| self.clean(now, &thread, purpose.clone());
                return threads.into_iter().flat_map(clean).collect();
            }
            Management::Compact => ("thread/compact/start", json!({"threadId": thread})),
            Management::Review { target } => {
                let params = json!({"threadId": thread, "target": target, "delivery": "inline"});
                ("review/start", params)
            }
            Management::Archive => ("thread/archive", json!({"threadId": thread})),
        };
        self.submit(now, Outgoing::new(purpose, method, params))
    }

    /// Lets a thread go: first its turn, then its commands, then the thread.
    pub(super) fn leave(
        &mut self,
        now: Timestamp,
        thread: &str,
        turn: Option<&str>,
    ) -> Vec<Output> {
        self.leaving.insert(thread.to_owned());
        let Some(turn) = turn else {
            return self.leave_on(now, thread, LeaveStep::Interrupted);
        };
        let params = json!({"threadId": thread, "turnId": turn});
        let purpose = Purpose::Leave { thread: thread.to_owned(), step: LeaveStep::Interrupted };
        self.submit(now, Outgoing::new(purpose, "turn/interrupt", params))
    }

    /// Goes on once a step is done, or has failed: the thread must go either way.
    pub(super) fn leave_on(
        &mut self,
        now: Timestamp,
        thread: &str,
        done: LeaveStep,
    ) -> Vec<Output> {
        let version = self.version();
        let purpose = |step| Purpose::Leave { thread: thread.to_owned(), step };
        match done {
            LeaveStep::Interrupted if version.has(Feature::CleanTerminals) => {
                self.clean(now, thread, purpose(LeaveStep::Cleaned))
            }
            LeaveStep::Interrupted | LeaveStep::Cleaned if version.has(Feature::Unsubscribe) => {
                let params = json!({"threadId": thread});
                let purpose = purpose(LeaveStep::Unsubscribed);
                self.submit(now, Outgoing::new(purpose, "thread/unsubscribe", params))
            }
            LeaveStep::Interrupted | LeaveStep::Cleaned | LeaveStep::Unsubscribed => {
                self.on_left(now, thread)
            }
        }
    }

    /// The thread has gone; who waits to resume it may do so.
    fn on_left(&mut self, now: Timestamp, thread: &str) -> Vec<Output> {
        self.leaving.remove(thread);
        let version = self.version();
        let is_for = |how: &Attach| match how {
            Attach::Resume { thread: it } => it == thread,
            Attach::Start | Attach::Fork { .. } => false,
        };
        let (ready, early): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.early).into_iter().partition(|(_, _, how, _)| is_for(how));
        self.early = early;
        let bring =
            |(tag, seat, how, spec): (_, _, _, _)| self.bring(now, version, tag, seat, &how, &spec);
        ready.into_iter().flat_map(bring).collect()
    }

    /// The number and thread of a session that has one.
    fn seated(&self, tag: Tag) -> Option<(u64, String)> {
        let seat = self.seats.get(&tag)?;
        Some((seat.number, seat.thread.clone()?))
    }
}
