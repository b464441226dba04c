//! Batches of token rows, with the positions and attention limits of their tokens.
//!
//! A row holds one sequence, or several segments: examples packed side by side, or completions that
//! share a prompt. A prompt with a group of completions is read once, and each completion continues
//! from its end, so that `g` completions of `c` tokens cost `p + g c` tokens instead of
//! `g (p + c)`. The results equal those of separate rows: positions continue where the prompt ends,
//! and no completion attends to another.

use std::ops::Range;

use crate::LmError;
use crate::config::ModelConfig;

/// A batch of rows of equal length, padded on either side.
///
/// A row holds one sequence, or several segments ([`Self::packed`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub(super) ids: Vec<u32>,
    pub(super) mask: Vec<bool>,
    pub(super) rows: usize,
    pub(super) tokens: usize,
    /// `[rows * tokens]`: the segment of each token; `None` if every row holds one sequence.
    pub(super) segment_tokens: Option<Vec<SegmentToken>>,
}

impl Batch {
    /// Creates a batch from rows of `tokens` ids each, concatenated, and a mask that is `false` on
    /// padding.
    ///
    /// # Errors
    /// If the lengths do not match, a row is longer than the model's context, or an id is not in
    /// its vocabulary.
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

    /// Creates a batch from rows of any length, padded on the left with `pad`.
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

    /// Returns the number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns: the tokens of each row, including padding.
    #[must_use]
    pub const fn tokens(&self) -> usize {
        self.tokens
    }

    /// Returns the token ids, `[rows * tokens]`.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Returns the mask, `[rows * tokens]`: `false` on padding.
    #[must_use]
    pub fn mask(&self) -> &[bool] {
        &self.mask
    }

    /// Returns the position of each token in its sequence, `[rows * tokens]`, counted without
    /// padding.
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

    /// Returns the flat index of the token before token `at` in its sequence. `None` for padding
    /// and for the first token of a sequence.
    #[must_use]
    pub fn previous_token(&self, at: usize) -> Option<usize> {
        if let Some(segment_tokens) = &self.segment_tokens {
            return segment_tokens[at].before;
        }
        let inside = !at.is_multiple_of(self.tokens);
        (inside && self.mask[at] && self.mask[at - 1]).then(|| at - 1)
    }

    /// Returns the number of columns of a row up to its last token that is not padding.
    pub(super) fn width_of(&self, row: usize) -> usize {
        let mask = &self.mask[row * self.tokens..(row + 1) * self.tokens];
        mask.iter().rposition(|on| *on).map_or(0, |last| last + 1)
    }

    /// Returns some rows without the columns from `width` on, which must be padding.
    pub(super) fn select_rows(&self, rows: Range<usize>, width: usize) -> Self {
        let (first, tokens) = (rows.start, self.tokens);
        fn columns<T: Copy>(all: &[T], rows: Range<usize>, tokens: usize, width: usize) -> Vec<T> {
            let of_row = |row: usize| &all[row * tokens..row * tokens + width];
            rows.flat_map(of_row).copied().collect()
        }
        let mut segment_tokens =
            (self.segment_tokens.as_ref()).map(|all| columns(all, rows.clone(), tokens, width));
        for token in segment_tokens.iter_mut().flatten() {
            let before = token.before;
            token.before = before.map(|at| (at / tokens - first) * width + at % tokens);
        }
        Self {
            ids: columns(&self.ids, rows.clone(), tokens, width),
            mask: columns(&self.mask, rows.clone(), tokens, width),
            rows: rows.len(),
            tokens: width,
            segment_tokens,
        }
    }

    /// Returns `true` if the token in column `query` of a row may attend to the token in column
    /// `key`.
    pub(super) fn can_attend(&self, row: usize, query: usize, key: usize) -> bool {
        let start = row * self.tokens;
        if key > query || !self.mask[start + key] {
            return false;
        }
        let together = |segment_tokens: &Vec<SegmentToken>| {
            segment_tokens[start + query].can_attend(segment_tokens[start + key])
        };
        self.segment_tokens.as_ref().is_none_or(together)
    }

    /// Returns the numbers of segments by which a device computes [`Self::can_attend`]: of each token
    /// as a key, of its own as a query, and of its prefix. A token that is not masked may attend to an
    /// earlier key of its own segment or of its prefix; padding is the key of none.
    pub(super) fn attention_segments(&self) -> [Vec<usize>; 3] {
        let of_token = |at: usize| match &self.segment_tokens {
            Some(all) => [all[at].text, all[at].prefix],
            None => [1, 1],
        };
        let count = self.ids.len();
        let none = count + 1;
        let key = |at: usize| if self.mask[at] { of_token(at)[0] } else { none };
        [
            (0..count).map(key).collect(),
            (0..count).map(|at| of_token(at)[0]).collect(),
            (0..count).map(|at| of_token(at)[1]).collect(),
        ]
    }
}

/// Checks that all ids are in the vocabulary.
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

/// Checks that no prompt is longer than `limit` tokens.
///
/// # Errors
/// If one is longer: the error holds the number of such prompts and the length of the longest.
pub fn check_lengths(lengths: &[usize], limit: usize) -> Result<(), LmError> {
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

/// A sequence of tokens in a row, which may continue an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Token ids of the segment.
    pub ids: &'a [u32],
    /// Index in the row of the segment that this one continues: an earlier one without a prefix of
    /// its own. `None` for an independent segment.
    pub prefix: Option<usize>,
}

/// Segment and position of one token in a packed row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentToken {
    /// 1-based index of the token's segment in its row; 0 marks padding.
    text: usize,
    /// 1-based index of the segment that the token's segment continues, or of its own segment if it
    /// continues none.
    prefix: usize,
    /// Position of the token, counted from the start of the prefix.
    pub(super) position: usize,
    /// Flat index of the token before it, as in [`Batch::previous_token`].
    pub(super) before: Option<usize>,
}

impl SegmentToken {
    /// Returns `true` if `earlier` is in this token's segment or in its prefix.
    pub(super) const fn can_attend(self, earlier: Self) -> bool {
        self.text > 0 && (earlier.text == self.text || earlier.text == self.prefix)
    }
}

impl Batch {
    /// Creates a batch with several segments in each row, padded on the right with `pad`.
    ///
    /// # Errors
    /// As [`Self::new`], where the length of a segment includes its prefix; or if a prefix does not
    /// come before its segment, or has a prefix of its own.
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

/// Appends the tokens of a row to `segment_tokens`, and the length of each segment, including its
/// prefix, to `lengths`.
fn pack_row(
    row: &[Segment<'_>],
    segment_tokens: &mut Vec<SegmentToken>,
    lengths: &mut Vec<usize>,
) -> Result<(), LmError> {
    // For each segment: the flat index of its last token, and its length including the prefix.
    let mut ends: Vec<(Option<usize>, usize)> = Vec::with_capacity(row.len());
    for (place, text) in row.iter().enumerate() {
        let (prefix, mut before, start) = match text.prefix {
            None => (place, None, 0),
            Some(prefix) if prefix < place && row[prefix].prefix.is_none() => {
                (prefix, ends[prefix].0, ends[prefix].1)
            }
            Some(prefix) => {
                return Err(LmError::Option {
                    option: "the prefix of a segment",
                    value: prefix.to_string(),
                    allowed: "an earlier segment of the row without a prefix",
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
