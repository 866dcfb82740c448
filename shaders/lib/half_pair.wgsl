// One f16 of a word that holds two (i odd: the upper half), widened to f32 by core WGSL's unpack2x16float. Scales of
// published files are often subnormal halves; the widened value is a normal f32, so nothing is lost unless a driver
// flushes the half itself.

fn half_of(w: u32, i: u32) -> f32 {
    return unpack2x16float(w >> ((i & 1u) << 4u)).x;
}
