//! A home whose agents are kept, what runs for it, and its log.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use pilothouse_core::{AskId, AskRef, Envelope, Event, Outcome, Seq, Session, SessionId, Settled};
use pilothouse_store::{
    Append, Bytes, Ed25519, SessionFilter, Signer, Sqlite, SqliteConfig, Store,
};
use serde_json::{Value, json};

use crate::room::{Mcp, Room, Serve, parse};

/// How many seconds agents are kept: longer than a test may take, and not much longer, should it be
/// killed.
const KEEP_FOR: u32 = 120;
/// The words for a session that does not rest.
const WORKS: [&str; 2] = ["running", "waiting_approval"];
/// How long anything may take that is waited for by looking again and again.
const LONG: Duration = Duration::from_secs(25);

pub(crate) struct Stage {
    pub(crate) room: Room,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::keeping_for(KEEP_FOR).await
    }

    pub(crate) async fn keeping_for(seconds: u32) -> Self {
        let room = Room::new().await;
        let hours = f64::from(seconds) / 3_600.0;
        let settings = format!("agents = \"keep\"\nkeep_for_hours = {hours:.6}\n");
        fs::write(room.home.path().join("pilothouse.toml"), settings).unwrap();
        Self { room }
    }

    /// A session that waits for a yes to a command which leaves a trace.
    pub(crate) async fn ask_to_run(&self, mcp: &mut Mcp) -> String {
        mcp.start_and_ask(&self.room, "echo again >> ran").await.0
    }

    /// A session whose commands need no yes.
    pub(crate) async fn start_unasked(&self, mcp: &mut Mcp, script: &Value) -> String {
        let arguments = json!({
            "prompt": format!("go\nSCRIPT:{script}"),
            "approvalPolicy": "never",
            "sandbox": "workspace-write",
            "cwd": self.room.folder.path(),
        });
        let started = mcp.call("codex", arguments).await;
        let session = started["structuredContent"]["sessionId"].as_str();
        session.unwrap_or_else(|| panic!("{started}")).to_owned()
    }

    pub(crate) async fn answer_and_finish(&self, session: &str) {
        let before = self.log().await;
        let serve = self.room.serve().await;
        self.accept(&serve, session).await;
        self.finish(&serve, session).await;
        let log = self.log().await;
        assert_eq!(log.envelopes[..before.envelopes.len()], before.envelopes[..]);
        self.ran_once(&log);
    }

    /// A person says yes.
    pub(crate) async fn accept(&self, serve: &Serve, session: &str) {
        let session: SessionId = session.parse().unwrap();
        let ask = AskRef { session, ask: AskId(1) };
        let seen = serve.get(&format!("/api/v1/asks/{ask}")).await;
        assert_eq!(seen["state"], "pending", "{seen}");
        let path = format!("/api/v1/asks/{ask}/answer");
        let answer = json!({"decision": "accept", "digest": seen["digest"]});
        let (status, body) = serve.post(&path, answer).await;
        assert_eq!(status, 200, "{body}");
    }

    pub(crate) async fn finish(&self, serve: &Serve, session: &str) -> Value {
        let rests = |it: &Value| !WORKS.iter().any(|word| it["status"] == *word);
        serve.until(session, rests).await
    }

    /// Starts a program and says yes to all that is asked until the session rests.
    pub(crate) async fn follow(&self, session: &str) {
        let serve = self.room.serve().await;
        let mut feed = serve.follow().await;
        let get = async |path: String| parse(&serve.exchange("GET", &path, None).await);
        let mut number = 1;
        loop {
            let (_, view) = get(format!("/api/v1/sessions/{session}")).await;
            if !WORKS.iter().any(|word| view["status"] == *word) {
                return;
            }
            let ask = AskRef { session: session.parse().unwrap(), ask: AskId(number) };
            let (status, seen) = get(format!("/api/v1/asks/{ask}")).await;
            if status == 200 && seen["state"] != "pending" {
                number += 1;
                continue;
            }
            if status == 200 {
                // It may be settled meanwhile.
                let answer = json!({"decision": "accept", "digest": seen["digest"]});
                serve.post(&format!("/api/v1/asks/{ask}/answer"), answer).await;
                continue;
            }
            feed.next().await;
        }
    }

    /// The command ran once, in the turn that asked, which never was without its agent.
    pub(crate) fn ran_once(&self, log: &Log) {
        let ran = fs::read_to_string(self.room.folder.path().join("ran")).unwrap();
        assert_eq!(ran, "again\n");
        let requests = self.room.model.requests();
        assert_eq!(requests.len(), 2, "the model was asked twice");
        let outputs = requests[1].input().iter().filter(|it| it["type"] == "function_call_output");
        assert_eq!(outputs.count(), 1);
        assert_eq!(log.outcomes(), [&Outcome::Completed]);
        assert!(matches!(log.settlements()[..], [Settled::Answered { .. }]), "{log:?}");
        assert_eq!((log.n_attached(), log.n_raised()), (1, 1), "{log:?}");
        log.each_item_once();
    }

    pub(crate) async fn log(&self) -> Log {
        Log::read(self.room.home.path()).await
    }

    /// Puts something on record in the name of a program that is gone.
    pub(crate) async fn record(&self, event: impl FnOnce(&Session) -> Event) {
        let home = self.room.home.path();
        // What is decided here is signed as the program signs it.
        let key = fs::read_to_string(home.join("audit.key")).unwrap();
        let Bytes(secret) = key.trim().parse().unwrap();
        let signer: Arc<dyn Signer> = Arc::new(Ed25519::new(&secret));
        let config = SqliteConfig { signer: Some(signer), ..SqliteConfig::default() };
        let store = Sqlite::open_with(&home.join("pilothouse.db"), &config).unwrap();
        let store: &dyn Store = &*store;
        let id = only_session(store).await;
        let claim = store.claim(id).await.unwrap();
        let mut session = Session::default();
        for envelope in &store.read(id, Seq(0), 1_000).await.unwrap().events {
            session.apply(envelope);
        }
        let at: Timestamp = session.active_at().unwrap();
        let envelope = Envelope { seq: session.seq().next(), at, event: event(&session) };
        let expected = session.seq();
        session.apply(&envelope);
        let append = Append {
            session: id,
            epoch: claim.epoch,
            expected,
            events: vec![envelope],
            view: session.view(id).unwrap(),
            snapshot: None,
        };
        store.append(append).await.unwrap();
        store.release(id, claim.epoch).await.unwrap();
        store.close().await.unwrap();
    }

    /// Waits until Codex has written something down about its threads.
    pub(crate) async fn codex_wrote(&self, words: &str) {
        let begin = Instant::now();
        while !any_file_has(&self.room.model.codex_home().join("sessions"), words) {
            assert!(begin.elapsed() < LONG, "Codex never wrote {words:?}");
            tokio::task::yield_now().await;
        }
    }

    /// The records of agents that are kept.
    pub(crate) fn records(&self) -> Vec<String> {
        let Ok(stores) = fs::read_dir(self.room.home.path().join("agents")) else { return vec![] };
        let files = stores.flatten().flat_map(|it| fs::read_dir(it.path()).into_iter().flatten());
        let records = files.flatten().map(|it| it.path());
        let records = records.filter(|it| it.extension().is_some_and(|it| it == "json"));
        records.map(|it| it.display().to_string()).collect()
    }

    /// All that runs for this home.
    pub(crate) fn running(&self) -> Vec<u32> {
        let mark = self.room.home.path().as_os_str().as_encoded_bytes();
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
        let is_ours = |pid: &u32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.windows(mark.len()).any(|it| it == mark)
        };
        pids.filter(is_ours).collect()
    }

    pub(crate) async fn all_gone(&self, limit: Duration) {
        let begin = Instant::now();
        loop {
            let left = self.running();
            if left.is_empty() {
                return;
            }
            assert!(begin.elapsed() < limit, "left running: {left:?}");
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn these_gone(&self, pids: &[u32], limit: Duration) {
        let begin = Instant::now();
        while self.running().iter().any(|it| pids.contains(it)) {
            assert!(begin.elapsed() < limit, "left running of {pids:?}: {:?}", self.running());
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn kill_guard(&self) {
        let is_guard = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|it| *it == 0).any(|it| it == b"guard")
        };
        let guards: Vec<_> = self.running().into_iter().filter(is_guard).collect();
        assert_eq!(guards.len(), 1);
        kill(&guards);
    }

    pub(crate) fn kill_all(&self) {
        kill(&self.running());
    }
}

fn kill(pids: &[u32]) {
    for pid in pids {
        // One may have gone since it was looked for.
        let line = format!("kill -9 {pid} 2>/dev/null; true");
        assert!(std::process::Command::new("sh").args(["-c", &line]).status().unwrap().success());
    }
}

/// A moment in which something may die: between two ticks of a timer too.
pub(crate) async fn after(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        tokio::task::yield_now().await;
    }
}

impl Drop for Stage {
    /// What is kept on purpose would outlive the test.
    fn drop(&mut self) {
        self.kill_all();
    }
}

fn any_file_has(dir: &Path, words: &str) -> bool {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|it| it.path());
    let mut found = entries.map(|it| {
        if it.is_dir() {
            return any_file_has(&it, words);
        }
        fs::read_to_string(it).is_ok_and(|it| it.contains(words))
    });
    found.any(|it| it)
}

async fn only_session(store: &dyn Store) -> SessionId {
    let rows = store.sessions(SessionFilter::default(), 10, None).await.unwrap().rows;
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows[0].session_id
}

/// The log of the only session.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) envelopes: Vec<Envelope>,
}

impl Log {
    async fn read(home: &Path) -> Self {
        let store = Sqlite::open(&home.join("pilothouse.db")).unwrap();
        let store: &dyn Store = &*store;
        let id = only_session(store).await;
        let envelopes = store.read(id, Seq(0), 1_000).await.unwrap().events;
        let findings = store.check().await.unwrap();
        assert!(findings.is_empty(), "{findings:?}");
        store.close().await.unwrap();
        Self { envelopes }
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        self.envelopes.iter().map(|it| &it.event)
    }

    pub(crate) fn outcomes(&self) -> Vec<&Outcome> {
        let outcomes = self.events().filter_map(|it| match it {
            Event::TurnEnded { outcome, .. } => Some(outcome),
            _ => None,
        });
        outcomes.collect()
    }

    pub(crate) fn settlements(&self) -> Vec<&Settled> {
        let settlements = self.events().filter_map(|it| match it {
            Event::AskSettled { how, .. } => Some(how),
            _ => None,
        });
        settlements.collect()
    }

    pub(crate) fn n_attached(&self) -> usize {
        self.events().filter(|it| matches!(it, Event::Attached { .. })).count()
    }

    pub(crate) fn n_raised(&self) -> usize {
        self.events().filter(|it| matches!(it, Event::AskRaised { .. })).count()
    }

    /// The ends of items of a kind.
    pub(crate) fn completed(&self, wanted: &str) -> impl Iterator<Item = &Value> {
        self.events().filter_map(move |it| match it {
            Event::ItemCompleted { kind, body, .. } if kind == wanted => Some(body),
            _ => None,
        })
    }

    pub(crate) fn each_item_once(&self) {
        let (mut begun, mut done) = (BTreeSet::new(), BTreeSet::new());
        for event in self.events() {
            match event {
                Event::ItemStarted { item, .. } => {
                    assert!(begun.insert(item), "{item} began twice");
                }
                Event::ItemCompleted { item, .. } => {
                    assert!(done.insert(item), "{item} ended twice");
                }
                _ => {}
            }
        }
    }
}
