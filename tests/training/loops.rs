//! What a loop comes to in the corners of a run: budgets out of reach, groups without a token, gradients that are cleared or missing.

use microbatch_lab::{
    engine::{Advance, Device, Session},
    protocol::{Fault, GroupRow},
    setup::{Key, Setup},
};
use pollster::block_on;

use super::{corpus, setup};

/// The groups of a run and what ended it; none goes on for longer than a hundred groups here.
fn ended(setup: &Setup) -> (Vec<GroupRow>, Result<(), Fault>) {
    let mut session = Session::new(&Device::flex(), setup, corpus(setup)).unwrap();
    let mut rows = Vec::new();
    while rows.len() < 100 {
        match block_on(session.advance(false)) {
            Ok(Advance::Updated(row)) => rows.push(*row),
            Ok(Advance::Finished) => return (rows, Ok(())),
            Ok(Advance::Began(_) | Advance::Microbatch(_)) => {}
            Err(fault) => return (rows, Err(fault)),
        }
    }
    panic!("the run goes on");
}

#[test]
fn a_budget_that_the_first_lane_never_reaches_ends_the_run() {
    let lanes = "token_weighted+unscale_twice,token_weighted";
    let with = |unit| {
        setup(&[
            (Key::Model, "token_mlp"),
            (Key::LossScale, "dynamic"),
            (Key::Lanes, lanes),
            (Key::Budget, "60"),
            (Key::BudgetUnit, unit),
        ])
    };
    // Three groups an epoch.
    let (rows, end) = ended(&with("applied_updates"));
    assert_eq!((rows.len(), end), (4, Err(Fault::NothingApplies { groups: 4 })));
    let (rows, end) = ended(&with("examples"));
    assert_eq!((rows.len(), end), (5, Ok(())), "examples grow whatever becomes of them");
}

#[test]
fn a_scale_that_backs_off_is_another_try() {
    // Five skips in a row, in epochs of one group.
    let setup = setup(&[
        (Key::Model, "token_mlp"),
        (Key::Examples, "16"),
        (Key::LossScale, "dynamic"),
        (Key::InjectInf, "1:1:1,2:1:1,3:1:1,4:1:1,5:1:1"),
        (Key::Budget, "2"),
    ]);
    let (rows, end) = ended(&setup);
    assert_eq!((rows.len(), end), (7, Ok(())));
}
