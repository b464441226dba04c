//! The first visit in a real browser: the guided playback with its captions, and the tour.

use anyhow::Result;
use fantoccini::key::Key;
use sentinel_e2e::{
    Browser, Server, axe_findings, inspect_view, is_silent, open, open_page, screenshots,
    serve_page, shows_action,
};
use serde_json::{Value, json};

/// Number of the step that the page shows.
const STEP: &str = "Number.parseInt(document.querySelector('#count').textContent)";

async fn start() -> Result<(Server, Browser)> {
    Ok((serve_page()?, Browser::start().await?))
}

/// Opens the page without a query, as a new visitor does, or with one.
async fn visit(browser: &Browser, server: &Server, query: &str) -> Result<()> {
    browser.goto(&(server.url() + query)).await?;
    browser.wait_for("[data-ready]").await
}

async fn text_of(browser: &Browser, expression: &str) -> Result<String> {
    let found: Value = browser
        .execute(&format!("return {expression}"), vec![])
        .await?;
    Ok(found.as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn first_visit_opens_on_the_playback_and_skipping_is_remembered() -> Result<()> {
    let (server, browser) = start().await?;
    visit(&browser, &server, "").await?;
    browser.wait_for(".watch [data-moment='The task']").await?;
    browser
        .wait_until("document.querySelector('.watch [data-truth]')?.textContent.includes('is the adversary')")
        .await?;
    browser
        .save_screenshot(&screenshots().join("watch-start.png"))
        .await?;
    // Hidden state is shown in captions only.
    let masked = "return document.querySelector('.unmasked, .truth-layer') !== null";
    assert_eq!(browser.execute(masked, vec![]).await?, json!(false));
    browser.wait_until(&format!("{STEP} >= 2")).await?;
    browser
        .wait_until("document.querySelector('.caption').textContent.includes('Step ')")
        .await?;
    browser
        .wait_until("location.search.includes('watch=1')")
        .await?;
    browser.click("#watch-skip").await?;
    // The button keeps the focus while its meaning changes.
    browser
        .wait_until("document.activeElement.id === 'watch-stay'")
        .await?;
    browser
        .wait_until("!location.search.includes('watch')")
        .await?;
    browser.click("#watch-stay").await?;
    browser
        .wait_until("!document.querySelector('.watch')")
        .await?;
    visit(&browser, &server, "").await?;
    browser.wait_for("#play").await?;
    browser
        .wait_until("!document.querySelector('.watch')")
        .await?;
    shows_action(&browser, 0).await?;
    // It can be started again.
    browser.click("[data-screen=watch]").await?;
    browser.wait_for("#watch-skip").await?;
    browser.press(&Key::Escape.to_string()).await?;
    browser.wait_for("#watch-stay").await?;
    browser.press(&Key::Escape.to_string()).await?;
    browser
        .wait_until("!document.querySelector('.watch')")
        .await?;
    is_silent(&browser).await
}

/// Every world has a guided playback, which goes on in another world and leads to the visitor's own move.
#[tokio::test]
async fn every_world_has_a_guided_playback_that_ends_with_a_choice() -> Result<()> {
    let (server, browser) = start().await?;
    visit(&browser, &server, "?watch&speed=4").await?;
    for (world, moment) in [
        ("trust", "A subtask saved"),
        ("cluster", "A worker exposed"),
        ("polyguard", "A safer substitute"),
    ] {
        browser.click(&format!("[data-world={world}]")).await?;
        browser
            .wait_for(&format!("[data-of={world}][data-ready] > .watch"))
            .await?;
        let shown = format!(
            "document.querySelector('.caption[data-moment*={}]')",
            json!(moment)
        );
        browser.wait_until(&shown).await?;
        let file = format!("watch-{world}.png");
        browser.save_screenshot(&screenshots().join(file)).await?;
        browser.wait_for("#watch-you").await?;
        browser.wait_for(".caption[data-moment*='The end']").await?;
    }
    let player = "document.querySelector('[data-pane=main]').dataset.player";
    assert_eq!(text_of(&browser, player).await?, "grpo");
    let seed = "new URLSearchParams(location.search).get('seed')";
    let watched = text_of(&browser, seed).await?;
    browser.click("#watch-you").await?;
    browser
        .wait_for("[data-pane=main][data-player=you]")
        .await?;
    shows_action(&browser, 0).await?;
    browser
        .wait_until("location.search.includes('policy=you')")
        .await?;
    assert_eq!(text_of(&browser, seed).await?, watched);
    browser
        .wait_until("!document.querySelector('.watch')")
        .await?;
    browser.click("[data-act]").await?;
    browser.wait_for("[data-note=branch]").await?;
    // A finished playback does not open by itself again.
    visit(&browser, &server, "").await?;
    browser
        .wait_until("!document.querySelector('.watch')")
        .await?;
    is_silent(&browser).await
}

/// A visitor who prefers reduced motion presses Next.
#[tokio::test]
async fn playback_stands_still_for_who_wants_it() -> Result<()> {
    let (server, browser) = start().await?;
    browser
        .prefer(&[("prefers-reduced-motion", "reduce")])
        .await?;
    visit(&browser, &server, "?watch&speed=4").await?;
    browser.wait_for("#watch-next").await?;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    shows_action(&browser, 0).await?;
    for action in 1..4 {
        browser.click("#watch-next").await?;
        shows_action(&browser, action).await?;
    }
    is_silent(&browser).await
}

/// A query and a frame skip the playback.
#[tokio::test]
async fn playback_is_skipped_by_a_query_and_in_a_frame() -> Result<()> {
    let (server, browser) = start().await?;
    for query in ["?world=cluster&policy=planner", "?embed=1&watch=1"] {
        visit(&browser, &server, query).await?;
        browser
            .wait_until("!document.querySelector('.watch')")
            .await?;
    }
    is_silent(&browser).await
}

#[tokio::test]
async fn tour_is_taken_by_keyboard() -> Result<()> {
    let (server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    let (enter, escape) = (Key::Enter.to_string(), Key::Escape.to_string());
    for (width, height, shade) in [(1280, 800, "light"), (360, 740, "dark")] {
        browser.viewport(width, height).await?;
        let query = format!("task=1&seed=5&policy=heuristic&theme={shade}");
        open(&browser, &server, &query).await?;
        browser.press("?").await?;
        browser.click("#tour-open").await?;
        for stop in 1..=5 {
            browser
                .wait_for(&format!(".tour[data-stop='{stop}']"))
                .await?;
            browser.wait_for("[data-toured]").await?;
            browser
                .wait_until("document.activeElement.id === 'tour-next'")
                .await?;
            browser
                .wait_until("document.querySelector('#tour-text').textContent.length > 40")
                .await?;
            browser
                .wait_until("document.documentElement.scrollWidth <= window.innerWidth")
                .await?;
            let file = format!("tour-{width}-{stop}.png");
            browser.save_screenshot(&screenshots().join(file)).await?;
            browser.press(&enter).await?;
        }
        browser
            .wait_until("!document.querySelector('.tour, [data-toured]')")
            .await?;
    }
    browser.press("?").await?;
    browser.click("#tour-open").await?;
    browser.wait_for(".tour").await?;
    browser.press(&escape).await?;
    browser
        .wait_until("!document.querySelector('.tour')")
        .await?;
    is_silent(&browser).await
}

/// Pictures of a moment at the width of a phone, light and dark; nothing sticks out.
#[tokio::test]
async fn playback_fits_a_phone() -> Result<()> {
    let (server, browser) = start().await?;
    browser.viewport(360, 740).await?;
    browser
        .prefer(&[("prefers-reduced-motion", "reduce")])
        .await?;
    for (world, at) in [("trust", 17), ("cluster", 2), ("polyguard", 2)] {
        for theme in ["light", "dark"] {
            let query = format!("?world={world}&watch=1&t={at}&theme={theme}");
            visit(&browser, &server, &query).await?;
            shows_action(&browser, at).await?;
            browser.wait_for(".watch [data-truth]").await?;
            browser
                .wait_until("document.documentElement.scrollWidth <= window.innerWidth")
                .await?;
            let file = format!("watch-360-{world}-{theme}.png");
            browser.save_screenshot(&screenshots().join(file)).await?;
        }
    }
    is_silent(&browser).await
}

/// Checks the playback, its end and the tour with axe-core, light and dark.
#[tokio::test]
async fn playback_and_tour_are_accessible() -> Result<()> {
    let (server, browser) = start().await?;
    browser
        .prefer(&[("prefers-reduced-motion", "reduce")])
        .await?;
    let mut findings = Vec::new();
    for theme in ["light", "dark"] {
        for at in [17, 22] {
            let query = format!("?watch=1&t={at}&theme={theme}");
            visit(&browser, &server, &query).await?;
            shows_action(&browser, at).await?;
            findings.extend(inspect_view(&browser, &format!("watch-{at}-{theme}")).await?);
        }
        browser.click("#watch-learn").await?;
        browser.wait_for(".tour").await?;
        findings.extend(axe_findings(&browser).await?);
    }
    assert_eq!(findings, Vec::<String>::new());
    is_silent(&browser).await
}
