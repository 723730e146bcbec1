//! Round values along an axis.

use super::{Kind, Span};

/// More ticks than this are never drawn.
const MOST: usize = 50;

/// Round values of `span`, about `wanted` of them. `least` is the smallest step that makes sense, 1 for counts and 0 for anything.
pub fn ticks(kind: Kind, span: Span, wanted: usize, least: f64) -> Vec<f64> {
    let wanted = wanted.clamp(1, MOST);
    match kind {
        Kind::Log if span.low() > 0.0 => log(span, wanted),
        Kind::Log | Kind::Linear => linear(span, wanted, least),
    }
}

/// The distance between two linear ticks: 1, 2 or 5 times a power of ten, the smallest that gives no more than `wanted` steps.
pub fn step(span: Span, wanted: usize, least: f64) -> f64 {
    let rough = (span.length() / wanted.clamp(1, MOST) as f64).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough * 0.999_999);
    round.unwrap_or(rough).max(least)
}

fn linear(span: Span, wanted: usize, least: f64) -> Vec<f64> {
    let step = step(span, wanted, least);
    // A hair wider, so that an end that is round but for the last bit still has its tick.
    let (low, high) = (span.low() - step * 1e-9, span.high() + step * 1e-9);
    let first = (low / step).ceil();
    (0..=MOST)
        // Multiplied anew each time: adding steps would add their rounding errors.
        .map(|i| (first + i as f64) * step)
        .take_while(|tick| *tick <= high)
        // Minus zero reads oddly.
        .map(|tick| if tick == 0.0 { 0.0 } else { tick })
        .collect()
}

fn log(span: Span, wanted: usize) -> Vec<f64> {
    let (low, high) = (span.low().log10(), span.high().log10());
    let decades = high - low;
    if decades < 1.0 {
        // Within one decade powers of ten say too little, and linear ticks are still well apart.
        return linear(span, wanted, 0.0);
    }
    let factors: &[f64] = if decades * 3.0 <= wanted as f64 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    let every = (decades / wanted as f64).ceil().max(1.0);
    let first = (low / every).floor() * every;
    (0..=MOST)
        .map(|i| first + i as f64 * every)
        .take_while(|exponent| *exponent <= high)
        .flat_map(|exponent| factors.iter().map(move |factor| factor * 10_f64.powf(exponent)))
        .filter(|tick| *tick >= span.low() * (1.0 - 1e-9) && *tick <= span.high() * (1.0 + 1e-9))
        .collect()
}
