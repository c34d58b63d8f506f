//! The program: reads messages, finds their rules and plays them.
//!
//! Several rules may be under way at once, because some actions wait. Each is a [`Play`]; what
//! comes in first sets off its own rule and then lets those go on that waited for it.

use std::{
    collections::{BTreeMap, VecDeque},
    fs::{self, File},
    io::{self, BufRead as _, Write as _},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread,
    time::Duration,
};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{
    Action, EOF, LOG_VARIABLE, Rule, SCRIPT_VARIABLE, START,
    approval::Item,
    mischief,
    names::{Names, filled},
    shapes,
};

/// How often to look for the file of [`Action::WaitFile`].
const LOOK: Duration = Duration::from_millis(5);

/// Plays the script that the environment names, until standard input ends.
pub fn run() -> anyhow::Result<()> {
    let rules = match std::env::var_os(SCRIPT_VARIABLE) {
        Some(path) => {
            let path = PathBuf::from(path);
            let text = fs::read_to_string(&path)
                .with_context(|| format!("the script {}", path.display()))?;
            serde_json::from_str(&text).context("the script is not a list of rules")?
        }
        None => Vec::new(),
    };
    let log = std::env::var_os(LOG_VARIABLE)
        .map(|path| File::options().create(true).append(true).open(path))
        .transpose()?;
    let mut agent = Agent {
        rules,
        log,
        ignore_sigterm: mischief::heed_sigterm()?,
        counts: BTreeMap::new(),
        plays: Vec::new(),
        turns: BTreeMap::new(),
        newest_thread: String::new(),
        threads: BTreeMap::new(),
        initialized: false,
        next_request: 0,
    };
    agent.hear(&json!({"method": START}))?;
    let lines = lines_of_stdin();
    loop {
        match agent.next_line(&lines) {
            Next::Line(line) => agent.hear_line(&line)?,
            Next::Look => {}
            Next::End => {
                if !agent.hear(&json!({"method": EOF}))? {
                    return Ok(());
                }
                // The rule said something else than to exit: wait for what it waits for.
                while agent.plays.iter().any(|it| matches!(it.wait, Some(Wait::File(_)))) {
                    thread::sleep(LOOK);
                    agent.go_on()?;
                }
                return Ok(());
            }
        }
        agent.go_on()?;
    }
}

enum Next {
    Line(Vec<u8>),
    Look,
    End,
}

/// Lines come from a thread that hands over one at a time: an agent that hangs stops reading.
fn lines_of_stdin() -> Receiver<Vec<u8>> {
    let (tx, rx) = sync_channel(0);
    thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match stdin.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if tx.send(line).is_err() {
                return;
            }
        }
    });
    rx
}

pub(super) struct Agent {
    rules: Vec<Rule>,
    log: Option<File>,
    ignore_sigterm: Arc<AtomicBool>,
    /// How many messages of each method came.
    counts: BTreeMap<String, u64>,
    plays: Vec<Play>,
    /// The running turn of each thread.
    pub(super) turns: BTreeMap<String, Turn>,
    pub(super) newest_thread: String,
    /// The folder of each thread.
    pub(super) threads: BTreeMap<String, String>,
    pub(super) initialized: bool,
    pub(super) next_request: u64,
}

pub(super) struct Turn {
    pub(super) id: String,
    /// The last message of the agent, which `turn/completed` repeats.
    pub(super) last_message: Option<Value>,
}

/// A rule that is under way.
struct Play {
    cue: Cue,
    rest: VecDeque<Action>,
    wait: Option<Wait>,
}

/// The message that set a rule off.
#[derive(Clone)]
pub(super) struct Cue {
    pub(super) message: Value,
    pub(super) thread: String,
    /// The turn that ran when the message came, or that it began.
    pub(super) turn: String,
}

pub(super) enum Wait {
    Reply(Value),
    Approval { id: Value, item: Item },
    Method(String),
    File(PathBuf),
}

impl Agent {
    fn next_line(&self, lines: &Receiver<Vec<u8>>) -> Next {
        if self.plays.iter().any(|it| matches!(it.wait, Some(Wait::File(_)))) {
            return match lines.recv_timeout(LOOK) {
                Ok(line) => Next::Line(line),
                Err(RecvTimeoutError::Timeout) => Next::Look,
                Err(RecvTimeoutError::Disconnected) => Next::End,
            };
        }
        lines.recv().map_or(Next::End, Next::Line)
    }

    fn hear_line(&mut self, line: &[u8]) -> anyhow::Result<()> {
        let parsed = serde_json::from_slice::<Value>(line).ok().filter(Value::is_object);
        let logged = parsed
            .clone()
            .unwrap_or_else(|| json!({"raw": String::from_utf8_lossy(line).into_owned()}));
        if let Some(log) = &mut self.log {
            // In one write, so that two agents may share a log.
            log.write_all(format!("{logged}\n").as_bytes())?;
        }
        // Codex, too, says nothing to what is no message.
        let Some(message) = parsed else { return Ok(()) };
        if message.get("method").is_some() {
            self.hear(&message)?;
            let method = message["method"].as_str().unwrap_or_default();
            self.release(|it| matches!(it, Wait::Method(wanted) if wanted == method));
        } else {
            self.hear_reply(&message)?;
        }
        Ok(())
    }

    /// Sets off the rule of a message, or else the default. Says whether there was a rule.
    fn hear(&mut self, message: &Value) -> anyhow::Result<bool> {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let count = self.counts.entry(method.clone()).or_default();
        *count += 1;
        let nth = *count;
        let matches = |it: &&Rule| it.on.method == method && it.on.nth.is_none_or(|it| it == nth);
        let actions = self.rules.iter().find(matches).map(|it| it.actions.clone());
        let has_rule = actions.is_some();
        let thread =
            message["params"]["threadId"].as_str().unwrap_or(&self.newest_thread).to_owned();
        let turn = self.turns.get(&thread).map(|it| it.id.clone()).unwrap_or_default();
        let cue = Cue { message: message.clone(), thread, turn };
        match actions {
            Some(actions) => {
                self.plays.push(Play { cue, rest: actions.into(), wait: None });
                self.go_on()?;
            }
            None if method == START || method == EOF => {}
            None => self.default_answer(&cue)?,
        }
        Ok(has_rule)
    }

    fn hear_reply(&mut self, reply: &Value) -> anyhow::Result<()> {
        let id = &reply["id"];
        self.release(|it| matches!(it, Wait::Reply(wanted) if wanted == id));
        let asked =
            |it: &Play| matches!(&it.wait, Some(Wait::Approval { id: wanted, .. }) if wanted == id);
        let Some(position) = self.plays.iter().position(asked) else { return Ok(()) };
        let cue = self.plays[position].cue.clone();
        if let Some(Wait::Approval { id, item }) = self.plays[position].wait.take() {
            self.settle(&cue, &id, &item, reply)?;
        }
        Ok(())
    }

    fn release(&mut self, came: impl Fn(&Wait) -> bool) {
        for play in &mut self.plays {
            if play.wait.as_ref().is_some_and(&came) {
                play.wait = None;
            }
        }
    }

    /// Plays on whatever does not wait.
    fn go_on(&mut self) -> anyhow::Result<()> {
        self.release(|it| matches!(it, Wait::File(path) if path.exists()));
        while let Some(position) = self.plays.iter().position(|it| it.wait.is_none()) {
            let mut play = self.plays.remove(position);
            while let Some(action) = play.rest.pop_front() {
                let action = filled(action, &self.names(&play.cue))?;
                play.wait = self.act(&mut play.cue, action)?;
                if play.wait.is_some() {
                    self.plays.push(play);
                    break;
                }
            }
        }
        Ok(())
    }

    fn act(&mut self, cue: &mut Cue, action: Action) -> anyhow::Result<Option<Wait>> {
        match action {
            Action::Default => self.default_answer(cue)?,
            Action::Send(message) => tell(&message)?,
            Action::Answer(result) => tell(&json!({"id": cue.message["id"], "result": result}))?,
            Action::Refuse { code, message } => refuse(cue, code, &message)?,
            Action::BeginTurn => self.begin_turn(cue)?,
            Action::Message(text) => self.say(cue, &text)?,
            Action::Ask(ask) => return self.ask_command(cue, ask),
            Action::AskFile { path, content } => return self.ask_file(cue, path, content),
            Action::EndTurn(status) => self.end_turn(&cue.thread, &cue.turn, &status)?,
            Action::Raw(text) => write(text.as_bytes())?,
            Action::RawBytes(bytes) => write(&bytes)?,
            Action::BigLine(size) => tell(&mischief::big_delta(&cue.thread, &cue.turn, size))?,
            Action::Flood(count) => {
                for _ in 0..count {
                    tell(&mischief::delta(&cue.thread, &cue.turn, "word "))?;
                }
            }
            Action::Stderr(size) => mischief::flood_stderr(size)?,
            Action::Exit(code) => mischief::leave(code),
            Action::KillSelf => mischief::kill_self()?,
            Action::Hang => mischief::hang(),
            Action::IgnoreSigterm => self.ignore_sigterm.store(true, Ordering::Relaxed),
            Action::SpawnChild(wanted) => mischief::spawn_child(&wanted)?,
            Action::ExpectReply(id) => return Ok(Some(Wait::Reply(id))),
            Action::Expect(method) => return Ok(Some(Wait::Method(method))),
            Action::WaitFile(path) => return Ok(Some(Wait::File(path))),
        }
        Ok(None)
    }

    /// Ends a turn; what it asked is resolved after it, as Codex does it.
    pub(super) fn end_turn(
        &mut self,
        thread: &str,
        turn: &str,
        outcome: &str,
    ) -> anyhow::Result<()> {
        let running = self.turns.get(thread).is_some_and(|it| it.id == turn);
        let Some(ended) = self.turns.remove(thread).filter(|_| running) else { return Ok(()) };
        let failed = shapes::turn(turn, outcome, ended.last_message.as_slice());
        if outcome == "failed" {
            tell(&notification(
                "error",
                json!({"error": failed["error"], "willRetry": false, "threadId": thread,
                       "turnId": turn}),
            ))?;
        }
        status(thread, &json!({"type": if outcome == "failed" { "systemError" } else { "idle" }}))?;
        tell(&notification("turn/completed", json!({"threadId": thread, "turn": failed})))?;
        for play in &mut self.plays {
            let of_turn = play.cue.turn == turn;
            if let Some(Wait::Approval { id, item: _ }) =
                play.wait.take_if(|it| of_turn && matches!(it, Wait::Approval { id: _, item: _ }))
            {
                resolved(thread, &id)?;
            }
        }
        Ok(())
    }

    pub(super) fn is_running(&self, cue: &Cue) -> bool {
        self.turns.get(&cue.thread).is_some_and(|it| it.id == cue.turn)
    }

    pub(super) fn cwd(&self, thread: &str) -> String {
        self.threads.get(thread).cloned().unwrap_or_else(|| "/home/dev/project".into())
    }

    fn names(&self, cue: &Cue) -> Names {
        Names {
            id: cue.message["id"].clone(),
            texts: [
                (
                    "$threadId",
                    if cue.thread.is_empty() {
                        self.newest_thread.clone()
                    } else {
                        cue.thread.clone()
                    },
                ),
                ("$turnId", cue.turn.clone()),
                ("$cwd", self.cwd(&cue.thread)),
            ],
        }
    }
}

pub(super) fn refuse(cue: &Cue, code: i64, message: &str) -> anyhow::Result<()> {
    tell(&json!({"id": cue.message["id"], "error": {"code": code, "message": message}}))
}

pub(super) fn about_item(method: &str, cue: &Cue, item: &Value) -> anyhow::Result<()> {
    let mut item = item.clone();
    let mut params = json!({"threadId": cue.thread, "turnId": cue.turn});
    if method == "item/completed" {
        item["completedAtMs"] = shapes::now_ms().into();
        params["completedAtMs"] = shapes::now_ms().into();
    } else {
        params["startedAtMs"] = shapes::now_ms().into();
    }
    params["item"] = item;
    tell(&notification(method, params))
}

pub(super) fn status(thread: &str, status: &Value) -> anyhow::Result<()> {
    tell(&notification("thread/status/changed", json!({"threadId": thread, "status": status})))
}

pub(super) fn resolved(thread: &str, id: &Value) -> anyhow::Result<()> {
    tell(&notification("serverRequest/resolved", json!({"threadId": thread, "requestId": id})))
}

pub(super) fn notification(method: &str, params: Value) -> Value {
    let mut res = json!({"method": method, "emittedAtMs": shapes::now_ms()});
    res["params"] = params;
    res
}

pub(super) fn tell(message: &Value) -> anyhow::Result<()> {
    write(format!("{message}\n").as_bytes())
}

fn write(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        // Nobody listens any more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => mischief::leave(0),
        outcome => Ok(outcome?),
    }
}
