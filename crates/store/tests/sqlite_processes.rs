//! Several processes on one file, and what happens when one of them is killed or has no room.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
};

use pilothouse_core::Seq;
use pilothouse_store::{
    Sqlite, Store, StoreError,
    conformance::script::{Writer, fresh},
};
use tempfile::TempDir;

const TRIES: usize = 20;

#[test]
fn what_one_process_appends_is_told_to_another_at_once() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("pilothouse.db");
    let (mut first, mut second) = (Node::start(&path), Node::start(&path));
    let id = fresh();
    assert_eq!(first.ask(&format!("open {id}")), "claimed 0");
    let mut waited = vec![];
    for _ in 0..TRIES {
        assert_eq!(second.ask(&format!("wait {id}")), "ready");
        let appended = first.ask(&format!("append {id} hello"));
        let told = second.answer();
        let time = |it: &str| it.rsplit(' ').next().unwrap().parse::<i128>().unwrap();
        assert!(appended.starts_with("appended ") && told.starts_with("told "));
        waited.push(time(&told) - time(&appended));
    }
    waited.sort_unstable();
    let median = waited[TRIES / 2];
    assert!(median < 20_000_000, "{median} ns");
}

#[test]
fn a_killed_process_owns_nothing_that_others_cannot_take() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("pilothouse.db");
    let (mut first, mut second) = (Node::start(&path), Node::start(&path));
    let id = fresh();
    first.ask(&format!("open {id}"));
    assert!(first.ask(&format!("append {id} hello")).starts_with("appended 2 "));
    let refused = second.ask(&format!("claim {id}"));
    assert!(refused.contains("which is alive"), "{refused}");
    // In the middle of its work.
    first.tell(&format!("append {id} {}", "x".repeat(100_000)));
    first.process.kill().unwrap();
    first.process.wait().unwrap();
    let claimed = second.ask(&format!("claim {id}"));
    assert!(["claimed 2", "claimed 3"].contains(&claimed.as_str()), "{claimed}");
    assert!(second.ask(&format!("append {id} mine")).starts_with("appended "));
    assert_eq!(second.ask("check"), "[]");
}

#[test]
fn a_process_without_room_says_so_and_goes_on_when_there_is_some() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("pilothouse.db");
    let mut node = Node::start(&path);
    let id = fresh();
    node.ask(&format!("open {id}"));
    assert_eq!(node.ask("limit 400000"), "ok");
    let (text, mut kept) = ("x".repeat(30_000), 1);
    let full = loop {
        let answer = node.ask(&format!("append {id} {text}"));
        match answer.strip_prefix("appended ") {
            Some(_) => kept += 1,
            None => break answer,
        }
        assert!(kept < 100, "it never fills");
    };
    assert!(full.contains("is full; free some space"), "{full}");
    assert!(kept > 1, "some of it fitted");
    // What could be read before can still be read, and once there is room it goes on.
    assert_eq!(node.ask("check"), "[]");
    assert_eq!(node.ask("unlimited"), "ok");
    let next = kept + 1;
    let answer = node.ask(&format!("append {id} {text}"));
    assert!(answer.starts_with(&format!("appended {next} ")), "{answer}");
    node.process.kill().unwrap();
    node.process.wait().unwrap();
    let mut other = Node::start(&path);
    assert_eq!(other.ask(&format!("claim {id}")), format!("claimed {next}"));
    assert_eq!(other.ask("check"), "[]");
}

#[tokio::test]
async fn a_process_is_no_node_of_another() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("pilothouse.db");
    let mut first = Node::start(&path);
    let id = fresh();
    first.ask(&format!("open {id}"));
    let second: Arc<dyn Store> = Sqlite::open(&path).unwrap();
    match second.claim(id).await {
        Err(StoreError::Held { node, .. }) => assert_eq!(node.0, first.name),
        other => panic!("{other:?}"),
    }
    let nodes = second.nodes().await.unwrap();
    let pid = |name: &str| nodes.iter().find(|it| it.node.0 == name).unwrap().pid;
    assert_eq!(pid(&first.name), first.process.id());
    assert_eq!(pid(&second.node().0), std::process::id());
    first.process.kill().unwrap();
    first.process.wait().unwrap();
    assert!(!second.owner(id).await.unwrap().unwrap().1);
    let mut writer = Writer::claim(&second, id).await;
    writer.remark(1).await;
    assert_eq!(writer.session.seq(), Seq(2));
}

/// A node in another process.
struct Node {
    process: Child,
    name: String,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Node {
    fn start(path: &Path) -> Self {
        // A file that would grow too large is an error then, and no signal.
        let script = "trap '' XFSZ; exec \"$@\"";
        let mut process = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(program())
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut res = Self { process, name: String::new(), orders, answers };
        let name = res.answer();
        name.strip_prefix("node ").unwrap().clone_into(&mut res.name);
        res
    }

    fn tell(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn ask(&mut self, order: &str) -> String {
        self.tell(order);
        self.answer()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may be gone already.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The example, which cargo builds beside the tests.
fn program() -> PathBuf {
    let mut path = env::current_exe().unwrap();
    path.pop();
    path.set_file_name("examples");
    path.push("store_node");
    assert!(path.is_file(), "build it first: cargo build -p pilothouse-store --example store_node");
    path
}
