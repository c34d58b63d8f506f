//! What the file holds, read past every program, and what must be true of it.

use std::{collections::BTreeMap, path::Path};

use pilothouse_core::{AskId, AskKind, Envelope, Event, Outcome, Seq, Session, SessionId, Settled};
use pilothouse_store::{SessionFilter, Sqlite, Store};

use crate::stage::Stage;

/// The log of the only session, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) id: Option<SessionId>,
    pub(crate) envelopes: Vec<Envelope>,
}

impl Log {
    /// Reads it, and holds it against what is folded from it.
    pub(crate) async fn read(home: &Path) -> Self {
        let store = Sqlite::open(&home.join("pilothouse.db")).unwrap();
        let store: &dyn Store = &*store;
        let rows = store.sessions(SessionFilter::default(), 10, None).await.unwrap().rows;
        let findings = store.check().await.unwrap();
        assert!(findings.is_empty(), "{findings:?}");
        let mut log = Self { id: rows.first().map(|it| it.session_id), envelopes: vec![] };
        if let Some(id) = log.id {
            let page = store.read(id, Seq(0), 1_000).await.unwrap();
            assert!(!page.more);
            log.envelopes = page.events;
        }
        store.close().await.unwrap();
        assert!(rows.len() <= 1, "{rows:?}");
        log.is_whole();
        log
    }

    fn is_whole(&self) {
        let mut session = Session::default();
        for (nth, envelope) in self.envelopes.iter().enumerate() {
            assert_eq!(envelope.seq.0, nth as u64 + 1, "a gap or a repeat");
            session.apply(envelope);
        }
        let mut settled = BTreeMap::new();
        for (ask, how) in self.settled() {
            assert_eq!(settled.insert(ask, how), None, "{ask:?} was settled twice");
        }
        assert_eq!(session.seq().0, self.envelopes.len() as u64);
    }

    /// It is a beginning of a later one.
    pub(crate) fn begins(&self, later: &Self) {
        let beginning = later.envelopes.get(..self.envelopes.len());
        assert_eq!(beginning, Some(&self.envelopes[..]), "what was on record has changed");
    }

    fn settled(&self) -> impl Iterator<Item = (AskId, &Settled)> {
        self.envelopes.iter().filter_map(|it| match &it.event {
            Event::AskSettled { ask, how } => Some((*ask, how)),
            _ => None,
        })
    }

    pub(crate) fn settlement(&self, ask: AskId) -> Option<&Settled> {
        self.settled().find(|it| it.0 == ask).map(|it| it.1)
    }

    pub(crate) fn asks(&self) -> impl Iterator<Item = (AskId, AskKind)> {
        self.envelopes.iter().filter_map(|it| match &it.event {
            Event::AskRaised { ask } => Some((ask.id, ask.subject.kind())),
            _ => None,
        })
    }

    /// How many turns were asked for.
    pub(crate) fn n_turns(&self) -> usize {
        self.envelopes.iter().filter(|it| matches!(it.event, Event::TurnRequested { .. })).count()
    }

    /// How each turn ended, in order.
    pub(crate) fn outcomes(&self) -> Vec<&Outcome> {
        let ends = self.envelopes.iter().filter_map(|it| match &it.event {
            Event::TurnEnded { outcome, .. } => Some(outcome),
            _ => None,
        });
        ends.collect()
    }

    /// The threads that were attached, in order.
    pub(crate) fn threads(&self) -> Vec<&str> {
        let attached = self.envelopes.iter().filter_map(|it| match &it.event {
            Event::Attached { thread, .. } => Some(&**thread),
            _ => None,
        });
        attached.collect()
    }

    /// The agent had begun a turn, so that its thread outlives it.
    pub(crate) fn began(&self, number: u32) -> bool {
        self.envelopes
            .iter()
            .any(|it| matches!(&it.event, Event::TurnStarted { turn, .. } if turn.0 == number))
    }

    /// How far the first turn was, in words.
    pub(crate) fn state_of_first_turn(&self) -> &'static str {
        let lost_ask = self.settled().any(|it| *it.1 == Settled::Lost);
        match self.outcomes().first() {
            None => "no turn",
            Some(Outcome::Completed) => "turn completed",
            Some(Outcome::Lost { .. }) if lost_ask => "turn and ask lost",
            Some(Outcome::Lost { .. }) if self.began(1) => "turn lost",
            Some(Outcome::Lost { .. }) => "turn lost before it began",
            Some(Outcome::Failed { .. } | Outcome::Interrupted) => "turn failed",
        }
    }

    /// What was done is what was allowed, and nothing was done twice.
    pub(crate) fn agrees_with(&self, stage: &Stage) {
        let allowed = |kind: AskKind| {
            let of_kind = self.asks().filter(|it| it.1 == kind);
            of_kind
                .filter(|it| matches!(self.settlement(it.0), Some(Settled::Answered { .. })))
                .count()
        };
        let n_runs = stage.n_runs();
        assert!(n_runs <= 1, "the command ran {n_runs} times");
        assert!(n_runs <= allowed(AskKind::Command), "it ran without leave on record");
        assert!(!stage.is_patched() || allowed(AskKind::FileChange) == 1, "patched without leave");
    }
}
