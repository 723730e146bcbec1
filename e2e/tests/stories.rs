//! Stories of a visit, and how it all looks. Screenshots lie in target/e2e afterwards.

use std::time::{Duration, Instant};

use e2e::{Name, Page, Trouble, ensure, run::losses, story};
use thirtyfour::prelude::*;

const SOON: Duration = Duration::from_secs(15);
const LATER: Duration = Duration::from_mins(2);

/// Enough work that no run ends before its story does.
const LONG_RUN: &str = "#v=1&budget=20000";

fn begins(text: &str) -> Name {
    Name::Begins(text.to_owned())
}

#[test]
fn a_visitor_watches_two_ways_of_counting_part() {
    story("1-part", async |page| {
        let opened = Instant::now();
        page.open("").await?;
        page.press("Run").await?;
        page.until_applied(1, SOON.saturating_sub(opened.elapsed())).await?;
        println!(
            "first applied update {:.1} s after opening the page",
            opened.elapsed().as_secs_f64()
        );

        let (from, began) = (page.applied().await?, Instant::now());
        tokio::time::sleep(Duration::from_secs(10)).await;
        let rate = (page.applied().await? - from) as f64 / began.elapsed().as_secs_f64();
        println!("{rate:.1} applied updates a second on the CPU device");
        ensure!(rate >= 2.0, "only {rate:.2} applied updates a second");

        let apart = page.compared("Parameter distance to lane 1").await?;
        let second: f64 = apart.get(1).and_then(|text| text.parse().ok()).unwrap_or(0.0);
        ensure!(second > 0.0, "the lanes did not part: {apart:?}");
        page.find("article", "Token-weighted").await?;
        page.find("article", "Mean of microbatch means").await?;
        page.screenshot("1-part").await
    });
}

#[test]
fn the_page_stays_quick_while_it_trains() {
    story("2-quick", async |page| {
        page.open(LONG_RUN).await?;
        page.press("Run").await?;
        page.until_applied(2, LATER).await?;
        let before = page.applied().await?;
        let tasks = page.long_tasks(Duration::from_secs(20)).await?;
        ensure!(page.applied().await? > before, "nothing was trained during the trace");
        ensure!(tasks.is_empty(), "main-thread tasks over 50 ms: {tasks:?}");
        Ok(())
    });
}

#[test]
fn the_arithmetic_of_512_and_1536() {
    story("3-arithmetic", async |page| {
        page.open("").await?;
        page.press("512 tokens at 2, 1,536 at 4").await?;
        page.until_device("cpu", LATER).await?;
        for step in 1..=4 {
            page.press("Step microbatch").await?;
            page.until_state("Paused", LATER).await?;
            tokio::time::sleep(Duration::from_millis(300)).await;
            page.screenshot(&format!("3-arithmetic-step-{step}")).await?;
            if page.applied().await? == 1 {
                break;
            }
        }
        ensure!(page.applied().await? == 1, "two microbatches did not make an update");
        let lane = page.find("article", "Token-weighted").await?.text().await?;
        ensure!(
            lane.contains("7168 / 2048 = 3.5"),
            "the weighted loss is not shown: {lane}"
        );
        ensure!(
            lane.contains("(2 + 4) / 2 = 3"),
            "the mean of means is not shown: {lane}"
        );

        let before = page.compared("Before the first forward").await?;
        let inside = page.compared("After the last backward").await?;
        let after = page.compared("After the update").await?;
        ensure!(!before.is_empty() && !before[0].is_empty(), "no checksum is shown");
        for (lane, checksum) in before.iter().enumerate() {
            ensure!(
                inside[lane] == format!("{checksum} stood still"),
                "lane {lane} moved inside its group: {}",
                inside[lane]
            );
            ensure!(
                !after[lane].starts_with(checksum.as_str()),
                "lane {lane} did not move by its update: {}",
                after[lane]
            );
        }
        Ok(())
    });
}

#[test]
fn bad_input_says_what_to_do_and_the_run_goes_on() {
    story("4-bad-input", async |page| {
        page.open(LONG_RUN).await?;
        page.press("Run").await?;
        page.until_applied(1, LATER).await?;
        let bad = [
            ("0", "Use 1 or more."),
            ("-3", "1 or more"),
            ("1.5", "Use a whole number, without a fraction."),
            ("", "Type a value here."),
            ("many", "Type a number, with digits only."),
            ("99999999999999999999999", "or less"),
        ];
        for (typed, wanted) in bad {
            let said = said_at_m(page, typed).await?;
            ensure!(said.contains(wanted), "m = {typed:?}: {said:?} instead of {wanted:?}");
        }
        page.screenshot("4-bad-input-en").await?;
        page.find("radio", "Русский").await?.click().await?;
        for (typed, _) in bad {
            let said = said_at_m(page, typed).await?;
            let russian = said.chars().any(|c| ('а'..='я').contains(&c));
            ensure!(russian, "m = {typed:?} says nothing in Russian: {said:?}");
        }
        page.screenshot("4-bad-input-ru").await?;
        page.find("radio", "English").await?.click().await?;

        // Data is looked at as soon as the rest of the form is in order.
        page.fill(begins("m:"), "2").await?;
        page.choose("What is learnt", "My examples (.jsonl)").await?;
        paste(page, "{\"prompt\": \"a\", \"completion\": \"b\"}\nthis is not JSON").await?;
        let told = page
            .ask("return document.body.innerText.match(/line 2[^\\n]*/i)?.[0] ?? ''")
            .await?;
        ensure!(told != "", "the broken line is not named");

        ensure!(
            page.state().await? == "Training",
            "the run stopped: {}",
            page.state().await?
        );
        let before = page.applied().await?;
        page.until_applied(before + 2, LATER).await.map(drop)
    });
}

#[test]
fn a_link_restores_the_setup_and_starts_nothing() {
    story("5-link", async |page| {
        page.open("").await?;
        page.fill(begins("m:"), "3").await?;
        page.fill(begins("A:"), "5").await?;
        page.until(
            "the link holds both",
            SOON,
            "return location.hash.includes('m=3') && location.hash.includes('A=5')",
        )
        .await?;
        let link = page.ask("return location.hash").await?;
        page.driver().goto("about:blank").await?;
        page.open(link.as_str().unwrap_or_default()).await?;
        let m = page.find("textbox", begins("m:")).await?.value().await?;
        let a = page.find("textbox", begins("A:")).await?.value().await?;
        ensure!(
            (m.as_deref(), a.as_deref()) == (Some("3"), Some("5")),
            "restored m {m:?} and A {a:?}"
        );
        page.until_device("cpu", LATER).await?;
        // The numbers stand in a table that is fetched after the page is seen; without it nothing would count as 0.
        page.until(
            "the table of numbers",
            SOON,
            "return !!document.querySelector('table.compare')",
        )
        .await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        ensure!(page.applied().await? == 0, "opening a link trained");
        ensure!(page.state().await? != "Training", "opening a link started a run");

        page.choose("What is learnt", "My examples (.jsonl)").await?;
        let lines: Vec<String> = (0..24)
            .map(|i| format!("{{\"prompt\": \"{i}+{i}=\", \"completion\": \"{}\"}}", i + i))
            .collect();
        paste(page, &lines.join("\n")).await?;
        page.press("Run").await?;
        page.until_applied(3, LATER).await?;
        page.screenshot("5-own-data").await
    });
}

#[test]
fn webgpu_computes_what_the_cpu_computes() {
    story("6-webgpu", async |page| {
        page.open("").await?;
        page.press("Smallest").await?;
        page.fill("Stop after", "50").await?;
        page.choose("Compute on", "CPU").await?;
        page.until_device("cpu", LATER).await?;
        page.press("Run").await?;
        page.until_state("Budget reached", LATER).await?;
        let on_cpu = losses(&page.journal().await?);

        page.choose("Compute on", "WebGPU, software adapters too").await?;
        page.until_device("webgpu", LATER).await?;
        page.press("Reset").await?;
        page.press("Run").await?;
        page.until(
            "a run on WebGPU",
            LATER,
            "return document.querySelector('.state').dataset.state === 'running'",
        )
        .await?;
        page.until_applied(1, LATER).await?;
        let (from, began) = (page.applied().await?, Instant::now());
        page.until_state("Budget reached", LATER).await?;
        let rate = (50 - from) as f64 / began.elapsed().as_secs_f64();
        println!("{rate:.1} applied updates a second on WebGPU");
        page.screenshot("6-webgpu").await?;
        let on_gpu = losses(&page.journal().await?);

        ensure!(on_cpu.len() >= 100, "only {} losses on the CPU", on_cpu.len());
        ensure!(on_cpu.keys().eq(on_gpu.keys()), "the runs have other groups");
        let worst = on_cpu
            .iter()
            .map(|(key, loss)| (loss - on_gpu[key]).abs())
            .fold(0.0, f64::max);
        println!("largest difference of a loss over 50 updates: {worst:.2e}");
        ensure!(worst <= 1e-4, "losses differ by {worst:.2e}");
        ensure!(rate >= 2.0, "only {rate:.2} applied updates a second");
        Ok(())
    });
}

/// Opens one of the closed panels.
async fn unfold(page: &Page, title: &str) -> Result<(), Trouble> {
    page.ask(&format!(
        "for (const fold of document.querySelectorAll('.fold details')) if (fold.querySelector('h2')?.textContent === '{title}') fold.open = true; return null"
    ))
    .await
    .map(drop)
}

/// The texts of a selector.
async fn texts(page: &Page, selector: &str) -> Result<Vec<String>, Trouble> {
    let found = page
        .ask(&format!(
            "return [...document.querySelectorAll('{selector}')].map(found => found.innerText)"
        ))
        .await?;
    let texts = found.as_array().into_iter().flatten();
    Ok(texts.filter_map(|text| text.as_str().map(str::to_owned)).collect())
}

#[test]
fn a_loop_that_goes_wrong_shows_where() {
    story("7-faults", async |page| {
        page.open(
            "#v=1&budget=30&lanes=token_weighted,token_weighted%2Bsync_first_microbatch&loss_scale=dynamic&inject_inf=3:1:1",
        )
        .await?;
        page.press("Run").await?;
        page.until_state("Budget reached", LATER).await?;
        // The tables are drawn a moment after the run's last news.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let reduces = page.compared("All-reduces").await?;
        ensure!(
            reduces == ["31", "31"],
            "one all-reduce an attempt was made in each lane: {reduces:?}"
        );
        let attempts = page.compared("Update attempts").await?;
        ensure!(attempts == ["31", "31"], "the infinity costs one attempt: {attempts:?}");
        let replicas = page.compared("Replicas").await?;
        ensure!(
            replicas.len() == 2 && replicas[0] == "in step" && replicas[1].starts_with("apart by up to"),
            "an exchange after the first microbatch parts the replicas, and only it: {replicas:?}"
        );

        unfold(page, "All conventions at this point").await?;
        page.press("Compare all conventions here").await?;
        page.until(
            "the probe",
            LATER,
            "return document.querySelectorAll('.probe tbody tr').length >= 16",
        )
        .await?;
        let rows = texts(page, ".probe tbody tr").await?;
        let right = rows.iter().filter(|row| row.contains("right")).count();
        ensure!(right == 2, "two conventions of the table are right: {rows:?}");

        unfold(page, "Pre-flight check").await?;
        page.press("Check before a campaign").await?;
        page.until(
            "the check",
            LATER,
            "return document.querySelectorAll('.preflight tbody tr').length > 0",
        )
        .await?;
        let failed = texts(page, ".preflight [data-passed=no]").await?;
        ensure!(
            failed
                .iter()
                .any(|row| row.starts_with("FAIL") && row.contains("Largest difference between replicas")),
            "the check does not see that the replicas part: {failed:?}"
        );
        ensure!(
            failed.iter().all(|row| row.contains("Synchronised on the first")),
            "the right lane fails: {failed:?}"
        );

        unfold(page, "Largest m that fits").await?;
        page.press("Find the largest m").await?;
        page.until(
            "the largest m",
            LATER,
            "return [...document.querySelectorAll('button')].some(button => button.textContent === 'Put m and A into the form')",
        )
        .await?;
        for panel in ["Loss scale", "Communication, clipping and the log", "Memory"] {
            unfold(page, panel).await?;
        }
        let text = texts(page, ".journal-panel").await?.concat();
        ensure!(text.contains("31"), "the journal does not count its groups: {text}");
        page.screenshot("7-faults").await
    });
}

#[test]
fn how_it_looks() {
    story("7-looks", async |page| {
        page.as_projector().await?;
        page.open(LONG_RUN).await?;
        page.press("Run").await?;
        page.until_applied(40, LATER).await?;
        page.press("Pause").await?;
        page.until_state("Paused", SOON).await?;
        page.in_colours("light").await?;
        page.screenshot("light").await?;
        page.in_colours("dark").await?;
        page.screenshot("dark").await?;
        page.in_colours("light").await?;
        page.find("radio", "Русский").await?.click().await?;
        page.screenshot("russian").await?;
        page.find("radio", "English").await?.click().await?;
        // Not `innerWidth`: a phone widens its window to whatever sticks out.
        let width = "return document.documentElement.scrollWidth";
        let wide = page.ask(width).await?;
        ensure!(wide.as_u64() <= Some(1280), "1280 x 800 scrolls sideways: {wide}");
        page.as_phone().await?;
        page.driver().refresh().await?;
        page.until_device("cpu", LATER).await?;
        page.press("Run").await?;
        page.until_applied(40, LATER).await?;
        page.press("Pause").await?;
        page.until_state("Paused", SOON).await?;
        page.screenshot("phone").await?;
        let narrow = page.ask(width).await?;
        ensure!(narrow.as_u64() <= Some(390), "390 x 844 scrolls sideways: {narrow}");
        Ok(())
    });
}

/// Types into m, and reads what is said at the field, as a screen reader would: by what describes it.
async fn said_at_m(page: &Page, typed: &str) -> Result<String, Trouble> {
    let field = page.find("textbox", begins("m:")).await?;
    let message = field.attr("aria-describedby").await?.ok_or("nothing describes m")?;
    page.fill(begins("m:"), typed).await?;
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(page.driver().find(By::Id(message)).await?.text().await?)
}

/// Opens the box for pasted text, fills it, and uses what stands in it.
async fn paste(page: &Page, text: &str) -> Result<(), Trouble> {
    let shut = "const box = [...document.querySelectorAll('details')].find(d => d.querySelector(':scope > textarea')); \
                const was = box.open; if (!was) box.querySelector('summary').click(); return was";
    page.ask(shut).await?;
    page.fill("Or paste text", text).await?;
    page.press("Use this text").await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    Ok(())
}
