//! Paths that code in some folders must not name, however it names them.

use super::resolve::Resolved;
use super::use_tree::Names;
use super::workspace::{Module, Workspace};

/// This file, for messages.
const TABLE: &str = "xtask/src/imports/layers.rs";

/// Paths that code in some folders must not name.
pub(super) struct Layer {
    /// The folders, with the slash at their end, and files.
    pub(super) folders: &'static [&'static str],
    /// Modules (`crate::` is the crate of the folder), crates, and paths in other crates.
    pub(super) forbidden: &'static [&'static str],
    /// The reason, as the end of a sentence.
    pub(super) because: &'static str,
}

/// The layers inside of crates; `crates.rs` has those between crates.
pub(super) const LAYERS: [Layer; 2] = [
    Layer {
        folders: &["env/src/"],
        forbidden: &[
            "std::time",
            "std::thread",
            "std::thread_local!",
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "std::collections::HashMap",
            "std::collections::HashSet",
            "std::collections::hash_map",
            "std::collections::hash_set",
            "static mut",
        ],
        because: "env knows no outside",
    },
    Layer {
        folders: &[
            "trainer/compact/src/actor.rs",
            "trainer/compact/src/batch.rs",
            "trainer/compact/src/evaluate.rs",
            "trainer/compact/src/expert_iteration.rs",
            "trainer/compact/src/grpo.rs",
            "trainer/compact/src/imitation.rs",
            "trainer/compact/src/learn/",
            "trainer/compact/src/optimizer.rs",
            "trainer/compact/src/parameter_tensors.rs",
            "trainer/compact/src/set_net.rs",
            "trainer/compact/src/step.rs",
            "trainer/compact/src/trainer.rs",
            "trainer/compact/src/workers.rs",
        ],
        forbidden: &[
            "std::env",
            "std::fs",
            "std::net",
            "std::process",
            "std::thread",
            "std::time",
            "rayon",
            "clap",
            "sentinel_base",
            "sentinel_play",
            "sentinel_run",
            "crate::run",
        ],
        because: "the algorithms of compact policies also run in a browser",
    },
];

/// Returns a line for each import that a layer forbids.
pub(super) fn check(
    workspace: &Workspace,
    imports: &[Resolved<'_>],
    layers: &[Layer],
) -> Vec<String> {
    let mut broken = Vec::new();
    for import in imports {
        let module = &workspace.modules[import.module];
        for layer in layers.iter().filter(|layer| layer.has(module)) {
            let is_named = |path: &&&str| names(workspace, import, &parts(path, module));
            if let Some(path) = layer.forbidden.iter().find(is_named) {
                let (file, line, because) = (&module.file, import.line, layer.because);
                let shown = import.shown();
                let what = match shown == **path {
                    true => format!("`{path}`"),
                    false => format!("`{shown}` names `{path}`"),
                };
                broken.push(format!("{file}:{line}: {what}, but {because}"));
            }
        }
    }
    broken
}

/// Returns a line for each folder and each module of this workspace in the table that does not exist.
pub(super) fn check_table(workspace: &Workspace, layers: &[Layer]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut add = |text: &str| {
        broken.push(format!(
            "{TABLE}: there is no `{text}`: remove it from `LAYERS`"
        ));
    };
    for layer in layers {
        for folder in layer.folders {
            let mut modules = workspace.modules.iter();
            let Some(module) = modules.find(|module| module.file.starts_with(folder)) else {
                add(folder);
                continue;
            };
            for path in layer
                .forbidden
                .iter()
                .filter(|path| path.starts_with("crate::"))
            {
                let path = parts(path, module);
                if !workspace.modules.iter().any(|module| module.path == path) {
                    add(&path.join("::"));
                }
            }
        }
    }
    broken
}

impl Layer {
    fn has(&self, module: &Module) -> bool {
        let mut folders = self.folders.iter();
        folders.any(|folder| module.file.starts_with(folder))
    }
}

/// Returns the names of a path of the table, as code in a module means it.
fn parts(path: &str, module: &Module) -> Names {
    let mut names: Names = path.split("::").map(str::to_owned).collect();
    if names[0] == "crate" {
        names[0].clone_from(&module.path[0]);
    }
    names
}

/// Returns `true` if an import leads to a path, through it or below it.
fn names(workspace: &Workspace, import: &Resolved<'_>, path: &Names) -> bool {
    let mut modules = import.modules();
    let mut outside = import.outside();
    modules.any(|module| workspace.modules[module].path.starts_with(path))
        || outside.any(|found| {
            let is_below = found.len() >= path.len()
                && found
                    .iter()
                    .zip(path)
                    .all(|(one, other)| is_same(one, other));
            // All names of a module are those below it, too.
            is_below || (import.is_glob() && path.starts_with(found))
        })
}

/// Compares names; a macro is imported without its `!`.
fn is_same(found: &str, forbidden: &str) -> bool {
    found == forbidden || forbidden.strip_suffix('!') == Some(found)
}
