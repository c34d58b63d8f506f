//! Items of a thread: which have begun, what approvals of them need, and pieces of their streams.

use std::collections::{BTreeMap, VecDeque};

use pilothouse_core::{Change, Stream};
use serde_json::Value;

use super::wire::text;

/// Most items of a session whose beginning is remembered, so that it is told once.
const MAX_SEEN: usize = 4_096;
/// Most open commands and file changes of a session whose content is kept for their approvals.
const MAX_KEPT: usize = 256;

/// What is remembered of a session's items. An item's id is unique only within its thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Items {
    seen: Bounded<()>,
    kept: Bounded<Value>,
}

impl Items {
    /// Takes note that an item began. Returns whether that is news.
    pub(crate) fn start(&mut self, thread: &str, item: &str, body: &Value) -> bool {
        let key = (thread.to_owned(), item.to_owned());
        // Codex begins an item again when its changes have changed: the last word counts.
        if matches!(text(body, &["type"]), Some("commandExecution" | "fileChange")) {
            self.kept.insert(key.clone(), body.clone(), MAX_KEPT);
        }
        self.seen.insert(key, (), MAX_SEEN)
    }

    /// Takes note that an item is over.
    pub(crate) fn complete(&mut self, thread: &str, item: &str) {
        self.kept.remove(&(thread.to_owned(), item.to_owned()));
    }

    /// An open command or file change.
    pub(crate) fn open(&self, thread: &str, item: &str) -> Option<&Value> {
        self.kept.values.get(&(thread.to_owned(), item.to_owned()))
    }
}

type Key = (String, String);

/// A map that forgets what came first.
#[derive(Debug, Clone)]
struct Bounded<V> {
    values: BTreeMap<Key, V>,
    order: VecDeque<Key>,
}

impl<V> Default for Bounded<V> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), order: VecDeque::new() }
    }
}

impl<V> Bounded<V> {
    /// Returns whether the key was not there.
    fn insert(&mut self, key: Key, value: V, limit: usize) -> bool {
        if self.values.insert(key.clone(), value).is_some() {
            return false;
        }
        self.order.push_back(key);
        if self.order.len() > limit
            && let Some(oldest) = self.order.pop_front()
        {
            self.values.remove(&oldest);
        }
        true
    }

    fn remove(&mut self, key: &Key) {
        if self.values.remove(key).is_some() {
            self.order.retain(|it| it != key);
        }
    }
}

/// The files of a `fileChange` item, in each of the shapes that `kind` has had.
pub(crate) fn changes(item: &Value) -> Vec<Change> {
    let changes = item.get("changes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let change = |it: &Value| Change {
        path: text(it, &["path"]).unwrap_or_default().to_owned(),
        kind: text(it, &["kind", "type"])
            .or_else(|| text(it, &["kind"]))
            .unwrap_or("update")
            .to_owned(),
        move_path: text(it, &["kind", "move_path"])
            .or_else(|| text(it, &["kind", "movePath"]))
            .map(ToOwned::to_owned),
        diff: text(it, &["diff"]).unwrap_or_default().to_owned(),
    };
    changes.iter().map(change).collect()
}

/// The files of a legacy patch: an object by path.
pub(crate) fn legacy_changes(changes: &Value) -> Vec<Change> {
    let Some(changes) = changes.as_object() else { return vec![] };
    let change = |(path, it): (&String, &Value)| {
        let kind = text(it, &["type"]).map(ToOwned::to_owned);
        // Today's protocol tags the kind, the first had it as the only member.
        let (kind, body) = match (kind, it.as_object().and_then(|it| it.iter().next())) {
            (Some(kind), _) => (kind, it),
            (None, Some((kind, body))) => (kind.clone(), body),
            (None, None) => ("update".to_owned(), it),
        };
        let diff = ["unified_diff", "content"].iter().find_map(|name| text(body, &[name]));
        Change {
            path: path.clone(),
            kind,
            move_path: text(body, &["move_path"]).map(ToOwned::to_owned),
            diff: diff.unwrap_or_default().to_owned(),
        }
    };
    changes.iter().map(change).collect()
}

/// The piece of a stream that a notification carries, with its item.
pub(crate) fn delta(method: &str, params: &Value) -> Option<(String, Stream, String)> {
    let stream = match method {
        "item/agentMessage/delta" => Stream::Text,
        "item/plan/delta" => Stream::Plan,
        "item/commandExecution/outputDelta" | "item/fileChange/outputDelta" => Stream::Output,
        "item/reasoning/summaryTextDelta"
        | "item/reasoning/textDelta"
        | "item/reasoning/summaryPartAdded" => Stream::Reasoning,
        _ => return None,
    };
    let item = text(params, &["itemId"])?.to_owned();
    if method == "item/reasoning/summaryPartAdded" {
        // Parts are paragraphs; there is nothing to part before the first.
        let is_first = params.get("summaryIndex").and_then(Value::as_u64) == Some(0);
        return (!is_first).then(|| (item, stream, "\n\n".to_owned()));
    }
    Some((item, stream, text(params, &["delta"])?.to_owned()))
}

/// The threads of sub-agents that an item names, with their names.
pub(crate) fn sub_agents(item: &Value) -> Vec<(String, Option<String>)> {
    match text(item, &["type"]) {
        Some("subAgentActivity") => {
            let path = text(item, &["agentPath"]).map(ToOwned::to_owned);
            let thread = text(item, &["agentThreadId"]);
            thread.map(|it| (it.to_owned(), path)).into_iter().collect()
        }
        Some("collabAgentToolCall") => {
            let threads = item.get("receiverThreadIds").and_then(Value::as_array);
            let threads = threads.into_iter().flatten().filter_map(Value::as_str);
            threads.map(|it| (it.to_owned(), None)).collect()
        }
        Some(_) | None => vec![],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_beginning_is_news_once_and_the_last_content_counts() {
        let mut items = Items::default();
        let body = |diff: &str| json!({"type": "fileChange", "changes": [{"path": "a", "kind": {"type": "add"}, "diff": diff}]});
        assert!(items.start("t", "i", &body("1")));
        assert!(!items.start("t", "i", &body("2")));
        assert!(items.start("u", "i", &body("3")));
        assert_eq!(changes(items.open("t", "i").unwrap())[0].diff, "2");
        items.complete("t", "i");
        assert!(items.open("t", "i").is_none());
        assert!(items.open("u", "i").is_some());
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let mut items = Items::default();
        for n in 0..MAX_KEPT + 10 {
            items.start("t", &n.to_string(), &json!({"type": "commandExecution"}));
        }
        assert!(items.open("t", "9").is_none());
        assert!(items.open("t", "10").is_some());
    }

    #[test]
    fn file_changes_are_read_in_every_shape() {
        let item = json!({"changes": [
            {"path": "/a", "kind": {"type": "update", "move_path": "/b"}, "diff": "@@"},
            {"path": "/c", "kind": "delete", "diff": "x"},
        ]});
        let change = |path: &str, kind: &str, to: Option<&str>, diff: &str| Change {
            path: path.into(),
            kind: kind.into(),
            move_path: to.map(Into::into),
            diff: diff.into(),
        };
        let expected =
            [change("/a", "update", Some("/b"), "@@"), change("/c", "delete", None, "x")];
        assert_eq!(changes(&item), expected);
        let legacy = json!({
            "/a": {"type": "update", "unified_diff": "@@", "move_path": "/b"},
            "/c": {"delete": {"content": "x"}},
        });
        assert_eq!(legacy_changes(&legacy), expected);
        assert_eq!(changes(&json!({"changes": 1})), []);
    }
}
