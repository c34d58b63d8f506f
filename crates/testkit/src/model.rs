//! A Responses API on the loopback that plays scripts, so that the real Codex needs no account
//! and no network.
//!
//! A prompt holds its own script, as JSON after the word `SCRIPT:`. It is a list of steps, one
//! for each time Codex asks the model; a step is a list of operations, described at
//! [`script::Op`]. When the steps are used up, the model says `done`. Prompts without a script
//! get a [`DefaultScript`]. Steps are counted per thread and prompt, so parallel sessions do not
//! disturb each other.

mod http;
pub mod script;
mod stream;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt, fs, io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, ensure};
pub use script::DefaultScript;
use serde::Serialize;
use serde_json::Value;
use tokio::{
    runtime::{Builder, Handle},
    sync::{oneshot, watch},
};

/// The variable from which the configured Codex takes its key.
pub const KEY_VARIABLE: &str = "SCRIPTED_KEY";

/// The model that Codex is configured with: it has direct function tools and `apply_patch`.
pub const MODEL: &str = "gpt-5.5";

/// More requests than any test makes; the oldest are forgotten beyond it.
const MAX_LOGGED_REQUESTS: usize = 4096;

/// How long [`ScriptedModel::reached_gate`] and [`ScriptedModel::wait_for_requests`] wait.
const WAIT: Duration = Duration::from_mins(1);

/// A running model. It stops when dropped, and cuts what it was streaming.
pub struct ScriptedModel {
    address: SocketAddr,
    home: tempfile::TempDir,
    shared: Arc<Shared>,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// One call that Codex made to the model.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    /// Counts from 1.
    pub number: u64,
    /// Codex's thread, as its headers say.
    pub thread: String,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The names of the tools that were offered.
    pub tools: Vec<String>,
    /// The whole body, with the model's `input`.
    pub body: Value,
}

impl ModelRequest {
    /// What the model was given to read: messages, calls and the answers of tools.
    pub fn input(&self) -> &[Value] {
        self.body.get("input").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The input as one JSON text, to look for words in it.
    pub fn input_text(&self) -> String {
        Value::from(self.input().to_vec()).to_string()
    }
}

impl ScriptedModel {
    /// Starts a model on a free port, with a private Codex home that points to it.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_on(0).await
    }

    /// Like [`ScriptedModel::start`], on a port of choice.
    pub async fn start_on(port: u16) -> anyhow::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("Pilothouse could not listen on port {port}"))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let home = tempfile::Builder::new().prefix("codex-home-").tempdir()?;
        let shared = Arc::new(Shared::new());
        let (stop, stopped) = oneshot::channel();
        let (ready_tx, ready_rx) = oneshot::channel();
        // A thread and a runtime of its own: it works beside a test's paused clock, and dropping
        // the runtime ends every connection at once.
        let served = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("scripted-model".into())
            .spawn(move || serve(listener, served, stopped, ready_tx))?;
        let runtime = ready_rx.await.context("Pilothouse could not start the scripted model")??;
        let model = Self { address, home, shared, runtime, stop: Some(stop), thread: Some(thread) };
        model.write_codex_home(model.home.path())?;
        Ok(model)
    }

    /// Where the API is: what Codex calls a provider's `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// A private Codex home that points to this model, gone when the model is dropped.
    pub fn codex_home(&self) -> &Path {
        self.home.path()
    }

    /// The variables with which Codex uses [`ScriptedModel::codex_home`].
    pub fn env(&self) -> Vec<(String, String)> {
        self.env_for(self.codex_home())
    }

    /// The variables with which Codex uses a home of the caller's. Its commands run in a login
    /// shell, so that is the shell's home too: a person's profile may print, or wait for a lock.
    pub fn env_for(&self, home: &Path) -> Vec<(String, String)> {
        vec![
            ("CODEX_HOME".into(), home.display().to_string()),
            ("HOME".into(), home.display().to_string()),
            (KEY_VARIABLE.into(), "scripted".into()),
        ]
    }

    /// Makes the folder a Codex home that points to this model.
    pub fn write_codex_home(&self, dir: &Path) -> io::Result<()> {
        self.write_codex_home_with(dir, "")
    }

    /// Like [`ScriptedModel::write_codex_home`], with more TOML at the end of the configuration,
    /// such as a table `mcp_servers`.
    pub fn write_codex_home_with(&self, dir: &Path, extra_toml: &str) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        let base_url = self.base_url();
        let config = format!(
            "model = \"{MODEL}\"\nmodel_provider = \"scripted\"\n\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{base_url}\"\n\
             wire_api = \"responses\"\nenv_key = \"{KEY_VARIABLE}\"\n\
             request_max_retries = 0\nstream_max_retries = 0\n\n{extra_toml}"
        );
        fs::write(dir.join("config.toml"), config)
    }

    /// What to answer from now on to prompts without a script.
    pub fn set_default_script(&self, script: DefaultScript) {
        self.shared.state().default_script = script;
    }

    /// What to answer to prompts without a script.
    pub fn default_script(&self) -> DefaultScript {
        self.shared.state().default_script.clone()
    }

    /// Every call so far, oldest first.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared.state().requests.iter().cloned().collect()
    }

    /// Waits until Codex has called `count` times, and returns the calls.
    pub async fn wait_for_requests(&self, count: u64) -> anyhow::Result<Vec<ModelRequest>> {
        let calls = self.shared.calls.subscribe();
        let enough = self.wait_for(calls, move |it| *it >= count).await;
        ensure!(enough, "Codex did not call the model {count} times");
        Ok(self.requests())
    }

    /// Lets streams pass the operation `{"gate": name}`, those that wait and those to come.
    pub fn open_gate(&self, name: &str) {
        self.shared.open_gate(name);
    }

    /// Waits until a stream stands at a gate, so that a test knows where the model is.
    pub async fn reached_gate(&self, name: &str) -> anyhow::Result<()> {
        let (reached, wanted) = (self.shared.reached.subscribe(), name.to_owned());
        let there = self.wait_for(reached, move |it| it.contains(&wanted)).await;
        ensure!(there, "the model did not come to the gate {name}");
        Ok(())
    }

    /// Waits on the model's own clock, because a test's may be paused.
    async fn wait_for<T, F>(&self, mut seen: watch::Receiver<T>, mut enough: F) -> bool
    where
        T: Send + Sync + 'static,
        F: FnMut(&T) -> bool + Send + 'static,
    {
        let wait = async move {
            let outcome = tokio::time::timeout(WAIT, seen.wait_for(|it| enough(it))).await;
            matches!(outcome, Ok(Ok(_)))
        };
        self.runtime.spawn(wait).await.unwrap_or(false)
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It only fails if the thread panicked, which its panic message has told.
            drop(thread.join());
        }
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What the server and the test both see.
struct Shared {
    /// Makes the ids of one model differ from those of another in the same thread of Codex.
    run: String,
    state: Mutex<State>,
    calls: watch::Sender<u64>,
    open: watch::Sender<BTreeSet<String>>,
    reached: watch::Sender<BTreeSet<String>>,
}

#[derive(Default)]
struct State {
    requests: VecDeque<ModelRequest>,
    n_requests: u64,
    /// How many steps of a script are used up, by thread and prompt.
    steps: BTreeMap<(String, String), usize>,
    default_script: DefaultScript,
}

impl Shared {
    fn new() -> Self {
        static N_MODELS: AtomicU64 = AtomicU64::new(0);
        let nth = N_MODELS.fetch_add(1, Ordering::Relaxed);
        Self {
            run: format!("{:x}{nth:x}", std::process::id()),
            state: Mutex::default(),
            calls: watch::Sender::new(0),
            open: watch::Sender::default(),
            reached: watch::Sender::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_gate(&self, name: &str) {
        self.open.send_modify(|it| {
            it.insert(name.to_owned());
        });
    }

    async fn pass_gate(&self, name: &str) {
        self.reached.send_modify(|it| {
            it.insert(name.to_owned());
        });
        // It only fails when the model is gone, and then nobody reads the stream.
        drop(self.open.subscribe().wait_for(|it| it.contains(name)).await);
    }

    /// Logs a call and returns its number.
    fn log(&self, mut request: ModelRequest) -> u64 {
        let mut state = self.state();
        state.n_requests += 1;
        let number = state.n_requests;
        request.number = number;
        state.requests.push_back(request);
        if state.requests.len() > MAX_LOGGED_REQUESTS {
            state.requests.pop_front();
        }
        drop(state);
        self.calls.send_replace(number);
        number
    }
}

fn serve(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    stopped: oneshot::Receiver<()>,
    ready: oneshot::Sender<io::Result<Handle>>,
) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(ready.send(Err(error))),
    };
    runtime.block_on(async move {
        let listener = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => return drop(ready.send(Err(error))),
        };
        drop(ready.send(Ok(Handle::current())));
        let server = axum::serve(listener, http::router(shared));
        tokio::select! {
            // Neither outcome matters: a test notices that its model is gone.
            _ = server => {}
            _ = stopped => {}
        }
    });
}
