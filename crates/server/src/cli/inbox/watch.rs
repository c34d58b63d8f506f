//! `pilothouse inbox watch`: questions as they come, and answers by keys.

use std::{
    collections::VecDeque,
    io::{self, IsTerminal as _},
};

use anyhow::Context as _;
use jiff::Timestamp;
use pilothouse::{Broker, Error, Feed, FeedItem, Said};
use pilothouse_core::{
    Actor, AskRef, AskState, AskView, Decision, Event, Refusal, Subject, display::line,
};
use pilothouse_store::{AskFilter, FeedEntry, Presence};

use super::{
    PAGE, answer, card,
    keyboard::{Keyboard, Typed},
    person::{self, WhoArgs},
    print, said, style, words,
};
use crate::settings::Settings;

/// Most questions that wait to be shown; those beyond are in the list.
const MAX_WAITING: usize = 1_000;
/// Longest line that is typed, in letters.
const MAX_LINE: usize = 10_000;

const BACKSPACES: [char; 2] = ['\u{8}', '\u{7f}'];
const RETURNS: [char; 2] = ['\r', '\n'];
const ESCAPE: char = '\u{1b}';
const END: char = '\u{4}';

/// Watches until it is told to stop.
pub(super) async fn run(args: &WhoArgs, settings: &Settings) -> anyhow::Result<()> {
    let broker = settings.open_broker("inbox").await?;
    let done = Box::pin(watch(args, settings, &broker)).await;
    broker.stop().await;
    done
}

async fn watch(args: &WhoArgs, settings: &Settings, broker: &Broker) -> anyhow::Result<()> {
    // A program below an agent may look, but makes nobody wait for it.
    let human_surfaces = u32::from(!person::is_under_agent(broker).await?);
    let presence = Presence { program: "inbox".to_owned(), human_surfaces, console: None };
    broker.set_presence(presence).await.context("tell others that somebody watches")?;
    let mut room = Box::pin(Room::open(args, settings, broker)).await?;
    let mut stop = std::pin::pin!(stopped()?);
    loop {
        room.show_next()?;
        let happening = tokio::select! {
            item = room.feed.next() => Happening::Fed(item.context("follow what happens")?),
            typed = next_typed(&mut room.keyboard) => Happening::Typed(typed),
            () = &mut stop => Happening::Stop,
        };
        match happening {
            Happening::Fed(FeedItem::Event(entry)) => room.on_event(&entry).await?,
            Happening::Fed(FeedItem::Reset(_)) => room.read_all().await?,
            Happening::Fed(FeedItem::Delta(_) | FeedItem::Live(_)) => {}
            Happening::Typed(Some(typed)) => {
                if Box::pin(room.on_typed(&typed)).await? == Next::Leave {
                    return Ok(());
                }
            }
            Happening::Typed(None) | Happening::Stop => return Ok(()),
        }
    }
}

enum Happening {
    Fed(FeedItem),
    Typed(Option<Typed>),
    Stop,
}

#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    Leave,
}

/// Without a terminal nothing is ever typed.
async fn next_typed(keyboard: &mut Option<Keyboard>) -> Option<Typed> {
    match keyboard {
        Some(keyboard) => keyboard.next().await,
        None => std::future::pending().await,
    }
}

/// What the keys are for.
enum State {
    /// Nothing is shown that could be answered.
    Watching,
    /// A question was shown.
    Asking(AskView),
    /// Something is being written about it.
    Writing { ask: AskView, draft: Draft, line: String },
}

/// What is being written.
enum Draft {
    /// Why the answer is no.
    Reason,
    /// A value for each question or field in turn.
    Values { given: Vec<(String, String)>, left: VecDeque<Blank> },
}

/// Something to fill in.
#[derive(Clone)]
struct Blank {
    name: String,
    label: String,
    secret: bool,
}

struct Room<'a> {
    broker: &'a Broker,
    feed: Feed,
    /// Who answers, on a terminal.
    person: Option<Actor>,
    keyboard: Option<Keyboard>,
    waiting: VecDeque<AskView>,
    state: State,
}

impl<'a> Room<'a> {
    async fn open(args: &WhoArgs, settings: &Settings, broker: &'a Broker) -> anyhow::Result<Self> {
        // Before the first look, so that nothing falls between look and wait.
        let feed = broker.feed(None).await.context("follow what happens")?;
        let terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        let (mut person, mut keyboard) = (None, None);
        if terminal {
            match person::person("answer here", args, settings, broker).await {
                Ok(it) => {
                    person = Some(it);
                    keyboard = Some(Keyboard::open().context("read keys from the terminal")?);
                }
                Err(error) => print(&format!("Only to look: Pilothouse could not {error:#}\n"))?,
            }
        }
        let waiting = VecDeque::new();
        let mut room = Self { broker, feed, person, keyboard, waiting, state: State::Watching };
        room.read_all().await?;
        if room.waiting.is_empty() {
            print("Nothing waits for an answer. Questions are shown as they come; q leaves.\n")?;
        }
        Ok(room)
    }

    /// Everything that waits, the oldest first.
    async fn read_all(&mut self) -> anyhow::Result<()> {
        let mut asks = vec![];
        let mut cursor = None;
        loop {
            let filter = AskFilter { pending: true, ..AskFilter::default() };
            let page = self.broker.asks(filter, PAGE, cursor).await.context("list what waits")?;
            asks.extend(page.rows);
            cursor = page.next;
            if cursor.is_none() || asks.len() >= MAX_WAITING {
                break;
            }
        }
        for ask in asks.into_iter().rev() {
            self.take_up(ask)?;
        }
        Ok(())
    }

    fn shown(&self) -> Option<AskRef> {
        match &self.state {
            State::Watching => None,
            State::Asking(ask) | State::Writing { ask, .. } => Some(ask.request_id),
        }
    }

    fn take_up(&mut self, ask: AskView) -> anyhow::Result<()> {
        let id = ask.request_id;
        if self.shown() == Some(id) || self.waiting.iter().any(|it| it.request_id == id) {
            return Ok(());
        }
        if self.waiting.len() >= MAX_WAITING {
            return print(&format!("{id} waits, too; `pilothouse inbox` lists all.\n"));
        }
        self.waiting.push_back(ask);
        Ok(())
    }

    /// Shows what waits: one at a time where it can be answered, else all.
    fn show_next(&mut self) -> anyhow::Result<()> {
        while matches!(self.state, State::Watching) {
            let Some(ask) = self.waiting.pop_front() else { break };
            let card = card::card(&ask, Timestamp::now(), style());
            print(&format!("\n{card}"))?;
            if let Some(keyboard) = &mut self.keyboard {
                // A key that was meant for something else must not answer this.
                keyboard.forget();
                print(&keys(&ask))?;
                self.state = State::Asking(ask);
            }
        }
        Ok(())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only asks are shown here")]
    async fn on_event(&mut self, entry: &FeedEntry) -> anyhow::Result<()> {
        let session = entry.session_id;
        match &entry.envelope.event {
            Event::AskRaised { ask } => {
                let id = AskRef { session, ask: ask.id };
                let view = self.broker.ask(id).await.context("read a question")?;
                // A rule may have answered it in the same moment.
                if view.state == AskState::Pending { self.take_up(view) } else { Ok(()) }
            }
            Event::AskSettled { ask, .. } => {
                let id = AskRef { session, ask: *ask };
                self.waiting.retain(|it| it.request_id != id);
                if self.shown() != Some(id) {
                    return Ok(());
                }
                self.state = State::Watching;
                let view = self.broker.ask(id).await.context("read a question")?;
                let how = view.settlement.as_ref().map(words::settlement).unwrap_or_default();
                print(&format!("\n{id}: {how}\n"))
            }
            _ => Ok(()),
        }
    }

    async fn on_typed(&mut self, typed: &Typed) -> anyhow::Result<Next> {
        match std::mem::replace(&mut self.state, State::Watching) {
            State::Watching => Ok(leaves(typed)),
            State::Asking(ask) => self.on_key(ask, typed).await,
            State::Writing { ask, draft, line } => self.on_writing(ask, draft, line, typed).await,
        }
    }

    async fn on_key(&mut self, ask: AskView, typed: &Typed) -> anyhow::Result<Next> {
        let decision = match typed {
            Typed::Key('y') if blanks(&ask).is_empty() => Decision::Accept,
            Typed::Key('s') => Decision::AcceptForSession,
            Typed::Key('c') => Decision::Cancel,
            Typed::Key('n') if takes(&ask, Decision::Decline) => {
                print(
                    "Why not? The agent reads it; Return alone gives no reason, Escape goes back: ",
                )?;
                self.state = State::Writing { ask, draft: Draft::Reason, line: String::new() };
                return Ok(Next::GoOn);
            }
            Typed::Key('a') if !blanks(&ask).is_empty() => {
                let draft = Draft::Values { given: vec![], left: blanks(&ask).into() };
                ask_for(&draft)?;
                self.state = State::Writing { ask, draft, line: String::new() };
                return Ok(Next::GoOn);
            }
            Typed::Key(_) | Typed::Pasted(_) => {
                self.state = State::Asking(ask);
                return Ok(leaves(typed));
            }
        };
        match said::decided(&ask, decision) {
            Ok(answer) => self.give(ask, answer, None).await?,
            Err(error) => {
                print(&format!("{error:#}\n"))?;
                self.state = State::Asking(ask);
            }
        }
        Ok(Next::GoOn)
    }

    async fn on_writing(
        &mut self,
        ask: AskView,
        draft: Draft,
        mut line: String,
        typed: &Typed,
    ) -> anyhow::Result<Next> {
        let secret = matches!(&draft, Draft::Values { left, .. }
            if left.front().is_some_and(|it| it.secret));
        for key in typed.text().chars() {
            match key {
                ESCAPE => {
                    print(&format!("\n{}", keys(&ask)))?;
                    self.state = State::Asking(ask);
                    return Ok(Next::GoOn);
                }
                END => return Ok(Next::Leave),
                _ if RETURNS.contains(&key) => {
                    print("\n")?;
                    self.written(ask, draft, line).await?;
                    return Ok(Next::GoOn);
                }
                _ if BACKSPACES.contains(&key) => {
                    print(line.pop().map_or("", |_| "\u{8} \u{8}"))?;
                }
                _ if line.len() < MAX_LINE => {
                    let shown = pilothouse_core::display::line(&key.to_string());
                    print(if secret { "*" } else { &shown })?;
                    line.push(key);
                }
                _ => {}
            }
        }
        self.state = State::Writing { ask, draft, line };
        Ok(Next::GoOn)
    }

    /// A line is complete.
    async fn written(&mut self, ask: AskView, draft: Draft, line: String) -> anyhow::Result<()> {
        let (answer, reason) = match draft {
            Draft::Reason => {
                let reason = Some(line.trim().to_owned()).filter(|it| !it.is_empty());
                (said::decided(&ask, Decision::Decline), reason)
            }
            Draft::Values { mut given, mut left } => {
                if let Some(blank) = left.pop_front().filter(|_| !line.is_empty()) {
                    given.push((blank.name, line));
                }
                if !left.is_empty() {
                    let draft = Draft::Values { given, left };
                    ask_for(&draft)?;
                    self.state = State::Writing { ask, draft, line: String::new() };
                    return Ok(());
                }
                let answer = match &ask.subject {
                    Subject::Question { .. } => said::chosen(&ask, &given),
                    Subject::Form { .. }
                    | Subject::Command { .. }
                    | Subject::FileChange { .. }
                    | Subject::Permissions { .. }
                    | Subject::Url { .. }
                    | Subject::Tool { .. }
                    | Subject::Adoption { .. } => said::filled(&ask, &given),
                };
                (answer, None)
            }
        };
        match answer {
            Ok(answer) => self.give(ask, answer, reason).await,
            Err(error) => {
                print(&format!("{error:#}\n{}", keys(&ask)))?;
                self.state = State::Asking(ask);
                Ok(())
            }
        }
    }

    async fn give(
        &mut self,
        ask: AskView,
        answer: pilothouse_core::Answer,
        reason: Option<String>,
    ) -> anyhow::Result<()> {
        let Some(person) = &self.person else { return Ok(()) };
        let digest = Some(ask.digest.clone());
        let said = Said { answer, digest, reason, note: None };
        let id = ask.request_id;
        match answer::give(self.broker, id, said, person).await {
            Ok(done) => print(&format!("{done}\n")),
            Err(error) => {
                print(&format!("Pilothouse could not {error:#}\n"))?;
                // What does not fit can be said otherwise; what is settled cannot.
                let view = self.broker.ask(id).await;
                if let Ok(view) = view.or_else(|error| missing(error, ask))
                    && view.state == AskState::Pending
                {
                    print(&keys(&view))?;
                    self.state = State::Asking(view);
                }
                Ok(())
            }
        }
    }
}

/// An ask that could not be read now is as it was, unless there is none.
fn missing(error: Error, ask: AskView) -> Result<AskView, Error> {
    let gone = matches!(
        error,
        Error::NoSuchAsk(_) | Error::NoSuchSession(_) | Error::Refused(Refusal::NoSuchAsk)
    );
    if gone { Err(error) } else { Ok(ask) }
}

fn leaves(typed: &Typed) -> Next {
    if matches!(typed, Typed::Key('q' | END)) { Next::Leave } else { Next::GoOn }
}

/// What is to be written, if a decision is not enough.
fn blanks(ask: &AskView) -> Vec<Blank> {
    match &ask.subject {
        Subject::Question { questions } => {
            let blank = |it: &pilothouse_core::Question| Blank {
                name: it.id.clone(),
                label: line(if it.header.is_empty() { &it.id } else { &it.header }),
                secret: it.is_secret,
            };
            questions.iter().map(blank).collect()
        }
        Subject::Form { schema, .. } => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let blank = |(name, _): (&String, _)| Blank {
                name: name.clone(),
                label: line(name),
                secret: false,
            };
            fields.map(blank).collect()
        }
        Subject::Command { .. }
        | Subject::FileChange { .. }
        | Subject::Permissions { .. }
        | Subject::Url { .. }
        | Subject::Tool { .. }
        | Subject::Adoption { .. } => vec![],
    }
}

fn ask_for(draft: &Draft) -> anyhow::Result<()> {
    match draft {
        Draft::Reason => Ok(()),
        Draft::Values { left, .. } => match left.front() {
            Some(blank) => print(&format!("{}: ", blank.label)),
            None => Ok(()),
        },
    }
}

fn takes(ask: &AskView, decision: Decision) -> bool {
    ask.offers.iter().any(|it| it.decision == decision)
}

/// Which keys do what for this question.
fn keys(ask: &AskView) -> String {
    let offers = |decision| takes(ask, decision);
    let mut keys = vec![];
    if !blanks(ask).is_empty() {
        keys.push("a answer");
    } else if offers(Decision::Accept) {
        keys.push("y accept once");
    }
    if offers(Decision::AcceptForSession) {
        keys.push("s accept for this session");
    }
    if offers(Decision::Decline) {
        keys.push("n decline with a reason");
    }
    if offers(Decision::Cancel) || ask.offers.is_empty() {
        keys.push("c cancel");
    }
    keys.push("q leave");
    format!("[{}] ", keys.join(", "))
}

/// When a signal comes. From now on it does not end the program by itself, which would leave the
/// terminal as keys need it.
#[cfg(unix)]
fn stopped() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let listen = |kind| signal(kind).context("listen for signals");
    let mut term = listen(SignalKind::terminate())?;
    let mut int = listen(SignalKind::interrupt())?;
    let mut hup = listen(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
            _ = hup.recv() => {}
        }
    })
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on other systems")]
fn stopped() -> anyhow::Result<impl Future<Output = ()>> {
    Ok(async {
        tokio::signal::ctrl_c().await.ok();
    })
}
