//! Tests of the rules between crates.

use super::super::crates::{Confined, RULES, Row, Rules, row};
use super::super::workspace::Package;
use super::{broken, dependency};
use serde_json::json;

const ORDER: [Row; 5] = [
    row("base").only(&[]),
    row("kit").for_tests(),
    row("tensor"),
    row("lm").without(&["rayon", "base"]),
    row("top").only(&["base", "tensor"]).top(),
];
const SMALL: Rules<'static> = Rules {
    order: &ORDER,
    confined: &[Confined {
        crates: &["burn"],
        only: &["tensor"],
    }],
};

/// Checks a workspace in which one crate has these dependencies.
fn found(name: &str, uses: &[&str]) -> Vec<String> {
    let package = |row: &Row| Package {
        name: row.name.to_owned(),
        manifest: format!("{}/Cargo.toml", row.name),
        dependencies: match row.name == name {
            true => uses.iter().map(|name| dependency(name)).collect(),
            false => Vec::new(),
        },
        targets: Vec::new(),
    };
    let workspace = super::super::workspace::Workspace {
        packages: ORDER.iter().map(package).collect(),
        ..Default::default()
    };
    SMALL.check(&workspace, &[])
}

#[test]
fn allowed_dependencies_have_no_findings() {
    for (name, uses) in [
        ("base", ["base", "serde"].as_slice()),
        ("tensor", &["base", "burn", "burn-flex"]),
        ("lm", &["tensor", "burner", "dev kit"]),
        ("kit", &["base"]),
        ("top", &["tensor", "base", "top", "dev kit"]),
    ] {
        assert_eq!(found(name, uses), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn wrong_dependencies_are_found() {
    for (name, used, reason) in [
        ("tensor", "lm", "comes later in `ORDER`"),
        ("tensor", "dev lm", "comes later in `ORDER`"),
        ("tensor", "kit", "only tests may use it"),
        ("base", "dev kit", "comes later in `ORDER`"),
        ("base", "tensor", "may use none of this workspace"),
        ("top", "lm", "may use only base, tensor of this workspace"),
        ("lm", "base", "must not know it"),
        ("lm", "rayon", "must not know it"),
        ("lm", "burn", "only tensor may know it"),
        ("lm", "burn-flex as flex", "only tensor may know it"),
    ] {
        let found = found(name, &[used]);
        assert_eq!(found.len(), 1, "{name} {used}: {found:?}");
        let place = format!("{name}/Cargo.toml: {name} depends on ");
        assert!(
            found[0].starts_with(&place) && found[0].contains(reason),
            "{found:?}"
        );
    }
    let to_top = found("lm", &["top"]);
    assert!(
        to_top
            .iter()
            .any(|line| line.contains("nothing may depend on it")),
        "{to_top:?}"
    );
}

#[test]
fn members_without_row_and_rows_without_member_are_found() {
    let packages = ["base", "kit", "lm", "new", "tensor"].map(|name| (name, name, [].as_slice()));
    let files =
        ["base", "kit", "lm", "new", "tensor"].map(|name| (format!("{name}/src/lib.rs"), ""));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, *text)).collect();
    let found = broken(&packages, &files, |all, imports| SMALL.check(all, imports));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("new/Cargo.toml: `new` is not in the order"),
        "{found:?}"
    );
    assert!(
        found[1].contains("`top` is no crate of the workspace"),
        "{found:?}"
    );
}

#[test]
fn crates_that_others_pass_on_are_found() {
    let packages: [(&str, &str, &[&str]); 5] = [
        ("base", "base", &[]),
        ("kit", "kit", &[]),
        ("tensor", "tensor", &["base", "burn-flex as flex"]),
        ("lm", "lm", &["tensor"]),
        ("top", "top", &[]),
    ];
    let tensor = "pub use flex as library;\npub use base as files;\npub struct Tensor;\n";
    for (text, count) in [
        ("use tensor::Tensor;\n", 0),
        ("use tensor::library::Shape;\n", 1),
        ("use tensor::*;\nfn f(a: library::Shape) {}\n", 1),
        ("use tensor::{files::Error as E};\n", 1),
        ("use tensor as t;\nuse t::files;\n", 1),
    ] {
        let files = [
            ("base/src/lib.rs", "pub struct Error;\n"),
            ("kit/src/lib.rs", ""),
            ("tensor/src/lib.rs", tensor),
            ("lm/src/lib.rs", text),
            ("top/src/lib.rs", ""),
        ];
        let found = broken(&packages, &files, |all, imports| SMALL.check(all, imports));
        assert_eq!(found.len(), count, "{text}: {found:?}");
        assert!(
            found.iter().all(|line| line.starts_with("lm/src/lib.rs:")),
            "{found:?}"
        );
    }
}

#[test]
fn tables_name_crates_of_the_order_before_their_users() {
    for (place, row) in RULES.order.iter().enumerate() {
        for used in row.only.unwrap_or_default() {
            let used_place = RULES.order.iter().position(|row| row.name == *used);
            assert!(
                used_place.is_some_and(|used| used < place),
                "{}: {used}",
                row.name
            );
        }
    }
    for name in RULES.confined.iter().flat_map(|confined| confined.only) {
        assert!(RULES.order.iter().any(|row| row.name == *name), "{name}");
    }
}

#[test]
fn packages_are_read_from_the_output_of_cargo() {
    let metadata = json!({"workspace_root": "/work", "packages": [{
        "name": "sentinel-lm", "manifest_path": "/work/trainer/lm/Cargo.toml",
        "dependencies": [{"name": "burn-flex", "rename": "flex", "kind": "dev"}, {"name": "a-b", "rename": null}],
        "targets": [
            {"name": "sentinel-lm", "kind": ["rlib"], "src_path": "/work/trainer/lm/src/lib.rs"},
            {"name": "tool", "kind": ["bin"], "src_path": "/work/trainer/lm/src/main.rs"},
            {"name": "all", "kind": ["test"], "src_path": "/work/trainer/lm/tests/all.rs"},
        ],
    }]});
    let packages = Package::all(&metadata);
    assert_eq!(packages.len(), 1);
    let package = &packages[0];
    assert_eq!(package.manifest, "trainer/lm/Cargo.toml");
    let flex = package.dependency("flex").expect("a dependency");
    assert!(flex.is_for_tests && flex.name == "burn-flex");
    assert!(package.dependency("a_b").is_some_and(|it| it.name == "a-b"));
    let targets: Vec<_> = (package.targets.iter())
        .map(|target| (&*target.name, target.is_library, target.file.to_str()))
        .collect();
    let expected = [
        ("sentinel_lm", true, Some("trainer/lm/src/lib.rs")),
        ("tool", false, Some("trainer/lm/src/main.rs")),
    ];
    assert_eq!(targets, expected);
}
