//! Recorded results: training runs side by side, and the tables and charts of reports.

use serde::{Deserialize, Serialize};

use crate::{Chart, Note, Panel};

/// The content of a screen that shows recorded results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Records {
    /// Name of the screen in the address.
    pub screen: String,
    /// Heading of the screen.
    pub title: String,
    /// Sentence below the heading.
    pub detail: String,
    /// Sections in the order in which they are drawn.
    pub sections: Vec<RecordsSection>,
}

/// A titled group of panels and charts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordsSection {
    /// Heading of the section.
    pub title: String,
    /// Sentence below the heading.
    pub detail: String,
    /// Tables and lists, drawn above the charts.
    pub panels: Vec<Panel>,
    /// Charts, each with a note below it: the name of the metric in the log, and its explanation.
    pub charts: Vec<(Chart, Note)>,
}

/// A link to another state of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Text of the link.
    pub text: String,
    /// Query of the address, without `?`.
    pub query: String,
}
