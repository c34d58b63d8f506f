//! `pilothouse inbox` for what a decision is not enough for: questions with options, forms, offers
//! that have no key, and leaving a question open.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule},
};
use serde_json::{Value, json};

use super::{
    place::{Place, wait_for},
    terminal::Terminal,
};

/// A caller that asks people over MCP.
struct Caller {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Caller {
    fn open(place: &Place) -> Self {
        let mut command = place.command(&["mcp", "--tools", "choice,form"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut caller = Self { child, stdin, stdout };
        let about = json!({"name": "test", "version": "1"});
        caller.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "clientInfo": about, "capabilities": {}}),
        );
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(caller.stdin, "{ready}").unwrap();
        caller
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.send(method, params);
        self.result()
    }

    fn send(&mut self, method: &str, params: &Value) {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        writeln!(self.stdin, "{request}").unwrap();
    }

    fn result(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server is gone");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == 1 && message.get("method").is_none() {
                return message["result"].clone();
            }
        }
    }

    /// What a tool says now; a question that nobody can be shown at once stays pending.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        result["structuredContent"].clone()
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn place(agent: &FakeAgent) -> Place {
    let home = agent.dir().display().to_string();
    Place::new(&agent.executable(), vec![("HOME".to_owned(), home)])
}

fn way() -> Value {
    let option = |id: &str, label: &str| json!({"id": id, "label": label, "description": "d"});
    json!({"message": "A way.", "timeoutMs": 0, "questions": [{
        "id": "way", "header": "Way", "question": "Which?",
        "options": [option("ship", "Ship it"), option("wait", "Wait")],
    }]})
}

#[test]
fn an_option_is_chosen_by_its_number_and_other_words_only_on_purpose() {
    let agent = FakeAgent::new(&[]).unwrap();
    let place = place(&agent);
    let terminal = Terminal::open(&place);
    let mut caller = Caller::open(&place);
    let pending = caller.call("request_choice", &way());
    let ask = place.ask();
    let id = ask["requestId"].as_str().unwrap();

    terminal.type_line("clear; $P inbox watch; echo left with $?");
    let screen = terminal.wait("[a answer");
    for part in ["1. Ship it (ship)", "2. Wait (wait)", "3. Other: other words (o)"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    terminal.key("x");
    terminal.wait("'x' is no key here. [a answer, ");
    terminal.key("a");
    terminal.wait("Way (number or name), o for other words:");
    terminal.type_line("zzz");
    terminal.wait("\"zzz\" is none of them; there are: 1 Ship it (ship), 2 Wait (wait), 3 Other");
    terminal.type_line("2");
    terminal.wait("taken: 2. Wait (wait)");
    terminal.wait("answered with Wait (wait) by a person (cli)");
    let collect = json!({"askId": pending["askId"]});
    let answer = caller.call("request_choice", &collect);
    assert_eq!(answer["answers"][0]["selectedId"], "wait", "{answer}");

    // While somebody watches, the call waits for them.
    caller.send("tools/call", &json!({"name": "request_choice", "arguments": way()}));
    terminal.wait(&id.replace("_1", "_2"));
    terminal.key("a");
    terminal.type_line("o");
    terminal.wait("Other, in your words:");
    terminal.type_line("next week");
    terminal.wait("answered with \"next week\" by a person (cli)");
    let answer = caller.result()["structuredContent"]["answers"][0].clone();
    assert_eq!(
        (&answer["selectedId"], &answer["otherText"]),
        (&json!("other"), &json!("next week"))
    );
    terminal.key("q");
    terminal.wait("left with 0");
    let (screen, _) = terminal.run(&format!("$P inbox show {id}"));
    assert!(screen.contains("Settled   answered with Wait (wait) by a person"), "{screen}");

    caller.call("request_choice", &way());
    let ask = place.ask();
    let id = ask["requestId"].as_str().unwrap();
    let answer = format!("$P inbox answer {id} --digest {}", ask["digest"].as_str().unwrap());
    let (screen, code) = terminal.run(&format!("{answer} --choose way=zzz"));
    assert_eq!(code, 2, "{screen}");
    assert!(screen.contains("there are: 1 Ship it (ship), 2 Wait (wait); other words"), "{screen}");
    let (screen, code) = terminal.run(&format!("{answer} --other way=zzz"));
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("answered with \"zzz\" by a person (cli)"), "{screen}");
}

#[test]
fn a_form_says_what_it_takes_and_asks_again_only_for_what_was_wrong() {
    let agent = FakeAgent::new(&[]).unwrap();
    let place = place(&agent);
    let terminal = Terminal::open(&place);
    let mut caller = Caller::open(&place);
    let form = json!({"message": "An order.", "timeoutMs": 0, "requestedSchema": {
        "type": "object", "required": ["age", "ok", "size"], "properties": {
            "age": {"type": "integer", "title": "Age", "minimum": 1, "maximum": 10, "default": 3},
            "email": {"type": "string", "format": "email"},
            "ok": {"type": "boolean", "title": "Really"},
            "size": {"type": "string", "oneOf": [
                {"const": "s", "title": "Small"}, {"const": "b", "title": "Big"},
            ]},
        },
    }});
    let pending = caller.call("request_form", &form);
    let ask = place.ask();
    let (id, digest) = (ask["requestId"].as_str().unwrap(), ask["digest"].as_str().unwrap());
    let (screen, code) = terminal.run(&format!(
        "$P inbox answer {id} --digest {digest} --set age=20 --set ok=yes --set size=Big"
    ));
    assert_eq!(code, 2, "{screen}");
    assert!(screen.contains("age: must be at most 10") && !screen.contains("content."), "{screen}");

    terminal.type_line("clear; $P inbox watch; echo left with $?");
    let screen = terminal.wait("[a answer");
    for part in [
        "Field     age  Age  (whole number, required, 1 to 10, default 3)",
        "Field     email  (e-mail address, may be left out)",
        "Field     ok  Really  (yes or no, required)",
        "Field     size  (one of the choices, required)",
        "    2. Big (b)",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    terminal.key("a");
    for (typed, said) in [
        ("20", "must be at most 10"),
        ("", "taken: 3"),
        ("me", "must be an e-mail address"),
        ("", "taken: nothing, it is left out"),
        ("maybe", "must be yes or no"),
        ("y", "taken: yes"),
        ("L", "\"L\" is none of them; there are: 1 Small (s), 2 Big (b)"),
        ("2", "taken: Big (b)"),
    ] {
        terminal.type_line(typed);
        let screen = terminal.wait(said);
        assert!(!screen.contains("content."), "{screen}");
    }
    terminal.wait("answered with age = 3; ok = yes; size = Big (b) by a person (cli)");
    let answer = caller.call("request_form", &json!({"askId": pending["askId"]}));
    assert_eq!(answer["content"], json!({"age": 3, "ok": true, "size": "b"}), "{answer}");
    terminal.key("q");
    terminal.wait("left with 0");
}

#[test]
fn a_question_can_be_left_open_and_an_offer_taken_by_its_number() {
    let ask = Ask { command: "touch a".to_owned(), ..Ask::default() };
    let actions =
        vec![Action::BeginTurn, Action::Ask(ask), Action::EndTurn("completed".to_owned())];
    let agent = FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap();
    let place = place(&agent);
    let serve = place.serve("warn");
    let terminal = Terminal::open(&place);
    let first = serve.start("go", place.folder.path());
    place.ask();
    let second = serve.start("go", place.folder.path());
    wait_for("two asks", || {
        let asks = place.json(&["inbox", "--json"]);
        (asks["asks"].as_array().unwrap().len() == 2).then_some(())
    });
    let id = |session: &str| format!("{}_1", session.replace("sess_", "req_"));

    terminal.type_line("clear; $P inbox watch; echo left with $?");
    let screen = terminal.wait("j next, leaves it open");
    assert!(screen.contains(&id(&first)) && !screen.contains(&id(&second)), "{screen}");
    terminal.key("j");
    terminal.wait(&format!("{} stays open, and comes again after the others.", id(&first)));
    terminal.wait(&format!("command  {}", id(&second)));
    terminal.key("Space");
    terminal.wait(&format!("{} stays open", id(&second)));
    wait_for("the first again", || {
        (terminal.screen().matches(&format!("command  {}", id(&first))).count() == 2).then_some(())
    });
    terminal.key("1");
    terminal.wait("The number of what it takes; Return gives it, Escape goes back: 1");
    terminal.key("Enter");
    terminal.wait(&format!("{}: answered with accept by a person (cli)", id(&first)));
    wait_for("the second again", || {
        (terminal.screen().matches(&format!("command  {}", id(&second))).count() == 2).then_some(())
    });
    terminal.key("j");
    terminal.wait(&format!("Nothing else waits; {} stays open.", id(&second)));
    terminal.key("9");
    terminal.wait("goes back: 9");
    terminal.key("Enter");
    terminal.wait("there is no offer 9");
    assert_eq!(place.ask()["requestId"], id(&second), "it waits still");
    terminal.key("q");
    terminal.wait("left with 0");
    serve.leave();
}
