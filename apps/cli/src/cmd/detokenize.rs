//! `golay detokenize`: ids to text.

use crate::args::DetokenizeArgs;
use crate::error::Result;
use crate::{open, output};

pub fn run(args: &DetokenizeArgs) -> Result<()> {
    let (tokenizer, _) = open::text(&args.model)?;
    let text = tokenizer.decode(&args.ids.0, args.skip_special)?;
    if args.json {
        output::json(&serde_json::json!({ "text": text }))
    } else {
        output::answer(&format!("{text}\n"))
    }
}
