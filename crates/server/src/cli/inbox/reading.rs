//! What a command would run, part by part: the one place where the card asks for it.

use pilothouse::shell::{Class, Verdict};
use pilothouse_core::AskView;

use super::paint::{Ink, Paint};

/// Each simple command of a command line with what it does and why; nothing for other asks.
pub(super) fn show(paint: &mut Paint, ask: &AskView) {
    let reading = pilothouse::reading_of(&ask.subject, ask.asked_by.as_ref());
    let Some(reading) = reading else { return };
    let safe = match reading.verdict {
        Verdict::Safe => " (it only reads)",
        Verdict::Ask => "",
    };
    let n_segments = reading.segments.len();
    let commands = if n_segments == 1 { "command" } else { "commands" };
    paint.say(None, &format!("Runs {n_segments} {commands}{safe}:"));
    for (at, segment) in reading.segments.iter().enumerate() {
        let ink = match segment.class {
            Class::ReadsOnly => Ink::Green,
            Class::Writes | Class::RunsProgram | Class::Network | Class::NotUnderstood => Ink::Red,
        };
        paint.requote(&segment.text);
        let number = at + 1;
        paint.say(Some(ink), &format!("    {number}. {}", segment.class.as_str()));
        if !segment.reason.is_empty() {
            paint.field("    why:", &segment.reason);
        }
    }
}
