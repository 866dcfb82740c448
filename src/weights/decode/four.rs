//! Four-bit codes that index a table: IQ4_NL, IQ4_XS, MXFP4, NVFP4.

use super::f16_at;
use super::legacy::nibble;

/// The sixteen levels of the IQ4 formats.
pub(in crate::weights) const T16: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Twice the sixteen values of a four-bit float (E2M1); minus zero reads as zero.
const K2: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

pub(super) fn iq4_nl(b: &[u8; 18], y: &mut [f32; 32]) {
    let d = f16_at(b, 0);
    for (e, y) in y.iter_mut().enumerate() {
        *y = d * f32::from(T16[usize::from(nibble(&b[2..], e))]);
    }
}

pub(super) fn iq4_xs(b: &[u8; 136], y: &mut [f32; 256]) {
    let d = f16_at(b, 0);
    let sh = u16::from_le_bytes([b[2], b[3]]);
    for (e, y) in y.iter_mut().enumerate() {
        let i = e / 32;
        let low = (b[4 + i / 2] >> (4 * (i & 1))) & 15;
        let high = ((sh >> (2 * i)) & 3) as u8;
        let dl = d * f32::from((low | high << 4) as i8 - 32);
        *y = dl * f32::from(T16[usize::from(nibble(&b[8 + 16 * i..], e % 32))]);
    }
}

pub(super) fn mxfp4(b: &[u8; 17], y: &mut [f32; 32]) {
    // 2^(e - 128): half the shared power of two, since the table holds doubled values.
    let e = u32::from(b[0]);
    let d = f32::from_bits(if e < 2 { 0x0020_0000 << e } else { (e - 1) << 23 });
    for (e, y) in y.iter_mut().enumerate() {
        *y = d * f32::from(K2[usize::from(nibble(&b[1..], e))]);
    }
}

/// An unsigned E4M3 scale, halved because the table holds doubled values.
fn half_ue4m3(x: u8) -> f32 {
    if x == 0 || x == 0x7f {
        return 0.0;
    }
    let (exponent, mantissa) = (i32::from(x >> 3 & 15), f32::from(x & 7));
    let value = if exponent == 0 {
        mantissa * 2f32.powi(-9)
    } else {
        (1.0 + mantissa / 8.0) * 2f32.powi(exponent - 7)
    };
    0.5 * value
}

pub(super) fn nvfp4(b: &[u8; 36], y: &mut [f32; 64]) {
    for (e, y) in y.iter_mut().enumerate() {
        let (i, l) = (e / 16, e % 16);
        let byte = b[4 + 8 * i + l % 8];
        let n = if l < 8 { byte & 15 } else { byte >> 4 };
        *y = half_ue4m3(b[i]) * f32::from(K2[usize::from(n)]);
    }
}
