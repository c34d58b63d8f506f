//! The tool by itself: what runs, what is asked, and what is told.

use std::path::Path;

use serde_json::{Value, json};

use crate::{client::Client, serve::Serve};

const TOOL: &str = "run_command";

async fn client(home: &Path, able: Value) -> Client {
    let mut client = Client::spawn_with(home, &["--tools", "command"], &[]);
    client.initialize_as("2025-11-25", "tests", able).await;
    client
}

fn folder_with(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), "content\n").unwrap();
    folder
}

#[tokio::test]
async fn what_only_reads_runs_at_once_and_its_three_fields_are_told() {
    let home = tempfile::tempdir().unwrap();
    let folder = folder_with("a.txt");
    let mut client = client(home.path(), json!({ "elicitation": {} })).await;
    let found = client
        .done(TOOL, json!({ "command": "cat a.txt; ls nothing", "cwd": folder.path() }))
        .await;
    assert_eq!((&found["stdout"], &found["code"]), (&json!("content\n"), &json!(2)), "{found}");
    assert!(found["stderr"].as_str().unwrap().contains("nothing"), "{found}");
    let words = json!({ "command": "cat", "args": ["a.txt"], "cwd": folder.path() });
    let result = client.call(TOOL, words).await;
    let fields = json!({ "stdout": "content\n", "stderr": "", "code": 0 });
    assert_eq!(result["structuredContent"], fields);
    assert_eq!(result["content"][0]["text"], "Ended with code 0.\nstdout:\ncontent\n");
    assert!(client.close().await.success());
}

#[tokio::test]
async fn everything_else_is_a_form_of_one_yes_or_no_and_only_yes_runs_it() {
    let home = tempfile::tempdir().unwrap();
    let folder = folder_with("a.txt");
    let file = folder.path().join("a.txt");
    let mut client = client(home.path(), json!({ "elicitation": { "form": {} } })).await;
    for (confirm, expected) in [
        (false, json!({ "stdout": "", "stderr": "Command was rejected by the user.", "code": -1 })),
        (true, json!({ "stdout": "", "stderr": "", "code": 0 })),
    ] {
        let wanted = json!({ "command": "rm a.txt", "cwd": folder.path(), "reason": "tidy up" });
        let call = client.send("tools/call", json!({ "name": TOOL, "arguments": wanted })).await;
        let form = client.note().await;
        assert_eq!(form["method"], "elicitation/create", "{form}");
        let params = &form["params"];
        let confirmation = &params["requestedSchema"]["properties"]["confirm"];
        assert_eq!(
            (&confirmation["type"], &confirmation["default"]),
            (&json!("boolean"), &json!(null))
        );
        assert_eq!(params["requestedSchema"]["required"], json!(["confirm"]));
        assert_eq!(params["requestedSchema"]["properties"].as_object().unwrap().len(), 1);
        let message = params["message"].as_str().unwrap();
        for part in ["rm a.txt", "writes", "tidy up", &folder.path().display().to_string()] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(params["_meta"]["pilothouse/ask"].as_str().unwrap().starts_with("req_"));
        assert!(file.exists(), "not before it is allowed");
        let said = json!({ "action": "accept", "content": { "confirm": confirm } });
        let reply = json!({ "jsonrpc": "2.0", "id": form["id"], "result": said });
        client.line(&reply.to_string()).await;
        let result = client.result(TOOL, call).await;
        assert_eq!(result["structuredContent"], expected);
        assert_eq!(file.exists(), !confirm);
    }
    assert!(client.close().await.success());
}

#[tokio::test]
async fn without_forms_a_person_answers_elsewhere_and_the_result_is_collected_again_and_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = folder_with("a.txt");
    let serve = Serve::start(home.path(), &[]);
    let mut client = client(home.path(), json!({})).await;
    let line = "echo ran >> runs; wc -l < runs; exit 7";
    let wanted = json!({ "command": line, "cwd": folder.path() });
    // Nobody looks at the console yet, so that the call does not wait.
    let pending = client.done(TOOL, wanted).await;
    assert_eq!(pending["action"], "pending");
    let ask = serve.the_ask();
    assert_eq!((&ask["subject"]["command"], &ask["requestId"]), (&json!(line), &pending["askId"]));
    serve.decide(&ask, "accept");
    assert!(!folder.path().join("runs").exists(), "an acceptance runs nothing");
    let fields = json!({ "stdout": "1\n", "stderr": "", "code": 7 });
    let collect = json!({ "askId": ask["requestId"] });
    for _ in 0..3 {
        assert_eq!(client.done(TOOL, collect.clone()).await, fields);
    }
    // On another process as well.
    let mut other = self::client(home.path(), json!({})).await;
    assert_eq!(other.done(TOOL, collect).await, fields);
    assert!(other.close().await.success());
    assert!(client.close().await.success());
}

#[tokio::test]
async fn the_settings_offer_it_name_it_and_let_programs_run_and_a_rule_refuses_as_a_rule() {
    let home = tempfile::tempdir().unwrap();
    let folder = folder_with("a.txt");
    let settings = "[command]\nenabled = true\nallow = [\"touch\"]\nalias = \"runCommand\"\n\n\
                    [[rules]]\nname = \"no-removing\"\ncommand = [\"rm\"]\noutcome = \"refuse\"\n";
    std::fs::write(home.path().join("pilothouse.toml"), settings).unwrap();
    let mut client = Client::spawn(home.path(), &[]);
    client.initialize_as("2025-11-25", "tests", json!({})).await;
    let made =
        client.done("runCommand", json!({ "command": "touch b", "cwd": folder.path() })).await;
    assert_eq!(made, json!({ "stdout": "", "stderr": "", "code": 0 }));
    assert!(folder.path().join("b").exists());
    let refused =
        client.done("runCommand", json!({ "command": "rm a.txt", "cwd": folder.path() })).await;
    assert_eq!((&refused["outcome"], &refused["code"]), (&json!("refused"), &json!(-1)));
    let stderr = refused["stderr"].as_str().unwrap();
    assert!(stderr.contains("no-removing") && !stderr.contains("rejected by the user"), "{stderr}");
    assert!(folder.path().join("a.txt").exists());
    assert!(client.close().await.success());
}

#[tokio::test]
async fn a_call_that_is_wrong_is_told_which_argument_is() {
    let home = tempfile::tempdir().unwrap();
    let mut client = client(home.path(), json!({})).await;
    for (arguments, field) in [
        (json!({}), "command: "),
        (json!({ "command": " " }), "command: "),
        (json!({ "command": "ls", "cwd": "/nowhere" }), "cwd: "),
        (json!({ "command": "ls", "timeoutMs": 0 }), "timeoutMs: "),
        (json!({ "command": "ls", "timeoutMs": 3_600_001 }), "timeoutMs: "),
        (json!({ "command": "ls", "args": ["a\0b"] }), "args[0]: "),
        (json!({ "command": "x".repeat(40_000) }), "command: "),
    ] {
        let error = client.refused(TOOL, arguments).await;
        assert!(error["message"].as_str().unwrap().starts_with(field), "{field} {error}");
    }
    assert!(client.close().await.success());
}
