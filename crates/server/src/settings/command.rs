//! The `[command]` table: whether callers may run commands of their own, and which without a person.

use std::time::Duration;

use pilothouse::{COMMAND_TIMEOUT, MAX_COMMAND_TIMEOUT};
use serde::Deserialize;

use crate::mcp::CommandOptions;

/// Longest name of a tool that clients take.
const MAX_NAME: usize = 64;
/// Names that other tools have.
const TAKEN: [&str; 7] = [
    "codex",
    "codex-reply",
    "codex_reply",
    "codex_session",
    "codex_check",
    "request_choice",
    "request_form",
];

/// The table as it stands in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandTable {
    enabled: Option<bool>,
    allow: Option<Vec<String>>,
    alias: Option<String>,
    timeout_ms: Option<u64>,
}

/// What the settings say of callers' commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandSettings {
    /// The tool is offered, also where `--tools` does not name it.
    pub enabled: bool,
    /// How it behaves.
    pub options: CommandOptions,
}

impl CommandTable {
    /// What the table says; or the key at fault, and what is wrong with it.
    pub(super) fn settings(self) -> Result<CommandSettings, (&'static str, String)> {
        let Self { enabled, allow, alias, timeout_ms } = self;
        let allow = allow.unwrap_or_default();
        if let Some(name) = allow.iter().find(|it| !is_program(it)) {
            let problem = format!(
                "{name:?} is no program's name; name programs as commands begin with them, \
                 such as \"touch\", and use [[rules]] for more"
            );
            return Err(("command.allow", problem));
        }
        if let Some(alias) = alias.as_deref().filter(|it| !is_tool(it)) {
            let problem = format!(
                "{alias:?} is no name for it; use up to {MAX_NAME} letters, digits, _ or - that \
                 name no other tool, such as \"runCommand\""
            );
            return Err(("command.alias", problem));
        }
        let limit = u64::try_from(MAX_COMMAND_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        let timeout = match timeout_ms {
            None => COMMAND_TIMEOUT,
            Some(ms) if (1..=limit).contains(&ms) => Duration::from_millis(ms),
            Some(ms) => {
                let problem = format!("{ms} is out of bounds; use 1 to {limit} milliseconds");
                return Err(("command.timeout_ms", problem));
            }
        };
        let options = CommandOptions { allow, alias, timeout };
        Ok(CommandSettings { enabled: enabled.unwrap_or_default(), options })
    }
}

fn is_program(name: &str) -> bool {
    !name.is_empty() && !name.contains(|it: char| it.is_whitespace() || it.is_control())
}

fn is_tool(name: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_letter) && !TAKEN.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_says_what_can_not_be_names_the_key() {
        for (text, expected) in [
            ("allow = ['touch'] \n alias = 'runCommand' \n timeout_ms = 5000", None),
            ("allow = ['git status']", Some("command.allow")),
            ("allow = ['']", Some("command.allow")),
            ("alias = 'run command'", Some("command.alias")),
            ("alias = 'codex'", Some("command.alias")),
            ("timeout_ms = 0", Some("command.timeout_ms")),
            ("timeout_ms = 3600001", Some("command.timeout_ms")),
        ] {
            let table: CommandTable = toml::from_str(text).unwrap();
            assert_eq!(table.settings().err().map(|(key, _)| key), expected, "{text}");
        }
        assert!(toml::from_str::<CommandTable>("alow = ['touch']").is_err());
    }
}
