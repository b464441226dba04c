//! Problems of single lines of a replay.

/// Largest number of diagnostics that a replay keeps. Further ones are counted only.
pub const PROBLEMS_KEPT: usize = 1000;

/// A problem with one line: it cannot be parsed, or its row does not fit the episode.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Diagnostic {
    /// 1-based line number in the file.
    pub line: usize,
    /// Description of the problem.
    pub reason: String,
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}
