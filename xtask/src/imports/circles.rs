//! Circles of imports between the files of a crate.

use super::resolve::{End, Resolved};
use super::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};

/// The files that each file imports from, with the line of the first such import.
pub(super) type Edges<'a> = BTreeMap<&'a str, BTreeMap<&'a str, usize>>;

/// Crates whose files still import each other in circles.
const WITH_CIRCLES: [&str; 3] = [
    "sentinel-page",
    "sentinel-page-engine",
    "sentinel-page-protocol",
];

/// Returns a line for each import that is part of a circle of files.
pub(super) fn check(workspace: &Workspace, imports: &[Resolved<'_>]) -> Vec<String> {
    let mut broken = Vec::new();
    for (index, package) in workspace.packages.iter().enumerate() {
        let name = &*package.name;
        let found = circles(&edges(workspace, imports, index));
        if !WITH_CIRCLES.contains(&name) {
            broken.extend(found);
        } else if found.is_empty() {
            broken.push(format!(
                "xtask/src/imports/circles.rs: `{name}` has no circles: remove it from `WITH_CIRCLES`"
            ));
        }
    }
    broken
}

/// Returns the imports between the files of a package. An item counts as imported from the file that
/// defines it: modules that pass names on are not in between.
pub(super) fn edges<'a>(
    workspace: &'a Workspace,
    imports: &[Resolved<'_>],
    package: usize,
) -> Edges<'a> {
    let mut edges = Edges::new();
    let modules = &workspace.modules;
    let is_own = |import: &&Resolved<'_>| modules[import.module].package == package;
    for import in imports
        .iter()
        .filter(is_own)
        .filter(|it| !it.is_passed_on())
    {
        let from = &*modules[import.module].file;
        let mut add = |module: usize| {
            let to = &modules[module];
            if to.package == package && to.file != from {
                let lines = edges.entry(from).or_default();
                let line = lines.entry(&*to.file).or_insert(import.line);
                *line = import.line.min(*line);
            }
        };
        for found in &import.found {
            if let End::Item(module) = found.end {
                add(module);
            }
        }
    }
    edges
}

fn circles(edges: &Edges<'_>) -> Vec<String> {
    let mut broken = Vec::new();
    for circle in components(edges) {
        for from in &circle {
            let targets = edges.get(from).into_iter().flatten();
            for (to, line) in targets.filter(|(to, _)| circle.contains(*to)) {
                let files = circle.len();
                broken.push(format!(
                    "{from}:{line}: imports from {to}, which leads back here (a circle of {files} files)"
                ));
            }
        }
    }
    broken
}

/// Returns the sets of two files or more of which each leads to all others.
pub(super) fn components<'a>(edges: &Edges<'a>) -> Vec<BTreeSet<&'a str>> {
    let mut search = Search::default();
    for file in edges.keys() {
        if !search.numbers.contains_key(file) {
            search.visit(file, edges);
        }
    }
    search.found
}

/// Tarjan's search for strongly connected components.
#[derive(Default)]
struct Search<'a> {
    numbers: BTreeMap<&'a str, usize>,
    open: Vec<&'a str>,
    found: Vec<BTreeSet<&'a str>>,
}

impl<'a> Search<'a> {
    /// Returns the lowest number of an open file that `file` leads to.
    fn visit(&mut self, file: &'a str, edges: &Edges<'a>) -> usize {
        let number = self.numbers.len();
        self.numbers.insert(file, number);
        let height = self.open.len();
        self.open.push(file);
        let mut lowest = number;
        for to in edges.get(file).into_iter().flat_map(BTreeMap::keys) {
            match self.numbers.get(to) {
                None => lowest = lowest.min(self.visit(to, edges)),
                Some(number) if self.open.contains(to) => lowest = lowest.min(*number),
                Some(_) => {}
            }
        }
        if lowest == number {
            let circle: BTreeSet<&str> = self.open.drain(height..).collect();
            if circle.len() > 1 {
                self.found.push(circle);
            }
        }
        lowest
    }
}
