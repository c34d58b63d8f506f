//! `pilothouse rules` as a program: what it says of lines and of what was asked, and that a rule
//! that it takes back holds no longer in another process.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use pilothouse::{
    Broker, Config, Start,
    core::{
        Actor, ApprovalPolicy, Intent, Patience, Prompt, Sandbox, SessionId, SessionView, Spec,
        Status, WhenBusy,
    },
    store::{Sqlite, Store},
};
use pilothouse_server::settings::{Flags, Settings};
use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule},
    workspace_root,
};
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(20);

/// How a rule is called inside that was given without a name.
const UNNAMED: &str = "name = \"preview\"";

const FILE: &str = "# mine\nlog = 'error'  # quiet\n\n[[rules]]\nname = \"make\"\n\
                    command = [\"make\", [\"all\", \"test\"]]\noutcome = \"allow\"\n\
                    match = [\"make test\"]\nnot_match = [\"make install\"]\n\
                    expires = 2999-01-01T00:00:00Z\n\n# never\n[[rules]]\nname = \"no push\"\n\
                    command = [\"git\", \"push\"]\noutcome = \"refuse\"\n";

#[test]
fn a_sample_of_the_tables_gets_its_verdicts() {
    let home = tempfile::tempdir().unwrap();
    for (table, every) in [("commands.tsv", 4), ("commands-more.tsv", 60)] {
        let table = fs::read_to_string(workspace_root().join("fixtures").join(table)).unwrap();
        for row in table.lines().skip(1).step_by(every) {
            let (verdict, rest) = row.split_once('\t').unwrap();
            let line = rest.split_once('\t').unwrap().0;
            if line.contains('<') && (line.contains("<U+") || line.contains("<LF>")) {
                continue;
            }
            let expected = if verdict.starts_with("safe") { "safe" } else { "ask" };
            let told = told(home.path(), &["rules", "explain", "--json", line]);
            assert_eq!(told["verdict"], expected, "{line}");
            let segments = told["segments"].as_array().unwrap();
            let strictest = segments.iter().any(|it| it["verdict"] == "ask");
            assert_eq!(strictest, expected == "ask", "{told}");
            for segment in segments {
                assert!(segment["argv"].is_array() && segment["reason"] != "", "{told}");
                assert!(line.contains(segment["text"].as_str().unwrap()), "{told}");
            }
        }
    }
}

#[test]
fn a_line_is_explained_with_the_rules_about_each_command() {
    let home = home(FILE);
    let line = "make all && ls | head; git -C x push";
    let told = told(home.path(), &["rules", "explain", "--json", line]);
    let rules: Vec<&Value> =
        told["segments"].as_array().unwrap().iter().map(|it| &it["rules"]).collect();
    let make = json!([{ "name": "make", "outcome": "allow" }]);
    let push = json!([{ "name": "no push", "outcome": "refuse" }]);
    assert_eq!(rules, [&make, &json!([]), &json!([]), &push]);
    assert_eq!((&told["answer"], &told["answeredBy"]), (&json!("refuse"), &json!("no push")));

    let text = said(home.path(), &["rules", "explain", "make all; cat \u{1b}x"]);
    assert!(text.contains("not understood") && !text.contains('\u{1b}'), "{text:?}");
    let text = said(home.path(), &["rules", "explain", "make all | tail"]);
    assert!(text.contains("rule make: allow") && text.contains("allowed by make"), "{text}");
    assert!(text.contains("runs what the project says"), "{text}");
    let text = said(home.path(), &["rules", "explain", "--", "--help"]);
    assert!(text.contains("a person is asked"), "{text}");
}

#[test]
fn rules_are_listed_with_scope_end_and_examples() {
    let home = home(FILE);
    let text = said(home.path(), &["rules", "list"]);
    for expected in [
        "make: allow commands that begin with make all|test",
        "everywhere, until 2999-01-01T00:00:00Z",
        "matches make test",
        "does not match make install",
        "no push: refuse commands that begin with git push",
        &format!("The rules of {}:", home.path().join("pilothouse.toml").display()),
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let told = told(home.path(), &["rules", "list", "--json"]);
    let expected = json!({
        "name": "make", "command": ["make", ["all", "test"]], "outcome": "allow",
        "expires": "2999-01-01T00:00:00Z", "expired": false,
        "match": ["make test"], "not_match": ["make install"],
    });
    assert_eq!(told["rules"][0], expected);
    assert_eq!(told["rules"].as_array().unwrap().len(), 2);
    assert_eq!(told["file"], json!(home.path().join("pilothouse.toml")));
}

#[test]
fn a_file_that_fails_its_examples_is_refused_whole_with_the_place() {
    let home = home(&FILE.replace("match = [\"make test\"]", "match = [\"make clean\"]"));
    for args in [&["rules", "list"][..], &["rules", "explain", "ls"], &["token"]] {
        let output = pilothouse(home.path(), args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("line 4, rule \"make\""), "{error}");
        assert!(error.contains("does not match \"make clean\""), "{error}");
        assert!(error.starts_with("Pilothouse could not "), "{error}");
    }
}

#[test]
fn a_rule_is_taken_out_and_all_else_stays() {
    let home = home(FILE);
    let path = home.path().join("pilothouse.toml");
    let failed = pilothouse(home.path(), &["rules", "revoke", "mak"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8(failed.stderr).unwrap().contains("there are: make, no push"));
    assert_eq!(fs::read_to_string(&path).unwrap(), FILE);

    said(home.path(), &["rules", "revoke", "make"]);
    let left = fs::read_to_string(&path).unwrap();
    assert!(left.starts_with("# mine\nlog = 'error'  # quiet\n"), "{left}");
    assert!(left.contains("# never\n[[rules]]\nname = \"no push\""), "{left}");
    assert!(!left.contains("make"), "{left}");

    // An agent may give up what is allowed, and nothing that holds it back; without a terminal
    // anyone may be an agent.
    let revoke = |args: &[&str], agent: &str| {
        Command::new(env!("CARGO_BIN_EXE_pilothouse"))
            .args(["rules", "revoke", "no push"])
            .args(args)
            .env("PILOTHOUSE_HOME", home.path())
            .env_remove("PILOTHOUSE_STORE")
            .env_remove("PILOTHOUSE_AGENT")
            .envs((!agent.is_empty()).then_some(("PILOTHOUSE_AGENT", agent)))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap()
    };
    for (agent, why) in [
        ("x/y/z", "was started by an agent"),
        ("", "this is no terminal, so there may be no person"),
    ] {
        let output = revoke(&[], agent);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("Pilothouse could not revoke \"no push\": "), "{said}");
        assert!(said.contains(why), "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), left);
    }
    let wrong = home.path().join("wrong");
    fs::write(&wrong, "phh_wrong").unwrap();
    let wrong = ["--token-file", wrong.to_str().unwrap()];
    assert_eq!(revoke(&wrong, "").status.code(), Some(1));
    assert_eq!(fs::read_to_string(&path).unwrap(), left);
}

#[tokio::test]
async fn what_one_process_takes_back_holds_no_longer_in_another() {
    let home = home(FILE);
    let ask = Ask { command: "make all".to_owned(), ..Ask::default() };
    let actions =
        vec![Action::BeginTurn, Action::Ask(ask), Action::EndTurn("completed".to_owned())];
    let agent = FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap();
    let broker = broker(home.path(), &agent).await;
    let spec = Spec {
        cwd: home.path().display().to_string(),
        approval_policy: Some(ApprovalPolicy::Untrusted),
        sandbox: Some(Sandbox::WorkspaceWrite),
        patience: Patience::Forever,
        ..Spec::default()
    };
    let prompt = Some(Prompt::text("go"));
    let id = broker.start(Start { spec, prompt, by: caller() }).await.unwrap();
    until(&broker, id, |it| it.turns == 1 && it.status == Status::Idle).await;

    said(home.path(), &["rules", "revoke", "make"]);
    let again = Intent::Prompt { prompt: Prompt::text("again"), when_busy: WhenBusy::Refuse };
    broker.act(id, again, &caller()).await.unwrap();
    until(&broker, id, |it| it.pending_request_count == 1).await;

    let inline = "command = [\"make\"], outcome = \"refuse\"";
    let preview = told(home.path(), &["rules", "preview", "--json", inline]);
    assert_eq!((&preview["looked"], &preview["answered"]), (&json!(2), &json!(2)), "{preview}");
    assert_eq!(preview["asks"][0]["answer"], "refuse");
    assert_eq!(preview["asks"][0]["answeredBy"], "preview");
    assert!(preview["asks"][0]["about"].as_str().unwrap().contains("make all"));
    let none = said(home.path(), &["rules", "preview", "--last", "1", "no push"]);
    assert_eq!(none.trim(), "0 of the last 1 asks would have been answered");
    let scoped = format!("{{ name = \"s\", {inline}, workspace = \"/elsewhere\" }}");
    let elsewhere = told(home.path(), &["rules", "preview", "--json", &scoped]);
    assert_eq!(elsewhere["answered"], 0, "{elsewhere}");
    let no_list = pilothouse(home.path(), &["rules", "preview", "command = \"bash -c\""]);
    let no_list = String::from_utf8(no_list.stderr).unwrap();
    assert!(no_list.contains("`command` is a list: command = [\"bash\", \"-c\"]"), "{no_list}");
    let unknown = pilothouse(home.path(), &["rules", "preview", "colour = 1"]);
    let unknown = String::from_utf8(unknown.stderr).unwrap();
    assert!(unknown.contains("unknown field `colour`"), "{unknown}");
    for inside in [UNNAMED, "[{", "line 1"] {
        assert!(!no_list.contains(inside) && !unknown.contains(inside), "{no_list}{unknown}");
    }
    let bad = pilothouse(home.path(), &["rules", "preview", "other"]);
    assert_eq!(bad.status.code(), Some(1));
    broker.stop().await;
}

async fn broker(home: &Path, agent: &FakeAgent) -> Broker {
    let flags = Flags { home: Some(home.to_owned()), ..Flags::default() };
    let settings = Settings::from_parts(&flags, &|_| None).unwrap();
    let store: std::sync::Arc<dyn Store> = Sqlite::open(&home.join("pilothouse.db")).unwrap();
    let mut config = Config::new(store, &format!("rules-{}", std::process::id()), "test");
    config.agent.binary = Some(agent.executable());
    config.policy = settings.policy_source();
    Broker::open(config).await.unwrap()
}

async fn until(broker: &Broker, id: SessionId, holds: impl Fn(&SessionView) -> bool) {
    let view = broker.wait_until(id, LONG, &holds).await.unwrap();
    assert!(holds(&view), "{view:?}");
}

fn caller() -> Actor {
    Actor::Caller { id: "c".to_owned() }
}

fn home(file: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("pilothouse.toml"), file).unwrap();
    home
}

fn pilothouse(home: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pilothouse"))
        .args(args)
        .env("PILOTHOUSE_HOME", home)
        .env_remove("PILOTHOUSE_AGENT")
        .env_remove("PILOTHOUSE_STORE")
        .output()
        .unwrap()
}

fn said(home: &Path, args: &[&str]) -> String {
    let output = pilothouse(home, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn told(home: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&said(home, args)).unwrap()
}
