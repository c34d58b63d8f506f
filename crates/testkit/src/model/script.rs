//! The scripts of prompts: finding them, reading them, and choosing the step to play.

use std::time::Duration;

use serde_json::{Map, Value, json};

/// What precedes the script in a prompt.
const MARK: &str = "SCRIPT:";

/// One operation of a step, as JSON objects are read.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// `{"msg": "text", "phase"?, "deltas"?: false, "delay"?: seconds}`, or `{"words": n}` for a
    /// long text: the model says something, a word at a time.
    Say {
        /// What it says.
        text: String,
        /// `commentary` or `final_answer`.
        phase: Option<String>,
        /// Whether the text is streamed before it is complete.
        deltas: bool,
        /// Between two words.
        delay: Duration,
    },
    /// `{"reason": "text" or ["part", …], "raw"?: "text"}`: a summary of what it thinks.
    Reason {
        /// The parts of the summary.
        parts: Vec<String>,
        /// Unsummarised thought.
        raw: Option<String>,
    },
    /// `{"cmd": "line", "sandbox_permissions"?, "justification"?, …}`: a command, with whichever
    /// tool Codex offers for it.
    Command {
        /// The shell line.
        line: String,
        /// The other arguments of the tool.
        arguments: Map<String, Value>,
    },
    /// `{"patch": "*** Begin Patch…", "stream"?: true}`: a change of files.
    Patch {
        /// The patch, in Codex's own format.
        patch: String,
        /// Whether it is streamed before it is complete.
        stream: bool,
    },
    /// `{"call": "tool", "args"?: {…} or "text", "ns"?: "mcp__server"}`: any function tool.
    Call {
        /// The tool's name.
        name: String,
        /// JSON, or a text that is sent as it is.
        arguments: Value,
        /// Where the tool belongs.
        namespace: Option<String>,
    },
    /// `{"js": "code"}`: a program for code mode.
    Program(String),
    /// `{"web": "query", "action"?: {…}}`: a search that the provider ran.
    Web(Value),
    /// `{"stdin": "chars", …}`: input for the newest terminal.
    Stdin {
        /// What to type.
        chars: String,
        /// The other arguments of the tool.
        arguments: Map<String, Value>,
    },
    /// `{"item": {…}}`: an output item, sent as it is.
    Item(Value),
    /// `{"raw": {"type": …}}`: an event of the stream, sent as it is.
    Event(Value),
    /// `{"gate": "name"}`: waits until the test opens the gate.
    Gate(String),
    /// `{"sleep": seconds}`.
    Sleep(Duration),
    /// `{"usage": {…}}`: replaces counts of tokens.
    Usage(Map<String, Value>),
    /// `{"failed": {"code", "message"}}`: ends the stream with a failure.
    Failed(Value),
    /// `{"incomplete": "reason"}`: ends the stream as incomplete.
    Incomplete(String),
    /// `{"cut": true}`: breaks the connection.
    Cut,
    /// `{"eof": true}`: ends the stream in order, but without completing the response.
    End,
    /// `{"http": 500, "body"?, "message"?, "type"?, "code"?, "headers"?}`: an answer of that
    /// status instead of a stream.
    Status {
        /// The HTTP status.
        status: u16,
        /// The JSON that explains it.
        body: Value,
        /// Further headers.
        headers: Vec<(String, String)>,
    },
}

/// What the model answers to a prompt without a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DefaultScript {
    /// Asks to run one harmless command that needs approval, then tells what became of it.
    #[default]
    Demo,
    /// Says hello and nothing more.
    Hello,
    /// Plays these steps.
    Steps(Vec<Vec<Op>>),
}

/// The newest script among the input: its steps, and the message it stands in.
pub(super) fn find(input: &[Value]) -> Option<(Vec<Vec<Op>>, String)> {
    input.iter().rev().filter(|it| is_prompt(it)).find_map(|item| {
        let text = text_of(item);
        let (_, script) = text.split_once(MARK)?;
        // What follows the script is prose: read one JSON value and stop.
        let value = serde_json::Deserializer::from_str(script).into_iter::<Value>().next();
        let steps = match value {
            Some(Ok(value)) => parse(&value),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("nothing follows the mark".into()),
        };
        let steps = steps.unwrap_or_else(|it| vec![vec![say(&format!("BAD SCRIPT: {it}"))]]);
        Some((steps, text))
    })
}

/// Reads a script: a list of steps, each a list of operations.
pub fn parse(script: &Value) -> Result<Vec<Vec<Op>>, String> {
    let steps = script.as_array().ok_or("a script is a list of steps")?;
    steps
        .iter()
        .map(|step| {
            let ops = step.as_array().ok_or("a step is a list of operations")?;
            ops.iter().map(parse_op).collect()
        })
        .collect()
}

/// Whether Codex asks for a summary of the conversation, which no script foresees.
pub(super) fn is_compaction(input: &[Value]) -> bool {
    let last = input.last().map(text_of).unwrap_or_default();
    last.contains("CONTEXT CHECKPOINT COMPACTION")
        || last.to_lowercase().contains("handoff summary")
}

/// The step to play for a prompt without a script.
pub(super) fn default_step(script: &DefaultScript, input: &[Value]) -> Vec<Op> {
    let after_prompt = input.iter().rev().take_while(|it| !is_prompt(it));
    let outputs: Vec<String> = after_prompt.filter(|it| is_tool_output(it)).map(text_of).collect();
    match script {
        DefaultScript::Hello => vec![say("Hello from the scripted model")],
        DefaultScript::Demo => outputs.first().map_or_else(propose_command, |it| conclude(it)),
        DefaultScript::Steps(steps) => step_at(steps, outputs.len()),
    }
}

/// The nth step, or `done` when the script is used up.
pub(super) fn step_at(steps: &[Vec<Op>], nth: usize) -> Vec<Op> {
    steps.get(nth).cloned().unwrap_or_else(|| vec![say("done")])
}

/// A message in the simplest form.
pub fn say(text: &str) -> Op {
    Op::Say { text: text.into(), phase: None, deltas: true, delay: Duration::ZERO }
}

/// All the text of an item, joined by line feeds.
pub(super) fn text_of(item: &Value) -> String {
    let content = item.get("content").or_else(|| item.get("output"));
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let part_text = |part: &Value| {
                let text = part.get("text").or_else(|| part.get("encrypted_content"));
                text.and_then(Value::as_str).map(str::to_owned)
            };
            parts.iter().filter_map(part_text).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn is_prompt(item: &Value) -> bool {
    // A sub-agent gets its task as an `agent_message`.
    item["role"] == "user" || item["type"] == "agent_message"
}

fn is_tool_output(item: &Value) -> bool {
    item["type"].as_str().is_some_and(|it| it.ends_with("_call_output"))
}

fn propose_command() -> Vec<Op> {
    let mut arguments = Map::new();
    // With these it needs an approval under every policy that asks at all.
    arguments.insert("sandbox_permissions".into(), json!("require_escalated"));
    arguments.insert("justification".into(), json!("May I write a file to greet you?"));
    let line = "echo \"Hello from Pilothouse\" > hello-from-pilothouse.txt".to_owned();
    let text =
        "Hello! I would like to leave a greeting in this folder, if you allow it.".to_owned();
    let phase = Some("commentary".to_owned());
    vec![
        Op::Say { text, phase, deltas: true, delay: Duration::ZERO },
        Op::Command { line, arguments },
    ]
}

fn conclude(output: &str) -> Vec<Op> {
    let lower = output.to_lowercase();
    let text = if lower.contains("rejected") || lower.contains("declined") {
        "You declined the command, so I left everything as it was."
    } else if lower.contains("exited with code 0") || lower.contains("exit code: 0") {
        "Thank you. The command ran, and hello-from-pilothouse.txt holds the greeting."
    } else {
        "The command was allowed, but it did not succeed. Its output says why."
    };
    let (text, phase) = (text.to_owned(), Some("final_answer".to_owned()));
    vec![Op::Say { text, phase, deltas: true, delay: Duration::ZERO }]
}

fn parse_op(op: &Value) -> Result<Op, String> {
    let fields = op.as_object().ok_or("an operation is an object")?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let must = |key: &str| text(key).ok_or_else(|| format!("`{key}` must be a text"));
    let seconds = |key: &str| {
        let seconds = fields.get(key).and_then(Value::as_f64).unwrap_or_default();
        Duration::try_from_secs_f64(seconds).map_err(|it| format!("`{key}`: {it}"))
    };
    let object = |key: &str| {
        let object = fields.get(key).and_then(Value::as_object).cloned();
        object.ok_or_else(|| format!("`{key}` must be an object"))
    };
    let but = |keys: &[&str]| -> Map<String, Value> {
        let kept = fields.iter().filter(|(key, _)| !keys.contains(&key.as_str()));
        kept.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let has = |key: &str| fields.contains_key(key);
    let deltas = fields.get("deltas") != Some(&Value::Bool(false));

    Ok(if has("http") {
        parse_status(fields)?
    } else if has("words") {
        let n_words = fields["words"].as_u64().ok_or("`words` must be a number")?;
        let words: Vec<String> = (0..n_words).map(|it| format!("w{it:06}")).collect();
        let text_of_words = words.join(" ");
        Op::Say { text: text_of_words, phase: text("phase"), deltas, delay: seconds("delay")? }
    } else if has("msg") {
        Op::Say { text: must("msg")?, phase: text("phase"), deltas, delay: seconds("delay")? }
    } else if has("reason") {
        let parts = if let Value::Array(parts) = &fields["reason"] {
            parts.iter().filter_map(|it| Some(it.as_str()?.into())).collect()
        } else {
            vec![must("reason")?]
        };
        Op::Reason { parts, raw: text("raw") }
    } else if has("stdin") {
        Op::Stdin { chars: must("stdin")?, arguments: but(&["stdin"]) }
    } else if has("cmd") {
        Op::Command { line: must("cmd")?, arguments: but(&["cmd"]) }
    } else if has("call") {
        let arguments = fields.get("args").cloned().unwrap_or_else(|| json!({}));
        Op::Call { name: must("call")?, arguments, namespace: text("ns") }
    } else if has("patch") {
        Op::Patch { patch: must("patch")?, stream: fields.get("stream") == Some(&json!(true)) }
    } else if has("js") {
        Op::Program(must("js")?)
    } else if has("web") {
        let query = must("web")?;
        let search = || json!({"type": "search", "query": query, "queries": [query]});
        Op::Web(fields.get("action").cloned().unwrap_or_else(search))
    } else if has("item") {
        Op::Item(Value::Object(object("item")?))
    } else if has("raw") {
        Op::Event(Value::Object(object("raw")?))
    } else if has("gate") {
        Op::Gate(must("gate")?)
    } else if has("sleep") {
        Op::Sleep(seconds("sleep")?)
    } else if has("usage") {
        Op::Usage(object("usage")?)
    } else if has("failed") {
        Op::Failed(Value::Object(object("failed")?))
    } else if has("incomplete") {
        Op::Incomplete(must("incomplete")?)
    } else if has("cut") {
        Op::Cut
    } else if has("eof") {
        Op::End
    } else {
        return Err(format!("no such operation: {op}"));
    })
}

fn parse_status(fields: &Map<String, Value>) -> Result<Op, String> {
    let status = fields["http"].as_u64().and_then(|it| u16::try_from(it).ok());
    let status = status.ok_or("`http` must be a status")?;
    let body = fields.get("body").cloned().unwrap_or_else(|| {
        let message = fields.get("message").cloned().unwrap_or_else(|| json!("scripted failure"));
        let kind = fields.get("type").cloned().unwrap_or_else(|| json!("server_error"));
        json!({"error": {"message": message, "type": kind, "code": fields.get("code")}})
    });
    let headers = fields.get("headers").and_then(Value::as_object);
    let headers = headers.into_iter().flatten();
    let headers =
        headers.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()));
    Ok(Op::Status { status, body, headers: headers.collect() })
}
