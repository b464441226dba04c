//! The modules of all crates, found as the compiler finds them: from the root of each target along `mod`.

use super::source::{Import, Source};
use super::use_tree::Names;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The kinds of targets that are made of the crate's own code.
const KINDS: [&str; 6] = ["lib", "rlib", "cdylib", "staticlib", "proc-macro", "bin"];

/// A member of the workspace, as `cargo metadata` describes it.
#[derive(Debug, Default)]
pub(super) struct Package {
    pub(super) name: String,
    /// The path of its `Cargo.toml` from the root of the workspace.
    pub(super) manifest: String,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) targets: Vec<Target>,
}

/// A dependency of a package.
#[derive(Debug, Default)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// The name by which code knows it.
    pub(super) code_name: String,
    /// Only the tests of the package need it.
    pub(super) is_for_tests: bool,
}

/// A library or program of a package.
#[derive(Debug, Default)]
pub(super) struct Target {
    /// The name by which code knows it.
    pub(super) name: String,
    pub(super) is_library: bool,
    /// The path of its first file from the root of the workspace.
    pub(super) file: PathBuf,
}

/// A module of some crate.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// The index of its package.
    pub(super) package: usize,
    /// The name of the crate and those of the modules down to this one.
    pub(super) path: Names,
    /// The path of its file from the root of the workspace.
    pub(super) file: String,
    pub(super) parent: Option<usize>,
    pub(super) root: usize,
    pub(super) children: BTreeMap<String, usize>,
    pub(super) defined: BTreeSet<String>,
    pub(super) bindings: BTreeMap<String, Vec<Names>>,
    pub(super) globs: Vec<Names>,
    pub(super) imports: BTreeMap<Import, usize>,
    /// The macros that the crate exports, with the module that defines each; only at its root.
    pub(super) macros: BTreeMap<String, usize>,
}

/// All packages with their modules.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    pub(super) packages: Vec<Package>,
    pub(super) modules: Vec<Module>,
    /// The root modules of the libraries, by the names that code has for them.
    pub(super) libraries: BTreeMap<String, usize>,
    /// Files that cannot be read as Rust, and modules without a file.
    pub(super) broken: Vec<String>,
}

/// Reads a file, given by its path from the root of the workspace; `None` if there is none.
pub(super) type ReadFile<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// The place of a module among the modules and the files.
struct ModuleSite {
    parent: Option<usize>,
    name: String,
    file: PathBuf,
    /// The folder in which files of inner modules are.
    folder: PathBuf,
}

impl Package {
    /// Returns the packages of a workspace from the output of `cargo metadata --no-deps`.
    pub(super) fn all(metadata: &Value) -> Vec<Self> {
        let root = Path::new(metadata["workspace_root"].as_str().unwrap_or_default());
        list(&metadata["packages"])
            .map(|package| Self::from_json(package, root))
            .collect()
    }

    fn from_json(package: &Value, root: &Path) -> Self {
        let below = |path: &Value| {
            let path = Path::new(path.as_str().unwrap_or_default());
            path.strip_prefix(root).unwrap_or(path).to_owned()
        };
        let targets = list(&package["targets"]).filter(|target| {
            let mut kinds = list(&target["kind"]).filter_map(Value::as_str);
            kinds.any(|kind| KINDS.contains(&kind))
        });
        Self {
            name: text(&package["name"]),
            manifest: below(&package["manifest_path"]).display().to_string(),
            dependencies: list(&package["dependencies"])
                .map(|dependency| {
                    let name = text(&dependency["name"]);
                    let code_name = dependency["rename"].as_str().unwrap_or(&name);
                    Dependency {
                        code_name: code_name.replace('-', "_"),
                        is_for_tests: dependency["kind"] == "dev",
                        name,
                    }
                })
                .collect(),
            targets: targets
                .map(|target| Target {
                    name: text(&target["name"]).replace('-', "_"),
                    is_library: !list(&target["kind"]).any(|kind| kind == "bin"),
                    file: below(&target["src_path"]),
                })
                .collect(),
        }
    }

    /// Returns the dependency that code of this package knows by a name.
    pub(super) fn dependency(&self, code_name: &str) -> Option<&Dependency> {
        let mut all = self.dependencies.iter();
        all.find(|dependency| dependency.code_name == code_name)
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Workspace {
    /// Reads the sources of all packages.
    pub(super) fn load(packages: Vec<Package>, read: ReadFile<'_>) -> Self {
        let mut found = Self::default();
        for (index, package) in packages.iter().enumerate() {
            for target in &package.targets {
                let site = ModuleSite {
                    parent: None,
                    name: target.name.clone(),
                    file: target.file.clone(),
                    folder: parent(&target.file),
                };
                let Some(root) = found.add_file(index, site, read) else {
                    let file = target.file.display();
                    found.broken.push(format!("{file}: cannot be read"));
                    continue;
                };
                if target.is_library {
                    found.libraries.insert(target.name.clone(), root);
                }
            }
        }
        found.packages = packages;
        found
    }

    /// Adds the module of a file; `None` if there is no such file.
    fn add_file(&mut self, package: usize, site: ModuleSite, read: ReadFile<'_>) -> Option<usize> {
        let text = read(&site.file)?;
        let source = Source::parse(&text).unwrap_or_else(|(line, error)| {
            let file = site.file.display();
            self.broken.push(format!("{file}:{line}: {error}"));
            None
        });
        Some(self.add(package, site, source.unwrap_or_default(), read))
    }

    fn add(
        &mut self,
        package: usize,
        site: ModuleSite,
        source: Source,
        read: ReadFile<'_>,
    ) -> usize {
        let index = self.modules.len();
        let above = site.parent.map(|parent| &self.modules[parent]);
        let mut path = above.map(|above| above.path.clone()).unwrap_or_default();
        path.push(site.name.clone());
        let root = above.map_or(index, |above| above.root);
        self.modules.push(Module {
            package,
            path,
            file: site.file.display().to_string(),
            parent: site.parent,
            root,
            defined: source.defined,
            bindings: source.bindings,
            globs: source.globs,
            imports: source.imports,
            ..Module::default()
        });
        let macros = source.macros.into_iter().map(|name| (name, index));
        self.modules[root].macros.extend(macros);
        if let Some(parent) = site.parent {
            let children = &mut self.modules[parent].children;
            children.insert(site.name, index);
        }
        for child in source.children {
            let name = child.name;
            let inner = |file: PathBuf, folder: PathBuf| ModuleSite {
                parent: Some(index),
                name: name.clone(),
                file,
                folder,
            };
            let folder = site.folder.join(&name);
            if let Some(source) = child.content {
                self.add(package, inner(site.file.clone(), folder), source, read);
                continue;
            }
            let sites = match child.path {
                Some(path) => {
                    let file = parent(&site.file).join(path);
                    vec![inner(file.clone(), parent(&file))]
                }
                None => vec![
                    inner(folder.with_extension("rs"), folder.clone()),
                    inner(folder.join("mod.rs"), folder.clone()),
                ],
            };
            let mut sites = sites.into_iter();
            if !sites.any(|site| self.add_file(package, site, read).is_some()) {
                let (file, line) = (site.file.display(), child.line);
                (self.broken).push(format!("{file}:{line}: the module `{name}` has no file"));
            }
        }
        index
    }
}

fn parent(file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).to_owned()
}
