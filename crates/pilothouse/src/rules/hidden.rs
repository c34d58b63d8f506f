//! Other ways to read the words of a command: what is behind wrappers, shells and options.
//!
//! Rules that refuse or ask look at these too. It is a net for what agents write, no sandbox: who
//! wants to hide a command from it can.

use super::parse::MAX_PATTERN_WORDS;
use crate::shell::read;

/// Most readings of one command.
const MAX_HIDDEN: usize = 128;
/// Most words of a reading; no pattern has more.
const MAX_WORDS: usize = MAX_PATTERN_WORDS;
/// Commands in commands.
const MAX_DEPTH: usize = 4;

/// Programs that run the program that follows.
const WRAPPERS: [&str; 27] = [
    "builtin", "busybox", "chroot", "chrt", "command", "doas", "env", "exec", "flock", "gtimeout",
    "ionice", "nice", "nohup", "nsenter", "parallel", "setsid", "stdbuf", "strace", "sudo",
    "taskset", "time", "timeout", "unshare", "watch", "xargs", "gxargs", "ltrace",
];

/// Programs that run a text with `-c`.
const SHELLS: [&str; 8] = ["ash", "bash", "dash", "fish", "ksh", "sh", "su", "zsh"];

/// What a command may be, beside its words as they stand.
pub(super) fn hidden(argv: &[String]) -> Vec<Vec<String>> {
    let mut res = vec![];
    reveal(argv, 0, &mut res);
    res.truncate(MAX_HIDDEN);
    res
}

fn reveal(argv: &[String], depth: usize, res: &mut Vec<Vec<String>>) {
    let Some((first, rest)) = argv.split_first() else { return };
    if depth >= MAX_DEPTH || res.len() >= MAX_HIDDEN {
        return;
    }
    let name = first.rsplit('/').next().unwrap_or(first);
    let name = name.strip_prefix('\\').unwrap_or(name);
    let named = |rest: &[String]| -> Vec<String> {
        std::iter::once(name.to_owned()).chain(rest.iter().cloned()).take(MAX_WORDS).collect()
    };
    if name != first {
        res.push(named(rest));
    }
    // `git -C dir push` is `git push`.
    res.extend(after_options(rest).take(MAX_HIDDEN).map(|at| named(&rest[at..])));
    if WRAPPERS.contains(&name) {
        for at in starts(rest) {
            take(&rest[at..], depth, res);
        }
    }
    let texts: Vec<String> = match name {
        "eval" => vec![rest.join(" ")],
        it if SHELLS.contains(&it) => {
            let is_script = |it: &&[String]| {
                let is_short = !it[0].starts_with("--") && it[0].starts_with('-');
                is_short && it[0].ends_with('c') || it[0] == "--command"
            };
            rest.windows(2).filter(is_script).map(|it| it[1].clone()).collect()
        }
        _ => vec![],
    };
    for text in texts {
        for segment in read(&text).segments {
            take(&segment.argv, depth, res);
        }
    }
    if matches!(name, "find" | "gfind" | "fd") {
        let runs = |it: &String| {
            matches!(
                it.as_str(),
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch"
            )
        };
        for (at, _) in rest.iter().enumerate().filter(|(_, it)| runs(it)) {
            take(&rest[at + 1..], depth, res);
        }
    }
}

fn take(argv: &[String], depth: usize, res: &mut Vec<Vec<String>>) {
    if !argv.is_empty() && res.len() < MAX_HIDDEN {
        res.push(argv.iter().take(MAX_WORDS).cloned().collect());
        reveal(argv, depth + 1, res);
    }
}

/// Where the words go on after options, each of which may have a value.
fn after_options(words: &[String]) -> impl Iterator<Item = usize> {
    let is_option = |at: usize| words[at].starts_with('-');
    let is_part = move |at: &usize| is_option(*at) || *at > 0 && is_option(*at - 1);
    (0..words.len()).take_while(is_part).map(|it| it + 1)
}

/// Where a wrapped command may begin: at the first word that is no option and no variable, and
/// after it if it may belong to the wrapper.
fn starts(words: &[String]) -> Vec<usize> {
    let mut res = vec![];
    for (at, word) in words.iter().enumerate() {
        let is_own = word.starts_with('-') || word.contains('=');
        if is_own {
            continue;
        }
        res.push(at);
        let follows_option = at > 0 && words[at - 1].starts_with('-');
        let is_number = word.starts_with(|it: char| it.is_ascii_digit());
        if !follows_option && !is_number {
            break;
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let argv: Vec<String> = read(line).segments[0].argv.clone();
        let found: Vec<String> = hidden(&argv).iter().map(|it| it.join(" ")).collect();
        assert!(found.iter().any(|it| it == expected), "{line}: {found:?}");
    }

    #[test]
    fn what_is_run_in_the_end_is_found() {
        for (line, expected) in [
            ("/bin/rm -r x", "rm -r x"),
            ("sudo rm x", "rm x"),
            ("sudo -u root rm x", "rm x"),
            ("timeout 5 rm x", "rm x"),
            ("timeout -k 5 10 /bin/rm x", "rm x"),
            ("env A=1 nice -n 5 rm x", "rm x"),
            ("xargs -n 1 rm", "rm"),
            ("git -C dir push --force", "git push --force"),
            ("git -c a=b --no-pager push", "git push"),
            ("bash -lc 'ls; rm x'", "rm x"),
            ("sh -c \"sudo sh -c 'rm x'\"", "rm x"),
            ("eval rm x", "rm x"),
            ("find . -name a -exec rm {} +", "rm {} +"),
        ] {
            check(line, expected);
        }
    }

    #[test]
    fn arguments_are_no_commands() {
        let argv: Vec<String> =
            ["sudo", "apt", "install", "git"].iter().map(|it| (*it).to_owned()).collect();
        assert!(!hidden(&argv).iter().any(|it| it[0] == "git"));
        assert!(hidden(&["echo".to_owned(), "rm".to_owned()]).is_empty());
    }

    #[test]
    fn there_is_an_end_to_it() {
        let argv: Vec<String> = std::iter::repeat_n("sudo".to_owned(), 5_000).collect();
        assert!(hidden(&argv).len() <= MAX_HIDDEN);
        let argv: Vec<String> = std::iter::repeat_n("-x".to_owned(), 5_000).collect();
        assert!(hidden(&argv).len() <= MAX_HIDDEN);
    }
}
