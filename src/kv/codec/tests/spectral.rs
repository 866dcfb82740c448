//! Eigenvectors, the allocation of bits, and the error that they promise.

use super::{normal, relative_error, square};
use crate::kv::codec::jacobi::{Eigen, eigen};
use crate::kv::codec::spectral::{BLOCK, DISTORTION, Spectral, allocate};
use crate::kv::codec::{Side, pad4};

/// A random symmetric matrix.
fn symmetric(seed: u64, d: usize) -> Vec<f64> {
    let x = normal(seed, d * d);
    (0..d * d).map(|i| x[i] + x[i % d * d + i / d]).collect()
}

/// A falling spectrum on a random basis.
fn spectrum(seed: u64, d: usize) -> Eigen {
    let values = (0..d).map(|i| 4.0 * (-(i as f64) * 8.0 / d as f64).exp()).collect();
    Eigen { values, vectors: eigen(&symmetric(seed, d), d).vectors }
}

/// Rows with that covariance, around `mean`.
fn draw(seed: u64, e: &Eigen, mean: &[f64], n: usize) -> Vec<f64> {
    let d = e.values.len();
    normal(seed, n * d)
        .chunks(d)
        .flat_map(|z| {
            let mut row = mean.to_vec();
            for ((z, value), vector) in z.iter().zip(&e.values).zip(e.vectors.chunks(d)) {
                row.iter_mut().zip(vector).for_each(|(x, v)| *x += z * value.sqrt() * v);
            }
            row
        })
        .collect()
}

#[test]
fn eigenvectors_diagonalise() {
    for d in [1, 2, 7, 64] {
        let a = symmetric(1, d);
        let e = eigen(&a, d);
        assert!(e.values.windows(2).all(|w| w[0] >= w[1]));
        for (i, v) in e.vectors.chunks(d).enumerate() {
            for (j, w) in e.vectors.chunks(d).enumerate() {
                let dot: f64 = v.iter().zip(w).map(|(a, b)| a * b).sum();
                assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
            for (row, x) in a.chunks(d).zip(v) {
                let y: f64 = row.iter().zip(v).map(|(a, b)| a * b).sum();
                assert!((y - e.values[i] * x).abs() < 1e-11 * d as f64);
            }
            assert!(v.iter().copied().reduce(|m, x| if x.abs() > m.abs() { x } else { m }).unwrap() > 0.0);
        }
    }
    let e = eigen(&[1.0, 0.0, 0.0, 3.0], 2);
    assert_eq!((e.values, e.vectors), (vec![3.0, 1.0], vec![0.0, 1.0, 1.0, 0.0]));
    assert_eq!(eigen(&[], 0).values.len(), 0);
}

#[test]
fn bits_go_where_they_save_most() {
    let e = spectrum(2, 64);
    for mean_bits in [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 8.0, 99.0] {
        let bits = allocate(&e.values, mean_bits);
        assert!(bits.windows(2).all(|w| w[0] >= w[1]));
        let total: u32 = bits.iter().map(|b| u32::from(*b)).sum();
        assert_eq!(f64::from(total), mean_bits.min(8.0) * 64.0);
    }
    // Against every allocation of four blocks.
    let values: Vec<f64> = e.values.iter().step_by(2).copied().collect();
    let error = |bits: &[u8]| -> f64 {
        values.chunks(BLOCK).zip(bits).map(|(v, b)| v.iter().sum::<f64>() * DISTORTION[usize::from(*b)]).sum()
    };
    for total in 0..=16u32 {
        let greedy: Vec<u8> =
            allocate(&values, f64::from(total) / 4.0).iter().step_by(BLOCK).copied().collect();
        let mut best = f64::INFINITY;
        for code in 0..9u32.pow(4) {
            let bits = [code % 9, code / 9 % 9, code / 81 % 9, code / 729].map(|b| b as u8);
            if bits.iter().map(|b| u32::from(*b)).sum::<u32>() == total {
                best = best.min(error(&bits));
            }
        }
        assert!(error(&greedy) <= best * (1.0 + 1e-12), "{total}: {greedy:?}");
    }
    // Reverse water-filling: where bits are many, each halves the deviation that is left.
    let bits = allocate(&e.values, 3.0);
    let used: Vec<f64> = (bits.iter().zip(&e.values))
        .filter(|(b, _)| **b > 0)
        .map(|(b, v)| 0.5 * v.log2() - f64::from(*b))
        .collect();
    let spread =
        used.iter().copied().fold(f64::MIN, f64::max) - used.iter().copied().fold(f64::MAX, f64::min);
    assert!(spread < 2.0, "{spread}");
}

/// Rows of table 3.10 of the design.
#[test]
fn stored_bits_are_those_of_the_table() {
    for (d, gain) in [(64, 0.25), (128, 0.125)] {
        for mean_bits in [1.0, 1.5, 2.0] {
            for (side, extra) in [(Side::K, 0.0), (Side::V, gain)] {
                let s = Spectral::new(side, &[], spectrum(3, d), mean_bits).unwrap();
                let bits = s.layout(32).words() as f64 * 32.0 / (32 * d) as f64;
                assert_eq!(bits, mean_bits + extra, "{side:?} {d} {mean_bits}");
            }
        }
    }
}

/// "Distortion identity": the error is the sum of eigenvalues times the errors of their codebooks.
#[test]
fn the_error_is_what_the_spectrum_promises() {
    let d = 64;
    let (e, mean) = (spectrum(4, d), normal(5, d));
    let x = draw(6, &e, &mean, 2048);
    for mean_bits in [1.0, 1.5, 2.0, 3.0, 5.0] {
        let s = Spectral::new(Side::K, &mean, e.clone(), mean_bits).unwrap();
        let back: Vec<f64> =
            x.chunks(32 * d).flat_map(|page| s.decode(&s.encode(page, 32, 32), 32)).collect();
        let measured = square(x.iter().zip(&back).map(|(a, b)| a - b)) / 2048.0;
        let ratio = measured / s.expected_error();
        assert!((ratio - 1.0).abs() < 0.05, "{mean_bits} bits: {ratio}");
    }
}

#[test]
fn calibration_finds_the_spectrum() {
    let d = 32;
    let (e, mean) = (spectrum(7, d), normal(8, d));
    let x = draw(9, &e, &mean, 8192);
    let (told, found) =
        (Spectral::new(Side::K, &mean, e, 2.0).unwrap(), Spectral::calibrate(Side::K, &x, d, 2.0).unwrap());
    assert_eq!(told.bits(), found.bits());
    assert!((found.expected_error() / told.expected_error() - 1.0).abs() < 0.05);
    let test = draw(10, &spectrum(7, d), &mean, 512);
    let error = |s: &Spectral| {
        let back: Vec<f64> =
            test.chunks(32 * d).flat_map(|page| s.decode(&s.encode(page, 32, 32), 32)).collect();
        square(test.iter().zip(&back).map(|(a, b)| a - b)) / 512.0
    };
    assert!((error(&found) / error(&told) - 1.0).abs() < 0.05);
}

/// Values keep their length, whatever it is, and are not centred.
#[test]
fn values_keep_their_length() {
    let d = 64;
    let (e, token) = (spectrum(11, d), normal(12, 1024));
    let mut x = draw(13, &e, &normal(14, d), 1024);
    x.chunks_mut(d).zip(&token).for_each(|(row, t)| row.iter_mut().for_each(|v| *v *= (2.0 * t).exp()));
    let s = Spectral::calibrate(Side::V, &x, d, 2.0).unwrap();
    let mut worst = 0.0;
    for page in x.chunks(32 * d) {
        let back = s.decode(&s.encode(page, 32, 32), 32);
        for (x, y) in page.chunks(d).zip(back.chunks(d)) {
            let ratio = (square(y.iter().copied()) / square(x.iter().copied())).sqrt();
            assert!((ratio - 1.0).abs() < 1.0 / 2000.0, "{ratio}");
            worst = f64::max(worst, relative_error(x, y));
        }
    }
    assert!(worst < 0.5, "{worst}");
}

/// Bits of channel `c` are where the layout says.
#[test]
fn planes_cover_prefixes() {
    let d = 24;
    // Diagonal, so that codes are those of the channels themselves: 3, 2 and 0 bits.
    let unit = |i: usize| (0..d).map(move |j| f64::from(u8::from(i == j)));
    let e = Eigen {
        values: (0..d).map(|i| [16.0, 4.0, 1e-6][i / 8]).collect(),
        vectors: (0..d).flat_map(unit).collect(),
    };
    let s = Spectral::new(Side::K, &[], e, 5.0 / 3.0).unwrap();
    assert_eq!(s.bits().iter().step_by(8).copied().collect::<Vec<_>>(), [3, 2, 0]);
    assert_eq!(s.layout(16).code_words, 32);
    let mut x = vec![-100.0; d];
    (x[1], x[9]) = (100.0, 100.0);
    let words = s.encode(&x, 1, 16);
    // Planes of 16, 16 and 8 channels; channels 1 and 9 have all bits set.
    assert_eq!(words[..2], [0x0202_0202, 0x02]);
    assert!(words[2..].iter().all(|w| *w == 0) && words.len() == pad4(32));
    let back = s.decode(&words, 16);
    assert!((back[1] - 4.0 * 2.151_946).abs() < 1e-5 && (back[9] - 2.0 * 1.510_418).abs() < 1e-5);
    assert!(back[16..24].iter().all(|x| *x == 0.0));
}

#[test]
fn sizes_must_fit() {
    let e = spectrum(15, 16);
    let short = Eigen { values: e.values.clone(), vectors: e.vectors[1..].to_vec() };
    assert_eq!(Spectral::new(Side::K, &[], short, 2.0).unwrap_err().vectors, 255);
    assert_eq!(Spectral::new(Side::K, &[0.0; 3], e, 2.0).unwrap_err().mean, 3);
    assert!(Spectral::calibrate(Side::V, &[], 0, 2.0).is_err());
    let zero = Spectral::calibrate(Side::V, &[0.0; 64], 16, 2.0).unwrap();
    let words = zero.encode(&[0.0; 64], 4, 16);
    assert!(words.iter().all(|w| *w == 0));
    assert!(zero.decode(&words, 16).iter().all(|x| *x == 0.0));
}
