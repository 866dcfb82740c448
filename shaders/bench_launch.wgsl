// A dispatch that does next to nothing: what launching costs. Each depends on the one before through `sums`, as the
// kernels of a token do.
override WG: u32 = 32u;
struct Params {
    one: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) tid: u32) {
    sums[tid] += p.one;
}
