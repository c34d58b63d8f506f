//! Start an agent in a session of its own, alone or on a guard's leash.
//!
//! The leash is a pair of sockets. The broker's end is closed on `exec`, so that nobody but the
//! broker holds it: when the broker goes, however it goes, the guard reads the end of the stream.

use std::{
    ffi::OsString,
    io,
    os::{
        fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd},
        unix::{
            net::UnixStream as StdUnixStream,
            process::{CommandExt, ExitStatusExt},
        },
    },
    path::Path,
    process::{Command as StdCommand, ExitStatus, Stdio},
    time::Duration,
};

use rustix::{
    io::{Errno, FdFlags, fcntl_setfd},
    net::{RecvFlags, SendFlags, recv, send},
    process::setsid,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    process::{Child, Command},
    time::timeout,
};

use super::MARKER_VARIABLE;
use crate::agent::process::Spawn;

/// How long a guard may take to start an agent.
const START_LIMIT: Duration = Duration::from_secs(10);

/// Most bytes of a guard that are listened to: it says three words at most.
const MAX_HEARD: usize = 64;

/// What a broker tells a guard; to close the leash says: end everything.
pub(super) mod order {
    /// SIGTERM to the agent.
    pub(crate) const TERM: u8 = b't';
    /// End everything, now.
    pub(crate) const KILL: u8 = b'k';
}

/// What a broker says at the door of a guard that keeps its agent, to hold it from now on.
pub(super) const KNOCK: u8 = b'l';

/// What a guard tells its broker: a letter and a number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Word {
    /// The agent runs under this process id.
    Started(i32),
    /// The agent could not be started: an `errno`.
    Refused(i32),
    /// The agent's wait status.
    Exited(i32),
    /// Another broker holds the agent.
    Held,
}

impl Word {
    const SIZE: usize = 5;

    pub(super) fn to_bytes(self) -> [u8; Self::SIZE] {
        let (letter, number) = match self {
            Self::Started(pid) => (b's', pid),
            Self::Refused(errno) => (b'r', errno),
            Self::Exited(status) => (b'x', status),
            Self::Held => (b'h', 0),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [letter, a, b, c, d]
    }

    fn from_bytes([letter, a, b, c, d]: [u8; Self::SIZE]) -> Option<Self> {
        let number = i32::from_le_bytes([a, b, c, d]);
        match letter {
            b's' => Some(Self::Started(number)),
            b'r' => Some(Self::Refused(number)),
            b'x' => Some(Self::Exited(number)),
            b'h' => Some(Self::Held),
            _ => None,
        }
    }
}

/// The broker's end. Dropping it ends the agent and everything below it.
#[derive(Debug)]
pub(crate) struct Leash(UnixStream);

impl Leash {
    /// Ask the agent to leave.
    pub(crate) fn terminate(&self) {
        self.send(order::TERM);
    }

    /// End everything below the guard.
    pub(crate) fn kill(&self) {
        self.send(order::KILL);
    }

    /// How the agent ended, once the guard has.
    pub(crate) fn agent_status(&self) -> Option<ExitStatus> {
        let mut bytes = [0; Word::SIZE];
        match recv(&self.0, &mut bytes[..], RecvFlags::DONTWAIT) {
            Ok((_, Word::SIZE)) => match Word::from_bytes(bytes) {
                Some(Word::Exited(status)) => Some(ExitStatus::from_raw(status)),
                Some(Word::Started(_) | Word::Refused(_) | Word::Held) | None => None,
            },
            Ok(_) | Err(_) => None,
        }
    }

    /// Waits until the guard has gone, and tells how the agent ended if the guard said so.
    /// Cancel-safe.
    pub(crate) async fn gone(&self, heard: &mut Vec<u8>) -> Option<ExitStatus> {
        let mut bytes = [0; 4 * Word::SIZE];
        loop {
            let read = match self.0.readable().await {
                Ok(()) => self.0.try_read(&mut bytes),
                Err(error) => Err(error),
            };
            match read {
                Ok(0) => break,
                Ok(n_bytes) if heard.len() < MAX_HEARD => heard.extend(&bytes[..n_bytes]),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        let mut words =
            heard.chunks_exact(Word::SIZE).filter_map(|it| Word::from_bytes(it.try_into().ok()?));
        words.next_back().and_then(|it| match it {
            Word::Exited(status) => Some(ExitStatus::from_raw(status)),
            Word::Started(_) | Word::Refused(_) | Word::Held => None,
        })
    }

    fn send(&self, order: u8) {
        // A guard that no longer listens is ending everything already.
        if let Err(error) = send(&self.0, &[order], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            tracing::debug!(%error, "a guard could not be told");
        }
    }

    async fn started(&mut self) -> io::Result<u32> {
        let mut bytes = [0; Word::SIZE];
        let read = timeout(START_LIMIT, self.0.read_exact(&mut bytes)).await;
        match read {
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the guard did not answer")),
            Ok(Err(_)) => Err(io::Error::other("the guard ended before it started the agent")),
            Ok(Ok(_)) => match Word::from_bytes(bytes) {
                Some(Word::Started(pid)) => Ok(pid.unsigned_abs()),
                Some(Word::Refused(errno)) => Err(io::Error::from_raw_os_error(errno)),
                Some(Word::Exited(_) | Word::Held) | None => {
                    Err(io::Error::other("the guard is not one of this version of Pilothouse"))
                }
            },
        }
    }
}

/// An agent that runs.
pub(crate) struct Started {
    /// The agent, or its guard.
    pub(crate) child: Child,
    pub(crate) leash: Option<Leash>,
    /// The agent's, also when `child` is its guard.
    pub(crate) agent_pid: u32,
}

/// Start it; what its stdin is written is for it to read.
pub(crate) async fn start(spawn: &Spawn) -> io::Result<Started> {
    start_reading(spawn, Stdio::piped()).await
}

/// Start it with nothing to read: stdin is `/dev/null`, as programs that look at it expect of one
/// that is not a pipe.
pub(crate) async fn start_without_input(spawn: &Spawn) -> io::Result<Started> {
    start_reading(spawn, Stdio::null()).await
}

async fn start_reading(spawn: &Spawn, stdin: Stdio) -> io::Result<Started> {
    let pair = match spawn.guard {
        None => None,
        Some(_) => Some(StdUnixStream::pair()?),
    };
    let mut std_command = command(spawn, pair.as_ref().map(|(_, it)| it.as_raw_fd()), &[]);
    std_command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());

    let mut command = Command::from(std_command);
    // A guard leaves when the leash goes, and last; killed, it could not end what is below it.
    command.kill_on_drop(spawn.guard.is_none());
    let mut child = command.spawn()?;

    let Some((our_end, guards_end)) = pair else {
        let agent_pid = child.id().unwrap_or_default();
        return Ok(Started { child, leash: None, agent_pid });
    };
    drop(OwnedFd::from(guards_end));
    our_end.set_nonblocking(true)?;
    let mut leash = Leash(UnixStream::from_std(our_end)?);
    match leash.started().await {
        Ok(agent_pid) => Ok(Started { child, leash: Some(leash), agent_pid }),
        Err(error) => {
            // It may be no guard at all, and know nothing of leashes.
            drop(leash);
            if timeout(super::KILL_LIMIT, child.wait()).await.is_err() {
                child.start_kill()?;
            }
            Err(error)
        }
    }
}

/// Start an agent that outlives us, under a guard that is given these arguments. Gives the agent's
/// process id too.
pub(crate) async fn start_kept(spawn: &Spawn, keep: &[OsString]) -> io::Result<(Leash, u32)> {
    let (our_end, guards_end) = StdUnixStream::pair()?;
    let mut std_command = command(spawn, Some(guards_end.as_raw_fd()), keep);
    std_command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Once it is dropped the runtime waits for it in the background.
    let mut child = Command::from(std_command).spawn()?;
    drop(OwnedFd::from(guards_end));
    our_end.set_nonblocking(true)?;
    let mut leash = Leash(UnixStream::from_std(our_end)?);
    match leash.started().await {
        Ok(agent_pid) => Ok((leash, agent_pid)),
        Err(error) => {
            leash.kill();
            if timeout(super::KILL_LIMIT, child.wait()).await.is_err() {
                child.start_kill()?;
            }
            Err(error)
        }
    }
}

/// Take the leash of an agent that was kept; nothing if another broker holds it. An error says that
/// there is no such agent any more.
pub(crate) async fn take_leash(control: &Path) -> io::Result<Option<(Leash, u32)>> {
    let mut stream = UnixStream::connect(control).await?;
    stream.write_all(&[KNOCK]).await?;
    let mut bytes = [0; Word::SIZE];
    let read = timeout(START_LIMIT, stream.read_exact(&mut bytes)).await;
    match read.map(|it| it.map(|_| Word::from_bytes(bytes))) {
        Ok(Ok(Some(Word::Started(pid)))) => Ok(Some((Leash(stream), pid.unsigned_abs()))),
        // One that does not answer is looked after by its guard, whatever holds that up.
        Ok(Ok(Some(Word::Held))) | Err(_) => Ok(None),
        Ok(Ok(Some(Word::Refused(_) | Word::Exited(_)) | None)) => {
            Err(io::Error::other("the guard is ending its agent"))
        }
        Ok(Err(error)) => Err(error),
    }
}

/// Whether an agent that was kept is still looked after.
pub(crate) fn is_guarded(control: &Path) -> bool {
    StdUnixStream::connect(control).is_ok()
}

/// The program, under its guard if there is a leash, which it is given these arguments with.
fn command(spawn: &Spawn, leash: Option<RawFd>, keep: &[OsString]) -> StdCommand {
    let mut command = match &spawn.guard {
        None => StdCommand::new(&spawn.program),
        Some(guard) => {
            let mut command = StdCommand::new(&guard.program);
            command.args(&guard.args);
            command
        }
    };
    if let Some(leash) = leash {
        command.arg("--leash").arg(leash.to_string()).args(keep).arg("--").arg(&spawn.program);
    }
    command.args(&spawn.args);
    for (name, value) in &spawn.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env(MARKER_VARIABLE, spawn.marker.to_string());
    if let Some(cwd) = &spawn.cwd {
        command.current_dir(cwd);
    }
    in_own_session(&mut command, leash);
    command
}

/// Start the child as the leader of a session of its own, and let it keep one more descriptor.
fn in_own_session(command: &mut StdCommand, keep: Option<RawFd>) {
    let prepare = move || {
        setsid()?;
        if let Some(fd) = keep {
            // SAFETY: the caller owns the descriptor past the fork, so it is open here.
            #[expect(unsafe_code, reason = "a descriptor by number is what crosses a fork")]
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            fcntl_setfd(fd, FdFlags::empty())?;
        }
        Ok::<(), io::Error>(())
    };
    // SAFETY: it runs between fork and exec, and makes two system calls; it neither allocates nor
    // takes a lock, as the conversion of an errno does not either.
    #[expect(unsafe_code, reason = "std has no stable way to start a session")]
    unsafe {
        command.pre_exec(prepare);
    }
}

/// `recv` in a loop until a whole order is there; `None` when the leash has gone.
pub(super) fn next_order(leash: &StdUnixStream) -> Option<u8> {
    let mut byte = [0];
    loop {
        match recv(leash, &mut byte[..], RecvFlags::empty()) {
            Ok((_, 0)) => return None,
            Ok(_) => return Some(byte[0]),
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_leash() {
        for word in [Word::Started(7), Word::Refused(2), Word::Exited(-1), Word::Held] {
            assert_eq!(Word::from_bytes(word.to_bytes()), Some(word));
        }
        assert_eq!(Word::from_bytes(*b"?1234"), None);
    }
}
