//! What an agent said to one session and the session has not heard yet.
//!
//! The reader of a shared agent must never wait for one of its sessions, so pushing never waits.
//! Deltas that wait are merged, and beyond a bound they are dropped, as they are live only. What
//! must not be lost has a bound too: past it the session loses its agent, and says so.

use std::{
    collections::VecDeque,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use pilothouse_core::FromAgent;
use tokio::sync::Notify;

/// Most messages that may wait, merged deltas counting as one.
const MAX_MESSAGES: usize = 50_000;
/// Most bytes of lines that may wait.
const MAX_BYTES: usize = 256 * 1024 * 1024;
/// Most bytes of one merged delta; beyond that the middle of a stream is not worth keeping.
const MAX_DELTA: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    waiting: Mutex<Waiting>,
    grown: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<FromAgent>,
    n_bytes: usize,
    overrun: bool,
}

impl Mailbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message that came in a line of so many bytes.
    pub(crate) fn push(&self, message: FromAgent, n_bytes: usize) {
        let mut waiting = self.waiting();
        if waiting.overrun {
            return;
        }
        if let FromAgent::Delta { item, stream, text } = &message {
            if let Some(FromAgent::Delta { item: last, stream: kind, text: so_far }) =
                waiting.messages.back_mut()
                && last == item
                && kind == stream
            {
                if so_far.len() + text.len() <= MAX_DELTA {
                    so_far.push_str(text);
                }
                return;
            }
            if waiting.messages.len() >= MAX_MESSAGES / 2 {
                return;
            }
        }
        waiting.n_bytes = waiting.n_bytes.saturating_add(n_bytes);
        waiting.messages.push_back(message);
        if waiting.messages.len() > MAX_MESSAGES || waiting.n_bytes > MAX_BYTES {
            let cause = "the agent said more than could be put on record in time".to_owned();
            waiting.messages.clear();
            waiting.messages.push_back(FromAgent::Exited { cause, fault: None });
            waiting.overrun = true;
        }
        drop(waiting);
        self.grown.notify_one();
    }

    /// Waits for messages and takes at most so many. Cancel-safe.
    pub(crate) async fn take(&self, limit: usize) -> Vec<FromAgent> {
        loop {
            let grown = self.grown.notified();
            {
                let mut waiting = self.waiting();
                if !waiting.messages.is_empty() {
                    if waiting.messages.len() <= limit {
                        waiting.n_bytes = 0;
                        return mem::take(&mut waiting.messages).into();
                    }
                    return waiting.messages.drain(..limit).collect();
                }
            }
            grown.await;
        }
    }

    /// Takes what is there.
    pub(crate) fn take_now(&self) -> Vec<FromAgent> {
        let mut waiting = self.waiting();
        waiting.n_bytes = 0;
        mem::take(&mut waiting.messages).into()
    }

    /// Whether the agent outran the session, so that it must be let go.
    pub(crate) fn is_overrun(&self) -> bool {
        self.waiting().overrun
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_core::Stream;

    use super::*;

    fn delta(item: &str, text: &str) -> FromAgent {
        FromAgent::Delta { item: item.to_owned(), stream: Stream::Text, text: text.to_owned() }
    }

    fn settles(key: usize) -> FromAgent {
        FromAgent::Settles { key: key.to_string() }
    }

    #[tokio::test]
    async fn deltas_of_one_stream_merge_and_keep_their_place() {
        let mailbox = Mailbox::default();
        for message in [delta("a", "1"), delta("a", "2"), settles(0), delta("a", "3")] {
            mailbox.push(message, 1);
        }
        assert_eq!(mailbox.take(9).await, [delta("a", "12"), settles(0), delta("a", "3")]);
    }

    #[tokio::test]
    async fn a_session_that_never_listens_loses_its_agent_and_nothing_grows() {
        let mailbox = Mailbox::default();
        for key in 0..=MAX_MESSAGES {
            mailbox.push(settles(key), 1);
        }
        mailbox.push(settles(0), 1);
        assert!(mailbox.is_overrun());
        let left = mailbox.take(9).await;
        assert!(
            matches!(left.as_slice(), [FromAgent::Exited { cause: _, fault: None }]),
            "{left:?}"
        );
    }

    #[tokio::test]
    async fn a_flood_of_deltas_is_bounded_and_drops_no_fact() {
        let mailbox = Mailbox::default();
        for n in 0..MAX_MESSAGES * 2 {
            mailbox.push(delta(&n.to_string(), "x"), 1);
        }
        mailbox.push(settles(7), 1);
        let left = mailbox.take(usize::MAX).await;
        assert_eq!(left.len(), MAX_MESSAGES / 2 + 1);
        assert_eq!(left.last(), Some(&settles(7)));
    }
}
