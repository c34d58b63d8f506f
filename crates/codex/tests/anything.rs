//! Whatever Codex says, in whatever order and however damaged: no panic, and no request hangs.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeSet, sync::LazyLock};

use jiff::{SignedDuration, Timestamp};
use pilothouse_codex::{Client, Missed, MissedTurn, Output, Peer, Tag};
use pilothouse_core::{
    Answer, Attach, Decision, FromAgent, Management, Prompt, Spec, ToAgent, TurnId,
};
use pilothouse_testkit::recording;
use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

/// Every shape of line in the recordings, once for each method and set of parameters.
static LINES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let mut seen = BTreeSet::new();
    let mut lines = Vec::new();
    for recording in recording::all("app-server-0.171.0").unwrap() {
        for line in recording.from_codex() {
            let names =
                |it: &Value| it.as_object().map(|it| it.keys().cloned().collect::<Vec<_>>());
            let shape = (
                line["method"].to_string(),
                names(&line["params"]),
                line["params"]["item"]["type"].to_string(),
                names(&line["result"]),
            );
            if seen.insert(shape) {
                lines.push(line.clone());
            }
        }
    }
    lines
});

#[derive(Debug, Clone)]
enum Happening {
    Line { which: Index, id: i64, thread: u8 },
    Damaged { which: Index, place: Index, by: Value },
    Text(String),
    Attach(u8, u8),
    Rejoin(u8, bool),
    Tell(u8, u8),
    Detach(u8),
    Request(u8),
    Tick(u16),
    Exit,
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|it| json!(it)),
        "[a-z0]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-zA-Z]{1,8}", inner), 0..4)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        8 => (any::<Index>(), 0..12_i64, 0..3_u8).prop_map(|(which, id, thread)| Happening::Line { which, id, thread }),
        8 => (any::<Index>(), any::<Index>(), json_value()).prop_map(|(which, place, by)| Happening::Damaged { which, place, by }),
        1 => ".{0,40}".prop_map(Happening::Text),
        3 => (0..3_u8, 0..3_u8).prop_map(|(tag, how)| Happening::Attach(tag, how)),
        2 => (0..3_u8, any::<bool>()).prop_map(|(tag, named)| Happening::Rejoin(tag, named)),
        4 => (0..3_u8, 0..8_u8).prop_map(|(tag, what)| Happening::Tell(tag, what)),
        1 => (0..3_u8).prop_map(Happening::Detach),
        1 => (0..3_u8).prop_map(Happening::Request),
        1 => any::<u16>().prop_map(Happening::Tick),
        1 => Just(Happening::Exit),
    ]
}

/// Puts a value somewhere into another.
fn damage(value: &mut Value, place: Index, by: &Value) {
    let places = count(value);
    let mut left = place.index(places);
    replace(value, &mut left, by);
}

fn count(value: &Value) -> usize {
    let inner = match value {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    inner + 1
}

fn replace(value: &mut Value, left: &mut usize, by: &Value) -> bool {
    if *left == 0 {
        value.clone_from(by);
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(values) => values.iter_mut().any(|it| replace(it, left, by)),
        Value::Object(fields) => fields.values_mut().any(|it| replace(it, left, by)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The line as if it were about one of few threads, and answered one of our latest requests.
fn aimed(line: &Value, id: i64, thread: u8) -> Value {
    let mut line = line.clone();
    if line.get("id").is_some() {
        line["id"] = id.into();
    }
    let thread = Value::from(format!("t{thread}"));
    for place in ["/params/threadId", "/params/thread/id", "/result/thread/id"] {
        if let Some(it) = line.pointer_mut(place) {
            it.clone_from(&thread);
        }
    }
    line
}

fn message(what: u8, key: &str) -> ToAgent {
    let turn = "u".to_owned();
    match what {
        0 => ToAgent::StartTurn { turn: TurnId(1), prompt: Prompt::text("x") },
        1 => ToAgent::Steer { turn, prompt: Prompt::text("x") },
        2 => ToAgent::Interrupt { turn },
        3 => ToAgent::Answer {
            key: key.into(),
            answer: Answer::plain(Decision::Decline),
            reason: Some("r".into()),
        },
        4 => ToAgent::Answer {
            key: key.into(),
            answer: Answer::Filled { content: json!({}) },
            reason: None,
        },
        5 => ToAgent::Expire { key: key.into(), waited_s: 5 },
        6 => ToAgent::Manage(Management::CleanTerminals),
        _ => ToAgent::Manage(Management::Review { target: Value::Null }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic_or_hang(happenings in prop::collection::vec(happening(), 1..80)) {
        let client = || Client { name: "c".into(), title: "C".into(), version: "1".into() };
        let mut peer = Peer::new(client(), "p".into());
        let mut now = Timestamp::UNIX_EPOCH;
        let mut raw: BTreeSet<u64> = BTreeSet::new();
        let mut n_raw = 0;
        let mut keys: Vec<String> = Vec::new();
        let mut outputs = peer.hello(now);
        outputs.extend(peer.receive(now, r#"{"id":1,"result":{"userAgent":"c/0.171.0 (x)"}}"#));
        for happening in happenings {
            let (mut asked, mut foreign) = (None, false);
            let more = match happening {
                Happening::Line { which, id, thread } => {
                    let line = aimed(which.get(&LINES), id, thread);
                    asked = line.get("method").and(line.get("id")).cloned();
                    foreign = true;
                    peer.receive(now, &line.to_string())
                }
                Happening::Damaged { which, place, by } => {
                    let mut line = aimed(which.get(&LINES), 0, 0);
                    damage(&mut line, place, &by);
                    peer.receive(now, &line.to_string())
                }
                Happening::Text(text) => peer.receive(now, &text),
                Happening::Attach(tag, how) => {
                    let thread = format!("t{tag}");
                    let how = match how {
                        0 => Attach::Start,
                        1 => Attach::Resume { thread },
                        _ => Attach::Fork { thread },
                    };
                    peer.attach(now, Tag(tag.into()), &how, &Spec::default())
                }
                Happening::Rejoin(tag, named) => {
                    let name = named.then(|| "u".to_owned());
                    let asks = keys.clone();
                    let turn = MissedTurn { name, asks, interrupted: named, ..MissedTurn::default() };
                    let thread = format!("t{tag}");
                    let missed = Missed { thread, turn: Some(turn), last_turn: None };
                    peer.rejoin(now, Tag(tag.into()), missed, &Spec::default())
                }
                Happening::Tell(tag, what) => {
                    let key = keys.last().cloned().unwrap_or_default();
                    peer.tell(now, Tag(tag.into()), message(what, &key))
                }
                Happening::Detach(tag) => peer.detach(now, Tag(tag.into()), true),
                Happening::Request(tag) => {
                    n_raw += 1;
                    raw.insert(n_raw);
                    peer.request(now, Some(Tag(tag.into())), n_raw, "thread/read", Value::Null)
                }
                Happening::Tick(seconds) => {
                    now += SignedDuration::from_secs(seconds.into());
                    peer.on_tick(now)
                }
                Happening::Exit => {
                    let more = peer.exited("gone", None);
                    prop_assert_eq!(peer.tags().count(), 0);
                    more
                }
            };
            // A request of a kind that is not asked of people has its answer at once.
            if foreign && let Some(id) = asked {
                let is_ask = more.iter().any(|it| matches!(it, Output::Said(_, FromAgent::Asks(_))));
                let n_replies = more.iter().filter(|it| is_reply(it, &id)).count();
                prop_assert!(n_replies + usize::from(is_ask) <= 1);
            }
            outputs.extend(more);
            for output in outputs.drain(..) {
                match output {
                    Output::Line(line) => {
                        let line: Value = serde_json::from_str(&line).unwrap();
                        prop_assert!(line.is_object());
                    }
                    Output::Said(_, FromAgent::Asks(request) | FromAgent::AsksAgain(request)) => {
                        keys.push(request.key);
                    }
                    Output::Answered { id, .. } => prop_assert!(raw.remove(&id)),
                    Output::Said(..) | Output::Up { .. } | Output::Broken { .. } => {}
                }
            }
        }
        // Each request of ours has an end.
        for output in peer.exited("over", None) {
            if let Output::Answered { id, .. } = output {
                prop_assert!(raw.remove(&id));
            }
        }
        prop_assert!(raw.is_empty());
        prop_assert_eq!(peer.tags().count(), 0);
    }
}

fn is_reply(output: &Output, id: &Value) -> bool {
    match output {
        Output::Line(line) => {
            let line: Value = serde_json::from_str(line).unwrap();
            line.get("method").is_none() && line["id"] == *id
        }
        Output::Said(..) | Output::Up { .. } | Output::Answered { .. } | Output::Broken { .. } => {
            false
        }
    }
}
