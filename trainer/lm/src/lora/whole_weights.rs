//! Changes of an adapter beside the linear layers of the blocks: whole weights, and the head and the
//! embedding. It is written into the base model.

use burn::tensor::DType;
use sentinel_tensor::matrix;

use super::LoraConfig;
use super::pairs::{ADAPTER_PREFIX, AdaptedModule, PairSpec};
use crate::parameter::Parameter;
use crate::weights::{EMBEDDING, HEAD, Tensors};
use crate::{CausalLm, LmError};

/// The weights of the base model that an adapter holds as a whole.
pub(super) struct WholeWeights {
    /// Those that PEFT's own module wraps, so that a tied weight is changed in one place only.
    wrapped: Vec<Parameter>,
    /// Those that PEFT writes into the base model.
    plain: Vec<Parameter>,
}

impl WholeWeights {
    /// Finds the weights among the tensors of an adapter that are no matrices.
    ///
    /// # Errors
    /// If a tensor has no place in the model.
    pub(super) fn find(
        model: &CausalLm,
        config: &LoraConfig,
        tensors: Tensors,
    ) -> Result<Self, String> {
        let mut found = Self {
            wrapped: Vec::new(),
            plain: Vec::new(),
        };
        for (name, tensor) in tensors {
            let no_place = || format!("tensor {name} has no place in the model");
            let base = name.strip_prefix(ADAPTER_PREFIX).ok_or_else(no_place)?;
            // Of a module that PEFT wraps, it can save the copy twice, and the original beside it.
            if base.contains(".modules_to_save.") {
                continue;
            }
            let original = [".base_layer.", ".original_module."];
            let wrapper = original.into_iter().find(|part| base.contains(part));
            let base = wrapper.map_or_else(|| base.to_owned(), |part| base.replace(part, "."));
            let (module, _) = base.rsplit_once('.').ok_or_else(no_place)?;
            let is_saved = wrapper.is_none() && is_saved(config, module);
            let is_table = [EMBEDDING, HEAD].contains(&base.as_str());
            let is_known = is_saved || is_table || wrapper.is_some() || base.ends_with(".bias");
            let shape = model
                .shape_of(&base)
                .filter(|_| is_known)
                .ok_or_else(no_place)?;
            if tensor.shape != shape {
                let found = tensor.shape;
                let resized = found.first().filter(|_| is_table).map(|tokens| {
                    format!(
                        ", so the vocabulary was resized before training: call resize_token_embeddings({tokens}) on the \
                         base model, merge with PEFT's merge_and_unload, and use the result as --model"
                    )
                });
                let resized = resized.unwrap_or_default();
                return Err(format!(
                    "tensor {name} has shape {found:?}, not {shape:?}{resized}"
                ));
            }
            let values = tensor.read().map_err(|error| error.to_string())?;
            let weight = Parameter::new(base, shape, values, &model.device);
            if is_saved {
                found.wrapped.push(weight);
            } else {
                found.plain.push(weight);
            }
        }
        // A tied head is in the list although the model has no weight for it.
        let own = model.parameters().into_iter().map(Parameter::name);
        for name in own.filter(|name| !name.contains(".lora_")).chain([HEAD]) {
            let (module, _) = name.rsplit_once('.').unwrap_or((name, ""));
            if is_saved(config, module) && !found.wrapped.iter().any(|w| w.name() == name) {
                return Err(format!("it lacks tensor {ADAPTER_PREFIX}{name}"));
            }
        }
        Ok(found)
    }

    /// Returns the name of a weight, if there is one.
    pub(super) fn first(&self) -> Option<String> {
        let all = self.wrapped.iter().chain(&self.plain);
        all.map(|weight| weight.name().to_owned()).next()
    }

    /// Replaces the weights of the base model.
    pub(super) fn write_into(self, model: &mut CausalLm) {
        for weight in self.plain {
            model.replace(weight);
        }
        for weight in self.wrapped {
            if [EMBEDDING, HEAD].contains(&weight.name()) {
                model.untie();
            }
            model.replace(weight);
        }
    }
}

/// Returns `true` if an adapter holds a module, or one that it is part of, as a whole. PEFT takes any end of a name
/// here, so that `norm` is an `input_layernorm` as well.
fn is_saved(config: &LoraConfig, module: &str) -> bool {
    let parents = module.match_indices('.').map(|(dot, _)| &module[..dot]);
    let mut modules = parents.chain([module]);
    let saved = &config.modules_to_save;
    modules.any(|module| saved.iter().any(|end| module.ends_with(end.as_str())))
}

/// Adds the product of an adapter's matrices to the head or the embedding.
pub(super) fn add_product(
    model: &mut CausalLm,
    pair: &PairSpec,
    tensors: &Tensors,
) -> Result<(), LmError> {
    model.untie();
    let read = |(name, shape): &(String, [usize; 2])| {
        let values = tensors.get(name).map(|tensor| tensor.read()).transpose()?;
        Ok::<_, LmError>(matrix(values.unwrap_or_default(), *shape, &model.device))
    };
    let product = read(&pair.b)?.matmul(read(&pair.a)?);
    let (product, weight) = match (pair.module, &mut model.head) {
        // The embedding maps a token to a row of its weight.
        (AdaptedModule::Embedding, _) | (_, None) => (product.transpose(), &mut model.embedding),
        (_, Some(head)) => (product, head),
    };
    let sum = weight.get(false).cast(DType::F32) + product.mul_scalar(pair.scale);
    weight.set(sum);
    Ok(())
}
