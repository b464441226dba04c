//! Numbers and names in the documents, compared with the code.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_policy::cluster::learned as cluster;
use sentinel_policy::nn::{Architecture, Shape};
use sentinel_policy::polyguard::learned as polyguard;
use sentinel_policy::replay::{PROBLEMS_KEPT, Recordable};
use sentinel_policy::text::{COMPLETION_BYTES, PromptStyle};
use sentinel_policy::trust::learned as trust;

const API: &str = include_str!("../../docs/spec/api.md");
const POLYGUARD: &str = include_str!("../../docs/spec/polyguard.md");

/// A number of hidden units that is the size of nothing else.
const HIDDEN: usize = 997;

/// Returns a section of a document, from its heading to the next one.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(&format!("\n{heading}\n")).unwrap() + 1 + heading.len();
    let rest = &text[start..];
    &rest[..rest.find("\n#").unwrap_or(rest.len())]
}

/// Returns the cells of each row of the tables in a text.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().filter(|line| line.starts_with('|'));
    let inner = lines.filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    inner.map(|line| line.split('|').map(str::trim).collect())
}

/// Returns the text with single spaces in place of line breaks.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the whole numbers in a text.
fn numbers(text: &str) -> Vec<usize> {
    let digits = text.split(|c: char| !c.is_ascii_digit());
    digits.filter_map(|digits| digits.parse().ok()).collect()
}

/// Returns a number as the documents write it.
fn grouped(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{} {:03}", grouped(number / 1000), number % 1000),
    }
}

/// Returns the words between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns the tensors that two cells of a table describe, each as `name rows, columns`.
fn tensors(names: &str, shapes: &str) -> Vec<String> {
    // `(0 for `none`)` is the shape of another network.
    let shapes = shapes.replace(" (0 for `none`)", "");
    let shapes: Vec<&str> = shapes.split("; ").collect();
    let mut found: Vec<String> = Vec::new();
    let mut first = "";
    for (index, name) in quoted(names).into_iter().enumerate() {
        let name = match name.strip_prefix('.') {
            Some(last) => format!("{}.{last}", first.rsplit_once('.').unwrap().0),
            None => {
                first = name;
                name.to_owned()
            }
        };
        let shape = shapes.get(index).or(shapes.last()).unwrap();
        found.push(format!("{name} {shape}"));
    }
    found
}

/// Returns the tensors of a network in the form of [`tensors`].
fn shapes_of(net: &impl Architecture) -> Vec<String> {
    let size = |size: usize| match size {
        HIDDEN => "h".to_owned(),
        size => size.to_string(),
    };
    let shapes = net.shapes().into_iter();
    let line = |shape: Shape| {
        let (rows, columns) = (size(shape.rows), size(shape.columns));
        format!("{} {rows}, {columns}", shape.name)
    };
    shapes.map(line).collect()
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

#[test]
fn tensor_tables_match_networks() {
    let text = section(API, "### 6.1 Model file");
    let (mut of_trust, mut of_polyguard) = (Vec::new(), Vec::new());
    for row in rows(text).filter(|row| row.len() == 5) {
        of_trust.extend(tensors(row[0], row[1]));
        of_polyguard.extend(tensors(row[3], row[4]));
    }
    let net = trust::TrustNet {
        hidden: HIDDEN,
        ..trust::TrustNet::default()
    };
    assert_eq!(sorted(of_trust), sorted(shapes_of(&net)));
    let net = polyguard::PolyguardNet {
        hidden: HIDDEN,
        ..polyguard::PolyguardNet::default()
    };
    assert_eq!(sorted(of_polyguard), sorted(shapes_of(&net)));
}

#[test]
fn cluster_tensor_table_matches_network() {
    let text = section(API, "### 6.1 Model file");
    // SET = `jobs` (F features, L logits), `gpus` (F, L) and `workers` (F, L)
    let sets = text.split_once("SET = ").unwrap().1;
    let sets = sets.split_once(" and those of the context").unwrap().0;
    let sizes = numbers(sets);
    let mut documented = Vec::new();
    for row in rows(text).filter(|row| row.len() == 2) {
        for line in tensors(row[0], row[1]) {
            if !line.contains("SET.") {
                documented.push(line);
                continue;
            }
            for (set, size) in quoted(sets).into_iter().zip(sizes.chunks(2)) {
                let line = line.replace("SET", set);
                let line = line.replace(" features,", &format!(" {},", size[0]));
                documented.push(line.replace(", logits", &format!(", {}", size[1])));
            }
        }
    }
    documented.retain(|line| line.contains(".weight ") || line.contains(".bias "));
    let net = cluster::ClusterNet {
        hidden: HIDDEN,
        ..cluster::ClusterNet::default()
    };
    assert_eq!(sorted(documented), sorted(shapes_of(&net)));
}

#[test]
fn columns_of_cluster_policy_match() {
    let text = section(API, "### 6.1 Model file");
    let sentence = text.split_once("\nIts ").unwrap().1;
    let sentence = sentence.split_once("The last").unwrap().0;
    let mut expected = vec![cluster::COLUMNS];
    expected.extend(cluster::FACTOR_COLUMNS.iter().map(ExactSizeIterator::len));
    assert_eq!(numbers(sentence), expected);
}

#[test]
fn feature_counts_of_polyguard_match() {
    for sentence in [
        format!("{} features of a candidate:", polyguard::PER_CANDIDATE),
        format!("{} features of the case:", polyguard::GLOBAL),
    ] {
        assert!(POLYGUARD.contains(&sentence), "{sentence}");
    }
}

#[test]
fn sizes_and_versions_match_constants() {
    let versions = [
        <trust::TrustNet as Architecture>::FEATURE_VERSION,
        <cluster::ClusterNet as Architecture>::FEATURE_VERSION,
        <polyguard::PolyguardNet as Architecture>::FEATURE_VERSION,
    ];
    assert_eq!(versions[1], versions[2]);
    for (heading, sentence) in [
        (
            "### 2.6 Completions",
            format!("at most {} bytes", grouped(COMPLETION_BYTES)),
        ),
        (
            "### 5.1 Keys",
            format!(
                "{} numbers (trust), {} (cluster), {} (polyguard)",
                <TrustEnv as Recordable>::ACTION_DIM,
                <ClusterEnv as Recordable>::ACTION_DIM,
                <PolyguardEnv as Recordable>::ACTION_DIM
            ),
        ),
        (
            "### 5.3 Reading",
            format!("at most {} kept", grouped(PROBLEMS_KEPT)),
        ),
        (
            "### 6.1 Model file",
            format!(
                "`feature_version` is {} in trust and {} in the others",
                versions[0], versions[1]
            ),
        ),
    ] {
        let text = on_one_line(section(API, heading));
        assert!(text.contains(&sentence), "{sentence}");
    }
}

#[test]
fn prompt_styles_are_listed() {
    let text = section(API, "### 2.5 Prompts");
    let table = text
        .split_once("| style |")
        .unwrap()
        .1
        .split_once("\n\n")
        .unwrap()
        .0;
    let listed: Vec<&str> = rows(table).skip(1).map(|row| quoted(row[0])[0]).collect();
    let styles: Vec<&str> = PromptStyle::ALL
        .into_iter()
        .map(PromptStyle::name)
        .collect();
    assert_eq!(listed, styles);
}
