// Which slots of its list a workgroup of attention reads. The importing shader declares `p`, `list` and P.
struct Slots {
    lo: u32,
    hi: u32,
    // The newest row of the tail is among them.
    newest: bool,
}

// Slots that queries at the positions `first` to `last` may see, from a multiple of `align` on; of these, with SPLIT, the
// part `split`, in multiples of `unit`, so that short contexts use few splits.
fn attn_slots(first: u32, last: u32, split: u32, align: u32, unit: u32) -> Slots {
    let head = list[p.list];
    var lo = 0u;
#if KV == aff
    var hi = head.x * P;
#else
    var hi = head.x * P + last + 1u - head.y;
    if (p.window > 0u && first + 1u > p.window + head.y) {
        lo = (head.x * P + first + 1u - p.window - head.y) / align * align;
    }
#endif
#if SPLIT
    let share = ((hi - lo + p.splits - 1u) / p.splits + unit - 1u) / unit * unit;
    let end = hi;
    lo = min(lo + split * share, end);
    hi = min(lo + share, end);
    return Slots(lo, hi, hi == end && lo < end);
#else
    return Slots(lo, hi, true);
#endif
}
