//! The shell that Codex wraps around a command, taken off for display.

/// The shells that Codex wraps commands in.
const SHELLS: [&str; 5] = ["bash", "zsh", "sh", "dash", "ksh"];

/// Where it finds them; a file of that name elsewhere can be anything.
const PLACES: [&str; 3] = ["/bin/", "/usr/bin/", ""];

/// The script in `/bin/bash -lc '…'`, if the command is such a wrapper and nothing else.
pub fn shell_line(command: &str) -> Option<String> {
    let words = words(command)?;
    let [shell, flag, script] = <[String; 3]>::try_from(words).ok()?;
    let is_shell =
        PLACES.iter().filter_map(|it| shell.strip_prefix(it)).any(|name| SHELLS.contains(&name));
    let wraps = is_shell && matches!(flag.as_str(), "-lc" | "-c");
    wraps.then_some(script)
}

/// A command line that has the words as they are.
pub(crate) fn join(words: &[&str]) -> String {
    words.iter().map(|it| quote(it)).collect::<Vec<_>>().join(" ")
}

fn quote(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "_-./=:,@%+".contains(it);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The words of a simple command; nothing if a shell would do more than take quotes off.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = command.chars();
    while let Some(next) = rest.next() {
        match next {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        it => word.push(it),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        '\\' => match rest.next()? {
                            it @ ('"' | '$' | '`' | '\\') => word.push(it),
                            '\n' => {}
                            it => word.extend(['\\', it]),
                        },
                        it => word.push(it),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            '\n' | '\r' | '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '*' | '?' | '['
            | ']' | '{' | '}' | '~' | '#' | '!' => return None,
            it => word.get_or_insert_default().push(it),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_taken_off_and_nothing_else() {
        let check = |command: &str, expected: Option<&str>| {
            assert_eq!(shell_line(command).as_deref(), expected, "{command}");
        };
        check(
            "/bin/bash -lc 'mkdir -p sub && echo hi > sub/f.txt'",
            Some("mkdir -p sub && echo hi > sub/f.txt"),
        );
        check("/usr/bin/zsh -lc ls", Some("ls"));
        check("bash -c \"echo 'a'\"", Some("echo 'a'"));
        check(r"/bin/bash -lc 'echo '\''a'\'''", Some("echo 'a'"));
        check(r#"/bin/bash -lc 'echo '"'"'a'"'"''"#, Some("echo 'a'"));
        check("/bin/sh -c \"a \\\"b\\\" \\$c\"", Some("a \"b\" $c"));
        check("/bin/bash -lc ''", Some(""));
        check("/bin/bash -lc \"echo $HOME\"", None);
        check("/bin/bash -lc 'ls' extra", None);
        check("/bin/bash -lc 'ls'; rm -rf x", None);
        check("/bin/bash -lc 'ls' > out", None);
        check("/bin/bash -xc 'ls'", None);
        check("./bash -c ls", None);
        check("/tmp/w/bash -lc 'cargo --version'", None);
        check("bin/bash -c ls", None);
        check("//bin/bash -c ls", None);
        check("/bin/../tmp/bash -c ls", None);
        check("python -c 'x'", None);
        check("/bin/bash -lc 'ls", None);
        check("", None);
    }

    #[test]
    fn what_is_joined_is_one_wrapper_again() {
        for script in ["ls", "echo 'it''s' \"$x\" \\ ; rm", "", "a\nb", "ünï"] {
            assert_eq!(shell_line(&join(&["/bin/bash", "-lc", script])).as_deref(), Some(script));
        }
    }
}
