//! What is answered without a person, and why: rules about the parts of an ask; the strictest wins.

use std::{collections::BTreeSet, fmt};

use crate::{Answer, Ask, Decision, OnExpiry, Subject};

/// What a rule says about what it matches. Later is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleOutcome {
    /// Nothing: it is about what happens when nobody answers.
    Silent,
    /// Answer yes, once.
    Allow,
    /// A person must say.
    Ask,
    /// Answer no.
    Refuse,
}

/// How much of a part is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Clarity {
    /// Not all of it, so that no rule may allow it.
    Opaque,
    /// All of it; whether it may be is for the rules to say.
    Clear,
    /// All of it, and it only reads: beside what a rule allows it needs none of its own.
    Harmless,
}

/// What a part of an ask is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// The ask as a whole.
    Whole,
    /// A simple command of a line.
    Command {
        /// Its words.
        argv: Vec<String>,
        /// Words that it may run as a command in turn, and other ways to read its own: what a rule
        /// that is strict looks at too.
        hidden: Vec<Vec<String>>,
        /// The directories that it may run in; nothing if one of them is not known.
        dirs: Option<Vec<String>>,
    },
    /// A file of a change.
    File {
        /// Where it is, or where it goes.
        path: String,
    },
}

/// A part of an ask, which the rules judge by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub piece: Piece,
    /// How much of it is understood.
    pub clarity: Clarity,
}

impl Part {
    /// An ask as a whole, which a rule may allow.
    pub fn whole(_: &Ask) -> Vec<Self> {
        vec![Self { piece: Piece::Whole, clarity: Clarity::Clear }]
    }
}

type Matches = dyn Fn(&Ask, &Part) -> bool + Send + Sync;

/// A rule: a name that stands in the log, what it is about, and what it says.
pub struct Rule {
    /// Its name.
    pub name: String,
    /// What it says about a part that it matches.
    pub outcome: RuleOutcome,
    /// What is said for a person who does not answer an ask with such a part.
    pub on_expiry: Option<OnExpiry>,
    matches: Box<Matches>,
}

impl Rule {
    /// A rule about the parts of asks that match; what matches must not have effects. It says
    /// nothing of what happens when nobody answers.
    pub fn new(
        name: &str,
        outcome: RuleOutcome,
        matches: impl Fn(&Ask, &Part) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), outcome, on_expiry: None, matches: Box::new(matches) }
    }

    /// The same rule, which says this for a person who does not answer.
    #[must_use]
    pub fn unanswered(self, on_expiry: Option<OnExpiry>) -> Self {
        Self { on_expiry, ..self }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("name", &self.name)
            .field("outcome", &self.outcome)
            .field("on_expiry", &self.on_expiry)
            .finish_non_exhaustive()
    }
}

/// All rules that hold for a session. Without rules every ask goes to a person.
#[derive(Debug)]
pub struct Policy {
    /// The rules; their order decides only which name stands in the log.
    pub rules: Vec<Rule>,
    /// Takes an ask apart. It must not have effects.
    pub parts: fn(&Ask) -> Vec<Part>,
}

impl Default for Policy {
    fn default() -> Self {
        Self { rules: vec![], parts: Part::whole }
    }
}

/// What becomes of an ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// A person must say.
    Person,
    /// A rule has said, or several together.
    Answered {
        /// What.
        answer: Answer,
        /// Which; several are separated by commas.
        rule: String,
    },
}

/// A part, and the rules that are about it.
#[derive(Debug)]
pub struct Weighed<'a> {
    /// The part.
    pub part: Part,
    /// The rules, in their order.
    pub rules: Vec<&'a Rule>,
}

impl Weighed<'_> {
    fn says(&self, outcome: RuleOutcome) -> impl Iterator<Item = &Rule> {
        self.rules.iter().copied().filter(move |it| it.outcome == outcome)
    }

    /// Whether a rule allows it, or it needs none.
    fn is_free(&self) -> bool {
        match self.part.clarity {
            Clarity::Opaque => false,
            Clarity::Clear => self.says(RuleOutcome::Allow).next().is_some(),
            Clarity::Harmless => true,
        }
    }
}

impl Policy {
    /// Rules about asks that are not taken apart.
    pub fn of(rules: Vec<Rule>) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Weighs an ask. It is refused for one part that a rule refuses, and allowed if each part is
    /// allowed by a rule or harmless, one at least by a rule. What the agent does not take for an
    /// answer goes to a person, and so does what only a person may say.
    pub fn verdict(&self, ask: &Ask) -> Verdict {
        if self.rules.is_empty() || is_for_people(ask) {
            return Verdict::Person;
        }
        let weighed = self.weigh(ask);
        let says = |outcome| weighed.iter().flat_map(move |it| it.says(outcome));
        if let Some(rule) = says(RuleOutcome::Refuse).next() {
            // Not every request takes a plain no; the other one stops the turn as well.
            let answers = [Decision::Decline, Decision::Cancel].map(Answer::plain);
            let taken = answers.into_iter().find(|it| ask.check(it).is_ok());
            return taken.map_or(Verdict::Person, |answer| Verdict::Answered {
                answer,
                rule: rule.name.clone(),
            });
        }
        let allowed: BTreeSet<&str> = says(RuleOutcome::Allow).map(|it| it.name.as_str()).collect();
        let answer = Answer::plain(Decision::Accept);
        let is_free = says(RuleOutcome::Ask).next().is_none()
            && weighed.iter().all(Weighed::is_free)
            && !allowed.is_empty();
        if !is_free || ask.check(&answer).is_err() {
            return Verdict::Person;
        }
        let rule = allowed.into_iter().collect::<Vec<_>>().join(", ");
        Verdict::Answered { answer, rule }
    }

    /// What is said for a person who does not answer; nothing if no rule is about that. Of several
    /// the strictest is said: stopping, then no, then waiting, then what was chosen beforehand.
    pub fn on_expiry(&self, ask: &Ask) -> Option<OnExpiry> {
        if self.rules.iter().all(|it| it.on_expiry.is_none())
            || ask.is_secret()
            || matches!(ask.subject, Subject::Adoption { .. })
        {
            return None;
        }
        let weighed = self.weigh(ask);
        let said = weighed.iter().flat_map(|it| &it.rules).filter_map(|it| it.on_expiry);
        said.max_by_key(|it| match it {
            OnExpiry::Expire => 0,
            OnExpiry::Default => 1,
            OnExpiry::Wait => 2,
            OnExpiry::Decline => 3,
            OnExpiry::Cancel => 4,
        })
    }

    /// The parts of an ask, each with the rules that are about it.
    pub fn weigh(&self, ask: &Ask) -> Vec<Weighed<'_>> {
        let mut parts = (self.parts)(ask);
        if parts.is_empty() {
            // Nothing to look at is nothing to agree to.
            parts.push(Part { piece: Piece::Whole, clarity: Clarity::Opaque });
        }
        let weighed = parts.into_iter().map(|part| {
            let rules = self.rules.iter().filter(|it| (it.matches)(ask, &part)).collect();
            Weighed { part, rules }
        });
        weighed.collect()
    }
}

/// Whether no rule may answer it, whatever it says.
fn is_for_people(ask: &Ask) -> bool {
    match &ask.subject {
        Subject::Question { .. } | Subject::Form { .. } | Subject::Adoption { .. } => true,
        Subject::Command { .. }
        | Subject::FileChange { .. }
        | Subject::Permissions { .. }
        | Subject::Url { .. }
        | Subject::Tool { .. } => ask.is_secret(),
    }
}
