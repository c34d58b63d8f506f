//! An agent that is kept, spoken to over its socket: a message of the WebSocket protocol (RFC 6455)
//! is a line. It looks like any other process, but to drop it leaves it running.

use std::{
    fs, io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use tokio::{
    net::UnixStream,
    select,
    sync::{Semaphore, mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Message, protocol::WebSocketConfig},
};
use tokio_util::sync::CancellationToken;

use super::{
    Exit, Exiting, Handle, ORDERS, Order, Outgoing, Process, STDIN_BATCH, STDIN_KIB, STDIN_LINES,
    Source, Tail, kill_marked,
};
use crate::agent::{
    kept::Paths,
    lines::{Line, MAX_LINE},
    tree::{Marker, system::Leash},
};

/// How long an agent that has just been started may take to listen.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(30);
/// How long one that listens already may take to answer.
pub(crate) const RETURN_LIMIT: Duration = Duration::from_secs(10);
/// Between two tries to reach it.
const AGAIN: Duration = Duration::from_millis(15);
/// The address in the handshake, which means nothing on a socket of this machine.
const ADDRESS: &str = "ws://localhost/";

type Stream = WebSocketStream<UnixStream>;

/// The agent's end of the conversation, read.
#[derive(Debug)]
pub(super) struct Socket {
    stream: SplitStream<Stream>,
    orders: mpsc::Sender<Order>,
}

impl Socket {
    /// The next line; nothing once there will be none. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    return Some(Line::Text { text: text.as_str().to_owned(), lossy: false });
                }
                Some(Ok(Message::Binary(bytes))) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    return Some(Line::Text { text, lossy: true });
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Close(_))) | None => break,
                Some(Err(error)) => {
                    tracing::debug!(%error, "a kept agent's socket failed");
                    break;
                }
            }
        }
        // Nobody can speak to it any more, if it is not gone anyway.
        self.orders.try_send(Order::Kill).ok();
        None
    }
}

impl Process {
    /// Reach an agent whose leash we hold. Fails if it does not listen in time.
    pub(crate) async fn over_socket(
        paths: Paths,
        leash: Leash,
        agent_pid: u32,
        marker: Marker,
        limit: Duration,
    ) -> io::Result<Self> {
        let mut heard = Vec::new();
        let connected = select! {
            stream = reach(&paths.socket, limit) => stream,
            _ = leash.gone(&mut heard) => Err(io::Error::other("it ended before it listened")),
        };
        let stream = match connected {
            Ok(stream) => stream,
            Err(error) => {
                leash.kill();
                let last = last_words(&paths.stderr);
                let last = if last.is_empty() { last } else { format!("; its last words: {last}") };
                return Err(io::Error::new(error.kind(), format!("{error}{last}")));
            }
        };
        let (sink, stream) = stream.split();
        let (lines_tx, lines_rx) = mpsc::channel(STDIN_LINES);
        let (orders_tx, orders_rx) = mpsc::channel(ORDERS);
        let (exit_tx, exit_rx) = watch::channel(None);
        let tail = Arc::new(Mutex::new(Tail::default()));
        let handle = Handle {
            stdin: lines_tx,
            stdin_room: Arc::new(Semaphore::new(STDIN_KIB as usize)),
            stdin_closed: CancellationToken::new(),
            orders: orders_tx.clone(),
            exit: exit_rx,
            tail: Arc::clone(&tail),
            agent_pid,
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(write(sink, lines_rx));
        tasks.spawn(look_after(leash, orders_rx, exit_tx, marker, paths, tail));
        let lines = Source::Socket(Box::new(Socket { stream, orders: orders_tx }));
        Ok(Self { lines, lines_over: false, exiting: Exiting::No, handle, _tasks: tasks })
    }
}

/// A socket is there a moment after its agent, and then it takes a moment to listen.
async fn reach(socket: &Path, limit: Duration) -> io::Result<Stream> {
    let give_up = Instant::now() + limit;
    loop {
        let error = match UnixStream::connect(socket).await {
            Ok(stream) => match timeout(limit, shake_hands(stream)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => error,
                Err(_) => io::Error::new(io::ErrorKind::TimedOut, "it does not shake hands"),
            },
            Err(error) => error,
        };
        if Instant::now() >= give_up {
            return Err(error);
        }
        sleep(AGAIN).await;
    }
}

async fn shake_hands(stream: UnixStream) -> io::Result<Stream> {
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_LINE)).max_frame_size(Some(MAX_LINE));
    let shaken = client_async_with_config(ADDRESS, stream, Some(config)).await;
    shaken.map(|(stream, _)| stream).map_err(io::Error::other)
}

/// A task of its own, so that an agent that doesn't read holds up nobody.
async fn write(mut sink: SplitSink<Stream, Message>, mut lines: mpsc::Receiver<Outgoing>) {
    let mut batch = Vec::new();
    while lines.recv_many(&mut batch, STDIN_BATCH).await > 0 {
        // There is room again as each line is taken.
        for Outgoing { line, _room } in batch.drain(..) {
            if let Err(error) = sink.feed(Message::text(line)).await {
                tracing::debug!(%error, "a kept agent takes nothing more");
                return;
            }
        }
        if let Err(error) = sink.flush().await {
            tracing::debug!(%error, "a kept agent takes nothing more");
            return;
        }
    }
}

/// Does what is ordered, waits for the agent's end, and ends what it left. With this task the leash
/// goes, and the guard waits for who comes next.
async fn look_after(
    leash: Leash,
    mut orders: mpsc::Receiver<Order>,
    exit: watch::Sender<Option<Exit>>,
    marker: Marker,
    paths: Paths,
    tail: Arc<Mutex<Tail>>,
) {
    let mut heard = Vec::new();
    let status = loop {
        let order = select! {
            status = leash.gone(&mut heard) => break status,
            Some(order) = orders.recv() => order,
        };
        match order {
            Order::Terminate => leash.terminate(),
            Order::Kill => leash.kill(),
            Order::KillOurselves => {
                kill_marked(&marker, None).await;
            }
        }
    };
    let n_left_behind = kill_marked(&marker, None).await;
    if let Ok(bytes) = fs::read(&paths.stderr) {
        tail.lock().unwrap_or_else(PoisonError::into_inner).push(&bytes);
    }
    paths.remove();
    exit.send_replace(Some(Exit { status, n_left_behind }));
}

fn last_words(stderr: &Path) -> String {
    let mut tail = Tail::default();
    tail.push(&fs::read(stderr).unwrap_or_default());
    tail.lines().join("\n")
}
