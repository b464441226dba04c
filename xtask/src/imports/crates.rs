//! The order of the crates, and the crates that some of them must not know.

use super::resolve::Resolved;
use super::workspace::{Package, Workspace};

/// This file, for messages.
const TABLE: &str = "xtask/src/imports/crates.rs";

/// The rules between crates.
pub(super) const RULES: Rules<'static> = Rules {
    order: &ORDER,
    confined: &CONFINED,
};

/// A table of rules between crates.
pub(super) struct Rules<'a> {
    pub(super) order: &'a [Row],
    pub(super) confined: &'a [Confined],
}

/// A crate of the workspace, which may depend on those before it in [`ORDER`].
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The crates of the workspace that it may depend on, next to those for tests; `None` for all before it.
    pub(super) only: Option<&'static [&'static str]>,
    /// The crates, of the workspace or not, that it must not know.
    without: &'static [&'static str],
    /// Nothing depends on it.
    is_top: bool,
    /// Only tests depend on it, and other crates of this kind.
    is_for_tests: bool,
}

/// Crates from elsewhere that only some crates of the workspace may know.
pub(super) struct Confined {
    /// Their names; `burn` stands for `burn-flex`, too.
    pub(super) crates: &'static [&'static str],
    pub(super) only: &'static [&'static str],
}

/// Every crate of the workspace, the lowest first. Dependencies of tests count; only on itself may a
/// crate depend for its tests, to switch a feature on.
const ORDER: [Row; 27] = [
    // No thread, no randomness of the system, no network.
    row("sentinel-env")
        .only(&[])
        .without(&["getrandom", "rayon", "tokio"]),
    row("sentinel-kernels").only(&[]),
    row("sentinel-policy").only(&["sentinel-env", "sentinel-kernels"]),
    row("sentinel-testkit")
        .only(&["sentinel-env", "sentinel-policy"])
        .for_tests(),
    // No tensor library: what needs one is handed to it as a policy.
    row("sentinel-server").only(&["sentinel-env", "sentinel-policy"]),
    row("sentinel-lm-kernels").only(&[]),
    row("sentinel-lm-cube").only(&["sentinel-lm-kernels"]),
    // The trainer.
    row("sentinel-options").only(&["sentinel-env", "sentinel-policy"]),
    row("sentinel-base").only(&["sentinel-env", "sentinel-policy", "sentinel-options"]),
    row("sentinel-http").only(&[]),
    row("sentinel-tensor").only(&["sentinel-env"]),
    // Losses and advantages are functions of numbers.
    row("sentinel-rl").only(&["sentinel-options"]),
    // A run is a folder, checkpoints and ranks: it knows no world.
    row("sentinel-run").without(&[
        "sentinel-env",
        "sentinel-policy",
        "sentinel-http",
        "sentinel-server",
    ]),
    // Language models know no environment and no algorithm.
    row("sentinel-lm")
        .only(&[
            "sentinel-options",
            "sentinel-base",
            "sentinel-http",
            "sentinel-tensor",
            "sentinel-lm-kernels",
            "sentinel-lm-cube",
        ])
        .without(&["sentinel-env", "sentinel-policy", "sentinel-rl"]),
    row("sentinel-play").without(&["sentinel-server", "sentinel-tensor", "sentinel-lm"]),
    row("sentinel-evidence").without(&["sentinel-server", "sentinel-tensor", "sentinel-lm"]),
    row("sentinel-hub").without(&["sentinel-server", "sentinel-tensor", "sentinel-lm"]),
    row("sentinel-compact").without(&[
        "sentinel-lm",
        "sentinel-server",
        "sentinel-evidence",
        "sentinel-hub",
    ]),
    row("sentinel-language"),
    row("sentinel-trainer").top(),
    row("sentinel-page-protocol").only(&[]),
    row("sentinel-page-engine").only(&[
        "sentinel-env",
        "sentinel-policy",
        "sentinel-page-protocol",
    ]),
    // Training in the page: the algorithms, and the interface of an engine.
    row("sentinel-page-learner")
        .only(&[
            "sentinel-env",
            "sentinel-policy",
            "sentinel-compact",
            "sentinel-page-protocol",
            "sentinel-page-engine",
        ])
        .top(),
    // The page's shell draws data and knows no world.
    row("sentinel-page").only(&["sentinel-page-protocol"]).top(),
    row("sentinel-python")
        .only(&["sentinel-env", "sentinel-policy"])
        .top(),
    row("xtask").only(&[]),
    row("sentinel-e2e").for_tests().top(),
];

const CONFINED: [Confined; 6] = [
    Confined {
        crates: &["burn", "cubecl", "cubek"],
        only: &[
            "sentinel-lm-cube",
            "sentinel-tensor",
            "sentinel-lm",
            "sentinel-compact",
            "sentinel-language",
            // Its benchmarks and tests.
            "sentinel-trainer",
        ],
    },
    Confined {
        crates: &["hf-hub", "minijinja", "tokenizers"],
        only: &["sentinel-lm"],
    },
    Confined {
        crates: &["kuva"],
        only: &["sentinel-evidence"],
    },
    Confined {
        crates: &["mpi"],
        only: &["sentinel-run"],
    },
    Confined {
        crates: &["leptos", "web-sys"],
        only: &["sentinel-page"],
    },
    Confined {
        crates: &["numpy", "pyo3"],
        only: &["sentinel-python"],
    },
];

pub(super) const fn row(name: &'static str) -> Row {
    Row {
        name,
        only: None,
        without: &[],
        is_top: false,
        is_for_tests: false,
    }
}

impl Row {
    pub(super) const fn only(mut self, crates: &'static [&'static str]) -> Self {
        self.only = Some(crates);
        self
    }

    pub(super) const fn without(mut self, crates: &'static [&'static str]) -> Self {
        self.without = crates;
        self
    }

    pub(super) const fn for_tests(mut self) -> Self {
        self.is_for_tests = true;
        self
    }

    pub(super) const fn top(mut self) -> Self {
        self.is_top = true;
        self
    }
}

impl Rules<'_> {
    /// Returns a line for each broken rule.
    pub(super) fn check(&self, workspace: &Workspace, imports: &[Resolved<'_>]) -> Vec<String> {
        let packages = &workspace.packages;
        let mut broken = self.unlisted(packages);
        for package in packages {
            broken.extend(self.check_manifest(package, packages));
        }
        for import in imports {
            broken.extend(self.check_import(workspace, import));
        }
        broken
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.order.iter().position(|row| row.name == name)
    }

    /// Finds members that no row names, and rows of no member.
    fn unlisted(&self, packages: &[Package]) -> Vec<String> {
        let mut broken = Vec::new();
        for package in packages {
            if self.place(&package.name).is_none() {
                broken.push(format!(
                    "{}: `{}` is not in the order of crates: add it to `ORDER` of {TABLE}",
                    package.manifest, package.name
                ));
            }
        }
        for Row { name, .. } in self.order {
            if !packages.iter().any(|package| package.name == *name) {
                broken.push(format!(
                    "{TABLE}: `{name}` is no crate of the workspace: remove it from `ORDER`"
                ));
            }
        }
        broken
    }

    fn check_manifest(&self, package: &Package, packages: &[Package]) -> Vec<String> {
        let name = &*package.name;
        let Some(place) = self.place(name) else {
            return Vec::new();
        };
        let row = &self.order[place];
        let mut broken = Vec::new();
        for dependency in &package.dependencies {
            let used = &*dependency.name;
            let mut add = |why: String| {
                let manifest = &package.manifest;
                broken.push(format!("{manifest}: {name} depends on {used}, but {why}"));
            };
            if let Some(only) = self.confined_to(used).filter(|only| !only.contains(&name)) {
                add(format!("only {} may know it ({TABLE})", only.join(", ")));
            }
            if row.without.contains(&used) {
                add(format!("must not know it ({TABLE})"));
            }
            let is_ours = packages.iter().any(|other| other.name == used);
            if !is_ours || used == name {
                continue;
            }
            let Some(used_place) = self.place(used) else {
                continue;
            };
            let used_row = &self.order[used_place];
            let is_helper = used_row.is_for_tests && dependency.is_for_tests;
            let only = row.only.filter(|only| !is_helper && !only.contains(&used));
            if let Some(only) = only {
                let only = match only {
                    [] => "none".to_owned(),
                    only => format!("only {}", only.join(", ")),
                };
                add(format!("may use {only} of this workspace ({TABLE})"));
            } else if used_place > place {
                add(format!("{used} comes later in `ORDER` of {TABLE}"));
            }
            if used_row.is_top {
                add(format!("nothing may depend on it ({TABLE})"));
            }
            if used_row.is_for_tests && !row.is_for_tests && !dependency.is_for_tests {
                add(format!("only tests may use it ({TABLE})"));
            }
        }
        broken
    }

    /// Returns the crates that may know a crate from elsewhere, if only some may.
    fn confined_to(&self, name: &str) -> Option<&[&'static str]> {
        let covers = |family: &&&str| {
            let rest = name.strip_prefix(**family);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let mut all = self.confined.iter();
        let found = all.find(|confined| confined.crates.iter().any(|it| covers(&it)))?;
        Some(found.only)
    }

    /// Finds a crate that another one passes on to one that must not know it; [`Self::check_manifest`] finds
    /// those that it depends on.
    fn check_import(&self, workspace: &Workspace, import: &Resolved<'_>) -> Option<String> {
        let module = &workspace.modules[import.module];
        let package = &workspace.packages[module.package];
        let row = &self.order[self.place(&package.name)?];
        let outside = import.outside().map(|path| path[0].replace('_', "-"));
        let modules = import
            .modules()
            .map(|module| workspace.modules[module].package);
        let ours = modules.map(|package| workspace.packages[package].name.clone());
        let is_refused = |name: &String| {
            let confined = self.confined_to(name);
            let is_refused = row.without.contains(&&**name)
                || confined.is_some_and(|only| !only.contains(&row.name));
            let mut direct = package.dependencies.iter();
            is_refused && !direct.any(|dependency| dependency.name == *name)
        };
        let name = outside.chain(ours).find(is_refused)?;
        Some(format!(
            "{}:{}: `{}` is of {name}, which {} must not know ({TABLE})",
            module.file,
            import.line,
            import.shown(),
            row.name
        ))
    }
}
