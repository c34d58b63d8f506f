//! Turns a step of a script into the events of a streamed response.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::script::Op;

/// What a stream does next.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Event(Value),
    Gate(String),
    Sleep(Duration),
    /// Break the connection in the middle of the body.
    Cut,
}

/// What the answer depends on, beside the step itself.
pub(super) struct Call<'a> {
    /// The call's number, for ids and counts of tokens.
    pub(super) number: u64,
    /// Makes ids unique among models.
    pub(super) run: &'a str,
    /// The tools that Codex offers.
    pub(super) tools: &'a [String],
    /// Codex's request.
    pub(super) body: &'a Value,
}

/// The whole stream, in order.
pub(super) fn parts(call: &Call<'_>, ops: Vec<Op>) -> Vec<Part> {
    let mut res =
        Parts { list: Vec::new(), response: format!("resp_{}_{}", call.run, call.number) };
    let mut usage = usage(call.number);
    res.event(json!({"type": "response.created", "response": {"id": res.response}}));
    for (position, op) in ops.into_iter().enumerate() {
        let suffix = format!("{}_{}_{}", call.run, call.number, position + 1);
        match op {
            Op::Say { text, phase, deltas, delay } => {
                res.say(&format!("msg_{suffix}"), &text, phase, deltas, delay);
            }
            Op::Reason { parts, raw } => res.reason(&format!("rs_{suffix}"), &parts, raw),
            Op::Command { line, arguments } => {
                let (name, arguments) = command(call.tools, &line, arguments);
                res.function_call(&suffix, &name, &Value::Object(arguments), None);
            }
            Op::Call { name, arguments, namespace } => {
                res.function_call(&suffix, &name, &arguments, namespace);
            }
            Op::Stdin { chars, mut arguments } => {
                arguments.insert("session_id".into(), newest_terminal(call.body).into());
                arguments.insert("chars".into(), chars.into());
                res.function_call(&suffix, "write_stdin", &Value::Object(arguments), None);
            }
            Op::Patch { patch, stream } => res.patch(call, &suffix, &patch, stream),
            Op::Program(code) => res.custom_call(&suffix, "exec", Some("functions"), &code, false),
            Op::Web(action) => res.web(&format!("ws_{suffix}"), &action),
            Op::Item(item) => res.done(&item),
            Op::Event(event) => res.event(event),
            Op::Gate(name) => res.list.push(Part::Gate(name)),
            Op::Sleep(duration) => res.list.push(Part::Sleep(duration)),
            Op::Usage(counts) => usage.extend(counts),
            Op::Failed(error) => {
                let response = json!({"id": res.response, "error": error});
                res.event(json!({"type": "response.failed", "response": response}));
                return res.list;
            }
            Op::Incomplete(reason) => {
                let response =
                    json!({"id": res.response, "incomplete_details": {"reason": reason}});
                res.event(json!({"type": "response.incomplete", "response": response}));
                return res.list;
            }
            Op::Cut => {
                res.list.push(Part::Cut);
                return res.list;
            }
            // A status replaces the stream before it starts.
            Op::End | Op::Status { status: _, body: _, headers: _ } => return res.list,
        }
    }
    let response = json!({"id": res.response, "usage": usage});
    res.event(json!({"type": "response.completed", "response": response}));
    res.list
}

struct Parts {
    list: Vec<Part>,
    response: String,
}

impl Parts {
    fn event(&mut self, event: Value) {
        self.list.push(Part::Event(event));
    }

    fn added(&mut self, item: &Value) {
        self.event(json!({"type": "response.output_item.added", "item": item}));
    }

    fn done(&mut self, item: &Value) {
        self.event(json!({"type": "response.output_item.done", "item": item}));
    }

    fn say(&mut self, id: &str, text: &str, phase: Option<String>, deltas: bool, delay: Duration) {
        let mut item = json!({"type": "message", "role": "assistant", "id": id, "content": []});
        if let Some(phase) = phase {
            item["phase"] = phase.into();
        }
        self.added(&item);
        if deltas {
            for word in words(text) {
                self.event(
                    json!({"type": "response.output_text.delta", "item_id": id, "delta": word}),
                );
                if !delay.is_zero() {
                    self.list.push(Part::Sleep(delay));
                }
            }
        }
        item["content"] = json!([{"type": "output_text", "text": text}]);
        self.done(&item);
    }

    fn reason(&mut self, id: &str, parts: &[String], raw: Option<String>) {
        self.added(&json!({"type": "reasoning", "id": id, "summary": []}));
        for (index, part) in parts.iter().enumerate() {
            let kind = "response.reasoning_summary_part.added";
            self.event(json!({"type": kind, "item_id": id, "summary_index": index}));
            for word in words(part) {
                let kind = "response.reasoning_summary_text.delta";
                self.event(
                    json!({"type": kind, "item_id": id, "summary_index": index, "delta": word}),
                );
            }
        }
        let summary: Vec<Value> =
            parts.iter().map(|it| json!({"type": "summary_text", "text": it})).collect();
        let mut item = json!({
            "type": "reasoning", "id": id, "summary": summary, "encrypted_content": "scripted",
        });
        if let Some(raw) = raw {
            for word in words(&raw) {
                let kind = "response.reasoning_text.delta";
                self.event(json!({"type": kind, "item_id": id, "content_index": 0, "delta": word}));
            }
            item["content"] = json!([{"type": "reasoning_text", "text": raw}]);
        }
        self.done(&item);
    }

    fn function_call(
        &mut self,
        suffix: &str,
        name: &str,
        arguments: &Value,
        namespace: Option<String>,
    ) {
        let text = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        let mut item = json!({
            "type": "function_call", "id": format!("fc_{suffix}"),
            "call_id": format!("call_{suffix}"), "name": name, "arguments": "",
        });
        if let Some(namespace) = namespace {
            item["namespace"] = namespace.into();
        }
        self.added(&item);
        item["arguments"] = text.into();
        self.done(&item);
    }

    fn custom_call(
        &mut self,
        suffix: &str,
        name: &str,
        namespace: Option<&str>,
        input: &str,
        stream: bool,
    ) {
        let (id, call_id) = (format!("ctc_{suffix}"), format!("call_{suffix}"));
        let mut item = json!({
            "type": "custom_tool_call", "id": id, "call_id": call_id, "name": name, "input": "",
        });
        if let Some(namespace) = namespace {
            item["namespace"] = namespace.into();
        }
        self.added(&item);
        if stream {
            for line in input.split_inclusive('\n') {
                let kind = "response.custom_tool_call_input.delta";
                self.event(json!({"type": kind, "item_id": id, "call_id": call_id, "delta": line}));
            }
        }
        item["input"] = input.into();
        self.done(&item);
    }

    fn patch(&mut self, call: &Call<'_>, suffix: &str, patch: &str, stream: bool) {
        let declared = call.body["tools"].as_array().into_iter().flatten();
        let own_tool = declared.into_iter().find(|it| it["name"] == "apply_patch");
        let has = |name: &str| call.tools.iter().any(|it| it == name);
        if let Some(tool) = own_tool {
            if tool["type"] == "custom" {
                self.custom_call(suffix, "apply_patch", None, patch, stream);
            } else {
                self.function_call(suffix, "apply_patch", &json!({"input": patch}), None);
            }
            return;
        }
        let line = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        if has("shell") {
            let arguments = json!({"command": ["apply_patch", patch]});
            self.function_call(suffix, "shell", &arguments, None);
        } else if has("shell_command") {
            self.function_call(suffix, "shell_command", &json!({"command": line}), None);
        } else {
            self.function_call(suffix, "exec_command", &json!({"cmd": line}), None);
        }
    }

    fn web(&mut self, id: &str, action: &Value) {
        self.added(&json!({"type": "web_search_call", "id": id, "status": "in_progress"}));
        self.done(&json!({
            "type": "web_search_call", "id": id, "status": "completed", "action": action,
        }));
    }
}

/// The tool that runs a command in this version of Codex, and its arguments.
fn command(
    tools: &[String],
    line: &str,
    mut arguments: Map<String, Value>,
) -> (String, Map<String, Value>) {
    let has = |name: &str| tools.iter().any(|it| it == name);
    if has("exec_command") || !(has("shell_command") || has("shell")) {
        arguments.insert("cmd".into(), line.into());
        return ("exec_command".into(), arguments);
    }
    if arguments.contains_key("sandbox_permissions") {
        // How the older versions ask for the same.
        arguments.insert("with_escalated_permissions".into(), true.into());
    }
    if has("shell_command") {
        arguments.insert("command".into(), line.into());
        return ("shell_command".into(), arguments);
    }
    arguments.insert("command".into(), json!(["bash", "-lc", line]));
    ("shell".into(), arguments)
}

/// The terminal that Codex told about last, or -1, which it does not know.
fn newest_terminal(body: &Value) -> i64 {
    let text = body["input"].to_string();
    let digits = text
        .rsplit_once("session ID ")
        .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    digits.and_then(|it| it.parse().ok()).unwrap_or(-1)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

fn usage(number: u64) -> Map<String, Value> {
    let usage = json!({
        "input_tokens": 100 + number,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 7},
        "total_tokens": 120 + number,
    });
    usage.as_object().cloned().unwrap_or_default()
}
