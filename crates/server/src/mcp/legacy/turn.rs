//! The wait for the end of a turn, with all that happens meanwhile.

use std::{
    collections::BTreeMap,
    pin::Pin,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use pilothouse::{Broker, Error, Said};
use pilothouse_core::{
    AgentError, AskId, AskView, Intent, Seq, SessionId, SessionView, Subject, TurnId, TurnStatus,
    TurnView,
};
use pilothouse_store::{AskFilter, MAX_PAGE};
use rmcp::{
    ServiceError,
    model::{CallToolResult, ClientResult, CustomRequest, RequestId, ServerRequest},
    service::PeerRequestOptions,
};
use serde_json::Value;

use super::{
    super::{Call, PROGRESS_EVERY, READING, actions, check, elicit, start},
    LOOK_AGAIN,
    forms::{self, Reception},
    told,
};
use crate::mcp::problem::Problem;

/// Most asks of one session that are shown.
const MAX_ASKS: usize = 50;
/// Events that are searched, from the end of the log, for how an earlier turn ended.
const NEAR_END: u64 = 900;
/// How long an interrupted turn may take to end.
const INTERRUPT_PATIENCE: Duration = Duration::from_secs(3);

type Reply = (AskId, Result<ClientResult, ServiceError>, Duration);
type Replies = FuturesUnordered<Pin<Box<dyn Future<Output = Reply> + Send>>>;

enum Happening {
    Grown(Box<Result<SessionView, Error>>),
    Replied(Reply),
    Quiet,
    TakenBack,
    Leaving,
}

/// An ask that was told, and the client's name for the form if it was shown one.
struct Told {
    ask: AskView,
    form: Option<RequestId>,
}

/// A call that waits for its turn.
struct Waiting<'a, 'b> {
    call: &'a Call<'b>,
    broker: &'a Broker,
    told: BTreeMap<AskId, Told>,
    replies: Replies,
    knows_thread: bool,
}

impl Call<'_> {
    pub(super) async fn to_the_end(
        &self,
        broker: &Broker,
        session: SessionId,
        turn: TurnId,
    ) -> Result<CallToolResult, Problem> {
        let mut waiting = Waiting {
            call: self,
            broker,
            told: BTreeMap::new(),
            replies: FuturesUnordered::new(),
            knows_thread: false,
        };
        let mut quiet = tokio::time::interval(PROGRESS_EVERY);
        quiet.reset();
        let mut view = broker.session(session).await?;
        loop {
            waiting.tell_thread(&view).await;
            waiting.look_at_asks(&view).await?;
            if let Some(result) = outcome(broker, &view, turn).await? {
                return Ok(result);
            }
            let grown = broker.wait_past(session, view.last_seq, LOOK_AGAIN);
            let happening = tokio::select! {
                view = grown => Happening::Grown(Box::new(view)),
                Some(reply) = waiting.replies.next() => Happening::Replied(reply),
                _ = quiet.tick() => Happening::Quiet,
                () = self.context.ct.cancelled() => Happening::TakenBack,
                () = self.server.leaving.cancelled() => Happening::Leaving,
            };
            match happening {
                Happening::Grown(grown) => view = (*grown)?,
                Happening::Replied((ask, reply, took)) => {
                    waiting.take(ask, reply, took).await;
                    view = broker.session(session).await?;
                }
                Happening::Quiet => waiting.say("waiting for Codex".to_owned()).await,
                Happening::TakenBack => {
                    broker.act(session, Intent::Interrupt, &self.server.caller).await?;
                    let over = |it: &SessionView| ended(it, turn).is_some() || it.turns > turn.0;
                    view = broker.wait_until(session, INTERRUPT_PATIENCE, over).await?;
                    waiting.look_at_asks(&view).await?;
                    let content = "The call was taken back and its turn interrupted.".to_owned();
                    return Ok(told(view.thread_id.as_deref(), content, true));
                }
                Happening::Leaving => {
                    let content = "Pilothouse is leaving; the turn is lost.".to_owned();
                    return Ok(told(view.thread_id.as_deref(), content, true));
                }
            }
        }
    }
}

impl Waiting<'_, '_> {
    /// A note to a client that wants to know; the first one tells the thread.
    async fn say(&mut self, message: String) {
        if self.knows_thread {
            self.call.say(message).await;
        }
    }

    async fn tell_thread(&mut self, view: &SessionView) {
        if let (Some(thread), false) = (&view.thread_id, self.knows_thread) {
            self.knows_thread = true;
            self.say(format!("threadId {thread}")).await;
        }
    }

    /// Tells of what is asked now, and withdraws what was settled elsewhere.
    async fn look_at_asks(&mut self, view: &SessionView) -> Result<(), Problem> {
        let mut pending = vec![];
        if view.pending_request_count > 0 {
            let filter =
                AskFilter { session: Some(view.session_id), opened_by: None, pending: true };
            pending = self.broker.asks(filter, MAX_ASKS, None).await?.rows;
            // Whose the session is can't be for its own client to say.
            pending.retain(|it| !matches!(it.subject, Subject::Adoption { .. }));
        }
        let settled: Vec<_> = self
            .told
            .keys()
            .copied()
            .filter(|id| !pending.iter().any(|it| it.ask() == *id))
            .collect();
        for id in settled {
            if let Some(Told { form: Some(form), .. }) = self.told.remove(&id) {
                elicit::withdraw(&self.call.context.peer, form).await;
            }
        }
        // The oldest first: it has waited longest.
        for ask in pending.into_iter().rev() {
            if !self.told.contains_key(&ask.ask()) {
                self.tell(view, ask).await;
            }
        }
        Ok(())
    }

    async fn tell(&mut self, view: &SessionView, ask: AskView) {
        let form = if self.call.shows_forms() { self.show(view, &ask).await } else { None };
        if form.is_none() {
            self.name_the_inbox(&ask).await;
        }
        self.told.insert(ask.ask(), Told { ask, form });
    }

    async fn show(&mut self, view: &SessionView, ask: &AskView) -> Option<RequestId> {
        let context = self.call.context;
        let thread = view.thread_id.as_deref().unwrap_or_default();
        let turn = view.last_turn.as_ref().and_then(|it| it.turn_id.as_deref());
        let params = forms::form(ask, thread, turn, &context.id.to_string())?;
        let request = CustomRequest::new("elicitation/create", Some(params));
        let request = ServerRequest::CustomRequest(request);
        let options = PeerRequestOptions::no_options();
        let handle = match context.peer.send_cancellable_request(request, options).await {
            Ok(handle) => handle,
            Err(error) => {
                tracing::debug!(%error, "could not ask the client");
                return None;
            }
        };
        let form = handle.id.clone();
        let (id, begin) = (ask.ask(), Instant::now());
        self.replies.push(Box::pin(async move {
            let reply = handle.await_response().await;
            (id, reply, begin.elapsed())
        }));
        Some(form)
    }

    async fn name_the_inbox(&mut self, ask: &AskView) {
        let place = self.call.console(self.broker).await;
        let place = place.unwrap_or_else(|| "a terminal with `pilothouse inbox`".to_owned());
        let line = actions::line(ask);
        self.say(format!("Codex asks, and a person can answer at {place}. {line}")).await;
    }

    /// Takes what the client said for an answer, if it is one.
    async fn take(&mut self, id: AskId, reply: Result<ClientResult, ServiceError>, took: Duration) {
        // It is no longer there to be withdrawn.
        let Some(told) = self.told.get_mut(&id) else { return };
        told.form = None;
        let ask = told.ask.clone();
        let server = self.call.server;
        let received = match &reply {
            Ok(reply) => forms::read(&ask, reply, took, server.reads_forms()),
            Err(error) => {
                tracing::debug!(%error, "the client did not show a form");
                Reception::NotShown
            }
        };
        if took >= READING && reply.is_ok() {
            server.note_reader(self.broker).await;
        }
        let client = self.call.client_name();
        let Reception::Answer(answer, reason) = received else {
            let why = format!("no person's answer after {} ms", took.as_millis());
            elicit::not_shown(server, self.broker, &ask, &client, why).await;
            self.name_the_inbox(&ask).await;
            return;
        };
        let by = elicit::person_at(&client);
        let digest = Some(ask.digest.clone());
        let said = Said { answer, digest, reason, note: None };
        if let Err(error) = self.broker.answer(ask.request_id, said, &by).await {
            // Someone else was first, or it does not fit: then the ask is still open elsewhere.
            tracing::debug!(%error, "a client's answer was not taken");
            self.name_the_inbox(&ask).await;
        }
    }
}

fn ended(view: &SessionView, turn: TurnId) -> Option<&TurnView> {
    view.last_turn.as_ref().filter(|it| it.turn == turn && it.ended_at.is_some())
}

/// What the call comes to, if its turn is over.
async fn outcome(
    broker: &Broker,
    view: &SessionView,
    turn: TurnId,
) -> Result<Option<CallToolResult>, Problem> {
    let thread = view.thread_id.as_deref();
    if let Some(AgentError { message: why, .. }) = start::failed_start(view) {
        return Ok(Some(told(None, format!("Failed to start Codex session: {why}"), true)));
    }
    if let Some(ended) = ended(view, turn) {
        return Ok(Some(result(thread, ended)));
    }
    // Someone else has sent it the next prompt already.
    if view.last_turn.as_ref().is_some_and(|it| it.turn > turn) {
        let after = Seq(view.last_seq.0.saturating_sub(NEAR_END));
        let page = broker.events(view.session_id, after, MAX_PAGE).await?;
        let found = page.events.iter().find_map(|it| check::as_ended(it, turn));
        let missing = || told(thread, "The turn is over.".to_owned(), false);
        return Ok(Some(found.map_or_else(missing, |it| result(thread, &it))));
    }
    if let (Some(error), false) = (&view.agent_error, view.attached) {
        return Ok(Some(told(thread, start::complete(&error.message), true)));
    }
    if view.cancelled_at.is_some() {
        let why = view.cancelled_reason.as_deref().unwrap_or("it was closed");
        return Ok(Some(told(thread, format!("The session is over: {why}."), true)));
    }
    Ok(None)
}

fn result(thread: Option<&str>, turn: &TurnView) -> CallToolResult {
    let output = turn.output.clone();
    let error = || turn.error.as_ref().map(|it| words(&it.message, &it.detail));
    match turn.status {
        TurnStatus::Completed => told(thread, output.unwrap_or_default(), false),
        TurnStatus::Interrupted => {
            told(thread, output.unwrap_or_else(|| "The turn was interrupted.".to_owned()), true)
        }
        TurnStatus::Failed | TurnStatus::Lost | TurnStatus::Requested | TurnStatus::Started => {
            told(thread, error().unwrap_or_else(|| "The turn failed.".to_owned()), true)
        }
    }
}

fn words(message: &str, detail: &Value) -> String {
    match detail.get("additionalDetails").and_then(Value::as_str) {
        Some(more) => format!("{message} ({more})"),
        None => message.to_owned(),
    }
}
