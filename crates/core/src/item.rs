//! Whether a unit of work is open; what it holds is the agent's business.

use std::collections::BTreeSet;

/// Most items that a turn may have open; an agent that opens more is not told, but the oldest name
/// is forgotten, so that a flood of starts cannot grow without end.
pub(crate) const MAX_OPEN: usize = 10_000;

/// Takes note that an item began.
pub(crate) fn open(items: &mut BTreeSet<String>, item: &str) {
    if items.len() >= MAX_OPEN {
        items.pop_first();
    }
    items.insert(item.to_owned());
}
