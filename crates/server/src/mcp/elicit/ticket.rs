//! What a client carries between a question and its reply where servers keep no calls open: sealed,
//! bound to the very question, and good for a while.
//!
//! The seal is made with a key that all processes of a store share, so that any of them may be the
//! one that the client comes back to. That it is used once needs nothing here: an ask is settled
//! once, and whoever comes later is told how.

use std::time::Duration;

use pilothouse::Broker;
use pilothouse_core::{AskRef, AskView};
use rmcp::model::{RequestStateCodec, RequestStateError, SealOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::problem::{Code, Problem};

/// The name of the key.
const KEY: &str = "mcp-request-state";
/// What the seal is for, so that it is worth nothing anywhere else.
const PURPOSE: &[u8] = b"pilothouse/ask";
/// Longest state that is looked at, in bytes.
const MAX_BYTES: usize = 4_096;

/// What is sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ticket {
    pub(super) ask: AskRef,
    /// What was shown.
    digest: String,
    bound_to: Bound,
    /// When it was handed out, in milliseconds since 1970.
    pub(super) at_ms: i64,
    /// How many times it has been handed out.
    pub(super) round: u8,
    /// The reply before this one did not fit.
    pub(super) refused: bool,
}

/// The call that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bound {
    pub(super) tool: String,
    /// The fingerprint of the call's arguments.
    pub(super) arguments: String,
    pub(super) client: String,
    /// The caller, if it has a name that outlives its process.
    pub(super) caller: Option<String>,
}

impl Ticket {
    pub(super) fn new(ask: &AskView, bound_to: Bound, now_ms: i64) -> Self {
        let (ask, digest) = (ask.request_id, ask.digest.clone());
        Self { ask, digest, bound_to, at_ms: now_ms, round: 1, refused: false }
    }

    /// The next one for the same call.
    pub(super) fn again(self, refused: bool, now_ms: i64) -> Self {
        Self { at_ms: now_ms, round: self.round.saturating_add(1), refused, ..self }
    }

    pub(super) async fn seal(&self, broker: &Broker, holds: Duration) -> Result<String, Problem> {
        let options = SealOptions::new().associated_data(PURPOSE).ttl(holds);
        let bytes = serde_json::to_vec(self).map_err(|error| internal(&error))?;
        Ok(codec(broker).await?.seal_with(&bytes, &options))
    }

    /// Opens what a client brings, if it is whole, in time and of this call.
    pub(super) async fn open(
        broker: &Broker,
        sealed: &str,
        bound_to: &Bound,
    ) -> Result<Self, Problem> {
        if sealed.len() > MAX_BYTES {
            return Err(wrong("it is too long to be one of ours"));
        }
        let bytes = match codec(broker).await?.open_with(sealed, PURPOSE) {
            Ok(bytes) => bytes,
            Err(RequestStateError::Expired) => {
                let message = "requestState: it has expired, and the reply with it";
                return Err(Problem::new(Code::Timeout, message).hint(AGAIN));
            }
            Err(error) => {
                tracing::debug!(%error, "a request state was refused");
                return Err(wrong("it was changed on its way, or is of another Pilothouse"));
            }
        };
        let ticket: Self = serde_json::from_slice(&bytes)
            .map_err(|_| wrong("it is of another version of Pilothouse"))?;
        let theirs = &ticket.bound_to;
        let foreign = [
            (theirs.tool != bound_to.tool, "tool"),
            (theirs.arguments != bound_to.arguments, "call, with other arguments"),
            (theirs.client != bound_to.client, "client"),
            (theirs.caller != bound_to.caller, "caller"),
        ];
        if let Some((_, whose)) = foreign.iter().find(|(is_foreign, _)| *is_foreign) {
            return Err(wrong(&format!("it belongs to another {whose}")));
        }
        Ok(ticket)
    }

    /// Whether the question is still the one that was shown.
    pub(super) fn is_of(&self, ask: &AskView) -> Result<(), Problem> {
        if self.digest == ask.digest {
            return Ok(());
        }
        Err(wrong("the question is not the one that was shown"))
    }
}

/// The fingerprint of a call's arguments.
pub(crate) fn fingerprint(tool: &str, arguments: &Value) -> String {
    crate::hex::sha256(format!("{tool}\0{arguments}").as_bytes())
}

const AGAIN: &str = "Nothing was accepted. Call the tool again without requestState, or collect \
                     the question by its askId.";

fn wrong(problem: &str) -> Problem {
    Problem::argument("requestState", problem).hint(AGAIN)
}

fn internal(error: &dyn std::fmt::Display) -> Problem {
    Problem::new(Code::Internal, format!("Pilothouse could not seal the request state: {error}"))
}

async fn codec(broker: &Broker) -> Result<RequestStateCodec, Problem> {
    let key = broker.shared_key(KEY).await?;
    RequestStateCodec::try_new(key.to_vec()).map_err(|error| internal(&error))
}
