//! Constrained decoding: a row is limited to given completions.

use std::ops::Range;
use std::sync::Arc;

use crate::LmError;

/// The completions that a row is limited to, as tokens without a stop token. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// In order, without duplicates.
    rows: Arc<[Arc<[u32]>]>,
}

impl Choices {
    /// Creates a limit from completions in any order.
    ///
    /// # Errors
    /// If there is no completion, or one is empty.
    pub fn new(completions: impl IntoIterator<Item = Arc<[u32]>>) -> Result<Self, LmError> {
        let mut rows: Vec<Arc<[u32]>> = completions.into_iter().collect();
        if rows.is_empty() || rows.iter().any(|row| row.is_empty()) {
            return Err(LmError::Option {
                option: "choices",
                value: format!("{} completions", rows.len()),
                allowed: "at least one completion, each with at least one token",
            });
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(Self { rows: rows.into() })
    }

    /// Returns the number of tokens of the longest completion.
    pub(super) fn longest(&self) -> usize {
        self.rows.iter().map(|row| row.len()).max().unwrap_or(0)
    }

    /// Returns `true` if a completion contains one of `tokens`.
    pub(super) fn contains_any(&self, tokens: &[u32]) -> bool {
        let mut all = self.rows.iter().flat_map(|row| row.iter());
        all.any(|id| tokens.contains(id))
    }

    /// Returns the largest token of all completions.
    pub(super) fn largest_token(&self) -> u32 {
        let tokens = self.rows.iter().flat_map(|row| row.iter());
        tokens.copied().max().unwrap_or(0)
    }
}

/// The completions that are still possible after the tokens of a row.
#[derive(Clone, Debug)]
pub(super) struct RemainingChoices {
    choices: Choices,
    range: Range<usize>,
    /// Number of tokens that all of `range` begin with.
    depth: usize,
}

impl RemainingChoices {
    pub(super) fn new(choices: Choices) -> Self {
        let range = 0..choices.rows.len();
        Self {
            choices,
            range,
            depth: 0,
        }
    }

    /// Returns the tokens that can come next, each once; `stop_tokens` where a completion is whole.
    pub(super) fn next_tokens(&self, stop_tokens: &[u32]) -> Vec<u32> {
        let mut all = Vec::new();
        for row in &self.choices.rows[self.range.clone()] {
            match row.get(self.depth) {
                None => all.extend(stop_tokens),
                // Equal tokens are next to each other.
                Some(id) if all.last() != Some(id) => all.push(*id),
                Some(_) => {}
            }
        }
        all
    }

    /// Keeps the completions whose next token is `id`.
    pub(super) fn push(&mut self, id: u32) {
        let rows = &self.choices.rows[self.range.clone()];
        // A completion that ends here comes first.
        let next = |row: &Arc<[u32]>| row.get(self.depth).copied();
        let start = rows.partition_point(|row| next(row) < Some(id));
        let end = rows.partition_point(|row| next(row) <= Some(id));
        self.range = self.range.start + start..self.range.start + end;
        self.depth += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_lead_to_whole_completions_only() -> Result<(), LmError> {
        let rows: [&[u32]; 5] = [&[3, 1], &[3, 1, 4], &[2], &[3, 5], &[2]];
        let choices = Choices::new(rows.map(Arc::from))?;
        assert_eq!((choices.longest(), choices.largest_token()), (3, 5));
        let mut state = RemainingChoices::new(choices);
        assert_eq!(state.next_tokens(&[9]), [2, 3]);
        state.push(3);
        assert_eq!(state.next_tokens(&[9]), [1, 5]);
        state.push(1);
        // Either the end or a longer completion.
        assert_eq!(state.next_tokens(&[8, 9]), [8, 9, 4]);
        state.push(4);
        assert_eq!(state.next_tokens(&[9]), [9]);
        Ok(())
    }

    #[test]
    fn empty_choices_are_refused() {
        assert!(Choices::new([]).is_err());
        assert!(Choices::new([Arc::from([])]).is_err());
    }
}
