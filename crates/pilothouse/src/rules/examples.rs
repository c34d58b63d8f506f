//! Whether a rule does what its own examples say.

use jiff::Timestamp;
use pilothouse_codex::shell_line;
use pilothouse_core::{
    Answer, Ask, AskId, Change, Decision, Offer, OnExpiry, Reach, RuleOutcome, Subject, Verdict,
};
use serde_json::Value;

use super::{About, Rules, Scene, WrittenRule};
use crate::shell::reading_of;

/// Where examples take place if the rule does not say.
const NOWHERE: &str = "/";

/// Says which example is not met, and why.
pub(super) fn check(rule: &WrittenRule) -> Result<(), String> {
    let examples = rule.examples.iter().map(|it| (it, true));
    let counterexamples = rule.counterexamples.iter().map(|it| (it, false));
    // Its scope and its end are about where and when, not about what.
    let place = rule.workspace.as_deref().unwrap_or(NOWHERE);
    let bare = WrittenRule { session: None, workspace: None, expires: None, ..rule.clone() };
    let alone = Rules { rules: vec![bare] };
    let policy = alone.policy(&Scene { session: None, workspace: Some(place) });
    for (example, should) in examples.chain(counterexamples) {
        let ask = example_ask(&rule.about, example, place);
        let matches = match rule.outcome {
            RuleOutcome::Allow => {
                let yes = Answer::plain(Decision::Accept);
                matches!(policy.verdict(&ask), Verdict::Answered { answer, .. } if answer == yes)
            }
            RuleOutcome::Silent | RuleOutcome::Ask | RuleOutcome::Refuse => {
                policy.weigh(&ask).iter().any(|it| !it.rules.is_empty())
            }
        };
        if matches == should {
            continue;
        }
        let why = reading_of(&ask.subject, ask.asked_by.as_ref())
            .and_then(|it| it.segments.into_iter().find(|it| !it.is_plain))
            .map(|it| format!(" ({}: {})", it.text, it.reason))
            .unwrap_or_default();
        return Err(if should {
            format!("it does not match {example:?}, which is in its `match`{why}")
        } else {
            format!("it matches {example:?}, which is in its `not_match`")
        });
    }
    Ok(())
}

fn example_ask(about: &About, example: &str, place: &str) -> Ask {
    match about {
        About::Paths(_) => {
            let change = Change {
                path: example.to_owned(),
                kind: "update".to_owned(),
                move_path: None,
                diff: String::new(),
            };
            let subject = Subject::FileChange { changes: vec![change], grant_root: None };
            ask_about(subject, Timestamp::UNIX_EPOCH)
        }
        About::Command(_) | About::ReadsOnly | About::Kinds(_) => {
            command_ask(example, place, Timestamp::UNIX_EPOCH)
        }
    }
}

/// An ask for a command line as an agent raises it, to see what rules say of it. Codex puts its own
/// shell around every line; one that the line has itself stays a command of the line.
pub fn command_ask(line: &str, cwd: &str, at: Timestamp) -> Ask {
    let command = match shell_line(line) {
        Some(_) => format!("/bin/bash -lc '{}'", line.replace('\'', r"'\''")),
        None => line.to_owned(),
    };
    let cwd = cwd.to_owned();
    ask_about(Subject::Command { command, argv: vec![], cwd, write_stdin: false, host: None }, at)
}

fn ask_about(subject: Subject, raised_at: Timestamp) -> Ask {
    let offers = [Decision::Accept, Decision::Decline];
    Ask {
        id: AskId(1),
        key: String::new(),
        turn: None,
        item: None,
        digest: String::new(),
        subject,
        offers: offers.map(|it| Offer::plain(it, Reach::Once)).to_vec(),
        reason: None,
        params: Value::Null,
        agent: None,
        asked_by: None,
        raised_at,
        expires_at: None,
        on_expiry: OnExpiry::default(),
    }
}
