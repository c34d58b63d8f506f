//! What an agent can't go on without: asks, the answers to them, and how they stop being pending.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{AskId, SubAgent, TurnId, form};

/// The kinds of thing that an agent can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AskKind {
    /// May I run this command?
    Command,
    /// May I change these files?
    FileChange,
    /// May I have these permissions, or this session?
    Permissions,
    /// Which of these do you want?
    #[serde(rename = "user_input")]
    Question,
    /// A form, a URL or a tool call of one of the agent's MCP servers.
    Elicitation,
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The file.
    pub path: String,
    /// `add`, `delete` or `update`.
    pub kind: String,
    /// Where it moves to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_path: Option<String>,
    /// The new content, the old content, or a unified hunk without file headers.
    pub diff: String,
}

/// One question of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Its name in the answer.
    pub id: String,
    /// A word or two.
    #[serde(default)]
    pub header: String,
    /// The question.
    #[serde(default)]
    pub question: String,
    /// A free answer is possible.
    #[serde(default)]
    pub is_other: bool,
    /// The answer must not be shown or recorded.
    #[serde(default)]
    pub is_secret: bool,
    /// What can be chosen; nothing means free text.
    #[serde(default)]
    pub options: Option<Vec<QuestionOption>>,
}

/// One answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// What is chosen.
    pub label: String,
    /// What that means.
    #[serde(default)]
    pub description: String,
}

/// What an ask is about, in full: what a person must see before answering.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Subject {
    /// A command.
    Command {
        /// The command line, as the agent's shell gets it.
        command: String,
        /// Where it runs.
        cwd: String,
        /// It is input for a terminal that runs outside the sandbox, not a command.
        #[serde(default)]
        write_stdin: bool,
        /// The host that a managed network wants to reach.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// Changes of files.
    FileChange {
        /// Each file.
        changes: Vec<Change>,
        /// The directory that would be opened for writing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant_root: Option<String>,
    },
    /// More permissions.
    Permissions {
        /// Which, in the agent's own words.
        permissions: Value,
        /// Where.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// Questions.
    Question {
        /// Each of them.
        questions: Vec<Question>,
    },
    /// A form of an MCP server.
    Form {
        /// The server.
        server: String,
        /// What it says.
        message: String,
        /// The form: a flat object schema.
        schema: Value,
    },
    /// A page that an MCP server wants opened.
    Url {
        /// The server.
        server: String,
        /// What it says.
        message: String,
        /// The page.
        url: String,
    },
    /// A call of an MCP server's tool.
    Tool {
        /// The server.
        server: String,
        /// What the agent says about it.
        message: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        params: Value,
    },
    /// The session itself: a caller wants to have it. No agent asks this, and none is told.
    Adoption {
        /// Who would have it.
        caller: String,
        /// What the caller's program calls itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<String>,
    },
}

impl Subject {
    /// The kind of ask that it makes.
    pub fn kind(&self) -> AskKind {
        match self {
            Self::Command { .. } => AskKind::Command,
            Self::FileChange { .. } => AskKind::FileChange,
            Self::Permissions { .. } | Self::Adoption { .. } => AskKind::Permissions,
            Self::Question { .. } => AskKind::Question,
            Self::Form { .. } | Self::Url { .. } | Self::Tool { .. } => AskKind::Elicitation,
        }
    }

    /// The fingerprint that binds an answer to what was shown.
    pub fn digest(&self) -> String {
        // Computed once, when the ask is raised, and on record from then on.
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        let hash = Sha256::digest(&bytes);
        hash.iter().fold(String::with_capacity(64), |res, it| {
            res + HEX[usize::from(it >> 4)] + HEX[usize::from(it & 15)]
        })
    }
}

const HEX: [&str; 16] =
    ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"];

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
        /// By question.
        answers: BTreeMap<String, Vec<String>>,
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
    },
    /// The agent stopped waiting.
    Withdrawn,
    /// The agent that asked is gone.
    Lost,
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
    /// When it was raised.
    pub raised_at: Timestamp,
    /// When it will expire, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
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
        self.adopter().is_none()
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
            (Answer::Chosen { answers }, Subject::Question { questions }) => {
                check_choices(answers, questions)
            }
            (Answer::Filled { content }, Subject::Form { schema, .. }) => {
                form::check(content, schema)
            }
            (Answer::Decided { decision, .. }, Subject::Question { .. }) => match decision {
                Decision::Cancel => Ok(()),
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
    questions: &[Question],
) -> Result<(), Misfit> {
    for id in answers.keys() {
        if !questions.iter().any(|it| it.id == *id) {
            let ids: Vec<_> = questions.iter().map(|it| it.id.as_str()).collect();
            let problem = format!("no question {id:?}; the questions are: {}", ids.join(", "));
            return Err(Misfit::new("answers", problem));
        }
    }
    for question in questions {
        if answers.get(&question.id).is_none_or(Vec::is_empty) {
            let problem = format!("question {:?} has no answer", question.id);
            return Err(Misfit::new("answers", problem));
        }
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
