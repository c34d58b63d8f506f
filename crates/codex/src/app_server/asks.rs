//! Requests of Codex's that are asks: what each is about, and which answers it takes.

use pilothouse_core::{
    AskRef, Decision, NetworkAmendment, Offer, Question, QuestionOption, Reach, Request, SubAgent,
    Subject,
};
use serde_json::Value;

use super::{
    Tag,
    items::{changes, legacy_changes},
    seat::Seat,
    versions::{Feature, Version},
    wire::text,
};
use crate::shell;

/// An ask that Codex waits for.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Codex's id for it, in its own JSON type.
    pub(crate) id: Value,
    /// Whose it is.
    pub(crate) tag: Tag,
    /// The thread that asks, which may be a sub-agent's.
    pub(crate) thread: String,
    /// The turn that waits, if one does.
    pub(crate) turn: Option<String>,
    /// The shape of its answer.
    pub(crate) form: Form,
}

/// The shape of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Form {
    /// A decision about a command.
    Command,
    /// A decision about changes of files.
    FileChange,
    /// A subset of what was requested.
    Permissions { requested: Value },
    /// Answers by question.
    Question,
    /// An action, and perhaps content.
    Elicitation,
    /// A decision in the words of the first protocol.
    Legacy,
}

/// Where a request comes from.
pub(crate) struct Source<'a> {
    pub(crate) version: Version,
    pub(crate) seat: &'a Seat,
    pub(crate) thread: &'a str,
    pub(crate) agent: Option<SubAgent>,
}

/// Requests that are asks, by method.
pub(crate) const METHODS: [&str; 7] = [
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
    "item/permissions/requestApproval",
    "item/tool/requestUserInput",
    "mcpServer/elicitation/request",
    "execCommandApproval",
    "applyPatchApproval",
];

/// What stands for a command that Codex asks about without naming it anywhere.
const UNNAMED: &str = "(Codex did not say which command)";

/// Reads a request; nothing if it is no ask.
pub(crate) fn read(
    method: &str,
    params: &Value,
    source: &Source<'_>,
    key: &str,
) -> Option<(Request, Form)> {
    let (subject, offers, form) = match method {
        "item/commandExecution/requestApproval" => {
            (command(params, source), command_offers(params, source.version), Form::Command)
        }
        "item/fileChange/requestApproval" => {
            let item = item_of(params, source);
            let changes = item.map(changes).unwrap_or_default();
            let subject = Subject::FileChange { changes, grant_root: owned(params, "grantRoot") };
            (subject, approvals(source.version), Form::FileChange)
        }
        "item/permissions/requestApproval" => {
            let requested = params.get("permissions").cloned().unwrap_or_default();
            let subject =
                Subject::Permissions { permissions: requested.clone(), cwd: owned(params, "cwd") };
            let offers = vec![
                Offer::plain(Decision::Accept, Reach::Turn),
                Offer::plain(Decision::AcceptForSession, Reach::Thread),
                Offer::plain(Decision::Decline, Reach::Once),
            ];
            (subject, offers, Form::Permissions { requested })
        }
        "item/tool/requestUserInput" => {
            let questions = Subject::Question { questions: questions(params) };
            (questions, vec![Offer::plain(Decision::Cancel, Reach::Once)], Form::Question)
        }
        "mcpServer/elicitation/request" => {
            let (subject, offers) = elicitation(params)?;
            (subject, offers, Form::Elicitation)
        }
        "execCommandApproval" => (legacy_command(params), legacy_offers(), Form::Legacy),
        "applyPatchApproval" => {
            let subject = Subject::FileChange {
                changes: params.get("fileChanges").map(legacy_changes).unwrap_or_default(),
                grant_root: owned(params, "grantRoot"),
            };
            (subject, legacy_offers(), Form::Legacy)
        }
        _ => return None,
    };
    let item = owned(params, "itemId").or_else(|| owned(params, "callId"));
    let request = Request {
        key: key.to_owned(),
        subject,
        offers,
        reason: owned(params, "reason"),
        item,
        params: params.clone(),
        agent: source.agent.clone(),
        echo_of: echo_of(params),
    };
    Some((request, form))
}

/// A tool of ours, called by the agent, asks through the agent too, and names the ask.
fn echo_of(params: &Value) -> Option<AskRef> {
    text(params, &["_meta", "pilothouse/ask"])?.parse().ok()
}

fn owned(params: &Value, name: &str) -> Option<String> {
    text(params, &[name]).map(ToOwned::to_owned)
}

/// The item that a request is about, as it began: Codex does not repeat it.
fn item_of<'a>(params: &Value, source: &'a Source<'_>) -> Option<&'a Value> {
    source.seat.items.open(source.thread, text(params, &["itemId"])?)
}

fn command(params: &Value, source: &Source<'_>) -> Subject {
    let write_stdin = text(params, &["kind"]) == Some("writeStdin");
    // Input for a terminal belongs to the terminal's item, whose command is not what is asked.
    let item = if write_stdin { None } else { item_of(params, source) };
    let of_item = |name: &str| item.and_then(|it| text(it, &[name]));
    let actions = || {
        let actions = params.get("commandActions")?.as_array()?;
        let commands: Vec<_> = actions.iter().filter_map(|it| text(it, &["command"])).collect();
        (!commands.is_empty()).then(|| commands.join(" && "))
    };
    let host = text(params, &["networkApprovalContext", "host"]).map(ToOwned::to_owned);
    let command = text(params, &["command"])
        .or_else(|| of_item("command"))
        .map(ToOwned::to_owned)
        .or_else(actions)
        .unwrap_or_else(|| UNNAMED.to_owned());
    let cwd = text(params, &["cwd"]).or_else(|| of_item("cwd")).unwrap_or(&source.seat.cwd);
    Subject::Command { command, argv: vec![], cwd: cwd.to_owned(), write_stdin, host }
}

/// What Codex lists, and what it is known to take although it does not list it.
fn command_offers(params: &Value, version: Version) -> Vec<Offer> {
    let Some(available) = params.get("availableDecisions").and_then(Value::as_array) else {
        let mut offers = approvals(version);
        let proposed = params.get("proposedExecpolicyAmendment").and_then(prefix);
        if version.has(Feature::ExecpolicyAmendment) {
            offers.extend(proposed.map(execpolicy));
        }
        return in_order(offers);
    };
    let mut offers: Vec<_> = available.iter().filter_map(offer).collect();
    let is_command = matches!(text(params, &["kind"]), Some("command") | None);
    if is_command {
        let of_network = params.get("networkApprovalContext").is_some_and(|it| !it.is_null());
        let taken = [
            (Decision::AcceptForSession, Reach::Thread, !of_network),
            (Decision::Decline, Reach::Once, true),
        ];
        for (decision, reach, known_to_work) in taken {
            if known_to_work && !offers.iter().any(|it| it.decision == decision) {
                offers.push(Offer::plain(decision, reach));
            }
        }
    }
    in_order(offers)
}

/// From the narrowest yes to the hardest no.
fn in_order(mut offers: Vec<Offer>) -> Vec<Offer> {
    offers.sort_by_key(|it| it.decision);
    offers
}

fn offer(available: &Value) -> Option<Offer> {
    match available.as_str() {
        Some("accept") => return Some(Offer::plain(Decision::Accept, Reach::Once)),
        Some("acceptForSession") => {
            return Some(Offer::plain(Decision::AcceptForSession, Reach::Thread));
        }
        Some("decline") => return Some(Offer::plain(Decision::Decline, Reach::Once)),
        Some("cancel") => return Some(Offer::plain(Decision::Cancel, Reach::Once)),
        Some(_) => return None,
        None => {}
    }
    if let Some(amendment) = available.get("acceptWithExecpolicyAmendment") {
        return amendment.get("execpolicy_amendment").and_then(prefix).map(execpolicy);
    }
    let amendment =
        available.get("applyNetworkPolicyAmendment")?.get("network_policy_amendment")?;
    let network_policy_amendment = Some(NetworkAmendment {
        action: text(amendment, &["action"])?.to_owned(),
        host: text(amendment, &["host"])?.to_owned(),
    });
    Some(Offer {
        network_policy_amendment,
        ..Offer::plain(Decision::ApplyNetworkPolicyAmendment, Reach::Always)
    })
}

fn prefix(amendment: &Value) -> Option<Vec<String>> {
    let words = amendment.as_array()?;
    let words: Vec<_> = words.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect();
    (!words.is_empty()).then_some(words)
}

fn execpolicy(prefix: Vec<String>) -> Offer {
    Offer {
        execpolicy_amendment: Some(prefix),
        ..Offer::plain(Decision::AcceptWithExecpolicyAmendment, Reach::Always)
    }
}

/// What every approval takes.
fn approvals(version: Version) -> Vec<Offer> {
    let mut offers = vec![Offer::plain(Decision::Accept, Reach::Once)];
    if version.has(Feature::AcceptForSession) {
        offers.push(Offer::plain(Decision::AcceptForSession, Reach::Thread));
    }
    offers.push(Offer::plain(Decision::Decline, Reach::Once));
    offers.push(Offer::plain(Decision::Cancel, Reach::Once));
    offers
}

fn legacy_offers() -> Vec<Offer> {
    approvals(Version::NEWEST)
}

fn legacy_command(params: &Value) -> Subject {
    let words = params.get("command").and_then(Value::as_array);
    let words: Vec<_> = words.into_iter().flatten().filter_map(Value::as_str).collect();
    let command = if words.is_empty() { UNNAMED.to_owned() } else { shell::join(&words) };
    let cwd = owned(params, "cwd").unwrap_or_default();
    Subject::Command { command, argv: vec![], cwd, write_stdin: false, host: None }
}

fn questions(params: &Value) -> Vec<Question> {
    let questions = params.get("questions").and_then(Value::as_array);
    let option = |it: &Value| QuestionOption {
        id: None,
        label: owned(it, "label").unwrap_or_default(),
        description: owned(it, "description").unwrap_or_default(),
    };
    let flag = |it: &Value, name: &str| it.get(name).and_then(Value::as_bool).unwrap_or_default();
    let question = |it: &Value| Question {
        id: owned(it, "id").unwrap_or_default(),
        header: owned(it, "header").unwrap_or_default(),
        question: owned(it, "question").unwrap_or_default(),
        is_other: flag(it, "isOther"),
        is_secret: flag(it, "isSecret"),
        options: it
            .get("options")
            .and_then(Value::as_array)
            .map(|options| options.iter().map(option).collect()),
        ..Question::default()
    };
    questions.into_iter().flatten().map(question).collect()
}

/// A form, a page or a tool call; nothing if it is of a kind that nobody can be shown.
fn elicitation(params: &Value) -> Option<(Subject, Vec<Offer>)> {
    let server = owned(params, "serverName").unwrap_or_default();
    let message = owned(params, "message").unwrap_or_default();
    let mut offers = vec![Offer::plain(Decision::Accept, Reach::Once)];
    let subject = if text(params, &["_meta", "codex_approval_kind"]) == Some("mcp_tool_call") {
        let persist = params.get("_meta").and_then(|it| it.get("persist"));
        let may_persist = |word: &str| match persist {
            Some(Value::Array(words)) => words.iter().any(|it| it == word),
            Some(it) => it == word,
            None => false,
        };
        if may_persist("session") {
            offers.push(Offer::plain(Decision::AcceptForSession, Reach::Thread));
        }
        if may_persist("always") {
            offers.push(Offer::plain(Decision::AcceptAlways, Reach::Always));
        }
        let arguments = params.get("_meta").and_then(|it| it.get("tool_params"));
        Subject::Tool {
            server,
            message,
            tool: text(params, &["_meta", "tool_name"]).unwrap_or_default().to_owned(),
            params: arguments.cloned().unwrap_or_default(),
        }
    } else if let Some(url) = owned(params, "url") {
        Subject::Url { server, message, url }
    } else if let Some(schema) = params.get("requestedSchema").filter(|it| it.is_object()) {
        Subject::Form { server, message, schema: schema.clone() }
    } else {
        return None;
    };
    offers.push(Offer::plain(Decision::Decline, Reach::Once));
    offers.push(Offer::plain(Decision::Cancel, Reach::Once));
    Some((subject, offers))
}
