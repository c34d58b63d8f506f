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

/// Why what a word names should not be read without asking.
pub(super) fn secret(word: &Word) -> Option<String> {
    let value = word.value.as_str();
    // `--file=PATH`, `HEAD:PATH`
    let parts =
        [Some(value), value.split_once('=').map(|it| it.1), value.rsplit_once(':').map(|it| it.1)];
    let is_pattern = word.kind == Kind::Pattern;
    let found = parts.into_iter().flatten().any(|it| is_secret(it, is_pattern));
    found.then(|| format!("{} may hold secrets", word.raw))
}

/// Whether a search through it would read the files of a whole home or machine.
pub(super) fn is_broad(word: &Word) -> bool {
    let value = word.value.as_str();
    let trimmed = if value == "/" { value } else { value.trim_end_matches('/') };
    BROAD.contains(&trimmed)
        || ["/home/", "/Users/"]
            .iter()
            .any(|it| trimmed.strip_prefix(it).is_some_and(|rest| !rest.contains('/')))
}

fn is_secret(path: &str, is_pattern: bool) -> bool {
    let path = path.to_lowercase();
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
    path.split('/').any(|it| is_secret_name(it, is_pattern))
}

fn is_plain_device(name: &str) -> bool {
    matches!(name, "null" | "zero" | "stdin" | "stdout" | "stderr" | "tty" | "random" | "urandom")
        || name.starts_with("fd/")
}

fn is_secret_name(name: &str, is_pattern: bool) -> bool {
    if TEMPLATES.contains(&name) {
        return false;
    }
    let wild = |it: char| matches!(it, '*' | '?' | '[');
    if is_pattern && name.contains(wild) {
        // The names that the part before the first wildcard allows.
        let fixed = name.split(wild).next().unwrap_or_default();
        return !fixed.is_empty() && SECRET_NAMES.iter().any(|it| it.starts_with(fixed))
            || SECRET_ENDS.iter().any(|it| name.ends_with(it));
    }
    SECRET_NAMES.contains(&name)
        || name.starts_with(".env.")
        || SECRET_ENDS.iter().any(|it| name.ends_with(it))
}
