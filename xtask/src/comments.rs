//! Rules about comments: how documentation begins, and that cited sections of the specifications exist.

use std::path::Path;

/// First words that do not say what an item is or does.
const VAGUE: [&str; 8] = [
    "What", "Whether", "How", "Who", "Where", "When", "Why", "Its",
];
/// A block of so many words or fewer is short.
const SHORT: usize = 3;
/// Largest number of short blocks in all crates: some names need no more words.
const SHORT_ALLOWED: usize = 20;
/// The specifications in `docs/spec`.
const SPECS: [&str; 5] = ["trust", "cluster", "polyguard", "evaluation", "api"];

/// Documentation comments that break a rule, with the number of all.
#[derive(Debug, Default)]
pub struct DocBlocks {
    /// Number of blocks of `///` or `//!` lines.
    pub count: usize,
    vague: Vec<String>,
    short: Vec<String>,
}

impl DocBlocks {
    /// Adds the blocks of a file; `name` is its path from the root.
    pub fn add(&mut self, name: &Path, text: &str) {
        let mut lines = text.lines().enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            let Some((marker, first)) = doc_line(line) else {
                continue;
            };
            let mut words: Vec<&str> = first.split_whitespace().collect();
            while let Some((_, next)) = lines.peek() {
                match doc_line(next) {
                    Some((same, more)) if same == marker => words.extend(more.split_whitespace()),
                    _ => break,
                }
                lines.next();
            }
            self.count += 1;
            let place = || format!("{}:{}: {}", name.display(), index + 1, first.trim());
            if words.first().is_some_and(|word| VAGUE.contains(word)) {
                self.vague
                    .push(format!("{} (say what it is or does)", place()));
            }
            if words.len() <= SHORT {
                self.short.push(format!("{} (too short)", place()));
            }
        }
    }

    /// Returns the broken rules: every vague block, and the short ones when there are too many.
    #[must_use]
    pub fn broken(&self) -> Vec<String> {
        let mut broken = self.vague.clone();
        if self.short.len() > SHORT_ALLOWED {
            broken.extend_from_slice(&self.short);
        }
        broken
    }

    /// Returns the counts as a sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        format!(
            "{} doc comments: {} with a vague beginning, {} short",
            self.count,
            self.vague.len(),
            self.short.len()
        )
    }
}

/// Returns the marker and the text of a documentation line.
fn doc_line(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    if line.starts_with("////") {
        return None;
    }
    let marker = line.get(..3)?;
    (marker == "///" || marker == "//!").then(|| (marker, &line[3..]))
}

/// A cited section of a specification.
#[derive(Debug, PartialEq, Eq)]
pub struct Citation {
    line: usize,
    spec: String,
    section: String,
}

/// Finds citations: the word `spec`, a name, and sections such as `§11, §8.1`, also over line breaks.
#[must_use]
pub fn citations(text: &str) -> Vec<Citation> {
    let words: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .flat_map(|(index, line)| {
            let line = line.trim_start().trim_start_matches(['/', '!']);
            line.split_whitespace().map(move |word| (index + 1, word))
        })
        .collect();
    let mut found = Vec::new();
    for (at, (line, word)) in words.iter().enumerate() {
        if word.trim_start_matches(['(', '"', '`']) != "spec" {
            continue;
        }
        let rest = words.get(at + 1..).unwrap_or_default();
        let Some(((_, spec), sections)) = rest.split_first() else {
            continue;
        };
        for (_, word) in sections {
            if *word == "to" || *word == "and" {
                continue;
            }
            let Some(section) = word.strip_prefix('§') else {
                break;
            };
            let is_part = |c: char| c.is_ascii_digit() || c == '.';
            let section: String = section.chars().take_while(|c| is_part(*c)).collect();
            found.push(Citation {
                line: *line,
                spec: (*spec).to_owned(),
                section: section.trim_end_matches('.').to_owned(),
            });
        }
    }
    found
}

/// Returns a line for each citation whose section does not exist in `docs/spec`.
#[must_use]
pub fn unresolved(root: &Path, name: &Path, citations: &[Citation]) -> Vec<String> {
    let mut broken = Vec::new();
    for Citation {
        line,
        spec,
        section,
    } in citations
    {
        let file = format!("docs/spec/{spec}.md");
        let exists = SPECS.contains(&spec.as_str()) && {
            let text = std::fs::read_to_string(root.join(&file)).unwrap_or_default();
            has_section(&text, section)
        };
        if !exists {
            let name = name.display();
            broken.push(format!("{name}:{line}: {file} has no section {section}"));
        }
    }
    broken
}

/// Returns `true` if a heading of `text` has the number `section`.
fn has_section(text: &str, section: &str) -> bool {
    text.lines().any(|line| {
        let number = line
            .strip_prefix('#')
            .map(|rest| rest.trim_start_matches('#'));
        let number = number.and_then(|rest| rest.split_whitespace().next());
        number.is_some_and(|number| number.trim_end_matches('.') == section)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vague_and_short_doc_comments_are_found() {
        let mut docs = DocBlocks::default();
        let text = "//! What it is.\n\n/// The name\n/// of a thing.\n/// Yes.\nfn a() {}\n    /// Its name.\n";
        docs.add(Path::new("env/src/a.rs"), text);
        assert_eq!((docs.count, docs.vague.len(), docs.short.len()), (3, 2, 2));
        assert_eq!(docs.broken(), docs.vague);
    }

    #[test]
    fn citations_span_line_breaks_and_lists() {
        let text = "/// As there (SPEC trust\n/// §11, §8.1 and §2.). See SPEC cluster §4 too.\n";
        let found: Vec<String> = citations(&text.replace("SPEC", "spec"))
            .iter()
            .map(|c| format!("{} {} {}", c.line, c.spec, c.section))
            .collect();
        assert_eq!(
            found,
            ["1 trust 11", "1 trust 8.1", "1 trust 2", "2 cluster 4"]
        );
    }

    #[test]
    fn section_lookup_matches_numbered_heading() {
        let text = "# Title\n\n## 11. Session\n\n### 8.1 Parts\n";
        for (section, has) in [("11", true), ("8.1", true), ("8", false), ("1", false)] {
            assert_eq!(has_section(text, section), has, "{section}");
        }
    }
}
