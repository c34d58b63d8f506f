//! What holds of any bytes: the fuzzer looks for some that break it, and a plain test plays back
//! what it found interesting.

use jiff::Timestamp;
use pilothouse::{
    core::{Answer, Decision, Verdict as Said},
    rules::{Rules, Scene, command_ask},
    shell::{Class, MAX_SEGMENTS, Verdict, read},
};

/// Reads bytes as a command line, and panics if what is said of it contradicts itself, or if more
/// is allowed than was understood.
pub(crate) fn shell(bytes: &[u8]) {
    let line = String::from_utf8_lossy(bytes);
    let reading = read(&line);
    assert!(!reading.segments.is_empty() && reading.segments.len() <= 2 * MAX_SEGMENTS);
    let is_safe = reading.segments.iter().all(|it| it.verdict == Verdict::Safe);
    assert_eq!(reading.verdict == Verdict::Safe, is_safe);
    for segment in &reading.segments {
        assert_eq!(segment.verdict == Verdict::Safe, segment.class == Class::ReadsOnly);
        assert!(!segment.reason.is_empty());
        assert!(line.contains(&segment.text) || segment.text.starts_with("for "));
    }
    // Another command behind it takes nothing back.
    if reading.verdict == Verdict::Ask && reading.segments.iter().all(|it| !it.argv.is_empty()) {
        assert_eq!(read(&format!("{line}; ls")).verdict, Verdict::Ask);
    }

    let ask = command_ask(&line, "/w", Timestamp::UNIX_EPOCH);
    let scene = Scene { session: None, workspace: Some("/w") };
    let is_clear = reading.segments.iter().all(|it| it.is_plain || it.verdict == Verdict::Safe);
    let policy = generous().policy(&scene);
    if let Said::Answered { answer, .. } = policy.verdict(&ask)
        && answer == Answer::plain(Decision::Accept)
    {
        assert!(is_clear, "more is allowed than was understood");
    }
    let reads = Rules::parse("[[rules]]\nname = 'r'\nreads_only = true\noutcome = 'allow'\n")
        .expect("a rule that is one");
    let allowed = matches!(reads.policy(&scene).verdict(&ask), Said::Answered { .. });
    assert_eq!(allowed, reading.verdict == Verdict::Safe);
}

/// Rules that allow whatever programs there are, and refuse none.
fn generous() -> Rules {
    Rules::parse(
        "[[rules]]\nname = 'reads'\nreads_only = true\noutcome = 'allow'\n\
         [[rules]]\nname = 'some'\noutcome = 'allow'\n\
         command = [['rm', 'make', 'git', 'env', 'sudo', 'bash', 'cargo', 'x', 'a', 'b', 'xargs',\
         'find', 'sed', 'awk', 'curl', 'cat', 'sort', 'npm', 'python', 'tee', 'cp', 'cd']]\n",
    )
    .expect("rules that are some")
}
