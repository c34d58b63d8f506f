//! How a turn's process is started: arguments, standard input, and what cannot be had.

use pilothouse_core::{ApprovalPolicy, Facts, Prompt, Sandbox, Spec};
use serde_json::Value;

use super::toml::{setting, settings};
use crate::{
    app_server::versions::Version,
    dialect::{Dialect, EXEC_NAMES_THREAD, Unsupported, parse},
};

/// Longest argument, in bytes. Linux takes 128 KiB; longer prompts go by standard input.
pub const MAX_ARGUMENT: usize = 64 * 1024;

/// What stands for the schema's file until [`Invocation::with_schema_file`] names it.
const SCHEMA_FILE: &str = "--output-schema=";

/// The first version whose `--json` has today's events; the one before it that says which thread
/// it is in wants another flag for something close to them.
const TODAYS_EVENTS: Version = Version(0, 44, 0);
/// The first version tried that gives pictures to the turn. Those before it play a turn of their
/// own for them, of which little is told and after which 0.47 was seen to hang.
const IMAGES: Version = Version(0, 125, 0);
/// The first version tried that has the setting.
const DEVELOPER_INSTRUCTIONS: Version = Version(0, 125, 0);
/// The first version tried that has the setting.
const PERSONALITY: Version = Version(0, 125, 0);
/// The first version tried that has the flag.
const EPHEMERAL: Version = Version(0, 125, 0);
/// The first version tried in which the setting reaches the model. 0.125 ignored it.
const BASE_INSTRUCTIONS: Version = Version(0, 171, 0);
/// The first version tried that has the flag.
const OUTPUT_SCHEMA: Version = Version(0, 42, 0);

/// What a process is given on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: an open pipe would be waited for, for ever.
    Null,
    /// This, and then its end.
    Text(String),
}

/// How a turn's process is started.
#[derive(Debug, Clone, PartialEq)]
pub struct Invocation {
    /// The arguments after `codex`. The schema's file is yet to be named.
    pub args: Vec<String>,
    /// Its standard input.
    pub stdin: Stdin,
    /// A schema to write to a file, see [`Invocation::with_schema_file`].
    pub output_schema: Option<Value>,
    /// The thread that is taken up.
    pub thread: Option<String>,
    /// What the thread will be.
    pub facts: Facts,
    /// What a person should know of it.
    pub warnings: Vec<String>,
}

impl Invocation {
    /// The invocation with the file that the schema was written to.
    #[must_use]
    pub fn with_schema_file(mut self, path: &str) -> Self {
        for argument in self.args.iter_mut().filter(|it| *it == SCHEMA_FILE) {
            argument.push_str(path);
        }
        self
    }
}

/// How the process of a turn is started, in a new thread or in one that there was; or the options
/// that it would not honour.
pub fn command(
    spec: &Spec,
    thread: Option<&str>,
    prompt: &Prompt,
    version: Option<&str>,
) -> Result<Invocation, Unsupported> {
    let codex = parse(version);
    let refused = refused(spec, thread, prompt, codex);
    let wanted = &prompt.overrides;
    let given = |it: &Option<String>, own: &Option<String>| it.clone().or_else(|| own.clone());
    let cwd = given(&wanted.cwd, &Some(spec.cwd.clone())).filter(|it| !it.is_empty());
    let sandbox = wanted.sandbox.or(spec.sandbox).map(word);
    let model = given(&wanted.model, &spec.model);
    let effort = given(&wanted.effort, &spec.effort);

    let mut args = vec!["exec".to_owned()];
    // A picture's flag takes all words that follow it, unless its value is attached.
    args.extend(prompt.images.iter().map(|it| format!("--image={it}")));
    let mut put = |flag: &str, value: Option<&str>| {
        args.extend(value.map(|it| format!("--{flag}={it}")));
    };
    put("cd", cwd.as_deref());
    put("sandbox", sandbox);
    put("model", model.as_deref());
    put("profile", spec.profile.as_deref());
    let (settings, nulls) = settings(&spec.config);
    args.extend(settings);
    let personality = given(&wanted.personality, &spec.personality);
    for (key, value) in [
        ("model_reasoning_effort", &effort),
        ("model_reasoning_summary", &given(&wanted.summary, &spec.summary)),
        ("personality", &personality),
        ("developer_instructions", &spec.developer_instructions),
        ("instructions", &spec.base_instructions),
    ] {
        args.extend(value.as_ref().map(|it| setting(key, it)));
    }
    if spec.ephemeral {
        args.push("--ephemeral".to_owned());
    }
    if wanted.output_schema.is_some() {
        args.push(SCHEMA_FILE.to_owned());
    }
    args.push("--skip-git-repo-check".to_owned());
    let events = match codex {
        it if it >= TODAYS_EVENTS || it < EXEC_NAMES_THREAD => "--json",
        _ => "--experimental-json",
    };
    args.push(events.to_owned());
    // Flags end here: `resume` has had few of its own for long, and a prompt may begin with a dash.
    let longest = args.iter().filter(|it| it.len() > MAX_ARGUMENT || it.contains('\0'));
    let unfit = longest.map(|it| {
        let name: String = it.chars().take(40).collect();
        format!("{name}… (over {MAX_ARGUMENT} bytes, or with a null in it)")
    });
    let options: Vec<_> = refused.into_iter().chain(nulls).chain(unfit).collect();
    if !options.is_empty() {
        let version = version.map(ToOwned::to_owned);
        return Err(Unsupported { dialect: Dialect::Exec, version, options });
    }
    match thread {
        Some(thread) => args.extend(["resume", "--", thread].map(ToOwned::to_owned)),
        None => args.push("--".to_owned()),
    }
    let by_stdin =
        prompt.text.len() > MAX_ARGUMENT || prompt.text.contains('\0') || prompt.text == "-";
    let stdin = if by_stdin {
        args.push("-".to_owned());
        Stdin::Text(prompt.text.clone())
    } else {
        args.push(prompt.text.clone());
        Stdin::Null
    };
    Ok(Invocation {
        args,
        stdin,
        output_schema: wanted.output_schema.clone(),
        thread: thread.map(ToOwned::to_owned),
        facts: Facts {
            version: version.filter(|_| codex != Version::NEWEST).map(|_| codex.to_string()),
            dialect: "exec (no approvals)".to_owned(),
            model,
            approval_policy: Some("never".to_owned()),
            sandbox: sandbox.map(ToOwned::to_owned),
            effort,
            cwd,
            process: None,
        },
        warnings: warnings(wanted.approval_policy.or(spec.approval_policy)),
    })
}

/// What can't be honoured, by the names that callers know.
fn refused(spec: &Spec, thread: Option<&str>, prompt: &Prompt, codex: Version) -> Vec<String> {
    let mut options = Vec::new();
    let mut refuse = |is_given: bool, option: &str| {
        if is_given {
            options.push(option.to_owned());
        }
    };
    let personality = spec.personality.is_some() || prompt.overrides.personality.is_some();
    refuse(spec.base_instructions.is_some() && codex < BASE_INSTRUCTIONS, "baseInstructions");
    refuse(
        spec.developer_instructions.is_some() && codex < DEVELOPER_INSTRUCTIONS,
        "developerInstructions",
    );
    refuse(personality && codex < PERSONALITY, "personality");
    refuse(spec.collaboration_mode.is_some(), "collaborationMode");
    refuse(spec.ephemeral && codex < EPHEMERAL, "ephemeral");
    refuse(
        spec.ephemeral && thread.is_some(),
        "ephemeral (such a thread has one turn: nothing of it is kept for the next)",
    );
    refuse(
        thread.is_some() && codex < EXEC_NAMES_THREAD,
        "a second prompt (this version does not say which thread it is in)",
    );
    refuse(prompt.overrides.output_schema.is_some() && codex < OUTPUT_SCHEMA, "outputSchema");
    refuse(!prompt.images.is_empty() && codex < IMAGES, "images");
    // Codex would look for files of those names, and say nothing when there are none.
    let is_url =
        |it: &String| ["data:", "http://", "https://"].iter().any(|scheme| it.starts_with(scheme));
    refuse(prompt.images.iter().any(is_url), "images (as URLs; it takes files)");
    let commas = prompt.images.iter().any(|it| !is_url(it) && it.contains(','));
    refuse(commas, "images (with a comma in the path, which it takes for the end)");
    options
}

fn warnings(policy: Option<ApprovalPolicy>) -> Vec<String> {
    match policy {
        None | Some(ApprovalPolicy::Never) => vec![],
        Some(ApprovalPolicy::Untrusted | ApprovalPolicy::OnFailure | ApprovalPolicy::OnRequest) => {
            vec![
            "`codex exec` asks nobody: what the sandbox does not allow fails, and everything else \
             is done without a question"
                .to_owned(),
        ]
        }
    }
}

fn word(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::ReadOnly => "read-only",
        Sandbox::WorkspaceWrite => "workspace-write",
        Sandbox::DangerFullAccess => "danger-full-access",
    }
}
