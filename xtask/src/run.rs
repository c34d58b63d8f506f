//! Programs that tasks run, and what is said about them meanwhile.

use std::{
    env,
    ffi::OsStr,
    fmt,
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::Instant,
};

use crate::workspace;

/// How much of a quiet program's output is shown when it fails.
const SHOWN_LINES: usize = 60;
/// How much of a program's output is kept to be counted; the summary comes last.
const KEPT_BYTES: usize = 1 << 20;

/// Why a task ended: a sentence for the person who started it.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// For a task that has said everything already.
    pub(crate) fn told() -> Self {
        Self(String::new())
    }

    pub(crate) fn is_told(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says what is done before, and how long it took after.
pub(crate) fn step<T>(what: &str, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let begin = Instant::now();
    let res = work();
    let outcome = if res.is_ok() { "done" } else { "failed" };
    println!("{what}: {outcome} in {:.1} s", begin.elapsed().as_secs_f64());
    res
}

pub(crate) fn cargo() -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(workspace::root());
    command
}

pub(crate) fn npm(dir: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(dir).env("STORYBOOK_DISABLE_TELEMETRY", "1");
    command
}

/// Whether a program of this name answers `--version`.
pub(crate) fn exists(program: impl AsRef<OsStr>) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Runs to the end, shows nothing unless it fails, returns stdout.
pub(crate) fn quiet(command: &mut Command) -> Result<String, Failure> {
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().map_err(|error| not_started(command, &error))?;
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(stdout);
    }
    let both = format!("{stdout}{}", String::from_utf8_lossy(&stderr));
    Err(Failure::new(format!(
        "`{}` failed ({status})\n{}",
        line(command),
        tail(&both, SHOWN_LINES)
    )))
}

/// Runs to the end with its output on ours.
pub(crate) fn shown(command: &mut Command) -> Result<(), Failure> {
    let status =
        command.stdin(Stdio::null()).status().map_err(|error| not_started(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{}` failed ({status})", line(command))))
    }
}

/// What a program that was watched said, and whether it succeeded.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) text: String,
    pub(crate) outcome: Result<(), Failure>,
}

/// Runs to the end with its output on ours, and keeps the end of it.
pub(crate) fn watched(command: &mut Command) -> Result<Watched, Failure> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| not_started(command, &error))?;
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let said = thread::scope(|scope| {
        let out = scope.spawn(|| stdout.map_or_else(String::new, |it| copy(it, io::stdout())));
        let err = stderr.map_or_else(String::new, |it| copy(it, io::stderr()));
        let out = out.join().unwrap_or_default();
        format!("{out}\n{err}")
    });
    let status = child.wait().map_err(|error| not_started(command, &error))?;
    let outcome = if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{}` failed ({status})", line(command))))
    };
    Ok(Watched { text: said, outcome })
}

/// The last lines of a text.
pub(crate) fn tail(text: &str, n_lines: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(n_lines);
    lines.get(skipped..).unwrap_or_default().join("\n")
}

fn copy(from: impl Read, mut to: impl Write) -> String {
    let mut kept = String::new();
    let mut reader = BufReader::new(from);
    let mut bytes = Vec::new();
    let mut is_read = true;
    loop {
        bytes.clear();
        match reader.read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return kept,
            Ok(_) => {}
        }
        // If nobody reads ours any more, the program goes on all the same.
        is_read = is_read && to.write_all(&bytes).and_then(|()| to.flush()).is_ok();
        kept.push_str(&String::from_utf8_lossy(&bytes));
        if kept.len() > 2 * KEPT_BYTES {
            let cut = kept.ceil_char_boundary(kept.len() - KEPT_BYTES);
            kept.drain(..cut);
        }
    }
}

fn not_started(command: &Command, error: &io::Error) -> Failure {
    let program = command.get_program().to_string_lossy();
    Failure::new(format!("could not start `{program}`: {error}; is it installed?"))
}

fn line(command: &Command) -> String {
    let mut res = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        res.push(' ');
        res.push_str(&argument.to_string_lossy());
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_failure_shows_both_streams_and_the_command() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; exit 3"]);
        let message = quiet(&mut command).expect_err("it exits with 3").to_string();
        for part in ["one", "two", "sh -c", "3"] {
            assert!(message.contains(part), "{part} in {message}");
        }
    }

    #[test]
    fn a_watched_program_is_kept_whole_and_its_failure_told() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; exit 1"]);
        let watched = watched(&mut command).expect("sh starts");
        assert!(watched.text.contains("one") && watched.text.contains("two"));
        assert!(watched.outcome.is_err());
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let message =
            quiet(&mut Command::new("no-such-program-here")).expect_err("none").to_string();
        assert!(message.contains("no-such-program-here"), "{message}");
    }

    #[test]
    fn the_tail_is_the_end() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a", 2), "a");
    }
}
