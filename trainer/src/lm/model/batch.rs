//! Token ids of several rows, with what each token follows and may see.

use super::weave::Thread;
use crate::lm::LmError;
use crate::lm::config::ModelConfig;

/// Rows of equal length, padded on either side. A row is one text, or several
/// ([`Self::woven`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub(super) ids: Vec<u32>,
    pub(super) mask: Vec<bool>,
    pub(super) rows: usize,
    pub(super) tokens: usize,
    /// `[rows * tokens]` where rows hold several texts.
    pub(super) threads: Option<Vec<Thread>>,
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
        check_ids(&ids, tokens, config)?;
        Ok(Self {
            ids,
            mask,
            rows,
            tokens,
            threads: None,
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
        if let Some(threads) = &self.threads {
            return threads.iter().map(|thread| thread.position).collect();
        }
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

    /// Where the token before this one in its text stands in the flat batch; nothing for a text's
    /// first token, and for padding.
    #[must_use]
    pub fn before(&self, at: usize) -> Option<usize> {
        if let Some(threads) = &self.threads {
            return threads[at].before;
        }
        let inside = !at.is_multiple_of(self.tokens);
        (inside && self.mask[at] && self.mask[at - 1]).then(|| at - 1)
    }

    /// Whether the token in column `query` of a row may see that in column `key`.
    pub(super) fn sees(&self, row: usize, query: usize, key: usize) -> bool {
        let start = row * self.tokens;
        if key > query || !self.mask[start + key] {
            return false;
        }
        let together = |threads: &Vec<Thread>| threads[start + query].reads(threads[start + key]);
        self.threads.as_ref().is_none_or(together)
    }
}

/// Sees whether all ids are in the vocabulary.
pub(super) fn check_ids(ids: &[u32], tokens: usize, config: &ModelConfig) -> Result<(), LmError> {
    let unknown = |id: &u32| *id as usize >= config.vocab_size;
    ids.iter().position(unknown).map_or(Ok(()), |at| {
        Err(LmError::Token {
            row: at / tokens,
            token: ids[at],
            vocabulary: config.vocab_size,
        })
    })
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
