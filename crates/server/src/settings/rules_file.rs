//! The rules as the file has them at this moment, so that what is taken back holds no longer.

use std::{
    fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use pilothouse::{
    PolicySource,
    rules::{Rules, RulesError},
};

use super::read;

/// A file that was changed in the last moments is read again, as two changes may have one time:
/// the coarsest clock that file systems have ticks every two seconds.
const SETTLES_AFTER: Duration = Duration::from_secs(3);

/// Keys of the settings that are no rule's.
const TOP_LEVEL: [&str; 9] = [
    "store",
    "codex",
    "log",
    "listen",
    "answers",
    "default_effort",
    "retention_days",
    "agents",
    "keep_for_hours",
];

/// The rules of a file; what is wrong with it is said with what would be right, where that is known.
pub(super) fn parse(text: &str) -> Result<Rules, RulesError> {
    Rules::parse(text).map_err(|error| match error {
        RulesError::Syntax(problem) => match syntax_hint(text, &problem) {
            Some(hint) => RulesError::Syntax(format!("{problem}\n{hint}")),
            None => RulesError::Syntax(problem),
        },
        error @ (RulesError::Rule { .. } | RulesError::TooMany(_) | _) => error,
    })
}

/// What those who write a rule for the first time get wrong, in words; nothing for anything else.
pub(crate) fn syntax_hint(text: &str, problem: &str) -> Option<String> {
    let misplaced = TOP_LEVEL.iter().find(|it| problem.contains(&format!("unknown field `{it}`")));
    if let Some(key) = misplaced {
        return Some(format!(
            "`{key}` is a key of the settings, not of a rule: what stands below `[[rules]]` belongs \
             to that rule, so it goes above the first `[[rules]]`"
        ));
    }
    let document: toml::Table = text.parse().ok()?;
    let rules = document.get("rules")?.as_array()?;
    rules.iter().filter_map(toml::Value::as_table).find_map(|rule| {
        let (key, word) = ["command", "paths"]
            .into_iter()
            .find_map(|key| Some((key, rule.get(key)?.as_str()?)))?;
        // A line is taken for its words; of paths, a blank is a part.
        let words: Vec<&str> =
            if key == "command" { word.split_whitespace().collect() } else { vec![word] };
        let words: Vec<String> = words.iter().map(|it| format!("{it:?}")).collect();
        Some(format!("`{key}` is a list: {key} = [{}]", words.join(", ")))
    })
}

/// A settings' file, and what its rules were when it was read last.
#[derive(Debug)]
pub(super) struct RulesFile {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    /// What the file was like; nothing if it was not seen, or is about to change.
    stamp: Option<Stamp>,
    /// What holds.
    rules: Arc<Rules>,
    /// What was told about the file, if it is bad.
    problem: Option<String>,
}

/// What changes when a file does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stamp {
    Missing,
    There { modified: SystemTime, len: u64, identity: [u64; 3] },
}

impl RulesFile {
    /// A file whose rules were read already.
    pub(super) fn new(path: PathBuf, rules: Rules) -> Self {
        let known = Known { stamp: None, rules: Arc::new(rules), problem: None };
        Self { path, known: Mutex::new(known) }
    }

    /// It as what a broker asks.
    pub(super) fn source(self) -> PolicySource {
        PolicySource::new(move |scene| Arc::new(self.rules().policy(scene)))
    }

    /// What holds now. While the file is bad it is what held before, without what allows.
    fn rules(&self) -> Arc<Rules> {
        // What is in it was whole before it was locked, and is so again after.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at before it is read: a change in between is found by the next look.
        let stamp = self.look();
        if stamp.is_some() && stamp == known.stamp {
            return Arc::clone(&known.rules);
        }
        let parsed = read(&self.path)
            .map_err(|it| it.to_string())
            .and_then(|it| parse(&it).map_err(|it| it.to_string()));
        match parsed {
            Ok(rules) => {
                if known.problem.take().is_some() || *known.rules != rules {
                    tracing::info!(path = %self.path.display(), "the rules were changed");
                }
                known.rules = Arc::new(rules);
            }
            Err(problem) => {
                if known.problem.as_ref() != Some(&problem) {
                    let path = self.path.display();
                    tracing::warn!(%path, %problem, "the rules can't be read: nothing is allowed without a person, and what was refused still is");
                }
                known.problem = Some(problem);
                known.rules = Arc::new(known.rules.without_allowing());
            }
        }
        known.stamp = stamp;
        Arc::clone(&known.rules)
    }

    /// What the file is like, if that can be relied on.
    fn look(&self) -> Option<Stamp> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Stamp::Missing),
            Err(_) => return None,
        };
        let modified = metadata.modified().ok()?;
        // A time to come is no time to rely on.
        let age = SystemTime::now().duration_since(modified).ok()?;
        let stamp = Stamp::There { modified, len: metadata.len(), identity: identity(&metadata) };
        (age > SETTLES_AFTER).then_some(stamp)
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> [u64; 3] {
    use std::os::unix::fs::MetadataExt as _;

    [metadata.ino(), metadata.ctime().cast_unsigned(), metadata.ctime_nsec().cast_unsigned()]
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> [u64; 3] {
    [0; 3]
}

#[cfg(test)]
mod tests {
    use pilothouse::rules::{Scene, command_ask};
    use pilothouse_core::{Answer, Ask, Decision, Verdict};

    use super::*;

    const ALLOW: &str = "[[rules]]\nname = \"a\"\ncommand = [\"make\"]\noutcome = \"allow\"\n";
    const REFUSE: &str = "[[rules]]\nname = \"r\"\ncommand = [\"rm\"]\noutcome = \"refuse\"\n";

    fn said(source: &PolicySource, line: &str) -> Option<Decision> {
        let ask: Ask = command_ask(line, "/", jiff::Timestamp::UNIX_EPOCH);
        match source.at(&Scene::default()).verdict(&ask) {
            Verdict::Person => None,
            Verdict::Answered { answer: Answer::Decided { decision, .. }, .. } => Some(decision),
            Verdict::Answered { answer, .. } => panic!("{answer:?}"),
        }
    }

    #[test]
    fn what_is_written_holds_at_once() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pilothouse.toml");
        let source = RulesFile::new(path.clone(), Rules::default()).source();
        assert_eq!(said(&source, "make"), None);
        fs::write(&path, ALLOW).unwrap();
        assert_eq!(said(&source, "make"), Some(Decision::Accept));
        // Of the same length, and within the same tick of the clock.
        fs::write(&path, ALLOW.replace("make", "mako")).unwrap();
        assert_eq!(said(&source, "make"), None);
        fs::write(&path, format!("{ALLOW}{REFUSE}")).unwrap();
        assert_eq!(said(&source, "make"), Some(Decision::Accept));
        assert_eq!(said(&source, "rm x"), Some(Decision::Decline));
        fs::remove_file(&path).unwrap();
        assert_eq!([said(&source, "make"), said(&source, "rm x")], [None, None]);
    }

    #[test]
    fn a_bad_file_allows_nothing_and_still_refuses() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pilothouse.toml");
        let rules = format!("{ALLOW}{REFUSE}");
        fs::write(&path, &rules).unwrap();
        let source = RulesFile::new(path.clone(), Rules::parse(&rules).unwrap()).source();
        for bad in ["[[rules]", "[[rules]]\nname = \"x\"\n", "[[rules]]\ncolour = 1\n"] {
            fs::write(&path, format!("{rules}{bad}")).unwrap();
            assert_eq!(said(&source, "make"), None, "{bad}");
            assert_eq!(said(&source, "rm x"), Some(Decision::Decline), "{bad}");
        }
        fs::write(&path, &rules).unwrap();
        assert_eq!(said(&source, "make"), Some(Decision::Accept));
    }

    #[test]
    fn what_is_often_wrong_is_said_with_what_would_be_right() {
        for key in TOP_LEVEL {
            let said = parse(&format!("{ALLOW}{key} = 1\n")).unwrap_err().to_string();
            let expected = format!("`{key}` is a key of the settings, not of a rule");
            assert!(said.contains(&expected) && said.contains("line 5"), "{said}");
        }
        let said = parse(&ALLOW.replace("[\"make\"]", "\"make all\"")).unwrap_err().to_string();
        assert!(said.contains("`command` is a list: command = [\"make\", \"all\"]"), "{said}");
        let other = parse(&format!("{ALLOW}colour = 1\n")).unwrap_err().to_string();
        assert!(!other.contains("above the first"), "{other}");
    }

    #[test]
    fn a_file_that_has_settled_is_not_read_again() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pilothouse.toml");
        fs::write(&path, ALLOW).unwrap();
        let long_ago = SystemTime::now() - Duration::from_mins(1);
        let touch = || fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago);
        touch().unwrap();
        let file = RulesFile::new(path.clone(), Rules::default());
        let first = file.rules();
        assert!(Arc::ptr_eq(&first, &file.rules()));
        // The time of its change can be set back, but not that of its setting back.
        fs::write(&path, ALLOW.replace("make", "mako")).unwrap();
        touch().unwrap();
        assert!(!Arc::ptr_eq(&first, &file.rules()));
    }
}
