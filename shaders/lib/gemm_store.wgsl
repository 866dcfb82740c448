// The end of a matrix product over several tokens, shared by its forms: scale, bias, soft cap, and where it goes.
fn finish(v: f32, row: u32) -> f32 {
    var r = v * p.scale;
#if BIAS
    r += bias[p.row0 + row];
#endif
#if CAP
    r = p.cap * tanh(clamp(r / p.cap, -15.0, 15.0));
#endif
    return r;
}

#if EPI == pair
fn put_pair(token: u32, row: u32, gate: f32, up: f32) {
    if (row + 1u < p.rows) {
        y[token * p.y_stride + (p.row0 + row) / 2u] = act(finish(gate, row)) * finish(up, row + 1u);
    }
}
#else
fn put(token: u32, row: u32, v: f32) {
    if (row < p.rows) {
#if EPI == add
        y[token * p.y_stride + p.row0 + row] += finish(v, row);
#else
        y[token * p.y_stride + p.row0 + row] = finish(v, row);
#endif
    }
}
#endif
