//! Programs that look for text or for names: grep, rg, fd.

use super::{
    Class, Finding, Kind, Word, content,
    options::{Spec, parse},
    paths,
    readers::reader,
};

const RG: Spec = Spec {
    flags: "abcFHhiIlLNnoPpqSsUuVvwx.0",
    valued: "ABCEefgjMmrTtd",
    long: "after-context= before-context= context= auto-hybrid-regex binary block-buffered \
           byte-offset case-sensitive color= colors= column context-separator= count \
           count-matches crlf debug dfa-size-limit= encoding= engine= field-context-separator= \
           field-match-separator= file= files files-with-matches files-without-match \
           fixed-strings follow glob= glob-case-insensitive heading help hidden hyperlink-format= \
           iglob= ignore-case ignore-file= ignore-file-case-insensitive include-zero \
           invert-match json line-buffered line-number line-regexp max-columns= \
           max-columns-preview max-count= max-depth= max-filesize= mmap multiline \
           multiline-dotall no-binary no-column no-config no-context-separator no-encoding \
           no-filename no-fixed-strings no-follow no-glob-case-insensitive no-heading no-hidden \
           no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global \
           no-ignore-messages no-ignore-parent no-ignore-vcs no-invert-match no-json \
           no-line-number no-max-columns-preview no-messages no-mmap no-multiline \
           no-multiline-dotall no-one-file-system no-pcre2 no-pre no-require-git \
           no-search-zip no-stats no-text no-trim no-unicode null null-data one-file-system \
           only-matching passthru passthrough path-separator= pcre2 pcre2-version pretty quiet \
           regex-size-limit= regexp= replace= smart-case sort= sortr= stats stop-on-nonmatch \
           text threads= trace trim type= type-list type-not= type-add= unrestricted version \
           vimgrep with-filename word-regexp generate=",
    risky: &[
        ("-z", Class::RunsProgram, "runs decompressors"),
        ("--search-zip", Class::RunsProgram, "runs decompressors"),
        ("--pre", Class::RunsProgram, "runs a program for each file"),
        ("--pre-glob", Class::RunsProgram, "chooses files for a program to run on"),
        ("--hostname-bin", Class::RunsProgram, "runs a program"),
    ],
    attached: "",
    digits: false,
};

const FD: Spec = Spec {
    flags: "HIsiuLpa0gF1qhV",
    valued: "dteEScjo",
    long: "hidden no-ignore no-ignore-vcs no-ignore-parent unrestricted case-sensitive \
           ignore-case glob regex fixed-strings absolute-path follow full-path print0 max-depth= \
           min-depth= exact-depth= type= extension= exclude= size= changed-within= \
           changed-before= newer= older= color= max-results= quiet one-file-system prune \
           strip-cwd-prefix? base-directory= path-separator= search-path= threads= show-errors \
           version help",
    risky: &[
        ("-x", Class::RunsProgram, "runs a program"),
        ("-X", Class::RunsProgram, "runs a program"),
        ("--exec", Class::RunsProgram, "runs a program"),
        ("--exec-batch", Class::RunsProgram, "runs a program"),
        ("-l", Class::RunsProgram, "runs ls"),
        ("--list-details", Class::RunsProgram, "runs ls"),
    ],
    ..Spec::NONE
};

/// Judges a search, or `None` if it is none.
pub(super) fn judge(name: &str, words: &[Word]) -> Option<Finding> {
    Some(match name {
        "grep" | "egrep" | "fgrep" | "ggrep" => grep(words),
        "rg" => rg(words),
        "fd" | "fdfind" => match parse(&FD, words) {
            Ok(_) => Finding::reads("it only lists names"),
            Err(finding) => finding,
        },
        _ => return None,
    })
}

/// No option of grep does more than read, so only what it shows is looked at: all words but the
/// pattern.
fn grep(words: &[Word]) -> Finding {
    let mut has_pattern = words.iter().any(|it| {
        let value = it.value.as_str();
        let is_short = value.starts_with('-') && !value.starts_with("--");
        is_short && value.contains(['e', 'f'])
            || value.starts_with("--regexp")
            || value.starts_with("--file=")
    });
    let mut is_pattern = false;
    let mut takes_value = false;
    let mut only_operands = false;
    let mut shown = Vec::new();
    for word in words {
        let value = word.value.as_str();
        if word.kind == Kind::Unknown && value.starts_with('-') {
            return Finding::unknown(word);
        }
        if std::mem::take(&mut is_pattern) || std::mem::take(&mut takes_value) {
            // A value is no file, but for that of `-f`, which is left to the end of the loop.
            if word.known().is_none() && !(word.kind == Kind::Unknown && word.is_one()) {
                return Finding::unknown(word);
            }
        } else if only_operands || !value.starts_with('-') || value == "-" {
            if has_pattern {
                shown.push(word);
            } else if word.kind == Kind::Input || word.kind == Kind::Unknown && !word.is_one() {
                return Finding::unknown(word);
            }
            has_pattern = true;
        } else if value == "--" {
            only_operands = true;
        } else if value.starts_with("--") {
            if value.starts_with("--fil") || value.starts_with("--exclude-f") {
                shown.push(word);
            }
            takes_value = matches!(
                value,
                "--context"
                    | "--after-context"
                    | "--before-context"
                    | "--max-count"
                    | "--include"
                    | "--exclude"
                    | "--exclude-dir"
                    | "--label"
            );
        } else {
            is_pattern = value.ends_with('e');
            takes_value = value.len() == 2 && value.ends_with(['A', 'B', 'C', 'm', 'd', 'D']);
            shown.push(word);
        }
    }
    broad(&shown).or(|| reader(shown.iter().copied()))
}

fn rg(words: &[Word]) -> Finding {
    let parsed = match parse(&RG, words) {
        Ok(parsed) => parsed,
        Err(finding) => return finding,
    };
    let skip =
        usize::from(!parsed.has(&["-e", "--regexp", "-f", "--file", "--files", "--type-list"]));
    let shown = parsed.operands.get(skip..).unwrap_or_default();
    if parsed.has(&["--files"]) {
        return Finding::reads("it only lists names");
    }
    broad(shown).or(|| content(shown, "it only reads"))
}

pub(super) fn broad(words: &[&Word]) -> Finding {
    match words.iter().find(|it| paths::is_broad(it)) {
        Some(word) => Finding::unclear(format!("a search through {} reads secrets too", word.raw)),
        None => Finding::reads("it only reads"),
    }
}
