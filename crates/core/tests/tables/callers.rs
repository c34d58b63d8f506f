//! What a caller asks people itself, and the commands that it then runs.

use std::collections::BTreeMap;

use pilothouse_core::{
    Answer, AskId, AskRef, CallerRequest, CommandEnd, CommandResult, Decision, FromAgent, Intent,
    MAX_PENDING_QUESTIONS, OnExpiry, Patience, Policy, Question, QuestionOption, Request, Rule,
    RuleOutcome, SessionId, Spec, Status, Subject,
};
use serde_json::json;
use uuid::Uuid;

use crate::stage::{
    Input, Stage, and, answer, asking, busy, caller, command, exited, human, prompt, request, wants,
};

#[test]
fn a_session_without_an_agent_asks_and_takes_no_prompt() {
    let mut stage = desk();
    stage.check(
        prompt("go"),
        &["refused: no agent works in this session; start another one with `codex`"],
    );
    stage.check(asks("a", question()), &["ask 1 raised"]);
    assert_eq!(stage.session.status(), Status::WaitingApproval);
    // The same question, asked again while it waits.
    stage.check(asks("a", question()), &[]);
    stage.check(choose(&["red"], None), &[r#"ask 1 answered by human: {"q": ["red"]}"#]);
    assert_eq!(stage.session.status(), Status::Idle);
}

#[test]
fn only_a_person_answers_what_a_caller_asks() {
    for subject in [question(), command()] {
        let mut stage = desk();
        stage.check(asks("a", subject), &["ask 1 raised"]);
        for by in [caller("a"), caller("b")] {
            let no = answer(by, 1, Answer::plain(Decision::Decline));
            stage.check(no, &["refused: only a person may answer this"]);
        }
        let no = answer(human(), 1, Answer::plain(Decision::Decline));
        stage.check(no, &["ask 1 answered by human: decline"]);
    }
}

#[test]
fn an_option_is_meant_by_its_name_and_anything_else_is_written_apart() {
    let refused = |problem: &str| vec![format!("refused: answers: question \"q\" {problem}")];
    for (names, other, expected) in [
        (vec!["red"], None, vec![r#"ask 1 answered by human: {"q": ["red"]}"#.to_owned()]),
        (vec![], Some("teal"), vec!["ask 1 answered by human: {}".to_owned()]),
        (vec!["Red"], None, refused("has no option \"Red\"; there are: red, blue")),
        (vec!["red", "blue"], None, refused("takes one answer")),
        (vec!["red"], Some("teal"), refused("takes one answer")),
        (vec![], None, refused("has no answer")),
    ] {
        let mut stage = desk();
        stage.check(asks("a", question()), &["ask 1 raised"]);
        let expected: Vec<_> = expected.iter().map(String::as_str).collect();
        stage.check(choose(&names, other), &expected);
    }
}

#[test]
fn a_question_of_a_caller_outlives_turns_and_agents() {
    let mut stage =
        Stage::open(Spec::default(), None, None).after(&and(asking(), [asks("a", question())]));
    stage.check(exited(), &["ask 1 lost", "turn 1 lost: signal 9", "detached: signal 9"]);
    stage.check(choose_of(2, &["red"], None), &[r#"ask 2 answered by human: {"q": ["red"]}"#]);
}

#[test]
fn what_a_caller_takes_back_is_withdrawn_unless_it_was_answered() {
    let mut stage = desk();
    stage.check(asks("a", question()), &["ask 1 raised"]);
    stage.check(wants(Intent::Withdraw { ask: AskId(1) }), &["ask 1 withdrawn"]);
    stage.check(wants(Intent::Withdraw { ask: AskId(1) }), &[]);
    // What an agent asks is not a caller's to take back.
    let mut stage = Stage::open(Spec::default(), None, None).after(&asking());
    stage.check(wants(Intent::Withdraw { ask: AskId(1) }), &[]);
}

#[test]
fn not_being_shown_settles_nothing() {
    let mut stage = desk();
    stage.check(asks("a", question()), &["ask 1 raised"]);
    let why = "no reply within 20 s".to_owned();
    let not_shown = Intent::NotShown { ask: AskId(1), via: "editor".to_owned(), why };
    stage.check(wants(not_shown.clone()), &["ask 1 not shown by editor: no reply within 20 s"]);
    stage.check(choose(&["red"], None), &[r#"ask 1 answered by human: {"q": ["red"]}"#]);
    stage.check(wants(not_shown), &[]);
}

#[test]
fn a_command_runs_once_after_a_person_said_yes() {
    let start = || wants(Intent::StartCommand { ask: AskId(1) });
    let mut stage = desk();
    stage.check(asks("a", command()), &["ask 1 raised"]);
    stage.check(start(), &["refused: nobody has allowed this command to run"]);
    let yes = answer(human(), 1, Answer::plain(Decision::Accept));
    stage.check(yes, &["ask 1 answered by human: accept"]);
    stage.check(end(1), &["refused: the command does not run"]);
    stage.check(start(), &["command 1 started"]);
    assert!(stage.session.runs_command());
    stage.check(start(), &["refused: the command has been started already"]);
    stage.check(end(1), &["command 1 Exited { code: 0 }"]);
    stage.check(start(), &["refused: the command has been started already"]);
    stage.check(end(1), &["refused: the command does not run"]);
}

#[test]
fn a_yes_that_nobody_collects_is_a_yes_no_longer() {
    let mut stage = desk();
    stage.check(asks("a", command()), &["ask 1 raised"]);
    let yes = answer(human(), 1, Answer::plain(Decision::Accept));
    stage.check(yes, &["ask 1 answered by human: accept"]);
    stage.lines(Input::Wait(601));
    let start = wants(Intent::StartCommand { ask: AskId(1) });
    let too_late = "refused: the command was allowed over 600 s ago and not run; ask again";
    stage.check(start, &[too_late]);
}

#[test]
fn a_command_whose_runner_is_gone_is_lost_and_never_runs_again() {
    let mut stage = desk();
    stage.check(asks("a", command()), &["ask 1 raised"]);
    let yes = answer(human(), 1, Answer::plain(Decision::Accept));
    stage.check(yes, &["ask 1 answered by human: accept"]);
    let start = || wants(Intent::StartCommand { ask: AskId(1) });
    stage.check(start(), &["command 1 started"]);
    stage.check(exited(), &["command 1 Lost"]);
    stage.check(start(), &["refused: the command has been started already"]);
}

#[test]
fn a_caller_asks_for_no_secrets_and_for_nothing_that_only_agents_need() {
    let secret = Question { id: "q".to_owned(), is_secret: true, ..Question::default() };
    let files = Subject::FileChange { changes: vec![], grant_root: None };
    let mut stage = desk();
    stage.check(
        asks("a", Subject::Question { questions: vec![secret] }),
        &["refused: questions: a caller must not ask for secrets; send the person to a page instead"],
    );
    stage.check(
        asks("a", files),
        &["refused: subject: a caller asks about commands, questions, forms and pages only"],
    );
}

#[test]
fn many_questions_leave_room_for_commands() {
    let mut stage = desk();
    for number in 0..MAX_PENDING_QUESTIONS {
        let key = format!("q{number}");
        stage.check(asks(&key, question()), &[&format!("ask {} raised", number + 1)]);
    }
    stage.check(
        asks("one-more", question()),
        &["refused: session: 64 questions are pending already"],
    );
    stage.check(asks("c", command()), &["ask 65 raised"]);
}

#[test]
fn silence_says_what_a_rule_lets_it_say_and_never_yes() {
    let form = Subject::Form {
        server: "s".to_owned(),
        message: "Which?".to_owned(),
        schema: json!({ "type": "object", "properties": { "n": { "type": "integer", "default": 3 } } }),
    };
    for (subject, on_expiry, expected) in [
        (question(), OnExpiry::Expire, "expired after 60 s"),
        (question(), OnExpiry::Default, r#"expired after 60 s: {"q": ["blue"]}"#),
        (question(), OnExpiry::Cancel, "expired after 60 s: cancel"),
        (question(), OnExpiry::Decline, "expired after 60 s: decline"),
        (form, OnExpiry::Default, r#"expired after 60 s: {"n":3}"#),
        (command(), OnExpiry::Default, "expired after 60 s"),
        (command(), OnExpiry::Decline, "expired after 60 s: decline"),
    ] {
        let mut rule = Rule::new("late", RuleOutcome::Silent, |_, _| true);
        rule.on_expiry = Some(on_expiry);
        let mut stage = desk().under(Policy::of(vec![rule]));
        stage.check(asks("a", subject), &["ask 1 raised"]);
        let expected = format!("ask 1 {expected}");
        stage.check(Input::Tick(60), &[&expected]);
    }
}

#[test]
fn the_echo_of_a_callers_question_is_no_second_one() {
    let ask = AskRef { session: SessionId(Uuid::from_u128(0xab)), ask: AskId(7) };
    let echo = Request { echo_of: Some(ask), ..request("k", command()) };
    let mut stage = Stage::open(Spec::default(), None, None).after(&busy());
    let echoes = format!("k echoes {ask}");
    stage.check(Input::Agent(FromAgent::Asks(Box::new(echo))), &[&echoes]);
    assert!(stage.session.asks().is_empty());
    assert_eq!(stage.session.status(), Status::Running);
}

/// A session that holds what its caller asks.
fn desk() -> Stage {
    Stage::open(Spec { agentless: true, ..Spec::default() }, None, None)
}

fn question() -> Subject {
    let option = |id: &str, label: &str| QuestionOption {
        id: Some(id.to_owned()),
        label: label.to_owned(),
        ..QuestionOption::default()
    };
    let question = Question {
        id: "q".to_owned(),
        is_other: true,
        default: Some("blue".to_owned()),
        options: Some(vec![option("red", "Red"), option("blue", "Blue")]),
        ..Question::default()
    };
    Subject::Question { questions: vec![question] }
}

fn asks(key: &str, subject: Subject) -> Input {
    let patience = Patience::default();
    let request = CallerRequest { key: key.to_owned(), subject, reason: None, patience };
    wants(Intent::Ask { request: Box::new(request) })
}

fn choose(names: &[&str], other: Option<&str>) -> Input {
    choose_of(1, names, other)
}

fn choose_of(ask: u32, names: &[&str], other: Option<&str>) -> Input {
    let names: Vec<_> = names.iter().map(|&it| it.to_owned()).collect();
    let answers =
        if names.is_empty() { BTreeMap::new() } else { BTreeMap::from([("q".to_owned(), names)]) };
    let other = other.map(|it| ("q".to_owned(), it.to_owned())).into_iter().collect();
    answer(human(), ask, Answer::Chosen { answers, other })
}

fn end(ask: u32) -> Input {
    let result = CommandResult {
        end: CommandEnd::Exited { code: 0 },
        stdout: String::new(),
        stderr: String::new(),
        truncated: false,
    };
    wants(Intent::EndCommand { ask: AskId(ask), result: Box::new(result) })
}
