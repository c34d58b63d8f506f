//! Whether what a command reads from a pipe can only be names of files that are no secret.

use super::{Word, paths};
use crate::shell::parse::{Line, Simple};

/// Tests of `find` whose values are no text that it prints.
const TESTS: [&str; 12] = [
    "-iname",
    "-ipath",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-size",
    "-type",
];

/// The rest of what may stand in its expression.
const OTHERS: [&str; 10] =
    ["-a", "-o", "-not", "!", "(", ")", "-prune", "-print0", "-empty", "-xdev"];

/// Whether a command is fed by `find PLACE … -print0` with places below this directory. With any
/// other end a blank or a newline in a name makes two of it, and the second can be any path.
pub(super) fn are_read(simple: &Simple, line: &Line) -> bool {
    let Some(feeder) = simple.fed_by.and_then(|it| line.commands.get(it)) else { return false };
    !line.moves && is_only_fed(simple) && is_only_fed(feeder) && finds(&feeder.words)
}

/// Whether its redirections throw away and do nothing else.
fn is_only_fed(simple: &Simple) -> bool {
    simple.redirections.iter().all(|it| {
        it.operator.starts_with('>')
            && it.target.as_ref().and_then(Word::known) == Some("/dev/null")
    })
}

fn finds(words: &[Word]) -> bool {
    let Some((program, words)) = words.split_first() else { return false };
    let mut words = words.iter().peekable();
    let is_expression = |it: &str| it.starts_with(['-', '(', '!']);
    while let Some(place) = words.next_if(|it| !is_expression(&it.value)) {
        let is_below = place.known().is_some_and(|it| {
            !it.is_empty() && !it.starts_with(['/', '~']) && it.split('/').all(|it| it != "..")
        });
        if !is_below || paths::secret(place).is_some() {
            return false;
        }
    }
    let mut ends_with_zero = false;
    while let Some(word) = words.next() {
        let Some(value) = word.known() else { return false };
        ends_with_zero |= value == "-print0";
        if TESTS.contains(&value) {
            let Some(value) = words.next() else { return false };
            let pattern = value.to_pattern();
            if value.known().is_none() || paths::secret(&pattern).is_some() {
                return false;
            }
        } else if !OTHERS.contains(&value) {
            return false;
        }
    }
    program.known() == Some("find") && ends_with_zero
}
