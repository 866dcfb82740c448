//! Time per token does not grow but for attention. A file of its own, so that no other test runs beside it.

use golay::engine::{Engine, EngineError, LoadOptions, Profile, Session};
use golay::format::ModelFile;
use golay::gpu::GpuError;

#[path = "common/mod.rs"]
mod common;

/// The least of each figure over all rounds: what the step costs when nothing else wants the machine.
#[derive(Default)]
struct Least(Option<(f64, f64)>);

impl Least {
    fn add(&mut self, p: &Profile) -> (f64, f64) {
        let (step, attention) = self.0.unwrap_or((f64::INFINITY, f64::INFINITY));
        let new = (step.min(p.step_s), attention.min(p.attention_s()));
        self.0 = Some(new);
        new
    }
}

#[test]
fn a_step_costs_the_same_at_token_2000_but_for_attention() {
    let Some(path) = common::smollm2_path() else { return };
    pollster::block_on(async {
        let file = ModelFile::open(path).expect("model");
        let e = match Engine::load(file, &LoadOptions::default(), &mut |_| {}).await {
            Ok(e) => e,
            Err(EngineError::Gpu(GpuError::NoAdapter)) => return println!("skipped: no adapter"),
            Err(e) => panic!("{e}"),
        };
        let mut s = Session::new(&e).await.expect("session");
        let (mut near, mut far) = (Least::default(), Least::default());
        let mut ratio = f64::NAN;
        // The machine may be busy with something else: a few more rounds then.
        for _ in 0..12 {
            let n = near.add(&s.profile(100, 3).await.expect("profile"));
            let f = far.add(&s.profile(2000, 3).await.expect("profile"));
            ratio = (f.0 - f.1) / (n.0 - n.1);
            println!(
                "token 100: {:.1} ms, of which attention {:.1}; token 2000: {:.1} ms, of which attention {:.1}",
                n.0 * 1e3,
                n.1 * 1e3,
                f.0 * 1e3,
                f.1 * 1e3
            );
            if (0.9..=1.1).contains(&ratio) {
                return;
            }
        }
        panic!("time per token without attention, token 2000 over token 100: {ratio:.2}");
    });
}
