//! Eigenvalues and eigenvectors of a symmetric matrix by Jacobi's rotations: slow, plain, and accurate to the last
//! digits also for small eigenvalues.

/// Sweeps after which it stops at the latest; eight or so are needed.
const SWEEPS: usize = 40;

/// Eigenvalues in descending order, and the eigenvectors that belong to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// Descending, `[d]`.
    pub values: Vec<f64>,
    /// Orthonormal, `[d, d]`: row `i` belongs to value `i`. The component of greatest size is positive, so that equal
    /// matrices give equal vectors whatever the path.
    pub vectors: Vec<f64>,
}

/// Decomposes a symmetric matrix `[d, d]`, of which the upper triangle counts; missing entries are zeros.
pub fn eigen(matrix: &[f64], d: usize) -> Eigen {
    let mut a: Vec<Vec<f64>> = (0..d)
        .map(|i| (0..d).map(|j| matrix.get(i.min(j) * d + i.max(j)).copied().unwrap_or(0.0)).collect())
        .collect();
    let mut v: Vec<Vec<f64>> =
        (0..d).map(|i| (0..d).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let size: f64 = a.iter().flatten().map(|x| x * x).sum();
    for _ in 0..SWEEPS {
        let off: f64 = a.iter().enumerate().flat_map(|(i, row)| row.iter().skip(i + 1)).map(|x| x * x).sum();
        if off <= 1e-30 * size {
            break;
        }
        for p in 0..d {
            for q in p + 1..d {
                if a[p][q] != 0.0 {
                    rotate(&mut a, &mut v, p, q);
                }
            }
        }
    }
    let mut order: Vec<(f64, Vec<f64>)> = a.iter().enumerate().map(|(i, row)| row[i]).zip(v).collect();
    order.sort_by(|x, y| y.0.total_cmp(&x.0));
    for (_, vector) in &mut order {
        let most = vector.iter().copied().fold(0.0, |m: f64, x| if x.abs() > m.abs() { x } else { m });
        if most < 0.0 {
            vector.iter_mut().for_each(|x| *x = -*x);
        }
    }
    let values = order.iter().map(|x| x.0).collect();
    Eigen { values, vectors: order.into_iter().flat_map(|x| x.1).collect() }
}

/// Makes entry (p, q) zero.
fn rotate(a: &mut [Vec<f64>], v: &mut [Vec<f64>], p: usize, q: usize) {
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    // The smaller of the two angles; of two alike either.
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cos = 1.0 / t.hypot(1.0);
    let sin = t * cos;
    let mix = |x: &mut f64, y: &mut f64| (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
    for row in a.iter_mut() {
        let (left, right) = row.split_at_mut(q);
        mix(&mut left[p], &mut right[0]);
    }
    for m in [a, v] {
        let (upper, lower) = m.split_at_mut(q);
        upper[p].iter_mut().zip(&mut lower[0]).for_each(|(x, y)| mix(x, y));
    }
}
