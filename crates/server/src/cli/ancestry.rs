//! Who started this process: a person, as far as can be seen, or an agent of Pilothouse's.
//!
//! An agent's processes carry a mark in their environment. One that wipes its environment and
//! leaves its parents can hide, as any program of the same user can; this stops the honest ones.

use pilothouse::agent::tree::MARKER_VARIABLE;
use pilothouse_store::NodeView;

/// What a node that serves an MCP client calls itself.
const MCP: &str = "mcp";

/// Most processes between this one and the first of the system.
const MAX_ANCESTORS: usize = 256;

/// Whether this process or one above it was started by an agent.
pub(crate) fn is_under_agent() -> bool {
    std::env::var_os(MARKER_VARIABLE).is_some() || system::ancestors_are_marked()
}

/// Refuses to give an agent what only a person may have.
pub(crate) fn refuse_agents(what: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        !is_under_agent(),
        "{what}: this command was started by an agent, and agents may not speak for a person; run \
         it in a terminal of your own"
    );
    Ok(())
}

/// Whether an agent, or the host of an MCP server that serves now, is among those who started this.
pub(crate) fn is_under_program(nodes: &[NodeView]) -> bool {
    let servers = nodes.iter().filter(|it| it.alive && it.presence.program == MCP);
    let pids: Vec<u32> = servers.map(|it| it.pid).collect();
    is_under_agent() || is_under_host_of(&pids)
}

/// Refuses to give an agent, or an MCP host, what only a person may have.
pub(crate) fn refuse_programs(what: &str, nodes: &[NodeView]) -> anyhow::Result<()> {
    refuse_agents(what)?;
    anyhow::ensure!(
        !is_under_program(nodes),
        "{what}: this command was started by an MCP host, and what runs there may be a model's own \
         doing; run it in a terminal of your own"
    );
    Ok(())
}

/// Whether this process was started by the program that started one of these, such as the host of
/// an MCP server: what runs there may be a model's own doing.
fn is_under_host_of(pids: &[u32]) -> bool {
    system::is_under_host_of(pids)
}

#[cfg(target_os = "linux")]
mod system {
    use std::{fs, io::Read as _, iter, process};

    use super::{MARKER_VARIABLE, MAX_ANCESTORS};

    /// As much of an environment as is searched; the kernel allows 6 MiB with the arguments.
    const MAX_ENVIRON: u64 = 8 * 1024 * 1024;

    /// What a command line holds that starts us for somebody else: a shell, `npx` and the like.
    const OUR_NAME: &[u8] = b"pilothouse";
    /// Longest command line that is looked at.
    const MAX_COMMAND_LINE: u64 = 64 * 1024;

    pub(super) fn is_under_host_of(pids: &[u32]) -> bool {
        let ours: Vec<u32> = ancestors(process::id()).collect();
        pids.iter().filter_map(|it| host_of(*it)).any(|it| ours.contains(&it))
    }

    /// Who started a process, past those who only passed it on; nothing if that is the system.
    fn host_of(pid: u32) -> Option<u32> {
        ancestors(pid).find(|it| !passes_us_on(*it)).filter(|it| *it != 1)
    }

    fn passes_us_on(pid: u32) -> bool {
        let mut line = vec![];
        let read = fs::File::open(format!("/proc/{pid}/cmdline"))
            .and_then(|it| it.take(MAX_COMMAND_LINE).read_to_end(&mut line));
        read.is_ok() && line.windows(OUR_NAME.len()).any(|it| it == OUR_NAME)
    }

    /// The processes above one, the nearest first.
    fn ancestors(pid: u32) -> impl Iterator<Item = u32> {
        iter::successors(parent_of(pid), |it| parent_of(*it)).take(MAX_ANCESTORS)
    }

    pub(super) fn ancestors_are_marked() -> bool {
        let mut pid = process::id();
        for _ in 0..MAX_ANCESTORS {
            let Some(parent) = parent_of(pid) else { return false };
            if is_marked(parent) {
                return true;
            }
            pid = parent;
        }
        // Nobody's terminal is that deep.
        true
    }

    fn parent_of(pid: u32) -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        parse_parent(&stat).filter(|it| *it != 0)
    }

    /// The program's name is in parentheses and may hold anything, also parentheses.
    pub(super) fn parse_parent(stat: &str) -> Option<u32> {
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    }

    /// What cannot be read belongs to somebody else, and so is no agent of ours.
    fn is_marked(pid: u32) -> bool {
        let mut environ = vec![];
        let read = fs::File::open(format!("/proc/{pid}/environ"))
            .and_then(|it| it.take(MAX_ENVIRON).read_to_end(&mut environ));
        read.is_ok() && has_marker(&environ)
    }

    pub(super) fn has_marker(environ: &[u8]) -> bool {
        let variables = environ.split(|it| *it == 0);
        variables.into_iter().any(|it| {
            it.strip_prefix(MARKER_VARIABLE.as_bytes()).is_some_and(|it| it.starts_with(b"="))
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// Agents can't be started on this system yet, so there are none above us.
    pub(super) fn ancestors_are_marked() -> bool {
        false
    }

    /// Who is above whom is not said in these terms here.
    pub(super) fn is_under_host_of(_pids: &[u32]) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::system::{has_marker, parse_parent};

    #[test]
    fn a_parent_is_found_whatever_the_program_is_called() {
        assert_eq!(parse_parent("12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parse_parent("12 (a) S 3 b (c) R 9 12"), Some(9));
        assert_eq!(parse_parent("12 sh S 7"), None);
    }

    #[test]
    fn a_marker_is_a_variable_of_that_very_name() {
        assert!(has_marker(b"A=1\0PILOTHOUSE_AGENT=s/n/1\0"));
        assert!(!has_marker(b"A=PILOTHOUSE_AGENT=1\0PILOTHOUSE_AGENTS=1\0"));
        assert!(!has_marker(b""));
    }
}
