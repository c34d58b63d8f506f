//! Something that an actor wants of a session, on its way from a node to the session's owner.

use pilothouse::{
    core::{Actor, Intent, Seq, SessionId},
    store::Conclusion,
};
use uuid::Uuid;

/// How often it is carried again when the session changes hands on its way.
pub(crate) const MAX_TRIES: u32 = 3;
/// How long whoever posted it waits.
pub(crate) const PATIENCE_S: i64 = 30;

#[derive(Debug, Clone)]
pub(crate) struct Errand {
    pub(crate) node: usize,
    pub(crate) session: SessionId,
    pub(crate) intent: Intent,
    pub(crate) by: Actor,
    /// When it was wanted.
    pub(crate) at: jiff::Timestamp,
    pub(crate) state: State,
    /// The name under which it was posted by another node, which waits for its conclusion.
    pub(crate) concludes: Option<Uuid>,
    /// It came out of an inbox, so that whoever wanted it hears of it elsewhere.
    pub(crate) is_posted: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum State {
    /// It looks for the owner.
    Seeking { tries: u32 },
    /// A driver of this node has it.
    Ordered { tries: u32 },
    /// It waits in another node's inbox.
    Posted { name: Uuid },
    /// It is over.
    Over(Ending),
}

/// What whoever wanted it knows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ending {
    Done(Seq),
    Refused,
    /// Something failed; it may have been done or not.
    Unknown,
}

impl Errand {
    pub(crate) fn new(
        node: usize,
        session: SessionId,
        intent: Intent,
        by: Actor,
        at: jiff::Timestamp,
        state: State,
    ) -> Self {
        Self { node, session, intent, by, at, state, concludes: None, is_posted: false }
    }

    /// The same, out of an inbox.
    pub(crate) fn posted(self, name: Uuid) -> Self {
        Self { concludes: Some(name), is_posted: true, ..self }
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    /// Its driver is gone and had not looked at it.
    pub(crate) fn again(&mut self) {
        if let State::Ordered { tries } = self.state {
            self.state = State::Seeking { tries: tries + 1 };
        }
    }
}

impl Ending {
    pub(crate) fn of(conclusion: &Conclusion) -> Self {
        match conclusion {
            Conclusion::Done(seq) => Self::Done(*seq),
            Conclusion::Refused(_) => Self::Refused,
            Conclusion::Failed(_) => Self::Unknown,
        }
    }
}
