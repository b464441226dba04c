//! `cargo xtask bench-page`, `screenshots` and `bench-wasm`: programs of the crate `sentinel-e2e`, which open a
//! real browser.

use crate::browser;
use crate::dirs::Dirs;
use crate::page;
use crate::run::{Steps, logged, print_line};
use anyhow::Result;
use std::path::Path;

/// Measures how smooth the page in `dist/` is, and prints tables.
///
/// # Errors
/// Returns an error if there is no built page, or the page does not do what is measured.
pub fn bench_page(dirs: &Dirs) -> Result<()> {
    let dist = page::built(dirs)?;
    let mut steps = Steps::new(1);
    steps.next("Browser: plays, scrubs, loads and switches in every world (about 4 min)…");
    run(dirs, "bench-page", &[], ("SENTINEL_DIST", &dist))
}

/// Makes the pictures of the page in README, docs and the visual comparison, from the page in
/// `dist/`; compares them with the committed ones instead if `only_check`.
///
/// # Errors
/// Returns an error if there is no built page, it does not show an episode, or a compared picture
/// differs.
pub fn screenshots(dirs: &Dirs, only_check: bool) -> Result<()> {
    let dist = page::built(dirs)?;
    let mut steps = Steps::new(1);
    steps.next("Pictures: opens the page in headless Chromium (seconds)…");
    let arguments: &[&str] = if only_check { &["--check"] } else { &[] };
    run(dirs, "screenshots", arguments, ("SENTINEL_DIST", &dist))
}

/// Runs the program `name` with an input, which is a variable and a path; prints what it printed.
///
/// # Errors
/// Returns an error if there is no browser, or the program fails.
pub(crate) fn run(dirs: &Dirs, name: &str, arguments: &[&str], input: (&str, &Path)) -> Result<()> {
    browser::ensure(dirs)?;
    let mut cargo = dirs.cargo();
    cargo
        .args(["run", "-q", "-p", "sentinel-e2e", "--bin", name, "--"])
        .args(arguments)
        .env("RUST_BACKTRACE", "0")
        .env(input.0, input.1);
    let finished = logged(&mut cargo, &dirs.log(name), None)?.require(name, "")?;
    finished.lines.iter().for_each(|line| print_line(line));
    Ok(())
}
