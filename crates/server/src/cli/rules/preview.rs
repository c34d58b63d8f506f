//! What rules would have said to what was asked before.

use std::collections::{BTreeMap, btree_map::Entry};

use anyhow::ensure;
use pilothouse::{
    core::{Ask, AskKind, AskView, OnExpiry, SessionId, Subject, display},
    rules::{Rules, RulesError, Scene},
    store::{AskFilter, Store},
};
use serde_json::{Value, json};

use super::{Answered, say};
use crate::settings::{Settings, StoreChoice, syntax_hint};

/// Asks that are read at once.
const PAGE: usize = 200;
/// The name of a rule that was given without one.
const UNNAMED: &str = "preview";

pub(super) async fn run(
    wanted: &[String],
    last: usize,
    as_json: bool,
    settings: &Settings,
) -> anyhow::Result<()> {
    let rules = wanted.iter().try_fold(Rules::default(), |rules, it| {
        Ok::<_, anyhow::Error>(rules.and(&find(it, settings)?))
    })?;
    if let StoreChoice::Sqlite(path) = &settings.store {
        ensure!(
            path.exists(),
            "look at what was asked: there is no store at {} yet; nothing was asked",
            path.display()
        );
    }
    let store = settings.open_store().await?;
    let said = look(&*store, &rules, last).await;
    store.close().await?;
    let said = said?;
    let n_answered = said.iter().filter(|it| it.answered.rules().is_some()).count();
    if as_json {
        let asks = said.iter().map(Said::written);
        let told = json!({
            "looked": said.len(), "answered": n_answered, "asks": asks.collect::<Vec<_>>(),
        });
        return say(&told.to_string());
    }
    let mut lines: Vec<String> = said.iter().filter(|it| it.matched).map(Said::told).collect();
    lines.push(format!("{n_answered} of the last {} asks would have been answered", said.len()));
    say(&lines.join("\n"))
}

/// Rules by name, or as they are given.
fn find(wanted: &str, settings: &Settings) -> anyhow::Result<Rules> {
    if settings.rules.find(wanted).is_some() {
        return Ok(settings.rules.only(|it| it.name == wanted));
    }
    let names: Vec<&str> = settings.rules.iter().map(|it| it.name.as_str()).collect();
    ensure!(
        wanted.contains('='),
        "preview {wanted:?}: there is no such rule; there are: {}",
        names.join(", ")
    );
    // One line of settings, such as can stand in braces, or a piece of the file.
    let is_file = wanted.contains("[[");
    let text = wanted.trim().trim_start_matches('{').trim_end_matches('}');
    let name = format!("name = {UNNAMED:?}");
    let has_name = text.split(['\n', ',']).any(|it| it.trim_start().starts_with("name"));
    let text = match (is_file, wanted.contains('\n'), has_name) {
        (true, ..) => wanted.to_owned(),
        (false, true, true) => format!("[[rules]]\n{text}"),
        (false, true, false) => format!("[[rules]]\n{name}\n{text}"),
        (false, false, true) => format!("rules = [{{ {text} }}]"),
        (false, false, false) => format!("rules = [{{ {name}, {text} }}]"),
    };
    Rules::parse(&text).map_err(|error| {
        // How it was made a file of is not what anybody wrote.
        let problem = match error {
            RulesError::Rule { problem, .. } => problem,
            RulesError::Syntax(problem) => match syntax_hint(&text, &problem) {
                Some(hint) => hint,
                None => problem.lines().last().unwrap_or_default().to_owned(),
            },
            error @ (RulesError::TooMany(_) | _) => error.to_string(),
        };
        anyhow::anyhow!("understand the rule {wanted:?}: {problem}")
    })
}

struct Said {
    view: AskView,
    answered: Answered,
    /// A rule is about it, even if it says that a person must be asked.
    matched: bool,
    on_expiry: Option<OnExpiry>,
}

impl Said {
    fn written(&self) -> Value {
        json!({
            "requestId": self.view.request_id,
            "raisedAt": self.view.raised_at,
            "about": about(&self.view.subject),
            "answer": self.answered.word(),
            "answeredBy": self.answered.rules(),
            "matched": self.matched,
            "onExpiry": self.on_expiry.map(super::expiry_word),
        })
    }

    fn told(&self) -> String {
        let about = display::line(&about(&self.view.subject));
        format!("{}  {}: {about}", self.view.request_id, self.answered.told())
    }
}

/// The last asks about commands and files, and what the rules say of each.
async fn look(store: &dyn Store, rules: &Rules, last: usize) -> anyhow::Result<Vec<Said>> {
    let mut workspaces: BTreeMap<SessionId, Option<String>> = BTreeMap::new();
    let mut said = vec![];
    let mut cursor = None;
    while said.len() < last {
        let page = store.asks(AskFilter::default(), PAGE, cursor).await?;
        for view in page.rows {
            if said.len() == last || !matches!(view.kind, AskKind::Command | AskKind::FileChange) {
                continue;
            }
            let session = view.session_id;
            let workspace = match workspaces.entry(session) {
                Entry::Occupied(it) => it.into_mut(),
                Entry::Vacant(it) => it.insert(store.session(session).await?.map(|it| it.cwd)),
            };
            let workspace = workspace.as_deref();
            let policy = rules.policy(&Scene { session: Some(session), workspace });
            let ask = again(&view);
            said.push(Said {
                answered: Answered::by(&policy, &ask),
                matched: policy.weigh(&ask).iter().any(|it| !it.rules.is_empty()),
                on_expiry: policy.on_expiry(&ask),
                view,
            });
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(said)
}

/// The ask as it was raised.
fn again(view: &AskView) -> Ask {
    Ask {
        id: view.ask(),
        key: String::new(),
        turn: view.turn,
        item: view.item_id.clone(),
        subject: view.subject.clone(),
        offers: view.offers.clone(),
        reason: view.reason.clone(),
        digest: view.digest.clone(),
        params: Value::Null,
        agent: view.agent.clone(),
        asked_by: view.asked_by.clone(),
        raised_at: view.raised_at,
        expires_at: None,
        on_expiry: OnExpiry::default(),
    }
}

fn about(subject: &Subject) -> String {
    match subject {
        Subject::Command { command, .. } => command.clone(),
        Subject::FileChange { changes, .. } => {
            let paths: Vec<&str> = changes.iter().map(|it| it.path.as_str()).collect();
            paths.join(", ")
        }
        Subject::Permissions { .. }
        | Subject::Question { .. }
        | Subject::Form { .. }
        | Subject::Url { .. }
        | Subject::Tool { .. }
        | Subject::Adoption { .. } => String::new(),
    }
}
