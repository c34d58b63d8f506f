//! How many tests passed and failed, read from what each runner says at its end.

/// Tests that ran to a verdict.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

/// What counts as failed, beside `passed`, in the runners' own words.
const FAILED: [&str; 6] = ["failed", "timed", "error", "errors", "cancelled", "exec"];

impl Tally {
    /// Adds up every summary in the output of nextest, cargo, node, Vitest, pytest or unittest.
    pub(crate) fn read(text: &str) -> Self {
        let mut res = Self::default();
        let mut n_unittest = None;
        for line in text.lines() {
            let line = plain(line);
            // nextest repeats, indented, what each failed test said of itself.
            let own = !line.starts_with(' ');
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("Summary [") {
                // nextest: `Summary [ 0.1s] 3 tests run: 2 passed (1 slow), 1 failed, 0 skipped`
                res.add_list(rest.split_once(" run: ").map_or("", |(_, it)| it));
            } else if own && let Some(rest) = line.strip_prefix("test result: ") {
                // cargo: `test result: ok. 3 passed; 0 failed; 0 ignored; …`
                res.add_list(rest.split_once(". ").map_or("", |(_, it)| it));
            } else if let Some(rest) = line.strip_prefix("Tests ") {
                // Vitest: `Tests  1 failed | 11 passed (12)`
                res.add_list(rest);
            } else if let Some(rest) = line.strip_prefix("# ").or(line.strip_prefix("ℹ ")) {
                // node: `# pass 3`, or `ℹ pass 3` on a terminal
                res.add_node(rest);
            } else if line.starts_with("==") && line.ends_with("==") {
                // pytest: `=== 5 passed, 1 failed in 0.12s ===`
                res.add_list(line.trim_matches(['=', ' ']));
            } else if let Some(rest) = line.strip_prefix("Ran ") {
                // unittest: `Ran 5 tests in 0.1s`, then `OK` or `FAILED (failures=1, errors=1)`
                n_unittest = rest.split(' ').next().and_then(|it| it.parse::<u64>().ok());
            } else if let Some(n) = n_unittest
                && (line.starts_with("OK") || line.starts_with("FAILED ("))
            {
                let failed = unittest_count(line, "failures=") + unittest_count(line, "errors=");
                let skipped = unittest_count(line, "skipped=");
                res.failed += failed;
                res.passed += n.saturating_sub(failed + skipped);
                n_unittest = None;
            }
        }
        res
    }

    /// `2 passed (1 slow), 1 failed`: a number and what it counts, with any separator.
    fn add_list(&mut self, list: &str) {
        // What stands in brackets is part of what was counted before it.
        let mut depth = 0_u32;
        let outside: String = list
            .chars()
            .filter(|it| {
                match it {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => return depth == 0,
                }
                false
            })
            .collect();
        for part in outside.split([',', ';', '|']) {
            let mut words = part.split_whitespace();
            let (Some(Ok(n)), Some(what)) = (words.next().map(str::parse::<u64>), words.next())
            else {
                continue;
            };
            if what == "passed" {
                self.passed += n;
            } else if FAILED.contains(&what) {
                self.failed += n;
            }
        }
    }

    fn add_node(&mut self, summary: &str) {
        let Some((what, Ok(n))) = summary.split_once(' ').map(|(it, n)| (it, n.parse::<u64>()))
        else {
            return;
        };
        match what {
            "pass" => self.passed += n,
            "fail" | "cancelled" => self.failed += n,
            _ => {}
        }
    }
}

fn unittest_count(line: &str, name: &str) -> u64 {
    let digits = line.split_once(name).map_or("", |(_, rest)| rest);
    let end = digits.find(|it: char| !it.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end).and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// A line without the colours that a terminal shows.
fn plain(line: &str) -> String {
    let mut res = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        res.push_str(before);
        rest = after.split_once(|it: char| it.is_ascii_alphabetic()).map_or("", |(_, it)| it);
    }
    res.push_str(rest);
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runner_is_understood() {
        for (said, passed, failed) in [
            ("     Summary [   0.006s] 3 tests run: 3 passed, 0 skipped", 3, 0),
            (
                "  Summary [   9.2s] 12/40 tests run: 8 passed (2 slow, 1 leaky), 3 failed, 1 timed out, 5 skipped",
                8,
                4,
            ),
            ("test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out", 4, 0),
            ("test result: FAILED. 4 passed; 2 failed; 0 ignored", 4, 2),
            ("# tests 6\n# suites 0\n# pass 5\n# fail 1\n# cancelled 0\n# skipped 0", 5, 1),
            ("ℹ pass 7\nℹ fail 0\nℹ cancelled 2", 7, 2),
            (" Test Files  1 failed | 3 passed (4)\n      Tests  1 failed | 11 passed (12)", 11, 1),
            (
                "\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[32m9 passed\u{1b}[39m\u{1b}[22m (9)",
                9,
                0,
            ),
            ("===== 5 passed, 1 failed, 1 error in 0.12s =====", 5, 2),
            ("Ran 5 tests in 0.1s\n\nOK", 5, 0),
            ("Ran 5 tests in 0.1s\n\nOK (skipped=1)", 4, 0),
            ("Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=2)", 2, 3),
            ("Passed. 3 failed attempts were retried\nOK", 0, 0),
        ] {
            assert_eq!(Tally::read(said), Tally { passed, failed }, "{said}");
        }
    }

    #[test]
    fn what_a_failed_test_said_of_itself_is_not_counted_again() {
        let said = "    test result: FAILED. 0 passed; 1 failed\n     Summary [ 1s] 9 tests run: 8 passed, 1 failed, 0 skipped";
        assert_eq!(Tally::read(said), Tally { passed: 8, failed: 1 });
    }

    #[test]
    fn summaries_add_up() {
        let said = "test result: ok. 1 passed; 0 failed\ntest result: ok. 2 passed; 1 failed\n";
        assert_eq!(Tally::read(said), Tally { passed: 3, failed: 1 });
    }
}
