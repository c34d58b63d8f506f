//! A session for a table: brought to a state, given one input, and its step read as lines.

use jiff::{SignedDuration, Timestamp};
use pilothouse_core::{
    Actor, AgentError, Answer, Ask, AskId, Attach, Decision, Effect, Envelope, Event, Facts,
    FromAgent, Intent, Moment, Offer, Origin, Outcome, Policy, Prompt, Reach, Refusal, Report,
    Request, Session, Settled, Spec, Step, Subject, ToAgent, WhenBusy, decision_name,
};
use serde_json::Value;

/// Something that happens.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    Agent(FromAgent),
    Wants(Actor, Intent),
    /// Seconds pass, and the clock is looked at.
    Tick(i64),
    /// Seconds pass, and nobody looks at the clock.
    Wait(i64),
    /// People come or go.
    Present(bool),
}

/// A session with its surroundings.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) session: Session,
    pub(crate) policy: Policy,
    pub(crate) now: Timestamp,
    human_present: bool,
}

/// After `given`, does `input` lead to `expected`?
#[track_caller]
pub(crate) fn check(given: &[Input], input: Input, expected: &[&str]) {
    Stage::open(Spec::default(), None, None).after(given).check(input, expected);
}

impl Stage {
    pub(crate) fn open(spec: Spec, fork_of: Option<Origin>, prompt: Option<Prompt>) -> Self {
        let mut stage = Self {
            session: Session::default(),
            policy: Policy::default(),
            now: "2026-11-30T12:00:00Z".parse().unwrap(),
            human_present: false,
        };
        stage.apply(&Session::open(spec, &caller("a"), fork_of, prompt));
        stage
    }

    pub(crate) fn under(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    #[track_caller]
    pub(crate) fn after(mut self, given: &[Input]) -> Self {
        for input in given {
            let step = self.step(input.clone());
            assert!(step.is_ok(), "{input:?} was refused: {step:?}");
        }
        self
    }

    /// Gives one input, and goes on from there.
    #[track_caller]
    pub(crate) fn check(&mut self, input: Input, expected: &[&str]) {
        assert_eq!(self.lines(input), expected);
    }

    pub(crate) fn lines(&mut self, input: Input) -> Vec<String> {
        match self.step(input) {
            Ok(step) => lines(&step),
            Err(refusal) => vec![format!("refused: {refusal}")],
        }
    }

    pub(crate) fn ask(&self, number: u32) -> &Ask {
        &self.session.asks()[&AskId(number)]
    }

    pub(crate) fn step(&mut self, input: Input) -> Result<Step, Refusal> {
        if let Input::Tick(seconds) | Input::Wait(seconds) = input {
            self.now += SignedDuration::from_secs(seconds);
        }
        let moment =
            Moment { now: self.now, human_present: self.human_present, policy: &self.policy };
        let step = match input {
            Input::Agent(message) => self.session.on_agent(&moment, message),
            Input::Wants(by, intent) => self.session.on_intent(&moment, intent, &by)?,
            Input::Tick(_) => self.session.on_tick(self.now),
            Input::Wait(_) => Step::default(),
            Input::Present(human_present) => {
                self.human_present = human_present;
                Step::default()
            }
        };
        self.apply(&step);
        Ok(step)
    }

    fn apply(&mut self, step: &Step) {
        for event in &step.record {
            let seq = self.session.seq().next();
            self.session.apply(&Envelope { seq, at: self.now, event: event.clone() });
        }
    }
}

pub(crate) fn caller(id: &str) -> Actor {
    Actor::Caller { id: id.to_owned() }
}

pub(crate) fn human() -> Actor {
    Actor::Human { via: "cli".to_owned(), verified: true }
}

pub(crate) fn wants(intent: Intent) -> Input {
    Input::Wants(caller("a"), intent)
}

pub(crate) fn prompt(text: &str) -> Input {
    prompt_when_busy(text, WhenBusy::Refuse)
}

pub(crate) fn prompt_when_busy(text: &str, when_busy: WhenBusy) -> Input {
    wants(Intent::Prompt { prompt: Prompt::text(text), when_busy })
}

pub(crate) fn close() -> Input {
    wants(Intent::Close { reason: "done".to_owned() })
}

pub(crate) fn accept(ask: u32) -> Input {
    answer(caller("a"), ask, Answer::plain(Decision::Accept))
}

pub(crate) fn answer(by: Actor, ask: u32, answer: Answer) -> Input {
    let ask = AskId(ask);
    Input::Wants(by, Intent::Answer { ask, answer, digest: None, reason: None, note: None })
}

pub(crate) fn ready() -> Input {
    ready_as("t")
}

pub(crate) fn ready_as(thread: &str) -> Input {
    Input::Agent(FromAgent::Ready { thread: thread.to_owned(), facts: Facts::default() })
}

pub(crate) fn not_ready() -> Input {
    Input::Agent(FromAgent::NotReady { error: error("no such model") })
}

pub(crate) fn started(name: &str) -> Input {
    Input::Agent(FromAgent::TurnStarted { name: name.to_owned() })
}

pub(crate) fn ended(name: &str) -> Input {
    turn_ended(Some(name), Outcome::Completed)
}

pub(crate) fn turn_ended(name: Option<&str>, outcome: Outcome) -> Input {
    let name = name.map(str::to_owned);
    Input::Agent(FromAgent::TurnEnded { name, outcome, report: Report::default() })
}

pub(crate) fn turn_refused() -> Input {
    Input::Agent(FromAgent::TurnRefused { error: error("no") })
}

pub(crate) fn item(item: &str) -> Input {
    let (kind, body) = ("agentMessage".to_owned(), Value::Null);
    Input::Agent(FromAgent::ItemStarted { item: item.to_owned(), kind, body, agent: None })
}

pub(crate) fn item_completed(item: &str) -> Input {
    let (kind, body) = ("agentMessage".to_owned(), Value::Null);
    Input::Agent(FromAgent::ItemCompleted { item: item.to_owned(), kind, body, agent: None })
}

pub(crate) fn settles(key: &str) -> Input {
    Input::Agent(FromAgent::Settles { key: key.to_owned() })
}

pub(crate) fn exited() -> Input {
    Input::Agent(FromAgent::Exited { cause: "signal 9".to_owned(), fault: None })
}

pub(crate) fn asks(key: &str) -> Input {
    Input::Agent(FromAgent::Asks(Box::new(request(key, command()))))
}

pub(crate) fn asks_about(key: &str, subject: Subject) -> Input {
    Input::Agent(FromAgent::Asks(Box::new(request(key, subject))))
}

pub(crate) fn request(key: &str, subject: Subject) -> Request {
    Request {
        key: key.to_owned(),
        subject,
        offers: vec![
            Offer::plain(Decision::Accept, Reach::Once),
            Offer::plain(Decision::Decline, Reach::Once),
        ],
        reason: None,
        item: None,
        params: Value::Null,
        agent: None,
        echo_of: None,
    }
}

pub(crate) fn command() -> Subject {
    Subject::Command {
        command: "make".to_owned(),
        argv: vec![],
        cwd: "/w".to_owned(),
        write_stdin: false,
        host: None,
    }
}

pub(crate) fn error(message: &str) -> AgentError {
    AgentError { message: message.to_owned(), detail: Value::Null }
}

/// An agent is attached; no turn is under way.
pub(crate) fn idle() -> Vec<Input> {
    vec![ready()]
}

/// Turn 1 is under way, under the name of `x`.
pub(crate) fn busy() -> Vec<Input> {
    vec![ready(), prompt("go"), started("x")]
}

/// And the agent asks, under the key `k`.
pub(crate) fn asking() -> Vec<Input> {
    and(busy(), [asks("k")])
}

pub(crate) fn and<const N: usize>(mut given: Vec<Input>, more: [Input; N]) -> Vec<Input> {
    given.extend(more);
    given
}

fn lines(step: &Step) -> Vec<String> {
    step.record.iter().map(event_line).chain(step.then.iter().map(effect_line)).collect()
}

fn event_line(event: &Event) -> String {
    match event {
        Event::Opened { .. } => "opened".to_owned(),
        Event::Attached { thread, .. } => format!("attached {thread}"),
        Event::TurnRequested { turn, prompt, queued, by } => {
            let from = if *queued { " from the queue" } else { "" };
            let of_its_own = if *by == Actor::Agent { " by the agent" } else { "" };
            format!("turn {} requested{from}{of_its_own}: {}", turn.0, prompt.text)
        }
        Event::PromptQueued { prompt, .. } => format!("queued: {}", prompt.text),
        Event::Steered { turn, prompt, .. } => format!("turn {} steered: {}", turn.0, prompt.text),
        Event::TurnStarted { turn, name } => format!("turn {} started as {name}", turn.0),
        Event::InterruptRequested { turn, .. } => format!("interrupt of turn {}", turn.0),
        Event::ItemStarted { item, .. } => format!("item {item} started"),
        Event::ItemCompleted { item, .. } => format!("item {item} completed"),
        Event::ItemAbandoned { item } => format!("item {item} abandoned"),
        Event::AskRaised { ask } => format!("ask {} raised", ask.id.0),
        Event::AskSettled { ask, how } => format!("ask {} {}", ask.0, settled_words(how)),
        Event::TurnEnded { turn, outcome, .. } => {
            format!("turn {} {}", turn.0, outcome_words(outcome))
        }
        Event::AskNotShown { ask, via, why } => format!("ask {} not shown by {via}: {why}", ask.0),
        Event::AskEchoed { key, ask } => format!("{key} echoes {ask}"),
        Event::CommandStarted { ask, .. } => format!("command {} started", ask.0),
        Event::CommandEnded { ask, result } => format!("command {} {:?}", ask.0, result.end),
        Event::Noted { method, .. } => format!("noted {method}"),
        Event::RequestRefused { answer, .. } => format!("request {answer}"),
        Event::Managed { .. } => "managed".to_owned(),
        Event::AttachFailed { error } => format!("attach failed: {}", error.message),
        Event::Detached { cause } => format!("detached: {cause}"),
        Event::Renamed { title, .. } => format!("renamed: {title}"),
        Event::Adopted { caller, .. } => format!("adopted by {caller}"),
        Event::Closed { reason, .. } => format!("closed: {reason}"),
    }
}

fn settled_words(how: &Settled) -> String {
    match how {
        Settled::Answered { answer, by, bound, .. } => {
            let by = match by {
                Actor::Human { .. } => "human",
                Actor::Caller { id } => id,
                Actor::Policy { rule } => rule,
                Actor::Clock | Actor::Agent | Actor::Node => "nobody",
            };
            let bound = if *bound { ", bound" } else { "" };
            format!("answered by {by}{bound}: {}", answer_words(answer))
        }
        Settled::Expired { waited_s, answer: None } => format!("expired after {waited_s} s"),
        Settled::Expired { waited_s, answer: Some(answer) } => {
            format!("expired after {waited_s} s: {}", answer_words(answer))
        }
        Settled::Withdrawn => "withdrawn".to_owned(),
        Settled::Lost => "lost".to_owned(),
    }
}

fn answer_words(answer: &Answer) -> String {
    match answer {
        Answer::Decided { decision, .. } => decision_name(*decision).to_owned(),
        Answer::Chosen { answers, .. } => format!("{answers:?}"),
        Answer::Filled { content } => content.to_string(),
        Answer::Redacted => "redacted".to_owned(),
    }
}

fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed => "completed".to_owned(),
        Outcome::Interrupted => "interrupted".to_owned(),
        Outcome::Failed { error } => format!("failed: {}", error.message),
        Outcome::Lost { cause, .. } => format!("lost: {cause}"),
    }
}

fn effect_line(effect: &Effect) -> String {
    match effect {
        Effect::Attach(Attach::Start) => "→ attach to a new thread".to_owned(),
        Effect::Attach(Attach::Resume { thread }) => format!("→ attach to {thread}"),
        Effect::Attach(Attach::Fork { thread }) => format!("→ attach to a copy of {thread}"),
        Effect::Detach => "→ detach".to_owned(),
        Effect::Tell(ToAgent::StartTurn { turn, prompt }) => {
            format!("→ start turn {}: {}", turn.0, prompt.text)
        }
        Effect::Tell(ToAgent::Steer { turn, prompt }) => format!("→ steer {turn}: {}", prompt.text),
        Effect::Tell(ToAgent::Interrupt { turn }) => format!("→ interrupt {turn}"),
        Effect::Tell(ToAgent::Answer { key, answer, .. }) => {
            format!("→ answer {key}: {}", answer_words(answer))
        }
        Effect::Tell(ToAgent::Expire { key, waited_s }) => {
            format!("→ expire {key} after {waited_s} s")
        }
        Effect::Tell(ToAgent::Manage(_)) => "→ manage".to_owned(),
    }
}
