//! What Codex says, and what of it is asked.

use pilothouse_core::{Change, Decision, FromAgent, Offer, Reach, Request, Subject};
use serde_json::Value;

use super::{
    items,
    peer::{Asked, Peer, Phase, not_ready, refused},
};
use crate::app_server::{Output, wire::text};

/// What stands for a command that Codex asks about without naming it.
const UNNAMED: &str = "(Codex did not say which command)";

impl Peer {
    pub(super) fn on_event(&mut self, id: &str, event: &Value) -> Vec<Output> {
        let kind = text(event, &["type"]).unwrap_or_default();
        match (&self.phase, kind) {
            (Phase::New { .. }, "session_configured") => self.on_configured(event),
            (Phase::Leaving { .. }, "shutdown_complete") => {
                self.phase = Phase::Over;
                vec![Output::Broken { cause: "it was shut down".to_owned() }]
            }
            (Phase::Up { .. }, "exec_approval_request") => {
                let cwd = text(event, &["cwd"]).unwrap_or_default().to_owned();
                let body = items::command(&call(event), event);
                let command = text(&body, &["command"]).unwrap_or_default().to_owned();
                let command = if command.is_empty() { UNNAMED.to_owned() } else { command };
                let subject =
                    Subject::Command { command, argv: vec![], cwd, write_stdin: false, host: None };
                self.on_ask(id, event, body, subject, "exec_approval")
            }
            (Phase::Up { .. }, "apply_patch_approval_request") => {
                let body = items::patch(&call(event), event);
                let changes: Vec<Change> = items::changes(event);
                let grant_root = text(event, &["grant_root"]).map(ToOwned::to_owned);
                let subject = Subject::FileChange { changes, grant_root };
                self.on_ask(id, event, body, subject, "patch_approval")
            }
            (Phase::Up { .. }, _) => self.on_other(id, kind, event),
            (Phase::New { .. } | Phase::Leaving { .. } | Phase::Over, _) => vec![],
        }
    }

    fn on_configured(&mut self, event: &Value) -> Vec<Output> {
        let owned = |name: &str| text(event, &[name]).map(ToOwned::to_owned);
        let Some(thread) = owned("session_id") else {
            self.phase = Phase::Over;
            let cause = "Codex did not name the thread".to_owned();
            let told = self.seat.take().map(|it| not_ready(it.tag, &cause));
            return told.into_iter().chain([Output::Broken { cause }]).collect();
        };
        self.phase = Phase::Up { thread, model: owned("model"), effort: owned("reasoning_effort") };
        let mut outputs = vec![Output::Up { version: self.version.clone() }];
        outputs.extend(self.ready());
        outputs
    }

    /// Tells the session that it has its thread, once both are there.
    pub(super) fn ready(&self) -> Vec<Output> {
        let (Phase::Up { thread, model, effort }, Some(seat)) = (&self.phase, &self.seat) else {
            return vec![];
        };
        let mut facts = seat.facts.clone();
        facts.model = model.clone().or(facts.model);
        facts.effort = effort.clone().or(facts.effort);
        vec![Output::Said(seat.tag, FromAgent::Ready { thread: thread.clone(), facts })]
    }

    fn on_other(&mut self, id: &str, kind: &str, event: &Value) -> Vec<Output> {
        let Some(tag) = self.seat.as_ref().map(|it| it.tag) else { return vec![] };
        let is_awaited = self.awaited.as_ref().is_some_and(|it| it.submission == id);
        if is_awaited && matches!(kind, "task_started" | "entered_review_mode" | "error") {
            self.awaited = None;
        }
        if is_awaited && kind == "error" && self.events.turn().is_none() {
            let message = text(event, &["message"]).unwrap_or("Codex did not say why");
            return vec![refused(tag, message)];
        }
        let said = self.events.event(id, event);
        if said.iter().any(|it| matches!(it, FromAgent::TurnEnded { .. })) {
            self.asks.clear();
        }
        said.into_iter().map(|it| Output::Said(tag, it)).collect()
    }

    fn on_ask(
        &mut self,
        id: &str,
        event: &Value,
        body: Value,
        subject: Subject,
        op: &'static str,
    ) -> Vec<Output> {
        let Some(tag) = self.seat.as_ref().map(|it| it.tag) else { return vec![] };
        let call = call(event);
        let mut said = Vec::new();
        // Codex keeps one answer a submission in mind: of two questions the first is forgotten.
        let forgotten: Vec<_> =
            self.asks.iter().filter(|(_, it)| it.submission == id).map(|it| it.0.clone()).collect();
        for key in forgotten {
            self.asks.remove(&key);
            said.push(FromAgent::Settles { key });
        }
        said.extend(self.events.begin(&call, body));
        self.n_asks = self.n_asks.saturating_add(1);
        let key = format!("{}:{}", self.process, self.n_asks);
        let submission = id.to_owned();
        self.asks.insert(key.clone(), Asked { submission, call: call.clone(), op });
        let offers = [
            (Decision::Accept, Reach::Once),
            (Decision::AcceptForSession, Reach::Thread),
            (Decision::Decline, Reach::Once),
            (Decision::Cancel, Reach::Once),
        ];
        said.push(FromAgent::Asks(Box::new(Request {
            key,
            subject,
            offers: offers.into_iter().map(|(it, reach)| Offer::plain(it, reach)).collect(),
            reason: text(event, &["reason"]).map(ToOwned::to_owned),
            item: Some(call),
            params: event.clone(),
            agent: None,
            echo_of: None,
        })));
        said.into_iter().map(|it| Output::Said(tag, it)).collect()
    }
}

fn call(event: &Value) -> String {
    text(event, &["call_id"]).unwrap_or_default().to_owned()
}
