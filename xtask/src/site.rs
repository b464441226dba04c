//! `cargo xtask site`: the page, the book and the README of a Space in one folder, for a static host.

use crate::dirs::Dirs;
use crate::page;
use crate::run::{Steps, logged};
use crate::tools;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// The README of a Space, with its front matter.
const SPACE_README: &str = "web/space-readme.md";
/// The picture of a Space.
const THUMBNAIL: &str = "docs/screenshot.png";
/// The folder of the book in the site.
const BOOK: &str = "docs";

/// Builds page and book into `out`, which must not exist or be empty.
///
/// # Errors
/// Returns an error if `out` holds files, or a step fails.
pub fn site(dirs: &Dirs, out: &Path) -> Result<()> {
    if out
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_some())
    {
        bail!(
            "{} is not empty: name another folder with --out, or remove it",
            out.display()
        );
    }
    let mut steps = Steps::new(page::STEPS + 3);
    let dist = page::build(dirs, &mut steps)?;
    copy_folder(&dist, out)?;
    steps.next("Book: docs/ with live episodes…");
    let mdbook = tools::mdbook().ensure(dirs, &mut steps)?;
    let mut build = Command::new(mdbook);
    // Relative paths would be relative to docs/.
    let book = std::path::absolute(out.join(BOOK))?;
    build
        .arg("build")
        .arg(dirs.root.join("docs"))
        .arg("--dest-dir")
        .arg(book);
    logged(&mut build, &dirs.log("book"), None)?.require("building the book", "See its log")?;
    copy_file(&dirs.root.join(SPACE_README), &out.join("README.md"))?;
    copy_file(&dirs.root.join(THUMBNAIL), &out.join("thumbnail.png"))?;
    steps.next(&format!("Done: the site is in {}", out.display()));
    Ok(())
}

/// Copies a folder with everything in it.
///
/// # Errors
/// Returns an error if a file cannot be read or written.
pub fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    let entries = from
        .read_dir()
        .with_context(|| format!("cannot list {}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_folder(&source, &target)?;
        } else {
            copy_file(&source, &target)?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_with_files_is_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("mine.txt"), "mine").expect("a file");
        let dirs = Dirs {
            root: folder.path().to_owned(),
            target: folder.path().join("target"),
            cache: folder.path().join("cache"),
        };
        let error = site(&dirs, folder.path()).expect_err("not empty");
        assert!(error.to_string().contains("is not empty"), "{error}");
        assert!(!folder.path().join("index.html").exists());
    }

    #[test]
    fn folders_are_copied_with_all_their_files() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let from = folder.path().join("from");
        std::fs::create_dir_all(from.join("a/b")).expect("a folder");
        std::fs::write(from.join("a/b/c.txt"), "content").expect("a file");
        let to = folder.path().join("to");
        copy_folder(&from, &to).expect("a copy");
        let text = std::fs::read_to_string(to.join("a/b/c.txt")).expect("a file");
        assert_eq!(text, "content");
    }
}
