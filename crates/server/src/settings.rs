//! What a person set: `pilothouse.toml`, then the environment, then flags, the last one wins.

mod command;
mod keeping;
mod rules_file;

use std::{
    env,
    ffi::OsString,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf, absolute},
    sync::Arc,
    time::Duration,
};

use pilothouse::{
    Broker, Config, Dialect, PolicySource,
    agent::process::GuardCommand,
    rules::{Rules, RulesError},
};
use pilothouse_core::Answerers;
use pilothouse_store::{
    Memory, MemoryWorld, NodeId, Signer, Sqlite, SqliteConfig, Store, StoreError,
};
use serde::{Deserialize, de::IgnoredAny};
use uuid::Uuid;

pub use self::command::CommandSettings;
pub(crate) use self::rules_file::syntax_hint;
use self::{command::CommandTable, keeping::Agents, rules_file::RulesFile};
use crate::{hex, node_key};

/// The port that the console is on, unless it is taken or another one is named.
pub const DEFAULT_PORT: u16 = 7457;
/// What is logged when nobody says otherwise.
const DEFAULT_LOG: &str = "warn";
/// The settings' file, in the home.
const FILE: &str = "pilothouse.toml";
/// Largest settings file that is read.
const MAX_FILE: u64 = 1024 * 1024;
/// What a mode allows others than the user.
#[cfg(unix)]
const OTHERS: u32 = 0o077;
/// The bit of directories such as `/tmp`, which no program may take for itself.
#[cfg(unix)]
const SHARED_BY_ALL: u32 = 0o1000;
/// How many days closed sessions are kept unless the settings say.
const RETENTION_DAYS: u32 = 30;
/// Digits of a hash that name a store in the marks of its agents.
const STORE_NAME_DIGITS: usize = 12;

/// Where sessions are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChoice {
    /// In a file of this machine.
    Sqlite(PathBuf),
    /// Nowhere: they are gone with the process.
    Memory,
}

/// What flags say; they win over everything.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Flags {
    /// The directory of settings, state and tokens (else `PILOTHOUSE_HOME`)
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Where sessions are kept: `sqlite:PATH` or `memory:` (else `PILOTHOUSE_STORE`)
    #[arg(long, global = true, value_name = "STORE")]
    pub store: Option<String>,
    /// The Codex to run (else `PILOTHOUSE_CODEX`, `CODEX_MCP_BINARY`, `PATH`)
    #[arg(long, global = true, value_name = "FILE")]
    pub codex: Option<PathBuf>,
    /// What to log on stderr, such as `debug` (else `PILOTHOUSE_LOG`)
    #[arg(long, global = true, value_name = "FILTER")]
    pub log: Option<String>,
}

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The directory of settings, state and tokens.
    pub home: PathBuf,
    /// Where sessions are kept.
    pub store: StoreChoice,
    /// The Codex to run, else the one on the path.
    pub codex: Option<PathBuf>,
    /// How Codex is spoken to, else as its version does it best.
    pub mode: Option<Dialect>,
    /// What is logged.
    pub log: String,
    /// Where the console listens, else on the usual port or the next one that is free.
    pub listen: Option<SocketAddr>,
    /// Who may settle approvals of a caller's sessions.
    pub answerers: Answerers,
    /// How hard the model thinks unless a session says; `config` leaves it to Codex.
    pub default_effort: Option<String>,
    /// How long closed sessions are kept, else for ever.
    pub retention: Option<Duration>,
    /// How long agents are kept while no Pilothouse runs, else they go with it.
    pub keep_for: Option<Duration>,
    /// Whether and how callers run commands of their own.
    pub command: CommandSettings,
    /// What is answered without a person, as it was when the settings were read.
    pub rules: Rules,
}

/// The settings cannot be used. Each completes "Pilothouse could not …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// Neither a home nor a place for one.
    #[error("tell where its files belong: neither PILOTHOUSE_HOME nor HOME is set; set one")]
    NoHome,
    /// The home or its file.
    #[error(
        "{doing} {path}: {source}; correct that, or name another directory with PILOTHOUSE_HOME"
    )]
    File {
        /// What was being done.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is larger than any settings are.
    #[error("read {path}: it is over {MAX_FILE} bytes; is it the right file?")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is a directory, a pipe or the like.
    #[error("read {path}: it is no regular file; move it away, and write the settings to a file")]
    NoFile {
        /// What stands in its place.
        path: PathBuf,
    },
    /// The file says something that is no setting.
    #[error("understand {path}: {problem}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What and where, over several lines.
        problem: String,
    },
    /// A rule says what can't be, or does not do what its examples say.
    #[error("understand the rules in {path}: {problem}; correct the file, as no rule of it holds")]
    Rules {
        /// The file.
        path: PathBuf,
        /// What and where.
        problem: RulesError,
    },
    /// A value is of no use.
    #[error("use {origin}: {problem}")]
    Value {
        /// Where it stands.
        origin: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// The store would not open.
    #[error("open the store: {0}")]
    Store(#[from] StoreError),
    /// Opening the store ended in a panic.
    #[error("open the store: {0}; please report this")]
    Crashed(String),
    /// The broker would not open.
    #[error("begin: {0}")]
    Broker(#[from] pilothouse::Error),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    store: Option<String>,
    codex: Option<PathBuf>,
    log: Option<String>,
    listen: Option<String>,
    answers: Option<Answerers>,
    default_effort: Option<String>,
    command: Option<CommandTable>,
    /// 0 keeps them for ever.
    retention_days: Option<u32>,
    agents: Option<Agents>,
    keep_for_hours: Option<f64>,
    #[expect(dead_code, reason = "known here, and read apart, as they are read again and again")]
    rules: Option<IgnoredAny>,
}

impl Settings {
    /// The settings of this process.
    pub fn load(flags: &Flags) -> Result<Self, SettingsError> {
        Self::from_parts(flags, &|name| env::var_os(name))
    }

    /// The settings that flags and an environment make, with the file that those name.
    pub fn from_parts(
        flags: &Flags,
        env: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, SettingsError> {
        let env = |name: &str| env(name).filter(|it| !it.is_empty());
        let home = match flags.home.clone().or_else(|| env("PILOTHOUSE_HOME").map(PathBuf::from)) {
            Some(home) => home,
            None => default_home(&env)?,
        };
        let home = absolute(&home).map_err(|source| SettingsError::File {
            doing: "find",
            path: home,
            source,
        })?;
        let path = home.join(FILE);
        let text = read(&path)?;
        let file: File = toml::from_str(&text).map_err(|error| SettingsError::Syntax {
            path: path.clone(),
            problem: error.to_string().trim_end().to_owned(),
        })?;
        let rules = rules_file::parse(&text)
            .map_err(|problem| SettingsError::Rules { path: path.clone(), problem })?;
        let File {
            store,
            codex,
            log,
            listen,
            answers,
            default_effort,
            command,
            retention_days,
            agents,
            keep_for_hours,
            rules: _,
        } = file;

        let text = |name: &str| env(name).map(|it| it.to_string_lossy().into_owned());
        let file = |key: &str| format!("`{key}` in {}", path.display());
        let store = flags
            .store
            .clone()
            .map(|it| (it, "--store".to_owned()))
            .or_else(|| text("PILOTHOUSE_STORE").map(|it| (it, "PILOTHOUSE_STORE".to_owned())))
            .or_else(|| store.map(|it| (it, file("store"))));
        let store = match store {
            Some((text, origin)) => parse_store(&text, &home, origin)?,
            None => StoreChoice::Sqlite(home.join("pilothouse.db")),
        };
        let listen = listen
            .map(|it| parse_listen(&it))
            .transpose()
            .map_err(|problem| SettingsError::Value { origin: file("listen"), problem })?;
        let keep_for = keeping::keep_for(agents.unwrap_or_default(), keep_for_hours)
            .map_err(|problem| SettingsError::Value { origin: file("keep_for_hours"), problem })?;
        let command = command
            .unwrap_or_default()
            .settings()
            .map_err(|(key, problem)| SettingsError::Value { origin: file(key), problem })?;
        let named = ["PILOTHOUSE_CODEX", "CODEX_MCP_BINARY"].into_iter().find_map(env);
        let mode = ["PILOTHOUSE_MODE", "CODEX_MCP_MODE"].into_iter().find_map(|name| {
            let value = text(name).filter(|it| !it.trim().is_empty())?;
            Some(value.trim().parse().map_err(|_| SettingsError::Value {
                origin: name.to_owned(),
                problem: format!("{value:?} is none of app-server, exec, proto"),
            }))
        });
        Ok(Self {
            mode: mode.transpose()?,
            codex: flags.codex.clone().or_else(|| named.map(PathBuf::from)).or(codex),
            log: flags
                .log
                .clone()
                .or_else(|| text("PILOTHOUSE_LOG"))
                .or(log)
                .unwrap_or_else(|| DEFAULT_LOG.to_owned()),
            answerers: answers.unwrap_or_default(),
            home,
            store,
            listen,
            default_effort,
            keep_for,
            retention: Some(retention_days.unwrap_or(RETENTION_DAYS))
                .filter(|it| *it > 0)
                .map(|it| Duration::from_hours(24 * u64::from(it))),
            command,
            rules,
        })
    }

    /// The file that settings are read from, which need not be there.
    pub fn file(&self) -> PathBuf {
        self.home.join(FILE)
    }

    /// What holds of the rules, as the file has them whenever something is asked. While the file is
    /// bad nothing is allowed, and what was refused still is.
    pub fn policy_source(&self) -> PolicySource {
        RulesFile::new(self.file(), self.rules.clone()).source()
    }

    /// Makes the home, for this user alone.
    pub fn make_home(&self) -> Result<(), SettingsError> {
        make_private_dir(&self.home).map_err(|source| SettingsError::File {
            doing: "make",
            path: self.home.clone(),
            source,
        })
    }

    /// Takes away what the home and its token allow other users of the machine, and warns of it.
    #[cfg(unix)]
    pub(crate) fn keep_others_out(&self) -> Result<(), SettingsError> {
        use std::os::unix::fs::PermissionsExt as _;

        for path in [self.home.clone(), self.home.join("token"), node_key::path(&self.home)] {
            let failed = |source| SettingsError::File {
                doing: "keep others out of",
                path: path.clone(),
                source,
            };
            let metadata = match fs::metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata.map_err(failed)?,
            };
            let mut permissions = metadata.permissions();
            let mode = permissions.mode();
            if mode & OTHERS == 0 {
                continue;
            }
            let shown = path.display();
            if mode & SHARED_BY_ALL != 0 {
                tracing::warn!(path = %shown, "is a directory of all users; name one of your own as home");
                continue;
            }
            permissions.set_mode(mode & !OTHERS);
            fs::set_permissions(&path, permissions).map_err(failed)?;
            tracing::warn!(path = %shown, "could be seen by other users of this machine; now it cannot");
        }
        Ok(())
    }

    /// Who may see what is not said in these terms here.
    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "as on other systems")]
    pub(crate) fn keep_others_out(&self) -> Result<(), SettingsError> {
        Ok(())
    }

    /// Opens the store as a new node.
    pub async fn open_store(&self) -> Result<Arc<dyn Store>, SettingsError> {
        match &self.store {
            StoreChoice::Memory => {
                let node = NodeId(Uuid::now_v7().simple().to_string());
                Ok(Memory::open(&MemoryWorld::new(), node))
            }
            StoreChoice::Sqlite(path) => {
                self.make_home()?;
                let (path, home) = (path.clone(), self.home.clone());
                let open = move || {
                    let signer = node_key::read_or_make(&home).map_err(|source| {
                        let path = node_key::path(&home);
                        SettingsError::File { doing: "read", path, source }
                    })?;
                    let signer: Option<Arc<dyn Signer>> = Some(Arc::new(signer));
                    Ok(Sqlite::open_with(
                        &path,
                        &SqliteConfig { signer, ..SqliteConfig::default() },
                    )?)
                };
                let opened = tokio::task::spawn_blocking(open).await;
                let opened: Result<Arc<Sqlite>, SettingsError> =
                    opened.map_err(|it| SettingsError::Crashed(it.to_string()))?;
                Ok(opened?)
            }
        }
    }

    /// Opens the store and a broker on it.
    pub async fn open_broker(&self, program: &str) -> Result<Broker, SettingsError> {
        let store = self.open_store().await?;
        let name = match &self.store {
            StoreChoice::Sqlite(path) => path.as_os_str().as_encoded_bytes().to_vec(),
            // A store that nobody shares: no other may end its agents.
            StoreChoice::Memory => store.node().0.clone().into_bytes(),
        };
        let name = hex::sha256(&name);
        let mut config = Config::new(store, &name[..STORE_NAME_DIGITS], program);
        config.retention = self.retention;
        config.agent.binary.clone_from(&self.codex);
        config.agent.dialect = self.mode;
        config.policy = self.policy_source();
        config.agent.guard = env::current_exe()
            .ok()
            .map(|program| GuardCommand { program, args: vec!["guard".into()] });
        config.agent.keep = match (&self.store, self.keep_for) {
            (StoreChoice::Sqlite(path), Some(keep_for)) => {
                Some(keeping::keep(path, &config.store_name, keep_for))
            }
            (StoreChoice::Memory, Some(_)) => {
                tracing::warn!("agents are not kept: the store itself goes with Pilothouse");
                None
            }
            (StoreChoice::Sqlite(_) | StoreChoice::Memory, None) => None,
        };
        Ok(Broker::open(config).await?)
    }
}

/// Makes a directory that only this user can look into.
pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// An address to listen on: an address with a port, or `localhost` with one.
pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address = numeric.as_deref().unwrap_or(text).parse::<SocketAddr>().map_err(|_| {
        format!("{text:?} is not an address with a port, such as 127.0.0.1:{DEFAULT_PORT}")
    })?;
    if !address.ip().is_loopback() {
        return Err(format!(
            "{text} can be reached from other machines, and the console's line is not encrypted; \
             listen on 127.0.0.1:{}, and forward that port with SSH",
            address.port()
        ));
    }
    Ok(address)
}

fn parse_store(text: &str, home: &Path, origin: String) -> Result<StoreChoice, SettingsError> {
    if text == "memory:" {
        return Ok(StoreChoice::Memory);
    }
    if let Some(path) = text.strip_prefix("sqlite:").filter(|it| !it.is_empty()) {
        // As in the environment of a host, whose directory may be any: from the home.
        return Ok(StoreChoice::Sqlite(home.join(path)));
    }
    // What follows may be a password.
    let scheme = text.split_once(':').map_or("it", |(scheme, _)| scheme);
    let problem = format!("{scheme} is no store of this version; use sqlite:PATH or memory:");
    Err(SettingsError::Value { origin, problem })
}

/// The file's text; nothing if there is none.
fn read(path: &Path) -> Result<String, SettingsError> {
    let failed = |source| SettingsError::File { doing: "read", path: path.to_owned(), source };
    match fs::metadata(path) {
        // Some others would keep whoever reads them waiting.
        Ok(it) if !it.is_file() => {
            return Err(SettingsError::NoFile { path: path.to_owned() });
        }
        Ok(it) if it.len() > MAX_FILE => {
            return Err(SettingsError::TooLarge { path: path.to_owned() });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(failed(error)),
    }
    fs::read_to_string(path).map_err(failed)
}

fn default_home(env: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, SettingsError> {
    let base = if cfg!(windows) {
        env("LOCALAPPDATA").map(PathBuf::from)
    } else if cfg!(target_os = "macos") {
        env("HOME").map(|it| Path::new(&it).join("Library/Application Support"))
    } else {
        let data = env("XDG_DATA_HOME").map(PathBuf::from).filter(|it| it.is_absolute());
        data.or_else(|| env("HOME").map(|it| Path::new(&it).join(".local/share")))
    };
    base.map(|it| it.join("pilothouse")).ok_or(SettingsError::NoHome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(flags: &Flags, vars: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::from_parts(flags, &|name| {
            vars.iter().find(|(it, _)| *it == name).map(|(_, value)| value.into())
        })
    }

    fn with_file(text: &str, vars: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(FILE), text).unwrap();
        settings(&Flags { home: Some(home.path().into()), ..Flags::default() }, vars)
    }

    #[test]
    fn closed_sessions_are_kept_for_a_month_or_as_said() {
        let days =
            |text: &str| with_file(text, &[]).unwrap().retention.map(|it| it.as_secs() / 86_400);
        assert_eq!(days(""), Some(30));
        assert_eq!(days("retention_days = 7"), Some(7));
        assert_eq!(days("retention_days = 0"), None);
    }

    #[test]
    fn later_layers_win() {
        let file = "codex = \"/file\"\nstore = \"memory:\"\nlog = \"info\"\n";
        let res = with_file(file, &[]).unwrap();
        assert_eq!(res.codex.as_deref(), Some(Path::new("/file")));
        assert_eq!((&res.store, res.log.as_str()), (&StoreChoice::Memory, "info"));

        let vars = [("CODEX_MCP_BINARY", "/env"), ("PILOTHOUSE_STORE", "sqlite:x.db")];
        let res = with_file(file, &vars).unwrap();
        assert_eq!(res.codex.as_deref(), Some(Path::new("/env")));
        assert_eq!(res.store, StoreChoice::Sqlite(res.home.join("x.db")));

        let flags = Flags {
            home: Some("/nowhere".into()),
            codex: Some("/flag".into()),
            store: Some("memory:".into()),
            log: Some("trace".into()),
        };
        let res = settings(&flags, &vars).unwrap();
        assert_eq!(res.codex.as_deref(), Some(Path::new("/flag")));
        assert_eq!((&res.store, res.log.as_str()), (&StoreChoice::Memory, "trace"));
    }

    #[test]
    fn how_codex_is_spoken_to_can_be_forced() {
        let mode = |vars: &[(&str, &str)]| settings(&Flags::default(), vars).map(|it| it.mode);
        let home = ("HOME", "/home/dev");
        assert_eq!(mode(&[home]).unwrap(), None);
        assert_eq!(mode(&[home, ("CODEX_MCP_MODE", "exec")]).unwrap(), Some(Dialect::Exec));
        let both = [home, ("CODEX_MCP_MODE", "exec"), ("PILOTHOUSE_MODE", "proto")];
        assert_eq!(mode(&both).unwrap(), Some(Dialect::Proto));
        let problem = mode(&[home, ("CODEX_MCP_MODE", "fast")]).unwrap_err().to_string();
        assert!(problem.contains("CODEX_MCP_MODE") && problem.contains("app-server"), "{problem}");
    }

    #[test]
    fn without_settings_all_is_in_the_home() {
        let res = settings(&Flags::default(), &[("HOME", "/home/dev")]).unwrap();
        assert_eq!(res.store, StoreChoice::Sqlite(res.home.join("pilothouse.db")));
        assert_eq!(res.listen, None);
        assert_eq!(res.answerers, Answerers::Caller);
        #[cfg(target_os = "linux")]
        assert_eq!(res.home, Path::new("/home/dev/.local/share/pilothouse"));
        assert!(matches!(settings(&Flags::default(), &[]), Err(SettingsError::NoHome)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (file, said) in [
            ("stroe = \"memory:\"", "unknown field `stroe`"),
            ("answers = \"nobody\"", "unknown variant `nobody`"),
            ("listen = \"0.0.0.0:80\"", "can be reached from other machines"),
            ("listen = \"here\"", "is not an address with a port"),
            ("store = \"postgres://me:secret@host\"", "postgres is no store of this version"),
            ("agents = \"forever\"", "unknown variant `forever`"),
            ("keep_for_hours = 0", "no number of hours above 0"),
            ("store = \"sqlite:\"", "sqlite is no store of this version"),
        ] {
            let error = with_file(file, &[]).unwrap_err().to_string();
            assert!(error.contains(said), "{file}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn people_alone_answer_if_so_set() {
        let res = with_file("answers = \"human\"\ndefault_effort = \"config\"", &[]).unwrap();
        assert_eq!(res.answerers, Answerers::Human);
        assert_eq!(res.default_effort.as_deref(), Some("config"));
    }
}
