//! Which cases there are.

use super::case_attention::Spec as AttentionSpec;
use super::case_matmul::{Kind, Spec as MatmulSpec};
use super::case_seal::Spec as SealSpec;
use super::case_select::{Logits, Spec as SelectSpec};
use super::case_simple::Spec as SimpleSpec;
use super::{Case, Depth, Work};
use crate::format::TensorType;
use crate::gpu::Caps;
use crate::kernels::attention::Shape;
use crate::kernels::matmul::Epilogue;
use crate::kernels::select::Chain;
use crate::kernels::{Act, Activations, Gemm, Gemv, IntDot, KvType, Tuning};
use crate::weights::{DEVICE_TYPES, traits};

/// The cases for an adapter, in a fixed order. [`Depth::Quick`] keeps to `tuning`, [`Depth::Full`] takes every geometry
/// that `caps` allows.
pub fn cases(caps: &Caps, tuning: &Tuning, depth: Depth) -> Vec<Case> {
    let mut list = List { cases: Vec::new(), base: tuning.clone() };
    list.formats(depth);
    list.simple(depth);
    list.select(depth);
    list.attention_quick();
    if depth == Depth::Full {
        let mut other = caps.clone();
        other.cpu = !caps.cpu;
        list.base = Tuning::for_caps(&other);
        list.formats(depth);
        list.gemv_geometries(caps);
        list.gemm_geometries(caps);
        list.int8(caps);
        for serial in [tuning.serial, !tuning.serial] {
            list.base = Tuning { serial, ..tuning.clone() };
            list.switches();
        }
        list.base = tuning.clone();
        list.attention_full(caps);
    }
    // Geometries of both kinds of adapter overlap.
    let mut seen = std::collections::HashSet::new();
    list.cases.retain(|c| seen.insert(c.name.clone()));
    list.cases
}

struct List {
    cases: Vec<Case>,
    base: Tuning,
}

impl List {
    fn push(&mut self, family: &'static str, variant: String, shape: &str, tuning: Tuning, work: Work) {
        let name = format!("{family} {shape} [{variant}]");
        // Every case has numbers of its own, and they stay when the list grows.
        let seed = seed_of(&name);
        self.cases.push(Case { name, family, variant, tuning, work, seed });
    }

    fn matmul(&mut self, s: MatmulSpec) {
        let t = self.base.clone();
        let (family, variant) = match s.kind {
            Kind::Gemv => ("gemv", gemv_name(&t)),
            Kind::Gemm => ("gemm", gemm_name(t.gemm)),
            Kind::Embed => ("embed", "one group per invocation".to_owned()),
        };
        let shape = s.describe();
        self.push(family, variant, &shape, t, Work::Matmul(s));
    }

    /// Every format through the base geometry of all three matrix kernels.
    fn formats(&mut self, depth: Depth) {
        for (i, &t) in DEVICE_TYPES.iter().enumerate() {
            let rows = 37;
            let mut gemv = MatmulSpec::new(Kind::Gemv, t, rows, odd_cols(t), 1);
            // A spread of prologues and epilogues; all combinations come in `switches`.
            gemv.norm = i % 2 == 1;
            gemv.epilogue = if i % 3 == 2 { Epilogue::Add } else { Epilogue::Store };
            self.matmul(gemv);
            // Chunks and the embedding decode weights by the same function, and the embedding compiles in a tenth of
            // the time: a quick test takes the product for one format of each kind.
            let kinds = [TensorType::F16, TensorType::Q4_1, TensorType::Q8_0, TensorType::Q6_K];
            if depth == Depth::Full || kinds.contains(&t) {
                let mut gemm = MatmulSpec::new(Kind::Gemm, t, rows, odd_cols(t), 11);
                gemm.epilogue = if i % 3 == 1 { Epilogue::Add } else { Epilogue::Store };
                self.matmul(gemm);
            }
            let mut embed = MatmulSpec::new(Kind::Embed, t, rows, odd_cols(t), 7);
            embed.split = 20;
            embed.scale = 3.5;
            self.matmul(embed);
        }
    }

    fn gemv_geometries(&mut self, caps: &Caps) {
        let mut all = Vec::new();
        for (wg, lanes, rows) in [
            (8, 1, 8),
            (16, 1, 8),
            (32, 1, 2),
            (64, 1, 4),
            (256, 1, 2),
            (8, 8, 2),
            (32, 8, 4),
            (64, 16, 8),
            (32, 32, 2),
            (64, 32, 8),
            (128, 32, 2),
            (256, 32, 4),
            (128, 64, 4),
            (128, 128, 2),
        ] {
            all.push(Gemv { wg, lanes, rows, subgroup: false });
        }
        if caps.subgroup_size > 0 {
            let lanes = caps.subgroup_size;
            for (wg, rows) in [
                (lanes.max(8), 2),
                (lanes.max(8), 8),
                (lanes * 2, 4),
                ((lanes * 8).min(256), 2),
                (128, 4),
                (128, 8),
            ] {
                all.push(Gemv { wg, lanes, rows, subgroup: true });
            }
        }
        if caps.subgroup_size >= 8 {
            let lanes = caps.subgroup_size;
            for (wg, rows) in [(lanes, 4), (lanes * 2, 8), (lanes * 4, 2)] {
                all.push(Gemv { wg, lanes: 1, rows, subgroup: true });
            }
        }
        let formats = [TensorType::Q6_K, TensorType::F16, TensorType::Q4_1, TensorType::Q8_0];
        for (i, gemv) in all.into_iter().enumerate() {
            let t = formats[i % formats.len()];
            self.base.gemv = gemv;
            self.base.serial = i % 2 == 0;
            let mut s = MatmulSpec::new(Kind::Gemv, t, 70, odd_cols(t), 1);
            s.norm = true;
            self.matmul(s.clone());
            s.norm = false;
            s.rows = 38;
            s.epilogue = Epilogue::Pair(if i % 2 == 0 { Act::Silu } else { Act::GeluTanh });
            self.matmul(s);
        }
    }

    /// Integer activations: every format with codes, both kinds of dot, each kind of team.
    fn int8(&mut self, caps: &Caps) {
        let base = self.base.clone();
        let size = caps.subgroup_size;
        let mut teams = vec![
            Gemv { wg: 32, lanes: 1, rows: 4, subgroup: false },
            Gemv { wg: 128, lanes: 32, rows: 4, subgroup: false },
        ];
        if size > 0 {
            teams.push(Gemv { wg: 128, lanes: size, rows: 2, subgroup: true });
        }
        if size >= 8 {
            teams.push(Gemv { wg: size.max(32), lanes: 1, rows: 8, subgroup: true });
        }
        let codes = DEVICE_TYPES.iter().filter(|t| traits(**t).is_some_and(|f| !f.plain));
        for (i, &t) in codes.enumerate() {
            for (j, gemv) in teams.iter().enumerate() {
                for int_dot in [IntDot::Packed, IntDot::Pairs] {
                    if int_dot == IntDot::Pairs && !traits(t).is_some_and(|f| f.small_codes) {
                        continue;
                    }
                    let activations = Activations::Int8;
                    self.base =
                        Tuning { gemv: *gemv, activations, int_dot, serial: j % 2 == 0, ..base.clone() };
                    let mut s = MatmulSpec::new(Kind::Gemv, t, 37, odd_cols(t), 1);
                    s.norm = (i + j) % 2 == 1;
                    s.epilogue = if (i + j) % 3 == 2 { Epilogue::Add } else { Epilogue::Store };
                    if i % 5 == 0 {
                        // Rows longer than one stage of x.
                        (s.rows, s.cols) = (21, 5120);
                    }
                    self.matmul(s);
                }
            }
        }
        self.base = base;
    }

    fn gemm_geometries(&mut self, caps: &Caps) {
        let shapes = [1, 3, 4, 8, 9, 64, 65, 70, 130];
        let formats = [TensorType::Q6_K, TensorType::F16, TensorType::Q4_1, TensorType::F32];
        let mut kinds = vec![Gemm::Tile];
        for (wg, cols) in [(8, 4), (16, 4), (16, 8), (64, 8)] {
            kinds.push(Gemm::Reg { wg, cols, subgroup: false });
            if caps.subgroup_size >= 8 {
                kinds.push(Gemm::Reg { wg: wg.max(caps.subgroup_size), cols, subgroup: true });
            }
        }
        for (i, gemm) in kinds.into_iter().enumerate() {
            self.base.gemm = gemm;
            for (j, tokens) in shapes.into_iter().enumerate() {
                let t = formats[(i + j / 3) % formats.len()];
                let rows = [130, 64, 67][j % 3];
                let mut s = MatmulSpec::new(Kind::Gemm, t, rows, odd_cols(t), tokens);
                s.epilogue = [Epilogue::Store, Epilogue::Add, Epilogue::Store][j / 3];
                self.matmul(s);
            }
        }
    }

    /// All prologues and epilogues, for both kinds of geometry.
    fn switches(&mut self) {
        let mut other = Tuning::for_caps(&Caps::baseline(!self.base.serial));
        other.serial = self.base.serial;
        for base in [self.base.clone(), other] {
            self.base = base;
            let epilogues =
                [Epilogue::Store, Epilogue::Add, Epilogue::Pair(Act::Silu), Epilogue::Pair(Act::GeluTanh)];
            for (i, epilogue) in epilogues.into_iter().enumerate() {
                for bits in 0..4 {
                    let t = [TensorType::Q8_0, TensorType::Q6_K, TensorType::BF16][(i + bits) % 3];
                    let mut s = MatmulSpec::new(Kind::Gemv, t, 38, odd_cols(t), 1);
                    s.epilogue = epilogue;
                    s.norm = bits & 1 == 1;
                    s.bias = bits & 2 == 2;
                    s.split = if bits == 3 { 18 } else { 0 };
                    self.matmul(s.clone());
                    if bits % 2 == 0 {
                        s.kind = Kind::Gemm;
                        s.tokens = 13;
                        s.norm = false;
                        s.split = 18;
                        self.matmul(s);
                    }
                }
            }
            // A head: cap, scale, the last token's row; and rows longer than one stage of x.
            for (cap, last, cols) in
                [(30.0, true, 256), (0.0, true, 2304), (5.0, false, 5120), (0.0, false, 6400)]
            {
                let mut s = MatmulSpec::new(Kind::Gemv, TensorType::Q6_K, 41, cols, if last { 3 } else { 1 });
                (s.cap, s.last, s.norm, s.scale) = (cap, last, cols > 256, 0.25);
                self.matmul(s.clone());
                if !last {
                    (s.kind, s.norm, s.tokens, s.cap, s.bias) = (Kind::Gemm, false, 5, 20.0, cap > 0.0);
                    self.matmul(s);
                }
            }
        }
    }

    fn simple(&mut self, depth: Depth) {
        let b = self.base.clone();
        let mut kinds = vec![(b.norm_wg, b.serial)];
        if depth == Depth::Full {
            kinds.extend([
                (8, true),
                (16, true),
                (16, false),
                (32, true),
                (64, false),
                (128, false),
                (256, false),
            ]);
        }
        for (norm_wg, serial) in kinds {
            for (cols, tokens, add) in [(576, 3, false), (4, 2, true), (2052, 2, true), (1024, 1, false)] {
                let tuning = Tuning { norm_wg, serial, ..b.clone() };
                let variant = format!("wg={norm_wg} {}", if serial { "serial" } else { "tree" });
                let shape = format!("{tokens}x{cols}{}", if add { " add" } else { "" });
                self.push(
                    "norm",
                    variant,
                    &shape,
                    tuning,
                    Work::Simple(SimpleSpec::Norm { cols, tokens, add }),
                );
            }
        }
        for (cols, tokens) in [(576, 3), (1536, 2)] {
            let work = Work::Simple(SimpleSpec::RoundInt8 { cols, tokens });
            self.push("norm", "round to int8".to_owned(), &format!("{tokens}x{cols}"), b.clone(), work);
        }
        for (count, bad) in [(5000, f32::NAN), (63, f32::INFINITY), (1, f32::NEG_INFINITY), (100, f32::MAX)] {
            let work = Work::Simple(SimpleSpec::NanProbe { count, bad });
            self.push("nan_probe", "wg=64".to_owned(), &format!("{count} with {bad}"), b.clone(), work);
        }
    }

    fn select(&mut self, depth: Depth) {
        let chain = |top_k, top_p, min_p, temperature| Chain { top_k, top_p, min_p, temperature };
        let chains = [
            (chain(40, 0.95, 0.05, 0.8), 3001),
            (chain(256, 0.9, 0.0, 1.5), 5000),
            (chain(1, 1.0, 0.0, 1.0), 999),
            (chain(256, 1.0, 0.0, 3.0), 100),
            (chain(17, 1.0, 0.2, 2.0), 257),
            (chain(64, 0.3, 0.01, 0.6), 40000),
        ];
        let rows = [
            (Logits::Plain, 5003),
            (Logits::Ties, 777),
            (Logits::Nan, 1500),
            (Logits::Infinite, 130),
            (Logits::Empty, 64),
        ];
        let mut kinds = vec![(self.base.serial, self.base.argmax_groups)];
        if depth == Depth::Full {
            kinds.extend([(!self.base.serial, 64), (self.base.serial, 256), (self.base.serial, 1)]);
        }
        for (serial, argmax_groups) in kinds {
            let tuning = Tuning { serial, argmax_groups, ..self.base.clone() };
            for (logits, vocab) in rows.into_iter().chain([(Logits::Plain, 1), (Logits::Ties, 70)]) {
                let work = Work::Select(SelectSpec::Argmax { vocab, logits });
                let variant = format!("argmax groups={argmax_groups} serial={serial}");
                self.push("select", variant, &format!("{logits:?} of {vocab}"), tuning.clone(), work);
            }
            if argmax_groups == 1 || argmax_groups == 256 {
                continue;
            }
            let plain = chains.iter().map(|c| (c.0, Logits::Plain, c.1));
            let odd = rows.iter().map(|r| (chains[0].0, r.0, r.1));
            for (chain, logits, vocab) in plain.chain(odd) {
                let work = Work::Select(SelectSpec::Sample { vocab, logits, chain });
                let shape = format!("{logits:?} of {vocab} {chain:?}");
                self.push("select", format!("sample serial={serial}"), &shape, tuning.clone(), work);
            }
        }
        for (vocab, entries, capacity, penalties) in
            [(500, 40, 64, [1.3, 0.1, 0.4]), (70, 64, 64, [1.0, 0.0, 0.0]), (50, 0, 32, [2.0, 1.0, 1.0])]
        {
            let work = Work::Select(SelectSpec::Adjust { vocab, entries, capacity, penalties });
            let shape = format!("{entries} of {vocab}");
            self.push("select", "adjust".to_owned(), &shape, self.base.clone(), work);
        }
    }

    fn attention(&mut self, s: AttentionSpec) {
        let t = self.base.clone();
        let variant = match s.chunk {
            0 => format!("groups={} lanes={}", t.attention_groups, t.decode_lanes),
            _ => format!("rows={} lanes={}", t.attention_rows, t.prefill_lanes),
        };
        let shape = s.describe();
        self.push("attention", variant, &shape, t, Work::Attention(s));
    }

    fn attention_quick(&mut self) {
        self.attention(attention(9, 3, 64, 0, 150).f16());
        self.attention(attention(9, 3, 64, 70, 0).f16());
        self.attention(attention(8, 2, 128, 0, 70).f16().qk_norm());
        self.attention(attention(8, 2, 128, 5, 200).f16().qk_norm());
    }

    /// Everything without subgroups, and with them where the shader has their size.
    fn attention_full(&mut self, caps: &Caps) {
        let base = self.base.clone();
        for lanes in crate::kernels::attention::lanes(caps) {
            (self.base.decode_lanes, self.base.prefill_lanes) = (lanes, lanes);
            self.attention_with_lanes();
        }
        self.base = base;
    }

    fn attention_with_lanes(&mut self) {
        // Group sizes and head dims, decode and prefill.
        for (i, (heads, kv_heads, dim)) in [
            (1, 1, 64),
            (4, 2, 64),
            (6, 2, 16),
            (8, 2, 80),
            (7, 1, 96),
            (16, 2, 64),
            (8, 8, 128),
            (4, 1, 256),
            (10, 1, 64),
            (22, 2, 32),
            (8, 4, 256),
            (12, 4, 4),
        ]
        .into_iter()
        .enumerate()
        {
            for (chunk, position) in [(0, 33 + 64 * (i as u32 % 3)), (9 + i as u32, 0), (3, 61)] {
                let mut s = attention(heads, kv_heads, dim, chunk, position);
                s.shape.kv = if i % 2 == 0 { KvType::F32 } else { KvType::F16 };
                s.shape.interleaved = i % 3 == 1;
                s.shape.rot = match i % 4 {
                    0 => dim,
                    1 => dim / 2 / 8 * 8,
                    2 => 0,
                    _ => dim / 8 * 8,
                };
                s.qk_norm = i % 3 == 0;
                self.attention(s);
            }
        }
        // Switches, contexts and splits.
        for kv in [KvType::F16, KvType::F32] {
            for (i, position) in [0, 1, 62, 63, 64, 127, 128, 1000, 3000].into_iter().enumerate() {
                self.base.attention_groups = [12, 1, 64, 256][i % 4];
                self.base.attention_rows = [8, 4, 2, 1][i % 4];
                for chunk in [0, if position > 900 { 20 } else { 1 + 33 * (i as u32 % 3) }] {
                    let mut s = attention(6, 2, 64, chunk, position);
                    s.shape.kv = kv;
                    s.shape.window = [0, 1, 40, 64, 100][(i + chunk as usize) % 5];
                    s.shape.cap = if i % 3 == 1 { 20.0 } else { 0.0 };
                    s.sinks = i % 2 == 1;
                    self.attention(s);
                }
            }
        }
        // Groups too large for the fused kernel, with everything.
        for (heads, position) in [(9, 300), (24, 65)] {
            let mut s = attention(heads, 1, 64, 0, position).f16().qk_norm();
            (s.shape.window, s.shape.cap, s.sinks) = (100, 30.0, true);
            self.attention(s.clone());
            s.chunk = 19;
            self.attention(s);
        }
        // Sealed pages of every number of levels.
        let levels = [3, 4, 5, 6, 8, 9, 16, 256];
        for (i, k) in levels.into_iter().enumerate() {
            let v = levels[(i * 5 + 2) % levels.len()];
            let (heads, kv_heads, dim) =
                [(9, 3, 64), (8, 1, 80), (14, 2, 96), (8, 8, 128), (4, 1, 256), (7, 1, 64)][i % 6];
            for (chunk, position) in [(0, 40 + 177 * i as u32), (7 + 3 * i as u32, 300)] {
                let mut s = attention(heads, kv_heads, dim, chunk, position);
                s.shape.kv = if i % 2 == 0 { KvType::F16 } else { KvType::F32 };
                s.shape.cap = if i == 3 { 20.0 } else { 0.0 };
                s.shape.window = [0, 0, 70, 0, 300][i % 5];
                (s.qk_norm, s.sinks, s.sealed) = (i % 3 == 0, i % 4 == 1, Some((k, v)));
                self.attention(s.clone());
                if chunk > 0 {
                    let shape = format!("dim={dim} heads={kv_heads} kv={} levels {k}/{v}", s.shape.kv.name());
                    let work =
                        Work::Seal(SealSpec { shape: s.shape, levels: (k, v), pages: 1 + i as u32 % 3 });
                    self.push(
                        "seal",
                        format!("lanes={}", self.base.decode_lanes),
                        &shape,
                        self.base.clone(),
                        work,
                    );
                }
            }
        }
        for (merge, sinks, dim) in [(1, false, 64), (5, true, 80), (64, false, 256), (7, true, 16)] {
            let mut s = attention(3, 1, dim, 0, 0);
            (s.merge, s.sinks) = (merge, sinks);
            self.attention(s);
        }
    }
}

/// Attention without switches, over a cache in f32.
pub(super) fn attention(
    heads: u32,
    kv_heads: u32,
    head_dim: u32,
    chunk: u32,
    position: u32,
) -> AttentionSpec {
    let shape = Shape {
        heads,
        kv_heads,
        head_dim,
        rot: head_dim / 8 * 8,
        interleaved: false,
        window: 0,
        scale: 1.0 / (head_dim as f32).sqrt(),
        cap: 0.0,
        eps: 1e-6,
        kv: KvType::F32,
    };
    AttentionSpec { shape, chunk, position, qk_norm: false, sinks: false, merge: 0, sealed: None }
}

impl AttentionSpec {
    fn f16(mut self) -> Self {
        self.shape.kv = KvType::F16;
        self
    }

    fn qk_norm(mut self) -> Self {
        self.qk_norm = true;
        self
    }
}

/// FNV-1a of a name.
pub(super) fn seed_of(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// A width with an odd number of blocks; for float formats one that ends inside a group.
fn odd_cols(t: TensorType) -> u32 {
    if traits(t).is_some_and(|f| f.plain) {
        412
    } else if t.block_len() == 256 {
        768
    } else {
        416
    }
}

/// A product's geometry in words.
pub(super) fn gemv_name(t: &Tuning) -> String {
    let g = t.gemv;
    let sum = if g.subgroup && g.lanes == 1 {
        "shared"
    } else if g.subgroup {
        "subgroup"
    } else if g.lanes == 1 {
        "alone"
    } else {
        "tree"
    };
    let int = match (t.activations, t.int_dot) {
        (Activations::F32, _) => "",
        (Activations::Int8, IntDot::Packed) => " int8",
        (Activations::Int8, IntDot::Pairs) => " int8-pairs",
    };
    format!("wg={} lanes={} rows={} {sum} serial={}{int}", g.wg, g.lanes, g.rows, t.serial)
}

/// A chunk's.
pub(super) fn gemm_name(g: Gemm) -> String {
    match g {
        Gemm::Reg { wg, cols, subgroup } => {
            format!("reg wg={wg} cols={cols}{}", if subgroup { " subgroup" } else { "" })
        }
        Gemm::Tile => "tile".to_owned(),
    }
}
