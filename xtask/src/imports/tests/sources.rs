//! Tests of the reader of files, also against a complete parser.

use super::super::source::{Kind, Source};
use quote::ToTokens;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use syn::{Attribute, Ident, Item, UseTree};

fn parse(text: &str) -> Source {
    let source = Source::parse(text).expect("tokens of Rust");
    source.expect("code that is not for tests")
}

fn imports(text: &str) -> Vec<String> {
    let source = parse(text);
    let all = source.imports.iter();
    all.map(|(import, line)| format!("{} {line}", import.names.join("::")))
        .collect()
}

#[test]
fn every_kind_of_item_is_defined() {
    let text = "pub const fn a() {}\npub(crate) static mut B: u8 = 1;\nconst C: u8 = { 1 };\nstruct D<const N: usize>;\n\
        unsafe extern \"C\" fn e() {}\nmacro_rules! f { () => { fn no() {} }; }\nunion G {}\ntrait H { fn no(); }\n\
        type I = u8;\nenum r#J { No }\nnamed! { enum K { No } }\nextern crate std as l;\nuse a as m;\n";
    let source = parse(text);
    for name in ["a", "B", "C", "D", "e", "f", "G", "H", "I", "J", "K"] {
        assert!(
            source.defined.contains(name),
            "{name}: {:?}",
            source.defined
        );
    }
    assert!(!source.defined.contains("no") && !source.defined.contains("fn"));
    let bound: Vec<&String> = source.bindings.keys().collect();
    assert_eq!(bound, ["l", "m"]);
}

#[test]
fn imports_have_their_kind_and_line() {
    let text = "use a::{b, c::{self, d as e}};\npub use f::*;\n\nfn g() -> impl H + use<'a> { i!(j::k); l::<m::n>::o(); }\n";
    let source = parse(text);
    let kind = |names: &str| {
        let mut all = source.imports.iter();
        let found = all.find(|(import, _)| import.names.join("::") == names);
        found.map(|(import, line)| (import.kind, *line))
    };
    for (names, expected) in [
        ("a::b", Some((Kind::Own, 1))),
        ("a::c", Some((Kind::Own, 1))),
        ("a::c::d", Some((Kind::Own, 1))),
        ("f", Some((Kind::GlobPassedOn, 2))),
        ("i", Some((Kind::Macro, 4))),
        ("j::k", Some((Kind::Own, 4))),
        ("m::n", Some((Kind::Own, 4))),
        ("l::m", None),
    ] {
        assert_eq!(kind(names), expected, "{names}");
    }
    assert_eq!(source.bindings["e"], [["a", "c", "d"]]);
}

#[test]
fn declarations_of_a_block_hold_inside_of_it() {
    let text = "fn f() {\n    a::b();\n    use c::d as a;\n}\nfn g() {\n    a::b();\n}\n";
    assert_eq!(imports(text), ["a::b 6", "c::d 3", "c::d::b 2"]);
}

#[test]
fn code_for_tests_is_left_out() {
    for text in [
        "#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests;\nmod a {}",
        "#[cfg(all(test, unix))]\nmod tests { use b::c; }\nmod a {}",
        "#[path = \"x.rs\"]\n#[cfg(test)]\nmod tests;\nmod a {}",
        "impl B {\n    #[cfg(test)]\n    fn c() { d::e(); }\n}\nmod a {}",
        "#[test]\nfn c() { d::e(); }\nmod a {}",
    ] {
        let source = parse(text);
        assert_eq!(source.imports.len(), 0, "{text}");
        let children = source.children.iter();
        let children: Vec<_> = children.map(|child| (&*child.name, &child.path)).collect();
        assert_eq!(children, [("a", &None)], "{text}");
    }
    assert!(Source::parse("#![cfg(test)]\nuse b::c;").is_ok_and(|it| it.is_none()));
}

fn is_test(attributes: &[Attribute]) -> bool {
    let text = |attribute: &Attribute| attribute.meta.to_token_stream().to_string();
    let mut all = attributes.iter().map(text);
    all.any(|text| {
        let text = text.replace(' ', "");
        text == "test" || text.starts_with("cfg(test") || text.starts_with("cfg(all(test")
    })
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

fn bound_names(tree: &UseTree, above: &str, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => bound_names(&path.tree, &path.ident.to_string(), names),
        UseTree::Group(group) => {
            for tree in &group.items {
                bound_names(tree, above, names);
            }
        }
        UseTree::Glob(_) => {}
        UseTree::Name(name) if name.ident == "self" => {
            names.insert(above.to_owned());
        }
        UseTree::Name(name) => {
            names.insert(name.ident.to_string());
        }
        UseTree::Rename(name) => {
            names.insert(name.rename.to_string());
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn names_are_those_that_a_complete_parser_finds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a folder");
    let mut files = Vec::new();
    for name in ["env", "server", "xtask"] {
        collect(&root.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 200, "{} files", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a text");
        let Some(source) = Source::parse(&text).expect("tokens of Rust") else {
            continue;
        };
        let (mut defined, mut bound) = (BTreeSet::new(), BTreeSet::new());
        let parsed = syn::parse_file(&text).expect("a file of Rust");
        let has_calls = (parsed.items.iter())
            .any(|item| matches!(item, Item::Macro(call) if call.ident.is_none()));
        for item in parsed.items {
            let (attributes, name) = head(&item);
            if is_test(attributes) {
                continue;
            }
            defined.extend(name.map(ToString::to_string));
            if let Item::Use(it) = &item {
                bound_names(&it.tree, "", &mut bound);
            }
        }
        let found: BTreeSet<String> = source.bindings.keys().cloned().collect();
        let file = file.display();
        assert!(defined.is_subset(&source.defined), "{file}: {defined:?}");
        if !has_calls {
            assert_eq!(found, bound, "{file}");
        }
    }
}
