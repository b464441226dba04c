//! Drives a real headless Chromium: the built page, and the environments compiled to wasm.
//!
//! Tests read their input from variables that `cargo xtask test` sets: `SENTINEL_DIST` (the built
//! page) and `SENTINEL_TESTKIT_WASM` (the test kit's module). `SENTINEL_TESTDATA` names other
//! recorded data.

pub mod browser;
pub mod command;
pub mod driver;
pub mod testkit;

pub use browser::Browser;
pub use xtask::serve::{Server, serve};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::path::PathBuf;

/// The sub-path under which tests serve the page, as a static host would: a page that only works at
/// the root of a host fails there.
pub const SUB_PATH: &str = "/some/sub/path/";

/// Returns the path that the environment variable `name` holds.
///
/// # Errors
/// Returns an error if the variable is not set, because the test was not started by
/// `cargo xtask test`, or if the path cannot be read.
pub fn input(name: &str) -> Result<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    let path = value
        .map(PathBuf::from)
        .with_context(|| format!("{name} is not set: run `cargo xtask test`, which sets it"))?;
    std::fs::metadata(&path).with_context(|| {
        format!(
            "{name}={}: cannot be read; run `cargo xtask test`, which builds it",
            path.display()
        )
    })?;
    Ok(path)
}

/// Serves the built page under [`SUB_PATH`] on a free port.
///
/// # Errors
/// Returns an error if `SENTINEL_DIST` names no folder, or no port is free.
pub fn serve_page() -> Result<Server> {
    let dist = input("SENTINEL_DIST")?;
    serve(&dist, SUB_PATH, 0).with_context(|| format!("cannot serve {}", dist.display()))
}

/// Serves the built page, opens it with a query in a new browser, and waits until it has loaded.
/// The server stops when it is dropped: keep it as long as the browser.
///
/// # Errors
/// Returns an error if the page cannot be served or does not start.
pub async fn open_page(query: &str) -> Result<(Server, Browser)> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    browser.goto(&format!("{}?{query}", server.url())).await?;
    browser.wait_for("#count").await?;
    Ok((server, browser))
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

/// A view of the page: the name of its screenshot, the width and height of the window, and the
/// query of its address.
pub type Look<'a> = (&'a str, u32, u32, &'a str);

/// Checks views of a world and saves a screenshot of each: nothing overflows the width, every
/// control has a name, and no error was logged.
///
/// # Errors
/// Returns an error if a view does not load or fails one of these checks.
pub async fn looks_right(
    server: &Server,
    browser: &Browser,
    world: &str,
    looks: &[Look<'_>],
) -> Result<()> {
    let folder = screenshots();
    for (name, width, height, query) in looks {
        browser.viewport(*width, *height).await?;
        let address = format!("{}?world={world}&{query}", server.url());
        browser.goto(&address).await?;
        browser.wait_for("svg .cursor").await?;
        browser
            .wait_until("document.documentElement.scrollWidth <= window.innerWidth")
            .await?;
        browser
            .save_screenshot(&folder.join(format!("{name}.png")))
            .await?;
        let nameless = "return [...document.querySelectorAll('button, input, select, svg[role], [role=img]')]
            .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length)))
            .map(e => e.outerHTML.slice(0, 120));";
        let nameless = browser.execute(nameless, vec![]).await?;
        ensure!(nameless == json!([]), "{name}: without a name: {nameless}");
    }
    let errors = browser.console_errors().await?;
    ensure!(errors.is_empty(), "logged: {errors:?}");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_variable_says_what_to_run() {
        let error = input("SENTINEL_NO_SUCH_VARIABLE").expect_err("not set");
        assert!(error.to_string().contains("run `cargo xtask test`"));
    }
}
