//! `golay template`: a conversation to the prompt that the model sees.

use crate::args::TemplateArgs;
use crate::error::{CliError, Result};
use crate::{input, open, output};
use golay::text::RenderOptions;
use serde_json::{Map, Value};

pub fn run(args: &TemplateArgs) -> Result<()> {
    let file = input::shown(&args.messages);
    let bytes = input::read_bytes(&args.messages)?;
    let (messages, mut options) = parse(&bytes).map_err(|e| CliError::failed(format!("{file}: {e}")))?;
    options.add_generation_prompt |= args.add_generation_prompt;
    let (tokenizer, template) = open::text(&args.model)?;
    let template = template.ok_or_else(|| CliError::failed("the model has no chat template"))?;
    if template.is_default() {
        output::note("the model brings no chat template: using ChatML");
    }
    let rendered = template.render_values(&messages, &options)?;
    if !args.json {
        // Byte for byte: no line break that the template did not write.
        return output::answer(&rendered);
    }
    let ids = golay::engine::chat_ids(&tokenizer, &template, &messages, &options)?;
    output::json(&serde_json::json!({ "rendered": rendered, "ids": ids }))
}

/// A list of messages, or an object with `messages` and what else a template may ask for.
fn parse(bytes: &[u8]) -> std::result::Result<(Vec<Value>, RenderOptions), String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    let mut options = RenderOptions::default();
    let messages = match value {
        Value::Array(list) => list,
        Value::Object(mut object) => {
            let Some(Value::Array(list)) = object.remove("messages") else {
                return Err("expected a list \"messages\"".into());
            };
            options.tools = object.remove("tools");
            options.documents = object.remove("documents");
            if let Some(v) = object.remove("add_generation_prompt") {
                options.add_generation_prompt =
                    v.as_bool().ok_or("add_generation_prompt is not true or false")?;
            }
            options.extra = object.into_iter().collect::<Map<_, _>>();
            list
        }
        _ => return Err("expected a list of messages".into()),
    };
    check(&messages)?;
    Ok((messages, options))
}

/// Every message is an object with a role.
pub fn check(messages: &[Value]) -> std::result::Result<(), String> {
    for (i, m) in messages.iter().enumerate() {
        if m.get("role").and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(format!("message {i}: expected an object with a \"role\""));
        }
        if !m.get("content").is_none_or(|c| c.is_string() || c.is_array() || c.is_null()) {
            return Err(format!("message {i}: \"content\" is neither a text nor a list of parts"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversations_are_checked() {
        assert!(parse(br#"[{"role": "user", "content": "x"}]"#).is_ok());
        let (m, o) = parse(br#"{"messages": [], "tools": [1], "enable_thinking": false}"#).unwrap();
        assert!(m.is_empty() && o.tools.is_some() && o.extra.contains_key("enable_thinking"));
        for bad in [
            &br#"{"role": "user"}"#[..],
            b"[1]",
            br#"[{"role": "user", "content": 1}]"#,
            b"3",
            b"[",
            br#"[{"role": "user", "content": "\ud800"}]"#,
        ] {
            assert!(parse(bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }
}
