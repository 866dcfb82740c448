//! Time per token does not grow but for attention. A file of its own, so that no other test runs beside it.

use golay::engine::{Engine, EngineError, LoadOptions, Session};
use golay::format::ModelFile;
use golay::gpu::GpuError;

#[path = "common/mod.rs"]
mod common;

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
        let (mut near, mut far, mut ratio) = (f64::INFINITY, f64::INFINITY, f64::NAN);
        // The least of many rounds is what it costs when nothing else wants the machine.
        for _ in 0..20 {
            let n = s.profile(100, 2).await.expect("profile");
            let f = s.profile(2000, 2).await.expect("profile");
            (near, far) = (near.min(n.rest_s), far.min(f.rest_s));
            ratio = far / near;
            println!(
                "token 100: {:.1} ms and attention {:.1}; token 2000: {:.1} ms and attention {:.1}",
                near * 1e3,
                n.attention_s() * 1e3,
                far * 1e3,
                f.attention_s() * 1e3
            );
            if (0.9..=1.1).contains(&ratio) {
                return;
            }
        }
        panic!("time per token without attention, token 2000 over token 100: {ratio:.2}");
    });
}
