//! A session at work: what it hears, decides and records, as lines.

use jiff::{SignedDuration, Timestamp};
use pilothouse_codex::Tag;
use pilothouse_core::{
    Actor, Effect, Envelope, FromAgent, Intent, Moment, Policy, Prompt, Session, Spec, Step,
};
use pilothouse_testkit::recording::Normaliser;
use serde_json::Value;

use crate::lines;

/// A session and the log that it keeps.
pub(crate) struct Desk {
    pub(crate) session: Session,
    pub(crate) now: Timestamp,
    tag: Tag,
    policy: Policy,
    log: String,
    last_delta: Option<String>,
}

fn person() -> Actor {
    Actor::Human { via: "replay".into(), verified: true }
}

impl Desk {
    /// A session that was just opened. It wants its agent.
    pub(crate) fn open(tag: Tag, spec: &Spec, prompt: Option<Prompt>) -> Self {
        let mut desk = Self {
            session: Session::default(),
            now: Timestamp::UNIX_EPOCH,
            tag,
            policy: Policy::default(),
            log: String::new(),
            last_delta: None,
        };
        let step = Session::open(spec.clone(), &person(), None, prompt);
        desk.record(&step);
        desk
    }

    pub(crate) fn at(&mut self, t: u64) {
        let now = SignedDuration::from_millis(i64::try_from(t).unwrap());
        self.now = self.now.max(Timestamp::UNIX_EPOCH + now);
    }

    pub(crate) fn hear(&mut self, message: FromAgent) -> Vec<Effect> {
        if let FromAgent::Delta { item, .. } = message {
            // One mark for all pieces in a row.
            if self.last_delta.as_ref() != Some(&item) {
                self.note_down(&format!("  … {item}"));
                self.last_delta = Some(item);
            }
            return vec![];
        }
        self.last_delta = None;
        let moment = Moment { now: self.now, human_present: true, policy: &self.policy };
        let step = self.session.on_agent(&moment, message);
        self.take(step)
    }

    pub(crate) fn intend(&mut self, intent: Intent) -> Vec<Effect> {
        let moment = Moment { now: self.now, human_present: true, policy: &self.policy };
        match self.session.on_intent(&moment, intent, &person()) {
            Ok(step) => self.take(step),
            Err(refusal) => {
                self.note_down(&format!("refused: {refusal}"));
                vec![]
            }
        }
    }

    pub(crate) fn tick(&mut self) -> Vec<Effect> {
        let step = self.session.on_tick(self.now);
        self.take(step)
    }

    pub(crate) fn note_down(&mut self, text: &str) {
        self.log.extend([&lines::head(self.now, self.tag), " ", text, "\n"]);
    }

    /// The log without what differs between two runs.
    pub(crate) fn into_log(self) -> String {
        let log = Normaliser::default().message(&Value::String(self.log));
        log.as_str().unwrap().to_owned()
    }

    fn take(&mut self, step: Step) -> Vec<Effect> {
        self.record(&step);
        for effect in &step.then {
            self.note_down(&format!("    → {}", lines::effect(effect)));
        }
        step.then
    }

    fn record(&mut self, step: &Step) {
        for event in &step.record {
            let seq = self.session.seq().next();
            let envelope = Envelope { seq, at: self.now, event: event.clone() };
            self.note_down(&lines::event(event));
            self.session.apply(&envelope);
        }
    }
}
