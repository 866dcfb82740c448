//! Random valid blocks with sane scales, for tests of kernels.

use crate::format::TensorType;

/// A small counter generator (SplitMix64): the same numbers everywhere. Not for sampling.
pub(crate) struct SplitMix(pub u64);

impl SplitMix {
    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// An f16 scale of size `top/4..top` and random sign; one in sixteen is zero, minus zero or subnormal.
    fn scale(&mut self, top: f32) -> [u8; 2] {
        let pick = self.next();
        let bits = match pick % 48 {
            0 => 0,
            1 => 0x8000,
            2 => (pick >> 32) as u16 & 0x83ff,
            _ => {
                let size = top * (0.25 + 0.75 * self.unit());
                half::f16::from_f32(if pick & 1 << 40 == 0 { size } else { -size }).to_bits()
            }
        };
        bits.to_le_bytes()
    }
}

/// The f16 fields of a block: byte offset, and the size at which no weight exceeds about one.
fn scales(t: TensorType) -> &'static [(usize, f32)] {
    use TensorType::*;
    match t {
        Q4_0 => &[(0, 1.0 / 8.0)],
        Q4_1 => &[(0, 0.5 / 15.0), (2, 0.5)],
        Q5_0 => &[(0, 1.0 / 16.0)],
        Q5_1 => &[(0, 0.5 / 31.0), (2, 0.5)],
        Q8_0 | IQ4_NL => &[(0, 1.0 / 127.0)],
        Q2_K => &[(80, 0.5 / (15.0 * 3.0)), (82, 0.5 / 15.0)],
        Q3_K => &[(108, 1.0 / (32.0 * 4.0))],
        Q4_K => &[(0, 0.5 / (63.0 * 15.0)), (2, 0.5 / 63.0)],
        Q5_K => &[(0, 0.5 / (63.0 * 31.0)), (2, 0.5 / 63.0)],
        Q6_K => &[(208, 1.0 / (128.0 * 32.0))],
        IQ4_XS => &[(0, 1.0 / (32.0 * 127.0))],
        TQ1_0 => &[(52, 1.0)],
        TQ2_0 => &[(64, 0.5)],
        _ => &[],
    }
}

/// Random valid rows of type `t` as a file stores them, weights about one in size at most: `rows` rows of `cols`
/// weights (whole blocks; a part of a block is left out). The same seed gives the same bytes. Types without a decoder
/// give random bytes.
#[doc(hidden)]
pub fn random_blocks(t: TensorType, rows: usize, cols: usize, seed: u64) -> Vec<u8> {
    let mut rng = SplitMix(seed);
    let blocks = rows * (cols / t.block_len() as usize);
    let bytes = t.block_bytes() as usize;
    let mut out = Vec::with_capacity(blocks * bytes);
    for _ in 0..blocks {
        let start = out.len();
        match t {
            TensorType::F32 => out.extend((2.0 * rng.unit() - 1.0).to_le_bytes()),
            TensorType::F16 => out.extend(half::f16::from_f32(2.0 * rng.unit() - 1.0).to_le_bytes()),
            TensorType::BF16 => out.extend(half::bf16::from_f32(2.0 * rng.unit() - 1.0).to_le_bytes()),
            _ => out.extend((0..bytes).map(|_| (rng.next() >> 32) as u8)),
        }
        let block = &mut out[start..];
        for &(at, top) in scales(t) {
            block[at..at + 2].copy_from_slice(&rng.scale(top));
        }
        match t {
            // Exponents 2^-14 .. 2^-4, at most twelve halves of them.
            TensorType::MXFP4 => block[0] = 114 + block[0] % 11,
            TensorType::NVFP4 => block[..4].iter_mut().for_each(|d| *d = 8 + *d % 24),
            _ => {}
        }
    }
    out
}
