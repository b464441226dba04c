//! The parts of `cargo xtask test` that open a real browser: test files of the crate `sentinel-e2e`.

use super::Ci;
use crate::browser;
use crate::dirs::Dirs;
use crate::golden;
use crate::page;
use crate::test_counts::Tally;
use crate::tools;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// The test file of `e2e` that needs the test kit's module instead of the page.
const WASM_TEST: &str = "wasm";
/// The test file of `e2e` that needs the whole site.
const SITE_TEST: &str = "site";
/// The test file of `e2e` that needs Firefox.
const FIREFOX_TEST: &str = "firefox";

pub(super) fn wasm(ci: &mut Ci) -> Result<Tally> {
    let target = ci.wasm_target()?;
    let module = golden::testkit_wasm(&ci.dirs, &target)?;
    browser::ensure(&ci.dirs)?;
    let targets = ["--lib", "--test", WASM_TEST];
    run_tests(ci, "wasm", &targets, &[("SENTINEL_TESTKIT_WASM", module)])
}

pub(super) fn e2e(ci: &mut Ci) -> Result<Tally> {
    let dist = page::built(&ci.dirs)?;
    browser::ensure(&ci.dirs)?;
    let axe = tools::axe(&ci.dirs)?;
    let files = page_tests(&ci.dirs)?;
    let targets: Vec<&str> = files.iter().flat_map(|file| ["--test", file]).collect();
    run_tests(
        ci,
        "e2e",
        &targets,
        &[("SENTINEL_DIST", dist), ("SENTINEL_AXE", axe)],
    )
}

pub(super) fn firefox(ci: &mut Ci) -> Result<Tally> {
    let dist = page::built(&ci.dirs)?;
    let programs = browser::ensure_firefox(&ci.dirs)?;
    let inputs = [
        ("SENTINEL_DIST", dist),
        ("SENTINEL_FIREFOX", programs.browser),
        ("SENTINEL_GECKODRIVER", programs.driver),
    ];
    run_tests(ci, "firefox", &["--test", FIREFOX_TEST], &inputs)
}

pub(super) fn site(ci: &mut Ci) -> Result<Tally> {
    let out = ci.dirs.target.join("xtask/site");
    if out.exists() {
        std::fs::remove_dir_all(&out)
            .with_context(|| format!("cannot remove {}", out.display()))?;
    }
    crate::site::site(&ci.dirs, &out)?;
    browser::ensure(&ci.dirs)?;
    run_tests(
        ci,
        "site",
        &["--test", SITE_TEST],
        &[("SENTINEL_SITE", out)],
    )
}

/// Runs targets of `e2e` with paths in variables.
fn run_tests(ci: &Ci, name: &str, targets: &[&str], inputs: &[(&str, PathBuf)]) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo
        .args(["test", "-p", "sentinel-e2e", "--no-fail-fast"])
        .args(targets)
        .envs(inputs.iter().map(|(name, path)| (name, path)));
    ci.cargo_test(name, &mut cargo)
}

/// Returns the test files of `e2e` that need the page in Chromium.
fn page_tests(dirs: &Dirs) -> Result<Vec<String>> {
    let folder = dirs.root.join("e2e/tests");
    let mut names = Vec::new();
    for entry in folder
        .read_dir()
        .with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if path.extension().is_some_and(|e| e == "rs")
            && ![WASM_TEST, FIREFOX_TEST, SITE_TEST].contains(&&*name)
        {
            names.push(name.into_owned());
        }
    }
    names.sort();
    Ok(names)
}
