//! Where and until when a rule holds.

use jiff::Timestamp;
use pilothouse::{
    core::{SessionId, Verdict},
    rules::{Rules, Scene, command_ask},
};

use crate::{change_ask, command, rules, said_of};

fn scoped(outcome: &str, scope: &str) -> Rules {
    rules(&format!("{}{scope}\n", command("r", r#""make""#, outcome)))
}

#[test]
fn a_workspace_is_where_the_session_and_the_command_are() {
    for (workspace, line, cwd, allows, refuses) in [
        (Some("/w"), "make", "/w", true, true),
        (Some("/w/sub"), "make", "/w/sub/x", true, true),
        (Some("/w"), "cd sub && make", "/w", true, true),
        (Some("/w"), "cd /w/../w/sub && make", "/w", true, true),
        // Where one of the two is elsewhere it is not allowed, and still refused.
        (Some("/w"), "make", "/elsewhere", false, true),
        (Some("/elsewhere"), "make", "/w", false, true),
        (Some("/w"), "cd .. && make", "/w", false, true),
        (Some("/elsewhere"), "cd /w && make", "/elsewhere", false, true),
        (Some("/w"), "cd - && make", "/w", false, true),
        (None, "make", "/w", false, true),
        (Some("/work"), "make", "/work", false, false),
        (None, "make", "/", false, false),
    ] {
        let ask = command_ask(line, cwd, Timestamp::UNIX_EPOCH);
        let scope = "workspace = \"/w/\"";
        let allowed = said_of(&scoped("allow", scope), &ask, workspace);
        let refused = said_of(&scoped("refuse", scope), &ask, workspace);
        assert_eq!(allowed == "allowed by r", allows, "{workspace:?} {line} {cwd}: {allowed}");
        assert_eq!(refused == "refused by r", refuses, "{workspace:?} {line} {cwd}: {refused}");
    }
}

#[test]
fn files_of_a_workspace_are_below_it() {
    let rules = |outcome: &str| {
        rules(&format!(
            "[[rules]]\nname = \"r\"\npaths = [\"/**\"]\noutcome = \"{outcome}\"\n\
             workspace = \"/w\"\n"
        ))
    };
    for (workspace, path, allows, refuses) in [
        (Some("/w"), "a", true, true),
        (Some("/w"), "/elsewhere/a", false, true),
        (Some("/elsewhere"), "/w/a", false, true),
        (Some("/elsewhere"), "a", false, false),
    ] {
        let ask = change_ask(&[path]);
        let said = |outcome| said_of(&rules(outcome), &ask, workspace);
        assert_eq!(said("allow") == "allowed by r", allows, "{workspace:?} {path}");
        assert_eq!(said("refuse") == "refused by r", refuses, "{workspace:?} {path}");
    }
}

#[test]
fn a_rule_ends_when_it_says() {
    let rules = scoped("allow", "expires = 2027-01-31T18:00:00+01:00");
    for (at, expected) in [
        ("2027-01-31T16:59:59Z", "allowed by r"),
        ("2027-01-31T17:00:00Z", "person"),
        ("2028-01-01T00:00:00Z", "person"),
    ] {
        let ask = command_ask("make", "/w", at.parse().unwrap());
        assert_eq!(said_of(&rules, &ask, Some("/w")), expected, "{at}");
    }
    let text = scoped("allow", "expires = \"2027-01-31T17:00:00Z\"");
    assert_eq!(rules, text);
}

#[test]
fn a_rule_of_a_session_holds_in_no_other() {
    let mine: SessionId = "sess_01936d2e000070008000000000000001".parse().unwrap();
    let other: SessionId = "sess_01936d2e000070008000000000000002".parse().unwrap();
    let rules = scoped("allow", &format!("session = \"{mine}\""));
    let ask = command_ask("make", "/w", Timestamp::UNIX_EPOCH);
    for (session, holds) in [(Some(mine), true), (Some(other), false), (None, false)] {
        let policy = rules.policy(&Scene { session, workspace: Some("/w") });
        assert_eq!(policy.verdict(&ask) != Verdict::Person, holds, "{session:?}");
    }
}

#[test]
fn an_example_is_about_what_and_not_about_where_and_when() {
    let scope = "workspace = \"/w\"\nexpires = 2001-01-01T00:00:00Z\nmatch = [\"make all\"]\n\
                 session = \"sess_01936d2e000070008000000000000001\"";
    assert_eq!(scoped("allow", scope).iter().count(), 1);
}
