//! `golay logits`: the logits of a text, for comparison with other engines.

use crate::args::LogitsArgs;
use crate::error::{CliError, Result};
use crate::input::Positions;
use crate::output::note;
use crate::target::Target;
use crate::{cache, interrupt, open};
use golay::engine::{Cancel, Scorer};
use golay::format::{TensorType, write_safetensors};

/// Most bytes of logits that are held at once.
const LIMIT: u64 = 16 << 30;

pub fn run(args: &LogitsArgs) -> Result<()> {
    if args.ids.is_some() == args.source.given() {
        return Err(CliError::usage("give one text: -p TEXT, -f FILE, - for standard input, or --ids 1,2,3"));
    }
    let text = args.source.read()?;
    let model = cache::resolve(&args.model.model)?;
    let target = Target::binary(&args.output)?;
    target.spare(&model)?;
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
    if let Positions::Last(n) = args.positions
        && n > ids.len()
    {
        note(&format!("--positions last:{n}: the text has only {} positions", ids.len()));
    }
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
    let mut wrong = None;
    let scored = pollster::block_on(async {
        let mut scorer = Scorer::new(&engine).await?;
        let _guard = interrupt::guard(&cancel, 2);
        scorer
            .score(&ids, from, &cancel, &mut |position, row| {
                if wrong.is_none() && !row.iter().all(is_logit) {
                    wrong = Some(position);
                    // The rest is of no use to anybody.
                    cancel.cancel();
                }
                positions.extend((position as i64).to_le_bytes());
                logits.extend(row.iter().flat_map(|v| v.to_le_bytes()));
            })
            .await
    });
    if let Some(position) = wrong {
        return Err(CliError::failed(format!(
            "the model's output is not a number at position {position}: nothing is written"
        )));
    }
    scored?;
    let shape = [rows, vocab];
    let tensors = [
        ("logits", TensorType::F32, &shape[..], &logits[..]),
        ("positions", TensorType::I64, &shape[..1], &positions[..]),
    ];
    let producer = [("producer", concat!("golay ", env!("CARGO_PKG_VERSION")))];
    target.write(|out| Ok(write_safetensors(out, &tensors, &producer).map(|_| ())?))?;
    note(&format!("{rows} rows of {vocab} logits in {}", target.name()));
    Ok(())
}

/// Minus infinity rules a token out; a NaN or plus infinity says nothing.
fn is_logit(v: &f32) -> bool {
    v.is_finite() || *v == f32::NEG_INFINITY
}
