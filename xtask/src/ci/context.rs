//! State and commands that the parts of a run share.

use crate::dirs::Dirs;
use crate::run::{Finished, Steps, logged, print_line, print_note};
use crate::test_counts::{Tally, count};
use crate::wasm_target::{self, WasmTarget};
use anyhow::Result;
use std::process::Command;

/// The maximum number of lines of a failing part that are shown, without those that report success.
const SHOWN: usize = 150;

/// The packages of a test run: all but the library for Python, which maturin builds. Every run selects
/// the same ones, so that no crate is compiled again with other features.
pub(super) const WORKSPACE: [&str; 3] = ["--workspace", "--exclude", "sentinel-python"];

/// State that the parts share.
pub(super) struct Ci {
    pub(super) dirs: Dirs,
    target: Option<WasmTarget>,
}

impl Ci {
    /// Creates the state at the beginning of a run.
    pub(super) fn new(dirs: &Dirs) -> Self {
        Self {
            dirs: dirs.clone(),
            target: None,
        }
    }

    pub(super) fn wasm_target(&mut self) -> Result<WasmTarget> {
        if let Some(target) = &self.target {
            return Ok(target.clone());
        }
        let target = wasm_target::ensure(&self.dirs, &mut Steps::inside(1))?;
        self.target = Some(target.clone());
        Ok(target)
    }

    /// Runs a command that either passes or fails as a whole.
    pub(super) fn one_check(&self, name: &str, command: &mut Command) -> Result<Tally> {
        let finished = logged(command, &self.dirs.log(name), None)?;
        if !finished.ok {
            show(&finished);
        }
        Ok(Tally {
            passed: u64::from(finished.ok),
            failed: u64::from(!finished.ok),
        })
    }

    /// Runs a `cargo test` and counts its tests.
    pub(super) fn cargo_test(&self, name: &str, command: &mut Command) -> Result<Tally> {
        // A failed assertion names its line; traces would push it out of the lines that are shown.
        command.env("RUST_BACKTRACE", "0");
        let finished = logged(command, &self.dirs.log(name), None)?;
        let skipped = finished
            .lines
            .iter()
            .filter(|line| line.starts_with("skipped: "));
        skipped.for_each(|line| print_note(line));
        Ok(checked_tally(&finished, count(&finished.lines)))
    }
}

/// Returns the counts of a finished run of tests, as a failure if it failed otherwise or ran no test.
pub(super) fn checked_tally(finished: &Finished, mut tally: Tally) -> Tally {
    if !finished.ok {
        show(finished);
        // It did not compile, or a test process died before it could count.
        tally.failed = tally.failed.max(1);
    } else if tally.passed == 0 {
        print_line(&format!("no test ran: {}", finished.log.display()));
        tally.failed += 1;
    }
    tally
}

/// Prints the relevant lines of a failed command.
fn show(finished: &Finished) {
    let noise = [
        "Compiling ",
        "Checking ",
        "Downloaded ",
        "Running ",
        "Fresh ",
    ];
    let telling: Vec<&String> = finished
        .lines
        .iter()
        .filter(|line| !noise.iter().any(|word| line.trim_start().starts_with(word)))
        .filter(|line| !(line.starts_with("test ") && line.ends_with(" ok")))
        .collect();
    for line in telling.iter().skip(telling.len().saturating_sub(SHOWN)) {
        print_line(line);
    }
    print_line(&format!("full log: {}", finished.log.display()));
}
