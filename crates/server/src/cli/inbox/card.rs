//! An ask in full: everything that a person must see before answering.

use jiff::Timestamp;
use pilothouse_core::{
    AskState, AskView, Change, Offer, Question, Subject, decision_name, display::line,
};
use serde_json::Value;

use super::{
    fields,
    paint::{Ink, Paint, Style},
    picking, reading, words,
};

/// The whole ask; nothing of it is cut.
pub(super) fn card(ask: &AskView, now: Timestamp, style: Style) -> String {
    let mut paint = Paint::new(style);
    let raised = words::ago(ask.raised_at, now);
    let heading = format!("{}  {}  {raised}", words::kind(ask.kind), ask.request_id);
    paint.say(Some(Ink::Bold), &heading);
    let session = ask.session_id.to_string();
    match &ask.session_title {
        Some(title) => paint.field("Session", &format!("{session}  {title}")),
        None => paint.field("Session", &session),
    }
    if let Some(agent) = &ask.agent {
        paint.field("Sub-agent", agent.path.as_deref().unwrap_or(&agent.thread_id));
    }
    if let Some(actor) = &ask.asked_by {
        paint.field("Asked by", &words::actor(actor));
    }
    subject(&mut paint, &ask.subject);
    reading::show(&mut paint, ask);
    if let Some(reason) = &ask.reason {
        paint.say(None, "Reason, in the words of who asks:");
        paint.quote(reason);
    }
    match &ask.settlement {
        Some(settlement) => paint.field("Settled", &words::settlement(settlement, &ask.subject)),
        None if ask.state == AskState::Pending => waiting(&mut paint, ask, now),
        None => {}
    }
    paint.field("Digest", &ask.digest);
    paint.warn();
    paint.finish()
}

fn waiting(paint: &mut Paint, ask: &AskView, now: Timestamp) {
    offers(paint, &ask.offers);
    let left = ask.expires_at.map(|it| words::stretch(it.duration_since(now).as_secs()));
    paint.field("Expires", &left.map_or_else(|| "never".to_owned(), |it| format!("in {it}")));
}

/// What can be said, and how far each reaches.
fn offers(paint: &mut Paint, offers: &[Offer]) {
    if offers.is_empty() {
        return;
    }
    paint.say(None, "It takes:");
    for (at, offer) in offers.iter().enumerate() {
        let (number, name) = (at + 1, decision_name(offer.decision));
        paint.say(None, &format!("    {number}. {name}: {}", words::reach(offer.reach)));
        if let Some(beside) = words::beside(offer) {
            paint.requote(&beside);
        }
    }
}

fn subject(paint: &mut Paint, subject: &Subject) {
    match subject {
        Subject::Command { command, argv, cwd, write_stdin, host } => {
            paint.field("Folder", cwd);
            if let Some(host) = host {
                paint.field("Host", host);
            }
            if *write_stdin {
                paint.say(None, "Input for a program that runs outside the sandbox:");
            } else {
                paint.say(None, "Command:");
            }
            paint.quote(command);
            if !argv.is_empty() {
                paint.say(None, "Its words, which no shell reads:");
                for word in argv {
                    paint.requote(&format!("{word:?}"));
                }
            }
        }
        Subject::FileChange { changes, grant_root } => {
            if let Some(root) = grant_root {
                paint.field("Opens", &format!("{root}  (may be written from then on)"));
            }
            for it in changes {
                change(paint, it);
            }
        }
        Subject::Permissions { permissions, cwd } => {
            if let Some(cwd) = cwd {
                paint.field("Folder", cwd);
            }
            paint.say(None, "Permissions:");
            json(paint, permissions);
        }
        Subject::Question { questions } => questions.iter().for_each(|it| question(paint, it)),
        Subject::Form { server, message, schema } => {
            paint.field("Server", server);
            paint.quote(message);
            form(paint, schema);
        }
        Subject::Url { server, message, url } => {
            paint.field("Server", server);
            paint.quote(message);
            paint.say(None, "Page to open:");
            paint.quote(url);
        }
        Subject::Tool { server, message, tool, params } => {
            paint.field("Server", server);
            paint.field("Tool", tool);
            paint.quote(message);
            json(paint, params);
        }
        Subject::Adoption { caller, client } => {
            paint.field("Caller", caller);
            if let Some(client) = client {
                paint.field("Program", client);
            }
            paint.say(None, "It wants to have this session, and to see all of it.");
        }
    }
}

fn change(paint: &mut Paint, change: &Change) {
    let Change { path, kind, move_path, diff } = change;
    paint.field("File", &format!("{path}  ({kind})"));
    if let Some(path) = move_path {
        paint.field("Moves to", path);
    }
    let sign = match kind.as_str() {
        "add" => "+",
        "delete" => "-",
        _ => "",
    };
    let signed: String = if sign.is_empty() {
        diff.clone()
    } else {
        diff.split_inclusive('\n').flat_map(|it| [sign, it]).collect()
    };
    paint.quote_inked(&signed, |it| match it.as_bytes().first() {
        Some(b'+') => Some(Ink::Green),
        Some(b'-') => Some(Ink::Red),
        Some(b'@') => Some(Ink::Cyan),
        Some(_) | None => None,
    });
}

fn question(paint: &mut Paint, question: &Question) {
    let secret = if question.is_secret { "  (the answer is secret)" } else { "" };
    paint.field("Question", &format!("{}  {}{secret}", question.id, question.header));
    paint.quote(&question.question);
    let options = picking::options(question);
    for (at, option) in question.options.iter().flatten().enumerate() {
        paint.say(None, &format!("    {}. {}", at + 1, options[at].told()));
        if !option.description.is_empty() {
            paint.quote(&option.description);
        }
    }
    if let Some(label) = picking::other(question).filter(|_| !options.is_empty()) {
        let label = line(label);
        paint.say(None, &format!("    {}. {label}: other words (o)", options.len() + 1));
    }
    if question.multiple {
        paint.say(None, "    More than one may be chosen.");
    }
}

fn form(paint: &mut Paint, schema: &Value) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let title = field["title"].as_str().filter(|it| *it != name);
        let title = title.map_or_else(String::new, |it| format!("{it}  "));
        paint.field("Field", &format!("{name}  {title}({})", fields::takes(schema, name)));
        if let Some(text) = field["description"].as_str() {
            paint.quote(text);
        }
        for (number, choice) in (1..).zip(picking::choices(field)) {
            paint.say(None, &format!("    {number}. {}", choice.told()));
        }
    }
}

fn json(paint: &mut Paint, value: &Value) {
    paint.quote(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// Longest summary in a list, in letters.
const MAX_SUMMARY: usize = 100;

/// An ask on one line.
pub(super) fn summary(ask: &AskView) -> String {
    let text = match &ask.subject {
        Subject::Command { command, .. } => command.clone(),
        Subject::FileChange { changes, .. } => {
            changes.iter().map(|it| it.path.as_str()).collect::<Vec<_>>().join(", ")
        }
        Subject::Permissions { permissions, .. } => permissions.to_string(),
        Subject::Question { questions } => {
            questions.iter().map(|it| it.question.as_str()).collect::<Vec<_>>().join(" ")
        }
        Subject::Form { server, message, .. } | Subject::Url { server, message, .. } => {
            format!("{server}: {message}")
        }
        Subject::Tool { server, tool, .. } => format!("{server}: {tool}"),
        Subject::Adoption { caller, .. } => format!("{caller} wants to have the session"),
    };
    let shown = pilothouse_core::display::show_within(
        &text,
        pilothouse_core::display::Room::Line,
        MAX_SUMMARY,
    );
    if shown.found.is_empty() {
        return shown.text;
    }
    format!("{}  [{}]", shown.text, shown.found)
}

/// An ask in a list.
pub(super) fn row(ask: &AskView, now: Timestamp) -> String {
    let session = ask.session_title.as_deref().map(line);
    let session = session.unwrap_or_else(|| ask.session_id.to_string());
    let left = ask.expires_at.map_or_else(String::new, |it| {
        format!(", expires in {}", words::stretch(it.duration_since(now).as_secs()))
    });
    format!(
        "{}  {}  {}{left}  {session}\n    {}",
        ask.request_id,
        words::kind(ask.kind),
        words::ago(ask.raised_at, now),
        summary(ask)
    )
}
