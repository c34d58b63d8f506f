//! What a node does to the store beside its sessions: deleting those that are over and old.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};

use crate::{broker::Shared, clock};

/// How long between two looks for old sessions.
const EVERY: Duration = Duration::from_hours(1);

/// Deletes closed sessions that nobody has touched for so long, at once and every hour, until the
/// broker leaves. A deletion that is broken off is finished by whoever looks next.
pub(crate) async fn retire(shared: Arc<Shared>, retention: Option<Duration>) {
    loop {
        let before = retention.and_then(|it| before(clock::now(), it));
        let retired = tokio::select! {
            retired = shared.store.retire(before) => retired,
            () = shared.leaving.cancelled() => return,
        };
        match retired {
            Ok(0) => {}
            Ok(n) => {
                tracing::info!(n, "deleted closed sessions that were older than retention_days");
            }
            Err(error) => tracing::warn!(%error, "could not delete old sessions"),
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = shared.leaving.cancelled() => return,
        }
    }
}

/// The moment so long ago; nothing if it is before all time.
fn before(now: Timestamp, retention: Duration) -> Option<Timestamp> {
    now.checked_sub(SignedDuration::try_from(retention).ok()?).ok()
}
