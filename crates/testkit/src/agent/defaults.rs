//! What the agent does when no rule says otherwise: what Codex would, in short.

use serde_json::{Value, json};

use super::{
    VERSION, VERSION_VARIABLE,
    play::{Agent, Cue, Turn, about_item, notification, refuse, status, tell},
    shapes,
};

/// What Codex calls every request that it cannot read.
const INVALID: i64 = -32600;

impl Agent {
    pub(super) fn default_answer(&mut self, cue: &Cue) -> anyhow::Result<()> {
        let params = &cue.message["params"];
        let method = cue.message["method"].as_str().unwrap_or_default();
        if cue.message.get("id").is_none() {
            // No notification of a client needs a reaction.
            return Ok(());
        }
        if method == "initialize" {
            return self.initialize(cue);
        }
        if !self.initialized {
            return refuse(cue, INVALID, "Not initialized");
        }
        match method {
            "thread/start" => self.open(cue, &shapes::fresh_id(), None),
            "thread/resume" => self.open(cue, &cue.thread.clone(), None),
            "thread/fork" => self.open(cue, &shapes::fresh_id(), Some(&cue.thread)),
            "turn/start" => self.whole_turn(cue),
            "turn/steer" => steer(cue),
            "turn/interrupt" => self.interrupt(cue),
            "thread/read" | "thread/unarchive" => {
                let thread = shapes::thread(&cue.thread, None, params);
                answer(cue, &json!({"thread": thread, "readState": null}))
            }
            "thread/unsubscribe" => answer(cue, &json!({"status": "unsubscribed"})),
            "thread/name/set" => {
                answer(cue, &json!({}))?;
                let params = json!({"threadId": cue.thread, "threadName": params["name"]});
                tell(&notification("thread/name/updated", params))
            }
            "thread/archive" => {
                answer(cue, &json!({}))?;
                tell(&notification("thread/archived", json!({"threadId": cue.thread})))
            }
            "thread/backgroundTerminals/list"
            | "thread/turns/list"
            | "thread/items/list"
            | "thread/list"
            | "model/list" => answer(cue, &json!({"data": [], "nextCursor": null})),
            "thread/loaded/list" => {
                let ids: Vec<&String> = self.threads.keys().collect();
                answer(cue, &json!({"data": ids}))
            }
            "account/read" => answer(cue, &json!({"account": null, "requiresOpenaiAuth": false})),
            "thread/backgroundTerminals/clean" | "thread/delete" | "thread/compact/start" => {
                answer(cue, &json!({}))
            }
            other => {
                let message = format!(
                    "Invalid request: unknown variant `{other}`, expected one of `initialize`"
                );
                refuse(cue, INVALID, &message)
            }
        }
    }

    fn initialize(&mut self, cue: &Cue) -> anyhow::Result<()> {
        if self.initialized {
            return refuse(cue, INVALID, "Already initialized");
        }
        self.initialized = true;
        let name = cue.message["params"]["clientInfo"]["name"].as_str().unwrap_or("client");
        let home = std::env::var("CODEX_HOME").unwrap_or_else(|_| "/home/dev/.codex".into());
        let version = version();
        answer(
            cue,
            &json!({
                "userAgent": format!("{name}/{version} (Fake 1.0; x86_64) dumb ({name}; 0)"),
                "codexHome": home, "platformFamily": "unix", "platformOs": "linux",
            }),
        )
    }

    fn open(&mut self, cue: &Cue, id: &str, forked_from: Option<&str>) -> anyhow::Result<()> {
        let params = &cue.message["params"];
        let thread = shapes::thread(id, forked_from, params);
        let cwd = thread["cwd"].as_str().unwrap_or_default().to_owned();
        self.threads.insert(id.to_owned(), cwd);
        id.clone_into(&mut self.newest_thread);
        answer(cue, &shapes::thread_opened(&thread, params))?;
        tell(&notification("thread/started", json!({"thread": thread})))
    }

    fn whole_turn(&mut self, cue: &Cue) -> anyhow::Result<()> {
        if self.turns.contains_key(&cue.thread) {
            // Codex takes this as a steer.
            let running = shapes::turn(&cue.turn, "inProgress", &[]);
            answer(cue, &json!({"turn": running}))?;
            return hear_user(cue);
        }
        let mut cue = cue.clone();
        self.begin_turn(&mut cue)?;
        self.say(&cue, "Hello from the fake Codex")?;
        self.end_turn(&cue.thread, &cue.turn, "completed")
    }

    pub(super) fn begin_turn(&mut self, cue: &mut Cue) -> anyhow::Result<()> {
        if !self.threads.contains_key(&cue.thread) {
            return refuse(cue, INVALID, &format!("thread not found: {}", cue.thread));
        }
        cue.turn = shapes::fresh_id();
        let turn = shapes::turn(&cue.turn, "inProgress", &[]);
        self.turns.insert(cue.thread.clone(), Turn { id: cue.turn.clone(), last_message: None });
        answer(cue, &json!({"turn": turn}))?;
        status(&cue.thread, &json!({"type": "active", "activeFlags": []}))?;
        tell(&notification("turn/started", json!({"threadId": cue.thread, "turn": turn})))?;
        hear_user(cue)
    }

    pub(super) fn say(&mut self, cue: &Cue, text: &str) -> anyhow::Result<()> {
        if !self.is_running(cue) {
            return Ok(());
        }
        let id = format!("msg_{}", shapes::fresh_id());
        about_item("item/started", cue, &shapes::agent_message(&id, ""))?;
        for word in text.split_inclusive(' ') {
            let params = json!({
                "threadId": cue.thread, "turnId": cue.turn, "itemId": id, "delta": word,
            });
            tell(&notification("item/agentMessage/delta", params))?;
        }
        let message = shapes::agent_message(&id, text);
        about_item("item/completed", cue, &message)?;
        if let Some(turn) = self.turns.get_mut(&cue.thread) {
            turn.last_message = Some(message);
        }
        let usage = json!({
            "threadId": cue.thread, "turnId": cue.turn, "tokenUsage": shapes::token_usage(),
        });
        tell(&notification("thread/tokenUsage/updated", usage))
    }

    fn interrupt(&mut self, cue: &Cue) -> anyhow::Result<()> {
        if cue.turn.is_empty() {
            return refuse(cue, INVALID, "no active turn to interrupt");
        }
        answer(cue, &json!({}))?;
        self.end_turn(&cue.thread, &cue.turn, "interrupted")
    }
}

/// The version to claim.
pub fn version() -> String {
    std::env::var(VERSION_VARIABLE).unwrap_or_else(|_| VERSION.into())
}

fn steer(cue: &Cue) -> anyhow::Result<()> {
    let expected = cue.message["params"]["expectedTurnId"].as_str().unwrap_or_default();
    if cue.turn.is_empty() {
        return refuse(cue, INVALID, "no active turn to steer");
    }
    if expected != cue.turn {
        let message = format!("expected active turn id `{expected}` but found `{}`", cue.turn);
        return refuse(cue, INVALID, &message);
    }
    answer(cue, &json!({"turnId": cue.turn}))?;
    hear_user(cue)
}

fn hear_user(cue: &Cue) -> anyhow::Result<()> {
    let item = shapes::user_message(&shapes::fresh_id(), &cue.message["params"]);
    about_item("item/started", cue, &item)?;
    about_item("item/completed", cue, &item)
}

fn answer(cue: &Cue, result: &Value) -> anyhow::Result<()> {
    tell(&json!({"id": cue.message["id"], "result": result}))
}
