//! `cargo xtask test --only tidy`: rules of this repository that no other tool checks.

use crate::comments;
use crate::dirs::Dirs;
use crate::links;
use crate::run::output;
use anyhow::{Context, Result};
use serde_json::Value;
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
/// Words that code in some folders must not contain.
struct Layer {
    /// The folders, with the slash at their end.
    folders: &'static [&'static str],
    forbidden: &'static [&'static str],
    /// The reason, as the end of a sentence.
    because: &'static str,
}

/// The layers inside of crates; [`MAY_USE`] has those between crates.
const LAYERS: [Layer; 4] = [
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
            "trainer/src/evidence/",
            "trainer/src/http/",
            "trainer/src/hub/",
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
    Layer {
        folders: &["trainer/src/distributed/"],
        forbidden: &[
            "burn::",
            "sentinel_env",
            "sentinel_policy",
            "crate::lm",
            "crate::run",
            "crate::rl",
            "crate::corpus",
            "crate::algo",
            "crate::finetune",
        ],
        because: "ranks exchange bytes and know no algorithm",
    },
];
/// The crates that each of these may depend on, of this workspace; others are free but for [`TOPS`].
const MAY_USE: [(&str, &[&str]); 9] = [
    // Itself: its tests switch a feature on.
    ("sentinel-env", &["sentinel-env"]),
    ("sentinel-kernels", &[]),
    ("sentinel-policy", &["sentinel-env", "sentinel-kernels"]),
    ("sentinel-python", &["sentinel-env", "sentinel-policy"]),
    // No tensor library: what needs one is handed to it as a policy.
    ("sentinel-server", &["sentinel-env", "sentinel-policy"]),
    ("xtask", &[]),
    ("sentinel-page-protocol", &[]),
    // The page's shell draws data and knows no world.
    ("sentinel-page", &["sentinel-page-protocol"]),
    (
        "sentinel-page-engine",
        // The environment twice: its tests switch a feature on.
        &["sentinel-env", "sentinel-policy", "sentinel-page-protocol"],
    ),
];
/// Nothing depends on these.
const TOPS: [&str; 3] = ["sentinel-page", "sentinel-python", "sentinel-trainer"];

/// The result of a check of the whole repository.
#[derive(Debug, Default)]
pub struct Report {
    /// Files that were read.
    pub files: usize,
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
    let path = name.to_string_lossy();
    let is_in = |layer: &&Layer| layer.folders.iter().any(|folder| path.starts_with(folder));
    let layers: Vec<&Layer> = LAYERS.iter().filter(is_in).collect();
    let code = text.lines().enumerate();
    for (index, line) in code.filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for layer in &layers {
            for word in layer.forbidden.iter().filter(|word| line.contains(**word)) {
                let because = layer.because;
                broken.push(format!("{shown}:{}: `{word}`, but {because}", index + 1));
            }
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

    #[test]
    fn env_sources_must_not_use_clock() {
        let text = "//! D.\nuse std::time::Instant;\n// HashMap in a comment is fine\n";
        assert_eq!(broken("env/src/a.rs", text).len(), 1);
        assert_eq!(broken("trainer/src/a.rs", text).len(), 0);
        assert_eq!(broken("env/tests/a.rs", text).len(), 0);
    }

    #[test]
    fn tensor_free_module_must_not_import_tensor_code() {
        let text = "//! D.\nuse crate::lm::CausalLm;\nuse crate::compact_model::load_model;\n";
        assert_eq!(broken("trainer/src/corpus/a.rs", text).len(), 1);
        assert_eq!(broken("trainer/src/lm/a.rs", text).len(), 0);
    }

    #[test]
    fn lm_module_must_not_import_algorithms() {
        let text = "//! D.\nuse crate::rl::Metrics;\n";
        assert_eq!(broken("trainer/src/lm/a.rs", text).len(), 1);
        assert_eq!(broken("trainer/src/lm_agent/a.rs", text).len(), 0);
    }

    #[test]
    fn reverse_crate_dependencies_are_reported() {
        let package = |name: &str, uses: &[&str]| {
            let uses: Vec<Value> = uses.iter().map(|name| json!({"name": name})).collect();
            json!({"name": name, "dependencies": uses})
        };
        let good = json!({"packages": [
            package("sentinel-env", &["serde"]),
            package("sentinel-policy", &["sentinel-env", "serde"]),
            package("sentinel-page", &["sentinel-page-protocol"]),
        ]});
        assert_eq!(check_directions(&good), Vec::<String>::new());
        let bad = json!({"packages": [
            package("sentinel-env", &["sentinel-policy"]),
            package("sentinel-policy", &["sentinel-testkit"]),
            package("sentinel-testkit", &["sentinel-page"]),
            package("sentinel-page", &["sentinel-env"]),
        ]});
        assert_eq!(
            check_directions(&bad).len(),
            4,
            "{:?}",
            check_directions(&bad)
        );
    }
}
