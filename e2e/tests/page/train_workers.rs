//! The workers that train: their number does not change the weights, and a run survives the loss of one,
//! of all, and of its tab.

use super::train::{SMALL, WATCH, digests, digests_until, ensure_equal, press_start};
use crate::results::show;
use anyhow::{Result, ensure};
use sentinel_e2e::{Browser, Server, is_silent, serve_page};
use serde_json::json;

/// A script that runs before the page's own: it lists the running workers that train, and claims four
/// processors.
const LIST: &str = "
window.training = [];
window.mostTraining = 0;
Object.defineProperty(navigator, 'hardwareConcurrency', {get: () => 4});
window.Worker = class extends Worker {
    postMessage(message, ...rest) {
        if (typeof message === 'string' && message.includes('learner')) {
            training.push(this);
            mostTraining = Math.max(mostTraining, training.length);
        }
        if (this === window.silent) return;
        super.postMessage(message, ...rest);
    }
    terminate() {
        training = training.filter(worker => worker !== this);
        super.terminate();
    }
};
";

async fn start() -> Result<(Server, Browser)> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    let add = "Page.addScriptToEvaluateOnNewDocument";
    browser.dev_tools(add, json!({"source": LIST})).await?;
    show(&browser, &server, "page=training").await?;
    Ok((server, browser))
}

fn small_with(workers: &str) -> Vec<(&str, &str)> {
    let mut settings = SMALL.to_vec();
    settings.push(("training-workers", workers));
    settings
}

#[tokio::test]
async fn the_number_of_workers_does_not_change_the_weights() -> Result<()> {
    let (server, browser) = start().await?;
    let alone = digests(&browser, &small_with("0"), 6).await?;
    ensure!(browser.execute("return mostTraining", vec![]).await? == json!(1));
    // By default there is one helper less than the machine has processors.
    for (workers, count) in [("1", 2), ("", 4)] {
        show(&browser, &server, "page=training").await?;
        let shared = digests(&browser, &small_with(workers), 6).await?;
        ensure_equal(&alone, &shared)?;
        let most = browser.execute("return mostTraining", vec![]).await?;
        assert_eq!(most, json!(count), "{workers}");
    }
    // All of them end with the run.
    browser.wait_until("training.length === 0").await?;
    is_silent(&browser).await
}

/// A script that ends a worker as a crash would.
fn lose(worker: u32) -> String {
    format!("training[{worker}].dispatchEvent(new ErrorEvent('error', {{message: 'lost'}}))")
}

#[tokio::test]
async fn a_run_survives_the_loss_of_its_workers() -> Result<()> {
    let (server, browser) = start().await?;
    let settings = |workers| {
        [
            ("episodes", "96"),
            SMALL[1],
            SMALL[2],
            ("training-workers", workers),
        ]
    };
    let whole = digests(&browser, &settings("0"), 14).await?;
    show(&browser, &server, "page=training").await?;
    press_start(&browser, &settings("2")).await?;
    digests_until(&browser, 2).await?;
    browser.execute(&lose(1), vec![]).await?;
    // The one that learns goes on alone.
    browser.wait_until("training.length === 1").await?;
    digests_until(&browser, 6).await?;
    browser.execute(&lose(0), vec![]).await?;
    browser
        .wait_until("document.querySelector('#notices').textContent.includes('goes on from its last saved state')")
        .await?;
    ensure_equal(&whole, &digests_until(&browser, 14).await?)?;
    browser.click("#train-reset").await
}

/// A helper that no longer answers raises no error: without answers for some time, training goes on alone.
#[tokio::test]
async fn a_run_survives_a_silent_helper() -> Result<()> {
    let (server, browser) = start().await?;
    let whole = digests(&browser, &small_with("0"), 6).await?;
    show(&browser, &server, "page=training").await?;
    let hasten = "const later = setTimeout;
        window.setTimeout = (work, time) => later(work, time === 10000 ? 1500 : time);";
    browser.execute(hasten, vec![]).await?;
    press_start(&browser, &small_with("1")).await?;
    // With a helper that answers, nothing is said.
    digests_until(&browser, 3).await?;
    let script = "window.silent = training[1];
        return [training.length, document.querySelector('#notices').textContent];";
    let before = browser.execute(script, vec![]).await?;
    ensure!(before == json!([2, "Dismiss"]), "{before}");
    browser
        .wait_until("document.querySelector('#notices').textContent.includes('do not answer')")
        .await?;
    browser.wait_until("training.length === 1").await?;
    ensure_equal(&whole, &digests_until(&browser, 6).await?)?;
    browser.click("#train-reset").await
}

/// Checks that the page offers no run to continue.
async fn ensure_none_is_kept(browser: &Browser) -> Result<()> {
    let offer = "document.querySelector('#kept-run:not([hidden])')";
    let limit = std::time::Duration::from_millis(500);
    let is_offered = browser.becomes(offer, limit).await?;
    ensure!(!is_offered, "a run that was reset is not kept");
    Ok(())
}

/// The browser keeps a run: the next visit offers to continue it, with the same weights as without the
/// interruption.
#[tokio::test]
async fn a_run_is_kept_when_the_tab_is_closed() -> Result<()> {
    let (server, browser) = start().await?;
    let whole = digests(&browser, &SMALL, 12).await?;
    show(&browser, &server, "page=training").await?;
    ensure_none_is_kept(&browser).await?;
    press_start(&browser, &SMALL).await?;
    digests_until(&browser, 6).await?;
    show(&browser, &server, "page=training").await?;
    browser.wait_for("#kept-run:not([hidden])").await?;
    browser.execute(WATCH, vec![]).await?;
    browser.click("#kept-continue").await?;
    ensure_equal(&whole, &digests_until(&browser, 12).await?)?;
    browser.click("#train-reset").await?;
    show(&browser, &server, "page=training").await?;
    ensure_none_is_kept(&browser).await?;
    is_silent(&browser).await
}
