//! The parts of `cargo xtask test` that need Python: the package `sentinel-env`, and the notebooks.

use super::context::{Ci, checked_tally};
use crate::run::logged;
use crate::test_counts::Tally;
use crate::tools;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The notebooks, by the names of their files.
const NOTEBOOKS: [&str; 2] = ["one_run", "python"];

/// Tests the Python package as a development build, without installing it.
pub(super) fn python(ci: &mut Ci) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo.args(["build", "-p", "sentinel-python"]);
    let built = ci.one_check("python-build", &mut cargo)?;
    if built.failed > 0 {
        return Ok(built);
    }
    let environment = tools::PACKAGE.ensure(&ci.dirs)?;
    let mut pytest = Command::new(environment.join("bin/python"));
    pytest.env("PYTHONPATH", ci.place_package("debug")?);
    ci.pytest("python", &mut pytest)
}

/// Installs the package with pip as a user does, and tests it with everything that it works with.
pub(super) fn package(ci: &mut Ci) -> Result<Tally> {
    let environment = tools::LEARNERS.ensure(&ci.dirs)?;
    let mut pip = Command::new(environment.join("bin/pip"));
    pip.args(["install", "--force-reinstall", "--no-deps"])
        .args(["--no-build-isolation", "--disable-pip-version-check"])
        .arg(ci.dirs.root.join("python"))
        .env("PATH", ci.path_with(&[&environment.join("bin")])?)
        .env("CARGO_TARGET_DIR", &ci.dirs.target);
    let installed = ci.one_check("package-pip", &mut pip)?;
    if installed.failed > 0 {
        return Ok(installed);
    }
    let mut pytest = Command::new(environment.join("bin/python"));
    pytest.env("SENTINEL_PYTHON_ALL", "1");
    // The part `notebook` builds it; without it the test of the decision loss is skipped.
    let program = ci.dirs.target.join("release/sentinel");
    if program.is_file() {
        pytest.env("SENTINEL_BIN", program);
    }
    ci.pytest("package", &mut pytest)
}

/// Copies the modules of the package, without libraries of an earlier build.
fn copy_modules(from: &Path, to: &Path) -> Result<()> {
    let what = || format!("cannot copy {} to {}", from.display(), to.display());
    std::fs::create_dir_all(to).with_context(what)?;
    for entry in from.read_dir().with_context(what)? {
        let path = entry.with_context(what)?.path();
        let is_module = path
            .extension()
            .is_some_and(|ext| ext == "py" || ext == "pyi" || ext == "typed");
        if let (true, Some(name)) = (is_module, path.file_name()) {
            std::fs::copy(&path, to.join(name)).with_context(what)?;
        }
    }
    Ok(())
}

/// Runs copies of the notebooks with the release of this checkout.
pub(super) fn notebook(ci: &mut Ci) -> Result<Tally> {
    // One after the other: together they would compile the tensor library with other features.
    for package in ["sentinel-trainer", "sentinel-python"] {
        let mut cargo = ci.dirs.cargo();
        cargo.args(["build", "--release", "-p", package]);
        let built = ci.one_check("notebook-build", &mut cargo)?;
        if built.failed > 0 {
            return Ok(built);
        }
    }
    let python = tools::NOTEBOOK.ensure(&ci.dirs)?;
    let package = ci.place_package("release")?;
    let folder = ci.dirs.target.join("notebook");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let path = ci.path_with(&[&ci.dirs.target.join("release"), &python.join("bin")])?;
    let mut tally = Tally::default();
    for name in NOTEBOOKS {
        let file = format!("{name}.ipynb");
        let (original, copy) = (
            ci.dirs.root.join("notebooks").join(&file),
            folder.join(&file),
        );
        std::fs::copy(&original, &copy)
            .with_context(|| format!("cannot copy {}", original.display()))?;
        let mut execute = Command::new(python.join("bin/jupyter-execute"));
        execute
            .arg(&copy)
            .current_dir(&folder)
            .env("PATH", &path)
            .env("PYTHONPATH", &package);
        tally += ci.one_check(&format!("notebook-{name}"), &mut execute)?;
    }
    Ok(tally)
}

impl Ci {
    /// Puts the built library of the Python package, in the folder `profile`, beside a copy of the modules,
    /// and returns the folder to import the package from.
    fn place_package(&self, profile: &str) -> Result<PathBuf> {
        let folder = self.dirs.target.join(format!("python-package-{profile}"));
        let modules = folder.join("sentinel_env");
        let _ = std::fs::remove_dir_all(&folder);
        copy_modules(&self.dirs.root.join("python/python/sentinel_env"), &modules)?;
        let library = format!(
            "{}sentinel_native{}",
            std::env::consts::DLL_PREFIX,
            std::env::consts::DLL_SUFFIX
        );
        let library = self.dirs.target.join(profile).join(library);
        let module = if cfg!(windows) {
            "_native.pyd"
        } else {
            "_native.abi3.so"
        };
        std::fs::copy(&library, modules.join(module))
            .with_context(|| format!("cannot copy {}", library.display()))?;
        Ok(folder)
    }

    /// Returns `PATH` with other folders before it.
    fn path_with(&self, folders: &[&Path]) -> Result<std::ffi::OsString> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = folders.iter().map(|folder| folder.to_path_buf());
        Ok(std::env::join_paths(
            own.chain(std::env::split_paths(&path)),
        )?)
    }

    /// Runs the tests of the Python package and counts them.
    fn pytest(&self, name: &str, python: &mut Command) -> Result<Tally> {
        python
            .args(["-m", "pytest", "--quiet", "-rs", "-p", "no:cacheprovider"])
            .arg(self.dirs.root.join("python/tests"))
            .current_dir(&self.dirs.root)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        let finished = logged(python, &self.dirs.log(name), None)?;
        Ok(checked_tally(&finished, pytest_tally(&finished.lines)))
    }
}

/// Returns the counts of pytest's last line, such as `2 failed, 90 passed, 1 skipped in 9.13s`.
fn pytest_tally(lines: &[String]) -> Tally {
    let counted = |line: &&String| line.contains(" passed") || line.contains(" failed");
    let Some(line) = lines.iter().rev().find(counted) else {
        return Tally::default();
    };
    let line = line.trim_matches(|c: char| c == '=' || c.is_whitespace());
    let number = |word: &str| {
        let part = line.split(", ").find(|part| part.contains(word))?;
        part.split_whitespace().next()?.parse().ok()
    };
    Tally {
        passed: number(" passed").unwrap_or(0),
        failed: number(" failed").unwrap_or(0) + number(" error").unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_notebook_of_the_repository_is_run() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../notebooks");
        let files = folder.read_dir().expect("notebooks").flatten();
        let paths = files.map(|entry| entry.path());
        let notebooks = paths.filter(|path| path.extension().is_some_and(|end| end == "ipynb"));
        let found: BTreeSet<String> = notebooks
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        assert_eq!(found, NOTEBOOKS.map(str::to_owned).into());
    }

    #[test]
    fn counts_of_pytest_are_read() {
        for (line, passed, failed) in [
            ("92 passed in 10.76s", 92, 0),
            ("==== 2 failed, 90 passed, 1 skipped in 9.13s ====", 90, 2),
            ("1 failed, 3 passed, 2 errors in 1.00s", 3, 3),
            ("no tests ran in 0.01s", 0, 0),
        ] {
            let lines = ["....".to_owned(), line.to_owned()];
            let tally = pytest_tally(&lines);
            assert_eq!((tally.passed, tally.failed), (passed, failed), "{line}");
        }
    }
}
