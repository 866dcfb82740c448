//! The harness: how fast each kernel is on this adapter, beside what the adapter could do at best.
//!
//! `golay bench`, `golay tune` and the browser's bench page are this room. It knows kernels and adapters, no vendor's
//! name and no model; [`report::Report`] is what it leaves behind.
//!
//! A kernel is checked against its f64 twin on the very shape before it is timed, and a kernel that disagrees is never
//! timed: a fast wrong answer is worth nothing.

pub mod ceilings;
pub mod geometries;
pub mod kernels;
pub mod page;
pub mod plan;
pub mod report;
pub mod tune;

/// The middle of some values, and the ends: (median, least, greatest). Zeros for none.
pub fn median(values: &[f64]) -> (f64, [f64; 2]) {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    match (v.first(), v.last()) {
        (Some(&lo), Some(&hi)) => {
            let n = v.len();
            let mid = if n % 2 == 1 { v[n / 2] } else { (v[n / 2 - 1] + v[n / 2]) / 2.0 };
            (mid, [lo, hi])
        }
        _ => (0.0, [0.0; 2]),
    }
}
