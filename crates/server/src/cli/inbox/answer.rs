//! `pilothouse inbox answer`: one answer to one question.

use std::io::{self, IsTerminal as _};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use pilothouse::{Broker, Error, Said};
use pilothouse_core::{Actor, Answer, AskRef, AskState, AskView, Decision, Refusal, display::line};

use super::{
    super::{Failure, say},
    SETTLED, USAGE, card, no_such_ask,
    person::{self, WhoArgs},
    print, said, style, words,
};
use crate::settings::Settings;

/// Longest reason, in letters.
const MAX_REASON: usize = 10_000;
/// Longest line that is typed to agree.
const MAX_TYPED: usize = 1_024;

/// What `answer` takes.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("said").required(true))]
pub(super) struct AnswerArgs {
    /// The question's name, such as `req_…_1`
    id: AskRef,
    /// Yes, once
    #[arg(long, group = "said")]
    accept: bool,
    /// Yes, and the same again in this thread
    #[arg(long, group = "said")]
    for_session: bool,
    /// No; the agent carries on without it
    #[arg(long, group = "said")]
    decline: bool,
    /// No; and the turn stops
    #[arg(long, group = "said")]
    cancel: bool,
    /// What the question takes under this number
    #[arg(long, value_name = "NUMBER", group = "said")]
    offer: Option<usize>,
    /// The value of a form's field; once for each field
    #[arg(long, value_name = "FIELD=VALUE", value_parser = said::parse_pair, group = "said")]
    set: Vec<(String, String)>,
    /// The option that is chosen, by number, name or label; once for each. Words where a question
    /// has no options
    #[arg(long, value_name = "QUESTION=OPTION", value_parser = said::parse_pair, group = "said")]
    choose: Vec<(String, String)>,
    /// Other words than the options, where a question takes them
    #[arg(long, value_name = "QUESTION=TEXT", value_parser = said::parse_pair, group = "said")]
    other: Vec<(String, String)>,
    /// Why, for the agent to read
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The digest of the question as it was shown; needed where nothing can be shown and agreed to
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
    #[command(flatten)]
    who: WhoArgs,
}

/// Answers, or says who was first.
pub(super) async fn run(args: AnswerArgs, settings: &Settings) -> anyhow::Result<()> {
    let broker = settings.open_broker("inbox").await?;
    let done = answer(&args, settings, &broker).await;
    broker.stop().await;
    say(&done?)
}

async fn answer(args: &AnswerArgs, settings: &Settings, broker: &Broker) -> anyhow::Result<String> {
    let usage = |it: anyhow::Error| Failure { code: USAGE, problem: format!("answer: {it:#}") };
    let person = person::person("answer", &args.who, settings, broker).await?;
    if args.reason.as_ref().is_some_and(|it| it.chars().count() > MAX_REASON) {
        return Err(usage(anyhow::anyhow!("the reason is over {MAX_REASON} letters")).into());
    }
    let ask = broker.ask(args.id).await.map_err(|it| failure(args.id, &it))?;
    if ask.state == AskState::Settled {
        return Err(settled(&ask).into());
    }
    let answer = args.answer(&ask).map_err(usage)?;
    let digest = match &args.digest {
        Some(digest) => digest.clone(),
        None if io::stdin().is_terminal() && io::stdout().is_terminal() => agreed(&ask, &answer)?,
        None => {
            let problem = "answer: the digest is missing; name the one that `pilothouse inbox \
                           show` shows, with --digest";
            return Err(Failure { code: USAGE, problem: problem.to_owned() }.into());
        }
    };
    let said = Said { answer, digest: Some(digest), reason: args.reason.clone(), note: None };
    give(broker, args.id, said, &person).await
}

impl AnswerArgs {
    fn answer(&self, ask: &AskView) -> anyhow::Result<Answer> {
        let is_chosen = !self.choose.is_empty() || !self.other.is_empty();
        match (self.offer, self.set.as_slice()) {
            (Some(number), _) => said::offered(ask, number),
            (None, []) if is_chosen => said::chosen(ask, &self.choose, &self.other),
            (None, []) => said::decided(ask, self.decision()),
            (None, pairs) => said::filled(ask, pairs),
        }
    }

    /// One of them is set, which clap sees to.
    fn decision(&self) -> Decision {
        if self.accept {
            Decision::Accept
        } else if self.for_session {
            Decision::AcceptForSession
        } else if self.cancel {
            Decision::Cancel
        } else {
            Decision::Decline
        }
    }
}

/// Shows the question and has the person agree; gives the digest of what was shown.
fn agreed(ask: &AskView, answer: &Answer) -> anyhow::Result<String> {
    print(&card::card(ask, Timestamp::now(), style()))?;
    print(&format!("Answer with {}? Type yes: ", words::answer(answer, &ask.subject)))?;
    let mut typed = String::new();
    let stdin = io::stdin().lock();
    io::BufRead::read_line(&mut io::Read::take(stdin, MAX_TYPED as u64), &mut typed)
        .context("read what you type")?;
    if !matches!(typed.trim(), "yes" | "y") {
        bail!("answer: you did not agree; nothing was said to the agent");
    }
    Ok(ask.digest.clone())
}

/// Gives an answer; says in words that it was taken.
pub(super) async fn give(
    broker: &Broker,
    id: AskRef,
    said: Said,
    person: &Actor,
) -> anyhow::Result<String> {
    match broker.answer(id, said, person).await {
        Ok(view) => {
            let settled = view.settlement.as_ref().map(|it| words::settlement(it, &view.subject));
            Ok(format!("{id}: {}", settled.unwrap_or_default()))
        }
        Err(Error::Refused(Refusal::AlreadySettled { settlement })) => {
            // What the owner no longer remembers, the log does.
            let mut view = broker.ask(id).await.map_err(|it| failure(id, &it))?;
            view.settlement = settlement.map(|it| *it).or(view.settlement);
            Err(settled(&view).into())
        }
        Err(error) => Err(failure(id, &error)),
    }
}

fn settled(view: &AskView) -> Failure {
    let how = view.settlement.as_ref().map(|it| words::settlement(it, &view.subject));
    let how = how.unwrap_or_else(|| "settled".to_owned());
    Failure { code: SETTLED, problem: format!("answer {}: it was {how} already", view.request_id) }
}

fn failure(id: AskRef, error: &Error) -> anyhow::Error {
    // Where a value stands in what is sent is nobody's concern here.
    let told = if let Error::Refused(Refusal::Misfit { field, problem }) = error {
        format!("{}: {problem}", field.strip_prefix("content.").unwrap_or(field))
    } else {
        error.to_string()
    };
    let problem = format!("answer {id}: {}", line(&told));
    let hint = match error {
        Error::NoSuchSession(_) | Error::NoSuchAsk(_) | Error::Refused(Refusal::NoSuchAsk) => {
            return no_such_ask(id).into();
        }
        Error::Refused(Refusal::DigestMismatch) => "; `pilothouse inbox show` shows it as it is",
        Error::Refused(_)
        | Error::Store(_)
        | Error::Agent(_)
        | Error::TimedOut { .. }
        | Error::Elsewhere(_)
        | Error::Stopping
        | _ => "",
    };
    anyhow::anyhow!("{problem}{hint}")
}
