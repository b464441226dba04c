//! Drives a real headless browser: the built page, and the environments compiled to wasm.
//!
//! Tests read their input from variables that `cargo xtask test` sets: `SENTINEL_DIST` (the built
//! page) and `SENTINEL_TESTKIT_WASM` (the test kit's module). `SENTINEL_TESTDATA` names other
//! recorded data.

pub mod browser;
pub mod chrome_command;
pub mod driver;
pub mod film;
pub mod main_thread;
pub mod pictures;
mod test_input;
pub mod testkit;

pub use browser::Browser;
pub use test_input::input;
pub use xtask::serve::{Server, serve};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// The sub-path under which tests serve the page, as a static host would: a page that only works at
/// the root of a host fails there.
pub const SUB_PATH: &str = "/some/sub/path/";

/// Serves the built page under [`SUB_PATH`] on a free port.
///
/// # Errors
/// Returns an error if `SENTINEL_DIST` names no folder, or no port is free.
pub fn serve_page() -> Result<Server> {
    let dist = input("SENTINEL_DIST")?;
    serve(&dist, SUB_PATH, 0).with_context(|| format!("cannot serve {}", dist.display()))
}

/// Returns a folder with a copy of the built page, which a test may change.
///
/// # Errors
/// Returns an error if `SENTINEL_DIST` names no folder, or it cannot be copied.
pub fn copy_of_page() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    xtask::site::copy_folder(&input("SENTINEL_DIST")?, folder.path())?;
    Ok(folder)
}

/// Serves the built page, opens it with a query in a new browser, and waits until a moment of an
/// episode is drawn. The server stops when it is dropped: keep it as long as the browser.
///
/// # Errors
/// Returns an error if the page cannot be served or does not start.
pub async fn open_page(query: &str) -> Result<(Server, Browser)> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    open(&browser, &server, query).await?;
    Ok((server, browser))
}

/// Opens the page with a query and waits until a moment of an episode is drawn. A query that names
/// neither a task nor a screen opens the Episode screen with its defaults; the page itself would ask the
/// world's question.
///
/// # Errors
/// Returns an error if the page does not start.
pub async fn open(browser: &Browser, server: &Server, query: &str) -> Result<()> {
    let is_named = ["page=", "task="].iter().any(|word| query.contains(word));
    let screen = if is_named { "" } else { "&page=episode" };
    browser
        .goto(&format!("{}?{query}{screen}", server.url()))
        .await?;
    browser.wait_for("[data-ready]").await
}

/// Waits until the page shows the moment after `action` actions.
///
/// # Errors
/// Returns an error if it never does.
pub async fn shows_action(browser: &Browser, action: usize) -> Result<()> {
    let count = "document.querySelector('#count').textContent";
    browser
        .wait_until(&format!("{count}.startsWith('{action} /')"))
        .await
}

/// Waits until the engine has played the episode to its end.
///
/// # Errors
/// Returns an error if it never does.
pub async fn is_played(browser: &Browser) -> Result<()> {
    browser
        .wait_until("!document.querySelector('[data-note=playing]')")
        .await
}

/// Shows the end of the episode until a JavaScript expression is true there. After a click that asks for
/// another episode the former one stays until the engine answers, so the first attempt may end that one.
///
/// # Errors
/// Returns an error if the expression never becomes true.
pub async fn holds_at_end(browser: &Browser, expression: &str) -> Result<()> {
    for _ in 0..30 {
        is_played(browser).await?;
        browser
            .execute("document.querySelector('#last').click()", vec![])
            .await?;
        if browser.becomes(expression, Duration::from_secs(1)).await? {
            return Ok(());
        }
    }
    browser.wait_until(expression).await
}

/// Checks that nothing was logged as an error.
///
/// # Errors
/// Returns an error that quotes the log.
pub async fn is_silent(browser: &Browser) -> Result<()> {
    let errors = browser.take_console_errors().await?;
    ensure!(errors.is_empty(), "logged: {errors:?}");
    Ok(())
}

/// Runs axe-core and returns its serious and critical findings, one line each.
///
/// # Errors
/// Returns an error if `SENTINEL_AXE` names no script, or the script fails.
pub async fn axe_findings(browser: &Browser) -> Result<Vec<String>> {
    let script = std::fs::read_to_string(input("SENTINEL_AXE")?)?;
    // Through the driver, which the page's policy for scripts does not concern.
    browser.execute(&script, vec![]).await?;
    let run = "const done = arguments[arguments.length - 1];
        axe.run(document, {resultTypes: ['violations']}).then(({violations}) => done(violations
            .filter(({impact}) => impact === 'serious' || impact === 'critical')
            .flatMap(({id, nodes}) => nodes.map(({html, any}) => `${id}: ${html.slice(0, 160)} ${any[0]?.message ?? ''}`))),
            error => done([String(error)]));";
    let found = browser.execute_async(run, vec![]).await?;
    let lines = found.as_array().cloned().unwrap_or_default();
    Ok(lines.iter().map(ToString::to_string).collect())
}

/// Returns the value of a JavaScript expression in the page.
///
/// # Errors
/// Returns an error if the expression fails, or the browser is gone.
pub async fn ask(browser: &Browser, expression: &str) -> Result<Value> {
    let script = format!("return {expression};");
    Ok(browser.execute(&script, vec![]).await?)
}

/// Saves a screenshot of this name without `.png`, and returns the findings of axe-core, each after
/// the name.
///
/// # Errors
/// Returns an error if the screenshot cannot be saved, and those of [`axe_findings`].
pub async fn inspect_view(browser: &Browser, name: &str) -> Result<Vec<String>> {
    let file = screenshots().join(format!("{name}.png"));
    browser.save_screenshot(&file).await?;
    let found = axe_findings(browser).await?;
    Ok(found
        .into_iter()
        .map(|line| format!("{name}: {line}"))
        .collect())
}

/// Drops a file with this name and text onto the page.
///
/// # Errors
/// Returns an error if the browser is gone.
pub async fn drop_file(browser: &Browser, name: &str, text: &str) -> Result<()> {
    let script = "const data = new DataTransfer();
        data.items.add(new File([arguments[1]], arguments[0]));
        window.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));";
    browser
        .execute(script, vec![json!(name), json!(text)])
        .await?;
    Ok(())
}

/// Returns the folder of screenshots: `target/screenshots`, or the one that `SENTINEL_SCREENSHOTS`
/// names.
#[must_use]
pub fn screenshots() -> PathBuf {
    std::env::var_os("SENTINEL_SCREENSHOTS").map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../target/screenshots"
            ))
        },
        PathBuf::from,
    )
}
