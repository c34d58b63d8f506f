//! Whatever the agent says and whoever wants whatever, in any order: the rules hold.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic"
)]

mod codec;
mod happening;
mod ledger;
mod rules;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use pilothouse_core::{
    Actor, Answer, Ask, Envelope, Intent, Moment, Policy, Session, Step, Subject,
};
use proptest::{collection::vec, prelude::*, test_runner::FileFailurePersistence};

use crate::{
    happening::{Beginning, Happening, SECRET, beginning, happening, policy},
    ledger::Ledger,
};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn rules_hold_in_every_history(
        beginning in beginning(),
        happenings in vec(happening(), 0..80),
    ) {
        let mut world = World::open(beginning);
        for happening in happenings {
            world.happen(happening);
        }
        world.every_state_is_the_fold_of_its_log();
        world.every_log_survives_the_disk();
    }
}

/// Failing seeds stay in the tree, wherever the tests are run from.
pub(crate) fn config() -> ProptestConfig {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/properties.txt");
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(seeds))),
        ..ProptestConfig::default()
    }
}

/// A session with its log, driven as a broker drives it.
struct World {
    session: Session,
    log: Vec<Envelope>,
    /// The session as it was after each step, by the length of its log.
    states: BTreeMap<usize, Session>,
    ledger: Ledger,
    now: Timestamp,
    human_present: bool,
    policy: Policy,
}

impl World {
    fn open(beginning: Beginning) -> Self {
        let Beginning { spec, by, fork_of, prompt } = beginning;
        let mut world = Self {
            session: Session::default(),
            log: vec![],
            states: BTreeMap::from([(0, Session::default())]),
            ledger: Ledger::default(),
            now: Timestamp::from_second(1_800_000_000).unwrap(),
            human_present: false,
            policy: Policy::default(),
        };
        world.take(&Session::open(spec, &by, fork_of, prompt));
        world
    }

    fn happen(&mut self, happening: Happening) {
        let moment =
            Moment { now: self.now, human_present: self.human_present, policy: &self.policy };
        let step = match happening {
            Happening::Agent(message) => self.session.on_agent(&moment, message),
            Happening::Intent(intent, by) => {
                self.session.on_intent(&moment, intent, &by).unwrap_or_default()
            }
            Happening::Reply { nth, offer, bound, by } => {
                match self.session.asks().values().nth(nth) {
                    Some(ask) => {
                        let intent = reply(ask, offer, bound);
                        self.session.on_intent(&moment, intent, &by).unwrap_or_default()
                    }
                    None => Step::default(),
                }
            }
            Happening::Wait(seconds) => {
                self.now += SignedDuration::from_secs(seconds);
                self.session.on_tick(self.now)
            }
            Happening::Deadline => {
                // The end of time is a deadline too, but no clock gets there.
                let soon = self.now + SignedDuration::from_hours(24);
                self.now = self.session.next_deadline().unwrap_or(self.now).min(soon);
                self.session.on_tick(self.now)
            }
            Happening::Present(human_present) => {
                self.human_present = human_present;
                Step::default()
            }
            Happening::Rules(outcomes) => {
                self.policy = policy(&outcomes);
                Step::default()
            }
        };
        self.take(&step);
        self.nothing_is_overdue();
    }

    fn take(&mut self, step: &Step) {
        for event in &step.record {
            let envelope =
                Envelope { seq: self.session.seq().next(), at: self.now, event: event.clone() };
            self.session.apply(&envelope);
            self.log.push(envelope);
        }
        self.ledger.enter(step, &self.session);
        self.states.insert(self.log.len(), self.session.clone());
    }

    /// A tick leaves nothing for a second tick at the same time.
    fn nothing_is_overdue(&mut self) {
        let step = self.session.on_tick(self.now);
        self.take(&step);
        assert_eq!(self.session.on_tick(self.now), Step::default());
        assert!(self.session.next_deadline().is_none_or(|it| it > self.now));
    }

    fn every_state_is_the_fold_of_its_log(&self) {
        let mut session = Session::default();
        for (n_events, state) in &self.states {
            let n_known = usize::try_from(session.seq().0).unwrap();
            for envelope in &self.log[n_known..*n_events] {
                session.apply(envelope);
            }
            assert_eq!(session, *state, "after {n_events} events");
        }
    }

    fn every_log_survives_the_disk(&self) {
        let mut from_log = Session::default();
        for envelope in &self.log {
            let text = serde_json::to_string(envelope).unwrap();
            let again: Envelope = serde_json::from_str(&text).unwrap();
            assert_eq!(again, *envelope);
            from_log.apply(&again);
        }
        assert_eq!(from_log, self.session);
        // From a snapshot half way, and what came after it.
        let (n_events, state) = self.states.iter().nth(self.states.len() / 2).unwrap();
        let text = serde_json::to_string(state).unwrap();
        let mut from_snapshot: Session = serde_json::from_str(&text).unwrap();
        for envelope in &self.log[*n_events..] {
            from_snapshot.apply(envelope);
        }
        assert_eq!(from_snapshot, self.session);
    }
}

/// An answer as a surface would make it from what it shows.
fn reply(ask: &Ask, offer: usize, bound: Option<bool>) -> Intent {
    let offer = ask.offers.iter().cycle().nth(offer);
    let answer = match (&ask.subject, offer) {
        (Subject::Question { questions }, _) => {
            let word = |is_secret| if is_secret { SECRET } else { "red" }.to_owned();
            let answers = questions.iter().map(|it| (it.id.clone(), vec![word(it.is_secret)]));
            Answer::chosen(answers.collect())
        }
        (Subject::Form { .. }, None) => {
            Answer::Filled { content: serde_json::json!({ "f": "text" }) }
        }
        (_, Some(offer)) => Answer::Decided {
            decision: offer.decision,
            execpolicy_amendment: offer.execpolicy_amendment.clone(),
            network_policy_amendment: offer.network_policy_amendment.clone(),
        },
        (_, None) => Answer::plain(pilothouse_core::Decision::Accept),
    };
    let digest = bound.map(|right| if right { ask.digest.clone() } else { "0".repeat(64) });
    Intent::Answer { ask: ask.id, answer, digest, reason: None, note: None }
}

/// Who is asked about in more than one place.
pub(crate) fn is_person(actor: &Actor) -> bool {
    matches!(actor, Actor::Human { .. })
}
