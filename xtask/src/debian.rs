//! A wasm toolchain made of Debian packages, for machines where rustup may not download one.
//!
//! `rustc-web` has no wasm standard library, but `rust-web-src` has its source. The library is
//! built once, into a folder with the layout of a rustup toolchain: after that, a build only needs
//! the folder in `RUSTUP_TOOLCHAIN`.

use crate::apt;
use crate::dirs::TARGET;
use crate::dirs::{Dirs, on_path, plain};
use crate::run::{logged, output, print_note};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";
/// The version of this file's output; increase it to rebuild existing folders.
const LAYOUT: &str = "1";

/// Returns a description of what [`ensure`] will do, for the step's line.
#[must_use]
pub fn plan(dirs: &Dirs) -> &'static str {
    let same = Parts::find().is_ok_and(|parts| parts.is_built(&folder(dirs)));
    if apt::installed(&PACKAGES) && same {
        "found, made of Debian packages"
    } else {
        "built once from Debian packages (about 2 min)…"
    }
}

/// Ensures that the toolchain exists; returns its folder and a text that changes with its contents.
///
/// # Errors
/// Returns an error if a package is missing and cannot be installed, or the library does not
/// compile.
pub fn ensure(dirs: &Dirs) -> Result<(PathBuf, String)> {
    apt::install(
        dirs,
        &PACKAGES,
        "the wasm toolchain (SENTINEL_WASM_TOOLCHAIN=debian)",
    )?;
    let parts = Parts::find()?;
    let folder = folder(dirs);
    if !parts.is_built(&folder) {
        parts.build(dirs, &folder)?;
    }
    let stamp = folder.join("built-by");
    let when = stamp.metadata()?.modified()?;
    Ok((folder, format!("{} {when:?}", parts.stamp())))
}

fn folder(dirs: &Dirs) -> PathBuf {
    dirs.cache.join("wasm-toolchain")
}

/// The parts of the toolchain.
struct Parts {
    /// The output of `rustc -V` of Debian's compiler.
    version: String,
    /// The target triple of this machine.
    host: String,
    /// The path of the linker, which Debian's packages lack and every rustup toolchain has.
    lld: PathBuf,
}

impl Parts {
    fn find() -> Result<Self> {
        let verbose = output(plain(Command::new(RUSTC).arg("-vV")))
            .with_context(|| format!("{RUSTC} does not run: is the package rustc-web broken?"))?;
        let host = verbose
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .with_context(|| format!("`{RUSTC} -vV` names no host"))?
            .to_owned();
        let version = verbose.lines().next().unwrap_or_default().to_owned();
        let sysroot = output(plain(Command::new("rustc").args(["--print", "sysroot"])));
        let lld = Path::new(&sysroot.unwrap_or_default())
            .join("lib/rustlib")
            .join(&host)
            .join("bin/rust-lld");
        if on_path("rustup").is_none() || !lld.is_file() {
            bail!(
                "the Debian way needs rustup's `cargo` and its linker (looked for `rustup` on PATH \
                 and for {}): install Rust by https://rustup.rs",
                lld.display()
            );
        }
        Ok(Self { version, host, lld })
    }

    fn stamp(&self) -> String {
        format!("{} {} {LAYOUT}", self.version, self.lld.display())
    }

    fn is_built(&self, folder: &Path) -> bool {
        std::fs::read_to_string(folder.join("built-by"))
            .is_ok_and(|found| found.trim() == self.stamp())
    }

    /// Builds beside the final folder and moves it there at the end, so that no partial toolchain
    /// is found.
    fn build(&self, dirs: &Dirs, folder: &Path) -> Result<()> {
        print_note("building the wasm standard library once (about 1 min)…");
        let new = folder.with_extension(format!("new-{}", std::process::id()));
        remove(&new)?;
        self.lay_out(&new, folder)
            .with_context(|| format!("cannot write {}", new.display()))?;
        let library = self.compile_std(dirs, &new.join("tmp"))?;
        copy_rlibs(&library, &new.join("lib/rustlib").join(TARGET).join("lib"))?;
        remove(&new.join("tmp"))?;
        std::fs::write(new.join("built-by"), self.stamp() + "\n")?;
        remove(folder)?;
        std::fs::rename(&new, folder)
            .with_context(|| format!("cannot move {} to {}", new.display(), folder.display()))
    }

    /// Creates the folder layout that rustup accepts as a toolchain; `home` is its final path.
    #[cfg(unix)]
    fn lay_out(&self, new: &Path, home: &Path) -> Result<()> {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let rustlib = new.join("lib/rustlib");
        let host = rustlib.join(&self.host);
        for folder in [
            &new.join("bin"),
            &host.join("bin"),
            &rustlib.join(TARGET).join("lib"),
        ] {
            std::fs::create_dir_all(folder)?;
        }
        symlink(
            Path::new("/usr/lib/rustlib").join(&self.host).join("lib"),
            host.join("lib"),
        )?;
        symlink(&self.lld, host.join("bin/rust-lld"))?;
        symlink(CARGO, new.join("bin/cargo"))?;
        symlink("/usr/bin/rustdoc", new.join("bin/rustdoc"))?;
        // A wrapper, since a symlinked rustc would take /usr for its sysroot.
        let wrapper = new.join("bin/rustc");
        let home = home.display();
        std::fs::write(
            &wrapper,
            format!("#!/bin/sh\nexec {RUSTC} --sysroot '{home}' \"$@\"\n"),
        )?;
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    #[cfg(not(unix))]
    fn lay_out(&self, _new: &Path, _home: &Path) -> Result<()> {
        bail!("the Debian toolchain needs Debian: set SENTINEL_WASM_TOOLCHAIN=rustup")
    }

    /// Compiles std as the dependency of an empty crate; returns the folder with the libraries.
    fn compile_std(&self, dirs: &Dirs, tmp: &Path) -> Result<PathBuf> {
        std::fs::create_dir_all(tmp.join("src"))?;
        std::fs::write(
            tmp.join("Cargo.toml"),
            "[package]\nname = \"nothing\"\nedition = \"2024\"\n[workspace]\n",
        )?;
        std::fs::write(tmp.join("src/lib.rs"), "")?;
        let mut cargo = Command::new(CARGO);
        plain(&mut cargo).current_dir(tmp).args([
            "build",
            "--release",
            "-Zbuild-std=std,panic_abort,test,proc_macro",
            "--target",
            TARGET,
            "--target-dir",
            "out",
        ]);
        for name in [
            "RUSTUP_TOOLCHAIN",
            "LD_LIBRARY_PATH",
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTC_WRAPPER",
            "CARGO_BUILD_TARGET",
        ] {
            cargo.env_remove(name);
        }
        cargo
            .env("RUSTC", RUSTC)
            .env("RUSTC_BOOTSTRAP", "1")
            // Bitcode in the libraries: `lto = "fat"` of the page needs it.
            .env("RUSTFLAGS", "-Cembed-bitcode=yes")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", &self.lld);
        logged(&mut cargo, &dirs.log("wasm-std"), None)?.require(
            "building the wasm standard library",
            "This step may need the network, once. Are rustc-web and rust-web-src of the same version?",
        )?;
        Ok(tmp.join("out").join(TARGET).join("release/deps"))
    }
}

/// Copies the libraries, without the empty crate that was only built for its dependencies.
fn copy_rlibs(from: &Path, to: &Path) -> Result<()> {
    for entry in from.read_dir()? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".rlib") && !name.starts_with("libnothing-") {
            std::fs::copy(&path, to.join(&*name))?;
        }
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
