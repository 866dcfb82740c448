//! Lloyd-Max codebooks of any log-concave density, for those that no table has, and to check those that one has.

/// A density on an interval; it need not integrate to one.
pub struct Source<'a> {
    density: &'a dyn Fn(f64) -> f64,
    lo: f64,
    hi: f64,
}

/// Length of an integration step. The rule's error goes with its fourth power.
const STEP: f64 = 0.01;
/// Newton's method needs about six steps from the start that it is given here.
const ROUNDS: usize = 200;

impl<'a> Source<'a> {
    /// A density on `lo..hi`, positive inside.
    pub fn new(density: &'a dyn Fn(f64) -> f64, lo: f64, hi: f64) -> Self {
        Self { density, lo, hi }
    }

    /// The integral of `f` times the density over `a..b`, by Simpson's rule.
    fn integral(&self, a: f64, b: f64, f: impl Fn(f64) -> f64) -> f64 {
        let n = 2 * (((b - a) / STEP).ceil() as usize).clamp(8, 2000);
        let h = (b - a) / n as f64;
        let sum: f64 = (0..=n)
            .map(|i| {
                let weight = if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
                let x = a + h * i as f64;
                weight * f(x) * (self.density)(x)
            })
            .sum();
        sum * h / 3.0
    }

    /// Mean squared error of cells between `edges` with reconstructions `centroids`.
    pub fn mse(&self, edges: &[f64], centroids: &[f64]) -> f64 {
        let (low, high) = (std::iter::once(self.lo), std::iter::once(self.hi));
        let cells = low.chain(edges.iter().copied()).zip(edges.iter().copied().chain(high));
        let error: f64 =
            cells.zip(centroids).map(|((a, b), c)| self.integral(a, b, |x| (x - c) * (x - c))).sum();
        error / self.integral(self.lo, self.hi, |_| 1.0)
    }

    /// The centroids, ascending, of the codebook with the least mean squared error. Its cell boundaries are half-way
    /// between them.
    pub fn codebook(&self, levels: usize) -> Vec<f64> {
        let mut centroids = self.companded(levels);
        for _ in 0..ROUNDS {
            let cells = self.cells(&centroids);
            if cells.iter().zip(&centroids).all(|(cell, c)| (cell.mean - c).abs() < 1e-13) {
                break;
            }
            // Where Newton's step leaves the order, a step of Lloyd's slow but safe iteration takes its place.
            let step = newton(&cells, &centroids);
            let next: Vec<f64> = centroids.iter().zip(step).map(|(c, s)| c + s).collect();
            let inside =
                next.first().is_some_and(|c| *c > self.lo) && next.last().is_some_and(|c| *c < self.hi);
            let ordered = inside && next.iter().zip(next.iter().skip(1)).all(|(a, b)| a < b);
            centroids = if ordered { next } else { cells.iter().map(|cell| cell.mean).collect() };
        }
        centroids
    }

    /// A start near the optimum: many cells are dense as the cube root of the density.
    fn companded(&self, levels: usize) -> Vec<f64> {
        const GRID: usize = 8192;
        let h = (self.hi - self.lo) / GRID as f64;
        let at = |i: usize| self.lo + h * (i as f64 + 0.5);
        let sums: Vec<f64> = (0..GRID)
            .scan(0.0, |sum, i| {
                *sum += (self.density)(at(i)).max(0.0).cbrt();
                Some(*sum)
            })
            .collect();
        let total = sums.last().copied().unwrap_or(0.0);
        let quantile = |share: f64| at(sums.partition_point(|s| *s < share * total).min(GRID - 1));
        (0..levels).map(|i| quantile((i as f64 + 0.5) / levels as f64)).collect()
    }

    /// Mean of each cell, and how fast it follows its two boundaries.
    fn cells(&self, centroids: &[f64]) -> Vec<Cell> {
        let middle = |i: usize| match (centroids.get(i), centroids.get(i + 1)) {
            (Some(a), Some(b)) => 0.5 * (a + b),
            _ => self.hi,
        };
        let mut below = self.lo;
        let mut cells = Vec::with_capacity(centroids.len());
        for i in 0..centroids.len() {
            let (a, b) = (below, middle(i));
            below = b;
            let mass = self.integral(a, b, |_| 1.0).max(f64::MIN_POSITIVE);
            let mean = self.integral(a, b, |x| x) / mass;
            // The ends of the interval stay where they are.
            let follow = |edge: f64, free: bool| {
                if free { 0.5 * (self.density)(edge) * (edge - mean).abs() / mass } else { 0.0 }
            };
            cells.push(Cell { mean, low: follow(a, i > 0), high: follow(b, i + 1 < centroids.len()) });
        }
        cells
    }
}

struct Cell {
    mean: f64,
    low: f64,
    high: f64,
}

/// Newton's step towards centroids that are the means of their cells. The matrix has the rows
/// `-low, 1 - low - high, -high` around its diagonal.
fn newton(cells: &[Cell], centroids: &[f64]) -> Vec<f64> {
    let mut reduced: Vec<(f64, f64)> = Vec::with_capacity(cells.len());
    let mut above = (0.0, 0.0);
    for (cell, c) in cells.iter().zip(centroids) {
        let pivot = 1.0 - cell.low - cell.high + cell.low * above.0;
        above = (-cell.high / pivot, (cell.mean - c + cell.low * above.1) / pivot);
        reduced.push(above);
    }
    let mut steps = vec![0.0; cells.len()];
    let mut next = 0.0;
    for (step, (factor, right)) in steps.iter_mut().zip(&reduced).rev() {
        next = right - factor * next;
        *step = next;
    }
    steps
}
