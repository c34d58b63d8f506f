//! The parts of an ask that rules judge one by one.

use pilothouse_core::{Ask, Clarity, Part, Piece, Subject};

use super::{hidden::hidden, place::absolute};
use crate::shell::{Segment, Verdict, reading_of};

/// Directories that a line may be in by turns; more count as not known.
const MAX_DIRS: usize = 16;

/// Takes an ask apart: a command line into its simple commands, a change into its files. All else
/// is one part.
pub fn parts(ask: &Ask) -> Vec<Part> {
    match &ask.subject {
        // Text for a program that runs is no command, and what it does is that program's affair.
        Subject::Command { write_stdin: true, .. } => {
            vec![Part { piece: Piece::Whole, clarity: Clarity::Opaque }]
        }
        Subject::Command { cwd, host, .. } => {
            let segments = reading_of(&ask.subject, ask.asked_by.as_ref())
                .map(|it| it.segments)
                .unwrap_or_default();
            let dirs = dirs(cwd, &segments);
            let parts = segments.into_iter().map(|segment| {
                let clarity = match segment.verdict {
                    // It is asked whether a host may be reached, which is more than a command.
                    _ if host.is_some() => Clarity::Opaque,
                    Verdict::Safe => Clarity::Harmless,
                    Verdict::Ask if segment.is_plain => Clarity::Clear,
                    Verdict::Ask => Clarity::Opaque,
                };
                let hidden = hidden(&segment.argv);
                let piece = Piece::Command { argv: segment.argv, hidden, dirs: dirs.clone() };
                Part { piece, clarity }
            });
            parts.collect()
        }
        Subject::FileChange { changes, grant_root } => {
            let file = |path: &String, clarity| {
                let piece = Piece::File { path: path.clone() };
                Part { piece, clarity }
            };
            let paths = changes.iter().flat_map(|it| [Some(&it.path), it.move_path.as_ref()]);
            let files = paths.flatten().map(|it| file(it, Clarity::Clear));
            // A directory that is opened for writing is more than the files that are shown.
            files.chain(grant_root.as_ref().map(|it| file(it, Clarity::Opaque))).collect()
        }
        Subject::Permissions { .. }
        | Subject::Question { .. }
        | Subject::Form { .. }
        | Subject::Url { .. }
        | Subject::Tool { .. }
        | Subject::Adoption { .. } => Part::whole(ask),
    }
}

/// The directories that the commands of a line may run in: where it begins, and wherever a `cd` in
/// it may lead.
fn dirs(cwd: &str, segments: &[Segment]) -> Option<Vec<String>> {
    let mut dirs = vec![absolute(None, cwd)?];
    for segment in segments {
        if segment.argv.is_empty() && !segment.is_plain && segment.verdict == Verdict::Ask {
            return None;
        }
        let moves = |it: &&String| matches!(it.as_str(), "cd" | "pushd" | "popd" | "chdir");
        if !segment.argv.iter().any(|it| moves(&it)) {
            continue;
        }
        let target = match segment.argv.as_slice() {
            [cd, target] | [cd, _, target] if cd == "cd" => target,
            _ => return None,
        };
        let is_dashed = segment.argv.len() == 3 && segment.argv[1] != "--";
        // Where the shell puts something in it could be anywhere.
        if is_dashed || target.is_empty() || target.starts_with(['-', '~']) || target.contains('$')
        {
            return None;
        }
        let further: Vec<String> =
            dirs.iter().filter_map(|it| absolute(Some(it), target)).collect();
        dirs.extend(further);
        dirs.sort();
        dirs.dedup();
        if dirs.len() > MAX_DIRS {
            return None;
        }
    }
    Some(dirs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::read;

    #[test]
    fn a_line_may_be_wherever_it_goes() {
        let check = |line: &str, expected: Option<&[&str]>| {
            let expected = expected.map(|it| it.iter().map(|it| (*it).to_owned()).collect());
            assert_eq!(dirs("/w", &read(line).segments), expected, "{line}");
        };
        check("ls", Some(&["/w"]));
        check("cd a && ls", Some(&["/w", "/w/a"]));
        check("cd -- a && ls", Some(&["/w", "/w/a"]));
        check("cd a; cd ../..; ls", Some(&["/", "/w", "/w/a"]));
        check("(cd /x && ls) && pwd", Some(&["/w", "/x"]));
        check("cd && ls", None);
        check("cd - && ls", None);
        check("cd ~/x && ls", None);
        check("cd \"$HOME/x\" && ls", None);
        check("cd -P x && ls", None);
        check("pushd x && ls", None);
        check("builtin cd x && ls", None);
        check("cd $(cat x) && ls", None);
        check("ls 'x", None);
    }
}
