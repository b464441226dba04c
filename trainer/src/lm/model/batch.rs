//! Token ids of several rows with the mask that says which count.

use crate::lm::LmError;
use crate::lm::config::ModelConfig;

/// Rows of equal length, padded on either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    ids: Vec<u32>,
    mask: Vec<bool>,
    rows: usize,
    tokens: usize,
}

impl Batch {
    /// Rows of `tokens` ids each, one after the other, and which of them count.
    ///
    /// # Errors
    /// If lengths do not fit, a row is longer than the model reads, or an id is not in its
    /// vocabulary.
    pub fn new(
        config: &ModelConfig,
        ids: Vec<u32>,
        mask: Vec<bool>,
        tokens: usize,
    ) -> Result<Self, LmError> {
        let rows = ids.len().checked_div(tokens).unwrap_or(0);
        let length = |what, found, expected| LmError::Length {
            what,
            found,
            expected,
        };
        if rows == 0 || ids.len() != rows * tokens {
            let expected = rows.max(1) * tokens.max(1);
            return Err(length("a batch's ids", ids.len(), expected));
        }
        if mask.len() != ids.len() {
            return Err(length("a batch's mask", mask.len(), ids.len()));
        }
        let limit = config.max_position_embeddings;
        let lengths = mask
            .chunks(tokens)
            .map(|row| row.iter().filter(|on| **on).count());
        let lengths: Vec<usize> = lengths.collect();
        check_lengths(&lengths, limit)?;
        let known = |id: &u32| (*id as usize) < config.vocab_size;
        if let Some(at) = ids.iter().position(|id| !known(id)) {
            return Err(LmError::Token {
                row: at / tokens,
                token: ids[at],
                vocabulary: config.vocab_size,
            });
        }
        Ok(Self {
            ids,
            mask,
            rows,
            tokens,
        })
    }

    /// Rows of any length, padded on the left with `pad`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn left_padded(
        config: &ModelConfig,
        rows: &[impl AsRef<[u32]>],
        pad: u32,
    ) -> Result<Self, LmError> {
        let tokens = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
        let (mut ids, mut mask) = (Vec::new(), Vec::new());
        for row in rows {
            let empty = tokens - row.as_ref().len();
            ids.extend(std::iter::repeat_n(pad, empty));
            ids.extend_from_slice(row.as_ref());
            mask.extend((0..tokens).map(|column| column >= empty));
        }
        Self::new(config, ids, mask, tokens)
    }

    /// Rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    #[must_use]
    pub const fn tokens(&self) -> usize {
        self.tokens
    }

    /// `[rows * tokens]`.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// `[rows * tokens]`: false on padding.
    #[must_use]
    pub fn mask(&self) -> &[bool] {
        &self.mask
    }

    /// `[rows * tokens]`: the place of each token in its text, counted without padding.
    #[must_use]
    pub fn positions(&self) -> Vec<usize> {
        let mut all = Vec::with_capacity(self.ids.len());
        for row in self.mask.chunks(self.tokens) {
            let mut next = 0_usize;
            for on in row {
                next += usize::from(*on);
                all.push(next.saturating_sub(1));
            }
        }
        all
    }
}

/// Sees whether prompts fit.
///
/// # Errors
/// If one is longer than the limit: says how many, and how long the longest is.
pub(crate) fn check_lengths(lengths: &[usize], limit: usize) -> Result<(), LmError> {
    let count = lengths.iter().filter(|length| **length > limit).count();
    let longest = lengths
        .iter()
        .enumerate()
        .max_by_key(|(_, length)| **length);
    match longest {
        Some((row, longest)) if count > 0 => Err(LmError::PromptTooLong {
            count,
            prompts: lengths.len(),
            longest: *longest,
            row,
            limit,
        }),
        _ => Ok(()),
    }
}
