//! What a call is told of its command: `stdout`, `stderr` and `code`, in every case, and how it came
//! to that where the code alone would mislead.

use pilothouse_core::{Actor, AskRef, CommandEnd, CommandResult, Settled};
use serde_json::{Map, Value, json};

use super::super::{Reply, bounds, elicit::Answered, problem::who};

/// The code of what did not run, or not to its end.
const NO_CODE: i32 = -1;
/// As a shell says it of a command that was ended by a signal: this and the signal.
const BY_SIGNAL: i32 = 128;
/// The code of `timeout(1)`.
const TIMED_OUT: i32 = 124;
/// What a person's no is told as.
const REJECTED: &str = "Command was rejected by the user.";
/// Most bytes of a result; clients let go of a server that says much more.
const MAX_BYTES: usize = 64 * 1024;
/// What the two streams are cut to, each, until the whole fits: it holds them twice.
const STEPS: [usize; 5] = [14_000, 7_000, 3_000, 1_000, 200];
/// When a caller should look again, in milliseconds.
const RETRY_AFTER_MS: u64 = 2_000;

/// A command that came to an end.
pub(super) fn ended(result: &CommandResult) -> Reply {
    match &result.end {
        CommandEnd::Exited { code } => {
            printed(result, *code, None, &format!("Ended with code {code}."))
        }
        CommandEnd::Signalled { signal } => {
            let text = format!("Ended by signal {signal}.");
            printed(result, BY_SIGNAL.saturating_add(*signal), Some("signalled"), &text)
        }
        CommandEnd::TimedOut { after_ms } => {
            let text = format!(
                "Took more than {after_ms} ms and was ended with all that it had started; \
                 timeoutMs gives it longer."
            );
            printed(result, TIMED_OUT, Some("timedOut"), &text)
        }
        CommandEnd::TakenBack => {
            let text = "The call was taken back, and the command ended with all that it had \
                        started.";
            printed(result, NO_CODE, Some("takenBack"), text)
        }
        CommandEnd::NotStarted { problem } => {
            not_run("notStarted", &format!("The command could not be started: {problem}."))
        }
        CommandEnd::Lost => not_run(
            "lost",
            "The process that ran the command is gone. It may have done anything or nothing, and \
             is not run again: see what it did before you ask for another.",
        ),
    }
}

/// A command that nobody allowed.
pub(super) fn not_allowed(answered: &Answered) -> Reply {
    let mut reply = match &answered.settlement.how {
        Settled::Answered { by: Actor::Policy { rule }, .. } => {
            let text = format!("The rule {rule} does not allow this command. It did not run.");
            not_run("refused", &text)
        }
        Settled::Answered { by, .. } => {
            let mut reply = nothing(REJECTED);
            reply.text = format!("{REJECTED} It did not run. ({})", who(by));
            reply
        }
        Settled::Expired { waited_s, .. } => not_run(
            "expired",
            &format!(
                "Nobody answered within {waited_s} s, so the command did not run. This is no \
                 refusal by a person."
            ),
        ),
        Settled::Withdrawn => {
            not_run("withdrawn", "The question was withdrawn before anyone answered; nothing ran.")
        }
        Settled::Lost => {
            not_run("lost", "The question was lost before anyone answered; nothing ran.")
        }
    };
    if let Some(reason) = answered.reason() {
        reply.text.extend([" Reason: ", reason]);
        reply.fields.insert("reason".to_owned(), reason.into());
    }
    reply
}

/// A command that did not run, and why, which is not a person's no.
pub(super) fn not_run(outcome: &str, why: &str) -> Reply {
    let mut reply = nothing(why);
    reply.fields.insert("outcome".to_owned(), outcome.into());
    reply
}

/// A command that runs longer than its call stays open.
pub(super) fn runs_still(ask: AskRef, tool: &str, place: &str) -> Reply {
    let ask = ask.to_string();
    let text = format!("The command runs. To collect its result call {tool} with askId {ask}.");
    let fields = json!({
        "action": "pending",
        "askId": ask,
        "where": place,
        "retryAfterMs": RETRY_AFTER_MS,
        "answers": [],
        "outcome": "running",
    });
    Reply { fields: fields_of(fields), text }
}

fn nothing(stderr: &str) -> Reply {
    let fields = json!({ "stdout": "", "stderr": stderr, "code": NO_CODE });
    Reply { fields: fields_of(fields), text: stderr.to_owned() }
}

fn printed(result: &CommandResult, code: i32, outcome: Option<&str>, text: &str) -> Reply {
    let mut limits = std::iter::once(usize::MAX).chain(STEPS).peekable();
    loop {
        let limit = limits.next().unwrap_or_default();
        let cut = |it: &str| bounds::cut(it, limit);
        let (stdout, stderr) = (cut(&result.stdout), cut(&result.stderr));
        let truncated = result.truncated || stdout.is_some() || stderr.is_some();
        let stdout = stdout.unwrap_or_else(|| result.stdout.clone());
        let stderr = stderr.unwrap_or_else(|| result.stderr.clone());
        let mut text = text.to_owned();
        for (name, stream) in [("stdout", &stdout), ("stderr", &stderr)] {
            if !stream.is_empty() {
                text.extend(["\n", name, ":\n", stream.as_str()]);
            }
        }
        if truncated {
            text.push_str("\nNot all of it is shown here.");
        }
        let mut fields = json!({ "stdout": stdout, "stderr": stderr, "code": code });
        if truncated {
            fields["truncated"] = true.into();
        }
        if let Some(outcome) = outcome {
            fields["outcome"] = outcome.into();
        }
        let n_bytes = bounds::size(&fields) + bounds::size(&Value::String(text.clone()));
        if n_bytes < MAX_BYTES || limits.peek().is_none() {
            return Reply { fields: fields_of(fields), text };
        }
    }
}

fn fields_of(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(stdout: &str, stderr: &str) -> CommandResult {
        CommandResult {
            end: CommandEnd::Exited { code: 0 },
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            truncated: false,
        }
    }

    #[test]
    fn what_a_command_printed_is_told_in_three_fields_and_in_words() {
        let reply = ended(&result("out\n", "err\n"));
        let fields = json!({ "stdout": "out\n", "stderr": "err\n", "code": 0 });
        assert_eq!(Value::Object(reply.fields), fields);
        assert_eq!(reply.text, "Ended with code 0.\nstdout:\nout\n\nstderr:\nerr\n");
    }

    #[test]
    fn no_result_is_larger_than_it_may_be_and_a_large_one_says_so() {
        for (stdout, stderr) in [
            ("x".repeat(64 * 1024), String::new()),
            ("\u{1}".repeat(32 * 1024), "\u{fffd}".repeat(10_000)),
            ("é\n".repeat(16 * 1024), "\"".repeat(16 * 1024)),
        ] {
            let reply = ended(&result(&stdout, &stderr));
            assert_eq!(reply.fields["truncated"], true);
            let n_bytes = bounds::size(&Value::Object(reply.fields))
                + bounds::size(&Value::String(reply.text));
            assert!(n_bytes < MAX_BYTES, "{n_bytes}");
        }
    }

    #[test]
    fn what_is_lost_or_never_began_is_no_refusal() {
        let problem = "there is no program x".to_owned();
        for (end, outcome) in
            [(CommandEnd::Lost, "lost"), (CommandEnd::NotStarted { problem }, "notStarted")]
        {
            let reply = ended(&CommandResult { end, ..result("", "") });
            assert_eq!(reply.fields["outcome"], outcome);
            assert_eq!(reply.fields["code"], -1);
            assert!(!reply.text.contains("rejected"), "{}", reply.text);
        }
    }
}
