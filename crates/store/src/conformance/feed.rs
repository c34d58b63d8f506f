//! All events in one order, read by those who were nudged.

use std::{collections::BTreeMap, sync::Arc};

use pilothouse_core::{Cursor, Seq, SessionId};
use tokio::{sync::broadcast::error::RecvError, task::JoinSet, time};

use super::{PATIENCE, World, script::Writer, wait};
use crate::{FeedEntry, Nudge, Store};

/// The one that appends, too.
pub async fn every_node_is_nudged(world: &dyn World) {
    let nodes: Vec<_> = (0..3).map(|_| world.open()).collect();
    let mut hints: Vec<_> = nodes.iter().map(|it| it.subscribe()).collect();
    let writer = Writer::open(&nodes[0], "a", "one").await;
    for (node, hints) in nodes.iter().zip(&mut hints) {
        wait(hints, |it| matches!(it, Nudge::Feed(Some(id)) if *id == writer.id)).await;
        let page = node.feed(Cursor(0), 10).await.unwrap();
        assert_eq!(page.entries.len(), 1);
        assert_eq!(page.entries[0].session_id, writer.id);
    }
}

const NODES: usize = 4;
const SESSIONS: usize = 3;
const APPENDS: usize = 25;

/// By readers that follow on every node while every node appends.
pub async fn nothing_is_missed_and_nothing_repeated(world: &dyn World) {
    let nodes: Vec<_> = (0..NODES).map(|_| world.open()).collect();
    let total = NODES * SESSIONS * (1 + APPENDS * 2);
    let mut readers = JoinSet::new();
    for node in &nodes {
        readers.spawn(follow(Arc::clone(node), total));
    }
    let mut writers = JoinSet::new();
    for node in &nodes {
        for _ in 0..SESSIONS {
            let node = Arc::clone(node);
            writers.spawn(async move {
                let mut writer = Writer::open(&node, "a", "one").await;
                let mut cursors = vec![];
                for _ in 0..APPENDS {
                    cursors.extend(writer.remark(2).await);
                }
                (writer.id, cursors)
            });
        }
    }
    let appended: BTreeMap<_, _> = writers.join_all().await.into_iter().collect();
    let all = readers.join_all().await;
    for entries in &all {
        assert_eq!(entries, &all[0], "everyone sees the same");
        assert!(entries.is_sorted_by(|a, b| a.cursor < b.cursor), "cursors rise");
    }
    for (id, cursors) in appended {
        let of_session = |it: &&FeedEntry| it.session_id == id;
        let seqs = all[0].iter().filter(of_session).map(|it| it.envelope.seq);
        assert!(seqs.eq((1..=APPENDS as u64 * 2 + 1).map(Seq)), "each once, in order");
        let places = all[0].iter().filter(of_session).map(|it| it.cursor).skip(1);
        assert!(places.eq(cursors), "where the append said");
    }
}

/// Reads until so many entries are there, and then waits for nothing more.
async fn follow(node: Arc<dyn Store>, total: usize) -> Vec<FeedEntry> {
    let mut hints = node.subscribe();
    let (mut res, mut after) = (vec![], Cursor(0));
    while res.len() < total {
        let page = node.feed(after, 7).await.unwrap();
        assert!(!page.reset);
        after = page.next;
        res.extend(page.entries);
        if !page.more && res.len() < total {
            let nudge = async {
                loop {
                    match hints.recv().await {
                        Ok(Nudge::Feed(_)) | Err(RecvError::Lagged(_)) => break,
                        Ok(_) => {}
                        Err(RecvError::Closed) => panic!("the store closed"),
                    }
                }
            };
            time::timeout(PATIENCE, nudge).await.expect("a nudge came");
        }
    }
    res
}

/// And reading on from the end gives nothing, twice.
pub async fn places_rise_and_end_at_the_head(world: &dyn World) {
    let node = world.open();
    assert_eq!(node.head().await.unwrap(), Cursor(0));
    let mut writer = Writer::open(&node, "a", "one").await;
    let cursors = writer.remark(5).await;
    assert!(cursors.is_sorted_by(|a, b| a < b));
    assert_eq!(cursors.last(), Some(&node.head().await.unwrap()));
    let page = node.feed(cursors[1], 2).await.unwrap();
    let read: Vec<_> = page.entries.iter().map(|it| it.cursor).collect();
    assert_eq!((read.as_slice(), page.next, page.more), (&cursors[2..4], cursors[3], true));
    let page = node.feed(cursors[4], 2).await.unwrap();
    assert_eq!((page.entries.len(), page.next, page.more), (0, cursors[4], false));
    assert!(!page.reset);
    let entry = node.feed(Cursor(0), 1).await.unwrap().entries.remove(0);
    assert_eq!((entry.session_id, entry.envelope.seq), (SessionId(writer.id.0), Seq(1)));
}

/// It may come from a store that was put back to an older state.
pub async fn a_cursor_from_beyond_is_reset(world: &dyn World) {
    let node = world.open();
    Writer::open(&node, "a", "one").await;
    let head = node.head().await.unwrap();
    for beyond in [Cursor(head.0 + 1), Cursor(u64::MAX)] {
        let page = node.feed(beyond, 9).await.unwrap();
        assert_eq!((page.entries.len(), page.next, page.reset), (0, head, true));
    }
}
