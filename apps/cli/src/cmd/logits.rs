//! `golay logits`: the logits of a text, for comparison with other engines.

use crate::args::LogitsArgs;
use crate::error::{CliError, Result};
use crate::input::Positions;
use crate::output::note;
use crate::{interrupt, open};
use golay::engine::{Cancel, Scorer};
use golay::format::{TensorType, write_safetensors_file};

/// Most bytes of logits that are held at once.
const LIMIT: u64 = 16 << 30;

pub fn run(args: &LogitsArgs) -> Result<()> {
    if args.ids.is_some() == args.source.given() {
        return Err(CliError::usage("give one text: -p TEXT, -f FILE, - for standard input, or --ids 1,2,3"));
    }
    let text = args.source.read()?;
    // With ids the context can be as short as they are; text has to be encoded first.
    let len = args.ids.as_ref().and_then(|i| u32::try_from(i.0.len()).ok());
    let engine = open::model(&args.model, &args.device, &|spec| {
        args.ctx.ctx_size.or_else(|| len.map(|n| n.clamp(1, spec.context)))
    })?;
    let ids = match (&args.ids, text) {
        (Some(ids), _) => ids.0.clone(),
        (None, Some(t)) => engine.text_ids(&t)?,
        (None, None) => Vec::new(),
    };
    let from = match args.positions {
        Positions::All => 0,
        Positions::Last(n) => ids.len().saturating_sub(n),
    };
    let vocab = u64::from(engine.spec.vocab);
    let rows = (ids.len() - from) as u64;
    if rows.saturating_mul(vocab * 4) > LIMIT {
        return Err(CliError::failed(format!(
            "{rows} rows of {vocab} logits are too many; use --positions last:N"
        )));
    }
    let mut logits: Vec<u8> = Vec::with_capacity((rows * vocab * 4) as usize);
    let mut positions: Vec<u8> = Vec::with_capacity(rows as usize * 8);
    let cancel = Cancel::default();
    pollster::block_on(async {
        let mut scorer = Scorer::new(&engine).await?;
        let _guard = interrupt::guard(&cancel, 2);
        scorer
            .score(&ids, from, &cancel, &mut |position, row| {
                positions.extend((position as i64).to_le_bytes());
                logits.extend(row.iter().flat_map(|v| v.to_le_bytes()));
            })
            .await
    })?;
    let shape = [rows, vocab];
    let tensors = [
        ("logits", TensorType::F32, &shape[..], &logits[..]),
        ("positions", TensorType::I64, &shape[..1], &positions[..]),
    ];
    write_safetensors_file(
        &args.output,
        &tensors,
        &[("producer", concat!("golay ", env!("CARGO_PKG_VERSION")))],
    )?;
    note(&format!("{rows} rows of {vocab} logits in {}", args.output.display()));
    Ok(())
}
