//! Rules of imports inside crates: no circle between files, and one order of modules in every world.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::{Attribute, Item, UseTree, Visibility};

/// The crates whose files import each other without circles.
const CRATES: [&str; 2] = ["env", "server"];
/// The modules of a world, each of which may use those before it.
const ORDER: [&str; 6] = [
    "model",
    "dynamics",
    "reward",
    "episode",
    "protocol",
    "world_impl",
];

/// A path of names, such as that of a module below its crate.
type Names = Vec<String>;

/// A module: a file, or a block inside of one.
#[derive(Default)]
struct Module {
    file: String,
    /// The names that items of the module define.
    defined: BTreeSet<String>,
    /// The names that `use` declares, with what they stand for.
    uses: BTreeMap<String, Names>,
    /// The modules of which all names are imported.
    globs: Vec<Names>,
    /// Every path in the code.
    paths: Vec<Names>,
}

/// The modules of a crate.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<Names, Module>,
    /// The macros that are exported at the root, with the module that defines them.
    macros: BTreeMap<String, Names>,
}

/// The module or item that a path leads to.
enum Target {
    Module(Names),
    /// An item of this module.
    Item(Names),
}

fn is_test(attributes: &[Attribute]) -> bool {
    let text = |attribute: &Attribute| attribute.meta.to_token_stream().to_string();
    attributes
        .iter()
        .any(|attribute| matches!(&*text(attribute), "cfg (test)" | "test"))
}

/// Returns the attributes of an item, and the name that it defines.
fn head(item: &Item) -> (&[Attribute], Option<&Ident>) {
    match item {
        Item::Const(it) => (&it.attrs, Some(&it.ident)),
        Item::Enum(it) => (&it.attrs, Some(&it.ident)),
        Item::Fn(it) => (&it.attrs, Some(&it.sig.ident)),
        Item::Impl(it) => (&it.attrs, None),
        Item::Macro(it) => (&it.attrs, it.ident.as_ref()),
        Item::Mod(it) => (&it.attrs, None),
        Item::Static(it) => (&it.attrs, Some(&it.ident)),
        Item::Struct(it) => (&it.attrs, Some(&it.ident)),
        Item::Trait(it) => (&it.attrs, Some(&it.ident)),
        Item::Type(it) => (&it.attrs, Some(&it.ident)),
        Item::Use(it) => (&it.attrs, None),
        _ => (&[], None),
    }
}

impl Crate {
    /// Parses the files of a crate; names are relative to its folder `src`.
    fn parse<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut found = Self::default();
        for (name, text) in files {
            let mut path: Names = name
                .trim_end_matches(".rs")
                .split('/')
                .map(str::to_owned)
                .collect();
            if matches!(&**path.last().unwrap(), "mod" | "lib") {
                path.pop();
            }
            let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            found.add(name, path, parsed.items);
        }
        found
    }

    fn add(&mut self, file: &str, path: Names, items: Vec<Item>) {
        let mut module = Module {
            file: file.to_owned(),
            ..Module::default()
        };
        for item in items {
            let (attributes, name) = head(&item);
            if is_test(attributes) {
                continue;
            }
            let exported = |attribute: &Attribute| attribute.path().is_ident("macro_export");
            if let Some(name) = name {
                module.defined.insert(name.to_string());
                if attributes.iter().any(exported) {
                    self.macros.insert(name.to_string(), path.clone());
                }
            }
            match item {
                Item::Mod(inner) => {
                    if let Some((_, items)) = inner.content {
                        let mut path = path.clone();
                        path.push(inner.ident.to_string());
                        self.add(file, path, items);
                    }
                }
                Item::Use(it) => {
                    // What a module only passes on is no import of its own.
                    let own = matches!(it.vis, Visibility::Inherited);
                    module.add_use(&it.tree, &mut Vec::new(), own);
                }
                other => scan(other.to_token_stream(), &mut module.paths),
            }
        }
        self.modules.insert(path, module);
    }

    /// Returns what a name means in a module; `None` for names of other crates.
    fn look_up(&self, at: &Names, name: &str, depth: usize) -> Option<Target> {
        let module = self.modules.get(at)?;
        let mut below = at.clone();
        below.push(name.to_owned());
        if self.modules.contains_key(&below) {
            return Some(Target::Module(below));
        }
        if module.defined.contains(name) {
            return Some(Target::Item(at.clone()));
        }
        if depth == 0 {
            return None;
        }
        if let Some(path) = module.uses.get(name) {
            return self.resolve(at, path, depth - 1);
        }
        if let Some(definer) = self.macros.get(name).filter(|_| at.is_empty()) {
            return Some(Target::Item(definer.clone()));
        }
        module
            .globs
            .iter()
            .find_map(|glob| match self.resolve(at, glob, depth - 1)? {
                Target::Module(all) => self.look_up(&all, name, depth - 1),
                Target::Item(_) => None,
            })
    }

    /// Returns what a path means in a module; `None` for paths of other crates.
    fn resolve(&self, from: &Names, path: &[String], depth: usize) -> Option<Target> {
        let mut at = Target::Module(from.clone());
        for (index, name) in path.iter().enumerate() {
            let Target::Module(module) = at else {
                // A variant, a constant or a function of a type.
                return Some(at);
            };
            at = match &**name {
                "crate" => Target::Module(Vec::new()),
                "self" => Target::Module(module),
                "super" => Target::Module(module[..module.len().checked_sub(1)?].to_vec()),
                name => match self.look_up(&module, name, depth) {
                    Some(found) => found,
                    None if index == 0 => return None,
                    // A macro defines it.
                    None => Target::Item(module),
                },
            };
        }
        Some(at)
    }

    /// Returns the files that each file imports from.
    fn edges(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (path, module) in &self.modules {
            let all = edges.entry(&module.file).or_default();
            for used in &module.paths {
                if let Some(Target::Item(definer)) = self.resolve(path, used, 8) {
                    let file = &*self.modules[&definer].file;
                    if file != module.file {
                        all.insert(file);
                    }
                }
            }
        }
        edges
    }
}

impl Module {
    fn add_use(&mut self, tree: &UseTree, prefix: &mut Names, own: bool) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add_use(&path.tree, prefix, own);
                prefix.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use(tree, prefix, own);
                }
            }
            UseTree::Glob(_) => self.globs.push(prefix.clone()),
            UseTree::Name(name) => self.bind(&name.ident, name.ident.to_string(), prefix, own),
            UseTree::Rename(as_) => self.bind(&as_.ident, as_.rename.to_string(), prefix, own),
        }
    }

    fn bind(&mut self, ident: &Ident, name: String, prefix: &Names, own: bool) {
        let mut path = prefix.clone();
        if ident != "self" {
            path.push(ident.to_string());
        }
        let name = match &*name {
            "self" => prefix.last().cloned().unwrap_or_default(),
            _ => name,
        };
        if own {
            self.paths.push(path.clone());
        }
        self.uses.insert(name, path);
    }
}

/// Adds every path of two names or more in a text of tokens.
fn scan(tokens: TokenStream, paths: &mut Vec<Names>) {
    let mut path = Names::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    flush(&mut path, paths);
                }
                path.push(ident.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Group(group) => {
                flush(&mut path, paths);
                colons = 0;
                scan(group.stream(), paths);
            }
            _ => {
                flush(&mut path, paths);
                colons = 0;
            }
        }
    }
    flush(&mut path, paths);
}

fn flush(path: &mut Names, paths: &mut Vec<Names>) {
    let found = std::mem::take(path);
    if found.len() > 1 {
        paths.push(found);
    }
}

/// Returns the imports that are part of a circle, or lead from one circle to another.
fn circles(mut edges: BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    loop {
        let before: usize = edges.values().map(BTreeSet::len).sum();
        let sources: BTreeSet<&str> = (edges.iter())
            .filter(|(_, to)| !to.is_empty())
            .map(|(from, _)| *from)
            .collect();
        let targets: BTreeSet<&str> = edges.values().flatten().copied().collect();
        edges.retain(|from, _| targets.contains(from));
        for to in edges.values_mut() {
            to.retain(|file| sources.contains(file));
        }
        if edges.values().map(BTreeSet::len).sum::<usize>() == before {
            break;
        }
    }
    let lines = edges
        .iter()
        .flat_map(|(from, to)| to.iter().map(move |to| format!("{from} -> {to}")));
    lines.collect()
}

/// Returns the imports of a world's modules that go against [`ORDER`].
fn against_order(edges: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    let place = |file: &str| -> Option<(String, usize)> {
        let (world, rest) = file.split_once('/')?;
        let module = rest.split('/').next()?.trim_end_matches(".rs");
        let rank = ORDER.iter().position(|name| *name == module)?;
        Some((world.to_owned(), rank))
    };
    let mut broken = Vec::new();
    for (from, to) in edges {
        for to in to {
            if let (Some(one), Some(other)) = (place(from), place(to))
                && one.0 == other.0
                && one.1 < other.1
            {
                broken.push(format!("{from} -> {to}"));
            }
        }
    }
    broken
}

fn read(folder: &Path, below: &Path, files: &mut Vec<(String, String)>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .strip_prefix(below)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        if path.is_dir() {
            // Tests may use what they test.
            if !path.ends_with("tests") {
                read(&path, below, files);
            }
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            files.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

fn read_crate(name: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let source = root.join(name).join("src");
    let mut files = Vec::new();
    read(&source, &source, &mut files);
    files
}

fn parse(files: &[(String, String)]) -> Crate {
    Crate::parse(files.iter().map(|(name, text)| (&**name, &**text)))
}

#[test]
fn files_import_without_circles() {
    for name in CRATES {
        let parsed = parse(&read_crate(name));
        let edges = parsed.edges();
        let count: usize = edges.values().map(BTreeSet::len).sum();
        assert!(
            count > edges.len(),
            "{name}: {count} imports of {} files",
            edges.len()
        );
        let found = circles(edges);
        assert!(found.is_empty(), "circles in {name}:\n{}", found.join("\n"));
    }
}

#[test]
fn modules_of_every_world_keep_their_order() {
    let parsed = parse(&read_crate("env"));
    let edges = parsed.edges();
    for world in ["trust", "cluster", "polyguard"] {
        let protocol = format!("{world}/protocol/");
        let model = format!("{world}/model/");
        let uses = edges.iter().any(|(from, to)| {
            from.starts_with(&protocol) && to.iter().any(|to| to.starts_with(&model))
        });
        assert!(uses, "{world}: the protocol uses the model");
    }
    let found = against_order(&edges);
    assert!(
        found.is_empty(),
        "against the order {ORDER:?}:\n{}",
        found.join("\n")
    );
}

#[test]
fn circles_and_wrong_order_are_found() {
    let files = [
        ("lib.rs", "pub mod a;\npub mod world;\n"),
        (
            "a.rs",
            "use crate::world::{Episode, model::Size};\npub struct A(Episode, Size);\n",
        ),
        (
            "world/mod.rs",
            "pub mod model;\nmod episode;\npub use episode::Episode;\n",
        ),
        (
            "world/model.rs",
            "pub struct Size;\npub fn later() { let _ = super::Episode::default(); }\n#[cfg(test)]\nmod tests { use crate::a::A; }\n",
        ),
        (
            "world/episode.rs",
            "use super::model;\n#[derive(Default)]\npub struct Episode(Option<model::Size>);\n",
        ),
    ];
    let parsed = Crate::parse(files);
    let edges = parsed.edges();
    assert_eq!(
        against_order(&edges),
        ["world/model.rs -> world/episode.rs"]
    );
    let expected = [
        "world/episode.rs -> world/model.rs",
        "world/model.rs -> world/episode.rs",
    ];
    assert_eq!(circles(edges), expected);
}
