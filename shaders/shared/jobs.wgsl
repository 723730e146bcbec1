// Several jobs share one launch, each with workgroups of its own: the last job that begins at or before workgroup `group`; `jobs` is the
// importing file's.
fn job_of(group: u32) -> u32 {
    var low = 0u;
    var high = jobs.count;
    while high - low > 1u {
        let middle = (low + high) / 2u;
        if jobs.each[middle].group <= group {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}
