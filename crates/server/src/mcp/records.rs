//! Sessions as resources: how each stands, its log, and word of when either changes.

use std::{collections::VecDeque, time::Duration};

use pilothouse::Broker;
use pilothouse_core::{Seq, SessionId};
use pilothouse_store::MAX_PAGE;
use rmcp::{
    ErrorData,
    model::{ResourceContents, ResourceTemplate},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Call, Server,
    events::{self, Mode},
    session,
};

/// Where sessions begin among our resources.
const PREFIX: &str = "pilothouse:///sessions/";
/// Bytes of a log that are read at once; of a longer one the end.
const MAX_LOG: usize = 512 * 1024;
/// Subscriptions of one client.
const MAX_WATCHED: usize = 64;
/// How long to wait before looking at a session again although nothing was heard of it.
const LOOK_AGAIN: Duration = Duration::from_mins(10);
/// Word of changes comes no more often: whoever hears it reads what there is by then.
const APART: Duration = Duration::from_millis(250);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    View,
    Log,
}

/// What can be read of any session.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{PREFIX}{{id}}"), "session")
            .with_description("How a session stands")
            .with_mime_type(mime(Part::View)),
        ResourceTemplate::new(format!("{PREFIX}{{id}}/log"), "log")
            .with_description("A session's events, one JSON object a line")
            .with_mime_type(mime(Part::Log)),
    ]
}

fn mime(part: Part) -> &'static str {
    match part {
        Part::View => "application/json",
        Part::Log => "application/x-ndjson",
    }
}

fn named(uri: &str) -> Option<(SessionId, Part)> {
    let name = uri.strip_prefix(PREFIX)?;
    let (id, part) = match name.strip_suffix("/log") {
        Some(id) => (id, Part::Log),
        None => (name, Part::View),
    };
    Some((id.parse().ok()?, part))
}

fn missing(uri: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("there is no resource {uri}"), None)
}

impl Call<'_> {
    /// A session or its log, if that is what is named.
    pub(crate) async fn record(&self, uri: &str) -> Result<Option<ResourceContents>, ErrorData> {
        let Some((id, part)) = named(uri) else { return Ok(None) };
        let failed = |message: String| ErrorData::internal_error(message, None);
        let broker = self.broker().await.map_err(|it| failed(it.message))?;
        let view = match broker.session(id).await {
            Err(pilothouse::Error::NoSuchSession(_)) => return Err(missing(uri)),
            view => view.map_err(|it| failed(format!("Pilothouse could not read it: {it}")))?,
        };
        let text = match part {
            Part::View => Value::Object(session::public(&view)).to_string(),
            Part::Log => {
                let log = log(broker, id).await;
                log.map_err(|it| failed(format!("Pilothouse could not read it: {it}")))?
            }
        };
        Ok(Some(ResourceContents::text(text, uri).with_mime_type(mime(part))))
    }
}

/// A session's events in full, as many from the end as fit. A first line tells how many do not.
async fn log(broker: &Broker, id: SessionId) -> Result<String, pilothouse::Error> {
    let (mut after, mut lines) = (Seq(0), VecDeque::new());
    let (mut n_bytes, mut n_gone) = (0, 0_u64);
    loop {
        let page = broker.events(id, after, MAX_PAGE).await?;
        for envelope in &page.events {
            after = envelope.seq;
            let line = events::event(id, envelope, Mode::Full).to_string() + "\n";
            n_bytes += line.len();
            lines.push_back(line);
            while n_bytes > MAX_LOG && lines.len() > 1 {
                n_bytes -= lines.pop_front().map_or(0, |it: String| it.len());
                n_gone += 1;
            }
        }
        if page.events.is_empty() || !page.more {
            break;
        }
    }
    if n_gone > 0 {
        let note = json!({
            "omitted": n_gone, "message": "codex_check poll with cursor 0 reads from the start",
        });
        lines.push_front(note.to_string() + "\n");
    }
    Ok(lines.into_iter().collect())
}

impl Server {
    /// Whether changes of this resource can be told.
    pub(crate) fn can_watch(uri: &str) -> bool {
        named(uri).is_some()
    }

    /// Tells of each change of a session from a place on, until `over` or the session cannot be read
    /// any more.
    pub(crate) async fn watch<T>(
        &self,
        uri: String,
        mut seen: Seq,
        over: CancellationToken,
        tell: impl Fn(String) -> T,
    ) where
        T: Future<Output = bool>,
    {
        let Some((id, _)) = named(&uri) else { return };
        let Some(broker) = self.shared.broker.get() else { return };
        loop {
            let grown = tokio::select! {
                grown = broker.wait_past(id, seen, LOOK_AGAIN) => grown,
                () = over.cancelled() => return,
                () = self.shared.leaving.cancelled() => return,
            };
            let Ok(view) = grown else { return };
            if view.last_seq == seen {
                continue;
            }
            seen = view.last_seq;
            if !tell(uri.clone()).await {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(APART) => {}
                () = over.cancelled() => return,
                () = self.shared.leaving.cancelled() => return,
            }
        }
    }

    /// Begins to watch for a client that says when to stop.
    pub(crate) async fn subscribe_to(
        &self,
        uri: String,
        peer: rmcp::Peer<rmcp::RoleServer>,
    ) -> Result<(), ErrorData> {
        let Some((id, _)) = named(&uri) else { return Err(missing(&uri)) };
        let opened = self.shared.broker.get_or_try_init(|| (self.shared.open)()).await;
        let broker = opened.map_err(|error| {
            ErrorData::internal_error(format!("Pilothouse could not {error}"), None)
        })?;
        let seen = broker.session(id).await.map_err(|_| missing(&uri))?.last_seq;
        let over = self.shared.leaving.child_token();
        {
            let mut watched = self.shared.watched();
            if watched.len() >= MAX_WATCHED && !watched.contains_key(&uri) {
                let problem = format!("more than {MAX_WATCHED} subscriptions; end one first");
                return Err(ErrorData::invalid_params(problem, None));
            }
            if let Some(before) = watched.insert(uri.clone(), over.clone()) {
                before.cancel();
            }
        }
        let server = self.clone();
        self.shared.watchers.spawn(async move {
            let tell = |uri: String| {
                let note = rmcp::model::ResourceUpdatedNotificationParam::new(uri);
                let peer = peer.clone();
                async move { peer.notify_resource_updated(note).await.is_ok() }
            };
            server.watch(uri, seen, over, tell).await;
        });
        Ok(())
    }
}
