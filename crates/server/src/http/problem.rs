//! What went wrong, as RFC 9457 says it: a code for scripts, words for people.

use axum::{
    extract::rejection::{JsonRejection, PathRejection, QueryRejection},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use pilothouse::Error;
use pilothouse_core::{Refusal, Settlement, redact::redact};
use pilothouse_store::StoreError;
use serde::Serialize;

/// A problem. Its detail completes "Pilothouse could not …".
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    status: StatusCode,
    code: String,
    detail: String,
    hint: Option<String>,
    settlement: Option<Box<Settlement>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: String,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settlement: Option<&'a Settlement>,
}

impl Problem {
    /// A problem; `detail` goes on after "Pilothouse could not ".
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { status, code: code.to_owned(), detail, hint: None, settlement: None }
    }

    pub(crate) fn hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }

    /// A field that holds what it must not.
    pub(crate) fn field(field: &str, problem: &str) -> Self {
        let detail = format!("use `{field}`: {problem}");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "INVALID_ARGUMENT", detail)
    }

    /// Nobody that is known.
    pub(crate) fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", detail).hint(
            "Open the link that `pilothouse login` prints, or send the token that \
             `pilothouse token` prints as `Authorization: Bearer`.",
        )
    }

    /// Somebody who may not.
    pub(crate) fn forbidden(code: &str, detail: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, detail)
    }

    fn of(doing: &str, error: Error) -> Self {
        let because = format!("{doing}: {error}");
        let new = |status, code| Self::new(status, code, because.clone());
        match error {
            Error::Refused(refusal) => Self::refused(because, refusal),
            Error::NoSuchSession(_) => new(StatusCode::NOT_FOUND, "SESSION_NOT_FOUND"),
            Error::NoSuchAsk(_) => new(StatusCode::NOT_FOUND, "REQUEST_NOT_FOUND")
                .hint("`GET /api/v1/asks?state=pending` lists those that wait."),
            Error::Store(error) => Self::store(doing, &error),
            Error::Agent(error) => {
                let code = error.detail.get("code").and_then(|it| it.as_str());
                let status = match code {
                    // Nothing failed: the session is not as far yet.
                    Some("THREAD_FORK_RESUME_FAILED") => StatusCode::CONFLICT,
                    _ => StatusCode::BAD_GATEWAY,
                };
                new(status, code.unwrap_or("INTERNAL"))
            }
            Error::TimedOut { .. } => new(StatusCode::GATEWAY_TIMEOUT, "TIMEOUT"),
            Error::Stopping => new(StatusCode::SERVICE_UNAVAILABLE, "CANCELLED")
                .hint("Start it again with `pilothouse serve`; nothing on record is lost."),
            Error::Elsewhere(_) => new(StatusCode::BAD_GATEWAY, "INTERNAL"),
            // The enum may grow.
            _ => new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"),
        }
    }

    fn refused(because: String, refusal: Refusal) -> Self {
        let new = |status, code| Self::new(status, code, because);
        match refusal {
            Refusal::Closed { .. } => {
                new(StatusCode::CONFLICT, "CANCELLED").hint("Start or fork a session to go on.")
            }
            Refusal::Busy => new(StatusCode::CONFLICT, "SESSION_BUSY")
                .hint("`whenBusy` may be \"steer\" or \"queue\"."),
            Refusal::QueueFull { .. } => new(StatusCode::CONFLICT, "SESSION_BUSY"),
            Refusal::Idle | Refusal::Detached | Refusal::Agentless | Refusal::NotRunning => {
                new(StatusCode::CONFLICT, "SESSION_NOT_RUNNING")
            }
            Refusal::NotAccepted | Refusal::StartedAlready | Refusal::AcceptedTooLongAgo { .. } => {
                new(StatusCode::CONFLICT, "ALREADY_SETTLED")
            }
            Refusal::NoSuchAsk => new(StatusCode::NOT_FOUND, "REQUEST_NOT_FOUND"),
            Refusal::AlreadySettled { settlement } => {
                Self { settlement, ..new(StatusCode::CONFLICT, "ALREADY_SETTLED") }
            }
            Refusal::HumanOnly => new(StatusCode::FORBIDDEN, "HUMAN_ONLY")
                .hint("A person answers in the console, which `pilothouse login` opens."),
            Refusal::NotYours => new(StatusCode::FORBIDDEN, "HUMAN_ONLY")
                .hint("The caller that started the session may answer, and any person."),
            Refusal::DigestMismatch => new(StatusCode::CONFLICT, "DIGEST_MISMATCH")
                .hint("Read the request again; answer with the digest that it has now."),
            Refusal::Misfit { .. } => new(StatusCode::UNPROCESSABLE_ENTITY, "INVALID_ARGUMENT"),
            // The enum may grow.
            _ => new(StatusCode::CONFLICT, "INVALID_ARGUMENT"),
        }
    }

    /// What only a person at this machine should see is logged, not shown.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are all the same to a client")]
    fn store(doing: &str, error: &StoreError) -> Self {
        let new = |status, code, why: &str| Self::new(status, code, format!("{doing}: {why}"));
        match error {
            StoreError::NotFound(_) => {
                new(StatusCode::NOT_FOUND, "REQUEST_NOT_FOUND", &error.to_string())
            }
            StoreError::TooMuch { .. } => {
                new(StatusCode::PAYLOAD_TOO_LARGE, "INVALID_ARGUMENT", &error.to_string())
            }
            StoreError::BadCursor(_) => {
                new(StatusCode::UNPROCESSABLE_ENTITY, "INVALID_ARGUMENT", &error.to_string())
            }
            StoreError::Full { .. } => {
                new(StatusCode::INSUFFICIENT_STORAGE, "INTERNAL", &error.to_string())
            }
            // What to do about it, without where the file is.
            StoreError::Unusable { path: _, problem } => {
                tracing::error!(%error, doing, "the store cannot be used");
                let why = format!("the store cannot be used: {problem}");
                new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", &why)
            }
            // The enum may grow.
            _ => {
                tracing::error!(%error, doing, "the store failed");
                let why = "the store failed, and the log of `pilothouse serve` says how";
                new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", why)
            }
        }
    }
}

/// Says what was being done when something failed.
pub(crate) trait Doing<T> {
    fn doing(self, what: &str) -> Result<T, Problem>;
}

impl<T> Doing<T> for Result<T, Error> {
    fn doing(self, what: &str) -> Result<T, Problem> {
        self.map_err(|error| Problem::of(what, error))
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        let status = rejection.status();
        // What is no JSON is malformed; what is of another shape is an argument.
        let detail = format!("read the body: {}", rejection.body_text());
        Self::new(status, "INVALID_ARGUMENT", detail)
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        let detail = format!("read the query: {}", rejection.body_text());
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "INVALID_ARGUMENT", detail)
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        let detail = format!("read the address: {}", rejection.body_text());
        Self::new(StatusCode::NOT_FOUND, "INVALID_ARGUMENT", detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { status, code, detail, hint, settlement } = &self;
        let body = Body {
            r#type: format!("urn:pilothouse:{code}"),
            title: status.canonical_reason().unwrap_or("Problem"),
            status: status.as_u16(),
            // What was given is quoted, and the last words of programs are.
            detail: redact(&format!("Pilothouse could not {detail}.")).into_owned(),
            code,
            hint: hint.as_deref(),
            settlement: settlement.as_deref(),
        };
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let mut res = (*status, body).into_response();
        let headers = res.headers_mut();
        let problem = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, problem);
        if *status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if *status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        res
    }
}
