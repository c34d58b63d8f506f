//! One place that asks a person: at the client, in the way of its protocol, and at the same time in
//! the inbox, the console and on the command line. The first answer wins.
//!
//! A tool makes an [`Asking`] of its arguments and gives it to [`Call::ask`]; a call that comes back
//! for an earlier question gives its `askId` to [`Call::collect`]. Both give an [`Outcome`]:
//!
//! - [`Outcome::Settled`]: how it was settled, by whomever. Only the tool knows what that means for
//!   it; nothing but an accepting answer is a yes.
//! - [`Outcome::Pending`]: nobody has answered yet. [`Pending::reply`] is the tool's result then.
//! - [`Outcome::InputRequired`]: the client is to show the form and call again with the reply. It is
//!   the tool's result as it is; the next call's [`Call::ask`] goes on from there by itself.
//!
//! `fields` makes forms of questions and answers of what is filled in, `dialect` says them in each
//! version's words, `reply` judges whether a person was there, `showing` is a form on a connection,
//! and `ticket` what a client carries where there are no connections.

mod dialect;
pub(crate) mod fields;
mod reply;
mod showing;
mod ticket;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use pilothouse::{Broker, Error, Said};
use pilothouse_core::{
    Actor, Answer, Answerers, AskRef, AskView, CallerRequest, Decision, Intent, Refusal, Settled,
    Settlement, Subject,
};
use pilothouse_store::Presence;
use rmcp::{
    RoleServer,
    model::{
        CancelledNotification, CancelledNotificationParam, InputRequest, InputRequests,
        InputRequiredResult, InputResponses, RequestId,
    },
    service::Peer,
};
use serde_json::{Map, Value, json};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

pub(crate) use self::ticket::fingerprint;
use self::{
    dialect::Dialect,
    fields::Form,
    reply::{Manners, Reception},
    showing::{Showing, Standing},
    ticket::{Bound, Ticket},
};
use super::{
    Call, PROGRESS_EVERY, Reply, Shared,
    problem::{Code, Problem, who},
};

/// Where our forms name the question that they are about.
pub(crate) const META: &str = "pilothouse/ask";
/// The name of our one question in a result that asks.
const QUESTION: &str = "ask";
/// How often a client may come back without a reply and is asked again.
const MAX_ROUNDS: u8 = 5;
/// When a caller should look again for an answer, in milliseconds.
const RETRY_AFTER_MS: u64 = 5_000;
/// How long a call stays open for a client whose own limit rests while it shows a form.
const WHILE_SHOWN: Duration = Duration::from_hours(24);
/// How clients begin their names that are such.
const RESTS_WHILE_SHOWN: [&str; 1] = ["codex"];

/// What a tool wants to know of a person.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    /// The tool.
    pub(crate) tool: &'static str,
    /// The [`fingerprint`] of the call's arguments: a reply to another call is none to this one.
    pub(crate) arguments: String,
    /// The question.
    pub(crate) request: CallerRequest,
    /// What the form says beside the question, such as what is known of a command.
    pub(crate) note: Option<String>,
}

/// What asking came to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It is settled.
    Settled(Box<Answered>),
    /// Nobody has answered yet.
    Pending(Box<Pending>),
    /// The client is to show a form and call again.
    InputRequired(Box<InputRequiredResult>),
}

/// A question that is settled.
#[derive(Debug)]
pub(crate) struct Answered {
    /// The question, with its settlement.
    pub(crate) ask: AskView,
    /// How.
    pub(crate) settlement: Settlement,
    /// This call brought an answer too, and came too late with it.
    pub(crate) came_late: bool,
}

/// A question that waits.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The question.
    pub(crate) ask: AskView,
    /// Where a person can answer it.
    pub(crate) place: String,
}

impl Answered {
    /// What was answered, by a person or by what a rule says for silence; else nothing.
    pub(crate) fn answer(&self) -> Option<&Answer> {
        match &self.settlement.how {
            Settled::Answered { answer, .. } => Some(answer),
            Settled::Expired { answer, .. } => answer.as_ref(),
            Settled::Withdrawn | Settled::Lost => None,
        }
    }

    /// `accept`, `decline` or `cancel`. Whatever is no answer is a `cancel`.
    pub(crate) fn action(&self) -> &'static str {
        match self.answer() {
            Some(
                Answer::Chosen { .. }
                | Answer::Filled { .. }
                | Answer::Decided { decision: Decision::Accept, .. },
            ) => "accept",
            Some(Answer::Decided { decision: Decision::Decline, .. }) => "decline",
            Some(Answer::Decided { .. } | Answer::Redacted) | None => "cancel",
        }
    }

    /// How it ended, if no person's word ended it: `expired`, `withdrawn` or `lost`.
    pub(crate) fn outcome(&self) -> Option<&'static str> {
        match &self.settlement.how {
            Settled::Answered { .. } => None,
            Settled::Expired { .. } => Some("expired"),
            Settled::Withdrawn => Some("withdrawn"),
            Settled::Lost => Some("lost"),
        }
    }

    /// Why a person said so, in that person's words.
    pub(crate) fn reason(&self) -> Option<&str> {
        match &self.settlement.how {
            Settled::Answered { reason, .. } => reason.as_deref(),
            Settled::Expired { .. } | Settled::Withdrawn | Settled::Lost => None,
        }
    }

    /// Who settled it and when, in words.
    pub(crate) fn who_and_when(&self) -> String {
        let at = super::events::time(self.settlement.at);
        match &self.settlement.how {
            Settled::Answered { by, .. } => format!("{} at {at}", who(by)),
            Settled::Expired { waited_s, .. } => {
                format!("nobody within {waited_s} s, so it was given up at {at}")
            }
            Settled::Withdrawn => format!("nobody before it was withdrawn at {at}"),
            Settled::Lost => format!("nobody before it was lost at {at}"),
        }
    }

    /// The fields that every tool's result begins with, and a sentence about them.
    pub(crate) fn reply(&self) -> Reply {
        let action = self.action();
        let mut fields = Map::new();
        fields.insert("action".to_owned(), action.into());
        let mut text = match (action, self.outcome()) {
            (_, Some("expired")) if self.answer().is_some() => {
                "Nobody answered in time; a rule answers for that case.".to_owned()
            }
            (_, Some("expired")) => {
                "Nobody answered in time. This is no refusal by a person, and no consent."
                    .to_owned()
            }
            (_, Some(other)) => format!("The question was {other} before anyone answered."),
            ("accept", None) => format!("Answered by {}.", self.who_and_when()),
            ("decline", None) => format!("Declined by {}.", self.who_and_when()),
            (_, None) => format!("Dismissed by {}; no answer was given.", self.who_and_when()),
        };
        if let Some(outcome) = self.outcome() {
            fields.insert("outcome".to_owned(), outcome.into());
        }
        if let Some(reason) = self.reason() {
            fields.insert("reason".to_owned(), reason.into());
            text.extend([" Reason: ", reason]);
        }
        if self.came_late {
            fields.insert("settledBy".to_owned(), self.who_and_when().into());
            text = format!(
                "Already answered by {}; this reply came too late and changes nothing. {text}",
                self.who_and_when()
            );
        }
        Reply { fields, text }
    }
}

impl Pending {
    /// The result of a call whose question waits.
    pub(crate) fn reply(&self, tool: &str) -> Reply {
        let id = self.ask.request_id.to_string();
        let text = format!(
            "Nobody has answered yet, and nothing is decided. A person can answer at {}. To \
             collect the answer call {tool} with askId {id}.",
            self.place
        );
        let fields = json!({
            "action": "pending",
            "askId": id,
            "where": self.place,
            "retryAfterMs": RETRY_AFTER_MS,
            "answers": [],
        });
        let Value::Object(fields) = fields else { return Reply::default() };
        Reply { fields, text }
    }
}

/// What a call brings back from an earlier one.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    /// The ticket that it was given.
    pub(crate) state: Option<String>,
    /// What the client's person said.
    pub(crate) responses: Option<InputResponses>,
}

/// How a client is shown a question.
#[derive(Debug, Clone)]
enum Way {
    /// A form in its dialect.
    Form { dialect: Dialect, form: Form },
    /// A page that the person is sent to.
    Page {
        dialect: Dialect,
        message: String,
        url: String,
        /// Having been there is all that is asked.
        is_answer: bool,
    },
}

impl Way {
    fn is_page(&self) -> bool {
        matches!(self, Self::Page { .. })
    }

    fn dialect(&self) -> Dialect {
        match self {
            Self::Form { dialect, .. } | Self::Page { dialect, .. } => *dialect,
        }
    }

    /// What it means that a person has gone to the page.
    fn answer_of_page(&self) -> Option<Answer> {
        match self {
            Self::Page { is_answer: true, .. } => Some(Answer::plain(Decision::Accept)),
            Self::Page { .. } | Self::Form { .. } => None,
        }
    }

    /// The parameters of `elicitation/create`, after a reply that did not fit.
    fn params(&self, ask: &str, refused: Option<&str>) -> Value {
        let again = |message: &str| match refused {
            Some(problem) => format!(
                "{message}\n\nPlease answer once more; the last reply did not fit: {}",
                fields::readable(problem)
            ),
            None => message.to_owned(),
        };
        match self {
            // The first version has no modes.
            Self::Form { dialect: Dialect::First, form } => {
                json!({ "message": again(&form.message), "requestedSchema": form.schema })
            }
            Self::Form { form, .. } => json!({
                "mode": "form",
                "message": again(&form.message),
                "requestedSchema": form.schema,
            }),
            Self::Page { message, url, .. } => json!({
                "mode": "url", "message": again(message), "url": url, "elicitationId": ask,
            }),
        }
    }
}

/// A person at a client, as far as the client can be believed.
pub(crate) fn person_at(client: &str) -> Actor {
    Actor::Human { via: client.to_owned(), verified: false }
}

/// An answer to what was shown.
fn said(ask: &AskView, answer: Answer) -> Said {
    Said { answer, digest: Some(ask.digest.clone()), reason: None, note: None }
}

/// Puts on record that a client did not show a question. It stays open everywhere else.
pub(crate) async fn not_shown(
    shared: &Shared,
    broker: &Broker,
    ask: &AskView,
    client: &str,
    why: String,
) {
    tracing::debug!(ask = %ask.request_id, client, why, "a form was not shown");
    let intent = Intent::NotShown { ask: ask.ask(), via: client.to_owned(), why };
    if let Err(error) = broker.act(ask.session_id, intent, &shared.caller).await {
        tracing::debug!(%error, "could not record that a form was not shown");
    }
}

/// Takes a form away from a client whose person need not answer any more.
pub(crate) async fn withdraw(peer: &Peer<RoleServer>, form: RequestId) {
    let reason = Some("answered elsewhere".to_owned());
    let params = CancelledNotificationParam::new(Some(form), reason);
    let note = CancelledNotification::new(params);
    if let Err(error) = peer.send_notification(note.into()).await {
        tracing::debug!(%error, "could not withdraw a form");
    }
}

impl Shared {
    /// Whether the client has once given a person the time to read a form.
    pub(crate) fn reads_forms(&self) -> bool {
        self.shows_forms.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Takes note that a person reads this client's forms, for all who wonder whether anybody is
    /// there to answer.
    pub(crate) async fn note_reader(&self, broker: &Broker) {
        if self.shows_forms.swap(true, std::sync::atomic::Ordering::Relaxed)
            || self.options.answerers == Answerers::Human
        {
            return;
        }
        let nodes = broker.nodes().await.unwrap_or_default();
        let own = nodes.into_iter().find(|it| it.node.0 == broker.node());
        let Some(presence) = own.map(|it| it.presence) else { return };
        let human_surfaces = presence.human_surfaces.max(1);
        let presence = Presence { human_surfaces, ..presence };
        if let Err(error) = broker.set_presence(presence).await {
            tracing::debug!(%error, "could not say that a person is here");
        }
    }
}

impl Call<'_> {
    /// Asks a person, or goes on with what an earlier call asked.
    pub(crate) async fn ask(&self, asking: Asking) -> Result<Outcome, Problem> {
        let broker = self.broker().await?;
        if self.brought.state.is_some() || self.brought.responses.is_some() {
            return Box::pin(self.take_up(broker, &asking)).await;
        }
        let reference = self.raise(broker, asking.request.clone()).await?;
        let ask = broker.ask(reference).await?;
        if ask.settlement.is_some() {
            return settled(ask, false);
        }
        let way = self.way(broker, &ask, asking.note.as_deref()).await;
        match way {
            Some(way) if way.dialect() == Dialect::CallsReturn => {
                let ticket = Ticket::new(&ask, self.bound(&asking), now_ms());
                self.hand_out(broker, ask, &way, ticket, None).await
            }
            Some(way) => {
                self.server.desk.open().of_connection.insert(reference);
                let standing = self.show(broker, &ask, way);
                self.await_person(broker, ask, standing, true).await
            }
            None => {
                if self.keeps_connection() {
                    self.server.desk.open().of_connection.insert(reference);
                }
                self.await_person(broker, ask, None, true).await
            }
        }
    }

    /// Waits for the answer to what an earlier call asked, on whatever process that was.
    pub(crate) async fn collect(&self, name: &str) -> Result<Outcome, Problem> {
        let unknown = || {
            let name: String = name.chars().take(80).collect();
            Problem::new(Code::RequestNotFound, format!("there is no question {name:?}"))
                .hint("Take askId from a result whose action is pending.")
        };
        let reference: AskRef = name.parse().map_err(|_| unknown())?;
        let broker = self.broker().await?;
        let ask = match broker.ask(reference).await {
            Err(Error::NoSuchAsk(_) | Error::NoSuchSession(_)) => return Err(unknown()),
            ask => ask?,
        };
        // What agents ask is answered with codex_check, and is nothing to be collected.
        if ask.asked_by.is_none() {
            return Err(unknown());
        }
        if ask.settlement.is_some() {
            return settled(ask, false);
        }
        self.await_person(broker, ask, None, false).await
    }

    /// Whether this client's connection is its life: when it ends, nobody collects.
    fn keeps_connection(&self) -> bool {
        self.context.protocol_version().and_then(|it| Dialect::of(it.as_str()))
            != Some(Dialect::CallsReturn)
    }

    /// Whether forms at this client are for people who may answer, and it declares them.
    pub(crate) fn declares_forms(&self) -> bool {
        self.able().is_some_and(|(_, forms, pages)| forms || pages)
    }

    /// The client's dialect, and whether it takes forms and pages.
    fn able(&self) -> Option<(Dialect, bool, bool)> {
        match self.server.options.answerers {
            Answerers::Caller => {}
            // A program may fill in a form as well as a person.
            Answerers::Human => return None,
        }
        let dialect = Dialect::of(self.context.protocol_version()?.as_str())?;
        let able = self.context.client_capabilities()?.elicitation?;
        // Declaring neither means forms, as it was before there were pages.
        let forms = able.form.is_some() || able.url.is_none();
        let pages = able.url.is_some() && dialect >= Dialect::Second;
        Some((dialect, forms, pages))
    }

    /// How the client can be shown a question, if it can.
    async fn way(&self, broker: &Broker, ask: &AskView, note: Option<&str>) -> Option<Way> {
        let (dialect, forms, pages) = self.able()?;
        if let Subject::Url { message, url, .. } = &ask.subject {
            let (message, url) = (fields::readable(message), url.clone());
            return pages.then_some(Way::Page { dialect, message, url, is_answer: true });
        }
        let Form { message, schema } = fields::form(ask, note)?;
        if forms {
            let schema = dialect.say(&schema)?;
            return Some(Way::Form { dialect, form: Form { message, schema } });
        }
        let url = self.console(broker).await.filter(|_| pages)?;
        Some(Way::Page { dialect, message, url, is_answer: false })
    }

    fn bound(&self, asking: &Asking) -> Bound {
        Bound {
            tool: asking.tool.to_owned(),
            arguments: asking.arguments.clone(),
            client: self.client_name(),
            caller: self.server.options.caller.clone(),
        }
    }

    /// Where a person can answer.
    pub(crate) async fn place(&self, broker: &Broker) -> String {
        let console = self.console(broker).await;
        console.unwrap_or_else(|| "a terminal with `pilothouse inbox`".to_owned())
    }

    /// Whether a person who may answer looks at some other process of this store.
    async fn someone_elsewhere(&self, broker: &Broker) -> bool {
        let nodes = broker.nodes().await.unwrap_or_default();
        nodes
            .iter()
            .any(|it| it.alive && it.node.0 != broker.node() && it.presence.human_surfaces > 0)
    }

    /// Shows a form on the client's connection, beside this call.
    fn show(&self, broker: &Broker, ask: &AskView, way: Way) -> Option<watch::Receiver<Standing>> {
        if !self.server.desk.open().shown.insert(ask.request_id) {
            return None;
        }
        let showing = Showing {
            shared: Arc::clone(self.server),
            broker: broker.clone(),
            peer: self.context.peer.clone(),
            client: self.client_name(),
            ask: ask.clone(),
            way,
        };
        let (tell, standing) = watch::channel(Standing::Open);
        self.server.watchers.spawn(showing.run(tell));
        Some(standing)
    }

    /// Waits for the settlement as long as a call may stay open.
    async fn await_person(
        &self,
        broker: &Broker,
        ask: AskView,
        mut standing: Option<watch::Receiver<Standing>>,
        is_ours: bool,
    ) -> Result<Outcome, Problem> {
        enum Happening {
            Looked(Box<Result<AskView, Error>>),
            Moved,
            Quiet,
            TimeUp,
            TakenBack,
            Leaving,
        }
        let name = ask.request_id;
        let begin = Instant::now();
        let mut quiet = tokio::time::interval(PROGRESS_EVERY);
        quiet.reset();
        let place = self.place(broker).await;
        self.say(format!("a person is asked, and can also answer at {place}")).await;
        let mut shown = standing.as_mut().map(|it| *it.borrow_and_update());
        loop {
            let is_open = match shown {
                Some(Standing::Open | Standing::Over) => true,
                Some(Standing::NotShown) | None => {
                    self.server.desk.open().shown.contains(&name) && shown.is_none()
                }
            };
            if !is_open && !self.someone_elsewhere(broker).await {
                break;
            }
            let limit = if is_open && self.rests_while_shown() {
                WHILE_SHOWN
            } else {
                self.server.options.call_limit
            };
            let moved = async {
                if let Some(standing) = &mut standing
                    && standing.changed().await.is_ok()
                {
                    return *standing.borrow_and_update();
                }
                // It moves no more.
                std::future::pending().await
            };
            let happening = tokio::select! {
                view = broker.wait_settled(name, limit) => Happening::Looked(Box::new(view)),
                now = moved => {
                    shown = Some(now);
                    Happening::Moved
                }
                _ = quiet.tick() => Happening::Quiet,
                () = tokio::time::sleep_until(begin + limit) => Happening::TimeUp,
                () = self.context.ct.cancelled() => Happening::TakenBack,
                () = self.server.leaving.cancelled() => Happening::Leaving,
            };
            match happening {
                Happening::Looked(view) => {
                    let view = (*view)?;
                    if view.settlement.is_some() {
                        return settled(view, false);
                    }
                }
                Happening::Moved => {}
                Happening::Quiet => {
                    self.say(format!("waiting for a person, who can answer at {place}")).await;
                }
                Happening::TimeUp => break,
                Happening::TakenBack => {
                    if is_ours {
                        self.server.take_back(broker, name).await;
                    }
                    return Err(Problem::new(Code::Cancelled, "the call was taken back"));
                }
                Happening::Leaving => {
                    return Err(Problem::new(Code::Cancelled, "Pilothouse is leaving"));
                }
            }
        }
        // It may have been settled in the same moment.
        let ask = broker.ask(name).await?;
        if ask.settlement.is_some() {
            return settled(ask, false);
        }
        Ok(Outcome::Pending(Box::new(Pending { ask, place })))
    }

    /// Whether the client's own limit rests while it shows a form.
    fn rests_while_shown(&self) -> bool {
        let client = self.client_name();
        RESTS_WHILE_SHOWN.iter().any(|it| client.starts_with(it))
    }

    /// Gives the client its form as the call's result, with a ticket to come back with.
    async fn hand_out(
        &self,
        broker: &Broker,
        ask: AskView,
        way: &Way,
        ticket: Ticket,
        refused: Option<&str>,
    ) -> Result<Outcome, Problem> {
        let name = ask.request_id.to_string();
        let mut params = way.params(&name, refused);
        params["_meta"] = json!({ META: name });
        let request = json!({ "method": "elicitation/create", "params": params });
        let request: InputRequest = match serde_json::from_value(request) {
            Ok(request) => request,
            Err(error) => {
                let why = format!("the form cannot be said in its protocol: {error}");
                not_shown(self.server, broker, &ask, &self.client_name(), why).await;
                return self.await_person(broker, ask, None, true).await;
            }
        };
        let state = ticket.seal(broker, self.server.options.state_holds).await?;
        self.mind_silence(broker, ask);
        let requests = InputRequests::from([(QUESTION.to_owned(), request)]);
        let result = InputRequiredResult::new(Some(requests), Some(state));
        Ok(Outcome::InputRequired(Box::new(result)))
    }

    /// Takes note if the client does not come back with a reply.
    fn mind_silence(&self, broker: &Broker, ask: AskView) {
        if self.server.reads_forms() {
            return;
        }
        let back = CancellationToken::new();
        let earlier = self.server.desk.open().handed_out.insert(ask.request_id, back.clone());
        if let Some(earlier) = earlier {
            earlier.cancel();
        }
        let (shared, broker) = (Arc::clone(self.server), broker.clone());
        let client = self.client_name();
        self.server.watchers.spawn(async move {
            let limit = shared.options.silence;
            tokio::select! {
                view = broker.wait_settled(ask.request_id, limit) => {
                    if view.is_ok_and(|it| it.settlement.is_none()) && !back.is_cancelled() {
                        let why = format!("no reply within {} s", limit.as_secs());
                        not_shown(&shared, &broker, &ask, &client, why).await;
                    }
                }
                () = back.cancelled() => {}
                () = shared.leaving.cancelled() => {}
            }
            if !back.is_cancelled() {
                shared.desk.open().handed_out.remove(&ask.request_id);
            }
        });
    }

    /// Goes on with a question whose form the client was given by an earlier call.
    async fn take_up(&self, broker: &Broker, asking: &Asking) -> Result<Outcome, Problem> {
        let Some(state) = &self.brought.state else {
            let problem = "it is missing, so that nobody knows what the replies are to";
            return Err(Problem::argument("requestState", problem)
                .hint("Nothing was accepted. Call the tool again without inputResponses."));
        };
        let ticket = Ticket::open(broker, state, &self.bound(asking)).await?;
        let ask = broker.ask(ticket.ask).await?;
        ticket.is_of(&ask)?;
        if let Some(back) = self.server.desk.open().handed_out.remove(&ticket.ask) {
            back.cancel();
        }
        let response = self.brought.responses.as_ref().and_then(|it| it.get(QUESTION));
        let way = self.way(broker, &ask, asking.note.as_deref()).await;
        let is_page = way.as_ref().is_some_and(Way::is_page);
        let took = now_ms().saturating_sub(ticket.at_ms);
        let took = Duration::from_millis(u64::try_from(took).unwrap_or_default());
        let (reading, shows_forms) = (self.server.options.reading, self.server.reads_forms());
        let manners = Manners { took, reading, shows_forms };
        let reception = response.map(|it| {
            let of_page = is_page || matches!(ask.subject, Subject::Url { .. });
            reply::read(&ask, of_page, it, manners)
        });
        if ask.settlement.is_some() {
            let mine = reception.and_then(|it| match it {
                Reception::Answer(answer) => Some(answer),
                Reception::Opened => way.as_ref().and_then(Way::answer_of_page),
                Reception::Refused(_) | Reception::NotShown(_) => None,
            });
            let came_late = mine.is_some_and(|it| !is_on_record(&ask, &it, &self.client_name()));
            return settled(ask, came_late);
        }
        let (Some(way), true) = (way, self.declares_forms()) else {
            return self.await_person(broker, ask, None, true).await;
        };
        let Some(reception) = reception else {
            // It may come back without a reply, and is asked again then.
            if ticket.round < MAX_ROUNDS {
                let ticket = ticket.again(false, now_ms());
                return self.hand_out(broker, ask, &way, ticket, None).await;
            }
            let why = "came back without a reply, time after time".to_owned();
            not_shown(self.server, broker, &ask, &self.client_name(), why).await;
            return self.await_person(broker, ask, None, true).await;
        };
        if manners.is_patient() && response.is_some_and(|it| it.get("action").is_some()) {
            self.server.note_reader(broker).await;
        }
        let refused = match reception {
            Reception::Answer(answer) => match self.settle(broker, &ask, answer).await? {
                Ok(outcome) => return Ok(outcome),
                Err(problem) => problem,
            },
            Reception::Opened => {
                if let Some(answer) = way.answer_of_page()
                    && let Ok(outcome) = self.settle(broker, &ask, answer).await?
                {
                    return Ok(outcome);
                }
                return self.await_person(broker, ask, None, true).await;
            }
            Reception::Refused(problem) => problem,
            Reception::NotShown(why) => {
                not_shown(self.server, broker, &ask, &self.client_name(), why).await;
                return self.await_person(broker, ask, None, true).await;
            }
        };
        if ticket.refused {
            not_shown(self.server, broker, &ask, &self.client_name(), refused).await;
            return self.await_person(broker, ask, None, true).await;
        }
        let ticket = ticket.again(true, now_ms());
        self.hand_out(broker, ask, &way, ticket, Some(&refused)).await
    }

    /// Answers for the person at the client; gives what is wrong with the answer if it does not fit.
    async fn settle(
        &self,
        broker: &Broker,
        ask: &AskView,
        answer: Answer,
    ) -> Result<Result<Outcome, String>, Problem> {
        let by = person_at(&self.client_name());
        match broker.answer(ask.request_id, said(ask, answer), &by).await {
            Ok(view) => Ok(Ok(settled(view, false)?)),
            Err(Error::Refused(Refusal::Misfit { field, problem })) => {
                Ok(Err(format!("{field}: {problem}")))
            }
            Err(Error::Refused(Refusal::AlreadySettled { .. })) => {
                Ok(Ok(settled(broker.ask(ask.request_id).await?, true)?))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn settled(ask: AskView, came_late: bool) -> Result<Outcome, Problem> {
    match ask.settlement.clone() {
        Some(settlement) => Ok(Outcome::Settled(Box::new(Answered { ask, settlement, came_late }))),
        None => Err(Problem::new(Code::Internal, "the question is not settled after all")),
    }
}

/// Whether an answer is the one on record: a client may come with the same reply twice.
fn is_on_record(ask: &AskView, answer: &Answer, client: &str) -> bool {
    match ask.settlement.as_ref().map(|it| &it.how) {
        Some(Settled::Answered { answer: recorded, by, .. }) => {
            recorded == answer && *by == person_at(client)
        }
        Some(Settled::Expired { .. } | Settled::Withdrawn | Settled::Lost) | None => false,
    }
}

fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}
