//! Rules that answer asks without a person: what `[[rules]]` in the settings says, held to its own
//! examples.
//!
//! [`Rules::parse`] reads them, [`Rules::policy`] makes of them what holds in a [`Scene`], and a
//! [`PolicySource`] brings that to a broker each time that an agent asks. [`parts()`] takes an ask
//! apart: a command line into its simple commands, a change into its files. `docs/rules.md` says
//! what a rule can say.

mod about;
mod examples;
mod hidden;
mod parse;
mod parts;
mod place;
mod source;

use jiff::Timestamp;
use pilothouse_core::{OnExpiry, Policy, Rule, RuleOutcome, SessionId};

use self::place::is_within;
pub use self::{
    about::{About, Paths},
    examples::command_ask,
    parse::RulesError,
    parts::parts,
    source::PolicySource,
};

/// Most rules in a file; each is held against each part of each ask.
pub const MAX_RULES: usize = 256;

/// Where an ask is raised, as far as rules make a difference by it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scene<'a> {
    /// The session.
    pub session: Option<SessionId>,
    /// The directory that it works in, absolute.
    pub workspace: Option<&'a str>,
}

/// A rule as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenRule {
    /// Its name, which no other rule of the file has.
    pub name: String,
    /// What it is about.
    pub about: About,
    /// What it says; silent if it only says what happens when nobody answers.
    pub outcome: RuleOutcome,
    /// What is said for a person who does not answer.
    pub on_expiry: Option<OnExpiry>,
    /// It holds only for work in this directory or below.
    pub workspace: Option<String>,
    /// It holds only in this session.
    pub session: Option<SessionId>,
    /// It holds only for asks that are raised before.
    pub expires: Option<Timestamp>,
    /// Lines or paths that it matches, which was seen to.
    pub examples: Vec<String>,
    /// Lines or paths that it does not match, which was seen to as well.
    pub counterexamples: Vec<String>,
}

/// The rules of a file, in its order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    rules: Vec<WrittenRule>,
}

impl Rules {
    /// Reads the `rules` of a settings' file; what else is in it is not looked at. A file with one
    /// bad rule, or with one example that its rule does not meet, is refused whole.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        parse::parse(text).map(|rules| Self { rules })
    }

    /// The rules in the file's order.
    pub fn iter(&self) -> impl Iterator<Item = &WrittenRule> {
        self.rules.iter()
    }

    /// The rule of that name.
    pub fn find(&self, name: &str) -> Option<&WrittenRule> {
        self.rules.iter().find(|it| it.name == name)
    }

    /// Only some of them.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&WrittenRule) -> bool) -> Self {
        Self { rules: self.rules.iter().filter(|it| wanted(it)).cloned().collect() }
    }

    /// These rules and others.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        Self { rules: self.rules.iter().chain(&others.rules).cloned().collect() }
    }

    /// What is left of them when nothing may be allowed: those that refuse or ask still hold.
    #[must_use]
    pub fn without_allowing(&self) -> Self {
        let rules = self.rules.iter().cloned().map(|it| match it.outcome {
            RuleOutcome::Allow => WrittenRule { outcome: RuleOutcome::Silent, ..it },
            RuleOutcome::Silent | RuleOutcome::Ask | RuleOutcome::Refuse => it,
        });
        Self { rules: rules.collect() }
    }

    /// What holds in a scene.
    pub fn policy(&self, scene: &Scene<'_>) -> Policy {
        let rules =
            self.rules.iter().filter(|it| it.session.is_none_or(|it| scene.session == Some(it)));
        Policy { rules: rules.map(|it| it.compile(scene)).collect(), parts }
    }
}

impl WrittenRule {
    fn compile(&self, scene: &Scene<'_>) -> Rule {
        let Self { about, outcome, workspace, expires, .. } = self.clone();
        let is_strict = outcome != RuleOutcome::Allow;
        let home = scene.workspace.map(str::to_owned);
        let matches = move |ask: &pilothouse_core::Ask, part: &pilothouse_core::Part| {
            expires.is_none_or(|it| ask.raised_at < it)
                && workspace
                    .as_ref()
                    .is_none_or(|it| is_within(it, home.as_deref(), &part.piece, is_strict))
                && about.matches(ask, part, home.as_deref(), is_strict)
        };
        Rule::new(&self.name, outcome, matches).unanswered(self.on_expiry)
    }
}
