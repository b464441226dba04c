//! The folder of `cargo xtask site`, opened as a static host serves it: from a sub-path.

use anyhow::Result;
use sentinel_e2e::{Browser, SUB_PATH, input, is_played, is_silent, open};
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
    Ok(())
}
