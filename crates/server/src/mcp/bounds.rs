//! Results that fit: long texts lose their middle, and it is said how much is gone.

use serde_json::{Value, json};

/// Texts are cut to these lengths, one after the other, until the whole fits.
const STEPS: [usize; 6] = [16_384, 4_096, 1_024, 256, 64, 16];
/// Entries of a list that stay when texts alone do not help.
const MAX_ENTRIES: usize = 8;

/// How many bytes a value has on the wire.
pub(crate) fn size(value: &Value) -> usize {
    // Without a buffer: only the length is wanted.
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

/// A text's beginning and end, if it is longer than wanted; how much is gone stands between them.
pub(crate) fn cut(text: &str, limit: usize) -> Option<String> {
    if text.len() <= limit {
        return None;
    }
    let head = text.floor_char_boundary(limit * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - limit / 3);
    let gone = tail.saturating_sub(head);
    Some(format!("{}…[{gone} bytes]…{}", &text[..head], &text[tail..]))
}

/// Makes a value fit; gives whether something was lost.
pub(crate) fn shrink(value: &mut Value, limit: usize) -> bool {
    let n_bytes = size(value);
    if n_bytes <= limit {
        return false;
    }
    for step in STEPS {
        shorten(value, step, step <= 256);
        if size(value) <= limit {
            return true;
        }
    }
    *value = json!({ "truncated": true, "bytes": n_bytes });
    true
}

fn shorten(value: &mut Value, limit: usize, lists_too: bool) {
    match value {
        Value::String(text) => {
            if let Some(short) = cut(text, limit) {
                *text = short;
            }
        }
        Value::Array(items) => {
            if lists_too && items.len() > MAX_ENTRIES {
                let gone = items.len() - MAX_ENTRIES;
                items.truncate(MAX_ENTRIES);
                items.push(format!("…[{gone} more]").into());
            }
            for it in items {
                shorten(it, limit, lists_too);
            }
        }
        Value::Object(fields) => {
            for it in fields.values_mut() {
                shorten(it, limit, lists_too);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_and_what_does_not_says_how_much_is_gone() {
        let mut small = json!({"text": "hello"});
        assert!(!shrink(&mut small, 100));
        assert_eq!(small, json!({"text": "hello"}));
        let mut large = json!({"text": "é".repeat(50_000), "kind": "agentMessage"});
        assert!(shrink(&mut large, 2_000));
        assert!(size(&large) <= 2_000);
        assert_eq!(large["kind"], "agentMessage");
        assert!(large["text"].as_str().unwrap().contains(" bytes]"));
        let mut hopeless = json!((0..10_000).map(|it| json!({"n": it})).collect::<Vec<_>>());
        assert!(shrink(&mut hopeless, 60));
        assert_eq!(hopeless["truncated"], true);
    }
}
