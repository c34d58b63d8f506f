//! Tools of developers: asking them for their version, and the few of their subcommands that read.

use super::{
    Finding, Word,
    options::{Spec, parse},
};

/// Programs whose version can be asked for without their running what a project names, and how.
/// The launchers of Rust (but for the one below), Go and .NET are missing: files of the project
/// tell them which compiler to start.
const VERSIONS: &[(&str, &[&str])] = &[
    // What agents ask for first; like git it is trusted where the line begins.
    ("cargo", &["--version"]),
    ("node", &["--version", "-v"]),
    ("npm", &["--version", "-v"]),
    ("deno", &["--version", "-V"]),
    ("bun", &["--version", "-v"]),
    ("python", &["--version", "-V"]),
    ("python3", &["--version", "-V"]),
    ("pip", &["--version", "-V"]),
    ("pip3", &["--version", "-V"]),
    ("uv", &["--version", "-V"]),
    ("ruby", &["--version", "-v"]),
    ("perl", &["--version", "-v"]),
    ("php", &["--version", "-v"]),
    ("lua", &["-v"]),
    ("java", &["--version", "-version"]),
    ("javac", &["--version", "-version"]),
    ("gcc", &["--version"]),
    ("g++", &["--version"]),
    ("cc", &["--version"]),
    ("clang", &["--version"]),
    ("make", &["--version", "-v"]),
    ("cmake", &["--version"]),
    ("ninja", &["--version"]),
    ("docker", &["--version", "-v"]),
    ("podman", &["--version", "-v"]),
    ("kubectl", &["--help"]),
    ("bash", &["--version"]),
    ("zsh", &["--version"]),
    ("sh", &["--version"]),
    ("curl", &["--version", "-V"]),
    ("wget", &["--version", "-V"]),
    ("ssh", &["-V"]),
    ("openssl", &["version"]),
    ("sqlite3", &["--version", "-version"]),
    ("psql", &["--version", "-V"]),
    ("redis-server", &["--version", "-v"]),
    ("tar", &["--version"]),
    ("codex", &["--version", "-V"]),
    ("gh", &["--version"]),
    ("awk", &["--version", "-V"]),
    ("gawk", &["--version"]),
    ("rsync", &["--version"]),
];

const LISTS: Spec = Spec {
    flags: "aqsglnf",
    attached: "",
    valued: "",
    long: "all quiet size no-trunc latest last= filter= format= digests depth= json long parseable \
           global prod dev",
    ..Spec::NONE
};

/// Finds that a program is only asked for its version; it must be the only word. Which version of
/// a language that is, may be for the directory to say, by a launcher that looks for it there.
pub(super) fn probe(name: &str, words: &[Word], moves: bool) -> Option<Finding> {
    let [word] = words else { return None };
    let known = VERSIONS.iter().find(|it| it.0 == name)?.1;
    known
        .contains(&word.known()?)
        .then(|| stays(moves).unwrap_or_else(|| Finding::reads("it prints its version")))
}

fn stays(moves: bool) -> Option<Finding> {
    moves.then(|| Finding::runs("in another directory it may be what the files there name"))
}

/// Judges a tool by its subcommand, or `None` if it is none.
pub(super) fn judge(name: &str, words: &[Word], moves: bool) -> Option<Finding> {
    let first = words.first().and_then(Word::known);
    let rest = words.get(1..).unwrap_or_default();
    Some(match (name, first) {
        ("npm", Some("ls" | "list")) => stays(moves).unwrap_or_else(|| lists(rest, "npm")),
        (
            "npm",
            Some(
                "view" | "info" | "show" | "search" | "outdated" | "audit" | "ping" | "publish"
                | "whoami",
            ),
        ) => Finding::network("npm asks its registry"),
        ("npm" | "npx" | "yarn" | "pnpm" | "pnpx" | "bunx", _) => {
            Finding::runs(format!("{name} runs what the project or a package says"))
        }
        ("docker" | "podman", Some("ps" | "images")) => lists(rest, name),
        ("docker" | "podman", Some("version" | "info")) if rest.is_empty() => {
            Finding::reads("it describes itself")
        }
        ("docker" | "podman", Some("pull" | "push" | "login" | "search")) => {
            Finding::network(format!("{name} talks to a registry"))
        }
        ("docker" | "podman", _) => {
            Finding::runs(format!("{name} starts or changes containers, or may"))
        }
        ("pip" | "pip3", Some("list" | "freeze" | "show")) => {
            stays(moves).unwrap_or_else(|| pip(rest))
        }
        ("pip" | "pip3", _) => Finding::network(format!("{name} installs, or may")),
        (
            "cargo",
            Some("publish" | "search" | "login" | "install" | "fetch" | "update" | "add"),
        ) => Finding::network("cargo talks to a registry"),
        (
            "cargo" | "make" | "gmake" | "ninja" | "go" | "mvn" | "gradle" | "dotnet" | "cmake"
            | "tox" | "pytest" | "rustc" | "rustfmt" | "rustup" | "rustdoc",
            _,
        ) => Finding::runs(format!("{name} runs what the project says")),
        _ => return None,
    })
}

fn lists(words: &[Word], name: &str) -> Finding {
    match parse(&LISTS, words) {
        Ok(_) => Finding::reads(&format!("{name} lists what it has")),
        Err(finding) => finding,
    }
}

fn pip(words: &[Word]) -> Finding {
    let spec = Spec { flags: "fv", long: "format= files verbose user local", ..Spec::NONE };
    match parse(&spec, words) {
        Ok(_) => Finding::reads("pip lists what it has"),
        Err(finding) => finding,
    }
}
