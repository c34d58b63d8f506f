//! The log's format: one of each event as it stands on disk, in the stream and in the SDK.
//!
//! A change of this snapshot is a change of a promise: what was written before must still be read.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use pilothouse_core::{
    Actor, AgentError, Answer, Ask, AskId, AskRef, CommandEnd, CommandResult, Decision, Envelope,
    Event, FORMAT, Facts, Fault, Management, NetworkAmendment, Offer, OnExpiry, Origin, Outcome,
    Overrides, Prompt, Question, QuestionOption, Reach, Report, Sandbox, Seq, SessionId, Settled,
    Spec, SubAgent, Subject, TurnId,
};
use serde_json::json;
use uuid::Uuid;

#[test]
fn each_event_is_written_like_this() {
    let mut text = String::new();
    for (seq, event) in (1..).zip(events()) {
        let at = "2026-11-30T12:00:00.25Z".parse().unwrap();
        let envelope = Envelope { seq: Seq(seq), at, event };
        let line = serde_json::to_string(&envelope).unwrap();
        assert_eq!(serde_json::from_str::<Envelope>(&line).unwrap(), envelope);
        text += &line;
        text.push('\n');
    }
    insta::assert_snapshot!(text);
}

#[test]
fn every_kind_of_event_is_in_the_snapshot() {
    let mut seen = BTreeMap::new();
    for event in events() {
        *seen.entry(place(&event)).or_insert(0) += 1;
    }
    assert_eq!(seen.into_keys().collect::<Vec<_>>(), (1..=N_KINDS).collect::<Vec<_>>());
}

const N_KINDS: u32 = 25;

/// A new kind of event stops the build here: give it a number, and an example below.
fn place(event: &Event) -> u32 {
    match event {
        Event::Opened { .. } => 1,
        Event::Attached { .. } => 2,
        Event::TurnRequested { .. } => 3,
        Event::PromptQueued { .. } => 4,
        Event::Steered { .. } => 5,
        Event::TurnStarted { .. } => 6,
        Event::InterruptRequested { .. } => 7,
        Event::ItemStarted { .. } => 8,
        Event::ItemCompleted { .. } => 9,
        Event::ItemAbandoned { .. } => 10,
        Event::AskRaised { .. } => 11,
        Event::AskSettled { .. } => 12,
        Event::TurnEnded { .. } => 13,
        Event::Noted { .. } => 14,
        Event::RequestRefused { .. } => 15,
        Event::Managed { .. } => 16,
        Event::AttachFailed { .. } => 17,
        Event::Detached { .. } => 18,
        Event::Renamed { .. } => 19,
        Event::Adopted { .. } => 20,
        Event::AskNotShown { .. } => 21,
        Event::AskEchoed { .. } => 22,
        Event::CommandStarted { .. } => 23,
        Event::CommandEnded { .. } => 24,
        Event::Closed { .. } => N_KINDS,
    }
}

fn events() -> Vec<Event> {
    let turn = TurnId(1);
    let caller = || Actor::Caller { id: "mcp-1".to_owned() };
    let human = || Actor::Human { via: "console".to_owned(), verified: true };
    let prompt = || Prompt::text("fix it");
    let error = || AgentError {
        message: "quota".to_owned(),
        detail: json!({ "codexErrorInfo": "usageLimitExceeded" }),
    };
    let settled = |ask, how| Event::AskSettled { ask: AskId(ask), how };
    let answered = |answer, by, bound: bool| Settled::Answered {
        answer,
        by,
        reason: bound.then(|| "use the test database".to_owned()),
        note: bound.then(|| "seen".to_owned()),
        bound,
    };
    let ended = |outcome, report| Event::TurnEnded { turn, outcome, report };
    let mut events = vec![
        Event::Opened { format: FORMAT, spec: Spec::default(), by: caller(), fork_of: None },
        Event::Opened { format: FORMAT, spec: full_spec(), by: human(), fork_of: Some(origin()) },
        Event::Attached { thread: "t".to_owned(), facts: facts() },
        Event::TurnRequested { turn, prompt: prompt(), by: caller(), queued: false },
        Event::TurnRequested { turn, prompt: full_prompt(), by: Actor::Agent, queued: true },
        Event::PromptQueued { prompt: prompt(), by: human() },
        Event::Steered { turn, prompt: prompt(), by: caller() },
        Event::TurnStarted { turn, name: "turn-x".to_owned() },
        Event::InterruptRequested { turn, by: human() },
        Event::ItemStarted {
            turn: Some(turn),
            item: "item-1".to_owned(),
            kind: "commandExecution".to_owned(),
            body: json!({ "command": "make" }),
            agent: None,
        },
        Event::ItemCompleted {
            turn: None,
            item: "item-1".to_owned(),
            kind: "commandExecution".to_owned(),
            body: json!({ "exitCode": 0 }),
            agent: Some(sub_agent()),
        },
        Event::ItemAbandoned { item: "item-1".to_owned() },
    ];
    events.extend((1..).zip(subjects()).map(|(id, subject)| raised(AskId(id), subject)));
    let amended = Answer::Decided {
        decision: Decision::AcceptWithExecpolicyAmendment,
        execpolicy_amendment: Some(vec!["git".to_owned(), "push".to_owned()]),
        network_policy_amendment: None,
    };
    let answers = BTreeMap::from([("color".to_owned(), vec!["red".to_owned()])]);
    let rule = Actor::Policy { rule: "reads".to_owned() };
    events.extend([
        settled(1, answered(Answer::plain(Decision::Accept), caller(), false)),
        settled(2, answered(amended, human(), true)),
        settled(3, answered(Answer::plain(Decision::Decline), rule, false)),
        settled(4, answered(Answer::chosen(answers), human(), true)),
        settled(
            4,
            answered(
                Answer::Chosen {
                    answers: BTreeMap::new(),
                    other: BTreeMap::from([("color".to_owned(), "teal".to_owned())]),
                },
                human(),
                true,
            ),
        ),
        settled(5, answered(Answer::Filled { content: json!({ "n": 1 }) }, human(), true)),
        settled(6, answered(Answer::Redacted, human(), true)),
        settled(7, Settled::Expired { waited_s: 60, answer: None }),
        settled(
            7,
            Settled::Expired { waited_s: 60, answer: Some(Answer::plain(Decision::Decline)) },
        ),
        settled(8, Settled::Withdrawn),
        settled(9, Settled::Lost),
        Event::AskNotShown {
            ask: AskId(9),
            via: "editor 1".to_owned(),
            why: "no reply within 20 s".to_owned(),
        },
        Event::AskEchoed {
            key: "key-9".to_owned(),
            ask: AskRef { session: origin().session, ask: AskId(1) },
        },
        Event::CommandStarted { ask: AskId(1), by: caller() },
        command_ended(CommandEnd::Exited { code: 1 }),
        command_ended(CommandEnd::Signalled { signal: 9 }),
        command_ended(CommandEnd::TimedOut { after_ms: 1_000 }),
        command_ended(CommandEnd::TakenBack),
        command_ended(CommandEnd::NotStarted { problem: "no such file".to_owned() }),
        command_ended(CommandEnd::Lost),
        ended(
            Outcome::Completed,
            Report {
                output: Some("Done.".to_owned()),
                usage: Some(json!({ "totalTokens": 7 })),
                files: vec!["/w/a.rs".to_owned()],
            },
        ),
        ended(Outcome::Interrupted, Report::default()),
        ended(Outcome::Failed { error: error() }, Report::default()),
        ended(Outcome::Lost { cause: "signal 9".to_owned(), fault: None }, Report::default()),
        ended(
            Outcome::Lost { cause: "stuck".to_owned(), fault: Some(Fault::DoesNotRead) },
            Report::default(),
        ),
        Event::Noted { method: "thread/tokenUsage/updated".to_owned(), body: json!({}) },
        Event::RequestRefused {
            method: "item/tool/call".to_owned(),
            body: json!({ "tool": "t" }),
            answer: "-32601".to_owned(),
        },
        Event::Managed { what: Management::Compact, by: caller() },
        Event::Managed { what: Management::CleanTerminals, by: Actor::Clock },
        Event::Managed { what: Management::Review { target: json!("diff") }, by: human() },
        Event::Managed { what: Management::Archive, by: Actor::Node },
        Event::AttachFailed { error: error() },
        Event::Detached { cause: "idle".to_owned() },
        Event::Renamed { title: "Fix it".to_owned(), by: human() },
        Event::Adopted { caller: "mcp-2".to_owned(), by: human() },
        Event::Closed { reason: "done".to_owned(), by: caller() },
    ]);
    events
}

fn command_ended(end: CommandEnd) -> Event {
    let result =
        CommandResult { end, stdout: "out".to_owned(), stderr: "err".to_owned(), truncated: true };
    Event::CommandEnded { ask: AskId(1), result }
}

fn raised(id: AskId, subject: Subject) -> Event {
    let full = id == AskId(1);
    let host = NetworkAmendment { action: "allow".to_owned(), host: "example.org".to_owned() };
    let offers = vec![
        Offer::plain(Decision::Accept, Reach::Once),
        Offer {
            execpolicy_amendment: Some(vec!["make".to_owned()]),
            ..Offer::plain(Decision::AcceptWithExecpolicyAmendment, Reach::Always)
        },
        Offer {
            network_policy_amendment: Some(host),
            ..Offer::plain(Decision::ApplyNetworkPolicyAmendment, Reach::Always)
        },
        Offer::plain(Decision::AcceptForSession, Reach::Thread),
        Offer::plain(Decision::AcceptAlways, Reach::Always),
        Offer::plain(Decision::Accept, Reach::Turn),
        Offer::plain(Decision::Decline, Reach::Once),
        Offer::plain(Decision::Cancel, Reach::Once),
    ];
    let raised_at = "2026-11-30T12:00:00Z".parse().unwrap();
    Event::AskRaised {
        ask: Box::new(Ask {
            id,
            key: format!("key-{}", id.0),
            turn: full.then_some(TurnId(1)),
            item: full.then(|| "item-1".to_owned()),
            digest: subject.digest(),
            subject,
            offers: if full { offers } else { vec![] },
            reason: full.then(|| "to build it".to_owned()),
            params: json!({ "itemId": "item-1" }),
            agent: full.then(sub_agent),
            asked_by: (id == AskId(2)).then(|| Actor::Caller { id: "mcp-1".to_owned() }),
            raised_at,
            expires_at: full.then(|| "2026-11-30T12:01:00Z".parse().unwrap()),
            on_expiry: if full { OnExpiry::Cancel } else { OnExpiry::Expire },
        }),
    }
}

fn subjects() -> Vec<Subject> {
    let server = || "files".to_owned();
    let message = || "May I?".to_owned();
    let option =
        QuestionOption { id: None, label: "red".to_owned(), description: "warm".to_owned() };
    let named = QuestionOption { id: Some("blue".to_owned()), ..option.clone() };
    let question = Question {
        id: "color".to_owned(),
        header: "Color".to_owned(),
        question: "Which?".to_owned(),
        is_other: true,
        is_secret: false,
        options: Some(vec![option, named]),
        other_label: Some("Another".to_owned()),
        multiple: true,
        default: Some("blue".to_owned()),
    };
    vec![
        Subject::Command {
            command: "make".to_owned(),
            argv: vec!["make".to_owned()],
            cwd: "/w".to_owned(),
            write_stdin: false,
            host: Some("example.org".to_owned()),
        },
        Subject::FileChange {
            changes: vec![pilothouse_core::Change {
                path: "/w/a".to_owned(),
                kind: "update".to_owned(),
                move_path: Some("/w/b".to_owned()),
                diff: "@@ -1 +1 @@".to_owned(),
            }],
            grant_root: Some("/w".to_owned()),
        },
        Subject::Permissions {
            permissions: json!({ "network": { "enabled": true } }),
            cwd: Some("/w".to_owned()),
        },
        Subject::Question { questions: vec![question] },
        Subject::Form { server: server(), message: message(), schema: json!({ "type": "object" }) },
        Subject::Url {
            server: server(),
            message: message(),
            url: "https://example.org".to_owned(),
        },
        Subject::Tool {
            server: server(),
            message: message(),
            tool: "read".to_owned(),
            params: json!({ "path": "/w/a" }),
        },
        Subject::Adoption { caller: "mcp-2".to_owned(), client: Some("editor 1".to_owned()) },
    ]
}

fn full_spec() -> Spec {
    let some = |text: &str| Some(text.to_owned());
    Spec {
        cwd: "/w".to_owned(),
        approval_policy: Some(pilothouse_core::ApprovalPolicy::OnRequest),
        sandbox: Some(Sandbox::WorkspaceWrite),
        model: some("gpt-test"),
        effort: some("high"),
        summary: some("auto"),
        personality: some("friendly"),
        profile: some("work"),
        base_instructions: some("Be brief."),
        developer_instructions: some("Run the tests."),
        config: json!({ "web_search": "live" }).as_object().cloned().unwrap(),
        ephemeral: true,
        collaboration_mode: Some(json!({ "mode": "plan" })),
        isolation: pilothouse_core::Isolation::Process,
        answerers: pilothouse_core::Answerers::Human,
        patience: pilothouse_core::Patience::Ms(5_000),
        title: some("Fix it"),
        agentless: true,
    }
}

fn full_prompt() -> Prompt {
    let overrides = Overrides {
        cwd: Some("/w".to_owned()),
        sandbox: Some(Sandbox::ReadOnly),
        model: Some("gpt-test".to_owned()),
        output_schema: Some(json!({ "type": "object" })),
        ..Overrides::default()
    };
    Prompt { text: "see".to_owned(), images: vec!["/w/a.png".to_owned()], overrides }
}

fn facts() -> Facts {
    Facts {
        version: Some("0.171.0".to_owned()),
        dialect: "app-server".to_owned(),
        model: Some("gpt-test".to_owned()),
        ..Facts::default()
    }
}

fn origin() -> Origin {
    let id = Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001);
    Origin { session: SessionId(id), thread: "theirs".to_owned() }
}

fn sub_agent() -> SubAgent {
    SubAgent { thread_id: "thread-2".to_owned(), path: Some("reviewer".to_owned()) }
}
