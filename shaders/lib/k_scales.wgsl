// The six-bit scale and minimum of group t (0..7) of a Q4_K or Q5_K super-block, from its three scale words s0 s1 s2
// (the file's 12 bytes): the low half of the result is the scale, the high half the minimum. About 14 integer ops
// a group of 32.

fn k_scale_min(s0: u32, s1: u32, s2: u32, t: u32) -> u32 {
    let shift = (t & 3u) << 3u;
    let a = s0 >> shift;
    let b = s1 >> shift;
    let c = s2 >> shift;
    let first = (a & 63u) | ((b & 63u) << 16u);
    // Groups 4..7: four low bits from the third word, two high bits from the tops of the other two.
    let last = (c & 15u) | ((a & 0xc0u) >> 2u) | ((c & 0xf0u) << 12u) | ((b & 0xc0u) << 14u);
    return select(last, first, t < 4u);
}
