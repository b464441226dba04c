//! Passes the commit that the crate is built from to the compiler as `SENTINEL_COMMIT`: 40
//! hexadecimal digits, followed by `-dirty` if the sources differ from it; `unknown` without a
//! repository.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Paths, relative to this folder, that determine the behavior of the command, besides the crates of
/// [`sources`]; changes elsewhere do not make it `-dirty`.
const SOURCES: [&str; 9] = [
    "src",
    "build.rs",
    "Cargo.toml",
    "../env/src",
    "../env/Cargo.toml",
    "../policy/src",
    "../policy/Cargo.toml",
    "../Cargo.toml",
    "../Cargo.lock",
];

fn main() {
    // A change of the sources recompiles the crate in any case, and may make them differ from the
    // commit.
    let sources = sources();
    for source in &sources {
        watch(Path::new(source));
    }
    // In a worktree the first two are elsewhere; every commit appends to the second.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            watch(&PathBuf::from(path));
        }
    }
    if let Some(branch) = git(&["symbolic-ref", "--quiet", "HEAD"])
        && let Some(path) = git(&["rev-parse", "--git-path", &branch])
    {
        watch(&PathBuf::from(path));
    }
    println!(
        "cargo::rustc-env=SENTINEL_COMMIT={}",
        commit(&sources).unwrap_or_else(|| "unknown".to_owned())
    );
}

/// Returns [`SOURCES`] and the crates of the trainer, which are the folders here with a manifest.
fn sources() -> Vec<String> {
    let entries = std::fs::read_dir(".").into_iter().flatten().flatten();
    let crates = entries.filter(|entry| entry.path().join("Cargo.toml").is_file());
    let names = crates.filter_map(|folder| folder.file_name().into_string().ok());
    SOURCES
        .map(str::to_owned)
        .into_iter()
        .chain(names)
        .collect()
}

/// Runs this script again when a file changes. Only for files that exist: cargo treats a missing
/// one as always changed.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn commit(sources: &[String]) -> Option<String> {
    // The sources may be inside an unrelated repository, as those of a package can be.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let commit = git(&["rev-parse", "HEAD"])?;
    let paths = sources.iter().map(String::as_str);
    let status: Vec<&str> = ["status", "--porcelain", "--"]
        .into_iter()
        .chain(paths)
        .collect();
    let changed = git(&status)?;
    Some(if changed.is_empty() {
        commit
    } else {
        format!("{commit}-dirty")
    })
}

fn git(args: &[&str]) -> Option<String> {
    let found = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(found.stdout).ok()?;
    found.status.success().then(|| text.trim().to_owned())
}
