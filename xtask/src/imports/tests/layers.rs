//! Tests of the paths that code in some folders must not name.

use super::super::layers::{LAYERS, Layer, check, check_table};
use super::{broken, workspace};

/// Checks a file of `env` with a module `shared` next to it.
fn in_env(text: &str) -> Vec<String> {
    let files = [
        ("env/src/lib.rs", "mod a;\nmod shared;\nmod time;\n"),
        ("env/src/a.rs", text),
        (
            "env/src/time.rs",
            "pub struct Instant;\npub mod env { pub struct X; }\n",
        ),
        (
            "env/src/shared.rs",
            "pub use std as outside;\npub use std::collections::BTreeMap;\n",
        ),
    ];
    broken(&[("sentinel-env", "env", &[])], &files, |all, imports| {
        check(all, imports, &LAYERS)
    })
}

#[test]
fn outside_of_env_is_found_by_any_path() {
    for text in [
        "use std::time::Instant;",
        "use std::{time::Instant};",
        "use std::{fmt, collections::{BTreeMap, HashMap}};",
        "use core::time::Duration;",
        "use ::std::fs;",
        "use std as s; fn f() { s::time::Instant::now(); }",
        "use std::{self as s}; fn f() { s::thread::spawn(f); }",
        "use std::collections as c; type T = c::HashSet<u8>;",
        "use std::collections::*;",
        "use std::*;",
        "use crate::shared::outside; fn f() { outside::env::args(); }",
        "use super::shared::outside::process;",
        "fn f() { use super::shared::outside as o; o::net::lookup(); }",
        "fn f() { use std::{time::{Instant}}; }",
        "fn f(a: ::std::time::Instant) {}",
        "extern crate std as other; use other::fs::File;",
        "macro_rules! m { () => { std::time::Instant::now() }; }",
        "#[serde(with = \"std::time\")] struct A;",
        "fn f() -> u8 { <std::collections::HashMap<u8, u8>>::new() }",
        "thread_local! { static A: u8 = 1; }",
        "fn f() { std::thread_local! { static A: u8 = 1; } }",
        "static mut A: u8 = 1;",
    ] {
        let found = in_env(&format!("//! D.\n{text}\n"));
        assert!(!found.is_empty(), "{text}");
        for line in found {
            assert!(line.starts_with("env/src/a.rs:2: `"), "{line}");
            assert!(line.ends_with("but env knows no outside"), "{line}");
        }
    }
}

#[test]
fn clean_code_of_env_has_no_findings() {
    for text in [
        "// std::time::Instant",
        "/// `std::time::Instant` is not used.\nfn f() {}",
        "use std::{collections::BTreeMap, fmt};",
        "use crate::shared::BTreeMap;",
        "use crate::time::Instant; use super::time as t; fn f(a: t::env::X) {}",
        "const A: &str = env!(\"A\");",
        "static A: &str = \"std::time::Instant\";",
        "fn f(time: u8) -> bool { time != 1 && !(time == 2) }",
        "#[cfg(test)]\nmod tests { use std::time::Instant; }",
        "#[cfg(test)]\nuse std::{time::Instant};\nfn f() {}",
        "struct A { #[cfg(test)] at: std::time::Instant, b: u8 }",
    ] {
        assert_eq!(in_env(text), Vec::<String>::new(), "{text}");
    }
    let files = [("policy/src/lib.rs", "use std::time::Instant;\n")];
    let packages = [("sentinel-policy", "policy", [].as_slice())];
    let found = broken(&packages, &files, |all, imports| {
        check(all, imports, &LAYERS)
    });
    assert_eq!(found, Vec::<String>::new());
}

/// Layers inside of a crate, and crates that a folder must not know.
const IN_CRATE: [Layer; 2] = [
    Layer {
        folders: &["trainer/src/corpus/", "trainer/src/rl/"],
        forbidden: &["burn", "tokenizers", "crate::lm"],
        because: "this needs no tensor",
    },
    Layer {
        folders: &["trainer/src/lm/"],
        forbidden: &["sentinel_env", "crate::rl"],
        because: "the library knows no environment and no algorithm",
    },
];

/// Checks a file of a trainer that has a module for each layer.
fn in_trainer(file: &str, text: &str) -> Vec<String> {
    let packages: [(&str, &str, &[&str]); 2] = [
        ("sentinel-env", "env", &[]),
        (
            "sentinel-trainer",
            "trainer",
            &["sentinel-env", "burn as b", "tokenizers"],
        ),
    ];
    let mut files = vec![
        ("env/src/lib.rs", "pub struct Task;\n"),
        (
            "trainer/src/lib.rs",
            "mod corpus;\nmod facade;\nmod lm;\nmod rl;\npub use rl::Metrics;\n",
        ),
        ("trainer/src/corpus/mod.rs", "//! D.\n"),
        (
            "trainer/src/facade.rs",
            "pub use crate::rl::Metrics as Numbers;\npub use b::tensor;\npub use sentinel_env as worlds;\n",
        ),
        ("trainer/src/lm/mod.rs", "pub struct CausalLm;\n"),
        ("trainer/src/rl/mod.rs", "pub struct Metrics;\n"),
    ];
    files.retain(|(name, _)| *name != file);
    files.push((file, text));
    broken(&packages, &files, |all, imports| {
        check(all, imports, &IN_CRATE)
    })
}

#[test]
fn algorithms_in_the_language_model_library_are_found() {
    let file = "trainer/src/lm/mod.rs";
    for text in [
        "use crate::rl::Metrics;",
        "use crate::{rl};",
        "use crate::{rl as numbers};",
        "use crate::Metrics;",
        "pub use crate::rl::Metrics;",
        "use super::rl::*;",
        "use crate::facade::Numbers;",
        "use crate::facade; fn f(a: facade::Numbers) {}",
        "mod inner { use super::super::rl::Metrics; }",
        "use sentinel_env::Task;",
        "use crate::facade::worlds::Task;",
    ] {
        let found = in_trainer(file, text);
        assert!(!found.is_empty(), "{text}");
        let place = "trainer/src/lm/mod.rs:1: ";
        assert!(
            found.iter().all(|line| line.starts_with(place)),
            "{found:?}"
        );
    }
    let clean = "use crate::facade::tensor; use b::Tensor; use self::inner::A;\nmod inner { pub struct A; }\n";
    assert_eq!(in_trainer(file, clean), Vec::<String>::new());
}

#[test]
fn tensor_library_in_free_module_is_found() {
    let file = "trainer/src/corpus/mod.rs";
    for text in [
        "use b::Tensor;",
        "use ::b::Tensor;",
        "use {b as c};",
        "use crate::facade::tensor::Shape;",
        "use crate::lm::CausalLm;",
        "use tokenizers::*;",
    ] {
        assert_eq!(in_trainer(file, text).len(), 1, "{text}");
    }
    let clean = "use crate::rl::Metrics; use sentinel_env::Task;\n#[cfg(test)]\nuse b::Tensor;\n";
    assert_eq!(in_trainer(file, clean), Vec::<String>::new());
}

#[test]
fn rows_of_folders_that_are_gone_are_found() {
    let files = [
        ("trainer/src/lib.rs", "mod lm;\n"),
        ("trainer/src/lm.rs", "mod model;\n"),
        ("trainer/src/lm/model.rs", "\n"),
    ];
    let all = workspace(&[("sentinel-trainer", "trainer", &[])], &files);
    let found = check_table(&all, &IN_CRATE);
    let has = |name: &str| {
        found
            .iter()
            .any(|line| line.contains(&format!("no `{name}`")))
    };
    assert!(
        has("trainer/src/corpus/") && has("trainer/src/rl/"),
        "{found:?}"
    );
    assert!(
        has("sentinel_trainer::rl") && !has("trainer/src/lm/"),
        "{found:?}"
    );
}
