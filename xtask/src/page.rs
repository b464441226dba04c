//! Builds the page with its tools, the wasm target and Trunk.

use crate::dirs::Dirs;
use crate::run::{Steps, logged};
use crate::tools;
use crate::wasm_split;
use crate::wasm_target::{self, WasmTarget};
use crate::worlds;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The number of steps that [`build`] announces.
pub const STEPS: usize = 4;

/// Ensures everything that the page needs and builds it into `dist/`.
///
/// # Errors
/// Returns an error if a step fails; the message names it, its log and a remedy.
pub fn build(dirs: &Dirs, steps: &mut Steps) -> Result<PathBuf> {
    let target = wasm_target::ensure(dirs, steps)?;
    build_with(dirs, &target, steps)
}

/// Returns the folder of the page that was built last.
///
/// # Errors
/// Returns an error if there is none.
pub fn built(dirs: &Dirs) -> Result<PathBuf> {
    let dist = dirs.dist();
    if !dist.join("index.html").is_file() {
        bail!(
            "no built page in {}: run `cargo xtask demo --build-only`",
            dist.display()
        );
    }
    Ok(dist)
}

/// Builds the page like [`build`] for an existing target, in three steps.
///
/// # Errors
/// Returns the errors of [`build`].
pub fn build_with(dirs: &Dirs, target: &WasmTarget, steps: &mut Steps) -> Result<PathBuf> {
    fetch(dirs)?;
    // Tools and page need each other only at the end, and neither alone keeps all cores busy.
    let (bindgen, trunk) = std::thread::scope(|scope| {
        let modules = scope.spawn(|| compile(dirs, target));
        let bindgen = tools::wasm_bindgen(dirs)?.ensure(dirs, steps);
        let trunk = tools::trunk().ensure(dirs, steps);
        steps.next("Page: compiles web/ into dist/ (about 5 min the first time, seconds later)…");
        let modules = modules
            .join()
            .unwrap_or_else(|_| bail!("the compilation panicked"));
        modules?;
        anyhow::Ok((bindgen?, trunk?))
    })?;
    tools::clean(dirs);
    run_trunk(dirs, target, &trunk, &bindgen)?;
    let dist = dirs.dist();
    if !dist.join("index.html").is_file() {
        bail!(
            "Trunk succeeded but wrote no {}/index.html: does Trunk.toml name another folder?",
            dist.display()
        );
    }
    worlds::stamp(&dist)?;
    wasm_split::add_parts(dirs, &dist)?;
    worlds::list_files(&dist)?;
    Ok(dist)
}

/// Downloads the dependencies in Cargo.lock; works without a network once they are in cargo's
/// cache.
pub(crate) fn fetch(dirs: &Dirs) -> Result<()> {
    let mut cargo = dirs.cargo();
    cargo.args(["fetch", "--target", wasm_target::TARGET]);
    logged(&mut cargo, &dirs.log("fetch"), None)?.require(
        "downloading the libraries in Cargo.lock",
        "This step needs the network, once; with the libraries in cargo's cache it needs none",
    )?;
    Ok(())
}

/// Compiles the modules of all worlds at once; Trunk, which does it one after the other, finds them
/// done.
fn compile(dirs: &Dirs, target: &WasmTarget) -> Result<()> {
    let mut cargo = target.cargo(dirs);
    cargo
        .env(wasm_split::SPLIT, "1")
        .args([
            "build",
            "--package",
            "sentinel-page",
            "--package",
            "sentinel-page-engine",
            "--bins",
        ])
        .args(["--profile", "web", "--target", wasm_target::TARGET]);
    logged(&mut cargo, &dirs.log("web"), None)?.require(
        "compiling web/",
        "An error in web/? Then `cargo check -p sentinel-page -p sentinel-page-engine` shows it faster",
    )?;
    Ok(())
}

fn run_trunk(dirs: &Dirs, target: &WasmTarget, trunk: &Path, bindgen: &Path) -> Result<()> {
    let mut build = Command::new(trunk);
    let (wrapper, variables) = wasm_split::install_wrapper(dirs, bindgen)?;
    target
        .apply(dirs, &mut build)
        // Offline: a missing tool is an error here, not a silent download.
        .args(["build", "--release", "--offline", "--skip-version-check"])
        .env("PATH", path_with(&wrapper)?)
        .env(wasm_split::SPLIT, "1")
        .envs(variables)
        // Trunk 0.21 takes this for a boolean option and stops at `1`.
        .env_remove("NO_COLOR");
    logged(&mut build, &dirs.log("trunk"), None)?.require(
        "building the page",
        "An error in web/? Then `cargo check -p sentinel-page -p sentinel-page-engine` shows it faster",
    )?;
    Ok(())
}

/// Returns PATH with `folder` first, so that Trunk finds its programs.
fn path_with(folder: &Path) -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    std::env::join_paths(folders)
        .context("PATH has a folder with a character that PATH cannot hold")
}
