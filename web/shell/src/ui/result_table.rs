//! Tables of players or results.

use super::widgets::scroll_area;
use crate::dom::html::{span, table, tbody, th, thead, tr};
use crate::dom::{El, IntoView};

/// Returns the heading of a column; `is_numeric` for a column of numbers.
pub fn heading(content: impl IntoView, is_numeric: bool) -> El {
    let heading = th().attr("scope", "col").toggle_class("num", is_numeric);
    heading.child(content)
}

/// Returns a heading that is only read out.
pub fn unseen_heading(name: &'static str) -> El {
    heading(span().class("sr").child(name), false)
}

/// Returns a table that scrolls sideways if it must.
pub fn result_table(label: &'static str, headings: Vec<El>, rows: Vec<El>) -> El {
    let head = thead().child(tr().child(headings));
    let table = table()
        .class("result-table")
        .child(head)
        .child(tbody().child(rows));
    scroll_area(label, table)
}
