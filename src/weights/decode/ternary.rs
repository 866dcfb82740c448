//! Ternary blocks of 256: TQ1_0 (five digits a byte), TQ2_0 (two bits each).

use super::f16_at;

/// Digit `j` of a byte that holds five base-3 digits as a fraction of 256.
fn digit(v: u8, j: usize) -> i8 {
    const POWERS: [u8; 5] = [1, 3, 9, 27, 81];
    let shifted = v.wrapping_mul(POWERS[j]);
    ((u16::from(shifted) * 3) >> 8) as i8 - 1
}

pub(super) fn tq1_0(b: &[u8; 54], y: &mut [f32; 256]) {
    let d = f16_at(b, 52);
    for (e, y) in y.iter_mut().enumerate() {
        // Three runs of bytes: 32 and 16 with five digits, then 4 with four digits.
        let (byte, j) = match e {
            0..160 => (e % 32, e / 32),
            160..240 => (32 + (e - 160) % 16, (e - 160) / 16),
            _ => (48 + (e - 240) % 4, (e - 240) / 4),
        };
        *y = d * f32::from(digit(b[byte], j));
    }
}

pub(super) fn tq2_0(b: &[u8; 66], y: &mut [f32; 256]) {
    let d = f16_at(b, 64);
    for (e, y) in y.iter_mut().enumerate() {
        let (h, g, l) = (e / 128, e % 128 / 32, e % 32);
        *y = d * f32::from(((b[32 * h + l] >> (2 * g)) & 3) as i8 - 1);
    }
}
