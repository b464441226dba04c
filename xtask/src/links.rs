//! Checks of links in Markdown files: each must lead to a file of the repository and to a heading
//! that it has; those of the book (`docs/`) must stay in it, since a built book holds nothing else.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// The source folder of the book that `mdbook build docs` makes.
const BOOK: &str = "docs";

/// Returns the broken links of a file, one line each; `name` is its path from `root`.
#[must_use]
pub fn check(root: &Path, name: &Path, text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    for (line, said) in prose(text) {
        for target in targets(&without_code(said)) {
            if let Some(why) = fault(root, name, text, target) {
                let shown = name.display();
                broken.push(format!("{shown}:{line}: the link {target} {why}"));
            }
        }
    }
    broken
}

/// Returns the fault of a link, if any. Addresses on the web are not checked.
fn fault(root: &Path, name: &Path, text: &str, target: &str) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    if path.is_empty() {
        return (!has_heading(text, heading)).then_some("names no heading of this file");
    }
    let Some(file) = joined(name.parent().unwrap_or(Path::new("")), path) else {
        return Some("leaves the repository");
    };
    if !root.join(&file).exists() {
        return Some("leads to no file");
    }
    if name.starts_with(BOOK) && !file.starts_with(BOOK) {
        return Some("leaves the book of docs/: name the file without a link");
    }
    if heading.is_empty() {
        return None;
    }
    let other = std::fs::read_to_string(root.join(&file)).unwrap_or_default();
    (!has_heading(&other, heading)).then_some("names no heading of that file")
}

/// Returns `path` relative to `folder`, without `.` and `..`; `None` if it leaves the root.
fn joined(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut joined = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::Normal(part) => joined.push(part),
            Component::CurDir => {}
            Component::ParentDir => {
                if !joined.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(joined)
}

/// Returns the lines outside code blocks, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        in_block ^= fence;
        !(fence || in_block)
    })
}

/// Returns the line without the parts between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Returns the targets of the links in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let (target, _) = rest.split_once(')')?;
        Some(target)
    })
}

/// Returns `true` if a Markdown file has a heading with the anchor `wanted`.
fn has_heading(text: &str, wanted: &str) -> bool {
    let mut seen: HashMap<String, usize> = HashMap::new();
    prose(text).any(|(_, line)| {
        let title = line.trim_start_matches('#');
        let is_heading = title.len() < line.len() && title.starts_with(' ');
        is_heading && {
            let name = slug(title.trim());
            let before = seen.entry(name.clone()).or_default();
            *before += 1;
            match *before {
                1 => name == wanted,
                // The second heading of the same name gets the suffix -1.
                count => format!("{name}-{}", count - 1) == wanted,
            }
        }
    })
}

/// Returns the anchor of a heading: lower-case letters and digits, dashes for spaces.
fn slug(title: &str) -> String {
    let kept = title.to_lowercase().replace(' ', "-");
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the faults of a link in `docs/sub/a.md`.
    fn broken(link: &str) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(file, text).expect("written");
        };
        write("README.md", "# Top\n");
        write(
            "docs/b.md",
            "# B: `x` it!\n```sh\n# no heading\n```\n## Twice\n## Twice\n",
        );
        let text = format!("# Here\n\nsee [it]({link}), `[not](this)`\n```\n[nor](this)\n```\n");
        check(folder.path(), Path::new("docs/sub/a.md"), &text)
    }

    #[test]
    fn valid_links_are_accepted() {
        for link in [
            "../b.md",
            "../b.md#b-x-it",
            "../b.md#twice",
            "../b.md#twice-1",
            "#here",
            "https://example.org/#x",
        ] {
            assert_eq!(broken(link), Vec::<String>::new(), "{link}");
        }
    }

    #[test]
    fn broken_links_are_reported_with_file_and_line() {
        for (link, why) in [
            ("b.md", "leads to no file"),
            ("../b.md#no-heading", "names no heading of that file"),
            ("../b.md#twice-2", "names no heading of that file"),
            ("#there", "names no heading of this file"),
            ("../../README.md", "leaves the book of docs/"),
            ("../../../README.md", "leaves the repository"),
        ] {
            let found = broken(link);
            assert_eq!(found.len(), 1, "{link}: {found:?}");
            let expected = format!("docs/sub/a.md:3: the link {link} {why}");
            assert!(found[0].starts_with(&expected), "{found:?}");
        }
    }
}
