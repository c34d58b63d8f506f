//! Programs that print what they read, and those of their options that do more.

use super::{
    Class, Finding, Kind, Word, content,
    options::{Parsed, Spec, parse},
    paths, search, uncertain,
};

/// Whatever their arguments are, they only print; what is in a file they do not show.
const FREE: &str = "true false : echo pwd ls dir vdir stat df basename dirname realpath readlink \
    seq sleep yes id whoami groups uname arch nproc free tty tr expr factor numfmt \
    which whereis type printenv ps pgrep pidof locale getconf lscpu lsblk gls";

/// The same, but for an option by which they read a list and show what of it is no name.
const LISTED: &str =
    "wc gwc du cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum";

/// Whatever their options are, they only read; but what they read they show.
const READERS: &str = "cat head tail cut nl tac rev paste join comm expand unexpand fold fmt pr od \
    hexdump hd strings cmp column tsort who users uptime ghead gtail gcat";

const BASE64: Spec =
    Spec { flags: "dDi", valued: "w", long: "decode ignore-garbage wrap=", ..Spec::NONE };

const UNIQ: Spec = Spec {
    flags: "cdDiuz",
    valued: "fsw",
    long: "count repeated unique ignore-case zero-terminated all-repeated? skip-fields= skip-chars= \
           check-chars= group?",
    ..Spec::NONE
};

const SORT: Spec = Spec {
    flags: "bdfgihMnRrVcCmsuz",
    valued: "ktS",
    long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort \
           human-numeric-sort month-sort numeric-sort random-sort reverse sort= version-sort check? \
           key= field-separator= buffer-size= stable unique zero-terminated merge parallel= debug",
    risky: &[
        ("-o", Class::Writes, "writes a file"),
        ("--output", Class::Writes, "writes a file"),
        ("-T", Class::Writes, "writes its own files elsewhere"),
        ("--compress-program", Class::RunsProgram, "runs a program"),
    ],
    ..Spec::NONE
};

const SHUF: Spec = Spec {
    flags: "ezr",
    valued: "in",
    long: "echo input-range= head-count= repeat zero-terminated",
    risky: &[("-o", Class::Writes, "writes a file"), ("--output", Class::Writes, "writes a file")],
    ..Spec::NONE
};

const DIFF: Spec = Spec {
    flags: "uraNqwbBiycsEZetdpTn",
    valued: "UCWxXIFS",
    long: "unified? context? brief recursive report-identical-files new-file ignore-case \
           ignore-all-space ignore-space-change ignore-blank-lines ignore-trailing-space text \
           side-by-side width= color? exclude= suppress-common-lines strip-trailing-cr \
           no-dereference label= minimal speed-large-files show-c-function side-by-side normal",
    risky: &[("-l", Class::RunsProgram, "runs pr"), ("--paginate", Class::RunsProgram, "runs pr")],
    digits: true,
    ..Spec::NONE
};

const DATE: Spec = Spec {
    flags: "uR",
    valued: "dr",
    attached: "I",
    long: "date= reference= utc universal rfc-email iso-8601? rfc-3339= version",
    risky: &[("-s", Class::Writes, "sets the clock"), ("--set", Class::Writes, "sets the clock")],
    ..Spec::NONE
};

const FILE: Spec = Spec {
    flags: "bhiLkNnprs0",
    valued: "eF",
    long: "brief mime mime-type mime-encoding dereference no-dereference keep-going separator= \
           extension apple raw",
    risky: &[
        ("-C", Class::Writes, "writes a compiled magic file"),
        ("--compile", Class::Writes, "writes a compiled magic file"),
        ("-z", Class::RunsProgram, "runs decompressors"),
    ],
    ..Spec::NONE
};

const TREE: Spec = Spec {
    flags: "adflxpsughDFqNQrtUvcSnACJXi",
    valued: "LPIHT",
    long: "noreport dirsfirst gitignore prune du si inodes device matchdirs ignore-case \
           filelimit= filesfirst sort= charset= fromfile",
    risky: &[
        ("-o", Class::Writes, "writes a file"),
        ("--output", Class::Writes, "writes a file"),
        ("-R", Class::Writes, "writes files when given an output"),
    ],
    ..Spec::NONE
};

const LESS: Spec = Spec { flags: "RrNSFXEeinMm", long: "RAW-CONTROL-CHARS", ..Spec::NONE };

const BAT: Spec = Spec {
    flags: "pnAu",
    valued: "rlHm",
    long: "plain number show-all line-range= language= highlight-line= style= color= theme= \
           decorations= wrap=",
    risky: &[("--pager", Class::RunsProgram, "runs a program")],
    ..Spec::NONE
};

const MAN: Spec = Spec {
    flags: "afkw",
    valued: "sS",
    long: "all whatis apropos where path sections=",
    risky: &[
        ("-H", Class::RunsProgram, "runs a browser"),
        ("--html", Class::RunsProgram, "runs a browser"),
        ("-P", Class::RunsProgram, "runs a pager"),
        ("--pager", Class::RunsProgram, "runs a pager"),
        ("-p", Class::RunsProgram, "runs preprocessors"),
        ("--preprocessor", Class::RunsProgram, "runs preprocessors"),
    ],
    ..Spec::NONE
};

const YQ: Spec = Spec {
    flags: "rPCMNec",
    valued: "po",
    attached: "",
    long: "raw-output prettyPrint colors no-colors no-doc exit-status output-format= \
           input-format= unwrapScalar?",
    risky: &[
        ("-i", Class::Writes, "writes the file"),
        ("--inplace", Class::Writes, "writes the file"),
        ("--in-place", Class::Writes, "writes the file"),
        ("-s", Class::Writes, "writes files"),
        ("--split-exp", Class::Writes, "writes files"),
    ],
    ..Spec::NONE
};

const UNZIP: Spec = Spec { flags: "lvZtq1", ..Spec::NONE };

/// Judges a reader, or `None` if it is none.
pub(super) fn judge(name: &str, words: &[Word]) -> Option<Finding> {
    let is_in = |list: &str| list.split_ascii_whitespace().any(|it| it == name);
    if is_in(FREE) {
        return Some(Finding::reads("it only prints"));
    }
    if is_in(LISTED) {
        return Some(listed(words));
    }
    if is_in(READERS) {
        return Some(reader(words.iter()));
    }
    let all = |_: &Parsed<'_>| None;
    Some(match name {
        "jq" | "gojq" => jq(words),
        "uniq" => by(&UNIQ, words, |it| at_most(1, it)),
        "sort" | "gsort" => by(&SORT, words, all),
        "shuf" => by(&SHUF, words, all),
        "diff" => {
            by(&DIFF, words, |it| Some(search::broad(&it.operands)).filter(|it| !it.is_safe()))
        }
        "date" | "gdate" => by(&DATE, words, date),
        "file" => by(&FILE, words, all),
        "tree" => by(&TREE, words, all),
        "xxd" => xxd(words),
        "base64" | "base32" => by(&BASE64, words, |it| at_most(1, it)),
        "less" | "more" => by(&LESS, words, plus),
        "bat" | "batcat" => by(&BAT, words, |it| {
            (it.operands.first().is_some_and(|it| it.value == "cache"))
                .then(|| Finding::writes("bat cache writes its cache"))
        }),
        "man" | "whatis" | "apropos" => by(&MAN, words, by_path),
        "hostname" => by(&Spec { flags: "sfId", ..Spec::NONE }, words, |it| at_most(0, it)),
        "yq" => by(&YQ, words, expression),
        "unzip"
            if words
                .first()
                .is_some_and(|it| matches!(it.known(), Some("-l" | "-v" | "-Z" | "-Z1"))) =>
        {
            by(&UNZIP, words, all)
        }
        "tar" | "gtar" | "bsdtar" => tar(words),
        _ => return None,
    })
}

/// Shows only counts of what it reads, unless that is a list of what to read.
fn listed(words: &[Word]) -> Finding {
    if let Some(word) = words.iter().find(|it| matches!(it.kind, Kind::Unknown | Kind::Input)) {
        return Finding::unknown(word);
    }
    let reads_list = |it: &Word| {
        it.value.starts_with("--f")
            || it.value.starts_with("--c")
            || it.value.starts_with('-') && !it.value.starts_with("--") && it.value.contains('c')
    };
    if words.iter().any(reads_list) {
        return content(&words.iter().collect::<Vec<_>>(), "it only reads");
    }
    Finding::reads("it only prints")
}

/// Shows what it reads, and has no option that does more.
pub(super) fn reader<'a>(words: impl Iterator<Item = &'a Word>) -> Finding {
    let words: Vec<&Word> = words.collect();
    match words.iter().find(|it| it.kind == Kind::Unknown) {
        Some(word) => Finding::unknown(word),
        None => content(&words, "it only reads"),
    }
}

fn by(spec: &Spec, words: &[Word], check: impl FnOnce(&Parsed<'_>) -> Option<Finding>) -> Finding {
    match parse(spec, words) {
        Err(finding) => finding,
        Ok(parsed) => match check(&parsed) {
            Some(finding) => finding,
            None => content(&parsed.operands, "it only reads"),
        },
    }
}

fn at_most(n: usize, parsed: &Parsed<'_>) -> Option<Finding> {
    let many = parsed.operands.iter().find(|it| it.kind == Kind::Pattern);
    if let Some(word) = many.or(parsed.operands.get(n)) {
        return Some(Finding::writes(format!("it may write to {}", word.raw)));
    }
    None
}

/// It reads no clusters: `-ps` is one option, and a second operand is written to.
fn xxd(words: &[Word]) -> Finding {
    let mut n_operands = 0;
    let mut words_left = words.iter();
    while let Some(word) = words_left.next() {
        match word.known() {
            None => return Finding::unknown(word),
            Some("-p" | "-ps" | "-b" | "-u" | "-e" | "-i" | "-a") => {}
            Some(it @ ("-l" | "-c" | "-s" | "-g" | "-o")) => match words_left.next() {
                Some(value) if value.known().is_some() => {}
                Some(value) => return Finding::unknown(value),
                None => return Finding::unclear(format!("{it} without its value")),
            },
            Some("-r") => return Finding::writes("-r turns text into a file"),
            Some(it) if it.len() > 1 && it.starts_with('-') => {
                return Finding::unclear(format!("what {it} does is not known"));
            }
            Some(_) => n_operands += 1,
        }
    }
    if n_operands > 1 {
        return Finding::writes("its second operand is a file that it writes");
    }
    content(&words.iter().collect::<Vec<_>>(), "it only reads")
}

fn date(parsed: &Parsed<'_>) -> Option<Finding> {
    parsed
        .operands
        .iter()
        .find(|it| !it.value.starts_with('+'))
        .map(|it| Finding::writes(format!("it sets the clock to {}", it.raw)))
}

fn plus(parsed: &Parsed<'_>) -> Option<Finding> {
    parsed
        .operands
        .iter()
        .find(|it| it.value.starts_with('+'))
        .map(|it| Finding::runs(format!("{} is a command of the pager", it.raw)))
}

fn by_path(parsed: &Parsed<'_>) -> Option<Finding> {
    parsed
        .operands
        .iter()
        .find(|it| it.value.contains('/'))
        .map(|it| Finding::runs(format!("{} is formatted by programs it can name", it.raw)))
}

fn expression(parsed: &Parsed<'_>) -> Option<Finding> {
    parsed
        .operands
        .iter()
        .find(|it| {
            ["load", "system", "import", "include"].iter().any(|word| it.value.contains(word))
        })
        .map(|it| Finding::unclear(format!("{} reads what it names", it.raw)))
}

/// The first operand is a program, which can read no file but those that are named, unless it
/// imports modules.
fn jq(words: &[Word]) -> Finding {
    let mut names_values = 0_usize;
    let mut had_program = false;
    let mut rest: Vec<&Word> = Vec::new();
    for word in words {
        if let Some(finding) = uncertain(word) {
            return finding;
        }
        let value = word.value.as_str();
        if names_values > 0 {
            if word.known().is_none() {
                return Finding::unknown(word);
            }
            names_values -= 1;
            rest.push(word);
        } else if value.starts_with("--") {
            let Some(n_values) = jq_option(value) else {
                return Finding::unclear(format!("what {value} does is not known"));
            };
            names_values = n_values;
        } else if value.starts_with('-') && value.len() > 1 {
            if !value[1..].chars().all(|it| "nrcCMsSRaejh".contains(it)) {
                return Finding::unclear(format!("what {value} does is not known"));
            }
        } else if had_program {
            rest.push(word);
        } else {
            let Some(program) = word.known() else { return Finding::unknown(word) };
            if imports(program) {
                return Finding::unclear("its program may read what it names");
            }
            had_program = true;
        }
    }
    reader(rest.into_iter())
}

/// How many values one of its long options has.
fn jq_option(name: &str) -> Option<usize> {
    match name {
        "--arg" | "--argjson" | "--slurpfile" | "--rawfile" => Some(2),
        "--indent" => Some(1),
        "--null-input"
        | "--raw-input"
        | "--slurp"
        | "--compact-output"
        | "--raw-output"
        | "--raw-output0"
        | "--join-output"
        | "--ascii-output"
        | "--sort-keys"
        | "--color-output"
        | "--monochrome-output"
        | "--tab"
        | "--unbuffered"
        | "--stream"
        | "--seq"
        | "--exit-status"
        | "--args"
        | "--jsonargs"
        | "--help"
        | "--version" => Some(0),
        _ => None,
    }
}

/// Whether a word in it, which is no field, names a module or the file that is read.
fn imports(program: &str) -> bool {
    ["import", "include", "input_filename", "modulemeta", "get_search_list"].iter().any(|word| {
        program.match_indices(word).any(|(at, _)| {
            let is_inner = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '.';
            !program[..at].ends_with(is_inner)
        })
    })
}

/// Only the one way to list an archive that names neither a program nor a machine.
fn tar(words: &[Word]) -> Finding {
    let asks = || Finding::writes("tar does more than list, or may");
    let Some((first, rest)) = words.split_first() else { return asks() };
    let letters = first.value.strip_prefix('-').unwrap_or(&first.value);
    let lists = letters.starts_with('t')
        && letters.ends_with('f')
        && letters.chars().all(|it| "tvzjJf".contains(it));
    let Some((archive, members)) = rest.split_first() else { return asks() };
    let plain = |it: &Word| it.known().is_some_and(|it| !it.starts_with('-') && !it.contains(':'));
    if !lists || first.known().is_none() || !plain(archive) || !members.iter().all(plain) {
        return asks();
    }
    match paths::secret(archive) {
        Some(reason) => Finding::unclear(reason),
        None => Finding::reads("it lists an archive"),
    }
}
