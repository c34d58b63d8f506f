//! From a fresh clone to a question that waits in the browser for a person's answer.

mod children;
mod http;
mod model;

use std::{
    env, fs,
    io::{self, BufRead, IsTerminal},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant, SystemTime},
};

use children::Child;
use http::Server;
use model::Model;
use serde_json::{Value, json};

use crate::{
    codex,
    install::{self, Tool},
    run::{self, Failure},
    workspace,
};

const USAGE: &str =
    "usage: cargo xtask demo [--port N] [--scripted] [--no-open] [--exit-after-ready]";

/// Long enough for a cold start on a busy machine.
const START: Duration = Duration::from_secs(30);
/// Long enough for a real model to decide what it wants to run.
const ASK: Duration = Duration::from_mins(2);
const POLL: Duration = Duration::from_millis(200);

const PROMPT: &str = "Create a file hello.txt that contains one friendly sentence, with a shell \
                      command, and then tell me what it says.";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::parse(arguments)?;
    let begin = Instant::now();
    let version = codex::pinned()?;
    prepare(&version)?;
    let program = codex::required(&version)?;
    let places = Places::make()?;

    let mut model = model::who_answers(&options, &places)?;
    let mut serve = serve(&options, &places, &program, &model)?;
    let token = places.pilothouse(&["token"])?;
    let server = Server::new(&serve.address, token.trim());
    let session = server.post("/api/v1/sessions", &places.session())?;
    let id = session["sessionId"].as_str().unwrap_or_default();
    let ask = run::step("Codex works until it needs a person", || wait_for_ask(&server, id))?;

    println!("\nReady in {:.1} s. Codex asks:\n\n    {}\n", begin.elapsed().as_secs_f64(), ask);
    let link = places.link(&serve);
    show(&link, &options);
    if options.ends == Ends::WhenReady {
        return Ok(());
    }
    println!("\nEnter prints a fresh link. Ctrl-C ends everything that was started here.");
    stay(&places, &mut serve, &mut model)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    WhenReady,
    WhenTold,
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    port: Option<u16>,
    is_scripted: bool,
    opens_browser: bool,
    ends: Ends,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut res =
            Self { port: None, is_scripted: false, opens_browser: true, ends: Ends::WhenTold };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--port" => {
                    let port = rest.next().and_then(|it| it.parse().ok());
                    res.port = Some(port.ok_or_else(|| Failure::new(USAGE))?);
                }
                "--scripted" => res.is_scripted = true,
                "--no-open" => res.opens_browser = false,
                "--exit-after-ready" => res.ends = Ends::WhenReady,
                _ => return Err(Failure::new(USAGE)),
            }
        }
        Ok(res)
    }
}

/// Fetching waits for the network and compiling for the processor, so they go side by side. The
/// dev profile is there first: a release build optimises every dependency before anything shows.
fn prepare(version: &str) -> Result<(), Failure> {
    println!(
        "Compiling Pilothouse (dev profile) while npm fetches Codex and the console's packages"
    );
    thread::scope(|scope| {
        let fetched = scope.spawn(|| {
            install::ensure(&[Tool::Codex(version.to_owned()), Tool::Packages(workspace::web())])?;
            console()
        });
        let compiled = run::step("Pilothouse: cargo build", || {
            let mut command = run::cargo();
            command.arg("build").args(PROGRAMS);
            // Minutes without a word look like a fault.
            if io::stderr().is_terminal() {
                run::shown(&mut command)
            } else {
                run::quiet(&mut command).map(drop)
            }
        });
        let fetched =
            fetched.join().unwrap_or_else(|_| Err(Failure::new("the console could not be built")));
        compiled.and(fetched)
    })
}

const PROGRAMS: [&str; 8] = [
    "-p",
    "pilothouse-server",
    "-p",
    "pilothouse-testkit",
    "--bin",
    "pilothouse",
    "--bin",
    "scripted-model",
];

fn console() -> Result<(), Failure> {
    let web = workspace::web();
    let made = fs::metadata(web.join("dist/index.html")).and_then(|it| it.modified()).ok();
    if made.is_some_and(|made| newest(&web).is_some_and(|it| it < made)) {
        println!("Console: already built");
        return Ok(());
    }
    run::step("Console: vite build", || {
        run::quiet(run::npm(&web).args(["run", "--silent", "build"])).map(drop)
    })
}

/// When something that the console is built from last changed.
fn newest(web: &Path) -> Option<SystemTime> {
    let mut folders = vec![web.join("src"), web.join("public")];
    let mut res = ["index.html", "package-lock.json", "vite.config.ts"]
        .iter()
        .filter_map(|it| fs::metadata(web.join(it)).and_then(|it| it.modified()).ok())
        .max();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                res = res.max(metadata.modified().ok());
            }
        }
    }
    res
}

/// Where the demo keeps its things, apart from the person's own Pilothouse.
struct Places {
    home: PathBuf,
    project: PathBuf,
    codex_home: PathBuf,
}

impl Places {
    fn make() -> Result<Self, Failure> {
        let demo = workspace::tools().join("demo");
        let res = Self {
            home: demo.join("home"),
            project: demo.join("project"),
            codex_home: demo.join("codex-home"),
        };
        for folder in [&res.home, &res.project, &res.codex_home] {
            workspace::make_dir(folder)?;
        }
        let readme = res.project.join("README.md");
        if !readme.exists() {
            workspace::write(&readme, "# A project to try Pilothouse on\n")?;
        }
        // A repository of its own, or Codex would read this repository's instructions.
        if run::exists("git") && !res.project.join(".git").exists() {
            run::quiet(Command::new("git").args(["init", "--quiet"]).arg(&res.project))?;
        }
        Ok(res)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(workspace::built("pilothouse"));
        command.env("PILOTHOUSE_HOME", &self.home).env_remove("PILOTHOUSE_STORE");
        command
    }

    /// Runs a subcommand on the person's terminal, which is how it knows a person.
    fn pilothouse(&self, arguments: &[&str]) -> Result<String, Failure> {
        let output = self
            .command()
            .args(arguments)
            .stdin(Stdio::inherit())
            .output()
            .map_err(|error| Failure::new(format!("could not start pilothouse: {error}")))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Failure::new(format!("`pilothouse {}` failed: {}", arguments.join(" "), said.trim())))
    }

    /// A link that was just made, or the one from the start if none can be made from here.
    fn link(&self, serve: &Serve) -> String {
        let fresh = self.pilothouse(&["login"]).ok().and_then(|it| url_in(&it));
        fresh.unwrap_or_else(|| serve.link.clone())
    }

    fn session(&self) -> Value {
        json!({
            "prompt": PROMPT,
            "title": "A first approval",
            "approvalPolicy": "untrusted",
            "sandbox": "workspace-write",
            "approvalTimeoutMs": 0,
            "cwd": self.project,
        })
    }
}

struct Serve {
    child: Child,
    /// Host and port.
    address: String,
    link: String,
}

fn serve(
    options: &Options,
    places: &Places,
    codex: &Path,
    model: &Model,
) -> Result<Serve, Failure> {
    let mut command = places.command();
    command.arg("serve").env("PILOTHOUSE_CODEX", codex);
    command.envs(model.environment.iter().cloned());
    if let Some(port) = options.port {
        command.arg("--listen").arg(format!("127.0.0.1:{port}"));
    }
    let (child, said) = Child::start("pilothouse serve", &mut command, &places.home, START)?;
    let link = url_in(&said)
        .ok_or_else(|| Failure::new(format!("`pilothouse serve` named no address: {said:?}")))?;
    let address = address_in(&link).to_owned();
    Ok(Serve { child, address, link })
}

fn wait_for_ask(server: &Server, session: &str) -> Result<String, Failure> {
    let begin = Instant::now();
    while begin.elapsed() < ASK {
        let asks = server.get("/api/v1/asks?state=pending")?;
        if let Some(ask) = ask_of(&asks, session) {
            return Ok(ask);
        }
        let state = server.get(&format!("/api/v1/sessions/{session}"))?;
        if let Some(failure) = ended_early(&state) {
            return Err(failure);
        }
        thread::sleep(POLL);
    }
    Err(Failure::new(format!(
        "Codex asked nothing within {} s; `cargo xtask demo --scripted` needs no network",
        ASK.as_secs()
    )))
}

/// What the session's pending ask is about, in one line.
fn ask_of(asks: &Value, session: &str) -> Option<String> {
    let asks = asks["asks"].as_array()?;
    let ask = asks.iter().find(|it| it["sessionId"] == session)?;
    let kind = ask["kind"].as_str().unwrap_or("question");
    let subject = &ask["subject"]["command"];
    let subject =
        subject.as_str().map_or_else(|| kind.to_owned(), |it| format!("may I run `{it}`?"));
    // An agent's text must not drive the terminal.
    Some(harmless(&subject))
}

fn harmless(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    for it in text.chars() {
        if !it.is_control() && (it.is_ascii() || it.is_alphanumeric()) {
            res.push(it);
        } else {
            res.extend(it.escape_unicode());
        }
    }
    res
}

fn ended_early(state: &Value) -> Option<Failure> {
    let turn = &state["lastTurn"];
    let has_ended =
        matches!(turn["status"].as_str(), Some("completed" | "interrupted" | "failed" | "lost"));
    has_ended.then(|| {
        let error = turn["error"].as_str().map_or_else(|| turn["error"].to_string(), str::to_owned);
        let why = if turn["error"].is_null() { "it had nothing to ask".to_owned() } else { error };
        Failure::new(format!(
            "the turn ended before a person was needed: {why}; \
             `cargo xtask demo --scripted` needs no account"
        ))
    })
}

fn show(link: &str, options: &Options) {
    println!("Answer here within a minute, after which the link is void:\n\n    {link}");
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|it| env::var_os(it).is_some());
    let opener =
        if cfg!(target_os = "macos") { Some("open") } else { has_screen.then_some("xdg-open") };
    if let Some(opener) = opener.filter(|_| options.opens_browser && io::stdout().is_terminal()) {
        let res = Command::new(opener)
            .arg(link)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !res.is_ok_and(|it| it.success()) {
            println!("(no browser could be opened from here)");
        }
    }
}

/// Until Ctrl-C, which ends this process; the leashes then end the others.
fn stay(places: &Places, serve: &mut Serve, model: &mut Model) -> Result<(), Failure> {
    let (tx, rx) = mpsc::sync_channel(1);
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.is_err() || tx.send(()).is_err() {
                break;
            }
        }
    });
    loop {
        let is_asked_for_a_link = match rx.recv_timeout(POLL) {
            Ok(()) => true,
            Err(mpsc::RecvTimeoutError::Timeout) => false,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                thread::sleep(POLL);
                false
            }
        };
        if is_asked_for_a_link {
            println!("    {}", places.pilothouse(&["login"])?.trim());
        }
        serve.child.check()?;
        if let Some(child) = &mut model.child {
            child.check()?;
        }
    }
}

fn url_in(text: &str) -> Option<String> {
    let at = text.find("http://")?;
    let url = text.get(at..)?.split_whitespace().next()?;
    Some(url.to_owned())
}

/// `127.0.0.1:7457` of `http://127.0.0.1:7457/#code=…`.
fn address_in(url: &str) -> &str {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    rest.split(['/', '#', '?']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options, Failure> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn options_are_read_and_others_refused() {
        let all = options("--port 0 --scripted --no-open --exit-after-ready").expect("all");
        assert_eq!(
            all,
            Options {
                port: Some(0),
                is_scripted: true,
                opens_browser: false,
                ends: Ends::WhenReady
            }
        );
        assert_eq!(options("").expect("none").ends, Ends::WhenTold);
        for bad in ["--port", "--port x", "--port 70000", "--open", "now"] {
            assert!(options(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_address_is_found_in_what_serve_says() {
        let link = url_in("Pilothouse: http://127.0.0.1:7457/#code=abc (60 s)").expect("a link");
        assert_eq!(link, "http://127.0.0.1:7457/#code=abc");
        assert_eq!(address_in(&link), "127.0.0.1:7457");
        assert_eq!(url_in("no link"), None);
    }

    #[test]
    fn only_the_sessions_own_ask_counts_and_its_text_is_made_harmless() {
        let asks = json!({"asks": [
            {"sessionId": "sess_other", "kind": "command", "subject": {"command": "ls"}},
            {"sessionId": "sess_ours", "kind": "command", "subject": {"command": "echo \u{1b}[2J é"}},
        ]});
        let ask = ask_of(&asks, "sess_ours").expect("it is pending");
        assert_eq!(ask, "may I run `echo \\u{1b}[2J é`?");
        assert_eq!(ask_of(&asks, "sess_third"), None);
    }

    #[test]
    fn a_turn_that_ends_without_asking_says_why() {
        assert!(ended_early(&json!({"lastTurn": {"status": "started"}})).is_none());
        let failed = json!({"lastTurn": {"status": "failed", "error": "usage limit"}});
        let message = ended_early(&failed).expect("it ended").to_string();
        assert!(message.contains("usage limit") && message.contains("--scripted"), "{message}");
    }
}
