//! Events and effects as lines that a person can review.

use jiff::Timestamp;
use pilothouse_codex::{Tag, shell_line};
use pilothouse_core::{
    Answer, Effect, Event, Offer, Outcome, Prompt, Settled, SubAgent, Subject, ToAgent,
    decision_name,
};
use serde_json::Value;

/// When and whose.
pub(crate) fn head(now: Timestamp, tag: Tag) -> String {
    format!("{:>6} {}", now.as_millisecond(), tag.0)
}

pub(crate) fn event(event: &Event) -> String {
    match event {
        Event::Opened { .. } => "Opened".into(),
        Event::Attached { thread, facts } => format!(
            "Attached {thread} version={:?} model={:?} policy={:?} sandbox={:?} effort={:?} cwd={:?}",
            facts.version, facts.model, facts.approval_policy, facts.sandbox, facts.effort, facts.cwd
        )
        .replace("Some(", "")
        .replace(')', ""),
        Event::TurnRequested { turn, prompt, by, .. } => {
            format!("TurnRequested {} {} by {by:?}", turn.0, words(prompt))
        }
        Event::PromptQueued { prompt, .. } => format!("PromptQueued {}", words(prompt)),
        Event::Steered { turn, prompt, .. } => format!("Steered {} {}", turn.0, words(prompt)),
        Event::TurnStarted { turn, name } => format!("TurnStarted {} {name}", turn.0),
        Event::InterruptRequested { turn, .. } => format!("InterruptRequested {}", turn.0),
        Event::ItemStarted { turn, item, kind, body, agent } => {
            format!("ItemStarted {} {item} {kind}{}{}", number(turn.map(|it| it.0)), of(agent.as_ref()), gist(body))
        }
        Event::ItemCompleted { turn, item, kind, body, agent } => {
            format!("ItemCompleted {} {item} {kind}{}{}", number(turn.map(|it| it.0)), of(agent.as_ref()), gist(body))
        }
        Event::ItemAbandoned { item } => format!("ItemAbandoned {item}"),
        Event::AskRaised { ask } => format!(
            "AskRaised {} {} key={} turn={}{} {}{}",
            ask.id.0,
            subject(&ask.subject),
            ask.key,
            number(ask.turn.map(|it| it.0)),
            of(ask.agent.as_ref()),
            ask.offers.iter().map(offer).collect::<Vec<_>>().join("|"),
            ask.reason.as_ref().map(|it| format!(" reason={}", short(it))).unwrap_or_default(),
        ),
        Event::AskSettled { ask, how } => match how {
            Settled::Answered { answer: given, .. } => format!("AskSettled {} {}", ask.0, answer(given)),
            Settled::Expired { .. } | Settled::Withdrawn | Settled::Lost => {
                format!("AskSettled {} {how:?}", ask.0)
            },
        },
        Event::TurnEnded { turn, outcome, report } => {
            let outcome = match outcome {
                Outcome::Completed => "Completed".into(),
                Outcome::Interrupted => "Interrupted".into(),
                Outcome::Failed { error } => {
                    format!("Failed {} {}", short(&error.message), error.detail)
                }
                Outcome::Lost { cause, .. } => format!("Lost {cause}"),
            };
            let total = report.usage.as_ref().map(|it| it["total"]["totalTokens"].clone());
            format!(
                "TurnEnded {} {outcome} output={} files={:?} tokens={}",
                turn.0,
                report.output.as_deref().map_or("none".into(), short),
                report.files,
                total.map_or("none".into(), |it| it.to_string()),
            )
        }
        Event::Noted { method, body } => {
            let message = body["message"].as_str().or(body["error"]["message"].as_str());
            format!("Noted {method} {}", message.map(short).unwrap_or_default())
        }
        Event::AskNotShown { ask, via, .. } => format!("AskNotShown {} {via}", ask.0),
        Event::AskEchoed { key, .. } => format!("AskEchoed {key}"),
        Event::CommandStarted { ask, .. } => format!("CommandStarted {}", ask.0),
        Event::CommandEnded { ask, .. } => format!("CommandEnded {}", ask.0),
        Event::RequestRefused { method, answer, .. } => format!("RequestRefused {method} {answer}"),
        Event::Managed { what, .. } => format!("Managed {what:?}"),
        Event::AttachFailed { error } => format!("AttachFailed {}", error.message),
        Event::Detached { cause } => format!("Detached {cause}"),
        Event::Renamed { title, .. } => format!("Renamed {title}"),
        Event::Adopted { caller, .. } => format!("Adopted {caller}"),
        Event::Closed { reason, .. } => format!("Closed {reason}"),
    }
}

pub(crate) fn effect(effect: &Effect) -> String {
    match effect {
        Effect::Attach(how) => format!("Attach {how:?}"),
        Effect::Tell(ToAgent::StartTurn { turn, .. }) => format!("StartTurn {}", turn.0),
        Effect::Tell(ToAgent::Steer { turn, .. }) => format!("Steer {turn}"),
        Effect::Tell(ToAgent::Interrupt { turn }) => format!("Interrupt {turn}"),
        Effect::Tell(ToAgent::Answer { key, answer: given, .. }) => {
            format!("Answer {key} {}", answer(given))
        }
        Effect::Tell(ToAgent::Expire { key, waited_s }) => format!("Expire {key} {waited_s}"),
        Effect::Tell(ToAgent::Manage(what)) => format!("Manage {what:?}"),
        Effect::Detach => "Detach".into(),
    }
}

fn number(turn: Option<u32>) -> String {
    turn.map_or("-".into(), |it| it.to_string())
}

fn of(agent: Option<&SubAgent>) -> String {
    agent.map(|it| format!(" of {} {:?}", it.thread_id, it.path)).unwrap_or_default()
}

fn words(prompt: &Prompt) -> String {
    let text = prompt.text.split("SCRIPT:").next().unwrap_or_default();
    let images = if prompt.images.is_empty() {
        String::new()
    } else {
        format!(" +{} images", prompt.images.len())
    };
    format!("{}{images}", short(text.trim()))
}

fn short(text: &str) -> String {
    const LONGEST: usize = 100;
    let cut: String = text.chars().take(LONGEST).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut:?}{dots}")
}

/// What an item says, as far as it says it in words.
fn gist(body: &Value) -> String {
    let status = body["status"].as_str().map(ToOwned::to_owned);
    let code = body["exitCode"].as_i64().map(|it| format!("exit={it}"));
    let text =
        body["text"].as_str().or(body["tool"].as_str()).filter(|it| !it.is_empty()).map(short);
    let command = body["command"].as_str();
    let command = command.map(|it| format!("`{}`", shell_line(it).as_deref().unwrap_or(it)));
    let changes = body["changes"].as_array().into_iter().flatten();
    let paths = changes.map(|it| it["path"].as_str().unwrap_or_default().to_owned());
    let parts = [status, code, text, command].into_iter().flatten().chain(paths);
    parts.flat_map(|it| [" ".to_owned(), it]).collect()
}

fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Command { command, argv: _, cwd, write_stdin, host } => {
            let shown = shell_line(command).unwrap_or_else(|| command.clone());
            let kind = if *write_stdin { "input" } else { "command" };
            format!(
                "{kind} {shown:?} in {cwd}{}",
                host.as_ref().map(|it| format!(" host={it}")).unwrap_or_default()
            )
        }
        Subject::FileChange { changes, grant_root } => {
            let changes: Vec<_> = changes
                .iter()
                .map(|it| format!("{} {} ({} bytes)", it.kind, it.path, it.diff.len()))
                .collect();
            format!(
                "fileChange {}{}",
                changes.join(", "),
                grant_root.as_ref().map(|it| format!(" root={it}")).unwrap_or_default()
            )
        }
        Subject::Adoption { caller, .. } => format!("adoption by {caller}"),
        Subject::Permissions { permissions, .. } => format!("permissions {permissions}"),
        Subject::Question { questions } => {
            let ids: Vec<_> = questions.iter().map(|it| format!("{}?", it.id)).collect();
            format!("question {}", ids.join(" "))
        }
        Subject::Form { server, message, .. } => format!("form of {server} {}", short(message)),
        Subject::Url { server, url, .. } => format!("url of {server} {url}"),
        Subject::Tool { server, tool, params, .. } => format!("tool {server}/{tool} {params}"),
    }
}

fn offer(offer: &Offer) -> String {
    format!("{}:{:?}", decision_name(offer.decision), offer.reach)
}

fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Decided { decision, .. } => decision_name(*decision).into(),
        Answer::Chosen { answers, .. } => format!("{answers:?}"),
        Answer::Filled { content } => content.to_string(),
        Answer::Redacted => "redacted".into(),
    }
}
