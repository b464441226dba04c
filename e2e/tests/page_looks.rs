//! The layout of the page at several widths: nothing overflows, and screenshots for review are
//! written to `target/screenshots` (or the folder that `SENTINEL_SCREENSHOTS` names).

use anyhow::Result;
use sentinel_e2e::{Browser, screenshots, serve_page};

const PLAYED: &str =
    "document.querySelector('#league-note')?.textContent.startsWith('800 episodes')";
const NO_SIDEWAYS: &str = "document.documentElement.scrollWidth <= window.innerWidth";

#[tokio::test]
async fn nothing_sticks_out_at_any_width() -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    let views = [
        (
            "wide",
            1280,
            1240,
            "task=3&seed=42&policy=bayes&t=14&view=truth",
        ),
        ("agent", 1280, 1240, "task=3&seed=42&policy=bayes&t=9"),
        (
            "compare",
            1440,
            1500,
            "task=3&seed=42&policy=bayes&vs=heuristic&t=20&view=truth",
        ),
        (
            "own",
            1280,
            900,
            "task=1&seed=8&policy=you&at=0&acts=d0d1v2s&t=4",
        ),
        (
            "narrow",
            360,
            1900,
            "task=3&seed=42&policy=bayes&t=14&view=truth",
        ),
        (
            "narrow-compare",
            360,
            900,
            "task=2&seed=3&policy=bayes&vs=random&t=6",
        ),
        (
            "embed",
            720,
            620,
            "task=1&seed=11&policy=heuristic&t=6&embed=1",
        ),
        (
            "dark",
            1280,
            1240,
            "task=3&seed=42&policy=bayes&t=23&view=truth&theme=dark",
        ),
        ("standings", 1280, 900, "task=1&seed=42&policy=bayes"),
        ("narrow-standings", 360, 760, "task=1&seed=42&policy=bayes"),
    ];
    for (name, width, height, query) in views {
        browser.viewport(width, height).await?;
        browser.goto(&format!("{}?{query}", server.url())).await?;
        browser.wait_for("svg .cursor").await?;
        if name.ends_with("standings") {
            browser.click("#league").await?;
            browser.wait_until(PLAYED).await?;
        }
        browser.wait_until(NO_SIDEWAYS).await?;
        browser
            .save_screenshot(&screenshots().join(format!("{name}.png")))
            .await?;
    }
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn the_system_may_ask_for_dark_and_the_embed_is_bare() -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    browser.prefer_dark(true).await?;
    browser.goto(&format!("{}?embed=1", server.url())).await?;
    browser.wait_for("#count").await?;
    let dark = "getComputedStyle(document.body).backgroundColor === 'rgb(18, 22, 28)'";
    browser.wait_until(dark).await?;
    browser
        .wait_until("!document.querySelector('header') && !document.querySelector('footer')")
        .await?;
    browser.prefer_dark(false).await?;
    browser
        .wait_until("getComputedStyle(document.body).backgroundColor === 'rgb(247, 248, 250)'")
        .await?;
    Ok(())
}

/// Every control has an accessible name.
#[tokio::test]
async fn everything_that_acts_has_a_name() -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    browser
        .goto(&format!("{}?policy=you", server.url()))
        .await?;
    browser.wait_for("#count").await?;
    let script = "return [...document.querySelectorAll('button, input, select, svg[role], [role=img]')]
        .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length)))
        .map(e => e.outerHTML.slice(0, 120));";
    let nameless = browser.execute(script, vec![]).await?;
    assert_eq!(nameless, serde_json::json!([]));
    Ok(())
}
