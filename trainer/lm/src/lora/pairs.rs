//! The matrices that an adapter has for a model: its modules are chosen by PEFT's rules.

use super::LoraConfig;
use super::modules::WrongKey;
use crate::LmError;
use crate::config::ModelConfig;
use crate::weights::{BLOCK_LINEARS, EMBEDDING, HEAD, linear_shape};

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
    pub(super) fn pairs(&self, model: &ModelConfig) -> Result<Vec<PairSpec>, WrongKey> {
        let rules = self.module_rules()?;
        let ties_head = self.ties_weights && model.tie_word_embeddings && rules.ties_head()?;
        let mut pairs = Vec::new();
        for (module, name, shape) in modules(model) {
            let is_tied = ties_head && module == AdaptedModule::Head;
            if !is_tied && !rules.adapts(&name)? {
                continue;
            }
            let of = |name: &str| Ok(rules.rank(name)?.unwrap_or(self.rank));
            let own = of(&name)?;
            let alpha = rules.alpha(&name)?.unwrap_or(self.alpha);
            let divisor = own as f64;
            let scale = alpha / if self.rslora { divisor.sqrt() } else { divisor };
            // A tied head has the matrices of the embedding, but a factor of its own.
            let rank = if is_tied {
                of(module_name(EMBEDDING))?
            } else {
                own
            };
            pairs.push(pair(module, &name, shape, rank, scale));
        }
        if pairs.is_empty() {
            return Err(WrongKey {
                key: "target_modules",
                problem:
                    ", which chooses no linear layer that the model has and the other keys leave"
                        .to_owned(),
                allowed: "names or a regular expression of the model's linear layers",
            });
        }
        Ok(pairs)
    }

    /// Returns the number of scalars that the adapter has for a model.
    ///
    /// # Errors
    /// If a pattern is no regular expression, or no module of the model is chosen.
    pub fn parameter_count(&self, model: &ModelConfig) -> Result<usize, LmError> {
        let pairs = self.pairs(model).map_err(|wrong| self.invalid(wrong))?;
        let sides = pairs.iter().flat_map(|pair| [pair.a.1, pair.b.1]);
        Ok(sides.map(|[rows, columns]| rows * columns).sum())
    }
}

fn pair(
    module: AdaptedModule,
    name: &str,
    [outputs, inputs]: [usize; 2],
    rank: usize,
    scale: f64,
) -> PairSpec {
    let (a, b) = match module {
        AdaptedModule::Embedding => ("lora_embedding_A", "lora_embedding_B"),
        AdaptedModule::Block { .. } | AdaptedModule::Head => ("lora_A.weight", "lora_B.weight"),
    };
    PairSpec {
        module,
        a: (format!("{ADAPTER_PREFIX}{name}.{a}"), [rank, inputs]),
        b: (format!("{ADAPTER_PREFIX}{name}.{b}"), [outputs, rank]),
        scale,
    }
}

fn module_name(tensor: &str) -> &str {
    tensor.trim_end_matches(".weight")
}

/// Returns name and shape, `[outputs, inputs]`, of all modules that an adapter can have matrices for.
fn modules(model: &ModelConfig) -> impl Iterator<Item = (AdaptedModule, String, [usize; 2])> + '_ {
    let name = |tensor: &str| module_name(tensor).to_owned();
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
