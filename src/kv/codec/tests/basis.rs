//! The Hadamard basis and the centre of a page.

use super::{DIMS, normal, square};
use crate::kv::codec::Side;
use crate::kv::codec::basis::{Hadamard, signs};
use crate::kv::codec::centre::{Pairing, folded_mean, page_centre};

fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance)
}

#[test]
fn the_basis_is_orthonormal() {
    for d in [16, 32, 48].into_iter().chain(DIMS) {
        for side in [Side::K, Side::V] {
            let h = Hadamard::new(side, d).unwrap();
            assert!(h.block() >= 16 && h.block().is_power_of_two() && d % h.block() == 0);
            let unit = |i| (0..d).map(|j| f64::from(u8::from(i == j))).collect::<Vec<f64>>();
            let rows: Vec<Vec<f64>> = (0..d).map(|i| h.forward(&unit(i))).collect();
            for (i, a) in rows.iter().enumerate() {
                for (j, b) in rows.iter().enumerate() {
                    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                    assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-12);
                }
            }
        }
    }
}

#[test]
fn there_and_back() {
    for d in DIMS {
        let h = Hadamard::new(Side::K, d).unwrap();
        let x = normal(1, 3 * d);
        let y = h.forward(&x);
        assert!(close(&h.inverse(&y), &x, 1e-12) && close(&h.forward(&h.inverse(&x)), &x, 1e-12));
        assert!((square(x.iter().copied()) - square(y.iter().copied())).abs() < 1e-9);
        // Rows do not mix.
        assert!(close(&h.forward(&x[d..2 * d]), &y[d..2 * d], 0.0));
    }
}

/// Sylvester's order: entry (i, j) is the parity of the common bits.
#[test]
fn the_matrix_is_sylvesters() {
    let d = 64;
    let (h, s) = (Hadamard::new(Side::V, d).unwrap(), signs(Side::V, d));
    for j in 0..d {
        let mut x = vec![0.0; d];
        x[j] = f64::from(s[j]) * 8.0;
        for (i, y) in h.forward(&x).iter().enumerate() {
            let odd = (i & j).count_ones() % 2 == 1;
            assert!((y - if odd { -1.0 } else { 1.0 }).abs() < 1e-12);
        }
    }
}

/// Stored pages depend on the signs.
#[test]
fn signs_never_change() {
    let word = |side| signs(side, 64).iter().fold(0u64, |w, s| w << 1 | u64::from(*s < 0.0));
    assert_eq!([word(Side::K), word(Side::V)], [0x7adc_b818_dfec_fcb9, 0xbd63_82e5_1718_cb1f]);
    assert_eq!(signs(Side::K, 32), signs(Side::K, 64)[..32]);
}

#[test]
fn other_sizes_are_refused() {
    for d in [0, 1, 8, 40, 72, 100] {
        let e = Hadamard::new(Side::K, d).unwrap_err();
        assert!(e.dim == d && e.to_string().contains("multiple of 16"));
    }
}

/// The centre against the mean of rotated vectors, for both pairings, whole and partial rotation.
#[test]
fn the_centre_is_the_mean_of_rotated_vectors() {
    for (d, rot) in [(64, 64), (128, 128), (80, 32), (64, 0), (96, 48)] {
        for interleaved in [false, true] {
            let pairing = Pairing { rot, interleaved };
            let angle = |position: usize, i: usize| {
                let a = position as f64 * 1e4f64.powf(-2.0 * i as f64 / rot as f64);
                (a.cos(), a.sin())
            };
            let mu = normal(9, d);
            for (p0, p) in [(0, 16), (32, 32), (4096, 64), (77, 1)] {
                let mut mean = vec![0.0; d];
                for position in p0..p0 + p {
                    let mut x = mu.clone();
                    for i in 0..rot / 2 {
                        let (a, b) = if interleaved { (2 * i, 2 * i + 1) } else { (i, i + rot / 2) };
                        let (cos, sin) = angle(position, i);
                        (x[a], x[b]) = (mu[a] * cos - mu[b] * sin, mu[a] * sin + mu[b] * cos);
                    }
                    mean.iter_mut().zip(&x).for_each(|(m, x)| *m += x / p as f64);
                }
                let centre = page_centre(&mu, pairing, angle, p0, p);
                assert!(close(&centre, &mean, 1e-12), "{d} {rot} {interleaved} {p0} {p}");
                let mut folded = folded_mean(&mu, pairing, angle, p);
                pairing.turn(&mut folded, |i| angle(p0, i));
                assert!(close(&folded, &centre, 1e-9));
                assert!(close(&centre[rot..], &mu[rot..], 0.0));
            }
        }
    }
}

/// More rotated channels than there are is a mistake of the caller, but no panic.
#[test]
fn pairs_beyond_the_end_are_left_out() {
    let centre =
        page_centre(&[1.0, 2.0, 3.0], Pairing { rot: 8, interleaved: true }, |_, _| (0.0, 1.0), 5, 4);
    assert_eq!(centre, [-2.0, 1.0, 3.0]);
}
