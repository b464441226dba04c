//! The configuration of a model, from the keys of a GGUF file.

use super::header::{Header, StoredTensor};
use super::metadata::Metadata;
use super::names::{OUTPUT, ROPE_FACTORS, gguf_name};
use super::source::unusable;
use super::tensor_type::TensorType;
use crate::LmError;
use crate::config::{Llama3RopeScaling, ModelConfig, ModelType, RopeScaling};
use crate::weights::EMBEDDING;

/// Returns the family of a model.
pub(super) fn family(metadata: &Metadata) -> Result<ModelType, LmError> {
    const KEY: &str = "general.architecture";
    let name = metadata.text(KEY)?.ok_or_else(|| metadata.missing(KEY))?;
    ModelType::from_name(name).ok_or_else(|| {
        let names = ModelType::ALL.map(ModelType::name).join(", ");
        metadata.invalid(
            KEY,
            &format!("is {name:?}"),
            &format!("only {names} can be imported"),
        )
    })
}

/// Returns the configuration of a model.
///
/// # Errors
/// If a key is missing or invalid, or asks for what the families do not have.
pub(super) fn config(header: &Header) -> Result<ModelConfig, LmError> {
    let metadata = &header.metadata;
    let model_type = family(metadata)?;
    let key = |name: &str| format!("{}.{name}", model_type.name());
    let layers = metadata.count(&key("block_count"))?;
    // Every layer has more than one tensor: this bounds what is made for each.
    if layers > header.tensors.len() {
        let problem = format!(
            "is {layers}, but the file has {} tensors",
            header.tensors.len()
        );
        return Err(metadata.invalid(&key("block_count"), &problem, "download the file again"));
    }
    let heads = metadata.count(&key("attention.head_count"))?;
    let hidden = metadata.count(&key("embedding_length"))?;
    let pairs = metadata.optional_count(&key("attention.head_count_kv"))?;
    let width = metadata.optional_count(&key("attention.key_length"))?;
    let longest = metadata.count(&key("context_length"))?;
    let epsilon = key("attention.layer_norm_rms_epsilon");
    let mut config = ModelConfig {
        model_type,
        vocab_size: vocabulary(header, &key("vocab_size"))?,
        hidden_size: hidden,
        intermediate_size: metadata.count(&key("feed_forward_length"))?,
        num_hidden_layers: layers,
        num_attention_heads: heads,
        num_key_value_heads: pairs.unwrap_or(heads),
        head_dim: width.filter(|width| width.checked_mul(heads) != Some(hidden)),
        max_position_embeddings: longest,
        rope_theta: positive(metadata, &key("rope.freq_base"))?.unwrap_or(10_000.0),
        rope_scaling: None,
        rms_norm_eps: positive(metadata, &epsilon)?.ok_or_else(|| metadata.missing(&epsilon))?,
        tie_word_embeddings: !header.tensors.contains_key(OUTPUT),
        initializer_range: 0.02,
    };
    check_heads(metadata, &config, &key)?;
    check_refused(metadata, &config, &key)?;
    config.rope_scaling = rope_scaling(header, &config, &key)?;
    Ok(config)
}

/// Returns the number of rows of the embedding.
fn vocabulary(header: &Header, key: &str) -> Result<usize, LmError> {
    let name = gguf_name(EMBEDDING).unwrap_or_default();
    let rows = header
        .tensors
        .get(&name)
        .and_then(|found| found.shape.first());
    let Some(rows) = rows.copied() else {
        return Err(unusable(
            header.metadata.path(),
            format!("it has no tensor {name:?}"),
        ));
    };
    match header.metadata.optional_count(key)? {
        Some(named) if named != rows => {
            let problem = format!("is {named}, but the embedding has {rows} rows");
            Err(header
                .metadata
                .invalid(key, &problem, "convert the model again"))
        }
        _ => Ok(rows),
    }
}

/// Returns a number above 0; `None` if there is no such key.
fn positive(metadata: &Metadata, key: &str) -> Result<Option<f64>, LmError> {
    match metadata.number(key)? {
        Some(number) if number <= 0.0 => {
            Err(metadata.invalid(key, &format!("is {number}"), "it must be above 0"))
        }
        number => Ok(number),
    }
}

/// Checks that the sizes of attention heads match.
fn check_heads(
    metadata: &Metadata,
    config: &ModelConfig,
    key: &impl Fn(&str) -> String,
) -> Result<(), LmError> {
    let (heads, pairs) = (config.num_attention_heads, config.num_key_value_heads);
    if !heads.is_multiple_of(pairs) {
        let problem = format!("is {pairs}, which does not divide {heads} attention heads");
        let key = key("attention.head_count_kv");
        return Err(metadata.invalid(&key, &problem, "convert the model again"));
    }
    let hidden = config.hidden_size;
    let (name, fits) = match config.head_dim {
        Some(width) => {
            let fits = width.is_multiple_of(2) && config.model_type != ModelType::Qwen2;
            ("attention.key_length", fits)
        }
        None => ("embedding_length", hidden.is_multiple_of(2 * heads)),
    };
    if fits {
        return Ok(());
    }
    let problem = match config.head_dim {
        Some(width) => format!("is {width}"),
        None => format!("is {hidden}, which does not give {heads} heads an even width"),
    };
    let remedy = "only heads of an even width, which of qwen2 is embedding_length / head_count, can be imported";
    Err(metadata.invalid(&key(name), &problem, remedy))
}

/// Rejects what the families do not have, or what is not implemented.
fn check_refused(
    metadata: &Metadata,
    config: &ModelConfig,
    key: &impl Fn(&str) -> String,
) -> Result<(), LmError> {
    let width = config.head_dim();
    for name in ["rope.dimension_count", "attention.value_length"] {
        let key = key(name);
        match metadata.optional_count(&key)? {
            Some(other) if other != width => {
                let remedy = format!(
                    "only heads that are alike and rotated as a whole ({width}) can be imported"
                );
                return Err(metadata.invalid(&key, &format!("is {other}"), &remedy));
            }
            _ => {}
        }
    }
    let window = key("attention.sliding_window");
    if let Some(size @ 1..) = metadata.integer(&window)?
        && size < config.max_position_embeddings as u64
    {
        let remedy = "only full attention can be imported";
        return Err(metadata.invalid(&window, &format!("is {size}"), remedy));
    }
    let experts = key("expert_count");
    if let Some(count @ 1..) = metadata.integer(&experts)? {
        let remedy = "only models without experts can be imported";
        return Err(metadata.invalid(&experts, &format!("is {count}"), remedy));
    }
    Ok(())
}

/// Returns the scaling of the rotary frequencies.
fn rope_scaling(
    header: &Header,
    config: &ModelConfig,
    key: &impl Fn(&str) -> String,
) -> Result<Option<RopeScaling>, LmError> {
    let metadata = &header.metadata;
    let (older, kind) = (key("rope.scale_linear"), key("rope.scaling.type"));
    let factor = match metadata.number(&key("rope.scaling.factor"))? {
        None => metadata.number(&older)?,
        factor => factor,
    };
    // As in llama.cpp, a factor without a type is linear; 0 stands for none.
    let scales = factor.is_some_and(|factor| factor != 0.0 && factor != 1.0);
    let default = if scales { "linear" } else { "none" };
    let factors = header.tensors.get(ROPE_FACTORS);
    match (metadata.text(&kind)?.unwrap_or(default), factor) {
        ("none", _) => {
            let scaling = factors.map(|factors| llama3_scaling(header, factors, config));
            scaling.transpose()
        }
        (other, _) if factors.is_some() => {
            let remedy = format!("only none can be imported beside {ROPE_FACTORS}");
            Err(metadata.invalid(&kind, &format!("is {other:?}"), &remedy))
        }
        ("linear", Some(factor)) if factor > 0.0 => Ok(Some(RopeScaling::Linear { factor })),
        (other, _) => {
            let remedy = "only none, and linear with a factor above 0, can be imported";
            Err(metadata.invalid(&kind, &format!("is {other:?}"), remedy))
        }
    }
}

/// Returns the scaling of Llama 3.1 and 3.2 by which the frequencies are divided by `factors`.
fn llama3_scaling(
    header: &Header,
    factors: &StoredTensor,
    config: &ModelConfig,
) -> Result<RopeScaling, LmError> {
    let path = header.metadata.path();
    let wrong = || {
        let reason = format!(
            "{ROPE_FACTORS} does not hold the factors of Llama 3.1 or 3.2, which are the only ones that can be imported"
        );
        unusable(path, reason)
    };
    if factors.kind != TensorType::F32 || factors.shape != [config.head_dim() / 2] {
        return Err(wrong());
    }
    let factors = factors.read(path)?;
    if !factors
        .iter()
        .all(|factor| factor.is_finite() && *factor >= 1.0)
    {
        return Err(wrong());
    }
    let scaling = RopeScaling::Llama3(Llama3RopeScaling {
        factor: factors.iter().copied().fold(1.0, f32::max).into(),
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 8192,
    });
    let mut scaled = config.clone();
    scaled.rope_scaling = Some(scaling);
    let pairs = config
        .rope_frequencies()
        .into_iter()
        .zip(scaled.rope_frequencies());
    let is_near = |((plain, scaled), factor): ((f32, f32), f32)| {
        (plain / factor - scaled).abs() <= 1e-5 * scaled.abs()
    };
    let found = pairs.zip(factors).all(is_near);
    if found { Ok(scaling) } else { Err(wrong()) }
}
