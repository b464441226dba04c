//! Tests of the harness: it must notice the faults that tests of the page rely on it to report.

use anyhow::Result;
use sentinel_e2e::main_thread::{LongTask, processor_time, take_long_tasks, watch};
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

const BUSY: &str = "<!doctype html><title>busy</title><button id='work'>Work</button><script>
  work.addEventListener('click', () => {
    for (const start = performance.now(); performance.now() - start < 120;);
    work.textContent = 'done';
  });
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
    let errors = browser.take_console_errors().await?;
    for wanted in ["said by", "thrown by", "no-such-file.json"] {
        let seen = errors.iter().any(|error| error.contains(wanted));
        assert!(seen, "`{wanted}` is not among {errors:?}");
    }
    assert_eq!(browser.take_console_errors().await?, Vec::<String>::new());
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

#[tokio::test]
async fn long_tasks_are_seen_with_their_handler() -> Result<()> {
    let (_folder, server) = site(BUSY)?;
    let browser = Browser::start().await?;
    watch(&browser).await?;
    browser.goto(&server.url()).await?;
    take_long_tasks(&browser).await?;
    let before = processor_time(&browser).await?;
    browser.click("#work").await?;
    // The browser reports the task and its frame one after the other.
    browser
        .wait_until(
            "Object.values(entries).every(kept => kept.some(entry => entry.duration >= 120))",
        )
        .await?;
    let used = processor_time(&browser).await?.per_frame(before, 1.0);
    // Less than 120 ms on a busy machine, where the task waited for a processor.
    assert!(used.script > 0.0 && used.all > used.script, "{used:?}");
    let tasks = take_long_tasks(&browser).await?;
    let is_handler = |task: &LongTask| task.ms >= 120.0 && task.place == "BUTTON#work.onclick";
    assert!(tasks.iter().any(is_handler), "{tasks:?}");
    Ok(())
}
