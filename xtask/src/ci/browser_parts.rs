//! The parts of `cargo xtask test` that open a real browser: test programs of the crate `sentinel-e2e`.

use super::context::{Ci, WORKSPACE};
use crate::browser;
use crate::golden;
use crate::page;
use crate::site::Options;
use crate::test_counts::Tally;
use crate::tools;
use anyhow::{Context, Result};
use std::path::PathBuf;

pub(super) fn wasm(ci: &mut Ci) -> Result<Tally> {
    let target = ci.wasm_target()?;
    let module = golden::testkit_wasm(&ci.dirs, &target)?;
    browser::ensure(&ci.dirs)?;
    run_tests(ci, "wasm", "wasm", &[("SENTINEL_TESTKIT_WASM", module)])
}

pub(super) fn e2e(ci: &mut Ci) -> Result<Tally> {
    let dist = page::built(&ci.dirs)?;
    browser::ensure(&ci.dirs)?;
    let axe = tools::axe(&ci.dirs)?;
    let inputs = [("SENTINEL_DIST", dist), ("SENTINEL_AXE", axe)];
    run_tests(ci, "e2e", "page", &inputs)
}

pub(super) fn firefox(ci: &mut Ci) -> Result<Tally> {
    let dist = page::built(&ci.dirs)?;
    let programs = browser::ensure_firefox(&ci.dirs)?;
    let inputs = [
        ("SENTINEL_DIST", dist),
        ("SENTINEL_FIREFOX", programs.browser),
        ("SENTINEL_GECKODRIVER", programs.driver),
    ];
    run_tests(ci, "firefox", "firefox", &inputs)
}

/// Grades the built page with Lighthouse.
pub(super) fn lighthouse(ci: &mut Ci) -> Result<Tally> {
    crate::lighthouse::grade(&ci.dirs)
}

pub(super) fn site(ci: &mut Ci) -> Result<Tally> {
    let out = ci.dirs.target.join("xtask/site");
    if out.exists() {
        std::fs::remove_dir_all(&out)
            .with_context(|| format!("cannot remove {}", out.display()))?;
    }
    let options = Options {
        out: out.clone(),
        url: Some("https://example.org/sentinel".to_owned()),
        repository: Some("https://example.org/repository".to_owned()),
    };
    crate::site::site(&ci.dirs, &options)?;
    browser::ensure(&ci.dirs)?;
    run_tests(ci, "site", "site", &[("SENTINEL_SITE", out)])
}

/// Runs the test program `program` of `e2e` with paths in variables.
fn run_tests(ci: &Ci, name: &str, program: &str, inputs: &[(&str, PathBuf)]) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo
        .args(["test", "--no-fail-fast", "--test", program])
        .args(WORKSPACE)
        .envs(inputs.iter().map(|(name, path)| (name, path)));
    ci.cargo_test(name, &mut cargo)
}
