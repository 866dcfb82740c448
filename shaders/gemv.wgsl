// y = W x for one token: the kernel that decoding lives in.
//
// A team of LANES invocations serves ROWS rows at a time; lane l takes the groups of 32 weights l, l + LANES, ...
// x is staged in workgroup memory, 2048 values at a time, and read once for all ROWS rows. LANES = 1 is a row (or
// ROWS rows) per invocation, which software adapters prefer; LANES = 32 makes neighbouring lanes read neighbouring
// 16-byte words, which GPUs prefer. SUBGROUP replaces the tree at the end by subgroupAdd, on adapters whose subgroup
// size is fixed (LANES is then that size).
//
// SUBGROUP with ONE_LANE (subgroups of 8 or more) drops the stage and its barriers: all invocations of a subgroup need
// the same x, so each loads one quad of a group and hands it round by broadcast. On a CPU, where a load is one per
// lane, this is an eighth of them.
//
// Prologue: NORM multiplies x by the norm's weight while staging and sums its squares on the way; the factor
// 1/rms, one number, is applied to the finished sums. LAST takes the last token's row of x.
// Epilogue: EPI = store | add (into y, the residual) | pair (rows 2i and 2i+1 are gate and up: y[i] = act(g) * u);
// BIAS adds a bias; CAP squashes by cap * tanh(v / cap).
//
// Per weight: the format's bytes, its unpacking, and one multiply-add; per group one or two more for scale and offset
// (offsets are folded through the sum of x, which is shared by all ROWS rows).
//
// Ladder (lavapipe, 4096 x 14336; `golay bench kernels --family gemv --all`): a team of 32 30.3 ms for Q4_0, one lane with
// SUBGROUP 6.75. Codes read where they lie in their word, the power of two folded into x, gained 5 % (Q4_1 6.70 to 6.41 ms,
// Q4_K 10.17 to 9.73). fma(), 64-bit loads, textures and several row blocks a workgroup gained nothing. docs/speed.md.
#define ROWS 4
override WG: u32 = 128u;
override LANES: u32 = 32u;
const XT: u32 = 512u;
#import gemv_io
#import {{FORMAT}}

#if !SHARED
var<workgroup> xs: array<vec4<f32>, XT>;
#endif
#import gemv_begin
#if SHARED
    for (var g = 0u; g < p.groups; g++) {
        {
            let k = g * 8u + (lane & 7u);
            var own = vec4<f32>(0.0);
            if (k < n4) {
                own = x[base + k];
#if NORM
                if (lane < 8u) {
                    ss += dot(own, own);
                }
                own *= norm_w[k];
#endif
                own *= W_PLACE;
            }
#for j in 0..8
            let x{{j}} = subgroupBroadcast(own, {{j}}u);
#endfor
#else
    for (var t0 = 0u; t0 < p.groups; t0 += XT / 8u) {
        let t1 = min(p.groups, t0 + XT / 8u);
        if (t0 > 0u) {
            workgroupBarrier();
        }
        for (var i = tid; i < (t1 - t0) * 8u; i += WG) {
            let k = t0 * 8u + i;
            var v = vec4<f32>(0.0);
            if (k < n4) {
                v = x[base + k];
#if NORM
                ss += dot(v, v);
                v *= norm_w[k];
#endif
                v *= W_PLACE;
            }
            xs[i] = v;
        }
        workgroupBarrier();
        for (var g = t0 + lane; g < t1; g += LANES) {
            let xb = (g - t0) * 8u;
#for j in 0..8
            let x{{j}} = xs[xb + {{j}}u];
#endfor
#endif
#if !PLAIN
            let sl = (x0 + x1) + (x2 + x3);
            let sh = (x4 + x5) + (x6 + x7);
            let sum_lo = dot(sl, W_UNPLACE);
            let sum_hi = dot(sh, W_UNPLACE);
#endif
#for r in 0..ROWS
            {
                let w = w_group(r{{r}}, g, p.groups);
                let lo = (dot(w_placed(w, 0u), x0) + dot(w_placed(w, 1u), x1)) + (dot(w_placed(w, 2u), x2) + dot(w_placed(w, 3u), x3));
                let hi = (dot(w_placed(w, 4u), x4) + dot(w_placed(w, 5u), x5)) + (dot(w_placed(w, 6u), x6) + dot(w_placed(w, 7u), x7));
#if PLAIN
                a{{r}} += lo + hi;
#else
                let s = w_scale(w, 0u);
#if HALVES
                let t = w_scale(w, 1u);
                a{{r}} += (s.x * (lo - W_OFF * sum_lo) - s.y * sum_lo) + (t.x * (hi - W_OFF * sum_hi) - t.y * sum_hi);
#else
                a{{r}} += s.x * ((lo + hi) - W_OFF * (sum_lo + sum_hi)) - s.y * (sum_lo + sum_hi);
#endif
#endif
            }
#endfor
        }
    }
#import gemv_end
}
