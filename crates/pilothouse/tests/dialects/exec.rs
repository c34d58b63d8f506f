//! What is particular to a session that has a process for each turn, and to one that has its own.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::{Duration, Instant},
};

use pilothouse::{
    Dialect, Error,
    core::{
        Event, Intent, Outcome, Overrides, Prompt, Refusal, Sandbox, SessionId, Status, TurnStatus,
        TurnView, WhenBusy,
    },
};
use pilothouse_testkit::installed_codex;
use serde_json::json;

use crate::{
    pinned,
    room::{Case, LONG, Room, caller, scripted},
};

#[tokio::test]
async fn a_session_without_a_prompt_has_no_agent_until_it_has_one() {
    let room = Room::open(pinned(Dialect::Exec)).await.unwrap();
    let id = room.start_with(room.spec(), None).await.unwrap();
    let view = room.broker.session(id).await.unwrap();
    assert_eq!((view.status, view.attached, view.agent_error), (Status::Idle, false, None));
    assert!(room.broker.agent_pids().await.is_empty());
    room.prompt(id, &json!([[{"msg": "here"}]])).await.unwrap();
    room.completed(id, "here").await.unwrap();
    room.broker.stop().await;
}

#[tokio::test]
async fn an_interrupt_before_codex_spoke_ends_its_process_and_not_the_next_turn() {
    let room = Room::open(pinned(Dialect::Exec)).await.unwrap();
    let id = room.start(&json!([[{"msg": "no"}, {"gate": "never"}]])).await.unwrap();
    let queued = scripted(&json!([[{"msg": "the next one"}]]));
    let queue = Intent::Prompt { prompt: queued, when_busy: WhenBusy::Queue };
    room.broker.act(id, queue, &caller()).await.unwrap();
    room.broker.act(id, Intent::Interrupt, &caller()).await.unwrap();
    room.completed(id, "the next one").await.unwrap();
    let log = room.log(id).await.unwrap();
    let ends: Vec<_> = log.iter().filter(|it| matches!(it, Event::TurnEnded { .. })).collect();
    assert!(
        matches!(
            ends.as_slice(),
            [
                Event::TurnEnded { outcome: Outcome::Interrupted, .. },
                Event::TurnEnded { outcome: Outcome::Completed, .. }
            ]
        ),
        "{log:#?}"
    );
    no_agent_runs(&room).await;

    // With nothing behind it nobody is left waiting for an agent.
    let id = room.start(&json!([[{"msg": "no"}, {"gate": "never"}]])).await.unwrap();
    room.broker.act(id, Intent::Interrupt, &caller()).await.unwrap();
    let view = room.rests(id).await.unwrap();
    assert_eq!(view.last_turn.unwrap().status, TurnStatus::Interrupted);
    no_agent_runs(&room).await;
    room.prompt(id, &json!([[{"msg": "goes on"}]])).await.unwrap();
    room.completed(id, "goes on").await.unwrap();
    room.broker.stop().await;
}

/// A Codex that hangs before it says anything, at its first turn or at one after it.
#[tokio::test]
async fn a_silent_process_can_be_stopped_before_and_after_the_session_has_its_agent() {
    let folder = tempfile::tempdir().unwrap();
    let (program, silent) = (folder.path().join("codex"), folder.path().join("silent"));
    let case = pinned(Dialect::Exec);
    let script = format!(
        "#!/bin/sh\nif [ -e {silent:?} ] && [ \"$1\" = exec ]; then echo $$ >> {silent:?}; exec sleep 600; \
         fi\nexec {:?} \"$@\"\n",
        installed_codex(case.version).unwrap()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let room = Room::open_with(case, |it| it.binary = Some(program)).await.unwrap();

    fs::write(&silent, "").unwrap();
    let id = room.start(&json!([[{"msg": "never said"}]])).await.unwrap();
    let first = hung(&silent).await;
    interrupt(&room, id).await;
    gone(first).await;

    fs::remove_file(&silent).unwrap();
    room.prompt(id, &json!([[{"msg": "now it speaks"}]])).await.unwrap();
    room.completed(id, "now it speaks").await.unwrap();

    fs::write(&silent, "").unwrap();
    room.prompt(id, &json!([[{"msg": "never said either"}]])).await.unwrap();
    let second = hung(&silent).await;
    interrupt(&room, id).await;
    gone(second).await;
    room.broker.stop().await;
}

#[tokio::test]
async fn nothing_is_left_of_a_broker_that_stops_in_the_middle_of_a_turn() {
    let mut room = Room::open(pinned(Dialect::Exec)).await.unwrap();
    let file = room.folder.path().join("sleeper");
    let line = format!(
        "env -i setsid sh -c 'echo $$ > {file:?}; exec sleep 600' >/dev/null 2>&1 </dev/null & \
         until [ -s {file:?} ]; do :; done"
    );
    let mut spec = room.spec();
    spec.sandbox = Some(Sandbox::DangerFullAccess);
    let script = json!([[{"cmd": line}], [{"msg": "started"}, {"gate": "never"}]]);
    let id = room.start_with(spec, Some(scripted(&script))).await.unwrap();
    room.model.reached_gate("never").await.unwrap();
    let mut left = vec![hung(&file).await];
    left.extend(room.broker.agent_pids().await.into_values());
    assert!(left.len() == 2 && left.iter().all(|it| is_alive(*it)), "{left:?}");
    let began = Instant::now();
    room.broker.stop().await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(!left.iter().any(|it| is_alive(*it)), "{left:?}");
    room.reopen().await.unwrap();
    let status = room.log(id).await.map(|it| it.into_iter().find_map(outcome));
    assert_eq!(status.unwrap(), Some(Outcome::Interrupted));
    room.broker.stop().await;
}

#[tokio::test]
async fn what_is_not_forced_is_chosen_by_the_version() {
    for (case, expected) in
        [(pinned(Dialect::AppServer), "app-server"), (Case::new("0.42.0", Dialect::Proto), "proto")]
    {
        let room = Room::open_with(case, |it| it.dialect = None).await.unwrap();
        let id = room.start(&json!([[{"msg": "hello"}]])).await.unwrap();
        let view = room.completed(id, "hello").await.unwrap();
        assert_eq!(view.dialect.as_deref(), Some(expected));
        room.broker.stop().await;
    }
}

#[tokio::test]
async fn a_killed_process_loses_its_turn_and_not_the_thread() {
    let room = Room::open(pinned(Dialect::Exec)).await.unwrap();
    let id = room.start(&json!([[{"msg": "my name is Bruno"}]])).await.unwrap();
    room.completed(id, "my name is Bruno").await.unwrap();
    room.prompt(id, &json!([[{"msg": "one moment"}, {"gate": "never"}]])).await.unwrap();
    room.model.reached_gate("never").await.unwrap();
    for pid in room.broker.agent_pids().await.into_values() {
        let kill = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
        assert!(kill.unwrap().success());
    }
    let turn = room.rests(id).await.unwrap().last_turn.unwrap();
    assert_eq!(turn.status, TurnStatus::Lost);
    room.prompt(id, &json!([[{"msg": "here again"}]])).await.unwrap();
    room.completed(id, "here again").await.unwrap();
    assert!(room.last_read().contains("my name is Bruno"));
    room.broker.stop().await;
}

#[tokio::test]
async fn a_schema_reaches_the_model_and_its_file_does_not_stay() {
    let room = Room::open(pinned(Dialect::Exec)).await.unwrap();
    let before = schema_files();
    let mut prompt = scripted(&json!([[{"msg": "{}"}, {"gate": "looked"}]]));
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    prompt.overrides.output_schema = Some(schema.clone());
    let id = room.start_with(room.spec(), Some(prompt)).await.unwrap();
    room.model.reached_gate("looked").await.unwrap();
    let body = room.model.requests().pop().unwrap().body;
    assert_eq!(body["text"]["format"]["schema"], schema);
    room.model.open_gate("looked");
    room.completed(id, "{}").await.unwrap();
    assert_eq!(schema_files().difference(&before).count(), 0);
    room.broker.stop().await;
}

#[tokio::test]
async fn what_it_cannot_honour_is_refused_by_name_before_and_after_it_began() {
    let room = Room::open(pinned(Dialect::Exec)).await.unwrap();
    let mut spec = room.spec();
    spec.collaboration_mode = Some(json!({"mode": "plan"}));
    let hello = || scripted(&json!([[{"msg": "hello"}]]));
    let id = room.start_with(spec, Some(hello())).await.unwrap();
    refused(room.rests(id).await.unwrap().last_turn.unwrap(), "collaborationMode");

    let id = room.start_with(room.spec(), Some(hello())).await.unwrap();
    room.completed(id, "hello").await.unwrap();
    let prompt = Prompt { images: vec!["https://example.org/a.png".to_owned()], ..hello() };
    room.prompt_with(id, prompt).await.unwrap();
    refused(room.rests(id).await.unwrap().last_turn.unwrap(), "images");
    room.prompt(id, &json!([[{"msg": "without"}]])).await.unwrap();
    room.completed(id, "without").await.unwrap();
    room.broker.stop().await;
}

#[tokio::test]
async fn what_a_prompt_changes_holds_for_those_after_it() {
    let room = Room::open(pinned(Dialect::Exec)).await.unwrap();
    let model = || room.model.requests().pop().unwrap().model.unwrap();
    let id = room.start(&json!([[{"msg": "one"}]])).await.unwrap();
    room.completed(id, "one").await.unwrap();
    let mut prompt = scripted(&json!([[{"msg": "two"}]]));
    prompt.overrides = Overrides { model: Some("gpt-5".to_owned()), ..Overrides::default() };
    room.prompt_with(id, prompt).await.unwrap();
    room.completed(id, "two").await.unwrap();
    assert_eq!(model(), "gpt-5");
    room.prompt(id, &json!([[{"msg": "three"}]])).await.unwrap();
    room.completed(id, "three").await.unwrap();
    assert_eq!(model(), "gpt-5");
    room.broker.stop().await;
}

#[tokio::test]
async fn nothing_is_added_to_a_turn_that_takes_nothing() {
    let room = Room::open(pinned(Dialect::Exec)).await.unwrap();
    let id = room.start(&json!([[{"msg": "one moment"}, {"gate": "more"}]])).await.unwrap();
    room.model.reached_gate("more").await.unwrap();
    let steer = Intent::Prompt { prompt: Prompt::text("and this"), when_busy: WhenBusy::Steer };
    let steered = room.broker.act(id, steer, &caller()).await;
    assert!(matches!(steered, Err(Error::Refused(Refusal::Busy))), "{steered:?}");
    room.model.open_gate("more");
    room.completed(id, "one moment").await.unwrap();
    room.broker.stop().await;
}

#[tokio::test]
async fn a_dialect_that_is_wanted_is_never_replaced() {
    let case = pinned(Dialect::Proto);
    let room = Room::open(case).await.unwrap();
    let id = room.start(&json!([[{"msg": "no"}]])).await.unwrap();
    let error = room.rests(id).await.unwrap().agent_error.unwrap();
    let words = format!("Pilothouse could not speak proto to Codex {}, which", case.version);
    assert!(error.message.starts_with(&words), "{error:?}");
    assert!(room.model.requests().is_empty());
    room.broker.stop().await;
}

#[tokio::test]
async fn a_closed_session_of_proto_takes_its_process_along() {
    let room = Room::open(Case::new("0.42.0", Dialect::Proto)).await.unwrap();
    let one = room.start(&json!([[{"msg": "one"}]])).await.unwrap();
    let two = room.start(&json!([[{"msg": "two"}]])).await.unwrap();
    room.completed(one, "one").await.unwrap();
    room.completed(two, "two").await.unwrap();
    assert_eq!(room.broker.agent_pids().await.len(), 2, "each has its own");
    for id in [one, two] {
        let close = Intent::Close { reason: "done".to_owned() };
        room.broker.act(id, close, &caller()).await.unwrap();
    }
    no_agent_runs(&room).await;
    room.broker.stop().await;
}

async fn interrupt(room: &Room, id: SessionId) {
    room.broker.act(id, Intent::Interrupt, &caller()).await.unwrap();
    let turn = room.rests(id).await.unwrap().last_turn.unwrap();
    assert_eq!(turn.status, TurnStatus::Interrupted);
}

async fn gone(pid: u32) {
    let gone = async {
        while is_alive(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, gone).await.unwrap();
}

fn outcome(event: Event) -> Option<Outcome> {
    let Event::TurnEnded { outcome, .. } = event else { return None };
    Some(outcome)
}

/// The process that wrote its number into the file.
async fn hung(file: &Path) -> u32 {
    let written = async {
        loop {
            let text = fs::read_to_string(file).unwrap_or_default();
            if let Some(pid) = text.strip_suffix('\n').and_then(|it| it.parse().ok()) {
                return pid;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, written).await.unwrap()
}

fn is_alive(pid: u32) -> bool {
    // A zombie is no longer alive; its parent may just not have looked yet.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|it| !it.rsplit(')').next().unwrap().trim().starts_with('Z'))
}

fn refused(turn: TurnView, option: &str) {
    assert_eq!(turn.status, TurnStatus::Failed);
    let error = turn.error.unwrap();
    assert_eq!(error.detail["code"], "EXEC_NOT_SUPPORTED");
    assert!(error.message.contains(option), "{error:?}");
}

fn schema_files() -> BTreeSet<std::ffi::OsString> {
    let all = fs::read_dir(std::env::temp_dir()).unwrap();
    let names = all.filter_map(Result::ok).map(|it| it.file_name());
    names.filter(|it| it.to_string_lossy().starts_with("pilothouse-schema-")).collect()
}

async fn no_agent_runs(room: &Room) {
    let none = async {
        while !room.broker.agent_pids().await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, none).await.unwrap();
}
