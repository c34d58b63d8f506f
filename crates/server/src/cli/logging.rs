//! What is logged, without secrets, on stderr.

use std::io::{self, Write};

use pilothouse_core::{display, redact::redact};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

/// To stderr, as stdout belongs to protocols and to what commands print.
pub(super) fn begin(filter: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter).map_err(|it| {
        anyhow::anyhow!("use the log filter {filter:?}: {it}; such as: pilothouse=debug")
    })?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(Redacted).with_ansi(false).init();
    Ok(())
}

/// What a command failed with: errors quote what they were given.
pub(super) fn tell(error: &anyhow::Error) {
    let text = safe(&format!("Pilothouse could not {error:#}"));
    // There is nobody left to tell if this cannot be written.
    writeln!(io::stderr(), "{text}").ok();
}

/// Without secrets, and without what a terminal would heed.
fn safe(text: &str) -> String {
    display::show(&redact(text), display::Room::Lines).text
}

/// The one place that every line of the log passes, whoever wrote it.
struct Redacted;

impl MakeWriter<'_> for Redacted {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}

impl Write for Redacted {
    /// Gets a whole event at a time.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(safe(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_quotes_neither_secrets_nor_escapes() {
        let text = safe("use --token sk-0123456789abcdef: \u{1b}[31m\u{202e}no\n");
        assert_eq!(text, "use --token [redacted:token] \\e[31m\\u{202E}no\n");
    }
}
