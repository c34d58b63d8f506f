//! Real processes: what they say, how they are ended, and that nothing of them is left.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    env, fs,
    io::{BufRead, BufReader},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use pilothouse::agent::{
    lines::Line,
    process::{Exit, GuardCommand, Output, Process, Spawn, WriteError},
    tree::{Ladder, MARKER_VARIABLE, Marker, Rung, sweep},
};
use rustix::process::{Pid, Signal, kill_process};

/// What must be gone after a broker was killed.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Long, as a machine may be busy: for a rung that is expected to do.
const ENOUGH: Duration = Duration::from_secs(10);

/// Short, for a rung that is expected to do nothing.
const BRIEF: Duration = Duration::from_millis(50);

/// For what leaves at SIGTERM and not before.
const TO_TERM: Ladder = Ladder { close_stdin: BRIEF, term: ENOUGH, kill: ENOUGH };

const TO_KILL: Ladder = Ladder { close_stdin: BRIEF, term: BRIEF, kill: ENOUGH };

#[tokio::test]
async fn every_kind_of_line_arrives_in_order() {
    let mut spawn = sh("echo ok; head -c 200 /dev/zero | tr '\\0' x; echo; echo next; \
         printf 'not \\377 text\\n'; printf torn; exit 3");
    spawn.max_line = 100;
    let (lines, exit) = all(spawn).await;
    assert_eq!(
        lines,
        [
            text("ok"),
            Line::TooLong { bytes: 200 },
            text("next"),
            Line::Text { text: "not \u{fffd} text".to_owned(), lossy: true },
            Line::Torn { text: "torn".to_owned() },
        ]
    );
    assert_eq!(exit.status.unwrap().code(), Some(3));
}

#[tokio::test]
async fn a_long_line_takes_time_in_proportion() {
    let mut took = Vec::new();
    for mib in [4, 32] {
        let n_bytes = mib * 1024 * 1024;
        let script = format!("head -c {n_bytes} /dev/zero | tr '\\0' x; echo; echo end");
        let begun = Instant::now();
        let (lines, _) = all(sh(&script)).await;
        took.push(begun.elapsed());
        assert!(matches!(&lines[0], Line::Text { text, lossy: false } if text.len() == n_bytes));
        assert_eq!(lines[1..], [text("end")]);
    }
    // Eight times the bytes; in square it would be sixty-four.
    assert!(took[1] < took[0] * 32, "{took:?}");
}

#[tokio::test]
async fn a_line_survives_a_reader_that_is_called_away() {
    let mut process =
        Process::spawn(sh("head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end")).await.unwrap();
    let mut lines = Vec::new();
    let mut n_away = 0;
    while lines.len() < 2 {
        tokio::select! {
            biased;
            output = process.next() => lines.push(line(output)),
            () = tokio::task::yield_now() => n_away += 1,
        }
    }
    assert!(matches!(&lines[0], Line::Text { text, .. } if text.len() == 5_000_000));
    assert_eq!(lines[1], text("end"));
    assert!(n_away > 0);
}

#[tokio::test]
async fn a_flood_on_stderr_holds_up_nothing() {
    let script = "yes noise | head -c 18000000 >&2; printf '\\033[31mlast words\\n' >&2; echo done";
    let mut process = Process::spawn(sh(script)).await.unwrap();
    assert_eq!(line(process.next().await), text("done"));
    let exit = process.handle().exited().await;
    assert!(exit.status.unwrap().success());
    let tail = process.handle().stderr_tail();
    assert_eq!(tail.len(), 64);
    assert_eq!(tail[63], "last words");
    assert_eq!(tail[62], "noise");
}

#[tokio::test]
async fn an_agent_that_does_not_read_is_still_read_from() {
    let token = token();
    let script = format!("for i in $(seq 1000); do echo $i; done; exec sleep {token}");
    let mut process = Process::spawn(sh(&script)).await.unwrap();
    let mebibyte = "x".repeat(1024 * 1024);
    let error = loop {
        if let Err(error) = process.handle().write(mebibyte.clone()) {
            break error;
        }
    };
    assert_eq!(error, WriteError::Blocked);
    for i in 1..=1000 {
        assert_eq!(line(process.next().await), text(&i.to_string()));
    }
    let ended = process.end(TO_TERM).await.unwrap();
    assert_eq!(ended.rung, Rung::Term);
    assert_eq!(alive(&token), [""; 0]);
}

#[tokio::test]
async fn what_is_written_arrives_before_the_end_of_stdin() {
    let mut process = Process::spawn(sh("cat; echo end")).await.unwrap();
    for i in 0..500 {
        process.handle().write(format!("line {i}")).unwrap();
    }
    process.handle().close_stdin();
    assert_eq!(process.handle().write("late".to_owned()), Err(WriteError::Closed));
    for i in 0..500 {
        assert_eq!(line(process.next().await), text(&format!("line {i}")));
    }
    assert_eq!(line(process.next().await), text("end"));
    assert!(matches!(process.next().await, Some(Output::Exit(_))));
    assert!(process.next().await.is_none());
}

#[tokio::test]
async fn an_agent_that_closed_its_stdout_has_not_exited() {
    for guard in [None, Some(guard())] {
        let token = token();
        let spawn = Spawn { guard, ..sh(&format!("exec >&-; exec sleep {token}")) };
        let mut process = Process::spawn(spawn).await.unwrap();
        let waited = tokio::time::timeout(Duration::from_millis(100), process.next()).await;
        assert!(waited.is_err(), "{waited:?}");
        let ended = process.end(TO_TERM).await.unwrap();
        assert_eq!(ended.rung, Rung::Term);
        assert_eq!(alive(&token), [""; 0]);
    }
}

#[tokio::test]
async fn each_rung_ends_what_it_can() {
    let stubborn = "trap '' TERM; echo ready; while :; do sleep {}; done";
    let cases = [
        ("echo ready; cat >/dev/null; exit 5", Rung::CloseStdin, Some(5), None),
        ("echo ready; exec sleep {}", Rung::Term, None, Some(Signal::TERM)),
        (stubborn, Rung::Kill, None, Some(Signal::KILL)),
    ];
    for (script, rung, code, signal) in cases {
        for guard in [None, Some(guard())] {
            let token = token();
            let guarded = guard.is_some();
            let script = script.replace("{}", &token);
            let ladder = match rung {
                Rung::Gone | Rung::CloseStdin => Ladder { close_stdin: ENOUGH, ..TO_KILL },
                Rung::Term => TO_TERM,
                Rung::Kill => TO_KILL,
            };
            let mut process = Process::spawn(Spawn { guard, ..sh(&script) }).await.unwrap();
            assert_eq!(line(process.next().await), text("ready"));
            let ended = process.end(ladder).await.unwrap();
            assert_eq!(ended.rung, rung, "{script}, guarded: {guarded}");
            let status = ended.exit.status.unwrap();
            assert_eq!(status.code(), code, "{script}, guarded: {guarded}");
            assert_eq!(status.signal(), signal.map(Signal::as_raw), "{script}, guarded: {guarded}");
            assert_eq!(alive(&token), [""; 0], "{script}, guarded: {guarded}");
        }
    }
}

#[tokio::test]
async fn a_process_that_has_gone_is_not_ended_again() {
    let mut process = Process::spawn(sh("exit 0")).await.unwrap();
    assert!(matches!(process.next().await, Some(Output::Exit(_))));
    let ended = process.end(TO_TERM).await.unwrap();
    assert_eq!(ended.rung, Rung::Gone);
}

#[tokio::test]
async fn a_double_fork_into_another_session_is_found_by_its_marker() {
    let token = token();
    let script =
        format!("setsid sh -c 'trap \"\" TERM; setsid sleep {token} & echo ready'; cat >/dev/null");
    let mut process = Process::spawn(sh(&script)).await.unwrap();
    assert_eq!(line(process.next().await), text("ready"));
    eventually("it runs", || alive(&token).iter().any(|it| it.starts_with("sleep"))).await;
    process.handle().close_stdin();
    let exit = process.handle().exited().await;
    assert_eq!(exit.n_left_behind, 1);
    assert_eq!(alive(&token), [""; 0]);
}

#[tokio::test]
async fn what_lost_its_marker_and_its_parent_is_ended_by_the_guard() {
    let token = token();
    let script = format!(
        "trap '' TERM; env -i \"$(command -v setsid)\" \"$(command -v sleep)\" {token} & \
         echo ready; cat >/dev/null; exit 7"
    );
    let mut process = Process::spawn(guarded(&script)).await.unwrap();
    assert_eq!(line(process.next().await), text("ready"));
    eventually("it runs", || alive(&token).iter().any(|it| it.contains("/sleep"))).await;
    process.handle().close_stdin();
    let exit = process.handle().exited().await;
    assert_eq!(exit.status.unwrap().code(), Some(7));
    assert_eq!(alive(&token), [""; 0]);
}

#[tokio::test]
async fn nothing_is_left_when_the_broker_is_killed() {
    let token = token();
    let script = format!(
        "trap '' TERM; env -i \"$(command -v setsid)\" \"$(command -v sleep)\" {token} & \
         setsid sh -c 'setsid sleep {token} & setsid sleep {token} &' & \
         echo ready; while :; do sleep {token}; done"
    );
    let mut broker = Command::new(example("guarded"))
        .args(["sh", "-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(broker.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "ready\n");
    let n_asleep = || alive(&token).iter().filter(|it| it.contains("sleep ")).count();
    // Broker, guard and shell have the script in their arguments.
    eventually("all of them run", || n_asleep() == 3 + 4).await;

    let killed = Instant::now();
    broker.kill().unwrap();
    broker.wait().unwrap();
    eventually("all of them are gone", || alive(&token).is_empty()).await;
    assert!(killed.elapsed() < GONE_WITHIN, "{:?}", killed.elapsed());
}

#[tokio::test]
async fn nothing_is_left_when_the_process_is_dropped() {
    let token = token();
    let script =
        format!("trap '' TERM; sleep {token} & echo ready; while :; do sleep {token}; done");
    let mut process = Process::spawn(guarded(&script)).await.unwrap();
    assert_eq!(line(process.next().await), text("ready"));
    drop(process);
    eventually("all of them are gone", || alive(&token).is_empty()).await;
}

#[tokio::test]
async fn a_killed_guard_is_an_exit_and_leaves_nothing_marked() {
    let token = token();
    let script =
        format!("trap '' TERM; sleep {token} & echo ready; while :; do sleep {token}; done");
    let mut process = Process::spawn(guarded(&script)).await.unwrap();
    assert_eq!(line(process.next().await), text("ready"));
    signal(parent_of(process.handle().agent_pid()), Signal::KILL);
    let exit = process.handle().exited().await;
    assert_eq!(exit.status.unwrap().signal(), Some(Signal::KILL.as_raw()));
    assert!(exit.n_left_behind >= 2, "{exit:?}");
    assert_eq!(alive(&token), [""; 0]);
}

#[tokio::test]
async fn signals_from_a_terminal_do_not_end_a_guard() {
    let script =
        "trap 'echo got TERM' TERM; echo ready; kill -TERM 0; while read line; do echo $line; done";
    let mut process = Process::spawn(guarded(script)).await.unwrap();
    assert_eq!(line(process.next().await), text("ready"));
    assert_eq!(line(process.next().await), text("got TERM"));
    let guard = parent_of(process.handle().agent_pid());
    for number in [Signal::INT, Signal::HUP, Signal::QUIT, Signal::TERM] {
        signal(guard, number);
    }
    process.handle().write("still here".to_owned()).unwrap();
    assert_eq!(line(process.next().await), text("still here"));
    process.end(TO_KILL).await.unwrap();
}

#[tokio::test]
async fn an_agent_that_kills_itself_is_seen_through_the_guard() {
    let (_, exit) = all(guarded("kill -KILL $$")).await;
    assert_eq!(exit.status.unwrap().signal(), Some(Signal::KILL.as_raw()));
    let (_, exit) = all(guarded("exit 42")).await;
    assert_eq!(exit.status.unwrap().code(), Some(42));
}

#[tokio::test]
async fn an_agent_gets_its_marker_its_session_and_no_more() {
    for guard in [None, Some(guard())] {
        let mut spawn = Spawn {
            guard,
            ..sh("echo $PILOTHOUSE_AGENT; cut -d' ' -f6 /proc/$$/stat; echo $$; echo $ADDED; \
                 echo ${PATH:+path}; pwd; ls -l /proc/$$/fd | grep -c socket; trap")
        };
        spawn.env.insert("ADDED".into(), Some("added".into()));
        spawn.env.insert("PATH_TO_REMOVE".into(), None);
        spawn.cwd = Some("/".into());
        let marker = spawn.marker.to_string();
        let (lines, _) = all(spawn).await;
        let said: Vec<_> = lines
            .into_iter()
            .map(|it| match it {
                Line::Text { ref text, .. } => text.clone(),
                Line::Torn { .. } | Line::TooLong { .. } => panic!("{it:?}"),
            })
            .collect();
        assert_eq!(said[0], marker);
        assert_eq!(said[1], said[2], "it leads its session");
        // Nothing is ignored either: `trap` would say so.
        assert_eq!(said[3..], ["added", "path", "/", "0"]);
    }
}

#[tokio::test]
async fn what_can_not_be_started_is_an_error_with_and_without_a_guard() {
    for guard in [None, Some(guard())] {
        let spawn = Spawn { program: "/nowhere/codex".into(), guard, ..sh("") };
        let error = Process::spawn(spawn).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
    }
    let no_guard = GuardCommand { program: "true".into(), args: Vec::new() };
    let error = Process::spawn(Spawn { guard: Some(no_guard), ..sh("") }).await.unwrap_err();
    assert!(error.to_string().contains("guard ended"), "{error}");
}

#[tokio::test]
async fn a_sweep_ends_what_dead_nodes_left_and_nothing_else() {
    let store = format!("store-{}", token());
    let token = token();
    let orphan = |marker: String| {
        let mut command = Command::new("sleep");
        command.arg(&token).env(MARKER_VARIABLE, marker).process_group(0).spawn().unwrap()
    };
    let mut dead = orphan(format!("{store}/dead/1"));
    let mut others = [orphan(format!("{store}/alive/1")), orphan(format!("{store}-too/dead/1"))];
    eventually("they run", || alive(&token).len() == 3).await;

    let hunt = sweep(&store, |marker| marker.node == "alive").unwrap();
    assert_eq!((hunt.n_killed, hunt.left), (1, vec![]));
    assert_eq!(dead.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    for other in &mut others {
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}

fn sh(script: &str) -> Spawn {
    let mut spawn = Spawn::new("sh".into(), marker());
    spawn.args = vec!["-c".into(), script.into()];
    spawn
}

fn guarded(script: &str) -> Spawn {
    Spawn { guard: Some(guard()), ..sh(script) }
}

fn guard() -> GuardCommand {
    GuardCommand { program: example("guard"), args: Vec::new() }
}

/// Cargo builds a package's examples with its tests, next to them.
fn example(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let path = test.parent().unwrap().with_file_name("examples").join(name);
    assert!(path.exists(), "`cargo build -p pilothouse --examples` was not run");
    path
}

fn marker() -> Marker {
    let node = format!("node-{}", std::process::id());
    Marker { store: "test".to_owned(), node, process: number().to_string() }
}

/// A duration for `sleep` that no other process on this machine has.
fn token() -> String {
    format!("9{}.{}", std::process::id(), number())
}

fn number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

async fn all(spawn: Spawn) -> (Vec<Line>, Exit) {
    let mut process = Process::spawn(spawn).await.unwrap();
    let mut lines = Vec::new();
    loop {
        match process.next().await.unwrap() {
            Output::Line(line) => lines.push(line),
            Output::Exit(exit) => {
                assert!(process.next().await.is_none());
                return (lines, exit);
            }
        }
    }
}

fn text(text: &str) -> Line {
    Line::Text { text: text.to_owned(), lossy: false }
}

fn line(output: Option<Output>) -> Line {
    match output {
        Some(Output::Line(line)) => line,
        Some(Output::Exit(_)) | None => panic!("a line was expected, not {output:?}"),
    }
}

/// Command lines of the processes that have the token in theirs.
fn alive(token: &str) -> Vec<String> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok())
        .map(|it| String::from_utf8_lossy(&it).replace('\0', " "))
        .filter(|it| it.contains(token))
        .collect()
}

async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::task::yield_now().await;
    }
}

fn parent_of(pid: u32) -> Pid {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let parent = status.lines().find_map(|it| it.strip_prefix("PPid:")).unwrap();
    Pid::from_raw(parent.trim().parse().unwrap()).unwrap()
}

fn signal(pid: Pid, number: Signal) {
    kill_process(pid, number).unwrap();
}
