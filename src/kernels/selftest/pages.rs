//! A paged cache for the cases of attention: pages scattered in the pool, some of them not full, and a list among others.

use super::bench::{Bench, POISON};
use crate::kernels::KvType;
use crate::kernels::attention::{PAGE, Sealed, Shape};
use crate::kv::codec::Tier;
use half::f16;
use std::ops::Range;

/// Where every position lies.
pub(super) struct Pages {
    /// All words of the list buffer.
    pub list: Vec<u32>,
    /// Where in it this list starts, in entries.
    pub list_at: u32,
    /// Per position: word offset of its page, and row in it.
    places: Vec<(usize, usize)>,
    /// Words of the pool.
    words: usize,
    /// Where the list of sealed pages starts in it, in entries.
    pub sealed_at: u32,
    sealed: Vec<SealedPage>,
    tier: Option<Tier>,
}

/// A page in a codec: its place, its first position and its rows.
struct SealedPage {
    offset: usize,
    first: usize,
    rows: usize,
    /// What it decodes to, keys and values, `[kv_heads][PAGE * head_dim]`.
    decoded: [Vec<Vec<f32>>; 2],
}

impl Pages {
    /// Pages for `positions` positions, of which those before `position` are cached. Up to a random position (none, with a
    /// window and no tier: rows outside of it are poison) pages hold a random number of rows; from there on they are the
    /// tail.
    pub fn new(
        b: &mut Bench<'_>,
        s: &Shape,
        position: usize,
        positions: usize,
        first_seen: usize,
        tier: Option<Tier>,
    ) -> Self {
        let page = PAGE as usize;
        let page_words = s.page_words() as usize;
        let plain_window = tier.is_none() && (first_seen > 0 || s.window > 0);
        let tail = if plain_window { 0 } else { below(b, position / 2 + 1) };
        let mut runs = Vec::new();
        let mut at = 0;
        while at < tail {
            // Full ones are the rule.
            let full = below(b, 3) > 0;
            let rows = if full { page } else { 1 + below(b, page) }.min(tail - at);
            runs.push((at, rows));
            at += rows;
        }
        // With a tier, all pages before the tail but the first are sealed.
        let mut closed = Vec::new();
        if tier.is_some() && runs.len() > 1 {
            closed = runs.split_off(1);
        }
        let before = runs.len();
        while at < positions {
            runs.push((at, page));
            at += page;
        }
        // A page more than there are entries, which nothing may touch.
        let mut order: Vec<usize> = (0..=runs.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, below(b, i + 1));
        }
        let list_at = 1 + below(b, 3);
        let mut list = vec![POISON; 4 * list_at];
        list.extend([before as u32, tail as u32, POISON, POISON]);
        let mut places = vec![(usize::MAX, 0); at];
        for ((first, rows), slot) in runs.into_iter().zip(&order) {
            let offset = slot * page_words;
            list.extend([offset as u32, first as u32, rows as u32, 0]);
            for row in 0..rows {
                places[first + row] = (offset, row);
            }
        }
        let sealed_at = list.len() as u32 / 4;
        let mut words = order.len() * page_words;
        let mut sealed = Vec::new();
        list.extend([closed.len() as u32, POISON, POISON, POISON]);
        for (first, rows) in closed {
            list.extend([words as u32, first as u32, rows as u32, 0]);
            sealed.push(SealedPage { offset: words, first, rows, decoded: [Vec::new(), Vec::new()] });
            words += tier.map_or(0, |t| t.head_words(page, s.head_dim as usize)) * s.kv_heads as usize;
        }
        Self { list, list_at: list_at as u32, places, words, sealed_at, sealed, tier }
    }

    /// A pool whose rows before `position` hold random values and which is poison elsewhere, save for rows that are
    /// outside of the window but share a page with one inside.
    pub fn rows(&mut self, b: &mut Bench<'_>, s: &Shape, first_seen: usize, position: usize) -> Vec<u32> {
        let mut pool = vec![POISON; self.words];
        let dim = s.head_dim as usize;
        let first = if self.tier.is_some() { 0 } else { first_seen / PAGE as usize * PAGE as usize };
        for at in first..position {
            if self.places[at].0 == usize::MAX {
                continue;
            }
            for head in 0..s.kv_heads as usize {
                for part in 0..2 {
                    let words = pack(s.kv, &b.rng.floats(dim, 1.0));
                    let to = self.word(s, at, head, part);
                    pool[to..to + words.len()].copy_from_slice(&words);
                }
            }
        }
        let page = PAGE as usize;
        for closed in &mut self.sealed {
            let Some(tier) = self.tier else { break };
            let mut to = closed.offset;
            for _ in 0..s.kv_heads {
                let mut side =
                    || -> Vec<f64> { b.rng.floats(page * dim, 1.0).into_iter().map(f64::from).collect() };
                let (k, v) = (side(), side());
                let words = tier.encode_head(&k, &v, closed.rows, page, dim);
                let (k, v) = tier.decode_head(&words, page, dim);
                for (decoded, rows) in closed.decoded.iter_mut().zip([k, v]) {
                    decoded.push(rows.into_iter().map(|x| x as f32).collect());
                }
                pool[to..to + words.len()].copy_from_slice(&words);
                to += words.len();
            }
        }
        pool
    }

    /// The sealed pages as kernels take them.
    pub fn sealed(&self, s: &Shape) -> Option<Sealed> {
        self.tier.map(|t| crate::kv::sealed(t, s.head_dim, self.sealed_at))
    }

    fn word(&self, s: &Shape, position: usize, head: usize, part: usize) -> usize {
        let (page, row) = self.places[position];
        let side = s.side_words() as usize;
        page + (2 * head + part) * side + row * s.head_dim as usize * s.kv.bytes() as usize / 4
    }

    /// Keys (part 0) or values (part 1) of these positions, `[positions, kv_heads, head_dim]`.
    pub fn values(&self, s: &Shape, pool: &[u32], positions: Range<usize>, part: usize) -> Vec<f32> {
        let mut out = Vec::new();
        let dim = s.head_dim as usize;
        for at in positions {
            let closed = self.sealed.iter().find(|p| (p.first..p.first + p.rows).contains(&at));
            for head in 0..s.kv_heads as usize {
                if let Some(p) = closed {
                    let row = (at - p.first) * dim;
                    out.extend(&p.decoded[part][head][row..row + dim]);
                    continue;
                }
                let from = self.word(s, at, head, part);
                out.extend(unpack(s.kv, &pool[from..from + row_words(s)]));
            }
        }
        out
    }

    /// Every word that holds something of these positions.
    pub fn words_of(&self, s: &Shape, positions: Range<usize>) -> Vec<usize> {
        let mut out = Vec::new();
        for at in positions {
            for head in 0..s.kv_heads as usize {
                for part in 0..2 {
                    let from = self.word(s, at, head, part);
                    out.extend(from..from + row_words(s));
                }
            }
        }
        out
    }
}

fn row_words(s: &Shape) -> usize {
    s.head_dim as usize * s.kv.bytes() as usize / 4
}

/// A random number below `n`.
fn below(b: &mut Bench<'_>, n: usize) -> usize {
    b.rng.below(n as u32) as usize
}

/// Words of a row of cached values.
pub(super) fn pack(kv: KvType, values: &[f32]) -> Vec<u32> {
    match kv {
        KvType::F32 => values.iter().map(|v| v.to_bits()).collect(),
        KvType::F16 => {
            let halves: Vec<u32> = values.iter().map(|&v| u32::from(f16::from_f32(v).to_bits())).collect();
            halves.chunks(2).map(|h| h[0] | h.get(1).map_or(0, |x| x << 16)).collect()
        }
    }
}

pub(super) fn unpack(kv: KvType, words: &[u32]) -> Vec<f32> {
    let half = |w: u32| f16::from_bits((w & 0xffff) as u16).to_f32();
    match kv {
        KvType::F32 => words.iter().map(|&w| f32::from_bits(w)).collect(),
        KvType::F16 => words.iter().flat_map(|&w| [half(w), half(w >> 16)]).collect(),
    }
}
