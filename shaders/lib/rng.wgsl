// Threefry-2x32 with 20 rounds: counter-based random numbers, u32 arithmetic only.
// The twin of src/generate/rng.rs; both give the same bits. Its test compares the constants below.

const THREEFRY_PARITY: u32 = 0x1bd11bdau;
// Rotation distances, four rounds to a word, first round in the low byte.
const THREEFRY_ROTATIONS_EVEN: u32 = 0x061a0f0du;
const THREEFRY_ROTATIONS_ODD: u32 = 0x18101d11u;

fn threefry_round(x: vec2<u32>, distance: u32) -> vec2<u32> {
    let a = x.x + x.y;
    // Distances lie in 1..31, so both shifts are defined.
    let b = (x.y << distance) | (x.y >> (32u - distance));
    return vec2<u32>(a, b ^ a);
}

fn threefry_four(x: vec2<u32>, distances: u32) -> vec2<u32> {
    var y = threefry_round(x, distances & 0xffu);
    y = threefry_round(y, (distances >> 8u) & 0xffu);
    y = threefry_round(y, (distances >> 16u) & 0xffu);
    return threefry_round(y, distances >> 24u);
}

// The block function: key and counter to two words of 32 random bits.
fn threefry2x32(key: vec2<u32>, ctr: vec2<u32>) -> vec2<u32> {
    let k2 = THREEFRY_PARITY ^ key.x ^ key.y;
    var x = ctr + key;
    x = threefry_four(x, THREEFRY_ROTATIONS_EVEN) + vec2<u32>(key.y, k2 + 1u);
    x = threefry_four(x, THREEFRY_ROTATIONS_ODD) + vec2<u32>(k2, key.x + 2u);
    x = threefry_four(x, THREEFRY_ROTATIONS_EVEN) + vec2<u32>(key.x, key.y + 3u);
    x = threefry_four(x, THREEFRY_ROTATIONS_ODD) + vec2<u32>(key.y, k2 + 4u);
    x = threefry_four(x, THREEFRY_ROTATIONS_EVEN) + vec2<u32>(k2, key.x + 5u);
    return x;
}

// Uniform number in [0, 1) with 24 random bits; seed is (low word, high word).
// Not called `uniform`, which would hide the address space of that name in the module that imports this.
fn rng_uniform(seed: vec2<u32>, position: u32, use_id: u32) -> f32 {
    return f32(threefry2x32(seed, vec2<u32>(position, use_id)).x >> 8u) * 5.9604644775390625e-8;
}
