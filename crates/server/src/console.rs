//! The built web console, embedded; without one, a page that says how to build it.

use axum::{
    http::{Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};

use crate::http::Problem;

/// Whatever is no route of the API: a file of the console, or one of its views.
pub(crate) async fn page(method: Method, uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path == "api" || path.starts_with("api/") {
        let detail = "find that address; /api/v1/openapi.json lists those that there are";
        return Problem::new(StatusCode::NOT_FOUND, "INVALID_ARGUMENT", detail).into_response();
    }
    if method != Method::GET && method != Method::HEAD {
        let detail = "do that here: the console can only be read";
        return Problem::new(StatusCode::METHOD_NOT_ALLOWED, "INVALID_ARGUMENT", detail)
            .into_response();
    }
    if let Some(bytes) = files::find(path).filter(|_| !path.is_empty()) {
        // Built files have their hash in their name.
        let keep = if path.starts_with("assets/") {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        };
        return file(path, keep, bytes);
    }
    // A file that is not there is an error; anything else is a view, and the console's to route.
    if path.rsplit('/').next().is_some_and(|it| it.contains('.')) && path != "index.html" {
        return StatusCode::NOT_FOUND.into_response();
    }
    match files::find("index.html") {
        Some(bytes) => file("index.html", "no-cache", bytes),
        None => file("index.html", "no-cache", STUB.as_bytes().into()),
    }
}

const STUB: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Pilothouse</title>
<h1>This Pilothouse was built without its console</h1>
<p>Build the console with <code>npm ci &amp;&amp; npm run build</code> in the folder
<code>web</code>, then the program again with <code>cargo build -p pilothouse-server</code>.
The REST interface and the event feed work without it.</p>
</html>
";

fn file(path: &str, keep: &'static str, bytes: std::borrow::Cow<'static, [u8]>) -> Response {
    let headers = [(header::CONTENT_TYPE, kind(path)), (header::CACHE_CONTROL, keep)];
    (headers, bytes).into_response()
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, it)| it) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("json" | "map" | "webmanifest") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(feature = "console")]
mod files {
    use std::borrow::Cow;

    use rust_embed::RustEmbed;

    #[derive(RustEmbed)]
    #[folder = "../../web/dist"]
    #[allow_missing = true]
    struct Files;

    pub(super) fn find(path: &str) -> Option<Cow<'static, [u8]>> {
        Files::get(path).map(|it| it.data)
    }
}

#[cfg(not(feature = "console"))]
mod files {
    use std::borrow::Cow;

    pub(super) fn find(_path: &str) -> Option<Cow<'static, [u8]>> {
        None
    }
}
