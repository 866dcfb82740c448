//! Every kernel variant on the default adapter, with all its capabilities and with the baseline's.

use super::selftest::{self, Case, Depth};
use super::{Tuning, permutations};
use crate::gpu::error::GpuError;
use crate::gpu::{Caps, CapsRequest, Gpu, KernelKey, Kernels};

/// Runs the full list; kernels are compiled together first.
fn sweep(request: CapsRequest) {
    let gpu = match pollster::block_on(Gpu::open(None, request)) {
        Ok(gpu) => gpu,
        Err(GpuError::NoAdapter) => return println!("skipped: no GPU adapter"),
        Err(e) => panic!("{e}"),
    };
    let kernels = Kernels::default();
    let cases = selftest::cases(&gpu.caps, &Tuning::for_caps(&gpu.caps), Depth::Full);
    let start = std::time::Instant::now();
    let keys: Vec<KernelKey> = cases.iter().flat_map(|c| keys_of(&gpu, &kernels, c)).collect();
    kernels.prepare(&gpu, &keys, &|_, _| {}).unwrap();
    let compiled = start.elapsed();
    let mut failed = Vec::new();
    for case in &cases {
        let o = pollster::block_on(selftest::run(&gpu, &kernels, case))
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        println!("{:9.2e} of {:7.1e} {:6.1} ms {}", o.max_rel_err, o.tolerance, o.millis, case.name);
        if !o.passed {
            failed.push(format!(
                "{}: {} ({:e}, allowed {:e})",
                case.name, o.detail, o.max_rel_err, o.tolerance
            ));
        }
    }
    println!(
        "{} cases on {}: compiled in {compiled:?}, all in {:?}",
        cases.len(),
        gpu.info.name,
        start.elapsed()
    );
    assert!(failed.is_empty(), "{} of {} failed:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

fn keys_of(gpu: &Gpu, kernels: &Kernels, case: &Case) -> Vec<KernelKey> {
    let keys = pollster::block_on(selftest::keys(gpu, kernels, case)).unwrap();
    for key in &keys {
        assert!(permutations::covers(key), "permutations.txt lacks `{key}` ({})", case.name);
    }
    keys
}

#[test]
fn every_kernel_with_all_capabilities() {
    sweep(CapsRequest::Full);
}

#[test]
fn every_kernel_with_baseline_capabilities() {
    sweep(CapsRequest::Baseline);
}

/// Names double as seeds: two equal ones would be the same test twice.
#[test]
fn the_list_is_fixed_and_has_no_doubles() {
    for cpu in [true, false] {
        let caps = Caps::baseline(cpu);
        let tuning = Tuning::for_caps(&caps);
        for depth in [Depth::Quick, Depth::Full] {
            let names = |c: Vec<Case>| c.into_iter().map(|c| c.name).collect::<Vec<_>>();
            let list = names(selftest::cases(&caps, &tuning, depth));
            assert_eq!(list, names(selftest::cases(&caps, &tuning, depth)));
            let mut unique = list.clone();
            unique.sort();
            unique.dedup();
            assert_eq!(list.len(), unique.len());
        }
    }
}
