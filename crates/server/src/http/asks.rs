//! Asks over REST: what waits for an answer, and answering it.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Extension, Json,
    extract::{Path, State},
};
use pilothouse::{
    Error, Said,
    shell::{Reading, reading_of},
};
use pilothouse_core::{Answer, AskRef, AskView, Decision, NetworkAmendment, Refusal};
use pilothouse_store::AskFilter;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Front, Visitor,
    body::{Asked, Body, Scope, number, parse},
    problem::{Doing, Problem},
    sessions::{page, session_id},
};

/// Asks in a page, unless the request says.
const ASKS: u64 = 200;
/// Longest reason or note, in characters.
const MAX_REASON: usize = 10_000;

type Shared = State<Arc<Front>>;
type By = Extension<Visitor>;

#[derive(Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Wanted {
    Pending,
    #[default]
    All,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListQuery {
    #[serde(default)]
    state: Wanted,
    #[serde(default)]
    scope: Scope,
    session_id: Option<String>,
    #[serde(default, deserialize_with = "number")]
    limit: Option<u64>,
    cursor: Option<String>,
}

/// An ask, with what its command would run as far as that can be told.
#[derive(Serialize)]
pub(super) struct Shown {
    #[serde(flatten)]
    ask: AskView,
    #[serde(flatten)]
    reading: Option<Reading>,
}

impl From<AskView> for Shown {
    fn from(ask: AskView) -> Self {
        Self { reading: reading_of(&ask.subject, ask.asked_by.as_ref()), ask }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Asks {
    asks: Vec<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub(super) async fn list(
    State(front): Shared,
    Extension(visitor): By,
    Asked(query): Asked<ListQuery>,
) -> Result<Json<Asks>, Problem> {
    let session = query.session_id.as_deref().map(session_id).transpose()?;
    let own = !visitor.is_human() && query.scope == Scope::Own;
    let opened_by = own.then_some(visitor.actor);
    let filter = AskFilter { session, opened_by, pending: query.state == Wanted::Pending };
    let listing = front.broker.asks(filter, page(query.limit, ASKS), query.cursor).await;
    let listing = listing.doing("list the requests")?;
    let asks = listing.rows.into_iter().map(Shown::from).collect();
    Ok(Json(Asks { asks, next_cursor: listing.next }))
}

pub(super) async fn one(
    State(front): Shared,
    Path(id): Path<String>,
) -> Result<Json<Shown>, Problem> {
    let ask: AskRef = parse("requestId", &id)?;
    Ok(Json(front.broker.ask(ask).await.doing("show the request")?.into()))
}

/// What was said, in the words of `codex_check`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    digest: Option<String>,
    decision: Option<Decision>,
    answers: Option<BTreeMap<String, Chosen>>,
    /// By question: what was written instead of an option that has a name.
    other: Option<BTreeMap<String, String>>,
    content: Option<Value>,
    #[serde(alias = "execpolicyAmendment")]
    execpolicy_amendment: Option<Vec<String>>,
    #[serde(alias = "networkPolicyAmendment")]
    network_policy_amendment: Option<NetworkAmendment>,
    reason: Option<String>,
    #[serde(rename = "denyMessage")]
    deny_message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chosen {
    answers: Vec<String>,
}

pub(super) async fn answer(
    State(front): Shared,
    Extension(visitor): By,
    Path(id): Path<String>,
    Body(body): Body<AnswerBody>,
) -> Result<Json<Shown>, Problem> {
    const DOING: &str = "answer the request";
    let ask: AskRef = parse("requestId", &id)?;
    let said = said(body)?;
    let view = front.broker.answer(ask, said, &visitor.actor).await;
    match view {
        // What the owner no longer remembers, the log does.
        Err(Error::Refused(Refusal::AlreadySettled { settlement: None })) => {
            let settlement = front.broker.ask(ask).await.doing(DOING)?.settlement.map(Box::new);
            Err(Error::Refused(Refusal::AlreadySettled { settlement })).doing(DOING)
        }
        view => Ok(Json(view.doing(DOING)?.into())),
    }
}

fn said(body: AnswerBody) -> Result<Said, Problem> {
    let AnswerBody {
        digest,
        decision,
        answers,
        other,
        content,
        execpolicy_amendment,
        network_policy_amendment,
        reason,
        deny_message,
    } = body;
    let digest = digest.filter(|it| !it.is_empty()).ok_or_else(|| {
        Problem::field("digest", "it is missing; name the digest of the request that was shown")
    })?;
    for (field, text) in [("reason", &reason), ("denyMessage", &deny_message)] {
        if text.as_ref().is_some_and(|it| it.chars().count() > MAX_REASON) {
            let problem = format!("it is over {MAX_REASON} characters");
            return Err(Problem::field(field, &problem));
        }
    }
    let plain = execpolicy_amendment.is_none() && network_policy_amendment.is_none();
    let chosen = match (answers, other) {
        (None, None) => None,
        (answers, other) => Some((answers.unwrap_or_default(), other.unwrap_or_default())),
    };
    let answer = match (decision, chosen, content) {
        (Some(decision), None, None) => {
            Answer::Decided { decision, execpolicy_amendment, network_policy_amendment }
        }
        (None, Some((answers, other)), None) if plain => {
            let answers = answers.into_iter().map(|(id, it)| (id, it.answers)).collect();
            Answer::Chosen { answers, other }
        }
        (None | Some(Decision::Accept), None, Some(content)) if plain => Answer::Filled { content },
        (None, None, None) => {
            let problem = "it is missing; give `decision`, `answers` or `content`";
            return Err(Problem::field("decision", problem));
        }
        _ => {
            let problem = "give one of `decision`, `answers` and `content`, and amendments with a \
                           `decision` only";
            return Err(Problem::field("decision", problem));
        }
    };
    Ok(Said { answer, digest: Some(digest), reason, note: deny_message })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: Value) -> Result<Answer, String> {
        let body = serde_json::from_value(body).map_err(|it| it.to_string())?;
        said(body).map(|it| it.answer).map_err(|it| format!("{it:?}"))
    }

    #[test]
    fn one_of_decision_answers_and_content() {
        let accept = Answer::plain(Decision::Accept);
        assert_eq!(read(json!({"digest": "d", "decision": "accept"})), Ok(accept));
        let chosen = read(json!({"digest": "d", "answers": {"q": {"answers": ["a"]}}}));
        let answers = BTreeMap::from([("q".to_owned(), vec!["a".to_owned()])]);
        assert_eq!(chosen, Ok(Answer::chosen(answers)));
        let other = BTreeMap::from([("p".to_owned(), "neither".to_owned())]);
        let body = json!({
            "digest": "d", "answers": {"q": {"answers": ["a"]}}, "other": {"p": "neither"},
        });
        let answers = BTreeMap::from([("q".to_owned(), vec!["a".to_owned()])]);
        assert_eq!(read(body), Ok(Answer::Chosen { answers, other: other.clone() }));
        let alone = read(json!({"digest": "d", "other": {"p": "neither"}}));
        assert_eq!(alone, Ok(Answer::Chosen { answers: BTreeMap::new(), other }));
        let filled = Ok(Answer::Filled { content: json!({"a": 1}) });
        assert_eq!(read(json!({"digest": "d", "content": {"a": 1}})), filled);
        let both = json!({"digest": "d", "decision": "accept", "content": {"a": 1}});
        assert_eq!(read(both), filled);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (body, said) in [
            (json!({"decision": "accept"}), "`digest`"),
            (json!({"digest": "", "decision": "accept"}), "`digest`"),
            (json!({"digest": "d"}), "`decision`"),
            (json!({"digest": "d", "decision": "decline", "content": {}}), "`decision`"),
            (json!({"digest": "d", "decision": "decline", "other": {"q": "x"}}), "`decision`"),
            (json!({"digest": "d", "content": {}, "other": {"q": "x"}}), "`decision`"),
            (json!({"digest": "d", "other": {"q": ["x"]}}), "expected a string"),
            (json!({"digest": "d", "answers": {}, "execpolicy_amendment": ["a"]}), "`decision`"),
            (json!({"digest": "d", "decision": "maybe"}), "maybe"),
            (json!({"digest": "d", "descision": "accept"}), "descision"),
            (
                json!({"digest": "d", "decision": "decline", "reason": "x".repeat(10_001)}),
                "`reason`",
            ),
        ] {
            let problem = read(body.clone()).unwrap_err();
            assert!(problem.contains(said), "{body}: {problem}");
        }
    }
}
