//! REST, the event feed and the console, for browsers and programs of this machine.
//!
//! In reading order: `door` decides who comes in, with the secrets of [`Keys`]; `sessions`, `asks`
//! and `feed` are what they find; `problem` is what they hear when something fails; [`listen`]
//! and [`serve`] put it on a port.

mod asks;
mod body;
mod bucket;
mod connections;
mod door;
mod feed;
mod keys;
mod line;
mod metrics;
mod openapi;
mod port;
mod problem;
mod sessions;

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Extension, Json, Router,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use jiff::Timestamp;
use pilothouse::Broker;
use pilothouse_core::Answerers;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    body::Body,
    bucket::Bucket,
    door::{Hosts, Visitor},
    feed::Watchers,
    metrics::Metrics,
    problem::Doing as _,
};
pub use self::{
    keys::{Drawer, Keys},
    port::{ListenError, listen, serve},
    problem::Problem,
};
use crate::hex;

/// Largest body: a prompt with pictures in it.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// Wrong secrets that are answered with reasons before they are only counted.
const WRONG_SECRETS: u32 = 20;
/// How long until one more is.
const WRONG_SECRET_EVERY: Duration = Duration::from_secs(1);

/// What a surface over HTTP is made of.
#[derive(Debug)]
pub struct FrontConfig {
    /// What does the work.
    pub broker: Broker,
    /// Where the secrets are.
    pub home: PathBuf,
    /// Where it listens, which is also how it is called.
    pub address: SocketAddr,
    /// Who may settle approvals of callers' sessions.
    pub answerers: Answerers,
    /// How hard the model thinks unless a session says; nothing leaves it to the agent.
    pub default_effort: Option<String>,
}

/// What all requests share.
#[derive(Debug)]
pub struct Front {
    broker: Broker,
    keys: Keys,
    cookie: String,
    hosts: Hosts,
    console: String,
    answerers: Answerers,
    default_effort: Option<String>,
    wrong_secrets: Mutex<Bucket>,
    metrics: Metrics,
    watchers: Watchers,
    leaving: CancellationToken,
    tasks: TaskTracker,
}

impl Front {
    /// Makes it known to other nodes where the console is.
    pub async fn open(config: FrontConfig) -> Result<Arc<Self>, pilothouse::Error> {
        let FrontConfig { broker, home, address, answerers, default_effort } = config;
        // Cookies know no ports: two consoles of one machine need two names.
        let name = hex::sha256(home.as_os_str().as_encoded_bytes());
        let front = Arc::new(Self {
            broker,
            keys: Keys::new(&home),
            cookie: format!("pilothouse-{}", &name[..8]),
            hosts: Hosts::new(address.port()),
            console: format!("http://{address}/"),
            answerers,
            default_effort,
            wrong_secrets: Mutex::new(Bucket::new(
                WRONG_SECRETS,
                WRONG_SECRET_EVERY,
                Instant::now(),
            )),
            metrics: Metrics::default(),
            watchers: Watchers::default(),
            leaving: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        front.announce().await?;
        Ok(front)
    }

    /// The secrets that it opens to.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Where a browser finds it, without any secret.
    pub fn console(&self) -> &str {
        &self.console
    }

    /// Ends all feeds, which nothing else does, and waits until they are gone.
    pub async fn close(&self) {
        self.leaving.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn may_be_wrong(&self) -> bool {
        let mut bucket = self.wrong_secrets.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take(Instant::now())
    }
}

/// Everything that is served.
pub fn router(front: Arc<Front>) -> Router {
    let api = Router::new()
        .route("/me", get(me))
        .route("/sessions", get(sessions::list).post(sessions::start))
        .route("/sessions/{id}", get(sessions::one))
        .route("/sessions/{id}/events", get(sessions::events))
        .route("/sessions/{id}/prompt", post(sessions::prompt))
        .route("/sessions/{id}/interrupt", post(sessions::interrupt))
        .route("/sessions/{id}/fork", post(sessions::fork))
        .route("/sessions/{id}/cancel", post(sessions::cancel))
        .route("/asks", get(asks::list))
        .route("/asks/{id}", get(asks::one))
        .route("/asks/{id}/answer", post(asks::answer))
        .route("/feed", get(feed::follow))
        .route("/blobs/{digest}", get(blob))
        .route("/openapi.json", get(openapi::describe));
    let known = Router::new()
        .nest("/api/v1", api)
        .route("/metrics", get(metrics::show))
        .route_layer(from_fn_with_state(Arc::clone(&front), door::identify));
    Router::new()
        .route("/api/v1/login", post(login).route_layer(from_fn(door::only_json)))
        .route("/healthz", get(health))
        .merge(known)
        .fallback(crate::console::page)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(Arc::clone(&front), door::guard))
        .with_state(front)
}

/// For strangers, so it says no more than that.
async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

async fn wrong_method() -> Problem {
    let detail = "do that here: the address takes another method; see /api/v1/openapi.json";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "INVALID_ARGUMENT", detail)
}

async fn me(
    State(front): State<Arc<Front>>,
    Extension(visitor): Extension<Visitor>,
) -> Json<Value> {
    let human = visitor.is_human();
    Json(json!({
        "actor": if human { "human" } else { "caller" },
        "canAnswer": human || front.answerers == Answerers::Caller,
        "node": front.broker.node(),
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    code: String,
}

/// Gives a browser a login for a code, which works once.
async fn login(
    State(front): State<Arc<Front>>,
    Body(Login { code }): Body<Login>,
) -> Result<Response, Problem> {
    let now = Timestamp::now();
    if !front.keys.take(Drawer::Codes, &code, now) {
        let detail = "log in: the code was used already, or is over 60 s old";
        return Err(front.wrong_secret(detail));
    }
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "could not keep a login");
        let detail = "keep the login; the log of `pilothouse serve` says why";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail)
    };
    let login = front.keys.mint(Drawer::Logins, now).map_err(|it| failed(&it))?;
    let cookie = door::set_cookie(&front.cookie, keys::expose(&login));
    let mut cookie = HeaderValue::from_str(&cookie).map_err(|it| failed(&it))?;
    cookie.set_sensitive(true);
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// A text or a picture that the log names by its digest, which nobody guesses.
async fn blob(
    State(front): State<Arc<Front>>,
    Path(digest): Path<String>,
) -> Result<Response, Problem> {
    let none = || {
        let detail = "find that blob: it is not in the store";
        Problem::new(StatusCode::NOT_FOUND, "REQUEST_NOT_FOUND", detail)
    };
    if !hex::is_sha256(&digest) {
        return Err(none());
    }
    let bytes = front.broker.blob(digest).await.doing("read the blob")?.ok_or_else(none)?;
    // Never as something that a browser would run or show as a page of ours.
    let kind = match std::str::from_utf8(&bytes) {
        Ok(_) => "text/plain; charset=utf-8",
        Err(_) => "application/octet-stream",
    };
    let keep = "private, max-age=31536000, immutable";
    Ok(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, keep)], bytes).into_response())
}
