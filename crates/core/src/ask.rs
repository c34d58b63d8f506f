//! What an agent can't go on without: asks, the answers to them, and how they stop being pending.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AskId, Question, QuestionOption, SubAgent, Subject, TurnId, form};

/// A choice about an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    /// Yes, once.
    Accept,
    /// Yes, and the same again in this thread.
    AcceptForSession,
    /// Yes, and from now on everywhere.
    AcceptAlways,
    /// Yes, and commands that begin like this from now on everywhere.
    AcceptWithExecpolicyAmendment,
    /// Yes or no, and the same for this host from now on everywhere.
    ApplyNetworkPolicyAmendment,
    /// No; carry on without it.
    Decline,
    /// No; and stop the turn.
    Cancel,
}

/// How far a decision reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reach {
    /// This ask alone.
    Once,
    /// The rest of the turn.
    Turn,
    /// The rest of the thread.
    Thread,
    /// Everything on this machine that shares the agent's configuration.
    Always,
}

/// A host and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkAmendment {
    /// `allow` or `deny`.
    pub action: String,
    /// The host.
    pub host: String,
}

/// A decision that the agent takes, and its true reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The decision.
    pub decision: Decision,
    /// How far it reaches.
    pub reach: Reach,
    /// The beginning of commands that it would allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execpolicy_amendment: Option<Vec<String>>,
    /// The host that it would be about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_policy_amendment: Option<NetworkAmendment>,
}

impl Offer {
    /// A decision without an amendment.
    pub fn plain(decision: Decision, reach: Reach) -> Self {
        Self { decision, reach, execpolicy_amendment: None, network_policy_amendment: None }
    }
}

/// What was said to an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Answer {
    /// To an approval.
    Decided {
        /// The decision.
        decision: Decision,
        /// The beginning of commands to allow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execpolicy_amendment: Option<Vec<String>>,
        /// The host to allow or deny.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        network_policy_amendment: Option<NetworkAmendment>,
    },
    /// To questions: what was chosen or written, by question.
    Chosen {
        /// By question: the names of options, or free text where there are none.
        answers: BTreeMap<String, Vec<String>>,
        /// By question: what was written instead of an option that has a name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        other: BTreeMap<String, String>,
    },
    /// To a form: its content.
    Filled {
        /// The fields.
        content: Value,
    },
    /// To secret questions, as it is recorded: the words went to the agent only.
    Redacted,
}

impl Answer {
    /// Options, or words where there are none.
    pub fn chosen(answers: BTreeMap<String, Vec<String>>) -> Self {
        Self::Chosen { answers, other: BTreeMap::new() }
    }

    /// A decision without an amendment.
    pub fn plain(decision: Decision) -> Self {
        Self::Decided { decision, execpolicy_amendment: None, network_policy_amendment: None }
    }
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Actor {
    /// A person.
    Human {
        /// The surface: `console`, `cli`, `rest` or an MCP client's name.
        via: String,
        /// The surface made sure that it is a person.
        verified: bool,
    },
    /// A program, often a model.
    Caller {
        /// Which.
        id: String,
    },
    /// A rule.
    Policy {
        /// Which.
        rule: String,
    },
    /// Time passed.
    Clock,
    /// The agent itself.
    Agent,
    /// Pilothouse itself: recovery, clean-up.
    Node,
}

/// How an ask stopped being pending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Settled {
    /// Someone answered.
    Answered {
        /// What they said.
        answer: Answer,
        /// Who they are.
        by: Actor,
        /// Why, for the agent to read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// A note that stays in the log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The answer named the digest of what was shown.
        bound: bool,
    },
    /// Nobody answered in time.
    Expired {
        /// How many seconds it waited.
        waited_s: u64,
        /// What a rule said for this case.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Answer>,
    },
    /// The agent stopped waiting.
    Withdrawn,
    /// The agent that asked is gone.
    Lost,
}

/// What is said for a person who did not answer in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnExpiry {
    /// Nothing: nobody answered, and that is what is told.
    #[default]
    Expire,
    /// No.
    Decline,
    /// No, and stop.
    Cancel,
    /// It does not expire.
    Wait,
    /// What is chosen before anyone chooses; a question without that expires.
    Default,
}

impl OnExpiry {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_expire(&self) -> bool {
        *self == Self::Expire
    }
}

/// Something that the agent can't go on without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// Its number.
    pub id: AskId,
    /// The agent's name for the request.
    pub key: String,
    /// The turn it belongs to, if one is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The item it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// What it is about.
    pub subject: Subject,
    /// The answers that the agent takes.
    pub offers: Vec<Offer>,
    /// Why the agent asks, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The fingerprint of the subject.
    pub digest: String,
    /// The request as the agent sent it.
    pub params: Value,
    /// The sub-agent that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<SubAgent>,
    /// Who asks, if it is not the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<Actor>,
    /// When it was raised.
    pub raised_at: Timestamp,
    /// When it will expire, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// What is said then.
    #[serde(default, skip_serializing_if = "OnExpiry::is_expire")]
    pub on_expiry: OnExpiry,
}

/// Why an answer does not fit an ask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Misfit {
    /// The field at fault.
    pub field: String,
    /// What is wrong and what was expected.
    pub problem: String,
}

impl Misfit {
    pub(crate) fn new(field: &str, problem: impl Into<String>) -> Self {
        Self { field: field.to_owned(), problem: problem.into() }
    }
}

impl Ask {
    /// Whether an agent waits for it. What a caller asks has nothing to do with agent and turn.
    pub fn is_of_agent(&self) -> bool {
        self.asked_by.is_none() && self.adopter().is_none()
    }

    /// Whether it is a command that a caller would run itself.
    pub(crate) fn is_callers_command(&self) -> bool {
        self.asked_by.is_some() && matches!(self.subject, Subject::Command { .. })
    }

    /// What is said for a person who did not answer in time; nothing if that is all there is to say.
    pub(crate) fn answer_on_expiry(&self) -> Option<Answer> {
        let answer = match self.on_expiry {
            OnExpiry::Expire | OnExpiry::Wait => return None,
            OnExpiry::Decline => Answer::plain(Decision::Decline),
            OnExpiry::Cancel => Answer::plain(Decision::Cancel),
            OnExpiry::Default => self.default_answer()?,
        };
        self.check(&answer).is_ok().then_some(answer)
    }

    /// What is chosen before anyone chooses. Silence is never a yes to an approval.
    fn default_answer(&self) -> Option<Answer> {
        match &self.subject {
            Subject::Question { questions } => {
                let each = questions.iter().map(|it| {
                    let chosen = it.default.clone().or_else(|| {
                        let first = it.options.as_ref()?.first()?;
                        Some(first.name().to_owned())
                    });
                    Some((it.id.clone(), vec![chosen?]))
                });
                let answers = each.collect::<Option<_>>()?;
                Some(Answer::chosen(answers))
            }
            Subject::Form { schema, .. } => {
                Some(Answer::Filled { content: form::defaults(schema)? })
            }
            Subject::Command { .. }
            | Subject::FileChange { .. }
            | Subject::Permissions { .. }
            | Subject::Url { .. }
            | Subject::Tool { .. }
            | Subject::Adoption { .. } => None,
        }
    }

    /// The caller that wants to have the session.
    pub(crate) fn adopter(&self) -> Option<&str> {
        match &self.subject {
            Subject::Adoption { caller, client: _ } => Some(caller),
            Subject::Command { .. }
            | Subject::FileChange { .. }
            | Subject::Permissions { .. }
            | Subject::Question { .. }
            | Subject::Form { .. }
            | Subject::Url { .. }
            | Subject::Tool { .. } => None,
        }
    }

    /// Whether its answer must not be seen by programs or be recorded.
    pub fn is_secret(&self) -> bool {
        match &self.subject {
            Subject::Question { questions } => questions.iter().any(|it| it.is_secret),
            Subject::Command { .. }
            | Subject::FileChange { .. }
            | Subject::Permissions { .. }
            | Subject::Form { .. }
            | Subject::Url { .. }
            | Subject::Tool { .. }
            | Subject::Adoption { .. } => false,
        }
    }

    /// Whether the answer is one that this ask can take.
    pub fn check(&self, answer: &Answer) -> Result<(), Misfit> {
        match (answer, &self.subject) {
            (Answer::Chosen { answers, other }, Subject::Question { questions }) => {
                check_choices(answers, other, questions)
            }
            (Answer::Filled { content }, Subject::Form { schema, .. }) => {
                form::check(content, schema)
            }
            (Answer::Decided { decision, .. }, Subject::Question { .. }) => match decision {
                Decision::Cancel => Ok(()),
                Decision::Decline if self.offers.iter().any(|it| it.decision == *decision) => {
                    Ok(())
                }
                Decision::Accept
                | Decision::AcceptForSession
                | Decision::AcceptAlways
                | Decision::AcceptWithExecpolicyAmendment
                | Decision::ApplyNetworkPolicyAmendment
                | Decision::Decline => {
                    Err(Misfit::new("answers", "this is a question: answer it with `answers`"))
                }
            },
            (Answer::Decided { decision: Decision::Accept, .. }, Subject::Form { schema, .. })
                if !form::is_empty(schema) =>
            {
                Err(Misfit::new("content", "accepting this form needs its fields in `content`"))
            }
            (
                Answer::Decided { decision, execpolicy_amendment, network_policy_amendment },
                Subject::Command { .. }
                | Subject::FileChange { .. }
                | Subject::Permissions { .. }
                | Subject::Form { .. }
                | Subject::Url { .. }
                | Subject::Tool { .. }
                | Subject::Adoption { .. },
            ) => self.check_decision(
                *decision,
                execpolicy_amendment.as_deref(),
                network_policy_amendment.as_ref(),
            ),
            (Answer::Chosen { .. }, _) => {
                Err(Misfit::new("answers", "only a question takes `answers`; give a `decision`"))
            }
            (Answer::Filled { .. }, _) => {
                Err(Misfit::new("content", "only a form takes `content`; give a `decision`"))
            }
            (Answer::Redacted, _) => {
                Err(Misfit::new("answer", "a redacted answer cannot be given again"))
            }
        }
    }

    fn check_decision(
        &self,
        decision: Decision,
        execpolicy: Option<&[String]>,
        network: Option<&NetworkAmendment>,
    ) -> Result<(), Misfit> {
        let mut offers = self.offers.iter().filter(|it| it.decision == decision).peekable();
        if offers.peek().is_none() {
            let taken: Vec<_> = self.offers.iter().map(|it| name(it.decision)).collect();
            let problem =
                format!("{} is not offered here; use one of: {}", name(decision), taken.join(", "));
            return Err(Misfit::new("decision", problem));
        }
        if execpolicy.is_some() && decision != Decision::AcceptWithExecpolicyAmendment {
            let problem = "goes with acceptWithExecpolicyAmendment only";
            return Err(Misfit::new("execpolicy_amendment", problem));
        }
        if network.is_some() && decision != Decision::ApplyNetworkPolicyAmendment {
            let problem = "goes with applyNetworkPolicyAmendment only";
            return Err(Misfit::new("network_policy_amendment", problem));
        }
        match decision {
            Decision::AcceptWithExecpolicyAmendment => {
                let given = execpolicy.filter(|it| !it.is_empty()).ok_or_else(|| {
                    Misfit::new("execpolicy_amendment", "this decision needs the command prefix")
                })?;
                // Narrower is longer: more leading words must match.
                let fits = |offer: &Offer| {
                    offer.execpolicy_amendment.as_ref().is_some_and(|it| given.starts_with(it))
                };
                if offers.any(fits) {
                    return Ok(());
                }
                let problem = "must be what the agent proposed, or begin with all of it";
                Err(Misfit::new("execpolicy_amendment", problem))
            }
            Decision::ApplyNetworkPolicyAmendment => {
                let given = network.ok_or_else(|| {
                    let problem = "this decision needs `action` and `host`";
                    Misfit::new("network_policy_amendment", problem)
                })?;
                if offers.any(|it| it.network_policy_amendment.as_ref() == Some(given)) {
                    return Ok(());
                }
                Err(Misfit::new("network_policy_amendment", "must be one that the agent proposed"))
            }
            Decision::Accept
            | Decision::AcceptForSession
            | Decision::AcceptAlways
            | Decision::Decline
            | Decision::Cancel => Ok(()),
        }
    }
}

fn check_choices(
    answers: &BTreeMap<String, Vec<String>>,
    other: &BTreeMap<String, String>,
    questions: &[Question],
) -> Result<(), Misfit> {
    for id in answers.keys().chain(other.keys()) {
        if !questions.iter().any(|it| it.id == *id) {
            let ids: Vec<_> = questions.iter().map(|it| it.id.as_str()).collect();
            let problem = format!("no question {id:?}; the questions are: {}", ids.join(", "));
            return Err(Misfit::new("answers", problem));
        }
    }
    for question in questions {
        let chosen = answers.get(&question.id).map_or(&[][..], Vec::as_slice);
        check_choice(chosen, other.get(&question.id).map(String::as_str), question)?;
    }
    Ok(())
}

/// An agent's own questions take any words. Where options have names, one of those is meant.
fn check_choice(chosen: &[String], other: Option<&str>, question: &Question) -> Result<(), Misfit> {
    let id = &question.id;
    let misfit = |problem: String| Err(Misfit::new("answers", problem));
    if chosen.is_empty() && other.is_none() {
        return misfit(format!("question {id:?} has no answer"));
    }
    let options = question.options.as_deref().unwrap_or_default();
    if options.iter().all(|it| it.id.is_none()) {
        return match other {
            Some(_) => misfit(format!("question {id:?} takes its free text in `answers`")),
            None => Ok(()),
        };
    }
    match other {
        Some(_) if !question.is_other => {
            return misfit(format!("question {id:?} takes one of its options only"));
        }
        Some(text) if text.trim().is_empty() => {
            return misfit(format!("question {id:?}: what else is meant must be written"));
        }
        Some(_) | None => {}
    }
    for (at, name) in chosen.iter().enumerate() {
        if !options.iter().any(|it| it.name() == name) {
            let names: Vec<_> = options.iter().map(QuestionOption::name).collect();
            let names = names.join(", ");
            return misfit(format!("question {id:?} has no option {name:?}; there are: {names}"));
        }
        if chosen[..at].contains(name) {
            return misfit(format!("question {id:?}: {name:?} is chosen twice"));
        }
    }
    if !question.multiple && chosen.len() + usize::from(other.is_some()) > 1 {
        return misfit(format!("question {id:?} takes one answer"));
    }
    Ok(())
}

/// A decision as it is written.
pub fn name(decision: Decision) -> &'static str {
    match decision {
        Decision::Accept => "accept",
        Decision::AcceptForSession => "acceptForSession",
        Decision::AcceptAlways => "acceptAlways",
        Decision::AcceptWithExecpolicyAmendment => "acceptWithExecpolicyAmendment",
        Decision::ApplyNetworkPolicyAmendment => "applyNetworkPolicyAmendment",
        Decision::Decline => "decline",
        Decision::Cancel => "cancel",
    }
}
