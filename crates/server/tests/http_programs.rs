//! The program on a port: what it prints, who it trusts, and how it leaves.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
    time::{Duration, Instant},
};

use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule, SpawnChild},
};
use rustix::process::{Pid, Signal, kill_process};

const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_browser_logs_in_with_what_serve_prints_and_a_script_with_its_token() {
    let home = home();
    let serve = Serve::start(home.path(), &[]);
    let (address, code) = serve.printed.split_once("/#code=").unwrap();
    let port = address.strip_prefix("http://127.0.0.1:").unwrap();
    let body = format!("{{\"code\":\"{code}\"}}");
    let reply = serve.http("POST", "/api/v1/login", &[], &body);
    assert!(reply.starts_with("HTTP/1.1 204 "), "{reply}");
    let cookie = reply.lines().find_map(|it| it.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let me = serve.http("GET", "/api/v1/me", &[("Cookie", cookie)], "");
    assert!(me.contains("\"actor\":\"human\""), "{me}");

    let token = pilothouse(home.path(), &["token"], &[]);
    assert!(token.status.success());
    let token = String::from_utf8(token.stdout).unwrap();
    assert_eq!(pilothouse(home.path(), &["token"], &[]).stdout, token.as_bytes());
    let bearer = format!("Bearer {}", token.trim());
    let me = serve.http("GET", "/api/v1/me", &[("Authorization", &bearer)], "");
    assert!(me.contains("\"actor\":\"caller\""), "{me}");

    let link = pilothouse(home.path(), &["login"], &[]);
    let link = String::from_utf8(link.stdout).unwrap();
    let another = link.trim().strip_prefix(&format!("http://127.0.0.1:{port}/#code=")).unwrap();
    assert_ne!(another, code);
    let body = format!("{{\"code\":\"{another}\"}}");
    let reply = serve.http("POST", "/api/v1/login", &[], &body);
    assert!(reply.starts_with("HTTP/1.1 204 "), "{reply}");
    serve.leave(Signal::TERM);
}

#[test]
fn every_signal_ends_it_in_time_with_a_feed_open_and_an_agent_that_waits() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let home = home();
        let ask = Ask { command: "touch a".into(), ..Ask::default() };
        let actions = vec![Action::BeginTurn, Action::Ask(ask)];
        let agent = FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap();
        let codex = agent.executable().display().to_string();
        let serve = Serve::start(home.path(), &[("PILOTHOUSE_CODEX", &codex)]);
        let bearer = bearer(home.path());
        let mut feed = serve.send("GET", "/api/v1/feed", &[("Authorization", &bearer)], "");
        serve.start_session(&bearer);
        read_to_ask(&mut feed);
        serve.leave(signal);
        let mut rest = String::new();
        feed.read_to_string(&mut rest).unwrap();
    }
}

#[test]
fn the_agents_of_a_node_that_lives_are_left_alone_though_its_file_is_gone() {
    let home = home();
    let agent = FakeAgent::new(&[]).unwrap();
    let pid_file = agent.dir().join("pid");
    let child = SpawnChild { pid_file: pid_file.clone(), clear_env: false, ignore_sigterm: false };
    let ask = Ask { command: "touch a".into(), ..Ask::default() };
    let actions = vec![Action::BeginTurn, Action::SpawnChild(child), Action::Ask(ask)];
    agent.set_rules(&[Rule::on("turn/start", actions)]).unwrap();
    let codex = agent.executable().display().to_string();
    let serve = Serve::start(home.path(), &[("PILOTHOUSE_CODEX", &codex)]);
    let bearer = bearer(home.path());
    let session = serve.start_session(&bearer);
    serve.wait_for_ask(&bearer);
    let start = Instant::now();
    let child = loop {
        // It comes under its name whole.
        if let Ok(pid) = std::fs::read_to_string(&pid_file) {
            break pid;
        }
        assert!(start.elapsed() < LONG, "it never started");
        std::thread::yield_now();
    };
    assert!(is_running(&child));
    for end in ["", "-wal", "-shm"] {
        std::fs::remove_file(home.path().join(format!("pilothouse.db{end}"))).unwrap();
    }

    let next = Serve::start(home.path(), &[("PILOTHOUSE_CODEX", &codex)]);
    // It leaves only when it has looked for what dead nodes left.
    next.leave(Signal::TERM);
    assert!(is_running(&child));
    // The first one tells nobody that it did what is on record nowhere.
    let path = format!("/api/v1/sessions/{session}/cancel");
    let refused = serve.http("POST", &path, &[("Authorization", &bearer)], "{}");
    assert!(refused.starts_with("HTTP/1.1 500 "), "{refused}");
    assert!(
        refused.contains("was removed or replaced while in use; restart Pilothouse"),
        "{refused}"
    );
    serve.leave(Signal::TERM);
}

#[test]
fn a_port_that_was_named_is_that_one_or_none() {
    let homes = [home(), home()];
    let first = Serve::start(homes[0].path(), &[]);
    let listen = format!("127.0.0.1:{}", first.port());
    let refused = pilothouse(homes[1].path(), &["serve", "--listen", &listen], &[]);
    std::fs::write(homes[1].path().join("pilothouse.toml"), format!("listen = \"{listen}\""))
        .unwrap();
    let also_refused = pilothouse(homes[1].path(), &["serve"], &[]);
    for refused in [refused, also_refused] {
        assert_eq!(refused.status.code(), Some(1));
        let said = String::from_utf8(refused.stderr).unwrap();
        let expected = format!("could not listen on {listen}: another program has that port");
        assert!(said.contains(&expected), "{said}");
        assert!(refused.stdout.is_empty());
    }
    first.leave(Signal::TERM);
}

#[test]
fn a_home_that_others_can_look_into_is_closed_to_them_with_a_warning() {
    use std::fs;

    // So that `serve` comes back, too.
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = busy.local_addr().unwrap().to_string();
    for args in [["token"].as_slice(), &["mcp"], &["serve", "--listen", &listen]] {
        let home = home();
        let token = home.path().join("token");
        fs::write(&token, "pht_1").unwrap();
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        set(home.path(), 0o755);
        set(&token, 0o644);
        let n_warnings = || {
            let said = String::from_utf8(pilothouse(home.path(), args, &[]).stderr).unwrap();
            said.matches("could be seen by other users").count()
        };
        assert_eq!(n_warnings(), 2, "{args:?}");
        assert_eq!((mode(home.path()), mode(&token)), (0o700, 0o600), "{args:?}");
        assert_eq!(n_warnings(), 0, "{args:?}");
    }
}

#[test]
fn settings_that_are_no_file_are_refused_at_once() {
    let home = home();
    let path = home.path().join("pilothouse.toml");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let refused = pilothouse(home.path(), &["token"], &[]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    let expected = format!("Pilothouse could not read {}: it is no regular file", path.display());
    assert!(said.starts_with(&expected), "{said}");
}

#[test]
fn only_this_machine_may_reach_it() {
    let home = home();
    let refused = pilothouse(home.path(), &["serve", "--listen", "0.0.0.0:0"], &[]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("can be reached from other machines"), "{said}");
}

#[test]
fn an_agent_gets_nothing_that_speaks_for_a_person() {
    let home = home();
    let mark = [("PILOTHOUSE_AGENT", "s/n/1")];
    for args in [["login"].as_slice(), &["token", "--human"]] {
        let refused = pilothouse(home.path(), args, &mark);
        assert_eq!(refused.status.code(), Some(1), "{args:?}");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.starts_with("Pilothouse could not give out a "), "{said}");
        assert!(said.contains("started by an agent"), "{said}");
        assert!(refused.stdout.is_empty());
    }
    let serve = Serve::start(home.path(), &mark);
    assert!(!serve.printed.contains("code"), "{}", serve.printed);
    serve.leave(Signal::TERM);

    // One that has lost its mark has a parent that has not.
    let program = env!("CARGO_BIN_EXE_pilothouse");
    let line = format!("env -u PILOTHOUSE_AGENT {program} token --human; true");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &line]).env("PILOTHOUSE_HOME", home.path()).env(mark[0].0, mark[0].1);
    let hidden = command.output().unwrap();
    assert!(String::from_utf8(hidden.stderr).unwrap().contains("started by an agent"));
    assert!(hidden.stdout.is_empty());

    let no_terminal = pilothouse(home.path(), &["token", "--human"], &[]);
    assert_eq!(no_terminal.status.code(), Some(1));
    let said = String::from_utf8(no_terminal.stderr).unwrap();
    assert!(said.contains("this is no terminal"), "{said}");
}

#[test]
fn what_an_mcp_host_runs_gets_nothing_that_speaks_for_a_person_either() {
    let home = home();
    let serve = Serve::start(home.path(), &[]);
    // This test is the host, and what it starts from now on may be its model's doing.
    let mut mcp = command(home.path(), &[]);
    let mut mcp = mcp.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = mcp.stdin.take().unwrap();
    let mut lines = BufReader::new(mcp.stdout.take().unwrap()).lines();
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"codex_session","arguments":{"action":"list"}}}"#,
    ] {
        writeln!(stdin, "{line}").unwrap();
    }
    assert!(lines.by_ref().map_while(Result::ok).any(|it| it.contains("\"id\":2")));
    let refused = pilothouse(home.path(), &["login"], &[]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("started by an MCP host"), "{said}");
    assert!(refused.stdout.is_empty());
    let another = Serve::start(home.path(), &[]);
    assert!(!another.printed.contains("code"), "{}", another.printed);
    another.leave(Signal::TERM);
    drop(stdin);
    assert!(mcp.wait().unwrap().success());
    // Its client is gone, and what is started here now is nobody's doing but ours.
    assert!(pilothouse(home.path(), &["login"], &[]).status.success());
    serve.leave(Signal::TERM);
}

#[test]
fn failures_say_what_to_do_and_exit_with_1_and_misuse_with_2() {
    let home = home();
    let alone = pilothouse(home.path(), &["login"], &[]);
    assert_eq!(alone.status.code(), Some(1));
    let said = String::from_utf8(alone.stderr).unwrap();
    assert!(said.starts_with("Pilothouse could not find a running `pilothouse serve`"), "{said}");

    std::fs::write(home.path().join("pilothouse.toml"), "stroe = 1").unwrap();
    let unknown = pilothouse(home.path(), &["token"], &[]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8(unknown.stderr).unwrap().contains("unknown field `stroe`"));

    assert_eq!(pilothouse(home.path(), &["nonsense"], &[]).status.code(), Some(2));
    let version = pilothouse(home.path(), &["--version"], &[]);
    assert!(version.status.success());
    let said = String::from_utf8(version.stdout).unwrap();
    assert_eq!(said, format!("pilothouse {}\n", env!("CARGO_PKG_VERSION")));
}

/// A home as Pilothouse would make it.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    home
}

fn command(home: &Path, vars: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pilothouse"));
    for name in ["PILOTHOUSE_STORE", "PILOTHOUSE_CODEX", "CODEX_MCP_BINARY", "PILOTHOUSE_LOG"] {
        command.env_remove(name);
    }
    command.env("PILOTHOUSE_HOME", home).envs(vars.iter().copied()).stdin(Stdio::null());
    command
}

fn pilothouse(home: &Path, args: &[&str], vars: &[(&str, &str)]) -> Output {
    command(home, vars).args(args).output().unwrap()
}

/// Whether a process is there and has not ended.
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// What a script sends.
fn bearer(home: &Path) -> String {
    let token = pilothouse(home, &["token"], &[]).stdout;
    format!("Bearer {}", String::from_utf8(token).unwrap().trim())
}

fn read_to_ask(feed: &mut BufReader<TcpStream>) {
    let mut line = String::new();
    while !line.contains("\"type\":\"askRaised\"") {
        line.clear();
        assert!(feed.read_line(&mut line).unwrap() > 0, "the feed ended early");
    }
}

/// A running `pilothouse serve`.
struct Serve {
    child: Child,
    /// Kept open, as nobody may close the pipe of a program that runs.
    _stdout: BufReader<ChildStdout>,
    /// The one line.
    printed: String,
}

impl Serve {
    fn start(home: &Path, vars: &[(&str, &str)]) -> Self {
        let mut command = command(home, vars);
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        stdout.read_line(&mut printed).unwrap();
        Self { child, _stdout: stdout, printed: printed.trim_end().to_owned() }
    }

    fn port(&self) -> u16 {
        let rest = self.printed.strip_prefix("http://127.0.0.1:").unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", self.port());
        for (name, value) in headers {
            head.extend([*name, ": ", *value, "\r\n"]);
        }
        if !body.is_empty() {
            let length = body.len().to_string();
            head += "Content-Type: application/json\r\nContent-Length: ";
            head.extend([length.as_str(), "\r\n"]);
        }
        write!(stream, "{head}Connection: close\r\n\r\n{body}").unwrap();
        BufReader::new(stream)
    }

    fn http(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut res = String::new();
        self.send(method, path, headers, body).read_to_string(&mut res).unwrap();
        res
    }

    /// Starts a session; gives its name.
    fn start_session(&self, bearer: &str) -> String {
        let body = "{\"prompt\":\"go\",\"approvalPolicy\":\"untrusted\",\"sandbox\":\"read-only\"}";
        let started = self.http("POST", "/api/v1/sessions", &[("Authorization", bearer)], body);
        assert!(started.starts_with("HTTP/1.1 201 "), "{started}");
        let (_, rest) = started.split_once("\"sessionId\":\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    /// Waits until a session asks.
    fn wait_for_ask(&self, bearer: &str) {
        let mut feed = self.send("GET", "/api/v1/feed?after=c0", &[("Authorization", bearer)], "");
        read_to_ask(&mut feed);
    }

    /// Ends it, which must not take more than 2 s.
    fn leave(mut self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        let told = Instant::now();
        kill_process(pid, signal).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{signal:?}: {status}");
        assert!(told.elapsed() < Duration::from_secs(2), "{signal:?}: {:?}", told.elapsed());
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
