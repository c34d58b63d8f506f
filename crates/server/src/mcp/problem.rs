//! Why a call did nothing, as the caller reads it: a stable code, a sentence, and what to do.

use std::fmt;

use pilothouse::Error;
use pilothouse_core::{Actor, AgentError, Refusal, Settled, Settlement, redact::redact};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use super::events::time;

/// Every code that a caller can meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidArgument,
    SessionNotFound,
    SessionBusy,
    SessionNotRunning,
    RequestNotFound,
    AlreadySettled,
    HumanOnly,
    Timeout,
    Cancelled,
    AppServerStartFailed,
    ThreadForkResumeFailed,
    ProtocolParseError,
    WriteQueueDropped,
    ExecNotSupported,
    Internal,
}

impl Code {
    /// All of them, with what to do about each.
    pub(crate) const ALL: [(Self, &'static str); 15] = [
        (Self::InvalidArgument, "The message names the argument and what it takes."),
        (Self::SessionNotFound, "List the sessions with codex_session; ids begin with sess_."),
        (
            Self::SessionBusy,
            "Wait for the turn, interrupt it, or reply with whenBusy steer or queue.",
        ),
        (Self::SessionNotRunning, "There is no turn to act on; send a prompt with codex_reply."),
        (Self::RequestNotFound, "Take requestId from the actions of codex_check."),
        (Self::AlreadySettled, "Nothing to do: the message says who settled it, and when."),
        (Self::HumanOnly, "A person must answer, in the console or with `pilothouse inbox`."),
        (Self::Timeout, "It may still happen; look with codex_check."),
        (Self::Cancelled, "The session takes nothing any more; start another with codex."),
        (Self::AppServerStartFailed, "The message has Codex's last words and what to do."),
        (Self::ThreadForkResumeFailed, "The source needs a turn first, and must not be ephemeral."),
        (Self::ProtocolParseError, "The installed Codex speaks a protocol that is not known."),
        (Self::WriteQueueDropped, "Codex stopped reading; the next reply starts it anew."),
        (Self::ExecNotSupported, "The installed Codex cannot do this."),
        (Self::Internal, "The store or the agent failed; the message says how."),
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::SessionNotFound => "SESSION_NOT_FOUND",
            Self::SessionBusy => "SESSION_BUSY",
            Self::SessionNotRunning => "SESSION_NOT_RUNNING",
            Self::RequestNotFound => "REQUEST_NOT_FOUND",
            Self::AlreadySettled => "ALREADY_SETTLED",
            Self::HumanOnly => "HUMAN_ONLY",
            Self::Timeout => "TIMEOUT",
            Self::Cancelled => "CANCELLED",
            Self::AppServerStartFailed => "APP_SERVER_START_FAILED",
            Self::ThreadForkResumeFailed => "THREAD_FORK_RESUME_FAILED",
            Self::ProtocolParseError => "PROTOCOL_PARSE_ERROR",
            Self::WriteQueueDropped => "WRITE_QUEUE_DROPPED",
            Self::ExecNotSupported => "EXEC_NOT_SUPPORTED",
            Self::Internal => "INTERNAL",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().map(|(code, _)| code).find(|it| it.name() == name)
    }
}

/// Why a call did nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// An argument that is not as it must be.
    pub(crate) fn argument(field: &str, problem: impl fmt::Display) -> Self {
        Self::new(Code::InvalidArgument, format!("{field}: {problem}"))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, with another code where the code says little.
    pub(crate) fn or_code(mut self, code: Code) -> Self {
        if self.code == Code::Internal {
            self.code = code;
        }
        self
    }

    pub(crate) fn into_result(self) -> CallToolResult {
        let Self { code, message, hint } = self;
        // It may hold what Codex said last, and that anything.
        let message = redact(&message).into_owned();
        let mut text = format!("Error [{}]: {message}", code.name());
        let mut error = json!({ "code": code.name(), "message": message });
        if let Some(hint) = hint {
            text.push('\n');
            text.push_str(&hint);
            error["hint"] = Value::String(hint);
        }
        let mut res = CallToolResult::error(vec![ContentBlock::text(text)]);
        res.structured_content = Some(json!({ "error": error }));
        res
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(refusal) => refusal.into(),
            Error::NoSuchSession(_) => Self::new(Code::SessionNotFound, error.to_string()),
            Error::NoSuchAsk(_) => Self::new(Code::RequestNotFound, error.to_string()),
            Error::Agent(AgentError { message, detail }) => {
                let code = detail.get("code").and_then(Value::as_str).and_then(Code::named);
                Self::new(code.unwrap_or(Code::Internal), message)
            }
            Error::TimedOut { .. } => Self::new(Code::Timeout, error.to_string()),
            Error::Stopping => Self::new(Code::Cancelled, error.to_string()),
            // What is added to the enum later is at least told.
            Error::Store(_) | Error::Elsewhere(_) | _ => {
                Self::new(Code::Internal, format!("Pilothouse could not do it: {error}"))
            }
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::Closed { .. } => {
                Self::new(Code::Cancelled, message).hint("Start another session with codex.")
            }
            Refusal::Busy | Refusal::QueueFull { .. } => Self::new(Code::SessionBusy, message),
            Refusal::Idle | Refusal::Detached | Refusal::Agentless | Refusal::NotRunning => {
                Self::new(Code::SessionNotRunning, message)
            }
            Refusal::NotAccepted | Refusal::StartedAlready | Refusal::AcceptedTooLongAgo { .. } => {
                Self::new(Code::AlreadySettled, message)
            }
            Refusal::NoSuchAsk => Self::new(Code::RequestNotFound, message),
            Refusal::AlreadySettled { settlement } => {
                let how = settlement.map_or_else(|| "settled before".to_owned(), |it| told(&it));
                Self::new(Code::AlreadySettled, format!("the request was {how}"))
            }
            Refusal::HumanOnly => Self::new(Code::HumanOnly, message),
            Refusal::NotYours => Self::new(Code::HumanOnly, message).hint(
                "A person can answer, or give you the session: ask with codex_session, action adopt.",
            ),
            Refusal::DigestMismatch => {
                Self::argument("digest", format!("{message} with codex_check"))
            }
            Refusal::Misfit { field, problem } => Self::argument(&field, problem),
            // What is added to the enum later is at least told.
            _ => Self::new(Code::Internal, message),
        }
    }
}

/// How an ask was settled, in words: by whom, and when.
pub(crate) fn told(settlement: &Settlement) -> String {
    let at = time(settlement.at);
    match &settlement.how {
        Settled::Answered { by, .. } => format!("answered by {} at {at}", who(by)),
        Settled::Expired { waited_s, answer: _ } => {
            format!("given up at {at}: nobody answered within {waited_s} s")
        }
        Settled::Withdrawn => format!("cancelled at {at}, with its turn"),
        Settled::Lost => format!("lost at {at}, with the agent that asked"),
    }
}

/// An actor, in words.
pub(crate) fn who(actor: &Actor) -> String {
    match actor {
        Actor::Human { via, verified: true } => format!("a person ({via})"),
        Actor::Human { via, verified: false } => format!("a person ({via}, unverified)"),
        Actor::Caller { id } => format!("caller {id}"),
        Actor::Policy { rule } => format!("rule {rule}"),
        Actor::Clock => "the clock".to_owned(),
        Actor::Agent => "the agent".to_owned(),
        Actor::Node => "Pilothouse".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_code_of_what_went_wrong() {
        let agent = |code: &str| {
            let detail = json!({ "code": code });
            Error::Agent(AgentError { message: "m".to_owned(), detail })
        };
        for (code, _) in Code::ALL {
            assert_eq!(Problem::from(agent(code.name())).code, code);
        }
        assert_eq!(Problem::from(agent("SOMETHING_ELSE")).code, Code::Internal);
        let late = Error::TimedOut { doing: "waiting", seconds: 3 };
        assert_eq!(Problem::from(late).code, Code::Timeout);
        assert_eq!(Problem::from(Error::Stopping).code, Code::Cancelled);
        assert_eq!(Problem::from(Refusal::Busy).code, Code::SessionBusy);
        assert_eq!(Problem::from(Refusal::Idle).code, Code::SessionNotRunning);
    }
}
