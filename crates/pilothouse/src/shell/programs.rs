//! What a simple command does: its program's model, its redirections, its assignments.

mod awk;
mod builtins;
mod find;
mod git;
mod names;
mod options;
mod readers;
mod search;
mod sed;
mod tools;
mod wrappers;

use super::{
    Class,
    parse::{Line, Redirection, Simple},
    paths,
    words::{Kind, Word},
};

/// Wrappers in wrappers.
const MAX_PEELED: usize = 8;

/// Where the system keeps its programs; a path elsewhere names a program of its own.
const SYSTEM_FOLDERS: [&str; 4] = ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"];

const NETWORK: [&str; 32] = [
    "aria2c",
    "aws",
    "az",
    "curl",
    "dig",
    "drill",
    "ftp",
    "gcloud",
    "gh",
    "helm",
    "host",
    "http",
    "httpie",
    "kubectl",
    "mtr",
    "nc",
    "ncat",
    "netcat",
    "nmap",
    "nslookup",
    "openssl",
    "ping",
    "ping6",
    "rsync",
    "scp",
    "sftp",
    "socat",
    "ssh",
    "telnet",
    "traceroute",
    "wget",
    "whois",
];

const WRITERS: [&str; 37] = [
    "bunzip2",
    "bzip2",
    "chgrp",
    "chmod",
    "chown",
    "cp",
    "crontab",
    "csplit",
    "dd",
    "fallocate",
    "gunzip",
    "gzip",
    "install",
    "kill",
    "killall",
    "ln",
    "mkdir",
    "mkfifo",
    "mknod",
    "mktemp",
    "mv",
    "patch",
    "pkill",
    "reboot",
    "renice",
    "rm",
    "rmdir",
    "shred",
    "shutdown",
    "split",
    "sync",
    "tee",
    "touch",
    "truncate",
    "unlink",
    "xz",
    "zip",
];

const INTERPRETERS: [&str; 28] = [
    ".", "ash", "bash", "bun", "busybox", "chroot", "coproc", "dash", "deno", "eval", "exec",
    "expect", "fish", "ksh", "lua", "node", "parallel", "perl", "php", "python", "python3", "ruby",
    "script", "sh", "source", "tclsh", "watch", "zsh",
];

/// Programs beside the writers that do nothing else when asked for help or for their version.
const HELPFUL: [&str; 16] = [
    "awk", "date", "diff", "env", "fd", "file", "find", "gawk", "jq", "rg", "sed", "shuf", "sort",
    "tree", "uniq", "xargs",
];

/// What a command does, and why that is thought.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) class: Class,
    pub(super) reason: String,
}

impl Finding {
    fn reads(reason: &str) -> Self {
        Self { class: Class::ReadsOnly, reason: reason.to_owned() }
    }

    fn writes(reason: impl Into<String>) -> Self {
        Self { class: Class::Writes, reason: reason.into() }
    }

    fn runs(reason: impl Into<String>) -> Self {
        Self { class: Class::RunsProgram, reason: reason.into() }
    }

    fn network(reason: impl Into<String>) -> Self {
        Self { class: Class::Network, reason: reason.into() }
    }

    fn unclear(reason: impl Into<String>) -> Self {
        Self { class: Class::NotUnderstood, reason: reason.into() }
    }

    /// A word that the shell makes only when it runs.
    fn unknown(word: &Word) -> Self {
        Self::unclear(format!("{} is not known before it runs", word.raw))
    }

    fn is_safe(&self) -> bool {
        self.class == Class::ReadsOnly
    }

    /// Itself if it asks, else the next.
    fn or(self, next: impl FnOnce() -> Self) -> Self {
        if self.is_safe() { next() } else { self }
    }
}

/// What a command can see beside its words.
#[derive(Clone, Copy, Debug)]
struct Scope {
    /// The line changes directory somewhere.
    moves: bool,
    /// What it reads are only paths that were found below this directory, each ended by a zero.
    reads_names: bool,
    n_peeled: usize,
}

/// Judges one command of a line.
pub(super) fn judge(simple: &Simple, line: &Line) -> Finding {
    let reads_names = names::are_read(simple, line);
    let scope = Scope { moves: line.moves, reads_names, n_peeled: 0 };
    let finding = if simple.words.is_empty() {
        Finding::reads("there is no program in it")
    } else {
        in_each_round(&simple.words, scope)
    };
    let redirections = simple.redirections.iter().map(redirection).find(|it| !it.is_safe());
    let reads_line = simple.words.first().is_some_and(|it| it.known() == Some("read"));
    let assignments = simple
        .assignments
        .iter()
        .filter(|it| !(reads_line && it.name == "IFS"))
        .map(|it| {
            // Before a command it is in that command's environment.
            if simple.words.is_empty() {
                builtins::variable(&it.name, &it.value)
            } else {
                builtins::assignment(&it.name, &it.value)
            }
        })
        .find(|it| !it.is_safe());
    match redirections.or(assignments) {
        Some(other) if finding.is_safe() => other,
        _ => finding,
    }
}

/// Judges a command with each word that a loop puts into it; the strictest counts.
fn in_each_round(words: &[Word], scope: Scope) -> Finding {
    let n_rounds = words.iter().map(Word::n_values).max().unwrap_or(1);
    let mut rounds = (0..n_rounds).map(|nth| {
        let words: Vec<Word> = words.iter().map(|it| it.in_round(nth)).collect();
        command(&words, scope)
    });
    let first = rounds.next();
    let strict = rounds.find(|it| !it.is_safe());
    match (first, strict) {
        (Some(first), Some(strict)) => first.or(|| strict),
        (Some(first), None) => first,
        (None, _) => Finding::unclear("there is no program in it"),
    }
}

/// Whether a redirection opens nothing but what can be read without harm.
pub(super) fn only_reads(it: &Redirection) -> bool {
    redirection(it).is_safe()
}

fn redirection(redirection: &Redirection) -> Finding {
    let Redirection { operator, target } = redirection;
    let safe = Finding::reads("it only reads");
    let target = match (operator.as_str(), target) {
        // Text of the line itself.
        ("<<" | "<<<", _) | ("<&-" | ">&-", None) => return safe,
        (_, Some(target)) => target,
        (_, None) => return Finding::unclear("a redirection to nowhere"),
    };
    let Some(path) = target.known() else { return Finding::unknown(target) };
    let is_number = !path.is_empty() && path.bytes().all(|it| it.is_ascii_digit());
    match operator.as_str() {
        "<&" | ">&" if is_number => safe,
        "<" if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") => {
            Finding::network(format!("it reads from {path}"))
        }
        "<" => match paths::secret(target) {
            Some(reason) => Finding::unclear(reason),
            None => safe,
        },
        ">" | ">>" | ">|" | "&>" | "&>>" | ">&" if path == "/dev/null" => safe,
        _ if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") => {
            Finding::network(format!("it sends to {path}"))
        }
        ">" | ">>" | ">|" | "&>" | "&>>" | ">&" => Finding::writes(format!("it writes to {path}")),
        _ => Finding::unclear("a redirection that is not modelled"),
    }
}

/// Judges a program with its arguments; the first word names it.
fn command(words: &[Word], scope: Scope) -> Finding {
    let Some((first, words)) = words.split_first() else {
        return Finding::unclear("there is no program in it");
    };
    if scope.n_peeled > MAX_PEELED {
        return Finding::unclear("it is wrapped too often");
    }
    let Some(name) = first.known() else {
        return Finding::unclear(format!("which program {} is, is not known", first.raw));
    };
    if first.is_spliced() && !first.raw.starts_with('/') {
        return Finding::unclear(format!("the name of the program is hidden: {}", first.raw));
    }
    let system = SYSTEM_FOLDERS.iter().find_map(|it| name.strip_prefix(it));
    let name = match system {
        Some(name) if !name.contains('/') => name,
        _ if name.contains('/') => {
            return Finding::runs(format!("it runs the file {name}"));
        }
        _ => name,
    };
    model(name, words, scope)
}

fn model(name: &str, words: &[Word], scope: Scope) -> Finding {
    if (HELPFUL.contains(&name) || WRITERS.contains(&name))
        && let [word] = words
        && matches!(word.known(), Some("--help" | "--version"))
    {
        return Finding::reads("it prints how it is used");
    }
    let models = [
        wrappers::judge(name, words, scope),
        builtins::judge(name, words),
        tools::probe(name, words, scope.moves),
        readers::judge(name, words),
        search::judge(name, words),
        tools::judge(name, words, scope.moves),
    ];
    if let Some(finding) = models.into_iter().flatten().next() {
        return finding;
    }
    match name {
        "find" | "gfind" => find::judge(words),
        "git" => git::judge(words, scope.moves),
        "sed" | "gsed" => sed::judge(words),
        "awk" | "gawk" | "mawk" | "nawk" => awk::judge(words),
        _ if NETWORK.contains(&name) => Finding::network(format!("{name} talks to the network")),
        _ if WRITERS.contains(&name) || name.starts_with("mkfs") => {
            Finding::writes(format!("{name} changes things"))
        }
        _ if INTERPRETERS.contains(&name) => Finding::runs(format!("{name} runs what it is given")),
        _ => Finding::unclear(format!("{name} is not a program that is modelled")),
    }
}

/// The first of the words that may be another than it seems, if a program whose options can do
/// harm is to see it.
fn uncertain(word: &Word) -> Option<Finding> {
    match word.kind {
        Kind::Unknown | Kind::Input | Kind::Names => Some(Finding::unknown(word)),
        Kind::Pattern if names_option(&word.value) => None,
        Kind::Pattern if word.value.starts_with(['*', '?', '[', '-']) => Some(Finding::unclear(
            format!("{} may match a name that is read as an option", word.raw),
        )),
        Kind::Exact | Kind::Pattern => None,
    }
}

/// Whether all names that it matches are the same option, as with `--glob=*.rs`.
fn names_option(pattern: &str) -> bool {
    let name = pattern.strip_prefix("--").and_then(|it| it.split_once('=')).map(|it| it.0);
    name.is_some_and(|it| it.bytes().all(|it| it.is_ascii_lowercase() || it == b'-'))
}

/// Asks if what a word names should not be read.
fn content(words: &[&Word], safe: &str) -> Finding {
    match words.iter().find_map(|it| paths::secret(it)) {
        Some(reason) => Finding::unclear(reason),
        None => Finding::reads(safe),
    }
}
