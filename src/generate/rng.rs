//! Counter-based random numbers: Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy
//! as 1, 2, 3", SC 2011). `shaders/lib/rng.wgsl` is the device's version of this file and agrees bit for bit.
//!
//! A counter generator has no state: the number at (seed, position, use) can be computed at any time, in any
//! order, on either side.

/// Use id of the draw that picks the token.
pub const USE_DRAW: u32 = 0;
/// Use id of the coin that decides whether XTC acts on this token.
pub const USE_XTC: u32 = 1;

/// Parity constant of the Threefry key schedule for 32-bit words.
const PARITY: u32 = 0x1BD1_1BDA;
/// Rotation distances of the eight rounds after which the pattern repeats.
const ROTATIONS: [u32; 8] = [13, 15, 26, 6, 17, 29, 16, 24];

/// The Threefry-2x32-20 block function: `key` and `ctr` to two words of 32 random bits.
pub fn threefry2x32(key: [u32; 2], ctr: [u32; 2]) -> [u32; 2] {
    let schedule = [key[0], key[1], PARITY ^ key[0] ^ key[1]];
    let mut x = [ctr[0].wrapping_add(schedule[0]), ctr[1].wrapping_add(schedule[1])];
    for group in 0..5usize {
        let first = (group % 2) * 4;
        for &distance in &ROTATIONS[first..first + 4] {
            x[0] = x[0].wrapping_add(x[1]);
            x[1] = x[1].rotate_left(distance) ^ x[0];
        }
        // A key word is added after every fourth round, with the number of the addition.
        x[0] = x[0].wrapping_add(schedule[(group + 1) % 3]);
        x[1] = x[1].wrapping_add(schedule[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    x
}

/// A uniform number in `[0, 1)` with 24 random bits, a pure function of its arguments.
///
/// `seed` is the key (low word first), `position` the absolute position of the token being chosen, `use_id`
/// tells apart the several numbers that one position may need.
pub fn uniform(seed: u64, position: u32, use_id: u32) -> f32 {
    let x = threefry2x32([seed as u32, (seed >> 32) as u32], [position, use_id]);
    (x[0] >> 8) as f32 * (1.0 / 16_777_216.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The three published known-answer vectors of Threefry-2x32-20.
    #[test]
    fn known_answers() {
        assert_eq!(threefry2x32([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry2x32([u32::MAX; 2], [u32::MAX; 2]), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(
            threefry2x32([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3]),
            [0xc492_3a9c, 0x483d_f7a0]
        );
    }

    #[test]
    fn uniform_is_in_range_and_even() {
        let n = 100_000;
        let mut bins = [0u32; 64];
        for position in 0..n {
            let u = uniform(7, position, USE_DRAW);
            assert!((0.0..1.0).contains(&u));
            bins[(u * 64.0) as usize] += 1;
        }
        let expected = n as f64 / 64.0;
        let chi2: f64 = bins.iter().map(|&b| (b as f64 - expected).powi(2) / expected).sum();
        assert!(chi2 < 103.4, "chi-square {chi2} with 63 degrees of freedom (p = 0.001 at 103.4)");
    }

    #[test]
    fn every_argument_matters() {
        let u = uniform(1, 2, 3);
        for other in [uniform(2, 2, 3), uniform(1 | 1 << 32, 2, 3), uniform(1, 3, 3), uniform(1, 2, 4)] {
            assert_ne!(u, other);
        }
    }

    /// The shader holds the constants of its algorithm by hand; this keeps the two copies equal.
    #[test]
    fn shader_has_the_same_constants() {
        let wgsl = include_str!("../../shaders/lib/rng.wgsl");
        let word = |four: &[u32]| four.iter().rev().fold(0u32, |w, &r| w << 8 | r);
        for (name, value) in [
            ("THREEFRY_PARITY", PARITY),
            ("THREEFRY_ROTATIONS_EVEN", word(&ROTATIONS[..4])),
            ("THREEFRY_ROTATIONS_ODD", word(&ROTATIONS[4..])),
        ] {
            let line = format!("const {name}: u32 = 0x{value:08x}u;");
            assert!(wgsl.contains(&line), "rng.wgsl lacks `{line}`");
        }
    }
}
