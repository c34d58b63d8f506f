//! What MCP clients see: the tools that start, watch and answer sessions.
//!
//! The translation between codex-mcp's names and ours is here and nowhere else. In reading order:
//! [`serve_stdio`] and [`Server`]; `tools`, what clients list; `arguments` and `problem`, what they
//! send and what they get when it cannot be done; `start`, `session` and `check`, the tools; then
//! what those tell (`events`, `actions`, `output`) and how it is kept small (`bounds`). `choice`,
//! `form` and `command` ask people on the client's behalf, through `elicit` and `desk`. `legacy` is
//! another contract altogether: that of Codex's own server, as it was.

mod actions;
mod answers;
mod arguments;
mod bounds;
mod check;
mod choice;
mod command;
mod desk;
mod elicit;
mod events;
mod form;
mod legacy;
mod lines;
mod output;
mod problem;
mod profile;
mod readers;
mod records;
mod resources;
mod session;
mod start;
mod tools;
mod waits;

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use pilothouse::Broker;
use pilothouse_core::{Actor, Answerers, Seq, SessionId};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
        Implementation, InputRequiredResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
        ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    },
    service::{RequestContext, ServerInitializeError, SubscriptionContext},
};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::OnceCell;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::command::CommandOptions;
use self::{
    arguments::Arguments,
    desk::Desk,
    elicit::Brought,
    lines::Lines,
    problem::{Code, Problem},
    readers::Readers,
};

/// How often a call that waits says that it is alive.
const PROGRESS_EVERY: Duration = Duration::from_secs(8);
/// How long calls that are under way may take when the client has said all it had to say.
const LAST_CALLS: Duration = Duration::from_millis(500);
/// How long their answers may take to be read.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long everything that was started may take to go.
const LEAVE: Duration = Duration::from_millis(1_500);
/// The first version whose clients know structured results.
const STRUCTURED_SINCE: &str = "2025-06-18";
/// How long clients may keep the list of tools, which never changes, in milliseconds.
const TOOLS_TTL: u64 = 3_600_000;
/// A client that has not replied to a form for so long does not show it, as far as one can tell.
const SILENCE: Duration = Duration::from_secs(20);
/// A no that comes sooner was no person's, unless the client is known to show forms.
const READING: Duration = Duration::from_secs(1);
/// How long a call stays open while a person is asked. Many clients give up after a minute.
const CALL_LIMIT: Duration = Duration::from_secs(45);
/// How long a client may take to come back with the reply to a form.
const STATE_HOLDS: Duration = Duration::from_hours(24);

/// Whose tools a client finds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Contract {
    /// Ours: sessions that are started, watched and answered, call by call.
    #[default]
    Sessions,
    /// Those of Codex's own MCP server: a call is a turn.
    CodexServer,
}

/// A set of tools of our own contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum ToolSet {
    /// `codex`, `codex_reply`, `codex_session` and `codex_check`.
    Codex,
    /// `request_choice`.
    Choice,
    /// `request_form`.
    Form,
    /// `run_command`, which runs what a person allows.
    Command,
}

/// What a server is to know before anything is looked at.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where relative paths begin, and where sessions work that name no directory.
    pub cwd: PathBuf,
    /// The effort of sessions that name none; nothing leaves it to Codex's own configuration.
    pub default_effort: Option<String>,
    /// Who may answer what the sessions of this caller ask.
    pub answerers: Answerers,
    /// The caller's name; nothing mints one.
    pub caller: Option<String>,
    /// Where Codex keeps its configuration, and the profiles of it.
    pub codex_home: Option<PathBuf>,
    /// Whose tools there are.
    pub contract: Contract,
    /// Which sets of our own tools.
    pub tools: Vec<ToolSet>,
    /// What may be run, and how.
    pub command: CommandOptions,
    /// When a client that has not replied to a form counts as not showing it.
    pub silence: Duration,
    /// The least time in which a person can have read a form.
    pub reading: Duration,
    /// How long a call stays open while a person is asked.
    pub call_limit: Duration,
    /// How long a client may take to come back with the reply to a form.
    pub state_holds: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            default_effort: Some("low".to_owned()),
            answerers: Answerers::default(),
            caller: None,
            codex_home: codex_home(),
            contract: Contract::default(),
            tools: vec![ToolSet::Codex],
            command: CommandOptions::default(),
            silence: SILENCE,
            reading: READING,
            call_limit: CALL_LIMIT,
            state_holds: STATE_HOLDS,
        }
    }
}

/// Where Codex looks for its configuration.
fn codex_home() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    named("CODEX_HOME").or_else(|| named("HOME").map(|it| it.join(".codex")))
}

type Opening = Pin<Box<dyn Future<Output = anyhow::Result<Broker>> + Send>>;

/// One caller's view of a broker, as MCP tools and resources.
///
/// The broker is opened at the first call that needs it, so that a client which only asks what
/// there is leaves no trace.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    caller: Actor,
    open: Box<dyn Fn() -> Opening + Send + Sync>,
    broker: OnceCell<Broker>,
    readers: Mutex<Readers>,
    desk: Desk,
    /// The client has once taken its time over a form, so that a person is there to read them.
    shows_forms: AtomicBool,
    leaving: CancellationToken,
    /// Resources that the client wants to hear of, and how to stop.
    watched: Mutex<BTreeMap<String, CancellationToken>>,
    watchers: TaskTracker,
    tools: Vec<Tool>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("caller", &self.shared.caller).finish_non_exhaustive()
    }
}

impl Server {
    /// A server for one caller; `open` is called when the broker is first needed, and again if it
    /// could not be opened.
    pub fn new<F, O>(options: Options, open: F) -> Self
    where
        F: Fn() -> O + Send + Sync + 'static,
        O: Future<Output = anyhow::Result<Broker>> + Send + 'static,
    {
        let id = options.caller.clone().unwrap_or_else(|| {
            let name = uuid::Uuid::new_v4().simple().to_string();
            format!("mcp-{}", &name[..12])
        });
        let tools = match options.contract {
            Contract::Sessions => tools::of(&options.tools, &options.command),
            Contract::CodexServer => legacy::all(),
        };
        let shared = Shared {
            options,
            caller: Actor::Caller { id },
            open: Box::new(move || Box::pin(open())),
            broker: OnceCell::new(),
            readers: Mutex::default(),
            desk: Desk::default(),
            shows_forms: AtomicBool::new(false),
            leaving: CancellationToken::new(),
            watched: Mutex::default(),
            watchers: TaskTracker::new(),
            tools,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Takes back what the client still asks, once the client is gone. Its sessions stay; they are
    /// the broker's.
    pub async fn close(&self) {
        self.shared.leaving.cancel();
        self.shared.watchers.close();
        self.shared.watchers.wait().await;
        if tokio::time::timeout(LEAVE, self.shared.clear_desk()).await.is_err() {
            tracing::warn!("not every question was taken back in time");
        }
    }
}

/// Serves one client over standard input and output, until it closes them or a signal comes. All
/// that was started is gone when this returns.
pub async fn serve_stdio<F, O>(options: Options, open: F) -> anyhow::Result<()>
where
    F: Fn() -> O + Send + Sync + 'static,
    O: Future<Output = anyhow::Result<Broker>> + Send + 'static,
{
    let server = Server::new(options, open);
    let over = CancellationToken::new();
    let stop = CancellationToken::new();
    let (read, write) = rmcp::transport::stdio_pipes();
    let lines = Lines::new(read, write, over.clone());
    let serving = serve(server.clone(), lines, stop.clone());
    tokio::pin!(serving);
    let mut outcome = None;
    tokio::select! {
        res = &mut serving => outcome = Some(res),
        () = over.cancelled() => {}
        res = signalled() => res?,
    }
    let signal = !over.is_cancelled();
    // What was asked before the end of input is still answered, if that takes no time.
    if outcome.is_none() && !signal {
        outcome = tokio::time::timeout(LAST_CALLS, &mut serving).await.ok();
    }
    server.close().await;
    if let Some(broker) = server.shared.broker.get()
        && tokio::time::timeout(LEAVE, broker.stop()).await.is_err()
    {
        tracing::warn!("not everything was gone in time");
    }
    if outcome.is_none() {
        stop.cancel();
        outcome = tokio::time::timeout(LAST_WORDS, &mut serving).await.ok();
    }
    outcome.unwrap_or(Ok(()))
}

async fn serve<R>(server: Server, lines: Lines<R>, stop: CancellationToken) -> anyhow::Result<()>
where
    R: tokio::io::AsyncRead + Send + Unpin + 'static,
{
    match rmcp::service::serve_server_with_ct(server, lines, stop).await {
        Ok(running) => {
            let reason = running.waiting().await?;
            tracing::debug!(?reason, "client served");
            Ok(())
        }
        // A client that only wanted to know whether we are there.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Until someone wants this process to go.
async fn signalled() -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hangup = signal(SignalKind::hangup())?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await?;
    Ok(())
}

impl Shared {
    /// What a model should know before it calls anything that is offered.
    fn instructions(&self) -> String {
        let offers = |name: &str| self.tools.iter().any(|it| it.name == name);
        let mut res = vec![];
        match self.options.contract {
            Contract::CodexServer => res.push(
                "Runs Codex sessions. codex and codex-reply return with the turn's last words.",
            ),
            Contract::Sessions if offers("codex") => res.push(
                "Runs Codex sessions. Start one with codex, then long-poll codex_check \
                 (waitMs) and answer its actions; the result comes once per turn.",
            ),
            Contract::Sessions => {}
        }
        if !self.options.tools.iter().all(|it| *it == ToolSet::Codex) {
            res.push(
                "The tools that ask return the person's answer, or action pending with an askId: \
                 call the same tool with that askId to collect it. No answer is never a yes.",
            );
        }
        res.join(" ")
    }

    fn readers(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<String, CancellationToken>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call under way.
pub(crate) struct Call<'a> {
    server: &'a Arc<Shared>,
    context: &'a RequestContext<RoleServer>,
    /// What it brings back from an earlier call.
    brought: Brought,
    /// Notes of progress that were sent: their numbers must rise.
    n_notes: AtomicU32,
}

impl<'a> Call<'a> {
    fn new(server: &'a Arc<Shared>, context: &'a RequestContext<RoleServer>) -> Self {
        Self { server, context, brought: Brought::default(), n_notes: AtomicU32::new(0) }
    }

    async fn broker(&self) -> Result<&Broker, Problem> {
        let broker = self.server.broker.get_or_try_init(|| (self.server.open)()).await;
        broker
            .map_err(|error| Problem::new(Code::Internal, format!("Pilothouse could not {error}")))
    }

    fn session_id(arguments: &mut Arguments) -> Result<SessionId, Problem> {
        let text = arguments.required("sessionId")?;
        text.parse().map_err(|_| {
            let text: String = text.chars().take(80).collect();
            Problem::new(Code::SessionNotFound, format!("there is no session {text:?}"))
                .hint("List the sessions with codex_session.")
        })
    }

    /// Where a person finds the console, if one is open anywhere.
    async fn console(&self, broker: &Broker) -> Option<String> {
        let nodes = broker.nodes().await.ok()?;
        nodes.into_iter().filter(|it| it.alive).find_map(|it| it.presence.console)
    }

    /// Waits for something, and says so now and then to a client that wants to know. Nothing if the
    /// client takes its call back, or this process is leaving.
    async fn patiently<T>(&self, something: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(something);
        let mut progress = tokio::time::interval(PROGRESS_EVERY);
        progress.reset();
        loop {
            tokio::select! {
                res = &mut something => return Some(res),
                () = self.context.ct.cancelled() => return None,
                () = self.server.leaving.cancelled() => return None,
                _ = progress.tick() => {}
            }
            self.say("waiting for Codex").await;
        }
    }

    /// A note of progress to a client that wants to know.
    async fn say(&self, message: impl Into<String>) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let number = self.n_notes.fetch_add(1, Ordering::Relaxed) + 1;
        let note = ProgressNotificationParam::new(token, f64::from(number)).with_message(message);
        if let Err(error) = self.context.peer.notify_progress(note).await {
            tracing::debug!(%error, "could not report progress");
        }
    }
}

/// What a tool says to its client.
pub(crate) enum Said {
    /// This is the result.
    Reply(Reply),
    /// The client is to ask its person, and to call again.
    InputRequired(Box<InputRequiredResult>),
}

/// What a call came to.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// For programs.
    pub(crate) fields: Map<String, Value>,
    /// For models, many of which are shown nothing else.
    pub(crate) text: String,
}

impl Reply {
    fn size(&self) -> usize {
        self.text.len()
            + self.fields.iter().map(|(name, it)| name.len() + 4 + bounds::size(it)).sum::<usize>()
    }

    fn warn(mut self, warnings: Vec<String>) -> Self {
        for warning in warnings {
            self.text.push('\n');
            self.text.push_str(&warning);
            self.warn_once(warning);
        }
        self
    }

    /// A warning whose words the text has already.
    fn warn_once(&mut self, warning: String) {
        let warnings = self.fields.entry("compatWarnings").or_insert_with(|| Value::Array(vec![]));
        if let Value::Array(warnings) = warnings {
            warnings.push(warning.into());
        }
    }

    fn into_result(self, structured: bool) -> CallToolResult {
        let Self { fields, text } = self;
        let value = Value::Object(fields);
        let text = if structured { text } else { value.to_string() };
        let mut res = CallToolResult::success(vec![ContentBlock::text(text)]);
        res.structured_content = Some(value);
        res
    }
}

/// A unit variant as it is written.
pub(crate) fn word(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("pilothouse", env!("CARGO_PKG_VERSION"))
                    .with_title("Pilothouse"),
            )
            .with_instructions(self.shared.instructions())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.shared.tools.clone())
            .with_ttl_ms(TOOLS_TTL)
            .with_cache_scope(CacheScope::Public))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.tools.iter().find(|it| it.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Arguments::new(request.arguments.unwrap_or_default());
        let mut call = Call::new(&self.shared, &context);
        call.brought = Brought { state: request.request_state, responses: request.input_responses };
        if self.shared.options.contract == Contract::CodexServer {
            return Ok(call.legacy(&request.name, arguments).await.into());
        }
        let is_offered = self.shared.tools.iter().any(|it| it.name == request.name);
        let said = match request.name.as_ref() {
            "codex" if is_offered => call.start(arguments).await.map(Said::Reply),
            "codex_reply" if is_offered => call.reply(arguments).await.map(Said::Reply),
            "codex_session" if is_offered => call.manage(arguments).await.map(Said::Reply),
            "codex_check" if is_offered => call.check(arguments).await.map(Said::Reply),
            choice::NAME if is_offered => call.request_choice(arguments).await,
            form::NAME if is_offered => call.request_form(arguments).await,
            name if is_offered && name == self.shared.options.command.name() => {
                Box::pin(call.run_command(arguments)).await
            }
            other => {
                let names: Vec<_> = self.shared.tools.iter().map(|it| it.name.as_ref()).collect();
                let problem = format!("there is no tool {other}; there are {}", names.join(", "));
                return Err(ErrorData::invalid_params(problem, None));
            }
        };
        let version = context.protocol_version();
        let structured = version.is_none_or(|it| it.as_str() >= STRUCTURED_SINCE);
        let result = match said {
            Ok(Said::Reply(reply)) => reply.into_result(structured),
            Ok(Said::InputRequired(result)) => return Ok((*result).into()),
            Err(problem) => {
                tracing::debug!(tool = %request.name, code = problem.code.name(), "refused");
                problem.into_result()
            }
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(records::templates()))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribe_to(request.uri, context.peer).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(over) = self.shared.watched().remove(&request.uri) {
            over.cancel();
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.clone().unwrap_or_default();
        let uris = uris.into_iter().filter(|it| Self::can_watch(it)).collect::<Vec<_>>();
        Some(SubscriptionFilter::builder().resource_subscriptions(uris).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let opened = self.shared.broker.get_or_try_init(|| (self.shared.open)()).await;
        opened.map_err(|error| {
            ErrorData::internal_error(format!("Pilothouse could not {error}"), None)
        })?;
        let over = context.request_context().ct.clone();
        let sink = context.sink();
        let each = uris.into_iter().map(|uri| {
            let tell = |uri: String| async move { sink.notify_resource_updated(uri).await.is_ok() };
            // What happened before this was acknowledged is unknown, so that it counts as a change.
            self.watch(uri, Seq(0), over.clone(), tell)
        });
        futures_util::future::join_all(each).await;
        context.cancelled().await;
        Ok(())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let call = Call::new(&self.shared, &context);
        call.resource(&request.uri).await.map(Into::into)
    }
}
