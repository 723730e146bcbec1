//! An interval of one axis, and what zooming and panning make of it.

/// An interval with two finite ends, the lower one first and really lower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    low: f64,
    high: f64,
}

impl Span {
    /// From 0 to 1: what an axis shows before there is anything to show.
    pub const UNIT: Self = Self { low: 0.0, high: 1.0 };

    /// The interval between two values in any order; `None` unless both are finite, different, and their distance is finite too.
    pub fn between(a: f64, b: f64) -> Option<Self> {
        let (low, high) = (a.min(b), a.max(b));
        (a.is_finite() && b.is_finite() && low < high && (high - low).is_finite()).then_some(Self { low, high })
    }

    /// Like [`Self::between`], but one value gets room around it, and anything unusable is [`Self::UNIT`].
    pub fn around(low: f64, high: f64) -> Self {
        if let Some(span) = Self::between(low, high) {
            return span;
        }
        let room = (low.abs() * 0.05).max(0.5);
        if low.is_finite() && (high - low).abs() < f64::EPSILON {
            Self::between(low - room, low + room).unwrap_or(Self::UNIT)
        } else {
            Self::UNIT
        }
    }

    /// Its lower end.
    pub fn low(self) -> f64 {
        self.low
    }

    /// Its upper end.
    pub fn high(self) -> f64 {
        self.high
    }

    /// Its length, above 0.
    pub fn length(self) -> f64 {
        self.high - self.low
    }

    /// Whether `x` lies in it, ends included.
    pub fn contains(self, x: f64) -> bool {
        (self.low..=self.high).contains(&x)
    }

    /// With `share` of its length added at both ends.
    #[must_use]
    pub fn padded(self, share: f64) -> Self {
        let room = self.length() * share;
        Self::between(self.low - room, self.high + room).unwrap_or(self)
    }

    /// Zooms about `at`: `factor` below 1 shows less. Stays inside `full`, and at least `least` long. `None` means all of `full`.
    #[must_use]
    pub fn zoomed(self, full: Self, at: f64, factor: f64, least: f64) -> Option<Self> {
        let at = at.clamp(self.low, self.high);
        let length = (self.length() * factor).max(least);
        if length.is_nan() || length >= full.length() {
            return None;
        }
        // What stands under the pointer stays under it.
        let low = at - (at - self.low) / self.length() * length;
        Self::between(low, low + length).map(|span| span.inside(full))
    }

    /// Shows two values at two places, as two fingers hold them; a place is a share of the length, 0 at the low end. At least `least`
    /// long, and inside `full`; `None` means all of `full`, also where the fingers cross.
    #[must_use]
    pub fn held(full: Self, first: (f64, f64), second: (f64, f64), least: f64) -> Option<Self> {
        let ((value, place), (other, other_place)) = if first.0 <= second.0 {
            (first, second)
        } else {
            (second, first)
        };
        let length = ((other - value) / (other_place - place)).max(least);
        if length.is_nan() || length >= full.length() || other_place <= place {
            return None;
        }
        let low = value - place * length;
        Self::between(low, low + length).map(|span| span.inside(full))
    }

    /// Moves by `distance`, as far as `full` allows.
    #[must_use]
    pub fn panned(self, full: Self, distance: f64) -> Self {
        Self::between(self.low + distance, self.high + distance)
            .unwrap_or(self)
            .inside(full)
    }

    /// Moves into `full` without changing its length where that is possible.
    fn inside(self, full: Self) -> Self {
        if self.length() >= full.length() {
            return full;
        }
        let distance = (full.low - self.low).max(0.0) - (self.high - full.high).max(0.0);
        Self {
            low: (self.low + distance).max(full.low),
            high: (self.high + distance).min(full.high),
        }
    }
}
