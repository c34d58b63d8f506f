//! Recordings of `codex proto`, replayed.

use std::collections::{BTreeMap, BTreeSet};

use pilothouse_codex::{Output, Tag, proto::Peer};
use pilothouse_core::{
    Answer, ApprovalPolicy, Attach, Decision, Effect, Intent, Management, Overrides, Patience,
    Prompt, Sandbox, Spec, WhenBusy,
};
use pilothouse_testkit::{
    Recording,
    recording::{self, Direction},
};
use serde_json::{Value, json};

use crate::desk::Desk;

const FOLDER: &str = "proto-0.42.0";

macro_rules! recordings {
    ($($name:ident,)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn all_are_replayed() {
            let listed: BTreeSet<String> = [$(stringify!($name).to_owned()),*].into();
            let there = recording::all(FOLDER).unwrap();
            let there: BTreeSet<String> = there.into_iter().map(|it| it.scenario).collect();
            assert_eq!(listed, there);
        }
    };
}

recordings! {
    approval_abort_and_override,
    error_http_500,
    error_retry,
    exec_approval_approved,
    exec_approval_approved_for_session,
    exec_approval_denied,
    exec_approval_expired,
    exec_approval_wrong_id_callid,
    interrupt,
    interrupt_while_an_approval_is_pending,
    mcp_tool_call,
    patch_approval_approved,
    patch_approval_denied,
    plain,
    plan_update,
    resume,
    user_input_while_active,
    user_turn_override,
    web_search,
}

/// What the recorded client did that ours never does: nothing comes of it, and nothing is compared.
const NOT_OURS: [&str; 5] =
    ["get_path", "list_mcp_tools", "list_custom_prompts", "get_history_entry_request", "bogus"];

fn replay(name: &str) {
    let recording = recording::named(FOLDER, name).unwrap();
    let mut logs = Vec::new();
    let mut client = Client::new(0, name);
    for (n, line) in recording.lines().iter().enumerate() {
        if line.msg["note"].as_str().is_some_and(|it| it.starts_with("second process")) {
            let next = Client::new(client.number + 1, name);
            logs.push(std::mem::replace(&mut client, next));
        }
        client.desk.at(line.t);
        match line.dir {
            Direction::Out => client.out(&line.msg, is_answered(&recording, n)),
            Direction::In => client.hear(&line.msg),
            Direction::Note => client.note(&line.msg),
        }
    }
    logs.push(client);
    let logs: Vec<_> = logs.into_iter().map(Client::into_log).collect();
    insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!(format!("{FOLDER}__{name}"), logs.join("\n"));
    });
}

/// The recorded approval was one: it named the submission that was asked about.
fn is_answered(recording: &Recording, n: usize) -> bool {
    let id = &recording.lines()[n].msg["op"]["id"];
    let asks =
        |it: &Value| it["msg"]["type"].as_str().is_some_and(|it| it.ends_with("approval_request"));
    recording.lines()[..n].iter().any(|it| asks(&it.msg) && it.msg["id"] == *id)
}

/// A client of ours that does what the recorded one did.
struct Client {
    number: u64,
    desk: Desk,
    peer: Peer,
    spec: Spec,
    /// Our submissions by theirs.
    ids: BTreeMap<String, String>,
    /// What we said and they have not yet.
    unclaimed: Vec<Value>,
    overrides: Overrides,
}

impl Client {
    fn new(number: u64, name: &str) -> Self {
        let spec = Spec {
            cwd: "/home/dev/project".into(),
            approval_policy: Some(ApprovalPolicy::Untrusted),
            sandbox: Some(Sandbox::WorkspaceWrite),
            patience: match name {
                "exec_approval_expired" => Patience::Ms(1_000),
                _ => Patience::Forever,
            },
            ..Spec::default()
        };
        let desk = Desk::open(Tag(number), &spec, None);
        let mut peer = Peer::new(format!("p{number}"), Some("0.42.0".into()));
        assert_eq!(peer.hello(desk.now), []);
        assert_eq!(peer.attach(desk.now, Tag(number), &Attach::Start, &spec), []);
        let (ids, unclaimed) = (BTreeMap::new(), vec![]);
        Self { number, desk, peer, spec, ids, unclaimed, overrides: Overrides::default() }
    }

    fn tag(&self) -> Tag {
        Tag(self.number)
    }

    fn note(&mut self, note: &Value) {
        if note["note"] == "stdout EOF" || note["note"] == "exit 0" {
            let outputs = self.peer.exited("exit 0", None);
            self.perform(outputs);
        }
    }

    fn hear(&mut self, message: &Value) {
        let mut message = message.clone();
        let id = message["id"].as_str().unwrap();
        if !id.is_empty() {
            let ours = self.ids.get(id).cloned();
            message["id"] = ours.unwrap_or_else(|| format!("theirs-{id}")).into();
        }
        let outputs = self.peer.receive(self.desk.now, &message.to_string());
        self.perform(outputs);
    }

    fn out(&mut self, message: &Value, is_answered: bool) {
        let op = &message["op"];
        let kind = op["type"].as_str().unwrap_or("bogus");
        match kind {
            it if NOT_OURS.contains(&it) => return,
            "override_turn_context" => {
                self.overrides = overrides(op);
                return;
            }
            "exec_approval" | "patch_approval" if !is_answered => return,
            _ => {}
        }
        if !self.claim(message) {
            let effects = match kind {
                "user_input" if op["items"][0]["text"].as_str().unwrap().starts_with("Nobody") => {
                    self.desk.tick()
                }
                _ => {
                    let intent = self.intent(kind, op);
                    self.desk.intend(intent)
                }
            };
            self.act(effects);
            // A decision that comes after the turn's end finds nothing to decide.
            let is_late = kind == "exec_approval" && self.desk.session.turn().is_none();
            assert!(self.claim(message) || is_late, "we did not say {message}");
        }
    }

    fn intent(&mut self, kind: &str, op: &Value) -> Intent {
        match kind {
            "user_input" | "user_turn" => {
                let mut prompt = Prompt::default();
                for item in op["items"].as_array().unwrap() {
                    match item["type"].as_str().unwrap() {
                        "text" => prompt.text = item["text"].as_str().unwrap().into(),
                        "local_image" => {
                            prompt.images.push(item["path"].as_str().unwrap().into());
                        }
                        other => panic!("an item of the type {other}"),
                    }
                }
                prompt.overrides = match kind {
                    "user_turn" => overrides(op),
                    _ => std::mem::take(&mut self.overrides),
                };
                Intent::Prompt { prompt, when_busy: WhenBusy::Steer }
            }
            "exec_approval" | "patch_approval" => {
                let decision = match op["decision"].as_str().unwrap() {
                    "approved" => Decision::Accept,
                    "approved_for_session" => Decision::AcceptForSession,
                    "denied" => Decision::Decline,
                    _ => Decision::Cancel,
                };
                let ask = self.desk.session.asks().values().next().unwrap();
                Intent::Answer {
                    ask: ask.id,
                    answer: Answer::plain(decision),
                    digest: Some(ask.digest.clone()),
                    reason: None,
                    note: None,
                }
            }
            "interrupt" => Intent::Interrupt,
            "compact" => Intent::Manage { what: Management::Compact },
            "review" => {
                let instructions = &op["review_request"]["prompt"];
                let target = json!({"type": "custom", "instructions": instructions});
                Intent::Manage { what: Management::Review { target } }
            }
            "shutdown" => Intent::Close { reason: "over".into() },
            other => panic!("an op of the type {other}"),
        }
    }

    /// Takes what we said as what they said, if it is the same.
    fn claim(&mut self, message: &Value) -> bool {
        let normal = |op: &Value| {
            let mut op = op.clone();
            if op["type"] == "user_turn" {
                op = json!({"type": "user_input", "items": op["items"]});
            }
            if op["type"] == "review" {
                op["review_request"]["user_facing_hint"] = Value::Null;
            }
            op
        };
        let mut theirs = normal(&message["op"]);
        if let Some(ours) = theirs["id"].as_str().and_then(|it| self.ids.get(it)) {
            theirs["id"] = ours.as_str().into();
        }
        let Some(n) = self.unclaimed.iter().position(|it| normal(&it["op"]) == theirs) else {
            return false;
        };
        let ours = self.unclaimed.remove(n);
        let id = |it: &Value| it["id"].as_str().unwrap().to_owned();
        self.ids.insert(id(message), id(&ours));
        true
    }

    fn act(&mut self, effects: Vec<Effect>) {
        let (now, tag) = (self.desk.now, self.tag());
        for effect in effects {
            let outputs = match effect {
                Effect::Tell(message) => self.peer.tell(now, tag, message),
                Effect::Attach(how) => self.peer.attach(now, tag, &how, &self.spec),
                Effect::Detach => self.peer.detach(now, tag, true),
            };
            self.perform(outputs);
        }
    }

    fn perform(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Line(line) => {
                    let line: Value = serde_json::from_str(&line).unwrap();
                    self.desk.note_down(&format!("    said {}", line["op"]["type"]));
                    self.unclaimed.push(line);
                }
                Output::Said(tag, message) => {
                    assert_eq!(tag, self.tag());
                    let effects = self.desk.hear(message);
                    self.act(effects);
                }
                Output::Broken { cause } => self.desk.note_down(&format!("Broken: {cause}")),
                Output::Up { .. } | Output::Answered { .. } => {}
            }
        }
    }

    fn into_log(self) -> String {
        let left: Vec<_> = self
            .unclaimed
            .iter()
            .filter(|it| it["op"]["type"] != "override_turn_context")
            .collect();
        assert!(left.is_empty(), "only we said {left:?}");
        assert_eq!(self.peer.n_malformed(), 0);
        self.desk.into_log()
    }
}

fn overrides(op: &Value) -> Overrides {
    let owned = |name: &str| op[name].as_str().map(Into::into);
    Overrides {
        cwd: owned("cwd"),
        approval_policy: serde_json::from_value(op["approval_policy"].clone()).ok(),
        sandbox: serde_json::from_value(op["sandbox_policy"]["mode"].clone()).ok(),
        model: owned("model"),
        effort: owned("effort"),
        summary: owned("summary"),
        personality: None,
        output_schema: None,
    }
}
