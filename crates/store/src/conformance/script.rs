//! Sessions to fill a store with: real events, folded as a broker would.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use pilothouse_core::{
    Actor, Answer, Ask, AskId, Cursor, Decision, Envelope, Event, FORMAT, Offer, OnExpiry, Prompt,
    Question, Reach, Session, SessionId, Settled, Spec, Subject, TurnId,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Append, Claim, Store, StoreError};

/// A name that no other session has.
pub fn fresh() -> SessionId {
    SessionId(Uuid::now_v7())
}

/// A program that opens sessions.
pub fn caller(id: &str) -> Actor {
    Actor::Caller { id: id.to_owned() }
}

/// An owner that appends to one session.
#[derive(Debug)]
pub struct Writer {
    /// The node it works on.
    pub store: Arc<dyn Store>,
    /// The session's name.
    pub id: SessionId,
    /// Its claim.
    pub claim: Claim,
    /// The session.
    pub session: Session,
    /// The second at which the next event happens.
    pub now: i64,
}

impl Writer {
    /// Opens a new session.
    pub async fn open(store: &Arc<dyn Store>, by: &str, title: &str) -> Self {
        let mut res = Self::claim(store, fresh()).await;
        res.record(vec![opened(by, title)]).await.unwrap();
        res
    }

    /// Claims a session and folds what is on record.
    pub async fn claim(store: &Arc<dyn Store>, id: SessionId) -> Self {
        let claim = store.claim(id).await.unwrap();
        let mut session = Session::default();
        let mut now = 1_800_000_000;
        loop {
            let page = store.read(id, session.seq(), 1_000).await.unwrap();
            for envelope in &page.events {
                session.apply(envelope);
                now = envelope.at.as_second() + 1;
            }
            if !page.more {
                break;
            }
        }
        assert_eq!(session.seq(), claim.last_seq);
        Self { store: Arc::clone(store), id, claim, session, now }
    }

    /// What would be appended, and the session after it.
    pub fn draft(&self, events: Vec<Event>) -> (Append, Session) {
        let mut session = self.session.clone();
        let mut envelopes = vec![];
        for (nth, event) in (0..).zip(events) {
            let at = Timestamp::from_second(self.now + nth).unwrap();
            let envelope = Envelope { seq: session.seq().next(), at, event };
            session.apply(&envelope);
            envelopes.push(envelope);
        }
        let append = Append {
            session: self.id,
            epoch: self.claim.epoch,
            expected: self.session.seq(),
            events: envelopes,
            view: session.view(self.id).unwrap(),
            snapshot: None,
        };
        (append, session)
    }

    /// Appends events, if the store lets it.
    pub async fn record(&mut self, events: Vec<Event>) -> Result<Vec<Cursor>, StoreError> {
        let count = i64::try_from(events.len()).unwrap();
        let (append, session) = self.draft(events);
        let res = self.store.append(append).await?;
        self.session = session;
        self.now += count;
        Ok(res)
    }

    /// Appends as many remarks.
    pub async fn remark(&mut self, count: usize) -> Vec<Cursor> {
        self.record((0..count).map(|_| noted("hm")).collect()).await.unwrap()
    }

    /// Appends an ask, and gives its number.
    pub async fn ask(&mut self, subject: Subject) -> AskId {
        let id = AskId(u32::try_from(self.session.seq().0).unwrap());
        let at = Timestamp::from_second(self.now).unwrap();
        self.record(vec![asked(id, subject, at)]).await.unwrap();
        id
    }
}

/// A session begins.
pub fn opened(by: &str, title: &str) -> Event {
    let spec = Spec {
        cwd: "/home/someone/Project".to_owned(),
        title: Some(title.to_owned()),
        ..Spec::default()
    };
    Event::Opened { format: FORMAT, spec, by: caller(by), fork_of: None }
}

/// Something that changes nothing.
pub fn noted(body: &str) -> Event {
    Event::Noted { method: "test/remark".to_owned(), body: Value::String(body.to_owned()) }
}

/// Something that names a blob.
pub fn naming(digest: &str) -> Event {
    Event::Noted { method: "test/long".to_owned(), body: json!({"$blob": digest}) }
}

/// A turn is asked for.
pub fn prompted(turn: u32, text: &str) -> Event {
    let prompt = Prompt::text(text);
    Event::TurnRequested { turn: TurnId(turn), prompt, by: caller("a"), queued: false }
}

/// An ask is raised.
pub fn asked(id: AskId, subject: Subject, at: Timestamp) -> Event {
    let ask = Ask {
        id,
        key: format!("key-{}", id.0),
        turn: None,
        item: None,
        digest: subject.digest(),
        subject,
        offers: vec![Offer::plain(Decision::Accept, Reach::Once)],
        reason: None,
        params: json!({"number": 0.1, "text": "\u{1f980}\0\u{7}"}),
        agent: None,
        asked_by: None,
        raised_at: at,
        expires_at: None,
        on_expiry: OnExpiry::default(),
    };
    Event::AskRaised { ask: Box::new(ask) }
}

/// May I run this?
pub fn command(line: &str) -> Subject {
    Subject::Command {
        command: line.to_owned(),
        argv: vec![],
        cwd: "/".to_owned(),
        write_stdin: false,
        host: None,
    }
}

/// What is the word?
pub fn secret_question() -> Subject {
    let question = Question {
        id: "word".to_owned(),
        question: "What is the word?".to_owned(),
        is_secret: true,
        ..Question::default()
    };
    Subject::Question { questions: vec![question] }
}

/// The word.
pub fn chosen(word: &str) -> Answer {
    Answer::chosen(BTreeMap::from([("word".to_owned(), vec![word.to_owned()])]))
}

/// An ask is answered.
pub fn settled(ask: AskId, answer: Answer) -> Event {
    let by = Actor::Human { via: "cli".to_owned(), verified: true };
    let how = Settled::Answered { answer, by, reason: None, note: None, bound: true };
    Event::AskSettled { ask, how }
}

/// A session ends.
pub fn closed() -> Event {
    Event::Closed { reason: "done".to_owned(), by: caller("a") }
}
