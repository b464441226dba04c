//! The parts of a page: sections, tables with captions, figures, lists of facts.

use std::fmt::Write as _;

use sentinel_base::interval::ConfidenceInterval;

use crate::report::results::{ChartEntry, Section};

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct Page {
    body: String,
    contents: Vec<(String, String)>,
    figures: usize,
    tables: usize,
}

/// The charts with their drawings.
#[derive(Clone, Copy)]
pub(super) struct Drawings<'a> {
    pub(super) charts: &'a [ChartEntry],
    pub(super) svgs: &'a [String],
}

impl<'a> Drawings<'a> {
    /// Returns the charts of a section, of one run or evaluation if `of` names it.
    pub(super) fn of(
        self,
        section: Section,
        of: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a ChartEntry, &'a str)> {
        let all = self.charts.iter().zip(self.svgs.iter().map(String::as_str));
        all.filter(move |(entry, _)| entry.section == section && entry.of.as_deref() == of)
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    title: &'static str,
    class: &'static str,
}

impl Column {
    /// Creates a column of words.
    pub(super) const fn text(title: &'static str) -> Self {
        Self { title, class: "" }
    }

    /// Creates a column of sentences.
    pub(super) const fn wide(title: &'static str) -> Self {
        Self {
            title,
            class: "text",
        }
    }

    /// Creates a column of numbers.
    pub(super) const fn number(title: &'static str) -> Self {
        Self { title, class: "n" }
    }
}

/// A cell of a table, as HTML.
#[derive(Clone, Debug)]
pub(super) struct Cell(String);

impl Cell {
    /// Creates a cell of plain text.
    pub(super) fn text(text: impl AsRef<str>) -> Self {
        Self(escape(text.as_ref()))
    }

    /// Creates a cell of code.
    pub(super) fn code(text: impl AsRef<str>) -> Self {
        Self(code(text.as_ref()))
    }

    /// Creates a cell for what does not exist.
    pub(super) fn empty() -> Self {
        Self("<span class=\"none\">–</span>".to_owned())
    }

    /// Creates a cell of a number; one for what does not exist without a number.
    pub(super) fn number(value: Option<f64>) -> Self {
        value.map_or_else(Self::empty, |value| Self(escape(&number(value))))
    }

    /// Creates a cell of a count.
    pub(super) fn count(value: Option<u64>) -> Self {
        value.map_or_else(Self::empty, |value| Self(group_thousands(value)))
    }

    /// Creates a cell of a mean with half the width of its interval.
    pub(super) fn interval(value: Option<ConfidenceInterval>) -> Self {
        value.map_or_else(Self::empty, |value| {
            let (mean, half) = (number(value.mean), number(value.half_width));
            Self(format!("{} ± {half}", escape(&mean)))
        })
    }

    /// Creates a cell of a verdict.
    pub(super) fn mark(mark: VerdictMark, text: &str) -> Self {
        Self(format!(
            "<span class=\"{}\">{}</span>",
            mark.class(),
            escape(text)
        ))
    }

    /// Creates a cell with a link to a file of the report.
    pub(super) fn link(path: &str, text: &str) -> Self {
        Self(link(path, text))
    }
}

/// The kind of a verdict; its words say it as well, so that no reader depends on the color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerdictMark {
    Good,
    Warning,
    Bad,
}

impl VerdictMark {
    const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warning => "warn",
            Self::Bad => "bad",
        }
    }
}

impl Page {
    /// Begins a section that the table of contents lists.
    pub(super) fn section(&mut self, id: &str, title: &str) {
        self.contents.push((id.to_owned(), title.to_owned()));
        let _ = writeln!(
            self.body,
            "<h2 id=\"{}\">{}</h2>",
            escape(id),
            escape(title)
        );
    }

    /// Begins a part of a section.
    pub(super) fn subsection(&mut self, id: &str, title: &str) {
        let _ = writeln!(
            self.body,
            "<h3 id=\"{}\">{}</h3>",
            escape(id),
            escape(title)
        );
    }

    /// Adds a paragraph of plain text.
    pub(super) fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
    }

    /// Adds a paragraph of HTML.
    pub(super) fn paragraph_html(&mut self, html: &str) {
        let _ = writeln!(self.body, "<p>{html}</p>");
    }

    /// Adds a highlighted list.
    pub(super) fn highlighted_list(
        &mut self,
        title: &str,
        items: impl IntoIterator<Item = String>,
    ) {
        let _ = writeln!(
            self.body,
            "<div class=\"note\" role=\"note\"><p><b>{}</b></p><ul>",
            escape(title)
        );
        for item in items {
            let _ = writeln!(self.body, "<li>{}</li>", escape(&item));
        }
        self.body.push_str("</ul></div>\n");
    }

    /// Adds a list of names with values; those without a value are left out.
    pub(super) fn definition_list(&mut self, facts: Vec<(&str, Option<String>)>) {
        self.body.push_str("<dl class=\"facts\">\n");
        for (name, value) in facts {
            if let Some(value) = value {
                let _ = writeln!(self.body, "<dt>{}</dt><dd>{value}</dd>", escape(name));
            }
        }
        self.body.push_str("</dl>\n");
    }

    /// Adds a command in a box of its own.
    pub(super) fn command(&mut self, command: &str) {
        let _ = writeln!(self.body, "<pre><code>{}</code></pre>", escape(command));
    }

    /// Adds a table whose first column names the rows.
    pub(super) fn table(&mut self, caption: &str, columns: &[Column], rows: Vec<Vec<Cell>>) {
        self.tables += 1;
        let _ = writeln!(
            self.body,
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"table-{n}\">\n<table>\n\
             <caption id=\"table-{n}\"><span><b>Table {n}.</b> {}</span></caption>\n<thead><tr>",
            escape(caption),
            n = self.tables,
        );
        for Column { title, class } in columns {
            let _ = write!(
                self.body,
                "<th scope=\"col\"{}>{}</th>",
                class_of(class),
                escape(title)
            );
        }
        self.body.push_str("</tr></thead>\n<tbody>\n");
        for row in rows {
            self.body.push_str("<tr>");
            for (index, (Cell(html), column)) in row.into_iter().zip(columns).enumerate() {
                let class = class_of(column.class);
                let _ = if index == 0 {
                    write!(self.body, "<th scope=\"row\"{class}>{html}</th>")
                } else {
                    write!(self.body, "<td{class}>{html}</td>")
                };
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</tbody>\n</table>\n</div>\n");
    }

    /// Adds a chart with its caption and links to its files.
    pub(super) fn figure(&mut self, entry: &ChartEntry, svg: &str) {
        self.figures += 1;
        let name = &entry.chart.name;
        let files = ["svg", "png", "json"].map(|ending| {
            let path = format!("charts/{name}.{ending}");
            link(&path, &ending.to_uppercase())
        });
        let _ = writeln!(
            self.body,
            "<figure id=\"figure-{n}\">\n<div class=\"plot\" tabindex=\"0\">{svg}</div>\n<figcaption><b>Figure {n}.</b> {} <code>{}</code> ({})\
             </figcaption>\n</figure>",
            escape(&entry.caption),
            escape(name),
            files.join(", "),
            n = self.figures,
        );
    }

    /// Adds what `write` adds, hidden until it is opened.
    pub(super) fn details(&mut self, summary: &str, write: impl FnOnce(&mut Self)) {
        let _ = writeln!(
            self.body,
            "<details>\n<summary>{}</summary>",
            escape(summary)
        );
        write(self);
        self.body.push_str("</details>\n");
    }

    /// Returns the whole page.
    pub(super) fn finish(self, title: &str, lead: &str, style: &str) -> String {
        let mut contents = String::new();
        for (id, name) in &self.contents {
            let _ = write!(
                contents,
                "<li><a href=\"#{}\">{}</a></li>",
                escape(id),
                escape(name)
            );
        }
        let title = escape(title);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{style}</style>\n</head>\n\
             <body>\n<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header>\n<h1>{title}</h1>\n\
             <p class=\"lead\">{lead}</p>\n<nav aria-label=\"Contents\"><ol>{contents}</ol></nav>\n</header>\n\
             <main id=\"content\">\n{}</main>\n</body>\n</html>\n",
            self.body
        )
    }
}

fn class_of(class: &str) -> String {
    if class.is_empty() {
        String::new()
    } else {
        format!(" class=\"{class}\"")
    }
}

/// Returns a link to a file of the report.
pub(super) fn link(path: &str, text: &str) -> String {
    // Paths of files may hold characters that end an address or begin another part of it.
    let mut address = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    format!("<a href=\"{address}\">{}</a>", escape(text))
}

/// Returns a text as code.
pub(super) fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

/// Escapes a text for HTML, also within attributes.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Returns a number to four decimals, or with four digits where these would be 0; whole numbers as
/// they are.
pub(super) fn number(value: f64) -> String {
    let text = if !value.is_finite() {
        return "not finite".to_owned();
    } else if value == 0.0 || (value.fract() == 0.0 && value.abs() < 1e9) {
        format!("{:.0}", value + 0.0)
    } else if value.abs() < 5e-5 {
        format!("{value:.3e}")
    } else if value.abs() < 100.0 {
        format!("{value:.4}")
    } else {
        format!("{value:.1}")
    };
    text.replace('-', "\u{2212}")
}

/// Returns a count with thin spaces between groups of three digits.
pub(super) fn group_thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && digits.len() > 4 {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_for_html() {
        let cases = [
            (0.0, "0"),
            (0.5, "0.5000"),
            (-0.25, "\u{2212}0.2500"),
            (12.0, "12"),
            (-0.0, "0"),
            (0.000_123_4, "0.0001"),
            (0.000_012_34, "1.234e\u{2212}5"),
            (1234.56, "1234.6"),
            (f64::NAN, "not finite"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(group_thousands(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(group_thousands(1234), "1234");
    }

    #[test]
    fn text_and_links_are_html_escaped() {
        assert_eq!(escape("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
        assert_eq!(
            link("data/a b\".json", "<"),
            "<a href=\"data/a%20b%22.json\">&lt;</a>"
        );
    }
}
