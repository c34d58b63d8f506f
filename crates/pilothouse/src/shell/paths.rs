//! Files that only look like any other: those that hold keys, tokens and passwords.

use super::words::{Kind, Word};

/// Names of files and folders that hold secrets, wherever they are.
const SECRET_NAMES: [&str; 30] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".password-store",
    ".vault-token",
    ".docker",
    ".env",
    ".envrc",
    ".bash_history",
    ".zsh_history",
    ".mozilla",
    ".htpasswd",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "gcloud",
    "keyrings",
    ".credentials.json",
    "shadow",
    "gshadow",
];

/// The same, by how they end.
const SECRET_ENDS: [&str; 7] = [".pem", ".key", ".p12", ".pfx", ".kdbx", ".keystore", ".jks"];

/// Templates that people commit.
const TEMPLATES: [&str; 4] = [".env.example", ".env.sample", ".env.template", ".env.dist"];

/// Paths below which everything may be read by name, but not searched whole.
const BROAD: [&str; 7] = ["~", "/", "/etc", "/home", "/root", "/proc", "/var"];

/// Where homes are.
const HOMES: [&str; 5] = ["~", "/root", "/home/", "/users/", "/var/root"];

/// Folders in homes that hold tokens under many names.
const SETTINGS: [&str; 4] = [".codex", ".config", ".local", ".cargo"];

/// What makes a pattern of a word.
const WILD: [char; 3] = ['*', '?', '['];

/// Why what a word names should not be read without asking.
pub(super) fn secret(word: &Word) -> Option<String> {
    let value = word.value.as_str();
    // `--file=PATH`, `HEAD:PATH`
    // `-fPATH`, `@PATH`
    let attached = value.strip_prefix('-').and_then(|it| it.char_indices().nth(1));
    let parts = [
        Some(value),
        value.split_once('=').map(|it| it.1),
        value.rsplit_once(':').map(|it| it.1),
        attached.map(|(at, _)| &value[at + 1..]),
        value.strip_prefix('@'),
    ];
    if word.kind == Kind::Input {
        return Some("what is read is for another command to say".to_owned());
    }
    let is_pattern = word.kind == Kind::Pattern;
    let found = parts.into_iter().flatten().any(|it| is_secret(it, is_pattern));
    found.then(|| format!("{} may hold secrets", word.raw))
}

/// Whether a search through it would read the files of a whole home or machine.
pub(super) fn is_broad(word: &Word) -> bool {
    let value = word.value.as_str();
    let path = plain(value);
    let trimmed = if path == "/" { "/" } else { path.trim_end_matches('/') };
    let led = led(trimmed);
    let Some(trimmed) = led.as_deref() else { return true };
    BROAD.contains(&trimmed)
        || trimmed.rsplit('/').next().is_some_and(|it| SETTINGS.contains(&it))
        || ["/home/", "/Users/"]
            .iter()
            .any(|it| trimmed.strip_prefix(it).is_some_and(|rest| !rest.contains('/')))
}

fn is_secret(path: &str, is_pattern: bool) -> bool {
    let path = plain(&path.to_lowercase());
    let path = path.as_str();
    let device = path.strip_prefix("/dev/");
    if device.is_some_and(|it| !is_plain_device(it)) {
        return true;
    }
    if path.starts_with("/proc/") && (path.ends_with("environ") || path.ends_with("/mem")) {
        return true;
    }
    if path.ends_with(".codex/auth.json") || path.ends_with("gh/hosts.yml") {
        return true;
    }
    // Where gawk opens connections.
    if path.starts_with("/inet") {
        return true;
    }
    if path == "/etc/sudoers" || path.starts_with("/etc/ssl/private") {
        return true;
    }
    if is_pattern && (path.starts_with("/etc/") || path.starts_with("/proc/")) {
        return true;
    }
    if is_pattern && is_hidden(path) {
        return true;
    }
    path.split('/').any(|it| is_secret_name(it, is_pattern))
}

/// Without what leads nowhere: `//` and `/./`.
fn plain(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let parts: Vec<&str> = path
        .split('/')
        .enumerate()
        .filter(|(at, it)| !it.is_empty() && (*at == 0 || *it != "."))
        .map(|it| it.1)
        .collect();
    let end = if path.len() > 1 && path.ends_with('/') { "/" } else { "" };
    format!("{}{}{end}", if is_absolute { "/" } else { "" }, parts.join("/"))
}

/// Where an absolute path leads with its `..`; nothing if it leads out of a home.
fn led(path: &str) -> Option<String> {
    if !path.split('/').any(|it| it == "..") || !path.starts_with(['/', '~']) {
        return Some(path.to_owned());
    }
    let rest = path.strip_prefix('/')?;
    let mut parts = Vec::new();
    for part in rest.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// Whether a pattern may match what a home hides: any letter may be in brackets, and folders with
/// settings hold tokens under many names.
fn is_hidden(pattern: &str) -> bool {
    if !pattern.contains(WILD) {
        return false;
    }
    let is_home = HOMES.iter().any(|it| pattern.starts_with(it));
    let mut hidden =
        pattern.split('/').filter(|it| it.starts_with('.') && !matches!(*it, "." | ".."));
    pattern.contains('[') || hidden.any(|it| is_home || SETTINGS.contains(&it))
}

fn is_plain_device(name: &str) -> bool {
    matches!(name, "null" | "zero" | "stdin" | "stdout" | "stderr" | "tty" | "random" | "urandom")
        || name.starts_with("fd/")
}

fn is_secret_name(name: &str, is_pattern: bool) -> bool {
    if TEMPLATES.contains(&name) {
        return false;
    }
    if is_pattern && name.contains(WILD) {
        // The names that the part before the first wildcard allows.
        let fixed = name.split(WILD).next().unwrap_or_default();
        // Only stars: that is a look at all there is.
        let is_any = name.bytes().all(|it| it == b'*');
        return !fixed.is_empty() && SECRET_NAMES.iter().any(|it| it.starts_with(fixed))
            || !is_any
                && SECRET_NAMES.iter().any(|it| matches_name(name.as_bytes(), it.as_bytes()))
            || SECRET_ENDS.iter().any(|it| name.ends_with(it));
    }
    SECRET_NAMES.contains(&name)
        || name.starts_with(".env.")
        || SECRET_ENDS.iter().any(|it| name.ends_with(it))
}

/// Whether a pattern of letters, `*` and `?` matches a name as a shell does it.
fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    if name.starts_with(b".") && !pattern.starts_with(b".") {
        return false;
    }
    // Which beginnings of the name are matched by what was read of the pattern.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for letter in pattern {
        if *letter == b'*' {
            for at in 1..reached.len() {
                reached[at] |= reached[at - 1];
            }
            continue;
        }
        for at in (1..reached.len()).rev() {
            reached[at] = reached[at - 1] && (*letter == b'?' || *letter == name[at - 1]);
        }
        reached[0] = false;
    }
    reached[name.len()]
}
