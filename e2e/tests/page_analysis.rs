//! The analysis of an episode in a real browser.

use anyhow::Result;
use sentinel_e2e::{is_played, is_silent, open, open_page, screenshots};
use serde_json::{Value, json};

const COMPLETE: &str = "document.querySelector('[data-analysis=complete]')";

#[tokio::test]
async fn decisions_are_judged_in_every_world_and_mistakes_lead_to_branches() -> Result<()> {
    let (server, browser) = open_page("").await?;
    for query in [
        "world=polyguard&task=DDI-easy&seed=42&policy=no_change&t=1",
        "world=cluster&task=task1&seed=5&policy=random&t=3",
    ] {
        open(&browser, &server, query).await?;
        is_played(&browser).await?;
        browser.click("#analyze").await?;
        browser.wait_for(".analysis tbody tr").await?;
    }
    // In the cluster it takes long enough to be ended before it is complete.
    browser.click("#analyze-stop").await?;
    browser.wait_for("#analyze:not([hidden])").await?;
    open(&browser, &server, "task=task3&seed=42&policy=random").await?;
    is_played(&browser).await?;
    browser.click("#analyze").await?;
    browser.wait_until(COMPLETE).await?;
    // The last action of the list led to the cursor; the next mistake is reached by its key.
    browser.press("b").await?;
    browser
        .wait_until("document.querySelector('.verdict[data-tone=bad]')")
        .await?;
    browser
        .save_screenshot(&screenshots().join("analysis.png"))
        .await?;
    let rows = "return document.querySelectorAll('[data-pane=main] .analysis tbody tr').length";
    assert_eq!(browser.execute(rows, vec![]).await?, json!(12));
    let hidden = "return document.querySelector('.analysis [data-truth]') === null";
    assert_eq!(browser.execute(hidden, vec![]).await?, json!(true));
    let cursor = "return Number(document.getElementById('scrubber').value)";
    let at: Value = browser.execute(cursor, vec![]).await?;
    let first: Value = browser
        .execute(
            "return document.querySelector('[data-instead]').dataset.instead",
            vec![],
        )
        .await?;
    browser.click("[data-instead]").await?;
    browser
        .wait_until("document.querySelector('[data-note=branch]')")
        .await?;
    let address: Value = browser.execute("return location.search", vec![]).await?;
    let (address, before) = (address.as_str().unwrap_or(""), at.as_u64().unwrap_or(0) - 1);
    let code = first.as_str().unwrap_or("none");
    assert!(address.contains(&format!("at={before}")), "{address}");
    assert!(address.contains(&format!("acts={code}")), "{address}");
    is_silent(&browser).await
}

#[tokio::test]
async fn hindsight_is_shown_with_the_truth_only() -> Result<()> {
    let (server, browser) = open_page("").await?;
    open(&browser, &server, "task=task1&seed=3&policy=heuristic").await?;
    is_played(&browser).await?;
    browser.click("#analyze").await?;
    browser.wait_until(COMPLETE).await?;
    browser.press("t").await?;
    browser
        .wait_until("document.querySelector('.analysis [data-truth] table')")
        .await?;
    browser.press("t").await?;
    browser
        .wait_until("!document.querySelector('.analysis [data-truth]')")
        .await?;
    is_silent(&browser).await
}
