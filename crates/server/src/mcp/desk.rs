//! Where a caller's own questions lie: a session without an agent, opened when the first is asked.
//!
//! [`Call::raise`] puts a question there; `elicit` shows it and waits. Tools use `elicit` and have
//! no need of this.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use pilothouse::{Broker, Error, Start};
use pilothouse_core::{AskRef, CallerRequest, Intent, Refusal, SessionId, Spec};
use tokio_util::sync::CancellationToken;

use super::{Call, Shared, problem::Problem};

/// What a client that gives no name is called in the log.
pub(crate) const NAMELESS: &str = "an MCP client";
/// Longest name of a client that is kept, in characters.
const MAX_NAME: usize = 80;

/// What a caller has asked and still waits for.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    session: tokio::sync::Mutex<Option<SessionId>>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
pub(super) struct Open {
    /// Asked by a client that will be gone with its connection.
    pub(super) of_connection: BTreeSet<AskRef>,
    /// Handed to a client that has not come back with a reply yet.
    pub(super) handed_out: BTreeMap<AskRef, CancellationToken>,
    /// Shown by a form that is still open at the client.
    pub(super) shown: BTreeSet<AskRef>,
}

impl Desk {
    pub(super) fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call<'_> {
    /// Asks a person something. What waits already under the same key is not asked twice.
    pub(super) async fn raise(
        &self,
        broker: &Broker,
        request: CallerRequest,
    ) -> Result<AskRef, Problem> {
        let mut session = self.server.desk.session.lock().await;
        let caller = &self.server.caller;
        if let Some(id) = *session {
            match broker.raise(id, request.clone(), caller).await {
                // Somebody has cleared the desk.
                Err(Error::Refused(Refusal::Closed { .. }) | Error::NoSuchSession(_)) => {}
                raised => return Ok(raised?),
            }
        }
        let spec = Spec {
            agentless: true,
            cwd: self.server.options.cwd.to_string_lossy().into_owned(),
            answerers: self.server.options.answerers,
            title: Some(format!("Questions of {}", self.client_name())),
            ..Spec::default()
        };
        let id = broker.start(Start { spec, prompt: None, by: caller.clone() }).await?;
        *session = Some(id);
        Ok(broker.raise(id, request, caller).await?)
    }

    /// What the client calls itself.
    pub(crate) fn client_name(&self) -> String {
        let named = self.context.client_info().map(|it| it.name);
        let name = named.filter(|it| !it.trim().is_empty());
        name.map_or_else(|| NAMELESS.to_owned(), |it| it.chars().take(MAX_NAME).collect())
    }
}

impl Shared {
    /// Takes back what a client asked that is gone with its connection.
    pub(super) async fn clear_desk(&self) {
        let asks = std::mem::take(&mut self.desk.open().of_connection);
        let Some(broker) = self.broker.get() else { return };
        let each = asks.into_iter().map(|ask| self.take_back(broker, ask));
        futures_util::future::join_all(each).await;
    }

    /// Takes back a question that nobody waits for any more.
    pub(super) async fn take_back(&self, broker: &Broker, ask: AskRef) {
        self.desk.open().of_connection.remove(&ask);
        let intent = Intent::Withdraw { ask: ask.ask };
        if let Err(error) = broker.act(ask.session, intent, &self.caller).await {
            tracing::debug!(%error, %ask, "could not take back a question");
        }
    }
}
