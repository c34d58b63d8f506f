//! Programs that run the program that follows.

use super::{
    Finding, Scope, Word, builtins, command,
    options::{Parsed, Spec, parse},
};

/// Judges a wrapper by what it wraps, or `None` if it is none.
pub(super) fn judge(name: &str, words: &[Word], scope: Scope) -> Option<Finding> {
    let spec = match name {
        "env" => return Some(env(words, scope)),
        "command" => return Some(lookup(words, scope)),
        "xargs" | "gxargs" => return Some(xargs(words, scope)),
        "builtin" => Spec::NONE,
        // As a word of the shell it takes no other option; the program would write with `-o`.
        "time" => Spec { flags: "p", ..Spec::NONE },
        "nice" => Spec { valued: "n", long: "adjustment=", digits: true, ..Spec::NONE },
        "ionice" => Spec { valued: "cn", flags: "t", ..Spec::NONE },
        "stdbuf" => Spec { valued: "ioe", long: "input= output= error=", ..Spec::NONE },
        "timeout" | "gtimeout" => Spec {
            flags: "v",
            valued: "ks",
            long: "kill-after= signal= foreground preserve-status verbose",
            ..Spec::NONE
        },
        "nohup" => {
            return Some(Finding::writes("nohup writes nohup.out and outlives its session"));
        }
        "sudo" | "doas" | "su" | "pkexec" | "runuser" => {
            return Some(Finding::runs(format!("{name} runs it as another user")));
        }
        "setsid" | "unshare" | "nsenter" | "strace" | "ltrace" | "flock" => {
            return Some(Finding::runs(format!("{name} runs what follows")));
        }
        _ => return None,
    };
    let n_before = usize::from(name.ends_with("timeout"));
    let (options, rest) = match own(&spec, words) {
        Ok(split) => split,
        Err(finding) => return Some(finding),
    };
    if let Err(finding) = only_options(&spec, options) {
        return Some(finding);
    }
    if let Some(word) = rest.iter().take(n_before).find(|it| it.known().is_none()) {
        return Some(Finding::unknown(word));
    }
    Some(peel(rest.get(n_before..).unwrap_or_default(), scope))
}

fn peel(words: &[Word], scope: Scope) -> Finding {
    command(words, Scope { n_peeled: scope.n_peeled + 1, ..scope })
}

/// Splits a wrapper's own options from what it runs.
fn own<'a>(spec: &Spec, words: &'a [Word]) -> Result<(&'a [Word], &'a [Word]), Finding> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(value) = word.known() else { return Err(Finding::unknown(word)) };
        if value == "--" {
            return Ok((&words[..at], &words[at + 1..]));
        }
        if !value.starts_with('-') || value == "-" {
            break;
        }
        at += 1;
        let takes_next = match value.strip_prefix("--") {
            Some(name) => {
                spec.long.split_ascii_whitespace().any(|it| it.strip_suffix('=') == Some(name))
            }
            None => match value[1..].find(|it| spec.valued.contains(it)) {
                Some(place) => place + 2 == value.len(),
                None => false,
            },
        };
        at += usize::from(takes_next);
    }
    let at = at.min(words.len());
    Ok(words.split_at(at))
}

/// Takes apart what [`own`] took for options, and sees that it is nothing else.
fn only_options<'a>(spec: &Spec, words: &'a [Word]) -> Result<Parsed<'a>, Finding> {
    let parsed = parse(spec, words)?;
    match parsed.operands.first() {
        Some(word) => Err(Finding::unclear(format!("what {} is here is not known", word.raw))),
        None => Ok(parsed),
    }
}

fn env(words: &[Word], scope: Scope) -> Finding {
    let spec = Spec {
        flags: "i0v",
        valued: "u",
        long: "ignore-environment null unset= debug",
        risky: &[
            ("-S", super::Class::RunsProgram, "splits a text into a command"),
            ("--split-string", super::Class::RunsProgram, "splits a text into a command"),
        ],
        ..Spec::NONE
    };
    let (options, mut rest) = match own(&spec, words) {
        Ok(split) => split,
        Err(finding) => return finding,
    };
    if let Err(finding) = only_options(&spec, options) {
        return finding;
    }
    if rest.first().is_some_and(|it| it.known() == Some("-")) {
        rest = &rest[1..];
    }
    while let Some((first, others)) = rest.split_first() {
        let Some((name, value)) = first.value.split_once('=') else { break };
        if first.known().is_none() {
            return Finding::unknown(first);
        }
        let finding = builtins::assignment(name, &Word::exact(value));
        if !finding.is_safe() {
            return finding;
        }
        rest = others;
    }
    if rest.is_empty() {
        return Finding::reads("it prints the environment");
    }
    peel(rest, scope)
}

fn lookup(words: &[Word], scope: Scope) -> Finding {
    let Some(first) = words.first() else { return Finding::reads("it does nothing") };
    match first.known() {
        None => Finding::unknown(first),
        Some("-v" | "-V" | "-pv" | "-pV") => Finding::reads("it says what a name stands for"),
        Some("-p" | "--") => peel(&words[1..], scope),
        Some(it) if it.starts_with('-') => Finding::unclear(format!("what {it} does is not known")),
        Some(_) => peel(words, scope),
    }
}

fn xargs(words: &[Word], scope: Scope) -> Finding {
    let spec = Spec {
        flags: "0rtx",
        valued: "nLPdEsI",
        attached: "eil",
        long: "null no-run-if-empty verbose exit max-args= max-lines? max-procs= delimiter= \
               max-chars= replace?",
        ..Spec::NONE
    };
    let (options, rest) = match own(&spec, words) {
        Ok(split) => split,
        Err(finding) => return finding,
    };
    let parsed = match only_options(&spec, options) {
        Ok(parsed) => parsed,
        Err(finding) => return finding,
    };
    if rest.is_empty() {
        return Finding::reads("it prints what it reads");
    }
    let replaced = parsed.options.iter().zip(&parsed.values).rev().find_map(|(name, value)| {
        match name.as_str() {
            "-i" | "--replace" if value.is_empty() => Some("{}"),
            "-I" | "-i" | "--replace" => Some(value.as_str()),
            _ => None,
        }
    });
    // Names that end with a zero are taken apart where they end, and nowhere else.
    let splits_at_zero = parsed.has(&["-0", "--null"]) && !parsed.has(&["-d", "--delimiter"]);
    let input = if scope.reads_names && splits_at_zero { Word::names } else { Word::input };
    let mut inner: Vec<Word> = rest.to_vec();
    match replaced {
        None => inner.push(input()),
        Some("") => return Finding::unclear("what it replaces is not known"),
        Some(mark) => {
            for word in inner.iter_mut().filter(|it| it.value.contains(mark)) {
                // In the middle of a word it still cannot begin with a dash.
                *word = if word.value == mark {
                    input()
                } else if word.value.starts_with(mark) || word.value.starts_with('-') {
                    Word::input()
                } else {
                    word.unknown()
                };
            }
        }
    }
    peel(&inner, scope)
}
