//! The folders of the repository, its build and the cache of tools.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The target that browsers run.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The folders that every task uses.
#[derive(Debug, Clone)]
pub struct Dirs {
    /// The root of the repository.
    pub root: PathBuf,
    /// Cargo's target folder for native builds.
    pub target: PathBuf,
    /// The folder of tools and toolchains that several checkouts share.
    pub cache: PathBuf,
}

impl Dirs {
    /// Finds the folders from the environment that `cargo xtask` runs in.
    ///
    /// # Errors
    /// Returns an error if neither a home folder nor a variable names the cache.
    pub fn find() -> Result<Self> {
        // The run-time value first: a checkout may have moved since xtask was compiled.
        let manifest = std::env::var("CARGO_MANIFEST_DIR")
            .unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
        let root = Path::new(&manifest)
            .parent()
            .context("the xtask crate has no parent folder")?
            .to_owned();
        let target = match variable("CARGO_TARGET_DIR") {
            Some(folder) => root.join(folder),
            None => root.join("target"),
        };
        let Some(cache) = cache_folder(variable) else {
            bail!("no cache folder: set SENTINEL_CACHE (or HOME) to a folder that may be written");
        };
        Ok(Self {
            root,
            target,
            cache,
        })
    }

    /// Returns the wasm builds' own target folder: two toolchains in one folder would rebuild each
    /// other's work.
    #[must_use]
    pub fn web_target(&self) -> PathBuf {
        self.target.join("web")
    }

    /// Returns the folder of the finished page.
    #[must_use]
    pub fn dist(&self) -> PathBuf {
        self.root.join("dist")
    }

    /// Returns the log file of one step.
    #[must_use]
    pub fn log(&self, step: &str) -> PathBuf {
        self.target.join("xtask").join(format!("{step}.log"))
    }

    /// Returns a cargo command in the repository, with the toolchain that runs xtask.
    #[must_use]
    pub fn cargo(&self) -> Command {
        let mut cargo = Command::new(variable("CARGO").unwrap_or_else(|| "cargo".into()));
        plain(&mut cargo).current_dir(&self.root);
        cargo
    }
}

/// Disables colors, progress bars and standard input, since the output goes to a log file.
pub fn plain(command: &mut Command) -> &mut Command {
    command
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .stdin(Stdio::null())
}

/// Returns a variable of the environment; an empty one counts as not set.
#[must_use]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns `$SENTINEL_CACHE`, else `$XDG_CACHE_HOME/sentinel`, else `~/.cache/sentinel`.
fn cache_folder(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    if let Some(folder) = variable("SENTINEL_CACHE") {
        return std::path::absolute(folder).ok();
    }
    if let Some(folder) = variable("XDG_CACHE_HOME") {
        return Some(Path::new(&folder).join("sentinel"));
    }
    let home = variable("HOME").or_else(|| variable("USERPROFILE"))?;
    Some(Path::new(&home).join(".cache").join("sentinel"))
}

/// Returns the version of `name` that a Cargo.lock fixes; the first one if there are several.
#[must_use]
pub fn locked_version(lock: &str, name: &str) -> Option<String> {
    let wanted = format!("name = \"{name}\"");
    let mut lines = lock.lines();
    lines.find(|line| line.trim() == wanted)?;
    let version = lines.next()?.trim().strip_prefix("version = \"")?;
    Some(version.strip_suffix('"')?.to_owned())
}

/// Returns the program `name` on PATH.
#[must_use]
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
        .find(|file| is_program(file))
}

/// Returns a path of the running program that opens even after a build has replaced its file.
///
/// # Errors
/// Returns an error if the system does not know the program's path.
pub fn running_program() -> Result<PathBuf> {
    // Linux gives a replaced file the path "… (deleted)", which does not exist; this link does.
    let link = Path::new("/proc/self/exe");
    if link.exists() {
        return Ok(link.to_owned());
    }
    std::env::current_exe().context("cannot find the running program")
}

/// Returns `true` if `file` can be run: like a shell, it skips files that are not executable.
#[must_use]
pub fn is_program(file: &Path) -> bool {
    let Ok(meta) = file.metadata() else {
        return false;
    };
    #[cfg(unix)]
    let runs = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let runs = true;
    meta.is_file() && runs
}

/// Returns the paths of everything in a folder, in no particular order.
///
/// # Errors
/// Returns an error that names the folder if it cannot be listed.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder
        .read_dir()
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let entries = entries.with_context(|| format!("cannot list {}", folder.display()))?;
    Ok(entries.iter().map(std::fs::DirEntry::path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a copy of this test, which removes its own file first.
    #[test]
    #[cfg(target_os = "linux")]
    fn running_program_opens_after_its_file_is_removed() -> Result<()> {
        const CHILD: &str = "SENTINEL_TEST_REMOVES_ITSELF";
        if std::env::var_os(CHILD).is_some() {
            std::fs::remove_file(std::env::current_exe()?)?;
            assert!(!std::env::current_exe()?.exists());
            assert!(std::fs::read(running_program()?)?.len() > 1000);
            return Ok(());
        }
        let folder = tempfile::tempdir()?;
        let copy = folder.path().join("copy");
        std::fs::copy(std::env::current_exe()?, &copy)?;
        let test = "dirs::tests::running_program_opens_after_its_file_is_removed";
        let mut child = Command::new(&copy);
        child.args(["--exact", test]).env(CHILD, "1");
        let output = child.output()?;
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        assert!(!copy.exists());
        Ok(())
    }

    #[test]
    fn locked_version_matches_exact_package_name() {
        let lock = "[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"0.2.9\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\nsource = \"x\"\n";
        assert_eq!(
            locked_version(lock, "wasm-bindgen").as_deref(),
            Some("0.2.130")
        );
        assert_eq!(locked_version(lock, "trunk"), None);
        assert_eq!(locked_version("name = \"a\"", "a"), None);
    }

    #[test]
    fn cache_folder_takes_the_most_specific_variable() {
        let set = |pairs: &'static [(&str, &str)]| {
            move |name: &str| {
                let found = pairs.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            }
        };
        let all = [
            ("SENTINEL_CACHE", "/s"),
            ("XDG_CACHE_HOME", "/x"),
            ("HOME", "/h"),
        ];
        let all: &'static [(&str, &str)] = Box::leak(Box::new(all));
        assert_eq!(cache_folder(set(all)), Some("/s".into()));
        assert_eq!(cache_folder(set(&all[1..])), Some("/x/sentinel".into()));
        assert_eq!(
            cache_folder(set(&all[2..])),
            Some("/h/.cache/sentinel".into())
        );
        assert_eq!(cache_folder(set(&[])), None);
    }
}
