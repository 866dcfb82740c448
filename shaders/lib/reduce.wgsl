// Sums over a workgroup without subgroups. The importing shader declares `override WG`.
// SERIAL (software adapters): one barrier and every invocation adds all partial sums, since a barrier costs a CPU
// more than WG additions do. Otherwise a tree of log2(WG) barriers.
var<workgroup> wg_red: array<f32, WG>;

fn wg_sum(v: f32, tid: u32) -> f32 {
    wg_red[tid] = v;
    workgroupBarrier();
#if SERIAL
    var s = 0.0;
    for (var i = 0u; i < WG; i++) {
        s += wg_red[i];
    }
    workgroupBarrier();
    return s;
#else
    for (var n = WG / 2u; n > 0u; n >>= 1u) {
        if (tid < n) {
            wg_red[tid] += wg_red[tid + n];
        }
        workgroupBarrier();
    }
    let s = wg_red[0];
    workgroupBarrier();
    return s;
#endif
}
