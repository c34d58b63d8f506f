//! A terminal: tmux, which shows what a person would see.

use std::process::{Command, Output};

use super::place::{PROGRAM, Place, wait_for};

/// A shell in a terminal of its own, which no test is an ancestor of.
pub(crate) struct Terminal {
    folder: tempfile::TempDir,
}

impl Terminal {
    pub(crate) fn open(place: &Place) -> Self {
        let terminal = Self { folder: tempfile::tempdir().unwrap() };
        let mut command =
            terminal.tmux(&["new-session", "-d", "-x", "160", "-y", "100", "/bin/sh"]);
        command.envs(place.vars.iter().cloned()).current_dir(place.folder.path());
        command.env("P", PROGRAM).env("PS1", "$ ").env("ENV", "").env("TERM", "xterm-256color");
        for name in ["PILOTHOUSE_STORE", "PILOTHOUSE_LOG", "PILOTHOUSE_AGENT", "TMUX", "NO_COLOR"] {
            command.env_remove(name);
        }
        done(&command.output().unwrap());
        terminal
    }

    fn tmux(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.folder.path().join("socket"));
        command.args(["-u", "-f", "/dev/null"]).args(args);
        command
    }

    /// What is on the screen, wrapped lines put together.
    pub(crate) fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p", "-J", "-S", "-200"]).output().unwrap();
        done(&output);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same with its colours.
    pub(crate) fn coloured(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p", "-e", "-S", "-200"]).output().unwrap();
        done(&output);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until a text is on the screen.
    pub(crate) fn wait(&self, text: &str) -> String {
        let mut last = String::new();
        let look = || {
            last = self.screen();
            last.contains(text).then(|| last.clone())
        };
        wait_for(text, look)
    }

    /// Presses a key.
    pub(crate) fn key(&self, key: &str) {
        done(&self.tmux(&["send-keys", key]).output().unwrap());
    }

    /// Types a text and Return.
    pub(crate) fn type_line(&self, line: &str) {
        done(&self.tmux(&["send-keys", "-l", line]).output().unwrap());
        self.key("Enter");
    }

    /// Runs a command to its end; gives the screen, cleared before, and the exit code.
    pub(crate) fn run(&self, line: &str) -> (String, i32) {
        let code = self.folder.path().join("code");
        let socket = self.folder.path().join("socket");
        let (code_at, socket) = (code.display(), socket.display());
        self.type_line(&format!(
            "clear; {line}; echo $? > {code_at}; tmux -S {socket} wait-for -S end"
        ));
        done(&self.tmux(&["wait-for", "end"]).output().unwrap());
        let code = std::fs::read_to_string(code).unwrap();
        (self.screen(), code.trim().parse().unwrap())
    }
}

fn done(output: &Output) {
    assert!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr));
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.tmux(&["kill-server"]).output());
    }
}
