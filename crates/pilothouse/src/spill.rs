//! Texts too large for the log: kept as blobs, with their ends and a handle in their place.

use pilothouse_core::FromAgent;
use pilothouse_store::Store;
use serde_json::{Value, json};

/// Longest text that stays in the log, in bytes.
const MAX_TEXT: usize = 64 * 1024;
/// Bytes of a longer text's beginning and end that stay.
const END: usize = 2 * 1024;

/// Moves long texts of an item or a note into blobs. What an ask is about stays whole, since a
/// person must see all of it.
pub(crate) async fn spill(store: &dyn Store, mut message: FromAgent) -> FromAgent {
    match &mut message {
        FromAgent::ItemStarted { body, .. }
        | FromAgent::ItemCompleted { body, .. }
        | FromAgent::Notes { body, .. }
        | FromAgent::Refused { body, .. } => {
            let mut long = vec![];
            collect(body, &mut long);
            for text in long {
                replace(store, text).await;
            }
        }
        FromAgent::Ready { .. }
        | FromAgent::NotReady { .. }
        | FromAgent::TurnStarted { .. }
        | FromAgent::TurnRefused { .. }
        | FromAgent::Delta { .. }
        | FromAgent::Asks(_)
        | FromAgent::AsksAgain(_)
        | FromAgent::Settles { .. }
        | FromAgent::TurnEnded { .. }
        | FromAgent::Exited { .. } => {}
    }
    message
}

fn collect<'a>(value: &'a mut Value, long: &mut Vec<&'a mut Value>) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => long.push(value),
        Value::Array(values) => values.iter_mut().for_each(|it| collect(it, long)),
        Value::Object(fields) => fields.values_mut().for_each(|it| collect(it, long)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

async fn replace(store: &dyn Store, value: &mut Value) {
    let Value::String(text) = value else { return };
    let n_bytes = text.len();
    match store.put_blob(text.clone().into_bytes()).await {
        Ok(digest) => {
            *value = json!({
                "$blob": digest,
                "bytes": n_bytes,
                "head": &text[..text.floor_char_boundary(END)],
                "tail": &text[text.ceil_char_boundary(n_bytes - END)..],
            });
        }
        // A log entry that is too long is better than one that lacks what was said.
        Err(error) => tracing::warn!(%error, "could not keep a long text as a blob"),
    }
}
