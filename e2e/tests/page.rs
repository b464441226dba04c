//! The built page in a real browser, served from a sub-path as a static host does.

use anyhow::Result;
use sentinel_e2e::{Browser, serve_page};

#[tokio::test]
async fn the_page_loads_from_a_sub_path() -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    browser.goto(&server.url()).await?;
    browser
        .wait_until("document.readyState === 'complete'")
        .await?;
    assert_eq!(browser.title().await?, "Sentinel");
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}
