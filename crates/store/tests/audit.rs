//! What was done to a log behind the store's back is found, with the place.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use pilothouse_core::{Answer, AskRef, Cursor, Decision, Seq, SessionId};
use pilothouse_store::{
    Ed25519, Link, Role, SignedHead, Signer, Sqlite, SqliteConfig, Store,
    audit::{LogFile, Problem, Trust, Verdict},
    conformance::script::{Writer, closed, command, naming, noted, settled},
};
use rusqlite::{Connection, params};
use tempfile::TempDir;

/// Where something is wrong, and what.
type Place = (Option<u64>, Problem);

/// A store with one session whose first ask is settled: opened, asked, settled, and three remarks.
struct Told {
    dir: TempDir,
    session: SessionId,
    signer: Arc<Ed25519>,
}

impl Told {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let signer = Arc::new(Ed25519::new(&[7; 32]));
        let node = open(&dir.path().join("store.db"), &signer);
        let mut writer = Writer::open(&node, "a", "one").await;
        let ask = writer.ask(command("ls")).await;
        let answer = settled(ask, Answer::plain(Decision::Accept));
        writer.record(vec![answer, noted("4"), noted("5"), noted("6")]).await.unwrap();
        node.close().await.unwrap();
        Self { session: writer.id, dir, signer }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("store.db")
    }

    /// Does something to the file behind the store's back.
    fn tamper(&self, sql: &str) {
        Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }

    fn trust(&self, heads: &[SignedHead]) -> Trust {
        Trust { keys: [self.signer.key()].into(), heads: heads.to_vec() }
    }

    fn verify(&self, heads: &[SignedHead]) -> Verdict {
        LogFile::open(&self.path()).unwrap().verify(None, &self.trust(heads)).unwrap()
    }

    fn problems(&self, heads: &[SignedHead]) -> Vec<Place> {
        let findings = self.verify(heads).findings;
        let ours = |it: Option<SessionId>| it.is_none_or(|it| it == self.session);
        assert!(findings.iter().all(|it| ours(it.session)), "{findings:?}");
        findings.iter().map(|it| (it.seq.map(|it| it.0), it.problem)).collect()
    }

    /// The head as someone would export it now.
    fn export(&self) -> SignedHead {
        let head = LogFile::open(&self.path()).unwrap().head(self.session).unwrap().unwrap();
        head.sign(self.session, &*self.signer)
    }

    /// Makes the chain anew, as somebody would who knows how; signatures can't be.
    fn rechain(&self) {
        let mut link = Link::genesis(self.session);
        let mut links = vec![];
        let file = LogFile::open(&self.path()).unwrap();
        file.each(self.session, |it| {
            link = link.next(it.json);
            links.push((it.seq, link));
        })
        .unwrap();
        drop(file);
        let db = Connection::open(self.path()).unwrap();
        for (seq, link) in links {
            let seq = i64::try_from(seq.0).unwrap();
            let sql = "UPDATE events SET chain = ?1 WHERE seq = ?2";
            db.execute(sql, params![link.chain.0, seq]).unwrap();
            db.execute("UPDATE sessions SET chain = ?1, last_seq = ?2", params![link.chain.0, seq])
                .unwrap();
        }
    }
}

fn open(path: &Path, signer: &Arc<Ed25519>) -> Arc<dyn Store> {
    let signer: Arc<dyn Signer> = Arc::<Ed25519>::clone(signer);
    Sqlite::open_with(path, &SqliteConfig { signer: Some(signer), ..SqliteConfig::default() })
        .unwrap()
}

#[tokio::test]
async fn a_log_that_nobody_touched_is_clean_and_nothing_is_written() {
    let told = Told::new().await;
    let before = fs::read(told.path()).unwrap();
    let verdict = told.verify(&[told.export()]);
    assert_eq!(verdict.findings, []);
    let Verdict { sessions, events, signed, unsigned, signing, heads, findings: _ } = verdict;
    assert!(signing);
    assert_eq!((sessions, events, signed, unsigned, heads), (1, 6, 1, 0, 1));
    assert_eq!(fs::read(told.path()).unwrap(), before);
}

#[tokio::test]
async fn what_was_done_to_a_log_is_named_with_its_place() {
    use Problem::{Changed, Cut, Forged, Moved, Removed, Unlisted};

    let swap = "UPDATE events SET seq = 99 WHERE seq = 4; UPDATE events SET seq = 4 WHERE seq = 5;
                UPDATE events SET seq = 5 WHERE seq = 99";
    let swap_texts = "CREATE TEMP TABLE was AS SELECT seq, json FROM events;
                      UPDATE events SET json = (SELECT json FROM was WHERE was.seq = 9 - events.seq)
                      WHERE seq IN (4, 5)";
    let cases: [(&str, &[Place]); 11] = [
        (
            "UPDATE events SET json = replace(json, 'accept', 'decline') WHERE seq = 3",
            &[(Some(3), Changed)],
        ),
        ("UPDATE events SET json = json || ' ' WHERE seq = 6", &[(Some(6), Changed)]),
        ("UPDATE events SET json = x'ff' WHERE seq = 5", &[(Some(5), Changed)]),
        ("DELETE FROM events WHERE seq = 4", &[(Some(4), Removed)]),
        ("DELETE FROM events WHERE seq = 1", &[(Some(1), Removed)]),
        (swap, &[(Some(4), Moved), (Some(5), Moved)]),
        (swap_texts, &[(Some(4), Moved), (Some(5), Moved)]),
        ("DELETE FROM events WHERE seq > 4", &[(Some(5), Cut)]),
        ("DELETE FROM events", &[(Some(1), Cut)]),
        ("DELETE FROM sessions", &[(None, Unlisted)]),
        ("UPDATE heads SET signature = zeroblob(64)", &[(Some(3), Forged)]),
    ];
    for (sql, expected) in cases {
        let told = Told::new().await;
        // A strict table takes no bytes for a text, but a file can be written without SQLite.
        let sql = sql.replace("x'ff'", "CAST(x'ff' AS TEXT)");
        told.tamper(&sql);
        assert_eq!(told.problems(&[]), expected, "{sql}");
        let node = open(&told.path(), &told.signer);
        assert_ne!(node.check().await.unwrap(), [""; 0], "{sql}");
    }
}

#[tokio::test]
async fn a_chain_made_anew_shows_against_signed_heads() {
    let told = Told::new().await;
    told.tamper("UPDATE events SET json = replace(json, '\"ls\"', '\"rm\"') WHERE seq = 2");
    told.rechain();
    assert_eq!(told.problems(&[]), [(Some(3), Problem::Rewritten)]);

    // By a key of the forger's own.
    let told = Told::new().await;
    told.tamper("UPDATE events SET json = replace(json, '\"ls\"', '\"rm\"') WHERE seq = 2");
    told.rechain();
    let mut link = Link::genesis(told.session);
    let file = LogFile::open(&told.path()).unwrap();
    file.each(told.session, |it| {
        if it.seq <= Seq(3) {
            link = link.next(it.json);
        }
    })
    .unwrap();
    drop(file);
    let other = Ed25519::new(&[8; 32]);
    let forged = link.sign_as(Role::Kept { n: 1 }, told.session, &other);
    // As the documentation has it: one head, none removed, no deletion.
    let tally = [1, 0, 0].map(u64::to_be_bytes).concat();
    let tally = other.sign(&[b"pilothouse tally 1\n", &tally[..]].concat());
    let db = Connection::open(told.path()).unwrap();
    db.execute(
        "UPDATE heads SET chain = ?1, key = ?2, signature = ?3",
        params![forged.chain.0, forged.key.0, forged.signature.0],
    )
    .unwrap();
    db.execute("UPDATE tallies SET key = ?1, signature = ?2", params![forged.key.0, tally.0])
        .unwrap();
    drop(db);
    let foreign = [(Some(3), Problem::ForeignKey), (None, Problem::ForeignKey)];
    assert_eq!(told.problems(&[]), foreign);
    let anyone = LogFile::open(&told.path()).unwrap().verify(None, &Trust::default()).unwrap();
    assert_eq!(anyone.findings, [], "without a key to compare with it can't be told");
}

#[tokio::test]
async fn a_cut_tail_shows_against_signed_and_exported_heads() {
    // Down to before the decision: the head that is kept tells.
    let told = Told::new().await;
    told.tamper("DELETE FROM events WHERE seq > 2");
    told.rechain();
    assert_eq!(told.problems(&[]), [(Some(3), Problem::Cut)]);
    // After it: only what was exported can.
    let told = Told::new().await;
    let export = told.export();
    told.tamper("DELETE FROM events WHERE seq > 4");
    told.rechain();
    assert_eq!(told.problems(&[]), []);
    assert_eq!(told.problems(&[export]), [(Some(5), Problem::Cut)]);
    // With everything that the store knows of it.
    told.tamper("DELETE FROM events; DELETE FROM heads; DELETE FROM sessions");
    let missing = (None, Problem::Missing);
    assert_eq!(told.problems(&[]), [missing]);
    assert_eq!(told.problems(&[export]), [(Some(1), Problem::Cut), missing]);
    // An export that was tampered with proves nothing.
    let mut other = export;
    other.seq = Seq(9);
    assert_eq!(told.problems(&[other]), [(Some(9), Problem::Forged), missing]);
}

#[tokio::test]
async fn a_session_that_was_deleted_is_not_missed_but_its_end_must_be_known() {
    let told = Told::new().await;
    let node = open(&told.path(), &told.signer);
    let mut writer = Writer::claim(&node, told.session).await;
    let early = told.export();
    writer.record(vec![closed()]).await.unwrap();
    let end = told.export();
    node.delete_session(told.session).await.unwrap();
    node.close().await.unwrap();
    assert_eq!(told.problems(&[early, end]), []);
    let missing = (None, Problem::Missing);
    told.tamper("UPDATE deleted SET seq = 5");
    let cut = (Some(1), Problem::Cut);
    assert_eq!(told.problems(&[end]), [(None, Problem::Deleted), cut, missing]);
    told.tamper("DELETE FROM deleted");
    assert_eq!(told.problems(&[end]), [cut, missing]);
}

#[tokio::test]
async fn a_log_without_a_signer_says_that_it_is_unsigned() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("store.db");
    let node: Arc<dyn Store> = Sqlite::open(&path).unwrap();
    let mut writer = Writer::open(&node, "a", "one").await;
    writer.record(vec![closed()]).await.unwrap();
    // While it is open, too.
    let verdict = LogFile::open(&path).unwrap().verify(None, &Trust::default()).unwrap();
    assert_eq!((verdict.signed, verdict.unsigned, verdict.findings), (0, 1, vec![]));
    assert!(!verdict.signing, "nothing can be known of what was deleted");
    // Whoever has a key expects signatures.
    let signer = Arc::new(Ed25519::new(&[7; 32]));
    let trust = Trust { keys: [signer.key()].into(), heads: vec![] };
    let findings = LogFile::open(&path).unwrap().verify(None, &trust).unwrap().findings;
    let problems: Vec<_> = findings.iter().map(|it| it.problem).collect();
    assert_eq!(problems, [Problem::Unsigned, Problem::Missing]);
    // From when a key signs here on, what was before is taken as it is, and no more than that.
    node.close().await.unwrap();
    let node = open(&path, &signer);
    let verdict = LogFile::open(&path).unwrap().verify(None, &trust).unwrap();
    assert_eq!((verdict.signed, verdict.unsigned, verdict.findings), (0, 1, vec![]));
    let mut later = Writer::open(&node, "a", "two").await;
    later.record(vec![closed()]).await.unwrap();
    let file = Connection::open(&path).unwrap();
    file.execute_batch("DELETE FROM heads WHERE base = 0").unwrap();
    let verdict = LogFile::open(&path).unwrap().verify(None, &trust).unwrap();
    let problems: Vec<_> = verdict.findings.iter().map(|it| (it.session, it.problem)).collect();
    assert_eq!(problems, [(Some(later.id), Problem::Unsigned), (None, Problem::Missing)]);
}

#[tokio::test]
async fn what_was_taken_away_is_not_counted_anew() {
    // The node goes on with what it counted, and does not sign what somebody else wrote there.
    for sql in ["DELETE FROM tallies", "UPDATE tallies SET signed = 1, removed = 9"] {
        let told = Told::new().await;
        let node = open(&told.path(), &told.signer);
        let mut writer = Writer::open(&node, "a", "two").await;
        writer.record(vec![closed()]).await.unwrap();
        assert_eq!(told.verify(&[]).findings, []);
        told.tamper("DELETE FROM heads WHERE n = 1");
        told.tamper(sql);
        node.close().await.unwrap();
        let node = open(&told.path(), &told.signer);
        for _ in 0..3 {
            let mut writer = Writer::open(&node, "a", "more").await;
            writer.record(vec![closed()]).await.unwrap();
            let findings = told.verify(&[]).findings;
            assert!(findings.iter().any(|it| it.session.is_none()), "{sql}: {findings:?}");
        }
    }
}

#[tokio::test]
async fn a_file_in_a_place_that_cannot_be_written_is_verified_all_the_same() {
    let told = Told::new().await;
    // What SQLite would write beside the file has no place there, as on a medium that is read only.
    fs::create_dir(told.dir.path().join("store.db-shm")).unwrap();
    assert_eq!(told.verify(&[]).findings, []);
    assert_eq!(told.verify(&[]).events, 6);
}

#[test]
fn what_is_no_store_says_so() {
    let dir = TempDir::new().unwrap();
    let missing = LogFile::open(&dir.path().join("missing.db")).unwrap_err();
    assert!(missing.to_string().contains("no such file"), "{missing}");
    assert!(!dir.path().join("missing.db").exists());
    let noise = dir.path().join("noise.db");
    fs::write(&noise, "This is no database. ".repeat(1_000)).unwrap();
    let damaged = LogFile::open(&noise).unwrap_err();
    assert!(damaged.to_string().contains("damaged"), "{damaged}");
}

/// `format-1.db` was made by the program as it was before logs were chained: a session with a settled
/// ask and a blob, a closed one, and two that were deleted, the last one at the feed's end.
#[tokio::test]
async fn an_older_file_is_chained_when_it_is_opened() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("store.db");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format-1.db");
    fs::copy(fixture, &path).unwrap();
    let db = Connection::open(&path).unwrap();
    let texts = |db: &Connection| -> Vec<(i64, String)> {
        let mut select = db.prepare("SELECT pos, json FROM events ORDER BY pos").unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let before = texts(&db);
    drop(db);
    let old = LogFile::open(&path).unwrap_err();
    assert!(old.to_string().contains("format 1, whose logs are not chained"), "{old}");

    let node: Arc<dyn Store> = Sqlite::open(&path).unwrap();
    assert_eq!(node.check().await.unwrap(), [""; 0]);
    let verdict = LogFile::open(&path).unwrap().verify(None, &Trust::default()).unwrap();
    assert_eq!((verdict.sessions, verdict.events, verdict.findings), (2, 8, vec![]));
    // What was decided before there were signatures has none.
    assert_eq!((verdict.signed, verdict.unsigned), (0, 2));
    assert_eq!(texts(&Connection::open(&path).unwrap()), before, "byte for byte as it was");
    let end = before.last().unwrap().0;
    let feed = node.feed(Cursor(0), 99).await.unwrap();
    assert_eq!(feed.entries.len(), 8);
    let head = node.head().await.unwrap();
    assert!(head.0 > end.cast_unsigned(), "no place is given twice");

    let kept: SessionId = "sess_01a22e2831a77135bb94a260760addc9".parse().unwrap();
    let ask = node.ask(AskRef { session: kept, ask: pilothouse_core::AskId(1) }).await.unwrap();
    assert!(ask.unwrap().settlement.is_some());
    let mut writer = Writer::claim(&node, kept).await;
    assert!(writer.remark(1).await[0] > head);
    assert_eq!(node.check().await.unwrap(), [""; 0]);
    // The names of its blobs are known, too.
    let blob = "3593f87b3ed8cc5d227bf3cb02dda0eca4d5b0f155e60601daed26f9acb14081".to_owned();
    assert_eq!(node.blob(blob.clone()).await.unwrap().as_deref(), Some(&b"a long text"[..]));
    writer.record(vec![closed()]).await.unwrap();
    node.delete_session(kept).await.unwrap();
    assert_eq!(node.blob(blob).await.unwrap(), None);
}

/// In format 3 heads had no numbers, and deletions were signed as heads are.
#[tokio::test]
async fn what_was_signed_before_heads_had_numbers_still_counts() {
    let told = Told::new().await;
    let node = open(&told.path(), &told.signer);
    let mut gone = Writer::open(&node, "a", "two").await;
    gone.record(vec![closed()]).await.unwrap();
    let end = node.chain(gone.id).await.unwrap().unwrap();
    node.delete_session(gone.id).await.unwrap();
    node.close().await.unwrap();
    let file = LogFile::open(&told.path()).unwrap();
    let kept = file.signed(told.session).unwrap()[&Seq(3)].link();
    drop(file);
    let kept = kept.sign(told.session, &*told.signer).signature;
    let end = end.sign(gone.id, &*told.signer).signature;
    told.tamper(&format!(
        "DROP TABLE tallies; ALTER TABLE heads DROP COLUMN n; ALTER TABLE heads DROP COLUMN base;
         UPDATE heads SET signature = x'{kept}'; UPDATE deleted SET signature = x'{end}';
         PRAGMA user_version = 3"
    ));
    let old = LogFile::open(&told.path()).unwrap_err();
    assert!(old.to_string().contains("open it with this version once"), "{old}");
    open(&told.path(), &told.signer).close().await.unwrap();
    let verdict = told.verify(&[]);
    assert_eq!((verdict.signed, verdict.unsigned, verdict.findings), (1, 0, vec![]));
    // Its decision is older than the numbers, but what it says still holds.
    told.tamper("UPDATE events SET json = replace(json, 'accept', 'decline') WHERE seq = 3");
    told.rechain();
    assert_eq!(told.problems(&[]), [3, 6].map(|it| (Some(it), Problem::Rewritten)));
}

#[tokio::test]
async fn a_writer_of_an_older_version_is_refused() {
    let told = Told::new().await;
    let db = Connection::open(told.path()).unwrap();
    let old = "INSERT INTO events (session, seq, json) VALUES (zeroblob(16), 1, '{}')";
    let refused = db.execute(old, []).unwrap_err();
    assert!(refused.to_string().contains("NOT NULL constraint failed: events.chain"), "{refused}");
}

#[tokio::test]
async fn a_deletion_that_was_broken_off_is_finished() {
    let told = Told::new().await;
    let node = open(&told.path(), &told.signer);
    let mut writer = Writer::claim(&node, told.session).await;
    let blob = node.put_blob(b"text".to_vec()).await.unwrap();
    writer.record(vec![naming(&blob), closed()]).await.unwrap();
    let end = told.export();
    // As after the first step.
    let signed = end.link().sign_as(Role::Deleted, told.session, &*told.signer);
    let tally = [2, 2, 1].map(u64::to_be_bytes).concat();
    let tally = told.signer.sign(&[b"pilothouse tally 1\n", &tally[..]].concat());
    told.tamper(&format!(
        "INSERT INTO deleted (session, seq, chain, key, signature)
         SELECT id, last_seq, chain, x'{}', x'{}' FROM sessions;
         UPDATE tallies SET removed = 2, deleted = 1, signature = x'{tally}';
         INSERT INTO doomed SELECT id FROM sessions; DELETE FROM asks; DELETE FROM heads;
         DELETE FROM sessions; DELETE FROM events WHERE seq > 5",
        signed.key, signed.signature
    ));
    assert_eq!(node.check().await.unwrap(), [""; 0]);
    assert_eq!(told.problems(&[end]), []);
    assert_eq!(node.read(told.session, Seq(0), 9).await.unwrap().events, []);
    assert_eq!(node.feed(Cursor(0), 9).await.unwrap().entries, []);
    assert!(node.claim(told.session).await.is_err(), "its name is not free yet");
    assert_eq!(node.retire(None).await.unwrap(), 0);
    assert_eq!(node.blob(blob).await.unwrap(), None);
    let db = Connection::open(told.path()).unwrap();
    let left = "SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM doomed)
                + (SELECT count(*) FROM blob_names)";
    assert_eq!(db.query_row(left, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}
