//! The lines of the tables, with rules that would allow as much as rules can.

use std::{fs, path::Path};

use pilothouse::shell::{Verdict, read};

use crate::{rules, said};

const READS: &str = "[[rules]]\nname = \"reads\"\nreads_only = true\noutcome = \"allow\"\n";

#[test]
fn each_line_that_only_reads_may_be_allowed_and_no_other() {
    let reads = rules(READS);
    let mut n_lines = 0;
    for (verdict, line) in lines() {
        let expected = match verdict {
            Verdict::Safe => "allowed by reads",
            Verdict::Ask => "person",
        };
        assert_eq!(said(&reads, &line), expected, "{line}");
        n_lines += 1;
    }
    assert!(n_lines > 1_000, "{n_lines}");
}

#[test]
fn without_rules_every_line_goes_to_a_person() {
    for (_, line) in lines() {
        assert_eq!(said(&rules(""), &line), "person", "{line}");
    }
}

#[test]
fn no_line_that_is_not_plain_is_allowed_by_a_rule_about_its_own_words() {
    let mut n_allowed = 0;
    for (_, line) in lines() {
        let segments = read(&line).segments;
        let mut text = READS.to_owned();
        let mut names: Vec<&String> = segments.iter().filter_map(|it| it.argv.first()).collect();
        names.sort();
        names.dedup();
        for (nth, name) in names.iter().enumerate() {
            let name = toml::Value::String((*name).clone());
            let Ok(word) = serde_json::to_string(&name) else { continue };
            if word.contains(char::is_whitespace) {
                continue;
            }
            text.push_str(&crate::command(&nth.to_string(), &word, "allow"));
        }
        let Ok(rules) = pilothouse::rules::Rules::parse(&text) else { continue };
        let is_clear = segments.iter().all(|it| it.is_plain || it.verdict == Verdict::Safe);
        if said(&rules, &line) != "person" {
            assert!(is_clear, "{line}: {segments:?}");
            n_allowed += 1;
        }
    }
    // Else it would show nothing.
    assert!(n_allowed > 500, "{n_allowed}");
}

/// The lines of both tables with their verdicts.
pub(crate) fn lines() -> Vec<(Verdict, String)> {
    let mut lines = vec![];
    for name in ["commands.tsv", "commands-more.tsv"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
        let table = fs::read_to_string(path).unwrap();
        for row in table.lines().skip(1) {
            let (verdict, rest) = row.split_once('\t').unwrap();
            let line = unescape(rest.split_once('\t').unwrap().0);
            let is_safe = matches!(verdict, "safe" | "safe_read_only");
            lines.push((if is_safe { Verdict::Safe } else { Verdict::Ask }, line));
        }
    }
    lines
}

/// `<LF>`, `<ESC>` and `<U+202E>` stand for what would not show in a table.
fn unescape(text: &str) -> String {
    let mut parts = text.replace("<LF>", "\n").replace("<ESC>", "\u{1b}");
    while let Some((before, rest)) = parts.split_once("<U+") {
        let (code, after) = rest.split_once('>').unwrap();
        let char = char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap();
        parts = format!("{before}{char}{after}");
    }
    parts
}
