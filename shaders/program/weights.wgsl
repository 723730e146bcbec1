// Gradients of parameters: ordered = (adds ? ordered : 0) + factor x sum over positions. Each thread sums in registers, over positions in
// their order.
#import shared/program
#import shared/jobs

struct Job {
    kind: u32,
    // Its first workgroup, and how many threads have something to do.
    group: u32,
    threads: u32,
    // What is summed, and quads of its rows.
    x: u32,
    x_quads: u32,
    d_y: u32,
    d_quads: u32,
    moments: u32,
    // Where the gradient lies in `ordered`, and from one row and column to the next.
    to: u32,
    row_stride: u32,
    column_stride: u32,
    // Rows and columns of one group, without and with what fills it up; see pack.wgsl.
    rows: u32,
    filled_rows: u32,
    columns: u32,
    filled_columns: u32,
    all_rows: u32,
    // In x. A vector, since jobs of a uniform lie at multiples of its size.
    all_columns: vec4<u32>,
}

struct Jobs {
    positions: u32,
    columns: u32,
    adds: u32,
    factor: f32,
    count: u32,
    each: array<Job, 200>,
}

const MATRIX = 0u;
// Of a bias: the sum of d_y.
const SUM = 1u;
// Of LayerNorm: of the bias as above, and of the gain, which lies `row_stride` before it.
const NORM = 2u;
const WORDS = 3u;
const PLACES = 4u;

@group(0) @binding(0) var<uniform> jobs: Jobs;

// Sixteen rows of a table of words, one quad wide. Each position adds to the row of its token.
fn words(job: Job, thread: u32) {
    let quads = job.d_quads;
    let first = thread / quads * 16u;
    let quad = thread % quads;
    let end = min(first + 16u, job.all_rows);
    let width = job.all_columns.x;
    let columns = min(4u, width - quad * 4u);
    let to = job.to + quad * 4u;
    if jobs.adds == 0u {
        for (var row = first; row < end; row++) {
            for (var i = 0u; i < columns; i++) {
                ordered[to + row * width + i] = 0.0;
            }
        }
    }
    var d = job.d_y + quad;
    for (var p = 0u; p < jobs.positions; p++) {
        let token = u32(tokens[p]);
        if token >= first && token < end {
            let value = jobs.factor * arena[d];
            for (var i = 0u; i < columns; i++) {
                ordered[to + token * width + i] += value[i];
            }
        }
        d += quads;
    }
}

@compute @workgroup_size(32, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let job = jobs.each[job_of(group.x)];
    let thread = (group.x - job.group) * 32u + lane;
    if thread >= job.threads {
        return;
    }
    if job.kind == WORDS {
        words(job, thread);
        return;
    }
    // Eight rows of two quads, of which a kind fills as many as it has.
    #each 8 var a$ = vec4<f32>(0.0); var b$ = vec4<f32>(0.0);
    var row = 0u;
    var quad = thread;
    var rows = 1u;
    var quads = 1u;
    if job.kind == MATRIX {
        let across = (job.d_quads + 1u) / 2u;
        let down = thread / across;
        quad = (thread - down * across) * 2u;
        row = down * 8u;
        quads = min(2u, job.d_quads - quad);
        rows = min(8u, job.x_quads * 4u - row);
        let second = quads - 1u;
        let below = rows / 8u;
        var x = job.x + down * 2u;
        var d = job.d_y + quad;
        for (var p = 0u; p < jobs.positions; p++) {
            let x0 = arena[x];
            let x1 = arena[x + below];
            let m = arena[d];
            let n = arena[d + second];
            a0 += x0.x * m; b0 += x0.x * n;
            a1 += x0.y * m; b1 += x0.y * n;
            a2 += x0.z * m; b2 += x0.z * n;
            a3 += x0.w * m; b3 += x0.w * n;
            a4 += x1.x * m; b4 += x1.x * n;
            a5 += x1.y * m; b5 += x1.y * n;
            a6 += x1.z * m; b6 += x1.z * n;
            a7 += x1.w * m; b7 += x1.w * n;
            x += job.x_quads;
            d += job.d_quads;
        }
    } else {
        var at = quad;
        var step = 1u;
        var first = 0u;
        if job.kind == PLACES {
            row = thread / job.d_quads;
            quad = thread % job.d_quads;
            first = select(jobs.positions, row, row < jobs.columns);
            step = jobs.columns;
            at = row * job.d_quads + quad;
        }
        for (var p = first; p < jobs.positions; p += step) {
            let d = arena[job.d_y + at];
            if job.kind == NORM {
                let moments = arena[job.moments + p];
                a0 += d * (arena[job.x + at] - moments.x) * moments.y;
                a1 += d;
            } else {
                a0 += d;
            }
            at += step * job.d_quads;
        }
        // Rows of a LayerNorm are gain and bias.
        rows = select(1u, 2u, job.kind == NORM);
    }
    for (var k = 0u; k < rows; k++) {
        #each 8 if k == $u { a0 = a$; b0 = b$; }
        var r = row + k;
        if job.rows < job.all_rows {
            let part = r / job.filled_rows;
            let inside = r - part * job.filled_rows;
            r = select(job.all_rows, part * job.rows + inside, inside < job.rows);
        }
        if r >= job.all_rows {
            continue;
        }
        for (var q = 0u; q < quads; q++) {
            var c = (quad + q) * 4u;
            var there = min(4u, job.all_columns.x - c);
            if job.columns < job.all_columns.x {
                let part = c / job.filled_columns;
                let inside = c - part * job.filled_columns;
                c = part * job.columns + inside;
                there = min(4u, job.columns - inside);
            }
            let value = jobs.factor * select(a0, b0, q == 1u);
            let to = job.to + r * job.row_stride + c * job.column_stride;
            for (var i = 0u; i < there; i++) {
                let at = to + i * job.column_stride;
                var before = 0.0;
                if jobs.adds != 0u {
                    before = ordered[at];
                }
                ordered[at] = before + value[i];
            }
        }
    }
}
