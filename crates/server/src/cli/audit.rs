//! `pilothouse audit`: whether the logs are what was recorded, and who decided what.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use pilothouse_core::SessionId;
use pilothouse_store::{
    PublicKey, SignedHead, Signer as _,
    audit::{LogFile, Trust, Verdict},
};
use serde_json::json;

use super::{NobodyReads, counted, say, store};
use crate::{node_key, settings::Settings};

mod export;

/// Largest file of exported heads that is read.
const MAX_HEADS_FILE: u64 = 64 * 1024 * 1024;

/// What `audit` takes.
#[derive(Debug, clap::Args)]
pub struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, clap::Subcommand)]
enum AuditCommand {
    /// Find what was changed, removed, moved or cut off in the logs
    Verify(VerifyArgs),
    /// Print the signed heads of the logs, to be kept elsewhere
    Head {
        /// Only of this session
        #[arg(long, value_name = "ID")]
        session: Option<SessionId>,
    },
    /// Print every decision as a line of JSON: who, when, what
    Export {
        /// Only of this session
        #[arg(long, value_name = "ID")]
        session: Option<SessionId>,
        /// Leave secrets in what was asked and said
        #[arg(long)]
        unredacted: bool,
    },
}

#[derive(Debug, clap::Args)]
struct VerifyArgs {
    /// Only this session
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// What `audit head` printed earlier; what is missing since then is found
    #[arg(long, value_name = "FILE")]
    heads: Option<PathBuf>,
    /// Another key whose signatures count, beside this home's and those of the heads
    #[arg(long, value_name = "HEX")]
    key: Vec<PublicKey>,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// Does what was asked for. Reads only, but for `head`, which may have to make a key.
pub fn run(args: AuditArgs, settings: &Settings) -> anyhow::Result<()> {
    let path = store::file(settings)?;
    let file = LogFile::open(path).context("read the store")?;
    match args.command {
        AuditCommand::Verify(args) => verify(&file, args, settings),
        AuditCommand::Head { session } => head(&file, session, settings),
        AuditCommand::Export { session, unredacted } => {
            let mut out = BufWriter::new(io::stdout().lock());
            let exported = export::export(&file, &chosen(&file, session)?, unredacted, &mut out);
            // Nothing but what is printed goes through a pipe here.
            exported.and_then(|()| out.flush().context("write to stdout")).map_err(|error| {
                let mut causes = error.chain().filter_map(|it| it.downcast_ref::<io::Error>());
                let nobody = causes.any(|it| it.kind() == io::ErrorKind::BrokenPipe);
                if nobody { NobodyReads.into() } else { error }
            })
        }
    }
}

fn verify(file: &LogFile, args: VerifyArgs, settings: &Settings) -> anyhow::Result<()> {
    let VerifyArgs { session, heads, key, json } = args;
    let heads = heads.as_deref().map(read_heads).transpose()?.unwrap_or_default();
    let own = node_key::read(&settings.home);
    let own = own.with_context(|| format!("read {}", node_key::path(&settings.home).display()))?;
    let keys = key.into_iter().chain(own.map(|it| it.key())).chain(heads.iter().map(|it| it.key));
    let trust = Trust { keys: keys.collect(), heads };
    let known = session.is_none_or(|it| trust.heads.iter().any(|head| head.session == it));
    if !known {
        chosen(file, session)?;
    }
    let verdict = file.verify(session, &trust).context("verify the logs")?;
    report(&verdict, trust.keys.is_empty(), json)?;
    ensure!(
        verdict.findings.is_empty(),
        "vouch for the logs: they are not what was recorded, as listed; compare with a backup"
    );
    Ok(())
}

fn report(verdict: &Verdict, keyless: bool, json: bool) -> anyhow::Result<()> {
    if json {
        let clean = verdict.findings.is_empty();
        return say(&json!({ "clean": clean, "keyless": keyless, "verdict": verdict }).to_string());
    }
    let Verdict { sessions, events, signed, unsigned, signing, heads, findings } = verdict;
    for finding in findings {
        say(&finding.to_string())?;
    }
    say(&format!(
        "{}, {}, {}, {}: {}",
        counted(*sessions, "session"),
        counted(*events, "event"),
        counted(*signed, "signed head"),
        counted(*heads, "exported head"),
        match findings.len() {
            0 => "clean".to_owned(),
            n => counted(n as u64, "finding"),
        }
    ))?;
    if *unsigned > 0 {
        say(&format!(
            "{unsigned} decisions are unsigned: what came after them could have been made anew"
        ))?;
    }
    if !signing {
        say("nothing is signed here, so nothing is known of what was deleted")?;
    }
    if keyless && *signed > 0 {
        say("there is no key to compare with, so anyone could have signed; name it with --key")?;
    }
    Ok(())
}

fn head(file: &LogFile, session: Option<SessionId>, settings: &Settings) -> anyhow::Result<()> {
    settings.make_home()?;
    let signer = node_key::read_or_make(&settings.home);
    let signer =
        signer.with_context(|| format!("read {}", node_key::path(&settings.home).display()))?;
    if session.is_none() {
        // A log that was cut off together with its signature is whole by itself.
        let verdict = file.verify(None, &Trust::default()).context("verify the logs")?;
        ensure!(
            verdict.findings.iter().all(|it| it.session.is_some()),
            "sign the heads: signatures are missing in the store, so any log may have been cut \
             off; see `pilothouse audit verify`, then name a log that is whole with --session"
        );
    }
    let mut n_bad = 0;
    for id in chosen(file, session)? {
        // What is wrong already must not be signed.
        let verdict = file.verify(Some(id), &Trust::default()).context("verify the logs")?;
        let head = file.head(id).context("read a log's head")?;
        match head.filter(|_| verdict.findings.is_empty()) {
            Some(head) => say(&serde_json::to_string(&head.sign(id, &signer))?)?,
            None => n_bad += 1,
        }
    }
    ensure!(n_bad == 0, "sign the heads of {n_bad} sessions; see `pilothouse audit verify`");
    Ok(())
}

/// The sessions that are meant.
fn chosen(file: &LogFile, session: Option<SessionId>) -> anyhow::Result<Vec<SessionId>> {
    let all = file.sessions().context("list the sessions")?;
    match session {
        None => Ok(all),
        Some(session) if all.contains(&session) => Ok(vec![session]),
        Some(session) => bail!("find {session} in the store; is it the right --store?"),
    }
}

fn read_heads(path: &Path) -> anyhow::Result<Vec<SignedHead>> {
    let shown = path.display();
    let length = fs::metadata(path).with_context(|| format!("read {shown}"))?.len();
    ensure!(length <= MAX_HEADS_FILE, "read {shown}: it is over {MAX_HEADS_FILE} bytes");
    let text = fs::read_to_string(path).with_context(|| format!("read {shown}"))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            let head = serde_json::from_str(line);
            head.with_context(|| format!("understand line {n} of {shown}: it is no signed head"))
        })
        .collect()
}
