//! The page that measures trains what it says it trains.

use std::time::Duration;

use e2e::{Trouble, ensure, story_in};
use serde_json::Value;

/// Float noise of a training in float32; other work differs by more.
const LOSS: f64 = 1e-5;

#[test]
fn the_bench_page_trains_the_same_as_the_reference() {
    let site = xtask::bench::site::folder().join("site-cpu");
    story_in("bench-parity", &site, async |page| {
        page.open("").await?;
        let soon = Duration::from_secs(30);
        page.until(
            "the page offers its bench",
            soon,
            "return typeof window.__bench === 'function'",
        )
        .await?;
        page.ask(
            "window.done = null; window.__bench('W0', {updates: 12, warmup: 3}) \
             .then(result => { window.done = result }, error => { window.done = {error: String(error)} }); return null",
        )
        .await?;
        page.until(
            "the bench is done",
            Duration::from_mins(2),
            "return window.done !== null",
        )
        .await?;
        let done = page.ask("return window.done").await?;
        let losses = numbers(&done["losses"]);
        let reference = numbers(&serde_json::from_str(include_str!("../../bench/w0-losses.json"))?);
        ensure!(losses.len() == 15 && reference.len() == 15, "not 15 losses: {done}");
        let errors = losses.iter().zip(&reference).map(|(a, b)| (a - b).abs());
        let error = errors.fold(0.0, f64::max);
        println!("largest loss error {error:.1e}");
        ensure!(error <= LOSS, "{error:e}: {losses:?} against {reference:?}");
        let times = numbers(&done["times"]);
        ensure!(times.len() == 15 && times.iter().all(|&ms| ms > 0.0), "{times:?}");
        let (first, end) = (done["firstDoneMs"].as_f64(), done["endMs"].as_f64());
        ensure!(first.is_some() && first < end, "{first:?} {end:?}");
        Ok::<(), Trouble>(())
    });
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .collect()
}
