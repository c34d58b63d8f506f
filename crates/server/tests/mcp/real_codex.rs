//! The real Codex with a scripted model, as a caller drives it.

use std::path::Path;

use pilothouse_testkit::{ScriptedModel, codex_binary};
use serde_json::{Value, json};

use crate::client::{Client, below};

const COMMAND: &str = "go\nSCRIPT:[[{\"cmd\": \"mkdir -p sub && echo hi > sub/f.txt\"}],\
                       [{\"msg\": \"finished\", \"phase\": \"final_answer\"}]]";
const PATCH: &str = "patch\nSCRIPT:[\
    [{\"patch\": \"*** Begin Patch\\n*** Add File: hello.txt\\n+hello\\n*** End Patch\\n\"}],\
    [{\"msg\": \"patched\", \"phase\": \"final_answer\"}]]";

pub(crate) async fn client(model: &ScriptedModel, home: &Path) -> Client {
    let codex = codex_binary().unwrap().display().to_string();
    let mut env = model.env();
    env.push(("PILOTHOUSE_CODEX".to_owned(), codex));
    // A login shell would run the profile of whoever tests.
    env.push(("HOME".to_owned(), model.codex_home().display().to_string()));
    Client::start_with(home, &env).await
}

#[tokio::test]
async fn a_command_is_accepted_a_change_declined_and_the_session_goes_on() {
    let model = ScriptedModel::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let mut client = client(&model, home.path()).await;
    let session = client.session(COMMAND, "untrusted", project.path()).await;

    let action = client.action(&session).await;
    assert_eq!((&action["type"], &action["kind"]), (&json!("approval"), &json!("command")));
    assert!(action["params"]["command"].to_string().contains("mkdir -p sub"), "{action}");
    assert!(!project.path().join("sub").exists());
    client.decide(&session, &action, "accept").await;
    let outcome = client.outcome(&session).await;
    assert_eq!((&outcome["status"], &outcome["output"]), (&json!("completed"), &json!("finished")));
    assert_eq!(std::fs::read_to_string(project.path().join("sub/f.txt")).unwrap(), "hi\n");

    let reply = json!({"sessionId": session, "prompt": PATCH, "wait": true});
    let replied = client.call("codex_reply", reply).await;
    let action = &replied["structuredContent"]["actions"][0];
    assert_eq!(action["kind"], "fileChange", "{replied}");
    assert!(action["diff"].as_str().unwrap().contains("+hello"), "{action}");
    assert!(action["paths"][0].as_str().unwrap().ends_with("hello.txt"), "{action}");
    assert!(replied["content"][0]["text"].as_str().unwrap().contains("+hello"));
    client.decide(&session, action, "decline").await;
    let outcome = client.outcome(&session).await;
    assert_eq!((&outcome["status"], &outcome["output"]), (&json!("completed"), &json!("patched")));
    assert!(!project.path().join("hello.txt").exists());
    assert!(client.close().await.success());
}

#[tokio::test]
async fn forms_and_questions_are_answered_and_an_approval_expires_without_being_declined() {
    let model = ScriptedModel::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut client = client(&model, home.path()).await;
    let begin = |steps: Value, advanced: Value| {
        json!({
            "prompt": format!("go\nSCRIPT:{steps}"), "approvalPolicy": "untrusted",
            "sandbox": "workspace-write", "cwd": home.path(), "wait": true, "advanced": advanced,
        })
    };
    let asked = |started: &Value| {
        let name = |it: &Value| it.as_str().unwrap().to_owned();
        let action = &started["actions"][0];
        (name(&started["sessionId"]), name(&action["requestId"]), action.clone())
    };

    let probe = pilothouse_testkit::bin("probe-mcp").unwrap();
    let config = json!({"config": {"mcp_servers": {"probe": {"command": probe}}}});
    let steps = json!([[{"call": "ask_form", "ns": "mcp__probe"}], [{"msg": "asked"}]]);
    let mut arguments = begin(steps, config);
    // Under `untrusted` Codex would ask about the call first.
    arguments["approvalPolicy"] = "on-request".into();
    let started = client.done("codex", arguments).await;
    let (session, request, action) = asked(&started);
    assert_eq!(action["kind"], "elicitation", "{started}");
    let fill = |content: Value| {
        json!({
            "action": "respond_elicitation", "sessionId": session, "requestId": request,
            "decision": "accept", "content": content,
        })
    };
    let error = client.refused("codex_check", fill(json!({"age": 36}))).await;
    assert!(error["message"].as_str().unwrap().starts_with("content.name: "), "{error}");
    client.done("codex_check", fill(json!({"name": "Ada", "age": 36}))).await;
    assert_eq!(client.outcome(&session).await["output"], "asked");

    let question = json!({
        "id": "q1", "header": "Colour", "question": "Which?",
        "options": [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}],
    });
    let call = json!({"call": "request_user_input", "args": {"questions": [question]}});
    let plan = json!({"collaborationMode": {"mode": "plan", "settings": {"model": "gpt-5.5"}}});
    let arguments = begin(json!([[call], [{"msg": "thanks"}]]), plan);
    let started = client.done("codex", arguments).await;
    let (session, request, action) = asked(&started);
    assert_eq!((&action["type"], &action["kind"]), (&json!("user_input"), &json!("user_input")));
    let choose = |answers: Value| {
        json!({
            "action": "respond_user_input", "sessionId": session, "requestId": request,
            "answers": answers,
        })
    };
    let error = client.refused("codex_check", choose(json!({"q2": {"answers": ["red"]}}))).await;
    assert!(error["message"].as_str().unwrap().starts_with("answers: "), "{error}");
    client.done("codex_check", choose(json!({"q1": {"answers": ["blue"]}}))).await;
    assert_eq!(client.outcome(&session).await["output"], "thanks");
    assert!(model.requests().last().unwrap().input_text().contains("blue"));

    let steps = json!([[{"cmd": "mkdir never"}], [{"msg": "gave up"}]]);
    let started = client.done("codex", begin(steps, json!({"approvalTimeoutMs": 300}))).await;
    let (session, _, action) = asked(&started);
    assert!(action["expiresAt"].is_string(), "{action}");
    let found = client.poll_until(&session, |it| it["result"].is_object()).await;
    assert_eq!(found["result"]["output"], "gave up");
    let all = json!({"action": "poll", "sessionId": session, "cursor": 0, "maxEvents": 500});
    let events = client.done("codex_check", all).await["events"].take();
    let settled = events.as_array().unwrap().iter().find(|it| it["type"] == "approval_result");
    assert_eq!(settled.unwrap()["data"]["timeout"], true, "{events}");
    let told = model.requests().last().unwrap().input_text();
    assert!(!told.contains("rejected by user"), "{told}");
    assert!(!home.path().join("never").exists());
}

#[tokio::test]
async fn three_sessions_share_one_codex_and_do_not_mix() {
    let model = ScriptedModel::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let projects = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let mut client = client(&model, home.path()).await;
    let mut sessions = vec![];
    for project in &projects {
        sessions.push(client.session(COMMAND, "untrusted", project.path()).await);
    }
    let mut actions: Vec<Value> = vec![];
    for session in &sessions {
        actions.push(client.action(session).await);
    }
    let codexes = below(client.pid()).iter().filter(|(_, name)| name == "codex").count();
    assert_eq!(codexes, 1, "{:?}", below(client.pid()));

    // Answered in another order than asked, and one not at all.
    client.decide(&sessions[2], &actions[2], "accept").await;
    let interrupt = json!({"action": "interrupt", "sessionId": sessions[1]});
    client.done("codex_session", interrupt).await;
    client.decide(&sessions[0], &actions[0], "decline").await;
    let expected = [("completed", false), ("interrupted", false), ("completed", true)];
    for ((session, project), (status, written)) in sessions.iter().zip(&projects).zip(expected) {
        let outcome = client.outcome(session).await;
        assert_eq!(outcome["status"], status, "{outcome}");
        assert_eq!(project.path().join("sub/f.txt").exists(), written);
    }
    let late = json!({
        "action": "respond_permission", "sessionId": sessions[1],
        "requestId": actions[1]["requestId"], "decision": "accept",
    });
    assert_eq!(client.refused("codex_check", late).await["code"], "ALREADY_SETTLED");
    // The interrupted session is as good as new.
    let hello = "again\nSCRIPT:[[{\"msg\": \"hello again\"}]]";
    let reply = json!({"sessionId": sessions[1], "prompt": hello, "wait": true});
    let replied = client.done("codex_reply", reply).await;
    assert_eq!(replied["result"]["output"], "hello again", "{replied}");
    let started = below(client.pid());
    assert!(client.close().await.success());
    assert!(started.iter().all(|(pid, _)| !crate::client::is_alive(*pid)));
}

#[tokio::test]
async fn a_decision_for_the_session_or_for_good_is_not_asked_for_again() {
    let model = ScriptedModel::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut client = client(&model, home.path()).await;
    let prompt = |n: u32, line: &str| {
        let steps = json!([[{"cmd": line}], [{"msg": format!("done {n}")}]]);
        format!("go {n}\nSCRIPT:{steps}")
    };
    let begin = json!({
        "prompt": prompt(1, "mkdir one"), "approvalPolicy": "untrusted",
        "sandbox": "workspace-write", "cwd": home.path(), "wait": true,
    });
    let started = client.done("codex", begin).await;
    let session = started["sessionId"].as_str().unwrap().to_owned();
    let size = started["actions"].to_string().len();
    client.decide(&session, &started["actions"][0], "acceptForSession").await;
    assert_eq!(client.outcome(&session).await["output"], "done 1", "{size}");
    std::fs::remove_dir(home.path().join("one")).unwrap();
    let again =
        |n: u32, line: &str| json!({"sessionId": session, "prompt": prompt(n, line), "wait": true});
    let replied = client.done("codex_reply", again(2, "mkdir one")).await;
    assert_eq!(replied["result"]["output"], "done 2", "{replied}");
    assert!(home.path().join("one").exists());

    let replied = client.done("codex_reply", again(3, "touch two")).await;
    let action = &replied["actions"][0];
    let proposed = action["proposedExecpolicyAmendment"].clone();
    assert!(proposed[0] == "touch", "{action}");
    let answer = |words: Value| {
        json!({
            "action": "respond_permission", "sessionId": session,
            "requestId": action["requestId"], "decision": "acceptWithExecpolicyAmendment",
            "execpolicy_amendment": words,
        })
    };
    let wider = client.refused("codex_check", answer(json!(["cp"]))).await;
    assert_eq!(wider["code"], "INVALID_ARGUMENT");
    client.done("codex_check", answer(proposed)).await;
    assert_eq!(client.outcome(&session).await["output"], "done 3");
    std::fs::remove_file(home.path().join("two")).unwrap();
    let replied = client.done("codex_reply", again(4, "touch two")).await;
    assert_eq!(replied["result"]["output"], "done 4", "{replied}");
    assert!(home.path().join("two").exists());
}

#[tokio::test]
async fn a_real_session_with_one_approval_takes_few_bytes() {
    let model = ScriptedModel::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let mut client = client(&model, home.path()).await;
    let begin = json!({
        "prompt": COMMAND, "approvalPolicy": "untrusted", "sandbox": "workspace-write",
        "cwd": project.path(), "wait": true,
    });
    let started = client.call("codex", begin).await;
    let action = &started["structuredContent"]["actions"][0];
    let session = started["structuredContent"]["sessionId"].clone();
    let mut answer = json!({
        "action": "respond_permission", "sessionId": session, "requestId": action["requestId"],
        "decision": "accept", "waitMs": 10_000,
    });
    let mut results = vec![started.clone()];
    loop {
        let answered = client.call("codex_check", answer).await;
        let over = answered["structuredContent"]["result"].is_object();
        results.push(answered);
        if over {
            break;
        }
        answer = json!({
            "action": "poll", "sessionId": session, "waitMs": 10_000,
            "pollOptions": {"includeEvents": false},
        });
    }
    let n_bytes: usize = results.iter().map(|it| it.to_string().len()).sum();
    assert!(n_bytes < 2_500, "{n_bytes}: {results:?}");
}

#[tokio::test]
async fn configuration_and_a_profile_hold_in_the_real_codex_as_they_were_given() {
    let model = ScriptedModel::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut client = client(&model, home.path()).await;
    let profile = "model = \"gpt-5\"\ndeveloper_instructions = 'of the profile: C:\\new\\\"x\"'\n";
    std::fs::write(model.codex_home().join("work.config.toml"), profile).unwrap();
    let values = [
        ("QUOTES", "it's \"so\" and `so`"),
        ("WINDOWS_PATH", r"C:\Users\t3\new"),
        ("dots.in.a.name", "looks.like.a.path = [1"),
        ("LINES", "one\ntwo\n\tthree \\n"),
        ("NUMBER", "007"),
    ];
    let set: serde_json::Map<_, _> =
        values.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let names = values.map(|(name, _)| name).join(" ");
    let steps = json!([[{"cmd": format!("printenv {names}")}], [{"msg": "read"}]]);
    let begin = json!({
        "prompt": format!("go\nSCRIPT:{steps}"), "approvalPolicy": "never",
        "sandbox": "danger-full-access", "cwd": home.path(), "wait": true, "profile": "work",
        "advanced": {"config": {"shell_environment_policy": {"set": set}}},
    });
    let done = client.done("codex", begin).await;
    assert_eq!(done["result"]["output"], "read", "{done}");
    let request = model.requests().pop().unwrap();
    assert_eq!(request.model.as_deref(), Some("gpt-5"));
    let told = json!("of the profile: C:\\new\\\"x\"").to_string();
    assert!(request.input_text().contains(told.trim_matches('"')), "{}", request.input_text());
    let poll = json!({
        "action": "poll", "sessionId": done["sessionId"], "cursor": 0, "maxEvents": 100,
        "responseMode": "full",
    });
    let events = client.done("codex_check", poll).await["events"].take();
    let ran = |it: &&Value| it["data"]["item"]["aggregatedOutput"].is_string();
    let ran = events.as_array().unwrap().iter().find(ran).unwrap();
    let expected: String = values.iter().flat_map(|(_, value)| [*value, "\n"]).collect();
    assert_eq!(ran["data"]["item"]["aggregatedOutput"], expected);
}
