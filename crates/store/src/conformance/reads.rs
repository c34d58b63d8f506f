//! What is folded from the logs: sessions, asks, snapshots.

use pilothouse_core::{Answer, AskRef, AskState, Decision, Event, SessionId, Settled, Status};

use super::{
    World,
    script::{Writer, caller, closed, command, fresh, prompted, settled},
};
use crate::{AskFilter, SessionFilter, Store, StoreError};

async fn list(node: &dyn Store, filter: SessionFilter) -> Vec<SessionId> {
    let listing = node.sessions(filter, 100, None).await.unwrap();
    assert_eq!(listing.next, None);
    listing.rows.iter().map(|it| it.session_id).collect()
}

/// In pages that fit together.
pub async fn sessions_are_listed_by_activity(world: &dyn World) {
    let node = world.open();
    let mut writers = vec![];
    for _ in 0..5 {
        writers.push(Writer::open(&node, "a", "one").await);
    }
    for (nth, now) in [(2, 5), (0, 4), (4, 4), (1, 2), (3, 1)] {
        writers[nth].now = 1_900_000_000 + now;
        writers[nth].remark(1).await;
    }
    // Claimed, but nothing happened in it: not listed.
    node.claim(fresh()).await.unwrap();
    let (older, newer) = (writers[0].id.min(writers[4].id), writers[0].id.max(writers[4].id));
    let expected = [writers[2].id, newer, older, writers[1].id, writers[3].id];
    let (mut all, mut cursor) = (vec![], None);
    loop {
        let page = node.sessions(SessionFilter::default(), 2, cursor).await.unwrap();
        assert!(page.rows.len() <= 2);
        all.extend(page.rows.iter().map(|it| it.session_id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(all, expected);
    let bad = node.sessions(SessionFilter::default(), 2, Some("s5".to_owned())).await;
    assert!(matches!(bad, Err(StoreError::BadCursor(_))), "{bad:?}");
}

/// By who opened them and by what they are doing.
pub async fn sessions_are_filtered(world: &dyn World) {
    let node = world.open();
    let mut one = Writer::open(&node, "a", "one").await;
    let mut two = Writer::open(&node, "b", "two").await;
    one.record(vec![prompted(1, "go")]).await.unwrap();
    two.record(vec![closed()]).await.unwrap();
    let by = |id| SessionFilter { opened_by: Some(caller(id)), ..SessionFilter::default() };
    let status = |it: &[Status]| SessionFilter { status: it.to_vec(), ..SessionFilter::default() };
    assert_eq!(list(&*node, by("a")).await, [one.id]);
    assert_eq!(list(&*node, by("c")).await, []);
    assert_eq!(list(&*node, status(&[Status::Running])).await, [one.id]);
    assert_eq!(list(&*node, status(&[Status::Idle])).await, []);
    assert_eq!(list(&*node, status(&[Status::Idle, Status::Cancelled])).await, [two.id]);
}

/// By words of title, prompts and directory, whatever their case.
pub async fn sessions_are_searched(world: &dyn World) {
    let node = world.open();
    let mut one = Writer::open(&node, "a", "Fix the BÄR").await;
    let two = Writer::open(&node, "a", "100% done_").await;
    one.record(vec![prompted(1, "Look into the Parser's\nerrors")]).await.unwrap();
    let look = |it: &str| SessionFilter { search: Some(it.to_owned()), ..Default::default() };
    for (words, expected) in [
        ("bär", vec![one.id]),
        ("parser FIX", vec![one.id]),
        ("errors project", vec![one.id]),
        ("parser done", vec![]),
        ("100%", vec![two.id]),
        ("e_", vec![two.id]),
        ("d%e", vec![]),
        ("\"", vec![]),
        ("nowhere", vec![]),
    ] {
        assert_eq!(list(&*node, look(words)).await, expected, "{words}");
    }
    assert_eq!(list(&*node, look("  ")).await.len(), 2, "no words are no condition");
    // The old title is forgotten.
    let renamed = Event::Renamed { title: "Other".to_owned(), by: caller("a") };
    one.record(vec![renamed]).await.unwrap();
    assert_eq!(list(&*node, look("bär")).await, []);
    assert_eq!(list(&*node, look("other parser")).await, [one.id]);
}

/// On each way to it.
pub async fn a_session_shows_its_owner(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let writer = Writer::open(&first, "a", "one").await;
    let view = second.session(writer.id).await.unwrap().unwrap();
    assert_eq!(view.node, Some(first.node().to_string()));
    let rows = second.sessions(SessionFilter::default(), 9, None).await.unwrap().rows;
    assert_eq!(rows, [view]);
    first.release(writer.id, writer.claim.epoch).await.unwrap();
    assert_eq!(second.session(writer.id).await.unwrap().unwrap().node, None);
    assert_eq!(second.session(fresh()).await.unwrap(), None);
}

/// How, when and by whom is kept.
pub async fn asks_are_listed_until_settled_and_after(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let mut writer = Writer::open(&first, "a", "one").await;
    let ask = writer.ask(command("cargo test")).await;
    let name = AskRef { session: writer.id, ask };
    let pending = AskFilter { pending: true, ..AskFilter::default() };
    let rows = second.asks(pending.clone(), 9, None).await.unwrap().rows;
    assert_eq!(rows.len(), 1);
    let view = &rows[0];
    assert_eq!(
        (view.request_id, view.session_id, view.state),
        (name, writer.id, AskState::Pending)
    );
    assert_eq!(view.session_title.as_deref(), Some("one"));
    assert_eq!(view.subject, command("cargo test"));
    let answer = Answer::plain(Decision::Accept);
    writer.record(vec![settled(ask, answer.clone())]).await.unwrap();
    assert_eq!(second.asks(pending, 9, None).await.unwrap().rows, []);
    let view = second.ask(name).await.unwrap().unwrap();
    assert_eq!(view.state, AskState::Settled);
    let settlement = view.settlement.clone().unwrap();
    assert!(matches!(settlement.how, Settled::Answered { answer: it, .. } if it == answer));
    assert_eq!(second.asks(AskFilter::default(), 9, None).await.unwrap().rows, [view]);
    let other = AskRef { session: fresh(), ask };
    assert_eq!(second.ask(other).await.unwrap(), None);
}

/// The newest first.
pub async fn asks_are_paged_and_filtered(world: &dyn World) {
    let node = world.open();
    let mut one = Writer::open(&node, "a", "one").await;
    let mut two = Writer::open(&node, "b", "two").await;
    let mut raised = vec![];
    for line in ["1", "2", "3"] {
        raised.push(AskRef { session: one.id, ask: one.ask(command(line)).await });
        raised.push(AskRef { session: two.id, ask: two.ask(command(line)).await });
    }
    raised.reverse();
    let (mut all, mut cursor) = (vec![], None);
    loop {
        let page = node.asks(AskFilter::default(), 4, cursor).await.unwrap();
        all.extend(page.rows.iter().map(|it| it.request_id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(all, raised);
    let of_two: Vec<_> = raised.iter().copied().filter(|it| it.session == two.id).collect();
    for filter in [
        AskFilter { session: Some(two.id), ..AskFilter::default() },
        AskFilter { opened_by: Some(caller("b")), pending: true, ..AskFilter::default() },
    ] {
        let rows = node.asks(filter, 9, None).await.unwrap().rows;
        assert_eq!(rows.iter().map(|it| it.request_id).collect::<Vec<_>>(), of_two);
    }
    let bad = node.asks(AskFilter::default(), 2, Some("5".to_owned())).await;
    assert!(matches!(bad, Err(StoreError::BadCursor(_))), "{bad:?}");
}

/// The latest one.
pub async fn a_snapshot_comes_back_whole(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let mut writer = Writer::open(&first, "a", "one").await;
    assert_eq!(second.snapshot(writer.id).await.unwrap(), None);
    writer.ask(command("ls")).await;
    for text in ["go", "on"] {
        let (mut append, session) = writer.draft(vec![prompted(1, text)]);
        append.snapshot = Some(Box::new(session.clone()));
        first.append(append).await.unwrap();
        writer.session = session;
        assert_eq!(second.snapshot(writer.id).await.unwrap().as_ref(), Some(&writer.session));
    }
    writer.remark(1).await;
    let snapshot = second.snapshot(writer.id).await.unwrap().unwrap();
    assert_eq!(snapshot.seq().0 + 1, writer.session.seq().0);
}
