//! What is appended is whole, in order, and there to be read.

use pilothouse_core::{AskRef, Envelope, Seq};

use super::{
    World,
    script::{Writer, asked, command, fresh, noted},
};
use crate::{Link, MAX_APPEND, MAX_FEED_BYTES, MAX_PAGE, MAX_PAGE_BYTES, StoreError};

/// Word for word.
pub async fn what_was_appended_is_read_by_every_node(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let mut writer = Writer::open(&first, "a", "one").await;
    let (append, session) = writer.draft(vec![noted("\u{1f980} \0 \u{202e}"), noted("2")]);
    let events = append.events.clone();
    first.append(append).await.unwrap();
    writer.session = session;
    for node in [&first, &second] {
        let page = node.read(writer.id, Seq(1), 10).await.unwrap();
        assert_eq!((&page.events, page.more), (&events, false));
    }
    let view = second.session(writer.id).await.unwrap().unwrap();
    assert_eq!(view.last_seq, Seq(3));
}

/// Too early, too late, or with a hole.
pub async fn an_append_at_the_wrong_place_is_refused(world: &dyn World) {
    let node = world.open();
    let mut writer = Writer::open(&node, "a", "one").await;
    let (stale, _) = writer.draft(vec![noted("stale")]);
    writer.remark(1).await;
    match node.append(stale).await {
        Err(StoreError::OutOfOrder { session, expected, actual }) => {
            assert_eq!((session, expected, actual), (writer.id, Seq(1), Seq(2)));
        }
        other => panic!("{other:?}"),
    }
    let (mut holed, _) = writer.draft(vec![noted("1"), noted("2")]);
    holed.events[1].seq = Seq(9);
    assert!(matches!(node.append(holed).await, Err(StoreError::OutOfOrder { .. })));
    writer.remark(1).await;
}

/// Not the log, not the feed, not what is folded.
pub async fn a_refused_append_changes_nothing(world: &dyn World) {
    let node = world.open();
    let mut writer = Writer::open(&node, "a", "one").await;
    let head = node.head().await.unwrap();
    let view = node.session(writer.id).await.unwrap();
    let ask = asked(pilothouse_core::AskId(1), command("ls"), jiff::Timestamp::UNIX_EPOCH);
    let (good, session) = writer.draft(vec![noted("1"), ask, noted("3")]);
    let mut bad = vec![good.clone(), good.clone(), good.clone()];
    bad[0].events[2].seq = Seq(2);
    bad[1].expected = Seq(0);
    bad[2].epoch = crate::Epoch(9);
    for mut append in bad {
        append.snapshot = Some(Box::new(session.clone()));
        append.view.title = Some("changed".to_owned());
        assert!(node.append(append).await.is_err());
        assert_eq!(node.head().await.unwrap(), head);
        assert_eq!(node.session(writer.id).await.unwrap(), view);
        assert_eq!(node.read(writer.id, Seq(1), 10).await.unwrap().events, []);
        let ask = AskRef { session: writer.id, ask: pilothouse_core::AskId(1) };
        assert_eq!(node.ask(ask).await.unwrap(), None);
        assert_eq!(node.snapshot(writer.id).await.unwrap(), None);
    }
    node.append(good).await.unwrap();
    writer.session = session;
    writer.remark(1).await;
}

/// Of any size up to the limit.
pub async fn a_log_is_read_in_pages(world: &dyn World) {
    let node = world.open();
    let mut writer = Writer::open(&node, "a", "one").await;
    writer.remark(MAX_PAGE + 5).await;
    let last = writer.session.seq().0;
    let page = node.read(writer.id, Seq(0), usize::MAX).await.unwrap();
    assert_eq!((page.events.len(), page.more), (MAX_PAGE, true));
    let page = node.read(writer.id, Seq(last - 2), 2).await.unwrap();
    assert_eq!((page.events.len(), page.more), (2, false));
    assert_eq!(page.events[1].seq, Seq(last));
    let page = node.read(writer.id, Seq(last), 2).await.unwrap();
    assert_eq!((page.events.len(), page.more), (0, false));
    // Less than one would never get anywhere.
    assert_eq!(node.read(writer.id, Seq(0), 0).await.unwrap().events.len(), 1);
    assert_eq!(node.read(fresh(), Seq(0), 9).await.unwrap().events.len(), 0);
}

/// But holds one event at least.
pub async fn a_page_has_a_size(world: &dyn World) {
    let node = world.open();
    let mut writer = Writer::open(&node, "a", "one").await;
    let huge = "x".repeat(MAX_PAGE_BYTES + 1);
    let large = "y".repeat(MAX_PAGE_BYTES / 3);
    writer.record(vec![noted(&huge)]).await.unwrap();
    writer.record((0..4).map(|_| noted(&large)).collect()).await.unwrap();
    let mut sizes = vec![];
    let (mut after, mut more) = (Seq(0), true);
    while more {
        let page = node.read(writer.id, after, MAX_PAGE).await.unwrap();
        sizes.push(page.events.len());
        (after, more) = (page.events.last().unwrap().seq, page.more);
    }
    assert_eq!(sizes, [1, 1, 2, 2]);
    let page = node.feed(pilothouse_core::Cursor(0), MAX_PAGE).await.unwrap();
    assert_eq!((page.entries.len(), page.more), (1, true));
    let page = node.feed(page.next, MAX_PAGE).await.unwrap();
    assert_eq!((page.entries.len(), page.more), (1, true));
    let before = node.head().await.unwrap();
    let small = "z".repeat(MAX_FEED_BYTES / 3);
    writer.record((0..4).map(|_| noted(&small)).collect()).await.unwrap();
    let page = node.feed(before, MAX_PAGE).await.unwrap();
    assert_eq!((page.entries.len(), page.more), (2, true));
    assert_eq!(node.feed(page.next, MAX_PAGE).await.unwrap().entries.len(), 2);
}

/// Each with all before it, and apart from other sessions'.
pub async fn events_are_chained(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let mut writer = Writer::open(&first, "a", "one").await;
    let extend = |link: Link, events: &[Envelope]| {
        events.iter().fold(link, |link, it| link.next(&serde_json::to_string(it).unwrap()))
    };
    let log = first.read(writer.id, Seq(0), 9).await.unwrap().events;
    let link = extend(Link::genesis(writer.id), &log);
    assert_eq!(second.chain(writer.id).await.unwrap(), Some(link));
    let (append, session) = writer.draft(vec![noted("\u{fc}\u{1f980}\0"), noted("2")]);
    let link = extend(link, &append.events);
    first.append(append).await.unwrap();
    writer.session = session;
    assert_eq!(link.seq, Seq(3));
    assert_eq!(second.chain(writer.id).await.unwrap(), Some(link));
    // The next owner goes on with it.
    first.release(writer.id, writer.claim.epoch).await.unwrap();
    let mut writer = Writer::claim(&second, writer.id).await;
    let (append, _) = writer.draft(vec![noted("3")]);
    writer.record(vec![noted("3")]).await.unwrap();
    let link = extend(link, &append.events);
    assert_eq!(first.chain(writer.id).await.unwrap(), Some(link));
    let other = fresh();
    first.claim(other).await.unwrap();
    assert_eq!(first.chain(other).await.unwrap(), None);
    assert_ne!(Link::genesis(other), Link::genesis(writer.id));
    assert_eq!(first.check().await.unwrap(), [""; 0]);
}

/// So that one session can't stop all others.
pub async fn an_append_has_a_size(world: &dyn World) {
    let node = world.open();
    let mut writer = Writer::open(&node, "a", "one").await;
    let events = (0..=MAX_APPEND).map(|_| noted("")).collect();
    assert!(matches!(writer.record(events).await, Err(StoreError::TooMuch { .. })));
    // To append nothing is allowed, and changes at most what is folded.
    assert_eq!(writer.record(vec![]).await.unwrap(), []);
}
