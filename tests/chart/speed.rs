//! How long a look takes.

use microbatch_lab::chart::{Curve, Kind, Scale, outline, path::path};

use super::{counted, look, span};

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
