//! The workers of the page: those that help with long work end once it is done.

use anyhow::Result;
use fantoccini::Locator;
use sentinel_e2e::{Browser, is_played, is_silent, open, serve_page};
use serde_json::json;

/// A script that runs before the page's own: it counts the running workers, and claims four processors, so
/// that several engines share long work on any machine.
const COUNT: &str = "
window.workers = 0;
window.mostWorkers = 0;
Object.defineProperty(navigator, 'hardwareConcurrency', {get: () => 4});
window.Worker = class extends Worker {
    constructor(...parameters) {
        super(...parameters);
        workers += 1;
        mostWorkers = Math.max(mostWorkers, workers);
    }
    terminate() {
        workers -= 1;
        super.terminate();
    }
};
";

/// Opens the page and counts its workers from the start.
async fn open_counted(query: &str) -> Result<(sentinel_e2e::Server, Browser)> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    let add = "Page.addScriptToEvaluateOnNewDocument";
    browser.dev_tools(add, json!({"source": COUNT})).await?;
    open(&browser, &server, query).await?;
    is_played(&browser).await?;
    Ok((server, browser))
}

/// The true hidden state can still be analyzed afterwards, with helpers of its own.
#[tokio::test]
async fn helpers_of_an_analysis_end_with_it() -> Result<()> {
    let (_server, browser) = open_counted("task=1&seed=5&policy=heuristic&t=2").await?;
    browser.wait_until("workers === 1").await?;
    browser.click("#analyze").await?;
    browser.wait_for("[data-analysis=complete]").await?;
    browser
        .wait_until("mostWorkers === 4 && workers === 1")
        .await?;
    browser.execute("mostWorkers = 0", vec![]).await?;
    browser.click("#truth").await?;
    let shown = "document.querySelector('.analysis [data-truth] table')";
    browser.wait_until(shown).await?;
    browser
        .wait_until("mostWorkers === 4 && workers === 1")
        .await?;
    // Hidden and shown again, it is known.
    browser.execute("mostWorkers = 0", vec![]).await?;
    browser.click("#truth").await?;
    browser.wait_until(&format!("!{shown}")).await?;
    browser.click("#truth").await?;
    browser.wait_until(shown).await?;
    browser.wait_until("mostWorkers === 0").await?;
    is_silent(&browser).await
}

/// The engine that has the scores stays: another player can be compared with.
#[tokio::test]
async fn helpers_of_a_tournament_end_with_it() -> Result<()> {
    let (_server, browser) = open_counted("task=1&seed=5&policy=heuristic&t=2").await?;
    let script = "const seeds = document.querySelector('#tournament-seeds'); seeds.value = '20';
        seeds.dispatchEvent(new Event('change', {bubbles: true}));
        document.querySelector('#tournament').click();";
    browser.wait_for("#tournament-seeds").await?;
    browser.execute(script, vec![]).await?;
    let note = "document.querySelector('#tournament-note').textContent";
    browser
        .wait_until(&format!("{note}.includes('Mean score')"))
        .await?;
    browser
        .wait_until("mostWorkers === 5 && workers === 2")
        .await?;
    let menu = browser.find(Locator::Css("#tournament-reference")).await?;
    menu.select_by_value("random").await?;
    let heads = "document.querySelector('.result-table thead').textContent";
    browser
        .wait_until(&format!("{heads}.includes('Difference to Random')"))
        .await?;
    browser.wait_until("workers === 2").await?;
    is_silent(&browser).await
}
