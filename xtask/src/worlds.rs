//! The files of the built page: the shell, an engine for each world, and the list of them for visits
//! without a network.
//!
//! Trunk adds a hash of the content to the names of the shell's program and style only; the other
//! files get theirs here, so that a browser never mixes files of two builds.

use anyhow::{Context, Result};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// The worlds with the prefix of their engines' files.
pub const WORLDS: [(&str, &str); 3] = [
    ("trust", "sentinel-trust"),
    ("cluster", "sentinel-cluster"),
    ("polyguard", "sentinel-polyguard"),
];

/// The prefix of the files of the engine that reads training logs and reports, which is loaded with
/// the screens that show them.
pub const RECORDS: &str = "sentinel-records";

/// Scripts that get a hash.
const SCRIPTS: [&str; 3] = ["engine", "start", "media"];

/// The script that keeps the page's files for visits without a network.
const SERVICE_WORKER: &str = "service-worker.js";

/// The script for other sites, whose name is fixed.
const ELEMENT: &str = "sentinel-episode.js";

/// Returns the world whose engine a file of `dist/` is part of; `None` for files of the shell.
#[must_use]
pub fn of_file(name: &str) -> Option<&'static str> {
    let of = |stem: &str| {
        let rest = name.strip_prefix(stem);
        rest.is_some_and(|rest| rest.starts_with(['-', '.', '_']))
    };
    WORLDS
        .iter()
        .find(|(_, stem)| of(stem))
        .map(|(world, _)| *world)
}

/// Renames the files that Trunk left without a hash, and updates `index.html`.
///
/// # Errors
/// Returns an error if a file cannot be read, written or renamed.
pub fn stamp(dist: &Path) -> Result<()> {
    let index = dist.join("index.html");
    let mut html = read(&index)?;
    let worlds = WORLDS.into_iter().map(|(_, stem)| stem);
    for stem in worlds.chain([RECORDS]) {
        // Both have the same hash: a program is found by the name of its script.
        rename(dist, stem, &[".js", "_bg.wasm"], &mut html)?;
    }
    for stem in SCRIPTS {
        rename(dist, stem, &[".js"], &mut html)?;
    }
    write(&index, &html)
}

/// Adds a hash of all their contents to the names of the files `stem` + ending.
fn rename(dist: &Path, stem: &str, endings: &[&str], html: &mut String) -> Result<()> {
    let mut hasher = DefaultHasher::new();
    let files: Vec<_> = endings
        .iter()
        .map(|ending| (ending, dist.join(format!("{stem}{ending}"))))
        .filter(|(_, file)| file.is_file())
        .collect();
    for (_, file) in &files {
        let bytes = std::fs::read(file);
        bytes
            .with_context(|| format!("cannot read {}", file.display()))?
            .hash(&mut hasher);
    }
    let hash = hasher.finish();
    for (ending, file) in files {
        let name = format!("{stem}-{hash:016x}{ending}");
        std::fs::rename(&file, dist.join(&name))
            .with_context(|| format!("cannot rename {}", file.display()))?;
        *html = html.replace(&format!("./{stem}{ending}"), &format!("./{name}"));
    }
    Ok(())
}

/// Writes the names of all files with a hash, and a version of them all, into the service worker.
///
/// # Errors
/// Returns an error if a file cannot be read or written.
pub fn list_files(dist: &Path) -> Result<()> {
    let file = dist.join(SERVICE_WORKER);
    if !file.is_file() {
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in dist
        .read_dir()
        .with_context(|| format!("cannot list {}", dist.display()))?
    {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let kept = [".js", ".wasm", ".css"]
            .iter()
            .any(|kind| name.ends_with(kind));
        if kept && name != SERVICE_WORKER && name != ELEMENT {
            names.push(name);
        }
    }
    names.sort();
    let mut hasher = DefaultHasher::new();
    (&names, read(&dist.join("index.html"))?).hash(&mut hasher);
    let version = format!("{:016x}", hasher.finish());
    let files = serde_json::to_string(&names)?;
    let script = read(&file)?
        .replace("\"development\"", &format!("\"{version}\""))
        .replace("FILES = [];", &format!("FILES = {files};"));
    write(&file, &script)
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn world_is_derived_from_file_name() {
        assert_eq!(of_file("sentinel-trust-0f_bg.wasm"), Some("trust"));
        assert_eq!(of_file("sentinel-cluster.js"), Some("cluster"));
        assert_eq!(of_file("sentinel-page-0f.js"), None);
        assert_eq!(of_file("sentinel-trusts.js"), None);
        assert_eq!(of_file("style-1e6b.css"), None);
    }

    #[test]
    fn stamped_file_names_and_version_depend_on_content() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dist = folder.path();
        let page = "<meta name='e' content='./sentinel-cluster.js'>";
        let (mut names, mut workers) = (Vec::new(), Vec::new());
        for content in ["one", "two", "one"] {
            for file in dist.read_dir().expect("a folder") {
                std::fs::remove_file(file.expect("a file").path()).expect("removed");
            }
            write(&dist.join("index.html"), page).expect("a file");
            write(&dist.join("sentinel-cluster.js"), "script").expect("a file");
            write(&dist.join("sentinel-cluster_bg.wasm"), content).expect("a file");
            let worker = "const VERSION = \"development\";\nconst FILES = [];";
            write(&dist.join(SERVICE_WORKER), worker).expect("a file");
            stamp(dist).expect("stamped");
            list_files(dist).expect("listed");
            let html = read(&dist.join("index.html")).expect("a file");
            let name = html.split("./").nth(1).expect("a name");
            let name = name.trim_end_matches("'>").to_owned();
            let program = name.replace(".js", "_bg.wasm");
            assert!(
                dist.join(&name).is_file() && dist.join(&program).is_file(),
                "{name}"
            );
            let worker = read(&dist.join(SERVICE_WORKER)).expect("a file");
            assert!(
                worker.contains(&program) && !worker.contains("development"),
                "{worker}"
            );
            names.push(name);
            workers.push(worker);
        }
        assert!(names[0] == names[2] && names[0] != names[1], "{names:?}");
        assert!(workers[0] == workers[2] && workers[0] != workers[1]);
    }
}
