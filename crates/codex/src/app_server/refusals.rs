//! Requests of Codex's that are answered at once, because nobody here can do what they want.

use serde_json::{Value, json};

use super::{
    versions::{Feature, Version},
    wire::{METHOD_NOT_FOUND, REFUSED, refusal, reply},
};

/// The line that refuses a request, and what it says in words.
pub(crate) fn refuse(version: Version, id: &Value, method: &str) -> (String, String) {
    match method {
        "item/tool/call" => {
            let words = "Pilothouse runs no dynamic tools: tools of the client are not supported";
            let result = if version.has(Feature::ContentItems) {
                let items = json!([{"type": "inputText", "text": words}]);
                json!({"success": false, "contentItems": items})
            } else {
                json!({"success": false, "output": words})
            };
            (reply(id, &result), words.to_owned())
        }
        "account/chatgptAuthTokens/refresh" => {
            let words = "Pilothouse holds no ChatGPT tokens; log in with `codex login`";
            (refusal(id, REFUSED, words), words.to_owned())
        }
        // A kind that nobody can be shown, such as a check of the user's identity.
        "mcpServer/elicitation/request" => {
            let words = "Pilothouse cannot show this kind of request; it was cancelled";
            (
                reply(id, &json!({"action": "cancel", "content": null, "_meta": null})),
                words.to_owned(),
            )
        }
        other => {
            let words = format!("Pilothouse does not know the method {other:?}");
            (refusal(id, METHOD_NOT_FOUND, &words), words)
        }
    }
}
