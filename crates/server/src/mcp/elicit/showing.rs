//! A form at a client that is asked on its connection, from when it is shown until nobody needs it.
//!
//! It outlives the call that asked: a person may take longer to read than a call may stay open.

use std::{sync::Arc, time::Duration};

use pilothouse::{Broker, Error};
use pilothouse_core::{AskView, Refusal};
use rmcp::{
    RoleServer,
    model::{
        ClientResult, CustomNotification, CustomRequest, RequestId, ServerNotification,
        ServerRequest,
    },
    service::{Peer, PeerRequestOptions},
};
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};

use super::{
    super::Shared,
    Way, not_shown,
    reply::{self, Manners, Reception},
    said,
};

/// How long to wait before looking at a question again although nothing was heard of it.
const LOOK_AGAIN: Duration = Duration::from_mins(10);

/// Where a form stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The client has it, and may be showing it.
    Open,
    /// No person sees it there.
    NotShown,
    /// The client has replied for good.
    Over,
}

/// A form that was sent, and what becomes of it.
pub(super) struct Showing {
    pub(super) shared: Arc<Shared>,
    pub(super) broker: Broker,
    pub(super) peer: Peer<RoleServer>,
    pub(super) client: String,
    pub(super) ask: AskView,
    pub(super) way: Way,
}

enum Happening {
    Replied(Result<Value, String>),
    Settled,
    Silent,
    Leaving,
}

impl Showing {
    /// Shows it until it is settled, or the client has no more to say.
    pub(super) async fn run(self, tell: watch::Sender<Standing>) {
        let ask = self.ask.request_id;
        self.show(&tell).await;
        self.shared.desk.open().shown.remove(&ask);
    }

    async fn show(&self, tell: &watch::Sender<Standing>) {
        let mut refused = None;
        loop {
            let params = self.params(refused.as_deref());
            match self.once(params, tell).await {
                Some(Reception::Refused(problem)) if refused.is_none() => refused = Some(problem),
                Some(Reception::Refused(problem) | Reception::NotShown(problem)) => {
                    not_shown(&self.shared, &self.broker, &self.ask, &self.client, problem).await;
                    tell.send_replace(Standing::NotShown);
                    return;
                }
                Some(Reception::Answer(_) | Reception::Opened) | None => {
                    tell.send_replace(Standing::Over);
                    return;
                }
            }
        }
    }

    /// Shows it once; gives what the client said to it, if more is to be done about that.
    async fn once(&self, params: Value, tell: &watch::Sender<Standing>) -> Option<Reception> {
        let request = CustomRequest::new("elicitation/create", Some(params));
        let request = ServerRequest::CustomRequest(request);
        let options = PeerRequestOptions::no_options();
        let handle = match self.peer.send_cancellable_request(request, options).await {
            Ok(handle) => handle,
            Err(error) => return Some(Reception::NotShown(format!("could not be asked: {error}"))),
        };
        let (id, begin) = (handle.id.clone(), Instant::now());
        let reply = handle.await_response();
        tokio::pin!(reply);
        let silence = tokio::time::sleep(self.shared.options.silence);
        tokio::pin!(silence);
        let mut is_silent = self.shared.reads_forms();
        loop {
            let happening = tokio::select! {
                reply = &mut reply => Happening::Replied(match reply {
                    Ok(reply) => Ok(as_value(reply)),
                    Err(error) => Err(error.to_string()),
                }),
                view = self.broker.wait_settled(self.ask.request_id, LOOK_AGAIN) => match view {
                    Ok(view) if view.settlement.is_none() => continue,
                    Ok(_) | Err(_) => Happening::Settled,
                },
                () = &mut silence, if !is_silent => Happening::Silent,
                () = self.shared.leaving.cancelled() => Happening::Leaving,
            };
            match happening {
                Happening::Replied(Ok(reply)) => {
                    tell.send_replace(Standing::Open);
                    return self.take(&reply, begin.elapsed()).await;
                }
                Happening::Replied(Err(problem)) => {
                    return Some(Reception::NotShown(format!("no reply: {problem}")));
                }
                Happening::Settled => {
                    self.withdraw(id).await;
                    return None;
                }
                // A late reply is still taken: the form may be open all the same.
                Happening::Silent => {
                    is_silent = true;
                    let why =
                        format!("no reply within {} s", self.shared.options.silence.as_secs());
                    not_shown(&self.shared, &self.broker, &self.ask, &self.client, why).await;
                    tell.send_replace(Standing::NotShown);
                }
                Happening::Leaving => {
                    return Some(Reception::NotShown("the client left in mid-form".to_owned()));
                }
            }
        }
    }

    async fn take(&self, reply: &Value, took: Duration) -> Option<Reception> {
        let shared = &self.shared;
        let (reading, shows_forms) = (shared.options.reading, shared.reads_forms());
        let manners = Manners { took, reading, shows_forms };
        if manners.is_patient() && reply.get("action").is_some() {
            shared.note_reader(&self.broker).await;
        }
        match reply::read(&self.ask, self.way.is_page(), reply, manners) {
            Reception::Answer(answer) => {
                match self
                    .broker
                    .answer(self.ask.request_id, said(&self.ask, answer), &self.by())
                    .await
                {
                    Ok(_) => None,
                    Err(Error::Refused(Refusal::Misfit { field, problem })) => {
                        Some(Reception::Refused(format!("{field}: {problem}")))
                    }
                    // Someone else was first.
                    Err(error) => {
                        tracing::debug!(%error, "a client's answer was not taken");
                        None
                    }
                }
            }
            Reception::Opened => {
                self.at_the_page().await;
                None
            }
            Reception::Refused(problem) => Some(Reception::Refused(problem)),
            Reception::NotShown(why) => Some(Reception::NotShown(why)),
        }
    }

    fn by(&self) -> pilothouse_core::Actor {
        super::person_at(&self.client)
    }

    /// Waits for the answer that is given at a page, and says that it was.
    async fn at_the_page(&self) {
        if let Some(answer) = self.way.answer_of_page() {
            let said = said(&self.ask, answer);
            if let Err(error) = self.broker.answer(self.ask.request_id, said, &self.by()).await {
                tracing::debug!(%error, "a client's answer was not taken");
            }
        }
        loop {
            let settled = tokio::select! {
                view = self.broker.wait_settled(self.ask.request_id, LOOK_AGAIN) => view,
                () = self.shared.leaving.cancelled() => return,
            };
            match settled {
                Ok(view) if view.settlement.is_none() => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::debug!(%error, "could not wait for a page");
                    return;
                }
            }
        }
        self.complete().await;
    }

    fn params(&self, refused: Option<&str>) -> Value {
        let name = self.ask.request_id.to_string();
        let mut params = self.way.params(&name, refused);
        params["_meta"] = json!({ super::META: name });
        params
    }

    async fn withdraw(&self, form: RequestId) {
        super::withdraw(&self.peer, form).await;
        if self.way.is_page() {
            self.complete().await;
        }
    }

    /// Says that nothing is left to do at a page.
    async fn complete(&self) {
        let params = json!({ "elicitationId": self.ask.request_id.to_string() });
        let method = "notifications/elicitation/complete";
        let note = CustomNotification::new(method, Some(params));
        let note = ServerNotification::CustomNotification(note);
        if let Err(error) = self.peer.send_notification(note).await {
            tracing::debug!(%error, "could not say that a page is done with");
        }
    }
}

fn as_value(reply: ClientResult) -> Value {
    let ClientResult::CustomResult(whole) = reply else {
        return serde_json::to_value(reply).unwrap_or_default();
    };
    whole.0
}
