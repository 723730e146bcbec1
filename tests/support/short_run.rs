//! A short run on a device against the same run in plain f64.

use microbatch_lab::{
    batch::{Counters, Example, oracle::relative_l2},
    data::{self, Corpus},
    engine::{Advance, Device, Session, init, model::Network},
    protocol::{GroupRow, LaneRow},
    setup::{Draft, Key, Setup, parse::parse},
};

use super::reference;

/// The default setup, made small, with changes.
pub(crate) fn setup(changes: &[(Key, &str)]) -> Setup {
    let small = [(Key::Examples, "40"), (Key::Width, "16"), (Key::Budget, "12")];
    let draft = small
        .iter()
        .chain(changes)
        .fold(Draft::default(), |draft, &(key, text)| draft.with(key, text));
    parse(&draft).unwrap_or_else(|problems| panic!("{problems:?}"))
}

pub(crate) fn corpus(setup: &Setup) -> Corpus {
    data::build(setup, None).expect("generated data")
}

/// All rows of a run.
pub(crate) async fn rows(session: &mut Session) -> Vec<GroupRow> {
    let mut rows = Vec::new();
    loop {
        match session.advance(false).await.expect("the device works") {
            Advance::Updated(row) => rows.push(*row),
            Advance::Finished => return rows,
            Advance::Began(_) | Advance::Microbatch(_) => {}
        }
    }
}

/// A run equals the same run of the oracle: every loss, norm, rate, scale and count, and the parameters of every replica at the end.
pub(crate) async fn equals_oracle(device: &Device, setup: &Setup, tolerance: f64) -> Vec<GroupRow> {
    equals_oracle_with(device, setup, corpus(setup).examples, tolerance).await
}

/// The same with examples of one's own, of the setup's vocabulary.
pub(crate) async fn equals_oracle_with(
    device: &Device,
    setup: &Setup,
    examples: Vec<Example>,
    tolerance: f64,
) -> Vec<GroupRow> {
    let vocabulary = corpus(setup).vocabulary;
    let network = Network::new(setup.model, vocabulary.size());
    let start = init::parameters(&network, &setup.start, &vocabulary, setup.seed).expect("a start");
    let mut session =
        Session::with_network(device, setup, examples.clone(), network, start.clone()).expect("a session");
    let rows = rows(&mut session).await;
    let expected = reference::train(setup, &examples, &network, &start, rows.len());
    assert!(!rows.is_empty());
    for (row, steps) in rows.iter().zip(&expected) {
        assert_eq!(row.lanes.len(), steps.len());
        for (lane, step) in row.lanes.iter().zip(steps) {
            let at = format!("group {} of {setup:?}", row.plan.number);
            same_inside(lane, &step.inner, tolerance, &at);
            assert_eq!(lane.outcome, step.outcome, "{at}");
            same(&lane.loss_sums, &step.loss_sums, tolerance, &at);
            same(&[lane.logged_loss], &[step.logged_loss], tolerance, &at);
            same(&[lane.gradient_norm], &[step.gradient_norm], tolerance, &at);
            same(&lane.clip_norms, &step.clip_norms, tolerance, &at);
            assert_eq!(
                lane.rate.to_bits(),
                step.rate.to_bits(),
                "{at}: {} {}",
                lane.rate,
                step.rate
            );
            assert_eq!(lane.scale.map(|scale| scale.next), step.scale, "{at}");
            same_counts(lane.counters, step.counters, &at);
        }
    }
    for (lane, step) in expected.last().expect("a group").iter().enumerate() {
        let replicas = session.replicas(lane).await.expect("read");
        assert_eq!(replicas.len(), step.parameters.len());
        for (ours, expected) in replicas.iter().zip(&step.parameters) {
            let ours: Vec<f64> = ours.parameters.iter().copied().map(f64::from).collect();
            same(&ours, expected, tolerance, &format!("parameters after {setup:?}"));
        }
    }
    rows
}

/// Every attempt before a group's last one.
fn same_inside(lane: &LaneRow, expected: &[reference::Inner], tolerance: f64, at: &str) {
    assert_eq!(lane.inner.len(), expected.len(), "{at}");
    for (ours, expected) in lane.inner.iter().zip(expected) {
        assert_eq!(
            (ours.after_index, ours.outcome),
            (expected.after_index, expected.outcome),
            "{at}"
        );
        same(&[ours.gradient_norm], &[expected.gradient_norm], tolerance, at);
        same(&ours.clip_norms, &expected.clip_norms, tolerance, at);
        assert_eq!(ours.rate.to_bits(), expected.rate.to_bits(), "{at}");
        assert_eq!(ours.scale.map(|scale| scale.next), expected.scale, "{at}");
        same_counts(ours.counters, expected.counters, at);
    }
}

/// The oracle counts what depends on the loop; the rest is counted as it goes.
fn same_counts(ours: Counters, expected: Counters, at: &str) {
    let counters = Counters {
        backwards: ours.backwards,
        unique_examples: ours.unique_examples,
        padded_tokens: ours.padded_tokens,
        ..expected
    };
    assert_eq!(ours, counters, "{at}");
}

/// Relative L2; what is no number agrees with what is no number, and zero with zero.
fn same(ours: &[f64], expected: &[f64], tolerance: f64, at: &str) {
    assert_eq!(ours.len(), expected.len(), "{at}");
    let finite = |of: &[f64]| of.iter().copied().filter(|x| x.is_finite()).collect::<Vec<f64>>();
    assert!(
        ours.iter().zip(expected).all(|(a, b)| a.is_finite() == b.is_finite()),
        "{at}: {ours:?} against {expected:?}"
    );
    let (ours, expected) = (finite(ours), finite(expected));
    if ours != expected {
        let error = relative_l2(&ours, &expected);
        assert!(error <= tolerance, "{at}: {error:e}, {ours:?} against {expected:?}");
    }
}
