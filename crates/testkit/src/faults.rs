//! Pipes that tear lines, and disks that are full.

use std::{
    io,
    path::Path,
    pin::Pin,
    process::Command,
    task::{Context, Poll, ready},
};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tokio::io::{AsyncRead, ReadBuf};

/// A device to which every write fails with "no space left", for what only needs a file.
pub const FULL_DEVICE: &str = "/dev/full";

/// A reader that returns at most a few bytes at a time, so that every line comes torn, and
/// pauses between them, so that whoever reads is really asked again.
#[derive(Debug)]
pub struct TornReader<R> {
    inner: R,
    piece: usize,
    rested: bool,
}

impl<R> TornReader<R> {
    /// Tears what `inner` has into pieces of at most `piece` bytes.
    pub fn new(inner: R, piece: usize) -> Self {
        Self { inner, piece: piece.max(1), rested: false }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for TornReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.rested {
            self.rested = true;
            ctx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut space = vec![0; self.piece.min(buffer.remaining())];
        let mut piece = ReadBuf::new(&mut space);
        ready!(Pin::new(&mut self.inner).poll_read(ctx, &mut piece))?;
        buffer.put_slice(piece.filled());
        self.rested = false;
        Poll::Ready(Ok(()))
    }
}

/// Lets a running process write no file beyond this size; writes past it fail or kill it.
pub fn limit_file_size(pid: u32, bytes: u64) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    prlimit(Some(pid), Resource::Fsize, limit)?;
    Ok(())
}

/// A command that runs `program` with `dir` on a disk of `kilobytes`, which nobody else sees and
/// which is gone when the program ends.
///
/// It needs no privilege, only user namespaces and `unshare` of util-linux.
pub fn on_small_disk(dir: &Path, kilobytes: u32, program: &Path) -> Command {
    let mut command = Command::new("unshare");
    let mount = format!("mount -t tmpfs -o size={kilobytes}k tmpfs \"$0\" && exec \"$@\"");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount]);
    command.arg(dir).arg(program);
    command
}
