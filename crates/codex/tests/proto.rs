//! The proto dialect's peer in the situations that no recording shows.

use jiff::{SignedDuration, Timestamp};
use pilothouse_codex::{Output, Tag, proto::Peer};
use pilothouse_core::{
    Answer, ApprovalPolicy, Attach, Decision, FromAgent, Overrides, Prompt, Sandbox, Spec, Subject,
    ToAgent, TurnId,
};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const TAG: Tag = Tag(7);

fn later(seconds: i64) -> Timestamp {
    NOW + SignedDuration::from_secs(seconds)
}

fn spec() -> Spec {
    Spec { cwd: "/p".into(), ..Spec::default() }
}

/// A peer whose session has its thread.
fn ready() -> Peer {
    let mut peer = Peer::new("p0".into(), Some("0.42.0".into()));
    peer.hello(NOW);
    peer.attach(NOW, TAG, &Attach::Start, &spec());
    let said = hear(&mut peer, "", &json!({"type": "session_configured", "session_id": "t"}));
    assert!(matches!(said[..], [FromAgent::Ready { .. }]));
    peer
}

/// A peer whose session is in a turn, and its name.
fn busy() -> (Peer, String) {
    let mut peer = ready();
    tell(&mut peer, start("x"));
    let said = hear(&mut peer, "sub-1", &json!({"type": "task_started"}));
    let [FromAgent::TurnStarted { name }] = &said[..] else { panic!("{said:?}") };
    let name = name.clone();
    (peer, name)
}

fn start(text: &str) -> ToAgent {
    ToAgent::StartTurn { turn: TurnId(1), prompt: Prompt::text(text) }
}

fn hear(peer: &mut Peer, id: &str, event: &Value) -> Vec<FromAgent> {
    said(peer.receive(NOW, &json!({"id": id, "msg": event}).to_string()))
}

fn said(outputs: Vec<Output>) -> Vec<FromAgent> {
    outputs
        .into_iter()
        .filter_map(|it| match it {
            Output::Said(tag, message) => {
                assert_eq!(tag, TAG);
                Some(message)
            }
            Output::Line(_)
            | Output::Up { .. }
            | Output::Answered { .. }
            | Output::Broken { .. } => None,
        })
        .collect()
}

fn tell(peer: &mut Peer, message: ToAgent) -> Vec<Value> {
    lines(&peer.tell(NOW, TAG, message))
}

fn lines(outputs: &[Output]) -> Vec<Value> {
    let line = |it: &Output| match it {
        Output::Line(line) => serde_json::from_str(line).ok(),
        Output::Said(..) | Output::Up { .. } | Output::Answered { .. } | Output::Broken { .. } => {
            None
        }
    };
    outputs.iter().filter_map(line).collect()
}

fn asked(peer: &mut Peer, call: &str) -> String {
    let event = json!({
        "type": "exec_approval_request", "call_id": call, "command": ["bash", "-lc", "rm x"],
        "cwd": "/p", "reason": "because",
    });
    let said = hear(peer, "sub-1", &event);
    let Some(FromAgent::Asks(request)) = said.last() else { panic!("{said:?}") };
    assert_eq!(request.reason.as_deref(), Some("because"));
    assert!(
        matches!(&request.subject, Subject::Command { command, .. } if command == "bash -lc 'rm x'")
    );
    request.key.clone()
}

#[test]
fn the_thread_may_be_there_before_its_session() {
    let mut peer = Peer::new("p0".into(), Some("0.42.0".into()));
    peer.hello(NOW);
    let configured =
        json!({"id": "", "msg": {"type": "session_configured", "session_id": "t", "model": "m"}});
    let up = peer.receive(NOW, &configured.to_string());
    assert_eq!(up, [Output::Up { version: Some("0.42.0".into()) }]);
    let spec = Spec { approval_policy: Some(ApprovalPolicy::OnRequest), ..spec() };
    let said = said(peer.attach(NOW, TAG, &Attach::Start, &spec));
    let [FromAgent::Ready { thread, facts }] = &said[..] else { panic!("{said:?}") };
    let told = (thread.as_str(), facts.dialect.as_str(), facts.model.as_deref());
    assert_eq!(told, ("t", "proto", Some("m")));
    assert_eq!(facts.approval_policy.as_deref(), Some("on-request"));
    assert_eq!(peer.next_deadline(), None);
}

#[test]
fn what_cannot_be_attached_is_told_at_once() {
    let check = |peer: &mut Peer, tag: Tag, how: &Attach, expected: &str| {
        let outputs = peer.attach(NOW, tag, how, &spec());
        let [Output::Said(_, FromAgent::NotReady { error })] = &outputs[..] else {
            panic!("{outputs:?}")
        };
        assert!(error.message.contains(expected), "{}", error.message);
    };
    let new = || Peer::new("p0".into(), None);
    let thread = || "t".to_owned();
    check(&mut new(), TAG, &Attach::Resume { thread: thread() }, "start a new session");
    check(&mut new(), TAG, &Attach::Fork { thread: thread() }, "cannot copy");
    check(&mut ready(), Tag(8), &Attach::Start, "another session");
    let mut gone = new();
    gone.exited("gone", None);
    check(&mut gone, TAG, &Attach::Start, "gone");
}

#[test]
fn a_reason_goes_before_the_decision_and_a_denied_command_is_over() {
    let (mut peer, _) = busy();
    let key = asked(&mut peer, "c1");
    let outputs = peer.tell(
        NOW,
        TAG,
        ToAgent::Answer {
            key: key.clone(),
            answer: Answer::plain(Decision::Decline),
            reason: Some("too bold".into()),
        },
    );
    let ops: Vec<_> = lines(&outputs).iter().map(|it| it["op"].clone()).collect();
    let expected = [
        json!({"type": "user_input", "items": [{"type": "text", "text": "too bold"}]}),
        json!({"type": "exec_approval", "id": "sub-1", "decision": "denied"}),
    ];
    assert_eq!(ops, expected);
    let said = said(outputs);
    let [FromAgent::ItemCompleted { item, body, .. }] = &said[..] else { panic!("{said:?}") };
    assert_eq!((item.as_str(), &body["status"]), ("c1", &json!("declined")));
    // Answered once.
    let again = ToAgent::Answer { key, answer: Answer::plain(Decision::Accept), reason: None };
    assert_eq!(peer.tell(NOW, TAG, again), []);
}

#[test]
fn of_two_questions_of_one_submission_the_first_is_withdrawn() {
    let (mut peer, _) = busy();
    let first = asked(&mut peer, "c1");
    let event = json!({"type": "apply_patch_approval_request", "call_id": "c2", "changes": {}});
    let said = hear(&mut peer, "sub-1", &event);
    let [FromAgent::Settles { key }, FromAgent::ItemStarted { .. }, FromAgent::Asks(second)] =
        &said[..]
    else {
        panic!("{said:?}")
    };
    assert_eq!(*key, first);
    assert_ne!(second.key, first);
    let answer = ToAgent::Answer {
        key: second.key.clone(),
        answer: Answer::plain(Decision::AcceptForSession),
        reason: None,
    };
    let said = tell(&mut peer, answer);
    let expected =
        json!({"type": "patch_approval", "id": "sub-1", "decision": "approved_for_session"});
    assert_eq!(said[0]["op"], expected);
}

#[test]
fn a_submission_that_nothing_comes_of_is_given_up() {
    let mut peer = ready();
    tell(&mut peer, start("x"));
    let deadline = peer.next_deadline().unwrap();
    assert_eq!(peer.on_tick(deadline - SignedDuration::from_millis(1)), []);
    let said = said(peer.on_tick(deadline));
    assert!(matches!(said[..], [FromAgent::TurnRefused { .. }]), "{said:?}");
    assert_eq!(peer.next_deadline(), None);
}

#[test]
fn an_error_instead_of_a_turn_refuses_it() {
    let mut peer = ready();
    tell(&mut peer, start("x"));
    let said = hear(&mut peer, "sub-1", &json!({"type": "error", "message": "no"}));
    let [FromAgent::TurnRefused { error }] = &said[..] else { panic!("{said:?}") };
    assert_eq!(error.message, "no");
}

#[test]
fn a_process_that_says_what_makes_no_sense_is_given_up_sooner() {
    let code = |said: &[FromAgent]| match said {
        [FromAgent::NotReady { error }, ..] => error.detail["code"].clone(),
        _ => panic!("{said:?}"),
    };
    let begun = || {
        let mut peer = Peer::new("p0".into(), Some("0.42.0".into()));
        peer.hello(NOW);
        peer.attach(NOW, TAG, &Attach::Start, &spec());
        assert_eq!(peer.receive(NOW, "Welcome!"), []);
        peer
    };
    let mut slow = begun();
    assert_eq!(slow.next_deadline(), Some(later(10)));
    assert_eq!(code(&said(slow.on_tick(later(10)))), "PROTOCOL_PARSE_ERROR");
    let late = slow.attach(NOW, TAG, &Attach::Start, &spec());
    assert_eq!(code(&said(late)), "PROTOCOL_PARSE_ERROR");
    let mut long = begun();
    let outputs = (0..100).map(|_| long.receive(NOW, "{}")).find(|it| !it.is_empty());
    assert_eq!(code(&said(outputs.unwrap())), "PROTOCOL_PARSE_ERROR");
    assert_eq!(code(&said(begun().exited("exit status: 0", None))), "PROTOCOL_PARSE_ERROR");
    let mut wrapped = begun();
    hear(&mut wrapped, "", &json!({"type": "session_configured", "session_id": "t"}));
    assert_eq!(wrapped.next_deadline(), None);
}

#[test]
fn a_process_that_says_nothing_is_given_up() {
    let mut peer = Peer::new("p0".into(), None);
    peer.hello(NOW);
    peer.attach(NOW, TAG, &Attach::Start, &spec());
    let outputs = peer.on_tick(later(120));
    assert!(
        matches!(
            outputs[..],
            [Output::Said(TAG, FromAgent::NotReady { .. }), Output::Broken { .. }]
        ),
        "{outputs:?}"
    );
}

#[test]
fn a_process_that_does_not_shut_down_is_given_up() {
    let (mut peer, _) = busy();
    let outputs = peer.detach(NOW, TAG, true);
    assert_eq!(lines(&outputs)[0]["op"], json!({"type": "shutdown"}));
    assert_eq!(peer.tags().count(), 0);
    // Nobody is there to hear how its turn ends.
    assert_eq!(hear(&mut peer, "sub-1", &json!({"type": "turn_aborted"})), []);
    let outputs = peer.on_tick(later(5));
    assert!(matches!(outputs[..], [Output::Broken { .. }]), "{outputs:?}");
    assert_eq!(peer.exited("gone", None), []);
}

#[test]
fn overrides_are_submitted_before_the_prompt_and_keep_what_was_configured() {
    let mut peer = Peer::new("p0".into(), None);
    let config = json!({"sandbox_workspace_write.network_access": true});
    let spec = Spec { config: config.as_object().unwrap().clone(), ..spec() };
    peer.attach(NOW, TAG, &Attach::Start, &spec);
    hear(&mut peer, "", &json!({"type": "session_configured", "session_id": "t"}));
    let overrides = Overrides {
        sandbox: Some(Sandbox::WorkspaceWrite),
        effort: Some("low".into()),
        ..Overrides::default()
    };
    let images = vec!["/i.png".into(), "data:image/png;base64,AA==".into()];
    let prompt = Prompt { text: "go".into(), images, overrides };
    let said = tell(&mut peer, ToAgent::StartTurn { turn: TurnId(1), prompt });
    let expected = [
        json!({"id": "sub-1", "op": {
            "type": "override_turn_context", "effort": "low",
            "sandbox_policy": {
                "mode": "workspace-write", "writable_roots": [], "network_access": true,
                "exclude_tmpdir_env_var": false, "exclude_slash_tmp": false,
            },
        }}),
        json!({"id": "sub-2", "op": {"type": "user_input", "items": [
            {"type": "text", "text": "go"},
            {"type": "local_image", "path": "/i.png"},
            {"type": "image", "image_url": "data:image/png;base64,AA=="},
        ]}}),
    ];
    assert_eq!(said, expected);
}

#[test]
fn what_a_prompt_cannot_change_here_is_refused_by_name() {
    let mut peer = ready();
    let overrides = Overrides { output_schema: Some(json!({})), ..Overrides::default() };
    let prompt = Prompt { overrides, ..Prompt::text("x") };
    let said = said(peer.tell(NOW, TAG, ToAgent::StartTurn { turn: TurnId(1), prompt }));
    let [FromAgent::TurnRefused { error }] = &said[..] else { panic!("{said:?}") };
    assert!(error.message.contains("outputSchema"), "{}", error.message);
}

#[test]
fn only_the_turn_that_runs_is_interrupted_and_steered() {
    let (mut peer, name) = busy();
    let other = || "p0:sub-0".to_owned();
    assert_eq!(tell(&mut peer, ToAgent::Interrupt { turn: other() }), [] as [Value; 0]);
    let late = ToAgent::Steer { turn: other(), prompt: Prompt::text("y") };
    let told = said(peer.tell(NOW, TAG, late));
    assert!(matches!(&told[..], [FromAgent::Notes { method, .. }] if method == "turn/steer"));
    let steer = ToAgent::Steer { turn: name.clone(), prompt: Prompt::text("y") };
    assert_eq!(tell(&mut peer, steer)[0]["op"]["type"], "user_input");
    let said = tell(&mut peer, ToAgent::Interrupt { turn: name });
    assert_eq!(said[0]["op"], json!({"type": "interrupt"}));
}

#[test]
fn output_is_told_in_whole_characters() {
    let (mut peer, _) = busy();
    let begin =
        json!({"type": "exec_command_begin", "call_id": "c", "command": ["ls"], "cwd": "/p"});
    hear(&mut peer, "sub-1", &begin);
    // The two bytes of an é in two chunks.
    let chunk =
        |it: &str| json!({"type": "exec_command_output_delta", "call_id": "c", "chunk": it});
    assert_eq!(hear(&mut peer, "sub-1", &chunk("ww==")), []);
    let said = hear(&mut peer, "sub-1", &chunk("qQ=="));
    assert!(matches!(&said[..], [FromAgent::Delta { text, .. }] if text == "é"), "{said:?}");
    assert_eq!(hear(&mut peer, "sub-1", &chunk("no base64!")), []);
}
