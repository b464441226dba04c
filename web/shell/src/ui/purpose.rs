//! The purpose of the project in one sentence, with ways to its source, below the header.

use crate::browser;
use crate::dom::El;
use crate::dom::html::{a, p, span};

/// Returns the sentence, with links that the build of the site knows.
#[must_use]
pub fn purpose() -> El {
    let link = |name: &str, text: &'static str| {
        let href = browser::site_link(name)?;
        Some(a().attr("href", href).child(text))
    };
    let links = span()
        .class("links")
        .child(link("site-docs", "How it works"))
        .child(link("site-repository", "Source"));
    p().class("purpose")
        .child("AI agents hand work to other agents. Some will be wrong; one lies exactly when it matters. Here a small network learned to notice. ")
        .child(links)
}
