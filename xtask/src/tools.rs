//! Trunk, wasm-bindgen and other tools: taken from the machine if present, else installed once.

use crate::apt;
use crate::dirs::{Dirs, is_program, locked_version, on_path, plain};
use crate::run::{Steps, logged, output, print_note};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of Trunk that is installed if the machine has none.
const TRUNK: &str = "0.22.1";
/// The version of mdbook that is installed if the machine has none.
const MDBOOK: &str = "0.5.4";
/// The version of geckodriver that is installed if the machine has none.
const GECKODRIVER: &str = "0.37.1";
/// The version of axe-core, which checks the page for people with disabilities.
const AXE: &str = "4.10.3";
/// The version of Lighthouse, which grades the page; later ones need Node.js 22.
const LIGHTHOUSE: &str = "12.8.2";
/// Settings that compile a tool in about half the time; the tool's own are meant for its releases.
const FAST_BUILD: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
];

/// A program that the page's build calls.
#[derive(Debug)]
pub struct Tool {
    /// The file name, which is also the first word that `--version` prints.
    program: &'static str,
    /// The package to install.
    package: &'static str,
    /// The version to install.
    version: String,
    /// The versions on the machine that are accepted.
    accepts: Accept,
    /// The purpose of the tool, as the end of a line.
    purpose: &'static str,
    /// The approximate minutes that compiling it takes.
    minutes: u32,
    /// The optimization level: higher for a tool that computes more.
    opt_level: &'static str,
    /// Additional arguments of `cargo install`.
    arguments: &'static [&'static str],
}

/// The versions of a tool that are accepted.
#[derive(Debug, Clone, Copy)]
enum Accept {
    /// Only the exact version.
    Exactly,
    /// This minor version of 0.x, or any later version.
    AtLeast(u64),
}

/// Returns wasm-bindgen's program, whose version must equal the library's in Cargo.lock.
///
/// # Errors
/// Returns an error if Cargo.lock cannot be read or does not name wasm-bindgen.
pub fn wasm_bindgen(dirs: &Dirs) -> Result<Tool> {
    let file = dirs.root.join("Cargo.lock");
    let lock = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let version = locked_version(&lock, "wasm-bindgen")
        .with_context(|| format!("{} has no package wasm-bindgen", file.display()))?;
    Ok(Tool {
        program: "wasm-bindgen",
        package: "wasm-bindgen-cli",
        version,
        accepts: Accept::Exactly,
        purpose: "connects the wasm module with JavaScript",
        minutes: 2,
        opt_level: "1", // reads and writes the whole module in every build
        // Not `--locked`: the lock file of its release names a package that registries no longer
        // list.
        arguments: &[],
    })
}

/// Returns the script of axe-core; downloads it once with npm.
///
/// # Errors
/// Returns an error if there is no npm, or the registry cannot be reached.
pub fn axe(dirs: &Dirs) -> Result<PathBuf> {
    let folder = dirs.cache.join(format!("axe-core-{AXE}"));
    let script = folder.join("package/axe.min.js");
    if script.is_file() {
        return Ok(script);
    }
    print_note("axe-core: downloaded once (seconds)");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["pack", &format!("axe-core@{AXE}"), "--pack-destination"])
        .arg(&folder);
    logged(&mut npm, &dirs.log("axe-core"), None)?.require(
        "downloading axe-core",
        "Is npm installed (Debian: npm)? This needs the network, once",
    )?;
    let mut tar = Command::new("tar");
    tar.arg("xzf")
        .arg(folder.join(format!("axe-core-{AXE}.tgz")))
        .arg("--directory")
        .arg(&folder)
        .arg("package/axe.min.js");
    logged(&mut tar, &dirs.log("axe-core-tar"), None)?
        .require("unpacking axe-core", "See its log")?;
    Ok(script)
}

/// Lighthouse and the program that runs it.
#[derive(Debug)]
pub struct Lighthouse {
    /// The path of Node.js.
    pub node: PathBuf,
    /// The script of its command line.
    pub script: PathBuf,
}

/// Returns Lighthouse; installs it once with npm, and Node.js as a Debian package if necessary.
///
/// # Errors
/// Returns an error if there is no Node.js and it cannot be installed, or npm cannot install
/// Lighthouse.
pub fn lighthouse(dirs: &Dirs, steps: &mut Steps) -> Result<Lighthouse> {
    if on_path("node").is_none() || on_path("npm").is_none() {
        apt::install(dirs, &["nodejs", "npm"], "Lighthouse")?;
    }
    let node = on_path("node").context(
        "Lighthouse needs Node.js 18 or later with npm, and PATH has no node (Debian: nodejs, npm)",
    )?;
    let folder = dirs.cache.join(format!("lighthouse-{LIGHTHOUSE}"));
    let script = folder.join("node_modules/lighthouse/cli/index.js");
    // Written last: an installation that was interrupted is made again.
    let mark = folder.join("installed");
    if mark.is_file() {
        steps.next(&format!(
            "Lighthouse {LIGHTHOUSE}; found {}",
            folder.display()
        ));
        return Ok(Lighthouse { node, script });
    }
    steps.next(&format!(
        "Lighthouse {LIGHTHOUSE}; not found, installing it once into {} (about 1 min)…",
        folder.display()
    ));
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix"])
        .arg(&folder)
        .arg(format!("lighthouse@{LIGHTHOUSE}"));
    logged(&mut npm, &dirs.log("lighthouse-npm"), None)?
        .require("installing Lighthouse", "This needs the network, once")?;
    std::fs::write(&mark, "").with_context(|| format!("cannot write {}", mark.display()))?;
    Ok(Lighthouse { node, script })
}

/// A Python environment with packages, made once in the cache.
#[derive(Clone, Copy, Debug)]
pub struct PythonEnv {
    /// Name of its folder.
    folder: &'static str,
    packages: &'static [&'static str],
    /// Time that making it takes, as the end of a line.
    takes: &'static str,
}

/// Runs notebooks, also one that imports the Python package.
pub const NOTEBOOK: PythonEnv = PythonEnv {
    folder: "python",
    packages: &[
        "nbclient==0.11.0",
        "ipykernel==7.4.0",
        "numpy>=2",
        "gymnasium==1.4.0",
    ],
    takes: "a minute",
};

/// Runs the tests of the Python package.
pub const PACKAGE: PythonEnv = PythonEnv {
    folder: "python-package",
    packages: &["numpy>=2", "gymnasium==1.4.0", "pytest==9.2.0"],
    takes: "a minute",
};

/// Builds the Python package, and holds what it works with, and what published models are compared with: PyTorch is
/// most of it.
pub const LEARNERS: PythonEnv = PythonEnv {
    folder: "python-learners",
    packages: &[
        "gguf==0.19.0",
        "gymnasium==1.4.0",
        "inspect-ai==0.3.285",
        "jmespath",
        "maturin==1.16.0",
        "peft==0.21.2",
        "pytest==9.2.0",
        "skyrl-gym==0.4.0",
        "stable-baselines3>=2.6",
        "transformers==5.24.0",
        "trl==1.16.0",
    ],
    takes: "about 15 minutes and 8 GB",
};

/// Hold the clients of OpenEnv whose versions are tested: the current one, and the one that verifiers
/// installs.
pub const OPENENV: [PythonEnv; 2] = [
    PythonEnv {
        folder: "python-openenv-0.10.0",
        packages: &["openenv==0.10.0"],
        takes: "a minute",
    },
    PythonEnv {
        folder: "python-openenv-0.4.1",
        packages: &["openenv==0.4.1"],
        takes: "a minute",
    },
];

/// Holds verifiers, and uv, with which it installs the program of its harness.
pub const VERIFIERS: PythonEnv = PythonEnv {
    folder: "python-verifiers",
    packages: &["verifiers[openenv]==0.4.0", "uv==0.13.9"],
    takes: "2 minutes",
};

impl PythonEnv {
    /// Returns the name of its folder in the cache.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.folder
    }

    /// Returns the folder of the environment; makes it once, which needs the network. It is made anew
    /// when its packages change.
    ///
    /// # Errors
    /// Returns an error if there is no Python 3 with `venv`, or the packages cannot be installed.
    pub fn ensure(&self, dirs: &Dirs) -> Result<PathBuf> {
        let folder = dirs.cache.join(self.folder);
        let (mark, packages) = (folder.join("packages.txt"), self.packages.join("\n"));
        if std::fs::read_to_string(&mark).is_ok_and(|made| made == packages) {
            return Ok(folder);
        }
        let name = self.folder;
        print_note(&format!(
            "Python environment {name}: made once ({})",
            self.takes
        ));
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--clear"]).arg(&folder);
        logged(&mut venv, &dirs.log(&format!("{name}-venv")), None)?.require(
            "making a Python environment",
            "Is python3 with its module venv installed (Debian: python3-venv)?",
        )?;
        let mut pip = Command::new(folder.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"])
            .args(self.packages);
        logged(&mut pip, &dirs.log(&format!("{name}-pip")), None)?.require(
            &format!("installing {}", self.packages.join(", ")),
            "This needs the network, once",
        )?;
        std::fs::write(&mark, packages)
            .with_context(|| format!("cannot write {}", mark.display()))?;
        Ok(folder)
    }
}

/// Returns Trunk, which builds the page.
#[must_use]
pub fn trunk() -> Tool {
    Tool {
        program: "trunk",
        package: "trunk",
        version: TRUNK.into(),
        accepts: Accept::AtLeast(21),
        purpose: "builds the page around the wasm module",
        minutes: 5,
        opt_level: "0", // only calls others: a third less to compile, and no build is slower
        // Its features only serve to download tools, which is never used here; but with none of
        // them it does not compile. `--ignore-rust-version`: it builds with older compilers than it
        // declares.
        arguments: &[
            "--locked",
            "--ignore-rust-version",
            "--no-default-features",
            "--features",
            "rustls",
        ],
    }
}

/// The program that makes a book of the documentation.
#[must_use]
pub fn mdbook() -> Tool {
    Tool {
        program: "mdbook",
        package: "mdbook",
        version: MDBOOK.into(),
        accepts: Accept::AtLeast(5),
        purpose: "makes a book of docs/",
        minutes: 3,
        opt_level: "0", // runs for a second
        // Neither a server nor a search index is needed to find mistakes.
        arguments: &["--locked", "--no-default-features"],
    }
}

/// Returns geckodriver, which drives Firefox.
#[must_use]
pub fn geckodriver() -> Tool {
    Tool {
        program: "geckodriver",
        package: "geckodriver",
        version: GECKODRIVER.into(),
        accepts: Accept::AtLeast(34),
        purpose: "drives Firefox",
        minutes: 2,
        opt_level: "0", // only passes messages on
        arguments: &["--locked"],
    }
}

impl Tool {
    /// Ensures that the tool is installed; returns the path of its program.
    ///
    /// # Errors
    /// Returns an error if it is not on the machine and cannot be installed.
    pub fn ensure(&self, dirs: &Dirs, steps: &mut Steps) -> Result<PathBuf> {
        let what = format!("{} {}: {}", self.program, self.version, self.purpose);
        if let Some(found) = self.find(dirs) {
            steps.next(&format!("{what}; found {}", found.display()));
            return Ok(found);
        }
        steps.next(&format!(
            "{what}; not found, installing it once into {} (about {} min)…",
            dirs.cache.display(),
            self.minutes
        ));
        if on_path("cargo-binstall").is_some() {
            self.binstall(dirs)?;
        }
        match self.cached(dirs) {
            Some(program) => Ok(program),
            None => self.compile(dirs),
        }
    }

    /// Returns the tool on PATH or in the cache, in a version that is accepted.
    #[must_use]
    pub fn find(&self, dirs: &Dirs) -> Option<PathBuf> {
        on_path(self.program)
            .filter(|program| self.fits(program))
            .or_else(|| self.cached(dirs))
    }

    fn cached(&self, dirs: &Dirs) -> Option<PathBuf> {
        let name = format!("{}{}", self.program, std::env::consts::EXE_SUFFIX);
        let program = dirs.cache.join("tools/bin").join(name);
        (is_program(&program) && self.fits(&program)).then_some(program)
    }

    /// Returns `true` if the program's version is accepted.
    fn fits(&self, program: &Path) -> bool {
        let found = output(Command::new(program).arg("--version"));
        let found = found.as_deref().and_then(version_word);
        found.is_some_and(|found| match self.accepts {
            Accept::Exactly => found == self.version,
            Accept::AtLeast(minor) => at_least(found, minor),
        })
    }

    /// Tries to install a prebuilt program; a failure is not an error, since compiling comes next.
    fn binstall(&self, dirs: &Dirs) -> Result<()> {
        print_note("asking cargo binstall for a ready-made program…");
        let mut binstall = dirs.cargo();
        binstall
            .args([
                "binstall",
                "--no-confirm",
                "--disable-strategies",
                "compile",
            ])
            .arg("--root")
            .arg(dirs.cache.join("tools"))
            .arg(format!("{}@{}", self.package, self.version));
        let log = dirs.log(&format!("binstall-{}", self.package));
        if !logged(&mut binstall, &log, None)?.ok {
            print_note(&format!("it has none (log: {}); compiling", log.display()));
        }
        Ok(())
    }

    fn compile(&self, dirs: &Dirs) -> Result<PathBuf> {
        // Not in the repository: its cargo settings and profiles are not the tool's.
        std::fs::create_dir_all(&dirs.cache)
            .with_context(|| format!("cannot make {}", dirs.cache.display()))?;
        let mut cargo = dirs.cargo();
        plain(&mut cargo)
            .current_dir(&dirs.cache)
            .args(["install", self.package, "--version", &self.version])
            .args(self.arguments)
            .arg("--root")
            .arg(dirs.cache.join("tools"))
            // A separate folder that stays until the end: an interrupted build continues where it
            // stopped.
            .arg("--target-dir")
            .arg(build_folder(dirs))
            .envs(FAST_BUILD)
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", self.opt_level)
            .env_remove("CARGO_TARGET_DIR");
        let log = dirs.log(&format!("install-{}", self.package));
        let by_hand = format!(
            "This step needs the network, once. Without it, put {} {} on PATH",
            self.program, self.version
        );
        logged(&mut cargo, &log, None)?
            .require(&format!("installing {}", self.package), &by_hand)?;
        self.cached(dirs)
            .with_context(|| format!("cargo installed no {} {}", self.program, self.version))
    }
}

/// Frees the space of [`Tool::ensure`]'s builds (about 1 GB); call it once all tools are installed.
pub fn clean(dirs: &Dirs) {
    // Nothing depends on it: files that cannot be removed now are removed or reused next time.
    let _ = std::fs::remove_dir_all(build_folder(dirs));
}

fn build_folder(dirs: &Dirs) -> PathBuf {
    dirs.cache.join("tools-build")
}

/// Returns the version in `name 1.2.3 (…)`.
fn version_word(text: &str) -> Option<&str> {
    let version = text.lines().next()?.split_whitespace().nth(1)?;
    Some(version.trim_start_matches('v'))
}

/// Returns `true` if `version` is 0.`minor` or later.
fn at_least(version: &str, minor: u64) -> bool {
    let mut numbers = version.split('.').map(str::parse::<u64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(0)), Some(Ok(found))) => found >= minor,
        (Some(Ok(_)), _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_parts_are_compared_numerically() {
        assert!(at_least("0.21.14", 21));
        assert!(at_least("0.100.0", 21));
        assert!(at_least("1.0.0-beta", 21));
        assert!(!at_least("0.9.0", 21));
        assert!(!at_least("nonsense", 21));
        assert!(!at_least("", 21));
    }

    #[test]
    fn version_is_second_word_of_output() {
        assert_eq!(version_word("wasm-bindgen 0.2.130 (abc)"), Some("0.2.130"));
        assert_eq!(version_word("trunk 0.22.1\n"), Some("0.22.1"));
        assert_eq!(version_word("mdbook v0.5.2"), Some("0.5.2"));
        assert_eq!(version_word("trunk"), None);
    }

    #[cfg(unix)]
    #[test]
    fn tool_fits_only_accepted_version() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join("trunk");
        let write = |version: &str| {
            let script = format!("#!/bin/sh\necho trunk {version}\n");
            std::fs::write(&program, script).expect("a script");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&program, mode).expect("a mode");
        };
        write("0.20.9");
        assert!(!trunk().fits(&program));
        write("0.23.0");
        assert!(trunk().fits(&program));
        let exact = Tool {
            accepts: Accept::Exactly,
            ..trunk()
        };
        assert!(!exact.fits(&program));
    }
}
