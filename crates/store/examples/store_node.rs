//! A node in a process of its own, driven by lines: what the tests of several processes start.
//!
//! `store_node FILE` answers each line with one line. `claim SESSION`, `open SESSION` (claims it and
//! opens it), `append SESSION TEXT`, `wait SESSION` (says `ready`, then `told` and the time once it
//! has been nudged), `limit BYTES` (files may not grow beyond), `unlimited`, `check`.

use std::{
    error::Error,
    io::{self, BufRead, Write},
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use pilothouse_core::SessionId;
use pilothouse_store::{
    Nudge, Sqlite, Store,
    conformance::script::{Writer, noted, opened},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

type Outcome = Result<String, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let node: Arc<dyn Store> = Sqlite::open(Path::new(&path))?;
    let mut writers = vec![];
    say(&format!("node {}", node.node()))?;
    for line in io::stdin().lock().lines() {
        let answer = obey(&node, &mut writers, &line?).await;
        say(&answer.unwrap_or_else(|err| format!("error {err}")))?;
    }
    Ok(())
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

async fn obey(node: &Arc<dyn Store>, writers: &mut Vec<Writer>, line: &str) -> Outcome {
    let (order, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (first, text) = rest.split_once(' ').unwrap_or((rest, ""));
    match order {
        "claim" | "open" => {
            let id: SessionId = first.parse()?;
            // Asked beforehand, because the script takes a refusal for a failed test.
            let claim = node.claim(id).await?;
            let mut writer = Writer::claim(node, id).await;
            if order == "open" {
                writer.record(vec![opened("a", "one")]).await?;
            }
            writers.push(writer);
            Ok(format!("claimed {}", claim.last_seq.0))
        }
        "append" => {
            let id: SessionId = first.parse()?;
            let writer = writers.iter_mut().find(|it| it.id == id).ok_or("not claimed")?;
            writer.record(vec![noted(text)]).await?;
            Ok(format!("appended {} {}", writer.session.seq().0, nanoseconds()?))
        }
        "wait" => {
            let id: SessionId = first.parse()?;
            let mut hints = node.subscribe();
            say("ready")?;
            while !matches!(hints.recv().await?, Nudge::Feed(Some(it)) if it == id) {}
            Ok(format!("told {}", nanoseconds()?))
        }
        "limit" => limit(Some(first.parse()?)),
        "unlimited" => limit(None),
        "check" => Ok(format!("{:?}", node.check().await?)),
        _ => Err(format!("{order} is no order").into()),
    }
}

fn limit(bytes: Option<u64>) -> Outcome {
    let maximum = getrlimit(Resource::Fsize).maximum;
    let current = bytes.or(maximum);
    setrlimit(Resource::Fsize, Rlimit { current, maximum })?;
    Ok("ok".to_owned())
}

fn nanoseconds() -> Result<u128, Box<dyn Error>> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos())
}
