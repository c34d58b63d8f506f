//! What somebody does who knows how the file is made, and has no key: every one of it is found.

use std::fs;

use pilothouse_core::SessionId;
use pilothouse_store::{
    Link, SignedHead, Sqlite, Store,
    audit::LogFile,
    conformance::script::{Writer, closed},
};
use rusqlite::{Connection, params};

use super::{Home, text};

/// Turns the decision of a session round, and leaves the chain as it is.
const EDITED: &str = "UPDATE events SET json = replace(json, 'accept', 'decline')
                      WHERE session = SESSION AND seq = 3;";
/// Takes away all that is listed of a session.
const UNLISTED: &str = "DELETE FROM sessions WHERE id = SESSION;
                        DELETE FROM heads WHERE session = SESSION;";
/// Says that a session is being deleted.
const DOOMED: &str = "INSERT INTO doomed VALUES (SESSION);";
/// Says that it was.
const DELETED: &str =
    "INSERT INTO deleted (session, seq, chain) VALUES (SESSION, 7, zeroblob(32));";
const ERASED: &str = "DELETE FROM events WHERE session = SESSION;
                      DELETE FROM asks WHERE session = SESSION;";

impl Home {
    /// Makes a session's chain anew, which anyone can.
    fn rechain(&self, session: SessionId) {
        let mut links = vec![Link::genesis(session)];
        let file = LogFile::open(&self.path()).unwrap();
        file.each(session, |it| links.push(links.last().unwrap().next(it.json))).unwrap();
        drop(file);
        let db = Connection::open(self.path()).unwrap();
        let id = session.0.as_bytes();
        for link in links.into_iter().skip(1) {
            let row = params![id, i64::try_from(link.seq.0).unwrap(), link.chain.0];
            let sql = "UPDATE events SET chain = ?3 WHERE session = ?1 AND seq = ?2";
            db.execute(sql, row).unwrap();
            let sql = "UPDATE sessions SET chain = ?3, last_seq = ?2 WHERE id = ?1";
            db.execute(sql, row).unwrap();
        }
    }

    /// Exports the heads into a file.
    fn export(&self) -> String {
        let heads = self.0.path().join("heads.jsonl");
        fs::write(&heads, self.say(&["audit", "head"])).unwrap();
        text(&heads).to_owned()
    }
}

#[tokio::test]
async fn a_session_is_not_hidden_by_saying_that_it_was_deleted() {
    let edited = "event 3: it is not what was recorded";
    let marked = "it is marked as deleted, but nobody deleted it";
    let without = "it was deleted without a signature";
    let missing = "of 2 signed heads 0 went with deleted sessions, so 2 should be left, but 1 are";
    let cases: [(&[&str], &[&str]); 6] = [
        (&[DOOMED, EDITED], &[edited, marked]),
        (&[DELETED, EDITED], &[edited, without]),
        (&[UNLISTED, ERASED, DELETED], &[without, missing]),
        (&[UNLISTED, ERASED, DOOMED, DELETED], &[without, missing]),
        (
            &[UNLISTED, DOOMED, DELETED, EDITED],
            &[edited, marked, without, missing, "its log belongs to no session"],
        ),
        (&[UNLISTED, DOOMED, EDITED], &[edited, marked, missing, "its log belongs to no session"]),
    ];
    for (tampered, expected) in cases {
        let home = Home::new();
        let [_, second] = home.told().await;
        let heads = home.export();
        home.tamper(&tampered.concat(), second);
        for args in [&["audit", "verify"][..], &["audit", "verify", "--heads", &heads]] {
            let (said, _) = home.fail(args);
            for line in expected {
                let session = second.to_string();
                let whose = if *line == missing { "the store" } else { &session };
                let found = said.lines().any(|it| it.starts_with(whose) && it.contains(line));
                assert!(found, "{tampered:?}: {line}: {said}");
            }
        }
        if tampered.contains(&ERASED) {
            let (said, _) = home.fail(&["audit", "verify", "--heads", &heads]);
            let cut = format!("{second}, event 1: events 1 to 6 are missing at the log's end");
            assert!(said.contains(&cut), "{said}");
        }
    }
}

#[tokio::test]
async fn a_head_that_was_signed_is_no_signature_of_a_deletion() {
    let home = Home::new();
    let [_, second] = home.told().await;
    let heads = home.export();
    let exported = fs::read_to_string(&heads).unwrap();
    let exported = exported.lines().map(|it| serde_json::from_str::<SignedHead>(it).unwrap());
    let head = exported.into_iter().find(|it| it.session == second).unwrap();
    home.tamper(&[UNLISTED, ERASED].concat(), second);
    let db = Connection::open(home.path()).unwrap();
    let sql = "INSERT INTO deleted (session, seq, chain, key, signature)
               VALUES (?1, 6, ?2, ?3, ?4)";
    let (id, chain) = (second.0.as_bytes(), head.chain.0);
    db.execute(sql, params![id, chain, head.key.0, head.signature.0]).unwrap();
    drop(db);
    let (said, _) = home.fail(&["audit", "verify", "--heads", &heads]);
    assert!(said.contains("it was deleted without a genuine signature"), "{said}");
    assert!(said.contains("events 1 to 6 are missing at the log's end"), "{said}");
}

#[tokio::test]
async fn what_was_really_deleted_is_not_missed() {
    let home = Home::new();
    let [first, second] = home.told().await;
    let heads = home.export();
    let node = home.open();
    let mut writer = Writer::claim(&node, second).await;
    writer.record(vec![closed()]).await.unwrap();
    node.delete_session(second).await.unwrap();
    node.close().await.unwrap();
    for args in [&["audit", "verify"][..], &["audit", "verify", "--heads", &heads]] {
        let said = home.say(args);
        assert!(said.ends_with(": clean\n"), "{said}");
    }
    // Whose deletion is known cannot be brought back in part, nor the other one's head be taken.
    home.tamper("DELETE FROM heads WHERE session = SESSION", first);
    let (said, _) = home.fail(&["audit", "verify"]);
    let expected = "the store: of 3 signed heads 2 went with deleted sessions, so 1 should be left, \
                    but 0 are\n";
    assert!(said.contains(expected), "{said}");
    home.tamper("DELETE FROM deleted", first);
    let (said, _) = home.fail(&["audit", "verify"]);
    assert!(said.contains("the store: 1 deletions should be known, but 0 are\n"), "{said}");
}

#[tokio::test]
async fn a_decision_is_not_turned_round_by_taking_its_signature_away() {
    let home = Home::new();
    let [first, _] = home.told().await;
    home.tamper(&format!("{EDITED} DELETE FROM heads WHERE session = SESSION"), first);
    home.rechain(first);
    let (said, _) = home.fail(&["audit", "verify"]);
    let expected = format!("{first}, event 3: what was decided here has no signature\n");
    assert!(said.starts_with(&expected), "{said}");
    assert!(said.contains("but 1 are; the first that is missing is 1\n"), "{said}");
    // Without the tally too, and it does not help that Pilothouse goes on with what is left.
    home.tamper("DELETE FROM tallies", first);
    let (said, _) = home.fail(&["audit", "verify"]);
    assert!(said.starts_with(&expected), "{said}");
    let node = home.open();
    let mut writer = Writer::open(&node, "a", "three").await;
    writer.record(vec![closed()]).await.unwrap();
    node.close().await.unwrap();
    let (said, _) = home.fail(&["audit", "verify"]);
    assert!(said.contains("the store: "), "{said}");
}

#[tokio::test]
async fn a_log_is_not_cut_off_together_with_its_signature() {
    let home = Home::new();
    let [first, second] = home.told().await;
    for (session, n) in [(second, 2), (first, 1)] {
        home.tamper(
            "DELETE FROM heads WHERE session = SESSION AND seq = 3;
             DELETE FROM events WHERE session = SESSION AND seq >= 3",
            session,
        );
        home.rechain(session);
        let (said, _) = home.fail(&["audit", "verify"]);
        assert!(said.contains(&format!("the first that is missing is {n}\n")), "{said}");
        // By itself it is whole, so it is not vouched for unless somebody has looked.
        let session = session.to_string();
        home.say(&["audit", "verify", "--session", &session]);
        let (said, failed) = home.fail(&["audit", "head"]);
        assert_eq!(said, "");
        assert!(failed.starts_with("Pilothouse could not sign the heads: "), "{failed}");
        let head = home.say(&["audit", "head", "--session", &session]);
        assert_eq!(head.lines().count(), 1);
    }
}

#[tokio::test]
async fn where_nobody_signs_it_is_said_that_deletions_are_unknown() {
    let home = Home::new();
    fs::remove_file(home.0.path().join("audit.key")).unwrap();
    let node: std::sync::Arc<dyn Store> = Sqlite::open(&home.path()).unwrap();
    let mut writer = Writer::open(&node, "a", "one").await;
    writer.record(vec![closed()]).await.unwrap();
    let mut gone = Writer::open(&node, "a", "two").await;
    gone.record(vec![closed()]).await.unwrap();
    node.delete_session(gone.id).await.unwrap();
    node.close().await.unwrap();
    let said = home.say(&["audit", "verify"]);
    assert!(said.contains(": clean\n1 decisions are unsigned: "), "{said}");
    assert!(said.ends_with("nothing is signed here, so nothing is known of what was deleted\n"));
}
