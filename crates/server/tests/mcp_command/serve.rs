//! `pilothouse serve`, and a person who is logged in to its console.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Longer than anything that a test waits for.
pub(crate) const LONG: Duration = Duration::from_mins(1);

pub(crate) struct Serve {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    address: String,
    cookie: String,
}

impl Drop for Serve {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Serve {
    /// Starts it, and logs in with the code that it prints.
    pub(crate) fn start(home: &Path, vars: &[(String, String)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pilothouse"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("PILOTHOUSE_HOME", home)
            .env_remove("PILOTHOUSE_STORE")
            .envs(vars.iter().cloned())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        stdout.read_line(&mut printed).unwrap();
        let (address, code) = printed.trim_end().split_once("/#code=").unwrap();
        let address = address.strip_prefix("http://").unwrap().to_owned();
        let mut serve = Self { child, _stdout: stdout, address, cookie: String::new() };
        let reply = serve.exchange("POST", "/api/v1/login", Some(&json!({ "code": code })));
        let cookie = reply.lines().find_map(|it| it.strip_prefix("set-cookie: ")).unwrap();
        cookie.split(';').next().unwrap().clone_into(&mut serve.cookie);
        serve
    }

    fn exchange(&self, method: &str, path: &str, body: Option<&Value>) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut head = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nCookie: {}\r\n",
            self.address, self.cookie
        );
        let body = body.map(Value::to_string).unwrap_or_default();
        if !body.is_empty() {
            let length = body.len().to_string();
            head += "Content-Type: application/json\r\nContent-Length: ";
            head.extend([length.as_str(), "\r\n"]);
        }
        write!(stream, "{head}Connection: close\r\n\r\n{body}").unwrap();
        let mut res = String::new();
        stream.read_to_string(&mut res).unwrap();
        res
    }

    fn json(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let reply = self.exchange(method, path, body);
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        assert!(head.split(' ').nth(1).unwrap().starts_with('2'), "{method} {path}: {reply}");
        serde_json::from_str(body).unwrap()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        self.json("POST", path, Some(body))
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.json("GET", path, None)
    }

    /// What waits for a person, of whomever.
    pub(crate) fn pending(&self) -> Vec<Value> {
        let list = self.get("/api/v1/asks?state=pending&scope=all");
        list["asks"].as_array().unwrap_or_else(|| panic!("{list}")).clone()
    }

    /// The one thing that waits for a person, once there is one.
    pub(crate) fn the_ask(&self) -> Value {
        let until = Instant::now() + LONG;
        loop {
            let mut asks = self.pending();
            assert!(asks.len() < 2, "one card: {asks:?}");
            if let Some(ask) = asks.pop() {
                return ask;
            }
            assert!(Instant::now() < until, "nothing was asked");
            std::thread::yield_now();
        }
    }

    /// Answers it as the person who looks at it.
    pub(crate) fn decide(&self, ask: &Value, decision: &str) {
        let path = format!("/api/v1/asks/{}/answer", ask["requestId"].as_str().unwrap());
        self.post(&path, &json!({ "decision": decision, "digest": ask["digest"] }));
    }
}
