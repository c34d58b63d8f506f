//! A home with a running `pilothouse serve`, and requests to it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_pilothouse");
pub(crate) const LONG: Duration = Duration::from_secs(25);

/// What a session needs, and the variables of the programs.
pub(crate) struct Place {
    pub(crate) home: tempfile::TempDir,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) vars: Vec<(String, String)>,
}

impl Place {
    pub(crate) fn new(codex: &Path, vars: Vec<(String, String)>) -> Self {
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let mut place = Self { home, folder, vars };
        let own = [("PILOTHOUSE_HOME", place.home.path()), ("PILOTHOUSE_CODEX", codex)];
        place.vars.extend(own.map(|(name, it)| (name.to_owned(), it.display().to_string())));
        place
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        for name in ["PILOTHOUSE_STORE", "CODEX_MCP_BINARY", "PILOTHOUSE_LOG", "PILOTHOUSE_AGENT"] {
            command.env_remove(name);
        }
        command.args(args).envs(self.vars.iter().cloned()).current_dir(self.folder.path());
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// What a command prints as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.run(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The only ask that waits, once there is one.
    pub(crate) fn ask(&self) -> Value {
        wait_for("an ask", || self.json(&["inbox", "--json"])["asks"].get_mut(0).map(Value::take))
    }

    pub(crate) fn serve(&self, log: &str) -> Serve {
        let stderr = self.home.path().join("stderr.txt");
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0", "--log", log]);
        command.stdout(Stdio::piped()).stderr(fs::File::create(&stderr).unwrap());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        stdout.read_line(&mut printed).unwrap();
        let address = printed.split("//").nth(1).unwrap().split('/').next().unwrap().to_owned();
        let token = self.run(&["token"]).stdout;
        let token = String::from_utf8(token).unwrap().trim().to_owned();
        Serve { child, _stdout: stdout, address, token, stderr }
    }
}

/// A running `pilothouse serve`.
pub(crate) struct Serve {
    child: Child,
    /// Kept open, as nobody may close the pipe of a program that runs.
    _stdout: BufReader<ChildStdout>,
    address: String,
    token: String,
    stderr: PathBuf,
}

impl Serve {
    /// The whole answer, as it comes.
    pub(crate) fn http(&self, method: &str, path: &str, token: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut res = String::new();
        stream.read_to_string(&mut res).unwrap();
        res
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> String {
        self.http("POST", path, &self.token, &body.to_string())
    }

    pub(crate) fn get(&self, path: &str) -> String {
        self.http("GET", path, &self.token, "")
    }

    /// Starts a session that asks before each command.
    pub(crate) fn start(&self, prompt: &str, cwd: &Path) -> String {
        let started = self.post(
            "/api/v1/sessions",
            &json!({
                "prompt": prompt, "approvalPolicy": "untrusted", "sandbox": "workspace-write",
                "cwd": cwd,
            }),
        );
        assert!(started.starts_with("HTTP/1.1 201 "), "{started}");
        let (_, rest) = started.split_once("\"sessionId\":\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    /// Ends it; gives all that it logged.
    pub(crate) fn leave(mut self) -> String {
        let pid = i32::try_from(self.child.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        fs::read_to_string(&self.stderr).unwrap()
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits for a condition that nothing announces.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(res) = look() {
            return res;
        }
        assert!(start.elapsed() < LONG, "there was never {what}");
        std::thread::yield_now();
    }
}
