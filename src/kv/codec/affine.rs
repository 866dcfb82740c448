//! Grids between the extremes of a group.
//!
//! Keys: a group is one channel of the page's valid tokens; metadata word `c` holds (lowest, step) of channel `c`.
//! Values: a group is 32 channels of one token (the last one may be shorter); metadata word
//! `t * ceil(d / 32) + c / 32`.

use super::{Coded, Page, Side, from_half, to_half};

/// Channels that share a scale where groups lie within a token.
pub const GROUP: usize = 32;

/// Where the points of a grid are.
#[derive(Clone, Copy)]
struct Grid {
    levels: u16,
    /// Points in the middle of `levels` equal cells, rather than from one extreme to the other. Better on average with
    /// few levels; but keys of extreme size matter most, and only the other kind reproduces them.
    cells: bool,
}

/// A fitted group: what its metadata word says.
#[derive(Clone, Copy)]
struct Scale {
    lo: f64,
    step: f64,
}

impl Scale {
    fn of(word: u32) -> Self {
        Self { lo: from_half(word), step: from_half(word >> 16) }
    }
}

impl Grid {
    fn new(levels: u16) -> Self {
        Self { levels, cells: levels <= 3 }
    }

    fn top(self) -> f64 {
        f64::from(self.levels.saturating_sub(1))
    }

    /// The metadata word of a group.
    fn fit(self, group: impl Iterator<Item = f64>) -> u32 {
        let (lo, hi) = group.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
        if lo > hi {
            return 0;
        }
        let steps = if self.cells { f64::from(self.levels) } else { self.top() };
        u32::from(to_half(lo)) | u32::from(to_half((hi - lo) / steps.max(1.0))) << 16
    }

    /// The nearest point, of two equally near the lower.
    fn code(self, scale: Scale, x: f64) -> u8 {
        if scale.step <= 0.0 {
            return 0;
        }
        let at = (x - scale.lo) / scale.step;
        let point = if self.cells { at.floor() } else { (at - 0.5).ceil() };
        point.clamp(0.0, self.top()) as u8
    }

    fn value(self, scale: Scale, code: u8) -> f64 {
        let at = if self.cells { f64::from(code) + 0.5 } else { f64::from(code) };
        scale.lo + at * scale.step
    }
}

/// Metadata and codes of a page.
pub(super) fn encode(side: Side, levels: u16, page: &Page<'_>) -> Coded {
    let grid = Grid::new(levels);
    let meta: Vec<u32> = match side {
        Side::K => (0..page.d).map(|c| grid.fit(page.rows().filter_map(|row| row.get(c).copied()))).collect(),
        Side::V => page
            .rows()
            .flat_map(|row| row.chunks(GROUP))
            .map(|group| grid.fit(group.iter().copied()))
            .collect(),
    };
    let codes =
        page.rows.iter().zip(scales(side, &meta, page.d)).map(|(x, scale)| grid.code(scale, *x)).collect();
    Coded { meta, codes }
}

/// The rows of a page.
pub(super) fn decode(side: Side, levels: u16, meta: &[u32], codes: &[u8], d: usize) -> Vec<f64> {
    let grid = Grid::new(levels);
    codes.iter().zip(scales(side, meta, d)).map(|(code, scale)| grid.value(scale, *code)).collect()
}

/// The scale of every value, token after token.
fn scales(side: Side, meta: &[u32], d: usize) -> Box<dyn Iterator<Item = Scale> + '_> {
    match side {
        Side::K => Box::new(meta.iter().cycle().map(|word| Scale::of(*word))),
        Side::V => Box::new(per_group(meta.iter().map(|word| Scale::of(*word)), d)),
    }
}

/// Repeats what there is one of per token and group of channels for every channel.
pub(super) fn per_group<T: Copy>(groups: impl Iterator<Item = T>, d: usize) -> impl Iterator<Item = T> {
    let per_row = d.div_ceil(GROUP).max(1);
    groups.enumerate().flat_map(move |(i, group)| {
        let first = i % per_row * GROUP;
        std::iter::repeat_n(group, d.saturating_sub(first).min(GROUP))
    })
}
