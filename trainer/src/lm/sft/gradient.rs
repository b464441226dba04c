//! The loss of one accumulation window: all its labels weigh the same, whatever micro-batch they
//! are in.

use super::SftRow;
use crate::lm::parallel::in_parts;
use crate::lm::parameter::numbers;
use crate::lm::{Batch, Entropy, Grads, LmError, Pass, Picks, Qwen2, Text};

/// What a window gave.
#[derive(Debug)]
pub struct WindowLoss {
    /// Mean of `-log p` over the labels of the window.
    pub loss: f64,
    /// Its gradients.
    pub grads: Grads,
    /// Share of the labels that were the most likely token; mean over micro-batches, as TRL logs it.
    pub accuracy: f64,
    /// Mean entropy of the labels' distributions; mean over micro-batches.
    pub entropy: f64,
    /// Tokens that were read, without padding.
    pub tokens: usize,
    /// Tokens that were trained.
    pub labels: usize,
}

/// The loss of the rows between two optimizer steps and its gradients, `micro` rows at a time
/// (TRL: the sum of `-log p` over the number of labels in the whole window, not a mean of means). A row
/// may hold several examples, of which none sees another: loss and gradients are those of the examples
/// in rows of their own.
///
/// # Errors
/// If there is no label, in all or in one micro-batch, nothing is trained, or the device cannot be read.
pub fn packed_gradient(
    model: &Qwen2,
    rows: &[Vec<&SftRow>],
    micro: usize,
    pad: u32,
    pass: Pass,
) -> Result<WindowLoss, LmError> {
    let labels: usize = rows.iter().flatten().map(|row| row.labels()).sum();
    if labels == 0 {
        return Err(no_labels("the labels of a window"));
    }
    let mut window = WindowLoss {
        loss: 0.0,
        grads: Grads::default(),
        accuracy: 0.0,
        entropy: 0.0,
        tokens: 0,
        labels,
    };
    let parts: Vec<(u64, &[Vec<&SftRow>])> = (0..).zip(rows.chunks(micro.max(1))).collect();
    let share = 1.0 / parts.len() as f64;
    let work =
        |(index, part): (u64, _)| micro_batch(&model.fork(), part, labels, pad, pass.part(index));
    in_parts(model.device(), parts, work, |found: WindowLoss| {
        window.loss += found.loss;
        window.grads.add(found.grads);
        window.accuracy += share * found.accuracy;
        window.entropy += share * found.entropy;
        window.tokens += found.tokens;
    })?;
    Ok(window)
}

fn micro_batch(
    model: &Qwen2,
    rows: &[Vec<&SftRow>],
    labels: usize,
    pad: u32,
    pass: Pass,
) -> Result<WindowLoss, LmError> {
    let (batch, picks) = read(model, rows, pad)?;
    if picks.is_empty() {
        return Err(no_labels("the labels of a micro-batch"));
    }
    let mut seen = (Vec::new(), Vec::new(), Vec::new());
    let trained = picks.len();
    let loss = |hidden| {
        let found = model.token_logprobs(hidden, &picks, 1.0, Entropy::Value, pass);
        let values = |tensor: Option<_>| tensor.map_or(Ok(Vec::new()), numbers::<1>);
        seen.0 = numbers(found.logps.clone())?;
        seen.1 = values(found.greatest)?;
        seen.2 = values(found.entropies)?;
        Ok(found.logps.sum().neg().div_scalar(labels as f64))
    };
    let (value, grads) = model.gradients(&batch, pass, loss)?;
    let (logps, greatest, entropies) = seen;
    let hit = |(logp, best): &(&f32, &f32)| logp >= best;
    let hits = logps.iter().zip(&greatest).filter(hit).count();
    let sum: f64 = entropies.iter().map(|entropy| f64::from(*entropy)).sum();
    Ok(WindowLoss {
        loss: f64::from(value),
        grads,
        accuracy: hits as f64 / trained.max(1) as f64,
        entropy: sum / trained.max(1) as f64,
        tokens: rows.iter().flatten().map(|row| row.ids.len()).sum(),
        labels: trained,
    })
}

/// A device has no tensor without numbers.
const fn no_labels(what: &'static str) -> LmError {
    LmError::Length {
        what,
        found: 0,
        expected: 1,
    }
}

/// Rows as a model reads them, and the tokens that are trained.
fn read(model: &Qwen2, rows: &[Vec<&SftRow>], pad: u32) -> Result<(Batch, Picks), LmError> {
    let mut woven: Vec<Vec<Text<'_>>> = Vec::with_capacity(rows.len());
    for row in rows {
        let texts = row.iter().map(|example| Text {
            ids: &example.ids,
            after: None,
        });
        woven.push(texts.collect());
    }
    let batch = Batch::woven(model.config(), &woven, pad)?;
    let mut chosen = Vec::with_capacity(batch.ids().len());
    for row in rows {
        let end = chosen.len() + batch.tokens();
        for example in row {
            chosen.extend((0..example.ids.len()).map(|at| at >= example.start.max(1)));
        }
        chosen.resize(end, false);
    }
    let picks = Picks::new(&batch, &chosen)?;
    Ok((batch, picks))
}
