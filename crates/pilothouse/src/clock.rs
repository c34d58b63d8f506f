//! The one place where the time is read.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

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

/// When a name of version 7 was minted.
pub(crate) fn of(name: Uuid) -> Option<Timestamp> {
    let (seconds, nanos) = name.get_timestamp()?.to_unix();
    Timestamp::new(i64::try_from(seconds).ok()?, i32::try_from(nanos).ok()?).ok()
}
