//! Decisions, reaches, actors and settlements in words.

use jiff::Timestamp;
use pilothouse_core::{
    Actor, Answer, AskKind, Offer, Reach, Settled, Settlement, Subject, decision_name,
    display::{Room, line, show_within},
};

use super::{
    fields,
    picking::{self, Choice},
};

/// How far a decision reaches, as it is.
pub(super) fn reach(reach: Reach) -> &'static str {
    match reach {
        Reach::Once => "once",
        Reach::Turn => "the rest of this turn",
        Reach::Thread => "this thread",
        Reach::Always => "always, everywhere on this machine",
    }
}

pub(super) fn kind(kind: AskKind) -> &'static str {
    match kind {
        AskKind::Command => "command",
        AskKind::FileChange => "file change",
        AskKind::Permissions => "permissions",
        AskKind::Question => "question",
        AskKind::Elicitation => "form",
    }
}

/// What an offer would allow beside the ask itself.
pub(super) fn beside(offer: &Offer) -> Option<String> {
    if let Some(words) = &offer.execpolicy_amendment {
        let words: Vec<_> = words.iter().map(|it| format!("{it:?}")).collect();
        return Some(format!("commands that begin with {}", words.join(" ")));
    }
    let network = offer.network_policy_amendment.as_ref()?;
    Some(format!("{} {}", network.action, network.host))
}

pub(super) fn actor(actor: &Actor) -> String {
    match actor {
        Actor::Human { via, verified: true } => format!("a person ({})", line(via)),
        Actor::Human { via, verified: false } => format!("somebody by {}", line(via)),
        Actor::Caller { id } => format!("the caller {}", line(id)),
        Actor::Policy { rule } => format!("the rule {}", line(rule)),
        Actor::Clock => "the clock".to_owned(),
        Actor::Agent => "the agent".to_owned(),
        Actor::Node => "Pilothouse".to_owned(),
    }
}

/// Longest answer that is repeated, in letters.
const MAX_ANSWER: usize = 300;

/// What was said, in the words of what was asked.
pub(super) fn answer(answer: &Answer, subject: &Subject) -> String {
    let text = match (answer, subject) {
        (Answer::Decided { decision, .. }, _) => return decision_name(*decision).to_owned(),
        (Answer::Redacted, _) => return "a secret".to_owned(),
        (Answer::Chosen { .. }, Subject::Question { questions })
            if questions.iter().any(|it| it.is_secret) =>
        {
            return "a secret".to_owned();
        }
        (Answer::Chosen { answers, other }, Subject::Question { questions }) => {
            let each = questions.iter().map(|it| {
                let options = picking::options(it);
                let label = |name: &String| {
                    let option = options.iter().find(|it| it.name == *name);
                    option.map_or_else(|| format!("{name:?}"), Choice::told)
                };
                let chosen = answers.get(&it.id).into_iter().flatten().map(label);
                let words = other.get(&it.id).map(|it| format!("{it:?}"));
                let said = chosen.chain(words).collect::<Vec<_>>().join(", ");
                if questions.len() == 1 { said } else { format!("{} = {said}", it.id) }
            });
            each.collect::<Vec<_>>().join("; ")
        }
        (Answer::Filled { content }, Subject::Form { schema, .. }) => {
            let filled = content.as_object().into_iter().flatten();
            let each = filled.map(|(name, value)| {
                format!("{name} = {}", fields::told(&schema["properties"][name], value))
            });
            each.collect::<Vec<_>>().join("; ")
        }
        (Answer::Chosen { .. }, _) => return "a choice".to_owned(),
        (Answer::Filled { .. }, _) => return "a filled form".to_owned(),
    };
    show_within(&text, Room::Line, MAX_ANSWER).text
}

/// How an ask was settled, by whom and when.
pub(super) fn settlement(settlement: &Settlement, subject: &Subject) -> String {
    let at = format!("{:.0}", settlement.at);
    match &settlement.how {
        Settled::Answered { answer: said, by, .. } => {
            format!("answered with {} by {} at {at}", answer(said, subject), actor(by))
        }
        Settled::Expired { waited_s, .. } => format!("expired after {waited_s} s at {at}"),
        Settled::Withdrawn => format!("withdrawn by the agent at {at}"),
        Settled::Lost => format!("lost with its agent at {at}"),
    }
}

/// A stretch of time in one unit.
pub(super) fn stretch(seconds: i64) -> String {
    match seconds.max(0) {
        it @ 0..120 => format!("{it} s"),
        it @ 120..7_200 => format!("{} min", it / 60),
        it @ 7_200..172_800 => format!("{} h", it / 3_600),
        it => format!("{} days", it / 86_400),
    }
}

pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    format!("{} ago", stretch(now.duration_since(at).as_secs()))
}

#[cfg(test)]
mod tests {
    use pilothouse_core::Decision;

    use super::*;

    #[test]
    fn a_settlement_says_what_who_and_when() {
        let by = Actor::Human { via: "con\u{202e}sole".into(), verified: true };
        let answer = Answer::plain(Decision::Accept);
        let how = Settled::Answered { answer, by, reason: None, note: None, bound: true };
        let subject = Subject::Adoption { caller: "c".to_owned(), client: None };
        let said = settlement(&Settlement { at: Timestamp::UNIX_EPOCH, how }, &subject);
        let expected =
            "answered with accept by a person (con\\u{202E}sole) at 1970-01-01T00:00:00Z";
        assert_eq!(said, expected);
    }

    #[test]
    fn time_is_in_one_unit() {
        for (seconds, said) in
            [(-5, "0 s"), (59, "59 s"), (180, "3 min"), (7_300, "2 h"), (200_000, "2 days")]
        {
            assert_eq!(stretch(seconds), said);
        }
    }
}
