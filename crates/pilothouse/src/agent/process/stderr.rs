//! The last words of an agent: its stderr, always drained, its end kept, as plain text.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::oneshot,
};

/// Lines that are kept.
const TAIL_LINES: usize = 64;

/// Bytes that are kept, of all lines together.
const TAIL_BYTES: usize = 16 * 1024;

/// Bytes that are held to make them from: escape sequences are not counted above.
const RAW_BYTES: usize = 2 * TAIL_BYTES;

/// Room for each read.
const READ_CHUNK: usize = 8 * 1024;

/// Read to the end, so that an agent that floods its stderr is never held up.
pub(super) async fn drain(
    mut stderr: impl AsyncRead + Unpin,
    tail: Arc<Mutex<Tail>>,
    over: oneshot::Sender<()>,
) {
    let mut chunk = vec![0; READ_CHUNK];
    while let Ok(n_bytes) = stderr.read(&mut chunk).await
        && n_bytes > 0
    {
        tail.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..n_bytes]);
    }
    // Nobody waits for it if the process was dropped.
    over.send(()).ok();
}

/// What came last, as it came: it is made readable when somebody wants to read it.
#[derive(Debug, Default)]
pub(super) struct Tail {
    raw: Vec<u8>,
    /// The beginning was thrown away, so that `raw` may begin in the middle of a line.
    cut: bool,
}

impl Tail {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        // Half is moved for each full half that is read.
        if self.raw.len() > 2 * RAW_BYTES {
            self.raw.drain(..self.raw.len() - RAW_BYTES);
            self.cut = true;
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let raw = match self.raw.iter().position(|it| *it == b'\n') {
            Some(newline) if self.cut && newline + 1 < self.raw.len() => &self.raw[newline + 1..],
            Some(_) | None => &self.raw[..],
        };
        let mut n_bytes = 0;
        let mut res: Vec<String> = raw
            .rsplit(|it| *it == b'\n')
            .map(plain)
            .filter(|it| !it.is_empty())
            .take(TAIL_LINES)
            .take_while(|it| {
                let first = n_bytes == 0;
                n_bytes += it.len();
                first || n_bytes <= TAIL_BYTES
            })
            .collect();
        res.reverse();
        if let [only] = &mut res[..]
            && only.len() > TAIL_BYTES
        {
            let cut = only.ceil_char_boundary(only.len() - TAIL_BYTES);
            only.drain(..cut);
        }
        res
    }
}

/// Without escape sequences (ECMA-48) and other control characters.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut res = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                // A control sequence ends with a byte from `@` to `~`.
                Some('[') => while chars.next().is_some_and(|it| !('@'..='~').contains(&it)) {},
                // A control string ends with BEL, or with ESC and a backslash.
                Some(']' | 'P' | 'X' | '^' | '_') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                Some(_) | None => {}
            },
            '\t' => res.push(' '),
            c if c.is_control() => {}
            c => res.push(c),
        }
    }
    res.truncate(res.trim_end().len());
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(pieces: &[&[u8]]) -> Vec<String> {
        let mut tail = Tail::default();
        for piece in pieces {
            tail.push(piece);
        }
        tail.lines()
    }

    #[test]
    fn escape_sequences_are_taken_out() {
        let cases: [(&[u8], &str); 7] = [
            (b"plain", "plain"),
            (b"\x1b[1;31mred\x1b[0m text", "red text"),
            (b"\x1b]0;title\x07after", "after"),
            (b"\x1b]8;;https://a\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"a\tb\x08\r", "a b"),
            (b"\x1b[", ""),
            (b"\xff\xfe", "\u{fffd}\u{fffd}"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(plain(bytes), expected);
        }
    }

    #[test]
    fn the_end_is_kept_within_its_bounds() {
        let lines: Vec<u8> = (0..1000).flat_map(|it| format!("line {it}\n").into_bytes()).collect();
        let kept = tail(&[&lines]);
        assert_eq!(kept.len(), TAIL_LINES);
        assert_eq!(kept.last().map(String::as_str), Some("line 999"));

        let long = [vec![b'x'; 9 * TAIL_BYTES], b"\n".to_vec()].concat();
        assert_eq!(tail(&[&long]), ["x".repeat(TAIL_BYTES)]);
        assert_eq!(tail(&[&long, b"last"]), ["last"], "what came last is what counts");
        assert_eq!(tail(&[b"first\n", &long, b"last\n"]), ["last"]);
    }

    #[test]
    fn a_line_may_come_in_pieces() {
        assert_eq!(tail(&[b"one ", b"line\nan", b"d another"]), ["one line", "and another"]);
    }
}
