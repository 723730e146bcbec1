// Lays parameters out in quads: every matrix as [in][out] and as [out][in], so that no other file reads along columns. One thread a quad.
#import shared/program
#import shared/jobs

// Along one side of a matrix, which comes in groups that are filled up one by one.
struct Job {
    // Its first workgroup.
    group: u32,
    // Where it goes, in quads, and how many quads it has and a row of it has.
    to: u32,
    quads: u32,
    row_quads: u32,
    // Where it comes from, and from one row and column to the next.
    first: u32,
    row_stride: u32,
    column_stride: u32,
    // Rows and columns of one group, without and with what fills it up.
    rows: u32,
    filled_rows: u32,
    columns: u32,
    filled_columns: u32,
    // Rows and columns that there are.
    all_rows: u32,
    // In x. A vector, since jobs of a uniform lie at multiples of its size.
    all_columns: vec4<u32>,
}

struct Jobs {
    count: u32,
    each: array<Job, 200>,
}

@group(0) @binding(0) var<uniform> jobs: Jobs;

@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let job = jobs.each[job_of(group.x)];
    let quad = (group.x - job.group) * 64u + lane;
    if quad >= job.quads {
        return;
    }
    var row = quad / job.row_quads;
    var column = (quad - row * job.row_quads) * 4u;
    // Where they come from, and how many of the four are numbers and not what fills a group up.
    var there = min(4u, job.all_columns.x - column);
    // One group has nothing before it; more than one are rare, and divisions slow.
    if job.columns < job.all_columns.x {
        let part = column / job.filled_columns;
        let inside = column - part * job.filled_columns;
        column = part * job.columns + inside;
        there = min(4u, job.columns - inside);
    }
    if job.rows < job.all_rows {
        let part = row / job.filled_rows;
        let inside = row - part * job.filled_rows;
        row = select(job.all_rows, part * job.rows + inside, inside < job.rows);
    }
    var value = vec4<f32>(0.0);
    if row < job.all_rows {
        let source = job.first + row * job.row_stride + column * job.column_stride;
        value.x = ordered[source];
        if there == 4u {
            value.y = ordered[source + job.column_stride];
            value.z = ordered[source + 2u * job.column_stride];
            value.w = ordered[source + 3u * job.column_stride];
        } else {
            for (var i = 1u; i < there; i++) {
                value[i] = ordered[source + i * job.column_stride];
            }
        }
    }
    parameters[job.to + quad] = value;
}
