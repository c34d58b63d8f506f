//! Where something is, by its path alone: no link is followed, as nothing is read.

use pilothouse_core::Piece;

/// A path without `.` and `..`; one that is not absolute is below `base`, and nothing without one.
pub(super) fn absolute(base: Option<&str>, path: &str) -> Option<String> {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", base?) };
    let mut names: Vec<&str> = vec![];
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            it => names.push(it),
        }
    }
    path.starts_with('/').then(|| format!("/{}", names.join("/")))
}

/// The rest of a path below a directory, both absolute; nothing if it is elsewhere.
pub(super) fn below<'a>(directory: &str, path: &'a str) -> Option<&'a str> {
    if directory == "/" {
        return path.strip_prefix('/');
    }
    let rest = path.strip_prefix(directory)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

/// Whether work in `home` on a part of an ask is work in a directory. A rule that is strict holds
/// if it may be, one that allows only if it is for certain.
pub(super) fn is_within(
    directory: &str,
    home: Option<&str>,
    piece: &Piece,
    is_strict: bool,
) -> bool {
    let holds = |path: &str| absolute(home, path).is_some_and(|it| below(directory, &it).is_some());
    let is_home = home.is_some_and(holds);
    match piece {
        Piece::Whole => is_home,
        Piece::File { path } if is_strict => is_home || holds(path),
        Piece::File { path } => is_home && holds(path),
        Piece::Command { dirs: None, .. } => is_strict,
        Piece::Command { dirs: Some(dirs), .. } if is_strict => {
            is_home || dirs.iter().any(|it| holds(it))
        }
        Piece::Command { dirs: Some(dirs), .. } => is_home && dirs.iter().all(|it| holds(it)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_at_their_word() {
        for (base, path, expected) in [
            (Some("/w"), "a/./b", Some("/w/a/b")),
            (Some("/w"), "../x", Some("/x")),
            (Some("/w"), "../../..", Some("/")),
            (Some("/w"), "/a//b/", Some("/a/b")),
            (None, "/a/../b", Some("/b")),
            (None, "a", None),
            (Some("w"), "a", None),
        ] {
            assert_eq!(absolute(base, path).as_deref(), expected, "{base:?} {path}");
        }
    }

    #[test]
    fn a_name_that_begins_alike_is_another_directory() {
        assert_eq!(below("/w", "/w/a"), Some("a"));
        assert_eq!(below("/w", "/w"), Some(""));
        assert_eq!(below("/w", "/work"), None);
        assert_eq!(below("/", "/a"), Some("a"));
    }
}
