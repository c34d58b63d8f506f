//! Who answers Codex in the demo: the person's own account, or a script.

use std::{env, ffi::OsString, path::PathBuf, process::Command};

use serde_json::Value;

use super::{Options, Places, START, children::Child};
use crate::{run::Failure, workspace};

/// Who answers Codex: a program of ours, perhaps, and what Codex must find in its environment.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) environment: Vec<(&'static str, OsString)>,
    pub(crate) child: Option<Child>,
}

/// The person's own account if there is one, else a script that needs none.
pub(crate) fn who_answers(options: &Options, places: &Places) -> Result<Model, Failure> {
    if options.is_scripted {
        return scripted(places);
    }
    let own = env::var_os("CODEX_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|it| PathBuf::from(it).join(".codex")));
    if own.is_some_and(|it| it.join("auth.json").is_file()) {
        println!("Model: your own Codex login answers, and is billed (--scripted: it is not)");
        return Ok(Model::default());
    }
    if env::var_os("OPENAI_API_KEY").is_none_or(|it| it.is_empty()) {
        return scripted(places);
    }
    println!("Model: OPENAI_API_KEY answers, and is billed (--scripted: it is not)");
    let base = env::var("OPENAI_BASE_URL").ok();
    let settings = key_settings(base.as_deref().unwrap_or("https://api.openai.com/v1"))?;
    workspace::write(&places.codex_home.join("config.toml"), &settings)?;
    let home = places.codex_home.clone().into_os_string();
    Ok(Model { environment: vec![("CODEX_HOME", home)], child: None })
}

fn scripted(places: &Places) -> Result<Model, Failure> {
    println!("Model: a script answers, on this machine; no account is used and nothing is billed");
    let mut command = Command::new(workspace::built("scripted-model"));
    command.arg("--codex-home").arg(&places.codex_home);
    let (child, said) = Child::start("scripted-model", &mut command, &places.home, START)?;
    let said: Value = serde_json::from_str(&said)
        .map_err(|error| Failure::new(format!("scripted-model said {said:?}: {error}")))?;
    let home = said["codexHome"]
        .as_str()
        .ok_or_else(|| Failure::new(format!("scripted-model named no Codex home: {said}")))?;
    // The key is named in that home's configuration; any will do.
    // Codex runs commands in a login shell, and no profile of this machine is part of the demo.
    let environment = vec![
        ("CODEX_HOME", home.into()),
        ("HOME", home.into()),
        ("SCRIPTED_KEY", "scripted".into()),
    ];
    Ok(Model { environment, child: Some(child) })
}

/// Codex takes a key from the environment only for a provider that says so.
fn key_settings(base_url: &str) -> Result<String, Failure> {
    if base_url.contains(['"', '\\', '\n']) {
        return Err(Failure::new("OPENAI_BASE_URL is not a URL"));
    }
    Ok(format!(
        "model_provider = \"key\"\n\n[model_providers.key]\nname = \"OpenAI\"\n\
         base_url = \"{base_url}\"\nenv_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_and_never_written() {
        let settings = key_settings("https://example.org/v1").expect("a URL");
        assert!(settings.contains("env_key = \"OPENAI_API_KEY\""), "{settings}");
        assert!(key_settings("x\"\nother = \"1").is_err());
    }
}
