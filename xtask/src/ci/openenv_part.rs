//! The part of `cargo xtask test` that plays against the server with OpenEnv's Python clients and with verifiers.

use super::context::{Ci, WORKSPACE};
use crate::test_counts::Tally;
use crate::tools::{self, PythonEnv};
use anyhow::Result;
use std::process::Command;

/// The scripts with the checks, and the environments that they run in.
const CHECKS: [(&str, PythonEnv); 3] = [
    ("server/tests/openenv_check.py", tools::OPENENV[0]),
    ("server/tests/openenv_check.py", tools::OPENENV[1]),
    ("server/tests/verifiers_check.py", tools::VERIFIERS),
];

/// Runs the checks with each of the clients, and with verifiers.
pub(super) fn openenv(ci: &mut Ci) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    // A build alone would compile the tensor library again, without the features of the tests.
    cargo.args(["test", "--no-run", "--test", "all"]);
    cargo.args(WORKSPACE);
    let mut tally = ci.one_check("openenv-build", &mut cargo)?;
    if tally.failed > 0 {
        return Ok(tally);
    }
    let program = ci.dirs.target.join("debug/sentinel");
    for (script, environment) in CHECKS {
        let python = environment.ensure(&ci.dirs)?;
        let mut check = Command::new(python.join("bin/python"));
        check.arg(ci.dirs.root.join(script)).arg(&program);
        tally += ci.one_check(environment.name(), &mut check)?;
    }
    Ok(tally)
}
