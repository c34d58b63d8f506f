//! `request_form`: a person fills in a small form, or goes to a page for what no form may carry.

pub(crate) mod secrets;

mod schema;

use pilothouse_core::{Answer, CallerRequest, Subject};
use rmcp::model::Tool;
use serde_json::{Value, json};

use super::{
    Call, Reply, Said,
    arguments::Arguments,
    elicit::{Answered, Asking, Outcome, fingerprint},
    problem::Problem,
    tools,
};

pub(crate) const NAME: &str = "request_form";
/// Longest message, in characters.
const MAX_MESSAGE: usize = 4_000;
/// Longest address of a page, in bytes.
const MAX_URL: usize = 2_048;

/// The tool as clients list it.
pub(crate) fn tool() -> Tool {
    let text = || json!({ "type": "string" });
    let arguments = json!({
        "message": text(),
        "requestedSchema": { "type": "object", "description": "flat MCP form schema" },
        "url": { "type": "string", "description": "page for secrets, instead of a form" },
        "timeoutMs": { "type": "integer" },
        "askId": { "type": "string", "description": "collect a pending answer" },
    });
    let value = json!({ "type": ["string", "number", "boolean", "array"] });
    tools::tool(
        NAME,
        "Ask a person to fill in a form.",
        &arguments,
        &[],
        tools::result(json!({
            "answers": { "type": "array" },
            "content": { "type": "object", "additionalProperties": value },
        })),
    )
}

impl Call<'_> {
    /// Asks, or collects what was asked before.
    pub(crate) async fn request_form(&self, arguments: Arguments) -> Result<Said, Problem> {
        let print = fingerprint(NAME, &Value::Object(arguments.left().clone()));
        let mut arguments = arguments;
        let ask = arguments.text("askId")?;
        let outcome = if let Some(ask) = &ask {
            arguments.forget(&["message", "requestedSchema", "url", "timeoutMs"]);
            self.collect(ask).await?
        } else {
            let subject = self.subject(&mut arguments)?;
            let patience = self.patience(&mut arguments)?;
            let request = CallerRequest { key: print.clone(), subject, reason: None, patience };
            let asking = Asking { tool: NAME, arguments: print, request, note: None };
            Box::pin(self.ask(asking)).await?
        };
        let reply = match outcome {
            Outcome::InputRequired(result) => return Ok(Said::InputRequired(result)),
            Outcome::Pending(pending) => pending.reply(NAME),
            Outcome::Settled(answered) => reply(&answered)?,
        };
        Ok(Said::Reply(reply.warn(arguments.warnings())))
    }

    fn subject(&self, arguments: &mut Arguments) -> Result<Subject, Problem> {
        let message = arguments.required("message")?;
        if message.chars().count() > MAX_MESSAGE {
            let problem = format!("has over {MAX_MESSAGE} characters");
            return Err(Problem::argument("message", problem));
        }
        let server = self.client_name();
        match (arguments.object("requestedSchema")?, arguments.text("url")?) {
            (Some(schema), None) => {
                schema::check(&schema)?;
                Ok(Subject::Form { server, message, schema: Value::Object(schema) })
            }
            (None, Some(url)) => {
                check_url(&url)?;
                Ok(Subject::Url { server, message, url })
            }
            (None, None) => {
                let problem = "is required, unless `url` names a page";
                Err(Problem::argument("requestedSchema", problem))
            }
            (Some(_), Some(_)) => {
                Err(Problem::argument("url", "goes without requestedSchema: a form or a page"))
            }
        }
    }
}

/// A page is opened by the person's browser: nothing else than the web, and nobody's password in it.
fn check_url(url: &str) -> Result<(), Problem> {
    let wrong = |problem: &str| Err(Problem::argument("url", problem));
    if url.len() > MAX_URL {
        return wrong("is too long");
    }
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else { return wrong("must begin with https:// or http://") };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || url.chars().any(|it| it.is_whitespace() || it.is_control()) {
        return wrong("is no address of a page");
    }
    if host.contains('@') {
        return wrong("must not have a user or a password in it");
    }
    Ok(())
}

/// The result of a form that is settled.
fn reply(answered: &Answered) -> Result<Reply, Problem> {
    let mut res = answered.reply();
    if !matches!(answered.ask.subject, Subject::Form { .. } | Subject::Url { .. }) {
        let problem = "the question of this askId is no form; collect it with its own tool";
        return Err(Problem::argument("askId", problem));
    }
    res.fields.insert("answers".to_owned(), json!([]));
    if let Some(answer) = answered.answer()
        && answered.action() == "accept"
    {
        let content = match answer {
            Answer::Filled { content } => content.clone(),
            Answer::Decided { .. } | Answer::Chosen { .. } | Answer::Redacted => json!({}),
        };
        res.text.push('\n');
        res.text.push_str(&content.to_string());
        res.fields.insert("content".to_owned(), content);
    }
    Ok(res)
}
