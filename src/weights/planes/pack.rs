//! The four packings of a group, to and from quads: a group's 32 codes as eight words of four bytes each.

/// The 32 codes of a group; byte `b` of word `j` is the code of k = 4j+b.
pub(super) type Quads = [u32; 8];

pub(super) fn pack4(q: &Quads) -> [u32; 4] {
    std::array::from_fn(|j| q[j] | q[j + 4] << 4)
}

pub(super) fn pack2(q: &Quads) -> [u32; 2] {
    std::array::from_fn(|h| (0..4).fold(0, |w, i| w | q[4 * h + i] << (2 * i)))
}

pub(super) fn pack1(q: &Quads) -> u32 {
    (0..8).fold(0, |w, j| w | q[j] << j)
}

/// P1 of 32 bits in the order of k, as Q5_0 and Q5_1 store them.
pub(super) fn pack1_bits(bits: u32) -> u32 {
    // Four consecutive bits times this number land on the low bits of four bytes.
    pack1(&std::array::from_fn(|j| ((bits >> (4 * j) & 15) * 0x0020_4081) & 0x0101_0101))
}

pub(super) fn quad4(w: &[u32], j: usize) -> u32 {
    (w[j & 3] >> (4 * (j >> 2))) & 0x0f0f_0f0f
}

pub(super) fn quad2(w: &[u32], j: usize) -> u32 {
    (w[j >> 2] >> (2 * (j & 3))) & 0x0303_0303
}

pub(super) fn quad1(w: u32, j: usize) -> u32 {
    (w >> j) & 0x0101_0101
}

/// `N` little-endian words from the start of `b`.
pub(super) fn words<const N: usize>(b: &[u8]) -> [u32; N] {
    std::array::from_fn(|i| u32::from_le_bytes([b[4 * i], b[4 * i + 1], b[4 * i + 2], b[4 * i + 3]]))
}

/// A little-endian half word at byte `at`.
pub(super) fn half_word(b: &[u8], at: usize) -> u32 {
    u32::from(u16::from_le_bytes([b[at], b[at + 1]]))
}
