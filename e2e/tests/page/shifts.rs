//! Layout shifts: a view keeps its place on the screen while the rest of it arrives.

use super::looks::{VIEWS, show};
use anyhow::{Result, ensure};
use sentinel_e2e::{Browser, serve_page};
use serde_json::{Value, json};

/// The largest cumulative layout shift of a view.
const LARGEST: f64 = 0.02;
/// The same at the end of an episode: the comparison of its score moves the charts below the board.
const LARGEST_AT_END: f64 = 0.08;
/// The windows: wide, a tablet, a phone.
const WINDOWS: [(u32, u32); 3] = [(1280, 800), (768, 1024), (360, 740)];

/// A script that runs before the page's own and keeps what moves without an action of the visitor.
const WATCH: &str = "
window.shifts = [];
const name = ({node}) => {
    const element = node?.nodeType === 1 ? node : node?.parentElement;
    return element ? element.tagName + (element.id && '#' + element.id) + [...element.classList].map(c => '.' + c).join('') : 'gone';
};
const move = source => `${name(source)} ${Math.round(source.previousRect.y)} to ${Math.round(source.currentRect.y)}`;
new PerformanceObserver(list => {
    for (const entry of list.getEntries().filter(entry => !entry.hadRecentInput))
        shifts.push({at: entry.startTime, value: entry.value, moved: entry.sources.map(move)});
}).observe({type: 'layout-shift', buffered: true});
";

/// A script that returns once nothing in the page has changed for half a second.
const SETTLE: &str = "
const done = arguments[arguments.length - 1];
let wait;
const observer = new MutationObserver(() => again());
const again = () => {
    clearTimeout(wait);
    wait = setTimeout(() => { observer.disconnect(); done(); }, 500);
};
observer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
again();
";

/// Returns the largest sum of shifts that follow each other within a second, in at most five seconds: the
/// definition of the cumulative layout shift.
fn cumulative(shifts: &[Value]) -> f64 {
    let (mut largest, mut sum, mut first, mut last) = (0.0_f64, 0.0, 0.0, f64::MIN);
    for shift in shifts {
        let at = shift["at"].as_f64().unwrap_or(0.0);
        if at - last > 1000.0 || at - first > 5000.0 {
            (sum, first) = (0.0, at);
        }
        last = at;
        sum += shift["value"].as_f64().unwrap_or(0.0);
        largest = largest.max(sum);
    }
    largest
}

/// Returns the views whose names `is_meant` accepts.
fn views(is_meant: fn(&str) -> bool) -> Vec<(&'static str, String)> {
    let views = VIEWS.into_iter().filter(|(name, _)| is_meant(name));
    views
        .map(|(name, query)| (name, query.to_owned()))
        .collect()
}

/// Opens views, given by name and query, at all widths, and checks that they move by `largest` at most.
async fn nothing_moves(views: &[(&str, String)], largest: f64) -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    let add = "Page.addScriptToEvaluateOnNewDocument";
    browser.dev_tools(add, json!({"source": WATCH})).await?;
    let mut findings = Vec::new();
    for (width, height) in WINDOWS {
        browser.viewport(width, height).await?;
        for (name, query) in views {
            if query.contains("page=spot") {
                // It plays on its own.
                browser.goto(&format!("{}?{query}", server.url())).await?;
                browser
                    .wait_until("Number(document.querySelector('#scrubber')?.value) >= 4")
                    .await?;
            } else {
                show(&browser, &server, query).await?;
                if query.contains("t=999") {
                    browser.wait_for(".yardstick [data-mean-of]").await?;
                }
                browser.execute_async(SETTLE, vec![]).await?;
            }
            let shifts = browser.execute("return shifts;", vec![]).await?;
            let shifts = shifts.as_array().cloned().unwrap_or_default();
            let sum = cumulative(&shifts);
            if sum > largest {
                findings.push(format!("{name} at {width} pixels: {sum:.3} {shifts:?}"));
            }
        }
    }
    ensure!(findings.is_empty(), "{}", findings.join("\n"));
    Ok(())
}

fn is_of_records(name: &str) -> bool {
    ["training", "results"].contains(&name)
}

#[tokio::test]
async fn training_and_results_keep_their_place() -> Result<()> {
    nothing_moves(&views(is_of_records), LARGEST).await
}

#[tokio::test]

async fn episodes_keep_their_place() -> Result<()> {
    nothing_moves(&views(|name| !is_of_records(name)), LARGEST).await
}

/// The end of an episode, where its score is compared.
#[tokio::test]
async fn ends_keep_their_place() -> Result<()> {
    let views = [
        ("trust", "world=trust&task=3&seed=42&policy=heuristic&t=999"),
        ("cluster", "world=cluster&task=1&seed=42&policy=blind&t=999"),
        ("polyguard", "world=polyguard&seed=42&t=999"),
    ];
    let views = views.map(|(name, query)| (name, query.to_owned()));
    nothing_moves(&views, LARGEST_AT_END).await
}

/// The question of each world, with which a visit begins.
#[tokio::test]
async fn first_screens_keep_their_place() -> Result<()> {
    let worlds = ["trust", "cluster", "polyguard"];
    let views = worlds.map(|world| (world, format!("world={world}&page=spot")));
    nothing_moves(&views, LARGEST).await
}
