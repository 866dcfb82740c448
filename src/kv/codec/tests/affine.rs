//! Grids: every value within half a step, metadata where it belongs.

use super::{DIMS, PAGES, relative_error, rows};
use crate::kv::codec::{Codec, GROUP, Side, pad4};

fn half(word: u32) -> f64 {
    half::f16::from_bits((word & 0xffff) as u16).to_f64()
}

/// Rounding to f16 of something of size `x`.
fn rounding(x: f64) -> f64 {
    x.abs() / 2048.0 + 1e-7
}

#[test]
fn affine_values_are_within_half_a_step() {
    for (seed, levels) in [3u16, 4, 5, 6, 8, 9, 16, 256].into_iter().enumerate() {
        let codec = Codec::Aff { levels };
        for (p, d) in PAGES.iter().flat_map(|p| DIMS.map(|d| (*p, d))) {
            for valid in [p, p - 5, 1] {
                let x = rows(seed as u64 + 40, p, d);
                for side in [Side::K, Side::V] {
                    let words = codec.encode(side, &x, valid, p, d);
                    let back = codec.decode(side, &words, p, d);
                    for (i, (x, y)) in x.iter().zip(&back).enumerate().take(valid * d) {
                        let (t, c) = (i / d, i % d);
                        let word = words[match side {
                            Side::K => c,
                            Side::V => t * d.div_ceil(GROUP) + c / GROUP,
                        }];
                        let (lo, step) = (half(word), half(word >> 16));
                        // The ends of the grid move by as much as its lowest point and its steps are rounded.
                        let slack = rounding(lo) + f64::from(levels) * rounding(step);
                        assert!((x - y).abs() <= 0.5 * step + slack, "{codec} {side:?} {t} {c}: {x} {y}");
                    }
                }
            }
        }
    }
}

/// From four levels on both extremes of a group come back, but for the rounding of the scale.
#[test]
fn extremes_come_back() {
    let (p, d) = (32, 64);
    let x = rows(50, p, d);
    for levels in [4, 5, 6, 8, 9, 16, 256] {
        let codec = Codec::Aff { levels };
        let back = codec.decode(Side::K, &codec.encode(Side::K, &x, p, p, d), p, d);
        for c in 0..d {
            let column = |x: &[f64]| -> Vec<f64> { x.iter().skip(c).step_by(d).copied().collect() };
            let (before, after) = (column(&x), column(&back));
            for pick in [f64::min as fn(f64, f64) -> f64, f64::max] {
                let (a, b) = (before.iter().copied().reduce(pick), after.iter().copied().reduce(pick));
                let range = before.iter().map(|x| x.abs()).fold(0.0, f64::max);
                assert!((a.unwrap() - b.unwrap()).abs() <= 3.0 * rounding(range));
            }
        }
    }
}

#[test]
fn codes_by_hand() {
    let (p, d) = (16, 32);
    let mut x = vec![0.0; p * d];
    // One channel from -1 to 3 in five levels: a step of one. Halves go to the lower code.
    for (t, v) in [-1.0, 3.0, -0.5, -0.4, 0.5, 2.5, 2.6].into_iter().enumerate() {
        x[t * d] = v;
    }
    let codec = Codec::Aff { levels: 5 };
    let words = codec.encode(Side::K, &x, 7, p, d);
    assert_eq!((half(words[0]), half(words[0] >> 16)), (-1.0, 1.0));
    assert_eq!(words[1], 0, "a channel of zeros");
    let codes = codec.packing().unwrap().unpack(&words[pad4(d)..], p, d);
    let first: Vec<u8> = codes.iter().step_by(d).copied().collect();
    assert_eq!(first[..8], [0, 4, 0, 1, 1, 3, 4, 0]);
    assert!(codes.iter().enumerate().all(|(i, c)| i % d == 0 || *c == 0));

    // Three cells from -1 to 2, of length one.
    for (t, v) in [-1.0, 2.0, -0.1, 0.0, 0.9, 1.0, 1.5].into_iter().enumerate() {
        x[t * d] = v;
    }
    let codec = Codec::Aff { levels: 3 };
    let words = codec.encode(Side::K, &x, 7, p, d);
    assert_eq!((half(words[0]), half(words[0] >> 16)), (-1.0, 1.0));
    let back: Vec<f64> = codec.decode(Side::K, &words, p, d).into_iter().step_by(d).take(7).collect();
    assert_eq!(back, [-0.5, 1.5, -0.5, 0.5, 0.5, 1.5, 1.5]);
}

/// The last group of a row may be short and takes nothing from the next row.
#[test]
fn a_short_group_is_its_own() {
    let (p, d) = (16, 80);
    let mut x = vec![0.0; p * d];
    x[2 * d - 1] = 15.0;
    x[2 * d] = -30.0;
    let words = Codec::Aff { levels: 16 }.encode(Side::V, &x, p, p, d);
    let set: Vec<usize> = (0..3 * p).filter(|i| words[*i] != 0).collect();
    assert_eq!(set, [3 + 2, 6]);
    assert_eq!((half(words[5]), half(words[5] >> 16)), (0.0, 1.0));
    assert_eq!((half(words[6]), half(words[6] >> 16)), (-30.0, 2.0));
}

#[test]
fn sizes_beyond_f16_stay_finite() {
    let x: Vec<f64> = rows(60, 16, 64).iter().map(|x| x * 1e6).collect();
    for codec in
        [Codec::Aff { levels: 4 }, Codec::Token { levels: 256 }, Codec::Rot { levels: 4 }, Codec::F16]
    {
        for side in [Side::K, Side::V] {
            let back = codec.decode(side, &codec.encode(side, &x, 16, 16, 64), 16, 64);
            assert!(back.iter().all(|x| x.is_finite()));
        }
    }
}

#[test]
fn token_values_are_within_half_a_step() {
    for (levels, most) in [(256u16, 127.0), (16, 7.0)] {
        let codec = Codec::Token { levels };
        for (p, d) in PAGES.iter().flat_map(|p| DIMS.map(|d| (*p, d))) {
            let x = rows(70, p, d);
            for side in [Side::K, Side::V] {
                let words = codec.encode(side, &x, p - 3, p, d);
                let back = codec.decode(side, &words, p, d);
                for (i, (x, y)) in x.iter().zip(&back).enumerate().take((p - 3) * d) {
                    let at = i / d * d.div_ceil(GROUP) + i % d / GROUP;
                    let scale = half(words[at / 2] >> (16 * (at % 2)));
                    assert!((x - y).abs() <= 0.5 * scale + most * rounding(scale), "{codec} {i}: {x} {y}");
                }
            }
        }
    }
}

#[test]
fn token_codes_by_hand() {
    let (p, d) = (16, 32);
    let mut x = vec![0.0; p * d];
    x[..6].copy_from_slice(&[-127.0, 127.0, 1.0, 0.5, -0.5, 0.6]);
    let codec = Codec::Token { levels: 256 };
    let words = codec.encode(Side::V, &x, p, p, d);
    assert_eq!(words[0], 0x3c00);
    let codes = codec.packing().unwrap().unpack(&words[pad4(p / 2)..], p, d);
    assert_eq!(codes[..8], [1, 255, 129, 128, 127, 129, 128, 128]);
    assert!(codes[d..].iter().all(|c| *c == 0));
}

/// `q8_0` is nearly exact, `q4_0` as good as 15 levels of a normal distribution between its extremes.
#[test]
fn token_errors() {
    let x = super::normal(80, 64 * 128);
    for (levels, least, most) in [(256, 1e-5, 6e-5), (16, 0.005, 0.015)] {
        let codec = Codec::Token { levels };
        let back = codec.decode(Side::V, &codec.encode(Side::V, &x, 64, 64, 128), 64, 128);
        let e = relative_error(&x, &back);
        assert!((least..most).contains(&e), "{codec}: {e}");
    }
}

/// Relative errors on normal groups of 64, as section 3.2 of the design has them: from one extreme to the other for 4,
/// 5 and 16 levels.
#[test]
fn errors_on_normal_groups() {
    let (p, d) = (64, 256);
    for (levels, expected) in [(4, 0.202), (5, 0.113), (16, 0.0080)] {
        let codec = Codec::Aff { levels };
        let mut e = 0.0;
        for seed in 0..4 {
            let x = super::normal(90 + seed, p * d);
            e += 0.25 * relative_error(&x, &codec.decode(Side::K, &codec.encode(Side::K, &x, p, p, d), p, d));
        }
        assert!((e / expected - 1.0).abs() < 0.04, "{codec}: {e}, expected {expected}");
    }
}
