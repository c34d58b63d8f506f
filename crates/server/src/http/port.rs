//! The port: bound on the loopback, served until told to stop.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{
    Front,
    connections::{self, Limits},
    router,
};
use crate::settings::DEFAULT_PORT;

/// Where it listens unless somebody says.
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT);
/// Connections at the same time, if there are files enough.
const MAX_CONNECTIONS: usize = 512;
/// Connections at the same time, however few files there are.
const MIN_CONNECTIONS: usize = 16;
/// How long a request's head may take, and how long a connection may rest before one.
const HEAD: Duration = Duration::from_secs(10);
/// How long it may be that a reader takes nothing more, beyond what the system keeps for it.
const UNREAD: Duration = Duration::from_secs(15);
/// Ports that are tried after one that is taken.
const MORE_PORTS: u16 = 20;
/// How long connections may take to end once they should.
const WIND_DOWN: Duration = Duration::from_millis(500);

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
    /// Somebody else has it.
    #[error(
        "listen on {0}: another program has that port; name another with --listen, or \
         127.0.0.1:0 for any"
    )]
    Taken(SocketAddr),
    /// It and those after it are taken.
    #[error(
        "listen on {0}: it is taken, and so are the {MORE_PORTS} ports after it; name another with \
         --listen, or 127.0.0.1:0 for any"
    )]
    AllTaken(SocketAddr),
    /// The system says no.
    #[error("listen on {0}: {1}; name another address with --listen")]
    Refused(SocketAddr, #[source] io::Error),
}

/// Binds the address that somebody named, or else the usual one; if that one is taken, one of the
/// next ports.
pub async fn listen(named: Option<SocketAddr>) -> Result<TcpListener, ListenError> {
    match named {
        Some(address) => bind(address).await?.ok_or(ListenError::Taken(address)),
        None => listen_from(DEFAULT_LISTEN).await,
    }
}

/// Binds the address, or one of the next ports if its is taken.
async fn listen_from(first: SocketAddr) -> Result<TcpListener, ListenError> {
    for port in first.port()..=first.port().saturating_add(MORE_PORTS) {
        if let Some(listener) = bind(SocketAddr::new(first.ip(), port)).await? {
            return Ok(listener);
        }
    }
    Err(ListenError::AllTaken(first))
}

/// Nothing, if it is taken.
async fn bind(address: SocketAddr) -> Result<Option<TcpListener>, ListenError> {
    let is_loopback = match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    if !is_loopback {
        return Err(ListenError::NotLoopback(address));
    }
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(ListenError::Refused(address, error)),
    }
}

/// Serves until told to stop; then ends the feeds and gives the rest a moment.
pub async fn serve(
    listener: TcpListener,
    front: Arc<Front>,
    until: impl Future<Output = ()> + Send + 'static,
) {
    let stop = CancellationToken::new();
    let limits = Limits { connections: connections_at_once(), head: HEAD, unread: UNREAD };
    let server = connections::serve(listener, router(Arc::clone(&front)), limits, stop.clone());
    tokio::pin!(server);
    tokio::select! {
        () = &mut server => return,
        () = until => {}
    }
    stop.cancel();
    // An open feed would keep the server for ever.
    front.close().await;
    if tokio::time::timeout(WIND_DOWN, server).await.is_err() {
        tracing::debug!("some connections would not end in time");
    }
}

/// How many connections there may be: each takes a file, and half of the files are for agents and
/// the store.
pub(super) fn connections_at_once() -> usize {
    share_of(files_at_once())
}

fn share_of(files: Option<u64>) -> usize {
    let half = files.map_or(MAX_CONNECTIONS, |it| usize::try_from(it / 2).unwrap_or(usize::MAX));
    half.clamp(MIN_CONNECTIONS, MAX_CONNECTIONS)
}

#[cfg(unix)]
fn files_at_once() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(not(unix))]
fn files_at_once() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_usual_port_leads_to_the_next_and_a_named_one_to_a_refusal() {
        let taken = listen(Some("127.0.0.1:0".parse().unwrap())).await.unwrap();
        let address = taken.local_addr().unwrap();
        let next = listen_from(address).await.unwrap().local_addr().unwrap();
        assert!(next.port() > address.port(), "{next} {address}");
        let refused = listen(Some(address)).await.unwrap_err();
        assert!(matches!(refused, ListenError::Taken(it) if it == address), "{refused}");
        assert!(refused.to_string().contains("another program has that port"), "{refused}");
    }

    #[test]
    fn half_of_the_files_are_left_to_agents() {
        let limits = [Some(20), Some(256), Some(1_024), Some(1_048_576), None];
        assert_eq!(limits.map(share_of), [16, 128, 512, 512, 512]);
    }
}
