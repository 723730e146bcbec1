//! Lanes with loop faults: how they are written, which are refused, and what they need.

use microbatch_lab::{
    batch::{
        Convention, ConventionId, Fault, FaultId, Faults, LaneRule, Pass, Recipe,
        fault::{Excluded, Needs, TABLE},
    },
    setup::{Draft, FieldError, Key, Named, Problem, codec, lane_name, parse::parse},
};

/// A draft in which every fault shows something.
fn ready() -> Draft {
    Draft::default()
        .with(Key::ClipNorm, "1")
        .with(Key::LossScale, "dynamic")
}

fn lanes(draft: &Draft, text: &str) -> Result<Vec<LaneRule>, Vec<(Key, Problem)>> {
    let errors = |errors: Vec<FieldError>| errors.into_iter().map(|e| (e.key, e.problem)).collect();
    parse(&draft.clone().with(Key::Lanes, text))
        .map(|setup| setup.lanes)
        .map_err(errors)
}

fn refused(draft: &Draft, text: &str) -> Problem {
    match lanes(draft, text).expect_err(text).as_slice() {
        [(Key::Lanes, problem)] => problem.clone(),
        other => panic!("{text}: {other:?}"),
    }
}

fn rule(convention: ConventionId, faults: &[FaultId]) -> LaneRule {
    LaneRule {
        convention,
        faults: Faults::try_from(faults.to_vec()).expect("of different places"),
    }
}

#[test]
fn a_lane_is_a_convention_and_its_faults() {
    let text = "token_weighted+never_synced, mean_of_means+clip_each_mean+zero_grad_forgotten; sum";
    assert_eq!(
        lanes(&ready(), text),
        Ok(vec![
            rule(ConventionId::TokenWeighted, &[FaultId::NeverSynced]),
            rule(
                ConventionId::MeanOfMeans,
                &[FaultId::ZeroGradForgotten, FaultId::ClipEachMean]
            ),
            rule(ConventionId::Sum, &[]),
        ])
    );
    let spaced = "token_weighted + never_synced\nmean_of_means +clip_each_mean+ zero_grad_forgotten sum";
    assert_eq!(lanes(&ready(), spaced), lanes(&ready(), text));
    // Written in the table's order, whatever was typed.
    let lane = rule(
        ConventionId::MeanOfMeans,
        &[FaultId::ClipEachMean, FaultId::ZeroGradForgotten],
    );
    assert_eq!(lane_name(lane), "mean_of_means+zero_grad_forgotten+clip_each_mean");
    assert_eq!(lane_name(ConventionId::Sum.into()), "sum");
}

#[test]
fn every_fault_is_read_under_its_name() {
    for row in TABLE {
        let text = format!("mean_of_means+{}", row.id.name());
        let lane = rule(ConventionId::MeanOfMeans, &[row.id]);
        assert_eq!(lanes(&ready(), &text), Ok(vec![lane]), "{text}");
        assert_eq!(lane_name(lane), text);
        assert!(!lane.correct() && lane.recipe() != Recipe::default());
    }
    for (id, name) in FaultId::NAMES {
        assert_eq!(Fault::of(*id).id, *id, "{name} has a row");
    }
    assert_eq!(FaultId::NAMES.len(), TABLE.len());
}

#[test]
fn names_that_nobody_knows_are_answered_with_those_that_are_known() {
    let unknown = |name: &str, allowed| match name {
        "" => Problem::NotOneOf { allowed },
        name => Problem::UnknownName {
            name: name.to_owned(),
            allowed,
        },
    };
    for (text, name) in [
        ("token_weighted+", ""),
        ("token_weighted+sum", "sum"),
        ("token_weighted++never_synced", ""),
        ("sum+never", "never"),
    ] {
        assert_eq!(refused(&ready(), text), unknown(name, FaultId::names()), "{text}");
    }
    for (text, name) in [
        ("+never_synced", ""),
        ("never_synced", "never_synced"),
        ("never_synced+token_weighted", "never_synced"),
        ("token_weighted,never_synced", "never_synced"),
    ] {
        assert_eq!(refused(&ready(), text), unknown(name, ConventionId::names()), "{text}");
    }
}

#[test]
fn faults_of_one_place_exclude_each_other() {
    for first in TABLE {
        for second in TABLE {
            let text = format!("mean_of_means+{}+{}", first.id.name(), second.id.name());
            if first.place == second.place && first.id != second.id {
                let wanted = Problem::FaultsExclude {
                    first: first.id.name(),
                    second: second.id.name(),
                };
                assert_eq!(refused(&ready(), &text), wanted);
            } else {
                assert!(lanes(&ready(), &text).is_ok(), "{text}");
            }
        }
    }
}

#[test]
fn a_lane_may_be_repeated_only_with_other_faults() {
    assert_eq!(
        lanes(
            &ready(),
            "sum, sum+never_synced, sum+single_backward, sum+never_synced+graph_retained"
        )
        .map(|l| l.len()),
        Ok(4)
    );
    let again = "sum+zero_grad_forgotten+never_synced";
    assert_eq!(
        refused(&ready(), &format!("sum+never_synced+zero_grad_forgotten,{again}")),
        Problem::Repeated { name: again.into() },
        "the order of faults is no difference"
    );
    // Twice the same fault is once.
    assert_eq!(
        lanes(&ready(), "sum+never_synced+never_synced"),
        Ok(vec![rule(ConventionId::Sum, &[FaultId::NeverSynced])])
    );
}

#[test]
fn a_fault_that_would_show_nothing_is_refused() {
    let plain = Draft::default();
    let (clip, scale) = (
        Draft::default().with(Key::ClipNorm, "0,5"),
        Draft::default().with(Key::LossScale, "dynamic"),
    );
    for row in TABLE {
        let (fault, text) = (row.id.name(), format!("mean_of_means+{}", row.id.name()));
        let no_clip = Problem::FaultNeedsClip { fault };
        let no_scale = Problem::FaultNeedsLossScale { fault };
        let wanted: [Option<Problem>; 3] = match row.needs {
            Needs::Nothing | Needs::PartMean => [None, None, None],
            Needs::Clip => [Some(no_clip.clone()), None, Some(no_clip)],
            Needs::LossScale => [Some(no_scale.clone()), Some(no_scale), None],
            Needs::ClipAndLossScale => [Some(no_clip.clone()), Some(no_scale), Some(no_clip)],
        };
        for (draft, wanted) in [&plain, &clip, &scale].into_iter().zip(wanted) {
            let found = lanes(draft, &text).err().map(|errors| errors[0].1.clone());
            assert_eq!(found, wanted, "{text}");
        }
    }
    // A norm or a scale that cannot be read is its own problem, and no second one of the lane.
    let unread = Draft::default().with(Key::ClipNorm, "?");
    let keys: Vec<Key> = lanes(&unread, "token_weighted+clip_each_mean")
        .expect_err("unreadable")
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(keys, [Key::ClipNorm]);
}

#[test]
fn a_mask_by_hand_needs_a_mean_that_may_be_over_nothing() {
    let fault = FaultId::HandMaskedMean.name();
    let refusals: Vec<Problem> = lanes(&ready(), &format!("sum+{fault},two_denominators+{fault}+never_synced"))
        .expect_err("a sum")
        .into_iter()
        .map(|(_, problem)| problem)
        .collect();
    assert_eq!(refusals, [Problem::FaultNeedsPartMean { fault }]);
    assert_eq!(
        refused(&Draft::default(), &format!("example_mean+{fault}+never_synced")),
        Problem::FaultNeedsPartMean { fault },
        "E is 0 only where N is"
    );
}

#[test]
fn the_full_batch_has_no_microbatches_to_go_wrong_with() {
    for row in TABLE {
        let fault = row.id.name();
        assert_eq!(
            refused(&ready(), &format!("full_batch+{fault}")),
            Problem::FaultNeedsSplit { fault }
        );
    }
    assert_eq!(Convention::of(ConventionId::FullBatch).pass, Pass::Whole);
}

#[test]
fn faults_are_stored_by_name_and_read_only_where_they_go_together() {
    let read = |json: &str| serde_json::from_str::<Faults>(json);
    assert_eq!(read("[]").ok(), Some(Faults::NONE));
    let both = read(r#"["never_synced", "zero_grad_forgotten"]"#).expect("two places");
    assert!(both.has(FaultId::NeverSynced) && both.has(FaultId::ZeroGradForgotten));
    assert_eq!(
        serde_json::to_value(both).expect("json"),
        serde_json::json!(["zero_grad_forgotten", "never_synced"])
    );
    let error = read(r#"["never_synced", "single_backward"]"#).expect_err("one place");
    let wanted = Excluded(FaultId::NeverSynced, FaultId::SingleBackward);
    assert!(error.to_string().contains(&wanted.to_string()), "{error}");
    assert!(read(r#"["no_such_fault"]"#).is_err());
    assert!(read("3").is_err());
}

#[test]
fn a_plus_survives_a_link_and_files_take_a_list() {
    let draft = ready().with(Key::Lanes, "token_weighted+never_synced");
    assert_eq!(codec::from_link(&codec::to_link(&draft)), Ok(draft.clone()));
    assert_eq!(
        codec::from_toml("v = 1\nlanes = ['token_weighted', 'sum+never_synced']"),
        Ok(Draft::default().with(Key::Lanes, "token_weighted, sum+never_synced"))
    );
}
