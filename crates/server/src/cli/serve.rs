//! `pilothouse serve`: the console, REST and the feed, until a signal comes.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context as _;
use jiff::Timestamp;
use pilothouse_store::NodeView;
use secrecy::ExposeSecret as _;

use super::{ancestry, say};
use crate::{
    http::{self, Drawer, Front, FrontConfig, Keys},
    settings::{Settings, parse_listen},
};

/// How long leaving may take, whatever hangs; guards end what is left of the agents then.
const LEAVE_LIMIT: Duration = Duration::from_millis(1_900);

/// What `serve` takes.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Where to listen: an address of this machine; port 0 takes any [default: 127.0.0.1:7457, or
    /// the next free port]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
}

/// Serves until a signal comes.
pub async fn run(args: ServeArgs, settings: &Settings) -> anyhow::Result<()> {
    let mut signals = Signals::new().context("listen for signals")?;
    settings.make_home()?;
    let listener = http::listen(args.listen.or(settings.listen)).await?;
    let address = listener.local_addr().context("find its own address")?;
    let keys = Keys::new(&settings.home);
    keys.api_token().context("make the API token")?;
    let broker = settings.open_broker("serve").await?;
    let config = FrontConfig {
        broker: broker.clone(),
        home: settings.home.clone(),
        address,
        answerers: settings.answerers,
        default_effort: settings.default_effort.clone(),
    };
    let front = Front::open(config).await.context("tell others of its console")?;
    let nodes = broker.nodes().await.context("see who is there")?;
    say(&greeting(&keys, front.console(), &nodes)?)?;

    let (leave, left) = tokio::sync::oneshot::channel::<()>();
    let until = async {
        // A sender that is gone means the same.
        left.await.ok();
    };
    let server = tokio::spawn(http::serve(listener, front, until));
    signals.wait().await;
    drop(leave);
    let leaving = async {
        let (ended, ()) = tokio::join!(server, broker.stop());
        ended.context("go on serving")
    };
    tokio::time::timeout(LEAVE_LIMIT, leaving).await.unwrap_or_else(|_| {
        tracing::warn!("something would not end in time");
        Ok(())
    })
}

/// Where the console is. With a code, unless an agent would read it.
fn greeting(keys: &Keys, console: &str, nodes: &[NodeView]) -> anyhow::Result<String> {
    if ancestry::is_under_program(nodes) {
        tracing::warn!("started by an agent or an MCP host, so no login code is printed");
        return Ok(console.to_owned());
    }
    let code = keys.mint(Drawer::Codes, Timestamp::now()).context("make a login code")?;
    Ok(format!("{console}#code={}", code.expose_secret()))
}

#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    /// From now on they do not end the process by themselves.
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        let [term, int, hup] =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
        Ok(Self([signal(term)?, signal(int)?, signal(hup)?]))
    }

    async fn wait(&mut self) {
        let [term, int, hup] = &mut self.0;
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
            _ = hup.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn wait(&mut self) {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "could not wait for Ctrl-C");
        }
    }
}
