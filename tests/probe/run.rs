//! A probe beside the run that it looks at: it changes nothing there, and says what the lanes will do.

use super::*;

const MLP: (Key, &str) = (Key::Model, "token_mlp");

#[test]
fn the_run_goes_on_as_if_nobody_had_looked() {
    for model in ["token_mlp", "transformer"] {
        let setup = setup(&[(Key::Model, model), (Key::Budget, "5"), (Key::Lengths, "two_humped")]);
        let run = |probed: bool| {
            let mut session = Session::new(&Device::flex(), &setup, corpus(&setup)).unwrap();
            let mut rows = Vec::new();
            loop {
                if probed && session.at_group_boundary() {
                    let first = probe_now(&session, FullBatch::InOnePass).unwrap();
                    let again = probe_now(&session, FullBatch::InOnePass).unwrap();
                    assert_eq!(first.rows, again.rows, "the same point gives the same numbers");
                }
                match block_on(session.advance(false)).unwrap() {
                    Advance::Updated(row) => rows.push(row.lanes),
                    Advance::Finished => break,
                    Advance::Began(_) | Advance::Microbatch(_) => {}
                }
            }
            (rows, block_on(session.parameters()).unwrap(), session.counters())
        };
        // As text, in which NaN equals itself and every other number stands in full.
        let text = |probed| format!("{:?}", run(probed));
        assert!(text(true) == text(false), "{model}");
    }
}

#[test]
fn the_probe_foretells_the_lanes() {
    let lanes = "token_weighted,full_batch,mean_of_means,example_mean";
    let setup = setup(&[(Key::Lanes, lanes), (Key::Lengths, "two_humped")]);
    let (report, mut session) = probe_of_run(&setup, 0);
    let ended = group(&mut session);
    for (rule, lane) in setup.lanes.iter().zip(&ended.lanes) {
        close(
            "norm",
            row(&report, rule.convention).gradient_norm,
            lane.gradient_norm,
            0.0,
        );
    }
}

#[test]
fn a_group_is_probed_whole_or_not_at_all() {
    let setup = setup(&[(Key::Model, "token_mlp")]);
    let mut session = Session::new(&Device::flex(), &setup, corpus(&setup)).unwrap();
    assert!(matches!(block_on(session.advance(false)), Ok(Advance::Began(_))));
    assert_eq!(probe_now(&session, FullBatch::InOnePass), Err(Fault::InsideGroup));
    group(&mut session);
    assert!(probe_now(&session, FullBatch::InOnePass).is_ok());
}

/// Lanes of one group at the same parameters, against the probe of that group: masks, statistics and roundings are those that the lanes
/// meet, and looking leaves them due.
#[test]
fn the_probe_foretells_lanes_with_dropout_batch_norm_and_half_precision() {
    for changes in [
        &[MLP, (Key::BatchNorm, "yes")][..],
        &[MLP, (Key::Dropout, "0.3")],
        &[MLP, (Key::Dropout, "0.3"), (Key::DropoutOrder, "by_example")],
        &[(Key::Dropout, "0.3")],
        &[
            MLP,
            (Key::Precision, "f16"),
            (Key::LossScale, "dynamic"),
            (Key::InitScale, "1024"),
        ],
    ] {
        let lanes = [
            (Key::Lanes, "token_weighted,full_batch,mean_of_means,example_mean"),
            (Key::Lengths, "two_humped"),
            (Key::Budget, "2"),
        ];
        let setup = setup(&[&lanes, changes].concat());
        let (report, mut session) = probe_of_run(&setup, 0);
        let again = probe_now(&session, FullBatch::InOnePass).unwrap();
        assert_eq!(format!("{:?}", report.rows), format!("{:?}", again.rows), "{changes:?}");
        let ended = group(&mut session);
        // In half precision a factor before the backward moves what is rounded.
        let room = if setup.precision == Precision::F16 {
            1e-2
        } else {
            TOLERANCE
        };
        for (rule, lane) in setup.lanes.iter().zip(&ended.lanes) {
            let (ours, lanes) = (row(&report, rule.convention).gradient_norm, lane.gradient_norm);
            assert!(
                (ours - lanes).abs() <= room * lanes,
                "{changes:?}, {:?}: {ours} against {lanes}",
                rule.convention
            );
        }
        let full = report
            .rows
            .iter()
            .find(|row| row.convention == ConventionId::TokenWeighted)
            .unwrap();
        let parts = !probe::rows_apart(&setup);
        assert_eq!(full.relative_l2 > 1e-3, parts, "{changes:?}: {}", full.relative_l2);
        assert_eq!(report.full_batch, FullBatch::InOnePass);
        // Where rows see each other the full batch is no sum, and is computed in one pass even where a sum was asked for.
        let (as_sum, _) = {
            let session = Session::new(&Device::flex(), &setup, corpus(&setup)).unwrap();
            (probe_now(&session, FullBatch::AsSum).unwrap(), session)
        };
        let expected = if parts { FullBatch::InOnePass } else { FullBatch::AsSum };
        assert_eq!(as_sum.full_batch, expected, "{changes:?}");
        for (ours, one_pass) in as_sum.rows.iter().zip(&report.rows) {
            let of = format!("{changes:?}, {:?}", ours.convention);
            close(&of, ours.gradient_norm, one_pass.gradient_norm, room);
            close(&of, ours.relative_l2, one_pass.relative_l2, room);
            close(&of, ours.loss, one_pass.loss, 0.0);
        }
    }
}
