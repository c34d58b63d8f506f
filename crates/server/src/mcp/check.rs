//! `codex_check`: what is new in a session, now or as soon as there is something.

use std::time::{Duration, Instant};

use pilothouse::Broker;
use pilothouse_core::{
    AskKind, AskView, Envelope, Event, Seq, SessionId, SessionView, Status, Subject, TurnId,
    TurnStatus, TurnView,
};
use pilothouse_store::{AskFilter, MAX_PAGE};
use serde_json::{Map, Value, json};

use super::{
    Call, Reply, actions, answers,
    arguments::{Arguments, whole},
    bounds,
    events::{self, Mode},
    output,
    problem::{Code, Problem},
    readers::Seen,
    word,
};

/// What can be done with a session's news.
pub(crate) const ACTIONS: &[&str] =
    &["poll", "respond_permission", "respond_user_input", "respond_elicitation", "output"];

/// Most events in one result.
const MAX_EVENTS: u64 = 500;
/// Most asks in one result; a session has few.
const MAX_ASKS: usize = 50;
/// Bytes of one result, unless the caller wants another bound.
const MAX_BYTES: usize = 64 * 1024;
/// What a result has beside events, asks and words.
const SKELETON: usize = 700;
/// An event is never cut below this.
const LEAST_EVENT: usize = 200;
/// Events that are searched, from the end of the log, for how an earlier turn ended.
const NEAR_END: u64 = 900;
/// How soon to look again when an ask waits, in milliseconds.
const SOON: u64 = 1_000;

/// Which arguments belong to which action; all others belong to every action.
const OWNERS: [(&str, &[usize]); 11] = [
    ("requestId", &[1, 2, 3]),
    ("decision", &[1, 3]),
    ("execpolicy_amendment", &[1]),
    ("network_policy_amendment", &[1]),
    ("denyMessage", &[1]),
    ("reason", &[1, 2, 3]),
    ("answers", &[2]),
    ("content", &[3]),
    ("digest", &[1, 2, 3]),
    ("itemId", &[4]),
    ("offset", &[4]),
];

/// What is wanted of a session's news.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) session: SessionId,
    pub(crate) reader: Option<String>,
    pub(crate) cursor: Option<u64>,
    pub(crate) max_events: u64,
    pub(crate) mode: Mode,
    pub(crate) events: bool,
    pub(crate) actions: bool,
    pub(crate) result: bool,
    pub(crate) max_bytes: usize,
    pub(crate) wait: Duration,
    pub(crate) until: Until,
}

/// When a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Something is new to this reader.
    News,
    /// The turn ended or needs someone.
    Rest,
}

impl Query {
    /// No events: what a turn came to, or needs.
    pub(crate) fn rest(session: SessionId, wait: Duration) -> Self {
        Self {
            session,
            reader: None,
            cursor: None,
            max_events: 0,
            mode: Mode::Minimal,
            events: false,
            actions: true,
            result: true,
            max_bytes: MAX_BYTES,
            wait,
            until: Until::Rest,
        }
    }
}

/// A session as it is at one moment, seen by one reader.
struct Look {
    view: SessionView,
    cursor: u64,
    events: Vec<Envelope>,
    asks: Vec<AskView>,
    turn: Option<TurnView>,
    enough: bool,
}

impl Call<'_> {
    pub(crate) async fn check(&self, mut arguments: Arguments) -> Result<Reply, Problem> {
        let words: Vec<_> = ACTIONS.iter().enumerate().map(|(index, it)| (*it, index)).collect();
        let action = arguments.required_choice("action", &words)?;
        let session = Self::session_id(&mut arguments)?;
        let mut options = arguments.within("pollOptions")?;
        let mut query = Query {
            session,
            reader: arguments.text("reader")?,
            cursor: arguments.count("cursor")?,
            max_events: 0,
            mode: arguments.choice("responseMode", &Mode::WORDS)?.unwrap_or_default(),
            events: options.flag("includeEvents")?.unwrap_or(true),
            actions: options.flag("includeActions")?.unwrap_or(true),
            result: options.flag("includeResult")?.unwrap_or(true),
            max_bytes: MAX_BYTES,
            wait: Duration::ZERO,
            until: Until::News,
        };
        if let Some(it) = options.count("maxBytes")? {
            if it == 0 {
                return options.missing("maxBytes", "must be at least 1");
            }
            query.max_bytes = usize::try_from(it).unwrap_or(usize::MAX);
        }
        arguments.absorb(&options);
        let max_events = arguments.count("maxEvents")?.map(|it| it.min(MAX_EVENTS));
        let is_poll = action == 0;
        query.max_events =
            if is_poll { max_events.unwrap_or(1).max(1) } else { max_events.unwrap_or(0) };
        let wait = arguments.count("waitMs")?.unwrap_or(0);
        let max_wait = self.max_wait();
        query.wait = Duration::from_millis(wait).min(max_wait);
        let answer = answers::Arguments::read(&mut arguments)?;
        let item = arguments.text("itemId")?;
        let offset = arguments.count("offset")?;
        let limit = arguments.count("limit")?;
        for (name, owners) in OWNERS {
            if arguments.given().contains(&name) && !owners.contains(&action) {
                let owners: Vec<_> = owners.iter().map(|it| ACTIONS[*it]).collect();
                let problem =
                    format!("goes with {} only, not with {}", owners.join(", "), ACTIONS[action]);
                return Err(Problem::argument(name, problem));
            }
        }
        let mut warnings = arguments.warnings();
        if query.wait < Duration::from_millis(wait) {
            warnings.push(format!("waitMs was cut to {}.", max_wait.as_millis()));
        }
        if is_poll {
            return Ok(self.poll(query).await?.warn(warnings));
        }
        if ACTIONS[action] == "output" {
            let Some(item) = item else { return arguments.missing("itemId", "is required") };
            return Ok(self.output(session, &item, offset, limit).await?.warn(warnings));
        }
        // An unknown session is told before an unknown request.
        let broker = self.broker().await?;
        broker.session(session).await?;
        answers::answer(self, broker, session, action, answer).await?;
        let consumed = self.server.readers().next(session, query.reader.as_deref());
        if let Some(cursor) = query.cursor.filter(|it| *it < consumed) {
            query.cursor = Some(consumed);
            warnings.push(format!(
                "Provided cursor {cursor} is stale; used session cursor {consumed}."
            ));
        }
        Ok(self.poll(query).await?.warn(warnings))
    }

    /// What is new, now or within the wait.
    pub(crate) async fn poll(&self, query: Query) -> Result<Reply, Problem> {
        let broker = self.broker().await?;
        let end = Instant::now() + query.wait;
        let waits = !query.wait.is_zero();
        let mut look = self.look(broker, &query).await?;
        while waits && !look.enough {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let grown = broker.wait_past(query.session, look.view.last_seq, left);
            match self.patiently(grown).await {
                Some(grown) => drop(grown?),
                // The caller has gone, or we are going: it gets what there is.
                None => break,
            }
            look = self.look(broker, &query).await?;
        }
        let console = if look.asks.is_empty() { None } else { self.console(broker).await };
        let live = broker.live(query.session, query.mode.live_limit());
        // What is being said is something, although no event is new.
        let silent = live.is_empty() || !query.events || query.max_events == 0;
        let nothing = waits && !look.enough && look.asks.is_empty() && silent;
        let mut reply = self.tell(&query, look, console.as_deref());
        if nothing {
            reply.fields.remove("pollInterval");
        } else if !silent {
            let live: Vec<_> =
                live.iter().map(|it| json!({ "itemId": it.item_id, "text": it.text })).collect();
            let live = Value::from(live);
            let used = reply.size();
            if used + bounds::size(&live) < query.max_bytes {
                reply.fields.insert("live".to_owned(), live);
            }
        }
        if Self::words_missing(&reply) {
            self.say_where_all_of_it_is(broker, query.session, &mut reply).await?;
        }
        Ok(reply)
    }

    async fn look(&self, broker: &Broker, query: &Query) -> Result<Look, Problem> {
        let id = query.session;
        let view = broker.session(id).await?;
        let seen = self.server.readers().seen(id, query.reader.as_deref());
        // A place that is not there yet is the end.
        let cursor = query.cursor.unwrap_or(seen.next).min(view.last_seq.0);
        let mut events = vec![];
        if query.events && query.max_events > 0 {
            let limit = usize::try_from(query.max_events).unwrap_or(usize::MAX);
            events = broker.events(id, Seq(cursor), limit).await?.events;
        }
        let mut asks = vec![];
        if query.actions && view.pending_request_count > 0 {
            let filter = AskFilter { session: Some(id), opened_by: None, pending: true };
            asks = broker.asks(filter, MAX_ASKS, None).await?.rows;
            // Whose the session is, a person says elsewhere: to no caller is it a thing to do.
            asks.retain(|it| !matches!(it.subject, Subject::Adoption { .. }));
            // The oldest first: it has waited longest.
            asks.reverse();
        }
        let replay = query.cursor.is_some_and(|it| it < seen.next);
        let mut turn = None;
        if query.result {
            turn = ended_turn(broker, &view, &seen, replay).await?;
        }
        let enough = match query.until {
            Until::News => {
                let new_ask = asks.iter().any(|it| !seen.asks.contains(&it.ask()));
                let turned = seen.status.is_some_and(|it| it != view.status);
                // Of a session that rests nothing comes by itself: a model that waits for its next
                // event would only lose time.
                let rests = match view.status {
                    Status::Idle | Status::Error | Status::Cancelled => true,
                    Status::Running | Status::WaitingApproval => false,
                };
                !events.is_empty() || new_ask || turn.is_some() || turned || rests
            }
            Until::Rest => view.status != Status::Running || !asks.is_empty(),
        };
        Ok(Look { view, cursor, events, asks, turn, enough })
    }

    /// Puts it into a result that fits, and takes note of what this reader has been told.
    fn tell(&self, query: &Query, look: Look, console: Option<&str>) -> Reply {
        let Look { view, cursor, events, asks, turn, enough: _ } = look;
        let mut lost: Vec<String> = vec![];
        let mut fields = Map::new();
        fields.insert("sessionId".to_owned(), view.session_id.to_string().into());
        fields.insert("status".to_owned(), word(&view.status));
        if let Some(interval) = self.poll_interval(&view) {
            fields.insert("pollInterval".to_owned(), interval.into());
        }
        let max = query.max_bytes.max(SKELETON + LEAST_EVENT);
        let mut text = String::new();
        if !asks.is_empty() {
            // Text and structure both tell it.
            let share = ((max - SKELETON) / 2 / asks.len()).max(LEAST_EVENT);
            let mut told: Vec<Value> = vec![];
            for (index, ask) in asks.iter().enumerate() {
                let mut action = actions::action(ask, query.mode, console);
                let share = match ask.kind {
                    AskKind::FileChange => share.min(query.mode.change_limit()),
                    AskKind::Command
                    | AskKind::Permissions
                    | AskKind::Question
                    | AskKind::Elicitation => share,
                };
                let mut cut_diff = false;
                if bounds::size(&action) > share {
                    for name in ["params", "diff", "commandActions", "reason"] {
                        let excess = bounds::size(&action).saturating_sub(share);
                        let Some(field) = action.get_mut(name) else { continue };
                        let wanted = bounds::size(field).saturating_sub(excess).max(24);
                        let was_text = field.is_string();
                        if excess > 0 && bounds::shrink(field, wanted) {
                            lost.push(format!("actions[{index}].{name}"));
                            cut_diff |= name == "diff";
                            if was_text && !field.is_string() {
                                *field = "…".into();
                            }
                        }
                    }
                }
                told.push(action);
                let line = actions::line(ask);
                text.push('\n');
                text.push_str(&bounds::cut(&line, share / 2).unwrap_or(line));
                if let Some(item) = ask.item_id.as_ref().filter(|_| cut_diff) {
                    text.push_str("\nAll of the diff: codex_check output, itemId ");
                    text.push_str(item);
                }
            }
            fields.insert("actions".to_owned(), told.into());
        }
        let turn_number = turn.as_ref().map(|it| it.turn.0);
        if let Some(turn) = turn {
            let wants_json = self.server.readers().wants_json(query.session);
            let (result, line, cut) =
                result(&turn, query.mode, wants_json, (max - SKELETON) * 2 / 3);
            lost.extend(cut.into_iter().map(|it| format!("result.{it}")));
            fields.insert("result".to_owned(), result);
            text.push('\n');
            text.push_str(&line);
        }
        let used = SKELETON + text.len() + fields.values().map(bounds::size).sum::<usize>();
        let n_events = events.len();
        let (told, next, cut) = fit(query, &events, cursor, max.saturating_sub(used));
        lost.extend(cut);
        if told.len() < n_events {
            lost.push("events".to_owned());
        }
        let reset = events.first().map(|it| it.seq.0 - 1).filter(|it| *it > cursor);
        if let Some(reset) = reset {
            fields.insert("cursorResetTo".to_owned(), reset.into());
        }
        fields.insert("events".to_owned(), told.into());
        fields.insert("nextCursor".to_owned(), next.into());
        if !lost.is_empty() {
            fields.insert("truncated".to_owned(), true.into());
            fields.insert("truncatedFields".to_owned(), lost.into());
        }
        self.server.readers().told(
            query.session,
            query.reader.as_deref(),
            query.events.then_some(next),
            query.actions.then(|| asks.iter().map(AskView::ask).collect()),
            turn_number,
            &view,
        );
        let head = format!(
            "{} {}, nextCursor {next}",
            view.session_id,
            word(&view.status).as_str().unwrap_or_default()
        );
        Reply { fields, text: head + &text }
    }

    /// Never more than half of what a caller has before an ask expires.
    fn poll_interval(&self, view: &SessionView) -> Option<u64> {
        match view.status {
            Status::WaitingApproval => Some(SOON),
            Status::Running => Some(self.server.readers().patience_ms(view.session_id) / 2),
            Status::Idle | Status::Error | Status::Cancelled => None,
        }
    }

    fn words_missing(reply: &Reply) -> bool {
        let cut = reply.fields.get("truncatedFields").and_then(Value::as_array);
        cut.is_some_and(|it| it.iter().any(|it| it == "result.output"))
    }

    /// A final message that was cut can be read whole, a page at a time.
    async fn say_where_all_of_it_is(
        &self,
        broker: &Broker,
        session: SessionId,
        reply: &mut Reply,
    ) -> Result<(), Problem> {
        if let Some(item) = output::last_message(broker, session).await? {
            let hint = format!("All of result.output: codex_check output, itemId {item}.");
            reply.text.push('\n');
            reply.text.push_str(&hint);
            reply.warn_once(hint);
        }
        Ok(())
    }
}

/// The turn whose result this reader is to be told: the first that it was not, if it was here then.
async fn ended_turn(
    broker: &Broker,
    view: &SessionView,
    seen: &Seen,
    replay: bool,
) -> Result<Option<TurnView>, Problem> {
    let Some(last) = view.last_turn.clone() else { return Ok(None) };
    let has_ended = !matches!(last.status, TurnStatus::Requested | TurnStatus::Started);
    let due = TurnId(seen.result + 1);
    // A prompt that waited in the queue begins in the moment in which the turn before it ends.
    if seen.status.is_some() && due < last.turn && !replay {
        let after = Seq(view.last_seq.0.saturating_sub(NEAR_END));
        let page = broker.events(view.session_id, after, MAX_PAGE).await?;
        if let Some(turn) = page.events.iter().find_map(|it| as_ended(it, due)) {
            return Ok(Some(turn));
        }
    }
    Ok(Some(last).filter(|it| has_ended && (it.turn >= due || replay)))
}

/// How the wanted turn ended, if this is its end.
pub(crate) fn as_ended(envelope: &Envelope, wanted: TurnId) -> Option<TurnView> {
    let Event::TurnEnded { turn, outcome, report } = &envelope.event else { return None };
    (*turn == wanted).then(|| TurnView {
        turn: *turn,
        turn_id: None,
        status: outcome.into(),
        prompt: String::new(),
        output: report.output.clone(),
        error: outcome.error(),
        usage: report.usage.clone(),
        files: report.files.clone(),
        requested_at: envelope.at,
        ended_at: Some(envelope.at),
    })
}

/// What a turn came to: as an object, as a line, and which of its fields were cut.
fn result(
    turn: &TurnView,
    mode: Mode,
    wants_json: bool,
    limit: usize,
) -> (Value, String, Vec<&'static str>) {
    let mut cut = vec![];
    let mut res = Map::new();
    let name = turn.turn_id.clone().unwrap_or_else(|| turn.turn.0.to_string());
    res.insert("turnId".to_owned(), name.into());
    res.insert("status".to_owned(), word(&turn.status));
    let mut line = format!("turn {}", word(&turn.status).as_str().unwrap_or_default());
    if let Some(output) = &turn.output {
        let short = bounds::cut(output, limit / 2);
        if short.is_some() {
            cut.push("output");
        }
        if wants_json && let Ok(parsed) = serde_json::from_str::<Value>(output) {
            if output.len() < limit / 3 {
                res.insert("structuredOutput".to_owned(), parsed);
            } else {
                cut.push("structuredOutput");
            }
        }
        let told = short.unwrap_or_else(|| output.clone());
        line.push_str(": ");
        line.push_str(&told);
        res.insert("output".to_owned(), told.into());
    }
    if let Some(usage) = turn.usage.as_ref().filter(|_| limit > SKELETON) {
        let total = usage.get("total").filter(|it| it.is_object() && mode != Mode::Full);
        if let Value::Object(usage) = total.unwrap_or(usage) {
            let mut usage = usage.clone();
            usage.retain(|_, it| mode == Mode::Full || *it != 0);
            res.insert("usage".to_owned(), usage.into());
        }
    }
    if !turn.files.is_empty() {
        let mut files = json!(turn.files);
        if bounds::shrink(&mut files, limit / 4) {
            cut.push("files");
            if !files.is_array() {
                files = json!([]);
            }
        }
        line.push_str("\nchanged: ");
        line.push_str(&turn.files.iter().take(20).cloned().collect::<Vec<_>>().join(", "));
        res.insert("files".to_owned(), files);
    }
    if let Some(error) = &turn.error {
        let message = bounds::cut(&error.message, limit / 4);
        let message = message.unwrap_or_else(|| error.message.clone());
        let code = error.detail.get("code").and_then(Value::as_str).and_then(Code::named);
        let code = code.map(Code::name);
        line.push_str(
            &code.map_or_else(|| "\nerror: ".to_owned(), |it| format!("\nerror [{it}]: ")),
        );
        line.push_str(&message);
        res.insert("error".to_owned(), message.into());
        if let Some(code) = code {
            res.insert("errorCode".to_owned(), code.into());
        }
    }
    if let Some(at) = turn.ended_at {
        res.insert("completedAt".to_owned(), events::time(at).into());
    }
    (Value::Object(res), line, cut)
}

/// As many events as fit, but at least one, cut if it must be.
fn fit(
    query: &Query,
    events: &[Envelope],
    cursor: u64,
    room: usize,
) -> (Vec<Value>, u64, Vec<String>) {
    let (mut told, mut next, mut cut, mut used) = (vec![], cursor, vec![], 0);
    for envelope in events {
        let mut event = events::event(query.session, envelope, query.mode);
        let mut n_bytes = bounds::size(&event);
        if used + n_bytes > room {
            if !told.is_empty() {
                break;
            }
            let room = room.max(LEAST_EVENT);
            if n_bytes > room {
                let frame = n_bytes - bounds::size(&event["data"]);
                // Of a cut event at least its kind and its item stay known.
                let kept = event["data"].clone();
                bounds::shrink(&mut event["data"], room.saturating_sub(frame).max(40));
                if event["data"].get("method").is_none() {
                    for name in ["method", "itemId"] {
                        if let Some(it) = kept.get(name) {
                            event["data"][name] = it.clone();
                        }
                    }
                }
                cut.push("events[0].data".to_owned());
                n_bytes = bounds::size(&event);
            }
        }
        used += n_bytes;
        next = event.get("id").and_then(whole).map_or(next, |it| it + 1);
        told.push(event);
    }
    (told, next, cut)
}
