//! What an agent is told again: one that was kept repeats its requests to whoever comes back to it,
//! also those that were answered while nobody could tell it.

use super::{Effect, MAX_REMEMBERED, Session, Step};
use crate::{Answer, Ask, Settled, ToAgent};

impl Session {
    /// Decides what becomes of the session whose node is gone and whose agent lives on: what callers
    /// ran is lost with the node, and the rest goes on.
    pub fn on_rejoin(&self) -> Step {
        Step { record: self.lose_commands().collect(), then: vec![] }
    }

    /// What to say to a request that is settled already; nothing if it is none, or if what was said
    /// is not on record.
    pub(super) fn tell_again(&self, key: &str) -> Option<Step> {
        let is_pending = self.asks.values().any(|it| it.key == key && it.is_of_agent());
        let settlement = self.settlement(*self.told.get(key)?).filter(|_| !is_pending)?;
        let key = key.to_owned();
        let message = match settlement.how.clone() {
            Settled::Answered { answer, reason, .. } if answer != Answer::Redacted => {
                ToAgent::Answer { key, answer, reason }
            }
            Settled::Expired { waited_s: _, answer: Some(answer) } => {
                ToAgent::Answer { key, answer, reason: None }
            }
            Settled::Expired { waited_s, answer: None } => ToAgent::Expire { key, waited_s },
            Settled::Answered { .. } | Settled::Withdrawn | Settled::Lost => return None,
        };
        Some(Step { record: vec![], then: vec![Effect::Tell(message)] })
    }

    /// Remembers that the agent is told, as long as that agent stays.
    pub(super) fn remember_told(&mut self, ask: &Ask, how: &Settled) {
        let is_told = match how {
            Settled::Answered { .. } | Settled::Expired { .. } => ask.is_of_agent(),
            Settled::Withdrawn | Settled::Lost => false,
        };
        if !is_told {
            return;
        }
        if self.told.len() >= MAX_REMEMBERED {
            let oldest = self.told.iter().min_by_key(|(_, ask)| **ask).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                self.told.remove(&oldest);
            }
        }
        self.told.insert(ask.key.clone(), ask.id);
    }
}
