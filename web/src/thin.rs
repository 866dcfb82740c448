//! A short list of self tests that still meets every switch of every kernel.
//!
//! A browser compiles a kernel for about a second on a CPU, so the full list takes long there. Most of it differs in
//! sizes or in the weight format only; faults of a shader compiler rather come with a switch, or with two at once.

use golay::gpu::KernelKey;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Which of the cases to keep, given the kernels that each needs: the first `all`, and of the rest those in which two
/// switches of one kernel have values not met together before.
pub fn pairs(needs: &[Vec<KernelKey>], all: usize) -> Vec<usize> {
    let mut switches: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for key in needs.iter().flatten() {
        let names = key.defines.keys().map(String::as_str).filter(|name| is_switch(key, name));
        switches.entry(&key.shader).or_default().extend(names);
    }
    let mut met = HashSet::new();
    let mut kept = Vec::new();
    for (i, keys) in needs.iter().enumerate() {
        let mut fresh = false;
        for key in keys {
            let names = switches.get(key.shader.as_str()).into_iter().flatten();
            // A switch that is not set has a value as well.
            let values: Vec<_> = names.map(|n| (*n, key.defines.get(*n).map(String::as_str))).collect();
            fresh |= met.insert((key.shader.as_str(), None, None));
            for (j, a) in values.iter().enumerate() {
                for b in &values[j..] {
                    fresh |= met.insert((key.shader.as_str(), Some(*a), Some(*b)));
                }
            }
        }
        if fresh || i < all {
            kept.push(i);
        }
    }
    kept
}

/// All defines but the weight format, which the first cases go through; embedding is quick to compile and keeps it.
fn is_switch(key: &KernelKey, name: &str) -> bool {
    name != "FORMAT" || key.shader == "embed"
}
