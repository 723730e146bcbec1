//! What a lane was seen doing in one group.

use crate::{batch::GroupPlan, engine::session::ReplicaValues, protocol::LaneRow};

/// What all lanes are held against.
pub(super) struct GroupEvidence<'a> {
    /// Examples of the controlled set.
    pub(super) examples: u64,
    /// The setup's own.
    pub(super) tolerance: f64,
    /// What the full batch in one pass gives its optimizer.
    pub(super) full: &'a [f64],
}

/// One group in every lane, the full batch first.
pub(super) struct Seen {
    /// The group as it is split.
    pub(super) plan: GroupPlan,
    /// Lane by lane.
    pub(super) lanes: Vec<Evidence>,
}

/// One lane in one group.
#[derive(Default)]
pub(super) struct Evidence {
    /// Parameters before the group; replicas start equal.
    pub(super) start: Vec<f64>,
    before: Vec<Vec<f32>>,
    /// Most bytes that differed from that between two microbatches, over replicas.
    pub(super) moved_bytes: u64,
    /// What each replica's optimizer was given. Empty where it was given nothing.
    pub(super) gradients: Vec<Vec<f64>>,
    /// What it reported.
    pub(super) row: Option<LaneRow>,
}

impl Evidence {
    pub(super) fn at_start(replicas: &[ReplicaValues]) -> Self {
        Self {
            start: replicas
                .first()
                .map(|replica| widened(&replica.parameters))
                .unwrap_or_default(),
            before: replicas.iter().map(|replica| replica.parameters.clone()).collect(),
            moved_bytes: 0,
            gradients: Vec::new(),
            row: None,
        }
    }

    pub(super) fn look(&mut self, replicas: &[ReplicaValues]) {
        let moved = self.before.iter().zip(replicas);
        let moved = moved
            .map(|(before, now)| differing_bytes(before, &now.parameters))
            .sum();
        self.moved_bytes = self.moved_bytes.max(moved);
    }

    pub(super) fn end(&mut self, replicas: &[ReplicaValues], row: LaneRow) {
        let given = replicas.iter().filter(|replica| !replica.stepped.is_empty());
        self.gradients = given.map(|replica| widened(&replica.stepped)).collect();
        self.row = Some(row);
    }
}

fn differing_bytes(before: &[f32], now: &[f32]) -> u64 {
    let of = |(a, b): (&f32, &f32)| {
        let bytes = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
        bytes.filter(|(a, b)| a != b).count() as u64
    };
    before.iter().zip(now).map(of).sum()
}

fn widened(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_is_one_byte_and_equal_numbers_of_other_bits_differ() {
        assert_eq!(differing_bytes(&[1.0, 2.0], &[1.0, 2.0]), 0);
        assert_eq!(differing_bytes(&[1.0], &[f32::from_bits(1.0f32.to_bits() ^ 1)]), 1);
        assert_eq!(differing_bytes(&[0.0], &[-0.0]), 1);
    }
}
