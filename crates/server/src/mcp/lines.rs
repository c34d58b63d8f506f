//! One JSON message a line over a pair of pipes: no line is dropped without a word.
//!
//! rmcp's own transport says nothing to a line that is not JSON, and drops one over 16 MiB, so that
//! its sender waits for ever. Here every line that cannot be served is answered, and the next one is
//! read.

use std::io;

use rmcp::{
    RoleServer,
    model::{ClientRequest, ClientResult, CustomResult, GetMeta, JsonRpcMessage, ProtocolVersion},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// Longest line that is read whole: pictures as data URLs come in one.
pub(crate) const MAX_LINE: usize = 48 * 1024 * 1024;
/// Bytes of a line's beginning that are kept while the rest is skipped, to answer its sender.
const KEPT: usize = 256;
/// Messages that may wait for a client that reads slowly; whoever sends one then waits too.
const MAX_UNSENT: usize = 256;
/// Messages that are written at once.
const MAX_BATCH: usize = 64;
/// Room that is kept for the next line.
const KEEP_ROOM: usize = 1024 * 1024;
/// Bytes that are read at once.
const READ: usize = 64 * 1024;

/// Requests that are nothing without their parameters.
const WITH_PARAMETERS: [&str; 3] = ["initialize", "tools/call", "resources/read"];

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// Both directions of a client's connection.
pub(crate) struct Lines<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// What is kept of a line over the limit, until its end was seen.
    skipped: Option<Skipped>,
    replies: Vec<String>,
    unsent: Option<mpsc::Sender<String>>,
    writing: Option<JoinHandle<io::Result<()>>>,
    /// Said when the client is gone.
    over: CancellationToken,
    /// The conversation has begun.
    begun: bool,
}

#[derive(Default)]
struct Skipped {
    head: Vec<u8>,
    tail: Vec<u8>,
    n_bytes: usize,
}

enum Read {
    Line,
    TooLong(Skipped),
    End,
}

impl<R: AsyncRead + Send + Unpin> Lines<R> {
    /// Speaks over a reader and a writer, and says when the client is gone.
    pub(crate) fn new<W>(read: R, write: W, over: CancellationToken) -> Self
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (unsent, to_send) = mpsc::channel(MAX_UNSENT);
        Self {
            read: BufReader::with_capacity(READ, read),
            line: Vec::new(),
            skipped: None,
            replies: Vec::new(),
            unsent: Some(unsent),
            writing: Some(tokio::spawn(write_all(write, to_send, over.clone()))),
            over,
            begun: false,
        }
    }

    /// Reads on where it stopped: whatever was read of a line stays when this is dropped.
    async fn read_line(&mut self) -> io::Result<Read> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(Read::End);
            }
            let end = available.iter().position(|it| *it == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            let n_bytes = piece.len() + usize::from(end.is_some());
            match &mut self.skipped {
                Some(skipped) => skipped.add(piece),
                None if self.line.len() + piece.len() > MAX_LINE => {
                    let mut skipped = Skipped::default();
                    skipped.add(&self.line);
                    skipped.add(piece);
                    self.line = Vec::new();
                    self.skipped = Some(skipped);
                }
                None => self.line.extend_from_slice(piece),
            }
            self.read.consume(n_bytes);
            if end.is_some() {
                return Ok(self.skipped.take().map_or(Read::Line, Read::TooLong));
            }
        }
    }

    async fn reply(&mut self) -> Option<()> {
        while !self.replies.is_empty() {
            // Waiting for room first: nothing is lost when this is dropped.
            let permit = self.unsent.as_ref()?.reserve().await.ok()?;
            permit.send(self.replies.remove(0));
        }
        Some(())
    }
}

impl Skipped {
    fn add(&mut self, piece: &[u8]) {
        self.n_bytes += piece.len();
        let room = KEPT - self.head.len();
        self.head.extend_from_slice(&piece[..piece.len().min(room)]);
        self.tail.extend_from_slice(&piece[piece.len().saturating_sub(KEPT)..]);
        let surplus = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..surplus);
    }

    /// The id of the request, where clients write it: at the very beginning or the very end.
    fn id(&self) -> Value {
        let head = String::from_utf8_lossy(&self.head);
        let head = head.trim_start_matches([' ', '{']);
        let head = head.strip_prefix("\"jsonrpc\":\"2.0\",").unwrap_or(head);
        let tail = String::from_utf8_lossy(&self.tail);
        let at_end = || tail.trim_end().strip_suffix('}')?.rsplit_once(",\"id\":");
        let id = match head.strip_prefix("\"id\":") {
            Some(rest) => rest.split_once(',').map(|(id, _)| id),
            None => at_end().map(|(_, id)| id),
        };
        let id = id.and_then(|it| serde_json::from_str::<Value>(it).ok());
        id.filter(|it| it.is_string() || it.is_i64()).unwrap_or_default()
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let unsent = self.unsent.clone();
        async move {
            let text = serde_json::to_string(&item)?;
            let unsent = unsent.ok_or(io::ErrorKind::NotConnected)?;
            unsent.send(text).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            self.reply().await?;
            match self.read_line().await {
                Ok(Read::Line) => {
                    let parsed = parse(&self.line);
                    self.line.clear();
                    self.line.shrink_to(KEEP_ROOM);
                    match parsed {
                        // Whoever was refused a handshake goes on as if it had one, and rmcp would
                        // end on that.
                        Parsed::Message(message) if !self.begun && !is_request(&message) => {}
                        Parsed::Message(message) => {
                            self.begun |= begins(&message);
                            return Some(*message);
                        }
                        Parsed::Reply(reply) => self.replies.push(reply),
                        Parsed::Nothing => {}
                    }
                }
                Ok(Read::TooLong(skipped)) => {
                    let problem = format!(
                        "the message has {} bytes and Pilothouse reads at most {MAX_LINE}; send \
                         large files by their path",
                        skipped.n_bytes
                    );
                    self.replies.push(error(skipped.id(), INVALID_REQUEST, &problem));
                }
                Ok(Read::End) => {
                    self.over.cancel();
                    return None;
                }
                Err(error) => {
                    tracing::debug!(%error, "could not read from the client");
                    self.over.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.unsent = None;
        match self.writing.take() {
            Some(writing) => writing.await.map_err(io::Error::other)?,
            None => Ok(()),
        }
    }
}

async fn write_all<W: AsyncWrite + Unpin>(
    mut write: W,
    mut to_send: mpsc::Receiver<String>,
    over: CancellationToken,
) -> io::Result<()> {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while to_send.recv_many(&mut batch, MAX_BATCH).await > 0 {
        let mut text = String::with_capacity(batch.iter().map(|it| it.len() + 1).sum());
        for message in batch.drain(..) {
            text.push_str(&message);
            text.push('\n');
        }
        let written = write.write_all(text.as_bytes()).await;
        if let Err(error) = written.and(write.flush().await) {
            // Nobody reads any more, so nobody is there to be served.
            over.cancel();
            return Err(error);
        }
    }
    Ok(())
}

enum Parsed {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    Reply(String),
    Nothing,
}

/// A reply to a form of ours with all that it says: clients of Codex's own server decide in a field
/// that MCP does not know, and some give both.
fn with_decision(
    line: &[u8],
    message: RxJsonRpcMessage<RoleServer>,
) -> RxJsonRpcMessage<RoleServer> {
    let JsonRpcMessage::Response(mut response) = message else { return message };
    if matches!(response.result, ClientResult::ElicitResult(_))
        && let Ok(mut whole) = serde_json::from_slice::<Value>(line)
        && let Some(result) = whole.get_mut("result").filter(|it| it.get("decision").is_some())
    {
        response.result = ClientResult::CustomResult(CustomResult(result.take()));
    }
    JsonRpcMessage::Response(response)
}

fn parse(line: &[u8]) -> Parsed {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Parsed::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(line)
        && !is_misread(&message)
    {
        return Parsed::Message(Box::new(with_decision(line, message)));
    }
    let message = match serde_json::from_slice::<Value>(line) {
        Ok(message) => message,
        Err(problem) => {
            let problem = format!("the line is not JSON: {problem}");
            return Parsed::Reply(error(Value::Null, PARSE_ERROR, &problem));
        }
    };
    let id = message.get("id").filter(|it| it.is_string() || it.is_i64());
    match (id, message.get("method").and_then(Value::as_str)) {
        (Some(id), Some(method)) => {
            let problem = format!("the parameters of {method} are not as MCP defines them");
            Parsed::Reply(error(id.clone(), INVALID_PARAMS, &problem))
        }
        // A notification of another version.
        (None, Some(_)) if message.get("id").is_none() => Parsed::Nothing,
        // An answer to something that was not asked.
        (_, None) if message.get("result").is_some() || message.get("error").is_some() => {
            Parsed::Nothing
        }
        (id, _) => {
            let problem = "the line is JSON, but not one JSON-RPC message";
            let id = id.cloned().unwrap_or_default();
            Parsed::Reply(error(id, INVALID_REQUEST, problem))
        }
    }
}

fn is_request(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    matches!(message, RxJsonRpcMessage::<RoleServer>::Request(_))
}

/// Whether the conversation begins with this. Before that there is nothing to take note of, and
/// nothing that anybody could answer.
fn begins(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    let RxJsonRpcMessage::<RoleServer>::Request(request) = message else { return false };
    let request = &request.request;
    if matches!(request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)) {
        return false;
    }
    let about = request.get_meta();
    let is_known =
        about.protocol_version().is_some_and(|it| ProtocolVersion::KNOWN_VERSIONS.contains(&it));
    let is_whole = about.missing_required_keys(&ProtocolVersion::NO_INITIALIZE).is_empty();
    matches!(request, ClientRequest::InitializeRequest(_)) || (is_known && is_whole)
}

/// A request of MCP's own whose parameters did not fit passes for one of somebody else's.
fn is_misread(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    let RxJsonRpcMessage::<RoleServer>::Request(request) = message else { return false };
    let ClientRequest::CustomRequest(custom) = &request.request else { return false };
    WITH_PARAMETERS.contains(&custom.method.as_str())
}

#[expect(clippy::needless_pass_by_value, reason = "made for this")]
fn error(id: Value, code: i32, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn said(input: Vec<u8>) -> (Vec<Value>, Vec<Value>) {
        let (write, mut client) = tokio::io::duplex(1024 * 1024);
        let over = CancellationToken::new();
        let mut lines = Lines::new(&input[..], write, over.clone());
        let mut received = vec![];
        while let Some(message) = lines.receive().await {
            received.push(serde_json::to_value(message).unwrap());
        }
        assert!(over.is_cancelled());
        lines.close().await.unwrap();
        drop(lines);
        let mut replies = String::new();
        client.read_to_string(&mut replies).await.unwrap();
        (received, replies.lines().map(|it| serde_json::from_str(it).unwrap()).collect())
    }

    const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

    #[tokio::test]
    async fn what_cannot_be_read_is_answered_and_the_next_line_is_read() {
        let check = async |line: &str, code: Option<i32>, id: Value| {
            let (received, replies) = said(format!("{line}\n{PING}").into_bytes()).await;
            assert_eq!(received.len(), 1, "{line}");
            assert_eq!(received[0]["method"], "ping", "{line}");
            match code {
                Some(code) => {
                    assert_eq!(replies.len(), 1, "{line}");
                    assert_eq!(replies[0]["error"]["code"], code, "{line}");
                    assert_eq!(replies[0]["id"], id, "{line}");
                }
                None => assert!(replies.is_empty(), "{line}: {replies:?}"),
            }
        };
        check("hello", Some(PARSE_ERROR), Value::Null).await;
        check("{\"jsonrpc\":", Some(PARSE_ERROR), Value::Null).await;
        check("[]", Some(INVALID_REQUEST), Value::Null).await;
        check("{\"foo\":1}", Some(INVALID_REQUEST), Value::Null).await;
        check("{\"jsonrpc\":\"2.0\",\"id\":7}", Some(INVALID_REQUEST), json!(7)).await;
        let no_name = "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{}}";
        check(no_name, Some(INVALID_PARAMS), json!("a")).await;
        check("", None, Value::Null).await;
        check("   \r", None, Value::Null).await;
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_answered_by_its_id() {
        let filler = "x".repeat(MAX_LINE);
        for (head, tail) in [
            ("{\"jsonrpc\":\"2.0\",\"id\":5,\"params\":\"", "\"}"),
            ("{\"params\":\"", "\",\"jsonrpc\":\"2.0\",\"id\":5}"),
        ] {
            let line = format!("{head}{filler}{tail}\n{PING}");
            let (received, replies) = said(line.into_bytes()).await;
            assert_eq!(received.len(), 1);
            assert_eq!(replies[0]["id"], 5);
            assert_eq!(replies[0]["error"]["code"], INVALID_REQUEST);
        }
    }
}
