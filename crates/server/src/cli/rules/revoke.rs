//! Taking one rule out of a person's file, and leaving every other letter of it.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use anyhow::{Context as _, bail};
use toml_edit::{DocumentMut, Item, Value};
use uuid::Uuid;

/// Takes a rule out of the file. Whoever reads it meanwhile sees all of the old or all of the new.
pub(super) fn revoke(path: &Path, name: &str) -> anyhow::Result<()> {
    let doing = || format!("revoke {name:?} from {}", path.display());
    // What a link points to is what is to change.
    let path = fs::canonicalize(path).with_context(doing)?;
    let directory = path.parent().with_context(doing)?;
    let held = hold(directory).with_context(doing)?;
    let text = fs::read_to_string(&path).with_context(doing)?;
    let without = without(&text, name).with_context(doing)?;
    replace(&path, directory, &without).with_context(doing)?;
    drop(held);
    Ok(())
}

/// The text without that rule.
fn without(text: &str, name: &str) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse().context("the file is no TOML")?;
    let is_it = |it: Option<&str>| it == Some(name);
    let found = match document.get_mut("rules") {
        Some(Item::ArrayOfTables(tables)) => {
            let at = tables.iter().position(|it| is_it(it.get("name").and_then(Item::as_str)));
            at.inspect(|at| {
                tables.remove(*at);
            })
        }
        Some(Item::Value(Value::Array(array))) => {
            let of = |it: &Value| {
                is_it(it.as_inline_table().and_then(|it| it.get("name")).and_then(Value::as_str))
            };
            let at = array.iter().position(of);
            at.inspect(|at| {
                array.remove(*at);
            })
        }
        Some(Item::None | Item::Value(_) | Item::Table(_)) | None => None,
    };
    if found.is_none() {
        bail!("there is no such rule any more");
    }
    Ok(document.to_string())
}

/// Lets nobody else revoke at the same time, who would write down what this one took out.
#[cfg(unix)]
fn hold(directory: &Path) -> io::Result<File> {
    let file = File::open(directory)?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
    Ok(file)
}

#[cfg(not(unix))]
fn hold(_: &Path) -> io::Result<()> {
    Ok(())
}

fn replace(path: &Path, directory: &Path, text: &str) -> io::Result<()> {
    let temporary = directory.join(format!(".pilothouse.toml.{}", Uuid::now_v7().simple()));
    let written = (|| {
        let mut file = File::options().write(true).create_new(true).open(&temporary)?;
        file.set_permissions(fs::metadata(path)?.permissions())?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        fs::remove_file(&temporary).ok();
    }
    written?;
    #[cfg(unix)]
    File::open(directory)?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# mine\nlog  =  'info' # loud\n\n# first\n[[rules]]\nname = \"a\"\n\
                        command = [\"make\"] # yes\noutcome = \"allow\"\n\n# second\n[[rules]]\n\
                        name = 'b'\ncommand = [\n  \"rm\", # no\n]\noutcome = 'refuse'\n";

    #[test]
    fn all_else_stays_as_it_was_written() {
        let (before, second) = FILE.split_once("# first\n").unwrap();
        let second = second.split_once("\n\n").unwrap().1;
        assert_eq!(
            without(FILE, "a").unwrap().replace("\n\n\n", "\n\n"),
            format!("{before}{second}")
        );
        let first = FILE.split_once("\n# second").unwrap().0;
        assert_eq!(without(FILE, "b").unwrap(), first);
    }

    #[test]
    fn rules_in_one_line_can_be_taken_out_too() {
        let file = "rules = [{ name = 'a', kind = 'command' }, { name = 'b' }]\nlog = 'info'\n";
        let left = without(file, "a").unwrap();
        assert!(left.contains("name = 'b'") && !left.contains("name = 'a'"), "{left}");
        assert!(left.ends_with("log = 'info'\n"));
    }

    #[test]
    fn a_rule_that_is_not_there_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pilothouse.toml");
        fs::write(&path, FILE).unwrap();
        assert!(revoke(&path, "c").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), FILE);
        assert!(revoke(&home.path().join("none"), "a").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn the_file_keeps_its_place_and_its_mode() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let home = tempfile::tempdir().unwrap();
        let real = home.path().join("real.toml");
        fs::write(&real, FILE).unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        let link = home.path().join("pilothouse.toml");
        symlink(&real, &link).unwrap();
        revoke(&link, "b").unwrap();
        assert!(link.is_symlink());
        assert!(!fs::read_to_string(&real).unwrap().contains("refuse"));
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
    }
}
