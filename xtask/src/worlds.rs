//! The files of the built page: the shell, an engine for each world, and the list of them for visits
//! without a network.
//!
//! Trunk adds a hash of the content to the names of the shell's program and style only; the other
//! files get theirs here, so that a browser never mixes files of two builds.

use crate::dirs::list;
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

/// The prefix of the files of the engine that trains, which is loaded when a visitor trains a policy.
pub const LEARNER: &str = "sentinel-learner";

/// Scripts that get a hash.
const SCRIPTS: [&str; 3] = ["engine", "start", "picture"];

/// The script that keeps the page's files for visits without a network.
const SERVICE_WORKER: &str = "service-worker.js";

/// File name of the page's document.
const PAGE: &str = "index.html";

/// The folder of replays and models.
const REPLAYS: &str = "replays";

/// The file of a model in its folder.
const MODEL: &str = "model.safetensors";

/// Files without a hash in their names that are kept for visits without a network, beside the models.
const DATA: [&str; 3] = ["replays/manifest.json", "icon.svg", "manifest.webmanifest"];

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
    let index = dist.join(PAGE);
    let mut html = read(&index)?;
    let worlds = WORLDS.into_iter().map(|(_, stem)| stem);
    for stem in worlds.chain([RECORDS, LEARNER]) {
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

/// The files that a visit keeps for later visits without a network, by their paths in `dist/`.
#[derive(Debug, Default)]
pub struct OfflineFiles {
    /// The files whose names hold a hash.
    pub hashed: Vec<String>,
    /// Data that policies play with, and files that the browser shows of the page.
    pub data: Vec<String>,
}

impl OfflineFiles {
    /// Finds the files of a built page.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be listed.
    pub fn find(dist: &Path) -> Result<Self> {
        let mut hashed = names(dist)?;
        hashed.retain(|name| {
            let is_program = [".js", ".wasm", ".css"]
                .iter()
                .any(|kind| name.ends_with(kind));
            is_program && name != SERVICE_WORKER && name != ELEMENT
        });
        let mut data = DATA.map(str::to_owned).to_vec();
        if dist.join(REPLAYS).is_dir() {
            let folders = names(&dist.join(REPLAYS))?.into_iter();
            data.extend(folders.map(|name| format!("{REPLAYS}/{name}/{MODEL}")));
        }
        data.retain(|name| dist.join(name).is_file());
        Ok(Self { hashed, data })
    }

    /// Returns the number of bytes of all files and of the page itself.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read.
    pub fn bytes(&self, dist: &Path) -> Result<u64> {
        let mut sum = 0;
        let names = self.hashed.iter().chain(&self.data).map(String::as_str);
        for name in names.chain([PAGE]) {
            let file = dist.join(name);
            let found = std::fs::metadata(&file);
            sum += found
                .with_context(|| format!("cannot read {}", file.display()))?
                .len();
        }
        Ok(sum)
    }
}

/// Returns the names of everything in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>> {
    let files = list(folder)?;
    let names = files.iter().filter_map(|file| file.file_name());
    let mut names: Vec<_> = names.map(|n| n.to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Writes the names of the files for visits without a network, and a version of them all, into the
/// service worker, in place of an earlier list.
///
/// # Errors
/// Returns an error if a file cannot be read or written.
pub fn list_files(dist: &Path) -> Result<()> {
    let file = dist.join(SERVICE_WORKER);
    if !file.is_file() {
        return Ok(());
    }
    let files = OfflineFiles::find(dist)?;
    let mut hasher = DefaultHasher::new();
    (&files.hashed, read(&dist.join(PAGE))?).hash(&mut hasher);
    // Their names stay when their content changes.
    for name in &files.data {
        let bytes = std::fs::read(dist.join(name));
        let bytes = bytes.with_context(|| format!("cannot read {name}"))?;
        (name, bytes).hash(&mut hasher);
    }
    let constants = [
        ("const VERSION = ", format!("\"{:016x}\"", hasher.finish())),
        ("const FILES = ", serde_json::to_string(&files.hashed)?),
        ("const DATA = ", serde_json::to_string(&files.data)?),
    ];
    let mut script = String::new();
    for line in read(&file)?.lines() {
        let constant = constants.iter().find(|(start, _)| line.starts_with(start));
        match constant {
            Some((start, value)) => script.push_str(&format!("{start}{value};")),
            None => script.push_str(line),
        }
        script.push('\n');
    }
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
            let worker =
                "const VERSION = \"development\";\nconst FILES = [];\nconst DATA = [];\nrest";
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
            assert!(worker.contains("const DATA = [];\nrest\n"), "{worker}");
            names.push(name);
            workers.push(worker);
        }
        assert!(names[0] == names[2] && names[0] != names[1], "{names:?}");
        assert!(workers[0] == workers[2] && workers[0] != workers[1]);
    }

    #[test]
    fn models_and_the_list_of_replays_are_kept_and_are_part_of_the_version() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dist = folder.path();
        for world in ["grpo", "no-model"] {
            std::fs::create_dir_all(dist.join("replays").join(world)).expect("a folder");
        }
        for (name, content) in [
            ("index.html", "four"),
            ("a-1.js", "script"),
            ("sentinel-episode.js", "for others"),
            ("replays/manifest.json", "[]"),
            ("replays/bayes.jsonl", "{}"),
            ("replays/grpo/trainer_state.json", "{}"),
            (
                "service-worker.js",
                "const VERSION = \"\";\nconst DATA = [];\n",
            ),
        ] {
            write(&dist.join(name), content).expect("a file");
        }
        let mut workers = Vec::new();
        for weights in ["one", "two", "two"] {
            write(&dist.join("replays/grpo/model.safetensors"), weights).expect("a file");
            // A second list replaces the first one.
            list_files(dist).expect("listed");
            workers.push(read(&dist.join(SERVICE_WORKER)).expect("a file"));
        }
        let data = r#"const DATA = ["replays/manifest.json","replays/grpo/model.safetensors"];"#;
        assert!(workers[0].contains(data), "{}", workers[0]);
        assert!(workers[0] != workers[1] && workers[1] == workers[2]);
        let files = OfflineFiles::find(dist).expect("a page");
        assert_eq!(files.hashed, ["a-1.js"]);
        // Page, script, list and model.
        assert_eq!(files.bytes(dist).expect("all are there"), 4 + 6 + 2 + 3);
    }
}
