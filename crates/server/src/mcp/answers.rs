//! A caller's answer to an ask: which arguments go with which kind, and what they mean.

use std::collections::BTreeMap;

use pilothouse::{Broker, Said};
use pilothouse_core::{
    Answer, AskKind, AskRef, AskView, Decision, NetworkAmendment, SessionId, Subject,
};
use serde_json::{Map, Value};

use super::{
    Call, arguments,
    problem::{Code, Problem},
};

/// What can be said to an approval.
pub(crate) const DECISIONS: [(&str, Decision); 7] = [
    ("accept", Decision::Accept),
    ("acceptForSession", Decision::AcceptForSession),
    ("acceptAlways", Decision::AcceptAlways),
    ("acceptWithExecpolicyAmendment", Decision::AcceptWithExecpolicyAmendment),
    ("applyNetworkPolicyAmendment", Decision::ApplyNetworkPolicyAmendment),
    ("decline", Decision::Decline),
    ("cancel", Decision::Cancel),
];
/// The places of the answering actions in `check::ACTIONS`.
const PERMISSION: usize = 1;
const QUESTION: usize = 2;

/// What an answer is made of.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    request: Option<String>,
    decision: Option<Decision>,
    execpolicy: Option<Vec<String>>,
    network: Option<NetworkAmendment>,
    note: Option<String>,
    reason: Option<String>,
    answers: Option<BTreeMap<String, Vec<String>>>,
    content: Option<Map<String, Value>>,
    digest: Option<String>,
}

impl Arguments {
    pub(crate) fn read(arguments: &mut arguments::Arguments) -> Result<Self, Problem> {
        let request = arguments.text("requestId")?;
        let decision = arguments.choice("decision", &DECISIONS)?;
        let execpolicy = arguments.texts("execpolicy_amendment")?;
        let mut network = arguments.within("network_policy_amendment")?;
        let amendment = if arguments.given().contains(&"network_policy_amendment") {
            let action =
                network.required_choice("action", &[("allow", "allow"), ("deny", "deny")])?;
            let host = network.required("host")?;
            Some(NetworkAmendment { action: action.to_owned(), host })
        } else {
            None
        };
        arguments.absorb(&network);
        Ok(Self {
            request,
            decision,
            execpolicy,
            network: amendment,
            note: arguments.text("denyMessage")?,
            reason: arguments.text("reason")?,
            answers: arguments.object("answers")?.map(by_question).transpose()?,
            content: arguments.object("content")?,
            digest: arguments.text("digest")?,
        })
    }
}

/// `{ questionId: { answers: [text] } }`; a plain list is understood too.
fn by_question(answers: Map<String, Value>) -> Result<BTreeMap<String, Vec<String>>, Problem> {
    let each = answers.into_iter().map(|(id, value)| {
        let list = value.get("answers").unwrap_or(&value).as_array();
        let texts = list.and_then(|it| {
            it.iter().map(|it| it.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        texts.map(|it| (id.clone(), it)).ok_or_else(|| {
            let problem = "must be { \"answers\": [text, …] }";
            Problem::argument(&format!("answers.{id}"), problem)
        })
    });
    each.collect()
}

/// Settles an ask, or says why not.
pub(crate) async fn answer(
    call: &Call<'_>,
    broker: &Broker,
    session: SessionId,
    action: usize,
    said: Arguments,
) -> Result<(), Problem> {
    let missing = |field: &str| Err(Problem::argument(field, "is required"));
    let Some(request) = &said.request else { return missing("requestId") };
    if action == QUESTION {
        if said.answers.is_none() {
            return missing("answers");
        }
    } else if said.decision.is_none() {
        return missing("decision");
    }
    check_amendments(&said)?;
    let unknown = || {
        let message = format!("there is no request {request} in session {session}");
        Problem::new(Code::RequestNotFound, message)
            .hint("Take requestId from the actions of codex_check poll.")
    };
    let ask = request.parse::<AskRef>().map_err(|_| unknown())?;
    if ask.session != session {
        return Err(unknown());
    }
    let view = match broker.ask(ask).await {
        Err(pilothouse::Error::NoSuchAsk(_)) => return Err(unknown()),
        view => view?,
    };
    let Arguments {
        request: _,
        decision,
        execpolicy,
        network,
        note,
        reason,
        answers,
        content,
        digest,
    } = said;
    let answer = match (action, answers, decision) {
        (QUESTION, Some(answers), _) => Answer::chosen(answers),
        (_, _, Some(Decision::Accept)) if content.is_some() => {
            Answer::Filled { content: content.map(Value::Object).unwrap_or_default() }
        }
        (_, _, Some(decision)) => Answer::Decided {
            decision,
            execpolicy_amendment: execpolicy,
            network_policy_amendment: network,
        },
        (_, _, None) => return missing("decision"),
    };
    fits(action, &view)?;
    let said = Said { answer, digest, reason, note };
    match broker.answer(ask, said, &call.server.caller).await {
        Ok(_) => Ok(()),
        Err(error) => {
            let problem = Problem::from(error);
            if problem.code != Code::HumanOnly {
                return Err(problem);
            }
            let place = call.console(broker).await;
            let place = place.unwrap_or_else(|| "a terminal with `pilothouse inbox`".to_owned());
            Err(problem.hint(format!("A person can answer at {place}.")))
        }
    }
}

fn check_amendments(said: &Arguments) -> Result<(), Problem> {
    let pairs = [
        (
            "execpolicy_amendment",
            said.execpolicy.is_some(),
            Decision::AcceptWithExecpolicyAmendment,
        ),
        ("network_policy_amendment", said.network.is_some(), Decision::ApplyNetworkPolicyAmendment),
    ];
    for (field, given, decision) in pairs {
        let name = pilothouse_core::decision_name(decision);
        match (given, said.decision == Some(decision)) {
            (true, false) => {
                return Err(Problem::argument(field, format!("goes with decision {name} only")));
            }
            (false, true) => {
                return Err(Problem::argument(field, format!("is required with decision {name}")));
            }
            (true, true) | (false, false) => {}
        }
    }
    Ok(())
}

/// Each kind of ask has its own action.
fn fits(action: usize, ask: &AskView) -> Result<(), Problem> {
    let right = match ask.kind {
        AskKind::Command | AskKind::FileChange | AskKind::Permissions => "respond_permission",
        AskKind::Question => "respond_user_input",
        // A tool call is a yes or no, whatever the protocol calls it.
        AskKind::Elicitation
            if action == PERMISSION && matches!(ask.subject, Subject::Tool { .. }) =>
        {
            return Ok(());
        }
        AskKind::Elicitation => "respond_elicitation",
    };
    if super::check::ACTIONS[action] == right {
        return Ok(());
    }
    Err(Problem::argument("action", format!("this request is answered with {right}")))
}
