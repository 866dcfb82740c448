// The vec4s of a head as attention takes them: after the per-head norm (QKNORM) and the rotation (ROPE). The importing
// shader declares `q`, `p`, HD4 and, where the flags ask for them, `rope` and `qk_norm`.
#if ROPE
#import rope
#endif

// Element `i` of a head after its norm; `r` is the head's 1 / rms, nb selects the q or the k half of the weights.
fn head_value(base: u32, i: u32, r: f32, nb: u32) -> vec4<f32> {
#if QKNORM
    return q[base + i] * r * qk_norm[nb + i];
#else
    return q[base + i];
#endif
}

// Element `i` of a head after norm and rotation.
fn head_rotated(base: u32, i: u32, r: f32, nb: u32, pos: u32) -> vec4<f32> {
    let v = head_value(base, i, r, nb);
#if ROPE
    let at = pos * p.rot4 * 2u;
    if (i < p.rot4) {
#if INTERLEAVED
        return rope_even(v, at + i * 2u);
#else
        let half = p.rot4 / 2u;
        if (i < half) {
            return rope_halves(v, head_value(base, i + half, r, nb), at + i * 4u).lo;
        }
        return rope_halves(head_value(base, i - half, r, nb), v, at + (i - half) * 4u).hi;
#endif
    }
#endif
    return v;
}
