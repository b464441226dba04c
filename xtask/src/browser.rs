//! Finds Chromium and Firefox with their drivers, for the tests in a real browser.

use crate::apt;
use crate::dirs::{Dirs, on_path, variable};
use crate::run::Steps;
use crate::tools;
use anyhow::{Context, Result};
use std::path::PathBuf;

const FIREFOX: [&str; 2] = ["firefox", "firefox-esr"];
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// The paths of a browser and of the program that drives it.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The path of the browser.
    pub browser: PathBuf,
    /// The path of its driver; ChromeDriver must have the browser's version.
    pub driver: PathBuf,
}

/// Returns Chromium or Chrome with ChromeDriver, from `SENTINEL_CHROMIUM` and
/// `SENTINEL_CHROMEDRIVER`, or from PATH.
#[must_use]
pub fn find() -> Option<Programs> {
    let named = |name: &str| variable(name).map(PathBuf::from);
    let browser = named("SENTINEL_CHROMIUM")
        .or_else(|| BROWSERS.iter().find_map(|browser| on_path(browser)))?;
    let driver = named("SENTINEL_CHROMEDRIVER").or_else(|| on_path("chromedriver"))?;
    Some(Programs { browser, driver })
}

/// Returns the result of [`find`], after installing the Debian packages if necessary and possible.
///
/// # Errors
/// Returns an error if they are missing and cannot be installed; it names the command to type.
pub fn ensure(dirs: &Dirs) -> Result<Programs> {
    if let Some(found) = find() {
        return Ok(found);
    }
    apt::install(
        dirs,
        &PACKAGES,
        "the browser test (Chromium and ChromeDriver)",
    )?;
    find().context(
        "Chromium's packages are installed, but chromium or chromedriver is not on PATH: \
         name them in SENTINEL_CHROMIUM and SENTINEL_CHROMEDRIVER",
    )
}

/// Returns the paths of Firefox and geckodriver, after installing them if necessary and possible;
/// `SENTINEL_FIREFOX` and `SENTINEL_GECKODRIVER` override them.
///
/// # Errors
/// Returns an error if they are missing and cannot be installed.
pub fn ensure_firefox(dirs: &Dirs) -> Result<Programs> {
    let named = |name: &str| variable(name).map(PathBuf::from);
    let found =
        || named("SENTINEL_FIREFOX").or_else(|| FIREFOX.iter().find_map(|name| on_path(name)));
    if found().is_none() {
        apt::install(dirs, &["firefox-esr"], "the test in Firefox")?;
    }
    let browser = found().context("no firefox on PATH: name it in SENTINEL_FIREFOX")?;
    let driver = match named("SENTINEL_GECKODRIVER") {
        Some(driver) => driver,
        None => tools::geckodriver().ensure(dirs, &mut Steps::inside(1))?,
    };
    Ok(Programs { browser, driver })
}
