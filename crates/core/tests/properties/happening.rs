//! Everything that can happen to a session, at random.

use pilothouse_core::{
    Actor, AgentError, Answer, Answerers, AskId, AskRef, CallerRequest, Change, CommandEnd,
    CommandResult, Decision, Facts, FromAgent, Intent, Management, NetworkAmendment, Offer, Origin,
    Outcome, Overrides, Patience, Policy, Prompt, Question, QuestionOption, Reach, Report, Request,
    Rule, RuleOutcome, Sandbox, SessionId, Spec, Stream, SubAgent, Subject, WhenBusy,
};
use proptest::{collection::vec, option, prelude::*};
use serde_json::{Value, json};
use uuid::Uuid;

/// What is written into a secret field; it must not be found in any log.
pub(crate) const SECRET: &str = "hunter2";

/// How a session begins.
#[derive(Debug, Clone)]
pub(crate) struct Beginning {
    pub(crate) spec: Spec,
    pub(crate) by: Actor,
    pub(crate) fork_of: Option<Origin>,
    pub(crate) prompt: Option<Prompt>,
}

/// Something that happens to it then.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    Agent(FromAgent),
    Intent(Intent, Actor),
    /// Like an answer from a surface: to something that is pending, and usually one that fits.
    Reply {
        nth: usize,
        offer: usize,
        bound: Option<bool>,
        by: Actor,
    },
    /// The clock is set, forwards or backwards.
    Wait(i64),
    /// The clock reaches the next deadline.
    Deadline,
    Present(bool),
    Rules(Vec<RuleOutcome>),
}

pub(crate) fn beginning() -> impl Strategy<Value = Beginning> {
    (spec(), actor(), option::weighted(0.2, origin()), option::of(prompt()))
        .prop_map(|(spec, by, fork_of, prompt)| Beginning { spec, by, fork_of, prompt })
}

pub(crate) fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        16 => from_agent().prop_map(Happening::Agent),
        8 => (intent(), actor()).prop_map(|(intent, by)| Happening::Intent(intent, by)),
        4 => (0..4_usize, 0..4_usize, option::of(prop::bool::weighted(0.9)), actor())
            .prop_map(|(nth, offer, bound, by)| Happening::Reply { nth, offer, bound, by }),
        2 => (-100..400_i64).prop_map(Happening::Wait),
        1 => Just(Happening::Deadline),
        1 => any::<bool>().prop_map(Happening::Present),
        1 => rules().prop_map(Happening::Rules),
    ]
}

pub(crate) fn actor() -> impl Strategy<Value = Actor> {
    prop_oneof![
        4 => any::<bool>().prop_map(|verified| Actor::Human { via: "cli".to_owned(), verified }),
        4 => "[ab]".prop_map(|id| Actor::Caller { id }),
        1 => "[rs]".prop_map(|rule| Actor::Policy { rule }),
        1 => Just(Actor::Clock),
        1 => Just(Actor::Agent),
        1 => Just(Actor::Node),
    ]
}

pub(crate) fn rules() -> impl Strategy<Value = Vec<RuleOutcome>> {
    vec(
        prop_oneof![
            3 => Just(RuleOutcome::Silent),
            2 => Just(RuleOutcome::Allow),
            1 => Just(RuleOutcome::Ask),
            1 => Just(RuleOutcome::Refuse),
        ],
        0..4,
    )
}

/// Rules that say so about commands and file changes, whatever they are.
pub(crate) fn policy(outcomes: &[RuleOutcome]) -> Policy {
    let rules = outcomes
        .iter()
        .enumerate()
        .map(|(nth, &outcome)| Rule::new(&format!("rule-{nth}"), outcome, |_, _| true));
    Policy::of(rules.collect())
}

pub(crate) fn from_agent() -> impl Strategy<Value = FromAgent> {
    prop_oneof![
        6 => ("[tu]", facts()).prop_map(|(thread, facts)| FromAgent::Ready { thread, facts }),
        1 => error().prop_map(|error| FromAgent::NotReady { error }),
        6 => turn_name().prop_map(|name| FromAgent::TurnStarted { name }),
        1 => error().prop_map(|error| FromAgent::TurnRefused { error }),
        3 => (item(), "[a-z]{1,3}", value(), option::weighted(0.2, sub_agent())).prop_map(
            |(item, kind, body, agent)| FromAgent::ItemStarted { item, kind, body, agent }
        ),
        3 => (item(), "[a-z]{1,3}", value(), option::weighted(0.2, sub_agent())).prop_map(
            |(item, kind, body, agent)| FromAgent::ItemCompleted { item, kind, body, agent }
        ),
        1 => (item(), ".{0,4}").prop_map(|(item, text)| FromAgent::Delta {
            item,
            stream: Stream::Text,
            text
        }),
        6 => request().prop_map(|it| FromAgent::Asks(Box::new(it))),
        2 => request().prop_map(|it| FromAgent::AsksAgain(Box::new(it))),
        3 => key().prop_map(|key| FromAgent::Settles { key }),
        4 => (option::of(turn_name()), outcome(), report())
            .prop_map(|(name, outcome, report)| FromAgent::TurnEnded { name, outcome, report }),
        1 => ("[a-z/]{0,6}", value()).prop_map(|(method, body)| FromAgent::Notes { method, body }),
        1 => ("[a-z/]{0,6}", value(), ".{0,4}").prop_map(|(method, body, answer)| {
            FromAgent::Refused { method, body, answer }
        }),
        1 => ".{0,4}".prop_map(|cause| FromAgent::Exited { cause, fault: None }),
    ]
}

pub(crate) fn intent() -> impl Strategy<Value = Intent> {
    let when_busy = prop_oneof![1 => Just(WhenBusy::Refuse), 1 => Just(WhenBusy::Steer), 3 => Just(WhenBusy::Queue)];
    prop_oneof![
        8 => (prompt(), when_busy)
            .prop_map(|(prompt, when_busy)| Intent::Prompt { prompt, when_busy }),
        3 => Just(Intent::Interrupt),
        3 => (0..9_u32, answer(), option::of("[0-9a-f]{4}"), option::of(".{0,3}"), option::of(".{0,3}"))
            .prop_map(|(ask, answer, digest, reason, note)| Intent::Answer {
                ask: AskId(ask),
                answer,
                digest,
                reason,
                note
            }),
        2 => management().prop_map(|what| Intent::Manage { what }),
        1 => Just(Intent::Release),
        1 => ".{0,4}".prop_map(|title| Intent::Rename { title }),
        2 => option::of("[a-z]{1,3}").prop_map(|client| Intent::Adopt { client }),
        1 => ".{0,4}".prop_map(|reason| Intent::Close { reason }),
        3 => callers_intent(),
    ]
}

/// What a caller asks of its own, and what it does then.
fn callers_intent() -> impl Strategy<Value = Intent> {
    let patience =
        option::of(0..200_000_u64).prop_map(|it| it.map_or(Patience::Attended, Patience::Ms));
    let ask = || (0..9_u32).prop_map(AskId);
    let end = prop_oneof![
        any::<i32>().prop_map(|code| CommandEnd::Exited { code }),
        Just(CommandEnd::TakenBack),
        any::<u64>().prop_map(|after_ms| CommandEnd::TimedOut { after_ms }),
    ];
    prop_oneof![
        4 => ("[mn]", subject(), option::of(".{0,4}"), patience).prop_map(
            |(key, subject, reason, patience)| Intent::Ask {
                request: Box::new(CallerRequest { key, subject, reason, patience }),
            }
        ),
        1 => ask().prop_map(|ask| Intent::Withdraw { ask }),
        1 => (ask(), ".{0,3}").prop_map(|(ask, why)| Intent::NotShown {
            ask,
            via: "editor".to_owned(),
            why,
        }),
        2 => ask().prop_map(|ask| Intent::StartCommand { ask }),
        1 => (ask(), end, ".{0,4}").prop_map(|(ask, end, stdout)| Intent::EndCommand {
            ask,
            result: Box::new(CommandResult {
                end,
                stdout,
                stderr: String::new(),
                truncated: false,
            }),
        }),
    ]
}

pub(crate) fn request() -> impl Strategy<Value = Request> {
    (
        key(),
        subject(),
        vec(offer(), 0..4),
        option::of(".{0,4}"),
        option::of(item()),
        value(),
        (option::weighted(0.3, sub_agent()), option::weighted(0.05, any::<u128>())),
    )
        .prop_map(|(key, subject, offers, reason, item, params, (agent, echo))| Request {
            key,
            subject,
            offers,
            reason,
            item,
            params,
            agent,
            echo_of: echo
                .map(|it| AskRef { session: SessionId(Uuid::from_u128(it)), ask: AskId(1) }),
        })
}

pub(crate) fn subject() -> impl Strategy<Value = Subject> {
    let question = (any::<bool>(), any::<bool>(), option::of(Just(()))).prop_map(
        |(is_secret, is_other, options)| Question {
            id: "q".to_owned(),
            header: String::new(),
            question: "Which?".to_owned(),
            is_other,
            is_secret,
            options: options.map(|()| {
                vec![QuestionOption { label: "red".to_owned(), ..QuestionOption::default() }]
            }),
            ..Question::default()
        },
    );
    let server = || "[a-z]{1,4}";
    prop_oneof![
        6 => (".{0,6}", any::<bool>(), option::of("[a-z]{1,4}")).prop_map(
            |(command, write_stdin, host)| Subject::Command {
                command,
                argv: vec![],
                cwd: "/".to_owned(),
                write_stdin,
                host
            }
        ),
        2 => (option::of("/[a-z]"), ".{0,6}").prop_map(|(grant_root, diff)| Subject::FileChange {
            changes: vec![Change {
                path: "/a".to_owned(),
                kind: "add".to_owned(),
                move_path: grant_root.clone(),
                diff
            }],
            grant_root
        }),
        1 => (value(), option::of("/[a-z]"))
            .prop_map(|(permissions, cwd)| Subject::Permissions { permissions, cwd }),
        3 => vec(question, 0..2).prop_map(|questions| Subject::Question { questions }),
        2 => (server(), schema()).prop_map(|(server, schema)| Subject::Form {
            server,
            message: String::new(),
            schema
        }),
        1 => server().prop_map(|server| Subject::Url {
            server,
            message: String::new(),
            url: "https://example.org".to_owned()
        }),
        1 => (server(), value()).prop_map(|(server, params)| Subject::Tool {
            server,
            message: String::new(),
            tool: "t".to_owned(),
            params
        }),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!({ "properties": { "f": { "type": "string" } }, "required": ["f"] })),
        value(),
    ]
}

pub(crate) fn offer() -> impl Strategy<Value = Offer> {
    let reach =
        prop_oneof![Just(Reach::Once), Just(Reach::Turn), Just(Reach::Thread), Just(Reach::Always)];
    (decision(), reach, amendments()).prop_map(|(decision, reach, (prefix, host))| Offer {
        decision,
        reach,
        execpolicy_amendment: prefix,
        network_policy_amendment: host,
    })
}

pub(crate) fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        4 => (decision(), amendments()).prop_map(|(decision, (prefix, host))| Answer::Decided {
            decision,
            execpolicy_amendment: prefix,
            network_policy_amendment: host
        }),
        2 => prop::collection::btree_map("[qr]", vec(".{0,3}", 0..3), 0..3)
            .prop_map(Answer::chosen),
        1 => value().prop_map(|content| Answer::Filled { content }),
        1 => Just(Answer::Redacted),
    ]
}

fn amendments() -> impl Strategy<Value = (Option<Vec<String>>, Option<NetworkAmendment>)> {
    let host = ("allow|deny", "[ab]").prop_map(|(action, host)| NetworkAmendment { action, host });
    (option::of(vec("[ab]".prop_map(String::from), 0..3)), option::of(host))
}

pub(crate) fn decision() -> impl Strategy<Value = Decision> {
    prop_oneof![
        3 => Just(Decision::Accept),
        1 => Just(Decision::AcceptForSession),
        1 => Just(Decision::AcceptAlways),
        1 => Just(Decision::AcceptWithExecpolicyAmendment),
        1 => Just(Decision::ApplyNetworkPolicyAmendment),
        2 => Just(Decision::Decline),
        1 => Just(Decision::Cancel),
    ]
}

pub(crate) fn spec() -> impl Strategy<Value = Spec> {
    let patience = prop_oneof![
        Just(Patience::Attended),
        Just(Patience::Forever),
        (0..200_000_u64).prop_map(Patience::Ms),
        Just(Patience::Ms(u64::MAX)),
    ];
    let answerers = prop_oneof![Just(Answerers::Caller), Just(Answerers::Human)];
    (patience, answerers, any::<bool>(), option::of("[a-z]{1,3}"), option::of(value())).prop_map(
        |(patience, answerers, ephemeral, title, collaboration_mode)| Spec {
            cwd: "/w".to_owned(),
            patience,
            answerers,
            ephemeral,
            title,
            collaboration_mode,
            ..Spec::default()
        },
    )
}

pub(crate) fn prompt() -> impl Strategy<Value = Prompt> {
    (
        ".{0,4}",
        vec("/[a-z]".prop_map(String::from), 0..2),
        option::of("[a-z]{2}"),
        option::of(value()),
    )
        .prop_map(|(text, images, model, output_schema)| Prompt {
            text,
            images,
            overrides: Overrides {
                sandbox: model.is_some().then_some(Sandbox::ReadOnly),
                model,
                output_schema,
                ..Overrides::default()
            },
        })
}

fn origin() -> impl Strategy<Value = Origin> {
    (any::<u128>(), "[a-z]{2}")
        .prop_map(|(id, thread)| Origin { session: SessionId(Uuid::from_u128(id)), thread })
}

fn management() -> impl Strategy<Value = Management> {
    prop_oneof![
        Just(Management::CleanTerminals),
        Just(Management::Compact),
        value().prop_map(|target| Management::Review { target }),
        Just(Management::Archive),
    ]
}

fn facts() -> impl Strategy<Value = Facts> {
    (option::of("[a-z]{2}"), option::of("[0-9]{2}")).prop_map(|(model, version)| Facts {
        model,
        version,
        dialect: "app-server".to_owned(),
        ..Facts::default()
    })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Completed),
        Just(Outcome::Interrupted),
        error().prop_map(|error| Outcome::Failed { error }),
        ".{0,4}".prop_map(|cause| Outcome::Lost { cause, fault: None }),
    ]
}

fn report() -> impl Strategy<Value = Report> {
    (option::of(".{0,4}"), option::of(value()), vec("/[a-z]".prop_map(String::from), 0..2))
        .prop_map(|(output, usage, files)| Report { output, usage, files })
}

fn error() -> impl Strategy<Value = AgentError> {
    (".{0,4}", value()).prop_map(|(message, detail)| AgentError { message, detail })
}

fn sub_agent() -> impl Strategy<Value = SubAgent> {
    ("[vw]", option::of("[a-z]")).prop_map(|(thread_id, path)| SubAgent { thread_id, path })
}

/// What JSON can hold. Only fractions that are exact: the last digit of others may change on its
/// way through text.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1_000..1_000_i32).prop_map(|it| Value::from(f64::from(it) / 8.0)),
        ".{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,4}", inner, 0..3)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

fn turn_name() -> impl Strategy<Value = String> {
    "[xyz]"
}

fn item() -> impl Strategy<Value = String> {
    "[i-k]"
}

fn key() -> impl Strategy<Value = String> {
    "[a-d]"
}
