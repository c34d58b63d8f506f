//! The store of one machine keeps every promise, and says what is wrong with a file.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs::{self, OpenOptions},
    io::{Seek, SeekFrom, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use pilothouse_core::{Cursor, Seq};
use pilothouse_store::{
    Nudge, Sqlite, SqliteConfig, Store, StoreError, conformance,
    conformance::{
        World,
        script::{Writer, closed, command, noted, prompted},
    },
};
use rusqlite::Connection;
use tempfile::TempDir;

struct OneFile {
    dir: TempDir,
    nodes: Mutex<Vec<Arc<Sqlite>>>,
}

fn world() -> OneFile {
    OneFile { dir: TempDir::new().unwrap(), nodes: Mutex::default() }
}

impl OneFile {
    fn path(&self) -> PathBuf {
        self.dir.path().join("data/pilothouse.db")
    }
}

impl World for OneFile {
    fn open(&self) -> Arc<dyn Store> {
        let node = Sqlite::open(&self.path()).unwrap();
        self.nodes.lock().unwrap().push(Arc::clone(&node));
        node
    }

    fn kill(&self, node: Arc<dyn Store>) {
        let mut nodes = self.nodes.lock().unwrap();
        let at = nodes.iter().position(|it| it.node() == node.node()).unwrap();
        drop(node);
        // The last one dies of it.
        let last = Arc::into_inner(nodes.remove(at));
        assert!(last.is_some(), "the test still holds the node");
    }

    fn at_rest(&self) -> Vec<u8> {
        let files = fs::read_dir(self.dir.path().join("data")).unwrap().flatten();
        let files = files.map(|it| it.path()).filter(|it| it.is_file());
        files.flat_map(|it| fs::read(it).unwrap()).collect()
    }
}

conformance!(world());

#[tokio::test]
async fn what_is_told_survives_the_loss_of_power() {
    let world = world();
    let node = world.open();
    Writer::open(&node, "a", "one").await;
    let db = Connection::open(world.path()).unwrap();
    let text = |pragma| db.pragma_query_value(None, pragma, |row| row.get::<_, String>(0));
    assert_eq!(text("journal_mode").unwrap(), "wal");
    let int = |pragma| db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    assert_eq!(int("user_version").unwrap(), 4);
}

#[tokio::test]
async fn nothing_is_told_as_written_once_the_file_has_lost_its_name() {
    let lose: [fn(&Path); 3] = [
        remove,
        |path| fs::rename(path, path.with_extension("old")).unwrap(),
        |path| {
            let copy = path.with_extension("copy");
            fs::copy(path, &copy).unwrap();
            fs::rename(copy, path).unwrap();
        },
    ];
    for lose in lose {
        let world = world();
        let node = world.open();
        let mut writer = Writer::open(&node, "a", "one").await;
        lose(&world.path());
        let refused = |res: Result<(), StoreError>| match res {
            Err(StoreError::Unusable { path, problem }) => {
                assert_eq!(path, world.path());
                assert!(problem.contains("was removed or replaced while in use"), "{problem}");
                assert!(problem.contains("restart Pilothouse"), "{problem}");
            }
            other => panic!("{other:?}"),
        };
        refused(writer.record(vec![noted("lost")]).await.map(drop));
        refused(node.put_blob(vec![1]).await.map(drop));
        refused(node.claim(writer.id).await.map(drop));
        refused(node.close().await);
    }
}

#[tokio::test]
async fn who_opens_after_the_file_was_removed_knows_who_lives_and_is_not_hurt() {
    let world = world();
    let old = world.open();
    Writer::open(&old, "a", "one").await;
    remove(&world.path());
    let new = world.open();
    assert!(new.nodes().await.unwrap().iter().all(|it| it.node != *old.node()));
    assert!(new.is_alive(old.node().clone()).await.unwrap());
    let id = Writer::open(&new, "b", "two").await.id;
    // What SQLite removes at the end of the first one must not be the second one's.
    let name = old.node().clone();
    world.kill(old);
    assert!(!new.is_alive(name).await.unwrap());
    assert!(world.open().session(id).await.unwrap().is_some());
    world.kill(new);
    assert!(world.open().session(id).await.unwrap().is_some());
}

fn remove(path: &Path) {
    for end in ["", "-wal", "-shm"] {
        fs::remove_file(format!("{}{end}", path.display())).unwrap();
    }
}

#[tokio::test]
async fn files_are_for_their_user_alone() {
    let world = world();
    let node = world.open();
    Writer::open(&node, "a", "one").await;
    let dir = world.path().parent().unwrap().to_owned();
    let mut seen = 0;
    for path in [dir.clone(), dir.join("run")].iter().flat_map(|it| fs::read_dir(it).unwrap()) {
        let path = path.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} {mode:o}", path.display());
        seen += 1;
    }
    // File, two logs, directory; lock, socket, the sign on the door.
    assert_eq!(seen, 7);
}

fn problem(path: &Path) -> String {
    problem_with(path, &SqliteConfig::default())
}

fn problem_with(path: &Path, config: &SqliteConfig) -> String {
    match Sqlite::open_with(path, config) {
        Err(StoreError::Unusable { path: it, problem }) => {
            assert_eq!(it, path);
            problem
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    let dir = TempDir::new().unwrap();
    assert!(problem(dir.path()).contains("is a directory"));

    let noise = dir.path().join("noise.db");
    fs::write(&noise, "This is no database. ".repeat(1_000)).unwrap();
    assert!(problem(&noise).contains("damaged"));

    let read_only = dir.path().join("read-only.db");
    drop(Sqlite::open(&read_only).unwrap());
    fs::set_permissions(&read_only, fs::Permissions::from_mode(0o400)).unwrap();
    assert!(problem(&read_only).contains("may not be written"));

    let newer = dir.path().join("newer.db");
    drop(Sqlite::open(&newer).unwrap());
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let said = problem(&newer);
    assert!(said.contains("newer Pilothouse (format 99; this one knows up to 4)"), "{said}");

    let other = dir.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    assert!(problem(&other).contains("another program"));
    let db = Connection::open(&other).unwrap();
    let mode: String = db.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete", "what is not ours is left as it was");

    let locked = dir.path().join("locked.db");
    drop(Sqlite::open(&locked).unwrap());
    let db = Connection::open(&locked).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let config = SqliteConfig { patience: Duration::from_millis(50), ..SqliteConfig::default() };
    assert!(problem_with(&locked, &config).contains("keeps it locked"));
    db.execute_batch("ROLLBACK").unwrap();
    drop(Sqlite::open_with(&locked, &config).unwrap());
}

#[tokio::test]
async fn a_file_that_is_damaged_later_says_so() {
    let world = world();
    let node = world.open();
    let mut writer = Writer::open(&node, "a", "one").await;
    writer.remark(2_000).await;
    node.close().await.unwrap();
    let mut file = OpenOptions::new().write(true).open(world.path()).unwrap();
    let length = file.metadata().unwrap().len();
    // All but the first page.
    file.seek(SeekFrom::Start(4_096)).unwrap();
    file.write_all(&vec![0xA5; usize::try_from(length).unwrap() - 4_096]).unwrap();
    let said = problem(&world.path());
    assert!(said.contains("damaged"), "{said}");
}

#[tokio::test]
async fn a_store_that_is_full_goes_on_when_there_is_room() {
    let world = world();
    let roomy = world.open();
    let config = SqliteConfig { max_pages: Some(120), ..SqliteConfig::default() };
    let small: Arc<dyn Store> = Sqlite::open_with(&world.path(), &config).unwrap();
    let mut writer = Writer::open(&small, "a", "one").await;
    let text = "x".repeat(20_000);
    let full = loop {
        let before = writer.session.seq();
        match writer.record(vec![noted(&text)]).await {
            Ok(_) => assert!(before.0 < 100, "it never fills"),
            Err(err) => break err,
        }
    };
    assert!(matches!(&full, StoreError::Full { path } if *path == world.path()), "{full:?}");
    assert!(full.to_string().contains("free some space"), "{full}");
    // What is small still fits: one that is too large does not fail the others.
    let last = writer.session.seq();
    assert_eq!(roomy.session(writer.id).await.unwrap().unwrap().last_seq, last);
    small.release(writer.id, writer.claim.epoch).await.unwrap();
    let mut writer = Writer::claim(&roomy, writer.id).await;
    assert_eq!(writer.session.seq(), last);
    writer.record(vec![noted(&text)]).await.unwrap();
    assert_eq!(roomy.check().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_backup_is_a_store() {
    let world = world();
    let node = world.open();
    let mut writer = Writer::open(&node, "a", "one").await;
    writer.ask(command("ls")).await;
    let to = world.dir.path().join("copy/pilothouse.db");
    fs::create_dir(to.parent().unwrap()).unwrap();
    node.backup(to.clone()).await.unwrap();
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    writer.remark(1).await;
    let refused = node.backup(to.clone()).await;
    assert!(
        matches!(&refused, Err(StoreError::Unusable { path, .. }) if *path == to),
        "{refused:?}"
    );
    let copy: Arc<dyn Store> = Sqlite::open(&to).unwrap();
    assert_eq!(copy.check().await.unwrap(), [""; 0]);
    // Its owner is no node of the copy.
    let copied = Writer::claim(&copy, writer.id).await;
    assert_eq!(copied.session.seq(), Seq(2));
    assert_eq!(copy.feed(Cursor(0), 9).await.unwrap().entries.len(), 2);
}

#[tokio::test]
async fn what_was_tampered_with_is_found() {
    let damages = [
        "UPDATE sessions SET view = replace(view, '\"turns\":1', '\"turns\":2')",
        "UPDATE sessions SET view = 'x'",
        "UPDATE sessions SET status = '\"idle\"'",
        "UPDATE sessions SET opened_by = 'x'",
        "UPDATE sessions SET active = 9",
        "UPDATE sessions SET closed = 1",
        "UPDATE sessions SET last_seq = 9",
        "UPDATE asks SET pending = 0",
        "UPDATE asks SET json = replace(json, 'ls', 'rm')",
        "DELETE FROM asks",
        "UPDATE snapshots SET json = replace(json, 'go', 'no')",
        "UPDATE events SET json = replace(json, 'go', 'no') WHERE seq = 3",
        "UPDATE events SET json = 'x' WHERE seq = 3",
        "DELETE FROM events WHERE seq = 2",
        "UPDATE events SET session = zeroblob(16) WHERE seq = 4",
        "UPDATE events SET seq = 9 WHERE seq = 4",
    ];
    for damage in damages {
        let world = world();
        let node = world.open();
        let mut writer = Writer::open(&node, "a", "one").await;
        writer.ask(command("ls")).await;
        let (mut append, session) = writer.draft(vec![prompted(1, "go"), noted("4")]);
        append.snapshot = Some(Box::new(session));
        node.append(append).await.unwrap();
        assert_eq!(node.check().await.unwrap(), [""; 0]);
        let db = Connection::open(world.path()).unwrap();
        assert_ne!(db.execute(damage, []).unwrap(), 0);
        assert_ne!(node.check().await.unwrap(), [""; 0], "{damage}");
    }
}

#[tokio::test]
async fn what_is_deleted_is_gone_from_the_disk() {
    let world = world();
    let node = world.open();
    let mut writer = Writer::open(&node, "a", "one").await;
    let text = "unforgettable";
    writer.record(vec![prompted(1, text), closed()]).await.unwrap();
    node.delete_session(writer.id).await.unwrap();
    // Closing brings what is in the log into the file.
    node.close().await.unwrap();
    let bytes = world.at_rest();
    assert!(bytes.starts_with(b"SQLite"), "this looks at the right place");
    assert!(!bytes.windows(text.len()).any(|it| it == text.as_bytes()));
}

#[tokio::test]
async fn a_node_leaves_nothing_behind_and_sweeps_after_others() {
    let world = world();
    let run = world.path().parent().unwrap().join("run");
    let files = || {
        let mut res: Vec<_> =
            fs::read_dir(&run).unwrap().map(|it| it.unwrap().file_name()).collect();
        res.retain(|it| it != "opening");
        res.len()
    };
    let first = world.open();
    assert_eq!(files(), 2);
    first.close().await.unwrap();
    assert_eq!(files(), 0);
    drop(first);
    let second = world.open();
    world.kill(second);
    assert_eq!(files(), 2, "the dead can't clean up");
    let third = world.open();
    assert_eq!(files(), 2);
    third.close().await.unwrap();
}

#[tokio::test]
async fn a_file_by_another_name_is_the_same_store() {
    let world = world();
    let first = world.open();
    let writer = Writer::open(&first, "a", "one").await;
    let link = world.dir.path().join("link.db");
    std::os::unix::fs::symlink(world.path(), &link).unwrap();
    let second = Sqlite::open(&link).unwrap();
    assert!(matches!(second.claim(writer.id).await, Err(StoreError::Held { .. })));
}

#[tokio::test]
async fn a_long_path_is_no_obstacle() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("long".repeat(40)).join("pilothouse.db");
    let first: Arc<dyn Store> = Sqlite::open(&path).unwrap();
    let second: Arc<dyn Store> = Sqlite::open(&path).unwrap();
    let mut hints = second.subscribe();
    let writer = Writer::open(&first, "a", "one").await;
    loop {
        if matches!(hints.recv().await.unwrap(), Nudge::Feed(Some(id)) if id == writer.id) {
            break;
        }
    }
    first.close().await.unwrap();
    second.close().await.unwrap();
}

#[tokio::test]
async fn a_node_without_a_socket_is_not_lost() {
    let world = world();
    let (first, second) = (world.open(), world.open());
    let mut hints = second.subscribe();
    // As a program would that cleans up too much.
    let socket = world.path().parent().unwrap().join(format!("run/{}.sock", second.node()));
    fs::remove_file(socket).unwrap();
    Writer::open(&first, "a", "one").await;
    while !matches!(hints.recv().await.unwrap(), Nudge::Feed(_)) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_appends_share_few_syncs() {
    let world = world();
    let node = world.open();
    let mut writers = vec![];
    for _ in 0..64 {
        writers.push(Writer::open(&node, "a", "one").await);
    }
    let log = world.path().with_extension("db-wal");
    let before = fs::metadata(&log).unwrap().len();
    let mut tasks = tokio::task::JoinSet::new();
    for mut writer in writers {
        tasks.spawn(async move { writer.remark(1).await });
    }
    tasks.join_all().await;
    // Alone, each would write some pages of 4 KiB for itself.
    let grown = fs::metadata(&log).unwrap().len() - before;
    assert!(grown < 64 * 4 * 4_096, "{grown}");
}

#[tokio::test]
async fn a_file_that_is_locked_later_says_so_and_loses_nothing() {
    let world = world();
    let config = SqliteConfig { patience: Duration::from_millis(50), ..SqliteConfig::default() };
    let node: Arc<dyn Store> = {
        drop(world.open());
        Sqlite::open_with(&world.path(), &config).unwrap()
    };
    let mut writer = Writer::open(&node, "a", "one").await;
    let db = Connection::open(world.path()).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = writer.record(vec![noted("refused")]).await.unwrap_err();
    assert!(refused.to_string().contains("keeps it locked; close that program"), "{refused}");
    // It can be read all the while.
    assert_eq!(node.read(writer.id, Seq(0), 9).await.unwrap().events.len(), 1);
    db.execute_batch("ROLLBACK").unwrap();
    writer.record(vec![noted("kept")]).await.unwrap();
    assert_eq!(writer.session.seq(), Seq(2));
    assert_eq!(node.check().await.unwrap(), [""; 0]);
}

#[test]
fn an_older_file_without_room_for_the_new_format_stays_as_it_was() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("store.db");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format-1.db"), &path).unwrap();
    let config = SqliteConfig { max_pages: Some(25), ..SqliteConfig::default() };
    let full = Sqlite::open_with(&path, &config).unwrap_err();
    assert!(full.to_string().contains("is full; free some space"), "{full}");
    let format = |path: &Path| {
        let db = Connection::open(path).unwrap();
        db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(format(&path), 1);
    drop(Sqlite::open(&path).unwrap());
    assert_eq!(format(&path), 4);
}
