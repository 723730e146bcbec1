//! What holds for every curve and every span.

use microbatch_lab::chart::{Kind, Scale, Span, curve::Extremes, outline, ticks};
use proptest::prelude::*;

use super::{counted, span};

/// The extremes as anyone would find them.
fn scanned(ys: &[f64], range: std::ops::Range<usize>) -> Option<Extremes> {
    let mut found: Option<Extremes> = None;
    for at in range.filter(|at| !ys[*at].is_nan()) {
        let so_far = found.get_or_insert(Extremes {
            low_at: at,
            high_at: at,
        });
        if ys[at] < ys[so_far.low_at] {
            so_far.low_at = at;
        }
        if ys[at] > ys[so_far.high_at] {
            so_far.high_at = at;
        }
    }
    found
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![8 => (-50_i32..50).prop_map(f64::from), 1 => Just(f64::NAN)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_pyramid_answers_as_a_scan_does(ys in prop::collection::vec(value(), 0..3000), a in 0.0..1.0, b in 0.0..1.0) {
        let line = counted(&ys);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
        let (a, b) = ((a * ys.len() as f64) as usize, (b * ys.len() as f64) as usize);
        let range = a.min(b)..a.max(b);
        prop_assert_eq!(line.extremes(range.clone()), scanned(&ys, range));
    }

    #[test]
    fn an_outline_keeps_every_columns_extremes(ys in prop::collection::vec(value(), 300..3000), columns in 20_usize..140) {
        let line = counted(&ys);
        let all = span(0.0, (ys.len() - 1) as f64);
        let points = outline(&line, all, columns);
        prop_assert!(points.len() <= columns * 2 + 2);
        prop_assert!(points.windows(2).all(|pair| pair[0].x <= pair[1].x));
        let expected = scanned(&ys, 0..ys.len());
        let low = points.iter().map(|point| point.y).fold(f64::NAN, f64::min);
        let high = points.iter().map(|point| point.y).fold(f64::NAN, f64::max);
        if let Some(expected) = expected {
            prop_assert_eq!((low, high), (ys[expected.low_at], ys[expected.high_at]));
        }
        // No point is made up.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
        let real = |x: f64, y: f64| ys[x as usize].total_cmp(&y).is_eq();
        prop_assert!(points.iter().all(|point| real(point.x, point.y)));
    }

    #[test]
    fn scales_lead_back(low in 1e-3..1e3, length in 1e-3..1e3, share in 0.0..1.0, log in any::<bool>()) {
        let kind = if log { Kind::Log } else { Kind::Linear };
        let domain = span(low, low + length);
        let scale = Scale::new(kind, domain, (300.0, 10.0));
        let value = low + share * length;
        let back = scale.value(scale.pixel(value).expect("above 0"));
        prop_assert!((back - value).abs() <= 1e-9 * value);
    }

    #[test]
    fn ticks_are_few_rising_and_inside(low in -1e6..1e6, length in 1e-6..1e6, wanted in 1_usize..12) {
        let domain = span(low, low + length);
        let got = ticks::ticks(Kind::Linear, domain, wanted, 0.0);
        prop_assert!(got.len() <= wanted + 1, "{:?}", got);
        prop_assert!(got.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", got);
        let slack = length * 1e-6;
        prop_assert!(got.iter().all(|tick| *tick >= low - slack && *tick <= low + length + slack), "{:?}", got);
    }

    #[test]
    fn zooming_never_leaves_the_whole(a in 0.0..1.0, b in 0.0..1.0, at in -1.0..2.0, factor in 0.01..20.0) {
        let full = span(0.0, 1.0);
        let Some(shown) = Span::between(a, b) else { return Ok(()) };
        if let Some(zoomed) = shown.zoomed(full, at, factor, 1e-6) {
            prop_assert!(zoomed.low() >= 0.0 && zoomed.high() <= 1.0 && zoomed.length() < 1.0 + 1e-12);
        }
    }
}
