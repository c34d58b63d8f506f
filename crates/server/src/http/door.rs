//! Who comes in: which host and origin, with which token or cookie, and how long they may stay.
//!
//! A browser on this machine can be made to send requests here by any page that it shows. So the
//! host must be ours, or a page could have its own name point here; the origin must be ours, or
//! absent; and no form can send what a POST must be.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use pilothouse_core::Actor;

use super::{Front, keys::Drawer, problem::Problem};

/// How long a request may take; the feed, which never ends, is left out.
const REQUEST_LIMIT: Duration = Duration::from_mins(1);
/// Where the feed is.
pub(super) const FEED: &str = "/api/v1/feed";

const CSP: &str = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; \
                   base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visitor {
    pub(crate) actor: Actor,
}

impl Visitor {
    pub(crate) fn is_human(&self) -> bool {
        matches!(self.actor, Actor::Human { .. })
    }

    fn human(via: &str) -> Self {
        Self { actor: Actor::Human { via: via.to_owned(), verified: true } }
    }
}

/// The names under which we are reached: on the loopback, at our port.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    hosts: Vec<String>,
}

impl Hosts {
    pub(crate) fn new(port: u16) -> Self {
        let mut hosts = vec![];
        for name in ["127.0.0.1", "localhost", "[::1]"] {
            hosts.push(format!("{name}:{port}"));
            if port == 80 {
                hosts.push(name.to_owned());
            }
        }
        Self { hosts }
    }

    fn is_host(&self, given: &str) -> bool {
        self.hosts.iter().any(|it| it.eq_ignore_ascii_case(given))
    }

    fn is_origin(&self, given: &str) -> bool {
        given.strip_prefix("http://").is_some_and(|it| self.is_host(it))
    }

    /// Lets in what names us, and comes from a page of ours or from none.
    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|it| it.to_str().ok());
        let one = hosts.next().is_none();
        let absolute = uri.authority().is_none_or(|it| self.is_host(it.as_str()));
        if !one || !absolute || !host.is_some_and(|it| self.is_host(it)) {
            let detail = "let this in: the host is not its own address";
            return Err(Problem::forbidden("BAD_HOST", detail)
                .hint("Use the address that `pilothouse serve` prints."));
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        if !origins.all(|it| it.to_str().is_ok_and(|it| self.is_origin(it))) {
            let detail = "let this in: it comes from a page of another origin";
            return Err(Problem::forbidden("BAD_ORIGIN", detail));
        }
        Ok(())
    }
}

/// For everything: host, origin, the time a request may take, and what browsers must heed.
pub(super) async fn guard(
    State(front): State<Arc<Front>>,
    request: Request,
    next: Next,
) -> Response {
    let api = request.uri().path().starts_with("/api/");
    let res = match front.hosts.check(request.uri(), request.headers()) {
        Err(problem) => problem.into_response(),
        Ok(()) if request.uri().path() == FEED => next.run(request).await,
        Ok(()) => {
            let answered = tokio::time::timeout(REQUEST_LIMIT, next.run(request)).await;
            answered.unwrap_or_else(|_| {
                let detail = "answer in time; what was asked for may still happen";
                Problem::new(StatusCode::GATEWAY_TIMEOUT, "TIMEOUT", detail).into_response()
            })
        }
    };
    front.metrics.answered(res.status());
    with_headers(res, api)
}

fn with_headers(mut res: Response, api: bool) -> Response {
    let headers = res.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CSP),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if api {
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    res
}

/// For the API: a token or a cookie, and nothing that a page of another origin can send.
pub(super) async fn identify(
    State(front): State<Arc<Front>>,
    mut request: Request,
    next: Next,
) -> Response {
    match front.visitor(request.headers(), Timestamp::now()) {
        Err(problem) => problem.into_response(),
        Ok(visitor) => {
            let bearer = request.headers().contains_key(header::AUTHORIZATION);
            if let Err(problem) = check_kind(request.method(), request.headers(), bearer) {
                return problem.into_response();
            }
            request.extensions_mut().insert(visitor);
            next.run(request).await
        }
    }
}

/// For the one POST of somebody who is not known yet.
pub(super) async fn only_json(request: Request, next: Next) -> Response {
    match check_kind(request.method(), request.headers(), false) {
        Err(problem) => problem.into_response(),
        Ok(()) => next.run(request).await,
    }
}

/// A form can't send JSON, and a script of another origin may not without being asked first. A
/// token is proof enough by itself, so a script may leave an empty body untyped.
fn check_kind(method: &Method, headers: &HeaderMap, bearer: bool) -> Result<(), Problem> {
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let Some(kind) = headers.get(header::CONTENT_TYPE) else {
        return if bearer { Ok(()) } else { Err(not_json()) };
    };
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") { Ok(()) } else { Err(not_json()) }
}

fn not_json() -> Problem {
    let detail = "take this body: it must be `Content-Type: application/json`";
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "INVALID_ARGUMENT", detail)
}

impl Front {
    fn visitor(&self, headers: &HeaderMap, now: Timestamp) -> Result<Visitor, Problem> {
        // A page at another port of this machine counts as the same site, so its requests carry
        // our cookie. Browsers say where a request comes from; programs don't.
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        if site.is_some_and(|it| !matches!(it, b"same-origin" | b"none")) {
            let detail = "let this in: it comes from a page of another origin";
            return Err(Problem::forbidden("BAD_ORIGIN", detail));
        }
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let token = value.to_str().ok().and_then(bearer_of).unwrap_or_default();
            if self.keys.is_api_token(token) {
                return Ok(Visitor { actor: Actor::Caller { id: "token".to_owned() } });
            }
            if self.keys.holds(Drawer::Humans, token, now) {
                return Ok(Visitor::human("rest"));
            }
            return Err(self.wrong_secret("let this in: the token is not known"));
        }
        match cookie(headers, &self.cookie) {
            Some(login) if self.keys.holds(Drawer::Logins, login, now) => {
                Ok(Visitor::human("console"))
            }
            Some(_) => Err(self.wrong_secret("let this in: the login is over")),
            None => Err(Problem::unauthorized("let this in: there is no token and no login")),
        }
    }

    /// Refuses, and slows down whoever goes on trying. Those who know a secret are never slowed
    /// down: guessing one of 244 bits is hopeless anyway, while being shut out would be easy.
    pub(super) fn wrong_secret(&self, detail: &str) -> Problem {
        self.metrics.wrong_secret();
        if self.may_be_wrong() {
            return Problem::unauthorized(detail);
        }
        Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "UNAUTHORIZED",
            "look at this secret: too many wrong ones came; wait a second, then use a right one",
        )
    }
}

fn bearer_of(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok());
    cookies
        .flat_map(|it| it.split(';'))
        .filter_map(|it| it.trim().split_once('='))
        .find_map(|(it, value)| (it == name).then_some(value))
}

/// The header that gives a browser its login.
pub(super) fn set_cookie(name: &str, login: &str) -> String {
    let seconds = Drawer::Logins.lifetime().as_secs();
    format!("{name}={login}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict")
}
