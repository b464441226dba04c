//! Files and folders that `cargo xtask test` names to the tests.

use anyhow::{Context, Result};
use std::path::PathBuf;

/// Returns the path that the environment variable `name` holds.
///
/// # Errors
/// Returns an error if the variable is not set, because the test was not started by
/// `cargo xtask test`, or if the path cannot be read.
pub fn input(name: &str) -> Result<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    let path = value
        .map(PathBuf::from)
        .with_context(|| format!("{name} is not set: run `cargo xtask test`, which sets it"))?;
    std::fs::metadata(&path).with_context(|| {
        format!(
            "{name}={}: cannot be read; run `cargo xtask test`, which builds it",
            path.display()
        )
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_variable_says_what_to_run() {
        let error = input("SENTINEL_NO_SUCH_VARIABLE").expect_err("not set");
        assert!(error.to_string().contains("run `cargo xtask test`"));
    }
}
