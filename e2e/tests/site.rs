//! The folder of `cargo xtask site`, opened as a static host serves it: from a sub-path.

use anyhow::Result;
use sentinel_e2e::{Browser, SUB_PATH, Server, ask, input, is_played, is_silent, open};
use serde_json::json;
use xtask::serve::serve;

#[tokio::test]
async fn page_and_book_with_live_episodes_open_from_a_sub_path() -> Result<()> {
    let site = input("SENTINEL_SITE")?;
    let readme = std::fs::read_to_string(site.join("README.md"))?;
    assert!(readme.starts_with("---\n") && readme.contains("sdk: static"));
    assert!(site.join("thumbnail.png").is_file());
    let server = serve(&site, SUB_PATH, 0)?;
    let browser = Browser::start().await?;
    open(&browser, &server, "task=task3&seed=42").await?;
    is_played(&browser).await?;
    is_silent(&browser).await?;
    for (selector, attribute, wanted) in [
        (
            "meta[property='og:image']",
            "content",
            "https://example.org/sentinel/thumbnail.png",
        ),
        (
            "link[rel=canonical]",
            "href",
            "https://example.org/sentinel/",
        ),
        (
            "meta[name=site-repository]",
            "content",
            "https://example.org/repository",
        ),
        ("meta[name=site-docs]", "content", "docs/"),
    ] {
        let value = format!("document.querySelector(\"{selector}\")?.getAttribute('{attribute}')");
        assert_eq!(ask(&browser, &value).await?, json!(wanted), "{selector}");
    }
    let manifest = "const done = arguments[arguments.length - 1];
        fetch(document.querySelector('link[rel=manifest]').href).then((answer) => answer.json())
            .then(({icons}) => fetch(icons[0].src)).then(({ok}) => done(ok), () => done(false));";
    assert_eq!(browser.execute_async(manifest, vec![]).await?, json!(true));
    for chapter in ["trust", "cluster", "polyguard"] {
        browser
            .goto(&format!("{}docs/{chapter}.html", server.url()))
            .await?;
        browser.wait_for("sentinel-episode").await?;
        let show = "document.querySelector('sentinel-episode').scrollIntoView()";
        browser.execute(show, vec![]).await?;
        browser.wait_for("sentinel-episode iframe").await?;
        browser.enter_frame(0).await?;
        browser
            .wait_for(&format!(".page.embed[data-of={chapter}][data-ready]"))
            .await?;
    }
    book_never_becomes_the_page(&browser, server).await
}

/// A chapter that a visitor opens without a network is missing; the page that the browser keeps does
/// not appear at its address.
async fn book_never_becomes_the_page(browser: &Browser, server: Server) -> Result<()> {
    let chapter = format!("{}docs/polyguard.html", server.url());
    // The page in the whole window, whose service worker is there by now.
    browser.goto(&server.url()).await?;
    browser.wait_for("[data-ready]").await?;
    drop(server);
    browser.go_offline(true).await?;
    // The browser reports the failed navigation as an error, too.
    let _ = browser.goto(&chapter).await;
    let is_page = "Boolean(document.querySelector('.page, #loading'))";
    assert_eq!(ask(browser, is_page).await?, json!(false));
    Ok(())
}
