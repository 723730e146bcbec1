//! Faults of a lane as a set.

use microbatch_lab::batch::{
    Fault, FaultId, Faults,
    fault::{Excluded, TABLE},
};
use proptest::{prelude::*, sample};

use super::support;

proptest! {
    #![proptest_config(support::config(256))]

    #[test]
    fn faults_are_a_set_with_at_most_one_a_place(ids in sample::subsequence(TABLE.iter().map(|row| row.id).collect::<Vec<_>>(), 0..8).prop_shuffle()) {
        let mut kept: Vec<FaultId> = Vec::new();
        let mut faults = Faults::NONE;
        for id in ids {
            let rival = kept.iter().copied().find(|other| Fault::of(*other).place == Fault::of(id).place);
            match (faults.and(id), rival) {
                (Ok(more), None) => { faults = more; kept.push(id); }
                (Err(error), Some(rival)) => prop_assert_eq!(error, Excluded(rival, id)),
                (result, rival) => prop_assert!(false, "{result:?} with {rival:?}"),
            }
        }
        prop_assert_eq!(faults.is_empty(), kept.is_empty());
        for row in TABLE {
            prop_assert_eq!(faults.has(row.id), kept.contains(&row.id));
            let without = faults.without(row.id);
            prop_assert!(!without.has(row.id));
            prop_assert_eq!(without.rows().count(), kept.iter().filter(|id| **id != row.id).count());
        }
        kept.sort_unstable();
        prop_assert_eq!(Vec::<FaultId>::from(faults), kept.clone());
        prop_assert_eq!(Faults::try_from(kept), Ok(faults));
        let json = serde_json::to_string(&faults).expect("json");
        prop_assert_eq!(serde_json::from_str::<Faults>(&json).expect("faults"), faults);
    }
}
