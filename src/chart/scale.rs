//! From values to pixels and back.

use super::Span;

/// How values are spread over pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Equal distances for equal differences.
    #[default]
    Linear,
    /// Equal distances for equal ratios; only values above 0 have a place.
    Log,
}

impl Kind {
    /// Where `value` stands before it is stretched to pixels; `None` where it has no place.
    fn place(self, value: f64) -> Option<f64> {
        let place = match self {
            Self::Linear => value,
            Self::Log if value > 0.0 => value.log10(),
            Self::Log => return None,
        };
        place.is_finite().then_some(place)
    }
}

/// A mapping of a span of values to a stretch of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    domain: Span,
    places: Span,
    pixels: (f64, f64),
}

impl Scale {
    /// Maps the low end of `domain` to `pixels.0` and the high end to `pixels.1`. A log scale whose domain is not above 0 is linear.
    pub fn new(kind: Kind, domain: Span, pixels: (f64, f64)) -> Self {
        let places = |kind: Kind| Span::between(kind.place(domain.low())?, kind.place(domain.high())?);
        match places(kind) {
            Some(places) => Self {
                kind,
                domain,
                places,
                pixels,
            },
            None => Self {
                kind: Kind::Linear,
                domain,
                places: domain,
                pixels,
            },
        }
    }

    /// How it spreads values.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// The values it spreads.
    pub fn domain(self) -> Span {
        self.domain
    }

    /// The pixel of `value`, outside the stretch where it is outside the domain; `None` for NaN, infinities, and on a log scale for
    /// values not above 0.
    pub fn pixel(self, value: f64) -> Option<f64> {
        let share = (self.kind.place(value)? - self.places.low()) / self.places.length();
        Some(self.pixels.0 + share * (self.pixels.1 - self.pixels.0))
    }

    /// The value at `pixel`.
    pub fn value(self, pixel: f64) -> f64 {
        let share = (pixel - self.pixels.0) / (self.pixels.1 - self.pixels.0);
        let place = self.places.low() + share * self.places.length();
        match self.kind {
            Kind::Linear => place,
            Kind::Log => 10_f64.powf(place),
        }
    }
}
