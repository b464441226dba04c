//! Tests of the harness: it must notice the faults that tests of the page rely on it to report.

use anyhow::Result;
use sentinel_e2e::{Browser, SUB_PATH, Server, serve};

const BROKEN: &str = "<!doctype html><title>broken</title><script>
  console.error('said by the page');
  setTimeout(() => { throw new Error('thrown by the page'); }, 0);
  fetch('no-such-file.json').then(() => { window.ready = true; });
</script>";

const NARROW: &str = "<!doctype html><title>narrow</title><p id='mode'></p><script>
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  mode.textContent = innerWidth + (dark ? ' dark' : ' light');
  addEventListener('keydown', event => { mode.textContent = event.key; });
</script>";

fn site(html: &str) -> Result<(tempfile::TempDir, Server)> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("index.html"), html)?;
    let server = serve(folder.path(), SUB_PATH, 0)?;
    Ok((folder, server))
}

#[tokio::test]
async fn errors_of_a_page_are_seen() -> Result<()> {
    let (_folder, server) = site(BROKEN)?;
    let browser = Browser::start().await?;
    browser.goto(&server.url()).await?;
    browser.wait_until("window.ready").await?;
    let errors = browser.console_errors().await?;
    for wanted in ["said by", "thrown by", "no-such-file.json"] {
        let seen = errors.iter().any(|error| error.contains(wanted));
        assert!(seen, "`{wanted}` is not among {errors:?}");
    }
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn size_colors_and_keys_reach_the_page() -> Result<()> {
    let (folder, server) = site(NARROW)?;
    let browser = Browser::start().await?;
    browser.viewport(360, 640).await?;
    browser.prefer_dark(true).await?;
    browser.goto(&server.url()).await?;
    assert_eq!(browser.text("#mode").await?, "360 dark");
    browser.press("x").await?;
    assert_eq!(browser.text("#mode").await?, "x");
    let file = folder.path().join("shots/page.png");
    browser.save_screenshot(&file).await?;
    assert!(std::fs::read(file)?.starts_with(b"\x89PNG"));
    Ok(())
}
