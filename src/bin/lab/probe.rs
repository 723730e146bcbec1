//! `lab probe`: every convention at one point.

use std::io::Write;

use microbatch_lab::{
    protocol::{FullBatch, ProbeReport, ProbeRow},
    setup::Named,
};

use crate::{args::OnDevice, device, failure::Failure};

pub(crate) fn run(subject: &OnDevice, out: &mut impl Write) -> Result<(), Failure> {
    pollster::block_on(async {
        let ready = device::open(subject, out).await?;
        let report = ready.session(subject)?.probe(FullBatch::InOnePass).await?;
        print(&report, out)
    })
}

fn print(report: &ProbeReport, out: &mut impl Write) -> Result<(), Failure> {
    writeln!(
        out,
        "group {} after {} updates: {} supervised tokens, full-batch gradient norm {:.6}",
        report.group, report.applied_updates, report.supervised_tokens, report.full_batch_norm
    )?;
    let names: Vec<&str> = report.rows.iter().map(|row| row.convention.name()).collect();
    let width = names.iter().map(|name| name.len()).max().unwrap_or(0);
    writeln!(
        out,
        "{:<width$}  {:>12}  {:>9}  {:>11}  {:>10}  {:>12}  {:>10}",
        "convention", "norm", "cosine", "relative L2", "norm ratio", "loss", "loss ratio"
    )?;
    for (name, row) in names.iter().zip(&report.rows) {
        writeln!(out, "{name:<width$}  {}", numbers(row))?;
    }
    writeln!(
        out,
        "noise floor {:.1e}: the token-weighted gradient against itself, summed in reverse\n{} backwards, {:.1} ms",
        report.noise_floor, report.backwards, report.elapsed_ms
    )?;
    Ok(())
}

fn numbers(row: &ProbeRow) -> String {
    format!(
        "{:>12.6}  {:>9.6}  {:>11.3e}  {:>10.5}  {:>12.6}  {:>10.5}",
        row.gradient_norm, row.cosine, row.relative_l2, row.norm_ratio, row.loss, row.loss_ratio
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use microbatch_lab::batch::convention::TABLE;

    /// Columns stand below each other whatever the numbers are.
    #[test]
    fn the_table_is_aligned() {
        let row = |(i, convention): (usize, &microbatch_lab::batch::Convention)| ProbeRow {
            convention: convention.id,
            gradient_norm: [0.5, 1234.25, f64::NAN][i % 3],
            cosine: [1.0, -0.25, f64::NAN][i % 3],
            relative_l2: [3e-8, 127.0, 0.0][i % 3],
            norm_ratio: [1.0, 76.0, f64::NAN][i % 3],
            loss: [3.3, 181.9, f64::NAN][i % 3],
            loss_ratio: [1.0, 76.0, f64::NAN][i % 3],
        };
        let report = ProbeReport {
            group: 3,
            applied_updates: 2,
            supervised_tokens: 76,
            full_batch: FullBatch::InOnePass,
            full_batch_norm: 0.5,
            rows: TABLE.iter().enumerate().map(row).collect(),
            noise_floor: 3e-8,
            backwards: 10,
            elapsed_ms: 1.25,
        };
        let mut out = Vec::new();
        print(&report, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let table = &lines[1..=TABLE.len() + 1];
        assert!(table.iter().all(|line| line.len() == table[0].len()), "{text}");
        assert!(
            text.contains("noise floor 3.0e-8") && text.contains("after 2 updates: 76 supervised"),
            "{text}"
        );
    }
}
