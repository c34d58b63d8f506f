//! Just enough HTTP to ask a Pilothouse on this machine for something.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

use crate::run::Failure;

const PATIENCE: Duration = Duration::from_secs(30);
/// More than any answer that the demo asks for.
const MAX_ANSWER: u64 = 4 << 20;

pub(crate) struct Server {
    address: String,
    token: String,
}

impl Server {
    pub(crate) fn new(address: &str, token: &str) -> Self {
        Self { address: address.to_owned(), token: token.to_owned() }
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, Failure> {
        self.request("GET", path, "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.request("POST", path, &body.to_string())
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Result<Value, Failure> {
        let failed =
            |why: &str| Failure::new(format!("{method} {path} at {}: {why}", self.address));
        let said = self.exchange(method, path, body).map_err(|error| failed(&error.to_string()))?;
        let (status, body) = parse(&said).ok_or_else(|| failed("the answer is not HTTP"))?;
        let value = serde_json::from_str(&body).unwrap_or(Value::Null);
        if (200..300).contains(&status) {
            return Ok(value);
        }
        let why = [&value["detail"], &value["title"], &value["hint"]]
            .iter()
            .filter_map(|it| it.as_str())
            .collect::<Vec<_>>()
            .join("; ");
        Err(failed(&format!("{status} {why}")))
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> std::io::Result<Vec<u8>> {
        let Self { address, token } = self;
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Accept: application/json\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )?;
        let mut said = Vec::new();
        stream.take(MAX_ANSWER).read_to_end(&mut said)?;
        Ok(said)
    }
}

/// Status and body of an answer whose connection was closed at its end.
fn parse(said: &[u8]) -> Option<(u16, String)> {
    let text = String::from_utf8_lossy(said);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let is_chunked = lines.any(|it| {
        let it = it.to_ascii_lowercase();
        it.starts_with("transfer-encoding:") && it.contains("chunked")
    });
    Some((status, if is_chunked { joined(body) } else { body.to_owned() }))
}

fn joined(chunks: &str) -> String {
    let mut res = String::new();
    let mut rest = chunks;
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let (Some(chunk), true) = (after.get(..size), size > 0) else { break };
        res.push_str(chunk);
        rest = after.get(size..).unwrap_or_default().trim_start_matches("\r\n");
    }
    res
}

#[cfg(test)]
mod tests {
    use std::{io, net::TcpListener, thread};

    use serde_json::json;

    use super::*;

    /// Answers one connection with these words, and returns what it was asked.
    fn served(answer: &str, ask: impl FnOnce(&Server)) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound").to_string();
        thread::scope(|scope| {
            let asked = scope.spawn(move || -> io::Result<String> {
                let (mut stream, _) = listener.accept()?;
                let mut asked = Vec::new();
                let mut buffer = [0; 4096];
                while !String::from_utf8_lossy(&asked).ends_with('}') {
                    match stream.read(&mut buffer)? {
                        0 => break,
                        n => asked.extend_from_slice(&buffer[..n]),
                    }
                }
                stream.write_all(answer.as_bytes())?;
                Ok(String::from_utf8_lossy(&asked).into_owned())
            });
            ask(&Server::new(&address, "secret"));
            asked.join().expect("no panic").expect("a connection")
        })
    }

    #[test]
    fn a_post_carries_token_length_and_body_and_its_answer_is_read() {
        let answer = "HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n{\"id\": 7}";
        let asked = served(answer, |server| {
            let said = server.post("/api/v1/sessions", &json!({"prompt": "é"}));
            assert_eq!(said.expect("201")["id"], 7);
        });
        for part in [
            "POST /api/v1/sessions HTTP/1.1\r\n",
            "Authorization: Bearer secret\r\n",
            "Content-Length: 15\r\n",
            "\r\n\r\n{\"prompt\":\"é\"}",
        ] {
            assert!(asked.contains(part), "{part:?} in {asked:?}");
        }
    }

    #[test]
    fn a_problem_is_told_in_its_own_words() {
        let answer = "HTTP/1.1 422 Unprocessable\r\n\r\n{\"title\":\"No\",\"hint\":\"try this\"}";
        served(answer, |server| {
            let message = server.post("/x", &json!({})).expect_err("422").to_string();
            assert!(message.contains("422 No; try this"), "{message}");
        });
    }

    #[test]
    fn chunks_are_joined() {
        let said = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n";
        assert_eq!(parse(said), Some((200, "{\"a\":1}".to_owned())));
        assert_eq!(parse(b"SSH-2.0-x\r\n\r\n"), None);
    }
}
