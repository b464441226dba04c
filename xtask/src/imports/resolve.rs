//! The modules and crates that paths lead to, through `use`, other names and what modules pass on.

use super::source::{Import, Kind};
use super::use_tree::Names;
use super::workspace::Workspace;

/// The number of `use` declarations that are followed, one to the next.
const STEPS: usize = 8;
/// The crates of the language, which need no dependency.
const STANDARD: [&str; 4] = ["std", "core", "alloc", "proc_macro"];

/// The end of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A module of the workspace.
    Module(usize),
    /// An item of this module.
    Item(usize),
    /// A path in a crate outside of the workspace; `core` and `alloc` are `std`.
    Outside(Names),
}

/// One meaning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) end: End,
    /// The modules that the path goes through.
    pub(super) through: Vec<usize>,
}

/// An import with all its meanings.
#[derive(Debug)]
pub(super) struct Resolved<'a> {
    /// The module that has it.
    pub(super) module: usize,
    pub(super) import: &'a Import,
    pub(super) line: usize,
    pub(super) found: Vec<Found>,
}

impl Resolved<'_> {
    /// Returns the path as the source has it.
    pub(super) fn shown(&self) -> String {
        let path = self.import.names.join("::").replace("::::", "::");
        match self.import.kind {
            Kind::Glob | Kind::GlobPassedOn => format!("{path}::*"),
            Kind::Macro if !path.contains(' ') => format!("{path}!"),
            _ => path,
        }
    }

    /// Returns `true` if all names of a module are imported.
    pub(super) fn is_glob(&self) -> bool {
        matches!(self.import.kind, Kind::Glob | Kind::GlobPassedOn)
    }

    /// Returns `true` for a `pub use`, which is no import of the module itself.
    pub(super) fn is_passed_on(&self) -> bool {
        matches!(self.import.kind, Kind::PassedOn | Kind::GlobPassedOn)
    }

    /// Returns every module that the path names, goes through or ends in.
    pub(super) fn modules(&self) -> impl Iterator<Item = usize> {
        self.found.iter().flat_map(|found| {
            let end = match found.end {
                End::Module(module) | End::Item(module) => Some(module),
                End::Outside(_) => None,
            };
            found.through.iter().copied().chain(end)
        })
    }

    /// Returns the paths in crates outside of the workspace.
    pub(super) fn outside(&self) -> impl Iterator<Item = &Names> {
        self.found.iter().filter_map(|found| match &found.end {
            End::Outside(names) => Some(names),
            _ => None,
        })
    }
}

impl Found {
    fn new(end: End) -> Self {
        let through = Vec::new();
        Self { end, through }
    }

    fn after(mut self, mut through: Vec<usize>) -> Self {
        through.append(&mut self.through);
        self.through = through;
        self
    }
}

impl Workspace {
    /// Returns all imports of all modules.
    pub(super) fn resolve_all(&self) -> Vec<Resolved<'_>> {
        let mut all = Vec::new();
        for (module, content) in self.modules.iter().enumerate() {
            for (import, line) in &content.imports {
                let found = match import.kind {
                    Kind::Macro => self.resolve_macro(module, &import.names),
                    Kind::Name => self.in_globs(module, &import.names[0], STEPS),
                    _ => self.resolve(module, &import.names, STEPS),
                };
                if !found.is_empty() {
                    all.push(Resolved {
                        module,
                        import,
                        line: *line,
                        found,
                    });
                }
            }
        }
        all
    }

    /// Returns the meanings of the name of a macro; one that is not found is of the standard library.
    fn resolve_macro(&self, module: usize, names: &Names) -> Vec<Found> {
        let mut found = self.resolve(module, names, STEPS);
        for found in &mut found {
            if let End::Outside(path) = &mut found.end
                && let Some(name) = path.last_mut()
            {
                name.push('!');
            }
        }
        if let ([name], true) = (&**names, found.is_empty()) {
            let path = match name.contains(' ') {
                true => vec![name.clone()],
                false => vec!["std".to_owned(), format!("{name}!")],
            };
            found.push(Found::new(End::Outside(path)));
        }
        found
    }

    /// Returns the meanings of a path in a module; none for names that only the compiler knows.
    fn resolve(&self, from: usize, names: &[String], steps: usize) -> Vec<Found> {
        let Some((first, rest)) = names.split_first() else {
            return Vec::new();
        };
        let (mut heads, rest) = match (&**first, rest) {
            ("::", [name, rest @ ..]) => (self.in_prelude(from, name), rest),
            ("crate", rest) => {
                let root = self.modules[from].root;
                (vec![Found::new(End::Module(root))], rest)
            }
            (name, rest) => {
                let mut found = self.member(from, name, steps);
                if found.is_empty() {
                    found = self.in_prelude(from, name);
                }
                (found, rest)
            }
        };
        for name in rest {
            heads = self.below(heads, name, steps);
        }
        heads
    }

    fn below(&self, heads: Vec<Found>, name: &str, steps: usize) -> Vec<Found> {
        let is_module = |found: &Found| matches!(found.end, End::Module(_));
        // A function and a module may have one name.
        let has_module = heads.iter().any(is_module);
        let mut next = Vec::new();
        for Found { end, mut through } in heads {
            match end {
                End::Module(module) => {
                    through.push(module);
                    let found = self.member(module, name, steps);
                    if found.is_empty() {
                        // A macro defines it.
                        let end = End::Item(module);
                        next.push(Found { end, through });
                    } else {
                        next.extend(found.into_iter().map(|found| found.after(through.clone())));
                    }
                }
                End::Item(_) if has_module => {}
                // A variant, a constant or a function of a type.
                End::Item(_) => next.push(Found { end, through }),
                End::Outside(mut path) => {
                    path.push(name.to_owned());
                    let end = End::Outside(path);
                    next.push(Found { end, through });
                }
            }
        }
        next
    }

    /// Returns what a name means inside of a module.
    fn member(&self, module: usize, name: &str, steps: usize) -> Vec<Found> {
        let content = &self.modules[module];
        match name {
            "self" => return vec![Found::new(End::Module(module))],
            "super" => {
                let parent = content.parent.map(|parent| Found::new(End::Module(parent)));
                return parent.into_iter().collect();
            }
            _ => {}
        }
        let mut found = Vec::new();
        if let Some(child) = content.children.get(name) {
            found.push(Found::new(End::Module(*child)));
        }
        if content.defined.contains(name) {
            found.push(Found::new(End::Item(module)));
        }
        if let Some(definer) = content.macros.get(name) {
            found.push(Found::new(End::Item(*definer)));
        }
        if steps == 0 {
            return found;
        }
        for path in content.bindings.get(name).into_iter().flatten() {
            found.extend(self.resolve(module, path, steps - 1));
        }
        if found.is_empty() {
            found = self.in_globs(module, name, steps);
        }
        found
    }

    /// Returns what a name means of those that a module imports by globs.
    fn in_globs(&self, module: usize, name: &str, steps: usize) -> Vec<Found> {
        let mut found = Vec::new();
        for glob in &self.modules[module].globs {
            for all in self.resolve(module, glob, steps - 1) {
                if let End::Module(inner) = all.end {
                    let mut through = all.through;
                    through.push(inner);
                    let names = self.member(inner, name, steps - 1);
                    found.extend(names.into_iter().map(|it| it.after(through.clone())));
                }
            }
        }
        found
    }

    /// Returns the crate that a module knows by a name.
    fn in_prelude(&self, from: usize, name: &str) -> Vec<Found> {
        let package = &self.packages[self.modules[from].package];
        let outside = |name: &str| End::Outside(vec![name.to_owned()]);
        let end = if let Some(dependency) = package.dependency(name) {
            let library = self.library(&dependency.name);
            library.map_or_else(|| outside(&dependency.name.replace('-', "_")), End::Module)
        } else if let Some(own) = self.library(&package.name)
            && self.modules[own].path[0] == name
        {
            // A program names the library of its package.
            End::Module(own)
        } else if STANDARD.contains(&name) {
            outside("std")
        } else {
            return Vec::new();
        };
        vec![Found::new(end)]
    }

    /// Returns the root module of the library of a package.
    pub(super) fn library(&self, package: &str) -> Option<usize> {
        let package = (self.packages.iter()).find(|other| other.name == package)?;
        let library = package.targets.iter().find(|target| target.is_library)?;
        self.libraries.get(&library.name).copied()
    }
}
