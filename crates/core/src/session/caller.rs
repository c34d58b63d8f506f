//! What callers ask people themselves, without an agent between, and the commands that they then
//! run.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    MAX_PENDING_ADOPTIONS, MAX_PENDING_ASKS, MAX_PENDING_QUESTIONS, Moment, Session, Step,
    from_agent::raise,
};
use crate::{
    Actor, Ask, AskId, COLLECT_WITHIN_S, CommandProgress, CommandResult, Decision, Event, Offer,
    Patience, Reach, Refusal, Settled, Subject,
};

/// What a caller asks a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallerRequest {
    /// The caller's name for it. What is asked again under a name that waits is not raised again.
    pub key: String,
    /// What it is about.
    pub subject: Subject,
    /// Why, in the caller's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long it waits.
    #[serde(default)]
    pub patience: Patience,
}

impl Session {
    /// Only a person answers, but for a command, which rules may speak of.
    pub(super) fn on_ask(
        &self,
        moment: &Moment<'_>,
        request: CallerRequest,
        by: &Actor,
    ) -> Result<Step, Refusal> {
        let CallerRequest { key, subject, reason, patience } = request;
        if self.asks.values().any(|it| it.key == key && it.asked_by.as_ref() == Some(by)) {
            return Ok(Step::default());
        }
        match &subject {
            Subject::Command { .. }
            | Subject::Question { .. }
            | Subject::Form { .. }
            | Subject::Url { .. } => {}
            Subject::FileChange { .. }
            | Subject::Permissions { .. }
            | Subject::Tool { .. }
            | Subject::Adoption { .. } => {
                let problem = "a caller asks about commands, questions, forms and pages only";
                return Err(misfit("subject", problem.to_owned()));
            }
        }
        let mut offers = [Decision::Accept, Decision::Decline, Decision::Cancel]
            .map(|it| Offer::plain(it, Reach::Once))
            .to_vec();
        if matches!(subject, Subject::Question { .. }) {
            offers.retain(|it| it.decision != Decision::Accept);
        }
        if self.asks.len() >= MAX_PENDING_ASKS {
            let problem = format!("{MAX_PENDING_ASKS} requests are pending already");
            return Err(misfit("session", problem));
        }
        let is_question = !matches!(subject, Subject::Command { .. });
        let questions =
            self.asks.values().filter(|it| it.asked_by.is_some() && !it.is_callers_command());
        if is_question && questions.count() >= MAX_PENDING_QUESTIONS {
            let problem = format!("{MAX_PENDING_QUESTIONS} questions are pending already");
            return Err(misfit("session", problem));
        }
        let mut ask = self.callers_ask(key, subject, offers, moment);
        if ask.is_secret() {
            let problem = "a caller must not ask for secrets; send the person to a page instead";
            return Err(misfit("questions", problem.to_owned()));
        }
        ask.reason = reason;
        ask.asked_by = Some(by.clone());
        ask.expires_at = limit(patience, moment);
        Ok(raise(moment, ask))
    }

    /// Takes back what nobody has answered yet; what was settled stays as it is.
    pub(super) fn on_withdraw(&self, ask: AskId) -> Step {
        let of_caller = self.asks.get(&ask).filter(|it| it.asked_by.is_some());
        let record = of_caller.map(|it| Event::AskSettled { ask: it.id, how: Settled::Withdrawn });
        Step { record: record.into_iter().collect(), then: vec![] }
    }

    /// Being shown or not settles nothing.
    pub(super) fn on_not_shown(&self, ask: AskId, via: String, why: String) -> Step {
        let pending = self.asks.contains_key(&ask);
        let record = pending.then_some(Event::AskNotShown { ask, via, why });
        Step { record: record.into_iter().collect(), then: vec![] }
    }

    pub(super) fn on_start_command(
        &self,
        now: Timestamp,
        ask: AskId,
        by: &Actor,
    ) -> Result<Step, Refusal> {
        match self.commands.get(&ask) {
            None => Err(Refusal::NotAccepted),
            Some(CommandProgress::Started | CommandProgress::Ended { .. }) => {
                Err(Refusal::StartedAlready)
            }
            Some(CommandProgress::Accepted { at })
                if now.duration_since(*at) > SignedDuration::from_secs(COLLECT_WITHIN_S) =>
            {
                let limit_s = u32::try_from(COLLECT_WITHIN_S).unwrap_or(u32::MAX);
                Err(Refusal::AcceptedTooLongAgo { limit_s })
            }
            Some(CommandProgress::Accepted { .. }) => {
                let record = vec![Event::CommandStarted { ask, by: by.clone() }];
                Ok(Step { record, then: vec![] })
            }
        }
    }

    pub(super) fn on_end_command(
        &self,
        ask: AskId,
        result: CommandResult,
    ) -> Result<Step, Refusal> {
        match self.commands.get(&ask) {
            Some(CommandProgress::Started) => {
                let record = vec![Event::CommandEnded { ask, result }];
                Ok(Step { record, then: vec![] })
            }
            Some(CommandProgress::Accepted { .. } | CommandProgress::Ended { .. }) | None => {
                Err(Refusal::NotRunning)
            }
        }
    }

    /// The ask is nobody's but the caller's: turn and agent may come and go while it waits. No rule
    /// is asked, because whose a session is decides who may answer in it.
    pub(super) fn on_adopt(
        &self,
        moment: &Moment<'_>,
        client: Option<String>,
        by: &Actor,
    ) -> Result<Step, Refusal> {
        let Actor::Caller { id: caller } = by else {
            let problem = "only a caller asks for a session; a person may use any";
            return Err(misfit("adopt", problem.to_owned()));
        };
        let mut adopters = self.asks.values().filter_map(Ask::adopter);
        if self.owner() == Some(by) || adopters.any(|it| it == caller) {
            return Ok(Step::default());
        }
        if self.asks.values().filter(|it| it.adopter().is_some()).count() >= MAX_PENDING_ADOPTIONS {
            let problem = format!("{MAX_PENDING_ADOPTIONS} callers ask for the session already");
            return Err(misfit("adopt", problem));
        }
        let subject = Subject::Adoption { caller: caller.clone(), client };
        let offers = vec![
            Offer::plain(Decision::Accept, Reach::Always),
            Offer::plain(Decision::Decline, Reach::Once),
        ];
        let ask = Ask {
            expires_at: self.deadline(moment),
            ..self.callers_ask(format!("adopt-{}", self.asked + 1), subject, offers, moment)
        };
        Ok(Step { record: vec![Event::AskRaised { ask: Box::new(ask) }], then: vec![] })
    }

    /// Turn and agent may come and go while it waits.
    fn callers_ask(
        &self,
        key: String,
        subject: Subject,
        offers: Vec<Offer>,
        moment: &Moment<'_>,
    ) -> Ask {
        Ask {
            id: AskId(self.asked + 1),
            key,
            turn: None,
            item: None,
            digest: subject.digest(),
            subject,
            offers,
            reason: None,
            params: serde_json::Value::Null,
            agent: None,
            asked_by: None,
            raised_at: moment.now,
            expires_at: None,
            on_expiry: crate::OnExpiry::default(),
        }
    }
}

/// When an ask of such patience expires if it is raised now.
pub(super) fn limit(patience: Patience, moment: &Moment<'_>) -> Option<Timestamp> {
    let ms = patience.limit_ms(moment.human_present)?;
    let wait = SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX));
    Some(moment.now.checked_add(wait).unwrap_or(Timestamp::MAX))
}

fn misfit(field: &str, problem: String) -> Refusal {
    Refusal::Misfit { field: field.to_owned(), problem }
}
