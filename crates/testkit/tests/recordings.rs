//! The recordings in the source tree, and how they are read and compared.

use std::{collections::BTreeSet, fs};

use pilothouse_testkit::{
    Recording,
    recording::{self, Direction, Header, Line},
};
use serde_json::{Value, json};

const NEWEST: &str = "app-server-0.171.0";
const BATTERIES: [&str; 8] = [
    "app-server-0.57.0",
    "app-server-0.63.0",
    "app-server-0.77.0",
    "app-server-0.104.0",
    "app-server-0.125.0",
    "app-server-0.148.0",
    "app-server-0.169.0",
    "app-server-0.171.0",
];

#[test]
fn all_recordings_load() {
    let recordings = recording::all(NEWEST).unwrap();
    assert!(recordings.len() >= 115, "{}", recordings.len());
    for recording in &recordings {
        // A relay says nothing of its own.
        let is_relay = recording.scenario == "proxy_stdio";
        assert_eq!(recording.from_codex().next().is_some(), !is_relay, "{}", recording.scenario);
        assert!(recording.from_client().next().is_some(), "{}", recording.scenario);
    }
    for folder in BATTERIES {
        let battery = recording::named(folder, "battery").unwrap();
        assert!(battery.lines().len() > 200, "{folder}");
        let first = battery.from_client().next().unwrap();
        assert_eq!(first["method"], "initialize", "{folder}");
    }
}

#[test]
fn the_recordings_that_compare_nothing_exist() {
    let names: BTreeSet<String> =
        recording::all(NEWEST).unwrap().into_iter().map(|it| it.scenario).collect();
    for name in recording::in_only().unwrap() {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn the_readme_lists_every_recording() {
    let readme = fs::read_to_string(recording::fixtures().join("README.md")).unwrap();
    for recording in recording::all(NEWEST).unwrap() {
        let name = recording.scenario;
        assert!(readme.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn no_recording_tells_where_it_was_made() {
    for folder in BATTERIES {
        for recording in recording::all(folder).unwrap() {
            for line in recording.lines() {
                let text = line.msg.to_string();
                for place in ["\"/root", "\"/work/", "\"/Users/", "Bearer ", "sk-"] {
                    assert!(!text.contains(place), "{}: {text}", recording.scenario);
                }
            }
        }
    }
}

#[test]
fn what_differs_between_runs_is_removed() {
    let (one, two) =
        ("01a22cfd-1b1c-7630-9d63-f834139e511b", "01a22cfd-1b2e-7861-ba32-32237cf0f997");
    let cases = [
        (json!({"a": null, "b": 1}), json!({"b": 1})),
        (json!({"emittedAtMs": 5, "startedAtMs": 6}), json!({})),
        (json!({"jsonrpc": "2.0", "id": 7, "method": "m"}), json!({"id": 1, "method": "m"})),
        (json!({"id": 7, "result": {}}), json!({"id": 7, "result": {}})),
        (json!({"clientInfo": {"name": "x"}}), json!({"clientInfo": "client"})),
        (json!([two, one, two]), json!(["uuid:1", "uuid:2", "uuid:1"])),
        (json!(format!("in {one}/{two}, é")), json!("in uuid:1/uuid:2, é")),
        (
            json!("01a22cfd-1b1c-7630-9d63-f834139e511"),
            json!("01a22cfd-1b1c-7630-9d63-f834139e511"),
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(recording::normalise(&value), expected);
    }
}

#[test]
fn a_client_is_compared_message_by_message() {
    let recording = recording::named(NEWEST, "cmd_approval_accept").unwrap();
    let said: Vec<Value> = recording.from_client().cloned().collect();
    let mut other_ids = said.clone();
    other_ids[0]["id"] = json!("first");
    recording.compare_client(&other_ids).unwrap();

    let mut other_decision = said.clone();
    other_decision.last_mut().unwrap()["result"]["decision"] = json!("decline");
    let error = recording.compare_client(&other_decision).unwrap_err().to_string();
    assert!(error.contains("message 5 differs"), "{error}");
    assert!(recording.compare_client(&said[1..]).is_err());
    assert!(recording.compare_client(&[]).is_err());
}

#[test]
fn what_is_saved_is_what_is_loaded() {
    let header =
        Header { version: "1.2.3".into(), scenario: "x".into(), recorder: "a test".into() };
    let line = |dir, msg| Line { dir, t: 1, msg };
    let lines = vec![
        line(Direction::Out, json!({"id": 1})),
        line(Direction::In, json!({"id": 1})),
        line(Direction::Note, json!({"note": "end"})),
    ];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    Recording::new(header.clone(), lines.clone()).save(&path).unwrap();
    let loaded = Recording::load(&path).unwrap();
    assert_eq!(loaded.header, Some(header));
    assert_eq!(loaded.lines(), lines);

    fs::write(&path, "{\"dir\":\"in\",\"t\":1,\"msg\":{}}\nnonsense\n").unwrap();
    let error = format!("{:#}", Recording::load(&path).unwrap_err());
    assert!(error.contains("line 2"), "{error}");
}
