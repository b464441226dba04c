//! A micro-batch as a model reads it: completions of one prompt share the row that it is in.

use super::objective::Sample;
use crate::lm::config::ModelConfig;
use crate::lm::{Batch, LmError, Picks, Text};

/// Rows, and the tokens whose log-probabilities are asked for: those of all completions, in the
/// order of the samples.
pub(super) struct Micro {
    pub(super) batch: Batch,
    pub(super) picks: Picks,
    /// The longest completion.
    pub(super) width: usize,
}

impl Micro {
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
        let rows = shared(samples);
        let woven: Vec<Vec<Text<'_>>> = rows.iter().map(|row| texts(row)).collect();
        let batch = Batch::woven(config, &woven, pad)?;
        let mut chosen = Vec::with_capacity(batch.ids().len());
        for row in &rows {
            let end = chosen.len() + batch.tokens();
            chosen.resize(chosen.len() + row[0].prompt.len(), false);
            let written: usize = row.iter().map(|sample| sample.completion.len()).sum();
            chosen.resize(chosen.len() + written, true);
            chosen.resize(end, false);
        }
        let longest = samples.iter().map(|sample| sample.completion.len()).max();
        Ok(Self {
            picks: Picks::new(&batch, &chosen)?,
            batch,
            width: longest.unwrap_or(0),
        })
    }
}

/// The samples row by row. Neighbours with the same prompt share a row as long as their completions
/// are together no longer than it: attention's cost grows with the square of a row.
fn shared<'a>(samples: &[&'a Sample]) -> Vec<Vec<&'a Sample>> {
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

fn texts<'a>(row: &[&'a Sample]) -> Vec<Text<'a>> {
    let prompt = row.first().map(|sample| Text {
        ids: &sample.prompt,
        after: None,
    });
    let completion = |sample: &&'a Sample| Text {
        ids: &sample.completion,
        after: Some(0),
    };
    prompt
        .into_iter()
        .chain(row.iter().map(completion))
        .collect()
}
