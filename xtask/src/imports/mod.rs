//! Rules of dependence between crates, files and modules, checked by resolving imports.
//!
//! `source.rs` reads files, `workspace.rs` finds the modules of all crates, and `resolve.rs` follows every
//! path to its meaning: `use` in groups, other names, `super` and names that a module passes on make no
//! difference. Then each rule looks at the result: the order of crates in `crates.rs`, no circles of files
//! in `circles.rs`, the modules of worlds in `worlds.rs`, and folders that must not know something in
//! `layers.rs`.

mod circles;
mod crates;
mod layers;
mod resolve;
mod source;
#[cfg(test)]
mod tests;
mod use_tree;
mod workspace;
mod worlds;

use serde_json::Value;
use std::path::Path;
use workspace::{Package, Workspace};

/// The result of a check of all imports.
#[derive(Debug, Default)]
pub struct Checked {
    /// The number of imports that were resolved.
    pub imports: usize,
    /// One line for each broken rule, with its place.
    pub broken: Vec<String>,
}

/// Checks all rules of dependence of the workspace in the folder `root`; `metadata` is the output of
/// `cargo metadata --no-deps`.
#[must_use]
pub fn check(root: &Path, metadata: &Value) -> Checked {
    let read = |file: &Path| std::fs::read_to_string(root.join(file)).ok();
    let workspace = Workspace::load(Package::all(metadata), &read);
    let imports = workspace.resolve_all();
    let mut broken = workspace.broken.clone();
    broken.extend(crates::RULES.check(&workspace, &imports));
    broken.extend(layers::check_table(&workspace, &layers::LAYERS));
    broken.extend(layers::check(&workspace, &imports, &layers::LAYERS));
    broken.extend(worlds::check(&workspace, &imports));
    broken.extend(circles::check(&workspace, &imports));
    Checked {
        imports: imports.len(),
        broken,
    }
}
