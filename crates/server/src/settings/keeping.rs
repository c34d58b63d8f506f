//! Whether agents outlive the Pilothouse that started them, as `agents` and `keep_for_hours` say.

use std::{path::Path, time::Duration};

use pilothouse::Keep;
use serde::Deserialize;

/// How long a kept agent is left alone unless `keep_for_hours` says otherwise.
const KEEP_FOR_HOURS: f64 = 24.0;
/// The longest that it can say: a year.
const MAX_HOURS: f64 = 24.0 * 366.0;
/// Seconds in an hour.
const HOUR: f64 = 3_600.0;

/// What becomes of agents when Pilothouse goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Agents {
    /// They go with it.
    #[default]
    Stdio,
    /// They stay, for who comes next.
    Keep,
}

/// How long agents are kept, if they are; else what is wrong.
pub(super) fn keep_for(agents: Agents, hours: Option<f64>) -> Result<Option<Duration>, String> {
    let hours = hours.unwrap_or(KEEP_FOR_HOURS);
    let seconds = (hours * HOUR).ceil();
    if !(seconds >= 1.0 && hours <= MAX_HOURS) {
        return Err(format!("{hours} is no number of hours above 0 and up to {MAX_HOURS}"));
    }
    let keep_for = Duration::try_from_secs_f64(seconds).map_err(|it| it.to_string())?;
    Ok(match agents {
        Agents::Stdio => None,
        Agents::Keep => Some(keep_for),
    })
}

/// Where the agents of a store are on record: beside its file, apart from those of other stores.
pub(super) fn keep(store: &Path, store_name: &str, keep_for: Duration) -> Keep {
    Keep { folder: store.with_file_name("agents").join(store_name), keep_for }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_kept_if_so_set_and_for_as_long() {
        let secs = |agents, hours| keep_for(agents, hours).map(|it| it.map(|it| it.as_secs()));
        assert_eq!(secs(Agents::Stdio, None), Ok(None));
        assert_eq!(secs(Agents::Keep, None), Ok(Some(86_400)));
        assert_eq!(secs(Agents::Keep, Some(0.0005)), Ok(Some(2)));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(secs(Agents::Keep, Some(bad)).is_err(), "{bad}");
        }
    }
}
