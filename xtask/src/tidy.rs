//! `cargo xtask lint --only tidy`: rules of this repository that no other tool checks.

use crate::comments;
use crate::dirs::Dirs;
use crate::imports;
use crate::links;
use crate::run::output;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// No source file is longer than this many lines.
const FILE_LINES: usize = 500;
/// Folders that hold nothing that is ours to keep tidy.
const SKIPPED: [&str; 8] = [
    "target",
    "dist",
    "outputs",
    "checkpoints",
    "book",
    "node_modules",
    ".git",
    ".tmp",
];

/// The result of a check of the whole repository.
#[derive(Debug, Default)]
pub struct Report {
    /// Files that were read.
    pub files: usize,
    /// Imports of all crates that were resolved.
    pub imports: usize,
    /// One line for each broken rule: place, rule.
    pub broken: Vec<String>,
    /// Documentation comments of all crates but the page's.
    pub docs: comments::DocBlocks,
}

/// Checks every rule.
///
/// # Errors
/// When a file cannot be read or cargo cannot describe the workspace.
pub fn check(dirs: &Dirs) -> Result<Report> {
    let mut files = Vec::new();
    collect(&dirs.root, &mut files)
        .with_context(|| format!("cannot walk {}", dirs.root.display()))?;
    files.sort();
    let mut report = Report::default();
    for file in files {
        let name = file.strip_prefix(&dirs.root).unwrap_or(&file);
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        report.files += 1;
        report.broken.extend(check_file(name, &text));
        if name.extension().is_some_and(|e| e == "rs") {
            let citations = comments::citations(&text);
            (report.broken).extend(comments::unresolved(&dirs.root, name, &citations));
            report.docs.add(name, &text);
        }
        if name.extension().is_some_and(|e| e == "md") {
            report.broken.extend(links::check(&dirs.root, name, &text));
        }
    }
    report.broken.extend(report.docs.broken());
    let metadata = output(dirs.cargo().args([
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version",
        "1",
    ]))
    .context("`cargo metadata --no-deps` failed: is a Cargo.toml broken?")?;
    let metadata = serde_json::from_str(&metadata).context("cargo metadata is not JSON")?;
    let checked = imports::check(&dirs.root, &metadata);
    report.imports = checked.imports;
    report.broken.extend(checked.broken);
    Ok(report)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in folder.read_dir()? {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !SKIPPED.contains(&&*name) {
                collect(&path, files)?;
            }
        } else if kind.is_file()
            && path
                .extension()
                .is_some_and(|e| e == "rs" || e == "md" || e == "toml" || e == "css")
        {
            files.push(path);
        }
    }
    Ok(())
}

/// The broken rules of one file; `name` is its path from the root.
fn check_file(name: &Path, text: &str) -> Vec<String> {
    let shown = name.display();
    let mut broken = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            broken.push(format!(
                "{shown}:{}: space at the end of the line",
                index + 1
            ));
        }
    }
    if name.extension().is_some_and(|e| e == "rs") {
        broken.extend(check_rust(name, text));
    }
    if name.extension().is_some_and(|e| e == "css") {
        broken.extend(check_styles(name, text));
    }
    broken
}

/// Finds `:has()` on the root of the page: the browser matches it again whenever anything below
/// changes, which cost 8 ms of every frame (docs/log.md of 2026-11-24).
fn check_styles(name: &Path, text: &str) -> Vec<String> {
    let on_root = |line: &str| {
        let roots = [":root:has(", "html:has(", "body:has("];
        roots.iter().any(|root| line.contains(root))
    };
    let found = text.lines().enumerate().filter(|(_, line)| on_root(line));
    let shown = name.display();
    found
        .map(|(index, _)| {
            format!(
                "{shown}:{}: `:has()` on the root slows every frame: put the rule on an inner element",
                index + 1
            )
        })
        .collect()
}

fn check_rust(name: &Path, text: &str) -> Vec<String> {
    let shown = name.display();
    let mut broken = Vec::new();
    let lines = text.lines().count();
    if lines > FILE_LINES {
        broken.push(format!(
            "{shown}: {lines} lines, over {FILE_LINES}: split it by subject"
        ));
    }
    if !text.trim_start().starts_with("//!") {
        broken.push(format!(
            "{shown}:1: must begin with `//!` and a description of the file"
        ));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(name: &str, text: &str) -> Vec<String> {
        check_file(Path::new(name), text)
    }

    #[test]
    fn tidy_file_has_no_findings() {
        let text = "//! Docs.\n\nfn main() {\n    let text = 1;\n}\n";
        assert_eq!(broken("web/src/main.rs", text), Vec::<String>::new());
    }

    #[test]
    fn tidy_finding_names_file_and_line() {
        let long = format!("//! Docs.\n{}", "// x\n".repeat(FILE_LINES));
        for (text, expected) in [
            ("fn main() {}\n".to_owned(), "a.rs:1: must begin with `//!`"),
            (
                "//! D.\nfn a() {} \n".to_owned(),
                "a.rs:2: space at the end",
            ),
            (long, "a.rs: 501 lines"),
        ] {
            let found = broken("a.rs", &text);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with(expected), "{found:?}");
        }
        assert_eq!(broken("README.md", "a\nb \n").len(), 1);
    }

    #[test]
    fn style_sheets_have_no_has_on_the_root() {
        let text = "main { margin: 0; }\n:root:has(> body > .watch) { margin: 0; }\n";
        let found = broken("web/shell/style.css", text);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("web/shell/style.css:2: "), "{found:?}");
        let inner = ".page:has(> .watch) main { margin: 0; }\n";
        assert_eq!(broken("web/shell/style.css", inner).len(), 0);
    }
}
