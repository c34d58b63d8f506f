//! Trees as npm and pnpm make them, with a Codex that is a shell script.

use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

const WRAPPER: &str = "node_modules/@openai/codex/bin/codex.js";

#[test]
fn the_native_program_is_found_in_every_layout() {
    let (platform, triples) = platform().unwrap();
    let triple = triples[0];
    let layouts = [
        // A platform package beside the wrapper's, as npm hoists it.
        format!("node_modules/@openai/codex-{platform}/vendor/{triple}/bin/codex"),
        // Nested in it, as a global installation has it.
        format!(
            "node_modules/@openai/codex/node_modules/@openai/codex-{platform}/vendor/{triple}/bin/codex"
        ),
        // Platform packages with the older inside.
        format!("node_modules/@openai/codex-{platform}/vendor/{triple}/codex/codex"),
        // Before there were platform packages.
        format!("node_modules/@openai/codex/vendor/{triple}/codex/codex"),
        format!("node_modules/@openai/codex/bin/codex-{triple}"),
    ];
    for layout in layouts {
        let tree = Tree::new();
        tree.script(WRAPPER, "#!/usr/bin/env node\n");
        tree.script(&layout, "#!/bin/sh\n");
        let link = tree.link("bin/codex", WRAPPER);
        let located = tree.locate("bin").unwrap();
        assert_eq!(located.path, tree.real(&layout), "{layout}");
        assert_eq!((located.via, located.wrapper), (Some(link), false), "{layout}");
    }
}

#[test]
fn a_shell_script_of_pnpm_leads_to_the_native_program() {
    let (platform, triples) = platform().unwrap();
    let native = format!("node_modules/@openai/codex-{platform}/vendor/{}/bin/codex", triples[0]);
    let tree = Tree::new();
    tree.script(WRAPPER, "#!/usr/bin/env node\n");
    tree.script(&native, "");
    let shim = format!("#!/bin/sh\nexec node  \"$basedir/../{WRAPPER}\" \"$@\"\n");
    tree.script("bin/codex", &shim);
    assert_eq!(tree.locate("bin").unwrap().path, tree.real(&native));
}

#[test]
fn a_wrapper_without_its_native_program_needs_node() {
    let tree = Tree::new();
    tree.script(WRAPPER, "#!/usr/bin/env node\n");
    let link = tree.link("bin/codex", WRAPPER);

    let error = tree.locate("bin").unwrap_err();
    assert!(matches!(&error, LocateError::NoInterpreter { path } if *path == link), "{error}");
    assert!(error.to_string().contains("codex but its interpreter node is missing"), "{error}");

    tree.script("bin/node", "");
    assert_eq!(tree.locate("bin").unwrap(), Located { path: link, via: None, wrapper: true });
}

#[test]
fn a_native_program_that_can_not_be_executed_is_passed_over() {
    let (platform, triples) = platform().unwrap();
    let tree = Tree::new();
    tree.script(WRAPPER, "#!/usr/bin/env node\n");
    tree.link("bin/codex", WRAPPER);
    let native = format!("node_modules/@openai/codex-{platform}/vendor/{}/bin/codex", triples[0]);
    tree.file(&native, "", 0o644);
    assert!(matches!(tree.locate("bin"), Err(LocateError::NoInterpreter { .. })));
}

#[test]
fn a_native_program_on_the_path_is_taken_as_it_is() {
    let tree = Tree::new();
    let path = tree.script("bin/codex", "\x7fELF");
    let expected = Located { path: path.clone(), via: None, wrapper: false };
    assert_eq!(tree.locate("empty:bin").unwrap(), expected);
    for explicit in [path, PathBuf::from("codex")] {
        let places = Places { explicit: Some(explicit), path: Some(tree.path("bin")) };
        assert_eq!(locate(&places).unwrap(), expected);
    }
}

#[test]
fn what_can_not_be_started_says_why() {
    let tree = Tree::new();
    tree.file("plain/codex", "", 0o644);
    tree.script("directory/codex/file", "");
    let explicit = |name: &str| {
        let explicit = Some(tree.root.path().join(name));
        locate(&Places { explicit, path: None }).unwrap_err()
    };
    assert!(matches!(explicit("plain/codex"), LocateError::NotExecutable { .. }));
    assert!(matches!(explicit("directory/codex"), LocateError::Directory { .. }));
    assert!(matches!(explicit("nowhere/codex"), LocateError::Missing { .. }));
    assert!(matches!(tree.locate("plain"), Err(LocateError::NotExecutable { .. })));
    assert!(matches!(tree.locate("directory"), Err(LocateError::NotOnPath { .. })));
    let error = locate(&Places::default()).unwrap_err();
    assert!(error.to_string().contains("npm install -g @openai/codex"), "{error}");
}

#[test]
fn what_can_not_be_executed_hides_nothing_behind_it() {
    let tree = Tree::new();
    tree.file("plain/codex", "", 0o644);
    let path = tree.script("bin/codex", "");
    assert_eq!(tree.locate("plain:bin").unwrap().path, path);
}

#[test]
fn versions_are_read_and_compared() {
    let version = |major, minor, patch| Some(Version { major, minor, patch });
    let cases = [
        ("codex-cli 0.171.0\n", version(0, 171, 0)),
        ("WARNING: no\ncodex-cli 0.42.0", version(0, 42, 0)),
        ("codex-cli 0.172.0-alpha.3\n", version(0, 172, 0)),
        ("codex-cli 1.2.3+build\n", version(1, 2, 3)),
        ("codex-cli 0.171\n", None),
        ("node v20.1.0\n", None),
        ("", None),
    ];
    for (said, expected) in cases {
        assert_eq!(parse_version(said), expected, "{said}");
    }
    assert!(version(0, 99, 0) < version(0, 110, 0));
}

#[tokio::test]
async fn a_program_is_asked_for_its_version() {
    let tree = Tree::new();
    let located = |path| Located { path, via: None, wrapper: false };
    let codex =
        tree.script("codex", "#!/bin/sh\ncat\n[ \"$1\" = --version ] && echo codex-cli 0.171.0\n");
    assert_eq!(version(&located(codex)).await.unwrap().to_string(), "0.171.0");

    let other = tree.script("other", "#!/bin/sh\necho hello\n");
    let error = version(&located(other)).await.unwrap_err();
    assert!(matches!(&error, VersionError::NotCodex { said, .. } if said == "hello"), "{error}");

    let missing = tree.root.path().join("missing");
    let error = version(&located(missing)).await.unwrap_err();
    assert!(matches!(error, VersionError::Start { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_program_that_says_nothing_is_not_waited_for() {
    let tree = Tree::new();
    let path = tree.script("codex", "#!/bin/sh\nexec sleep 1000\n");
    let error = version(&Located { path, via: None, wrapper: false }).await.unwrap_err();
    assert!(matches!(error, VersionError::TimedOut { .. }), "{error}");
}

struct Tree {
    root: TempDir,
}

impl Tree {
    fn new() -> Self {
        Self { root: TempDir::new().unwrap() }
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        self.file(name, text, 0o755)
    }

    fn link(&self, name: &str, target: &str) -> PathBuf {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(self.root.path().join(target), &path).unwrap();
        path
    }

    fn real(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path().join(name)).unwrap()
    }

    fn path(&self, names: &str) -> OsString {
        env::join_paths(names.split(':').map(|it| self.root.path().join(it))).unwrap()
    }

    fn locate(&self, names: &str) -> Result<Located, LocateError> {
        locate(&Places { explicit: None, path: Some(self.path(names)) })
    }
}
