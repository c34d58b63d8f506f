//! Connections: so many at a time, and so long for each to say what it wants.

use std::{sync::Arc, time::Duration};

use axum::{Router, serve::Listener as _};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::line::Line;

/// Bytes of a request's head, and of what waits to be sent.
const BUFFER: usize = 64 * 1024;

/// What connections may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How many there may be; the next one waits until one has ended.
    pub(super) connections: usize,
    /// How long until the head of the next request is there, whether it has begun or not.
    pub(super) head: Duration,
    /// How long it may be that nothing more of what is sent is taken.
    pub(super) unread: Duration,
}

/// Serves until told to stop, then until each connection has ended what it was doing. To drop it is
/// to end all of them at once.
pub(super) async fn serve(
    mut listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
) {
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut conversations = JoinSet::new();
    loop {
        let happening = tokio::select! {
            (stream, permit) = accept(&mut listener, &room) => Happening::Came(stream, permit),
            Some(ended) = conversations.join_next() => Happening::Ended(ended),
            () = stop.cancelled() => Happening::Stop,
        };
        match happening {
            Happening::Came(stream, permit) => {
                let (router, stop) = (router.clone(), stop.clone());
                conversations.spawn(async move {
                    converse(stream, router, limits, stop).await;
                    drop(permit);
                });
            }
            Happening::Ended(Ok(())) => {}
            Happening::Ended(Err(error)) => tracing::error!(%error, "a connection failed"),
            Happening::Stop => break,
        }
    }
    drop(listener);
    while conversations.join_next().await.is_some() {}
}

enum Happening {
    Came(TcpStream, Option<OwnedSemaphorePermit>),
    Ended(Result<(), tokio::task::JoinError>),
    Stop,
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &mut TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed; without it there would be no limit, and no harm.
    let permit = Arc::clone(room).acquire_owned().await.ok();
    // Failures to accept are waited out there.
    let (stream, _) = listener.accept().await;
    (stream, permit)
}

async fn converse(stream: TcpStream, router: Router, limits: Limits, stop: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "could not have small packets sent at once");
    }
    let line = TokioIo::new(Line::new(stream, limits.unread));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(BUFFER)
        .serve_connection(line, TowerToHyperService::new(router));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => Some(ended),
        () = stop.cancelled() => None,
    };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        connection.await
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, net::SocketAddr};

    use axum::{body::Body, routing::get};
    use futures_util::{StreamExt as _, stream};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        time::{Instant, sleep},
    };

    use super::*;

    const HEAD: Duration = Duration::from_secs(10);
    const UNREAD: Duration = Duration::from_secs(25);
    const WHOLE: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    async fn begin(connections: usize) -> (SocketAddr, CancellationToken, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let minutes = || async {
            let minute = |n: u8| async move {
                sleep(Duration::from_mins(1)).await;
                Ok::<_, Infallible>(format!("minute {n}\n"))
            };
            Body::from_stream(stream::iter(1..=5).then(minute))
        };
        let flood = || async {
            Body::from_stream(stream::repeat_with(|| Ok::<_, Infallible>("x".repeat(64 * 1024))))
        };
        let router = Router::new()
            .route("/", get("hello"))
            .route("/minutes", get(minutes))
            .route("/flood", get(flood));
        let limits = Limits { connections, head: HEAD, unread: UNREAD };
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, router, limits, stop.clone()));
        (address, stop, tasks)
    }

    async fn say(address: SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// All that comes until the other side ends it.
    async fn hear(mut stream: TcpStream) -> String {
        let mut res = String::new();
        stream.read_to_string(&mut res).await.unwrap();
        res
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_ends_that_does_not_say_in_time_what_it_wants() {
        let (address, _stop, _tasks) = begin(9).await;
        for (said, answered) in [
            ("", false),
            ("GET / HTTP/1.1\r\nhost:", false),
            (WHOLE, true),
            ("GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HT", true),
        ] {
            let start = Instant::now();
            let heard = hear(say(address, said).await).await;
            assert_eq!(heard.ends_with("hello"), answered, "{said:?}: {heard}");
            let waited = start.elapsed();
            assert!(waited >= HEAD && waited < 2 * HEAD, "{said:?}: {waited:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_may_take_as_long_as_it_is_read() {
        let (address, _stop, _tasks) = begin(9).await;
        let stream = say(address, "GET /minutes HTTP/1.1\r\nhost: a\r\n\r\n").await;
        let heard = hear(stream).await;
        assert!(heard.contains("minute 5\n"), "{heard}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_of_an_answer_is_not_waited_for() {
        let (address, _stop, _tasks) = begin(1).await;
        let start = Instant::now();
        let unread = say(address, "GET /flood HTTP/1.1\r\nhost: a\r\n\r\n").await;
        let mut next = say(address, WHOLE).await;
        let mut answer = [0; 12];
        next.read_exact(&mut answer).await.unwrap();
        let waited = start.elapsed();
        assert!(waited >= UNREAD && waited < 2 * UNREAD, "{waited:?}");
        drop(unread);
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_connection_waits_for_the_end_of_one() {
        let (address, _stop, _tasks) = begin(2).await;
        let start = Instant::now();
        let mute = [say(address, "").await, say(address, "GET ").await];
        let mut third = say(address, WHOLE).await;
        let mut answer = [0; 12];
        third.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        assert!(start.elapsed() >= HEAD, "{:?}", start.elapsed());
        drop(mute);
    }

    #[tokio::test(start_paused = true)]
    async fn told_to_stop_it_ends_what_rests_and_lets_the_others_finish() {
        let (address, stop, mut tasks) = begin(9).await;
        let mut resting = say(address, WHOLE).await;
        let mut answer = [0; 12];
        resting.read_exact(&mut answer).await.unwrap();
        let mut busy = say(address, "GET /minutes HTTP/1.1\r\nhost: a\r\n\r\n").await;
        busy.read_exact(&mut answer).await.unwrap();
        let start = Instant::now();
        stop.cancel();
        assert!(hear(resting).await.ends_with("hello"));
        assert!(start.elapsed() < HEAD, "{:?}", start.elapsed());
        assert!(hear(busy).await.contains("minute 5\n"));
        tasks.join_next().await.unwrap().unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
