//! Every method of the Codex that Pilothouse is tested with, and what becomes of it here.

use std::{collections::BTreeMap, sync::LazyLock};

/// The list, a line each: `request`, `notification` (both from Codex) or `client` (ours to send),
/// the name, and `used`, `ignored` or `refused`.
pub const METHODS: &str = include_str!("methods.txt");

/// Who sends a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Codex, wanting an answer.
    Request,
    /// Codex, wanting none.
    Notification,
    /// Its client.
    Client,
}

/// What becomes of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It is acted on, carried along, or sent.
    Used,
    /// It is dropped, or never sent.
    Ignored,
    /// It is answered with no.
    Refused,
}

/// The list by kind and name.
pub fn all() -> &'static BTreeMap<(Kind, &'static str), Use> {
    static ALL: LazyLock<BTreeMap<(Kind, &str), Use>> =
        LazyLock::new(|| METHODS.lines().filter_map(read).collect());
    &ALL
}

fn read(line: &'static str) -> Option<((Kind, &'static str), Use)> {
    let mut words = line.split('#').next()?.split_whitespace();
    let kind = match words.next()? {
        "request" => Kind::Request,
        "notification" => Kind::Notification,
        "client" => Kind::Client,
        _ => return None,
    };
    let name = words.next()?;
    let use_ = match words.next()? {
        "used" => Use::Used,
        "ignored" => Use::Ignored,
        "refused" => Use::Refused,
        _ => return None,
    };
    Some(((kind, name), use_))
}

/// Notifications that say nothing to us; Codex is told not to send them.
pub(crate) fn unwanted() -> Vec<&'static str> {
    let of_them = |((kind, name), it): (&(Kind, &'static str), &Use)| {
        (*kind == Kind::Notification && *it == Use::Ignored).then_some(*name)
    };
    all().iter().filter_map(of_them).collect()
}

/// Whether a notification says nothing to us. Codex before 0.99 sends them all the same, and up
/// to 0.104 everything a second time in its first protocol.
pub(crate) fn is_unwanted(notification: &str) -> bool {
    notification.starts_with("codex/event/")
        || all().get(&(Kind::Notification, notification)) == Some(&Use::Ignored)
}

#[cfg(test)]
mod tests {
    use super::{super::asks, *};

    #[test]
    fn every_line_is_understood() {
        for line in METHODS.lines().filter(|it| !it.is_empty() && !it.starts_with('#')) {
            assert!(read(line).is_some(), "{line}");
        }
        let count = |kind| all().keys().filter(|(it, _)| *it == kind).count();
        assert_eq!([Kind::Request, Kind::Notification, Kind::Client].map(count), [10, 87, 189]);
    }

    #[test]
    fn every_request_is_an_ask_or_refused() {
        for ((kind, name), use_) in all() {
            if *kind == Kind::Request {
                let expected = if asks::METHODS.contains(name) { Use::Used } else { Use::Refused };
                assert_eq!(*use_, expected, "{name}");
            }
        }
    }
}
