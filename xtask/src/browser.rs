//! Finds Chromium and its driver, for the tests in a real browser.

use crate::apt;
use crate::dirs::{Dirs, on_path, variable};
use anyhow::{Context, Result};
use std::path::PathBuf;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// The paths of a browser and of the program that drives it.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The path of Chromium or Chrome; `SENTINEL_CHROMIUM` overrides it.
    pub browser: PathBuf,
    /// The path of ChromeDriver of the same version; `SENTINEL_CHROMEDRIVER` overrides it.
    pub driver: PathBuf,
}

/// Returns both programs, from the variables or PATH.
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
pub fn ensure(place: &Dirs) -> Result<Programs> {
    if let Some(found) = find() {
        return Ok(found);
    }
    apt::install(
        place,
        &PACKAGES,
        "the browser test (Chromium and ChromeDriver)",
    )?;
    find().context(
        "Chromium's packages are installed, but chromium or chromedriver is not on PATH: \
         name them in SENTINEL_CHROMIUM and SENTINEL_CHROMEDRIVER",
    )
}
