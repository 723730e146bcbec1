//! A short run on a device against the same run in plain f64.

use microbatch_lab::{
    batch::oracle::relative_l2,
    data::{self, Corpus},
    engine::{Advance, Device, Session, init, model::Network},
    protocol::{GroupRow, Outcome},
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

/// A run equals the same run of the oracle: every loss, every norm, and the parameters at the end.
pub(crate) async fn equals_oracle(device: &Device, setup: &Setup, tolerance: f64) -> Vec<GroupRow> {
    let corpus = corpus(setup);
    let network = Network::new(setup.model, corpus.vocabulary.size());
    let start = init::parameters(&network, &setup.start, &corpus.vocabulary, setup.seed).expect("a start");
    let mut session = Session::new(device, setup, corpus.clone()).expect("a session");
    let rows = rows(&mut session).await;
    let expected = reference::train(setup, &corpus.examples, &network, &start, rows.len());
    assert!(!rows.is_empty());
    for (row, steps) in rows.iter().zip(&expected) {
        assert_eq!(row.lanes.len(), steps.len());
        for (lane, step) in row.lanes.iter().zip(steps) {
            let at = format!("group {} of {setup:?}", row.plan.number);
            assert_eq!(lane.outcome, Outcome::Applied);
            let error = relative_l2(&lane.loss_sums, &step.loss_sums);
            assert!(
                error <= tolerance,
                "{at}: {error:e}, losses {:?} against {:?}",
                lane.loss_sums,
                step.loss_sums
            );
            let error = (lane.gradient_norm - step.gradient_norm).abs() / step.gradient_norm;
            assert!(
                error <= tolerance,
                "{at}: {error:e}, norm {} against {}",
                lane.gradient_norm,
                step.gradient_norm
            );
        }
    }
    let parameters = session.parameters().await.expect("read");
    for (ours, step) in parameters.iter().zip(expected.last().expect("a group")) {
        let ours: Vec<f64> = ours.iter().copied().map(f64::from).collect();
        let error = relative_l2(&ours, &step.parameters);
        assert!(error <= tolerance, "parameters after {setup:?}: {error:e}");
    }
    rows
}
