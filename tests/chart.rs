//! The geometry of charts: tables for the edges, properties for the rest.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::expect_used, reason = "a helper of a test fails it")]
#![allow(clippy::float_cmp, reason = "exact where the expected value is exact")]

use microbatch_lab::chart::{
    Curve, Frame, Kind, Picture, Request, Scale, Span, curve::Extremes, nearest, number, outline, path::path, picture,
    read, spread, ticks,
};
use proptest::prelude::*;

fn span(low: f64, high: f64) -> Span {
    Span::between(low, high).expect("a span")
}

fn curve(points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
    let mut curve = Curve::default();
    points.into_iter().for_each(|(x, y)| curve.push(x, y));
    curve
}

fn counted(ys: &[f64]) -> Curve {
    curve(ys.iter().enumerate().map(|(i, y)| (i as f64, *y)))
}

const FRAME: Frame = Frame {
    width: 670.0,
    height: 336.0,
};

fn look(curves: &[Curve], kind: Kind, window: Option<Span>) -> Picture {
    let visible = vec![true; curves.len()];
    picture(&Request {
        curves,
        visible: &visible,
        frame: FRAME,
        window,
        kind,
    })
}

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

#[test]
fn paths_break_at_gaps_and_show_lone_points() {
    let unit = Scale::new(Kind::Linear, span(0.0, 4.0), (0.0, 4.0));
    let cases: &[(&[f64], &str)] = &[
        (&[], ""),
        (&[1.0], "M0.0 1.0h0"),
        (&[f64::NAN, f64::INFINITY], ""),
        (&[1.0, 2.0], "M0.0 1.0L1.0 2.0"),
        (&[1.0, f64::NAN, 2.0, 3.0], "M0.0 1.0h0M2.0 2.0L3.0 3.0"),
    ];
    for (ys, expected) in cases {
        let points = outline(&counted(ys), span(0.0, 10.0), 100);
        assert_eq!(path(&points, unit, unit), *expected);
    }
}

#[test]
fn a_log_scale_has_no_place_at_or_below_zero() {
    let log = Scale::new(Kind::Log, span(0.1, 10.0), (200.0, 0.0));
    assert_eq!(log.pixel(1.0), Some(100.0));
    assert_eq!(log.pixel(0.0), None);
    assert_eq!(log.pixel(-1.0), None);
    let fallen_back = Scale::new(Kind::Log, span(-1.0, 1.0), (0.0, 2.0));
    assert_eq!((fallen_back.kind(), fallen_back.pixel(0.0)), (Kind::Linear, Some(1.0)));
}

#[test]
fn the_pointer_finds_the_nearest_point_of_each_line() {
    let line = curve([(0.0, 1.0), (10.0, 2.0), (10.0, 3.0), (30.0, f64::NAN)]);
    let at = |x| nearest(&line, x).map(|hit| hit.at);
    assert_eq!(nearest(&Curve::default(), 1.0), None);
    for (x, expected) in [(-5.0, 0), (5.0, 0), (5.1, 2), (10.0, 2), (20.0, 2), (20.5, 3), (1e9, 3)] {
        assert_eq!(at(x), Some(expected), "{x}");
    }
    assert!(nearest(&line, 30.0).expect("a point").y.is_nan());
}

#[test]
fn all_lanes_are_read_at_one_place() {
    let curves = [
        curve([(0.0, 1.0), (10.0, 2.0)]),
        curve([(0.0, 3.0), (4.0, 4.0), (9.0, 5.0)]),
        Curve::default(),
    ];
    let reading = read(&curves, &[true, true, true], 5.0).expect("a reading");
    assert_eq!(reading.x, 4.0, "the nearest of any lane");
    let values: Vec<Option<f64>> = reading.lanes.iter().map(|hit| hit.map(|hit| hit.y)).collect();
    assert_eq!(values, [Some(1.0), Some(4.0), None]);
    let reading = read(&curves, &[true, false], 5.1).expect("a reading");
    assert_eq!((reading.x, reading.lanes[1]), (10.0, None), "hidden lanes are not read");
    assert_eq!(read(&curves, &[false, false, true], 5.0), None);
    assert_eq!(read(&curves, &[], 5.0), None);
}

#[test]
fn marks_are_spread_no_more_than_needed() {
    type Values = &'static [Option<f64>];
    let cases: &[(Values, Values)] = &[
        (&[], &[]),
        (&[Some(5.0)], &[Some(5.0)]),
        (&[Some(0.0), Some(50.0)], &[Some(0.0), Some(50.0)]),
        (&[Some(10.0), Some(10.0)], &[Some(5.0), Some(15.0)]),
        (&[Some(12.0), None, Some(8.0)], &[Some(15.0), None, Some(5.0)]),
        (&[Some(f64::NAN), Some(1.0)], &[None, Some(1.0)]),
    ];
    for (values, expected) in cases {
        assert_eq!(&spread(values, 10.0), expected);
    }
}

#[test]
fn nothing_and_one_point_and_only_gaps_can_be_drawn() {
    for (ys, marks) in [(&[][..], 0), (&[2.5][..], 1), (&[f64::NAN; 5][..], 0)] {
        let drawn = look(&[counted(ys)], Kind::Linear, None);
        assert_eq!(drawn.ends.iter().flatten().count(), marks);
        assert!(drawn.x.domain().length() > 0.0 && drawn.y.domain().length() > 0.0);
        assert!(!drawn.y_ticks.is_empty());
    }
    let nothing = look(&[], Kind::Log, None);
    assert!(nothing.paths.is_empty());
}

#[test]
fn hidden_lines_are_not_drawn_and_do_not_stretch_the_axis() {
    let curves = [counted(&[1.0, 2.0]), counted(&[1.0, 1000.0, 1000.0])];
    let request = Request {
        curves: &curves,
        visible: &[true, false],
        frame: FRAME,
        window: None,
        kind: Kind::Linear,
    };
    let drawn = picture(&request);
    assert!(drawn.paths[1].is_empty() && drawn.ends[1].is_none());
    assert!(drawn.y.domain().high() < 3.0);
    assert_eq!(drawn.full, span(0.0, 2.0), "the horizontal axis stands still");
}

#[test]
fn horizontal_coordinates_never_go_back() {
    let line = curve([(5.0, 1.0), (3.0, 2.0), (f64::NAN, 3.0), (6.0, 4.0)]);
    assert_eq!(line.xs(), [5.0, 5.0, 5.0, 6.0]);
}

/// Drawing must cost what is on the screen. Counted, not timed: points of the outlines, and the length of what is sent to the page.
#[test]
fn a_long_run_draws_no_more_than_a_short_one() {
    let noisy = |n: usize| counted(&(0..n).map(|i| ((i * 7919) % 1000) as f64).collect::<Vec<_>>());
    let (short, long) = (
        look(&[noisy(2_000)], Kind::Linear, None),
        look(&[noisy(200_000)], Kind::Linear, None),
    );
    assert!(
        long.paths[0].len() < short.paths[0].len() * 2,
        "{} {}",
        long.paths[0].len(),
        short.paths[0].len()
    );
    let points = outline(&noisy(200_000), span(0.0, 200_000.0), 600);
    assert!(points.len() <= 1202, "{}", points.len());
}

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

/// Numbers for docs/adr/010: `cargo test --test chart -- --ignored --nocapture`, own code at opt-level 3.
#[test]
#[ignore = "a measurement, not a check"]
fn how_long_a_look_takes() {
    let noisy = |n: usize| counted(&(0..n).map(|i| ((i * 7919) % 1000) as f64).collect::<Vec<_>>());
    // The quickest of several: what others do on the machine only ever adds.
    let time = |times: u32, work: &mut dyn FnMut()| {
        let once = |work: &mut dyn FnMut()| {
            let start = std::time::Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1000.0
        };
        (0..times).map(|_| once(work)).fold(f64::INFINITY, f64::min)
    };
    for n in [1_000, 10_000, 100_000] {
        let curves: Vec<Curve> = (0..4).map(|_| noisy(n)).collect();
        let ours = time(50, &mut || drop(look(&curves, Kind::Linear, None)));
        let scale = Scale::new(Kind::Linear, span(0.0, n as f64), (0.0, 600.0));
        // Every point of every line projected and written, once a frame.
        let all = time(10, &mut || {
            for line in &curves {
                drop(path(&outline(line, span(0.0, n as f64), n), scale, scale));
            }
        });
        let mut line = curves[0].clone();
        let push = time(1, &mut || (0..1000).for_each(|i| line.push((n + i) as f64, 1.0)));
        let bytes = look(&curves, Kind::Linear, None)
            .paths
            .iter()
            .map(String::len)
            .sum::<usize>();
        println!(
            "4 x {n}: a look {ours:.3} ms ({bytes} bytes of path), all points {all:.3} ms, 1000 appended {push:.3} ms"
        );
    }
}
