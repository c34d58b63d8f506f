//! `run_command`: a command of the caller's own, run once a person has allowed it.
//!
//! What only reads runs at once; everything else is shown to a person first, taken apart and with
//! what is known of each part. An acceptance allows and does not run: the command runs when the call
//! that asked, or one that collects, sees it. Only a person's no is told as one.

mod result;

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    path::Path,
    time::{Duration, Instant},
};

use pilothouse::{
    Broker, COMMAND_TIMEOUT, CommandSpec, Error, LineShell, MAX_COMMAND_TIMEOUT,
    shell::{self, Reading, Verdict},
};
use pilothouse_core::{AskView, CallerRequest, Refusal, Subject, display};
use rmcp::model::Tool;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Call, PROGRESS_EVERY, Reply, Said,
    arguments::Arguments,
    elicit::{Answered, Asking, Outcome, fingerprint},
    problem::{Code, Problem},
    start::folder,
    tools,
};

/// The tool's name, unless the settings give it another one.
pub(crate) const NAME: &str = "run_command";
/// The rule in whose name runs what only reads.
const READS_ONLY: &str = "reads-only";
/// The rule in whose name runs what the settings allow by its program's name.
const ALLOWED: &str = "command.allow";
/// Longest line or argument, in bytes; the system takes no single one over 128 KiB.
const MAX_WORD: usize = 32 * 1024;
/// Longest command with all its words, in bytes: a person has to read it.
const MAX_WHOLE: usize = 64 * 1024;
/// Most arguments.
const MAX_WORDS: usize = 1_000;
/// Most parts of a line that a form tells about.
const MAX_PARTS: usize = 12;
/// The least time that a command gets before its call returns with a handle, however long a person
/// took. With the longest wait before it this is less than the minute that many clients allow.
const FIRST_LOOK: Duration = Duration::from_secs(10);
/// What a command gets of our environment, beside what begins with `LC_`.
const ENVIRONMENT: [&str; 9] =
    ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/// What the settings say of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOptions {
    /// Programs that run without a person, by the exact first word of a command.
    pub allow: Vec<String>,
    /// The tool's name, if it is to be another than `run_command`.
    pub alias: Option<String>,
    /// How long a command may take unless its call says.
    pub timeout: Duration,
}

impl Default for CommandOptions {
    fn default() -> Self {
        Self { allow: vec![], alias: None, timeout: COMMAND_TIMEOUT }
    }
}

impl CommandOptions {
    /// What the tool is called.
    pub(crate) fn name(&self) -> &str {
        self.alias.as_deref().unwrap_or(NAME)
    }
}

/// The tool as clients list it.
pub(crate) fn tool(options: &CommandOptions) -> Tool {
    let text = || json!({ "type": "string" });
    let arguments = json!({
        "command": {
            "type": "string",
            "description": "a line for bash; with args, a program that no shell sees",
        },
        "args": { "type": "array", "items": text() },
        "cwd": text(),
        "timeoutMs": { "type": "integer", "description": "the command ends then" },
        "reason": { "type": "string", "description": "why, for the person" },
        "askId": { "type": "string", "description": "collect a pending result" },
    });
    let results = json!({
        "stdout": text(),
        "stderr": text(),
        "code": { "type": "integer" },
        "truncated": { "type": "boolean" },
        "answers": { "type": "array" },
    });
    let mut tool = tools::tool(
        NAME,
        "Run a command. What only reads runs at once; a person is asked about all else.",
        &arguments,
        &[],
        tools::result(results),
    );
    tool.name = options.name().to_owned().into();
    tool
}

/// A command as a call wants it.
struct Wanted {
    subject: Subject,
    reading: Reading,
    /// A line, and it is not bash that runs it: what was read may be something else to it.
    is_strange: bool,
}

impl Call<'_> {
    /// Asks if need be, and runs; or collects what was asked or begun before.
    pub(crate) async fn run_command(&self, arguments: Arguments) -> Result<Said, Problem> {
        let begun = Instant::now();
        let print = fingerprint(NAME, &Value::Object(arguments.left().clone()));
        let mut arguments = arguments;
        let timeout = self.command_timeout(&mut arguments)?;
        let outcome = match arguments.text("askId")? {
            Some(ask) => {
                arguments.forget(&["command", "args", "cwd", "reason"]);
                self.collect(&ask).await?
            }
            None => Box::pin(self.ask_to_run(&mut arguments, print)).await?,
        };
        let reply = match outcome {
            Outcome::InputRequired(result) => return Ok(Said::InputRequired(result)),
            Outcome::Pending(pending) => pending.reply(self.server.options.command.name()),
            Outcome::Settled(answered) => self.run_if_allowed(&answered, timeout, begun).await?,
        };
        Ok(Said::Reply(reply.warn(arguments.warnings())))
    }

    fn command_timeout(&self, arguments: &mut Arguments) -> Result<Duration, Problem> {
        let limit = u64::try_from(MAX_COMMAND_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        match arguments.count("timeoutMs")? {
            None => Ok(self.server.options.command.timeout),
            Some(ms) if (1..=limit).contains(&ms) => Ok(Duration::from_millis(ms)),
            Some(ms) => {
                let problem = format!("must be 1 to {limit}, but is {ms}");
                Err(Problem::argument("timeoutMs", problem))
            }
        }
    }

    /// Asks a person, unless it only reads or the settings allow it.
    async fn ask_to_run(
        &self,
        arguments: &mut Arguments,
        print: String,
    ) -> Result<Outcome, Problem> {
        let wanted = self.wanted_command(arguments)?;
        let request = CallerRequest {
            key: print.clone(),
            subject: wanted.subject.clone(),
            reason: arguments.text("reason")?,
            patience: self.patience(arguments)?,
        };
        let note = Some(wanted.note());
        let asking = Asking { tool: NAME, arguments: print, request: request.clone(), note };
        // It comes back with the reply to a form, so that it was asked already.
        if self.brought.state.is_some() || self.brought.responses.is_some() {
            return Box::pin(self.ask(asking)).await;
        }
        let broker = self.broker().await?;
        let name = self.raise(broker, request).await?;
        let ask = match wanted.rule(&self.server.options.command.allow) {
            Some(rule) => broker.allow_command(name, rule).await?,
            None => broker.ask(name).await?,
        };
        match ask.settlement.clone() {
            Some(settlement) => {
                Ok(Outcome::Settled(Box::new(Answered { ask, settlement, came_late: false })))
            }
            // The same question again, which is shown now.
            None => Box::pin(self.ask(asking)).await,
        }
    }

    fn wanted_command(&self, arguments: &mut Arguments) -> Result<Wanted, Problem> {
        let command = arguments.required("command")?;
        let args = arguments.texts("args")?;
        let cwd = arguments.text("cwd")?;
        let own = folder("cwd", None, &self.server.options.cwd)?;
        let cwd = folder("cwd", cwd.as_deref(), &own)?;
        let is_elsewhere = cwd != own;
        if let Some(n_words) = args.as_ref().map(Vec::len).filter(|it| *it > MAX_WORDS) {
            let problem = format!("has {n_words} entries; at most {MAX_WORDS} are given");
            return Err(Problem::argument("args", problem));
        }
        let n_bytes = command.len() + args.iter().flatten().map(String::len).sum::<usize>();
        if n_bytes > MAX_WHOLE {
            let problem = format!("has {n_bytes} bytes in all; at most {MAX_WHOLE} are given");
            return Err(Problem::argument("args", problem));
        }
        fits("command", &command)?;
        for (at, word) in args.iter().flatten().enumerate() {
            fits(&format!("args[{at}]"), word)?;
        }
        Ok(Wanted::new(command, args, &cwd, is_elsewhere))
    }

    async fn run_if_allowed(
        &self,
        answered: &Answered,
        timeout: Duration,
        begun: Instant,
    ) -> Result<Reply, Problem> {
        if !matches!(answered.ask.subject, Subject::Command { .. }) {
            let problem = "the question of this askId is no command; collect it with its own tool";
            return Err(Problem::argument("askId", problem));
        }
        if answered.action() != "accept" {
            return Ok(result::not_allowed(answered));
        }
        let broker = self.broker().await?;
        let taken_back = CancellationToken::new();
        let spec = CommandSpec {
            timeout,
            taken_back: taken_back.clone(),
            ..CommandSpec::new(environment())
        };
        let run = broker.run_command(answered.ask.request_id, spec, &self.server.caller);
        let mut run = std::pin::pin!(run);
        let limit = self.server.options.call_limit;
        let time_up = tokio::time::sleep(limit.saturating_sub(begun.elapsed()).max(FIRST_LOOK));
        let mut time_up = std::pin::pin!(time_up);
        let mut quiet = tokio::time::interval(PROGRESS_EVERY);
        quiet.reset();
        loop {
            tokio::select! {
                result = &mut run => return match result {
                    Ok(result) => Ok(result::ended(&result)),
                    Err(Error::Refused(refusal @ Refusal::AcceptedTooLongAgo { .. })) => {
                        Ok(result::not_run("expired", &format!("Nothing ran: {refusal}.")))
                    }
                    Err(error) => Err(error.into()),
                },
                _ = quiet.tick() => self.say("the command runs".to_owned()).await,
                () = &mut time_up => return Ok(self.runs_still(broker, &answered.ask).await),
                () = self.context.ct.cancelled(), if !taken_back.is_cancelled() => {
                    // Its end is waited for, so that it is on record.
                    taken_back.cancel();
                }
                () = self.server.leaving.cancelled() => {
                    return Err(Problem::new(Code::Cancelled, "Pilothouse is leaving"));
                }
            }
        }
    }

    /// The call has been open long enough; the command goes on.
    async fn runs_still(&self, broker: &Broker, ask: &AskView) -> Reply {
        let place = self.place(broker).await;
        result::runs_still(ask.request_id, self.server.options.command.name(), &place)
    }
}

/// Whether a program can be given such a word.
fn fits(place: &str, word: &str) -> Result<(), Problem> {
    if word.len() > MAX_WORD {
        let problem = format!("has {} bytes; at most {MAX_WORD} are given", word.len());
        return Err(Problem::argument(place, problem));
    }
    if word.contains('\0') {
        return Err(Problem::argument(place, "has a NUL in it, which no program can be given"));
    }
    Ok(())
}

impl Wanted {
    /// In a directory that is the caller's choice, programs may run what they find there.
    fn new(command: String, words: Option<Vec<String>>, cwd: &Path, is_elsewhere: bool) -> Self {
        let cwd = cwd.to_string_lossy().into_owned();
        let argv: Vec<_> = match words {
            Some(words) => std::iter::once(command.clone()).chain(words).collect(),
            None => vec![],
        };
        let quoted: Vec<_> = argv.iter().map(|it| quoted(it)).collect();
        let command = if argv.is_empty() { command } else { quoted.join(" ") };
        let is_line = argv.is_empty();
        let reading = match (is_line, is_elsewhere) {
            (true, false) => shell::read(&command),
            (true, true) => shell::read_elsewhere(&command),
            (false, false) => shell::read_argv(&argv),
            (false, true) => shell::read_argv_elsewhere(&argv),
        };
        let subject = Subject::Command { command, argv, cwd, write_stdin: false, host: None };
        Self { subject, reading, is_strange: is_line && !LineShell::find().is_bash }
    }

    /// The rule of the program by which it runs without a person, if there is one.
    fn rule(&self, allow: &[String]) -> Option<&'static str> {
        if self.is_strange {
            return None;
        }
        if self.reading.verdict == Verdict::Safe {
            return Some(READS_ONLY);
        }
        let is_named = |it: &shell::Segment| {
            it.is_plain && it.argv.first().is_some_and(|program| allow.contains(program))
        };
        let mut segments = self.reading.segments.iter();
        let all = segments.all(|it| it.verdict == Verdict::Safe || is_named(it));
        all.then_some(ALLOWED)
    }

    /// What is known of each part, for the person who is asked.
    fn note(&self) -> String {
        let segments = &self.reading.segments;
        let mut lines: Vec<_> = segments
            .iter()
            .take(MAX_PARTS)
            .map(|it| {
                let (text, reason) = (display::line(&it.text), display::line(&it.reason));
                format!("- {text}: {} ({reason})", it.class.as_str())
            })
            .collect();
        if let Some(n_more) = segments.len().checked_sub(MAX_PARTS).filter(|it| *it > 0) {
            lines.push(format!("- and {n_more} more"));
        }
        lines.join("\n")
    }
}

/// A word as a shell would have to be given it, so that a person sees where each ends.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_@%+=:,./-".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What a command finds in its environment: what programs need to find their way, and no secrets of
/// the program that started us.
fn environment() -> BTreeMap<OsString, OsString> {
    let is_given = |name: &str| ENVIRONMENT.contains(&name) || name.starts_with("LC_");
    env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_given)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a model has to read of it in each of its turns.
    const MAX_BYTES: usize = 1_200;

    #[test]
    fn the_tool_is_small_and_goes_by_the_name_that_is_set() {
        let alias = Some("runCommand".to_owned());
        for alias in [None, alias] {
            let options = CommandOptions { alias, ..CommandOptions::default() };
            let tool = tool(&options);
            assert_eq!(tool.name, options.name());
            let n_bytes = serde_json::to_vec(&tool).unwrap().len();
            assert!(n_bytes < MAX_BYTES, "{n_bytes}");
            let output = Value::Object((*tool.output_schema.unwrap()).clone());
            let validator = jsonschema::validator_for(&output).unwrap();
            assert!(validator.is_valid(&json!({ "stdout": "", "stderr": "", "code": -1 })));
            assert!(!validator.is_valid(&json!({ "stdout": 1, "stderr": "", "code": 0 })));
        }
    }

    fn rule(command: &str, args: Option<&[&str]>, allow: &[&str]) -> Option<&'static str> {
        let args = args.map(|it| it.iter().map(|&it| it.to_owned()).collect());
        let allow: Vec<_> = allow.iter().map(|&it| it.to_owned()).collect();
        Wanted::new(command.to_owned(), args, Path::new("/tmp"), false).rule(&allow)
    }

    #[test]
    fn what_a_directory_can_steer_needs_a_person_where_the_caller_chose_it() {
        for (command, args) in [
            ("git status", None),
            ("git", Some(&["status"][..])),
            ("ls && git log -1", None),
            ("cargo --version", None),
            ("cargo", Some(&["--version"])),
        ] {
            let args: Option<Vec<_>> = args.map(|it| it.iter().map(|&it| it.to_owned()).collect());
            let place = Path::new("/tmp");
            let here = Wanted::new(command.to_owned(), args.clone(), place, false);
            assert_eq!(here.rule(&[]), Some(READS_ONLY), "{command}");
            let there = Wanted::new(command.to_owned(), args, place, true);
            assert_eq!(there.rule(&[]), None, "{command}");
        }
        let there = Wanted::new("ls -l".to_owned(), None, Path::new("/tmp"), true);
        assert_eq!(there.rule(&[]), Some(READS_ONLY));
    }

    #[test]
    fn a_callers_own_shell_is_not_taken_off() {
        for line in ["bash -c ls", "/bin/bash -lc ls", "./bash -c ls"] {
            assert_eq!(rule(line, None, &[]), None, "{line}");
        }
    }

    #[test]
    fn what_only_reads_and_what_is_named_needs_no_person_and_nothing_else_does() {
        for (command, args, allow, expected) in [
            ("ls -l", None, &[][..], Some(READS_ONLY)),
            ("ls", Some(&["-l"][..]), &[], Some(READS_ONLY)),
            ("ls; rm a", None, &[], None),
            ("ls;", Some(&["rm"]), &[], None),
            ("rm", Some(&["a"]), &[], None),
            ("touch a", None, &["touch"], Some(ALLOWED)),
            ("touch", Some(&["a"]), &["touch"], Some(ALLOWED)),
            ("ls && touch a", None, &["touch"], Some(ALLOWED)),
            ("touch a && rm a", None, &["touch"], None),
            // What the words do not say all of.
            ("touch $(rm a)", None, &["touch"], None),
            ("touch a > b", None, &["touch"], None),
            ("LD_PRELOAD=x touch a", None, &["touch"], None),
            ("/tmp/touch a", None, &["touch"], None),
            ("env touch a", None, &["touch"], None),
            // Not understood, so that no name allows it.
            ("touch a; eval \"$(cat b)\"", None, &["touch", "cat"], None),
            ("for", None, &["for", ""], None),
        ] {
            assert_eq!(rule(command, args, allow), expected, "{command} {args:?} {allow:?}");
        }
    }

    #[test]
    fn words_are_shown_so_that_a_shell_would_take_them_for_the_same() {
        for (word, expected) in [
            ("a.txt", "a.txt"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$x", "'$x'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
