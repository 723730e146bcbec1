//! Points of one line, appended as they come, with a pyramid of extremes over them.

use std::{cmp::Ordering, ops::Range};

/// Points, or blocks of the level below, that one block covers.
const FAN: usize = 16;

/// Where the lowest and the highest of some points stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extremes {
    /// The first of the lowest.
    pub low_at: usize,
    /// The first of the highest.
    pub high_at: usize,
}

/// One line. Horizontal coordinates never go back; a vertical one that is not finite is a gap.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    xs: Vec<f64>,
    ys: Vec<f64>,
    /// `levels[k][i]` is about the points `i * FAN^(k+1) ..`; `None` where all of them are gaps.
    levels: Vec<Vec<Option<Extremes>>>,
}

impl Curve {
    /// Appends a point, in time that depends on the number of points only by its logarithm. A horizontal coordinate that is not
    /// finite, or lies before the last one, is taken to be the last one.
    pub fn push(&mut self, x: f64, y: f64) {
        let last = self.xs.last().copied();
        let x = last
            .filter(|last| !x.is_finite() || x < *last)
            .unwrap_or(if x.is_finite() { x } else { 0.0 });
        let at = self.xs.len();
        self.xs.push(x);
        self.ys.push(if y.is_finite() { y } else { f64::NAN });
        let point = self.point(at);
        let mut block = at;
        for level in 0.. {
            block /= FAN;
            // The next level is made, of everything so far, once it has more than one block.
            if level == self.levels.len() {
                if block > 0 || level == 0 {
                    let rebuilt = self.rebuilt(level);
                    self.levels.push(rebuilt);
                }
                break;
            }
            let merged = self.levels[level].get(block).copied().flatten();
            let merged = self.merge(merged, point);
            match self.levels[level].get_mut(block) {
                Some(slot) => *slot = merged,
                None => self.levels[level].push(merged),
            }
        }
    }

    /// How many points there are, gaps included.
    pub fn len(&self) -> usize {
        self.xs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.xs.is_empty()
    }

    /// Horizontal coordinates, never falling.
    pub fn xs(&self) -> &[f64] {
        &self.xs
    }

    /// Vertical coordinates; NaN is a gap.
    pub fn ys(&self) -> &[f64] {
        &self.ys
    }

    /// The points whose horizontal coordinate lies in `low..=high`.
    pub fn between(&self, low: f64, high: f64) -> Range<usize> {
        let start = self.xs.partition_point(|x| *x < low);
        let end = self.xs.partition_point(|x| *x <= high);
        start..end.max(start)
    }

    /// The extremes of some points, in time that depends on their number only by its logarithm; `None` where all are gaps.
    pub fn extremes(&self, range: Range<usize>) -> Option<Extremes> {
        let (mut low, mut high) = (range.start, range.end.min(self.len()));
        let mut found = None;
        let mut level = 0;
        while high.saturating_sub(low) > 2 * FAN && level < self.levels.len() {
            while !low.is_multiple_of(FAN) {
                found = self.merge(found, self.item(level, low));
                low += 1;
            }
            while !high.is_multiple_of(FAN) {
                high -= 1;
                found = self.merge(found, self.item(level, high));
            }
            low /= FAN;
            high /= FAN;
            level += 1;
        }
        (low..high).fold(found, |found, at| self.merge(found, self.item(level, at)))
    }

    /// A point, or a block of the level below.
    fn item(&self, level: usize, at: usize) -> Option<Extremes> {
        match level.checked_sub(1) {
            None => self.point(at),
            Some(below) => self.levels.get(below)?.get(at).copied().flatten(),
        }
    }

    fn point(&self, at: usize) -> Option<Extremes> {
        self.ys.get(at).filter(|y| !y.is_nan()).map(|_| Extremes {
            low_at: at,
            high_at: at,
        })
    }

    fn rebuilt(&self, level: usize) -> Vec<Option<Extremes>> {
        let below = if level == 0 {
            self.len()
        } else {
            self.levels[level - 1].len()
        };
        let block = |start: usize| {
            let end = (start + FAN).min(below);
            (start..end).fold(None, |found, at| self.merge(found, self.item(level, at)))
        };
        (0..below).step_by(FAN).map(block).collect()
    }

    fn merge(&self, a: Option<Extremes>, b: Option<Extremes>) -> Option<Extremes> {
        let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
        let y = |at: usize| self.ys.get(at).copied().unwrap_or(f64::NAN);
        // Blocks are merged in any order; of equal points the first wins.
        let pick = |a: usize, b: usize, order: Ordering| match order {
            Ordering::Less => a,
            Ordering::Greater => b,
            Ordering::Equal => a.min(b),
        };
        Some(Extremes {
            low_at: pick(a.low_at, b.low_at, y(a.low_at).total_cmp(&y(b.low_at))),
            high_at: pick(a.high_at, b.high_at, y(b.high_at).total_cmp(&y(a.high_at))),
        })
    }
}
