//! Tools of developers: asking them for their version, and the few of their subcommands that read.

use super::{
    Finding, Word,
    options::{Spec, parse},
};

/// Programs whose version can be asked for without their reading a project first, and how.
const VERSIONS: &[(&str, &[&str])] = &[
    ("cargo", &["--version", "-V"]),
    ("rustc", &["--version", "-V", "-vV"]),
    ("rustup", &["--version", "-V"]),
    ("rustfmt", &["--version", "-V"]),
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
    ("go", &["version"]),
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
    ("dotnet", &["--version"]),
];

const LISTS: Spec = Spec {
    flags: "aqsglnf",
    attached: "",
    valued: "",
    long: "all quiet size no-trunc latest last= filter= format= digests depth= json long parseable \
           global prod dev",
    ..Spec::NONE
};

/// Finds that a program is only asked for its version; it must be the only word.
pub(super) fn probe(name: &str, words: &[Word]) -> Option<Finding> {
    let [word] = words else { return None };
    let known = VERSIONS.iter().find(|it| it.0 == name)?.1;
    known.contains(&word.known()?).then(|| Finding::reads("it prints its version"))
}

/// Judges a tool by its subcommand, or `None` if it is none.
pub(super) fn judge(name: &str, words: &[Word]) -> Option<Finding> {
    let first = words.first().and_then(Word::known);
    let rest = words.get(1..).unwrap_or_default();
    Some(match (name, first) {
        ("npm", Some("ls" | "list")) => lists(rest, "npm"),
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
        ("pip" | "pip3", Some("list" | "freeze" | "show")) => pip(rest),
        ("pip" | "pip3", _) => Finding::network(format!("{name} installs, or may")),
        (
            "cargo",
            Some("publish" | "search" | "login" | "install" | "fetch" | "update" | "add"),
        ) => Finding::network("cargo talks to a registry"),
        (
            "cargo" | "make" | "gmake" | "ninja" | "go" | "mvn" | "gradle" | "dotnet" | "cmake"
            | "tox" | "pytest",
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
