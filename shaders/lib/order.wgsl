// Floats as integers in the order of their values, NaN on top; and a workgroup's best (key, id), lowest id on ties.
const KEY_NAN: u32 = 0xffffffffu;
const KEY_INF: u32 = 0xff800000u;
const KEY_NEG_INF: u32 = 0x007fffffu;

fn order_key(v: f32) -> u32 {
    let b = bitcast<u32>(v);
    if ((b & 0x7fffffffu) > 0x7f800000u) {
        return KEY_NAN;
    }
    // Minus zero counts as zero: it must tie with it.
    if (b == 0x80000000u) {
        return 0x80000000u;
    }
    return select(b | 0x80000000u, ~b, b >= 0x80000000u);
}

fn order_value(k: u32) -> f32 {
    return bitcast<f32>(select(~k, k & 0x7fffffffu, k >= 0x80000000u));
}

var<workgroup> best_k: array<u32, WG>;
var<workgroup> best_i: array<u32, WG>;

fn best_of(key: u32, id: u32, tid: u32) {
    best_k[tid] = key;
    best_i[tid] = id;
    workgroupBarrier();
    for (var n = WG / 2u; n > 0u; n >>= 1u) {
        if (tid < n) {
            let k = best_k[tid + n];
            let i = best_i[tid + n];
            if (k > best_k[tid] || (k == best_k[tid] && i < best_i[tid])) {
                best_k[tid] = k;
                best_i[tid] = i;
            }
        }
        workgroupBarrier();
    }
}
