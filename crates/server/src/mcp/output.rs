//! An item's full text, a page at a time: what results and the log had to cut.

use pilothouse::Broker;
use pilothouse_core::{Event, Seq, SessionId};
use pilothouse_store::MAX_PAGE;
use serde_json::{Map, Value, json};

use super::{
    Call, Reply, events,
    problem::{Code, Problem},
    word,
};

/// Bytes of a page, and at most.
const PAGE: u64 = 16 * 1024;
const MAX_TEXT: u64 = 48 * 1024;
/// Events that are searched for the last message, from the end of the log.
const NEAR_END: u64 = 500;

impl Call<'_> {
    pub(crate) async fn output(
        &self,
        session: SessionId,
        item: &str,
        offset: Option<u64>,
        limit: Option<u64>,
    ) -> Result<Reply, Problem> {
        let broker = self.broker().await?;
        let view = broker.session(session).await?;
        let text = match find(broker, session, item).await? {
            Some(body) => whole_text(broker, &body).await?,
            None => broker
                .live(session, usize::MAX)
                .into_iter()
                .find(|it| it.item_id == item)
                .map(|it| it.text)
                .ok_or_else(|| {
                    let problem = format!("session {session} has no item {item:?}");
                    Problem::argument("itemId", problem)
                })?,
        };
        let total = text.len();
        let offset = usize::try_from(offset.unwrap_or(0)).unwrap_or(usize::MAX).min(total);
        let limit = limit.unwrap_or(PAGE).clamp(4, MAX_TEXT);
        let start = text.ceil_char_boundary(offset);
        let end = start.saturating_add(usize::try_from(limit).unwrap_or(usize::MAX));
        let end = text.floor_char_boundary(end.min(total));
        let page = &text[start..end];
        let mut output = json!({ "itemId": item, "offset": start, "total": total, "text": page });
        if end < total {
            output["nextOffset"] = end.into();
        }
        let mut fields = Map::new();
        fields.insert("sessionId".to_owned(), session.to_string().into());
        fields.insert("status".to_owned(), word(&view.status));
        fields.insert("output".to_owned(), output);
        Ok(Reply { fields, text: format!("bytes {start} to {end} of {total}\n{page}") })
    }
}

/// The item's final form, else its first.
async fn find(broker: &Broker, session: SessionId, wanted: &str) -> Result<Option<Value>, Problem> {
    let (mut after, mut found) = (Seq(0), None);
    loop {
        let page = broker.events(session, after, MAX_PAGE).await?;
        let Some(last) = page.events.last() else { return Ok(found) };
        after = last.seq;
        for envelope in page.events {
            if let Event::ItemCompleted { item, body, .. } = &envelope.event
                && item == wanted
            {
                return Ok(Some(body.clone()));
            }
            if let Event::ItemStarted { item, body, .. } = envelope.event
                && item == wanted
            {
                found = Some(body);
            }
        }
        if !page.more {
            // What is open says more in its stream.
            let streams = broker.live(session, 1).iter().any(|it| it.item_id == wanted);
            return Ok(found.filter(|_| !streams));
        }
    }
}

async fn whole_text(broker: &Broker, body: &Value) -> Result<String, Problem> {
    let kind = body.get("type").and_then(Value::as_str).unwrap_or_default();
    let value = match kind {
        "agentMessage" | "plan" => body.get("text"),
        "commandExecution" => body.get("aggregatedOutput"),
        "mcpToolCall" | "dynamicToolCall" => body.get("result"),
        _ => None,
    };
    if let Some(value) = value {
        return unspilled(broker, value).await;
    }
    if let Some(changes) = body.get("changes").and_then(Value::as_array) {
        let mut res = String::new();
        for change in changes {
            let path = change.get("path").and_then(Value::as_str).unwrap_or_default();
            let diff = unspilled(broker, change.get("diff").unwrap_or(&Value::Null)).await?;
            res.extend([path, "\n", &diff, "\n"]);
        }
        return Ok(res);
    }
    let words = events::words(body);
    Ok(if words.is_empty() { body.to_string() } else { words })
}

/// A text as it was before the log had to put it aside.
async fn unspilled(broker: &Broker, value: &Value) -> Result<String, Problem> {
    let Some(digest) = value.get("$blob").and_then(Value::as_str) else {
        return Ok(events::text(value));
    };
    match broker.blob(digest.to_owned()).await? {
        Some(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        None => Err(Problem::new(Code::Internal, format!("the store has lost the text {digest}"))),
    }
}

/// The item that says what a turn came to.
pub(crate) async fn last_message(
    broker: &Broker,
    session: SessionId,
) -> Result<Option<String>, Problem> {
    let last = broker.session(session).await?.last_seq;
    let after = Seq(last.0.saturating_sub(NEAR_END));
    let page = broker.events(session, after, MAX_PAGE).await?;
    for envelope in page.events.into_iter().rev() {
        if let Event::ItemCompleted { item, kind, agent: None, .. } = envelope.event
            && kind == "agentMessage"
        {
            return Ok(Some(item));
        }
    }
    Ok(None)
}
