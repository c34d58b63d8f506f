//! What the shell does itself: directories, options, tests, variables.

use super::{
    Finding, Kind, Word,
    options::{Spec, parse},
    paths,
};
use crate::shell::scan::is_name;

/// Variables that no program of ours is led astray by, whatever they hold.
const HARMLESS: [&str; 20] = [
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "CODEX_CI",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NO_COLOR",
    "POSIXLY_CORRECT",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

/// Lower-case names that a shell or a program gives a meaning to.
const SPECIAL: [&str; 21] = [
    "all_proxy",
    "aliases",
    "argv",
    "auto_resume",
    "cdpath",
    "commands",
    "fignore",
    "fpath",
    "ftp_proxy",
    "functions",
    "histchars",
    "http_proxy",
    "https_proxy",
    "mailpath",
    "manpath",
    "module_path",
    "no_proxy",
    "path",
    "prompt",
    "psvar",
    "watch",
];

/// How names begin that a shell or a program gives a meaning to.
const SPECIAL_STARTS: [&str; 38] = [
    "AWK", "BASH", "BAT_", "CARGO", "CURL", "DOCKER", "DYLD_", "GAWK", "GCONV", "GIT", "GLIBC",
    "GPG", "GREP_", "HIST", "HTTP", "JAVA", "JQ", "LD_", "LESS", "LOC", "MALLOC", "MAN", "NODE",
    "NPM", "OPENSSL", "PERL", "PROMPT", "PS", "PYTHON", "RIPGREP", "RUBY", "RUST", "SSH", "SSL_",
    "TAR_", "TERM", "XDG_", "Z",
];

/// How they end.
const SPECIAL_ENDS: [&str; 12] = [
    "CMD", "COMMAND", "EDITOR", "FLAGS", "HOME", "OPTIONS", "OPTS", "PAGER", "PATH", "PRELOAD",
    "PROXY", "SHELL",
];

const SPECIAL_NAMES: [&str; 13] = [
    "ARGV0",
    "BROWSER",
    "ENV",
    "FIGNORE",
    "FUNCNAME",
    "GLOBIGNORE",
    "GZIP",
    "IFS",
    "MAGIC",
    "OLDPWD",
    "PWD",
    "TMPDIR",
    "VISUAL",
];

/// Judges a builtin, or `None` if it is none that is modelled.
pub(super) fn judge(name: &str, words: &[Word]) -> Option<Finding> {
    Some(match name {
        "cd" => cd(words),
        "set" => set(words),
        "read" => read(words),
        "test" => test(words),
        "[" => match words.split_last() {
            Some((last, words)) if last.known() == Some("]") => test(words),
            _ => Finding::unclear("a test without its end"),
        },
        "[[" => double_test(words),
        "printf" => printf(words),
        "wait" | "exit" | "return" | "break" | "continue" | "shift" => plain(words),
        "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "alias" | "unalias"
        | "trap" | "shopt" | "setopt" | "enable" | "hash" | "ulimit" | "umask" | "let"
        | "function" | "mapfile" | "readarray" | "bind" | "complete" | "fc" | "history" => {
            Finding::runs(format!("{name} changes what later commands do"))
        }
        _ => return None,
    })
}

/// Judges a variable of the shell. It reaches a program only if the environment has it already,
/// so names that mean nothing to any are harmless.
pub(super) fn variable(name: &str, value: &Word) -> Finding {
    let is_special = SPECIAL_STARTS.iter().any(|it| name.starts_with(it))
        || SPECIAL_ENDS.iter().any(|it| name.ends_with(it))
        || SPECIAL_NAMES.contains(&name)
        || SPECIAL.contains(&name);
    if is_name(name) && !is_special {
        return Finding::reads("it sets a variable of the shell");
    }
    assignment(name, value)
}

/// Judges `name=value` for the commands that will see it.
pub(super) fn assignment(name: &str, value: &Word) -> Finding {
    let is_lower =
        name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
    let is_cat = matches!(name, "PAGER" | "GIT_PAGER") && matches!(value.known(), Some("cat" | ""));
    let harmless = HARMLESS.contains(&name) || name.starts_with("LC_") || is_cat;
    if is_name(name) && (harmless || is_lower && !SPECIAL.contains(&name)) {
        return Finding::reads("it sets a variable that changes no program");
    }
    Finding::runs(format!("{name} can change what a program does"))
}

fn cd(words: &[Word]) -> Finding {
    let words = match words {
        [dashes, words @ ..] if dashes.known() == Some("--") => words,
        words => words,
    };
    match words {
        [word] if word.known().is_none() => Finding::unknown(word),
        // What is read from there on is named as if it were no secret.
        [word] if paths::is_broad(word) || paths::secret(word).is_some() => {
            Finding::unclear(format!("around {} are secrets", word.raw))
        }
        [] => Finding::unclear("it goes home, where secrets are"),
        [_] => Finding::reads("it goes to another directory"),
        _ => Finding::unclear("cd with options is not modelled"),
    }
}

/// Options that make a script stop or talk, and no others.
fn set(words: &[Word]) -> Finding {
    let mut names_option = false;
    for word in words {
        let Some(value) = word.known() else { return Finding::unknown(word) };
        if names_option {
            if !matches!(value, "pipefail" | "errexit" | "nounset" | "xtrace" | "noglob") {
                return Finding::unclear(format!("what set -o {value} does is not known"));
            }
            names_option = false;
            continue;
        }
        let letters = value.strip_prefix(['-', '+']).unwrap_or_default();
        if letters.is_empty() || !letters.chars().all(|it| "eufxo".contains(it)) {
            return Finding::unclear(format!("what set {value} does is not known"));
        }
        names_option = letters.ends_with('o');
    }
    Finding::reads("it sets how the shell treats errors")
}

fn read(words: &[Word]) -> Finding {
    let spec = Spec { flags: "rs", valued: "dnNtp", ..Spec::NONE };
    let parsed = match parse(&spec, words) {
        Ok(parsed) => parsed,
        Err(finding) => return finding,
    };
    // A subscript would be evaluated.
    let first_bad =
        parsed.operands.iter().map(|it| variable(&it.value, it)).find(|it| !it.is_safe());
    first_bad.unwrap_or_else(|| Finding::reads("it reads a line into a variable"))
}

/// `[` evaluates no arithmetic, but `-v` and `-R` evaluate subscripts.
fn test(words: &[Word]) -> Finding {
    let n_bangs = words.iter().take_while(|it| it.known() == Some("!")).count();
    let words = &words[n_bangs..];
    let operator = match words {
        [operator, _] | [_, operator, _] => Some(operator),
        _ => None,
    };
    let unknown = |it: &&Word| it.known().is_none();
    // What becomes several words may begin with an operator.
    let splits = |it: &&Word| match it.kind {
        Kind::Exact => false,
        Kind::Pattern => !it.value.contains(['.', '/']),
        Kind::Unknown | Kind::Input | Kind::Names => !it.is_one(),
    };
    if let Some(word) = words.iter().find(splits) {
        return Finding::unknown(word);
    }
    let suspect = match (operator, words.len()) {
        (Some(operator), _) => Some(operator).filter(unknown),
        (None, 0 | 1) => None,
        (None, _) => words.iter().find(unknown),
    };
    if let Some(word) = suspect {
        return Finding::unknown(word);
    }
    if words.iter().any(|it| matches!(it.known(), Some("-v" | "-R"))) {
        return Finding::runs("-v evaluates what it is given");
    }
    // Some shells evaluate the operands of these as arithmetic.
    let is_number = |it: &Word| {
        let digits = it.value.trim_start_matches('-');
        !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit())
    };
    let compares =
        |it: &Word| matches!(it.known(), Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"));
    if let [left, operator, right] = words
        && compares(operator)
        && [left, right].iter().any(|it| it.known().is_some() && !is_number(it))
    {
        return Finding::unclear("a comparison of numbers that are none");
    }
    Finding::reads("it tests a condition")
}

/// `[[` evaluates the operands of numeric comparisons as arithmetic, which may hold commands.
fn double_test(words: &[Word]) -> Finding {
    let Some((last, words)) = words.split_last() else {
        return Finding::unclear("a test without its end");
    };
    if last.raw != "]]" {
        return Finding::unclear("a test without its end");
    }
    let unary = |it: &str| {
        it.len() == 2
            && it.starts_with('-')
            && it[1..].chars().all(|it| "adefghnprsuwxzLS".contains(it))
    };
    for word in words {
        let raw = word.raw.as_str();
        if raw.starts_with('-') && !unary(raw) && !matches!(raw, "-nt" | "-ot" | "-ef") {
            return Finding::unclear(format!("what {raw} evaluates is not known"));
        }
    }
    // Shells without `[[` would run what follows.
    let joins = |it: &Word| matches!(it.raw.as_str(), "&&" | "||");
    let follows = words.windows(2).find(|it| {
        joins(&it[0])
            && !it[1].raw.starts_with(['-', '!', '$', '('])
            && !it[1].raw.starts_with("\"$")
    });
    if let Some([_, word]) = follows {
        return Finding::unclear(format!("what {} is here is not known", word.raw));
    }
    Finding::reads("it tests a condition")
}

fn printf(words: &[Word]) -> Finding {
    match words.first() {
        None => Finding::reads("it prints"),
        Some(first) => match first.known() {
            None => Finding::unknown(first),
            Some("--") => Finding::reads("it prints"),
            Some(it) if it.starts_with('-') => Finding::runs("-v sets a variable"),
            Some(_) => Finding::reads("it prints"),
        },
    }
}

fn plain(words: &[Word]) -> Finding {
    let number = |it: &Word| it.known().is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()));
    match words.iter().find(|it| !number(it)) {
        None => Finding::reads("it steers the shell"),
        Some(word) => Finding::unclear(format!("what {} is here is not known", word.raw)),
    }
}
