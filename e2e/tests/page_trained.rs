//! The trained policy in the page, and the page about its training.

use anyhow::Result;
use sentinel_e2e::{Browser, SUB_PATH, input, open_page, serve};

const AT_END: &str =
    "(([a, b]) => a === b && b > 3)(document.querySelector('#count').textContent.split(' / '))";

#[tokio::test]
async fn grpo_plays_to_the_end_and_says_how_likely_each_action_is() -> Result<()> {
    let (_server, browser) = open_page("task=3&seed=42&policy=grpo&t=5").await?;
    browser.wait_for("[data-probability]").await?;
    let script = "const all = [...document.querySelectorAll('[data-probability]')];
        return [all.length, all.reduce((sum, e) => sum + Number(e.dataset.probability), 0)];";
    let found = browser.execute(script, vec![]).await?;
    assert_eq!(found[0], 12);
    let sum = found[1].as_f64().unwrap_or_default();
    assert!((sum - 1.0).abs() < 1e-4, "{sum}");
    browser
        .wait_until("document.querySelectorAll('.belief').length === 5")
        .await?;
    assert!(
        browser
            .text("[data-note=model]")
            .await?
            .contains("parameters")
    );
    browser.click("[aria-label=Last]").await?;
    browser.wait_until(AT_END).await?;
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}

/// On a host with the page alone both missing files are named, and no other policy plays in place
/// of the trained one.
#[tokio::test]
async fn missing_files_are_named_and_nobody_stands_in() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for entry in input("SENTINEL_DIST")?.read_dir()? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), folder.path().join(entry.file_name()))?;
        }
    }
    let server = serve(folder.path(), SUB_PATH, 0)?;
    let browser = Browser::start().await?;
    browser
        .goto(&format!("{}?policy=grpo&t=9", server.url()))
        .await?;
    browser.wait_for("[data-note=model].bad").await?;
    let note = browser.text("[data-note=model]").await?;
    assert!(note.contains("replays/grpo/model.safetensors"), "{note}");
    assert!(note.contains("nobody plays in its place"), "{note}");
    assert_eq!(browser.text("#count").await?, "0 / 0");
    browser.click(".screens a:not(.chosen)").await?;
    browser.wait_for("#training-note.bad").await?;
    let note = browser.text("#training-note").await?;
    assert!(note.contains("replays/grpo/trainer_state.json"), "{note}");
    browser
        .wait_until("location.search.includes('page=training')")
        .await?;
    browser.back().await?;
    browser.wait_for("#count").await?;
    Ok(())
}

/// The page draws curves where the run is committed; else it names the missing file.
#[tokio::test]
async fn the_training_page_draws_or_says_what_is_missing() -> Result<()> {
    let there = input("SENTINEL_DIST")?.join("replays/grpo/trainer_state.json");
    let (_server, browser) = {
        let server = sentinel_e2e::serve_page()?;
        let browser = Browser::start().await?;
        browser
            .goto(&format!("{}?page=training", server.url()))
            .await?;
        (server, browser)
    };
    if !there.is_file() {
        return browser.wait_for("#training-note.bad").await;
    }
    browser
        .wait_for("[data-plot=evaluation] polyline.c0")
        .await?;
    let read = "document.querySelector('[data-plot=evaluation] [data-step]').dataset.step";
    let last = browser
        .execute(&format!("return {read};"), vec![])
        .await?
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let focus = "document.querySelector('[data-plot=evaluation] [role=slider]').focus();";
    browser.execute(focus, vec![]).await?;
    browser
        .press(&fantoccini::key::Key::Left.to_string())
        .await?;
    browser.wait_until(&format!("{read} !== '{last}'")).await?;
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}

/// The cluster's policy gives the same episode from its weights as from its recorded actions.
#[tokio::test]
async fn the_clusters_policy_plays_as_it_was_recorded() -> Result<()> {
    let (server, browser) = open_page("world=cluster").await?;
    let mut shown = Vec::new();
    for policy in ["grpo", "replay:cluster-grpo-hardened"] {
        let query = format!("world=cluster&rules=hardened&task=2&seed=3&policy={policy}&t=999");
        browser.goto(&format!("{}?{query}", server.url())).await?;
        browser.wait_for(".digest").await?;
        browser.wait_until(AT_END).await?;
        shown.push([browser.text(".digest").await?, browser.text(".big").await?]);
    }
    assert_eq!(shown[0], shown[1]);
    let query = "world=cluster&rules=hardened&task=2&seed=3&policy=grpo&t=5";
    browser.goto(&format!("{}?{query}", server.url())).await?;
    browser
        .wait_until("document.querySelectorAll('.mind [data-belief]').length === 5")
        .await?;
    let note = browser.text("[data-note=model]").await?;
    assert!(note.contains("hardened rules"), "{note}");
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}
