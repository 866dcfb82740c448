//! Geometry: how the work of a kernel is cut into workgroups on one kind of adapter.

use crate::gpu::Caps;
use serde::{Deserialize, Serialize};

/// Geometry of `gemv.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gemv {
    /// Invocations in a workgroup.
    pub wg: u32,
    /// Invocations that share a row.
    pub lanes: u32,
    /// Rows a team of lanes serves at a time: 2, 4 or 8.
    pub rows: u32,
    /// Sum over lanes with subgroup operations; `lanes` must be the subgroup size. With `lanes` 1 the invocations of a
    /// subgroup share their loads of x instead, which needs subgroups of 8 or more.
    pub subgroup: bool,
}

/// Which matrix product serves prefill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gemm {
    /// `gemm_reg.wgsl`: `wg` invocations of 4 rows x `cols` tokens each, no workgroup memory.
    Reg {
        /// Invocations in a workgroup.
        wg: u32,
        /// Tokens per invocation: 4 or 8.
        cols: u32,
        /// The invocations of a subgroup share their loads of x; needs subgroups of 8 or more.
        subgroup: bool,
    },
    /// `gemm_tile.wgsl`: tiles of 64 rows x 64 tokens in workgroup memory.
    Tile,
}

/// How one-token products with quantised weights take their inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Activations {
    /// As they are.
    #[default]
    F32,
    /// Rounded to 8 bits, with a scale per group of 32: integer products, a little less exact.
    Int8,
}

impl Activations {
    /// The spelling of `--activations`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Int8 => "int8",
        }
    }
}

/// How integer products are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IntDot {
    /// `dot4I8Packed`: an instruction on most GPUs.
    #[default]
    Packed,
    /// Two products in one 32-bit multiplication, where codes have at most four bits and no sign: for adapters without
    /// such an instruction. Other formats take `dot4I8Packed`.
    Pairs,
}

/// All geometry of one adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuning {
    /// For products with one token.
    pub gemv: Gemv,
    /// For products with a chunk of tokens.
    pub gemm: Gemm,
    /// Reduce with one barrier and a serial sum (software adapters).
    pub serial: bool,
    /// Invocations of the norm kernel.
    pub norm_wg: u32,
    /// Workgroups that a decode attention may start in all, over its key/value heads.
    pub attention_groups: u32,
    /// Query rows per workgroup in prefill attention.
    pub attention_rows: u32,
    /// Decode attention by one subgroup per workgroup, of this many lanes: the adapter's subgroup size, or 0 for the
    /// kernel that needs no subgroups. Heads that do not divide into lanes take that one in any case.
    #[serde(default)]
    pub decode_lanes: u32,
    /// The same for prefill attention.
    #[serde(default)]
    pub prefill_lanes: u32,
    /// Tokens in a prefill chunk.
    pub chunk: u32,
    /// Workgroups of the argmax over the vocabulary.
    pub argmax_groups: u32,
    /// Inputs of one-token products; a choice of the person, not of the adapter.
    #[serde(default)]
    pub activations: Activations,
    /// Integer products, where `activations` wants them.
    #[serde(default)]
    pub int_dot: IntDot,
}

impl Tuning {
    /// Whether every number is one that kernels can be built and launched with: a file of remembered geometries may have
    /// been edited, or be of a version that knew others.
    pub fn usable(&self, caps: &Caps) -> bool {
        let size = |n: u32| n.is_power_of_two() && (8..=256).contains(&n);
        let lanes = |n: u32| super::attention::lanes(caps).contains(&n);
        let gemm = match self.gemm {
            Gemm::Reg { wg, cols, .. } => size(wg) && matches!(cols, 4 | 8),
            Gemm::Tile => true,
        };
        let g = self.gemv;
        let team = g.lanes == 1 || (g.lanes >= 8 && g.lanes.is_power_of_two() && g.lanes <= g.wg);
        size(g.wg)
            && team
            && matches!(g.rows, 1 | 2 | 4 | 8)
            && gemm
            && size(self.norm_wg)
            && (1..=4096).contains(&self.attention_groups)
            && matches!(self.attention_rows, 1 | 2 | 4 | 8)
            && lanes(self.decode_lanes)
            && lanes(self.prefill_lanes)
            && (1..=4096).contains(&self.chunk)
            && (1..=1024).contains(&self.argmax_groups)
    }

    /// The default of an adapter. GPUs get lanes that read side by side; software adapters get independent
    /// invocations with many rows each, since a CPU pays for barriers and for shared loads.
    pub fn for_caps(caps: &Caps) -> Self {
        if caps.cpu {
            let subgroup = caps.subgroups && (8..=64).contains(&caps.subgroup_size);
            let lanes =
                if caps.subgroups && matches!(caps.subgroup_size, 8 | 16) { caps.subgroup_size } else { 0 };
            Self {
                gemv: Gemv { wg: 32, lanes: 1, rows: 4, subgroup },
                gemm: Gemm::Reg { wg: if subgroup { caps.subgroup_size } else { 16 }, cols: 8, subgroup },
                serial: true,
                norm_wg: 16,
                attention_groups: 6,
                attention_rows: 8,
                decode_lanes: lanes,
                prefill_lanes: lanes,
                chunk: 64,
                argmax_groups: 8,
                activations: Activations::F32,
                int_dot: IntDot::Pairs,
            }
        } else {
            let subgroup = caps.subgroups && (16..=64).contains(&caps.subgroup_size);
            let lanes = if subgroup { caps.subgroup_size } else { 32 };
            Self {
                gemv: Gemv { wg: 128, lanes, rows: 4, subgroup },
                gemm: Gemm::Tile,
                serial: false,
                norm_wg: 256,
                attention_groups: 256,
                attention_rows: 8,
                decode_lanes: 0,
                prefill_lanes: 0,
                chunk: 256,
                argmax_groups: 64,
                activations: Activations::F32,
                int_dot: IntDot::Packed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_geometries_are_not_usable() {
        for cpu in [false, true] {
            let caps = Caps {
                f16: false,
                subgroups: true,
                subgroup_size: if cpu { 8 } else { 32 },
                timestamps: false,
                pipeline_cache: false,
                cpu,
                max_binding: 128 << 20,
                max_buffer: 256 << 20,
                max_storage_buffers: 8,
                max_workgroup_bytes: 16 << 10,
                max_invocations: 256,
                max_groups: 65535,
                align: 256,
            };
            let good = Tuning::for_caps(&caps);
            assert!(good.usable(&caps));
            let bad: [fn(&mut Tuning); 12] = [
                |t| t.gemv.wg = 0,
                |t| t.gemv.wg = 7,
                |t| t.gemv.lanes = 0,
                |t| t.gemv.rows = 0,
                |t| t.gemm = Gemm::Reg { wg: 0, cols: 8, subgroup: false },
                |t| t.gemm = Gemm::Reg { wg: 16, cols: 0, subgroup: false },
                |t| t.norm_wg = 99_999,
                |t| t.attention_groups = 0,
                |t| t.attention_rows = 0,
                |t| t.decode_lanes = 13,
                |t| t.chunk = u32::MAX,
                |t| t.argmax_groups = 0,
            ];
            for (i, spoil) in bad.into_iter().enumerate() {
                let mut t = good.clone();
                spoil(&mut t);
                assert!(!t.usable(&caps), "{i}: {t:?}");
            }
        }
    }
}
