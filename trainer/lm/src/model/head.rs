//! Log-probabilities of selected tokens. The head is applied to these alone, because its output is
//! by far the widest tensor of a pass, and to a part of them at a time where it would be too large.

use std::ops::Range;

use burn::tensor::activation::log_softmax;
use burn::tensor::{IndexingUpdateOp, Tensor, TensorData};
use sentinel_lm_kernels::TokenStats;
use sentinel_tensor::numbers;

use super::{Batch, CausalLm, ForwardOptions, Segment, cube, fused};
use crate::LmError;
use crate::config::ModelConfig;
use crate::parameter::{Parameter, indices};

/// Largest number of logits that [`HeadOptions::default`] allows at a time, 128 MiB in f32.
pub const MAX_LOGITS: usize = 1 << 25;

/// Controls the computation of the entropy of each token's distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entropy {
    /// The entropy is not computed.
    Skipped,
    /// The entropy is computed without gradient.
    Value,
    /// The entropy is computed with gradient, for a bonus in the loss.
    Gradient,
}

/// The tokens of a batch to score, each predicted from the token before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenSelection {
    pub(super) before: Vec<usize>,
    pub(super) targets: Vec<u32>,
}

impl TokenSelection {
    /// Selects the tokens of `batch` where `chosen` (`[rows * tokens]`) is `true`. The first token
    /// of a sequence has no token before it and cannot be selected.
    ///
    /// # Errors
    /// If `chosen` has another length, or selects a first token or padding.
    pub fn new(batch: &Batch, chosen: &[bool]) -> Result<Self, LmError> {
        let length = |what, found| LmError::Length {
            what,
            found,
            expected: batch.ids().len(),
        };
        if chosen.len() != batch.ids().len() {
            return Err(length("the choice of tokens", chosen.len()));
        }
        let mut selection = Self::default();
        for (at, _) in chosen.iter().enumerate().filter(|(_, on)| **on) {
            let Some(before) = batch.previous_token(at) else {
                return Err(LmError::Option {
                    option: "selected tokens",
                    value: format!("row {} column {}", at / batch.tokens(), at % batch.tokens()),
                    allowed: "a token that follows another token of its sequence",
                });
            };
            selection.before.push(before);
            selection.targets.push(batch.ids()[at]);
        }
        Ok(selection)
    }

    /// Packs segments into a batch like [`Batch::packed`], and selects the tokens of each at whose index the
    /// function beside it returns `true`.
    ///
    /// # Errors
    /// Returns the errors of [`Batch::packed`] and [`TokenSelection::new`].
    pub fn packed(
        config: &ModelConfig,
        rows: &[Vec<(Segment<'_>, impl Fn(usize) -> bool)>],
        pad: u32,
    ) -> Result<(Batch, Self), LmError> {
        let packed: Vec<Vec<_>> = (rows.iter())
            .map(|row| row.iter().map(|(segment, _)| *segment).collect())
            .collect();
        let batch = Batch::packed(config, &packed, pad)?;
        let mut chosen = Vec::with_capacity(batch.ids().len());
        for row in rows {
            let end = chosen.len() + batch.tokens();
            for (segment, is_chosen) in row {
                chosen.extend((0..segment.ids.len()).map(is_chosen));
            }
            chosen.resize(end, false);
        }
        let selection = Self::new(&batch, &chosen)?;
        Ok((batch, selection))
    }

    /// Returns rows of a batch without the columns from `width` on, the selection of their tokens, and the places of
    /// these tokens in this selection.
    pub(super) fn select_rows(
        &self,
        batch: &Batch,
        rows: Range<usize>,
        width: usize,
    ) -> (Batch, Self, Range<usize>) {
        let row_of = |before: &usize| *before / batch.tokens();
        let selected = self.before.partition_point(|at| row_of(at) < rows.start)
            ..self.before.partition_point(|at| row_of(at) < rows.end);
        let before = self.before[selected.clone()].iter();
        let selection = Self {
            before: before
                .map(|at| (row_of(at) - rows.start) * width + at % batch.tokens())
                .collect(),
            targets: self.targets[selected.clone()].to_vec(),
        };
        (batch.select_rows(rows, width), selection, selected)
    }

    /// Returns the number of selected tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Returns `true` if no token is selected.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}

/// Log-probabilities of selected tokens, and statistics of the distributions they come from.
#[derive(Clone, Debug)]
pub struct TokenLogProbs {
    /// `[n]`: log-probability of each selected token.
    pub logps: Tensor<1>,
    /// `[n]`: entropy of each distribution, in nats, if requested.
    pub entropies: Option<Tensor<1>>,
    /// `[n]`: log-probability of the most likely token at each position, without gradient; present
    /// if the entropies are.
    pub max_logps: Option<Tensor<1>>,
}

/// Options of the head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadOptions {
    /// Divisor of the logits.
    pub temperature: f64,
    /// Controls the computation of the entropies.
    pub entropy: Entropy,
    /// Largest number of logits that exist at a time. If all selected tokens have more, the head is
    /// applied to a part of them at a time, and for gradients applied once more.
    pub max_logits: usize,
}

impl Default for HeadOptions {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            entropy: Entropy::Value,
            max_logits: MAX_LOGITS,
        }
    }
}

/// [`TokenLogProbs`] as numbers. Vectors that were not requested are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenValues {
    /// `[n]`: log-probability of each selected token.
    pub logps: Vec<f32>,
    /// `[n]`: entropy of each distribution, in nats.
    pub entropies: Vec<f32>,
    /// `[n]`: log-probability of the most likely token at each position.
    pub max_logps: Vec<f32>,
}

/// The derivatives of a loss with respect to [`TokenValues`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenGrads {
    /// `[n]`: with respect to the log-probabilities.
    pub logps: Vec<f32>,
    /// `[n]`: with respect to the entropies; `None` if the loss does not depend on them.
    pub entropies: Option<Vec<f32>>,
}

impl TokenValues {
    fn read(found: &TokenLogProbs) -> Result<Self, LmError> {
        let values = |tensor: &Option<Tensor<1>>| match tensor {
            Some(tensor) => numbers(tensor.clone()),
            None => Ok(Vec::new()),
        };
        Ok(Self {
            logps: numbers(found.logps.clone())?,
            entropies: values(&found.entropies)?,
            max_logps: values(&found.max_logps)?,
        })
    }

    pub(super) fn append(&mut self, mut more: Self) {
        self.logps.append(&mut more.logps);
        self.entropies.append(&mut more.entropies);
        self.max_logps.append(&mut more.max_logps);
    }
}

impl HeadOptions {
    /// Returns the options of each of `count` parts of a batch that are computed at once.
    pub(super) fn divided(self, count: usize) -> Self {
        Self {
            max_logits: self.max_logits / count.max(1),
            ..self
        }
    }

    /// Divides `count` tokens into parts with at most `max_logits` logits.
    pub(super) fn parts(&self, count: usize, vocabulary: usize) -> Vec<Range<usize>> {
        let size = (self.max_logits / vocabulary.max(1)).max(1);
        let starts = (0..count).step_by(size);
        starts.map(|start| start..count.min(start + size)).collect()
    }

    /// Returns the values of tokens from the logits before them, `[n, vocabulary]`.
    pub(super) fn values(
        &self,
        logits: Tensor<2>,
        targets: &[u32],
    ) -> Result<TokenValues, LmError> {
        let stats = if fused::applies(&logits) {
            fused::token_stats_of(logits, targets, self.temperature as f32)
        } else {
            let of_rows = indices(targets.iter().map(|id| *id as usize), &logits.device());
            match cube::token_stats(&logits, &of_rows, self.temperature) {
                Some(stats) => read_stats(stats)?,
                None => return TokenValues::read(&self.logprobs(logits, targets)),
            }
        };
        let mut found = TokenValues {
            logps: stats.iter().map(|stats| stats.logp).collect(),
            ..TokenValues::default()
        };
        if self.entropy != Entropy::Skipped {
            found.entropies = stats.iter().map(|stats| stats.entropy).collect();
            found.max_logps = stats.iter().map(|stats| stats.max_logp).collect();
        }
        Ok(found)
    }

    /// Returns the derivatives of a loss with respect to the logits of the tokens in `part`, from
    /// those with respect to the values of all tokens.
    pub(super) fn logit_grads(
        &self,
        logits: Tensor<2>,
        targets: &[u32],
        grads: &TokenGrads,
        part: Range<usize>,
    ) -> Result<Tensor<2>, LmError> {
        let short = || LmError::Length {
            what: "the derivatives of a loss",
            found: grads.logps.len(),
            expected: targets.len(),
        };
        let of_part = |all: &[f32]| all.get(part.clone()).map(<[f32]>::to_vec);
        let targets = &targets[part.clone()];
        let by_logp = of_part(&grads.logps).ok_or_else(short)?;
        let by_entropy = match &grads.entropies {
            Some(entropies) => Some(of_part(entropies).ok_or_else(short)?),
            None => None,
        };
        let temperature = self.temperature as f32;
        if fused::applies(&logits) {
            return Ok(fused::logit_grads(
                logits,
                targets,
                temperature,
                &by_logp,
                by_entropy.as_deref(),
            ));
        }
        let (count, device) = (targets.len(), logits.device());
        let flat =
            |values: Vec<f32>| Tensor::<1>::from_data(TensorData::new(values, [count]), &device);
        let (by_logp, by_entropy) = (flat(by_logp), by_entropy.map(flat));
        let places = indices(targets.iter().map(|id| *id as usize), &device);
        let entropy = by_entropy.as_ref();
        if let Some(grad) = cube::logit_grads(&logits, &places, self.temperature, &by_logp, entropy)
        {
            return Ok(grad);
        }
        let column = |of_rows: Tensor<1>| of_rows.reshape([count, 1]);
        let (by_logp, places) = (column(by_logp), places.reshape([count, 1]));
        let logps = log_softmax(logits.div_scalar(self.temperature), 1);
        let shares = logps.clone().exp();
        let mut grad = shares.clone() * by_logp.clone().neg();
        if let Some(by_entropy) = by_entropy {
            let entropy = (shares.clone() * logps.clone()).sum_dim(1).neg();
            grad = grad - shares * (logps + entropy) * column(by_entropy);
        }
        let grad = grad.scatter(1, places, by_logp, IndexingUpdateOp::Add);
        Ok(grad.div_scalar(self.temperature))
    }

    /// Returns the log-probabilities of tokens as tensors, from the logits before them.
    fn logprobs(&self, mut logits: Tensor<2>, targets: &[u32]) -> TokenLogProbs {
        let (count, device) = (targets.len(), logits.device().without_autodiff());
        let targets = indices(targets.iter().map(|id| *id as usize), &device);
        if (self.temperature - 1.0).abs() > 0.0 {
            logits = logits.div_scalar(self.temperature);
        }
        let all = log_softmax(logits, 1);
        let entropies = match self.entropy {
            Entropy::Skipped => None,
            Entropy::Value => Some(all.clone().without_autodiff()),
            Entropy::Gradient => Some(all.clone()),
        };
        let entropies = entropies.map(|all| {
            let sum = (all.clone().exp() * all).sum_dim(1).neg();
            sum.reshape([count])
        });
        let max_logps = (self.entropy != Entropy::Skipped)
            .then(|| all.clone().without_autodiff().max_dim(1).reshape([count]));
        let targets = targets.reshape([count, 1]);
        TokenLogProbs {
            max_logps,
            logps: all.gather(1, targets).reshape([count]),
            entropies,
        }
    }
}

/// Reads statistics of tokens, `[n, 3]`: log-probability, entropy, log-probability of the most likely token.
fn read_stats(stats: Tensor<2>) -> Result<Vec<TokenStats>, LmError> {
    let of_token = |row: &[f32]| TokenStats {
        logp: row[0],
        entropy: row[1],
        max_logp: row[2],
    };
    Ok(numbers(stats)?.chunks_exact(3).map(of_token).collect())
}

impl CausalLm {
    /// Returns the index of the parameter that is the head, if it is trained.
    pub(super) fn trained_head(&self, parameters: &[&Parameter]) -> Option<usize> {
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        let same = |parameter: &&Parameter| parameter.name() == head.name();
        head.is_trainable()
            .then(|| parameters.iter().position(same))?
    }

    /// Returns the values of selected tokens from the hidden states before them, `[n, hidden]`.
    pub(super) fn values_in_parts(
        &self,
        hidden: Tensor<2>,
        selection: &TokenSelection,
        head: HeadOptions,
        pass: ForwardOptions,
    ) -> Result<TokenValues, LmError> {
        let mut all = TokenValues::default();
        for part in head.parts(selection.len(), self.config.vocab_size) {
            let targets = &selection.targets[part.clone()];
            let logits = self.logits(hidden.clone().slice([part]), pass);
            all.append(head.values(logits, targets)?);
        }
        Ok(all)
    }

    /// Computes the log-probabilities of the selected tokens under the distribution at
    /// `temperature`. `hidden` is the result of [`Self::hidden_states`].
    ///
    /// # Panics
    /// If `selection` is empty, because tensors cannot be empty.
    #[must_use]
    pub fn token_logprobs(
        &self,
        hidden: Tensor<2>,
        selection: &TokenSelection,
        temperature: f64,
        entropy: Entropy,
        pass: ForwardOptions,
    ) -> TokenLogProbs {
        let before = indices(selection.before.iter().copied(), &self.device);
        let head = HeadOptions {
            temperature,
            entropy,
            ..HeadOptions::default()
        };
        head.logprobs(
            self.logits(hidden.select(0, before), pass),
            &selection.targets,
        )
    }
}
