//! The matrices that an adapter has for a model: its modules are chosen by PEFT's rules.

use super::LoraConfig;
use super::modules::{ModuleNames, matches};
use crate::lm::LmError;
use crate::lm::config::ModelConfig;
use crate::lm::weights::{BLOCK_LINEARS, EMBEDDING, HEAD, linear_shape};

/// A module of a model that an adapter can have matrices for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdaptedModule {
    /// A linear layer of a block, by its index in [`BLOCK_LINEARS`].
    Block { layer: usize, linear: usize },
    /// The embedding of tokens, before the first block.
    Embedding,
    /// The output head, after the last block.
    Head,
}

/// Names, as in PEFT's files, and shapes of the two matrices of a module.
pub(super) struct PairSpec {
    pub(super) module: AdaptedModule,
    pub(super) a: (String, [usize; 2]),
    pub(super) b: (String, [usize; 2]),
    /// Factor of the product of both.
    pub(super) scale: f64,
}

/// Start of all names in the weights of an adapter.
pub(super) const ADAPTER_PREFIX: &str = "base_model.model.";

impl LoraConfig {
    /// Returns the specifications of all pairs that the adapter has for a model, in the model's order.
    ///
    /// # Errors
    /// If a pattern is no regular expression, or no module of the model is chosen.
    pub(super) fn pairs(&self, model: &ModelConfig) -> Result<Vec<PairSpec>, LmError> {
        let wrong = |value| LmError::Option {
            option: "target modules",
            value,
            allowed: "names or a regular expression of the model's linear layers",
        };
        let mut pairs = Vec::new();
        for (module, name, shape) in modules(model) {
            if self.adapts(&name).map_err(wrong)? {
                pairs.push(self.pair(module, &name, shape).map_err(wrong)?);
            }
        }
        if pairs.is_empty() {
            return Err(wrong(format!("{:?} of no layer", self.targets)));
        }
        Ok(pairs)
    }

    /// Returns the number of scalars that the adapter has for a model.
    ///
    /// # Errors
    /// If a pattern is no regular expression, or no module of the model is chosen.
    pub fn parameter_count(&self, model: &ModelConfig) -> Result<usize, LmError> {
        let pairs = self.pairs(model)?;
        let sides = pairs.iter().flat_map(|pair| [pair.a.1, pair.b.1]);
        Ok(sides.map(|[rows, columns]| rows * columns).sum())
    }

    /// Returns whether the adapter has matrices for a module.
    fn adapts(&self, module: &str) -> Result<bool, String> {
        if self.excluded.contains(module)? {
            return Ok(false);
        }
        for saved in &self.modules_to_save {
            if matches(&format!(r"(.*\.)?{saved}(\..*)?"), module)? {
                return Ok(false);
            }
        }
        // PEFT selects layers among listed names only, not among those that match a pattern.
        let all_layers = self.layers.is_empty() || matches!(self.targets, ModuleNames::Pattern(_));
        let is_target = self.targets.contains(module)?;
        if !is_target || all_layers {
            return Ok(is_target);
        }
        let Some((before, layer)) = layer_of(module) else {
            return Ok(false);
        };
        let mut is_pattern = self.layers_pattern.is_empty();
        for pattern in &self.layers_pattern {
            is_pattern |= matches(&format!(r"(.*\.)?{pattern}"), before)?;
        }
        Ok(is_pattern && self.layers.contains(&layer))
    }

    fn pair(
        &self,
        module: AdaptedModule,
        name: &str,
        [outputs, inputs]: [usize; 2],
    ) -> Result<PairSpec, String> {
        let rank = pattern_value(&self.rank_pattern, name)?.unwrap_or(self.rank);
        let alpha = pattern_value(&self.alpha_pattern, name)?.unwrap_or(self.alpha);
        let (a, b) = match module {
            AdaptedModule::Embedding => ("lora_embedding_A", "lora_embedding_B"),
            AdaptedModule::Block { .. } | AdaptedModule::Head => ("lora_A.weight", "lora_B.weight"),
        };
        let divisor = rank as f64;
        Ok(PairSpec {
            module,
            a: (format!("{ADAPTER_PREFIX}{name}.{a}"), [rank, inputs]),
            b: (format!("{ADAPTER_PREFIX}{name}.{b}"), [outputs, rank]),
            scale: alpha / if self.rslora { divisor.sqrt() } else { divisor },
        })
    }
}

/// Returns the value of the first pattern that a module's name, or its end after a dot, matches.
fn pattern_value<T: Copy>(patterns: &[(String, T)], module: &str) -> Result<Option<T>, String> {
    for (pattern, value) in patterns {
        if matches(&format!(r"(.*\.)?(?:{pattern})"), module)? {
            return Ok(Some(*value));
        }
    }
    Ok(None)
}

/// Returns the number of a module's layer, and the name before it.
fn layer_of(module: &str) -> Option<(&str, usize)> {
    let (before, rest) = module.split_once(".layers.")?;
    let (layer, _) = rest.split_once('.')?;
    let before = module.get(..before.len() + ".layers".len())?;
    Some((before, layer.parse().ok()?))
}

/// Returns name and shape, `[outputs, inputs]`, of all modules that an adapter can have matrices for.
fn modules(model: &ModelConfig) -> impl Iterator<Item = (AdaptedModule, String, [usize; 2])> + '_ {
    let name = |tensor: &str| tensor.trim_end_matches(".weight").to_owned();
    let (vocabulary, hidden) = (model.vocab_size, model.hidden_size);
    let embedding = (
        AdaptedModule::Embedding,
        name(EMBEDDING),
        [hidden, vocabulary],
    );
    let head = (AdaptedModule::Head, name(HEAD), [vocabulary, hidden]);
    let blocks = (0..model.num_hidden_layers).flat_map(move |layer| {
        let linears = BLOCK_LINEARS.iter().enumerate();
        linears.map(move |(linear, (part, kind))| {
            let name = format!("model.layers.{layer}.{part}.{kind}");
            let module = AdaptedModule::Block { layer, linear };
            (module, name, linear_shape(model, kind))
        })
    });
    std::iter::once(embedding)
        .chain(blocks)
        .chain(std::iter::once(head))
}
