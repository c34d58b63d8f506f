//! Rules that one file keeps or breaks by itself.

use std::{fs, path::Path};

use super::Finding;

/// Beyond this a file holds more than one idea.
const MAX_LINES: usize = 800;
/// Where `unsafe` may stand.
const UNSAFE_HOME: &str = "crates/pilothouse/src/agent/";

// In pieces, so that this file does not break its own rules.
const UNFINISHED: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];
const MACHINE_PATHS: [&str; 2] = [concat!("/ro", "ot/"), concat!("/wo", "rk/")];
const REGISTRIES: [&str; 7] = [
    concat!("registry.", "npmjs.org"),
    concat!("registry.", "yarnpkg.com"),
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
    concat!("py", "pi.org"),
    concat!("files.", "pythonhosted.org"),
    concat!("deb.", "debian.org"),
];
const ALLOWED_LINTS: [&str; 2] = [concat!("#[", "allow("), concat!("#![", "allow(")];
const SKIPPED_TESTS: [&str; 2] = [concat!("#[", "ignore]"), concat!("#[", "ignore =")];
const SLEEPS: [&str; 2] = [concat!("thread", "::sleep"), concat!("time", "::sleep")];
const UNSAFE: &str = concat!("un", "safe");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rust,
    /// TypeScript, JavaScript and CSS.
    Web,
    /// Prose, settings and scripts.
    Other,
    /// What machines write: recordings, lock files.
    Made,
}

pub(crate) fn check_file(root: &Path, path: &str) -> Vec<Finding> {
    // A file that git has and the folder has not was removed and not committed yet.
    let Ok(bytes) = fs::read(root.join(path)) else { return Vec::new() };
    // What is no text has no lines to check.
    let Ok(text) = String::from_utf8(bytes) else { return Vec::new() };
    check(path, &text)
}

fn check(path: &str, text: &str) -> Vec<Finding> {
    let kind = kind(path);
    let mut findings = Vec::new();
    let n_lines = text.lines().count();
    if matches!(kind, Kind::Rust | Kind::Web) && n_lines > MAX_LINES {
        let rule = format!("{n_lines} lines are more than {MAX_LINES}; split it by idea");
        findings.push(Finding::new(path, rule));
    }
    if kind == Kind::Rust && !opens_with_a_sentence(text) {
        findings.push(Finding::at(
            path,
            1,
            "open with `//! ` and a sentence that says what the module is for",
        ));
    }
    let is_test_file = path.split('/').any(|it| it == "tests");
    let mut in_tests = is_test_file;
    for (n, line) in text.lines().enumerate() {
        in_tests = in_tests || line.trim() == "#[cfg(test)]";
        findings.extend(
            broken_by(path, kind, in_tests, line)
                .into_iter()
                .map(|it| Finding::at(path, n + 1, it)),
        );
    }
    findings
}

fn broken_by(path: &str, kind: Kind, in_tests: bool, line: &str) -> Vec<&'static str> {
    let mut broken = Vec::new();
    if kind != Kind::Made && UNFINISHED.iter().any(|it| has_word(line, it)) {
        broken.push("finish it, or say in an issue what is left");
    }
    if MACHINE_PATHS.iter().any(|it| has_path(line, it)) {
        broken.push("a path of one machine");
    }
    if REGISTRIES.iter().any(|it| line.contains(it)) {
        broken.push("name no registry host: each client knows its own");
    }
    if path.ends_with("package-lock.json") && line.contains("\"resolved\": \"http") {
        broken.push("lock without hosts: omit-lockfile-registry-resolved=true in .npmrc");
    }
    if kind == Kind::Rust {
        let code = line.trim_start();
        if code.starts_with("//") {
            return broken;
        }
        if ALLOWED_LINTS.iter().any(|it| code.contains(it)) {
            broken
                .push("use `#[expect(lint, reason = \"…\")]`, which tells when it is out of date");
        }
        if SKIPPED_TESTS.iter().any(|it| code.contains(it)) {
            broken.push("a test that is skipped is no test");
        }
        if in_tests && SLEEPS.iter().any(|it| code.contains(it)) {
            broken.push("a test waits for a condition, it does not sleep");
        }
        if !path.starts_with(UNSAFE_HOME) && is_unsafe(code) {
            broken.push("only crates/pilothouse/src/agent/ may be that close to the machine");
        }
    }
    broken
}

fn kind(path: &str) -> Kind {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, it)| it);
    let is_made = matches!(extension, "jsonl" | "snap" | "lock" | "svg")
        || name == "package-lock.json"
        || path.starts_with("LICENSE");
    match extension {
        _ if is_made => Kind::Made,
        "rs" => Kind::Rust,
        "ts" | "tsx" | "css" | "mjs" | "js" => Kind::Web,
        _ => Kind::Other,
    }
}

/// The first paragraph, after crate attributes, is a `//!` comment of a few words and a full stop.
fn opens_with_a_sentence(text: &str) -> bool {
    let mut lines = text.lines().skip_while(|it| {
        // Attributes of the whole file may come first and may be folded.
        !it.starts_with("//") && !starts_an_item(it)
    });
    let paragraph: Vec<&str> = lines
        .by_ref()
        .map_while(|it| it.strip_prefix("//! "))
        .map(str::trim)
        .take_while(|it| !it.is_empty())
        .collect();
    let paragraph = paragraph.join(" ");
    let begins = paragraph.starts_with(|it: char| !it.is_lowercase());
    let ends = paragraph.ends_with(['.', ':', '?', '!', '…', ')']);
    begins && ends && paragraph.split_whitespace().count() >= 2
}

fn starts_an_item(line: &str) -> bool {
    ["use ", "mod ", "pub ", "fn ", "const ", "struct ", "enum ", "impl ", "static ", "#[", "type "]
        .iter()
        .any(|it| line.starts_with(it))
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |it: char| it.is_alphanumeric() || it == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Whether a path begins with this and goes on, rather than having it in the middle.
fn has_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let goes_on =
            line[at + start.len()..].starts_with(|it: char| it.is_alphanumeric() || it == '.');
        goes_on && !before.is_some_and(|it| it.is_alphanumeric() || "/._-}~*$>".contains(it))
    })
}

fn is_unsafe(code: &str) -> bool {
    has_word(code, concat!("un", "safe_code"))
        || [" {", " fn ", " impl ", " extern ", "("].iter().any(|after| {
            let form = format!("{UNSAFE}{after}");
            code.match_indices(&form).any(|(at, _)| {
                !code[..at].ends_with(|it: char| it.is_alphanumeric() || it == '_' || it == '"')
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "//! What a good file looks like.\n";

    fn rules(path: &str, text: &str) -> Vec<String> {
        check(path, text).into_iter().map(|it| it.rule).collect()
    }

    #[test]
    fn a_good_file_has_no_findings() {
        let text = format!(
            "{GOOD}\n//! More.\nuse std::fmt;\n#[expect(dead_code, reason = \"shown\")]\nfn todo_list() {{}}\n"
        );
        assert_eq!(check("crates/core/src/item.rs", &text), []);
    }

    #[test]
    fn each_rule_finds_its_bad_line_and_only_there() {
        for (path, line, rule) in [
            ("a.rs", format!("// {}: later", UNFINISHED[0]), "finish"),
            ("a.css", format!("/* {} */", UNFINISHED[1]), "finish"),
            ("docs/a.md", format!("see {}x", MACHINE_PATHS[0]), "one machine"),
            ("fixtures/a.jsonl", format!("{{\"cwd\":\"{}x\"}}", MACHINE_PATHS[1]), "one machine"),
            ("a.sh", format!("curl https://{}/x", REGISTRIES[0]), "registry"),
            ("web/package-lock.json", "\"resolved\": \"https://x/y.tgz\"".to_owned(), "hosts"),
            ("a.rs", format!("{}dead_code)]", ALLOWED_LINTS[0]), "expect"),
            ("a.rs", format!("{}dead_code)]", ALLOWED_LINTS[1]), "expect"),
            ("a.rs", SKIPPED_TESTS[0].to_owned(), "skipped"),
            ("a.rs", format!("{} \"slow\"]", SKIPPED_TESTS[1]), "skipped"),
            ("crates/x/tests/a.rs", format!("tokio::{}(d).await", SLEEPS[1]), "sleep"),
            ("a.rs", format!("{UNSAFE} {{ x() }}"), "close to the machine"),
            ("a.rs", format!("pub {UNSAFE} fn x() {{}}"), "close to the machine"),
            ("a.rs", format!("#[{UNSAFE}(no_mangle)]"), "close to the machine"),
        ] {
            let text = format!("{GOOD}\n{line}\n");
            let findings = check(path, &text);
            assert_eq!(findings.len(), 1, "{path}: {line}: {findings:?}");
            assert!(findings[0].rule.contains(rule), "{path}: {line}: {findings:?}");
            assert_eq!(findings[0].place, format!("{path}:3"));
        }
    }

    #[test]
    fn what_only_looks_like_a_bad_line_is_left_alone() {
        for (path, line) in [
            ("a.rs", "let unsafe_paths = 1; // no".to_owned()),
            ("a.rs", format!("// {} is what a lint says", ALLOWED_LINTS[0])),
            ("a.rs", format!("let s = \"{}S\";", UNFINISHED[0])),
            ("a.rs", format!("tokio::{}(interval).await;", SLEEPS[1])),
            ("fixtures/a.jsonl", format!("{{\"text\":\"{}\"}}", UNFINISHED[0])),
            ("a.md", format!("https://example.org{}page", MACHINE_PATHS[1])),
            ("a.rs", format!("assert!(!text.contains(\"{}\"));", MACHINE_PATHS[1])),
            ("a.md", "crates.io/crates/pilothouse".to_owned()),
            ("crates/pilothouse/src/agent/tree.rs", format!("{UNSAFE} {{ x() }}")),
        ] {
            let text = format!("{GOOD}\n{line}\n");
            assert_eq!(check(path, &text), [], "{path}: {line}");
        }
    }

    #[test]
    fn inline_tests_do_not_sleep_either() {
        let text = format!("{GOOD}#[cfg(test)]\nmod tests {{\n    std::{}(d);\n}}\n", SLEEPS[0]);
        assert_eq!(check("a.rs", &text)[0].place, "a.rs:4");
    }

    #[test]
    fn a_long_file_is_found_at_the_line_after_the_last_one_allowed() {
        let text = |n: usize| format!("{GOOD}{}", "fn x() {}\n".repeat(n - 1));
        assert_eq!(rules("a.rs", &text(MAX_LINES)), Vec::<String>::new());
        assert_eq!(rules("a.rs", &text(MAX_LINES + 1)).len(), 1);
        assert_eq!(rules("web/src/a.tsx", &"x\n".repeat(MAX_LINES + 1)).len(), 1);
        assert_eq!(rules("fixtures/a.jsonl", &"x\n".repeat(MAX_LINES + 1)), Vec::<String>::new());
    }

    #[test]
    fn a_module_opens_with_a_sentence() {
        for good in [
            "//! What asks are.",
            "//! `Session` decides\n//! what happens next.\n//!\n//! more",
            "#![expect(\n    clippy::unwrap_used,\n    reason = \"a test may panic\"\n)]\n//! What asks are.",
            "#![expect(clippy::unwrap_used, reason = \"a test may panic\")]\n\n//! What asks are.",
        ] {
            assert!(opens_with_a_sentence(good), "{good}");
        }
        for bad in [
            "",
            "use std::fmt;",
            "//! core.",
            "//! What asks are",
            "//!What asks are.",
            "// What asks are.",
            "mod x;\n//! What asks are.",
            "#[derive(Debug)]\nstruct A;\n//! What asks are.",
        ] {
            assert!(!opens_with_a_sentence(bad), "{bad}");
        }
    }

    #[test]
    fn files_are_read_from_their_folder() {
        let root = std::env::temp_dir().join(format!("xtask-tidy-{}", std::process::id()));
        fs::create_dir_all(root.join("src")).expect("a folder");
        fs::write(root.join("src/bad.rs"), "fn x() {}\n").expect("a file");
        fs::write(root.join("src/image.png"), [0xff, 0xfe, 0x00]).expect("a file");
        assert_eq!(check_file(&root, "src/bad.rs").len(), 1);
        assert_eq!(check_file(&root, "src/image.png"), []);
        assert_eq!(check_file(&root, "src/removed.rs"), []);
        fs::remove_dir_all(&root).expect("the folder is ours");
    }
}
