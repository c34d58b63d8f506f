//! An agent's process: started, written to without waiting for it, read from, and ended.

mod socket;
mod stderr;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::PathBuf,
    process::ExitStatus,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::AsyncWriteExt,
    process::{Child, ChildStdin, ChildStdout},
    select,
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc, oneshot, watch},
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::socket::{RETURN_LIMIT, START_LIMIT};
use self::{socket::Socket, stderr::Tail};
use super::{
    lines::{Line, Lines, MAX_LINE},
    tree::{
        KILL_LIMIT, Ladder, Marker, Rung,
        system::{self, Leash, Started},
    },
};

/// Lines that wait for an agent to read them.
const STDIN_LINES: usize = 1024;

/// KiB that wait for an agent to read them: one line of the longest kind, or many short ones.
const STDIN_KIB: u32 = 64 * 1024;

/// Lines written at once.
const STDIN_BATCH: usize = 64;

/// Orders to the keeper: each rung of a ladder sends one, and then waits.
const ORDERS: usize = 8;

/// How long after an exit its output is still read: whoever inherited it may hold it open.
const LINGER: Duration = Duration::from_millis(500);

/// What to start, and how.
#[derive(Clone, Debug)]
pub struct Spawn {
    /// The agent's program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Changes to our environment: set, or removed with `None`.
    pub env: BTreeMap<OsString, Option<OsString>>,
    /// Where it runs; our own directory if not given.
    pub cwd: Option<PathBuf>,
    /// Whose it is.
    pub marker: Marker,
    /// Without one, what the agent started is found at best effort only.
    pub guard: Option<GuardCommand>,
    /// The longest line that is read from it.
    pub max_line: usize,
}

impl Spawn {
    /// A program without arguments, in our own environment and directory, and without a guard.
    pub fn new(program: PathBuf, marker: Marker) -> Self {
        Self {
            program,
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            marker,
            guard: None,
            max_line: MAX_LINE,
        }
    }
}

/// The program that ends in [`guard::run`](super::tree::guard::run), as `pilothouse guard` does.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GuardCommand {
    /// The program.
    pub program: PathBuf,
    /// What comes before the guard's own arguments, as `guard`.
    pub args: Vec<OsString>,
}

/// What comes from a process.
#[derive(Clone, Debug)]
pub enum Output {
    /// A line of its stdout.
    Line(Line),
    /// It has ended, and everything that could be found below it. The last thing that comes.
    Exit(Exit),
}

/// How a process ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Exit {
    /// The agent's own status, also under a guard; `None` if the system would not say.
    pub status: Option<ExitStatus>,
    /// How many processes it left behind that were found by their marker and ended.
    pub n_left_behind: usize,
}

/// A line could not be given to an agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum WriteError {
    /// So much waits already that no more is taken.
    #[error("write to the agent: it does not read what it was sent")]
    Blocked,
    /// The line is longer than any queue.
    #[error("write to the agent: the line is over {} MiB", STDIN_KIB / 1024)]
    TooLong,
    /// Its stdin is closed, or it has gone.
    #[error("write to the agent: it no longer listens")]
    Closed,
}

/// A process did not end, whatever was done.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("end the agent: process {pid} is still there after SIGKILL; the system may hold it")]
pub struct EndError {
    /// The agent's.
    pub pid: u32,
}

/// A running agent and its output. Dropped, it ends: with a guard all of it, without one only the
/// agent's own process. [`end`](Self::end) is the way to end it well.
#[derive(Debug)]
pub struct Process {
    lines: Source,
    lines_over: bool,
    exiting: Exiting,
    handle: Handle,
    _tasks: JoinSet<()>,
}

/// What an agent's lines are read from.
#[derive(Debug)]
enum Source {
    Pipe(Lines<ChildStdout>),
    Socket(Box<Socket>),
}

impl Source {
    /// Cancel-safe.
    async fn next(&mut self) -> Option<Line> {
        match self {
            Self::Pipe(lines) => lines.next().await,
            Self::Socket(socket) => socket.next().await,
        }
    }
}

#[derive(Debug)]
enum Exiting {
    No,
    /// It has ended; its output is read until then.
    Since(Exit, Instant),
    Told,
}

impl Process {
    /// Start it. Under a guard this waits until the guard has started the agent.
    pub async fn spawn(spawn: Spawn) -> io::Result<Self> {
        let Started { mut child, leash, agent_pid } = system::start(&spawn).await?;
        let missing = || io::Error::other("an agent was started without pipes");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;

        let (lines_tx, lines_rx) = mpsc::channel(STDIN_LINES);
        let (orders_tx, orders_rx) = mpsc::channel(ORDERS);
        let (exit_tx, exit_rx) = watch::channel(None);
        let (stderr_over_tx, stderr_over_rx) = oneshot::channel();
        let tail = Arc::new(Mutex::new(Tail::default()));
        let handle = Handle {
            stdin: lines_tx,
            stdin_room: Arc::new(Semaphore::new(STDIN_KIB as usize)),
            stdin_closed: CancellationToken::new(),
            orders: orders_tx,
            exit: exit_rx,
            tail: Arc::clone(&tail),
            agent_pid,
        };

        let mut tasks = JoinSet::new();
        tasks.spawn(write(stdin, lines_rx, handle.stdin_closed.clone()));
        tasks.spawn(stderr::drain(stderr, tail, stderr_over_tx));
        let keeper = Keeper { child, leash, marker: spawn.marker };
        tasks.spawn(keeper.run(orders_rx, stderr_over_rx, exit_tx));

        let lines = Source::Pipe(Lines::new(stdout, spawn.max_line));
        Ok(Self { lines, lines_over: false, exiting: Exiting::No, handle, _tasks: tasks })
    }

    /// What comes next: its lines, then its exit, then `None`.
    ///
    /// Cancel-safe. An exit is told after the lines before it, even when something that inherited
    /// stdout holds it open.
    pub async fn next(&mut self) -> Option<Output> {
        loop {
            let happened = match &self.exiting {
                Exiting::Told => return None,
                Exiting::Since(exit, _) if self.lines_over => {
                    let exit = exit.clone();
                    self.exiting = Exiting::Told;
                    return Some(Output::Exit(exit));
                }
                Exiting::Since(_, until) => {
                    let until = *until;
                    select! {
                        biased;
                        line = self.lines.next() => Happened::Line(line),
                        () = sleep_until(until) => Happened::Line(None),
                    }
                }
                Exiting::No => select! {
                    biased;
                    line = self.lines.next(), if !self.lines_over => Happened::Line(line),
                    exit = exit_of(&mut self.handle.exit) => Happened::Exit(exit),
                },
            };
            match happened {
                Happened::Line(Some(line)) => return Some(Output::Line(line)),
                Happened::Line(None) => self.lines_over = true,
                Happened::Exit(exit) => {
                    self.exiting = Exiting::Since(exit, Instant::now() + LINGER);
                }
            }
        }
    }

    /// What writes to it and ends it, for others to hold.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// End it by the ladder, and throw away what it says meanwhile.
    ///
    /// Who needs those lines goes on with [`next`](Self::next) while a [`Handle::end`] runs.
    pub async fn end(mut self, ladder: Ladder) -> Result<Ended, EndError> {
        let handle = self.handle.clone();
        let mut ending = std::pin::pin!(handle.end(ladder));
        loop {
            select! {
                ended = &mut ending => return ended,
                line = self.lines.next(), if !self.lines_over => self.lines_over = line.is_none(),
            }
        }
    }
}

enum Happened {
    Line(Option<Line>),
    Exit(Exit),
}

/// A process that has been ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ended {
    /// How it ended.
    pub exit: Exit,
    /// What it took.
    pub rung: Rung,
}

/// What writes to a process and ends it.
#[derive(Clone, Debug)]
pub struct Handle {
    stdin: mpsc::Sender<Outgoing>,
    stdin_room: Arc<Semaphore>,
    stdin_closed: CancellationToken,
    orders: mpsc::Sender<Order>,
    exit: watch::Receiver<Option<Exit>>,
    tail: Arc<Mutex<Tail>>,
    agent_pid: u32,
}

#[derive(Debug)]
struct Outgoing {
    line: String,
    _room: OwnedSemaphorePermit,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Terminate,
    Kill,
    /// Whatever the guard does.
    KillOurselves,
}

impl Handle {
    /// Queue a line, given without its newline. Never waits: an agent that doesn't read is
    /// [`Blocked`](WriteError::Blocked) after 64 MiB or 1,024 lines.
    pub fn write(&self, line: String) -> Result<(), WriteError> {
        if self.stdin_closed.is_cancelled() {
            return Err(WriteError::Closed);
        }
        let n_kib = u32::try_from(line.len() / 1024).map_or(u32::MAX, |it| it.saturating_add(1));
        if n_kib > STDIN_KIB {
            return Err(WriteError::TooLong);
        }
        let room = match Arc::clone(&self.stdin_room).try_acquire_many_owned(n_kib) {
            Ok(room) => room,
            Err(TryAcquireError::NoPermits) => return Err(WriteError::Blocked),
            Err(TryAcquireError::Closed) => return Err(WriteError::Closed),
        };
        self.stdin.try_send(Outgoing { line, _room: room }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => WriteError::Blocked,
            mpsc::error::TrySendError::Closed(_) => WriteError::Closed,
        })
    }

    /// Close its stdin after what is queued.
    pub fn close_stdin(&self) {
        self.stdin_closed.cancel();
    }

    /// The agent's process id, also under a guard.
    pub fn agent_pid(&self) -> u32 {
        self.agent_pid
    }

    /// The last lines of its stderr, without escape sequences: at most 64 lines and 16 KiB.
    pub fn stderr_tail(&self) -> Vec<String> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).lines()
    }

    /// How it ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        self.exit.borrow().clone()
    }

    /// Wait until it has ended.
    pub async fn exited(&self) -> Exit {
        exit_of(&mut self.exit.clone()).await
    }

    /// End it by the ladder: close stdin, SIGTERM, then freeze, find and kill.
    ///
    /// Somebody must read its output meanwhile, or what it still has to say may hold it up.
    pub async fn end(&self, ladder: Ladder) -> Result<Ended, EndError> {
        if let Some(exit) = self.exit() {
            return Ok(Ended { exit, rung: Rung::Gone });
        }
        self.close_stdin();
        if let Ok(exit) = timeout(ladder.close_stdin, self.exited()).await {
            return Ok(Ended { exit, rung: Rung::CloseStdin });
        }
        let rungs = [
            (Order::Terminate, ladder.term, Rung::Term),
            (Order::Kill, ladder.kill, Rung::Kill),
            (Order::KillOurselves, KILL_LIMIT, Rung::Kill),
        ];
        for (order, grace, rung) in rungs {
            // If the keeper has gone, so has the process.
            self.orders.send(order).await.ok();
            if let Ok(exit) = timeout(grace, self.exited()).await {
                return Ok(Ended { exit, rung });
            }
        }
        Err(EndError { pid: self.agent_pid })
    }
}

async fn exit_of(exit: &mut watch::Receiver<Option<Exit>>) -> Exit {
    match exit.wait_for(Option::is_some).await {
        Ok(exit) => exit.clone().unwrap_or(Exit::UNSEEN),
        // The process was dropped, and is being ended without anybody to look.
        Err(_) => Exit::UNSEEN,
    }
}

impl Exit {
    const UNSEEN: Self = Self { status: None, n_left_behind: 0 };
}

/// A task of its own, so that an agent that doesn't read holds up nobody.
async fn write(
    mut stdin: ChildStdin,
    mut lines: mpsc::Receiver<Outgoing>,
    closed: CancellationToken,
) {
    let mut batch = Vec::new();
    loop {
        select! {
            biased;
            n = lines.recv_many(&mut batch, STDIN_BATCH) => if n == 0 { return },
            () = closed.cancelled(), if !lines.is_closed() => { lines.close(); continue }
        }
        let mut bytes = Vec::with_capacity(batch.iter().map(|it| it.line.len() + 1).sum());
        for outgoing in &batch {
            bytes.extend_from_slice(outgoing.line.as_bytes());
            bytes.push(b'\n');
        }
        if let Err(error) = stdin.write_all(&bytes).await {
            tracing::debug!(%error, "an agent closed its stdin");
            return;
        }
        // Only now is there room again.
        batch.clear();
    }
}

/// Looks after the child: does what is ordered, waits for it, and ends what it left.
struct Keeper {
    child: Child,
    leash: Option<Leash>,
    marker: Marker,
}

impl Keeper {
    async fn run(
        mut self,
        mut orders: mpsc::Receiver<Order>,
        stderr_over: oneshot::Receiver<()>,
        exit: watch::Sender<Option<Exit>>,
    ) {
        let status = loop {
            let event = select! {
                status = self.child.wait() => Event::Ended(status),
                Some(order) = orders.recv() => Event::Ordered(order),
            };
            match event {
                Event::Ended(status) => break status,
                Event::Ordered(order) => self.obey(order).await,
            }
        };
        let mut status = status.ok();
        if let Some(leash) = &self.leash {
            // A guard that was itself killed says nothing, and then its own status is what we know.
            status = leash.agent_status().or(status);
        }
        let n_left_behind = kill_marked(&self.marker, None).await;
        // With everything gone it ends at once, unless something unfound holds it.
        timeout(LINGER, stderr_over).await.ok();
        exit.send_replace(Some(Exit { status, n_left_behind }));
    }

    async fn obey(&self, order: Order) {
        // `None` once it was waited for, and `run` takes no orders after that.
        let Some(pid) = self.child.id() else { return };
        match (order, &self.leash) {
            (Order::Terminate, Some(leash)) => leash.terminate(),
            (Order::Terminate, None) => system::terminate(pid),
            (Order::Kill, Some(leash)) => leash.kill(),
            (Order::Kill, None) | (Order::KillOurselves, _) => {
                kill_marked(&self.marker, Some(pid)).await;
            }
        }
    }
}

async fn kill_marked(marker: &Marker, root: Option<u32>) -> usize {
    let marker = marker.clone();
    let hunt = tokio::task::spawn_blocking(move || system::kill_marked(&marker, root, KILL_LIMIT));
    match hunt.await.map_err(io::Error::other).and_then(|it| it) {
        Ok(hunt) => {
            if !hunt.left.is_empty() {
                tracing::warn!(left = ?hunt.left, "some of an agent's processes do not end");
            }
            hunt.n_killed
        }
        Err(error) => {
            tracing::warn!(%error, "an agent's processes could not be searched for");
            0
        }
    }
}

enum Event {
    Ended(io::Result<ExitStatus>),
    Ordered(Order),
}
