//! What a client's reply to a form comes to: an answer, or nothing that a person said.

use std::time::Duration;

use pilothouse_core::{Answer, AskView, Decision};
use serde_json::{Map, Value};

use super::fields;

/// What a reply comes to.
#[derive(Debug, PartialEq)]
pub(super) enum Reception {
    /// This is the answer, if it fits.
    Answer(Answer),
    /// A person has gone to the page that was named, and answers there.
    Opened,
    /// It is no answer to what was asked: so it is asked once more.
    Refused(String),
    /// No person saw it.
    NotShown(String),
}

/// When a reply is taken for a person's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manners {
    /// How long the client took.
    pub(super) took: Duration,
    /// Sooner than this, nobody can have read a form.
    pub(super) reading: Duration,
    /// The client has taken its time before.
    pub(super) shows_forms: bool,
}

impl Manners {
    /// Whether the client gave a person the time to read.
    pub(super) fn is_patient(self) -> bool {
        self.took >= self.reading
    }
}

/// Reads the reply to a form, or to a page where `is_page`.
pub(super) fn read(ask: &AskView, is_page: bool, reply: &Value, manners: Manners) -> Reception {
    let read_by_someone = manners.is_patient() || manners.shows_forms;
    let no = |decision: Decision, word: &str| {
        if read_by_someone {
            return Reception::Answer(Answer::plain(decision));
        }
        let ms = manners.took.as_millis();
        Reception::NotShown(format!("{word} after {ms} ms, before anyone can have read it"))
    };
    match reply.get("action").and_then(Value::as_str) {
        Some("decline") => no(Decision::Decline, "declined"),
        Some("cancel") => no(Decision::Cancel, "cancelled"),
        Some("accept") if is_page => Reception::Opened,
        Some("accept") => {
            let none = Map::new();
            let content = reply.get("content").and_then(Value::as_object).unwrap_or(&none);
            match fields::answer(&ask.subject, content) {
                Ok(answer) => Reception::Answer(answer),
                Err(problem) => Reception::Refused(problem),
            }
        }
        _ => Reception::Refused("`action` must be accept, decline or cancel".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_core::{AskId, AskRef, AskState, SessionId, Subject};
    use serde_json::json;

    use super::*;

    fn page() -> AskView {
        let session = SessionId(uuid::Uuid::from_u128(1));
        let subject = Subject::Form {
            server: "s".to_owned(),
            message: "m".to_owned(),
            schema: json!({ "type": "object", "properties": {} }),
        };
        AskView {
            request_id: AskRef { session, ask: AskId(1) },
            session_id: session,
            session_title: None,
            kind: subject.kind(),
            state: AskState::Pending,
            raised_at: jiff::Timestamp::UNIX_EPOCH,
            expires_at: None,
            turn: None,
            item_id: None,
            reason: None,
            digest: String::new(),
            subject,
            offers: vec![],
            params: Value::Null,
            agent: None,
            asked_by: None,
            settlement: None,
        }
    }

    #[test]
    fn a_no_counts_when_somebody_can_have_read_the_question() {
        let decline = || Reception::Answer(Answer::plain(Decision::Decline));
        let not_shown = |ms: u64, word: &str| {
            Reception::NotShown(format!("{word} after {ms} ms, before anyone can have read it"))
        };
        for (action, ms, shows_forms, expected) in [
            ("decline", 3, false, not_shown(3, "declined")),
            ("cancel", 999, false, not_shown(999, "cancelled")),
            ("decline", 1_000, false, decline()),
            ("decline", 3, true, decline()),
        ] {
            let (took, reading) = (Duration::from_millis(ms), Duration::from_secs(1));
            let manners = Manners { took, reading, shows_forms };
            let reply = json!({ "action": action });
            assert_eq!(read(&page(), false, &reply, manners), expected, "{action} {ms}");
        }
    }

    #[test]
    fn going_to_a_page_is_no_answer_yet() {
        let (took, reading) = (Duration::ZERO, Duration::from_secs(1));
        let manners = Manners { took, reading, shows_forms: false };
        let accept = json!({ "action": "accept" });
        assert_eq!(read(&page(), true, &accept, manners), Reception::Opened);
        let odd = json!({ "action": "maybe" });
        assert!(matches!(read(&page(), true, &odd, manners), Reception::Refused(_)));
    }
}
