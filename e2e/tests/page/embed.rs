//! The page on other sites: the element, whose script and frame come from another host, and the frame
//! alone.

use anyhow::Result;
use sentinel_e2e::{Browser, Server, ask, is_silent, serve, serve_page, shows_action};
use serde_json::{Value, json};

/// Serves a document of another host around `body`. The page's own host is on another port, and allows
/// no other host to read its files.
fn serve_document(body: &str) -> Result<(tempfile::TempDir, Server)> {
    let folder = tempfile::tempdir()?;
    let document = format!(
        "<!doctype html><meta charset=utf-8><title>docs</title><link rel=icon href='data:,'>{body}"
    );
    std::fs::write(folder.path().join("index.html"), document)?;
    let server = serve(folder.path(), "/", 0)?;
    Ok((folder, server))
}

fn script_of(page: &Server) -> String {
    format!(
        "<script async src='{}sentinel-episode.js'></script>",
        page.url()
    )
}

async fn number(browser: &Browser, expression: &str) -> Result<f64> {
    let value = ask(browser, expression).await?;
    Ok(value.as_f64().unwrap_or(f64::NAN))
}

/// The element loads from a host that allows nothing to other hosts, shows a moment as a card, and has
/// one link to the full page.
#[tokio::test]
async fn element_of_another_host_shows_an_episode_as_a_card() -> Result<()> {
    let page = serve_page()?;
    // The code that the page offers has the script each time.
    let element =
        "<sentinel-episode task=3 seed=42 policy=bayes t=14><p>a picture</p></sentinel-episode>
        <sentinel-episode task=1 seed=5 policy=bayes max-height=700></sentinel-episode>";
    let script = script_of(&page);
    let (_folder, server) = serve_document(&format!("{script}{script}{element}"))?;
    let browser = Browser::start().await?;
    browser.viewport(760, 1400).await?;
    browser.goto(&server.url()).await?;
    browser
        .wait_until("!document.body.innerText.includes('a picture')")
        .await?;
    browser.wait_until("frames.length === 2").await?;
    // The page is higher than both.
    browser
        .wait_until("document.querySelector('iframe').offsetHeight === 420")
        .await?;
    browser
        .wait_until("document.querySelectorAll('iframe')[1].offsetHeight === 700")
        .await?;
    assert_eq!(
        number(&browser, "document.querySelectorAll('a').length").await?,
        0.0
    );
    browser.enter_frame(0).await?;
    browser.wait_for(".page.embed[data-ready]").await?;
    shows_action(&browser, 14).await?;
    browser
        .wait_until("!document.querySelector('header')")
        .await?;
    let links = "[...document.querySelectorAll('a')].filter((link) => link.textContent === 'Open the full page'
        && link.getBoundingClientRect().bottom < innerHeight).length";
    assert_eq!(number(&browser, links).await?, 1.0);
    browser.click("#forward").await?;
    shows_action(&browser, 15).await?;
    is_silent(&browser).await
}

/// Back leaves the document around the frame, whatever the visitor did in the frame.
#[tokio::test]
async fn frame_adds_nothing_to_the_history() -> Result<()> {
    let page = serve_page()?;
    let element = "<sentinel-episode task=3 seed=42 policy=bayes t=14></sentinel-episode>";
    let (_folder, server) = serve_document(&(script_of(&page) + element))?;
    let browser = Browser::start().await?;
    browser.goto(&server.url()).await?;
    browser.wait_until("frames.length === 1").await?;
    let before = number(&browser, "history.length").await?;
    browser.enter_frame(0).await?;
    browser.wait_for(".page.embed[data-ready]").await?;
    browser.click("[data-act]").await?;
    browser
        .wait_until("location.search.includes('acts=') && location.search.includes('t=15')")
        .await?;
    // Of a session's history each document sees the same length.
    assert_eq!(number(&browser, "history.length").await?, before);
    is_silent(&browser).await
}

/// Without an answer the content of the element stays, with a sentence and a link; a late answer
/// removes them.
#[tokio::test]
async fn element_without_an_answer_says_so() -> Result<()> {
    let page = serve_page()?;
    let (empty, silent) = serve_document("<p>no page of Sentinel</p>")?;
    let element = format!(
        "<sentinel-episode page='{}' task=3 seed=42 t=14><p>a picture</p></sentinel-episode>",
        silent.url()
    );
    let (_folder, server) = serve_document(&(script_of(&page) + &element))?;
    let browser = Browser::start().await?;
    browser.goto(&server.url()).await?;
    browser
        .wait_for("sentinel-episode [role=status] a[href*='seed=42']")
        .await?;
    let text = browser.text("sentinel-episode").await?;
    assert!(
        text.contains("a picture") && text.contains("could not be shown here. Open the full page."),
        "{text}"
    );
    let answer = "<script>parent.postMessage({type: 'sentinel-height', height: 90}, '*')</script>";
    std::fs::write(empty.path().join("index.html"), answer)?;
    let reload =
        "const frame = document.querySelector('iframe'); frame.src = frame.src + '&again';";
    browser.execute(reload, vec![]).await?;
    browser
        .wait_until("document.querySelector('iframe').offsetHeight === 92")
        .await?;
    let text = "document.querySelector('sentinel-episode').innerText.trim()";
    assert_eq!(ask(&browser, text).await?, json!(""));
    Ok(())
}

/// A frame that is loaded before it is scrolled into view answers there: browsers lay it out only seconds
/// later, which once was after the element had given up.
#[tokio::test]
async fn element_answers_before_it_is_in_view() -> Result<()> {
    let page = serve_page()?;
    let element = "<div style='height: 1000px'></div>
        <sentinel-episode task=3 seed=42 policy=bayes t=14><p>a picture</p></sentinel-episode>";
    let (_folder, server) = serve_document(&(script_of(&page) + element))?;
    let browser = Browser::start().await?;
    browser.viewport(760, 800).await?;
    browser.goto(&server.url()).await?;
    browser
        .wait_until("!document.body.innerText.includes('a picture')")
        .await?;
    assert_eq!(number(&browser, "scrollY").await?, 0.0);
    let problems = "document.querySelectorAll('sentinel-episode [role=status]').length";
    assert_eq!(number(&browser, problems).await?, 0.0);
    browser
        .execute("document.querySelector('iframe').scrollIntoView()", vec![])
        .await?;
    browser
        .wait_until("document.querySelector('iframe').offsetHeight === 420")
        .await?;
    is_silent(&browser).await
}

/// In a frame as wide as the documented one the numbers of the action buttons stay in one line.
#[tokio::test]
async fn values_of_actions_stay_in_one_line() -> Result<()> {
    let page = serve_page()?;
    let browser = Browser::start().await?;
    browser.viewport(720, 620).await?;
    let query = "?embed=1&task=3&seed=42&policy=bayes&t=14";
    browser.goto(&format!("{}{query}", page.url())).await?;
    browser.wait_for("[data-ready] .act-thought").await?;
    let broken = "[...document.querySelectorAll('.act-thought')].filter((value) =>
        value.offsetHeight > 1.9 * parseFloat(getComputedStyle(value).fontSize)).length";
    assert_eq!(ask(&browser, broken).await?, Value::from(0));
    is_silent(&browser).await
}
