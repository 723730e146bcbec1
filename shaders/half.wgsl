// The half-precision number nearest to x, ties to even, element by element; as f32, and by its bits alone.
//
// pack2x16float would be shorter, but WGSL leaves it open which of two neighbours it takes, whether it flushes what is subnormal, and what
// it makes of numbers beyond 65504. Integers leave nothing open, and no compiler takes it for granted that they are finite.

@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
// Elements.
@group(0) @binding(2) var<storage, read_write> sizes: array<u32>;

const INFINITY = 0x7f800000u;
// 65520, halfway between the largest half-precision number and the one that would follow it.
const OVERFLOW = 0x477ff000u;
// 2^-14, the smallest number that half precision has with all its 11 bits.
const NORMAL = 0x38800000u;

// From a number without its sign, to one without its sign.
fn nearest(magnitude: u32) -> u32 {
    if magnitude > INFINITY {
        // Not a number, and it stays the same one.
        return magnitude;
    }
    if magnitude >= OVERFLOW {
        return INFINITY;
    }
    if magnitude >= NORMAL {
        // 13 bits are dropped; a carry runs into the exponent, as it should.
        let odd = (magnitude >> 13u) & 1u;
        return (magnitude + 0xfffu + odd) & ~0x1fffu;
    }
    // Multiples of 2^-24: the significand is shifted until its unit is that.
    let exponent = magnitude >> 23u;
    if exponent < 102u {
        // Below 2^-25, half of that unit.
        return 0u;
    }
    let significand = (magnitude & 0x7fffffu) | 0x800000u;
    let shift = 126u - exponent;
    let kept = significand >> shift;
    let dropped = significand & ((1u << shift) - 1u);
    let middle = 1u << (shift - 1u);
    let up = dropped > middle || (dropped == middle && (kept & 1u) == 1u);
    let count = kept + select(0u, 1u, up);
    // At most 1024 units of 2^-24: exact, and never subnormal in f32.
    return bitcast<u32>(f32(count) * 5.9604644775390625e-8);
}

@compute @workgroup_size(64, 1, 1)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = (group.y * groups.x + group.x) * 64u + lane;
    if index >= sizes[0] {
        return;
    }
    let sign = x[index] & 0x80000000u;
    y[index] = sign | nearest(x[index] & 0x7fffffffu);
}
