//! How long a call may stay open, by which client waits for it.

use std::time::Duration;

use super::Call;

/// No call stays open for longer, unless its client is known: most give up after 60 s.
const MAX_WAIT: Duration = Duration::from_secs(45);
/// How much sooner a call returns than its client would give up.
const MARGIN: Duration = Duration::from_secs(10);
/// Seconds that clients were measured to wait for a call, by how their names begin. Those that
/// begin anew with each note of progress wait longer; ours come more often than that.
const KNOWN: [(&str, u64); 4] =
    [("codex-mcp-client", 300), ("claude-code", 1_800), ("opencode", 60), ("gemini-cli", 600)];

impl Call<'_> {
    /// The longest that this call may wait.
    pub(crate) fn max_wait(&self) -> Duration {
        let client = self.context.client_info();
        client.map_or(MAX_WAIT, |it| limit(&it.name))
    }
}

fn limit(client: &str) -> Duration {
    let known = KNOWN.iter().find(|(name, _)| client.starts_with(name));
    known.map_or(MAX_WAIT, |(_, seconds)| Duration::from_secs(*seconds).saturating_sub(MARGIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_is_known_to_wait_is_kept_for_longer_and_never_to_its_end() {
        for (client, seconds) in [
            ("codex-mcp-client", 290),
            ("opencode", 50),
            ("gemini-cli-mcp-client-x", 590),
            ("tests", 45),
            ("", 45),
        ] {
            assert_eq!(limit(client), Duration::from_secs(seconds), "{client}");
        }
    }
}
