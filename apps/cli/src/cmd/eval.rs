//! `golay eval ppl`: how well a model predicts a text.

use crate::args::PplArgs;
use crate::error::{CliError, Result};
use crate::output::{self, Bar, note};
use crate::{input, interrupt, open};
use golay::engine::{Cancel, Scorer};
use golay::text::EncodeOptions;

/// The window when none is given and the model's context is longer.
const WINDOW: u32 = 1024;

pub fn run(args: &PplArgs) -> Result<()> {
    let text = input::read_text(&args.file)?;
    let window = |context: u32| args.ctx.unwrap_or(context.min(WINDOW));
    let engine = open::model(&args.model, &args.device, &|spec| Some(window(spec.context)))?;
    let tokenizer = engine.need_tokenizer()?;
    let mut ids = tokenizer.encode(&text, EncodeOptions { parse_special: false, add_special: false })?;
    if let Some(n) = args.tokens {
        if (n as usize) > ids.len() {
            note(&format!("the text has {} tokens, fewer than --tokens {n}", ids.len()));
        }
        ids.truncate(n as usize);
    }
    if ids.len() < 2 {
        return Err(CliError::failed(format!(
            "{}: a text of at least 2 tokens is needed",
            input::shown(&args.file)
        )));
    }
    let size = window(engine.spec.context).min(engine.plan.context) as usize;
    // A last window counts when it predicts something.
    let windows: Vec<&[u32]> = ids.chunks(size).filter(|w| w.len() >= 2).collect();
    let (mut sum, mut count) = (0.0f64, 0u64);
    let cancel = Cancel::default();
    let bar = Bar::new("ppl");
    let begin = std::time::Instant::now();
    pollster::block_on(async {
        let mut scorer = Scorer::new(&engine).await?;
        let _guard = interrupt::guard(&cancel, 2);
        for (i, w) in windows.iter().enumerate() {
            scorer
                .score(w, 0, &cancel, &mut |position, row| {
                    if let Some(&next) = w.get(position + 1) {
                        sum += negative_log_probability(row, next as usize);
                        count += 1;
                    }
                })
                .await?;
            bar.say(&format!("ppl {:.4}", (sum / count as f64).exp()));
            bar.set(i as u64 + 1, windows.len() as u64);
            log::info!("window {} of {}: ppl {:.4}", i + 1, windows.len(), (sum / count as f64).exp());
        }
        Ok::<(), golay::engine::EngineError>(())
    })?;
    let mean = sum / count as f64;
    if !mean.is_finite() {
        return Err(CliError::failed(format!("the mean negative log probability is {mean}")));
    }
    note(&format!("{} windows of {size} tokens in {:.1} s", windows.len(), begin.elapsed().as_secs_f64()));
    if args.json {
        output::json(&serde_json::json!({
            "ppl": mean.exp(), "mean_nll": mean, "tokens": count, "window": size, "windows": windows.len(),
        }))
    } else {
        output::line(&format!(
            "perplexity {:.4} (mean negative log-likelihood {mean:.5} over {count} tokens)",
            mean.exp()
        ))
    }
}

/// -ln softmax(row)[id], in f64.
fn negative_log_probability(row: &[f32], id: usize) -> f64 {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|v| (f64::from(*v) - f64::from(max)).exp()).sum();
    match row.get(id) {
        Some(v) => sum.ln() + f64::from(max) - f64::from(*v),
        None => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::negative_log_probability as nll;

    #[test]
    fn log_softmax() {
        let p = 1.0 / (1.0 + 1f64.exp());
        assert!((nll(&[100.0, 101.0], 0) + p.ln()).abs() < 1e-12);
        assert_eq!(nll(&[0.0], 5), f64::INFINITY);
    }
}
