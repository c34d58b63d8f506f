//! Which keys do what for a question that is shown.

use pilothouse_core::{AskView, Decision, Offer, decision_name};

use super::{filling::Filling, said};

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// To decide so.
    Decide(Decision),
    /// To say no, with a reason.
    Refuse,
    /// To fill in what is asked.
    Fill,
    /// To take an offer by its number, of which this is the first digit.
    Number(char),
    /// To leave it open and see the next.
    Skip,
    /// To leave.
    Leave,
}

/// What a key is for here; nothing if it is none.
pub(super) fn meaning(ask: &AskView, key: char) -> Option<Meaning> {
    let is_filled = Filling::of(ask).is_some();
    Some(match key {
        'a' if is_filled => Meaning::Fill,
        'y' if !is_filled => Meaning::Decide(Decision::Accept),
        's' if takes(ask, Decision::AcceptForSession) => {
            Meaning::Decide(Decision::AcceptForSession)
        }
        'n' if takes(ask, Decision::Decline) => Meaning::Refuse,
        'c' if said::decided(ask, Decision::Cancel).is_ok() => Meaning::Decide(Decision::Cancel),
        'j' | ' ' => Meaning::Skip,
        'q' => Meaning::Leave,
        '1'..='9' if !ask.offers.is_empty() => Meaning::Number(key),
        _ => return None,
    })
}

/// All of them on one line.
pub(super) fn keys(ask: &AskView) -> String {
    let is_filled = Filling::of(ask).is_some();
    let mut keys = vec![];
    if is_filled {
        keys.push("a answer".to_owned());
    } else if takes(ask, Decision::Accept) {
        keys.push("y accept once".to_owned());
    }
    if takes(ask, Decision::AcceptForSession) {
        keys.push("s accept for this session".to_owned());
    }
    for (number, offer) in (1..).zip(&ask.offers) {
        if !has_key(ask, offer) {
            keys.push(format!("{number} {}", decision_name(offer.decision)));
        }
    }
    if takes(ask, Decision::Decline) {
        keys.push("n decline with a reason".to_owned());
    }
    if meaning(ask, 'c').is_some() {
        keys.push("c cancel".to_owned());
    }
    keys.push("j next, leaves it open".to_owned());
    keys.push("q leave".to_owned());
    format!("[{}] ", keys.join(", "))
}

fn takes(ask: &AskView, decision: Decision) -> bool {
    ask.offers.iter().any(|it| it.decision == decision)
}

/// Of several offers with one decision only the first has its key.
fn has_key(ask: &AskView, offer: &Offer) -> bool {
    let first = ask.offers.iter().find(|it| it.decision == offer.decision);
    let keyed = matches!(
        offer.decision,
        Decision::Accept | Decision::AcceptForSession | Decision::Decline | Decision::Cancel
    );
    keyed && first.is_some_and(|it| std::ptr::eq(it, offer))
}
