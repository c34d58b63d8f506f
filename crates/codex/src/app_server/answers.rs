//! Answers to asks, in the shape that each kind of request wants.

use pilothouse_core::{Answer, Decision};
use serde_json::{Value, json};

use super::{
    asks::{Asked, Form},
    wire::{REFUSED, refusal, reply},
};

/// The line that answers an ask.
pub(crate) fn answer(asked: &Asked, answer: &Answer) -> String {
    match result(&asked.form, answer) {
        Ok(result) => reply(&asked.id, &result),
        Err(message) => refusal(&asked.id, REFUSED, message),
    }
}

/// The line that says that nobody answered. A decline would be read as somebody's refusal.
pub(crate) fn expire(asked: &Asked, waited_s: u64) -> String {
    match asked.form {
        Form::Elicitation => reply(&asked.id, &json!({"action": "cancel", "content": null})),
        Form::Command
        | Form::FileChange
        | Form::Permissions { .. }
        | Form::Question
        | Form::Legacy => refusal(&asked.id, REFUSED, &unanswered(waited_s)),
    }
}

/// What the agent reads when nobody answered.
pub(crate) fn unanswered(waited_s: u64) -> String {
    if waited_s == 0 {
        return "Nobody could be asked: too many requests are waiting for answers already. That is \
                no refusal; try again later, or carry on without it."
            .to_owned();
    }
    format!(
        "Nobody answered the last request within {waited_s} s. That is no refusal: nobody has seen \
         it, or nobody has decided. Carry on without it if you can, and say what is still needed."
    )
}

/// The line that lets go of an ask whose session has left.
pub(crate) fn abandon(asked: &Asked) -> String {
    match asked.form {
        Form::Question => refusal(&asked.id, REFUSED, "the session was closed"),
        Form::Command
        | Form::FileChange
        | Form::Permissions { .. }
        | Form::Elicitation
        | Form::Legacy => answer(asked, &Answer::plain(Decision::Cancel)),
    }
}

fn result(form: &Form, answer: &Answer) -> Result<Value, &'static str> {
    match (form, answer) {
        (Form::Question, Answer::Chosen { answers, .. }) => {
            let answers: serde_json::Map<_, _> =
                answers.iter().map(|(id, it)| (id.clone(), json!({"answers": it}))).collect();
            Ok(json!({"answers": answers}))
        }
        (Form::Question, Answer::Decided { .. }) => Err("the question was cancelled"),
        (Form::Elicitation, Answer::Filled { content }) => {
            Ok(json!({"action": "accept", "content": content, "_meta": null}))
        }
        (Form::Elicitation, Answer::Decided { decision, .. }) => Ok(elicitation(*decision)),
        (Form::Permissions { requested }, Answer::Decided { decision, .. }) => {
            Ok(permissions(*decision, requested))
        }
        (
            Form::Command,
            Answer::Decided { decision, execpolicy_amendment, network_policy_amendment },
        ) => {
            let word = match (decision, execpolicy_amendment, network_policy_amendment) {
                (Decision::AcceptWithExecpolicyAmendment, Some(amendment), _) => {
                    json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": amendment}})
                }
                (Decision::ApplyNetworkPolicyAmendment, _, Some(amendment)) => {
                    json!({"applyNetworkPolicyAmendment": {"network_policy_amendment": amendment}})
                }
                (decision, _, _) => word(*decision).into(),
            };
            Ok(json!({"decision": word}))
        }
        (Form::FileChange, Answer::Decided { decision, .. }) => {
            Ok(json!({"decision": word(*decision)}))
        }
        (Form::Legacy, Answer::Decided { decision, .. }) => {
            Ok(json!({"decision": legacy(*decision)}))
        }
        (
            Form::Command
            | Form::FileChange
            | Form::Permissions { .. }
            | Form::Question
            | Form::Elicitation
            | Form::Legacy,
            Answer::Chosen { .. } | Answer::Filled { .. } | Answer::Redacted,
        ) => Err("the answer does not fit the request"),
    }
}

/// An amendment without its content is no more than a yes or no to this one.
fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Accept | Decision::AcceptAlways | Decision::AcceptWithExecpolicyAmendment => {
            "accept"
        }
        Decision::AcceptForSession => "acceptForSession",
        Decision::Decline | Decision::ApplyNetworkPolicyAmendment => "decline",
        Decision::Cancel => "cancel",
    }
}

fn legacy(decision: Decision) -> &'static str {
    match decision {
        Decision::Accept | Decision::AcceptAlways | Decision::AcceptWithExecpolicyAmendment => {
            "approved"
        }
        Decision::AcceptForSession => "approved_for_session",
        Decision::Decline | Decision::ApplyNetworkPolicyAmendment => "denied",
        Decision::Cancel => "abort",
    }
}

fn elicitation(decision: Decision) -> Value {
    let accept = |meta: Value| json!({"action": "accept", "content": {}, "_meta": meta});
    match decision {
        Decision::Accept
        | Decision::AcceptWithExecpolicyAmendment
        | Decision::ApplyNetworkPolicyAmendment => accept(Value::Null),
        Decision::AcceptForSession => accept(json!({"persist": "session"})),
        Decision::AcceptAlways => accept(json!({"persist": "always"})),
        Decision::Decline => json!({"action": "decline", "content": null, "_meta": null}),
        Decision::Cancel => json!({"action": "cancel", "content": null, "_meta": null}),
    }
}

fn permissions(decision: Decision, requested: &Value) -> Value {
    match decision {
        Decision::Accept
        | Decision::AcceptWithExecpolicyAmendment
        | Decision::ApplyNetworkPolicyAmendment => {
            json!({"permissions": requested, "scope": "turn"})
        }
        Decision::AcceptForSession | Decision::AcceptAlways => {
            json!({"permissions": requested, "scope": "session"})
        }
        Decision::Decline | Decision::Cancel => json!({"permissions": {}, "scope": "turn"}),
    }
}
