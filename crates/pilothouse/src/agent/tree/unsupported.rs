//! Where processes are not looked after yet: everything says so.

use std::{
    collections::BTreeSet, convert::Infallible, ffi::OsString, io, path::Path, process::ExitStatus,
    time::Duration,
};

use tokio::process::Child;

use super::{Hunt, Marker};
use crate::agent::process::Spawn;

/// The guard of other systems.
pub mod guard {
    use std::{ffi::OsString, io::Write, process::ExitCode};

    /// Says that there is none.
    pub fn run(_args: impl IntoIterator<Item = OsString>) -> ExitCode {
        writeln!(std::io::stderr(), "Pilothouse could not start the agent: {}", super::REASON).ok();
        ExitCode::FAILURE
    }
}

const REASON: &str = "agents are not supported on this system yet; on Linux they are";

fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, REASON)
}

#[derive(Debug)]
pub(crate) struct Leash(Infallible);

impl Leash {
    pub(crate) fn terminate(&self) {
        match self.0 {}
    }

    pub(crate) fn kill(&self) {
        match self.0 {}
    }

    pub(crate) async fn gone(&self, _heard: &mut Vec<u8>) -> Option<ExitStatus> {
        match self.0 {}
    }

    pub(crate) fn agent_status(&self) -> Option<ExitStatus> {
        match self.0 {}
    }
}

pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) leash: Option<Leash>,
    pub(crate) agent_pid: u32,
}

pub(crate) async fn start(_spawn: &Spawn) -> io::Result<Started> {
    Err(unsupported())
}

pub(crate) async fn start_without_input(_spawn: &Spawn) -> io::Result<Started> {
    Err(unsupported())
}

pub(crate) async fn start_kept(_spawn: &Spawn, _keep: &[OsString]) -> io::Result<(Leash, u32)> {
    Err(unsupported())
}

pub(crate) async fn take_leash(_control: &Path) -> io::Result<Option<(Leash, u32)>> {
    Err(unsupported())
}

pub(crate) fn is_guarded(_control: &Path) -> bool {
    false
}

pub(crate) fn terminate(_pid: u32) {}

pub(crate) fn markers() -> io::Result<BTreeSet<Marker>> {
    Err(unsupported())
}

pub(crate) fn kill_marked(
    _marker: &Marker,
    _root: Option<u32>,
    _limit: Duration,
) -> io::Result<Hunt> {
    Err(unsupported())
}
