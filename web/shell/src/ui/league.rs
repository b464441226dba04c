//! Tables of players or results.

use crate::dom::El;
use crate::dom::html::{div, table, tbody, th, thead, tr};

/// Returns a table that scrolls sideways if it must. A heading is `true` above numbers.
pub fn league(label: &'static str, headings: &[(&'static str, bool)], rows: Vec<El>) -> El {
    let heading = |(name, is_numeric): &(&'static str, bool)| {
        let heading = th().attr("scope", "col").toggle_class("num", *is_numeric);
        heading.child(*name)
    };
    let headings: Vec<El> = headings.iter().map(heading).collect();
    let head = thead().child(tr().child(headings));
    let table = table()
        .class("league")
        .child(head)
        .child(tbody().child(rows));
    div()
        .class("scroll")
        .attr("tabindex", "0")
        .attr("role", "group")
        .label(label)
        .child(table)
}
