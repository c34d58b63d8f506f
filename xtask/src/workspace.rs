//! Where things are in this repository.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::run::Failure;

pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// What tasks fetch and make, ignored by git: Codex versions, the demo's state.
pub(crate) fn tools() -> PathBuf {
    root().join(".tools")
}

pub(crate) fn web() -> PathBuf {
    root().join("web")
}

/// A program of this workspace as the dev profile builds it.
pub(crate) fn built(name: &str) -> PathBuf {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join("debug").join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("could not read {}: {error}", path.display())))
}

pub(crate) fn make_dir(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path)
        .map_err(|error| Failure::new(format!("could not make {}: {error}", path.display())))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::new(format!("could not write {}: {error}", path.display())))
}
