//! Items of `codex exec` in the words of the app-server, and names that no other process uses.

use serde_json::{Map, Value, json};

use crate::app_server::wire::text;

/// An item as the app-server would tell it.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) body: Value,
}

/// Translates an item. Its id counts from 0 in every process, so the turn's name goes before it.
pub(super) fn item(turn: &str, item: &Value) -> Option<Item> {
    let fields = item.as_object()?;
    let name = format!("{turn}:{}", text(item, &["id"])?);
    // 0.42 has another name for the kind, and for one of the kinds.
    let kind = match text(item, &["type"]).or_else(|| text(item, &["item_type"])) {
        Some("assistant_message") => "agentMessage".to_owned(),
        Some(kind) => camel(kind),
        None => "unknown".to_owned(),
    };
    let mut body = Map::new();
    for (key, value) in fields {
        body.insert(camel(key), value.clone());
    }
    body.remove("itemType");
    body.insert("id".to_owned(), name.as_str().into());
    body.insert("type".to_owned(), kind.as_str().into());
    if let Some(status) = text(item, &["status"]) {
        body.insert("status".to_owned(), camel(status).into());
    }
    match kind.as_str() {
        "reasoning" => {
            let words = body.remove("text").unwrap_or_default();
            body.insert("summary".to_owned(), json!([words]));
            body.insert("content".to_owned(), json!([]));
        }
        "fileChange" => {
            for change in
                body.get_mut("changes").and_then(Value::as_array_mut).into_iter().flatten()
            {
                if let Some(kind) = text(change, &["kind"]).map(ToOwned::to_owned) {
                    change["kind"] = json!({"type": kind});
                }
            }
        }
        "mcpToolCall" => {
            if let Some(result) = body.get_mut("result").and_then(Value::as_object_mut)
                && let Some(content) = result.remove("structured_content")
            {
                result.insert("structuredContent".to_owned(), content);
            }
        }
        _ => {}
    }
    Some(Item { name, kind, body: Value::Object(body) })
}

/// A list of things to do as the plan that the app-server would tell.
pub(super) fn plan(item: &Value) -> Option<Value> {
    let items = item.get("items")?.as_array()?;
    let step = |it: &Value| {
        let is_done = it.get("completed").and_then(Value::as_bool) == Some(true);
        let status = if is_done { "completed" } else { "pending" };
        json!({"step": text(it, &["text"]).unwrap_or_default(), "status": status})
    };
    Some(json!({"explanation": null, "plan": items.iter().map(step).collect::<Vec<_>>()}))
}

/// Token use of the whole thread, as the app-server counts it.
pub(super) fn usage(usage: &Value) -> Option<Value> {
    let mut total: Map<_, _> =
        usage.as_object()?.iter().map(|(name, it)| (camel(name), it.clone())).collect();
    let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
    let sum = count("input_tokens").saturating_add(count("output_tokens"));
    total.entry("totalTokens").or_insert_with(|| sum.into());
    Some(json!({"total": total}))
}

/// `in_progress` as the app-server spells it: `inProgress`.
pub(crate) fn camel(word: &str) -> String {
    let mut res = String::with_capacity(word.len());
    let mut is_next_upper = false;
    for it in word.chars() {
        match it {
            '_' if !res.is_empty() => is_next_upper = true,
            it if is_next_upper => {
                res.push(it.to_ascii_uppercase());
                is_next_upper = false;
            }
            it => res.push(it),
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lose_their_underscores_but_the_first() {
        let check = |word: &str, expected: &str| assert_eq!(camel(word), expected);
        check("in_progress", "inProgress");
        check("cached_input_tokens", "cachedInputTokens");
        check("_meta", "_meta");
        check("inProgress", "inProgress");
        check("", "");
    }

    #[test]
    fn bodies_are_the_app_servers_and_what_tools_say_is_untouched() {
        let told = json!({
            "id": "item_3", "type": "mcp_tool_call", "server": "s", "tool": "t",
            "arguments": {"snake_case": 1}, "status": "in_progress",
            "result": {"content": [{"type": "text", "some_key": 1}], "structured_content": {"a_b": 1}},
        });
        let item = item("p1", &told).unwrap();
        assert_eq!((item.name.as_str(), item.kind.as_str()), ("p1:item_3", "mcpToolCall"));
        let expected = json!({
            "id": "p1:item_3", "type": "mcpToolCall", "server": "s", "tool": "t",
            "arguments": {"snake_case": 1}, "status": "inProgress",
            "result": {"content": [{"type": "text", "some_key": 1}], "structuredContent": {"a_b": 1}},
        });
        assert_eq!(item.body, expected);
    }

    #[test]
    fn token_use_has_a_sum() {
        let told = json!({"input_tokens": 3, "output_tokens": 4, "cached_input_tokens": 1});
        let expected = json!({"total": {"inputTokens": 3, "outputTokens": 4, "cachedInputTokens": 1, "totalTokens": 7}});
        assert_eq!(usage(&told), Some(expected));
        assert_eq!(usage(&json!(1)), None);
    }
}
