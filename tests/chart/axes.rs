//! Ticks, spans, zoom and labels.

use microbatch_lab::chart::{Kind, Span, number, ticks};

use super::span;

#[test]
fn linear_ticks_are_round() {
    let cases: &[(f64, f64, usize, f64, &[f64])] = &[
        (0.0, 10.0, 5, 0.0, &[0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
        (0.0, 1.0, 4, 0.0, &[0.0, 0.5, 1.0]),
        (-1.0, 1.0, 4, 0.0, &[-1.0, -0.5, 0.0, 0.5, 1.0]),
        (3.0, 4.0, 2, 0.0, &[3.0, 3.5, 4.0]),
        (0.0, 2.0, 8, 1.0, &[0.0, 1.0, 2.0]),
        (1.0, 2.0, 8, 1.0, &[1.0, 2.0]),
        (9_998.0, 10_001.0, 3, 1.0, &[9_998.0, 9_999.0, 10_000.0, 10_001.0]),
        (1e-300, 3e-300, 2, 0.0, &[1e-300, 2e-300, 3e-300]),
        (0.0, 1e300, 2, 0.0, &[0.0, 5e299, 1e300]),
    ];
    for &(low, high, wanted, least, expected) in cases {
        let got = ticks::ticks(Kind::Linear, span(low, high), wanted, least);
        assert_eq!(got.len(), expected.len(), "{low}..{high}: {got:?}");
        for (got, expected) in got.iter().zip(expected) {
            assert!(
                (got - expected).abs() <= expected.abs() * 1e-9,
                "{low}..{high}: {got:?}"
            );
        }
    }
}

#[test]
fn log_ticks_are_powers_or_one_two_five() {
    let cases: &[(f64, f64, usize, &[f64])] = &[
        (1.0, 100.0, 8, &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]),
        (1e-6, 1.0, 4, &[1e-6, 1e-4, 1e-2, 1.0]),
        (0.9, 1100.0, 4, &[1.0, 10.0, 100.0, 1000.0]),
        // Less than a decade: linear ticks.
        (2.0, 4.0, 2, &[2.0, 3.0, 4.0]),
        // No place for it on a log scale: linear ticks.
        (-1.0, 1.0, 2, &[-1.0, 0.0, 1.0]),
    ];
    for &(low, high, wanted, expected) in cases {
        let got = ticks::ticks(Kind::Log, span(low, high), wanted, 0.0);
        assert_eq!(got.len(), expected.len(), "{low}..{high}: {got:?}");
        for (got, expected) in got.iter().zip(expected) {
            assert!(
                (got - expected).abs() <= expected.abs() * 1e-9,
                "{low}..{high}: {got:?}"
            );
        }
    }
}

#[test]
fn spans_refuse_what_has_no_length() {
    let bad = [(f64::NAN, 1.0), (0.0, f64::INFINITY), (2.0, 2.0), (f64::MIN, f64::MAX)];
    for (a, b) in bad {
        assert_eq!(Span::between(a, b), None, "{a} {b}");
    }
    assert_eq!(Span::between(3.0, 1.0), Span::between(1.0, 3.0));
    assert_eq!(Span::around(f64::NAN, f64::NAN), Span::UNIT);
    assert_eq!(Span::around(0.0, 0.0), span(-0.5, 0.5));
    assert_eq!(Span::around(100.0, 100.0), span(95.0, 105.0));
    assert_eq!(Span::around(f64::MIN, f64::MAX), Span::UNIT);
}

#[test]
fn zoom_keeps_what_is_under_the_pointer_and_stays_inside() {
    let full = span(0.0, 100.0);
    assert_eq!(full.zoomed(full, 25.0, 0.5, 1.0), Some(span(12.5, 62.5)));
    assert_eq!(full.zoomed(full, 0.0, 0.5, 1.0), Some(span(0.0, 50.0)));
    assert_eq!(
        span(40.0, 60.0).zoomed(full, 50.0, 10.0, 1.0),
        None,
        "out as far as it goes"
    );
    assert_eq!(
        span(40.0, 42.0).zoomed(full, 41.0, 0.01, 2.0),
        Some(span(40.0, 42.0)),
        "in as far as it goes"
    );
    assert_eq!(
        span(0.0, 20.0).zoomed(full, 20.0, 2.0, 1.0),
        Some(span(0.0, 40.0)),
        "pushed back inside"
    );
    assert_eq!(full.zoomed(full, 50.0, f64::NAN, 0.0), None);
    assert_eq!(span(10.0, 30.0).panned(full, 5.0), span(15.0, 35.0));
    assert_eq!(span(10.0, 30.0).panned(full, -50.0), span(0.0, 20.0));
    assert_eq!(span(10.0, 30.0).panned(full, 500.0), span(80.0, 100.0));
    assert_eq!(span(10.0, 30.0).panned(full, f64::NAN), span(10.0, 30.0));
}

#[test]
fn two_fingers_hold_their_values() {
    let full = span(0.0, 100.0);
    assert_eq!(
        Span::held(full, (40.0, 0.25), (60.0, 0.75), 1.0),
        Some(span(30.0, 70.0))
    );
    assert_eq!(
        Span::held(full, (60.0, 0.75), (40.0, 0.25), 1.0),
        Some(span(30.0, 70.0)),
        "in any order"
    );
    assert_eq!(
        Span::held(full, (10.0, 0.5), (20.0, 0.75), 1.0),
        Some(span(0.0, 40.0)),
        "pushed back inside"
    );
    assert_eq!(Span::held(full, (10.0, 0.4), (90.0, 0.6), 1.0), None, "more than all");
    assert_eq!(Span::held(full, (40.0, 0.75), (60.0, 0.25), 1.0), None, "crossed");
    assert_eq!(Span::held(full, (50.0, 0.5), (50.0, 0.5), 2.0), None);
    assert_eq!(
        Span::held(full, (50.0, 0.0), (50.1, 1.0), 2.0),
        Some(span(50.0, 52.0)),
        "in as far as it goes"
    );
}

#[test]
fn labels_tell_neighbours_apart() {
    let cases: &[(f64, f64, &str)] = &[
        (0.0, 1.0, "0"),
        (2000.0, 500.0, "2000"),
        (10_000.0, 5_000.0, "10\u{202f}000"),
        (1_250_000.0, 50_000.0, "1\u{202f}250\u{202f}000"),
        (0.5, 0.5, "0.5"),
        (3.0, 0.5, "3.0"),
        (-0.25, 0.05, "−0.25"),
        (1e-9, 1e-9, "1.00e−9"),
        (1e20, 1e19, "1.00e20"),
        (f64::NAN, 1.0, "–"),
    ];
    for &(x, step, text) in cases {
        assert_eq!(number::tick(x, step), text, "{x} by {step}");
    }
    let cases: &[(f64, &str)] = &[
        (3.5, "3.5"),
        (3.456_78, "3.457"),
        (0.012_345_6, "0.01235"),
        (123_456.0, "123\u{202f}456"),
        (f64::INFINITY, "∞"),
        (f64::NEG_INFINITY, "−∞"),
        (f64::NAN, "–"),
        (0.000_001_234, "1.23e−6"),
        (9.999_96, "10"),
    ];
    for &(x, text) in cases {
        assert_eq!(number::value(x), text, "{x}");
    }
}
