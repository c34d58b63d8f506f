//! Real Codex binaries of several ages, each in each dialect that it has.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod exec;
mod room;
mod scenarios;

use futures_util::{StreamExt as _, stream};
use pilothouse::Dialect;
use pilothouse_testkit::binaries::codex_version;
use room::Case;
use scenarios::{Found, Scenario};

/// Each has a Codex of about 50 MiB, and the machine may be small.
const AT_ONCE: usize = 3;
const NOBODY_IS_ASKED: Found = Found::Absent("no approvals");
const NOT_THERE: Found = Found::Absent("EXEC_NOT_SUPPORTED");

#[tokio::test(flavor = "multi_thread")]
async fn the_pinned_codex_as_app_server() {
    check(pinned(Dialect::AppServer), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_0_125_as_app_server() {
    check(Case::new("0.125.0", Dialect::AppServer), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pinned_codex_as_exec() {
    let absent = [
        (Scenario::Accept, NOBODY_IS_ASKED),
        (Scenario::Decline, NOBODY_IS_ASKED),
        (Scenario::Fork, NOT_THERE),
    ];
    check(pinned(Dialect::Exec), &absent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_0_42_as_exec() {
    let absent = [
        (Scenario::Accept, NOBODY_IS_ASKED),
        (Scenario::Decline, NOBODY_IS_ASKED),
        (Scenario::Fork, NOT_THERE),
    ];
    check(Case::new("0.42.0", Dialect::Exec), &absent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_0_42_as_proto() {
    let absent = [(Scenario::Resume, NOT_THERE), (Scenario::Fork, NOT_THERE)];
    check(Case::new("0.42.0", Dialect::Proto), &absent).await;
}

/// The version that everything else is tested with.
fn pinned(dialect: Dialect) -> Case {
    Case::new(codex_version().unwrap().leak(), dialect)
}

/// Everything works but what is named, and that is told as absent.
async fn check(case: Case, absent: &[(Scenario, Found)]) {
    let played = stream::iter(Scenario::ALL).map(async |it| (it, it.play(case).await));
    let played: Vec<_> = played.buffered(AT_ONCE).collect().await;
    let mut wrong = vec![];
    for (scenario, found) in played {
        let named = absent.iter().find(|(it, _)| *it == scenario);
        let expected = named.map_or(Found::Works, |(_, found)| found.clone());
        match found {
            Ok(found) if found == expected => {}
            Ok(found) => wrong.push(format!("{}: {found:?}, not {expected:?}", scenario.name())),
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
