//! The routes of the scripted model, and its streams.

use std::{io, sync::Arc};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::stream;
use serde_json::{Value, json};

use super::{
    ModelRequest, Shared,
    script::{self, Op},
    stream::{Call, Part, parts},
};

/// Codex sends the whole conversation each time, images and all.
const MAX_BODY: usize = 256 << 20;

/// Where Codex tells the thread; which one depends on its version.
const THREAD_HEADERS: [&str; 3] = ["thread-id", "session_id", "session-id"];

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/responses", post(responses))
        .route("/v1/responses/compact", post(compact))
        .route("/gates/{name}", post(open_gate))
        .route("/requests", get(requests))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(shared)
}

async fn models() -> Json<Value> {
    Json(json!({"object": "list", "data": [], "models": []}))
}

async fn compact() -> Json<Value> {
    let content = json!([{"type": "input_text", "text": "What was said so far, in short."}]);
    Json(json!({"output": [{"type": "message", "role": "user", "content": content}]}))
}

async fn open_gate(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> StatusCode {
    shared.open_gate(&name);
    StatusCode::NO_CONTENT
}

async fn requests(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let state = shared.state();
    Json(json!(state.requests))
}

async fn responses(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        let error = json!({"error": {"message": "the body is not JSON", "type": "invalid"}});
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    };
    let (thread, tools) = (thread_of(&headers, &body), tools_of(&body));
    let model = body["model"].as_str().map(str::to_owned);
    let (tools_logged, body_logged) = (tools.clone(), body.clone());
    let number = shared.log(ModelRequest {
        number: 0,
        thread: thread.clone(),
        model,
        tools: tools_logged,
        body: body_logged,
    });
    let ops = choose_step(&shared, thread, &body);
    let status = ops.iter().find_map(|op| {
        if let Op::Status { status, body, headers } = op {
            Some((*status, body, headers))
        } else {
            None
        }
    });
    if let Some((status, body, headers)) = status {
        return refuse(status, body, headers);
    }
    let call = Call { number, run: &shared.run, tools: &tools, body: &body };
    let parts = parts(&call, ops);
    let body = Body::from_stream(play(shared, parts));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn choose_step(shared: &Shared, thread: String, body: &Value) -> Vec<Op> {
    let input = body["input"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    if script::is_compaction(input) {
        return vec![script::say("What was said so far, in short.")];
    }
    let mut state = shared.state();
    let Some((steps, prompt)) = script::find(input) else {
        return script::default_step(&state.default_script, input);
    };
    let used = state.steps.entry((thread, prompt)).or_default();
    let step = script::step_at(&steps, *used);
    *used += 1;
    step
}

/// Sends the parts one by one; it ends where the list ends, or breaks at [`Part::Cut`].
fn play(
    shared: Arc<Shared>,
    parts: Vec<Part>,
) -> impl stream::Stream<Item = io::Result<String>> + use<> {
    stream::unfold((shared, parts.into_iter()), |(shared, mut parts)| async move {
        loop {
            match parts.next()? {
                Part::Event(event) => {
                    let kind = event["type"].as_str().unwrap_or("message");
                    let text = format!("event: {kind}\ndata: {event}\n\n");
                    return Some((Ok(text), (shared, parts)));
                }
                Part::Gate(name) => shared.pass_gate(&name).await,
                Part::Sleep(duration) => tokio::time::sleep(duration).await,
                Part::Cut => {
                    // Let what was sent before leave the socket, or Codex never sees it.
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                    let error = io::Error::from(io::ErrorKind::ConnectionReset);
                    return Some((Err(error), (shared, parts)));
                }
            }
        }
    })
}

fn refuse(status: u16, body: &Value, headers: &[(String, String)]) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(body)).into_response();
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn thread_of(headers: &HeaderMap, body: &Value) -> String {
    let named = THREAD_HEADERS.iter().find_map(|it| headers.get(*it)?.to_str().ok());
    named.or_else(|| body["prompt_cache_key"].as_str()).unwrap_or_default().to_owned()
}

/// The names of all tools, including those that code mode declares as an item of the input.
fn tools_of(body: &Value) -> Vec<String> {
    let mut res = Vec::new();
    let declared = body["tools"].as_array().into_iter().flatten();
    let input = body["input"].as_array().into_iter().flatten();
    let additional = input
        .filter(|it| it["type"] == "additional_tools")
        .filter_map(|it| it["tools"].as_array())
        .flatten();
    for tool in declared.chain(additional) {
        let nested = tool["tools"].as_array().into_iter().flatten();
        for tool in std::iter::once(tool).chain(nested) {
            let name = tool["name"].as_str().or_else(|| tool["type"].as_str());
            res.extend(name.map(str::to_owned));
        }
    }
    res
}
