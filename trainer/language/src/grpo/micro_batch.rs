//! Micro-batches: samples in packed rows. Completions of one prompt can share a row.

use sentinel_lm::config::ModelConfig;
use sentinel_lm::{Batch, LmError, Segment, TokenSelection};

use super::sample::Sample;

/// A packed micro-batch, and the selection of the tokens of all completions in the order of the
/// samples.
pub(super) struct MicroBatch {
    pub(super) batch: Batch,
    pub(super) selection: TokenSelection,
    /// Number of tokens in the longest completion.
    pub(super) width: usize,
}

impl MicroBatch {
    /// Packs samples into the rows of a batch.
    ///
    /// # Errors
    /// If a sample has no prompt or does not fit the model.
    pub(super) fn new(
        config: &ModelConfig,
        samples: &[&Sample],
        pad: u32,
    ) -> Result<Self, LmError> {
        if samples.iter().any(|sample| sample.prompt.is_empty()) {
            return Err(LmError::Length {
                what: "a prompt",
                found: 0,
                expected: 1,
            });
        }
        let rows = rows_by_prompt(samples);
        let chosen = |(segment, first)| (segment, move |at: usize| at >= first);
        let packed = rows
            .iter()
            .map(|row| row_segments(row).into_iter().map(chosen));
        let packed: Vec<Vec<_>> = packed.map(Iterator::collect).collect();
        let (batch, selection) = TokenSelection::packed(config, &packed, pad)?;
        let longest = samples.iter().map(|sample| sample.completion.len()).max();
        Ok(Self {
            batch,
            selection,
            width: longest.unwrap_or(0),
        })
    }
}

/// Returns the number of rows that samples are packed into, and the number of tokens in the longest.
pub(super) fn packed_size(samples: &[&Sample]) -> [usize; 2] {
    let rows = rows_by_prompt(samples);
    let length = |row: &Vec<&Sample>| {
        let completions = row.iter().map(|sample| sample.completion.len());
        row[0].prompt.len() + completions.sum::<usize>()
    };
    [rows.len(), rows.iter().map(length).max().unwrap_or(0)]
}

/// Groups samples into rows. Neighbors with the same prompt share a row while their completions
/// together are no longer than the prompt, because the cost of attention is quadratic in the row's
/// length.
fn rows_by_prompt<'a>(samples: &[&'a Sample]) -> Vec<Vec<&'a Sample>> {
    let mut rows: Vec<Vec<&Sample>> = Vec::new();
    let mut written = 0;
    for sample in samples {
        written += sample.completion.len();
        match rows.last_mut() {
            Some(row) if row[0].prompt == sample.prompt && written <= sample.prompt.len() => {
                row.push(sample);
            }
            _ => {
                written = sample.completion.len();
                rows.push(vec![sample]);
            }
        }
    }
    rows
}

/// Returns the prompt of a row and its completions, each with the index of its first trained token:
/// none of the prompt, all of a completion.
fn row_segments<'a>(row: &[&'a Sample]) -> Vec<(Segment<'a>, usize)> {
    let prompt = row.first().map(|sample| {
        let ids = sample.prompt.as_slice();
        (Segment { ids, prefix: None }, ids.len())
    });
    let completion = |sample: &&'a Sample| {
        let (ids, prefix) = (sample.completion.as_slice(), Some(0));
        (Segment { ids, prefix }, 0)
    };
    let completions = row.iter().map(completion);
    prompt.into_iter().chain(completions).collect()
}
