//! What is answered without a person, and why: rules in order, of which the strictest wins.

use std::fmt;

use crate::{Answer, Ask, Decision};

/// What a rule says about an ask. Later is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleOutcome {
    /// The rule is not about this ask.
    Silent,
    /// Answer yes, once.
    Allow,
    /// A person must say.
    Ask,
    /// Answer no.
    Refuse,
}

/// A rule: a name that stands in the log, and what it says.
pub struct Rule {
    /// Its name.
    pub name: String,
    /// What it says about an ask. It must not have effects.
    pub says: Box<dyn Fn(&Ask) -> RuleOutcome + Send + Sync>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All rules that hold for a session. Without rules every ask goes to a person.
#[derive(Debug, Default)]
pub struct Policy {
    /// The rules; their order decides only which name stands in the log.
    pub rules: Vec<Rule>,
}

/// What becomes of an ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// A person must say.
    Person,
    /// A rule has said.
    Answered {
        /// What.
        answer: Answer,
        /// Which.
        rule: String,
    },
}

impl Policy {
    /// Weighs an ask. An answer that the agent does not take, and any secret, goes to a person.
    pub fn verdict(&self, ask: &Ask) -> Verdict {
        let mut strictest: Option<(RuleOutcome, &str)> = None;
        for rule in &self.rules {
            let outcome = (rule.says)(ask);
            if strictest.is_none_or(|(it, _)| outcome > it) {
                strictest = Some((outcome, &rule.name));
            }
        }
        let (decision, rule) = match strictest {
            Some((RuleOutcome::Allow, rule)) => (Decision::Accept, rule),
            Some((RuleOutcome::Refuse, rule)) => (Decision::Decline, rule),
            Some((RuleOutcome::Silent | RuleOutcome::Ask, _)) | None => return Verdict::Person,
        };
        let answer = Answer::plain(decision);
        if ask.is_secret() || ask.check(&answer).is_err() {
            return Verdict::Person;
        }
        Verdict::Answered { answer, rule: rule.to_owned() }
    }
}
