//! `pilothouse inbox` and `sessions`, as people and scripts use them.

use std::fs;

use pilothouse_testkit::{
    FakeAgent, ScriptedModel,
    agent::{Action, Ask, Rule},
    codex_binary,
};
use serde_json::{Value, json};

use super::{
    place::{Place, wait_for},
    terminal::Terminal,
};

/// What hides a command: a terminal's escapes, direction, no width, and blanks without end.
fn hostile() -> String {
    let blanks = " ".repeat(4_000);
    format!("touch ran.txt #\u{1b}[2K\u{1b}[1A\u{202e}\u{200b}\u{a0}\r{blanks}; echo the end")
}

/// An agent that asks for a command, as often as it is prompted.
fn asking(command: &str) -> FakeAgent {
    let ask = Ask { command: command.to_owned(), ..Ask::default() };
    let actions =
        vec![Action::BeginTurn, Action::Ask(ask), Action::EndTurn("completed".to_owned())];
    FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap()
}

fn fake_place(agent: &FakeAgent) -> Place {
    let home = agent.dir().display().to_string();
    Place::new(&agent.executable(), vec![("HOME".to_owned(), home)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_command_is_readable_on_a_terminal_and_runs_when_allowed() {
    let model = ScriptedModel::start().await.unwrap();
    let mut vars = model.env();
    vars.push(("HOME".to_owned(), model.codex_home().display().to_string()));
    let place = Place::new(&codex_binary().unwrap(), vars);
    let serve = place.serve("warn");
    let terminal = Terminal::open(&place);
    terminal.type_line("clear; $P inbox watch; echo left with $?");
    terminal.wait("Nothing waits for an answer.");

    let script = json!([
        [{"cmd": hostile()}], [{"cmd": "touch second.txt"}], [{"msg": "done"}]
    ]);
    let session = serve.start(&format!("go\nSCRIPT:{script}"), place.folder.path());
    let screen = terminal.wait("[y accept once");
    for part in
        ["touch ran.txt #\\e[2K\\e[1A\\u{202E}\\u{200B}\\u{00A0}\\r␠×4000; echo the end", &session]
    {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    let found = "WARNING  it holds what cannot be seen or misleads: 3 × control character, 1 × \
                 changes text direction, 1 × invisible character, 1 × looks like a space, 4000 × \
                 padding";
    assert!(screen.contains(found), "{screen}");
    // While somebody watches, it waits.
    assert!(screen.contains("Expires   never"), "{screen}");
    assert!(screen.contains("1. accept: once"), "{screen}");
    // What stands for something is told apart from the same words.
    assert!(terminal.coloured().contains("\u{1b}[7m\\e"), "{}", terminal.coloured());

    let ask = place.ask();
    let (id, digest) = (ask["requestId"].as_str().unwrap(), ask["digest"].as_str().unwrap());
    assert!(screen.contains(digest), "{screen}");
    assert_eq!(ask["subject"]["cwd"], json!(place.folder.path()));
    // A letter among others is no answer, nor is one that means nothing.
    terminal.type_line("maybe y");
    terminal.key("x");
    terminal.key("y");
    terminal.wait("answered with accept by a person (cli)");
    terminal.wait("touch second.txt");
    terminal.wait(&id.replace("_1", "_2"));
    terminal.key("n");
    terminal.wait("Why not?");
    terminal.type_line("not in this folder");
    terminal.wait("answered with decline by a person (cli)");
    wait_for("an idle session", || {
        let sessions = place.json(&["sessions", "--json"]);
        (sessions["sessions"][0]["status"] == "idle").then_some(())
    });
    assert!(place.folder.path().join("ran.txt").is_file());
    assert!(!place.folder.path().join("second.txt").exists());
    let log = serve.get(&format!("/api/v1/sessions/{session}/events?limit=1000"));
    assert!(log.contains("\"reason\":\"not in this folder\""), "{log}");
    terminal.key("q");
    terminal.wait("left with 0");

    let (screen, code) = terminal.run(&format!("$P inbox answer {id} --decline --digest {digest}"));
    assert_eq!(code, 3, "{screen}");
    assert!(screen.contains("it was answered with accept by a person (cli) at 20"), "{screen}");
    let (screen, code) = terminal.run(&format!("$P inbox show {id}"));
    assert_eq!(code, 0);
    assert!(screen.contains("Settled   answered with accept by a person (cli)"), "{screen}");
    let (screen, _) = terminal.run("$P sessions");
    assert!(screen.contains(&session) && screen.contains("idle"), "{screen}");
    serve.leave();
}

#[test]
fn what_is_settled_elsewhere_is_said_and_the_next_is_shown() {
    let agent = asking("touch a");
    let place = fake_place(&agent);
    let serve = place.serve("warn");
    let terminal = Terminal::open(&place);
    let session = serve.start("go", place.folder.path());
    let ask = place.ask();
    let id = ask["requestId"].as_str().unwrap();
    terminal.type_line("clear; $P inbox watch; echo left with $?");
    terminal.wait("[y accept once");
    // It is settled elsewhere, and the next one is shown.
    let cancelled = serve.post(
        &format!("/api/v1/asks/{id}/answer"),
        &json!({"decision": "cancel", "digest": ask["digest"]}),
    );
    assert!(cancelled.starts_with("HTTP/1.1 200 "), "{cancelled}");
    terminal.wait("answered with cancel by the caller token");
    wait_for("an idle session", || {
        let path = format!("/api/v1/sessions/{session}/prompt");
        let prompted = serve.post(&path, &json!({"prompt": "again"}));
        prompted.starts_with("HTTP/1.1 20").then_some(())
    });
    terminal.wait(&id.replace("_1", "_2"));
    terminal.key("q");
    terminal.wait("left with 0");
    serve.leave();
}

#[test]
fn only_a_person_answers() {
    let agent = asking("touch a");
    let place = fake_place(&agent);
    let serve = place.serve("warn");
    let terminal = Terminal::open(&place);
    let session = serve.start("go", place.folder.path());
    let ask = place.ask();
    let (id, digest) = (ask["requestId"].as_str().unwrap(), ask["digest"].as_str().unwrap());
    let answer = format!("inbox answer {id} --accept --digest {digest}");

    for below in [
        format!("PILOTHOUSE_AGENT=s/n/1 $P {answer}"),
        // One that has lost its mark has a parent that has not.
        format!("PILOTHOUSE_AGENT=s/n/1 sh -c 'env -u PILOTHOUSE_AGENT $P {answer}; exit $?'"),
    ] {
        let (screen, code) = terminal.run(&below);
        assert_eq!(code, 1, "{screen}");
        let flat: String = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("Pilothouse could not answer: this command was started by an agent"));
        assert!(flat.contains("answer in the console at http://127.0.0.1:"), "{flat}");
    }
    let args: Vec<&str> = answer.split(' ').collect();
    let refused = place.run(&args);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("this is no terminal, so there may be no person"), "{said}");
    // Looking is for everyone.
    let shown = place.command(&["inbox", "show", id]).env("PILOTHOUSE_AGENT", "s/n/1").output();
    assert!(String::from_utf8(shown.unwrap().stdout).unwrap().contains("touch a"));
    assert_eq!(place.ask()["requestId"], id, "it waits still");

    // A person's token is a person's word.
    let token = place.home.path().join("human");
    let (_, code) = terminal.run(&format!("$P token --human > {}", token.display()));
    assert_eq!(code, 0);
    let bad = place.command(&args).env("PILOTHOUSE_HUMAN_TOKEN", "phh_wrong").output().unwrap();
    assert_eq!(bad.status.code(), Some(1));
    assert!(!String::from_utf8(bad.stderr).unwrap().contains("phh_wrong"));
    let token_file = token.to_str().unwrap();
    let wrong = ["inbox", "answer", id, "--accept", "--digest", "0", "--token-file", token_file];
    assert_eq!(place.run(&wrong).status.code(), Some(1));
    let mut with_token = args.clone();
    with_token.extend(["--token-file", token_file]);
    let given = place.run(&with_token);
    assert!(given.status.success(), "{}", String::from_utf8_lossy(&given.stderr));
    let said = String::from_utf8(given.stdout).unwrap();
    assert!(said.contains("answered with accept by a person (cli)"), "{said}");
    assert_eq!(place.run(&with_token).status.code(), Some(3));

    let log = serve.get(&format!("/api/v1/sessions/{session}/events?limit=1000"));
    let by = "\"by\":{\"type\":\"human\",\"via\":\"cli\",\"verified\":true}";
    assert!(log.contains(by), "{log}");
    serve.leave();
}

#[test]
fn what_runs_below_an_mcp_host_is_no_person() {
    let agent = asking("touch a");
    let place = fake_place(&agent);
    let serve = place.serve("warn");
    let terminal = Terminal::open(&place);
    serve.start("go", place.folder.path());
    let ask = place.ask();
    let (id, digest) = (ask["requestId"].as_str().unwrap(), ask["digest"].as_str().unwrap());
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "codex_session", "arguments": {"action": "list"}}});
    // A host: it starts the server, has it answer, and has its model run commands, in a terminal.
    let host = format!(
        "mkfifo in out\n$P mcp <in >out 2>err &\nexec 3>in\n\
         printf '%s\\n' '{hello}' '{ready}' '{call}' >&3\nhead -n 2 out\n\
         $P inbox answer {id} --accept --digest {digest}\necho code $?\nexec 3>&-\nwait\n"
    );
    fs::write(place.folder.path().join("host.sh"), host).unwrap();
    let (screen, _) = terminal.run("sh host.sh");
    assert!(screen.contains("by an MCP host") && screen.contains("code 1"), "{screen}");
    assert_eq!(place.ask()["requestId"], id, "it waits still");
    serve.leave();
}

#[test]
fn exit_codes_tell_what_was_wrong() {
    let agent = asking("touch a");
    let place = fake_place(&agent);
    let terminal = Terminal::open(&place);
    let nobody = "req_0123456789abcdef0123456789abcdef_1";
    for (line, code) in [
        (format!("$P inbox show {nobody}"), 4),
        (format!("$P inbox answer {nobody} --accept --digest 0"), 4),
        (format!("$P inbox answer {nobody}"), 2),
        (format!("$P inbox answer {nobody} --accept --decline"), 2),
        ("$P inbox answer this --accept".to_owned(), 2),
        ("$P inbox".to_owned(), 0),
        ("$P --store memory: inbox".to_owned(), 1),
        ("$P sessions --limit 0".to_owned(), 2),
    ] {
        let (screen, exit) = terminal.run(&line);
        assert_eq!(exit, code, "{line}: {screen}");
    }
}

#[test]
fn a_person_agrees_to_what_was_just_shown() {
    let agent = asking("touch a; ls");
    let place = fake_place(&agent);
    // Without a `serve` that shows anything: the owner is told by way of the store.
    let serve = place.serve("warn");
    let terminal = Terminal::open(&place);
    serve.start("go", place.folder.path());
    let ask = place.ask();
    let id = ask["requestId"].as_str().unwrap();
    let none = place.run(&["inbox", "answer", id, "--accept"]);
    assert_eq!(none.status.code(), Some(1), "no terminal, no person");
    terminal.type_line(&format!("clear; $P inbox answer {id} --accept; echo code $?"));
    let screen = terminal.wait("Answer with accept? Type yes:");
    assert!(screen.contains("Runs 2 commands") && screen.contains("ls"), "{screen}");
    terminal.type_line("no");
    terminal.wait("you did not agree");
    terminal.type_line(&format!("clear; $P inbox answer {id} --accept; echo code $?"));
    terminal.wait("Type yes:");
    terminal.type_line("yes");
    let screen = terminal.wait("code 0");
    assert!(screen.contains("answered with accept by a person (cli)"), "{screen}");
    serve.leave();
}

#[test]
fn who_reads_no_further_is_told_nothing() {
    let agent = asking("touch a");
    let place = fake_place(&agent);
    let serve = place.serve("warn");
    serve.start("go", place.folder.path());
    place.ask();
    for args in [
        &["sessions"][..],
        &["inbox"],
        &["rules", "list"],
        &["audit", "head"],
        &["audit", "export"],
    ] {
        let (reads, writes) = std::io::pipe().unwrap();
        drop(reads);
        let output = place.command(args).stdout(writes).output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{args:?}");
        // What is printed is too little to be noticed only if there is none.
        let code = output.status.code();
        assert!(code == Some(141) || args == ["audit", "export"], "{args:?}: {code:?}");
    }
    serve.leave();
}

#[test]
fn json_is_whole_and_harmless_on_a_terminal() {
    let agent = asking("a\u{202e}\u{9b}b");
    let place = fake_place(&agent);
    let serve = place.serve("warn");
    serve.start("go", place.folder.path());
    let ask = place.ask();
    let command = ask["subject"]["command"].as_str().unwrap();
    assert!(command.contains("a\u{202e}\u{9b}b"), "{command}");
    let printed = fs::read_to_string({
        let path = place.folder.path().join("out");
        fs::write(&path, place.run(&["inbox", "list", "--json"]).stdout).unwrap();
        path
    });
    let printed = printed.unwrap();
    assert!(printed.contains("a\\u202e\\u009bb") && !printed.contains('\u{202e}'), "{printed}");
    let whole: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(whole["asks"][0], ask);
    let listed = String::from_utf8(place.run(&["inbox"]).stdout).unwrap();
    assert!(listed.contains("a\\u{202E}\\u{009B}b"), "{listed}");
    serve.leave();
}
