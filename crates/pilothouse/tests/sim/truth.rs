//! What really happened, told by nobody else: every append that was taken, every effect, and what
//! must be true of them.

use std::{collections::BTreeMap, fmt};

use pilothouse::{
    core::{AskId, Envelope, Event, Seq, Session, SessionId, Settled, ToAgent},
    store::{Epoch, FeedEntry},
};

use crate::{agent::Agent, errand::Ending};

/// Everything on record, in the order in which it was taken.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    pub(crate) all: Vec<(SessionId, Envelope)>,
    owners: BTreeMap<SessionId, (Epoch, usize)>,
    /// How often an agent was told to take up a prompt, by its words.
    begun: BTreeMap<String, u32>,
    pub(crate) count: Count,
}

/// How much of what happened.
#[derive(Debug, Default, Clone)]
pub(crate) struct Count {
    pub(crate) kills: u64,
    pub(crate) lost_leases: u64,
    pub(crate) failed_appends: u64,
    pub(crate) takeovers: u64,
    pub(crate) posts: u64,
    pub(crate) events: u64,
    pub(crate) answered: u64,
    pub(crate) expired: u64,
    pub(crate) lost_asks: u64,
    pub(crate) unheard: u64,
}

impl Truth {
    /// An append was taken. Whoever made it is the only owner.
    pub(crate) fn take(
        &mut self,
        node: usize,
        session: SessionId,
        epoch: Epoch,
        events: &[Envelope],
    ) {
        let (last, owner) = *self.owners.entry(session).or_insert((epoch, node));
        assert!(epoch >= last, "an old owner wrote: {session} {epoch:?} after {last:?}");
        assert!(epoch > last || node == owner, "two owners wrote with one number: {session}");
        self.owners.insert(session, (epoch, node));
        self.all.extend(events.iter().map(|it| (session, it.clone())));
    }

    /// An agent is about to be told something.
    pub(crate) fn tell(&mut self, session: SessionId, message: &ToAgent) {
        match message {
            ToAgent::Answer { key, .. } | ToAgent::Expire { key, .. } => {
                let n_settled = self.settlements(session, key).count();
                assert_eq!(n_settled, 1, "{key} was told and is on record {n_settled} times");
            }
            ToAgent::StartTurn { prompt, .. } => {
                let n_begun = self.begun.entry(prompt.text.clone()).or_default();
                *n_begun += 1;
                assert_eq!(*n_begun, 1, "{:?} was sent twice", prompt.text);
            }
            ToAgent::Steer { .. } | ToAgent::Interrupt { .. } | ToAgent::Manage(_) => {}
        }
    }

    pub(crate) fn log(&self, session: SessionId) -> Vec<Envelope> {
        self.all.iter().filter(|it| it.0 == session).map(|it| it.1.clone()).collect()
    }

    pub(crate) fn fold(&self, session: SessionId) -> Session {
        let mut res = Session::default();
        for envelope in self.log(session) {
            assert_eq!(envelope.seq, Seq(res.seq().0 + 1), "a gap or a repeat in {session}");
            res.apply(&envelope);
        }
        res
    }

    /// A feed from a place on brought this.
    pub(crate) fn agrees_with_feed(&self, from: usize, entries: &[FeedEntry]) {
        let brought = entries.iter().map(|it| (it.session_id, &it.envelope));
        let expected = self.all[from..].iter().map(|it| (it.0, &it.1));
        let (brought, expected): (Vec<_>, Vec<_>) = (brought.collect(), expected.collect());
        assert_eq!(brought.len(), expected.len(), "the feed from {from}");
        assert!(brought == expected, "the feed from {from} is not what happened");
    }

    /// What an agent said is on record in its order, from the beginning and as far as it was heard.
    pub(crate) fn agrees_with_agent(&self, agent: &Agent, is_attached: bool) {
        let mark = format!("a{}-", agent.number);
        let recorded = self.all.iter().filter_map(|it| match &it.1.event {
            Event::ItemStarted { item, .. } if item.starts_with(&mark) => Some(item),
            _ => None,
        });
        let recorded: Vec<_> = recorded.collect();
        let said: Vec<_> = agent.items.iter().take(recorded.len()).collect();
        assert_eq!(recorded, said, "agent {}", agent.number);
        if is_attached {
            assert_eq!(recorded.len(), agent.items.len(), "agent {} was not heard", agent.number);
        }
        assert!(agent.told.values().all(|it| *it == 1), "told twice: {:?}", agent.told);
        if !is_attached {
            return;
        }
        for (session, envelope) in &self.all {
            let Event::AskRaised { ask } = &envelope.event else { continue };
            if !ask.key.starts_with(&mark) {
                continue;
            }
            let told = agent.told.get(&ask.key).copied().unwrap_or(0);
            let owed = self
                .settlements(*session, &ask.key)
                .any(|it| matches!(it, Settled::Answered { .. } | Settled::Expired { .. }));
            assert_eq!(told, u32::from(owed), "{} was settled, and told {told} times", ask.key);
        }
    }

    /// A prompt took effect as its ending says.
    pub(crate) fn agrees_with_ending(&self, words: &str, ending: &Ending) {
        let took = self.all.iter().filter(|it| match &it.1.event {
            Event::TurnRequested { prompt, queued: false, .. }
            | Event::PromptQueued { prompt, .. }
            | Event::Steered { prompt, .. } => prompt.text == words,
            _ => false,
        });
        let n_took = took.count();
        match ending {
            Ending::Done(_) => assert_eq!(n_took, 1, "{words:?} was acknowledged"),
            Ending::Refused => assert_eq!(n_took, 0, "{words:?} was refused"),
            Ending::Unknown => assert!(n_took <= 1, "{words:?} was carried out {n_took} times"),
        }
    }

    fn settlements(&self, session: SessionId, key: &str) -> impl Iterator<Item = &Settled> {
        let of_key = |it: &&(SessionId, Envelope)| {
            it.0 == session && matches!(&it.1.event, Event::AskRaised { ask } if ask.key == key)
        };
        let id = self.all.iter().find(of_key).and_then(|it| match &it.1.event {
            Event::AskRaised { ask } => Some(ask.id),
            _ => None,
        });
        self.settled(session).filter(move |it| Some(it.0) == id).map(|it| it.1)
    }

    fn settled(&self, session: SessionId) -> impl Iterator<Item = (AskId, &Settled)> {
        self.all.iter().filter(move |it| it.0 == session).filter_map(|it| match &it.1.event {
            Event::AskSettled { ask, how } => Some((*ask, how)),
            _ => None,
        })
    }

    /// Counts what is on record.
    pub(crate) fn close(mut self) -> Count {
        self.count.events = self.all.len() as u64;
        for (_, envelope) in &self.all {
            if let Event::AskSettled { how, .. } = &envelope.event {
                match how {
                    Settled::Answered { .. } => self.count.answered += 1,
                    Settled::Expired { .. } => self.count.expired += 1,
                    Settled::Lost => self.count.lost_asks += 1,
                    Settled::Withdrawn => {}
                }
            }
        }
        self.count
    }
}

impl Count {
    fn all(&self) -> [(&'static str, u64); 10] {
        [
            ("events", self.events),
            ("kills", self.kills),
            ("lost leases", self.lost_leases),
            ("failed appends", self.failed_appends),
            ("takeovers", self.takeovers),
            ("intents posted", self.posts),
            ("asks answered", self.answered),
            ("asks expired", self.expired),
            ("asks lost", self.lost_asks),
            ("intents that timed out", self.unheard),
        ]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.kills += other.kills;
        self.lost_leases += other.lost_leases;
        self.failed_appends += other.failed_appends;
        self.takeovers += other.takeovers;
        self.posts += other.posts;
        self.answered += other.answered;
        self.expired += other.expired;
        self.lost_asks += other.lost_asks;
        self.unheard += other.unheard;
    }

    pub(crate) fn is_worth_it(&self) {
        for (what, n) in &self.all()[..9] {
            assert!(*n > 50, "only {n} {what}");
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.all().map(|(what, n)| format!("{n} {what}"));
        f.write_str(&parts.join(", "))
    }
}
