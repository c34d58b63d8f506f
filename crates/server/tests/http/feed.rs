//! The feed: events in order without gap or repeat, deltas, and who is seen to look.

use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Rule},
};
use serde_json::{Value, json};

use crate::desk::{Desk, Heard, asking};

fn is_event(heard: &Heard, kind: &str) -> bool {
    heard.name == "event" && heard.data["event"]["type"] == kind
}

fn seqs(heard: &[Heard], session: &str) -> Vec<u64> {
    let of = heard.iter().filter(|it| it.name == "event" && it.data["sessionId"] == session);
    of.map(|it| it.data["seq"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_reader_gets_events_and_deltas_and_resumes_where_it_was() {
    let actions = vec![Action::BeginTurn, Action::Flood(20), Action::EndTurn("completed".into())];
    let agent = FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap();
    let desk = Desk::open(&agent).await;
    let mut stream = desk.follow(&desk.token, "", None).await;
    let hello = stream.next().await.unwrap();
    assert_eq!(hello.name, "live");
    assert_eq!(Some(&hello.data["cursor"]), hello.id.clone().map(Value::from).as_ref());

    let id = desk.start().await;
    // Deltas have no place: they may come before or after what was recorded in the same moment.
    let (mut n_streamed, mut ended) = (0, false);
    let both = |it: &Heard| {
        n_streamed += it.data["text"].as_str().map_or(0, str::len);
        ended |= is_event(it, "turnEnded");
        ended && n_streamed >= "word ".len() * 20
    };
    let heard = stream.until(both).await;
    let n = u64::try_from(seqs(&heard, &id).len()).unwrap();
    assert_eq!(seqs(&heard, &id), (1..=n).collect::<Vec<_>>());
    let deltas: Vec<_> = heard.iter().filter(|it| it.name == "delta").collect();
    assert!(!deltas.is_empty() && deltas.iter().all(|it| it.id.is_none()), "{heard:?}");
    assert_eq!(deltas[0].data["kind"], "text");
    assert_eq!(deltas[0].data["sessionId"], id.as_str());
    let text: String = deltas.iter().map(|it| it.data["text"].as_str().unwrap()).collect();
    assert_eq!(text, "word ".repeat(20));

    // From each place on, the rest comes once, by either way of naming the place.
    let events: Vec<_> = heard.into_iter().filter(|it| it.name == "event").collect();
    for (position, event) in events.iter().enumerate() {
        let cursor = event.id.as_deref().unwrap();
        assert_eq!(event.data["cursor"], cursor);
        let query = format!("?after={cursor}");
        for (query, last) in
            [("", Some(cursor)), (query.as_str(), None), ("?after=c0", Some(cursor))]
        {
            let mut again = desk.follow(&desk.token, query, last).await;
            let heard = again.until(|it| it.name == "live").await;
            let (live, rest) = heard.split_last().unwrap();
            assert_eq!(rest, &events[position + 1..]);
            assert_eq!(live.id, events.last().unwrap().id);
        }
    }
    desk.close().await;
}

#[tokio::test]
async fn a_caller_hears_of_its_own_sessions_and_a_person_of_all() {
    let agent = asking();
    let desk = Desk::open(&agent).await;
    let mut caller = desk.follow(&desk.token, "", None).await;
    let mut human = desk.follow(&desk.human, "", None).await;
    let body = crate::desk::new_session();
    let theirs = desk.post_as_human("/api/v1/sessions", body).await.body["sessionId"].clone();
    let theirs = theirs.as_str().unwrap();
    desk.asked(theirs).await;
    let own = desk.start().await;
    let heard = caller.until(|it| is_event(it, "askRaised")).await;
    assert_eq!(seqs(&heard, theirs), Vec::<u64>::new());
    assert_eq!(heard.last().unwrap().data["sessionId"], own.as_str());
    let wanted = |it: &Heard| is_event(it, "askRaised") && it.data["sessionId"] == own.as_str();
    let heard = human.until(wanted).await;
    assert!(!seqs(&heard, theirs).is_empty());
    desk.close().await;
}

#[tokio::test]
async fn a_caller_hears_no_more_of_a_session_that_another_adopted() {
    use pilothouse::core::{Actor, Intent};

    let agent = FakeAgent::new(&[]).unwrap();
    let desk = Desk::open(&agent).await;
    let mut caller = desk.follow(&desk.token, "", None).await;
    let given = desk.start().await;
    desk.session_until(&given, "idle").await;
    let other = Actor::Caller { id: "other".into() };
    let adopt = Intent::Adopt { client: Some("Other".into()) };
    desk.broker.act(given.parse().unwrap(), adopt, &other).await.unwrap();
    let path = format!("/api/v1/asks?state=pending&sessionId={given}");
    let ask = desk.get_as_human(&path).await.body["asks"][0].clone();
    let path = format!("/api/v1/asks/{}/answer", ask["requestId"].as_str().unwrap());
    let yes = json!({ "digest": ask["digest"], "decision": "accept" });
    let settled = desk.post_as_human(&path, yes).await;
    assert_eq!(settled.status, 200, "{}", settled.text);
    let heard = caller.until(|it| is_event(it, "adopted")).await;
    assert_eq!(heard.last().unwrap().data["sessionId"], given.as_str());

    let rename = |title: &str| Intent::Rename { title: title.into() };
    desk.broker.act(given.parse().unwrap(), rename("theirs"), &other).await.unwrap();
    let own = desk.start().await;
    let token = Actor::Caller { id: "token".into() };
    desk.broker.act(own.parse().unwrap(), rename("ours"), &token).await.unwrap();
    let heard = caller.until(|it| is_event(it, "renamed")).await;
    assert_eq!(seqs(&heard, &given), Vec::<u64>::new(), "{heard:?}");
    assert_eq!(heard.last().unwrap().data["sessionId"], own.as_str());
    desk.close().await;
}

#[tokio::test]
async fn a_person_who_looks_is_seen_and_questions_wait() {
    let agent = asking();
    let desk = Desk::open(&agent).await;
    let surfaces = async |desk: &Desk| {
        let nodes = desk.broker.nodes().await.unwrap();
        let presence = nodes[0].presence.clone();
        assert_eq!(presence.console.as_deref(), Some("http://127.0.0.1:7457/"));
        presence.human_surfaces
    };
    let program = desk.follow(&desk.token, "", None).await;
    assert_eq!(surfaces(&desk).await, 0, "a program is no person");
    let id = desk.start().await;
    assert!(desk.asked(&id).await["expiresAt"].is_string(), "nobody is there");

    let person = desk.follow(&desk.human, "", None).await;
    assert_eq!(surfaces(&desk).await, 1);
    let id = desk.start().await;
    assert_eq!(desk.asked(&id).await["expiresAt"], json!(null));

    drop((person, program));
    let gone = async {
        while surfaces(&desk).await > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::desk::LONG, gone).await.unwrap();
    desk.close().await;
}

#[tokio::test]
async fn another_nodes_deltas_come_too() {
    let gate = tempfile::tempdir().unwrap();
    let open = gate.path().join("open");
    let actions = vec![
        Action::BeginTurn,
        Action::WaitFile(open.clone()),
        Action::Flood(5),
        Action::EndTurn("completed".into()),
    ];
    let agent = FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap();
    let here = Desk::open(&agent).await;
    let there = Desk::join(&agent, here.home()).await;
    let mut stream = there.follow(&there.human, "", None).await;
    here.start().await;
    stream.until(|it| is_event(it, "turnStarted")).await;
    std::fs::write(open, "").unwrap();
    let heard = stream.until(|it| is_event(it, "turnEnded")).await;
    assert!(heard.iter().any(|it| it.name == "delta"), "{heard:?}");
    there.close().await;
    here.close().await;
}

#[tokio::test]
async fn the_end_of_the_program_ends_the_feed() {
    let desk = Desk::open(&FakeAgent::new(&[]).unwrap()).await;
    let mut stream = desk.follow(&desk.human, "", None).await;
    assert_eq!(stream.next().await.unwrap().name, "live");
    desk.close().await;
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn a_silent_feed_is_kept_alive() {
    use axum::body::Body;
    use futures_util::StreamExt as _;
    use tower::ServiceExt as _;

    let desk = Desk::in_memory(&FakeAgent::new(&[]).unwrap()).await;
    let request = crate::desk::request("GET", "/api/v1/feed", &desk.human, None);
    let body: Body = desk.router.clone().oneshot(request).await.unwrap().into_body();
    let mut chunks = body.into_data_stream();
    let mut read = String::new();
    while !read.contains("event: live") {
        let chunk = chunks.next().await.unwrap().unwrap();
        read.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    // From here on nothing but time passes.
    tokio::time::pause();
    let chunk = chunks.next().await.unwrap().unwrap();
    assert_eq!(&chunk[..], b": keep-alive\n\n");
    tokio::time::resume();
    desk.close().await;
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_dropped_and_can_resume() {
    use pilothouse::core::{Actor, Intent};

    let agent = FakeAgent::new(&[]).unwrap();
    let desk = Desk::in_memory(&agent).await;
    let id = desk.start().await;
    desk.session_until(&id, "idle").await;
    let mut stream = desk.follow(&desk.human, "", None).await;
    assert_eq!(stream.next().await.unwrap().name, "live");
    let by = Actor::Human { via: "console".into(), verified: true };
    // Few are as large as these, and many would be too much to keep for each reader.
    let title = |n: usize| format!("{n} {}", "x".repeat(10_000));
    for n in 0..200 {
        let intent = Intent::Rename { title: title(n) };
        desk.broker.act(id.parse().unwrap(), intent, &by).await.unwrap();
    }
    // From here on nothing but time passes.
    tokio::time::pause();
    let gone = async {
        while desk.broker.nodes().await.unwrap()[0].presence.human_surfaces > 0 {
            tokio::time::advance(std::time::Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(5), gone).await.unwrap();
    tokio::time::resume();
    let mut heard = vec![];
    while let Some(it) = stream.next().await {
        heard.push(it);
    }
    let kept: usize = heard.iter().map(|it| it.data.to_string().len()).sum();
    assert!(kept > 64 * 1024 && kept < 128 * 1024, "{kept}");
    let last = heard.last().unwrap().id.clone();
    let mut again = desk.follow(&desk.human, "", last.as_deref()).await;
    heard.extend(again.until(|it| it.name == "live").await);
    let titles = heard.iter().filter(|it| is_event(it, "renamed"));
    let titles: Vec<_> = titles.map(|it| it.data["event"]["title"].as_str().unwrap()).collect();
    assert_eq!(titles, (0..200).map(title).collect::<Vec<_>>());
    desk.close().await;
}
