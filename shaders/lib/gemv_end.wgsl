// The end of gemv.wgsl and gemv_int.wgsl, inside `main`: joins the lanes' sums a0, a1, ... of a team, applies the norm's
// factor and the epilogue, and stores.
#if NORM
#if SHARED
    let rms = inverseSqrt(subgroupAdd(ss) / f32(p.cols) + p.eps);
#else
    let rms = inverseSqrt(wg_sum(ss, tid) / f32(p.cols) + p.eps);
#endif
#endif
#if SHARED
    // Every invocation has its rows to itself.
#else
#if SUBGROUP
#for r in 0..ROWS
    a{{r}} = subgroupAdd(a{{r}});
#endfor
#else
#if !ONE_LANE
#for r in 0..ROWS
    sums[{{r}}u * WG + tid] = a{{r}};
#endfor
    workgroupBarrier();
    for (var n = LANES / 2u; n > 0u; n >>= 1u) {
        if (lane < n) {
#for r in 0..ROWS
            sums[{{r}}u * WG + tid] += sums[{{r}}u * WG + tid + n];
#endfor
        }
        workgroupBarrier();
    }
#for r in 0..ROWS
    a{{r}} = sums[{{r}}u * WG + tid];
#endfor
#endif
#endif
    if (lane != 0u) {
        return;
    }
#endif
#if NORM
#for r in 0..ROWS
    a{{r}} *= rms;
#endfor
#endif
#for r in 0..ROWS
#if EPI == pair
    // Pairs are written by the even row below.
    let v{{r}} = finish(a{{r}}, r{{r}});
#else
    if (row + {{r}}u <= last) {
#if EPI == add
        y[p.row0 + row + {{r}}u] += finish(a{{r}}, r{{r}});
#else
        y[p.row0 + row + {{r}}u] = finish(a{{r}}, r{{r}});
#endif
    }
#endif
#endfor
#if EPI == pair
    let half = (p.row0 + row) / 2u;
    if (row + 1u <= last) {
        y[half] = act(v0) * v1;
    }
#if ROWS == 4
    if (row + 3u <= last) {
        y[half + 1u] = act(v2) * v3;
    }
#endif
#if ROWS == 8
    if (row + 3u <= last) {
        y[half + 1u] = act(v2) * v3;
    }
    if (row + 5u <= last) {
        y[half + 2u] = act(v4) * v5;
    }
    if (row + 7u <= last) {
        y[half + 3u] = act(v6) * v7;
    }
#endif
#endif
