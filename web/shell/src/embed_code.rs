//! Code that shows the current view of the page on another site.

use crate::query::decode;

/// Returns the element `<sentinel-episode>` with its script. `page` is the address of the page
/// without query, `query` that of the view.
#[must_use]
pub fn element(page: &str, query: &str) -> String {
    let folder = page.rsplit_once('/').map_or(page, |(folder, _)| folder);
    let mut out = format!(
        "<script async src=\"{}/sentinel-episode.js\"></script>\n<sentinel-episode",
        escaped(folder)
    );
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        // The element has the address of the page under this name.
        let key = if key == "page" { "page-screen" } else { key };
        // Only a plus sign in rules stays as it is.
        let value = escaped(&decode(&value.replace('+', "%2B")));
        out.push_str(&format!(" {key}=\"{value}\""));
    }
    out + "></sentinel-episode>"
}

/// Returns a frame that shows the view.
#[must_use]
pub fn frame(page: &str, query: &str) -> String {
    let address = escaped(&format!("{page}?embed=1&{query}"));
    format!(
        "<iframe src=\"{address}\" width=\"720\" height=\"620\" title=\"A Sentinel episode\"></iframe>"
    )
}

/// Returns text as the value of an attribute.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_holds_the_parameters_of_the_address() {
        let (page, query) = (
            "https://example.org/a/index.html",
            "page=training&policy=replay:my%20file&rules=reference+health",
        );
        assert_eq!(
            element(page, query),
            "<script async src=\"https://example.org/a/sentinel-episode.js\"></script>\n\
             <sentinel-episode page-screen=\"training\" policy=\"replay:my file\" rules=\"reference+health\"></sentinel-episode>"
        );
        assert_eq!(
            frame("https://example.org/a/", "task=3&seed=42"),
            "<iframe src=\"https://example.org/a/?embed=1&amp;task=3&amp;seed=42\" width=\"720\" height=\"620\" title=\"A Sentinel episode\"></iframe>"
        );
    }
}
