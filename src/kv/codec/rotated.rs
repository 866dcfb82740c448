//! Rows on the centroids of the normal distribution.
//!
//! A row `y` in the Hadamard basis has nearly normal coordinates of variance `|y|^2 / d`, whatever the model did to
//! them; so one small table of centroids serves every row, and all that is stored besides the codes is a gain per token
//! (half `t` of the metadata). The reader multiplies centroids by it and needs no correction.

use super::tables::Codebook;
use super::{Codec, Coded, Page, Side, pack_halves, to_half, unpack_halves};

/// What the gain is to preserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gain {
    /// The row's norm: best for scores from three levels on, and always for values.
    Norm,
    /// The least squared error: best for keys of one bit.
    LeastSquares,
}

/// Metadata and codes of a page.
pub(super) fn encode(book: &Codebook, gain: Gain, page: &Page<'_>) -> Coded {
    let mut codes = Vec::with_capacity(page.rows.len());
    let mut gains = Vec::new();
    for row in page.rows() {
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm <= 0.0 {
            gains.push(0);
            codes.resize(codes.len() + row.len(), 0);
            continue;
        }
        let scale = (row.len() as f64).sqrt() / norm;
        let (mut size, mut along) = (0.0, 0.0);
        for x in row {
            let code = book.code(x * scale);
            let centroid = book.value(code);
            size += centroid * centroid;
            along += x * centroid;
            codes.push(code);
        }
        gains.push(to_half(match gain {
            _ if size <= 0.0 => 0.0,
            Gain::Norm => norm / size.sqrt(),
            Gain::LeastSquares => along / size,
        }));
    }
    Coded { meta: pack_halves(&gains), codes }
}

/// The rows of a page.
pub(super) fn decode(book: &Codebook, meta: &[u32], codes: &[u8], d: usize) -> Vec<f64> {
    let rows = codes.chunks(d.max(1)).zip(unpack_halves(meta));
    rows.flat_map(|(row, gain)| row.iter().map(move |code| gain * book.value(*code))).collect()
}

/// A section of [`Codec::Emb`] with `from` bits, made into one with `to` bits without the rows it came from: the codes
/// lose their light planes, and every gain is fitted anew (to the norm of the decoded row; for keys of one bit to the
/// row itself). Codes are those of encoding with `to` bits; gains are too, up to the rounding of two gains and to the
/// error that the longer codes had.
///
/// `None` unless `1 <= to <= from <= 4`.
pub fn demote(side: Side, words: &[u32], from: u8, to: u8, p: usize, d: usize) -> Option<Vec<u32>> {
    let (fine, coarse) = (Codebook::emb(from)?, Codebook::emb(to)?);
    let drop = from.checked_sub(to)?;
    let (source, target) = (Codec::Emb { bits: from }, Codec::Emb { bits: to });
    let (meta, code) = source.layout(side, p, d).split(words);
    if drop == 0 {
        return Some(target.layout(side, p, d).join(&meta, &code));
    }
    let codes = source.packing()?.unpack(&code, p, d);
    let gain = target.gain(side);
    let rows = codes.chunks(d.max(1)).zip(unpack_halves(&meta));
    let gains: Vec<u16> = rows
        .map(|(row, old)| {
            let (mut before, mut after, mut along) = (0.0, 0.0, 0.0);
            for code in row {
                let (x, y) = (fine.value(*code), coarse.value(code >> drop));
                before += x * x;
                after += y * y;
                along += x * y;
            }
            to_half(match gain {
                Gain::Norm => old * f64::sqrt(before / after),
                Gain::LeastSquares => old * along / after,
            })
        })
        .collect();
    // The planes that stay are a prefix.
    Some(target.layout(side, p, d).join(&pack_halves(&gains), &code))
}
