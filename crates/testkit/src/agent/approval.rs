//! Asking for approvals, and what becomes of a command or a file once they are answered.

use serde_json::{Value, json};

use super::{
    Ask,
    play::{Agent, Cue, Wait, about_item, resolved, status, tell},
    shapes,
};

/// What waits for an approval.
pub(super) enum Item {
    Command { id: String, ask: Ask },
    File { id: String, path: String, content: String },
}

impl Agent {
    pub(super) fn ask_command(&mut self, cue: &Cue, ask: Ask) -> anyhow::Result<Option<Wait>> {
        let id = format!("call_{}", shapes::fresh_id());
        let cwd = self.cwd(&cue.thread);
        let item = shapes::command(&id, &ask.command, &cwd, "inProgress", "");
        let params = json!({
            "kind": "command", "threadId": cue.thread, "turnId": cue.turn, "itemId": id,
            "startedAtMs": shapes::now_ms(), "environmentId": "local",
            "command": shapes::shell(&ask.command), "cwd": cwd, "reason": ask.reason,
            "commandActions": [{"type": "unknown", "command": ask.command}],
            "availableDecisions": ["accept", "cancel"],
        });
        let method = "item/commandExecution/requestApproval";
        self.ask(cue, &item, method, params, Item::Command { id, ask })
    }

    pub(super) fn ask_file(
        &mut self,
        cue: &Cue,
        path: String,
        content: String,
    ) -> anyhow::Result<Option<Wait>> {
        let id = format!("call_{}", shapes::fresh_id());
        let item = shapes::file_change(&id, &path, &content, "inProgress");
        let params = json!({
            "threadId": cue.thread, "turnId": cue.turn, "itemId": id,
            "startedAtMs": shapes::now_ms(), "reason": null, "grantRoot": null,
        });
        let method = "item/fileChange/requestApproval";
        self.ask(cue, &item, method, params, Item::File { id, path, content })
    }

    fn ask(
        &mut self,
        cue: &Cue,
        started: &Value,
        method: &str,
        params: Value,
        item: Item,
    ) -> anyhow::Result<Option<Wait>> {
        if !self.is_running(cue) {
            return Ok(None);
        }
        let id = json!(self.next_request);
        self.next_request += 1;
        status(&cue.thread, &json!({"type": "active", "activeFlags": ["waitingOnApproval"]}))?;
        about_item("item/started", cue, started)?;
        let mut request = json!({"method": method, "id": id});
        request["params"] = params;
        tell(&request)?;
        Ok(Some(Wait::Approval { id, item }))
    }

    pub(super) fn settle(
        &mut self,
        cue: &Cue,
        id: &Value,
        item: &Item,
        reply: &Value,
    ) -> anyhow::Result<()> {
        resolved(&cue.thread, id)?;
        if !self.is_running(cue) {
            return Ok(());
        }
        status(&cue.thread, &json!({"type": "active", "activeFlags": []}))?;
        let decision = &reply["result"]["decision"];
        let outcome = match decision.as_str() {
            Some("accept" | "acceptForSession") => "completed",
            Some("decline" | "cancel") => "declined",
            _ if decision.is_object() => "completed",
            _ => "failed",
        };
        let completed = match item {
            Item::Command { id, ask } => {
                let cwd = self.cwd(&cue.thread);
                shapes::command(id, &ask.command, &cwd, outcome, &ask.output)
            }
            Item::File { id, path, content } => shapes::file_change(id, path, content, outcome),
        };
        about_item("item/completed", cue, &completed)?;
        if decision == "cancel" {
            self.end_turn(&cue.thread, &cue.turn, "interrupted")?;
        }
        Ok(())
    }
}
