//! Every name of the contract has a test that shows it; `docs/contract.md` says which.
//!
//! What the program itself lists is looked up in `rows`: a parameter, a word, a code or a resource
//! without a row is a failure, and so is a row without its test. The table is written anew by
//!
//! ```text
//! PILOTHOUSE_RECORD=1 cargo nextest run -p pilothouse-server --test mcp contract
//! ```

mod asking;
mod rows;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use pilothouse_testkit::workspace_root;
use serde_json::{Value, json};

use self::{
    asking::ASKING,
    rows::{MUTATIONS, ROWS},
};
use crate::client::Client;

#[tokio::test]
async fn every_name_of_the_contract_is_shown_by_a_test() {
    let tests = tests(&workspace_root().join("crates"));
    let mut shown = BTreeSet::new();
    for (section, rows) in sections() {
        for (name, test) in *rows {
            assert!(tests.contains_key(*test), "{section}, {name}: there is no test {test}");
            assert!(shown.insert((*name).to_owned()), "{name} is there twice");
        }
    }
    for (_, test) in MUTATIONS {
        assert!(tests.contains_key(*test), "there is no test {test}");
    }
    let listed = listed().await;
    let missing: Vec<_> = listed.difference(&shown).collect();
    assert!(missing.is_empty(), "without a row: {missing:#?}");
    let unknown: Vec<_> = shown.iter().filter(|it| is_name(it) && !listed.contains(*it)).collect();
    assert!(unknown.is_empty(), "the program does not list: {unknown:#?}");

    let written = written(&tests);
    let path = workspace_root().join("docs/contract.md");
    if std::env::var_os("PILOTHOUSE_RECORD").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == written,
        "docs/contract.md is stale; the head of this file says how to write it"
    );
}

fn sections() -> impl Iterator<Item = &'static (&'static str, &'static [rows::Row])> {
    ROWS.iter().chain(ASKING)
}

/// Names of the program are code; what else a row says is prose.
fn is_name(row: &str) -> bool {
    !row.contains(' ')
}

/// All names that the program tells of itself.
async fn listed() -> BTreeSet<String> {
    let home = tempfile::tempdir().unwrap();
    let env = [("PILOTHOUSE_CODEX".to_owned(), "/nowhere/codex".to_owned())];
    let sets = ["--tools", "codex,choice,form,command"];
    let mut client = Client::spawn_with(home.path(), &sets, &env);
    client.initialize("2025-11-25").await;
    let mut res = BTreeSet::new();
    let tools = client.request("tools/list", json!({})).await;
    for tool in tools["result"]["tools"].as_array().unwrap() {
        parameters(tool["name"].as_str().unwrap(), &tool["inputSchema"], &mut res);
    }
    let listed = client.request("resources/list", json!({})).await;
    for resource in listed["result"]["resources"].as_array().unwrap() {
        res.insert(resource["uri"].as_str().unwrap().to_owned());
    }
    let listed = client.request("resources/templates/list", json!({})).await;
    for template in listed["result"]["resourceTemplates"].as_array().unwrap() {
        res.insert(template["uriTemplate"].as_str().unwrap().to_owned());
    }
    let errors = json!({"uri": "codex-mcp:///errors"});
    let errors = client.request("resources/read", errors).await;
    let text = errors["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
    res.extend(text.lines().filter_map(|it| {
        let (code, _) = it.strip_prefix("- `")?.split_once('`')?;
        Some(code.to_owned())
    }));
    res
}

/// A tool's parameters, those within them, and the words that they take.
fn parameters(name: &str, schema: &Value, into: &mut BTreeSet<String>) {
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        let name = format!("{name}.{field}");
        for word in schema["enum"].as_array().into_iter().flatten() {
            into.insert(format!("{name}={}", word.as_str().unwrap()));
        }
        parameters(&name, schema, into);
        into.insert(name);
    }
}

/// All tests of the workspace's crates, with their files.
pub(crate) fn tests(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut res = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                res.extend(names(&text).map(|it| (it.to_owned(), path.clone())));
            }
        }
    }
    res
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim();
        if line.starts_with("#[") {
            is_test |= line.starts_with("#[test") || line.starts_with("#[tokio::test");
            return None;
        }
        let name = line.trim_start_matches("async ").strip_prefix("fn ")?.split_once('(')?.0;
        std::mem::take(&mut is_test).then_some(name)
    })
}

fn written(tests: &BTreeMap<String, PathBuf>) -> String {
    let mut lines = vec![
        "# The MCP contract, and what shows it\n".to_owned(),
        "Written by the test `every_name_of_the_contract_is_shown_by_a_test`, which fails if a name \
         that the program lists is missing here, if a test is, or if this file is stale."
            .to_owned(),
    ];
    let code = |it: &str| if is_name(it) { format!("`{it}`") } else { it.to_owned() };
    for (section, rows) in sections() {
        lines.push(format!("\n## {section}\n\n| What | Shown by | In |\n|---|---|---|"));
        for (name, test) in *rows {
            let path = tests[*test].strip_prefix(workspace_root()).unwrap().display();
            lines.push(format!("| {} | `{test}` | `{path}` |", code(name)));
        }
    }
    lines.push(
        "\n## Checked by mutation\n\nEach of these was broken on purpose, one at a time, and its test \
         failed.\n\n| What was broken | What failed |\n|---|---|"
            .to_owned(),
    );
    lines.extend(MUTATIONS.iter().map(|(broken, test)| format!("| {broken} | `{test}` |")));
    lines.join("\n") + "\n"
}
