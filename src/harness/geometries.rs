//! The geometries that a kernel can be tried with on an adapter.

use crate::gpu::Caps;
use crate::kernels::selftest::Arm;
use crate::kernels::{Gemm, Gemv, Tuning, attention};

/// Every geometry of the kernel of `arm` worth trying, `base` first. Only what the kernel reads varies.
pub fn of(arm: &Arm, base: &Tuning, caps: &Caps) -> Vec<Tuning> {
    let mut out = vec![base.clone()];
    let mut push = |t: Tuning| {
        if !out.iter().any(|o| arm.variant(o) == arm.variant(&t)) {
            out.push(t);
        }
    };
    match arm {
        Arm::Product { tokens: 1, .. } => {
            gemv(caps).into_iter().for_each(|gemv| push(Tuning { gemv, ..base.clone() }));
        }
        Arm::Product { .. } => {
            gemm(caps).into_iter().for_each(|gemm| push(Tuning { gemm, ..base.clone() }));
        }
        Arm::Attention { tokens: 1, .. } => {
            for decode_lanes in attention::lanes(caps) {
                for attention_groups in [2, 4, 6, 12, 24, 64, 128, 256, 512] {
                    push(Tuning { attention_groups, decode_lanes, ..base.clone() });
                }
            }
        }
        Arm::Attention { .. } => {
            for prefill_lanes in attention::lanes(caps) {
                for attention_rows in [1, 2, 4, 8] {
                    push(Tuning { attention_rows, prefill_lanes, ..base.clone() });
                }
            }
        }
        Arm::Norm { .. } => {
            for (norm_wg, serial) in
                [(8, true), (16, true), (32, true), (32, false), (64, false), (128, false), (256, false)]
            {
                push(Tuning { norm_wg, serial, ..base.clone() });
            }
        }
        Arm::Argmax { .. } => {
            for argmax_groups in [2, 8, 32, 64, 128] {
                push(Tuning { argmax_groups, ..base.clone() });
            }
        }
    }
    out
}

/// Geometries of one-token products: teams that read side by side, teams that sum by subgroup, rows alone.
pub fn gemv(caps: &Caps) -> Vec<Gemv> {
    let mut out = Vec::new();
    for lanes in [16, 32, 64] {
        for wg in [64, 128, 256] {
            for rows in [2, 4] {
                if wg * rows <= 1024 && wg >= lanes {
                    out.push(Gemv { wg, lanes, rows, subgroup: false });
                }
            }
        }
    }
    let size = caps.subgroup_size;
    if size >= 4 {
        for wg in [32, 64, 128, 256] {
            for rows in [2, 4, 8] {
                if wg >= size && wg % size == 0 {
                    out.push(Gemv { wg, lanes: size, rows, subgroup: true });
                }
            }
        }
    }
    for wg in [16, 32, 64] {
        for rows in [2, 4, 8] {
            out.push(Gemv { wg, lanes: 1, rows, subgroup: false });
            if size >= 8 && wg % size == 0 {
                out.push(Gemv { wg, lanes: 1, rows, subgroup: true });
            }
        }
    }
    out
}

/// Geometries of products with a chunk.
pub fn gemm(caps: &Caps) -> Vec<Gemm> {
    let mut out = vec![Gemm::Tile];
    for wg in [8, 16, 32, 64] {
        for cols in [4, 8] {
            out.push(Gemm::Reg { wg, cols, subgroup: false });
            let size = caps.subgroup_size;
            if size >= 8 && wg % size == 0 {
                out.push(Gemm::Reg { wg, cols, subgroup: true });
            }
        }
    }
    out
}
