//! `cargo xtask test --only tidy`: rules of this repository that no other tool checks.

use crate::links;
use crate::place::Place;
use crate::run::output;
use crate::source::{code_only, functions};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// No source file is longer than this many lines.
const FILE_LINES: usize = 500;
/// No function is longer than this many lines, except a `view!` template.
const FUNCTION_LINES: usize = 70;
/// Folders that hold nothing that is ours to keep tidy.
const SKIPPED: [&str; 7] = [
    "target",
    "dist",
    "outputs",
    "book",
    "node_modules",
    ".git",
    ".tmp",
];
/// Words that code in some folders must not contain.
struct Layer {
    /// The folders, with the slash at their end.
    folders: &'static [&'static str],
    forbidden: &'static [&'static str],
    /// What the folders are, as the end of a sentence.
    because: &'static str,
}

/// The layers inside of crates; [`MAY_USE`] has those between crates.
const LAYERS: [Layer; 3] = [
    Layer {
        folders: &["env/src/"],
        forbidden: &[
            "std::time",
            "std::thread",
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "static mut",
            "HashMap",
            "HashSet",
            "thread_local!",
        ],
        because: "env knows no outside",
    },
    Layer {
        folders: &[
            "trainer/src/corpus/",
            "trainer/src/rl/",
            "trainer/src/eval/",
            "trainer/src/rules/",
            "trainer/src/run/",
            "trainer/src/worlds/",
        ],
        forbidden: &[
            "burn::",
            "tokenizers::",
            "crate::lm",
            "crate::compact::",
            "crate::algo",
            "crate::finetune",
        ],
        because: "this compiles without the trainer's feature `burn`",
    },
    Layer {
        folders: &["trainer/src/lm/"],
        forbidden: &[
            "sentinel_env",
            "sentinel_policy",
            "crate::rl",
            "crate::run",
            "crate::corpus",
            "crate::algo",
            "crate::finetune",
            "crate::compact::",
            "crate::lm_agent",
        ],
        because: "the language-model library knows no environment and no algorithm",
    },
];
/// The crates that each of these may depend on, of this workspace; others are free but for [`TOPS`].
const MAY_USE: [(&str, &[&str]); 3] = [
    // Itself: its tests switch a feature on.
    ("sentinel-env", &["sentinel-env"]),
    ("sentinel-policy", &["sentinel-env"]),
    ("xtask", &[]),
];
/// Nothing depends on these.
const TOPS: [&str; 2] = ["sentinel-web", "sentinel-trainer"];

/// What a check of the whole repository found.
#[derive(Debug, Default)]
pub struct Report {
    /// Files that were read.
    pub files: usize,
    /// One line for each broken rule: place, rule.
    pub broken: Vec<String>,
}

/// Checks every rule.
///
/// # Errors
/// When a file cannot be read or cargo cannot describe the workspace.
pub fn check(place: &Place) -> Result<Report> {
    let mut files = Vec::new();
    collect(&place.root, &mut files)
        .with_context(|| format!("cannot walk {}", place.root.display()))?;
    files.sort();
    let mut report = Report::default();
    for file in files {
        let name = file.strip_prefix(&place.root).unwrap_or(&file);
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        report.files += 1;
        report.broken.extend(check_file(name, &text));
        if name.extension().is_some_and(|e| e == "md") {
            report.broken.extend(links::check(&place.root, name, &text));
        }
    }
    let metadata = output(place.cargo().args([
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version",
        "1",
    ]))
    .context("`cargo metadata --no-deps` failed: is a Cargo.toml broken?")?;
    let metadata = serde_json::from_str(&metadata).context("cargo metadata is no JSON")?;
    report.broken.extend(check_directions(&metadata));
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
                .is_some_and(|e| e == "rs" || e == "md" || e == "toml")
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
    broken
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
            "{shown}:1: must begin with `//!` and what the file is for"
        ));
    }
    let code = code_only(text);
    let shown_path = name.to_string_lossy();
    let layers = LAYERS.iter().filter(|layer| {
        let mut folders = layer.folders.iter();
        folders.any(|folder| shown_path.starts_with(folder))
    });
    let layers: Vec<&Layer> = layers.collect();
    for (index, line) in code.lines().enumerate() {
        for unfinished in ["todo!(", "dbg!(", "unimplemented!("] {
            if line.contains(unfinished) {
                broken.push(format!("{shown}:{}: {unfinished}…)", index + 1));
            }
        }
        for layer in &layers {
            for word in layer.forbidden.iter().filter(|word| line.contains(**word)) {
                broken.push(format!(
                    "{shown}:{}: `{word}`, but {}",
                    index + 1,
                    layer.because
                ));
            }
        }
    }
    for function in functions(&code) {
        if function.lines > FUNCTION_LINES && !function.is_view {
            broken.push(format!(
                "{shown}:{}: fn {} has {} lines, over {FUNCTION_LINES}",
                function.line, function.name, function.lines
            ));
        }
    }
    broken
}

/// The dependencies, of `cargo metadata --no-deps`, that point the wrong way.
fn check_directions(metadata: &Value) -> Vec<String> {
    let empty = Vec::new();
    let packages = metadata["packages"].as_array().unwrap_or(&empty);
    let ours: Vec<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut broken = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let rule = MAY_USE.iter().find(|(from, _)| *from == name);
        let dependencies = package["dependencies"].as_array().unwrap_or(&empty);
        for dependency in dependencies.iter().filter_map(|d| d["name"].as_str()) {
            let refused = rule.is_some_and(|(_, allowed)| {
                ours.contains(&dependency) && !allowed.contains(&dependency)
            });
            if refused || TOPS.contains(&dependency) {
                broken.push(format!(
                    "{name} depends on {dependency}: dependencies point to env only"
                ));
            }
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn broken(name: &str, text: &str) -> Vec<String> {
        check_file(Path::new(name), text)
    }

    #[test]
    fn a_tidy_file_breaks_nothing() {
        let text = "//! Docs.\n\nfn main() {\n    let text = \"todo!(\";\n}\n";
        assert_eq!(broken("web/src/main.rs", text), Vec::<String>::new());
    }

    #[test]
    fn each_rule_names_file_and_line() {
        let long = format!("//! Docs.\n{}", "// x\n".repeat(FILE_LINES));
        let body = "    x();\n".repeat(FUNCTION_LINES);
        for (text, says) in [
            ("fn main() {}\n".to_owned(), "a.rs:1: must begin with `//!`"),
            (
                "//! D.\nfn a() {} \n".to_owned(),
                "a.rs:2: space at the end",
            ),
            ("//! D.\nfn a() { todo!() }\n".to_owned(), "a.rs:2: todo!("),
            ("//! D.\nfn a() { dbg!(1) }\n".to_owned(), "a.rs:2: dbg!("),
            (long, "a.rs: 501 lines"),
            (
                format!("//! D.\nfn a() {{\n{body}}}\n"),
                "a.rs:2: fn a has 72 lines",
            ),
        ] {
            let found = broken("a.rs", &text);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with(says), "{found:?}");
        }
        assert_eq!(broken("README.md", "a\nb \n").len(), 1);
    }

    #[test]
    fn a_long_view_is_allowed() {
        let body = "    x();\n".repeat(FUNCTION_LINES);
        let text = format!("//! D.\nfn a() {{ view! {{\n{body}}} }}\n");
        assert_eq!(broken("a.rs", &text), Vec::<String>::new());
    }

    #[test]
    fn env_knows_no_outside() {
        let text = "//! D.\nuse std::time::Instant;\n// HashMap in a comment is fine\n";
        assert_eq!(broken("env/src/a.rs", text).len(), 1);
        assert_eq!(broken("trainer/src/a.rs", text).len(), 0);
        assert_eq!(broken("env/tests/a.rs", text).len(), 0);
    }

    #[test]
    fn what_needs_no_tensor_names_none() {
        let text = "//! D.\nuse crate::lm::Qwen2;\nuse crate::compact_model::load_model;\n";
        assert_eq!(broken("trainer/src/corpus/a.rs", text).len(), 1);
        assert_eq!(broken("trainer/src/lm/a.rs", text).len(), 0);
    }

    #[test]
    fn the_language_model_library_knows_no_algorithm() {
        let text = "//! D.\nuse crate::rl::Metrics;\n";
        assert_eq!(broken("trainer/src/lm/a.rs", text).len(), 1);
        assert_eq!(broken("trainer/src/lm_agent/a.rs", text).len(), 0);
    }

    #[test]
    fn dependencies_point_one_way() {
        let package = |name: &str, uses: &[&str]| {
            let uses: Vec<Value> = uses.iter().map(|name| json!({"name": name})).collect();
            json!({"name": name, "dependencies": uses})
        };
        let good = json!({"packages": [
            package("sentinel-env", &["serde"]),
            package("sentinel-policy", &["sentinel-env", "serde"]),
            package("sentinel-web", &["sentinel-policy", "sentinel-env"]),
        ]});
        assert_eq!(check_directions(&good), Vec::<String>::new());
        let bad = json!({"packages": [
            package("sentinel-env", &["sentinel-policy"]),
            package("sentinel-policy", &["sentinel-testkit"]),
            package("sentinel-testkit", &["sentinel-web"]),
        ]});
        assert_eq!(
            check_directions(&bad).len(),
            3,
            "{:?}",
            check_directions(&bad)
        );
    }
}
