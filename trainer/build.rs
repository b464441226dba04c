//! Tells the crate the commit that it is built from, as `SENTINEL_COMMIT`: 40 hexadecimal digits, with
//! `-dirty` behind them where the sources differ from it; `unknown` where there is no repository.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What decides what the command does, from this folder: changes elsewhere leave it as it is.
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
    // A change of the sources compiles the crate again in any case, and may make them differ from the commit.
    for source in SOURCES {
        watch(Path::new(source));
    }
    // In a worktree the first two are elsewhere; the second is added to with every commit.
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
        commit().unwrap_or_else(|| "unknown".to_owned())
    );
}

/// Runs this again when a file changes. Of one that is missing cargo would say that it always does.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn commit() -> Option<String> {
    // The sources may lie, as those of a package do, in a repository of something else.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let commit = git(&["rev-parse", "HEAD"])?;
    let changed = git(&[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
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
