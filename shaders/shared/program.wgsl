// What all files in program/ bind. Rows of numbers lie in quads: four numbers each, the last one filled up with zeros.

// The working memory.
@group(0) @binding(1) var<storage, read_write> arena: array<vec4<f32>>;
// The parameters as pack.wgsl lays them out.
@group(1) @binding(0) var<storage, read_write> parameters: array<vec4<f32>>;
// The parameters in their own order, in a forward; their gradient, in a backward.
@group(1) @binding(1) var<storage, read_write> ordered: array<f32>;
// One entry a position.
@group(2) @binding(0) var<storage, read_write> tokens: array<i32>;
@group(2) @binding(1) var<storage, read_write> labels: array<i32>;
@group(2) @binding(2) var<storage, read_write> weights: array<f32>;
@group(2) @binding(3) var<storage, read_write> totals: array<f32>;

// An offset that stands for nothing.
const NONE = 0xffffffffu;
