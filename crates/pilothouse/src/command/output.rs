//! What a program printed, or its beginning and end: of a flood no more is ever held.

use std::collections::VecDeque;

/// One stream, as much of it as may be shown.
#[derive(Debug)]
pub(crate) struct Excerpt {
    max_head: usize,
    max_tail: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    n_bytes: u64,
}

/// A character as it is shown, and how many of the bytes that were printed it stands for.
type Letter = (char, usize);

impl Excerpt {
    /// Of so many bytes at most.
    pub(crate) fn new(limit: usize) -> Self {
        let max_head = limit - limit / 2;
        Self { max_head, max_tail: limit / 2, head: Vec::new(), tail: VecDeque::new(), n_bytes: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.n_bytes += bytes.len() as u64;
        let room = self.max_head - self.head.len();
        let (head, tail) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let tail = &tail[tail.len().saturating_sub(self.max_tail)..];
        let too_many = (self.tail.len() + tail.len()).saturating_sub(self.max_tail);
        self.tail.drain(..too_many);
        self.tail.extend(tail);
    }

    fn is_whole(&self) -> bool {
        self.n_bytes == (self.head.len() + self.tail.len()) as u64
    }

    /// It as text, all of it; nothing if that would be more than so many bytes. What is no UTF-8 is
    /// shown as U+FFFD.
    fn whole(&self, limit: usize) -> Option<String> {
        if !self.is_whole() {
            return None;
        }
        let (front, back) = self.tail.as_slices();
        let text = String::from_utf8_lossy(&[&self.head, front, back].concat()).into_owned();
        (text.len() <= limit).then_some(text)
    }

    /// Its beginning and its end, with words between them that say how much is not shown.
    fn ends(&self, limit: usize) -> String {
        let (front, back) = self.tail.as_slices();
        let tail = [front, back].concat();
        let (head, tail) = if self.is_whole() {
            let all = letters(&[self.head.as_slice(), &tail].concat());
            (all.clone(), all)
        } else {
            (letters(&self.head), letters_after_a_cut(&tail))
        };
        // The number below never takes more room than this one.
        let room = limit.saturating_sub(gap(self.n_bytes).len());
        let head = take(head.iter(), room / 2);
        let tail = take(tail.iter().rev(), room - room / 2);
        let n_shown: usize = head.iter().chain(&tail).map(|(_, n)| n).sum();
        let mut res: String = head.iter().map(|(letter, _)| letter).collect();
        res.push_str(&gap(self.n_bytes.saturating_sub(n_shown as u64)));
        res.extend(tail.iter().rev().map(|(letter, _)| letter));
        res
    }
}

/// Both streams as text, of so many bytes together, and whether something is left out. One that
/// needs less than its half leaves the rest to the other.
pub(crate) fn fit(stdout: &Excerpt, stderr: &Excerpt, limit: usize) -> (String, String, bool) {
    let half = limit / 2;
    match (stdout.whole(limit), stderr.whole(limit)) {
        (Some(out), Some(err)) if out.len() + err.len() <= limit => (out, err, false),
        (_, Some(err)) if err.len() <= half => (stdout.ends(limit - err.len()), err, true),
        (Some(out), _) if out.len() <= half => {
            let err = stderr.ends(limit - out.len());
            (out, err, true)
        }
        _ => (stdout.ends(half), stderr.ends(half), true),
    }
}

fn gap(n_bytes: u64) -> String {
    format!("\n[{n_bytes} bytes are left out here]\n")
}

fn take<'a>(from: impl Iterator<Item = &'a Letter>, limit: usize) -> Vec<Letter> {
    let mut room = limit;
    let mut res = Vec::new();
    for &(letter, n_bytes) in from {
        let Some(rest) = room.checked_sub(letter.len_utf8()) else { break };
        room = rest;
        res.push((letter, n_bytes));
    }
    res
}

fn letters(bytes: &[u8]) -> Vec<Letter> {
    let chunks = bytes.utf8_chunks().map(|it| {
        let bad = it.invalid();
        let bad = (!bad.is_empty()).then_some((char::REPLACEMENT_CHARACTER, bad.len()));
        it.valid().chars().map(|letter| (letter, letter.len_utf8())).chain(bad)
    });
    chunks.flatten().collect()
}

/// The cut may have gone through a character, whose rest would look like an error of the program.
fn letters_after_a_cut(bytes: &[u8]) -> Vec<Letter> {
    let is_rest = |byte: &u8| byte & 0xC0 == 0x80;
    let n_rest = bytes.iter().take(3).take_while(|it| is_rest(it)).count();
    letters(&bytes[n_rest..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(bytes: &[u8], limit: usize) -> Excerpt {
        let mut res = Excerpt::new(limit);
        // In pieces of sizes that meet every boundary.
        for piece in bytes.chunks(7) {
            res.push(piece);
        }
        res
    }

    #[test]
    fn what_fits_is_shown_whole_and_what_is_no_text_is_seen() {
        let shown = |bytes: &[u8]| fit(&excerpt(bytes, 100), &excerpt(b"", 100), 100);
        assert_eq!(shown(b"plain"), ("plain".to_owned(), String::new(), false));
        assert_eq!(
            shown(b"a\xffb\xe2\x82"),
            ("a\u{fffd}b\u{fffd}".to_owned(), String::new(), false)
        );
        let (all, _, cut) = shown("é".repeat(50).as_bytes());
        assert_eq!((all.len(), cut), (100, false));
    }

    #[test]
    fn of_too_much_the_two_ends_are_shown_and_how_much_is_not() {
        let bytes = "é0123456789".repeat(1000);
        let (text, _, cut) = fit(&excerpt(bytes.as_bytes(), 101), &excerpt(b"", 101), 101);
        assert!(cut && text.len() <= 101, "{text}");
        let (head, rest) = text.split_once("\n[").unwrap();
        let (number, tail) = rest.split_once(" bytes are left out here]\n").unwrap();
        assert!(bytes.starts_with(head) && bytes.ends_with(tail), "{text}");
        let n_left_out: usize = number.parse().unwrap();
        assert_eq!(n_left_out + head.len() + tail.len(), bytes.len());
    }

    #[test]
    fn a_short_stream_leaves_its_room_to_the_other() {
        let (much, little) = ([b'x'; 1000], [b'y'; 20]);
        let (out, err, cut) = fit(&excerpt(&much, 200), &excerpt(&little, 200), 200);
        // The words in the middle may be shorter than there was room for.
        assert!((170..=180).contains(&out.len()) && err.len() == 20 && cut, "{out} {err}");
        let (out, err, _) = fit(&excerpt(&little, 200), &excerpt(&much, 200), 200);
        assert!(out.len() == 20 && (170..=180).contains(&err.len()), "{out} {err}");
        let (out, err, _) = fit(&excerpt(&much, 200), &excerpt(&much, 200), 200);
        assert!((90..=100).contains(&out.len()) && (90..=100).contains(&err.len()));
    }

    #[test]
    fn bytes_that_are_no_text_take_no_more_room_than_there_is() {
        for n in [10, 60, 99, 100, 101, 5000] {
            let (out, err, cut) =
                fit(&excerpt(&vec![0xff; n], 100), &excerpt(&vec![0x80; n], 100), 100);
            assert!(out.len() + err.len() <= 100, "{n}: {out} {err}");
            assert_eq!(cut, n > 10, "{n}");
        }
    }
}
