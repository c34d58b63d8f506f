//! Who comes in, and who doesn't.

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use jiff::{SignedDuration, Timestamp};
use pilothouse_server::http::Drawer;
use pilothouse_testkit::FakeAgent;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::desk::{Desk, HOST, Reply, new_session, request};

type Headers<'a> = Vec<(&'a str, String)>;
type Fixed = &'static [(&'static str, &'static str)];

async fn desk() -> Desk {
    Desk::open(&FakeAgent::new(&[]).unwrap()).await
}

fn bare(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    let request = headers.iter().fold(request, |it, (name, value)| it.header(*name, *value));
    request.body(Body::from(body.to_owned())).unwrap()
}

/// Logs in as a browser does; gives the cookie.
async fn log_in(desk: &Desk) -> String {
    let code = desk.front.keys().mint(Drawer::Codes, Timestamp::now()).unwrap();
    let reply = login(desk, code.expose_secret()).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT, "{}", reply.text);
    let cookie = reply.headers[header::SET_COOKIE].to_str().unwrap().to_owned();
    for attribute in ["; Path=/;", "; HttpOnly;", "; SameSite=Strict", "; Max-Age="] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    cookie.split(';').next().unwrap().to_owned()
}

async fn login(desk: &Desk, code: &str) -> Reply {
    let headers = [("host", HOST), ("content-type", "application/json")];
    let body = json!({ "code": code }).to_string();
    desk.send(bare("POST", "/api/v1/login", &headers, &body)).await
}

#[tokio::test]
async fn only_a_token_or_a_login_lets_in() {
    let desk = desk().await;
    let bearer = |it: &str| format!("Bearer {it}");
    let cookie = log_in(&desk).await;
    let name = cookie.split_once('=').unwrap().0.to_owned();
    let (good, human) = (bearer(&desk.token), bearer(&desk.human));
    let cases: Vec<(Headers<'_>, u16, Value)> = vec![
        (vec![], 401, json!("UNAUTHORIZED")),
        (vec![("authorization", bearer("nonsense"))], 401, json!("UNAUTHORIZED")),
        (vec![("authorization", bearer(""))], 401, json!("UNAUTHORIZED")),
        (vec![("authorization", desk.token.clone())], 401, json!("UNAUTHORIZED")),
        (vec![("authorization", format!("Basic {}", desk.token))], 401, json!("UNAUTHORIZED")),
        (vec![("cookie", format!("{name}=nonsense"))], 401, json!("UNAUTHORIZED")),
        (vec![("cookie", format!("{name}={}", desk.human))], 401, json!("UNAUTHORIZED")),
        (vec![("authorization", good)], 200, json!("caller")),
        (vec![("authorization", human)], 200, json!("human")),
        (vec![("cookie", format!("other=1; {cookie}"))], 200, json!("human")),
        // A wrong token is wrong, whatever else comes with it.
        (
            vec![("authorization", bearer("nonsense")), ("cookie", cookie.clone())],
            401,
            json!("UNAUTHORIZED"),
        ),
    ];
    for (headers, status, said) in cases {
        let mut all = vec![("host", HOST)];
        all.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
        let reply = desk.send(bare("GET", "/api/v1/me", &all, "")).await;
        assert_eq!(reply.status, status, "{headers:?}: {}", reply.text);
        let found = if status == 200 { &reply.body["actor"] } else { &reply.body["code"] };
        assert_eq!(*found, said, "{headers:?}");
    }
    desk.close().await;
}

#[tokio::test]
async fn everything_but_health_and_the_console_asks_who_is_there() {
    let desk = desk().await;
    let described = desk.get("/api/v1/openapi.json").await.body;
    let paths = described["paths"].as_object().unwrap();
    assert!(paths.len() >= 15, "{paths:?}");
    for (path, item) in paths {
        for method in item.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            let path = path.replace(['{', '}'], "");
            let headers = [("host", HOST), ("content-type", "application/json")];
            let reply = desk.send(bare(&method, &path, &headers, "{}")).await;
            let expected = match path.as_str() {
                "/healthz" => StatusCode::OK,
                "/api/v1/login" => StatusCode::UNPROCESSABLE_ENTITY,
                _ => StatusCode::UNAUTHORIZED,
            };
            assert_eq!(reply.status, expected, "{method} {path}: {}", reply.text);
        }
    }
    // Not even which version this is.
    let health = desk.send(bare("GET", "/healthz", &[("host", HOST)], "")).await;
    assert_eq!(health.body, json!({ "status": "ok" }));
    let page = desk.send(bare("GET", "/sessions/sess_1", &[("host", HOST)], "")).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("Pilothouse"), "{}", page.text);
    assert_eq!(page.headers[header::CACHE_CONTROL], "no-cache");
    let missing = desk.send(bare("GET", "/assets/no.js", &[("host", HOST)], "")).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    let unknown = desk.get("/api/v1/nothing").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert_eq!(unknown.headers[header::CONTENT_TYPE], "application/problem+json");
    desk.close().await;
}

#[tokio::test]
async fn another_host_or_origin_is_kept_out_whatever_it_knows() {
    let desk = desk().await;
    let bearer = format!("Bearer {}", desk.token);
    let cases: [(&str, Fixed, u16); 16] = [
        ("/api/v1/me", &[("host", "localhost:7457")], 200),
        ("/api/v1/me", &[("host", "LOCALHOST:7457")], 200),
        ("/api/v1/me", &[("host", "[::1]:7457")], 200),
        ("/api/v1/me", &[("host", HOST), ("origin", "http://127.0.0.1:7457")], 200),
        ("/api/v1/me", &[("host", HOST), ("origin", "http://localhost:7457")], 200),
        ("/api/v1/me", &[], 403),
        ("/api/v1/me", &[("host", "127.0.0.1")], 403),
        ("/api/v1/me", &[("host", "127.0.0.1:80")], 403),
        // A name of somebody else's that was made to point here.
        ("/api/v1/me", &[("host", "evil.example:7457")], 403),
        ("/", &[("host", "evil.example:7457")], 403),
        ("/healthz", &[("host", "evil.example:7457")], 403),
        ("/api/v1/me", &[("host", HOST), ("host", "evil.example")], 403),
        ("http://evil.example:7457/api/v1/me", &[("host", HOST)], 403),
        ("/api/v1/me", &[("host", HOST), ("origin", "http://evil.example")], 403),
        ("/healthz", &[("host", HOST), ("origin", "null")], 403),
        ("/api/v1/me", &[("host", HOST), ("origin", "http://127.0.0.1:9999")], 403),
    ];
    for (path, headers, status) in cases {
        let mut all = headers.to_vec();
        all.push(("authorization", &bearer));
        let reply = desk.send(bare("GET", path, &all, "")).await;
        assert_eq!(reply.status, status, "{path} {headers:?}: {}", reply.text);
    }
    desk.close().await;
}

#[tokio::test]
async fn a_page_of_another_origin_cannot_use_a_login() {
    let desk = desk().await;
    let cookie = log_in(&desk).await;
    let body = new_session().to_string();
    let kinds = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
    for kind in kinds {
        let headers = [("host", HOST), ("cookie", &cookie), ("content-type", kind)];
        let reply = desk.send(bare("POST", "/api/v1/sessions", &headers, &body)).await;
        assert_eq!(reply.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind}: {}", reply.text);
    }
    let untyped = [("host", HOST), ("cookie", cookie.as_str())];
    let reply = desk.send(bare("POST", "/api/v1/sessions", &untyped, &body)).await;
    assert_eq!(reply.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{}", reply.text);
    for (site, status) in
        [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)]
    {
        let headers = [("host", HOST), ("cookie", cookie.as_str()), ("sec-fetch-site", site)];
        let reply = desk.send(bare("GET", "/api/v1/sessions", &headers, "")).await;
        assert_eq!(reply.status, status, "{site}: {}", reply.text);
    }
    assert_eq!(desk.get("/api/v1/sessions").await.body["sessions"], json!([]));
    desk.close().await;
}

#[tokio::test]
async fn a_login_code_works_once_and_in_time() {
    let desk = desk().await;
    let keys = desk.front.keys();
    let code = keys.mint(Drawer::Codes, Timestamp::now()).unwrap();
    let code = code.expose_secret();
    assert_eq!(login(&desk, code).await.status, StatusCode::NO_CONTENT);
    let again = login(&desk, code).await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED);
    assert!(again.body["detail"].as_str().unwrap().starts_with("Pilothouse could not log in: "));
    assert!(!again.text.contains(code));
    let minute_ago = Timestamp::now() - SignedDuration::from_secs(61);
    let late = keys.mint(Drawer::Codes, minute_ago).unwrap();
    assert_eq!(login(&desk, late.expose_secret()).await.status, StatusCode::UNAUTHORIZED);
    desk.close().await;
}

#[tokio::test]
async fn a_login_outlives_the_process() {
    let agent = FakeAgent::new(&[]).unwrap();
    let desk = Desk::open(&agent).await;
    let cookie = log_in(&desk).await;
    let home = desk.home();
    desk.close().await;
    let desk = Desk::join(&agent, home).await;
    let headers = [("host", HOST), ("cookie", cookie.as_str())];
    let reply = desk.send(bare("GET", "/api/v1/me", &headers, "")).await;
    assert_eq!(reply.body["actor"], "human", "{}", reply.text);
    desk.close().await;
}

#[tokio::test]
async fn wrong_secrets_are_slowed_down_and_right_ones_never() {
    let desk = desk().await;
    let mut last = StatusCode::OK;
    for _ in 0..200 {
        last = desk.send(request("GET", "/api/v1/me", "nonsense", None)).await.status;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(desk.get("/api/v1/me").await.status, StatusCode::OK);
    let metrics = desk.get("/metrics").await.text;
    assert!(metrics.contains("pilothouse_http_wrong_secrets_total 200\n"), "{metrics}");
    desk.close().await;
}

#[tokio::test]
async fn browsers_are_told_what_to_heed() {
    let desk = desk().await;
    for path in ["/", "/api/v1/me", "/api/v1/nothing", "/healthz"] {
        let reply = desk.get(path).await;
        let csp = reply.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(csp.starts_with("default-src 'self'"), "{csp}");
        assert!(csp.contains("frame-ancestors 'none'") && !csp.contains("unsafe"), "{csp}");
        assert_eq!(reply.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(reply.headers[header::REFERRER_POLICY], "no-referrer");
        if path.starts_with("/api/") {
            assert_eq!(reply.headers[header::CACHE_CONTROL], "no-store");
        }
    }
    let wrong = desk.send(request(Method::DELETE.as_str(), "/api/v1/me", &desk.token, None)).await;
    assert_eq!(wrong.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(wrong.body["status"], 405);
    desk.close().await;
}

#[tokio::test]
async fn a_body_that_never_comes_whole_is_not_waited_for() {
    use futures_util::{StreamExt as _, stream};

    let desk = Desk::in_memory(&FakeAgent::new(&[]).unwrap()).await;
    let half = stream::iter([Ok::<_, std::io::Error>("{\"prompt\":")]).chain(stream::pending());
    let mut slow = request("POST", "/api/v1/sessions", &desk.token, Some(Value::Null));
    *slow.body_mut() = Body::from_stream(half);
    // From here on nothing but time passes.
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    let reply = desk.send(slow).await;
    let waited = start.elapsed().as_secs();
    tokio::time::resume();
    assert_eq!(reply.status, StatusCode::REQUEST_TIMEOUT, "{}", reply.text);
    assert_eq!(waited, 30);
    assert!(reply.body["detail"].as_str().unwrap().contains("whole within 30 s"));
    desk.close().await;
}
