//! Small workspaces that break one rule each, in every way that hides it from a search for words.

mod crates;
mod files;
mod layers;
mod sources;
mod worlds;

use super::resolve::Resolved;
use super::workspace::{Dependency, Package, Target, Workspace};
use std::collections::BTreeMap;
use std::path::Path;

/// Returns a package with a library in `folder`, and a program if `files` has one.
fn package(name: &str, folder: &str, uses: &[&str], files: &[(&str, &str)]) -> Package {
    let target = |name: &str, file: &str, is_library| {
        let file = format!("{folder}/src/{file}");
        files
            .iter()
            .any(|(name, _)| **name == file)
            .then(|| Target {
                name: name.replace('-', "_"),
                is_library,
                file: file.into(),
            })
    };
    let program = format!("{name}-program");
    let targets = [
        target(name, "lib.rs", true),
        target(&program, "main.rs", false),
    ];
    Package {
        name: name.to_owned(),
        manifest: format!("{folder}/Cargo.toml"),
        dependencies: uses.iter().map(|name| dependency(name)).collect(),
        targets: targets.into_iter().flatten().collect(),
    }
}

/// Returns a dependency; `name as other` has another name in code, and `dev name` is one of tests.
fn dependency(text: &str) -> Dependency {
    let (is_for_tests, text) = match text.strip_prefix("dev ") {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (name, code_name) = text.split_once(" as ").unwrap_or((text, text));
    Dependency {
        name: name.to_owned(),
        code_name: code_name.replace('-', "_"),
        is_for_tests,
    }
}

/// Reads a workspace of packages, each with its folder and dependencies.
fn workspace(packages: &[(&str, &str, &[&str])], files: &[(&str, &str)]) -> Workspace {
    let texts: BTreeMap<&str, &str> = files.iter().copied().collect();
    let packages = packages.iter();
    let packages = packages.map(|(name, folder, uses)| package(name, folder, uses, files));
    let read = |file: &Path| {
        let text = texts.get(file.to_str()?)?;
        Some((*text).to_owned())
    };
    Workspace::load(packages.collect(), &read)
}

/// Checks a workspace by one rule.
fn broken(
    packages: &[(&str, &str, &[&str])],
    files: &[(&str, &str)],
    rule: impl Fn(&Workspace, &[Resolved<'_>]) -> Vec<String>,
) -> Vec<String> {
    let workspace = workspace(packages, files);
    assert_eq!(workspace.broken, Vec::<String>::new());
    rule(&workspace, &workspace.resolve_all())
}
