//! Finds Chromium and its driver, for the tests in a real browser.

use crate::apt;
use crate::place::{Place, on_path, variable};
use anyhow::{Context, Result};
use std::path::PathBuf;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// A browser and the program that drives it.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Chromium or Chrome; `SENTINEL_CHROMIUM` names another one.
    pub browser: PathBuf,
    /// ChromeDriver of the same version; `SENTINEL_CHROMEDRIVER` names another one.
    pub driver: PathBuf,
}

/// Both programs, from the variables or PATH.
#[must_use]
pub fn find() -> Option<Programs> {
    let named = |name: &str| variable(name).map(PathBuf::from);
    let browser = named("SENTINEL_CHROMIUM")
        .or_else(|| BROWSERS.iter().find_map(|browser| on_path(browser)))?;
    let driver = named("SENTINEL_CHROMEDRIVER").or_else(|| on_path("chromedriver"))?;
    Some(Programs { browser, driver })
}

/// [`find`], installing the Debian packages where that is possible.
///
/// # Errors
/// When they are missing and cannot be installed; with the line to type.
pub fn ensure(place: &Place) -> Result<Programs> {
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
