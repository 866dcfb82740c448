//! From a conversation to ids, without letting what a person typed become a control token.

use super::error::{EngineError, Result};
use super::load::Engine;
use crate::text::{ChatTemplate, EncodeOptions, RenderOptions, Tokenizer};
use serde_json::Value;

/// Marks round a control token's text that came from a message and not from the template. Noncharacters: they have no
/// meaning in any text, and those that a message contains anyway are dropped. Two of them, so that a template that
/// cuts a message in the middle of a marked text cannot turn the rest of the prompt inside out.
const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';

impl Engine {
    /// Renders a conversation and encodes it. Control tokens written by the template are control tokens; the same
    /// text inside a message stays text.
    ///
    /// # Errors
    /// The template's own error (in its words), a file without a tokenizer.
    pub fn chat_ids(&self, messages: &[Value], options: &RenderOptions) -> Result<Vec<u32>> {
        let tokenizer = self.need_tokenizer()?;
        let template = self.template.as_ref().ok_or_else(|| EngineError::Option {
            what: "the model's chat template",
            found: "absent from the file".into(),
            expected: "a template".into(),
        })?;
        chat_ids(tokenizer, template, messages, options)
    }

    /// Encodes plain text; control tokens in it stay text.
    ///
    /// # Errors
    /// A file without a tokenizer.
    pub fn text_ids(&self, text: &str) -> Result<Vec<u32>> {
        let options = EncodeOptions { parse_special: false, add_special: true };
        Ok(self.need_tokenizer()?.encode(text, options)?)
    }
}

/// As [`Engine::chat_ids`], without an engine.
///
/// # Errors
/// The template's own error.
pub fn chat_ids(
    tokenizer: &Tokenizer,
    template: &ChatTemplate,
    messages: &[Value],
    options: &RenderOptions,
) -> Result<Vec<u32>> {
    let specials: Vec<String> = (0..tokenizer.vocab_size() as u32)
        .filter(|id| tokenizer.is_special(*id))
        .filter_map(|id| tokenizer.token_text(id).ok().map(str::to_owned))
        .filter(|t| t.chars().count() > 1)
        .collect();
    let marked: Vec<Value> = messages.iter().map(|m| mark(m, &specials)).collect();
    let rendered = template.render_values(&marked, options)?;
    let mut ids = Vec::new();
    // BOS is added only when the template has not written it.
    let written = tokenizer.bos().and_then(|b| tokenizer.token_text(b).ok());
    if tokenizer.add_bos() && !written.is_some_and(|b| rendered.trim_start().starts_with(b)) {
        ids.extend(tokenizer.bos());
    }
    for (typed, piece) in pieces(&rendered) {
        ids.extend(tokenizer.encode(piece, EncodeOptions { parse_special: !typed, add_special: false })?);
    }
    Ok(ids)
}

/// Cuts a rendering at the marks: (came from a message, text). An opening mark holds to its close, or to the end when the
/// template has cut that off; a close without an opening is dropped.
fn pieces(rendered: &str) -> Vec<(bool, &str)> {
    let mut all = Vec::new();
    for (i, part) in rendered.split(OPEN).enumerate() {
        let (typed, plain) = if i == 0 { ("", part) } else { part.split_once(CLOSE).unwrap_or((part, "")) };
        all.push((true, typed));
        all.extend(plain.split(CLOSE).map(|p| (false, p)));
    }
    all.retain(|p| !p.1.is_empty());
    all
}

/// Puts marks around the texts of control tokens in every string of a message but its role.
fn mark(message: &Value, specials: &[String]) -> Value {
    match message {
        Value::String(s) => Value::String(mark_text(s, specials)),
        Value::Array(list) => list.iter().map(|v| mark(v, specials)).collect(),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(k, v)| {
                    (k.clone(), if k == "role" || k == "type" { v.clone() } else { mark(v, specials) })
                })
                .collect(),
        ),
        other => other.clone(),
    }
}

fn mark_text(text: &str, specials: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let longest = specials.iter().filter(|s| rest.starts_with(s.as_str())).max_by_key(|s| s.len());
        if let Some(s) = longest {
            out.push(OPEN);
            out.push_str(s);
            out.push(CLOSE);
            rest = &rest[s.len()..];
            continue;
        }
        let mut chars = rest.chars();
        if let Some(c) = chars.next().filter(|c| !matches!(*c, OPEN | CLOSE)) {
            out.push(c);
        }
        rest = chars.as_str();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_stays_typed_wherever_a_template_cuts() {
        let specials = ["<x>".to_owned(), "<xy>".to_owned()];
        let marked = mark_text("a<x>b<xy>\u{fdd0}c", &specials);
        assert_eq!(marked, "a\u{fdd0}<x>\u{fdd1}b\u{fdd0}<xy>\u{fdd1}c");
        let whole = pieces(&marked);
        assert_eq!(whole, [(false, "a"), (true, "<x>"), (false, "b"), (true, "<xy>"), (false, "c")]);
        // A template that cuts behind an opening mark, or before a close, changes nothing for what follows it.
        assert_eq!(pieces("<x>\u{fdd1}b<s>"), [(false, "<x>"), (false, "b<s>")]);
        assert_eq!(pieces("a\u{fdd0}<x"), [(false, "a"), (true, "<x")]);
        assert_eq!(pieces(""), []);
    }
}
