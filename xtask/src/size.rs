//! `cargo xtask size`: compares the size of the page's first load, and of what it keeps for visits
//! without a network, with a budget.

use crate::dirs::Dirs;
use crate::wasm_split;
use crate::worlds::{LEARNER, OfflineFiles, RECORDS, WORLDS, of_file};
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The file with the budget, relative to the repository.
const BUDGET: &str = "xtask/size-budget.json";
/// The kinds of files that the first load fetches.
const KINDS: [&str; 5] = ["html", "js", "mjs", "css", "wasm"];
/// Folders of `dist/` that the page fetches later, or never.
const LAZY_FOLDERS: [&str; 2] = ["replays", "results"];

/// One file of the first load.
#[derive(Debug)]
pub struct Entry {
    /// The path of the file in `dist/`.
    pub name: String,
    /// The uncompressed size in bytes.
    pub raw: u64,
    /// The size in bytes after brotli at its best level.
    pub brotli: u64,
}

/// The limits of the page, in bytes after brotli, except for the last.
#[derive(Debug, PartialEq, Eq)]
struct Budget {
    /// The shell: everything that the first paint needs.
    shell: u64,
    /// The parts of the shell that load after the first step.
    deferred: u64,
    /// The engine that trains, which loads when a visitor trains a policy.
    learner: u64,
    /// Shell and engine of each world: everything up to the first step.
    playable: Vec<(&'static str, u64)>,
    /// The files that the service worker keeps for visits without a network, uncompressed.
    precache: u64,
}

/// Measures `dist/` and compares it with the budget; returns the table.
///
/// # Errors
/// Returns an error if there is no built page, the budget file is invalid, or the page is over the
/// budget.
pub fn check(dirs: &Dirs) -> Result<String> {
    let file = dirs.root.join(BUDGET);
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read the budget {}", file.display()))?;
    let budget = parse_budget(&text).with_context(|| format!("in {}", file.display()))?;
    let dist = dirs.dist();
    let entries = measure(&dist)?;
    let precache = OfflineFiles::find(&dist)?.bytes(&dist)?;
    let table = table(&entries, precache, &budget);
    let parts = budget.playable.iter().map(|(world, limit)| {
        let what = format!("{world} up to the first step");
        (what, playable(&entries, world).1, *limit)
    });
    let shell = [
        ("the shell".to_owned(), shell(&entries).1, budget.shell),
        (
            "the deferred code of the shell".to_owned(),
            sum(&entries, is_deferred_shell).1,
            budget.deferred,
        ),
        (
            "the engine that trains".to_owned(),
            sum(&entries, is_learner).1,
            budget.learner,
        ),
        (
            "what is kept for offline visits".to_owned(),
            precache,
            budget.precache,
        ),
    ];
    for (what, size, limit) in shell.into_iter().chain(parts) {
        if size > limit {
            bail!(
                "{table}{what} is {} bytes over the budget of {BUDGET}: make the page smaller, or raise the budget \
                 and say why in the commit",
                size - limit
            );
        }
    }
    Ok(table)
}

/// Beginnings of the names of files that are fetched after the first step of an episode, or never.
const DEFERRED: [&str; 6] = [
    "service-worker",
    "sentinel-episode",
    "picture-",
    "picture.",
    RECORDS,
    LEARNER,
];

/// Returns `true` for files that the first paint needs.
fn is_shell(entry: &Entry) -> bool {
    let is_engine = ["engine-", "engine."]
        .iter()
        .any(|stem| entry.name.starts_with(stem));
    of_file(&entry.name).is_none() && !is_engine && !is_deferred(entry)
}

/// Returns `true` for the deferred parts of the shell, which load after the first step.
fn is_deferred_shell(entry: &Entry) -> bool {
    wasm_split::is_deferred_module(&entry.name) && of_file(&entry.name).is_none()
}

/// Returns `true` for the files of the engine that trains.
fn is_learner(entry: &Entry) -> bool {
    entry.name.starts_with(LEARNER)
}

/// Returns `true` for files that are fetched after the first step of an episode, or never.
fn is_deferred(entry: &Entry) -> bool {
    wasm_split::is_deferred_module(&entry.name)
        || DEFERRED.iter().any(|stem| entry.name.starts_with(stem))
}

/// Returns the size of the shell in bytes, uncompressed and after brotli.
fn shell(entries: &[Entry]) -> (u64, u64) {
    sum(entries, is_shell)
}

/// Returns the size of everything up to the first step in a world.
fn playable(entries: &[Entry], world: &str) -> (u64, u64) {
    sum(entries, |entry| {
        let of = of_file(&entry.name);
        (of == Some(world) || of.is_none()) && !is_deferred(entry)
    })
}

fn sum(entries: &[Entry], belongs: impl Fn(&Entry) -> bool) -> (u64, u64) {
    let all = entries.iter().filter(|entry| belongs(entry));
    all.fold((0, 0), |(raw, brotli), entry| {
        (raw + entry.raw, brotli + entry.brotli)
    })
}

/// Returns the limits in bytes.
fn parse_budget(text: &str) -> Result<Budget> {
    let json: serde_json::Value = serde_json::from_str(text).context("not JSON")?;
    let bytes = |name: &str| {
        let limit = json[name].as_u64();
        limit.with_context(|| format!("`{name}` must be a whole number of bytes"))
    };
    let of = |(world, _): (&'static str, &str)| {
        json["playable_brotli_bytes"][world]
            .as_u64()
            .map(|limit| (world, limit))
            .with_context(|| {
                format!("`playable_brotli_bytes` of {world} must be a whole number of bytes")
            })
    };
    let playable: Result<Vec<_>> = WORLDS.into_iter().map(of).collect();
    Ok(Budget {
        shell: bytes("shell_brotli_bytes")?,
        deferred: bytes("extras_brotli_bytes")?,
        learner: bytes("learner_brotli_bytes")?,
        playable: playable?,
        precache: bytes("precache_bytes")?,
    })
}

/// Returns the files of the first load, largest first.
///
/// # Errors
/// Returns an error if `dist` holds no built page.
pub fn measure(dist: &Path) -> Result<Vec<Entry>> {
    let mut files = Vec::new();
    collect(dist, &mut files).with_context(|| {
        format!(
            "no built page in {}: run `cargo xtask demo --build-only`",
            dist.display()
        )
    })?;
    let mut entries = Vec::new();
    for file in files {
        let bytes =
            std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(dist).unwrap_or(&file);
        entries.push(Entry {
            name: name.display().to_string(),
            raw: bytes.len() as u64,
            brotli: compress(&bytes, 11)?.len() as u64,
        });
    }
    if !entries.iter().any(|entry| entry.name.ends_with(".wasm")) {
        bail!(
            "{} holds no .wasm file: run `cargo xtask demo --build-only`",
            dist.display()
        );
    }
    entries.sort_by(|a, b| b.brotli.cmp(&a.brotli).then_with(|| a.name.cmp(&b.name)));
    Ok(entries)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            // A folder that begins with a dot is Trunk's own, left over from a stopped build.
            if !LAZY_FOLDERS.contains(&&*name) && !name.starts_with('.') {
                collect(&path, files)?;
            }
        } else if KINDS
            .iter()
            .any(|kind| path.extension().is_some_and(|e| e == *kind))
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Compresses with brotli and its largest usual window. Static hosts use quality 11, the best one.
pub(crate) fn compress(bytes: &[u8], quality: i32) -> Result<Vec<u8>> {
    let params = brotli::enc::BrotliEncoderParams {
        quality,
        lgwin: 22,
        size_hint: bytes.len(),
        ..Default::default()
    };
    let mut out = Vec::new();
    let mut input = bytes;
    brotli::BrotliCompress(&mut input, &mut out, &params).context("brotli failed")?;
    Ok(out)
}

fn table(entries: &[Entry], precache: u64, budget: &Budget) -> String {
    let names = entries.iter().map(|entry| entry.name.len());
    let width = names.max().unwrap_or(0).max("polyguard, first step".len());
    let mut text = String::new();
    let mut row = |name: &str, raw: &str, brotli: &str| {
        writeln!(text, "{name:width$}  {raw:>10}  {brotli:>10}").expect("a String takes all");
    };
    row("file", "bytes", "brotli");
    for entry in entries {
        let (raw, brotli) = (entry.raw.to_string(), entry.brotli.to_string());
        row(&entry.name, &raw, &brotli);
    }
    let mut total = |name: &str, (raw, brotli): (u64, u64), limit: u64| {
        row(name, &raw.to_string(), &brotli.to_string());
        row("  its budget", "", &limit.to_string());
    };
    total("shell, first paint", shell(entries), budget.shell);
    total(
        "shell, deferred",
        sum(entries, is_deferred_shell),
        budget.deferred,
    );
    total("training", sum(entries, is_learner), budget.learner);
    for (world, limit) in &budget.playable {
        let name = format!("{world}, first step");
        total(&name, playable(entries, world), *limit);
    }
    row("kept for offline", &precache.to_string(), "");
    row("  its budget", &budget.precache.to_string(), "");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(shell: u64, playable: u64) -> String {
        let all = WORLDS.map(|(world, _)| format!("\"{world}\": {playable}"));
        format!(
            r#"{{"precache_bytes": 9000, "shell_brotli_bytes": {shell}, "extras_brotli_bytes": {shell}, "learner_brotli_bytes": {shell}, "playable_brotli_bytes": {{{}}}}}"#,
            all.join(", ")
        )
    }

    #[test]
    fn budget_has_whole_numbers_for_shell_and_every_world() {
        let read = parse_budget(&budget(9, 20)).expect("good");
        assert_eq!((read.shell, read.playable[2]), (9, ("polyguard", 20)));
        for bad in [
            "",
            "{}",
            r#"{"shell_brotli_bytes": "120 kB"}"#,
            r#"{"shell_brotli_bytes": 9, "extras_brotli_bytes": 9, "playable_brotli_bytes": {"trust": 2}}"#,
        ] {
            assert!(parse_budget(bad).is_err(), "{bad}");
        }
    }

    fn dist(limit: u64) -> (tempfile::TempDir, Dirs) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().to_owned();
        std::fs::create_dir_all(root.join("xtask")).expect("a folder");
        std::fs::create_dir_all(root.join("dist/replays")).expect("a folder");
        std::fs::write(root.join(BUDGET), budget(limit, limit)).expect("a file");
        std::fs::write(root.join("dist/index.html"), "").expect("a file");
        std::fs::write(root.join("dist/a.wasm"), [7_u8; 5000]).expect("a file");
        std::fs::write(root.join("dist/replays/b.js"), "later").expect("a file");
        std::fs::write(root.join("dist/c.jsonl"), "later").expect("a file");
        let dirs = Dirs {
            target: root.join("target"),
            cache: root.join("cache"),
            root,
        };
        (folder, dirs)
    }

    #[test]
    fn files_of_replays_do_not_count() {
        let (_folder, dirs) = dist(1000);
        let entries = measure(&dirs.dist()).expect("a page");
        assert_eq!(entries.len(), 2);
        assert_eq!((entries[0].name.as_str(), entries[0].raw), ("a.wasm", 5000));
        assert!(entries[0].brotli < 100, "5000 equal bytes compress well");
        assert!(check(&dirs).expect("in budget").contains("a.wasm"));
    }

    #[test]
    fn files_for_offline_visits_have_a_budget() {
        let (_folder, dirs) = dist(1000);
        let table = check(&dirs).expect("in budget");
        assert!(table.contains("kept for offline"), "{table}");
        let folder = dirs.dist().join("replays/grpo");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("model.safetensors"), [7_u8; 4001]).expect("a file");
        let error = check(&dirs).expect_err("over budget").to_string();
        assert!(error.contains("offline visits is 1 bytes over"), "{error}");
    }

    #[test]
    fn over_the_budget_is_an_error_with_the_table() {
        let (_folder, dirs) = dist(1);
        let text = check(&dirs).expect_err("over budget").to_string();
        assert!(text.contains("over the budget") && text.contains("a.wasm"));
    }

    #[test]
    fn shell_and_engines_are_counted_apart() {
        let entry = |name: &str, brotli| Entry {
            name: name.to_owned(),
            raw: 10 * brotli,
            brotli,
        };
        let entries = [
            entry("sentinel-page-1_bg.wasm", 100),
            entry("sentinel-cluster-2_bg.wasm", 30),
            entry("style-3.css", 5),
            entry("engine-4.js", 1),
            entry("service-worker.js", 1),
            entry("sentinel-page-later-5.js", 2),
            entry("sentinel-page-later-6.wasm", 20),
            entry("sentinel-trust-later-7.wasm", 30),
            entry("sentinel-records-5_bg.wasm", 20),
            entry("sentinel-learner-6_bg.wasm", 40),
            entry("picture-5.js", 7),
        ];
        assert_eq!(shell(&entries), (1070, 107));
        assert_eq!(playable(&entries, "trust"), (1080, 108));
        assert_eq!(playable(&entries, "cluster"), (1380, 138));
        let limits = parse_budget(&budget(99, 200)).expect("good");
        assert!(table(&entries, 0, &limits).contains("cluster, first step"));
    }

    #[test]
    fn missing_page_error_names_the_command() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = measure(&folder.path().join("dist")).expect_err("no page");
        assert!(format!("{error:#}").contains("demo --build-only"));
        let error = measure(folder.path()).expect_err("no wasm");
        assert!(format!("{error:#}").contains("demo --build-only"));
    }
}
