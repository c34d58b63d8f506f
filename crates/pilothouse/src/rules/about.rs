//! What a rule is about: commands that begin with some words, files, reading, or a kind of ask.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use pilothouse_core::{Ask, AskKind, Clarity, Part, Piece, Subject};

use super::place::{absolute, below};

/// What a rule is about.
#[derive(Debug, Clone)]
pub enum About {
    /// Commands whose words begin with these; each is one of several.
    Command(Vec<Vec<String>>),
    /// Changes of files whose paths match one of these.
    Paths(Paths),
    /// Commands that only read.
    ReadsOnly,
    /// Asks of these kinds.
    Kinds(Vec<AskKind>),
}

impl PartialEq for About {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Command(left), Self::Command(right)) => left == right,
            (Self::Paths(left), Self::Paths(right)) => left.patterns == right.patterns,
            (Self::ReadsOnly, Self::ReadsOnly) => true,
            (Self::Kinds(left), Self::Kinds(right)) => left == right,
            (Self::Command(_) | Self::Paths(_) | Self::ReadsOnly | Self::Kinds(_), _) => false,
        }
    }
}

/// Patterns of paths.
#[derive(Debug, Clone)]
pub struct Paths {
    patterns: Vec<String>,
    /// Those of absolute paths, and those of paths below a session's directory.
    exact: [GlobSet; 2],
    /// All that they could mean.
    strict: GlobSet,
}

impl Paths {
    /// Reads patterns; says what is wrong with the first that is none.
    pub(super) fn parse(patterns: Vec<String>) -> Result<Self, String> {
        let glob = |pattern: &str, is_strict: bool| {
            GlobBuilder::new(pattern)
                .literal_separator(true)
                .case_insensitive(is_strict)
                .build()
                .map_err(|it| format!("{pattern:?} is no pattern of paths: {}", it.kind()))
        };
        let mut exact = [GlobSetBuilder::new(), GlobSetBuilder::new()];
        let mut strict = GlobSetBuilder::new();
        for pattern in &patterns {
            let bare = pattern.strip_prefix("./").unwrap_or(pattern);
            if bare.split('/').any(|it| it == "..") || bare.is_empty() {
                return Err(format!("{pattern:?} is no pattern of paths: write it without `..`"));
            }
            let whole = if bare.ends_with('/') { format!("{bare}**") } else { bare.to_owned() };
            let directory = whole.strip_suffix("/**").unwrap_or(&whole);
            let wide = if let Some(rest) = whole.strip_prefix('/') {
                exact[0].add(glob(rest, false)?);
                let directory = directory.trim_start_matches('/');
                if directory.is_empty() { "**".to_owned() } else { directory.to_owned() }
            } else {
                exact[1].add(glob(&whole, false)?);
                format!("**/{directory}")
            };
            strict.add(glob(&wide, true)?);
            strict.add(glob(&format!("{wide}/**"), true)?);
        }
        let build = |it: GlobSetBuilder| it.build().map_err(|it| it.to_string());
        let [absolute, relative] = exact;
        let exact = [build(absolute)?, build(relative)?];
        Ok(Self { patterns, exact, strict: build(strict)? })
    }

    /// As they were written.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    fn match_path(&self, path: &str, home: Option<&str>, is_strict: bool) -> bool {
        let whole = absolute(home, path);
        if is_strict {
            let path = whole.as_deref().unwrap_or(path);
            return self.strict.is_match(path.trim_start_matches('/'));
        }
        let Some(whole) = whole else { return false };
        self.exact[0].is_match(whole.trim_start_matches('/'))
            || home
                .and_then(|it| absolute(None, it))
                .and_then(|it| below(&it, &whole).map(str::to_owned))
                .is_some_and(|it| self.exact[1].is_match(it))
    }
}

impl About {
    /// Whether it is about a part of an ask. A rule that allows takes it at its word, one that is
    /// strict looks at all that it could mean.
    pub(super) fn matches(
        &self,
        ask: &Ask,
        part: &Part,
        home: Option<&str>,
        is_strict: bool,
    ) -> bool {
        match (self, &part.piece) {
            (Self::Kinds(kinds), _) => {
                // A caller that wants to have a session is no agent that wants more permissions.
                let is_agents = !matches!(ask.subject, Subject::Adoption { .. });
                is_agents && kinds.contains(&ask.subject.kind())
            }
            (Self::Command(pattern), Piece::Command { argv, hidden, dirs: _ }) => {
                begins(pattern, argv) || is_strict && hidden.iter().any(|it| begins(pattern, it))
            }
            (Self::ReadsOnly, Piece::Command { .. }) => part.clarity == Clarity::Harmless,
            (Self::Paths(paths), Piece::File { path }) => paths.match_path(path, home, is_strict),
            (Self::Command(_) | Self::ReadsOnly, Piece::Whole | Piece::File { .. })
            | (Self::Paths(_), Piece::Whole | Piece::Command { .. }) => false,
        }
    }
}

fn begins(pattern: &[Vec<String>], argv: &[String]) -> bool {
    argv.len() >= pattern.len() && pattern.iter().zip(argv).all(|(any, it)| any.contains(it))
}
