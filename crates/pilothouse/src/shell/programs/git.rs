//! Tells the subcommands of git that read a repository, and their options that do more than that.

use super::{
    Class, Finding, Word, content,
    options::{Parsed, Spec, parse},
    search::broad,
};

const RUNS: Class = Class::RunsProgram;

const HISTORY_RISKS: &[(&str, Class, &str)] = &[
    ("--output", Class::Writes, "writes a file"),
    ("--ext-diff", RUNS, "runs a program for each file"),
    ("--textconv", RUNS, "runs a program for each file"),
    ("-O", Class::NotUnderstood, "names a file or a program"),
    ("--show-signature", RUNS, "runs a program to verify signatures"),
];

/// log, diff, show and their kin.
const HISTORY: Spec = Spec {
    flags: "pusaiEFPRrtcmqbwWDgvhz01",
    valued: "nSGL",
    attached: "UMCBlX",
    long: "oneline stat? shortstat numstat dirstat? compact-summary summary name-only name-status \
           patch no-patch patch-with-stat raw unified= minimal patience histogram anchored= \
           diff-algorithm= color? no-color color-moved? no-color-moved word-diff? \
           word-diff-regex= color-words? no-renames find-renames? find-copies? \
           find-copies-harder break-rewrites? irreversible-delete diff-filter= pickaxe-all \
           pickaxe-regex relative? no-relative text ignore-cr-at-eol ignore-space-at-eol \
           ignore-space-change ignore-all-space ignore-blank-lines inter-hunk-context= \
           function-context exit-code quiet no-ext-diff no-textconv ignore-submodules? \
           submodule? src-prefix= dst-prefix= no-prefix default-prefix line-prefix= full-index \
           binary abbrev? no-abbrev staged cached merge-base no-index check ws-error-highlight= \
           follow no-follow decorate? no-decorate decorate-refs= decorate-refs-exclude= source \
           log-size max-count= skip= since= after= until= before= author= committer= grep= \
           grep-reflog= all-match invert-grep regexp-ignore-case basic-regexp extended-regexp \
           fixed-strings perl-regexp merges no-merges min-parents= max-parents= first-parent \
           exclude-first-parent-only not all branches? tags? remotes? glob= exclude= reflog \
           alternate-refs single-worktree ignore-missing cherry-mark cherry-pick left-only \
           right-only cherry walk-reflogs merge boundary simplify-by-decoration full-history \
           dense sparse simplify-merges ancestry-path? date-order author-date-order topo-order \
           reverse no-walk? do-walk pretty? format= abbrev-commit no-abbrev-commit encoding= \
           notes? no-notes relative-date date= parents children left-right graph no-graph \
           show-linear-break? count objects no-object-names use-bitmap-index timestamp \
           diff-merges= no-diff-merges combined-all-paths remerge-diff dd cc root mailmap \
           no-mailmap clear-decorations expand-tabs? no-expand-tabs summary numbered email \
           group= stdin",
    risky: HISTORY_RISKS,
    digits: true,
};

const STATUS: Spec = Spec {
    flags: "sbvz",
    attached: "u",
    long: "short branch show-stash porcelain? long verbose untracked-files? ignored? \
           ignore-submodules? column? no-column ahead-behind no-ahead-behind renames no-renames \
           find-renames? null",
    ..Spec::NONE
};

const REFS: Spec = Spec {
    flags: "arvliqn",
    attached: "",
    valued: "",
    long: "all remotes list verbose show-current contains= no-contains= merged= no-merged= \
           points-at= sort= format= column? no-column color? no-color ignore-case abbrev= \
           no-abbrev omit-empty count= shell perl python tcl exclude=",
    digits: false,
    risky: &[
        ("-d", Class::Writes, "deletes"),
        ("-D", Class::Writes, "deletes"),
        ("-m", Class::Writes, "renames"),
        ("-f", Class::Writes, "forces a change"),
        ("--delete", Class::Writes, "deletes"),
        ("--edit-description", RUNS, "runs an editor"),
        ("--set-upstream-to", Class::Writes, "changes a branch"),
    ],
};

const FILES: Spec = Spec {
    flags: "cdomikstuvzrl",
    valued: "x",
    long: "cached deleted others modified ignored stage directory no-empty-directory unmerged \
           killed exclude= exclude-standard error-unmatch full-name abbrev? debug eol \
           deduplicate name-only name-status object-only long full-tree recurse-submodules \
           format=",
    ..Spec::NONE
};

const REV_PARSE: Spec = Spec {
    flags: "q",
    long: "show-toplevel abbrev-ref? short? verify quiet git-dir absolute-git-dir git-common-dir \
           git-path= is-inside-work-tree is-inside-git-dir is-bare-repository \
           is-shallow-repository show-prefix show-cdup symbolic symbolic-full-name path-format= \
           show-superproject-working-tree all branches? tags? remotes? show-object-format? \
           revs-only no-revs flags no-flags sq default= since= until= local-env-vars",
    ..Spec::NONE
};

const BLAME: Spec = Spec {
    flags: "bcflstewnp",
    valued: "LS",
    attached: "MC",
    long: "root show-stats porcelain line-porcelain incremental show-name show-number show-email \
           date= color-lines color-by-age abbrev= ignore-rev= ignore-revs-file= since= reverse \
           first-parent progress no-progress encoding=",
    ..Spec::NONE
};

const GREP: Spec = Spec {
    flags: "aIirhHEGPFnlLzocpWqvw",
    valued: "efABCm",
    long: "cached no-index untracked no-exclude-standard exclude-standard recurse-submodules \
           text ignore-case no-recursive recursive max-depth= word-regexp invert-match full-name \
           extended-regexp basic-regexp perl-regexp fixed-strings line-number column \
           files-with-matches name-only files-without-match null only-matching count color? \
           no-color break heading show-function context= after-context= before-context= \
           function-context max-count= threads= all-match and or not quiet no-textconv",
    risky: &[
        ("-O", RUNS, "runs a program on what it finds"),
        ("--open-files-in-pager", RUNS, "runs a program on what it finds"),
        ("--textconv", RUNS, "runs a program for each file"),
        ("--ext-grep", RUNS, "runs a program"),
    ],
    digits: true,
    ..Spec::NONE
};

const DESCRIBE: Spec = Spec {
    long: "all tags contains abbrev= dirty? broken? candidates= exact-match debug long match= \
           exclude= always first-parent",
    ..Spec::NONE
};

const CAT_FILE: Spec = Spec {
    flags: "tspe",
    long: "batch-all-objects batch-check? allow-unknown-type unordered",
    risky: &[("--textconv", RUNS, "runs a program"), ("--filters", RUNS, "runs a program")],
    ..Spec::NONE
};

const CONFIG: Spec = Spec {
    flags: "lz",
    long: "get get-all get-regexp get-urlmatch list global local system worktree null name-only \
           show-origin show-scope type= bool int path includes no-includes default=",
    risky: &[
        ("--unset", Class::Writes, "changes the settings"),
        ("--add", Class::Writes, "changes the settings"),
        ("--edit", RUNS, "runs an editor"),
        ("-e", RUNS, "runs an editor"),
    ],
    ..Spec::NONE
};

const PLUMBING: Spec = Spec {
    flags: "aszvqldprH",
    long: "all octopus independent is-ancestor fork-point name-only refs= tags always heads \
           head hash? verify quiet dereference branches abbrev? porcelain verbose human-readable \
           non-matching stdin no-index short no-recurse",
    ..Spec::NONE
};

/// What git itself knows by name.
const FORMATS: [&str; 9] =
    ["oneline", "short", "medium", "full", "fuller", "reference", "email", "mboxrd", "raw"];

const NETWORK: &str = "fetch pull push clone ls-remote fetch-pack send-pack archive-remote";

const WRITERS: &str = "add am apply archive bisect bundle checkout checkout-index cherry-pick clean \
    commit commit-tree fast-import filter-branch format-patch gc hash-object init maintenance merge \
    mergetool mv notes prune read-tree rebase repack replace reset restore revert rm stage \
    switch tag update-index update-ref worktree write-tree";

/// Judges git by its subcommand; `moves` says that the line changes directory, so that it may be
/// another repository's settings that tell git which programs to run.
pub(super) fn judge(words: &[Word], moves: bool) -> Finding {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(value) = word.known() else { return Finding::unknown(word) };
        match value {
            "--no-pager"
            | "-P"
            | "--no-optional-locks"
            | "--literal-pathspecs"
            | "--no-replace-objects"
            | "--icase-pathspecs" => at += 1,
            "--version" | "-v" if words.len() == 1 => {
                return Finding::reads("it prints its version");
            }
            "--exec-path" | "--html-path" | "--man-path" | "--info-path" if words.len() == 1 => {
                return Finding::reads("it prints where it is installed");
            }
            it if it.starts_with('-') => {
                return Finding::runs(format!("git {it} changes which programs git runs, or may"));
            }
            _ => break,
        }
    }
    let Some(name) = words.get(at).and_then(Word::known) else {
        return Finding::unclear("git without a subcommand");
    };
    let finding = subcommand(name, &words[at + 1..]);
    if finding.is_safe() && moves {
        return Finding::runs("in another directory git runs what its settings there name");
    }
    finding
}

fn subcommand(name: &str, words: &[Word]) -> Finding {
    let first = words.first().and_then(Word::known);
    let rest = words.get(1..).unwrap_or_default();
    let any = |_: &Parsed<'_>| true;
    match name {
        "log" | "diff" | "show" | "whatchanged" | "rev-list" | "shortlog" | "diff-tree"
        | "diff-index" | "diff-files" | "range-diff" | "cherry" | "name-rev" => {
            by(&HISTORY, words, any)
        }
        "status" => by(&STATUS, words, any),
        "branch" => by(&REFS, words, lists),
        "tag" => by(&Spec { attached: "n", flags: "lirq", ..REFS }, words, lists),
        "for-each-ref" => by(&REFS, words, any),
        "ls-files" | "ls-tree" => by(&FILES, words, any),
        "rev-parse" => by(&REV_PARSE, words, any),
        "blame" | "annotate" => by(&BLAME, words, any),
        "grep" => by(&GREP, words, any),
        "describe" => by(&DESCRIBE, words, any),
        "cat-file" => by(&CAT_FILE, words, any),
        "config" => config(words),
        "merge-base" | "show-ref" | "count-objects" | "check-ignore" | "check-attr"
        | "check-ref-format" | "var" | "verify-pack" | "stripspace" => by(&PLUMBING, words, any),
        "symbolic-ref" => by(&PLUMBING, words, |it| it.operands.len() == 1 && !it.has(&["-d"])),
        "version" => Finding::reads("it prints its version"),
        "remote" => match first {
            None if words.is_empty() => Finding::reads("it lists remotes"),
            Some("-v" | "--verbose") if rest.is_empty() => Finding::reads("it lists remotes"),
            Some("get-url") => by(&Spec { long: "push all", ..Spec::NONE }, rest, any),
            Some("show" | "update" | "prune") => Finding::network("git remote asks the remote"),
            _ => Finding::writes("git remote changes the settings"),
        },
        "stash" => match first {
            Some("list" | "show") => by(&HISTORY, rest, any),
            _ => Finding::writes("git stash changes files"),
        },
        "reflog" => match first {
            None if words.is_empty() => Finding::reads("it lists what a branch was"),
            Some("expire" | "delete" | "drop" | "write") => {
                Finding::writes("it changes the reflog")
            }
            Some("show" | "list" | "exists") => by(&HISTORY, rest, any),
            _ => by(&HISTORY, words, any),
        },
        "worktree" => match first {
            Some("list") => by(&PLUMBING, rest, any),
            _ => Finding::writes("git worktree changes files"),
        },
        "notes" => match first {
            Some("list" | "show") => by(&Spec::NONE, rest, any),
            _ => Finding::writes("git notes changes notes"),
        },
        _ if is_in(NETWORK, name) => Finding::network(format!("git {name} talks to a remote")),
        _ if is_in(WRITERS, name) => Finding::writes(format!("git {name} changes things")),
        _ => Finding::unclear(format!("git {name} is not modelled, or is an alias")),
    }
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|it| it == name)
}

fn by(spec: &Spec, words: &[Word], reads: impl FnOnce(&Parsed<'_>) -> bool) -> Finding {
    match parse(spec, words) {
        Err(finding) => finding,
        Ok(parsed) if reads(&parsed) => format(&parsed)
            .or(|| broad(&parsed.operands))
            .or(|| content(&parsed.operands, "it reads the repository")),
        Ok(_) => Finding::writes("it changes the repository"),
    }
}

/// Asks if what is printed of a commit may be whether its signature is good, which a program that
/// the settings name is asked, or is a format that the settings have.
fn format(parsed: &Parsed<'_>) -> Finding {
    for (name, value) in parsed.options.iter().zip(&parsed.values) {
        let names_format = matches!(name.as_str(), "--format" | "--pretty" | "--group" | "--sort");
        if names_format
            && (value.contains(['%', ':']) && value.contains('G') || value.contains("signature"))
        {
            return Finding::runs(format!("{name}={value} runs a program to verify signatures"));
        }
        let is_known =
            value.is_empty() || value.contains(['%', ':']) || FORMATS.contains(&value.as_str());
        if matches!(name.as_str(), "--format" | "--pretty") && !is_known {
            return Finding::runs(format!("what {name}={value} is, is for the settings to say"));
        }
    }
    Finding::reads("it reads the repository")
}

/// Without an option that makes it a list, an operand is a name to create.
fn lists(parsed: &Parsed<'_>) -> bool {
    parsed.operands.is_empty()
        || parsed.has(&[
            "-l",
            "--list",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
        ])
}

fn config(words: &[Word]) -> Finding {
    let first = words.first().and_then(Word::known);
    let (mode, words) = match first {
        Some("list" | "get") => (true, &words[1..]),
        Some("set" | "unset" | "edit" | "rename-section" | "remove-section") => {
            return Finding::writes("it changes the settings");
        }
        _ => (false, words),
    };
    by(&CONFIG, words, |it| {
        let gets =
            it.options.iter().any(|it| it.starts_with("--get") || it == "--list" || it == "-l");
        mode || gets || it.operands.len() == 1
    })
}
