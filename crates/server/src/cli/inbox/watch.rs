//! `pilothouse inbox watch`: questions as they come, and answers by keys.

use std::{
    collections::VecDeque,
    io::{self, IsTerminal as _},
};

use anyhow::Context as _;
use jiff::Timestamp;
use pilothouse::{Broker, Error, Feed, FeedItem, Said};
use pilothouse_core::{
    Actor, AskRef, AskState, AskView, Decision, Event, Offer, Refusal, display::line,
};
use pilothouse_store::{AskFilter, FeedEntry, Presence};

use super::{
    PAGE, answer, card,
    filling::{Filling, Taken},
    keyboard::{Keyboard, Typed},
    keys::{Meaning, keys, meaning},
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
    /// The number of an offer.
    Number,
    /// A value for each question or field in turn.
    Values(Filling),
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

    /// Leaves a question open, which comes again after all others.
    fn skip(&mut self, ask: AskView) -> anyhow::Result<()> {
        let id = ask.request_id;
        if self.waiting.is_empty() {
            print(&format!("Nothing else waits; {id} stays open.\n{}", keys(&ask)))?;
            self.state = State::Asking(ask);
            return Ok(());
        }
        print(&format!("{id} stays open, and comes again after the others.\n"))?;
        self.waiting.push_back(ask);
        Ok(())
    }

    /// Begins to write.
    fn begin(&mut self, ask: AskView, draft: Draft, line: String) -> anyhow::Result<()> {
        print(&format!("{}{}", asked(&ask, &draft), line))?;
        self.state = State::Writing { ask, draft, line };
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
                let how = view.settlement.as_ref().map(|it| words::settlement(it, &view.subject));
                print(&format!("\n{id}: {}\n", how.unwrap_or_default()))
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
        let key = match typed {
            Typed::Key(END) => return Ok(Next::Leave),
            Typed::Key(key) => Some(*key),
            Typed::Pasted(_) => None,
        };
        let decision = match key.and_then(|it| meaning(&ask, it)) {
            Some(Meaning::Decide(decision)) => decision,
            Some(Meaning::Refuse) => {
                self.begin(ask, Draft::Reason, String::new())?;
                return Ok(Next::GoOn);
            }
            Some(Meaning::Number(digit)) => {
                self.begin(ask, Draft::Number, digit.to_string())?;
                return Ok(Next::GoOn);
            }
            Some(Meaning::Fill) => {
                self.fill(ask)?;
                return Ok(Next::GoOn);
            }
            Some(Meaning::Skip) => {
                self.skip(ask)?;
                return Ok(Next::GoOn);
            }
            Some(Meaning::Leave) => return Ok(Next::Leave),
            None => {
                let what = match key.filter(|it| !it.is_control()) {
                    Some(key) => format!("{key:?} is no key here."),
                    None => "That is no key here; keys are pressed one by one.".to_owned(),
                };
                print(&format!("\n{} {}", line(&what), keys(&ask)))?;
                self.state = State::Asking(ask);
                return Ok(Next::GoOn);
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
        let secret = matches!(&draft, Draft::Values(filling) if filling.is_secret());
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
            Draft::Number => {
                let number: usize = line.trim().parse().unwrap_or_default();
                let is_form = Filling::of(&ask).is_some();
                let accepts = |it: &Offer| it.decision == Decision::Accept;
                if is_form && ask.offers.get(number.wrapping_sub(1)).is_some_and(accepts) {
                    return self.fill(ask);
                }
                (said::offered(&ask, number), None)
            }
            Draft::Values(mut filling) => match filling.take(&ask, &line) {
                Taken::Again(problem) => {
                    print(&format!("  {problem}\n"))?;
                    return self.begin(ask, Draft::Values(filling), String::new());
                }
                Taken::Next(told) => {
                    print(&format!("  taken: {told}\n"))?;
                    return self.begin(ask, Draft::Values(filling), String::new());
                }
                Taken::Done(told, answer) => {
                    print(&format!("  taken: {told}\n"))?;
                    (Ok(answer), None)
                }
            },
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

    fn fill(&mut self, ask: AskView) -> anyhow::Result<()> {
        match Filling::of(&ask) {
            Some(filling) => self.begin(ask, Draft::Values(filling), String::new()),
            None => Ok(()),
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

/// What stands before what is written.
fn asked(ask: &AskView, draft: &Draft) -> String {
    match draft {
        Draft::Reason => "Why not? The agent reads it; Return alone gives no reason, Escape goes \
                          back: "
            .to_owned(),
        Draft::Number => {
            "The number of what it takes; Return gives it, Escape goes back: ".to_owned()
        }
        Draft::Values(filling) => filling.prompt(ask),
    }
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
