//! The lines of play that were tried on one episode, and the tree that they form.

use std::sync::Arc;

use sentinel_page_protocol::{Branch, StepLine};

use crate::episode_view::first_difference;

/// Largest number of lines that are kept of one episode.
const LINES_MAX: usize = 40;

/// A sequence of actions from the start of an episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The actions of the line in order.
    pub steps: Arc<Vec<StepLine>>,
    /// The visitor's own actions with which the line is opened again; `None` for the player's line.
    pub branch: Option<Branch>,
    /// Final score; `None` if the episode did not end.
    pub score: Option<f64>,
}

impl Line {
    /// Returns `true` if the visitor chose every action.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.steps.iter().all(|step| step.own)
    }
}

/// The lines of one episode, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriedLines {
    /// The lines; none is the beginning of another one, unless the episode ended there.
    pub lines: Vec<Line>,
    /// Index of the line that is shown.
    pub current: usize,
}

/// A line with its place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// Index of the line.
    pub line: usize,
    /// Number of lines above it in the tree.
    pub depth: usize,
    /// Number of first actions that it has in common with the line above it.
    pub shared: usize,
}

impl TriedLines {
    /// Makes a line the current one, and adds it if it is new. A line that goes on from an
    /// unfinished one takes its place. Returns `true` if the line is new and ended the episode.
    pub fn visit(&mut self, line: Line) -> bool {
        let is_within = |known: &Line| shared(known, &line) == line.steps.len();
        if line.steps.is_empty() || self.lines.get(self.current).is_some_and(is_within) {
            return false;
        }
        if let Some(known) = self.lines.iter().position(is_within) {
            self.current = known;
            return false;
        }
        let is_begun =
            |known: &Line| known.score.is_none() && shared(known, &line) == known.steps.len();
        let begun = self.lines.iter().position(is_begun);
        let has_ended = line.score.is_some();
        if let Some(begun) = begun {
            self.lines[begun] = line;
            self.current = begun;
            return has_ended;
        }
        if self.lines.len() >= LINES_MAX {
            self.remove(1);
        }
        self.current = self.lines.len();
        self.lines.push(line);
        has_ended
    }

    /// Removes a line from the tree.
    pub fn remove(&mut self, line: usize) {
        if line < self.lines.len() {
            self.lines.remove(line);
            self.current -= usize::from(self.current > line);
        }
    }

    /// Returns the lines in the order of the tree. Each line hangs below the earliest line with
    /// which it has the most actions in common.
    #[must_use]
    pub fn tree(&self) -> Vec<TreeRow> {
        let mut parents = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
            let mut best = (0, 0);
            for (above, other) in self.lines[..index].iter().enumerate() {
                let common = shared(other, line);
                if common > best.1 {
                    best = (above, common);
                }
            }
            parents.push(best);
        }
        let mut rows = Vec::new();
        if !parents.is_empty() {
            push_row(&parents, 0, 0, &mut rows);
        }
        rows
    }
}

/// Adds a line and all lines below it; `parents` has the line above each, and their common actions.
fn push_row(parents: &[(usize, usize)], line: usize, depth: usize, rows: &mut Vec<TreeRow>) {
    rows.push(TreeRow {
        line,
        depth,
        shared: parents[line].1,
    });
    for below in line + 1..parents.len() {
        if parents[below].0 == line {
            push_row(parents, below, depth + 1, rows);
        }
    }
}

/// Returns the number of first actions that two lines have in common.
fn shared(a: &Line, b: &Line) -> usize {
    first_difference(&a.steps, &b.steps).map_or(a.steps.len(), |action| action - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(codes: &str, score: Option<f64>) -> Line {
        let step = |code: char| StepLine {
            code: code.to_string(),
            own: true,
            ..StepLine::default()
        };
        Line {
            steps: Arc::new(codes.chars().map(step).collect()),
            branch: None,
            score,
        }
    }

    fn codes(tried: &TriedLines) -> Vec<String> {
        let text = |line: &Line| line.steps.iter().map(|step| step.code.as_str()).collect();
        tried.lines.iter().map(text).collect()
    }

    #[test]
    fn a_line_grows_until_the_episode_ends() {
        let mut tried = TriedLines::default();
        assert!(!tried.visit(line("", None)));
        assert!(!tried.visit(line("a", None)));
        assert!(!tried.visit(line("ab", None)));
        assert!(tried.visit(line("abc", Some(0.5))));
        assert!(!tried.visit(line("abc", Some(0.5))), "it is known");
        assert_eq!(codes(&tried), ["abc"]);
        // An earlier part of a line is not a line of its own.
        assert!(!tried.visit(line("ab", None)));
        assert_eq!((codes(&tried).len(), tried.current), (1, 0));
        // Another action there is.
        assert!(!tried.visit(line("abd", None)));
        assert_eq!(
            (codes(&tried), tried.current),
            (vec!["abc".into(), "abd".into()], 1)
        );
        // The part that both have in common belongs to the one that was shown last.
        assert!(!tried.visit(line("ab", None)));
        assert_eq!(tried.current, 1);
        assert!(!tried.visit(line("abc", Some(0.5))));
        assert_eq!(tried.current, 0);
    }

    #[test]
    fn lines_hang_below_the_one_that_they_follow_longest() {
        let mut tried = TriedLines::default();
        for (codes, score) in [
            ("abcdef", Some(0.8)),
            ("abx", None),
            ("abcdy", None),
            ("abxz", Some(0.7)),
            ("abxq", None),
            ("w", None),
        ] {
            tried.visit(line(codes, score));
        }
        assert_eq!(codes(&tried), ["abcdef", "abxz", "abcdy", "abxq", "w"]);
        let rows: Vec<_> = tried
            .tree()
            .iter()
            .map(|r| (r.line, r.depth, r.shared))
            .collect();
        assert_eq!(
            rows,
            [(0, 0, 0), (1, 1, 2), (3, 2, 3), (2, 1, 4), (4, 1, 0)]
        );
        assert_eq!(TriedLines::default().tree(), []);
    }

    #[test]
    fn removed_lines_leave_the_others_in_the_tree() {
        let mut tried = TriedLines::default();
        for codes in ["abc", "abx", "abxy", "aq"] {
            tried.visit(line(codes, Some(0.1)));
        }
        tried.remove(1);
        assert_eq!((codes(&tried).len(), tried.current), (3, 2));
        let rows: Vec<_> = tried
            .tree()
            .iter()
            .map(|r| (r.line, r.depth, r.shared))
            .collect();
        assert_eq!(rows, [(0, 0, 0), (1, 1, 2), (2, 1, 1)]);
        tried.remove(99);
        assert_eq!(tried.lines.len(), 3);
    }

    #[test]
    fn only_so_many_lines_are_kept() {
        let mut tried = TriedLines::default();
        for number in 0..100_u8 {
            let code = char::from(b'0' + number);
            tried.visit(line(&code.to_string(), Some(0.1)));
        }
        assert_eq!(
            (tried.lines.len(), tried.current),
            (LINES_MAX, LINES_MAX - 1)
        );
        assert_eq!(codes(&tried)[0], "0", "the first line stays");
    }
}
