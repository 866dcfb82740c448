//! `golay tokenize`: text to ids.

use crate::args::TokenizeArgs;
use crate::error::Result;
use crate::{open, output};
use golay::text::EncodeOptions;

pub fn run(args: &TokenizeArgs) -> Result<()> {
    let text = args.source.need()?;
    let (tokenizer, _) = open::text(&args.model)?;
    let options = EncodeOptions { parse_special: args.special, add_special: args.add_special };
    let ids = tokenizer.encode(&text, options)?;
    if args.json {
        return output::json(&serde_json::json!({ "ids": ids }));
    }
    let mut out = String::new();
    for id in ids {
        let bytes = tokenizer.token_slice(id)?;
        out.push_str(&format!("{id:>6}  '{}'\n", shown(bytes)));
    }
    output::result(&out)
}

/// Bytes as text with what is no character, or none that shows, escaped.
fn shown(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() || c == '\\' { out.extend(c.escape_default()) } else { out.push(c) }
        }
        out.extend(chunk.invalid().iter().map(|b| format!("\\x{b:02x}")));
    }
    out
}
