//! Measures how smoothly the built page scrubs: frames per second while the time bar is dragged
//! from end to end and back.
//!
//! `SENTINEL_DIST=dist cargo run --release -p sentinel-e2e --bin bench_scrub`

use anyhow::{Context, Result};
use sentinel_e2e::{Browser, is_played, open_page};
use serde_json::json;
use std::io::Write;

/// The views that are measured: name and query of the page's address.
const VIEWS: [(&str, &str); 8] = [
    ("trust task3", "task=3&seed=42&policy=bayes"),
    ("cluster task1", "world=cluster&task=1&seed=42&policy=trust"),
    ("cluster task2", "world=cluster&task=2&seed=42&policy=trust"),
    ("cluster task3", "world=cluster&task=3&seed=42&policy=trust"),
    (
        "cluster task3, truth",
        "world=cluster&task=3&seed=42&policy=trust&view=truth",
    ),
    (
        "cluster task3, two panes",
        "world=cluster&task=3&seed=42&policy=trust&vs=blind",
    ),
    ("polyguard", "world=polyguard&seed=42&policy=rules_only"),
    (
        "polyguard, two panes",
        "world=polyguard&seed=42&policy=rules_only&vs=random",
    ),
];

/// A script that moves the bar in each of 300 frames and returns the milliseconds between frames.
const DRAG: &str = "const done = arguments[arguments.length - 1];
    const bar = document.querySelector('#scrubber'), last = Number(bar.max);
    const gaps = [];
    let at = 0, by = 1, before = null, left = 300;
    function frame(now) {
        if (before !== null) gaps.push(now - before);
        before = now;
        at += by;
        if (at >= last || at <= 0) by = -by;
        bar.value = at;
        bar.dispatchEvent(new Event('input', {bubbles: true}));
        if (--left > 0) requestAnimationFrame(frame); else setTimeout(() => done(gaps), 100);
    }
    requestAnimationFrame(frame);";
/// The number of frames in which [`DRAG`] moves the bar.
const FRAMES: f64 = 300.0;
/// The metrics of the browser's main thread that are reported, in seconds of processor time.
const PARTS: [&str; 4] = [
    "TaskDuration",
    "ScriptDuration",
    "RecalcStyleDuration",
    "LayoutDuration",
];

/// Returns the mean, the median and the 95th percentile of `values`.
fn spread(values: &serde_json::Value) -> Option<(f64, f64, f64)> {
    let values = values.as_array()?.iter().map(serde_json::Value::as_f64);
    let mut values = values.collect::<Option<Vec<f64>>>()?;
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values.get((values.len() as f64 * share) as usize).copied();
    Some((
        values.iter().sum::<f64>() / values.len() as f64,
        at(0.5)?,
        at(0.95)?,
    ))
}

/// Returns the processor time of the page's main thread so far, in seconds, for each of [`PARTS`].
async fn spent(browser: &Browser) -> Result<[f64; 4]> {
    let found = browser
        .dev_tools("Performance.getMetrics", json!({}))
        .await?;
    let metrics = found["metrics"].as_array().context("no metrics")?;
    let value = |name: &str| {
        let metric = metrics.iter().find(|metric| metric["name"] == name);
        metric
            .and_then(|metric| metric["value"].as_f64())
            .unwrap_or(0.0)
    };
    Ok(PARTS.map(value))
}

/// Returns the spread of the times between frames, and the milliseconds of processor time per frame
/// for each of [`PARTS`].
async fn measure(browser: &Browser, url: &str) -> Result<((f64, f64, f64), [f64; 4])> {
    browser.goto(url).await?;
    browser.wait_for("[data-ready]").await?;
    is_played(browser).await?;
    browser
        .wait_until("Number(document.querySelector('#scrubber').max) > 3")
        .await?;
    // Measure thread time, not wall time, so that other load on the machine does not count.
    let domain = json!({"timeDomain": "threadTicks"});
    browser.dev_tools("Performance.enable", domain).await?;
    let before = spent(browser).await?;
    let gaps = browser.execute_async(DRAG, vec![]).await?;
    let after = spent(browser).await?;
    browser.dev_tools("Performance.disable", json!({})).await?;
    let each = std::array::from_fn(|i| (after[i] - before[i]) * 1000.0 / FRAMES);
    Ok((spread(&gaps).context("the page gave no times")?, each))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let (server, browser) = open_page("").await?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "| view | frames/s | ms between frames, median / 95 % | processor ms a frame: all, script, style, layout |\n|---|---|---|---|"
    )?;
    for (name, query) in VIEWS {
        let url = format!("{}?{query}", server.url());
        let ((gap, middle, late), [all, script, style, layout]) = measure(&browser, &url).await?;
        writeln!(
            out,
            "| {name} | {:.1} | {middle:.1} / {late:.1} | {all:.2}: {script:.2}, {style:.2}, {layout:.2} |",
            1000.0 / gap
        )?;
    }
    Ok(())
}
