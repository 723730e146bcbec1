//! Dropout: the same masks in engine and oracle, and what a split does to them.

use microbatch_lab::{
    batch::{
        PaddedBatch,
        dropout::{MaskStream, by_example},
        oracle::{Numerics, relative_l2},
    },
    engine::{Device, Session},
    setup::Key,
};

use super::{
    bench::{Bench, ENGINE, assert_near},
    gradient, short_run,
};

const MODELS: [&str; 2] = ["token_mlp", "transformer"];
const RATE: f64 = 0.25;

fn bench(model: &str, order: &str) -> Bench {
    super::bench(&[
        (Key::Model, model),
        (Key::Dropout, "0.25"),
        (Key::DropoutOrder, order),
        (Key::Lengths, "list"),
        (Key::LengthList, "3,9,14,5,21"),
    ])
}

fn masks_by_example(bench: &Bench, batch: &PaddedBatch, epoch: u32) -> Vec<Vec<f64>> {
    (0..)
        .zip(bench.network.dropout_widths())
        .map(|(place, width)| by_example(bench.setup.seed, RATE, batch, epoch, place, width))
        .collect()
}

#[test]
fn gradients_equal_those_of_the_oracle_with_the_same_masks() {
    for model in MODELS {
        let bench = bench(model, "by_example");
        let batch = bench.batch([3, 1, 7]);
        let mut numerics = bench.numerics(1);
        numerics.enter_epoch(2);
        let ours = gradient(&bench, &mut numerics, 0, &batch, 1.0);
        let masks = masks_by_example(&bench, &batch, 2);
        let with = |masks| bench.oracle(Numerics { half: false, masks }, &batch, 1.0);
        assert_near(model, &ours, &with(&masks), ENGINE);
        assert!(relative_l2(&with(&[]), &ours) > 0.1, "{model}: dropout does nothing");
    }
}

#[test]
fn a_replica_draws_from_its_stream_in_the_order_of_work() {
    for model in MODELS {
        let bench = bench(model, "stream");
        let mut numerics = bench.numerics(2);
        let mut streams = [0, 1].map(|replica| MaskStream::new(bench.setup.seed, replica));
        for (replica, ids) in [(0, [0, 1]), (1, [2, 3]), (0, [4, 5]), (1, [6, 7])] {
            let batch = bench.batch(ids);
            let stream = &mut streams[replica as usize];
            let masks: Vec<Vec<f64>> = bench
                .network
                .dropout_widths()
                .into_iter()
                .map(|width| stream.mask(RATE, batch.tokens.len(), width))
                .collect();
            let ours = gradient(&bench, &mut numerics, replica, &batch, 1.0);
            let expected = bench.oracle(
                Numerics {
                    half: false,
                    masks: &masks,
                },
                &batch,
                1.0,
            );
            assert_near(model, &ours, &expected, ENGINE);
        }
    }
}

/// In a loop it is the forward that draws, whether anything is scored or not; and a clone leaves the draws where they are.
#[test]
fn a_microbatch_without_a_supervised_token_draws_and_a_clone_does_not() {
    for model in MODELS {
        let bench = bench(model, "stream");
        let [first, second] = [[0, 1], [2, 3]].map(|ids| bench.batch(ids));
        let mut numerics = bench.numerics(1);
        let at_once = gradient(&bench, &mut numerics.clone(), 0, &second, 1.0);
        gradient(&bench, &mut numerics.clone(), 0, &first, 1.0);
        assert_eq!(gradient(&bench, &mut numerics.clone(), 0, &second, 1.0), at_once);

        let mut worked = numerics.clone();
        gradient(&bench, &mut worked, 0, &first, 1.0);
        bench.pass_by(&mut numerics, 0, &first);
        let [worked, passed] = [worked, numerics].map(|mut numerics| gradient(&bench, &mut numerics, 0, &second, 1.0));
        assert_eq!(worked, passed, "{model}");
        assert_ne!(worked, at_once, "{model}");
    }
}

/// The gradient of the loss sum over the first twelve examples, cut into microbatches of m on D replicas in turn.
fn whole(bench: &Bench, m: usize, replicas: u32) -> Vec<f64> {
    let mut numerics = bench.numerics(replicas);
    let mut total = vec![0.0; bench.start.len()];
    let ids: Vec<u32> = (0..12).collect();
    for (k, ids) in (0..).zip(ids.chunks(m)) {
        let gradient = gradient(
            bench,
            &mut numerics,
            k % replicas,
            &bench.batch(ids.iter().copied()),
            1.0,
        );
        total.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += g);
    }
    total
}

#[test]
fn masks_by_example_make_the_gradient_independent_of_the_split_and_a_stream_does_not() {
    let splits = [(4, 1), (1, 1), (3, 2), (1, 4)];
    for model in MODELS {
        let (keyed, stream) = (bench(model, "by_example"), bench(model, "stream"));
        let (keyed_whole, stream_whole) = (whole(&keyed, 12, 1), whole(&stream, 12, 1));
        for (m, replicas) in splits {
            let what = format!("{model}, m {m}, D {replicas}");
            assert_near(&what, &whole(&keyed, m, replicas), &keyed_whole, ENGINE);
            let apart = relative_l2(&whole(&stream, m, replicas), &stream_whole);
            assert!(apart > 0.05, "{what}: only {apart:e} apart");
        }
    }
}

/// Draws go to the positions in order, so that cutting a batch without changing its padding cuts the masks of a network's only place
/// where it cuts the batch. With more places each microbatch draws for all of them before the next one does.
#[test]
fn a_stream_knows_a_split_by_padding_places_and_replicas() {
    let [mlp, transformer] = MODELS.map(|model| bench(model, "stream"));
    assert_near("one place", &whole(&mlp, 6, 1), &whole(&mlp, 12, 1), ENGINE);
    assert!(relative_l2(&whole(&transformer, 6, 1), &whole(&transformer, 12, 1)) > 0.05);
}

/// Through a whole session: first group norm and parameters at the end.
fn run(model: &str, order: &str, m: &str, a: &str) -> (f64, Vec<f32>) {
    let setup = short_run::setup(&[
        (Key::Model, model),
        (Key::Microbatch, m),
        (Key::Accumulation, a),
        (Key::Replicas, "1"),
        (Key::Lanes, "token_weighted"),
        (Key::Dropout, "0.25"),
        (Key::DropoutOrder, order),
        (Key::Budget, "3"),
    ]);
    let mut session = Session::new(&Device::flex(), &setup, short_run::corpus(&setup)).unwrap();
    let rows = pollster::block_on(short_run::rows(&mut session));
    let parameters = pollster::block_on(session.parameters()).unwrap().remove(0);
    (rows[0].lanes[0].gradient_norm, parameters)
}

#[test]
fn the_full_batch_in_one_pass_drops_what_its_microbatches_drop() {
    for (order, near) in [("by_example", true), ("stream", false)] {
        let setup = short_run::setup(&[
            (Key::Replicas, "2"),
            (Key::Lanes, "token_weighted,full_batch"),
            (Key::Dropout, "0.25"),
            (Key::DropoutOrder, order),
            (Key::Budget, "1"),
        ]);
        let mut session = Session::new(&Device::flex(), &setup, short_run::corpus(&setup)).unwrap();
        let rows = pollster::block_on(short_run::rows(&mut session));
        let apart = rows[0].lanes[1].apart.expect("the second lane").gradient_relative_l2;
        // Both sides are f32, each off by up to half of what is allowed.
        assert_eq!(apart <= 2.0 * ENGINE, near, "{order}: {apart:e}");
        assert!(near || apart > 0.02, "{order}: {apart:e}");
    }
}

#[test]
fn runs_with_dropout_repeat_and_depend_on_the_split_only_by_their_stream() {
    for model in MODELS {
        assert_eq!(run(model, "stream", "2", "4"), run(model, "stream", "2", "4"));
        let off = |order| {
            let (one, other) = (run(model, order, "2", "4").0, run(model, order, "8", "1").0);
            (one - other).abs() / other
        };
        let (keyed, stream) = (off("by_example"), off("stream"));
        assert!(keyed <= ENGINE, "{model}: {keyed:e}");
        assert!(stream > 1e-3, "{model}: {stream:e}");
    }
}
