//! Tests of the rules for worlds.

use super::super::workspace::{Package, Target, Workspace};
use super::super::{circles, worlds};
use super::broken;
use std::path::Path;

/// Checks the worlds `moon` and `sun`, in `env` and `policy`, with one file replaced by `text`.
fn found(file: &str, text: &str) -> Vec<String> {
    let mut files = vec![
        (
            "env/src/lib.rs",
            "pub mod moon;\npub mod sun;\npub mod shared;\n",
        ),
        ("env/src/shared.rs", "pub struct Rules;\n"),
        (
            "env/src/moon/mod.rs",
            "pub mod model;\nmod episode;\nmod world_impl;\npub use episode::Episode;\npub use model::Moon;\n",
        ),
        ("env/src/moon/model.rs", "pub struct Moon;\n"),
        (
            "env/src/moon/episode.rs",
            "use super::model::Moon;\nuse crate::shared::Rules;\npub struct Episode(Moon, Rules);\n",
        ),
        ("env/src/moon/world_impl.rs", "use super::Episode;\n"),
        (
            "env/src/sun/mod.rs",
            "pub mod model;\nmod world_impl;\npub use model::Sun;\n",
        ),
        ("env/src/sun/model.rs", "pub struct Sun;\n"),
        ("env/src/sun/world_impl.rs", "\n"),
        (
            "policy/src/lib.rs",
            "pub mod moon;\npub mod nn;\npub mod sun;\n",
        ),
        ("policy/src/nn.rs", "pub struct Net;\n"),
        (
            "policy/src/moon/mod.rs",
            "pub mod learned;\npub mod planner;\n",
        ),
        (
            "policy/src/moon/learned.rs",
            "use super::planner::Plan;\nuse crate::nn::Net;\npub struct Trained;\n",
        ),
        (
            "policy/src/moon/planner.rs",
            "use sentinel_env::moon::{Episode, Moon};\npub struct Plan;\n",
        ),
        ("policy/src/sun.rs", "pub struct Heuristic;\n"),
    ];
    if !file.is_empty() {
        let place = files.iter().position(|(name, _)| *name == file);
        files.remove(place.expect("a file of the list"));
        files.push((file, text));
    }
    let packages: [(&str, &str, &[&str]); 2] = [
        ("sentinel-env", "env", &[]),
        ("sentinel-policy", "policy", &["sentinel-env"]),
    ];
    broken(&packages, &files, worlds::check)
}

#[test]
fn worlds_in_order_have_no_findings() {
    assert_eq!(found("", ""), Vec::<String>::new());
}

#[test]
fn imports_against_the_order_of_modules_are_found() {
    let episode = "`episode`, which comes after `model`";
    for text in [
        "use super::episode::Episode;",
        "use super::Episode;",
        "pub use super::Episode;",
        "use crate::moon::{self as m}; fn f(a: m::Episode) {}",
        "use crate::{moon::{Episode as E}};",
        "fn f() { use super::*; Episode; }",
        "fn f() -> u8 { super::episode::Episode::new() }",
    ] {
        let found = found(
            "env/src/moon/model.rs",
            &format!("//! D.\npub struct Moon;\n{text}\n"),
        );
        assert!(
            found.iter().any(|line| line.contains(episode)),
            "{text}: {found:?}"
        );
        assert!(
            found[0].starts_with("env/src/moon/model.rs:3: `"),
            "{found:?}"
        );
    }
    let text = "pub struct Plan;\nuse super::learned::Trained;\n";
    let found = found("policy/src/moon/planner.rs", text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("policy/src/moon/planner.rs:2: "),
        "{found:?}"
    );
}

#[test]
fn a_world_that_knows_another_is_found() {
    for (file, text) in [
        (
            "env/src/moon/model.rs",
            "pub struct Moon;\nuse crate::sun::Sun;\n",
        ),
        (
            "env/src/moon/model.rs",
            "pub struct Moon;\nuse super::super::{sun as other};\n",
        ),
        (
            "policy/src/moon/planner.rs",
            "pub struct Plan;\nuse crate::sun::Heuristic;\n",
        ),
        (
            "policy/src/moon/planner.rs",
            "pub struct Plan;\nuse sentinel_env::{sun::model::*};\n",
        ),
        (
            "policy/src/sun.rs",
            "use sentinel_env as e;\nfn f(a: e::moon::Moon) {}\n",
        ),
    ] {
        let found = found(file, text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].starts_with(&format!("{file}:2: ")), "{found:?}");
        assert!(found[0].ends_with("must not know"), "{found:?}");
    }
}

#[test]
fn shared_code_that_knows_a_world_is_found() {
    for (file, text) in [
        (
            "env/src/shared.rs",
            "pub struct Rules;\nuse crate::{moon::Episode};\n",
        ),
        (
            "env/src/shared.rs",
            "pub struct Rules;\npub use super::sun;\n",
        ),
        (
            "policy/src/nn.rs",
            "pub struct Net;\nuse sentinel_env::sun::Sun;\n",
        ),
        (
            "policy/src/nn.rs",
            "pub struct Net;\nuse crate::moon as m;\n",
        ),
    ] {
        let found = found(file, text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].starts_with(&format!("{file}:2: ")), "{found:?}");
        assert!(found[0].contains("code outside of the worlds"), "{found:?}");
    }
}

#[test]
fn modules_without_a_place_and_missing_worlds_are_found() {
    let files = [
        ("env/src/lib.rs", "mod moon;\n"),
        ("env/src/moon.rs", "mod tides;\nmod world_impl;\n"),
        ("env/src/moon/tides.rs", "\n"),
        ("env/src/moon/world_impl.rs", "\n"),
    ];
    let packages = [("sentinel-env", "env", [].as_slice())];
    let found = broken(&packages, &files, worlds::check);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("env/src/moon/tides.rs: `tides`"),
        "{found:?}"
    );
    let empty = broken(&packages, &[("env/src/lib.rs", "\n")], worlds::check);
    assert!(
        empty[0].starts_with("env/src/lib.rs: no module"),
        "{empty:?}"
    );
}

/// The rules would pass if imports of the real crate were not resolved.
#[test]
fn protocol_of_every_world_imports_its_model() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a folder");
    let package = Package {
        name: "sentinel-env".to_owned(),
        targets: vec![Target {
            name: "sentinel_env".to_owned(),
            is_library: true,
            file: "env/src/lib.rs".into(),
        }],
        ..Package::default()
    };
    let read = |file: &Path| std::fs::read_to_string(root.join(file)).ok();
    let env = Workspace::load(vec![package], &read);
    assert_eq!(env.broken, Vec::<String>::new());
    let imports = env.resolve_all();
    let edges = circles::edges(&env, &imports, 0);
    for world in ["trust", "cluster", "polyguard"] {
        let (protocol, model) = (
            format!("env/src/{world}/protocol/"),
            format!("env/src/{world}/model/"),
        );
        let uses = edges.iter().any(|(from, to)| {
            from.starts_with(&protocol) && to.keys().any(|to| to.starts_with(&model))
        });
        assert!(uses, "{world}: the protocol uses the model");
    }
}
