//! `cargo xtask golden` and `bench-wasm`: tasks that call the test kit's programs.

use crate::dirs::{Dirs, plain};
use crate::e2e;
use crate::page;
use crate::run::{Steps, logged, output, print_line};
use crate::wasm_target::{self, TARGET, WasmTarget};
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::Command;

/// Records the episode digests again and prints the changes.
///
/// # Errors
/// Returns an error if the recorder fails.
pub fn record(dirs: &Dirs) -> Result<()> {
    let file = dirs.root.join("testdata/digests/trust.json");
    let mut steps = Steps::new(1);
    steps.next("Digests: plays every golden episode and records its digest (about 1 min)…");
    let mut cargo = dirs.cargo();
    cargo
        .args(["run", "-q", "--release", "-p", "sentinel-testkit"])
        .args(["--bin", "golden-digests", "--"])
        .arg(&file);
    let finished = logged(&mut cargo, &dirs.log("golden"), None)?.require(
        "recording the digests",
        "`cargo test -p sentinel-testkit` checks every golden row",
    )?;
    finished.lines.iter().for_each(|line| print_line(line));
    let mut git = Command::new("git");
    plain(&mut git)
        .current_dir(&dirs.root)
        .args(["status", "--short", "--", "testdata/digests"]);
    match output(&mut git) {
        Some(changes) if !changes.is_empty() => print_line(&changes),
        Some(_) => print_line("no digest changed"),
        None => print_line(&format!(
            "written to {} (no git to compare with)",
            file.display()
        )),
    }
    Ok(())
}

/// Builds the test kit as a wasm module; returns its file.
///
/// # Errors
/// Returns an error if it does not compile.
pub fn testkit_wasm(dirs: &Dirs, target: &WasmTarget) -> Result<PathBuf> {
    page::fetch(dirs)?;
    let mut cargo = target.cargo(dirs);
    cargo
        .args(["build", "--offline", "-p", "sentinel-testkit", "--lib"])
        .args(["--target", TARGET, "--profile", "web"]);
    logged(&mut cargo, &dirs.log("testkit-wasm"), None)?
        .require("building the test kit for wasm", "")?;
    let folder = dirs.web_target().join(TARGET).join("web");
    let module = folder.join("sentinel_testkit.wasm");
    if !module.is_file() {
        bail!(
            "cargo built no {}: is `cdylib` among testkit's crate types?",
            module.display()
        );
    }
    Ok(module)
}

/// Times environment steps natively and inside wasm in headless Chromium, and prints both tables.
///
/// # Errors
/// Returns an error if the module cannot be built or the browser cannot run it.
pub fn bench_wasm(dirs: &Dirs) -> Result<()> {
    let mut steps = Steps::new(4);
    let target = wasm_target::ensure(dirs, &mut steps)?;
    steps.next("Test kit: compiled for wasm with the page's profile (about 1 min)…");
    let module = testkit_wasm(dirs, &target)?;
    steps.next("Native: runs the same steps outside the browser (about 2 min)…");
    let mut cargo = dirs.cargo();
    cargo
        .args(["run", "-q", "--release", "-p", "sentinel-testkit"])
        .args(["--bin", "bench-native"]);
    let finished = logged(&mut cargo, &dirs.log("bench-native"), None)?
        .require("the benchmark outside the browser", "")?;
    finished.lines.iter().for_each(|line| print_line(line));
    steps.next("Browser: runs the steps in headless Chromium (about 1 min)…");
    e2e::run(dirs, "bench-wasm", &[], ("SENTINEL_TESTKIT_WASM", &module))
}
