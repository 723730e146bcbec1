//! Whether a run still gets anywhere.

/// Groups since the last one that brought a run nearer to its budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Barren {
    groups: u64,
    reached: u64,
}

impl Barren {
    /// A group ended: `reached` is the count that the budget goes by, `applied` whether any lane changed. A loss scale that `backed_off`
    /// has the next group tried with another one.
    pub fn group(&mut self, reached: u64, applied: bool, backed_off: bool) {
        let nearer = applied && reached > self.reached;
        self.groups = if nearer || backed_off { 0 } else { self.groups + 1 };
        self.reached = reached;
    }

    /// How many there are.
    pub fn groups(self) -> u64 {
        self.groups
    }

    /// Whether there are more than one epoch has: what a whole epoch did not do, the next one will not do either.
    pub fn endless(self, groups_per_epoch: u64) -> bool {
        self.groups > groups_per_epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_nearer_budget_or_another_scale_is_a_new_try() {
        let mut barren = Barren::default();
        let mut after = |reached, applied, backed_off| {
            barren.group(reached, applied, backed_off);
            (barren.groups(), barren.endless(2))
        };
        assert_eq!(
            after(0, true, false),
            (1, false),
            "another lane's update is none of the budget's"
        );
        assert_eq!(
            after(3, false, false),
            (2, false),
            "a count that grows over nothing but skips"
        );
        assert_eq!(after(3, true, false), (3, true));
        assert_eq!(after(4, true, false), (0, false));
        assert_eq!(after(4, false, false), (1, false));
        assert_eq!(after(4, false, true), (0, false));
        assert_eq!(
            after(4, true, false),
            (1, false),
            "nearer than after the last group, not than at first"
        );
    }
}
