//! Decisions as lines of JSON, for those who keep or search them elsewhere.

use std::{collections::BTreeMap, io::Write};

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use pilothouse_core::{
    Actor, Ask, AskId, AskRef, Envelope, Event, Seq, SessionId, Settled, redact::redact_json,
};
use pilothouse_store::{
    Hash, SignedHead,
    audit::{Kept, LogFile},
};
use serde::Serialize;
use serde_json::Value;

/// A decision, and all about it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    session: SessionId,
    seq: Seq,
    at: Timestamp,
    request: AskRef,
    who: &'a Actor,
    /// What was asked.
    what: Option<Value>,
    /// What was shown comes to this.
    digest: Option<&'a str>,
    /// How it was settled.
    how: Value,
    chain: Option<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed: Option<&'a SignedHead>,
}

/// Prints the decisions of sessions, oldest first within each.
pub(super) fn export(
    file: &LogFile,
    sessions: &[SessionId],
    unredacted: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut n_unread = 0_u64;
    for session in sessions {
        let signed = file.signed(*session).context("read the store")?;
        let mut asks = BTreeMap::new();
        let mut written = Ok(());
        let each = file.each(*session, |kept| {
            let Ok(envelope) = serde_json::from_str::<Envelope>(kept.json) else {
                n_unread += 1;
                return;
            };
            if written.is_ok() {
                let head = signed.get(&kept.seq);
                written = line(*session, kept, envelope, &mut asks, head, unredacted, out);
            }
        });
        each.context("read the store")?;
        written.context("write to stdout")?;
    }
    ensure!(n_unread == 0, "read {n_unread} events; see `pilothouse audit verify`");
    Ok(())
}

fn line(
    session: SessionId,
    kept: Kept<'_>,
    envelope: Envelope,
    asks: &mut BTreeMap<AskId, Box<Ask>>,
    signed: Option<&SignedHead>,
    unredacted: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events are not about asks")]
    let (id, how) = match envelope.event {
        Event::AskRaised { ask } => {
            asks.insert(ask.id, ask);
            return Ok(());
        }
        Event::AskSettled { ask, how } => (ask, how),
        _ => return Ok(()),
    };
    let ask = asks.remove(&id);
    let masked = |mut value: Value| {
        if !unredacted {
            redact_json(&mut value);
        }
        value
    };
    let what = ask.as_ref().map(|it| serde_json::to_value(&it.subject)).transpose()?;
    let line = Line {
        session,
        seq: kept.seq,
        at: envelope.at,
        request: AskRef { session, ask: id },
        who: who(&how),
        what: what.map(masked),
        digest: ask.as_ref().map(|it| it.digest.as_str()),
        how: masked(serde_json::to_value(&how)?),
        chain: kept.chain,
        signed,
    };
    writeln!(out, "{}", serde_json::to_string(&line)?)?;
    Ok(())
}

/// Who settled it.
fn who(how: &Settled) -> &Actor {
    match how {
        Settled::Answered { by, .. } => by,
        Settled::Expired { .. } => &Actor::Clock,
        Settled::Withdrawn => &Actor::Agent,
        Settled::Lost => &Actor::Node,
    }
}
