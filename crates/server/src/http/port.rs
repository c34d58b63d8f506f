//! The port: bound on the loopback, served until told to stop.

use std::{
    future::IntoFuture as _,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{
    Front,
    bounded::{Bounded, Connection},
    router,
};

/// Connections at the same time. A process may often have 1024 files, and agents need some.
const MAX_CONNECTIONS: usize = 512;
/// Ports that are tried after one that is taken.
const MORE_PORTS: u16 = 20;
/// How long connections may take to end once they should.
const WIND_DOWN: Duration = Duration::from_millis(500);
/// How long a connection may leave what we sent unread before the system ends it.
const UNREAD: Duration = Duration::from_mins(1);

/// There is no port to be had. Each completes "Pilothouse could not …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Others could reach it.
    #[error(
        "listen on {0}: other machines could reach it, and the line is not encrypted; listen on \
         127.0.0.1 and forward the port with SSH"
    )]
    NotLoopback(SocketAddr),
    /// It and those after it are taken.
    #[error(
        "listen on {0}: it is taken, and so are the {MORE_PORTS} ports after it; name another with \
         --listen, or 127.0.0.1:0 for any"
    )]
    Taken(SocketAddr),
    /// The system says no.
    #[error("listen on {0}: {1}; name another address with --listen")]
    Refused(SocketAddr, #[source] io::Error),
}

/// Binds the address, or one of the next ports if its is taken.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, ListenError> {
    let is_loopback = match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    if !is_loopback {
        return Err(ListenError::NotLoopback(address));
    }
    let last = if address.port() == 0 { 0 } else { address.port().saturating_add(MORE_PORTS) };
    for port in address.port()..=last {
        match TcpListener::bind(SocketAddr::new(address.ip(), port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(ListenError::Refused(address, error)),
        }
    }
    Err(ListenError::Taken(address))
}

/// Serves until told to stop; then ends the feeds and gives the rest a moment.
pub async fn serve(
    listener: TcpListener,
    front: Arc<Front>,
    until: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let stop = CancellationToken::new();
    let bounded = Bounded::new(listener, MAX_CONNECTIONS);
    let server = axum::serve(bounded.tap_io(prepare), router(Arc::clone(&front)))
        .with_graceful_shutdown(stop.clone().cancelled_owned());
    let server = server.into_future();
    tokio::pin!(server);
    tokio::select! {
        ended = &mut server => return ended,
        () = until => {}
    }
    stop.cancel();
    // An open feed would keep the server for ever.
    front.close().await;
    tokio::time::timeout(WIND_DOWN, server).await.unwrap_or(Ok(()))
}

fn prepare(connection: &mut Connection) {
    let stream = &connection.stream;
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "could not have small packets sent at once");
    }
    #[cfg(target_os = "linux")]
    {
        let limit = u32::try_from(UNREAD.as_millis()).unwrap_or(u32::MAX);
        if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(stream, limit) {
            tracing::debug!(%error, "could not limit how long a reader may stall");
        }
    }
}
