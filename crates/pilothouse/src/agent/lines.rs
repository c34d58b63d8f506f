//! What an agent says, a line at a time: bounded in length, and never stuck on a bad one.

use std::io::BufRead;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest line that is passed on. An 8 MB image comes back as one 8.4 MB line
/// (CODEX section 1), so tens of megabytes are normal.
pub const MAX_LINE: usize = 64 * 1024 * 1024;

/// Room that is made for each read; a pipe holds this much by default.
const READ_CHUNK: usize = 64 * 1024;

/// A buffer that grew beyond this for one long line is given back.
const KEEP_CAPACITY: usize = 1024 * 1024;

/// One line, without its newline.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Line {
    /// A whole line.
    Text {
        /// What it says.
        text: String,
        /// It was not UTF-8, and what could not be read stands as U+FFFD.
        lossy: bool,
    },
    /// The stream ended in the middle of a line.
    Torn {
        /// What there was of it.
        text: String,
    },
    /// A line over the limit. It was skipped, and reading went on after it.
    TooLong {
        /// How long it was, without its newline.
        bytes: u64,
    },
}

/// Splits a stream into lines, in time linear in what it reads.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use pilothouse::agent::lines::{Line, Lines};
///
/// let mut lines = Lines::new(&b"{\"id\":1}\n{\"id\""[..], 100);
/// assert_eq!(lines.next().await, Some(Line::Text { text: "{\"id\":1}".to_owned(), lossy: false }));
/// assert_eq!(lines.next().await, Some(Line::Torn { text: "{\"id\"".to_owned() }));
/// assert_eq!(lines.next().await, None);
/// # }
/// ```
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    max_line: usize,
    state: State,
    buffer: Vec<u8>,
    /// Where the next line begins in `buffer`.
    start: usize,
    /// No newline stands in `buffer` between `start` and here.
    scanned: usize,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Reading,
    /// In the middle of an overlong line of which so much has been thrown away.
    Skipping(u64),
    Ended,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of `input`, none longer than `max_line` bytes.
    pub fn new(input: R, max_line: usize) -> Self {
        Self { input, max_line, state: State::Reading, buffer: Vec::new(), start: 0, scanned: 0 }
    }

    /// The next line, or `None` when the stream has ended.
    ///
    /// Cancel-safe: what was read stays for the next call.
    pub async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.take_line() {
                return Some(line);
            }
            if matches!(self.state, State::Ended) {
                return None;
            }
            self.make_room();
            match self.input.read_buf(&mut self.buffer).await {
                Ok(0) => return self.finish(),
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "an agent's output could not be read");
                    return self.finish();
                }
            }
        }
    }

    fn take_line(&mut self) -> Option<Line> {
        let mut unseen = &self.buffer[self.scanned..];
        // A slice can't fail to be read. `skip_until` is std's way to its `memchr`.
        let end = self.scanned + unseen.skip_until(b'\n').unwrap_or(0);
        let found = end > self.scanned && self.buffer[end - 1] == b'\n';
        self.scanned = end;
        let n_bytes = end - self.start - usize::from(found);

        match self.state {
            State::Reading if found && n_bytes <= self.max_line => {
                let bytes = self.take_bytes(end, n_bytes);
                let (text, lossy) = decode(bytes);
                Some(Line::Text { text, lossy })
            }
            State::Reading if found => {
                self.start = end;
                Some(Line::TooLong { bytes: n_bytes as u64 })
            }
            State::Reading if n_bytes > self.max_line => {
                self.state = State::Skipping(n_bytes as u64);
                self.discard();
                None
            }
            State::Skipping(skipped) if found => {
                self.state = State::Reading;
                self.start = end;
                Some(Line::TooLong { bytes: skipped + n_bytes as u64 })
            }
            State::Skipping(skipped) => {
                self.state = State::Skipping(skipped + n_bytes as u64);
                self.discard();
                None
            }
            State::Reading | State::Ended => None,
        }
    }

    /// The line that ends at `end`. One that fills the buffer is handed over, not copied.
    fn take_bytes(&mut self, end: usize, n_bytes: usize) -> Vec<u8> {
        if self.start == 0 && end == self.buffer.len() && n_bytes > READ_CHUNK {
            let mut bytes = std::mem::take(&mut self.buffer);
            bytes.truncate(n_bytes);
            (self.start, self.scanned) = (0, 0);
            return bytes;
        }
        let bytes = self.buffer[self.start..self.start + n_bytes].to_vec();
        self.start = end;
        bytes
    }

    fn discard(&mut self) {
        self.buffer.clear();
        (self.start, self.scanned) = (0, 0);
    }

    fn make_room(&mut self) {
        if self.start == self.buffer.len() {
            self.discard();
            if self.buffer.capacity() > KEEP_CAPACITY {
                self.buffer = Vec::new();
            }
        } else if self.start > 0 {
            // Once per read at most, and what is moved is the unread rest of one chunk.
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        self.buffer.reserve(READ_CHUNK);
    }

    fn finish(&mut self) -> Option<Line> {
        let state = std::mem::replace(&mut self.state, State::Ended);
        let rest = self.buffer.split_off(self.start);
        self.buffer = Vec::new();
        (self.start, self.scanned) = (0, 0);
        match state {
            State::Skipping(skipped) => Some(Line::TooLong { bytes: skipped + rest.len() as u64 }),
            State::Reading if !rest.is_empty() => Some(Line::Torn { text: decode(rest).0 }),
            State::Reading | State::Ended => None,
        }
    }
}

fn decode(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(input: &[u8], max_line: usize) -> Vec<Line> {
        let mut lines = Lines::new(input, max_line);
        let mut res = Vec::new();
        while let Some(line) = lines.next().await {
            res.push(line);
        }
        assert_eq!(lines.next().await, None, "the end stays the end");
        res
    }

    fn text(text: &str) -> Line {
        Line::Text { text: text.to_owned(), lossy: false }
    }

    #[tokio::test]
    async fn lines_of_every_kind() {
        let cases: [(&[u8], Vec<Line>); 10] = [
            (b"", vec![]),
            (b"\n", vec![text("")]),
            (b"a\nb\n", vec![text("a"), text("b")]),
            (b"a\r\n", vec![text("a\r")]),
            (b"a\nb", vec![text("a"), Line::Torn { text: "b".to_owned() }]),
            (b"12345678\nb\n", vec![text("12345678"), text("b")]),
            (b"123456789\nb\n", vec![Line::TooLong { bytes: 9 }, text("b")]),
            (b"123456789", vec![Line::TooLong { bytes: 9 }]),
            (
                b"\xff!\nb\n",
                vec![Line::Text { text: "\u{fffd}!".to_owned(), lossy: true }, text("b")],
            ),
            (b"ok\n\xf0\x9f", vec![text("ok"), Line::Torn { text: "\u{fffd}".to_owned() }]),
        ];
        for (input, expected) in cases {
            assert_eq!(all(input, 8).await, expected, "{}", String::from_utf8_lossy(input));
        }
    }

    #[tokio::test]
    async fn an_overlong_line_is_not_kept_in_memory() {
        let mut input = vec![b'x'; 10 * READ_CHUNK];
        input.extend_from_slice(b"\nnext\n");
        let mut lines = Lines::new(&input[..], READ_CHUNK);
        assert_eq!(lines.next().await, Some(Line::TooLong { bytes: 10 * READ_CHUNK as u64 }));
        assert!(lines.buffer.capacity() <= 4 * READ_CHUNK, "{}", lines.buffer.capacity());
        assert_eq!(lines.next().await, Some(text("next")));
    }

    #[tokio::test]
    async fn every_way_to_cut_a_stream_gives_the_same_lines() {
        let input = "one\ntwo two\n\nthis is far too long\nthrée\nend".as_bytes();
        let whole = all(input, 12).await;
        for cut in 0..=input.len() {
            let (head, tail) = input.split_at(cut);
            let mut lines = Lines::new(head.chain(tail), 12);
            let mut res = Vec::new();
            while let Some(line) = lines.next().await {
                res.push(line);
            }
            assert_eq!(res, whole, "cut at {cut}");
        }
    }
}
