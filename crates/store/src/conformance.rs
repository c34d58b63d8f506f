//! What every store must do, as tests: the crate's documentation, one promise each.
//!
//! A store's own test file implements [`World`] and says `conformance!(my_world);`.

#![expect(clippy::unwrap_used, reason = "this is a test suite")]

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::broadcast::{self, error::RecvError},
    time,
};

use crate::{Nudge, Store};

pub mod feed;
pub mod inbox;
pub mod keep;
pub mod live;
pub mod log;
pub mod ownership;
pub mod reads;
pub mod script;

/// Several nodes on one set of sessions.
pub trait World: Send + Sync {
    /// One more node.
    fn open(&self) -> Arc<dyn Store>;
    /// Ends a node as the loss of its process would.
    fn kill(&self, node: Arc<dyn Store>);
    /// Every byte that is kept, to look for what must not be.
    fn at_rest(&self) -> Vec<u8>;
}

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for a nudge.
async fn wait(hints: &mut broadcast::Receiver<Nudge>, wanted: impl Fn(&Nudge) -> bool) -> Nudge {
    let found = async {
        loop {
            match hints.recv().await {
                Ok(nudge) if wanted(&nudge) => return nudge,
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => panic!("the store closed"),
            }
        }
    };
    time::timeout(PATIENCE, found).await.expect("the nudge came in time")
}

/// Every test of the suite, for a world that the expression makes anew each time.
#[macro_export]
macro_rules! conformance {
    ($world:expr) => {
        $crate::conformance!(@ $world, ownership:
            a_new_session_begins_with_the_first_epoch
            a_session_is_refused_while_its_owner_lives
            a_dead_owners_session_can_be_claimed
            of_many_claims_at_once_one_wins
            a_former_owner_is_fenced
            a_given_up_session_is_free_and_takes_nothing
            a_node_that_closes_gives_up_its_sessions_and_says_no_more
            a_node_is_alive_until_it_ends);
        $crate::conformance!(@ $world, log:
            what_was_appended_is_read_by_every_node
            an_append_at_the_wrong_place_is_refused
            a_refused_append_changes_nothing
            a_log_is_read_in_pages
            a_page_has_a_size
            an_append_has_a_size
            events_are_chained);
        $crate::conformance!(@ $world, feed:
            every_node_is_nudged
            nothing_is_missed_and_nothing_repeated
            places_rise_and_end_at_the_head
            a_cursor_from_beyond_is_reset);
        $crate::conformance!(@ $world, reads:
            sessions_are_listed_by_activity
            sessions_are_filtered
            sessions_are_searched
            a_session_shows_its_owner
            asks_are_listed_until_settled_and_after
            asks_are_paged_and_filtered
            a_snapshot_comes_back_whole);
        $crate::conformance!(@ $world, inbox:
            an_intent_reaches_the_owner_and_its_end_the_poster
            an_intent_waits_for_the_next_owner
            an_intent_for_nobody_is_refused
            an_intent_is_there_once
            a_secret_reaches_the_owner_and_no_disk);
        $crate::conformance!(@ $world, live:
            deltas_reach_those_who_care
            a_long_delta_arrives_whole
            a_flood_of_deltas_hides_no_event
            presence_is_seen_by_others
            the_dead_are_listed_while_they_own_something);
        $crate::conformance!(@ $world, keep:
            a_blob_comes_back
            a_blob_has_a_size
            a_key_is_the_same_for_all_nodes_and_stays
            keys_have_a_bound
            a_closed_session_is_forgotten_altogether
            an_open_session_is_not_deleted
            a_deleted_session_takes_its_blobs_along
            a_blob_that_may_yet_be_named_stays
            closed_sessions_are_retired_by_age
            what_is_folded_agrees_with_the_logs
            everything_is_there_after_all_nodes_went);
    };
    (@ $world:expr, $module:ident: $($name:ident)*) => {
        mod $module {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    $crate::conformance::$module::$name(&$world).await;
                }
            )*
        }
    };
}
