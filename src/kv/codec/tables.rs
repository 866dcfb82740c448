//! Cells and centroids of the normal distribution; the shaders get the same numbers from here.

/// Centroids on the positive side of the Lloyd-Max codebooks of N(0, 1): the levels, the centroids, the mean squared
/// error. The negative side mirrors them; an odd number of levels has zero in the middle.
#[rustfmt::skip]
pub const LLOYD: &[(u16, &[f32], f64)] = &[
    (2, &[0.797885], 0.36338),
    (3, &[1.224006], 0.190174),
    (4, &[0.45278, 1.510418], 0.117482),
    (5, &[0.764568, 1.724147], 0.079941),
    (6, &[0.317716, 1.000106, 1.893595], 0.057978),
    (8, &[0.245094, 0.756005, 1.343909, 2.151946], 0.034548),
    (9, &[0.443639, 0.918796, 1.476392, 2.254664], 0.027853),
    (12, &[0.168438, 0.511847, 0.87678, 1.285711, 1.78303, 2.498435], 0.01634),
    (16, &[0.128395, 0.388048, 0.656759, 0.94234, 1.256231, 1.618046, 2.069017, 2.73259], 0.009501),
    (32, &[
        0.06589, 0.198052, 0.331378, 0.46670, 0.604934, 0.747136, 0.894565, 1.048783,
        1.211804, 1.38634, 1.576228, 1.787233, 2.028728, 2.317739, 2.69112, 3.260732,
    ], 0.002505),
];

/// Cell boundaries on the positive side (zero is one too) of the 16 embedded cells; fewer bits have every second,
/// fourth or eighth boundary.
pub const EMB_EDGES: [f32; 7] = [0.25822, 0.52240, 0.79955, 1.09929, 1.43714, 1.84353, 2.40080];

/// Positive reconstructions (means of their cells) of embedded codes of 1, 2, 3 and 4 bits, and the mean squared error.
#[rustfmt::skip]
pub const EMB: [(&[f32], f64); 4] = [
    (&[0.79788], 0.36338),
    (&[0.49679, 1.60522], 0.120294),
    (&[0.25532, 0.78869, 1.40599, 2.23538], 0.034852),
    (&[0.128395, 0.388048, 0.656759, 0.94234, 1.256231, 1.618046, 2.069017, 2.73259], 0.009501),
];

/// Cells of the line, from the lowest to the highest, and what stands for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Codebook {
    /// Boundaries between the cells, ascending; one fewer than there are cells.
    pub edges: Vec<f32>,
    /// Reconstruction of each cell, ascending.
    pub centroids: Vec<f32>,
}

impl Codebook {
    /// The codebook of [`super::Codec::Rot`]; `None` for levels not in [`LLOYD`].
    pub fn rot(levels: u16) -> Option<Self> {
        let positive = LLOYD.iter().find(|row| row.0 == levels)?.1;
        Some(Self::nearest(mirrored(positive, levels % 2 == 1)))
    }

    /// The codebook of [`super::Codec::Emb`]; `None` unless `1 <= bits <= 4`.
    pub fn emb(bits: u8) -> Option<Self> {
        let (positive, _) = EMB.get(usize::from(bits).checked_sub(1)?)?;
        let every = 1 << (4 - bits);
        // Boundary k of 16 cells, counted from one, lies between the cells k-1 and k.
        let edges = mirrored(&EMB_EDGES, true).into_iter().skip(every - 1).step_by(every).collect();
        Some(Self { edges, centroids: mirrored(positive, false) })
    }

    /// Centroids, ascending, with boundaries half-way between neighbours.
    pub fn nearest(centroids: Vec<f32>) -> Self {
        let edges = centroids.iter().zip(centroids.iter().skip(1)).map(|(a, b)| 0.5 * (a + b)).collect();
        Self { edges, centroids }
    }

    /// The cell of `u`: the number of boundaries below it, so that a boundary belongs to the cell below.
    pub fn code(&self, u: f64) -> u8 {
        u8::try_from(self.edges.partition_point(|edge| f64::from(*edge) < u)).unwrap_or(u8::MAX)
    }

    /// What stands for a cell; 0 for one that does not exist.
    pub fn value(&self, code: u8) -> f64 {
        self.centroids.get(usize::from(code)).map_or(0.0, |x| f64::from(*x))
    }
}

fn mirrored(positive: &[f32], zero: bool) -> Vec<f32> {
    let negative = positive.iter().rev().map(|x| -x);
    negative.chain(zero.then_some(0.0)).chain(positive.iter().copied()).collect()
}
