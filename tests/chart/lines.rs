//! Paths, points under the pointer, and what is drawn at all.

use microbatch_lab::chart::{Curve, Kind, Request, Scale, nearest, outline, path::path, picture, read, spread};

use super::{FRAME, counted, curve, look, span};

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
