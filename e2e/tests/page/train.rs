//! Training in the page: it learns for real, and a run is a function of its settings.

use crate::results::{show, start};
use anyhow::{Context, Result, ensure};
use sentinel_e2e::{Browser, inspect_view, is_silent};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A script that types settings into the fields, by identifier.
const TYPE: &str = "for (const [id, value] of Object.entries(arguments[0])) {
    const field = document.getElementById(id);
    field.value = value;
    field.dispatchEvent(new Event('input', {bubbles: true}));
}";

/// A script that keeps the digest after each update.
const WATCH: &str = "window.digests = {};
    const look = () => {
        const found = document.querySelector('#train-digest');
        if (found?.textContent) digests[found.dataset.updates] = found.textContent;
    };
    new MutationObserver(look).observe(document.querySelector('#train'), {subtree: true, childList: true, characterData: true, attributes: true});
    look();";

/// A script that reads the rates, and for each attempt the number of its cells and the number of actions
/// that its name counts.
const LEARNED: &str = r"return {
    rates: [...document.querySelectorAll('#train-learned .rates tbody tr')].map(row => row.textContent),
    rows: [...document.querySelectorAll('#train-learned .attempt[role=img]')].map(row => ({
        cells: row.querySelectorAll('.cells > i').length,
        counted: row.ariaLabel.split('; ')[1].split(', ').reduce((sum, part) => sum + (parseInt(part) || 0), 0),
    })),
};";

/// Settings of updates that take a fraction of a second in a debug build of the browser, too.
const SMALL: [(&str, &str); 3] = [("episodes", "24"), ("group-size", "4"), ("hidden", "16")];

async fn press_start(browser: &Browser, settings: &[(&str, &str)]) -> Result<()> {
    browser.wait_for("#train-start").await?;
    let settings: serde_json::Map<String, Value> = settings
        .iter()
        .map(|(id, value)| ((*id).to_owned(), json!(value)))
        .collect();
    browser.execute(TYPE, vec![Value::Object(settings)]).await?;
    browser.execute(WATCH, vec![]).await?;
    browser.click("#train-start").await
}

/// Trains until the policy had `updates` updates; returns the digests on the way.
async fn digests(
    browser: &Browser,
    settings: &[(&str, &str)],
    updates: u32,
) -> Result<BTreeMap<String, String>> {
    press_start(browser, settings).await?;
    let enough =
        format!("Number(document.querySelector('#train-digest')?.dataset.updates) >= {updates}");
    browser.wait_until(&enough).await?;
    let found = browser.execute("return digests;", vec![]).await?;
    browser.click("#train-reset").await?;
    serde_json::from_value(found).context("digests")
}

#[tokio::test]
async fn the_same_settings_give_the_same_weights() -> Result<()> {
    let (server, browser) = start("page=training").await?;
    let first = digests(&browser, &SMALL, 5).await?;
    show(&browser, &server, "page=training").await?;
    let again = digests(&browser, &SMALL, 5).await?;
    let common = |other: &BTreeMap<String, String>| {
        let both = first
            .iter()
            .filter(|(updates, _)| other.contains_key(*updates));
        both.map(|(updates, digest)| (digest.clone(), other[updates].clone()))
            .collect::<Vec<_>>()
    };
    let pairs = common(&again);
    ensure!(pairs.len() > 1, "{first:?} {again:?}");
    ensure!(pairs.iter().all(|(one, other)| one == other), "{pairs:?}");
    let seeded = [SMALL[0], SMALL[1], SMALL[2], ("training-seed", "2")];
    show(&browser, &server, "page=training").await?;
    let other = common(&digests(&browser, &seeded, 5).await?);
    ensure!(
        !other.is_empty() && other.iter().all(|(a, b)| a != b),
        "{other:?}"
    );
    is_silent(&browser).await
}

/// With the preset the policy passes the heuristic, and then plays an episode.
#[tokio::test]
async fn a_policy_learns_and_plays() -> Result<()> {
    let (_server, browser) = start("page=training").await?;
    press_start(&browser, &[]).await?;
    let passes = "[...document.querySelectorAll('#train-passed li')].some(line => line.textContent.includes('above Heuristic ('))";
    ensure!(
        browser
            .becomes(passes, std::time::Duration::from_secs(120))
            .await?,
        "it did not learn"
    );
    browser.click("#train-pause").await?;
    browser
        .wait_until("document.querySelector('#train-pause').textContent === 'Continue'")
        .await?;
    let findings = inspect_view(&browser, "training-run").await?;
    assert_eq!(findings, Vec::<String>::new());
    let learned = browser.execute(LEARNED, vec![]).await?;
    let rows = learned["rows"].as_array().context("rows")?;
    ensure!((2..=6).contains(&rows.len()), "{learned}");
    for row in rows {
        ensure!(row["cells"] == row["counted"], "{learned}");
    }
    ensure!(
        learned["rates"]
            .as_array()
            .is_some_and(|rates| rates.len() == 4),
        "{learned}"
    );
    let first = learned["rates"][0].as_str().unwrap_or_default();
    ensure!(
        first.starts_with("Fooled by the liar") && first.ends_with("of 100 high-stakes steps"),
        "{learned}"
    );
    browser.click("#train-play").await?;
    browser
        .wait_until("decodeURIComponent(location.search).includes('policy=model:tab') && document.querySelector('[data-ready] #play')")
        .await?;
    is_silent(&browser).await
}

/// Every world trains; a number that cannot be read and a rate that is too high are named.
#[tokio::test]
async fn every_world_trains_and_faults_are_named() -> Result<()> {
    let (server, browser) = start("page=training").await?;
    for world in ["cluster", "polyguard"] {
        show(&browser, &server, &format!("world={world}&page=training")).await?;
        let found = digests(&browser, &SMALL, 2).await?;
        ensure!(found.len() > 1, "{world}: {found:?}");
    }
    show(&browser, &server, "page=training").await?;
    press_start(
        &browser,
        &[("learning-rate", "1e38"), SMALL[0], SMALL[1], SMALL[2]],
    )
    .await?;
    let said = |words: &str| {
        format!("document.querySelector('#train-state').textContent.includes('{words}')")
    };
    browser.wait_until(&said("Training ended: ")).await?;
    browser.click("#train-reset").await?;
    press_start(&browser, &[("group-size", "1"), ("learning-rate", "")]).await?;
    browser.wait_until(&said("Training cannot start: ")).await?;
    browser.click("#train-reset").await?;
    press_start(&browser, &[("group-size", "eight")]).await?;
    browser
        .wait_until("document.querySelector('#notices').textContent.includes('group size')")
        .await
}
