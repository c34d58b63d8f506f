//! Whatever a process of the exec or proto dialect says: no panic, one end for each turn.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use pilothouse_codex::{
    Output, Tag,
    exec::{Exit, Reader, command},
    proto::Peer,
};
use pilothouse_core::{
    Answer, Attach, Decision, FromAgent, Management, Prompt, Spec, ToAgent, TurnId,
};
use pilothouse_testkit::recording;
use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

static EXEC: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let folders = ["exec-0.40.0", "exec-0.42.0", "exec-0.44.0", "exec-0.47.0", "exec-0.171.0"];
    folders.iter().flat_map(|it| said(it)).collect()
});
static PROTO: LazyLock<Vec<Value>> = LazyLock::new(|| said("proto-0.42.0"));

fn said(folder: &str) -> Vec<Value> {
    let recordings = recording::all(folder).unwrap();
    recordings.iter().flat_map(|it| it.from_codex().cloned()).collect()
}

#[derive(Debug, Clone)]
enum Line {
    Whole(Index),
    Damaged(Index, Index, Value),
    Text(String),
}

fn line() -> impl Strategy<Value = Line> {
    let value = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        "[a-z_=]{0,6}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{"type": {}}, null, "x"])),
    ];
    prop_oneof![
        4 => any::<Index>().prop_map(Line::Whole),
        4 => (any::<Index>(), any::<Index>(), value).prop_map(|(which, place, by)| Line::Damaged(which, place, by)),
        1 => ".{0,40}".prop_map(Line::Text),
    ]
}

impl Line {
    fn text(&self, lines: &[Value]) -> String {
        match self {
            Self::Whole(which) => which.get(lines).to_string(),
            Self::Damaged(which, place, by) => {
                let mut line = which.get(lines).clone();
                let mut left = place.index(count(&line));
                replace(&mut line, &mut left, by);
                line.to_string()
            }
            Self::Text(text) => text.clone(),
        }
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
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

fn message(what: u8, key: &str, turn: &str) -> ToAgent {
    let (key, turn) = (key.to_owned(), turn.to_owned());
    let answer = |it| Answer::plain(it);
    match what {
        0 => ToAgent::StartTurn { turn: TurnId(1), prompt: Prompt::text("x") },
        1 => ToAgent::Steer { turn, prompt: Prompt::text("x") },
        2 => ToAgent::Interrupt { turn },
        3 => ToAgent::Answer { key, answer: answer(Decision::Decline), reason: Some("r".into()) },
        4 => ToAgent::Answer { key, answer: answer(Decision::Cancel), reason: None },
        5 => ToAgent::Expire { key, waited_s: 5 },
        6 => ToAgent::Manage(Management::Compact),
        _ => ToAgent::Manage(Management::Review { target: Value::Null }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_turn_of_exec_ends_once_and_last(
        lines in prop::collection::vec(line(), 0..60),
        interrupt_at in prop::option::of(0..60_usize),
        resumes in any::<bool>(),
        code in prop::option::of(-1..200_i32),
        stderr in "(Error: )?.{0,40}",
    ) {
        let thread = resumes.then_some("t");
        let invocation = command(&Spec::default(), thread, &Prompt::text("x"), None).unwrap();
        let mut reader = Reader::new(&invocation, "turn");
        let mut heard = Vec::new();
        for (n, line) in lines.iter().enumerate() {
            if interrupt_at == Some(n) {
                reader.interrupted();
            }
            heard.extend(reader.line(&line.text(&EXEC)));
        }
        let n_before = heard.len();
        heard.extend(reader.exited(&Exit { code, stderr }));
        prop_assert!(reader.is_over());
        let ends = |it: &FromAgent| matches!(it, FromAgent::TurnEnded { .. } | FromAgent::TurnRefused { .. });
        prop_assert_eq!(heard.iter().filter(|it| ends(it)).count(), 1);
        prop_assert!(heard.iter().position(ends) >= Some(n_before));
        let n_ready = heard.iter().filter(|it| matches!(it, FromAgent::Ready { .. })).count();
        let n_started = heard.iter().filter(|it| matches!(it, FromAgent::TurnStarted { .. })).count();
        prop_assert!(n_ready <= 1);
        prop_assert_eq!(n_ready, n_started);
    }

    #[test]
    fn nothing_makes_the_proto_peer_panic(
        lines in prop::collection::vec((line(), 0..12_u8, 0..90_i64), 0..80),
    ) {
        let mut peer = Peer::new("p".into(), None);
        let mut now = Timestamp::UNIX_EPOCH;
        let (mut key, mut turn) = (String::new(), String::new());
        let mut outputs = peer.hello(now);
        outputs.extend(peer.attach(now, Tag(0), &Attach::Start, &Spec::default()));
        outputs.extend(peer.receive(now, r#"{"id":"","msg":{"type":"session_configured","session_id":"t"}}"#));
        for (line, what, seconds) in lines {
            now += SignedDuration::from_secs(seconds);
            let more = match what {
                0..8 => peer.tell(now, Tag(0), message(what, &key, &turn)),
                8 => peer.on_tick(now),
                _ => vec![],
            };
            outputs.extend(more);
            outputs.extend(peer.receive(now, &line.text(&PROTO)));
            for output in outputs.drain(..) {
                match output {
                    Output::Line(line) => {
                        let line: Value = serde_json::from_str(&line).unwrap();
                        prop_assert!(line["id"].is_string() && line["op"]["type"].is_string());
                    }
                    Output::Said(_, FromAgent::Asks(request)) => key = request.key,
                    Output::Said(_, FromAgent::TurnStarted { name }) => turn = name,
                    Output::Said(..) | Output::Up { .. } | Output::Answered { .. } | Output::Broken { .. } => {}
                }
            }
        }
        peer.detach(now, Tag(0), true);
        prop_assert_eq!(peer.tags().count(), 0);
        prop_assert_eq!(peer.exited("gone", None), []);
    }
}
