//! The part of `cargo xtask test` that compares a published language model with transformers and PEFT.

use super::context::{Ci, WORKSPACE};
use crate::test_counts::Tally;
use crate::tools;
use anyhow::{Context, Result};
use std::process::Command;

/// The script that installs the model and imports it.
const RECIPE: &str = "trainer/recipes/smollm2.sh";
/// The script that compares the imported folder with the file, and records results of transformers and PEFT.
const RECORD: &str = "trainer/tests/pretrained/record.py";

/// Imports the model, records what transformers and PEFT compute with it, and compares.
pub(super) fn pretrained(ci: &mut Ci) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo.args(["test", "--no-run", "--test", "lm"]);
    cargo.args(WORKSPACE);
    let mut tally = ci.one_check("pretrained-build", &mut cargo)?;
    if tally.failed > 0 {
        return Ok(tally);
    }
    let python = tools::LEARNERS.ensure(&ci.dirs)?.join("bin/python");
    let folder = ci.dirs.target.join("pretrained");
    // The file is kept; what this program makes of it is made anew.
    for made in ["model", "records", "settings"] {
        let made = folder.join(made);
        let removed = match made.is_dir() {
            true => std::fs::remove_dir_all(&made),
            false if made.exists() => std::fs::remove_file(&made),
            false => Ok(()),
        };
        removed.with_context(|| format!("cannot remove {}", made.display()))?;
    }
    let mut recipe = Command::new("sh");
    recipe
        .arg(ci.dirs.root.join(RECIPE))
        .arg(&folder)
        .env("SENTINEL", ci.dirs.target.join("debug/sentinel"))
        .env("PYTHON", &python);
    let mut record = Command::new(&python);
    record
        .arg(ci.dirs.root.join(RECORD))
        .args(["model.gguf", "model", "records"].map(|name| folder.join(name)))
        .env("TQDM_DISABLE", "1");
    for (name, command) in [
        ("pretrained-recipe", &mut recipe),
        ("pretrained-record", &mut record),
    ] {
        tally += ci.one_check(name, command)?;
        if tally.failed > 0 {
            return Ok(tally);
        }
    }
    let mut cargo = ci.dirs.cargo();
    cargo
        .args(["test", "--no-fail-fast", "--test", "lm"])
        .args(WORKSPACE)
        .args(["--", "pretrained::"])
        .env("SENTINEL_PRETRAINED", &folder);
    tally += ci.cargo_test("pretrained", &mut cargo)?;
    Ok(tally)
}
