//! How the numbers of a row lie in quads, four numbers each.

/// Numbers in equal groups, as heads are; each group is filled up with zeros to whole quads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Side {
    /// How many groups.
    pub(super) groups: usize,
    /// Numbers of one.
    pub(super) size: usize,
    /// The same with what fills it up.
    pub(super) filled: usize,
}

impl Side {
    /// `groups` of `size` numbers.
    pub(super) fn grouped(groups: usize, size: usize) -> Self {
        Self {
            groups,
            size,
            filled: size.next_multiple_of(4),
        }
    }

    /// `count` numbers in one group.
    pub(super) fn plain(count: usize) -> Self {
        Self::grouped(1, count)
    }

    /// Rows of a table, which are no quads.
    pub(super) fn rows(count: usize) -> Self {
        Self {
            groups: 1,
            size: count,
            filled: count,
        }
    }

    /// Numbers without what fills them up.
    pub(super) fn numbers(self) -> usize {
        self.groups * self.size
    }

    /// All that lies there.
    pub(super) fn filled(self) -> usize {
        self.groups * self.filled
    }

    /// Quads of a row.
    pub(super) fn quads(self) -> usize {
        self.filled() / 4
    }
}

/// A number as shaders take it.
pub(super) fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
