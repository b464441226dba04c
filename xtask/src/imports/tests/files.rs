//! Tests of circles between files, and of how the files of a crate are found.

use super::super::circles;
use super::{broken, workspace};

/// Checks a crate with the files `lib.rs`, `a.rs`, `b.rs` and `c.rs`.
fn found(a: &str, b: &str, c: &str) -> Vec<String> {
    let files = [
        (
            "one/src/lib.rs",
            "pub mod a;\npub mod b;\npub mod c;\npub use a::A;\npub use b::B;\n",
        ),
        ("one/src/a.rs", a),
        ("one/src/b.rs", b),
        ("one/src/c.rs", c),
    ];
    broken(&[("one", "one", &[])], &files, circles::check)
}

#[test]
fn circles_are_found_by_any_path() {
    let b = "//! D.\nuse crate::a::A;\npub struct B(A);\n";
    for text in [
        "use crate::b::B;",
        "use crate::{b::{B as Other}};",
        "use crate::B;",
        "use super::B;",
        "use crate as root; fn f(b: root::b::B) {}",
        "use super::b; fn f(b: b::B) {}",
        "use super::b::*; fn f(b: B) {}",
        "fn f() { use crate::{b}; b::B::new(); }",
        "fn f() { crate::b::B::new(); }",
        "mod inner { use super::super::B; }",
        "impl Into<super::B> for A {}",
        "#[serde(with = \"crate::b::B\")] struct Field;",
    ] {
        let found = found(
            &format!("pub struct A;\n{text}\n"),
            b,
            "use crate::{A, B};\n",
        );
        let expected = [
            "one/src/a.rs:2: imports from one/src/b.rs, which leads back here (a circle of 2 files)",
            "one/src/b.rs:2: imports from one/src/a.rs, which leads back here (a circle of 2 files)",
        ];
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn circle_of_three_files_is_found() {
    let found = found(
        "use crate::B;\npub struct A(B);\n",
        "use crate::c::C;\npub struct B(C);\n",
        "pub struct C;\nfn f() { crate::a::A::new(); }\n",
    );
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[2].starts_with("one/src/c.rs:2: imports from one/src/a.rs"),
        "{found:?}"
    );
}

#[test]
fn files_without_circles_have_no_findings() {
    let b = "use super::a::A;\npub struct B(A);\n";
    let c = "use crate::{A, b::*};\npub struct C(A, B);\n";
    for a in [
        "pub struct A;\n",
        "pub struct A;\npub use crate::b::B;\n",
        "pub struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; }\n",
        "pub struct A;\n// use crate::b::B;\n",
        "use crate::b; pub struct A { b: u8 }\n",
    ] {
        assert_eq!(found(a, b, c), Vec::<String>::new(), "{a}");
    }
}

#[test]
fn files_are_found_along_declarations() {
    let files = [
        (
            "one/src/lib.rs",
            "mod a;\nmod inline { mod b; }\n#[path = \"other/d.rs\"]\nmod c;\n#[cfg(test)]\nmod tests;\nmacro_rules! m { () => { mod no; } }\n",
        ),
        ("one/src/a/mod.rs", "mod e;\n"),
        ("one/src/a/e.rs", "use crate::inline::X;\n"),
        ("one/src/inline/b.rs", "\n"),
        ("one/src/other/d.rs", "mod f;\n"),
        ("one/src/other/f.rs", "#![cfg(test)]\nuse std::fs;\n"),
        ("one/src/main.rs", "mod a;\nuse one::a::X;\n"),
    ];
    let all = workspace(&[("one", "one", &[])], &files);
    assert_eq!(all.broken, Vec::<String>::new());
    let paths: Vec<String> = all
        .modules
        .iter()
        .map(|module| module.path.join("::"))
        .collect();
    let expected = [
        "one",
        "one::a",
        "one::a::e",
        "one::inline",
        "one::inline::b",
        "one::c",
        "one::c::f",
        "one_program",
        "one_program::a",
        "one_program::a::e",
    ];
    assert_eq!(paths, expected);
    assert_eq!(all.modules[6].imports.len(), 0);
}

#[test]
fn missing_files_and_unreadable_ones_are_found() {
    let files = [
        ("one/src/lib.rs", "mod a;\n\nmod b;\n"),
        ("one/src/a.rs", "fn f() {\n    \"text\n"),
    ];
    let found = workspace(&[("one", "one", &[])], &files).broken;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("one/src/a.rs:"), "{found:?}");
    assert_eq!(found[1], "one/src/lib.rs:3: the module `b` has no file");
}
