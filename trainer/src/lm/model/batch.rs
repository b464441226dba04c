//! Token ids of several rows, with what each token follows and may see.
//!
//! A row holds one text, or several segments: examples packed side by side, or completions that share their prompt.
//! A prompt with a group of completions is read once, each completion going on from its end, so that `g` completions
//! of `c` tokens cost `p + g c` tokens and not `g (p + c)`. The numbers are those of separate rows: positions go on
//! where the prompt ends, and no completion sees another.

use crate::lm::LmError;
use crate::lm::config::ModelConfig;

/// Rows of equal length, padded on either side. A row is one text, or several
/// ([`Self::packed`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub(super) ids: Vec<u32>,
    pub(super) mask: Vec<bool>,
    pub(super) rows: usize,
    pub(super) tokens: usize,
    /// `[rows * tokens]` where rows hold several texts.
    pub(super) segment_tokens: Option<Vec<SegmentToken>>,
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
            segment_tokens: None,
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
        if let Some(segment_tokens) = &self.segment_tokens {
            return segment_tokens
                .iter()
                .map(|segment_token| segment_token.position)
                .collect();
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
        if let Some(segment_tokens) = &self.segment_tokens {
            return segment_tokens[at].before;
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
        let together = |segment_tokens: &Vec<SegmentToken>| {
            segment_tokens[start + query].reads(segment_tokens[start + key])
        };
        self.segment_tokens.as_ref().is_none_or(together)
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

/// One of the texts of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Its tokens.
    pub ids: &'a [u32],
    /// The text of the same row that it goes on from, as a place in the row: an earlier one that
    /// stands for itself.
    pub prefix: Option<usize>,
}

/// What a token of such a row belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentToken {
    /// Its text, from 1 on; padding is in none.
    text: usize,
    /// The text that its own goes on from; its own where it stands for itself.
    prefix: usize,
    /// Its place in what it reads.
    pub(super) position: usize,
    /// The token before it, in the flat batch.
    pub(super) before: Option<usize>,
}

impl SegmentToken {
    /// Whether a token's text is this one's or what it goes on from.
    pub(super) const fn reads(self, earlier: Self) -> bool {
        self.text > 0 && (earlier.text == self.text || earlier.text == self.prefix)
    }
}

impl Batch {
    /// Rows of several texts each, padded on the right with `pad`.
    ///
    /// # Errors
    /// As [`Self::new`], the length of a text being that of what it reads; or if a text goes on from
    /// one that does not come before it, or that itself goes on from another.
    pub fn packed(
        config: &ModelConfig,
        rows: &[Vec<Segment<'_>>],
        pad: u32,
    ) -> Result<Self, LmError> {
        let length = |row: &Vec<Segment<'_>>| row.iter().map(|text| text.ids.len()).sum::<usize>();
        let tokens = rows.iter().map(length).max().unwrap_or(0);
        if tokens == 0 {
            return Err(LmError::Length {
                what: "a batch's ids",
                found: 0,
                expected: 1,
            });
        }
        let mut batch = Self {
            ids: Vec::with_capacity(rows.len() * tokens),
            mask: Vec::with_capacity(rows.len() * tokens),
            rows: rows.len(),
            tokens,
            segment_tokens: None,
        };
        let mut segment_tokens = Vec::with_capacity(rows.len() * tokens);
        let mut lengths = Vec::new();
        for row in rows {
            let end = segment_tokens.len() + tokens;
            pack_row(row, &mut segment_tokens, &mut lengths)?;
            batch.ids.extend(row.iter().flat_map(|text| text.ids));
            batch.mask.resize(segment_tokens.len(), true);
            batch.ids.resize(end, pad);
            batch.mask.resize(end, false);
            segment_tokens.resize(end, SegmentToken::default());
        }
        check_lengths(&lengths, config.max_position_embeddings)?;
        check_ids(&batch.ids, tokens, config)?;
        batch.segment_tokens = Some(segment_tokens);
        Ok(batch)
    }
}

/// Adds the tokens of a row, and the length of what each of its texts reads.
fn pack_row(
    row: &[Segment<'_>],
    segment_tokens: &mut Vec<SegmentToken>,
    lengths: &mut Vec<usize>,
) -> Result<(), LmError> {
    // Where each text ends in the flat batch, and how many tokens that is from its beginning.
    let mut ends: Vec<(Option<usize>, usize)> = Vec::with_capacity(row.len());
    for (place, text) in row.iter().enumerate() {
        let (prefix, mut before, start) = match text.prefix {
            None => (place, None, 0),
            Some(prefix) if prefix < place && row[prefix].prefix.is_none() => {
                (prefix, ends[prefix].0, ends[prefix].1)
            }
            Some(prefix) => {
                return Err(LmError::Option {
                    option: "the text that another goes on from",
                    value: prefix.to_string(),
                    allowed: "an earlier text of the row that goes on from none",
                });
            }
        };
        for offset in 0..text.ids.len() {
            segment_tokens.push(SegmentToken {
                text: place + 1,
                prefix: prefix + 1,
                position: start + offset,
                before,
            });
            before = Some(segment_tokens.len() - 1);
        }
        lengths.push(start + text.ids.len());
        ends.push((before, start + text.ids.len()));
    }
    Ok(())
}
