//! The page's modules, one for each world, and the files of each world's first load.
//!
//! Trunk adds a hash only to the file names of its main program; those of the others get a hash of
//! their content here, so that a browser never mixes files of two builds.

use anyhow::{Context, Result};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// The worlds with the prefix of their files' names. The first is Trunk's main program.
pub const WORLDS: [(&str, &str); 3] = [
    ("trust", "sentinel-web"),
    ("cluster", "sentinel-cluster"),
    ("polyguard", "sentinel-polyguard"),
];

/// Returns the world that a file of `dist/` belongs to; `None` for files that every world loads.
#[must_use]
pub fn of_file(name: &str) -> Option<&'static str> {
    let of = |stem: &str| {
        let rest = name.strip_prefix(stem);
        rest.is_some_and(|rest| rest.starts_with(['-', '.', '_']))
    };
    WORLDS
        .iter()
        .find(|(_, stem)| of(stem))
        .map(|(world, _)| *world)
}

/// Renames the files that Trunk left without a hash, and updates `index.html`.
///
/// # Errors
/// Returns an error if a file cannot be read or renamed.
pub fn stamp(dist: &Path) -> Result<()> {
    let index = dist.join("index.html");
    let mut html = std::fs::read_to_string(&index)
        .with_context(|| format!("cannot read {}", index.display()))?;
    for (_, stem) in &WORLDS[1..] {
        for (name, rest) in [
            (format!("{stem}.js"), ".js"),
            (format!("{stem}_bg.wasm"), "_bg.wasm"),
        ] {
            let file = dist.join(&name);
            if !file.is_file() {
                continue;
            }
            let bytes =
                std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            let stamped = format!("{stem}-{:016x}{rest}", hasher.finish());
            std::fs::rename(&file, dist.join(&stamped))
                .with_context(|| format!("cannot rename {}", file.display()))?;
            html = html.replace(&name, &stamped);
        }
    }
    std::fs::write(&index, html).with_context(|| format!("cannot write {}", index.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn world_is_derived_from_file_name() {
        assert_eq!(of_file("sentinel-web-0f_bg.wasm"), Some("trust"));
        assert_eq!(of_file("sentinel-cluster.js"), Some("cluster"));
        assert_eq!(of_file("sentinel-webs.js"), None);
        assert_eq!(of_file("style-1e6b.css"), None);
    }

    #[test]
    fn stamped_file_name_depends_on_content() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dist = folder.path();
        let page = "import './sentinel-cluster.js' with './sentinel-cluster_bg.wasm'";
        let mut names = Vec::new();
        for content in ["one", "two", "one"] {
            std::fs::write(dist.join("index.html"), page).expect("a file");
            std::fs::write(dist.join("sentinel-cluster.js"), content).expect("a file");
            stamp(dist).expect("stamped");
            let html = std::fs::read_to_string(dist.join("index.html")).expect("a file");
            let name = html.split('\'').nth(1).expect("a name").to_owned();
            assert!(dist.join(&name).is_file(), "{name}");
            // No module was built, so its name stays.
            assert!(html.contains("sentinel-cluster_bg.wasm"), "{html}");
            names.push(name);
        }
        assert!(names[0] == names[2] && names[0] != names[1], "{names:?}");
    }
}
