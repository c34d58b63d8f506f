//! Lets find test and print, but neither run actions nor write.

use super::{Finding, Kind, Word};

const ALONE: &str = "-a -and -daystart -depth -d -empty -executable -false -follow -help \
    -ignore_readdir_race -ls -mount -nogroup -noignore_readdir_race -noleaf -nouser -nowarn -not \
    -o -or -print -print0 -prune -quit -readable -true -version -warn -writable -xdev ! ( ) , -H \
    -L -P -E -X -s -x";

const WITH_VALUE: &str = "-amin -anewer -atime -cmin -cnewer -context -ctime -fstype -gid -group \
    -ilname -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth -mindepth -mmin -mtime \
    -name -newer -path -perm -printf -regex -regextype -samefile -size -type -uid -used -user \
    -wholename -xtype -D";

const RUNS: &str = "-exec -execdir -ok -okdir";

const WRITES: &str = "-delete -fls -fprint -fprint0 -fprintf";

/// Judges find by each word of its expression.
pub(super) fn judge(words: &[Word]) -> Finding {
    let is_in = |list: &str, it: &str| list.split_ascii_whitespace().any(|other| other == it);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.kind {
            Kind::Exact => {}
            Kind::Unknown | Kind::Input | Kind::Names => return Finding::unknown(word),
            Kind::Pattern if is_operand(word) => continue,
            Kind::Pattern => return unclear_pattern(word),
        }
        let value = word.value.as_str();
        let is_newer = value
            .strip_prefix("-newer")
            .is_some_and(|it| it.len() == 2 && it.chars().all(|it| "aBcmt".contains(it)));
        if is_in(WITH_VALUE, value) || is_newer {
            match words.next() {
                Some(word) if word.kind == Kind::Exact => {}
                Some(word) if word.kind == Kind::Pattern && is_operand(word) => {}
                Some(word) if word.kind == Kind::Pattern => return unclear_pattern(word),
                Some(word) => return Finding::unknown(word),
                None => return Finding::unclear(format!("{value} without its value")),
            }
        } else if is_in(RUNS, value) {
            return Finding::runs(format!("{value} runs a program"));
        } else if is_in(WRITES, value) {
            return Finding::writes(format!("{value} changes files"));
        } else if !is_in(ALONE, value) && value.starts_with('-') && !value.starts_with("-O") {
            return Finding::unclear(format!("what {value} does is not known"));
        }
    }
    Finding::reads("it only lists names")
}

/// No word of an expression has a dot or a slash in it, so no name that the pattern matches is
/// taken for one.
fn is_operand(word: &Word) -> bool {
    !word.value.starts_with('-') && word.value.contains(['.', '/'])
}

fn unclear_pattern(word: &Word) -> Finding {
    Finding::unclear(format!("{} may match a name that is read as an action", word.raw))
}
