//! The wasm target: the toolchain's own, rustup's, or one made of Debian packages.

use crate::debian;
use crate::dirs::{Dirs, on_path, plain, variable};
use crate::run::{Steps, logged, output, print_note};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use crate::dirs::TARGET;
/// The variable that selects the source of the standard library.
pub const CHOICE: &str = "SENTINEL_WASM_TOOLCHAIN";
/// The time limit for rustup: a refused download can hang instead of failing.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// A toolchain that can build for [`TARGET`].
#[derive(Debug, Clone)]
pub struct WasmTarget {
    /// The folder for `RUSTUP_TOOLCHAIN`; `None` for the toolchain in use.
    toolchain: Option<PathBuf>,
    /// A text that changes whenever the standard library does.
    identity: String,
}

impl WasmTarget {
    /// Configures `command` to build with this toolchain, into the wasm builds' own target folder.
    pub fn apply<'a>(&self, dirs: &Dirs, command: &'a mut Command) -> &'a mut Command {
        plain(command)
            .current_dir(&dirs.root)
            .env("CARGO_TARGET_DIR", dirs.web_target());
        if let Some(folder) = &self.toolchain {
            // The settings of the outer `cargo xtask` for its own toolchain must not reach this
            // one.
            for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTC_WRAPPER"] {
                command.env_remove(name);
            }
            command.env("RUSTUP_TOOLCHAIN", folder);
            clear_library_path(dirs, command);
        }
        command
    }

    /// Returns a cargo command with this toolchain.
    #[must_use]
    pub fn cargo(&self, dirs: &Dirs) -> Command {
        let mut cargo = match &self.toolchain {
            // Rustup's proxy, which reads RUSTUP_TOOLCHAIN.
            Some(_) => Command::new("cargo"),
            None => dirs.cargo(),
        };
        self.apply(dirs, &mut cargo);
        cargo
    }

    /// Removes objects that were built against another standard library: rustc refuses them
    /// (E0460).
    fn sweep(&self, dirs: &Dirs) -> Result<()> {
        let folder = dirs.web_target();
        let stamp = folder.join("built-with");
        if std::fs::read_to_string(&stamp).ok().as_ref() == Some(&self.identity) {
            return Ok(());
        }
        let objects = folder.join(TARGET);
        if objects.exists() {
            print_note("the wasm toolchain changed: the page is rebuilt");
            std::fs::remove_dir_all(&objects)
                .with_context(|| format!("cannot remove {}", objects.display()))?;
        }
        std::fs::create_dir_all(&folder)?;
        std::fs::write(&stamp, &self.identity)
            .with_context(|| format!("cannot write {}", stamp.display()))
    }
}

/// Ensures that a toolchain for [`TARGET`] exists, selected by [`CHOICE`].
///
/// # Errors
/// Returns an error if none is available; the message names a remedy.
pub fn ensure(dirs: &Dirs, steps: &mut Steps) -> Result<WasmTarget> {
    let choice = variable(CHOICE).unwrap_or_else(|| "auto".into());
    let purpose = format!("Wasm target {TARGET}: lets rustc build for the browser");
    let found = match choice.as_str() {
        "auto" | "rustup" if in_use() => {
            steps.next(&format!("{purpose}; the toolchain in use has it"));
            WasmTarget::in_use()
        }
        "auto" if !rustup_may_install() && on_path("apt-get").is_some() => {
            steps.next(&format!("{purpose}; {}", debian::plan(dirs)));
            by_debian(dirs)?
        }
        "auto" | "rustup" => {
            steps.next(&format!(
                "{purpose}; asking rustup for it (20 MB, seconds)…"
            ));
            match add_by_rustup(dirs) {
                Ok(()) => WasmTarget::in_use(),
                Err(_) if choice == "auto" && on_path("apt-get").is_some() => {
                    let log = dirs.log("rustup");
                    print_note(&format!("rustup could not add it (log: {})", log.display()));
                    print_note("falling back to Debian's packages");
                    by_debian(dirs)?
                }
                Err(error) => {
                    return Err(error.context(format!(
                        "no wasm target. Type `rustup target add {TARGET}`, or on Debian set {CHOICE}=debian"
                    )));
                }
            }
        }
        "debian" => {
            steps.next(&format!("{purpose}; {}", debian::plan(dirs)));
            by_debian(dirs)?
        }
        other => bail!("{CHOICE}={other}: must be auto, rustup or debian"),
    };
    found.sweep(dirs)?;
    Ok(found)
}

impl WasmTarget {
    fn in_use() -> Self {
        let version = output(plain(Command::new("rustc").arg("-vV"))).unwrap_or_default();
        let sysroot = output(plain(Command::new("rustc").args(["--print", "sysroot"])));
        Self {
            toolchain: None,
            identity: format!("{version} {}", sysroot.unwrap_or_default()),
        }
    }
}

fn by_debian(dirs: &Dirs) -> Result<WasmTarget> {
    let (folder, identity) = debian::ensure(dirs)?;
    Ok(WasmTarget {
        toolchain: Some(folder),
        identity,
    })
}

/// Returns `true` if the rustc in use has the standard library for [`TARGET`].
fn in_use() -> bool {
    let mut query = Command::new("rustc");
    query.args(["--print", "target-libdir", "--target", TARGET]);
    output(&mut query).is_some_and(|folder| has_std(Path::new(&folder)))
}

/// Returns `true` if `folder` holds a compiled `std`.
fn has_std(folder: &Path) -> bool {
    let Ok(entries) = folder.read_dir() else {
        return false;
    };
    entries.filter_map(Result::ok).any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    })
}

/// Returns `true` unless `RUSTUP_AUTO_INSTALL=0` forbids rustup to install missing parts: an
/// implicitly added target counts as such a part.
fn rustup_may_install() -> bool {
    variable("RUSTUP_AUTO_INSTALL").is_none_or(|value| value != "0")
}

fn add_by_rustup(dirs: &Dirs) -> Result<()> {
    let mut rustup = Command::new("rustup");
    plain(&mut rustup).args(["target", "add", TARGET]);
    let log = dirs.log("rustup");
    logged(&mut rustup, &log, Some(RUSTUP_LIMIT))?.require("rustup target add", "")?;
    if !in_use() {
        bail!("rustup added {TARGET}, but the rustc in use does not have it");
    }
    Ok(())
}

/// Removes cargo's own additions to the library path: they would load another rustc's libraries.
fn clear_library_path(dirs: &Dirs, command: &mut Command) {
    let Some(path) = std::env::var_os("LD_LIBRARY_PATH") else {
        return;
    };
    let ours = |folder: &Path| folder.starts_with(&dirs.target) || folder.join("rustlib").exists();
    let kept: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|folder| !ours(folder))
        .collect();
    match std::env::join_paths(kept) {
        Ok(kept) if !kept.is_empty() => command.env("LD_LIBRARY_PATH", kept),
        _ => command.env_remove("LD_LIBRARY_PATH"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wasm_std_is_detected_by_libstd_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(!has_std(&folder.path().join("missing")));
        std::fs::write(folder.path().join("libcore-1.rlib"), "").expect("a file");
        assert!(!has_std(folder.path()));
        std::fs::write(folder.path().join("libstd-0a.rlib"), "").expect("a file");
        assert!(has_std(folder.path()));
    }

    #[test]
    fn toolchain_change_removes_wasm_objects() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dirs = Dirs {
            root: folder.path().into(),
            target: folder.path().into(),
            cache: folder.path().into(),
        };
        let target = |identity: &str| WasmTarget {
            toolchain: None,
            identity: identity.into(),
        };
        let objects = dirs.web_target().join(TARGET);
        target("one").sweep(&dirs).expect("sweeps nothing");
        std::fs::create_dir_all(&objects).expect("a folder");
        target("one").sweep(&dirs).expect("keeps");
        assert!(objects.exists());
        target("two").sweep(&dirs).expect("sweeps");
        assert!(!objects.exists());
    }
}
