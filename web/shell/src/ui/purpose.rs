//! The purpose of the project in a few words, with ways to its source, below the header.

use crate::browser;
use crate::dom::El;
use crate::dom::html::{a, p, span};
use crate::page::Page;

/// Returns the sentences of the current world, with links that the build of the site knows.
#[must_use]
pub fn purpose(page: Page) -> El {
    let link = |name: &str, text: &'static str| {
        let href = browser::site_link(name)?;
        Some(a().attr("href", href).child(text))
    };
    let links = span()
        .class("links")
        .child(link("site-docs", "How it works"))
        .child(link("site-repository", "Source"));
    p().class("purpose")
        .child(move || page.program_text(|program| &program.purpose) + " ")
        .child(links)
}
