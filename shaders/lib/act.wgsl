// Activations of gated feed-forward layers. ACT = silu | gelu (the tanh form).
fn act(v: f32) -> f32 {
#if ACT == gelu
    // tanh saturates: clamped so that an implementation by exponentials cannot overflow.
    let t = clamp(0.7978845608028654 * (v + 0.044715 * v * v * v), -15.0, 15.0);
    return 0.5 * v * (1.0 + tanh(t));
#else
    // exp(-v) overflows to infinity for very negative v and the quotient is then the right 0.
    return v / (1.0 + exp(-v));
#endif
}
