//! The tables against codebooks computed from the density.

use crate::kv::codec::lloyd::Source;
use crate::kv::codec::tables::{Codebook, EMB, LLOYD};

fn normal(x: f64) -> f64 {
    (-0.5 * x * x).exp()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

#[test]
fn tables_are_optimal() {
    let source = Source::new(&normal, -9.0, 9.0);
    for (levels, positive, mse) in LLOYD {
        let book = Codebook::rot(*levels).unwrap();
        let e = source.mse(&wide(&book.edges), &wide(&book.centroids));
        assert!((e - mse).abs() < 1e-5, "{levels}: {e} {mse}");
        let best = source.codebook(usize::from(*levels));
        for (c, expected) in best.iter().rev().zip(positive.iter().rev()) {
            assert!((c - f64::from(*expected)).abs() < 2e-6, "{levels}: {c} {expected}");
        }
    }
}

#[test]
fn embedded_tables_are_the_means_of_their_cells() {
    let source = Source::new(&normal, -9.0, 9.0);
    for (bits, (_, mse)) in (1..).zip(EMB) {
        let book = Codebook::emb(bits).unwrap();
        let (edges, centroids) = (wide(&book.edges), wide(&book.centroids));
        let e = source.mse(&edges, &centroids);
        assert!((e - mse).abs() < 1e-5, "{bits}: {e} {mse}");
        // Moving any reconstruction by more than the rounding of the table makes it worse.
        for i in 0..centroids.len() {
            for by in [-1e-4, 1e-4] {
                let mut moved = centroids.clone();
                moved[i] += by;
                assert!(source.mse(&edges, &moved) > e, "{bits} {i}");
            }
        }
    }
    // The sixteen cells are those of the optimal codebook.
    let (emb, rot) = (Codebook::emb(4).unwrap(), Codebook::rot(16).unwrap());
    assert!(emb.edges.iter().zip(&rot.edges).all(|(a, b)| (a - b).abs() < 1e-5));
    assert_eq!(emb.centroids, rot.centroids);
}

/// The errors of 6, 7 and 8 bits, which bit allocation uses and no table has codebooks for.
#[test]
fn long_codebooks_converge() {
    let source = Source::new(&normal, -9.0, 9.0);
    for (levels, expected) in [(64, 0.000644), (128, 0.000164), (256, 0.000041)] {
        let book = source.codebook(levels);
        let edges: Vec<f64> = book.windows(2).map(|w| 0.5 * (w[0] + w[1])).collect();
        assert!(book.windows(2).all(|w| w[0] < w[1]));
        let e = source.mse(&edges, &book);
        assert!((e - expected).abs() < 1e-6, "{levels}: {e}");
    }
}
