//! A logarithmic axis. Values are logarithms to base 10 throughout, so that no product or quotient of a hostile
//! report's numbers can overflow.

/// One axis, from `lo` at the coordinate `from` to `hi` at `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// The least value.
    pub lo: f64,
    /// The greatest value.
    pub hi: f64,
    from: f64,
    to: f64,
}

/// Marks on an axis, at most about as many as this.
const TICKS: f64 = 8.0;

impl Axis {
    /// An axis that holds all values with some room; None without any.
    pub fn around(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in values.into_iter().filter(|v| v.is_finite()) {
            (lo, hi) = (lo.min(v), hi.max(v));
        }
        if lo > hi {
            return None;
        }
        let room = (0.06 * (hi - lo)).max(0.1).max((0.8 - (hi - lo)) / 2.0);
        Some(Self { lo: lo - room, hi: hi + room, from, to })
    }

    /// The coordinate of a value.
    pub fn at(&self, v: f64) -> f64 {
        self.from + (v - self.lo) / (self.hi - self.lo) * (self.to - self.from)
    }

    /// Marks and their words.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let span = self.hi - self.lo;
        let digits: &[u32] = if span <= 2.6 { &[1, 2, 5] } else { &[1] };
        let step = (span / TICKS).ceil().max(1.0) as i32;
        let mut out = Vec::new();
        for decade in self.lo.floor() as i32..=self.hi.ceil() as i32 {
            if decade.rem_euclid(step) != 0 {
                continue;
            }
            for &digit in digits {
                let v = f64::from(decade) + f64::from(digit).log10();
                if (self.lo..=self.hi).contains(&v) {
                    out.push((v, words(digit, decade)));
                }
            }
        }
        out
    }
}

/// `digit` times ten to the power of `decade`.
fn words(digit: u32, decade: i32) -> String {
    match decade {
        0..=4 => format!("{digit}{}", "0".repeat(decade as usize)),
        -3..=-1 => format!("0.{}{digit}", "0".repeat((-decade - 1) as usize)),
        _ => format!("{digit}e{decade}"),
    }
}

/// The part of `y = x + above` that lies within two axes, no farther right than `until`: `[x0, y0, x1, y1]`.
pub(super) fn diagonal(x: &Axis, y: &Axis, above: f64, until: f64) -> Option<[f64; 4]> {
    let from = x.lo.max(y.lo - above);
    let to = x.hi.min(y.hi - above).min(until);
    (from < to).then(|| [x.at(from), y.at(from + above), x.at(to), y.at(to + above)])
}
