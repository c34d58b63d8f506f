//! The process between a broker and an agent that lets nothing below it get away.
//!
//! A marker in the environment is lost by `env -i`, and the walk from parent to child ends where a
//! parent has gone. A subreaper loses neither, as orphans become its children; but it is a
//! property of a whole process, which an embedded library must not change. Hence a process of its
//! own: it adopts, and ends everything below it when its leash closes or the agent leaves.
//!
//! A guard that keeps its agent waits when its leash closes, and takes another broker's.

mod keep;

use std::{
    ffi::{OsStr, OsString, c_int},
    fs::OpenOptions,
    io::{self, Write},
    mem::ManuallyDrop,
    os::{
        fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::{
            net::UnixStream,
            process::{CommandExt, ExitStatusExt},
        },
    },
    process::{ChildStderr, Command, ExitCode, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    io::{Errno, FdFlags, dup2, fcntl_setfd},
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, pidfd_open, pidfd_send_signal,
        set_child_subreaper, set_parent_process_death_signal, setsid, wait,
    },
};

use self::keep::Keep;
use super::{
    leash::{Word, next_order, order},
    linux::kill_below_us,
};

/// How long the agent has to leave by itself when its broker has gone. It has read the end of its
/// stdin by then; Codex takes 0.06 s.
const LEASH_GRACE: Duration = Duration::from_millis(250);

/// How long ending what is below us may take, after that.
const END_LIMIT: Duration = Duration::from_millis(1500);

/// Between two searches, while the kernel takes away what was killed.
const SEARCH_AGAIN: Duration = Duration::from_millis(20);

/// Happenings that wait to be looked at; each comes from a thread of ours that may wait.
const HAPPENINGS: usize = 16;

/// What the shell calls "cannot execute".
const CANNOT_START: u8 = 126;

/// Be a guard: `--leash FD -- PROGRAM ARGS…`, without the `guard` before it.
///
/// With `--keep SECONDS RECORD STDERR CONTROL SOCKET` before the program the agent outlives its
/// broker: it is ended when nobody has held it for so long. Brokers come back through the socket
/// CONTROL; the agent itself is told to listen on SOCKET; RECORD and both go with the agent.
///
/// To be called first thing in `main`, before there are other threads: it makes the whole process
/// a subreaper, ignores signals, and gives up stdin and stdout. Returns what the process should
/// exit with: the agent's own code, or 128 and the signal that ended it.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse(args).and_then(watch) {
        Ok(status) => exit_code(status),
        Err(error) => {
            complain(format_args!("Pilothouse could not start the agent: {error}"));
            ExitCode::from(CANNOT_START)
        }
    }
}

struct Order {
    leash: UnixStream,
    keep: Option<Keep>,
    program: OsString,
    args: Vec<OsString>,
}

fn parse(args: impl IntoIterator<Item = OsString>) -> io::Result<Order> {
    let usage = || io::Error::new(io::ErrorKind::InvalidInput, "a guard is started by Pilothouse");
    let mut args = args.into_iter();
    let mut expect = |word: &str| args.next().filter(|it| it == OsStr::new(word)).ok_or_else(usage);
    expect("--leash")?;
    let fd: RawFd = args.next().and_then(|it| it.to_str()?.parse().ok()).ok_or_else(usage)?;
    let mut word = args.next().ok_or_else(usage)?;
    let mut keep = None;
    if word == OsStr::new("--keep") {
        keep = Some(Keep::parse(&mut args).ok_or_else(usage)?);
        word = args.next().ok_or_else(usage)?;
    }
    if word != OsStr::new("--") {
        return Err(usage());
    }
    let program = args.next().ok_or_else(usage)?;
    if fd <= 2 {
        return Err(usage());
    }
    // SAFETY: the number is only asked about; one that isn't open gives an error.
    #[expect(unsafe_code, reason = "the leash crosses exec as a number")]
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    // From here on, so that the agent does not get it.
    fcntl_setfd(borrowed, FdFlags::CLOEXEC)?;
    // SAFETY: it is open, and was passed to us to be ours; nothing else here knows of it.
    #[expect(unsafe_code, reason = "the leash crosses exec as a number")]
    let leash = unsafe { UnixStream::from_raw_fd(fd) };
    Ok(Order { leash, keep, program, args: args.collect() })
}

enum Happening {
    Terminate,
    Kill,
    LeashGone,
    /// A broker comes for an agent that is kept.
    Caller(UnixStream),
    AgentExited(ExitStatus),
    /// There are no children, so nothing is below us: an orphan would have become a child.
    NothingLeft,
}

fn watch(Order { mut leash, keep, program, args }: Order) -> io::Result<ExitStatus> {
    set_child_subreaper(Some(getpid()))?;
    set_signals(SIG_IGN);
    let door = keep.as_ref().map(Keep::open_door).transpose();
    let started = door.and_then(|door| {
        let (pid, stderr) = start_agent(&program, &args, keep.is_some())?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        if let (Some(keep), Some(stderr)) = (&keep, stderr) {
            keep.keep_stderr(stderr)?;
        }
        Ok((pid, pidfd, door))
    });
    let (agent, pidfd, door) = match started {
        Ok(started) => started,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or_else(|| Errno::IO.raw_os_error());
            tell(&mut leash, Word::Refused(errno));
            return Err(error);
        }
    };
    let_go_of_stdio()?;
    tell(&mut leash, Word::Started(agent.as_raw_nonzero().get()));

    // The threads end with the process; neither holds anything that would have to be given back.
    let (tx, happenings) = sync_channel(HAPPENINGS);
    let listener = leash.try_clone()?;
    let orders = tx.clone();
    thread::Builder::new().name("leash".to_owned()).spawn(move || listen(&listener, &orders))?;
    if let Some(door) = door {
        Keep::watch_door(door, tx.clone())?;
    }
    let orders = tx.clone();
    thread::Builder::new().name("reap".to_owned()).spawn(move || reap(agent, &tx))?;

    let mut status = None;
    // Since when nobody holds the agent, if it is kept.
    let mut left_at = None;
    while status.is_none() {
        let happening = match (&keep, left_at) {
            (Some(keep), Some(at)) => next_before(&happenings, at, keep.patience),
            _ => happenings.recv().ok(),
        };
        match happening {
            Some(Happening::Terminate) => signal(&pidfd, Signal::TERM),
            Some(Happening::AgentExited(it)) => status = Some(it),
            Some(Happening::LeashGone) if keep.is_some() && left_at.is_none() => {
                left_at = Some(Instant::now());
            }
            Some(Happening::LeashGone) => {
                signal(&pidfd, Signal::TERM);
                status = wait_for_agent(&happenings, LEASH_GRACE);
                break;
            }
            Some(Happening::Caller(mut caller)) if left_at.is_none() => {
                tell(&mut caller, Word::Held);
            }
            Some(Happening::Caller(mut caller)) => {
                tell(&mut caller, Word::Started(agent.as_raw_nonzero().get()));
                let (listener, orders) = (caller.try_clone()?, orders.clone());
                let listening = move || listen(&listener, &orders);
                thread::Builder::new().name("leash".to_owned()).spawn(listening)?;
                (leash, left_at) = (caller, None);
            }
            Some(Happening::Kill | Happening::NothingLeft) | None => break,
        }
    }
    end_everything(&happenings, &mut status);
    let status = status.unwrap_or_else(|| ExitStatus::from_raw(Signal::KILL.as_raw()));
    if let Some(keep) = &keep {
        keep.forget();
    }
    tell(&mut leash, Word::Exited(status.into_raw()));
    Ok(status)
}

/// What happens next; that nobody came in time is the end of the leash.
fn next_before(
    happenings: &Receiver<Happening>,
    left_at: Instant,
    patience: Duration,
) -> Option<Happening> {
    let rest = patience.saturating_sub(left_at.elapsed());
    match happenings.recv_timeout(rest) {
        Ok(happening) => Some(happening),
        Err(RecvTimeoutError::Timeout) => Some(Happening::LeashGone),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

fn start_agent(
    program: &OsStr,
    args: &[OsString],
    is_kept: bool,
) -> io::Result<(Pid, Option<ChildStderr>)> {
    let us = getpid();
    let mut command = Command::new(program);
    command.args(args);
    if is_kept {
        // Its broker's end of a pipe would go with the broker.
        command.stderr(Stdio::piped());
    }
    let prepare = move || {
        // A session of its own: what the agent sends to its group must not reach us.
        setsid()?;
        set_signals(SIG_DFL);
        // Should we be killed, the agent is told at least. Who is killed before this line leaves
        // a child with another parent.
        set_parent_process_death_signal(Some(Signal::TERM))?;
        if getppid() != Some(us) {
            return Err(io::Error::from_raw_os_error(Errno::SRCH.raw_os_error()));
        }
        Ok(())
    };
    // SAFETY: it runs between fork and exec, and makes system calls only; it neither allocates
    // nor takes a lock.
    #[expect(unsafe_code, reason = "std has no stable way to start a session")]
    unsafe {
        command.pre_exec(prepare);
    }
    // It is the reaper that waits, for this child as for all that become ours.
    let mut child = command.spawn()?;
    Ok((Pid::from_child(&child), child.stderr.take()))
}

fn listen(leash: &UnixStream, happenings: &SyncSender<Happening>) {
    loop {
        let happening = match next_order(leash) {
            Some(order::TERM) => Happening::Terminate,
            Some(order::KILL) => Happening::Kill,
            // From a newer broker; to end is what can't wait to be understood.
            Some(_) => continue,
            None => Happening::LeashGone,
        };
        let over = matches!(happening, Happening::LeashGone);
        if happenings.send(happening).is_err() || over {
            return;
        }
    }
}

fn reap(agent: Pid, happenings: &SyncSender<Happening>) {
    loop {
        let happening = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == agent => {
                Happening::AgentExited(ExitStatus::from_raw(status.as_raw()))
            }
            Ok(_) | Err(Errno::INTR) => continue,
            Err(_) => Happening::NothingLeft,
        };
        let over = matches!(happening, Happening::NothingLeft);
        if happenings.send(happening).is_err() || over {
            return;
        }
    }
}

fn wait_for_agent(happenings: &Receiver<Happening>, grace: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + grace;
    loop {
        match happenings.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Happening::AgentExited(status)) => return Some(status),
            Ok(Happening::Terminate | Happening::LeashGone | Happening::Caller(_)) => {}
            Ok(Happening::Kill | Happening::NothingLeft) | Err(_) => return None,
        }
    }
}

fn end_everything(happenings: &Receiver<Happening>, status: &mut Option<ExitStatus>) {
    let deadline = Instant::now() + END_LIMIT;
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            complain(format_args!("Pilothouse could not end all that the agent started"));
            return;
        }
        // `/proc` may be unreadable for a moment, as with no descriptor left; the loop goes on.
        kill_below_us(rest).ok();
        loop {
            match happenings.recv_timeout(SEARCH_AGAIN) {
                Ok(Happening::AgentExited(it)) => *status = Some(it),
                Ok(Happening::NothingLeft) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(
                    Happening::Terminate
                    | Happening::Kill
                    | Happening::LeashGone
                    | Happening::Caller(_),
                ) => {}
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
    }
}

fn signal(pidfd: &OwnedFd, signal: Signal) {
    // It fails when the agent has left, which is told by itself.
    pidfd_send_signal(pidfd, signal).ok();
}

fn tell(leash: &mut UnixStream, word: Word) {
    // A broker that has gone is told by the end of the leash.
    leash.write_all(&word.to_bytes()).ok();
}

/// Let the agent be the only one at its ends of the pipes, so that the broker sees it close them.
fn let_go_of_stdio() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    for fd in [0, 1] {
        // SAFETY: 0 and 1 are open in every process that a broker starts, and are not closed
        // here: they are only pointed elsewhere.
        #[expect(unsafe_code, reason = "stdin and stdout have owners in std that can't be moved")]
        let mut standard = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(fd) });
        dup2(&null, &mut standard)?;
    }
    Ok(())
}

const SIG_DFL: usize = 0;
const SIG_IGN: usize = 1;

#[expect(unsafe_code, reason = "neither std nor rustix's stable part sets what a signal does")]
mod c {
    use std::ffi::c_int;

    unsafe extern "C" {
        // signal(2), of the C library that std links.
        pub(super) fn signal(number: c_int, action: usize) -> usize;
    }
}

/// What a terminal or a hasty `pkill` sends does not end a guard: the leash does.
fn set_signals(action: usize) {
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
        let number: c_int = signal.as_raw();
        // SAFETY: the numbers are signals that may be ignored, and the actions are the two
        // constants above, so no code of ours ever runs in a signal's context.
        #[expect(unsafe_code, reason = "neither std nor rustix's stable part has it")]
        unsafe {
            c::signal(number, action);
        }
    }
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|it| 128 + it));
    ExitCode::from(code.and_then(|it| u8::try_from(it).ok()).unwrap_or(u8::MAX))
}

fn complain(what: std::fmt::Arguments<'_>) {
    // Nobody may be reading any more.
    writeln!(io::stderr(), "{what}").ok();
}
