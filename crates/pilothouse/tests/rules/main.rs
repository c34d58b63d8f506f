//! Rules as they are written: what they match, where they hold, what is wrong with them, and that
//! more of them never allow more than they say.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod live;
mod properties;
mod scope;
mod tables;
mod written;

use jiff::Timestamp;
use pilothouse::{
    core::{Answer, Ask, Change, Decision, Subject, Verdict},
    rules::{Rules, Scene, command_ask},
};

/// What rules say of a line that runs in `/w`: the decision and the rules' names.
fn said(rules: &Rules, line: &str) -> String {
    said_of(rules, &command_ask(line, "/w", Timestamp::UNIX_EPOCH), Some("/w"))
}

fn said_of(rules: &Rules, ask: &Ask, workspace: Option<&str>) -> String {
    let verdict = rules.policy(&Scene { session: None, workspace }).verdict(ask);
    match verdict {
        Verdict::Person => "person".to_owned(),
        Verdict::Answered { answer: Answer::Decided { decision, .. }, rule } => match decision {
            Decision::Accept => format!("allowed by {rule}"),
            Decision::Decline => format!("refused by {rule}"),
            Decision::AcceptForSession
            | Decision::AcceptAlways
            | Decision::AcceptWithExecpolicyAmendment
            | Decision::ApplyNetworkPolicyAmendment
            | Decision::Cancel => panic!("no rule decides {decision:?}"),
        },
        Verdict::Answered { answer, .. } => panic!("no rule answers {answer:?}"),
    }
}

/// The ask for a change of these files.
fn change_ask(paths: &[&str]) -> Ask {
    let changes = paths.iter().map(|it| Change {
        path: (*it).to_owned(),
        kind: "update".to_owned(),
        move_path: None,
        diff: String::new(),
    });
    let subject = Subject::FileChange { changes: changes.collect(), grant_root: None };
    Ask { subject, ..command_ask("", "/", Timestamp::UNIX_EPOCH) }
}

fn rules(text: &str) -> Rules {
    Rules::parse(text).unwrap()
}

/// A rule about commands, in the words of the settings.
fn command(name: &str, words: &str, outcome: &str) -> String {
    format!("[[rules]]\nname = \"{name}\"\ncommand = [{words}]\noutcome = \"{outcome}\"\n")
}
