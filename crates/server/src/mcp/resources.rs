//! What a client can read about this server: facts as they are now, and short guides.

use std::{env, fmt::Write as _, time::Duration};

use pilothouse::{Dialect, agent::locate};
use pilothouse_store::SessionFilter;
use rmcp::{
    ErrorData,
    model::{ReadResourceResult, Resource, ResourceContents},
};
use serde_json::{Value, json};

use super::{Call, problem::Code};

/// Both names are understood; the first is listed for those who come from codex-mcp.
const PREFIXES: [&str; 2] = ["codex-mcp:///", "pilothouse:///"];

const NAMES: [(&str, &str, &str); 6] = [
    ("server-info", "application/json", "Versions, modes and active sessions"),
    ("compat-report", "application/json", "What works as in codex-mcp, and what differs here"),
    ("config", "text/markdown", "Parameters and defaults"),
    ("gotchas", "text/markdown", "What surprises"),
    ("quickstart", "text/markdown", "A session from start to result"),
    ("errors", "text/markdown", "Error codes and what to do"),
];

/// Variables that say how Codex is spoken to.
const MODES: [&str; 2] = ["PILOTHOUSE_MODE", "CODEX_MCP_MODE"];
/// Variables that say what terminals on standard input and output mean.
const STDIO_MODES: [&str; 2] = ["PILOTHOUSE_STDIO_MODE", "CODEX_MCP_STDIO_MODE"];

/// Most sessions that are counted.
const MAX_COUNTED: usize = 100;

/// What can be read.
pub(crate) fn all() -> Vec<Resource> {
    let each = PREFIXES.iter().flat_map(|prefix| NAMES.iter().map(move |it| (prefix, it)));
    each.map(|(prefix, (name, mime, about))| {
        Resource::new(format!("{prefix}{name}"), *name)
            .with_description(*about)
            .with_mime_type(*mime)
    })
    .collect()
}

impl Call<'_> {
    pub(crate) async fn resource(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        if let Some(record) = self.record(uri).await? {
            return Ok(ReadResourceResult::new(vec![record]));
        }
        let name = PREFIXES.iter().find_map(|it| uri.strip_prefix(it)).unwrap_or_default();
        let text = match name {
            "server-info" => self.server_info().await.to_string(),
            "compat-report" => self.compat_report().await.to_string(),
            "config" => config(self.server.options.default_effort.as_deref(), self.max_wait()),
            "gotchas" => GOTCHAS.to_owned(),
            "quickstart" => QUICKSTART.to_owned(),
            "errors" => errors(),
            _ => {
                let problem = format!("there is no resource {uri}");
                return Err(ErrorData::resource_not_found(problem, None));
            }
        };
        let mime = NAMES.iter().find(|it| it.0 == name).map_or("text/plain", |it| it.1);
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(mime)]))
    }

    async fn server_info(&self) -> Value {
        let codex = self.codex().await;
        let version = codex.version.as_deref();
        let mut active = Value::Null;
        if let Some(broker) = self.server.broker.get() {
            let opened_by = Some(self.server.caller.clone());
            let filter = SessionFilter { opened_by, ..SessionFilter::default() };
            if let Ok(listing) = broker.sessions(filter, MAX_COUNTED, None).await {
                active = listing.rows.iter().filter(|it| it.cancelled_at.is_none()).count().into();
            }
        }
        json!({
            "name": "pilothouse",
            "version": env!("CARGO_PKG_VERSION"),
            "codexPath": codex.path,
            "codexVersion": codex.version,
            "codexProblem": codex.problem,
            "clientMode": codex.dialect.map(Dialect::name),
            "dialect": codex.dialect.map(Dialect::name),
            "stdioMode": variable(STDIO_MODES).unwrap_or_else(|| "auto".to_owned()),
            "platform": env::consts::OS,
            "arch": env::consts::ARCH,
            "activeSessions": active,
            "approvalPolicies": codex.dialect.map(|it| it.policies(version)),
            "sandboxModes": ["read-only", "workspace-write", "danger-full-access"],
            "decisions": super::answers::DECISIONS.map(|(name, _)| name),
            "maxWaitMs": u64::try_from(self.max_wait().as_millis()).unwrap_or(u64::MAX),
        })
    }

    async fn compat_report(&self) -> Value {
        let codex = self.codex().await;
        let version = codex.version.as_deref();
        let can = codex.dialect.map(|it| it.can(version));
        let asks = codex.dialect == Some(Dialect::AppServer);
        let mut mismatches: Vec<_> = codex.problem.into_iter().collect();
        if let (Some(dialect), Some(can)) = (codex.dialect, can) {
            let name = version.map_or_else(|| "Codex".to_owned(), |it| format!("Codex {it}"));
            if !can.approvals {
                mismatches.push(format!("{name}, spoken to as {dialect}, asks for no approval"));
            } else if !dialect.policies(version).contains(&"on-failure") {
                mismatches.push(format!("{name} has no on-failure: it becomes on-request"));
            }
            for (has, what) in [
                (can.fork, "copy a thread"),
                (can.steer, "take a prompt into a turn that runs"),
                (can.resume, "take up a thread whose process is gone"),
            ] {
                if !has {
                    mismatches.push(format!("{name}, spoken to as {dialect}, cannot {what}"));
                }
            }
        }
        json!({
            "features": {
                "respondPermission": can.map(|it| it.approvals),
                "respondUserInput": asks,
                "respondElicitation": asks,
                "interrupt": true,
                "fork": can.map(|it| it.fork),
                "steer": can.map(|it| it.steer),
                "responseModes": true,
                "pollOptions": true,
                "maxBytes": true,
                "longPoll": true,
                "diskResume": can.map(|it| it.resume),
                "dynamicTools": false,
            },
            "codexPath": codex.path,
            "codexVersion": codex.version,
            "detectedMismatches": mismatches,
        })
    }

    /// What Codex there is, or why none. Looking for it opens nothing but the broker.
    async fn codex(&self) -> Codex {
        let mut res = Codex::default();
        let broker = match self.broker().await {
            Ok(broker) => broker,
            Err(problem) => return Codex { problem: Some(problem.message), ..res },
        };
        let located = match broker.locate_agent().await {
            Ok(located) => located,
            Err(error) => return Codex { problem: Some(error.to_string()), ..res },
        };
        res.path = Some(located.path.display().to_string());
        match locate::version(&located).await {
            Ok(version) => res.version = Some(version.to_string()),
            Err(error) => res.problem = Some(format!("Pilothouse could not {error}")),
        }
        let wanted = variable(MODES).and_then(|it| it.parse().ok());
        match Dialect::of(res.version.as_deref(), wanted) {
            Ok(dialect) => res.dialect = Some(dialect),
            Err(error) => res.problem = Some(format!("Pilothouse could not {error}")),
        }
        res
    }
}

/// The Codex that sessions get.
#[derive(Debug, Default)]
struct Codex {
    path: Option<String>,
    version: Option<String>,
    dialect: Option<Dialect>,
    /// What is wrong with it.
    problem: Option<String>,
}

/// The first of these variables that says something.
fn variable(names: [&str; 2]) -> Option<String> {
    let said = names.into_iter().filter_map(|it| env::var(it).ok());
    said.map(|it| it.trim().to_lowercase()).find(|it| !it.is_empty())
}

fn config(effort: Option<&str>, max_wait: Duration) -> String {
    let effort = effort.unwrap_or("whatever Codex is configured with");
    format!(
        "# Parameters\n\n\
         - `approvalPolicy`, `sandbox`: required, sent to Codex with each thread.\n\
         - `effort`: {effort} if not given; `config` leaves it to Codex's own configuration.\n\
         - `cwd`: relative to {{server's directory}}; must exist.\n\
         - `advanced.config`: any nested JSON, as in Codex's config.toml.\n\
         - `advanced.approvalTimeoutMs`: without it a request waits for a person where one can \
         answer, else 60 s; `0` waits for ever.\n\
         - `wait` (codex, codex_reply) and `waitMs` (codex_check): at most {} ms.\n",
        max_wait.as_millis()
    )
}

fn errors() -> String {
    let mut res = "# Errors\n\nA failed call reads `Error [CODE]: message`.\n\n".to_owned();
    for (code, what) in Code::ALL {
        // Writing to a string cannot fail.
        writeln!(res, "- `{}`: {what}", code.name()).ok();
    }
    res
}

const GOTCHAS: &str = "# What surprises\n\n\
- `codex_check` gives one event per poll unless `maxEvents` says more.\n\
- With `waitMs` a poll returns at the first change; one that ends with nothing new is tiny.\n\
- `result` comes once per turn and reader. A lower `cursor` replays it.\n\
- Streaming text is in `live`, not in `events`; the completed item has all of it.\n\
- What was cut is named in `truncatedFields`; `codex_check` with `output` pages the full text.\n\
- A request that nobody answers expires; Codex is told that nobody answered, not that it was \
declined.\n\
- Closing this server ends its turns, unless the settings keep agents; `codex_reply` goes on from there.\n";

const QUICKSTART: &str = "# A session\n\n\
1. `codex` with `prompt`, `approvalPolicy` and `sandbox` gives `sessionId`.\n\
2. `codex_check` with `action: \"poll\"`, `waitMs: 30000` and `maxEvents: 20` until `actions` or \
`result` come.\n\
3. For each action: `codex_check` with `respond_permission`, its `requestId` and a `decision` of \
`availableDecisions`; with `respond_user_input` and `answers`; or with `respond_elicitation`.\n\
4. `result.output` is the final message. `codex_reply` goes on.\n";
