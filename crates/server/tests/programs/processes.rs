//! What is left when Pilothouse ends: nothing, however it ends and whatever Codex had started.

use std::{
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use pilothouse_testkit::{bin, faults::on_small_disk};
use serde_json::json;

use crate::room::{Mcp, Room, poll};

/// How long everything may take to be gone.
const GONE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_closed_stdin_with_a_turn_running_leaves_no_process() {
    let (room, mcp, left) = hard_to_end().await;
    let began = Instant::now();
    mcp.leave().await;
    all_gone(&left, began).await;
    let log = room.log().await;
    assert!(log.iter().any(|it| it["type"] == "turnEnded"), "the end is on record: {log:?}");
}

#[tokio::test]
async fn sigkill_leaves_no_process_either() {
    let (room, mut mcp, left) = hard_to_end().await;
    let began = Instant::now();
    mcp.child.start_kill().unwrap();
    mcp.child.wait().await.unwrap();
    all_gone(&left, began).await;
    // What was running is told as lost by whoever looks next.
    let log = room.log().await;
    assert!(!log.iter().any(|it| it["type"] == "turnEnded"), "{log:?}");
    let mut next = room.mcp().await;
    let sessions = next.call("codex_session", json!({"action": "list", "scope": "all"})).await;
    let session = &sessions["structuredContent"]["sessions"][0];
    let script = "go\nSCRIPT:[[{\"msg\": \"back\"}]]";
    let id = session["sessionId"].as_str().unwrap().to_owned();
    let adopted = next.call("codex_reply", json!({"sessionId": id, "prompt": script})).await;
    assert_ne!(adopted["isError"], json!(true), "{adopted}");
    next.finish(&id).await;
    let lost = room.log().await;
    let ends: Vec<_> = lost.iter().filter(|it| it["type"] == "turnEnded").collect();
    assert_eq!(ends[0]["outcome"]["type"], "lost", "{ends:?}");
    assert_eq!(ends[1]["outcome"]["type"], "completed", "{ends:?}");
    next.leave().await;
}

#[tokio::test]
async fn a_signal_ends_everything_and_what_was_said_is_kept() {
    for signal in ["TERM", "INT", "HUP"] {
        let (_room, mut mcp, left) = hard_to_end().await;
        let began = Instant::now();
        crate::nodes::signal(mcp.child.id().unwrap(), signal);
        let status = tokio::time::timeout(GONE, mcp.child.wait()).await.unwrap().unwrap();
        assert!(status.success(), "SIG{signal}: {status}");
        all_gone(&left, began).await;
    }
}

#[tokio::test]
async fn a_full_disk_is_a_clear_error_and_the_program_serves_on() {
    let room = Room::new().await;
    let program = Path::new(env!("CARGO_BIN_EXE_pilothouse"));
    let mut mcp = room.mcp_as(on_small_disk(room.home.path(), 2_048, program).into()).await;
    let session = mcp.start(&room, &json!([[{"msg": "kept"}]])).await;
    mcp.finish(&session).await;
    // The disk is in a world of its own, which can be seen through the process that lives there.
    let home = format!("/proc/{}/root{}", mcp.child.id().unwrap(), room.home.path().display());
    let home = Path::new(&home);
    let before = mcp.history(&session).await;
    let filler = home.join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while file.write_all(&[0; 512]).is_ok() {}
    let prompt = json!({"sessionId": session, "prompt": "go\nSCRIPT:[[{\"msg\": \"no\"}]]"});
    // What fits into the file as it is may still be taken.
    let mut n_taken = 0;
    let refused = loop {
        let answer = mcp.call("codex_reply", prompt.clone()).await;
        if answer["isError"] == true {
            break answer;
        }
        mcp.finish(&session).await;
        n_taken += 1;
        assert!(n_taken < 100, "the disk never fills");
    };
    let words = refused["content"][0]["text"].as_str().unwrap();
    assert!(words.contains("disk") && words.contains("full"), "{words}");
    let polled = mcp.call("codex_check", poll(&session, 0, 0)).await;
    assert_eq!(polled["structuredContent"]["status"], "idle", "{polled}");
    drop(file);
    std::fs::remove_file(&filler).unwrap();
    let taken = mcp.call("codex_reply", prompt).await;
    assert_ne!(taken["isError"], json!(true), "{taken}");
    mcp.finish(&session).await;
    let after = mcp.history(&session).await;
    assert_eq!(after[..before.len()], before[..], "nothing acknowledged was lost");
    mcp.leave().await;
}

/// A session whose Codex has an MCP server that ignores SIGTERM and the end of its input, and
/// whose command left its session with an empty environment. Gives what must be gone.
async fn hard_to_end() -> (Room, Mcp, Vec<u32>) {
    let room = Room::new().await;
    let (server, sleeper) = (room.home.path().join("mcp.pid"), room.home.path().join("sleeper"));
    let probe = bin("probe-mcp").unwrap();
    let config = format!(
        "[mcp_servers.probe]\ncommand = {:?}\nargs = [\"--ignore-sigterm\", \"--ignore-eof\", \
         \"--pid-file\", {:?}]\n",
        probe.display().to_string(),
        server.display().to_string(),
    );
    room.model.write_codex_home_with(room.model.codex_home(), &config).unwrap();
    let line = format!(
        "env -i setsid sh -c 'echo $$ > {0}; exec sleep 600' >/dev/null 2>&1 </dev/null & \
         until [ -s {0} ]; do :; done",
        sleeper.display()
    );
    let mut mcp = room.mcp().await;
    let script = json!([[{"cmd": line}], [{"msg": "started"}, {"gate": "never"}]]);
    let arguments = json!({"prompt": format!("go\nSCRIPT:{script}"), "approvalPolicy": "never",
        "sandbox": "danger-full-access", "cwd": room.folder.path()});
    let started = mcp.call("codex", arguments).await;
    assert_ne!(started["isError"], json!(true), "{started}");
    room.model.reached_gate("never").await.unwrap();
    let mut left = vec![read_pid(&server), read_pid(&sleeper)];
    left.extend(descendants(mcp.child.id().unwrap()));
    assert!(left.len() >= 4, "a guard, Codex and what it started: {left:?}");
    (room, mcp, left)
}

async fn all_gone(left: &[u32], began: Instant) {
    while left.iter().any(|it| is_alive(*it)) {
        assert!(began.elapsed() < GONE, "{:?}", alive(left));
        tokio::task::yield_now().await;
    }
}

fn alive(pids: &[u32]) -> Vec<String> {
    let living = pids.iter().filter(|it| is_alive(**it));
    living
        .map(|it| std::fs::read_to_string(format!("/proc/{it}/cmdline")).unwrap_or_default())
        .collect()
}

fn read_pid(path: &Path) -> u32 {
    let text = std::fs::read_to_string(path);
    text.unwrap_or_else(|it| panic!("{}: {it}", path.display())).trim().parse().unwrap()
}

fn is_alive(pid: u32) -> bool {
    // A zombie is no longer alive; its parent may just not have looked yet.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|it| !it.rsplit(')').next().unwrap().trim().starts_with('Z'))
}

fn descendants(pid: u32) -> Vec<u32> {
    let children: Vec<u32> = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .filter_map(|it| std::fs::read_to_string(it.ok()?.path().join("children")).ok())
        .flat_map(|it| it.split_whitespace().map(|it| it.parse().unwrap()).collect::<Vec<_>>())
        .collect();
    children.iter().flat_map(|it| [vec![*it], descendants(*it)].concat()).collect()
}
