//! `cargo xtask size`: compares the size of the page's first load with a budget.

use crate::dirs::Dirs;
use crate::worlds::{WORLDS, of_file};
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The file with the budget, relative to the repository.
const BUDGET: &str = "xtask/size-budget.json";
/// The kinds of files that the first load fetches.
const KINDS: [&str; 5] = ["html", "js", "mjs", "css", "wasm"];
/// Folders of `dist/` that the page fetches later, or never.
const LAZY_FOLDERS: [&str; 1] = ["replays"];

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

/// Measures `dist/` and compares it with the budget; returns the table.
///
/// # Errors
/// Returns an error if there is no built page, the budget file is invalid, or the page is over the
/// budget.
pub fn check(place: &Dirs) -> Result<String> {
    let file = place.root.join(BUDGET);
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read the budget {}", file.display()))?;
    let budgets = parse_budgets(&text).with_context(|| format!("in {}", file.display()))?;
    let entries = measure(&place.dist())?;
    let table = table(&entries, &budgets);
    for (world, budget) in budgets {
        let (_, total) = first_load(&entries, world);
        if total > budget {
            bail!(
                "{table}the first load of {world} is {} bytes over the budget of {BUDGET}: make the page \
                 smaller, or raise the budget and say why in the commit",
                total - budget
            );
        }
    }
    Ok(table)
}

/// Returns the size of a world's first load in bytes, uncompressed and after brotli: its own files,
/// and those that every world loads.
fn first_load(entries: &[Entry], world: &str) -> (u64, u64) {
    let of = |entry: &&Entry| of_file(&entry.name).is_none_or(|of| of == world);
    let all = entries.iter().filter(of);
    all.fold((0, 0), |(raw, brotli), entry| {
        (raw + entry.raw, brotli + entry.brotli)
    })
}

/// Returns the budget of each world in bytes: the common one, or the world's own.
fn parse_budgets(text: &str) -> Result<Vec<(&'static str, u64)>> {
    let json: serde_json::Value = serde_json::from_str(text).context("not JSON")?;
    let all = json["first_load_brotli_bytes"]
        .as_u64()
        .context("`first_load_brotli_bytes` must be a whole number of bytes")?;
    let of = |world| match &json["first_load_brotli_bytes_of"][world] {
        serde_json::Value::Null => Ok((world, all)),
        own => own
            .as_u64()
            .map(|own| (world, own))
            .with_context(|| format!("the budget of {world} must be a whole number of bytes")),
    };
    WORLDS.into_iter().map(|(world, _)| of(world)).collect()
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
            brotli: compressed(&bytes)?,
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

/// Returns the size after brotli at quality 11 with its largest usual window, as static hosts use
/// it.
fn compressed(bytes: &[u8]) -> Result<u64> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        size_hint: bytes.len(),
        ..Default::default()
    };
    let mut out = Vec::new();
    let mut input = bytes;
    brotli::BrotliCompress(&mut input, &mut out, &params).context("brotli failed")?;
    Ok(out.len() as u64)
}

fn table(entries: &[Entry], budgets: &[(&str, u64)]) -> String {
    let width = entries
        .iter()
        .map(|entry| entry.name.len())
        .max()
        .unwrap_or(0)
        .max("first load of polyguard".len());
    let mut text = String::new();
    let mut row = |name: &str, raw: &str, brotli: &str| {
        writeln!(text, "{name:width$}  {raw:>10}  {brotli:>10}").expect("a String takes all");
    };
    row("file", "bytes", "brotli");
    for entry in entries {
        row(
            &entry.name,
            &entry.raw.to_string(),
            &entry.brotli.to_string(),
        );
    }
    for (world, budget) in budgets {
        let (raw, brotli) = first_load(entries, world);
        row(
            &format!("first load of {world}"),
            &raw.to_string(),
            &brotli.to_string(),
        );
        row("  its budget", "", &budget.to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_must_be_non_negative_integer() {
        let good = r#"{"why": "x", "first_load_brotli_bytes": 250000}"#;
        let all = WORLDS.map(|(world, _)| (world, 250_000)).to_vec();
        assert_eq!(parse_budgets(good).expect("good"), all);
        let own =
            r#"{"first_load_brotli_bytes": 9, "first_load_brotli_bytes_of": {"cluster": 11}}"#;
        let all = WORLDS.map(|(world, _)| (world, if world == "cluster" { 11 } else { 9 }));
        assert_eq!(parse_budgets(own).expect("good"), all);
        for bad in [
            "",
            "{}",
            r#"{"first_load_brotli_bytes": "250 kB"}"#,
            r#"{"first_load_brotli_bytes": -1}"#,
            r#"{"first_load_brotli_bytes": 2.5}"#,
            r#"{"first_load_brotli_bytes": 1, "first_load_brotli_bytes_of": {"trust": "2"}}"#,
        ] {
            assert!(parse_budgets(bad).is_err(), "{bad}");
        }
    }

    fn place(budget: u64) -> (tempfile::TempDir, Dirs) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().to_owned();
        std::fs::create_dir_all(root.join("xtask")).expect("a folder");
        std::fs::create_dir_all(root.join("dist/replays")).expect("a folder");
        let text = format!(r#"{{"first_load_brotli_bytes": {budget}}}"#);
        std::fs::write(root.join(BUDGET), text).expect("a file");
        std::fs::write(root.join("dist/a.wasm"), [7_u8; 5000]).expect("a file");
        std::fs::write(root.join("dist/replays/b.js"), "later").expect("a file");
        std::fs::write(root.join("dist/c.jsonl"), "later").expect("a file");
        let place = Dirs {
            target: root.join("target"),
            cache: root.join("cache"),
            root,
        };
        (folder, place)
    }

    #[test]
    fn measure_counts_only_first_load_files() {
        let (_folder, place) = place(1000);
        let entries = measure(&place.dist()).expect("a page");
        assert_eq!(entries.len(), 1);
        assert_eq!((entries[0].name.as_str(), entries[0].raw), ("a.wasm", 5000));
        assert!(entries[0].brotli < 100, "5000 equal bytes compress well");
        assert!(check(&place).expect("in budget").contains("a.wasm"));
    }

    #[test]
    fn exceeded_budget_error_shows_table() {
        let (_folder, place) = place(1);
        let text = check(&place).expect_err("over budget").to_string();
        assert!(text.contains("over the budget") && text.contains("a.wasm"));
    }

    #[test]
    fn first_load_counts_only_files_of_world() {
        let entry = |name: &str, brotli| Entry {
            name: name.to_owned(),
            raw: 10 * brotli,
            brotli,
        };
        let entries = [
            entry("sentinel-web-1_bg.wasm", 100),
            entry("sentinel-cluster-2_bg.wasm", 30),
            entry("style-3.css", 5),
        ];
        assert_eq!(first_load(&entries, "trust"), (1050, 105));
        assert_eq!(first_load(&entries, "cluster"), (350, 35));
        let table = table(&entries, &[("trust", 99), ("cluster", 99)]);
        assert!(table.contains("first load of cluster"), "{table}");
    }

    #[test]
    fn missing_page_error_names_build_command() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = measure(&folder.path().join("dist")).expect_err("no page");
        assert!(format!("{error:#}").contains("demo --build-only"));
        let error = measure(folder.path()).expect_err("no wasm");
        assert!(format!("{error:#}").contains("demo --build-only"));
    }
}
