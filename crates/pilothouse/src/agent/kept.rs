//! Agents that outlive the Pilothouse that started them: how they are started, found again and held.
//!
//! Each has a guard that keeps it, and a record on disk. Whoever holds the guard's leash holds the
//! agent and all its sessions; the system gives the leash back when its holder is gone, however it
//! went. Who comes next takes it up.

mod record;

use std::{ffi::OsString, io, path::Path};

pub(crate) use self::record::{Paths, Record};
use super::{
    process::{Process, RETURN_LIMIT, START_LIMIT, Spawn},
    tree::{Marker, system},
};
use crate::config::Keep;

/// A kept agent that was looked for.
#[derive(Debug)]
pub(crate) enum Found {
    /// We hold it now.
    Held(Box<(Process, Record)>),
    /// Another broker holds it.
    Elsewhere,
    /// It is gone.
    Gone,
}

/// Starts an agent that is kept.
pub(crate) async fn start(
    spawn: Spawn,
    record: &Record,
    paths: Paths,
    keep: &Keep,
) -> io::Result<Process> {
    // First, so that nothing runs that nobody can find.
    record.write(&paths)?;
    let seconds = keep.keep_for.as_secs().to_string();
    let args = ["--keep".into(), seconds.into()].into_iter();
    let files = [&paths.record, &paths.stderr, &paths.control, &paths.socket];
    let args: Vec<OsString> = args.chain(files.map(|it| it.clone().into_os_string())).collect();
    let started = system::start_kept(&spawn, &args).await;
    let (leash, agent_pid) = started.inspect_err(|_| paths.remove())?;
    Process::over_socket(paths, leash, agent_pid, spawn.marker, START_LIMIT).await
}

/// Takes up the agent of a name.
pub(crate) async fn take(folder: &Path, store: &str, name: &str) -> Found {
    match record::find(folder, name) {
        Some((record, paths)) => hold(store, record, paths).await,
        None => Found::Gone,
    }
}

/// The names of all agents that were kept. What is left of others is taken away.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    record::sweep(folder);
    record::all(folder).into_iter().map(|(record, _)| record.name).collect()
}

/// Whether an agent is kept, and looked after, so that it must not be swept.
pub(crate) fn is_kept(folder: &Path, marker: &Marker) -> bool {
    let name = format!("{}-{}", marker.node, marker.process);
    record::find(folder, &name).is_some_and(|(_, paths)| system::is_guarded(&paths.control))
}

async fn hold(store: &str, record: Record, paths: Paths) -> Found {
    let (leash, agent_pid) = match system::take_leash(&paths.control).await {
        Ok(Some(held)) => held,
        Ok(None) => return Found::Elsewhere,
        Err(error) => {
            tracing::info!(process = record.name, %error, "a kept agent is gone");
            paths.remove();
            return Found::Gone;
        }
    };
    let marker = marker(store, &record.name);
    match Process::over_socket(paths, leash, agent_pid, marker, RETURN_LIMIT).await {
        Ok(process) => Found::Held(Box::new((process, record))),
        Err(error) => {
            tracing::warn!(process = record.name, %error, "a kept agent does not answer; it is ended");
            Found::Gone
        }
    }
}

/// What the processes of an agent carry.
pub(crate) fn marker(store: &str, name: &str) -> Marker {
    let (node, process) = name.rsplit_once('-').unwrap_or((name, "0"));
    Marker { store: store.to_owned(), node: node.to_owned(), process: process.to_owned() }
}
