//! Compares the methods we know with those that the installed Codex says it has.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use serde_json::Value;

use crate::{
    codex,
    run::{self, Failure},
    workspace,
};

const KNOWN: &str = "crates/codex/src/app_server/methods.txt";
/// What may be said of a method: we act on it, carry it along, or say no to it.
const USES: [&str; 3] = ["used", "ignored", "refused"];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let version = match arguments {
        [] => codex::pinned()?,
        [flag, version] if flag == "--codex" => codex::checked(version)?,
        _ => return Err(Failure::new("usage: cargo xtask methods [--codex VERSION]")),
    };
    let known = workspace::read(&workspace::root().join(KNOWN)).map_err(|failure| {
        Failure::new(format!(
            "{failure}; it lists each method as `request|notification|client NAME {}`",
            USES.join("|")
        ))
    })?;
    let known = Methods::known(&known)?;
    let theirs = installed(&version)?;
    let difference = compare(&known, &theirs);
    println!(
        "Codex {version}: {} requests, {} notifications, {} client methods",
        theirs.requests.len(),
        theirs.notifications.len(),
        theirs.client.len()
    );
    for name in &difference.new_notifications {
        println!("new notification, carried along unread: {name}");
    }
    for name in &difference.client_gone {
        println!("client method we know that this Codex no longer has: {name}");
    }
    if difference.unknown_requests.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "Codex {version} may ask what {KNOWN} does not know: {}; \
         decide whether it is used or refused and add it there",
        difference.unknown_requests.join(", ")
    )))
}

/// Names by who sends them; client methods are the ones that we may send.
#[derive(Debug, Default)]
struct Methods {
    requests: BTreeSet<String>,
    notifications: BTreeSet<String>,
    client: BTreeSet<String>,
}

impl Methods {
    fn known(text: &str) -> Result<Self, Failure> {
        let mut res = Self::default();
        for (n, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            let (kind, name) = match words.as_slice() {
                [] => continue,
                [kind, name, what, ..] if USES.contains(what) => (*kind, *name),
                _ => {
                    return Err(Failure::new(format!("{KNOWN}:{}: not understood: {line}", n + 1)));
                }
            };
            let names = match kind {
                "request" => &mut res.requests,
                "notification" => &mut res.notifications,
                "client" => &mut res.client,
                _ => return Err(Failure::new(format!("{KNOWN}:{}: no kind `{kind}`", n + 1))),
            };
            if !names.insert(name.to_owned()) {
                return Err(Failure::new(format!("{KNOWN}:{}: `{name}` stands twice", n + 1)));
            }
        }
        Ok(res)
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Difference {
    unknown_requests: Vec<String>,
    new_notifications: Vec<String>,
    client_gone: Vec<String>,
}

fn compare(known: &Methods, theirs: &Methods) -> Difference {
    let less = |from: &BTreeSet<String>, what: &BTreeSet<String>| {
        from.difference(what).cloned().collect::<Vec<_>>()
    };
    Difference {
        unknown_requests: less(&theirs.requests, &known.requests),
        new_notifications: less(&theirs.notifications, &known.notifications),
        client_gone: less(&known.client, &theirs.client),
    }
}

fn installed(version: &str) -> Result<Methods, Failure> {
    codex::install(version)?;
    let program = codex::required(version)?;
    let dir = workspace::tools().join("schema").join(version);
    workspace::make_dir(&dir)?;
    let generate = |more: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["app-server", "generate-json-schema", "--out"]).arg(&dir).args(more);
        run::quiet(&mut command)
    };
    // Early versions have no such flag, and no experimental methods to hide.
    generate(&["--experimental"]).or_else(|_| generate(&[]))?;
    Ok(Methods {
        requests: methods_in(&dir.join("ServerRequest.json"))?,
        notifications: methods_in(&dir.join("ServerNotification.json"))?,
        client: methods_in(&dir.join("ClientRequest.json"))?,
    })
}

fn methods_in(path: &Path) -> Result<BTreeSet<String>, Failure> {
    let not_read =
        |error: String| Failure::new(format!("could not read {}: {error}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| not_read(error.to_string()))?;
    let schema: Value = serde_json::from_str(&text).map_err(|error| not_read(error.to_string()))?;
    let names = names_in(&schema);
    if names.is_empty() { Err(not_read("it names no method".to_owned())) } else { Ok(names) }
}

/// Each alternative pins its `method` to one name.
fn names_in(schema: &Value) -> BTreeSet<String> {
    let alternatives = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    alternatives
        .iter()
        .flat_map(|it| {
            let method = &it["properties"]["method"];
            let several = method["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
            several.iter().chain(Some(&method["const"]))
        })
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIST: &str = "\
# kind name use
request item/tool/call refused
notification turn/started used   # ends the wait
client thread/start used
";

    #[test]
    fn a_request_we_do_not_know_is_told_apart_from_a_notification_we_do_not_know() {
        let known = Methods::known(LIST).expect("a good list");
        let theirs = Methods {
            requests: ["item/tool/call", "item/new/ask"].map(str::to_owned).into(),
            notifications: ["turn/started", "sun/rose"].map(str::to_owned).into(),
            client: BTreeSet::new(),
        };
        let difference = compare(&known, &theirs);
        assert_eq!(difference.unknown_requests, ["item/new/ask"]);
        assert_eq!(difference.new_notifications, ["sun/rose"]);
        assert_eq!(difference.client_gone, ["thread/start"]);
    }

    #[test]
    fn a_bad_line_is_refused_with_its_number() {
        for bad in
            ["request x", "request x perhaps", "event x used", "client a used\nclient a used"]
        {
            let message = Methods::known(bad).expect_err(bad).to_string();
            assert!(message.contains("methods.txt:"), "{message}");
        }
    }

    #[test]
    fn names_are_read_from_enums_and_constants() {
        let schema = json!({"oneOf": [
            {"properties": {"method": {"enum": ["a/b"], "type": "string"}}},
            {"properties": {"method": {"const": "c/d"}}},
            {"properties": {"id": {}}},
        ]});
        assert_eq!(names_in(&schema), ["a/b", "c/d"].map(str::to_owned).into());
    }
}
