//! The centre of a page of keys: what its keys have in common, at no cost in storage.
//!
//! Keys before the rotation have a mean; after it, the mean turns with the position, and all but the slowest pairs lose
//! it over a whole context, though not over a page. The centre of a page is the mean of the rotated means at its
//! positions, which the reader can compute from one vector per head; it adds the query's product with it to every
//! score of the page.

/// Which channels a model rotates together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Rotated channels, from the first on; the others stay as they are.
    pub rot: usize,
    /// Pairs are (2i, 2i + 1) rather than (i, i + rot / 2).
    pub interleaved: bool,
}

impl Pairing {
    /// The channels of pair `i`.
    pub fn channels(self, i: usize) -> (usize, usize) {
        if self.interleaved { (2 * i, 2 * i + 1) } else { (i, i + self.rot / 2) }
    }

    /// Multiplies every pair `i` of `x` by the complex number `factor(i)`, given as (real, imaginary). Pairs beyond the
    /// end of `x` are left out.
    pub fn turn(self, x: &mut [f64], factor: impl Fn(usize) -> (f64, f64)) {
        for i in 0..self.rot / 2 {
            let (a, b) = self.channels(i);
            if let (Some(&re), Some(&im)) = (x.get(a), x.get(b)) {
                let (cos, sin) = factor(i);
                x[a] = re * cos - im * sin;
                x[b] = re * sin + im * cos;
            }
        }
    }
}

/// The centre, `[d]`, of the page of `p` tokens that begins at position `p0`: the mean over its positions of the
/// rotated `mu_pre`, `[d]`, the mean key before the rotation. `table(position, pair)` gives (cos, sin) as the model has
/// them, scaled if it scales them. All `p` positions count, filled or not, so that the centre does not move while a
/// page fills.
pub fn page_centre(
    mu_pre: &[f64],
    pairing: Pairing,
    table: impl Fn(usize, usize) -> (f64, f64),
    p0: usize,
    p: usize,
) -> Vec<f64> {
    let mut out = mu_pre.to_vec();
    pairing.turn(&mut out, |i| {
        let (cos, sin) = (p0..p0 + p)
            .map(|position| table(position, i))
            .fold((0.0, 0.0), |(a, b), (cos, sin)| (a + cos, b + sin));
        let count = p.max(1) as f64;
        (cos / count, sin / count)
    });
    out
}

/// `mu_pre` averaged over the first `p` positions, `[d]`: with an unscaled table, turning it to a page's first position
/// gives that page's centre, so a reader needs one table row per page instead of `p`.
pub fn folded_mean(
    mu_pre: &[f64],
    pairing: Pairing,
    table: impl Fn(usize, usize) -> (f64, f64),
    p: usize,
) -> Vec<f64> {
    page_centre(mu_pre, pairing, table, 0, p)
}
