//! What is kept, what is forgotten, and whether it all agrees.

use jiff::Timestamp;
use pilothouse_core::{Answer, AskRef, Cursor, Decision, Seq};

use super::{
    World,
    script::{Writer, closed, command, naming, prompted, settled},
    wait,
};
use crate::{AskFilter, MAX_BLOB, MAX_KEY_NAME, MAX_KEYS, Nudge, SessionFilter, StoreError};

/// By its digest, from every node.
pub async fn a_blob_comes_back(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let bytes: Vec<u8> = (0..100_000_u32).map(|it| (it % 251) as u8).collect();
    let digest = first.put_blob(bytes.clone()).await.unwrap();
    assert_eq!(digest.len(), 64);
    assert_eq!(second.put_blob(bytes.clone()).await.unwrap(), digest);
    assert_eq!(second.blob(digest).await.unwrap(), Some(bytes));
    let empty = first.put_blob(vec![]).await.unwrap();
    assert_eq!(empty, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(first.blob(empty).await.unwrap(), Some(vec![]));
    assert_eq!(first.blob("0".repeat(64)).await.unwrap(), None);
}

/// At most.
pub async fn a_blob_has_a_size(world: &dyn World) {
    let node = world.open();
    let refused = node.put_blob(vec![0; MAX_BLOB + 1]).await;
    assert!(matches!(refused, Err(StoreError::TooMuch { limit: MAX_BLOB, .. })), "{refused:?}");
}

/// The first one that was offered.
pub async fn a_key_is_the_same_for_all_nodes_and_stays(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    assert_eq!(first.key("one".to_owned(), [1; 32]).await.unwrap(), [1; 32]);
    assert_eq!(second.key("one".to_owned(), [2; 32]).await.unwrap(), [1; 32]);
    assert_eq!(second.key("two".to_owned(), [2; 32]).await.unwrap(), [2; 32]);
    first.close().await.unwrap();
    let third = world.open();
    assert_eq!(third.key("two".to_owned(), [3; 32]).await.unwrap(), [2; 32]);
}

/// In their names and in their number.
pub async fn keys_have_a_bound(world: &dyn World) {
    let node = world.open();
    let long = node.key("k".repeat(MAX_KEY_NAME + 1), [1; 32]).await;
    assert!(matches!(long, Err(StoreError::TooMuch { limit: MAX_KEY_NAME, .. })), "{long:?}");
    for nth in 0..MAX_KEYS {
        node.key(nth.to_string(), [1; 32]).await.unwrap();
    }
    let more = node.key("more".to_owned(), [1; 32]).await;
    assert!(matches!(more, Err(StoreError::TooMuch { limit: MAX_KEYS, .. })), "{more:?}");
    assert_eq!(node.key("7".to_owned(), [2; 32]).await.unwrap(), [1; 32]);
}

/// From every list, and from the feed.
pub async fn a_closed_session_is_forgotten_altogether(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let mut keep = Writer::open(&first, "a", "one").await;
    let mut gone = Writer::open(&first, "a", "two").await;
    let start = first.head().await.unwrap();
    let ask = gone.ask(command("ls")).await;
    gone.record(vec![prompted(1, "unforgettable"), closed()]).await.unwrap();
    keep.remark(1).await;
    let end = first.head().await.unwrap();
    let mut hints = second.subscribe();
    first.delete_session(gone.id).await.unwrap();
    wait(&mut hints, |it| matches!(it, Nudge::Feed(Some(id)) if *id == gone.id)).await;
    assert_eq!(second.session(gone.id).await.unwrap(), None);
    assert_eq!(second.owner(gone.id).await.unwrap(), None);
    assert_eq!(second.read(gone.id, Seq(0), 9).await.unwrap().events, []);
    assert_eq!(second.ask(AskRef { session: gone.id, ask }).await.unwrap(), None);
    assert_eq!(second.asks(AskFilter::default(), 9, None).await.unwrap().rows, []);
    let rows = second.sessions(SessionFilter::default(), 9, None).await.unwrap().rows;
    assert_eq!(rows.len(), 1);
    // Whoever was in the middle of it must read anew; who was past it or comes new need not.
    let page = second.feed(start, 9).await.unwrap();
    assert!(page.reset);
    assert_eq!(page.entries.len(), 1);
    assert!(!second.feed(page.next, 9).await.unwrap().reset);
    assert!(!second.feed(Cursor(0), 9).await.unwrap().reset);
    assert_eq!(second.head().await.unwrap(), end, "no place is given twice");
    assert!(keep.remark(1).await[0] > end);
    let refused = first.delete_session(gone.id).await;
    assert!(matches!(refused, Err(StoreError::NotFound(_))), "{refused:?}");
    assert!(matches!(gone.record(vec![]).await, Err(StoreError::Fenced(_))));
    assert_eq!(second.check().await.unwrap(), [""; 0]);
}

/// It has to be closed first.
pub async fn an_open_session_is_not_deleted(world: &dyn World) {
    let node = world.open();
    let writer = Writer::open(&node, "a", "one").await;
    let refused = node.delete_session(writer.id).await;
    assert!(matches!(refused, Err(StoreError::Open(id)) if id == writer.id), "{refused:?}");
    assert!(node.session(writer.id).await.unwrap().is_some());
}

/// Unless another session names them.
pub async fn a_deleted_session_takes_its_blobs_along(world: &dyn World) {
    let node = world.open();
    let mut keep = Writer::open(&node, "a", "one").await;
    let mut gone = Writer::open(&node, "a", "two").await;
    let own = node.put_blob(b"own".to_vec()).await.unwrap();
    gone.record(vec![naming(&own)]).await.unwrap();
    let shared = node.put_blob(b"shared".to_vec()).await.unwrap();
    gone.record(vec![naming(&shared)]).await.unwrap();
    assert_eq!(node.put_blob(b"shared".to_vec()).await.unwrap(), shared);
    keep.record(vec![naming(&shared)]).await.unwrap();
    // More than one step deletes.
    gone.remark(1_200).await;
    gone.record(vec![closed()]).await.unwrap();
    node.delete_session(gone.id).await.unwrap();
    assert_eq!(node.blob(own).await.unwrap(), None);
    assert_eq!(node.blob(shared.clone()).await.unwrap().as_deref(), Some(&b"shared"[..]));
    assert_eq!(node.check().await.unwrap(), [""; 0]);
    keep.record(vec![closed()]).await.unwrap();
    node.delete_session(keep.id).await.unwrap();
    assert_eq!(node.blob(shared).await.unwrap(), None);
}

/// By the node that has just kept it, as long as that lives.
pub async fn a_blob_that_may_yet_be_named_stays(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let mut gone = Writer::open(&first, "a", "one").await;
    let blob = first.put_blob(b"text".to_vec()).await.unwrap();
    gone.record(vec![naming(&blob), closed()]).await.unwrap();
    assert_eq!(second.put_blob(b"text".to_vec()).await.unwrap(), blob);
    first.delete_session(gone.id).await.unwrap();
    assert!(first.blob(blob.clone()).await.unwrap().is_some());
    let mut keep = Writer::open(&second, "a", "two").await;
    keep.record(vec![naming(&blob)]).await.unwrap();
    assert_eq!(first.check().await.unwrap(), [""; 0]);
}

/// Whole, and no others.
pub async fn closed_sessions_are_retired_by_age(world: &dyn World) {
    let node = world.open();
    let open = Writer::open(&node, "a", "open").await;
    let mut old = Writer::open(&node, "a", "old").await;
    old.record(vec![closed()]).await.unwrap();
    let mut young = Writer::open(&node, "a", "young").await;
    young.now += 1_000;
    young.record(vec![closed()]).await.unwrap();
    let time = |it: &Writer| Timestamp::from_second(it.now).unwrap();
    assert_eq!(node.retire(None).await.unwrap(), 0);
    assert_eq!(node.retire(Some(time(&open))).await.unwrap(), 0, "it was active at that time");
    assert_eq!(node.retire(Some(time(&old))).await.unwrap(), 1);
    assert_eq!(node.session(old.id).await.unwrap(), None);
    assert_eq!(node.read(old.id, Seq(0), 9).await.unwrap().events, []);
    assert!(node.session(young.id).await.unwrap().is_some());
    assert_eq!(node.retire(Some(Timestamp::MAX)).await.unwrap(), 1);
    assert!(node.session(open.id).await.unwrap().is_some());
    assert_eq!(node.check().await.unwrap(), [""; 0]);
}

/// However it came about.
pub async fn what_is_folded_agrees_with_the_logs(world: &dyn World) {
    let node = world.open();
    assert_eq!(node.check().await.unwrap(), [""; 0]);
    let mut writer = Writer::open(&node, "a", "one").await;
    let ask = writer.ask(command("ls")).await;
    writer.ask(command("pwd")).await;
    let answer = settled(ask, Answer::plain(Decision::Decline));
    let (mut append, session) = writer.draft(vec![prompted(1, "go"), answer]);
    append.snapshot = Some(Box::new(session.clone()));
    node.append(append).await.unwrap();
    writer.session = session;
    writer.remark(3).await;
    node.claim(super::script::fresh()).await.unwrap();
    assert_eq!(node.check().await.unwrap(), [""; 0]);
    // A view that is not what the log says is found.
    let (mut append, _) = writer.draft(vec![]);
    append.view.turns = 77;
    node.append(append).await.unwrap();
    let findings = node.check().await.unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].starts_with(&writer.id.to_string()), "{findings:?}");
}

/// As it was.
pub async fn everything_is_there_after_all_nodes_went(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let mut writer = Writer::open(&first, "a", "one").await;
    let ask = writer.ask(command("ls")).await;
    writer.remark(20).await;
    let (id, seq) = (writer.id, writer.session.seq());
    let blob = first.put_blob(b"bytes".to_vec()).await.unwrap();
    let log = first.read(id, Seq(0), 100).await.unwrap();
    let feed = first.feed(Cursor(0), 100).await.unwrap();
    drop(writer);
    world.kill(first);
    second.close().await.unwrap();
    let third = world.open();
    assert_eq!(third.read(id, Seq(0), 100).await.unwrap(), log);
    assert_eq!(third.feed(Cursor(0), 100).await.unwrap(), feed);
    assert_eq!(third.session(id).await.unwrap().unwrap().last_seq, seq);
    assert!(third.ask(AskRef { session: id, ask }).await.unwrap().is_some());
    assert_eq!(third.blob(blob).await.unwrap().as_deref(), Some(&b"bytes"[..]));
    assert_eq!(third.claim(id).await.unwrap().last_seq, seq);
    assert_eq!(third.check().await.unwrap(), [""; 0]);
}
