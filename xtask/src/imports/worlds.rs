//! The folders of worlds: siblings that do not know each other, above what they share, each with the same
//! order of modules.

use super::resolve::Resolved;
use super::workspace::{Module, Workspace};
use std::collections::BTreeSet;

/// This file, for messages.
const TABLE: &str = "xtask/src/imports/worlds.rs";
/// The crate that defines the worlds.
const HOME: &str = "sentinel-env";
/// The module that every world has there, and nothing else.
const MARK: &str = "world_impl";

/// The modules of every world in a crate, each of which may use those before it.
struct Order {
    package: &'static str,
    /// `*` stands for all modules that are not named; without it, there are none.
    modules: &'static [&'static str],
}

const ORDERS: [Order; 2] = [
    Order {
        package: HOME,
        modules: &[
            "model",
            "dynamics",
            "reward",
            "episode",
            "protocol",
            "world_impl",
        ],
    },
    // Policies of rules, then those that are learned, then words for language models, and then what
    // makes the world one of those that commands, analysis and replays can play.
    Order {
        package: "sentinel-policy",
        modules: &[
            "*",
            "learned",
            "text",
            "analyzable_impl",
            "episode_row",
            "playable_impl",
        ],
    },
];

/// The crates whose code outside of the folders of worlds knows no world. The registry of worlds is no
/// exception: it names their modules in the call of a macro, which is no path.
const SHARED: [&str; 2] = [HOME, "sentinel-policy"];

/// Returns a line for each import that goes from one world to another, from shared code to a world, or
/// against the order of modules.
pub(super) fn check(workspace: &Workspace, imports: &[Resolved<'_>]) -> Vec<String> {
    let worlds = worlds(workspace);
    let mut broken = misplaced(workspace, &worlds);
    for import in imports {
        let module = &workspace.modules[import.module];
        let package = &*workspace.packages[module.package].name;
        let mut add = |why: String| {
            let (file, line, shown) = (&module.file, import.line, import.shown());
            broken.push(format!("{file}:{line}: `{shown}` {why}"));
        };
        let own = world_of(module, &worlds);
        let named = import.modules().map(|index| &workspace.modules[index]);
        let named: Vec<&Module> = named
            .filter(|module| world_of(module, &worlds).is_some())
            .collect();
        let other = |other: &&&Module| world_of(other, &worlds) != own;
        if let Some(other) = named
            .iter()
            .find(other)
            .and_then(|it| world_of(it, &worlds))
        {
            if let Some(own) = own {
                add(format!(
                    "is of the world {other}, which {own} must not know"
                ));
            } else if SHARED.contains(&package) {
                add(format!(
                    "is of the world {other}: code outside of the worlds knows none of them"
                ));
            }
        }
        let Some(order) = ORDERS.iter().find(|order| order.package == package) else {
            continue;
        };
        let later = named.iter().find(|other| {
            other.root == module.root
                && world_of(other, &worlds) == own
                && order.place(module) < order.place(other)
        });
        if let (Some(_), Some(later)) = (order.place(module), later) {
            let (own, later) = (&module.path[2], &later.path[2]);
            add(format!(
                "is of `{later}`, which comes after `{own}` in the modules of a world ({TABLE})"
            ));
        }
    }
    broken
}

/// Returns the names of the worlds: the modules of the crate [`HOME`] that have a module [`MARK`].
fn worlds(workspace: &Workspace) -> BTreeSet<&str> {
    let modules = workspace.modules.iter().filter(|module| {
        let is_home = workspace.packages[module.package].name == HOME;
        is_home && module.path.len() == 2 && module.children.contains_key(MARK)
    });
    modules.map(|module| &*module.path[1]).collect()
}

/// Finds that there is no world, and modules of worlds that have no place in their order.
fn misplaced(workspace: &Workspace, worlds: &BTreeSet<&str>) -> Vec<String> {
    let mut broken = Vec::new();
    let home = workspace.library(HOME).map(|root| &workspace.modules[root]);
    if let Some(home) = home.filter(|_| worlds.is_empty()) {
        broken.push(format!(
            "{}: no module has a module `{MARK}`: how does {TABLE} find the worlds?",
            home.file
        ));
    }
    for module in &workspace.modules {
        let package = &*workspace.packages[module.package].name;
        let order = ORDERS.iter().find(|order| order.package == package);
        let is_world = module.path.len() == 3 && world_of(module, worlds).is_some();
        if let Some(order) = order.filter(|order| is_world && order.place(module).is_none()) {
            broken.push(format!(
                "{}: `{}` has no place among the modules of a world, {}: add it to {TABLE}",
                module.file,
                module.path[2],
                order.modules.join(", ")
            ));
        }
    }
    broken
}

/// Returns the world in whose folder a module is, at the top of its crate or in `worlds`.
fn world_of<'a>(module: &'a Module, worlds: &BTreeSet<&str>) -> Option<&'a str> {
    let mut names = module.path.iter().skip(1).map(String::as_str);
    let name = match names.next()? {
        "worlds" => names.next()?,
        name => name,
    };
    worlds.contains(name).then_some(name)
}

impl Order {
    /// Returns the place of the module of a world that `module` is in; `None` for the world itself.
    fn place(&self, module: &Module) -> Option<usize> {
        let name = module.path.get(2)?;
        let place = |name: &str| self.modules.iter().position(|module| *module == name);
        place(name).or_else(|| place("*"))
    }
}
