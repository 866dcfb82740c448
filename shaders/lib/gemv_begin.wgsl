// The beginning of `main` of gemv.wgsl and gemv_int.wgsl: which rows a team has, and its sums a0, a1, ...
#if !SUBGROUP
#if !ONE_LANE
var<workgroup> sums: array<f32, WG * {{ROWS}}u>;
#endif
#endif

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(local_invocation_index) tid: u32,
#if SUBGROUP
    @builtin(subgroup_invocation_id) lane: u32,
#if !SHARED
    @builtin(subgroup_id) team: u32,
#endif
#endif
) {
#if SHARED
    let team = tid;
#endif
#if !SUBGROUP
    let lane = tid % LANES;
    let team = tid / LANES;
#endif
    let row = (wg.x * (WG / LANES) + team) * {{ROWS}}u;
    let last = p.rows - 1u;
    let n4 = p.cols / 4u;
#if LAST
    let base = (state[S_TOKENS] - 1u) * n4;
#else
    let base = 0u;
#endif
    var ss = 0.0;
#for r in 0..ROWS
    var a{{r}} = 0.0;
    let r{{r}} = min(row + {{r}}u, last);
#endfor
