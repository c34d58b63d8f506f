//! The one place where the time is read.

use std::time::Duration;

use jiff::Timestamp;

/// The time by the system's clock.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// How long until then; nothing if it has passed.
pub(crate) fn wait(deadline: Timestamp) -> Duration {
    deadline.duration_since(now()).try_into().unwrap_or(Duration::ZERO)
}

/// Waits until then, or for ever.
pub(crate) async fn at(deadline: Option<Timestamp>) {
    match deadline {
        Some(deadline) => tokio::time::sleep(wait(deadline)).await,
        None => std::future::pending().await,
    }
}
