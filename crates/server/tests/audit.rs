//! The program on a store that somebody has been at: `audit`, `store`, and the upkeep of `serve`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::Arc,
    time::Duration,
};

use pilothouse_core::{Answer, Decision, SessionId};
use pilothouse_store::{
    Ed25519, Nudge, Signer, Sqlite, SqliteConfig, Store,
    conformance::script::{Writer, closed, command, fresh, noted, opened, settled},
};
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

#[path = "audit/forged.rs"]
mod forged;

const LONG: Duration = Duration::from_secs(30);
/// What nobody else may read.
const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// A home with a key and a store.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let key = dir.path().join("audit.key");
        fs::write(&key, "07".repeat(32)).unwrap();
        fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
        Self(dir)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("pilothouse.db")
    }

    /// A node as the program would open one.
    fn open(&self) -> Arc<dyn Store> {
        let signer: Arc<dyn Signer> = Arc::new(Ed25519::new(&[7; 32]));
        let config = SqliteConfig { signer: Some(signer), ..SqliteConfig::default() };
        Sqlite::open_with(&self.path(), &config).unwrap()
    }

    /// Two sessions, each with a settled ask and three remarks after it.
    async fn told(&self) -> [SessionId; 2] {
        let node = self.open();
        let mut res = vec![];
        for title in ["one", "two"] {
            let mut writer = Writer::open(&node, "a", title).await;
            let line = format!("curl -H 'Authorization: Bearer {SECRET}' example.org");
            let ask = writer.ask(command(&line)).await;
            let answer = settled(ask, Answer::plain(Decision::Accept));
            writer.record(vec![answer, noted("4"), noted("5"), noted("6")]).await.unwrap();
            res.push(writer.id);
        }
        node.close().await.unwrap();
        res.try_into().unwrap()
    }

    fn tamper(&self, sql: &str, session: SessionId) {
        let db = Connection::open(self.path()).unwrap();
        let sql = sql.replace("SESSION", &format!("x'{}'", session.0.simple()));
        db.execute_batch(&sql).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilothouse"));
        for name in ["PILOTHOUSE_STORE", "PILOTHOUSE_CODEX", "CODEX_MCP_BINARY", "PILOTHOUSE_LOG"] {
            command.env_remove(name);
        }
        command.env("PILOTHOUSE_HOME", self.0.path()).args(args).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// What a command prints that must succeed.
    fn say(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command prints that must fail with 1.
    fn fail(&self, args: &[&str]) -> (String, String) {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {output:?}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn a_clean_log_verifies_and_nothing_is_written() {
    let home = Home::new();
    let [first, _] = home.told().await;
    let before = fs::read(home.path()).unwrap();
    let said = home.say(&["audit", "verify"]);
    assert_eq!(said, "2 sessions, 12 events, 2 signed heads, 0 exported heads: clean\n");
    let said = home.say(&["audit", "verify", "--json", "--session", &first.to_string()]);
    let verdict: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(verdict["clean"], true);
    assert_eq!(verdict["keyless"], false);
    assert_eq!(verdict["verdict"]["events"], 6);
    assert_eq!(verdict["verdict"]["findings"], serde_json::json!([]));
    let (_, said) = home.fail(&["audit", "verify", "--session", &fresh().to_string()]);
    assert!(said.starts_with("Pilothouse could not find sess_"), "{said}");
    assert_eq!(fs::read(home.path()).unwrap(), before);
}

#[tokio::test]
async fn what_was_done_to_a_log_is_found_and_named() {
    let cases = [
        (
            "UPDATE events SET json = replace(json, 'accept', 'cancel')
             WHERE session = SESSION AND seq = 3",
            "event 3: it is not what was recorded",
        ),
        ("DELETE FROM events WHERE session = SESSION AND seq = 4", "event 4: event 4 is missing"),
        (
            "UPDATE events SET seq = 99 WHERE session = SESSION AND seq = 4;
             UPDATE events SET seq = 4 WHERE session = SESSION AND seq = 5;
             UPDATE events SET seq = 5 WHERE session = SESSION AND seq = 99",
            "event 4: event 5 stands in its place",
        ),
        (
            "DELETE FROM events WHERE session = SESSION AND seq > 4",
            "event 5: events 5 to 6 are missing at the log's end",
        ),
    ];
    for (sql, expected) in cases {
        let home = Home::new();
        let [_, second] = home.told().await;
        home.tamper(sql, second);
        let (said, failed) = home.fail(&["audit", "verify"]);
        assert!(said.starts_with(&format!("{second}, {expected}\n")), "{said}");
        assert!(failed.starts_with("Pilothouse could not vouch for the logs: "), "{failed}");
        let (said, _) = home.fail(&["store", "check"]);
        assert!(said.contains(&format!("{second}, {expected}\n")), "{said}");
    }
}

#[tokio::test]
async fn a_cut_tail_shows_against_exported_heads() {
    let home = Home::new();
    let [first, second] = home.told().await;
    let heads = home.0.path().join("heads.jsonl");
    fs::write(&heads, home.say(&["audit", "head"])).unwrap();
    let said = home.say(&["audit", "verify", "--heads", text(&heads)]);
    assert!(said.contains(", 2 exported heads: clean"), "{said}");
    // As somebody would who knows how, and leaves the signed decision alone.
    home.tamper(
        "DELETE FROM events WHERE session = SESSION AND seq > 4;
         UPDATE sessions SET last_seq = 4, chain = (SELECT chain FROM events WHERE session = SESSION
         AND seq = 4) WHERE id = SESSION",
        second,
    );
    home.say(&["audit", "verify"]);
    let args = ["audit", "verify", "--json", "--heads", text(&heads)];
    let (said, _) = home.fail(&args);
    let verdict: Value = serde_json::from_str(&said).unwrap();
    let findings = verdict["verdict"]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{said}");
    assert_eq!(findings[0]["session"], second.to_string());
    assert_eq!(findings[0]["seq"], 5);
    assert_eq!(findings[0]["problem"], "cut");
    home.say(&["audit", "verify", "--heads", text(&heads), "--session", &first.to_string()]);
    fs::write(&heads, "{}").unwrap();
    let (_, said) = home.fail(&["audit", "verify", "--heads", text(&heads)]);
    assert!(said.contains("could not understand line 1 of "), "{said}");
}

#[tokio::test]
async fn a_key_of_another_home_is_unknown_until_it_is_named() {
    let home = Home::new();
    home.told().await;
    let store = format!("sqlite:{}", home.path().display());
    let other = Home::new();
    fs::remove_file(other.0.path().join("audit.key")).unwrap();
    let said = other.say(&["audit", "verify", "--store", &store]);
    assert!(said.contains("there is no key to compare with"), "{said}");
    assert!(!other.0.path().join("audit.key").exists(), "to verify makes no key");
    // To sign does.
    let head = other.say(&["audit", "head", "--store", &store]);
    let mode = fs::metadata(other.0.path().join("audit.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let head: Value = serde_json::from_str(head.lines().next().unwrap()).unwrap();
    let key = Ed25519::new(&[7; 32]).key().to_string();
    assert_ne!(head["key"], key);
    let (said, _) = other.fail(&["audit", "verify", "--store", &store]);
    assert!(said.contains(&format!("signed by the unknown key {key}")), "{said}");
    let said = other.say(&["audit", "verify", "--store", &store, "--key", &key]);
    assert!(said.ends_with("clean\n"), "{said}");
}

#[tokio::test]
async fn decisions_are_exported_without_secrets() {
    let home = Home::new();
    let [first, second] = home.told().await;
    let said = home.say(&["audit", "export"]);
    assert!(!said.contains(SECRET), "{said}");
    assert!(said.contains("[redacted:"), "{said}");
    let lines: Vec<Value> = said.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    for (line, session) in lines.iter().zip([first, second]) {
        assert_eq!(line["session"], session.to_string());
        assert_eq!(line["seq"], 3);
        assert_eq!(line["who"]["type"], "human");
        assert_eq!(line["what"]["type"], "command");
        assert_eq!(line["digest"].as_str().unwrap().len(), 64);
        assert_eq!(line["how"]["answer"]["type"], "decided");
        assert_eq!(line["signed"]["chain"], line["chain"]);
        assert!(line["at"].as_str().unwrap().starts_with("2027-"), "{line}");
    }
    let one = home.say(&["audit", "export", "--session", &first.to_string(), "--unredacted"]);
    assert_eq!(one.lines().count(), 1);
    assert!(one.contains(SECRET), "{one}");
}

#[tokio::test]
async fn a_backup_made_while_others_write_has_all_that_was_acknowledged_before() {
    let home = Home::new();
    let node = home.open();
    let mut writer = Writer::open(&node, "a", "one").await;
    writer.remark(100).await;
    let (id, before) = (writer.id, writer.session.seq());
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let writing = tokio::spawn(async move {
        let mut n = 0_u64;
        while stopped.try_recv().is_err() {
            writer.remark(1).await;
            n += 1;
        }
        n
    });
    let copy = home.0.path().join("copy.db");
    let made = tokio::process::Command::from(home.command(&["store", "backup", text(&copy)]))
        .output()
        .await
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let said = String::from_utf8(made.stdout).unwrap();
    assert!(said.ends_with(&format!("to {}\n", copy.display())), "{said}");
    stop.send(()).unwrap();
    assert!(writing.await.unwrap() > 0, "somebody wrote meanwhile");
    let store = format!("sqlite:{}", copy.display());
    let said = home.say(&["audit", "verify", "--store", &store]);
    assert!(said.ends_with("clean\n"), "{said}");
    let said = home.say(&["store", "check", "--store", &store]);
    assert_eq!(said, format!("{}: clean, all of its parts agree\n", copy.display()));
    let restored = Sqlite::open(&copy).unwrap();
    assert!(restored.session(id).await.unwrap().unwrap().last_seq >= before);

    let (_, said) = home.fail(&["store", "backup", text(&copy)]);
    assert!(said.contains("it is there already; name a new file"), "{said}");
    let (_, said) = home.fail(&["store", "backup", "x.db", "--store", "sqlite:none.db"]);
    assert!(said.starts_with("Pilothouse could not find the store "), "{said}");
    assert!(!home.0.path().join("none.db").exists());
    let (_, said) = home.fail(&["store", "check", "--store", "memory:"]);
    assert!(said.starts_with("Pilothouse could not find a file"), "{said}");
}

#[tokio::test]
async fn a_wrong_projection_is_found() {
    let home = Home::new();
    let [first, _] = home.told().await;
    let said = home.say(&["store", "check", "--json"]);
    assert_eq!(said, "{\"clean\":true,\"findings\":[]}\n");
    home.tamper(
        "UPDATE asks SET json = replace(json, 'curl', 'wget') WHERE session = SESSION",
        first,
    );
    let (said, failed) = home.fail(&["store", "check", "--json"]);
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(found["clean"], false);
    let expected = format!("{first}: its requests are not what its log says");
    assert_eq!(found["findings"], serde_json::json!([expected]));
    assert!(failed.contains("could not vouch for "), "{failed}");
    // What no log is part of, no chain can tell.
    home.say(&["audit", "verify"]);
}

#[tokio::test]
async fn serve_deletes_closed_sessions_that_are_old() {
    let home = Home::new();
    let node = home.open();
    let kept = Writer::open(&node, "a", "open").await;
    let mut old = Writer::claim(&node, fresh()).await;
    old.now = 1_500_000_000;
    old.record(vec![opened("a", "old"), closed()]).await.unwrap();
    let mut nudges = node.subscribe();
    let _serve = Serve::start(home.command(&["serve", "--listen", "127.0.0.1:0"]));
    let gone = async {
        while node.session(old.id).await.unwrap().is_some() {
            while !matches!(nudges.recv().await, Ok(Nudge::Feed(Some(it))) if it == old.id) {}
        }
    };
    tokio::time::timeout(LONG, gone).await.unwrap();
    assert!(node.session(kept.id).await.unwrap().is_some());
}

/// A running `pilothouse serve`.
struct Serve(Child);

impl Serve {
    /// Waits for the line that it prints.
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut printed = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut printed).unwrap();
        assert!(printed.starts_with("http://"), "{printed}");
        Self(child)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
