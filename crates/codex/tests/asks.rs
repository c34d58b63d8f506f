//! Each request that Codex can make, as it is read and as it is answered: the ten golden shapes.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use jiff::Timestamp;
use pilothouse_codex::{Client, Output, Peer, Tag};
use pilothouse_core::{
    Answer, Attach, Decision, FromAgent, NetworkAmendment, Offer, Question, QuestionOption, Reach,
    Request, Spec, Subject, ToAgent, decision_name,
};
use serde_json::{Value, json};

const TAG: Tag = Tag(7);
const NOW: Timestamp = Timestamp::UNIX_EPOCH;

#[test]
fn a_command_is_asked_for_with_all_answers_that_it_takes() {
    let params = json!({
        "kind": "command", "threadId": "t", "turnId": "u", "itemId": "i", "approvalId": null,
        "command": "/bin/bash -lc 'mkdir x'", "cwd": "/w", "reason": "why",
        "proposedExecpolicyAmendment": ["mkdir", "x"],
        "availableDecisions": ["accept", {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["mkdir", "x"]}}, "cancel", "somethingNew", {"alsoNew": {}}],
    });
    let request = ask("0.171.0", &[], "item/commandExecution/requestApproval", &params);
    assert_eq!(request.key, "p:0");
    assert_eq!(request.reason.as_deref(), Some("why"));
    assert_eq!(request.item.as_deref(), Some("i"));
    assert_eq!(request.subject, command("/bin/bash -lc 'mkdir x'", "/w"));
    let prefix = Some(vec!["mkdir".to_owned(), "x".to_owned()]);
    assert_eq!(
        request.offers,
        [
            Offer::plain(Decision::Accept, Reach::Once),
            Offer::plain(Decision::AcceptForSession, Reach::Thread),
            Offer {
                execpolicy_amendment: prefix.clone(),
                ..Offer::plain(Decision::AcceptWithExecpolicyAmendment, Reach::Always)
            },
            Offer::plain(Decision::Decline, Reach::Once),
            Offer::plain(Decision::Cancel, Reach::Once),
        ]
    );
    let check = |answer: Answer, expected: Value| {
        let line = answered("0.171.0", "item/commandExecution/requestApproval", &params, answer);
        assert_eq!(line, json!({"id": 0, "result": {"decision": expected}}));
    };
    check(Answer::plain(Decision::Accept), json!("accept"));
    check(Answer::plain(Decision::AcceptForSession), json!("acceptForSession"));
    check(Answer::plain(Decision::Decline), json!("decline"));
    check(Answer::plain(Decision::Cancel), json!("cancel"));
    check(
        Answer::Decided {
            decision: Decision::AcceptWithExecpolicyAmendment,
            execpolicy_amendment: prefix,
            network_policy_amendment: None,
        },
        json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["mkdir", "x"]}}),
    );
    let amendment = NetworkAmendment { action: "allow".into(), host: "example.org".into() };
    check(
        Answer::Decided {
            decision: Decision::ApplyNetworkPolicyAmendment,
            execpolicy_amendment: None,
            network_policy_amendment: Some(amendment),
        },
        json!({"applyNetworkPolicyAmendment": {"network_policy_amendment": {"action": "allow", "host": "example.org"}}}),
    );
}

#[test]
fn a_host_is_asked_for_without_answers_that_are_not_known_to_work() {
    let amendment = json!({"action": "allow", "host": "example.org"});
    let params = json!({
        "threadId": "t", "turnId": "u", "itemId": "i", "command": "curl example.org", "cwd": "/w",
        "networkApprovalContext": {"host": "example.org", "protocol": "https"},
        "availableDecisions": ["accept", {"applyNetworkPolicyAmendment": {"network_policy_amendment": amendment}}, "cancel"],
    });
    let request = ask("0.171.0", &[], "item/commandExecution/requestApproval", &params);
    let Subject::Command { host, .. } = &request.subject else { panic!("{request:?}") };
    assert_eq!(host.as_deref(), Some("example.org"));
    assert_eq!(offered(&request), "accept applyNetworkPolicyAmendment decline cancel");
}

#[test]
fn input_for_a_terminal_takes_only_what_is_listed() {
    let started = item("commandExecution", &json!({"command": "cat", "cwd": "/w"}));
    let params = json!({
        "kind": "writeStdin", "threadId": "t", "turnId": "u", "itemId": "i", "approvalId": "a",
        "command": "write_stdin 'hello'", "cwd": "/w", "availableDecisions": ["accept", "cancel"],
    });
    let request = ask("0.171.0", &[started], "item/commandExecution/requestApproval", &params);
    let Subject::Command { command, write_stdin, .. } = &request.subject else {
        panic!("{request:?}")
    };
    assert_eq!((command.as_str(), *write_stdin), ("write_stdin 'hello'", true));
    assert_eq!(offered(&request), "accept cancel");
}

#[test]
fn a_request_that_names_no_command_shows_that_of_its_item() {
    let started = item("commandExecution", &json!({"command": "/bin/bash -lc ls", "cwd": "/i"}));
    let check = |started: &[Value], params: Value, expected: Subject| {
        let request = ask("0.63.0", started, "item/commandExecution/requestApproval", &params);
        assert_eq!(request.subject, expected);
        assert_eq!(offered(&request), "accept decline cancel");
    };
    let bare = || json!({"threadId": "t", "turnId": "0", "itemId": "i", "reason": null});
    check(&[started], bare(), command("/bin/bash -lc ls", "/i"));
    check(&[], bare(), command("(Codex did not say which command)", "/w"));
    let actions = json!([{"type": "unknown", "command": "a"}, {"type": "unknown", "command": "b"}]);
    let params =
        json!({"threadId": "t", "itemId": "i", "command": null, "commandActions": actions});
    check(&[], params, command("a && b", "/w"));
}

#[test]
fn each_of_several_requests_about_one_item_has_its_own_answer() {
    let mut peer = up("0.171.0");
    for (id, approval) in [(0, "a"), (1, "b"), (2, "c")] {
        let params = json!({"threadId": "t", "turnId": "u", "itemId": "i", "approvalId": approval, "command": approval, "availableDecisions": ["accept"]});
        let request = hear(&mut peer, id, "item/commandExecution/requestApproval", &params);
        assert_eq!(request.subject, command(approval, "/w"));
    }
    for (id, decision) in [(1, "decline"), (2, "accept"), (0, "cancel")] {
        let given = serde_json::from_value(json!(decision)).unwrap();
        let line = tell(&mut peer, &format!("p:{id}"), Answer::plain(given));
        assert_eq!(line, json!({"id": id, "result": {"decision": decision}}));
    }
}

#[test]
fn an_answer_has_the_json_type_of_the_id() {
    let mut peer = up("0.171.0");
    let params = json!({"threadId": "t", "turnId": "u", "itemId": "i", "command": "x"});
    let method = "item/commandExecution/requestApproval";
    let line = json!({"id": "0", "method": method, "params": params}).to_string();
    let outputs = peer.receive(NOW, &line);
    let Output::Said(_, FromAgent::Asks(by_text)) = &outputs[0] else { panic!("{outputs:?}") };
    let by_number = hear(&mut peer, 0, method, &params);
    assert_eq!((by_text.key.as_str(), by_number.key.as_str()), ("p:\"0\"", "p:0"));
    let line = tell(&mut peer, "p:\"0\"", Answer::plain(Decision::Accept));
    assert_eq!(line, json!({"id": "0", "result": {"decision": "accept"}}));
}

#[test]
fn a_file_change_shows_the_diff_of_its_own_item() {
    let change = |path: &str| json!({"changes": [{"path": path, "kind": {"type": "update", "move_path": null}, "diff": "@@"}]});
    let mut second = item("fileChange", &change("/b"));
    second["params"]["item"]["id"] = json!("j");
    let params =
        json!({"threadId": "t", "turnId": "u", "itemId": "j", "reason": null, "grantRoot": "/r"});
    let method = "item/fileChange/requestApproval";
    let request = ask("0.171.0", &[item("fileChange", &change("/a")), second], method, &params);
    let Subject::FileChange { changes, grant_root } = &request.subject else {
        panic!("{request:?}")
    };
    assert_eq!(changes.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["/b"]);
    assert_eq!(grant_root.as_deref(), Some("/r"));
    assert_eq!(offered(&request), "accept acceptForSession decline cancel");
    for word in ["accept", "acceptForSession", "decline", "cancel"] {
        let decision = serde_json::from_value(json!(word)).unwrap();
        let line = answered("0.171.0", method, &params, Answer::plain(decision));
        assert_eq!(line, json!({"id": 0, "result": {"decision": word}}));
    }
}

#[test]
fn permissions_are_granted_as_requested_or_not_at_all() {
    let wanted = json!({"network": {"enabled": true}, "fileSystem": null});
    let params = json!({"threadId": "t", "turnId": "u", "itemId": "i", "cwd": "/w", "reason": "r", "permissions": wanted});
    let method = "item/permissions/requestApproval";
    let request = ask("0.171.0", &[], method, &params);
    let subject = Subject::Permissions { permissions: wanted.clone(), cwd: Some("/w".into()) };
    assert_eq!(request.subject, subject);
    assert_eq!(offered(&request), "accept acceptForSession decline");
    let check = |decision, permissions: &Value, scope: &str| {
        let line = answered("0.171.0", method, &params, Answer::plain(decision));
        let result = json!({"permissions": permissions, "scope": scope});
        assert_eq!(line, json!({"id": 0, "result": result}));
    };
    check(Decision::Accept, &wanted, "turn");
    check(Decision::AcceptForSession, &wanted, "session");
    check(Decision::Decline, &json!({}), "turn");
}

#[test]
fn questions_are_answered_by_name() {
    let params = json!({
        "threadId": "t", "turnId": "u", "itemId": "i", "isBlocking": true,
        "questions": [
            {"id": "color", "header": "Color", "question": "Which?", "isOther": true, "isSecret": false, "options": [{"label": "Green", "description": "d"}]},
            {"id": "key", "question": "Key?", "isSecret": true, "options": null},
        ],
    });
    let method = "item/tool/requestUserInput";
    let option = QuestionOption { id: None, label: "Green".into(), description: "d".into() };
    let expected = vec![
        Question {
            id: "color".into(),
            header: "Color".into(),
            question: "Which?".into(),
            is_other: true,
            is_secret: false,
            options: Some(vec![option]),
            ..Question::default()
        },
        Question {
            id: "key".into(),
            header: String::new(),
            question: "Key?".into(),
            is_other: false,
            is_secret: true,
            options: None,
            ..Question::default()
        },
    ];
    let request = ask("0.171.0", &[], method, &params);
    assert_eq!(request.subject, Subject::Question { questions: expected });
    let answers = BTreeMap::from([
        ("color".to_owned(), vec!["Green".to_owned(), "user_note: because".to_owned()]),
        ("key".to_owned(), vec!["hunter2".to_owned()]),
    ]);
    let line = answered("0.171.0", method, &params, Answer::chosen(answers));
    let expected = json!({"color": {"answers": ["Green", "user_note: because"]}, "key": {"answers": ["hunter2"]}});
    assert_eq!(line, json!({"id": 0, "result": {"answers": expected}}));
    let line = answered("0.171.0", method, &params, Answer::plain(Decision::Cancel));
    assert_eq!(line["error"]["message"], "the question was cancelled");
}

#[test]
fn a_form_is_answered_with_an_action_and_its_content() {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let params = json!({"threadId": "t", "turnId": null, "serverName": "s", "mode": "form", "message": "m", "requestedSchema": schema, "_meta": null});
    let method = "mcpServer/elicitation/request";
    let request = ask("0.171.0", &[], method, &params);
    let (server, message) = ("s".to_owned(), "m".to_owned());
    assert_eq!(request.subject, Subject::Form { server, message, schema });
    assert_eq!(offered(&request), "accept decline cancel");
    let check = |answer, expected: Value| {
        let line = answered("0.171.0", method, &params, answer);
        assert_eq!(line, json!({"id": 0, "result": expected}));
    };
    let content = json!({"name": "Ada"});
    let filled = Answer::Filled { content: content.clone() };
    check(filled, json!({"action": "accept", "content": content, "_meta": null}));
    let none = |action: &str| json!({"action": action, "content": null, "_meta": null});
    check(Answer::plain(Decision::Decline), none("decline"));
    check(Answer::plain(Decision::Cancel), none("cancel"));
}

#[test]
fn an_empty_form_is_a_yes_or_no() {
    let schema = json!({"type": "object", "properties": {}});
    let params = json!({"threadId": "t", "serverName": "s", "mode": "form", "message": "m", "requestedSchema": schema});
    let line = answered(
        "0.171.0",
        "mcpServer/elicitation/request",
        &params,
        Answer::plain(Decision::Accept),
    );
    assert_eq!(
        line,
        json!({"id": 0, "result": {"action": "accept", "content": {}, "_meta": null}})
    );
}

#[test]
fn a_page_is_accepted_or_not() {
    let params = json!({"threadId": "t", "serverName": "s", "mode": "url", "message": "m", "url": "https://x", "elicitationId": "e"});
    let request = ask("0.171.0", &[], "mcpServer/elicitation/request", &params);
    let (server, message, url) = ("s".to_owned(), "m".to_owned(), "https://x".to_owned());
    assert_eq!(request.subject, Subject::Url { server, message, url });
    assert_eq!(offered(&request), "accept decline cancel");
}

#[test]
fn a_tool_call_is_asked_for_as_an_elicitation() {
    let meta = |persist: Value| json!({"codex_approval_kind": "mcp_tool_call", "persist": persist, "tool_name": "write", "tool_params": {"a": 1}});
    let params = |persist: Value| json!({"threadId": "t", "turnId": "u", "serverName": "s", "mode": "form", "message": "Allow?", "requestedSchema": {"type": "object", "properties": {}}, "_meta": meta(persist)});
    let method = "mcpServer/elicitation/request";
    let all = params(json!(["session", "always"]));
    let request = ask("0.171.0", &[], method, &all);
    let subject = Subject::Tool {
        server: "s".into(),
        message: "Allow?".into(),
        tool: "write".into(),
        params: json!({"a": 1}),
    };
    assert_eq!(request.subject, subject);
    let check = |persist: Value, expected: &str| {
        assert_eq!(offered(&ask("0.171.0", &[], method, &params(persist))), expected);
    };
    check(json!(["session", "always"]), "accept acceptForSession acceptAlways decline cancel");
    check(json!("session"), "accept acceptForSession decline cancel");
    check(Value::Null, "accept decline cancel");
    let check = |decision, action: &str, meta: Value| {
        let result = answered("0.171.0", method, &all, Answer::plain(decision))["result"].clone();
        assert_eq!((&result["action"], &result["_meta"]), (&json!(action), &meta));
    };
    check(Decision::Accept, "accept", Value::Null);
    check(Decision::AcceptForSession, "accept", json!({"persist": "session"}));
    check(Decision::AcceptAlways, "accept", json!({"persist": "always"}));
    check(Decision::Decline, "decline", Value::Null);
}

#[test]
fn the_first_protocol_s_approvals_reach_their_session() {
    let exec = json!({"conversationId": "t", "callId": "i", "command": ["bash", "-lc", "echo 'a'"], "cwd": "/c", "reason": null, "parsedCmd": []});
    let request = ask("0.59.0", &[], "execCommandApproval", &exec);
    assert_eq!(request.subject, command(r"bash -lc 'echo '\''a'\'''", "/c"));
    let patch = json!({"conversationId": "t", "callId": "i", "fileChanges": {"/a": {"add": {"content": "x"}}}, "reason": null, "grantRoot": null});
    let request = ask("0.59.0", &[], "applyPatchApproval", &patch);
    let Subject::FileChange { changes, .. } = &request.subject else { panic!("{request:?}") };
    assert_eq!(
        (changes[0].path.as_str(), changes[0].kind.as_str(), changes[0].diff.as_str()),
        ("/a", "add", "x")
    );
    for (decision, word) in [
        (Decision::Accept, "approved"),
        (Decision::AcceptForSession, "approved_for_session"),
        (Decision::Decline, "denied"),
        (Decision::Cancel, "abort"),
    ] {
        for (method, params) in [("execCommandApproval", &exec), ("applyPatchApproval", &patch)] {
            let line = answered("0.59.0", method, params, Answer::plain(decision));
            assert_eq!(line, json!({"id": 0, "result": {"decision": word}}));
        }
    }
}

#[test]
fn what_nobody_here_can_do_is_refused_at_once() {
    let check = |version: &str, method: &str, params: Value, expected: Value| {
        let mut peer = up(version);
        let line = json!({"id": 0, "method": method, "params": params}).to_string();
        let outputs = peer.receive(NOW, &line);
        let [
            Output::Line(line),
            Output::Said(TAG, FromAgent::Refused { method: told, answer, .. }),
        ] = outputs.as_slice()
        else {
            panic!("{outputs:?}")
        };
        assert_eq!(told, method);
        let mut line: Value = serde_json::from_str(line).unwrap();
        // The words are told to both.
        assert!(
            line.to_string().contains(&answer.replace('"', "\\\""))
                || method.contains("elicitation")
        );
        for place in ["/error/message", "/result/contentItems/0/text", "/result/output"] {
            if let Some(words) = line.pointer_mut(place) {
                *words = json!("…");
            }
        }
        assert_eq!(line, expected);
    };
    let tool =
        || json!({"threadId": "t", "turnId": "u", "callId": "c", "tool": "x", "arguments": {}});
    let items = json!([{"type": "inputText", "text": "…"}]);
    check(
        "0.171.0",
        "item/tool/call",
        tool(),
        json!({"id": 0, "result": {"success": false, "contentItems": items}}),
    );
    check(
        "0.94.0",
        "item/tool/call",
        tool(),
        json!({"id": 0, "result": {"success": false, "output": "…"}}),
    );
    let error = |code: i64| json!({"id": 0, "error": {"code": code, "message": "…"}});
    check(
        "0.171.0",
        "account/chatgptAuthTokens/refresh",
        json!({"reason": "unauthorized"}),
        error(-32000),
    );
    check("0.171.0", "attestation/generate", json!({}), error(-32601));
    check("0.171.0", "made/up", json!({"threadId": "t"}), error(-32601));
    let challenge = json!({"threadId": "t", "serverName": "s", "mode": "openai/userVerification", "challenge": "c"});
    let cancel = json!({"id": 0, "result": {"action": "cancel", "content": null, "_meta": null}});
    check("0.171.0", "mcpServer/elicitation/request", challenge, cancel);
}

#[test]
fn an_expired_ask_is_no_refusal() {
    let params = || json!({"threadId": "t", "turnId": "u", "itemId": "i", "command": "x", "questions": [], "permissions": {}, "serverName": "s", "message": "m", "requestedSchema": {}});
    for method in [
        "item/commandExecution/requestApproval",
        "item/fileChange/requestApproval",
        "item/permissions/requestApproval",
        "item/tool/requestUserInput",
    ] {
        let [steer, line] = expired("0.171.0", method, &params());
        assert_eq!(
            (&steer["method"], &steer["params"]["threadId"], &steer["params"]["expectedTurnId"]),
            (&json!("turn/steer"), &json!("t"), &json!("u"))
        );
        let words = steer["params"]["input"][0]["text"].as_str().unwrap().to_owned();
        assert!(words.contains("within 60 s") && words.contains("no refusal"), "{words}");
        assert_eq!((&line["id"], &line["error"]["code"]), (&json!(0), &json!(-32000)));
        assert!(!line.to_string().contains("reject") && !line.to_string().contains("decline"));
    }
    let [_, line] = expired("0.171.0", "mcpServer/elicitation/request", &params());
    assert_eq!(line["result"]["action"], "cancel");
}

#[test]
fn a_reason_is_read_before_the_decision() {
    let params = json!({"threadId": "t", "turnId": "u", "itemId": "i", "command": "x"});
    let check = |version: &str, decision, expected: &[&str]| {
        let mut peer = up(version);
        hear(&mut peer, 0, "item/commandExecution/requestApproval", &params);
        let answer = Answer::plain(decision);
        let (key, reason) = ("p:0".to_owned(), Some("use touch".to_owned()));
        let lines = lines(peer.tell(NOW, TAG, ToAgent::Answer { key, answer, reason }));
        let words: Vec<_> = lines
            .iter()
            .map(|it| {
                it.pointer("/params/input/0/text").or(it.pointer("/result/decision")).unwrap()
            })
            .collect();
        assert_eq!(words, expected, "{version}");
    };
    check("0.171.0", Decision::Decline, &["use touch", "decline"]);
    check("0.171.0", Decision::Accept, &["use touch", "accept"]);
    // It ends the turn, so nobody would read it.
    check("0.171.0", Decision::Cancel, &["cancel"]);
    check("0.97.0", Decision::Decline, &["decline"]);
}

fn command(command: &str, cwd: &str) -> Subject {
    Subject::Command {
        command: command.into(),
        argv: vec![],
        cwd: cwd.into(),
        write_stdin: false,
        host: None,
    }
}

fn item(kind: &str, fields: &Value) -> Value {
    let mut item = json!({"id": "i", "type": kind, "status": "inProgress"});
    item.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({"method": "item/started", "params": {"threadId": "t", "turnId": "u", "item": item}})
}

fn offered(request: &Request) -> String {
    request.offers.iter().map(|it| decision_name(it.decision)).collect::<Vec<_>>().join(" ")
}

/// A peer whose session has the thread `t`.
fn up(version: &str) -> Peer {
    let client = Client { name: "c".into(), title: "C".into(), version: "1".into() };
    let mut peer = Peer::new(client, "p".into());
    peer.hello(NOW);
    let result = json!({"userAgent": format!("c/{version} (x)")});
    peer.receive(NOW, &json!({"id": 1, "result": result}).to_string());
    let spec = Spec { cwd: "/w".into(), ..Spec::default() };
    peer.attach(NOW, TAG, &Attach::Start, &spec);
    let result = json!({"thread": {"id": "t"}});
    peer.receive(NOW, &json!({"id": 2, "result": result}).to_string());
    peer
}

fn hear(peer: &mut Peer, id: u64, method: &str, params: &Value) -> Request {
    let line = json!({"id": id, "method": method, "params": params}).to_string();
    let outputs = peer.receive(NOW, &line);
    match outputs.as_slice() {
        [Output::Said(TAG, FromAgent::Asks(request))] => Request::clone(request),
        _ => panic!("{outputs:?}"),
    }
}

fn ask(version: &str, before: &[Value], method: &str, params: &Value) -> Request {
    let mut peer = up(version);
    for line in before {
        peer.receive(NOW, &line.to_string());
    }
    hear(&mut peer, 0, method, params)
}

fn lines(outputs: Vec<Output>) -> Vec<Value> {
    let line = |it| match it {
        Output::Line(line) => serde_json::from_str(&line).unwrap(),
        other @ (Output::Said(..)
        | Output::Up { .. }
        | Output::Answered { .. }
        | Output::Broken { .. }) => {
            panic!("{other:?}")
        }
    };
    outputs.into_iter().map(line).collect()
}

fn tell(peer: &mut Peer, key: &str, answer: Answer) -> Value {
    let message = ToAgent::Answer { key: key.into(), answer, reason: None };
    let mut lines = lines(peer.tell(NOW, TAG, message));
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.remove(0)
}

fn answered(version: &str, method: &str, params: &Value, answer: Answer) -> Value {
    let mut peer = up(version);
    hear(&mut peer, 0, method, params);
    tell(&mut peer, "p:0", answer)
}

fn expired(version: &str, method: &str, params: &Value) -> [Value; 2] {
    let mut peer = up(version);
    hear(&mut peer, 0, method, params);
    let message = ToAgent::Expire { key: "p:0".into(), waited_s: 60 };
    lines(peer.tell(NOW, TAG, message)).try_into().unwrap()
}
