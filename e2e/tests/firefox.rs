//! The page in Firefox: it opens in every world, plays, scrubs and obeys the keyboard. Everything else
//! is tested in Chromium.

use anyhow::Result;
use fantoccini::key::Key;
use sentinel_e2e::{
    Browser, SUB_PATH, Server, is_played, is_silent, open, serve, serve_page, shows_action,
};
use serde_json::json;

async fn open_page(query: &str) -> Result<(Server, Browser)> {
    let server = serve_page()?;
    let browser = Browser::start_firefox().await?;
    open(&browser, &server, query).await?;
    Ok((server, browser))
}

/// Without this test, errors that Firefox reports in another way would pass the tests below.
#[tokio::test]
async fn errors_of_a_page_are_seen() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let html = "<!doctype html><title>broken</title><script>
        console.error('said by the page');
        Promise.reject(new Error('rejected by the page'));
        setTimeout(() => { throw new Error('thrown by the page'); }, 0);</script>";
    std::fs::write(folder.path().join("index.html"), html)?;
    let server = serve(folder.path(), SUB_PATH, 0)?;
    let browser = Browser::start_firefox().await?;
    browser.goto(&server.url()).await?;
    let errors = browser.take_console_errors().await?;
    for wanted in ["said by", "rejected by", "thrown by"] {
        let seen = errors.iter().any(|error| error.contains(wanted));
        assert!(seen, "`{wanted}` is not among {errors:?}");
    }
    is_silent(&browser).await
}

#[tokio::test]
async fn every_world_opens_and_plays_to_its_end() -> Result<()> {
    let (server, browser) = open_page("").await?;
    for world in ["trust", "cluster", "polyguard"] {
        open(&browser, &server, &format!("world={world}&seed=42")).await?;
        browser.wait_for(&format!("[data-of={world}]")).await?;
        is_played(&browser).await?;
        browser.press(&Key::End.to_string()).await?;
        browser
            .wait_until("document.querySelector('.digest').textContent")
            .await?;
    }
    is_silent(&browser).await
}

#[tokio::test]
async fn buttons_keys_and_time_bar_move_through_the_episode() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic&speed=4").await?;
    is_played(&browser).await?;
    browser.click("#forward").await?;
    shows_action(&browser, 1).await?;
    browser.press(&Key::Home.to_string()).await?;
    shows_action(&browser, 0).await?;
    browser.press(&Key::Right.to_string()).await?;
    shows_action(&browser, 1).await?;
    let drag = "const bar = document.querySelector('#scrubber');
        bar.value = arguments[0];
        bar.dispatchEvent(new Event('input', {bubbles: true}));";
    for action in [5, 2, 4] {
        browser.execute(drag, vec![json!(action)]).await?;
        shows_action(&browser, action).await?;
    }
    browser.click("#play").await?;
    browser
        .wait_until("Number.parseInt(document.querySelector('#count').textContent) >= 6")
        .await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn keyboard_opens_help_and_takes_an_action() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    browser.press("?").await?;
    browser.wait_for("dialog[open]").await?;
    browser.press(&Key::Escape.to_string()).await?;
    browser
        .wait_until("!document.querySelector('dialog[open]')")
        .await?;
    browser.press("t").await?;
    browser.wait_for(".truth-layer").await?;
    browser
        .execute("document.querySelector('[data-act=v2]').focus()", vec![])
        .await?;
    browser.press(&Key::Enter.to_string()).await?;
    browser.wait_for("[data-note=branch]").await?;
    browser
        .wait_until("document.activeElement.dataset.act === 'v2'")
        .await?;
    is_silent(&browser).await
}
