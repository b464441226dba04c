//! `cargo xtask site`: the page, the book and the README of a Space in one folder, for a static host.

use crate::dirs::Dirs;
use crate::page;
use crate::run::{Steps, logged};
use crate::tools;
use crate::worlds;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The README of a Space, with its front matter.
const SPACE_README: &str = "web/space-readme.md";
/// The picture of a Space.
const THUMBNAIL: &str = "docs/screenshot-spot.png";
/// The name of the picture in the site.
const PICTURE: &str = "thumbnail.png";
/// Description of the picture for those who do not see it.
const PICTURE_TEXT: &str =
    "Five assistants with their right and wrong answers, and the question which one of them lies";
/// The folder of the book in the site.
const BOOK: &str = "docs";

/// The options of `cargo xtask site`.
#[derive(Debug, Default)]
pub struct Options {
    /// The folder for the site, which must not exist or be empty.
    pub out: PathBuf,
    /// The address of the site on its host.
    pub url: Option<String>,
    /// The address of the repository that the page links to.
    pub repository: Option<String>,
}

/// Builds page and book into a folder.
///
/// # Errors
/// Returns an error if the folder holds files, an address is none, or a step fails.
pub fn site(dirs: &Dirs, options: &Options) -> Result<()> {
    let out = options.out.as_path();
    let tags = head_tags(options)?;
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
    copy_file(&dirs.root.join(THUMBNAIL), &out.join(PICTURE))?;
    add_to_head(&out.join("index.html"), &tags)?;
    // The page is a part of its version.
    worlds::list_files(out)?;
    steps.next(&format!("Done: the site is in {}", out.display()));
    Ok(())
}

/// Returns what the page says of its place: the links that it shows, and what a link to it shows on
/// other sites. Only with its address is the picture's address complete, as most sites need it.
fn head_tags(options: &Options) -> Result<String> {
    let mut tags = format!("<meta name=\"site-docs\" content=\"{BOOK}/\">");
    let mut add = |kind: &str, name: &str, content: &str| {
        let content = escaped(content);
        tags.push_str(&format!("<meta {kind}=\"{name}\" content=\"{content}\">"));
    };
    if let Some(repository) = &options.repository {
        add("name", "site-repository", web_address(repository)?);
    }
    let url = options.url.as_deref().map(web_address).transpose()?;
    let url = url.map(|url| format!("{}/", url.trim_end_matches('/')));
    let picture = format!("{}{PICTURE}", url.as_deref().unwrap_or_default());
    add("property", "og:image", &picture);
    add("property", "og:image:alt", PICTURE_TEXT);
    add("name", "twitter:card", "summary_large_image");
    if let Some(url) = url {
        add("property", "og:url", &url);
        tags.push_str(&format!(
            "<link rel=\"canonical\" href=\"{}\">",
            escaped(&url)
        ));
    }
    Ok(tags)
}

/// Returns an address if it is one of the web.
fn web_address(address: &str) -> Result<&str> {
    let host = ["https://", "http://"]
        .iter()
        .find_map(|scheme| address.strip_prefix(scheme));
    if host.is_none_or(|host| host.is_empty() || host.contains(char::is_whitespace)) {
        bail!("{address} is no web address: it begins with https:// or http://");
    }
    if host.is_some_and(|host| host.contains(['?', '#'])) {
        bail!("{address} has a query or a fragment: leave out what follows ? or #");
    }
    Ok(address)
}

/// Returns text as the value of an attribute.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('"', "&quot;")
}

/// Adds tags to the head of a page, before its title.
fn add_to_head(page: &Path, tags: &str) -> Result<()> {
    let html =
        std::fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let (start, rest) = html
        .split_once("<title>")
        .with_context(|| format!("{} has no title", page.display()))?;
    std::fs::write(page, format!("{start}{tags}<title>{rest}"))
        .with_context(|| format!("cannot write {}", page.display()))
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
        let options = Options {
            out: folder.path().to_owned(),
            ..Options::default()
        };
        let error = site(&dirs, &options).expect_err("not empty");
        assert!(error.to_string().contains("is not empty"), "{error}");
        assert!(!folder.path().join("index.html").exists());
    }

    #[test]
    fn only_a_site_with_an_address_names_it() {
        let tags = head_tags(&Options::default()).expect("tags");
        assert!(
            tags.contains("name=\"site-docs\" content=\"docs/\""),
            "{tags}"
        );
        assert!(
            tags.contains("og:image\" content=\"thumbnail.png\""),
            "{tags}"
        );
        for absent in ["site-repository", "og:url", "canonical", "http"] {
            assert!(!tags.contains(absent), "{absent} in {tags}");
        }
        let options = Options {
            url: Some("https://example.org/a".to_owned()),
            repository: Some("https://example.org/\"me\"/sentinel".to_owned()),
            ..Options::default()
        };
        let tags = head_tags(&options).expect("tags");
        for part in [
            "og:image\" content=\"https://example.org/a/thumbnail.png\"",
            "og:url\" content=\"https://example.org/a/\"",
            "<link rel=\"canonical\" href=\"https://example.org/a/\">",
            "site-repository\" content=\"https://example.org/&quot;me&quot;/sentinel\"",
        ] {
            assert!(tags.contains(part), "{part} not in {tags}");
        }
    }

    #[test]
    fn addresses_are_of_the_web() {
        for bad in [
            "",
            "example.org",
            "https://",
            "javascript:alert(1)",
            "https://a.b/?c",
        ] {
            let options = Options {
                url: Some(bad.to_owned()),
                ..Options::default()
            };
            assert!(head_tags(&options).is_err(), "{bad}");
        }
    }

    #[test]
    fn tags_come_before_the_title() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let page = folder.path().join("index.html");
        std::fs::write(&page, "<!doctype html><title>Sentinel</title>").expect("a file");
        add_to_head(&page, "<meta>").expect("a page");
        let html = std::fs::read_to_string(&page).expect("a file");
        assert_eq!(html, "<!doctype html><meta><title>Sentinel</title>");
        std::fs::write(&page, "no page").expect("a file");
        assert!(add_to_head(&page, "<meta>").is_err());
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
