//! Where pages of listings begin, and which rows belong to them, the same for every store.

use pilothouse_core::SessionId;
use uuid::Uuid;

use crate::{MAX_PAGE, StoreError};

/// A place in the list of sessions, which is ordered by activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionPlace {
    /// When the session was last active, in microseconds.
    pub(crate) active: i64,
    /// Which it is, because two may be active at once.
    pub(crate) session: SessionId,
}

impl SessionPlace {
    /// As text for outside.
    pub(crate) fn write(self) -> String {
        format!("s{:x}_{}", self.active, self.session.0.simple())
    }

    /// From text of outside.
    pub(crate) fn read(text: &str) -> Result<Self, StoreError> {
        let parts = text.strip_prefix('s').and_then(|it| it.split_once('_'));
        parts
            .and_then(|(active, session)| {
                // Written as the bits are, so that times before 1970 have a form too.
                let active = u64::from_str_radix(active, 16).ok()?.cast_signed();
                Some(Self { active, session: SessionId(Uuid::try_parse(session).ok()?) })
            })
            .ok_or_else(|| bad(text))
    }
}

/// A place in the list of asks, which is ordered by when they were raised: their place in the feed.
pub(crate) fn write_ask_place(pos: u64) -> String {
    format!("a{pos:x}")
}

/// From text of outside.
pub(crate) fn read_ask_place(text: &str) -> Result<u64, StoreError> {
    let digits = text.strip_prefix('a').and_then(|it| u64::from_str_radix(it, 16).ok());
    digits.filter(|it| i64::try_from(*it).is_ok()).ok_or_else(|| bad(text))
}

fn bad(text: &str) -> StoreError {
    StoreError::BadCursor(text.chars().take(80).collect())
}

/// A page's size within its bounds.
pub(crate) fn page(limit: usize) -> usize {
    limit.clamp(1, MAX_PAGE)
}

/// The words to look for.
pub(crate) fn words(search: Option<&str>) -> Vec<String> {
    search.unwrap_or_default().split_whitespace().take(MAX_WORDS).map(str::to_lowercase).collect()
}

/// Most words that are looked for at once; more are left out.
const MAX_WORDS: usize = 32;
