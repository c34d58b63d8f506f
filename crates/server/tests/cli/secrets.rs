//! No secret that agents, callers or the environment hold gets into what is logged or refused.

use std::{fs, os::unix::fs::PermissionsExt as _};

use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule},
};
use serde_json::json;

use super::place::Place;

const API_KEY: &str = "sk-proj-Zx81Qw0aNotARealKey77";
const GITHUB: &str = "ghp_Zx82Qw0aNotARealKey77abcdefghijkl";
const BEARER: &str = "Zx83Qw0aNotARealBearer77";
const PASSWORD: &str = "Zx84Qw0aNotARealPassword";
const SECRETS: [&str; 4] = [API_KEY, GITHUB, BEARER, PASSWORD];

fn clean(what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what} holds {secret}: {text}");
    }
}

#[test]
fn no_secret_is_logged_or_told_to_others() {
    let command = format!(
        "OPENAI_API_KEY={API_KEY} curl -H 'Authorization: Bearer {BEARER}' --token {GITHUB} \
         https://me:{PASSWORD}@host/"
    );
    let ask = Ask { command, reason: Some(format!("needs {API_KEY}")), ..Ask::default() };
    let actions = vec![
        Action::BeginTurn,
        Action::Message(format!("using {GITHUB}")),
        Action::Ask(ask),
        Action::Exit(3),
    ];
    let agent = FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap();
    let vars = [
        ("HOME", agent.dir().display().to_string()),
        ("OPENAI_API_KEY", API_KEY.to_owned()),
        ("GITHUB_TOKEN", GITHUB.to_owned()),
    ];
    let vars = vars.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let place = Place::new(&agent.executable(), vars);
    let serve = place.serve("trace");
    let session = serve.start(&format!("password={PASSWORD}"), place.folder.path());
    let ask = place.ask();
    let id = ask["requestId"].as_str().unwrap();
    // The log of a session holds exact commands: what is asked must be what runs.
    assert!(ask["subject"]["command"].as_str().unwrap().contains(API_KEY));

    let answer = format!("/api/v1/asks/{id}/answer");
    let digest = &ask["digest"];
    for (what, res) in [
        ("a wrong token", serve.http("GET", "/api/v1/sessions", BEARER, "")),
        ("a wrong key", serve.http("GET", "/metrics", API_KEY, "")),
        ("a wrong code", serve.post("/api/v1/login", &json!({"code": GITHUB}))),
        ("no JSON", serve.http("POST", &answer, "", &format!("{{\"token\": \"{GITHUB}"))),
        ("a wrong field", serve.post(&answer, &json!({"digest": "d", (API_KEY): 1}))),
        ("a wrong word", serve.post(&answer, &json!({"digest": "d", "decision": GITHUB}))),
        ("a wrong digest", serve.post(&answer, &json!({"digest": API_KEY, "decision": "accept"}))),
        (
            "an answer to no question",
            serve.post(
                &answer,
                &json!({"digest": digest, "answers": {(GITHUB): {"answers": [API_KEY]}}}),
            ),
        ),
        ("a wrong name", serve.get(&format!("/api/v1/sessions/{GITHUB}"))),
        ("a wrong place", serve.get(&format!("/api/v1/feed?after={API_KEY}"))),
        ("a wrong page", serve.get(&format!("/api/v1/asks?cursor={API_KEY}"))),
        ("a wrong query", serve.get(&format!("/api/v1/sessions?limit={API_KEY}"))),
        (
            "a wrong session",
            serve.post("/api/v1/sessions", &json!({"prompt": "a", "sandbox": GITHUB})),
        ),
        ("metrics", serve.get("/metrics")),
    ] {
        clean(what, &res);
    }
    let accepted = serve.post(&answer, &json!({"digest": digest, "decision": "accept"}));
    assert!(accepted.starts_with("HTTP/1.1 200 "), "{accepted}");
    // The agent dies of it, and that is on record.
    let path = format!("/api/v1/sessions/{session}");
    super::place::wait_for("a lost turn", || serve.get(&path).contains("\"lost\"").then_some(()));

    let said = serve.leave();
    assert!(said.contains("DEBUG") && said.contains("turn lost"), "it logged nothing: {said}");
    clean("the log", &said);
}

#[test]
fn what_a_dying_codex_says_is_told_without_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let codex = folder.path().join("codex");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo codex-cli 0.171.0 && exit\n\
         echo 'cannot log in: Authorization: Bearer {BEARER}' >&2\n\
         echo 'env GITHUB_TOKEN={GITHUB} {API_KEY}' >&2\nexit 1\n"
    );
    fs::write(&codex, script).unwrap();
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o755)).unwrap();
    let home = folder.path().display().to_string();
    let place = Place::new(&codex, vec![("HOME".to_owned(), home)]);
    let serve = place.serve("trace");
    let failed = serve.post("/api/v1/sessions", &json!({"prompt": "go"}));
    clean("the refusal", &failed);
    let said = serve.leave();
    clean("the log", &said);
}

#[test]
fn what_a_command_refuses_it_does_not_repeat() {
    let agent = FakeAgent::new(&[]).unwrap();
    let place = Place::new(&agent.executable(), vec![]);
    for args in [
        ["--log", "token=Zx84Qw0aNotARealPassword", "sessions"],
        ["--store", "redis://me:Zx84Qw0aNotARealPassword@host", "sessions"],
    ] {
        let refused = place.run(&args);
        assert_eq!(refused.status.code(), Some(1));
        clean("the error", &String::from_utf8(refused.stderr).unwrap());
    }
}
