//! Starts Codex: finds it and asks for its version once, then starts it as often as it is needed.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use pilothouse_codex::{
    Capabilities, Dialect, can_be_kept, capabilities, choose, kept_app_server_args,
};
use pilothouse_core::{AgentError, SessionId};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use super::{
    kept::{self, Paths, Record},
    locate::{self, Located, Places},
    process::{Process, Spawn},
    tree::Marker,
};
use crate::config::{AgentConfig, Keep};

/// What differs between shells and means nothing to an agent.
const PASSING: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];

/// Starts agents of one configuration.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) config: AgentConfig,
    pub(crate) store_name: String,
    node: String,
    located: Mutex<Option<Located>>,
    program: Mutex<Option<Program>>,
    pids: Mutex<BTreeMap<String, u32>>,
    n_started: AtomicU64,
    /// Whether it was said that agents can't be kept.
    warned: OnceLock<()>,
}

/// The Codex that is there.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    path: PathBuf,
    /// What it says it is, if it does.
    pub(crate) version: Option<String>,
    /// How it is spoken to.
    pub(crate) dialect: Dialect,
}

impl Program {
    /// What can be done with it.
    pub(crate) fn capabilities(&self) -> Capabilities {
        capabilities(self.dialect, self.version.as_deref())
    }
}

impl Launch {
    pub(crate) fn new(config: AgentConfig, store_name: String, node: String) -> Self {
        Self {
            config,
            store_name,
            node,
            located: Mutex::default(),
            program: Mutex::default(),
            pids: Mutex::default(),
            n_started: AtomicU64::new(0),
            warned: OnceLock::new(),
        }
    }

    /// Finds the agent's program, once.
    pub(crate) async fn locate(&self) -> Result<Located, AgentError> {
        let mut known = self.located.lock().await;
        if let Some(located) = &*known {
            return Ok(located.clone());
        }
        let places = Places::from_env(self.config.binary.clone());
        let located = locate::locate(&places)
            .map_err(|it| failure("APP_SERVER_START_FAILED", &it.to_string()))?;
        Ok(known.insert(located).clone())
    }

    /// Finds out what Codex is there and how to speak to it, once.
    pub(crate) async fn program(&self) -> Result<Program, AgentError> {
        let mut known = self.program.lock().await;
        if let Some(program) = &*known {
            return Ok(program.clone());
        }
        let located = self.locate().await?;
        let asked = locate::version(&located).await;
        let version = match &asked {
            Ok(version) => Some(version.to_string()),
            // What doesn't say is taken for today's: it may be a build of somebody's own.
            Err(error) => {
                tracing::warn!(%error, "Codex did not tell its version");
                None
            }
        };
        let dialect = choose(version.as_deref(), self.config.dialect).map_err(|it| {
            failure("APP_SERVER_START_FAILED", &format!("Pilothouse could not {it}"))
        })?;
        tracing::debug!(?version, %dialect, "found Codex");
        let program = Program { path: located.path, version, dialect };
        if asked.is_ok() {
            *known = Some(program.clone());
        }
        Ok(program)
    }

    /// A name for a process that never comes again on this machine, as those of asks and turns
    /// contain it.
    pub(crate) fn name(&self) -> String {
        let number = self.n_started.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{}-{number}", self.node)
    }

    /// Starts it as a process of that name.
    pub(crate) async fn start(
        &self,
        program: &Program,
        name: &str,
        args: Vec<OsString>,
        cwd: Option<PathBuf>,
    ) -> Result<Process, AgentError> {
        let number = name.rsplit('-').next().unwrap_or(name);
        let marker = Marker {
            store: self.store_name.clone(),
            node: self.node.clone(),
            process: number.to_owned(),
        };
        let mut spawn = Spawn::new(program.path.clone(), marker);
        spawn.args = args;
        spawn.cwd = cwd;
        spawn.env.clone_from(&self.config.env);
        spawn.guard.clone_from(&self.config.guard);
        let process = Process::spawn(spawn).await.map_err(|it| {
            let problem = format!("could not start {}: {it}", program.path.display());
            failure("APP_SERVER_START_FAILED", &problem)
        })?;
        let pid = process.handle().agent_pid();
        self.note(name, pid).await;
        Ok(process)
    }

    /// How the program is kept, if it is to be and can be.
    pub(crate) fn keeps(&self, program: &Program) -> Option<&Keep> {
        let keep = self.config.keep.as_ref()?;
        let version = program.version.as_deref();
        let problem = if program.dialect != Dialect::AppServer {
            "only `codex app-server` can be come back to"
        } else if !can_be_kept(version) {
            "it takes Codex 0.153 or later"
        } else if self.config.guard.is_none() {
            "nothing guards them"
        } else {
            return Some(keep);
        };
        self.warned.get_or_init(|| {
            tracing::warn!(version, "agents are not kept, and end with Pilothouse: {problem}");
        });
        None
    }

    /// Starts it as a process of that name that outlives us, for one session or for all.
    pub(crate) async fn start_kept(
        &self,
        program: &Program,
        name: &str,
        serves: Option<SessionId>,
        keep: &Keep,
    ) -> Result<Process, AgentError> {
        let started = async {
            let paths = Paths::of(&keep.folder, name)?;
            paths.make_dirs()?;
            let socket = paths.socket.to_string_lossy();
            let mut spawn = Spawn::new(program.path.clone(), kept::marker(&self.store_name, name));
            spawn.args = kept_app_server_args(&socket).into_iter().map(OsString::from).collect();
            spawn.env.clone_from(&self.config.env);
            spawn.guard.clone_from(&self.config.guard);
            let (path, version) = (&program.path, program.version.clone());
            let likeness = self.likeness(program);
            let record = Record::new(name.to_owned(), path, version, likeness, serves);
            kept::start(spawn, &record, paths, keep).await
        };
        let process = started.await.map_err(|it| {
            let problem = format!("could not start {}: {it}", program.path.display());
            failure("APP_SERVER_START_FAILED", &problem)
        })?;
        self.note(name, process.handle().agent_pid()).await;
        Ok(process)
    }

    /// A fingerprint of all that a process has from this broker: sessions of two brokers may share
    /// one if this is the same.
    pub(crate) fn likeness(&self, program: &Program) -> String {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        };
        add(program.path.as_os_str().as_encoded_bytes());
        add(program.version.as_deref().unwrap_or_default().as_bytes());
        let mut env: BTreeMap<OsString, Option<OsString>> =
            std::env::vars_os().map(|(name, value)| (name, Some(value))).collect();
        env.extend(self.config.env.clone());
        env.retain(|name, _| !PASSING.iter().any(|it| name == it));
        for (name, value) in env {
            add(name.as_encoded_bytes());
            add(value.unwrap_or_default().as_encoded_bytes());
        }
        hash.finalize().iter().take(16).fold(String::new(), |res, it| format!("{res}{it:02x}"))
    }

    /// A process runs under this name.
    pub(crate) async fn note(&self, name: &str, pid: u32) {
        self.pids.lock().await.insert(name.to_owned(), pid);
    }

    /// A process that was started is gone.
    pub(crate) async fn forget(&self, name: &str) {
        self.pids.lock().await.remove(name);
    }

    /// The process ids of the agents that run, by name.
    pub(crate) async fn pids(&self) -> BTreeMap<String, u32> {
        self.pids.lock().await.clone()
    }
}

/// A failure to bring an agent, with the code that surfaces show.
pub(crate) fn failure(code: &str, message: &str) -> AgentError {
    AgentError { message: message.to_owned(), detail: json!({ "code": code }) }
}
