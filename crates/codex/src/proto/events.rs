//! Events of the old protocol, as `codex proto` and the early `codex exec --json` tell them.
//!
//! Messages and thoughts have no ids here, and a command that is asked about begins only once it
//! was approved. What comes out is in the app-server's order: an item begins, is asked about, goes
//! on, is over.

use std::collections::BTreeMap;

use pilothouse_core::{FromAgent, Outcome, Report, Stream};
use serde_json::{Value, json};

use super::{base64, items};
use crate::app_server::{gathered::Gathered, wire::text};

/// Most items that are open at a time; of more, the first is forgotten.
const MAX_OPEN: usize = 256;

/// The state of one thread's events.
#[derive(Debug)]
pub(crate) struct Events {
    /// Goes before submissions and numbers, so that no other process uses the same names.
    prefix: String,
    /// The turn's name is given, not made of its submission's.
    is_named: bool,
    turn: Option<String>,
    last_turn: Option<String>,
    gathered: Gathered,
    /// How the turn ends, or has ended: an error was told that nothing mends, or its end was.
    status: Option<&'static str>,
    /// Calls that have begun.
    open: BTreeMap<String, Open>,
    /// The message that is being said, and the thought that is being thought.
    message: Option<String>,
    thought: Option<Thought>,
    n_items: u64,
    usage: Value,
    diff: Value,
}

#[derive(Debug)]
struct Open {
    body: Value,
    /// Bytes of output that are no whole character yet.
    rest: Vec<u8>,
}

#[derive(Debug)]
struct Thought {
    item: String,
    /// Nothing of it has come yet.
    is_empty: bool,
}

impl Events {
    /// Events of a process with many turns.
    pub(crate) fn new(process: &str) -> Self {
        Self {
            prefix: process.to_owned(),
            is_named: false,
            turn: None,
            last_turn: None,
            gathered: Gathered::default(),
            status: None,
            open: BTreeMap::new(),
            message: None,
            thought: None,
            n_items: 0,
            usage: Value::Null,
            diff: Value::Null,
        }
    }

    /// Events of a process with one turn, whose name is given.
    pub(crate) fn of_turn(turn: &str) -> Self {
        Self { is_named: true, ..Self::new(turn) }
    }

    /// The turn under way.
    pub(crate) fn turn(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    /// The turn's end was told.
    pub(crate) fn is_over(&self) -> bool {
        self.turn.is_none() && self.last_turn.is_some()
    }

    /// How the turn ended or is bound to end, if that was told.
    pub(crate) fn status(&self) -> Option<&'static str> {
        self.status
    }

    /// The name of the turn that a submission leads to.
    pub(crate) fn name(&self, submission: &str) -> String {
        if self.is_named { self.prefix.clone() } else { format!("{}:{submission}", self.prefix) }
    }

    /// Takes an event.
    pub(crate) fn event(&mut self, submission: &str, event: &Value) -> Vec<FromAgent> {
        let call = text(event, &["call_id"]).unwrap_or_default();
        match text(event, &["type"]).unwrap_or_default() {
            "task_started" => self.start(submission),
            "task_complete" => {
                let last = text(event, &["last_agent_message"]);
                self.end(submission, self.status.unwrap_or("completed"), last)
            }
            "turn_aborted" => self.end(submission, "interrupted", None),
            "agent_message_delta" => {
                let mut said = vec![];
                let item = self.begin_message(&mut said);
                said.extend(delta(&item, Stream::Text, event));
                said
            }
            "agent_message" => {
                let mut said = vec![];
                let item = self.begin_message(&mut said);
                self.message = None;
                let words = text(event, &["message"]).unwrap_or_default();
                let body = json!({"type": "agentMessage", "id": item, "text": words});
                said.push(self.completed(item, body));
                said
            }
            "agent_reasoning_section_break" => match &mut self.thought {
                Some(thought) if !thought.is_empty => {
                    let (item, text) = (thought.item.clone(), "\n\n".to_owned());
                    vec![FromAgent::Delta { item, stream: Stream::Reasoning, text }]
                }
                // There is nothing to part before the first.
                Some(_) | None => vec![],
            },
            "agent_reasoning_delta" | "agent_reasoning_raw_content_delta" => {
                let mut said = vec![];
                let item = self.begin_thought(&mut said);
                if let Some(thought) = &mut self.thought {
                    thought.is_empty = false;
                }
                said.extend(delta(&item, Stream::Reasoning, event));
                said
            }
            "agent_reasoning" => self.thought("summary", event),
            "agent_reasoning_raw_content" => self.thought("content", event),
            "exec_command_begin" => {
                let body = items::command(call, event);
                self.begin(call, body).into_iter().collect()
            }
            "exec_command_output_delta" => self.output(call, event),
            "exec_command_end" => self.finish(call, |it| items::command_ended(it, event)),
            "patch_apply_begin" => {
                self.begin(call, items::patch(call, event)).into_iter().collect()
            }
            "patch_apply_end" => self.finish(call, |it| items::patch_ended(it, event)),
            "mcp_tool_call_begin" => {
                self.begin(call, items::tool(call, event)).into_iter().collect()
            }
            "mcp_tool_call_end" => self.finish(call, |it| items::tool_ended(it, event)),
            "web_search_begin" => {
                self.begin(call, items::search(call, event)).into_iter().collect()
            }
            "web_search_end" => self.finish(call, |_| items::search(call, event)),
            "view_image_tool_call" => {
                let body = json!({"type": "imageView", "id": call, "path": event.get("path")});
                self.at_once(call.to_owned(), body)
            }
            "entered_review_mode" => {
                // It comes before the turn that it is part of.
                let mut said = self.start(submission);
                let review =
                    text(event, &["user_facing_hint"]).or_else(|| text(event, &["prompt"]));
                let item = self.next_item();
                let body = json!({"type": "enteredReviewMode", "id": item, "review": review});
                said.extend(self.at_once(item, body));
                said
            }
            "exited_review_mode" => {
                let output = event.get("review_output");
                let words = output.and_then(|it| text(it, &["overall_explanation"]));
                let item = self.next_item();
                let body = json!({
                    "type": "exitedReviewMode", "id": item, "review": words, "output": output,
                });
                self.at_once(item, body)
            }
            "plan_update" => vec![note("turn/plan/updated", items::plan(event))],
            "turn_diff" => {
                let diff = event.get("unified_diff").cloned().unwrap_or_default();
                if diff == self.diff {
                    return vec![];
                }
                self.diff.clone_from(&diff);
                vec![note("turn/diff/updated", json!({"diff": diff}))]
            }
            "token_count" => {
                let usage = items::usage(event).filter(|it| *it != self.usage);
                let Some(usage) = usage else { return vec![] };
                self.usage.clone_from(&usage);
                self.gathered.usage(&usage);
                vec![note("thread/tokenUsage/updated", json!({"tokenUsage": usage}))]
            }
            "stream_error" => {
                // What was said so far is said again.
                self.message = None;
                self.thought = None;
                let error = json!({"message": event.get("message")});
                vec![note("error", json!({"error": error, "willRetry": true}))]
            }
            "error" => {
                let error = json!({"message": event.get("message")});
                if self.turn.is_none() {
                    return vec![note("error", json!({"error": error, "willRetry": false}))];
                }
                self.gathered.error(&error);
                self.status = Some("failed");
                vec![]
            }
            // What we never ask for, and what repeats our own words.
            "user_message" | "shutdown_complete" | "session_configured" => vec![],
            other => vec![note(&format!("codex/event/{other}"), event.clone())],
        }
    }

    /// An item of a call begins, or what is known of it has changed. It is told once.
    pub(crate) fn begin(&mut self, call: &str, body: Value) -> Option<FromAgent> {
        let open = Open { body: body.clone(), rest: vec![] };
        if self.open.insert(call.to_owned(), open).is_some() {
            return None;
        }
        if self.open.len() > MAX_OPEN {
            self.open.pop_first();
        }
        Some(started(call.to_owned(), body))
    }

    /// An item ends without having begun: its approval was not given.
    pub(crate) fn give_up(&mut self, call: &str, status: &str) -> Option<FromAgent> {
        let mut body = self.open.remove(call)?.body;
        body["status"] = status.into();
        Some(self.completed(call.to_owned(), body))
    }

    /// What the turn came to so far.
    pub(crate) fn outcome(&mut self, status: &str) -> (Outcome, Report) {
        std::mem::take(&mut self.gathered).end(&json!({"status": status}))
    }

    fn start(&mut self, submission: &str) -> Vec<FromAgent> {
        let name = self.name(submission);
        if self.turn.as_ref() == Some(&name) {
            return vec![];
        }
        self.turn = Some(name.clone());
        self.gathered = Gathered::default();
        self.status = None;
        self.diff = Value::Null;
        vec![FromAgent::TurnStarted { name }]
    }

    fn end(
        &mut self,
        submission: &str,
        status: &'static str,
        last: Option<&str>,
    ) -> Vec<FromAgent> {
        let name = self.turn.take().unwrap_or_else(|| self.name(submission));
        if self.last_turn.as_ref() == Some(&name) {
            return vec![];
        }
        self.last_turn = Some(name.clone());
        self.open.clear();
        self.message = None;
        self.thought = None;
        self.status = Some(status);
        if self.is_named {
            // Who reads a single turn asks for its outcome when the process has ended.
            return vec![];
        }
        let items: Vec<_> =
            last.iter().map(|it| json!({"type": "agentMessage", "text": it})).collect();
        let turn = json!({"status": status, "items": items});
        let (outcome, report) = std::mem::take(&mut self.gathered).end(&turn);
        vec![FromAgent::TurnEnded { name: Some(name), outcome, report }]
    }

    fn next_item(&mut self) -> String {
        self.n_items = self.n_items.saturating_add(1);
        format!("{}:item-{}", self.prefix, self.n_items)
    }

    fn begin_message(&mut self, said: &mut Vec<FromAgent>) -> String {
        if let Some(item) = &self.message {
            return item.clone();
        }
        let item = self.next_item();
        self.message = Some(item.clone());
        let body = json!({"type": "agentMessage", "id": item, "text": ""});
        said.push(started(item.clone(), body));
        item
    }

    fn begin_thought(&mut self, said: &mut Vec<FromAgent>) -> String {
        if let Some(thought) = &self.thought {
            return thought.item.clone();
        }
        let item = self.next_item();
        self.thought = Some(Thought { item: item.clone(), is_empty: true });
        let body = json!({"type": "reasoning", "id": item, "summary": [], "content": []});
        said.push(started(item.clone(), body));
        item
    }

    /// A thought is whole.
    fn thought(&mut self, part: &str, event: &Value) -> Vec<FromAgent> {
        let mut said = vec![];
        let item = self.begin_thought(&mut said);
        self.thought = None;
        let mut body = json!({"type": "reasoning", "id": item, "summary": [], "content": []});
        body[part] = json!([text(event, &["text"]).unwrap_or_default()]);
        said.push(self.completed(item, body));
        said
    }

    fn output(&mut self, call: &str, event: &Value) -> Vec<FromAgent> {
        let bytes = text(event, &["chunk"]).and_then(base64::decode);
        let Some((open, bytes)) = self.open.get_mut(call).zip(bytes) else { return vec![] };
        let text = whole(&mut open.rest, &bytes);
        if text.is_empty() {
            return vec![];
        }
        vec![FromAgent::Delta { item: call.to_owned(), stream: Stream::Output, text }]
    }

    fn finish(&mut self, call: &str, ended: impl FnOnce(Value) -> Value) -> Vec<FromAgent> {
        let Some(open) = self.open.remove(call) else { return vec![] };
        let body = ended(open.body);
        vec![self.completed(call.to_owned(), body)]
    }

    fn at_once(&mut self, item: String, body: Value) -> Vec<FromAgent> {
        let started = started(item.clone(), body.clone());
        vec![started, self.completed(item, body)]
    }

    fn completed(&mut self, item: String, body: Value) -> FromAgent {
        self.gathered.item(&body, false);
        let kind = kind(&body);
        FromAgent::ItemCompleted { item, kind, body, agent: None }
    }
}

fn started(item: String, body: Value) -> FromAgent {
    let kind = kind(&body);
    FromAgent::ItemStarted { item, kind, body, agent: None }
}

fn kind(body: &Value) -> String {
    text(body, &["type"]).unwrap_or("unknown").to_owned()
}

fn delta(item: &str, stream: Stream, event: &Value) -> Option<FromAgent> {
    let text = text(event, &["delta"])?.to_owned();
    Some(FromAgent::Delta { item: item.to_owned(), stream, text })
}

pub(super) fn note(method: &str, body: Value) -> FromAgent {
    FromAgent::Notes { method: method.to_owned(), body }
}

/// The text of all bytes so far, but for a character that is yet to be whole.
fn whole(rest: &mut Vec<u8>, bytes: &[u8]) -> String {
    rest.extend(bytes);
    let n_open = match std::str::from_utf8(rest) {
        Err(error) if error.error_len().is_none() => rest.len() - error.valid_up_to(),
        Ok(_) | Err(_) => 0,
    };
    let open = rest.split_off(rest.len() - n_open);
    let text = String::from_utf8_lossy(rest).into_owned();
    *rest = open;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_in_two_pieces_is_told_once_it_is_whole() {
        let mut rest = vec![];
        assert_eq!(whole(&mut rest, b"a\xc3"), "a");
        assert_eq!(whole(&mut rest, b"\xa9b"), "\u{e9}b");
        assert_eq!(whole(&mut rest, b"\xffc"), "\u{fffd}c");
        assert_eq!(rest, b"");
    }
}
