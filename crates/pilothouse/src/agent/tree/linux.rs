//! Finding processes in `/proc`, and ending them until a search finds none.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs::{self, File},
    io::{self, Read},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal},
};

pub(crate) use super::leash::{
    Leash, Started, is_guarded, start, start_kept, start_without_input, take_leash,
};
use super::{Hunt, MARKER_VARIABLE, Marker};

mod proc_limits {
    /// As much of an environment as is searched; the kernel allows 6 MiB with the arguments.
    pub(super) const ENVIRON: u64 = 8 * 1024 * 1024;
    /// Processes held at once; each takes a file descriptor, of which there may be 1024.
    pub(super) const HELD: usize = 256;
    /// Searches in a row that must find nothing. One isn't enough: in the middle of an `exec`
    /// a process has no environment.
    pub(super) const EMPTY: usize = 2;
}

/// Markers that running processes carry.
pub(crate) fn markers() -> io::Result<BTreeSet<Marker>> {
    let mut res = BTreeSet::new();
    for pid in table()?.into_keys() {
        res.extend(environ_marker(pid).and_then(|it| it.parse().ok()));
    }
    Ok(res)
}

/// End everything that carries the marker, `root`, and all below either.
///
/// `root` must be a child of ours that nobody has waited for, so that its number is still its own.
pub(crate) fn kill_marked(marker: &Marker, root: Option<u32>, limit: Duration) -> io::Result<Hunt> {
    let marker = marker.to_string();
    hunt(&Prey { marker: Some(&marker), root: root.and_then(pid_of) }, limit)
}

/// End everything below this process.
pub(super) fn kill_below_us(limit: Duration) -> io::Result<Hunt> {
    hunt(&Prey { marker: None, root: Some(getpid()) }, limit)
}

/// Ask a child of ours that nobody has waited for to leave.
pub(crate) fn terminate(pid: u32) {
    if let Some(pid) = pid_of(pid)
        && let Err(error) = kill_process(pid, Signal::TERM)
    {
        tracing::debug!(%error, "an agent could not be told to leave");
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

struct Prey<'a> {
    marker: Option<&'a str>,
    root: Option<Pid>,
}

/// A process: its number may be given to another, its number and start time are not.
type Identity = (Pid, u64);

/// Freeze, so that nothing more is started; search again; kill; until nothing is found.
fn hunt(prey: &Prey<'_>, limit: Duration) -> io::Result<Hunt> {
    let deadline = Instant::now() + limit;
    let mut killed = HashSet::new();
    let mut n_empty = 0;
    while n_empty < proc_limits::EMPTY {
        let held = freeze(prey, deadline)?;
        if held.is_empty() {
            n_empty += 1;
            continue;
        }
        n_empty = 0;
        for (identity, pidfd) in &held {
            signal(pidfd, Signal::KILL);
            killed.insert(*identity);
        }
        let left = wait_for_all(held, deadline)?;
        if Instant::now() >= deadline {
            return Ok(Hunt { n_killed: killed.len() - left.len(), left });
        }
    }
    Ok(Hunt { n_killed: killed.len(), left: Vec::new() })
}

fn freeze(prey: &Prey<'_>, deadline: Instant) -> io::Result<HashMap<Identity, OwnedFd>> {
    let mut held = HashMap::new();
    loop {
        let n_before = held.len();
        for identity in find(prey)? {
            if held.len() < proc_limits::HELD
                && !held.contains_key(&identity)
                && let Some(pidfd) = hold(identity)?
            {
                signal(&pidfd, Signal::STOP);
                held.insert(identity, pidfd);
            }
        }
        if held.len() == n_before || Instant::now() >= deadline {
            return Ok(held);
        }
    }
}

/// A handle on the process, if it is still the one that was found.
fn hold((pid, started): Identity) -> io::Result<Option<OwnedFd>> {
    let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        // `EINVAL` says that the number has become a thread's.
        Err(Errno::SRCH | Errno::INVAL) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(stat(pid).filter(|it| it.started == started && !it.dead).map(|_| pidfd))
}

fn signal(pidfd: &OwnedFd, signal: Signal) {
    if let Err(error) = pidfd_send_signal(pidfd, signal) {
        tracing::debug!(%error, "a process below an agent could not be signalled");
    }
}

/// Wait until they are gone or it is too late, and tell which are not.
fn wait_for_all(held: HashMap<Identity, OwnedFd>, deadline: Instant) -> io::Result<Vec<u32>> {
    let mut waiting: Vec<_> = held.into_iter().collect();
    while !waiting.is_empty() {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            break;
        }
        let timeout = Timespec::try_from(rest).map_err(io::Error::other)?;
        let mut fds: Vec<_> =
            waiting.iter().map(|(_, pidfd)| PollFd::new(pidfd, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut done =
            fds.iter().map(|it| !it.revents().is_empty()).collect::<Vec<_>>().into_iter();
        waiting.retain(|_| !done.next().unwrap_or(false));
    }
    Ok(waiting.iter().map(|((pid, _), _)| pid.as_raw_nonzero().get().unsigned_abs()).collect())
}

/// Those that are meant and all below them, but never us or what we run in.
fn find(prey: &Prey<'_>) -> io::Result<Vec<Identity>> {
    let us = getpid();
    let table = table()?;

    let mut spared = HashSet::new();
    let mut next = Some(us);
    while let Some(pid) = next
        && spared.insert(pid)
    {
        next = table.get(&pid).and_then(|it| it.parent);
    }

    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for (pid, stat) in &table {
        if let Some(parent) = stat.parent {
            children.entry(parent).or_default().push(*pid);
        }
    }

    let mut to_visit: Vec<Pid> = prey.root.into_iter().collect();
    if let Some(marker) = prey.marker {
        to_visit.extend(table.keys().filter(|it| environ_marker(**it).as_deref() == Some(marker)));
    }
    let mut seen = HashSet::new();
    while let Some(pid) = to_visit.pop() {
        // Our own children are looked after, even when we run below an agent ourselves.
        let ours = pid == us && prey.root != Some(us);
        if !ours && seen.insert(pid) {
            to_visit.extend(children.get(&pid).into_iter().flatten());
        }
    }

    Ok(table
        .into_iter()
        .filter(|(pid, stat)| seen.contains(pid) && !spared.contains(pid) && !stat.dead)
        .map(|(pid, stat)| (pid, stat.started))
        .collect())
}

struct Stat {
    parent: Option<Pid>,
    /// In clock ticks since boot.
    started: u64,
    /// A zombie: it has ended and waits to be waited for.
    dead: bool,
}

fn table() -> io::Result<HashMap<Pid, Stat>> {
    let mut res = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let pid =
            entry?.file_name().to_str().and_then(|it| it.parse().ok()).and_then(Pid::from_raw);
        // Whoever leaves meanwhile isn't there.
        if let Some(pid) = pid
            && let Some(stat) = stat(pid)
        {
            res.insert(pid, stat);
        }
    }
    Ok(res)
}

fn stat(pid: Pid) -> Option<Stat> {
    let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    parse_stat(&String::from_utf8_lossy(&text))
}

/// `proc_pid_stat(5)`. The second field is a name that may hold spaces and parentheses.
fn parse_stat(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let n_threads: u64 = field(20)?.parse().ok()?;
    Some(Stat {
        parent: field(4)?.parse().ok().and_then(Pid::from_raw),
        started: field(22)?.parse().ok()?,
        // With threads left, only the first of them has ended.
        dead: matches!(field(3)?, "Z" | "X") && n_threads <= 1,
    })
}

/// What the process carries as its marker, unless it is another user's or has gone.
fn environ_marker(pid: Pid) -> Option<String> {
    let mut environ = Vec::new();
    File::open(format!("/proc/{}/environ", pid.as_raw_nonzero()))
        .and_then(|it| it.take(proc_limits::ENVIRON).read_to_end(&mut environ))
        .ok()?;
    marker_in(&environ)
}

fn marker_in(environ: &[u8]) -> Option<String> {
    environ.split(|it| *it == 0).find_map(|entry| {
        let value = entry.strip_prefix(MARKER_VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        String::from_utf8(value.to_vec()).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_hide_its_parent() {
        let rest = "S 41 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
        for name in ["sh", "a b", "x) Z 1 (y", ") "] {
            let stat = parse_stat(&format!("42 ({name}) {rest}")).unwrap();
            assert_eq!(stat.parent, Pid::from_raw(41), "{name}");
            assert_eq!((stat.started, stat.dead), (777, false), "{name}");
        }
        assert!(parse_stat("").is_none());
        assert!(parse_stat("42 (sh) S 1").is_none());
    }

    #[test]
    fn a_zombie_with_threads_is_alive() {
        for (n_threads, dead) in [(1, true), (2, false)] {
            let text = format!("7 (x) Z 1 1 1 0 -1 4 1 0 0 0 0 0 0 0 20 0 {n_threads} 0 5 0 0");
            assert_eq!(parse_stat(&text).unwrap().dead, dead, "{n_threads}");
        }
    }

    #[test]
    fn a_marker_is_a_whole_variable() {
        let cases: [(&[u8], Option<&str>); 5] = [
            (b"A=1\0PILOTHOUSE_AGENT=s/n/1\0B=2\0", Some("s/n/1")),
            (b"PILOTHOUSE_AGENT=s/n/1", Some("s/n/1")),
            (b"X=PILOTHOUSE_AGENT=s/n/1\0", None),
            (b"PILOTHOUSE_AGENTS=s/n/1\0", None),
            (b"", None),
        ];
        for (environ, expected) in cases {
            assert_eq!(marker_in(environ).as_deref(), expected);
        }
    }
}
