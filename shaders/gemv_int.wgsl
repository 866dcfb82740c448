// y = W x for one token with integer activations: gemv.wgsl with x rounded to 8 bits, a scale per group of 32, on the way
// in. The golay switch `--activations int8`; the rounding is llama.cpp's for these products, and docs/speed.md shows what
// it does to perplexity.
//
// The dots are dot4I8Packed: an instruction on most GPUs. PAIRS (codes of up to four bits without a sign) computes two
// products in one 32-bit multiplication instead: with A = c0 + c2 2^16 and B = q2 + q0 2^16 the upper half of A B is
// c0 q0 + c2 q2; eight such are added before the waste in the lower half (below 8 * 15 * 127 < 2^15) is rounded away.
// Adapters that have no instruction for packed dots (lavapipe) take that.
//
// Geometry, prologue and epilogue as gemv.wgsl. Workgroup memory: 128 groups of x at 40 bytes (72 with PAIRS).
//
// Per weight: the format's bytes and mask, and a quarter of a packed dot; PAIRS: 0.75 integer ops to spread the codes, half
// a multiplication and half an addition.
#define ROWS 4
override WG: u32 = 128u;
override LANES: u32 = 32u;
const XT: u32 = 128u;
#import gemv_io
#import int8
#import {{FORMAT}}

#if !SHARED
#if PAIRS
var<workgroup> xq: array<vec2<u32>, XT * 8u>;
#else
var<workgroup> xq: array<u32, XT * 8u>;
#endif
// Scale of a group, and the sums of its halves as integers.
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
            }
            let top = subgroupMax(largest(own));
            let own_q = int8_quad(own, select(0.0, 127.0 / top, top > 0.0));
            let own_w = int8_words(own_q);
            let own_s = f32(select(0, (own_q.x + own_q.y) + (own_q.z + own_q.w), lane < 8u));
            let scale = top / 127.0;
#if HALVES
            let sum_lo = subgroupAdd(select(0.0, own_s, lane < 4u));
            let sum_hi = subgroupAdd(select(0.0, own_s, lane >= 4u));
#else
            let sum_lo = subgroupAdd(own_s);
            let sum_hi = 0.0;
#endif
#for j in 0..8
            let q{{j}} = subgroupBroadcast(own_w, {{j}}u);
#endfor
#else
    for (var t0 = 0u; t0 < p.groups; t0 += XT) {
        let t1 = min(p.groups, t0 + XT);
        if (t0 > 0u) {
            workgroupBarrier();
        }
        for (var i = tid; i < t1 - t0; i += WG) {
            let k0 = (t0 + i) * 8u;
            var top = 0.0;
#for j in 0..8
            var v{{j}} = vec4<f32>(0.0);
            if (k0 + {{j}}u < n4) {
                v{{j}} = x[base + k0 + {{j}}u];
#if NORM
                ss += dot(v{{j}}, v{{j}});
                v{{j}} *= norm_w[k0 + {{j}}u];
#endif
            }
            top = max(top, largest(v{{j}}));
#endfor
            let inverse = select(0.0, 127.0 / top, top > 0.0);
            var lo = vec4<i32>(0);
            var hi = vec4<i32>(0);
#for j in 0..8
            {
                let q = int8_quad(v{{j}}, inverse);
                xq[i * 8u + {{j}}u] = int8_words(q);
                if ({{j}}u < 4u) {
                    lo += q;
                } else {
                    hi += q;
                }
            }
#endfor
            xs[i] = vec4<f32>(top / 127.0, f32((lo.x + lo.y) + (lo.z + lo.w)), f32((hi.x + hi.y) + (hi.z + hi.w)), 0.0);
        }
        workgroupBarrier();
        for (var g = t0 + lane; g < t1; g += LANES) {
            let xb = g - t0;
            let scale = xs[xb].x;
            let sum_lo = xs[xb].y;
            let sum_hi = xs[xb].z;
#for j in 0..8
            let q{{j}} = xq[xb * 8u + {{j}}u];
#endfor
#endif
#for r in 0..ROWS
            {
                let w = w_group(r{{r}}, g, p.groups);
#if PAIRS
                var l = 0u;
                var h = 0u;
#for j in 0..4
                {
                    let b = w_bytes(w, {{j}}u);
                    l += (b & 0x00ff00ffu) * q{{j}}.x + ((b >> 8u) & 0x00ff00ffu) * q{{j}}.y;
                }
#endfor
#for j in 4..8
                {
                    let b = w_bytes(w, {{j}}u);
                    h += (b & 0x00ff00ffu) * q{{j}}.x + ((b >> 8u) & 0x00ff00ffu) * q{{j}}.y;
                }
#endfor
                let lo = f32(bitcast<i32>(l + 0x8000u) >> 16u);
                let hi = f32(bitcast<i32>(h + 0x8000u) >> 16u);
#else
                let lo = f32((dot4I8Packed(w_bytes(w, 0u), q0) + dot4I8Packed(w_bytes(w, 1u), q1)) + (dot4I8Packed(w_bytes(w, 2u), q2) + dot4I8Packed(w_bytes(w, 3u), q3)));
                let hi = f32((dot4I8Packed(w_bytes(w, 4u), q4) + dot4I8Packed(w_bytes(w, 5u), q5)) + (dot4I8Packed(w_bytes(w, 6u), q6) + dot4I8Packed(w_bytes(w, 7u), q7)));
#endif
                let s = w_scale(w, 0u);
#if HALVES
                let t = w_scale(w, 1u);
                a{{r}} += scale * ((s.x * (lo - W_OFF * sum_lo) - s.y * sum_lo) + (t.x * (hi - W_OFF * sum_hi) - t.y * sum_hi));
#else
                a{{r}} += scale * (s.x * ((lo + hi) - W_OFF * (sum_lo + sum_hi)) - s.y * (sum_lo + sum_hi));
#endif
            }
#endfor
        }
    }
#import gemv_end
}
