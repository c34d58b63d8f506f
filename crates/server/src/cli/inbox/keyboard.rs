//! A terminal's keys, one at a time, without what was typed before a question was shown.

pub(super) use self::system::{Keyboard, width};

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// One key by itself. What comes in one piece with others was pasted, and is none.
    Key(char),
    /// Several at once.
    Pasted(String),
}

impl Typed {
    /// What came in one piece. Return after a key is no other key.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let single = text.strip_suffix(['\r', '\n']).filter(|it| !it.is_empty()).unwrap_or(text);
        let mut letters = single.chars();
        match (letters.next(), letters.next()) {
            (None, _) => None,
            (Some(key), None) => Some(Self::Key(key)),
            (Some(_), Some(_)) => Some(Self::Pasted(text.to_owned())),
        }
    }

    /// All of it, for what is written rather than decided.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Key(key) => key.to_string(),
            Self::Pasted(text) => text.clone(),
        }
    }
}

#[cfg(unix)]
mod system {
    use std::io::{self, Read as _};

    use rustix::termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
        tcgetwinsize, tcsetattr,
    };
    use tokio::sync::mpsc;

    use super::Typed;

    /// Pieces that may wait; nobody types faster than they are read.
    const MAX_PIECES: usize = 16;
    /// Longest piece.
    const MAX_PIECE: usize = 4_096;

    /// The terminal at standard input, as it was before when this is dropped.
    #[derive(Debug)]
    pub(in super::super) struct Keyboard {
        before: Termios,
        pieces: mpsc::Receiver<Typed>,
    }

    impl Keyboard {
        /// Takes the terminal over: keys come at once and are not shown.
        pub(in super::super) fn open() -> io::Result<Self> {
            let before = tcgetattr(io::stdin())?;
            let mut termios = before.clone();
            termios.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            termios.special_codes[SpecialCodeIndex::VMIN] = 1;
            termios.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(io::stdin(), OptionalActions::Flush, &termios)?;
            let (tx, pieces) = mpsc::channel(MAX_PIECES);
            // It waits in a read, which nothing ends but the program's end.
            std::thread::Builder::new().name("keyboard".to_owned()).spawn(move || read(&tx))?;
            Ok(Self { before, pieces })
        }

        /// What is typed next; nothing when the terminal is gone.
        pub(in super::super) async fn next(&mut self) -> Option<Typed> {
            self.pieces.recv().await
        }

        /// Forgets what was typed so far: it was not meant for what is shown next.
        pub(in super::super) fn forget(&mut self) {
            // A terminal that is gone says so at the next read.
            tcflush(io::stdin(), QueueSelector::IFlush).ok();
            while self.pieces.try_recv().is_ok() {}
        }
    }

    impl Drop for Keyboard {
        fn drop(&mut self) {
            // There is nothing to do about a terminal that is gone.
            tcsetattr(io::stdin(), OptionalActions::Flush, &self.before).ok();
        }
    }

    fn read(pieces: &mpsc::Sender<Typed>) {
        let mut stdin = io::stdin().lock();
        let mut buffer = [0; MAX_PIECE];
        loop {
            let n_read = match stdin.read(&mut buffer) {
                Ok(0) => return,
                Ok(n_read) => n_read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let Some(typed) = Typed::from_bytes(&buffer[..n_read]) else { continue };
            if pieces.blocking_send(typed).is_err() {
                return;
            }
        }
    }

    /// How wide the terminal at standard output is.
    pub(in super::super) fn width() -> Option<usize> {
        let size = tcgetwinsize(io::stdout()).ok()?;
        (size.ws_col > 0).then(|| usize::from(size.ws_col))
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;

    use super::Typed;

    /// Keys can't be read on this system yet.
    #[derive(Debug)]
    pub(in super::super) struct Keyboard;

    impl Keyboard {
        pub(in super::super) fn open() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in super::super) async fn next(&mut self) -> Option<Typed> {
            None
        }

        pub(in super::super) fn forget(&mut self) {}
    }

    pub(in super::super) fn width() -> Option<usize> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_key_by_itself_is_one() {
        for (bytes, typed) in [
            (&b"y"[..], Some(Typed::Key('y'))),
            (b"y\n", Some(Typed::Key('y'))),
            (b"\n", Some(Typed::Key('\n'))),
            ("é".as_bytes(), Some(Typed::Key('é'))),
            (b"yes", Some(Typed::Pasted("yes".into()))),
            (b"y\ny\n", Some(Typed::Pasted("y\ny\n".into()))),
            (b"", None),
            (b"\xff", None),
        ] {
            assert_eq!(Typed::from_bytes(bytes), typed);
        }
    }
}
