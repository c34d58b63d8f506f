//! How processes of the exec and proto dialects are started, and what is refused by name.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use pilothouse_codex::{
    exec::{MAX_ARGUMENT, Stdin, command},
    proto,
};
use pilothouse_core::{ApprovalPolicy, Overrides, Prompt, Sandbox, Spec};
use serde_json::{Value, json};

const TODAY: &str = "0.171.0";

fn spec(fields: Value) -> Spec {
    serde_json::from_value(fields).unwrap()
}

fn overridden(overrides: Overrides) -> Prompt {
    Prompt { overrides, ..Prompt::text("go") }
}

#[test]
fn command_lines_of_exec() {
    let check =
        |version: &str, spec: Value, thread: Option<&str>, prompt: Prompt, expected: &str| {
            let invocation = command(&self::spec(spec), thread, &prompt, Some(version)).unwrap();
            assert_eq!(invocation.args.join(" "), expected);
            assert_eq!(invocation.stdin, Stdin::Null, "{expected}");
        };
    let go = || Prompt::text("go");
    check(TODAY, json!({}), None, go(), "exec --skip-git-repo-check --json -- go");
    check("0.44.0", json!({}), None, go(), "exec --skip-git-repo-check --json -- go");
    check("0.43.0", json!({}), None, go(), "exec --skip-git-repo-check --experimental-json -- go");
    check("0.42.0", json!({}), None, go(), "exec --skip-git-repo-check --experimental-json -- go");
    check("0.40.0", json!({}), None, go(), "exec --skip-git-repo-check --json -- go");
    // What looks like a flag is none.
    check(
        TODAY,
        json!({}),
        None,
        Prompt::text("--full-auto"),
        "exec --skip-git-repo-check --json -- --full-auto",
    );
    let all = json!({
        "cwd": "/p", "sandbox": "workspace-write", "model": "m", "profile": "f", "effort": "low",
        "summary": "auto", "personality": "friendly", "developerInstructions": "d\n",
        "baseInstructions": "b", "ephemeral": true, "approvalPolicy": "never",
        "config": {"a.b": 1, "c": {"d": "e"}},
    });
    check(
        TODAY,
        all,
        None,
        Prompt { images: vec!["/i.png".into(), "/j.png".into()], ..go() },
        "exec --image=/i.png --image=/j.png --cd=/p --sandbox=workspace-write --model=m --profile=f \
         --config=a.b=1 --config=c={\"d\"=\"e\"} --config=model_reasoning_effort=\"low\" \
         --config=model_reasoning_summary=\"auto\" --config=personality=\"friendly\" \
         --config=developer_instructions=\"d\\n\" --config=instructions=\"b\" --ephemeral \
         --skip-git-repo-check --json -- go",
    );
    // All flags come before `resume`, which has had few of its own for long.
    let few = json!({"cwd": "/p", "sandbox": "read-only", "effort": "low"});
    for (version, events) in [(TODAY, "--json"), ("0.42.0", "--experimental-json")] {
        let expected = format!(
            "exec --cd=/p --sandbox=read-only --config=model_reasoning_effort=\"low\" \
             --skip-git-repo-check {events} resume -- T go"
        );
        check(version, few.clone(), Some("T"), go(), &expected);
    }
    // What a prompt changes goes before what the session was.
    let changed = Overrides {
        cwd: Some("/q".into()),
        sandbox: Some(Sandbox::DangerFullAccess),
        model: Some("n".into()),
        effort: Some("high".into()),
        ..Overrides::default()
    };
    check(
        TODAY,
        few,
        Some("T"),
        overridden(changed),
        "exec --cd=/q --sandbox=danger-full-access --model=n \
         --config=model_reasoning_effort=\"high\" --skip-git-repo-check --json resume -- T go",
    );
}

#[test]
fn large_and_odd_prompts_go_by_standard_input() {
    let check = |text: String, by_stdin: bool| {
        for thread in [None, Some("T")] {
            let prompt = Prompt::text(&text);
            let invocation = command(&Spec::default(), thread, &prompt, Some(TODAY)).unwrap();
            let (word, stdin) = if by_stdin {
                ("-", Stdin::Text(text.clone()))
            } else {
                (text.as_str(), Stdin::Null)
            };
            assert_eq!(invocation.args.last().map(String::as_str), Some(word));
            assert_eq!(invocation.stdin, stdin);
        }
    };
    check("x".repeat(MAX_ARGUMENT), false);
    check("x".repeat(MAX_ARGUMENT + 1), true);
    check("-".to_owned(), true);
    check("a\0b".to_owned(), true);
    check("- a".to_owned(), false);
}

#[test]
fn the_schema_goes_to_a_file_that_the_caller_names() {
    let schema = json!({"type": "object"});
    let prompt =
        overridden(Overrides { output_schema: Some(schema.clone()), ..Overrides::default() });
    for version in [TODAY, "0.42.0"] {
        for thread in [None, Some("T")] {
            let invocation = command(&Spec::default(), thread, &prompt, Some(version)).unwrap();
            assert_eq!(invocation.output_schema, Some(schema.clone()));
            let args = invocation.with_schema_file("/tmp/s.json").args;
            assert!(args.contains(&"--output-schema=/tmp/s.json".to_owned()), "{args:?}");
        }
    }
}

#[test]
fn a_forced_policy_is_said() {
    let check = |policy: Option<ApprovalPolicy>, n_warnings: usize| {
        let spec = Spec { approval_policy: policy, ..Spec::default() };
        let invocation = command(&spec, None, &Prompt::text("go"), Some(TODAY)).unwrap();
        assert_eq!(invocation.facts.approval_policy.as_deref(), Some("never"));
        assert_eq!(invocation.facts.dialect, "exec (no approvals)");
        assert_eq!(invocation.facts.version.as_deref(), Some(TODAY));
        assert_eq!(invocation.warnings.len(), n_warnings);
        assert!(!invocation.args.iter().any(|it| it.contains("approval")));
    };
    check(None, 0);
    check(Some(ApprovalPolicy::Never), 0);
    check(Some(ApprovalPolicy::Untrusted), 1);
    check(Some(ApprovalPolicy::OnRequest), 1);
}

#[test]
fn what_exec_does_not_take_is_refused_by_name() {
    let check =
        |version: &str, spec: Value, thread: Option<&str>, prompt: Prompt, expected: &[&str]| {
            let error = command(&self::spec(spec), thread, &prompt, Some(version)).unwrap_err();
            let names: Vec<_> =
                error.options.iter().map(|it| it.split(' ').next().unwrap_or_default()).collect();
            assert_eq!(names, expected, "{error}");
            let text = error.to_string();
            assert!(text.starts_with("Pilothouse could not"), "{text}");
            assert!(expected.iter().all(|it| text.contains(it)), "{text}");
        };
    let go = || Prompt::text("go");
    let images =
        |it: &[&str]| Prompt { images: it.iter().map(ToString::to_string).collect(), ..go() };
    check(
        TODAY,
        json!({"collaborationMode": {"mode": "plan"}}),
        None,
        go(),
        &["collaborationMode"],
    );
    check(TODAY, json!({"ephemeral": true}), Some("T"), go(), &["ephemeral"]);
    check(TODAY, json!({"config": {"a": null}}), None, go(), &["config.a"]);
    check(TODAY, json!({}), None, images(&["data:image/png;base64,AA=="]), &["images"]);
    check(TODAY, json!({}), None, images(&["/a,b.png"]), &["images"]);
    let long = "x".repeat(MAX_ARGUMENT);
    let long = json!({"developerInstructions": long});
    check(TODAY, long, None, go(), &["--config=developer_instructions=\"xxxxxxx…"]);
    let new = json!({
        "baseInstructions": "b", "developerInstructions": "d", "personality": "friendly",
        "ephemeral": true,
    });
    let names = ["baseInstructions", "developerInstructions", "personality", "ephemeral"];
    check("0.47.0", new.clone(), None, go(), &names);
    check("0.125.0", new, None, go(), &["baseInstructions"]);
    check("0.47.0", json!({}), None, images(&["/a.png"]), &["images"]);
    check("0.40.0", json!({}), Some("T"), go(), &["a"]);
    let schema = Overrides { output_schema: Some(json!({})), ..Overrides::default() };
    check("0.40.0", json!({}), None, overridden(schema), &["outputSchema"]);
}

#[test]
fn command_lines_of_proto() {
    let args = |it: Value| proto::args(&spec(it), Some("0.42.0"));
    assert_eq!(args(json!({})).unwrap(), ["proto"]);
    let all = json!({
        "cwd": "/p", "approvalPolicy": "untrusted", "sandbox": "workspace-write", "model": "m",
        "profile": "f", "effort": "low", "summary": "auto", "config": {"include_plan_tool": true},
    });
    let expected = [
        "proto",
        "--config=include_plan_tool=true",
        "--config=profile=\"f\"",
        "--config=approval_policy=\"untrusted\"",
        "--config=sandbox_mode=\"workspace-write\"",
        "--config=model=\"m\"",
        "--config=model_reasoning_effort=\"low\"",
        "--config=model_reasoning_summary=\"auto\"",
    ];
    assert_eq!(args(all).unwrap(), expected);
    let refused = json!({
        "baseInstructions": "b", "developerInstructions": "d", "personality": "p",
        "collaborationMode": {}, "ephemeral": true, "config": {"a": null},
    });
    let error = args(refused).unwrap_err();
    let expected = [
        "baseInstructions",
        "developerInstructions",
        "personality",
        "collaborationMode",
        "ephemeral",
        "config.a",
    ];
    assert_eq!(error.options, expected);
}
