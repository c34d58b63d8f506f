//! Recordings of `codex exec`, replayed.

use std::collections::BTreeSet;

use pilothouse_codex::{
    Tag,
    exec::{Exit, Invocation, Reader, Stdin, command},
};
use pilothouse_core::{
    Effect, Facts, Intent, Outcome, Overrides, Progress, Prompt, Sandbox, Spec, ToAgent,
};
use pilothouse_testkit::{
    Recording,
    recording::{self, Direction},
};
use serde_json::{Map, Value, json};

use crate::desk::Desk;

/// How a recorded process was started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// As one of ours is, but for spelling.
    Ours,
    /// As none of ours is: with flags of its own, with data beside the prompt, or with options that
    /// we refuse for that version.
    Theirs,
}
use Start::{Ours, Theirs};

macro_rules! recordings {
    ($($module:ident = $folder:literal { $($name:ident: $start:ident,)* })*) => {$(
        mod $module {
            use super::*;

            $(#[test]
            fn $name() {
                replay($folder, stringify!($name), $start);
            })*

            #[test]
            fn all_are_replayed() {
                let listed: BTreeSet<String> = [$(stringify!($name).to_owned()),*].into();
                let there = recording::all($folder).unwrap();
                let there: BTreeSet<String> = there.into_iter().map(|it| it.scenario).collect();
                assert_eq!(listed, there);
            }
        }
    )*};
}

recordings! {
    v0_40_0 = "exec-0.40.0" {
        experimental_json_all: Theirs,
        experimental_json_error: Theirs,
        experimental_json_message: Theirs,
        json_error: Ours,
        json_message: Ours,
    }
    v0_42_0 = "exec-0.42.0" {
        experimental_json_error: Ours,
        experimental_json_message: Ours,
        experimental_json_sigterm: Ours,
        json_all: Theirs,
        json_error: Theirs,
        json_message: Theirs,
        resume_unknown: Ours,
    }
    v0_44_0 = "exec-0.44.0" {
        experimental_json_all: Theirs,
        experimental_json_error: Theirs,
        experimental_json_message: Theirs,
        json_all: Ours,
        json_error: Ours,
        json_message: Ours,
    }
    v0_47_0 = "exec-0.47.0" {
        experimental_json_all: Theirs,
        experimental_json_error: Theirs,
        experimental_json_message: Theirs,
        image_input: Theirs,
        json_all: Ours,
        json_error: Ours,
        json_message: Ours,
        resume_unknown: Ours,
    }
    v0_171_0 = "exec-0.171.0" {
        approval_policy_config_untrusted: Ours,
        approval_policy_override: Theirs,
        bad_flag: Theirs,
        codemode_parallel: Ours,
        command_ok_fail: Ours,
        dangerous_bypass: Theirs,
        empty_prompt: Ours,
        ephemeral: Ours,
        error_http_500: Ours,
        error_retry: Ours,
        escalation_denied: Ours,
        experimental_json_flag: Theirs,
        file_change: Ours,
        file_change_denied_readonly: Ours,
        full_auto_flag: Theirs,
        image_input: Ours,
        mcp_tool_call: Ours,
        mcp_tool_needs_approval: Ours,
        message_reasoning: Ours,
        no_git_repo: Theirs,
        output_schema: Theirs,
        resume_after_sigterm: Ours,
        resume_by_id: Ours,
        resume_last: Theirs,
        resume_output_schema: Ours,
        resume_unknown: Ours,
        review_json: Theirs,
        sigint_command: Ours,
        sigterm_command: Ours,
        stdin_no_arg: Theirs,
        stdin_plus_prompt: Theirs,
        stdin_prompt: Ours,
        todo_list: Ours,
        warning_item: Ours,
        web_search: Ours,
    }
}

/// What a recorded command line asks for.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    spec: Spec,
    prompt: Prompt,
    thread: Option<String>,
    /// The flag that asks for events.
    events: Option<String>,
    /// What we have no word for.
    strange: Vec<String>,
}

fn replay(folder: &str, name: &str, start: Start) {
    let recording = recording::named(folder, name).unwrap();
    let version = folder.strip_prefix("exec-").unwrap();
    let started = &recording.lines()[0].msg;
    let argv: Vec<String> = serde_json::from_value(started["argv"].clone()).unwrap();
    let wanted = wanted(&argv[1..], started["stdin"].as_str());
    let invocation = match start {
        Ours => ours(version, &wanted, started["stdin"].as_str()),
        Theirs => theirs(version, &wanted),
    };
    let log = log(&recording, &wanted, &invocation);
    insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!(format!("{folder}__{name}"), log);
    });
}

/// Our own invocation, which must ask for the same thing.
fn ours(version: &str, wanted: &Wanted, stdin: Option<&str>) -> Invocation {
    let Wanted { spec, prompt, thread, .. } = wanted;
    let invocation = command(spec, thread.as_deref(), prompt, Some(version)).unwrap();
    let stdin = match &invocation.stdin {
        Stdin::Text(text) => Some(text.as_str()),
        // Long prompts are ours to send otherwise, and the script's were short.
        Stdin::Null => stdin,
    };
    let named = invocation.clone().with_schema_file("/home/dev/schema.json");
    let mut said = self::wanted(&named.args, stdin);
    if said.prompt.text == "-" {
        said.prompt.text.clone_from(&prompt.text);
    }
    assert_eq!(&said, wanted);
    invocation
}

/// The events are ours to read whoever asked for them.
fn theirs(version: &str, wanted: &Wanted) -> Invocation {
    Invocation {
        args: vec![],
        stdin: Stdin::Null,
        output_schema: None,
        thread: wanted.thread.clone().filter(|it| it != "--last"),
        facts: Facts {
            version: Some(version.into()),
            dialect: "exec (no approvals)".into(),
            approval_policy: Some("never".into()),
            ..Facts::default()
        },
        warnings: vec![],
    }
}

fn log(recording: &Recording, wanted: &Wanted, invocation: &Invocation) -> String {
    let mut desk = Desk::open(Tag(0), &wanted.spec, Some(wanted.prompt.clone()));
    let mut reader = Reader::new(invocation, "t1");
    for line in recording.lines() {
        desk.at(line.t);
        let said = match line.dir {
            Direction::In => {
                let raw = line.msg["_raw"].as_str().map(ToOwned::to_owned);
                reader.line(&raw.unwrap_or_else(|| line.msg.to_string()))
            }
            Direction::Note if line.msg["signal"] == "SIGTERM" => {
                let effects = desk.intend(Intent::Interrupt);
                let told = |it: &Effect| matches!(it, Effect::Tell(ToAgent::Interrupt { .. }));
                assert!(effects.iter().any(told));
                reader.interrupted();
                vec![]
            }
            Direction::Note if line.msg.get("exit_code").is_some() => {
                let code = line.msg["exit_code"].as_i64().and_then(|it| i32::try_from(it).ok());
                let stderr = line.msg["stderr_tail"].as_str().unwrap_or_default().to_owned();
                reader.exited(&Exit { code: code.filter(|it| *it >= 0), stderr })
            }
            Direction::Note | Direction::Out => vec![],
        };
        for message in said {
            desk.hear(message);
        }
    }
    assert!(desk.session.turn().is_none(), "the turn never ended");
    assert!(reader.is_over());
    assert_eq!(reader.n_malformed(), 0);
    desk.into_log()
}

/// Reads a command line as Codex does.
fn wanted(argv: &[String], stdin: Option<&str>) -> Wanted {
    let mut wanted = Wanted {
        spec: Spec::default(),
        prompt: Prompt::default(),
        thread: None,
        events: None,
        strange: vec![],
    };
    let (mut words, mut is_resume) = (Vec::new(), false);
    let mut rest = argv.iter().cloned();
    while let Some(word) = rest.next() {
        if word == "--" {
            words.extend(rest.by_ref());
            break;
        }
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag.to_owned(), Some(value.into())),
            _ => (word.clone(), None),
        };
        let mut value = || value.clone().or_else(|| rest.next()).unwrap();
        match flag.as_str() {
            "exec" | "--skip-git-repo-check" => {}
            "resume" => is_resume = true,
            "--json" | "--experimental-json" => wanted.events = Some(flag),
            "--ephemeral" => wanted.spec.ephemeral = true,
            "-i" | "--image" => wanted.prompt.images.push(value()),
            "-C" | "--cd" => wanted.spec.cwd = value(),
            "-m" | "--model" => wanted.spec.model = Some(value()),
            "-s" | "--sandbox" => {
                let sandbox: Sandbox = serde_json::from_value(value().into()).unwrap();
                wanted.spec.sandbox = Some(sandbox);
            }
            "-c" | "--config" => {
                let setting = value();
                let (key, value) = setting.split_once('=').unwrap();
                // The recorded tables are simple enough for this.
                let json = value.replace("{enabled=", "{\"enabled\":").replace("\"=", "\":");
                let value = serde_json::from_str(&json).unwrap_or_else(|_| value.into());
                wanted.spec.config.insert(key.into(), value);
            }
            "--output-schema" => {
                value();
                wanted.prompt.overrides = Overrides {
                    output_schema: Some(json!({"type": "object"})),
                    ..Overrides::default()
                };
            }
            flag if flag.starts_with('-') && flag != "-" && flag != "--last" => {
                wanted.strange.push(flag.into());
            }
            _ => words.push(word),
        }
    }
    let mut words = words.into_iter();
    if is_resume {
        wanted.thread = words.next();
    }
    wanted.prompt.text = words.next().unwrap_or_default();
    if wanted.prompt.text.is_empty() || wanted.prompt.text == "-" {
        stdin.unwrap_or("-").clone_into(&mut wanted.prompt.text);
    }
    wanted.strange.extend(words);
    wanted
}

/// What a line cannot be, however it came to be there.
#[test]
fn noise_between_the_lines_changes_nothing() {
    let invocation = command(&Spec::default(), None, &Prompt::text("x"), None).unwrap();
    let lines = [
        "Reading additional input from stdin...",
        "{\"type\":\"thread.started\",",
        "{\"type\":\"thread.started\",\"thread_id\":\"a\"}",
        "[1,2]",
        "\"turn.started\"",
        "{\"type\":\"turn.started\"}",
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"item_0\",\"type\":\"agent_message\",\"text\":\"b\"}}",
        "{}",
        "null",
        "{\"type\":\"turn.completed\",\"usage\":null}",
    ];
    let mut desk = Desk::open(Tag(0), &Spec::default(), Some(Prompt::text("x")));
    let mut reader = Reader::new(&invocation, "t1");
    for line in lines {
        for message in reader.line(line) {
            desk.hear(message);
        }
    }
    assert_eq!(reader.n_malformed(), 5);
    // The turn ends with the process, so that the next one finds the thread free.
    assert!(reader.is_over());
    let is_running = |it: &Desk| {
        it.session.turn().is_some_and(|it| it.progress == Progress::Started("t1".into()))
    };
    assert!(is_running(&desk));
    for message in reader.exited(&Exit { code: Some(0), stderr: String::new() }) {
        desk.hear(message);
    }
    let ended = desk.session.last_turn().unwrap();
    assert_eq!((&ended.outcome, ended.report.output.as_deref()), (&Outcome::Completed, Some("b")));
    // The session keeps its agent, and its next prompt is told at once.
    let effects = desk.intend(Intent::Prompt {
        prompt: Prompt::text("y"),
        when_busy: pilothouse_core::WhenBusy::Refuse,
    });
    assert!(matches!(effects[..], [Effect::Tell(ToAgent::StartTurn { .. })]));
    assert_eq!(reader.exited(&Exit::default()), []);
    assert_eq!(reader.line(lines[2]), []);
}

#[test]
fn a_session_that_has_its_agent_hears_that_a_process_failed() {
    let spec = Spec::default();
    let first = command(&spec, None, &Prompt::text("x"), None).unwrap();
    let mut desk = Desk::open(Tag(0), &spec, Some(Prompt::text("x")));
    let mut reader = Reader::new(&first, "t1");
    for message in reader.line(r#"{"type":"thread.started","thread_id":"a"}"#) {
        desk.hear(message);
    }
    for message in reader.exited(&Exit { code: Some(1), stderr: "Error: no\n".into() }) {
        desk.hear(message);
    }
    let prompt = Prompt::text("y");
    desk.intend(Intent::Prompt {
        prompt: prompt.clone(),
        when_busy: pilothouse_core::WhenBusy::Refuse,
    });
    let second = command(&spec, Some("a"), &prompt, None).unwrap();
    let mut reader = Reader::new(&second, "t2");
    let stderr = "Error: thread/resume failed: no rollout found for thread id a\n".to_owned();
    for message in reader.exited(&Exit { code: Some(1), stderr }) {
        desk.hear(message);
    }
    insta::assert_snapshot!(desk.into_log());
}

/// The config that a recorded command line was read to have; shown when a replay disagrees.
#[test]
fn recorded_settings_are_read() {
    let argv = ["exec", "-c", "tools.update_plan={enabled=true}", "-c", "a=\"b\"", "x"];
    let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
    let config: Map<String, Value> =
        json!({"tools.update_plan": {"enabled": true}, "a": "b"}).as_object().unwrap().clone();
    assert_eq!(wanted(&argv, None).spec.config, config);
}
