//! Several texts in one row: examples packed side by side, and completions that share their prompt.
//!
//! A prompt with a group of completions is read once, each completion going on from its end, so that
//! `g` completions of `c` tokens cost `p + g c` tokens and not `g (p + c)`. The numbers are those of
//! separate rows: positions go on where the prompt ends, and no completion sees another.

use super::Batch;
use super::batch::{check_ids, check_lengths};
use crate::lm::LmError;
use crate::lm::config::ModelConfig;

/// One of the texts of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// Its tokens.
    pub ids: &'a [u32],
    /// The text of the same row that it goes on from, as a place in the row: an earlier one that
    /// stands for itself.
    pub after: Option<usize>,
}

/// What a token of such a row belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Thread {
    /// Its text, from 1 on; padding is in none.
    text: usize,
    /// The text that its own goes on from; its own where it stands for itself.
    trunk: usize,
    /// Its place in what it reads.
    pub(super) position: usize,
    /// The token before it, in the flat batch.
    pub(super) before: Option<usize>,
}

impl Thread {
    /// Whether a token's text is this one's or what it goes on from.
    pub(super) const fn reads(self, earlier: Self) -> bool {
        self.text > 0 && (earlier.text == self.text || earlier.text == self.trunk)
    }
}

impl Batch {
    /// Rows of several texts each, padded on the right with `pad`.
    ///
    /// # Errors
    /// As [`Self::new`], the length of a text being that of what it reads; or if a text goes on from
    /// one that does not come before it, or that itself goes on from another.
    pub fn woven(config: &ModelConfig, rows: &[Vec<Text<'_>>], pad: u32) -> Result<Self, LmError> {
        let length = |row: &Vec<Text<'_>>| row.iter().map(|text| text.ids.len()).sum::<usize>();
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
            threads: None,
        };
        let mut threads = Vec::with_capacity(rows.len() * tokens);
        let mut lengths = Vec::new();
        for row in rows {
            let end = threads.len() + tokens;
            weave(row, &mut threads, &mut lengths)?;
            batch.ids.extend(row.iter().flat_map(|text| text.ids));
            batch.mask.resize(threads.len(), true);
            batch.ids.resize(end, pad);
            batch.mask.resize(end, false);
            threads.resize(end, Thread::default());
        }
        check_lengths(&lengths, config.max_position_embeddings)?;
        check_ids(&batch.ids, tokens, config)?;
        batch.threads = Some(threads);
        Ok(batch)
    }
}

/// Adds the tokens of a row, and the length of what each of its texts reads.
fn weave(
    row: &[Text<'_>],
    threads: &mut Vec<Thread>,
    lengths: &mut Vec<usize>,
) -> Result<(), LmError> {
    // Where each text ends in the flat batch, and how many tokens that is from its beginning.
    let mut ends: Vec<(Option<usize>, usize)> = Vec::with_capacity(row.len());
    for (place, text) in row.iter().enumerate() {
        let (trunk, mut before, start) = match text.after {
            None => (place, None, 0),
            Some(after) if after < place && row[after].after.is_none() => {
                (after, ends[after].0, ends[after].1)
            }
            Some(after) => {
                return Err(LmError::Option {
                    option: "the text that another goes on from",
                    value: after.to_string(),
                    allowed: "an earlier text of the row that goes on from none",
                });
            }
        };
        for offset in 0..text.ids.len() {
            threads.push(Thread {
                text: place + 1,
                trunk: trunk + 1,
                position: start + offset,
                before,
            });
            before = Some(threads.len() - 1);
        }
        lengths.push(start + text.ids.len());
        ends.push((before, start + text.ids.len()));
    }
    Ok(())
}
