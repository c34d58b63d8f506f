//! `pilothouse rules`: what is answered without a person, tried on lines and on what was asked
//! before, and taken back.

mod preview;
mod revoke;

use std::{env, path::PathBuf};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use pilothouse::{
    core::{
        Answer, Ask, AskKind, Decision, OnExpiry, Policy, RuleOutcome, SessionId, Verdict, display,
    },
    reading_of,
    rules::{About, Scene, WrittenRule, command_ask},
    shell::Segment,
};
use serde_json::{Value, json};

use super::{
    ancestry,
    inbox::person::{self, Found, WhoArgs},
    say,
};
use crate::settings::Settings;

/// Asks that `preview` looks at unless another number is given.
const LOOK_BACK: usize = 50;

/// What `rules` takes.
#[derive(Debug, Clone, clap::Args)]
pub struct RulesArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum Action {
    /// List the rules with where they hold, when they end, and their examples
    List {
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show which of the last asks rules would have answered
    Preview {
        /// Names of rules, or rules as they would stand in the settings, in one line with commas
        #[arg(required = true, value_name = "RULE")]
        rules: Vec<String>,
        /// How many asks about commands and files to look at, the last one first
        #[arg(long, value_name = "N", default_value_t = LOOK_BACK)]
        last: usize,
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Take a rule out of the settings; it holds for no ask from then on. Only a person takes out
    /// what holds agents back
    Revoke {
        /// The rule's name
        name: String,
        #[command(flatten)]
        who: WhoArgs,
    },
    /// Show what a command line would run, and what the rules say of it
    Explain {
        /// The command line, as an agent would run it
        #[arg(allow_hyphen_values = true)]
        line: String,
        /// Where it would run, instead of here
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// The session that would run it
        #[arg(long, value_name = "ID")]
        session: Option<SessionId>,
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Does what was asked.
pub async fn run(args: RulesArgs, settings: &Settings) -> anyhow::Result<()> {
    match args.action {
        Action::List { json } => list(settings, json),
        Action::Preview { rules, last, json } => preview::run(&rules, last, json, settings).await,
        Action::Revoke { name, who } => revoke(&name, &who, settings).await,
        Action::Explain { line, cwd, session, json } => {
            let here = env::current_dir().context("find out where this is")?;
            let cwd = cwd.map_or_else(|| here.clone(), |it| here.join(it));
            explain(&line, &cwd.to_string_lossy(), session, json, settings)
        }
    }
}

fn list(settings: &Settings, as_json: bool) -> anyhow::Result<()> {
    let now = Timestamp::now();
    let file = settings.file();
    if as_json {
        let rules: Vec<Value> = settings.rules.iter().map(|it| written(it, now)).collect();
        return say(&json!({ "file": file.to_string_lossy(), "rules": rules }).to_string());
    }
    let mut lines = vec![];
    for rule in settings.rules.iter() {
        lines.push(told(rule, now));
    }
    let shown = display::line(&file.to_string_lossy());
    if lines.is_empty() {
        return say(&format!("no rules: every ask goes to a person; {shown} has none"));
    }
    lines.insert(0, format!("The rules of {shown}:"));
    say(&lines.join("\n"))
}

async fn revoke(name: &str, who: &WhoArgs, settings: &Settings) -> anyhow::Result<()> {
    let rule = settings.rules.find(name).with_context(|| {
        let names: Vec<&str> = settings.rules.iter().map(|it| it.name.as_str()).collect();
        format!("revoke {name:?}: there is no such rule; there are: {}", names.join(", "))
    })?;
    // Without a rule that allows, less is allowed, which anyone may want.
    if rule.outcome != RuleOutcome::Allow {
        by_a_person(name, who, settings).await?;
    }
    let file = settings.file();
    revoke::revoke(&file, name)?;
    say(&format!("revoked {name} from {}", file.display()))
}

/// Refuses unless it is a person who takes out what holds agents back.
async fn by_a_person(name: &str, who: &WhoArgs, settings: &Settings) -> anyhow::Result<()> {
    let what = format!("revoke {name:?}");
    // What was started by an agent needs no store to be refused.
    ancestry::refuse_agents(&what)?;
    let broker = settings.open_broker("rules").await?;
    let found = person::find(&what, who, settings, &broker).await;
    broker.stop().await;
    match found? {
        Found::Person(_) => Ok(()),
        Found::Nobody(why) => bail!(
            "{what}: it holds agents back, so only a person may take it out, and {why}; run this \
             in a terminal of your own, give --token-file, or edit {}",
            settings.file().display()
        ),
    }
}

fn explain(
    line: &str,
    cwd: &str,
    session: Option<SessionId>,
    as_json: bool,
    settings: &Settings,
) -> anyhow::Result<()> {
    let ask = command_ask(line, cwd, Timestamp::now());
    let policy = settings.rules.policy(&Scene { session, workspace: Some(cwd) });
    let reading = reading_of(&ask.subject, ask.asked_by.as_ref()).context("read the line")?;
    let by_part: Vec<Vec<&pilothouse::core::Rule>> =
        policy.weigh(&ask).into_iter().map(|it| it.rules).collect();
    let rules_of = |nth: usize| by_part.get(nth).map(Vec::as_slice).unwrap_or_default();
    let answered = Answered::by(&policy, &ask);
    if as_json {
        let segments = reading.segments.iter().enumerate().map(|(nth, it)| {
            let rules = rules_of(nth).iter();
            let rules: Vec<Value> = rules
                .map(|it| json!({ "name": it.name, "outcome": outcome_word(it.outcome) }))
                .collect();
            let Segment { argv, text, verdict, class, reason, .. } = it;
            json!({
                "argv": argv, "text": text, "verdict": verdict, "class": class, "reason": reason,
                "rules": rules,
            })
        });
        let told = json!({
            "verdict": reading.verdict,
            "segments": segments.collect::<Vec<_>>(),
            "answer": answered.word(),
            "answeredBy": answered.rules(),
        });
        return say(&told.to_string());
    }
    let mut lines = vec![reading.verdict.as_str().to_owned()];
    for (nth, segment) in reading.segments.iter().enumerate() {
        let Segment { text, verdict, class, reason, .. } = segment;
        let (verdict, class) = (verdict.as_str(), class.as_str());
        lines.push(format!("  {verdict:<4} {}", display::line(text)));
        lines.push(format!("       {class}: {}", display::line(reason)));
        for rule in rules_of(nth) {
            lines.push(format!("       rule {}: {}", rule.name, outcome_word(rule.outcome)));
        }
    }
    lines.push(answered.told());
    say(&lines.join("\n"))
}

/// What becomes of an ask by rules.
#[derive(Debug)]
enum Answered {
    Person,
    Yes(String),
    No(String),
}

impl Answered {
    fn by(policy: &Policy, ask: &Ask) -> Self {
        match policy.verdict(ask) {
            Verdict::Person => Self::Person,
            Verdict::Answered { answer, rule } if answer == Answer::plain(Decision::Accept) => {
                Self::Yes(rule)
            }
            Verdict::Answered { rule, .. } => Self::No(rule),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Person => "ask",
            Self::Yes(_) => "allow",
            Self::No(_) => "refuse",
        }
    }

    fn rules(&self) -> Option<&str> {
        match self {
            Self::Person => None,
            Self::Yes(rule) | Self::No(rule) => Some(rule),
        }
    }

    fn told(&self) -> String {
        match self {
            Self::Person => "a person is asked".to_owned(),
            Self::Yes(rule) => format!("allowed by {rule}"),
            Self::No(rule) => format!("refused by {rule}"),
        }
    }
}

fn outcome_word(outcome: RuleOutcome) -> &'static str {
    match outcome {
        RuleOutcome::Silent => "silent",
        RuleOutcome::Allow => "allow",
        RuleOutcome::Ask => "ask",
        RuleOutcome::Refuse => "refuse",
    }
}

fn expiry_word(on_expiry: OnExpiry) -> &'static str {
    match on_expiry {
        OnExpiry::Expire => "expire",
        OnExpiry::Decline => "decline",
        OnExpiry::Cancel => "cancel",
        OnExpiry::Wait => "wait",
        OnExpiry::Default => "default",
    }
}

/// A rule as JSON, in the words of the settings.
fn written(rule: &WrittenRule, now: Timestamp) -> Value {
    let WrittenRule {
        name,
        about,
        outcome,
        on_expiry,
        workspace,
        session,
        expires,
        examples,
        counterexamples,
    } = rule;
    let mut told = json!({ "name": name, "match": examples, "not_match": counterexamples });
    let mut say = |key: &str, value: Value| {
        if !value.is_null() {
            told[key] = value;
        }
    };
    match about {
        About::Command(pattern) => {
            let word = |it: &Vec<String>| match it.as_slice() {
                [word] => json!(word),
                words => json!(words),
            };
            say("command", pattern.iter().map(word).collect());
        }
        About::Paths(paths) => say("paths", json!(paths.patterns())),
        About::ReadsOnly => say("reads_only", json!(true)),
        About::Kinds(kinds) => say("kind", json!(kinds)),
    }
    if *outcome != RuleOutcome::Silent {
        say("outcome", json!(outcome_word(*outcome)));
    }
    say("on_expiry", json!(on_expiry.map(expiry_word)));
    say("workspace", json!(workspace));
    say("session", json!(session.map(|it| it.to_string())));
    say("expires", json!(expires));
    say("expired", json!(is_over(*expires, now)));
    told
}

fn is_over(expires: Option<Timestamp>, now: Timestamp) -> bool {
    expires.is_some_and(|it| it <= now)
}

/// A rule for a person, over several lines.
fn told(rule: &WrittenRule, now: Timestamp) -> String {
    let about = match &rule.about {
        About::Command(pattern) => {
            let words: Vec<String> = pattern.iter().map(|it| it.join("|")).collect();
            format!("commands that begin with {}", words.join(" "))
        }
        About::Paths(paths) => format!("changes of {}", paths.patterns().join(", ")),
        About::ReadsOnly => "commands that only read".to_owned(),
        About::Kinds(kinds) => {
            let words: Vec<String> = kinds.iter().map(|it| kind_word(*it)).collect();
            format!("asks of kind {}", words.join(", "))
        }
    };
    let outcome = match rule.outcome {
        RuleOutcome::Silent => String::new(),
        RuleOutcome::Allow | RuleOutcome::Ask | RuleOutcome::Refuse => {
            format!("{} ", outcome_word(rule.outcome))
        }
    };
    let mut lines = vec![format!("{}: {outcome}{about}", rule.name)];
    if let Some(on_expiry) = rule.on_expiry {
        lines.push(format!("  if nobody answers: {}", expiry_word(on_expiry)));
    }
    let scope = match (&rule.workspace, rule.session) {
        (None, None) => "everywhere".to_owned(),
        (Some(workspace), None) => format!("in {workspace}"),
        (None, Some(session)) => format!("in {session}"),
        (Some(workspace), Some(session)) => format!("in {workspace}, in {session}"),
    };
    let end = match rule.expires {
        None => String::new(),
        Some(it) if is_over(Some(it), now) => format!(", expired since {it}"),
        Some(it) => format!(", until {it}"),
    };
    lines.push(format!("  {scope}{end}"));
    lines.extend(rule.examples.iter().map(|it| format!("  matches {it}")));
    lines.extend(rule.counterexamples.iter().map(|it| format!("  does not match {it}")));
    lines.iter().map(|it| display::line(it)).collect::<Vec<_>>().join("\n")
}

fn kind_word(kind: AskKind) -> String {
    serde_json::to_value(kind)
        .ok()
        .and_then(|it| it.as_str().map(str::to_owned))
        .unwrap_or_default()
}
