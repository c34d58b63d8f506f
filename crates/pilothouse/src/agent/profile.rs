//! A Codex profile, read to be sent as thread config: `app-server` takes no `--profile`.
//!
//! Since 0.134 a profile is a file, `$CODEX_HOME/<name>.config.toml`, laid over `config.toml`.
//! Before, it was the table `[profiles.<name>]` in `config.toml`. Codex refuses a name that is
//! both; so do we, as one of the two is not what its owner meant.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

/// The longest file that is read. Real ones have a few KB.
const MAX_FILE: u64 = 1024 * 1024;

/// A profile could not be read. Each completes "Pilothouse could not …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A name that Codex would not take either.
    #[error("use the profile {name:?}: its name may have letters, digits, `-` and `_` only")]
    Name {
        /// What was asked for.
        name: String,
    },
    /// It is neither a file nor a table.
    #[error("find the profile {name}: there is no {}", path.display())]
    Missing {
        /// Which.
        name: String,
        /// Where it should be.
        path: PathBuf,
    },
    /// It is a file and a table.
    #[error(
        "use the profile {name}: it is in {} and in `[profiles.{name}]` of config.toml; remove the \
         table", path.display()
    )]
    Twice {
        /// Which.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// The file can't be read.
    #[error("read {}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file isn't TOML.
    #[error("understand {}", path.display())]
    Toml {
        /// Which.
        path: PathBuf,
        /// Where, and why.
        source: Box<toml::de::Error>,
    },
}

/// The keys of a profile, as thread config has them.
pub fn read(codex_home: &Path, name: &str) -> Result<Map<String, Value>, ProfileError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(ProfileError::Name { name: name.to_owned() });
    }
    let path = codex_home.join(format!("{name}.config.toml"));
    let table =
        table(&codex_home.join("config.toml"))?.and_then(|mut it| it.remove("profiles")).and_then(
            |it| it.as_table().and_then(|it| it.get(name)).and_then(toml::Value::as_table).cloned(),
        );
    match (self::table(&path)?, table) {
        (Some(_), Some(_)) => Err(ProfileError::Twice { name: name.to_owned(), path }),
        (Some(keys), None) | (None, Some(keys)) => Ok(json_table(keys)),
        (None, None) => Err(ProfileError::Missing { name: name.to_owned(), path }),
    }
}

fn table(path: &Path) -> Result<Option<toml::Table>, ProfileError> {
    let unreadable = |source| ProfileError::Unreadable { path: path.to_owned(), source };
    let text = match fs::metadata(path) {
        Ok(it) if it.len() > MAX_FILE => {
            return Err(unreadable(io::ErrorKind::FileTooLarge.into()));
        }
        Ok(_) => fs::read_to_string(path).map_err(unreadable)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(unreadable(source)),
    };
    text.parse()
        .map(Some)
        .map_err(|source| ProfileError::Toml { path: path.to_owned(), source: Box::new(source) })
}

fn json_table(table: toml::Table) -> Map<String, Value> {
    table.into_iter().map(|(key, value)| (key, json(value))).collect()
}

fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(it) => it.into(),
        toml::Value::Integer(it) => it.into(),
        toml::Value::Float(it) => it.into(),
        toml::Value::Boolean(it) => it.into(),
        toml::Value::Datetime(it) => it.to_string().into(),
        toml::Value::Array(it) => it.into_iter().map(json).collect(),
        toml::Value::Table(it) => json_table(it).into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    fn home(files: &[(&str, &str)]) -> TempDir {
        let home = TempDir::new().unwrap();
        for (name, text) in files {
            fs::write(home.path().join(name), text).unwrap();
        }
        home
    }

    #[test]
    fn a_profile_is_a_file_or_a_table() {
        let expected = json!({"model": "m", "sandbox_workspace_write": {"network_access": true}, "n": [1, 2.5]});
        let keys = "model = \"m\"\nsandbox_workspace_write.network_access = true\nn = [1, 2.5]\n";
        for files in [
            &[("work.config.toml", keys), ("config.toml", "model = \"other\"\n")][..],
            &[("config.toml", &format!("model = \"other\"\n[profiles.work]\n{keys}"))],
        ] {
            let home = home(files);
            assert_eq!(Value::Object(read(home.path(), "work").unwrap()), expected);
        }
    }

    #[test]
    fn what_is_no_profile_says_why() {
        let home = home(&[
            ("config.toml", "[profiles.twice]\nmodel = \"a\"\n"),
            ("twice.config.toml", "model = \"b\"\n"),
            ("broken.config.toml", "model =\n"),
        ]);
        let error = |name| read(home.path(), name).unwrap_err();
        assert!(matches!(error("none"), ProfileError::Missing { .. }));
        assert!(matches!(error("twice"), ProfileError::Twice { .. }));
        assert!(matches!(error("broken"), ProfileError::Toml { .. }));
        for name in ["", "../x", "a/b", "a.b"] {
            assert!(matches!(error(name), ProfileError::Name { .. }), "{name}");
        }
    }
}
