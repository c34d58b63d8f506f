//! Sessions over REST: list, start, look at, prompt, interrupt, fork, end.

use std::{
    path::{Path as FilePath, PathBuf, absolute},
    sync::Arc,
};

use axum::{
    Extension, Json,
    extract::{Path, State},
    http::StatusCode,
};
use pilothouse::{LiveItem, Start};
use pilothouse_core::{
    ApprovalPolicy, Envelope, Event, Intent, Patience, Prompt, Refusal, Sandbox, Seq, SessionId,
    SessionView, Spec, WhenBusy,
};
use pilothouse_store::{MAX_PAGE, SessionFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Front, Visitor,
    body::{Asked, Body, Scope, number, parse},
    problem::{Doing, Problem},
};

/// Sessions in a page, unless the request says.
const SESSIONS: u64 = 50;
/// Events in a page, unless the request says.
const EVENTS: u64 = 200;
/// Bytes of an open item's stream that are shown.
const LIVE_TAIL: usize = 64 * 1024;
/// Longest prompt, in characters.
const MAX_PROMPT: usize = 1024 * 1024;
/// Most pictures in a prompt.
const MAX_IMAGES: usize = 32;
/// Longest title, in characters.
const MAX_TITLE: usize = 200;
/// The effort that leaves it to the agent's own configuration.
const EFFORT_OF_AGENT: &str = "config";

type Shared = State<Arc<Front>>;
type By = Extension<Visitor>;

impl Front {
    /// The session, if this visitor may see into it and drive it: people may, callers their own.
    async fn session_for(
        &self,
        visitor: &Visitor,
        id: &str,
        doing: &str,
    ) -> Result<(SessionId, SessionView), Problem> {
        let id = session_id(id)?;
        let view = self.broker.session(id).await.doing(doing)?;
        if !visitor.is_human() && view.opened_by != visitor.actor {
            return Err(pilothouse::Error::Refused(Refusal::NotYours)).doing(doing);
        }
        Ok((id, view))
    }
}

pub(super) fn session_id(text: &str) -> Result<SessionId, Problem> {
    parse("sessionId", text)
}

#[derive(Deserialize)]
pub(super) struct ListQuery {
    #[serde(default, deserialize_with = "number")]
    limit: Option<u64>,
    cursor: Option<String>,
    search: Option<String>,
    #[serde(default)]
    scope: Scope,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sessions {
    sessions: Vec<SessionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub(super) async fn list(
    State(front): Shared,
    Extension(visitor): By,
    Asked(query): Asked<ListQuery>,
) -> Result<Json<Sessions>, Problem> {
    let ListQuery { limit, cursor, search, scope } = query;
    let own = !visitor.is_human() && scope == Scope::Own;
    let opened_by = own.then_some(visitor.actor);
    let filter = SessionFilter { opened_by, status: vec![], search };
    let listing = front.broker.sessions(filter, page(limit, SESSIONS), cursor).await;
    let listing = listing.doing("list the sessions")?;
    Ok(Json(Sessions { sessions: listing.rows, next_cursor: listing.next }))
}

/// A page's size: at least one, at most what the store gives.
pub(super) fn page(limit: Option<u64>, default: u64) -> usize {
    usize::try_from(limit.unwrap_or(default)).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StartBody {
    prompt: String,
    approval_policy: ApprovalPolicy,
    sandbox: Sandbox,
    cwd: Option<PathBuf>,
    model: Option<String>,
    effort: Option<String>,
    title: Option<String>,
    profile: Option<String>,
    #[serde(default)]
    images: Vec<String>,
    approval_timeout_ms: Option<u64>,
}

pub(super) async fn start(
    State(front): Shared,
    Extension(visitor): By,
    Body(body): Body<StartBody>,
) -> Result<(StatusCode, Json<SessionView>), Problem> {
    const DOING: &str = "start the session";
    let cwd = directory(body.cwd.as_deref()).await?;
    let prompt = prompt_of(body.prompt, body.images, &cwd).await?;
    let effort = body.effort.or_else(|| front.default_effort.clone());
    let patience = match body.approval_timeout_ms {
        None => Patience::Attended,
        Some(0) => Patience::Forever,
        Some(ms) => Patience::Ms(ms),
    };
    let title = body.title.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
    if title.as_ref().is_some_and(|it| it.chars().count() > MAX_TITLE) {
        let problem = format!("it is over {MAX_TITLE} characters");
        return Err(Problem::field("title", &problem));
    }
    let spec = Spec {
        cwd: cwd.display().to_string(),
        approval_policy: Some(body.approval_policy),
        sandbox: Some(body.sandbox),
        model: body.model.filter(|it| !it.is_empty()),
        effort: effort.filter(|it| !it.is_empty() && it != EFFORT_OF_AGENT),
        profile: body.profile,
        answerers: front.answerers,
        patience,
        title,
        ..Spec::default()
    };
    // A session that no agent can come to would only be found out about later.
    front.broker.locate_agent().await.doing(DOING)?;
    let start = Start { spec, prompt: Some(prompt), by: visitor.actor };
    let id = front.broker.start(start).await.doing(DOING)?;
    let view = front.broker.session(id).await.doing(DOING)?;
    Ok((StatusCode::CREATED, Json(view)))
}

/// A session, and whether it is one without an agent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown {
    #[serde(flatten)]
    view: SessionView,
    agentless: bool,
}

pub(super) async fn one(
    State(front): Shared,
    Extension(visitor): By,
    Path(id): Path<String>,
) -> Result<Json<Shown>, Problem> {
    const DOING: &str = "show the session";
    let (id, view) = front.session_for(&visitor, &id, DOING).await?;
    // Its first event says so, and is worth a look only where no agent was ever seen.
    let agentless = view.turns == 0 && view.dialect.is_none() && {
        let page = front.broker.events(id, Seq(0), 1).await.doing(DOING)?;
        let opened = page.events.into_iter().next().map(|it| it.event);
        matches!(opened, Some(Event::Opened { spec, .. }) if spec.agentless)
    };
    Ok(Json(Shown { view, agentless }))
}

#[derive(Deserialize)]
pub(super) struct EventsQuery {
    #[serde(default, deserialize_with = "number")]
    after: Option<u64>,
    #[serde(default, deserialize_with = "number")]
    limit: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventPage {
    events: Vec<Envelope>,
    next_after: Seq,
    more: bool,
    live: Vec<LiveItem>,
}

pub(super) async fn events(
    State(front): Shared,
    Extension(visitor): By,
    Path(id): Path<String>,
    Asked(EventsQuery { after, limit }): Asked<EventsQuery>,
) -> Result<Json<EventPage>, Problem> {
    const DOING: &str = "read the session's events";
    let (id, _) = front.session_for(&visitor, &id, DOING).await?;
    let after = Seq(after.unwrap_or(0));
    // Before the events: an item that ends in between is then in both, not in neither.
    let live = front.broker.live(id, LIVE_TAIL);
    let page = front.broker.events(id, after, page(limit, EVENTS)).await.doing(DOING)?;
    let next_after = page.events.last().map_or(after, |it| it.seq);
    let live = if page.more { vec![] } else { live };
    Ok(Json(EventPage { events: page.events, next_after, more: page.more, live }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PromptBody {
    prompt: String,
    #[serde(default)]
    images: Vec<String>,
    #[serde(default)]
    when_busy: WhenBusy,
}

pub(super) async fn prompt(
    State(front): Shared,
    Extension(visitor): By,
    Path(id): Path<String>,
    Body(body): Body<PromptBody>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    const DOING: &str = "prompt the session";
    let (id, view) = front.session_for(&visitor, &id, DOING).await?;
    let prompt = prompt_of(body.prompt, body.images, FilePath::new(&view.cwd)).await?;
    let intent = Intent::Prompt { prompt, when_busy: body.when_busy };
    front.broker.act(id, intent, &visitor.actor).await.doing(DOING)?;
    Ok((StatusCode::ACCEPTED, Json(json!({}))))
}

pub(super) async fn interrupt(
    State(front): Shared,
    Extension(visitor): By,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    const DOING: &str = "interrupt the session";
    let (id, _) = front.session_for(&visitor, &id, DOING).await?;
    front.broker.act(id, Intent::Interrupt, &visitor.actor).await.doing(DOING)?;
    Ok(Json(json!({})))
}

pub(super) async fn cancel(
    State(front): Shared,
    Extension(visitor): By,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    const DOING: &str = "cancel the session";
    let (id, _) = front.session_for(&visitor, &id, DOING).await?;
    let intent = Intent::Close { reason: "cancelled by request".to_owned() };
    front.broker.act(id, intent, &visitor.actor).await.doing(DOING)?;
    Ok(Json(json!({})))
}

pub(super) async fn fork(
    State(front): Shared,
    Extension(visitor): By,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<SessionView>), Problem> {
    const DOING: &str = "fork the session";
    let (id, _) = front.session_for(&visitor, &id, DOING).await?;
    let fork = front.broker.fork(id, &visitor.actor).await.doing(DOING)?;
    let view = front.broker.session(fork).await.doing(DOING)?;
    Ok((StatusCode::CREATED, Json(view)))
}

/// An existing directory, absolute; without one, where this program runs.
async fn directory(given: Option<&FilePath>) -> Result<PathBuf, Problem> {
    let given = given.unwrap_or(FilePath::new("."));
    let wrong = |problem: String| Problem::field("cwd", &problem);
    if given.as_os_str().is_empty() {
        return Err(wrong("it is empty; name a directory, or leave it out".to_owned()));
    }
    let path = absolute(given).map_err(|it| wrong(it.to_string()))?;
    // Without the dots that a relative path may bring, and without asking what links mean.
    let path: PathBuf = path.components().collect();
    match tokio::fs::metadata(&path).await {
        Ok(it) if it.is_dir() => Ok(path),
        Ok(_) => Err(wrong(format!("{} is no directory", path.display()))),
        Err(error) => Err(wrong(format!("{}: {error}", path.display()))),
    }
}

async fn prompt_of(text: String, images: Vec<String>, cwd: &FilePath) -> Result<Prompt, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::field("prompt", "it is empty; say what the agent should do"));
    }
    let n_chars = text.chars().count();
    if n_chars > MAX_PROMPT {
        let problem = format!("it has {n_chars} characters, and {MAX_PROMPT} are the limit");
        return Err(Problem::field("prompt", &problem));
    }
    if images.len() > MAX_IMAGES {
        let problem = format!("there are {}, and {MAX_IMAGES} are the limit", images.len());
        return Err(Problem::field("images", &problem));
    }
    let mut found = vec![];
    for image in images {
        if image.starts_with("data:image/") {
            found.push(image);
            continue;
        }
        let path = cwd.join(&image);
        if !tokio::fs::metadata(&path).await.is_ok_and(|it| it.is_file()) {
            let problem = format!("{} is no file, and no data URL of an image", path.display());
            return Err(Problem::field("images", &problem));
        }
        found.push(path.display().to_string());
    }
    Ok(Prompt { images: found, ..Prompt::text(&text) })
}
