//! `sentinel lm init`: creates a small new model and its tokenizer in Hugging Face's file formats.

mod chat_format;
mod tokenizer;

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, files};
use serde_json::json;

use super::{CausalLm, LmError, ModelConfig, ModelType, Tokenizer};
use chat_format::ChatFormat;

pub use tokenizer::NumberSplitting;

/// A set of matching model sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// About one million parameters; learns the output format of a world in minutes on two cores
    #[default]
    Tiny,
    /// About three million parameters
    Small,
}

/// Options of `sentinel lm init`.
#[derive(Clone, Debug, clap::Args)]
pub struct InitOptions {
    /// Set of matching sizes; the options below override single ones
    #[arg(long, value_enum, default_value_t)]
    pub preset: Preset,
    /// Family of the model: its layers, the names of its special tokens and its chat template
    #[arg(long, value_enum, default_value_t)]
    pub model_type: ModelType,
    /// Folder to write the model to
    #[arg(long, value_name = "DIR")]
    pub output_dir: PathBuf,
    /// Corpus of JSON lines that the tokenizer is trained on
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Largest number of tokens in the vocabulary
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub vocab_size: usize,
    /// Splitting of numbers in the tokenizer
    #[arg(long, value_enum, default_value_t)]
    pub numbers: NumberSplitting,
    /// Width of the residual stream
    #[arg(long, value_name = "N")]
    pub hidden_size: Option<usize>,
    /// Width of the feed-forward layers
    #[arg(long, value_name = "N")]
    pub intermediate_size: Option<usize>,
    /// Number of decoder layers
    #[arg(long, alias = "layers", value_name = "N")]
    pub num_hidden_layers: Option<usize>,
    /// Number of query heads
    #[arg(long, alias = "heads", value_name = "N")]
    pub num_attention_heads: Option<usize>,
    /// Number of key and value heads
    #[arg(long, alias = "kv-heads", value_name = "N")]
    pub num_key_value_heads: Option<usize>,
    /// Width of an attention head, of types qwen3 and llama [default: hidden size / query heads]
    #[arg(long, value_name = "N")]
    pub head_dim: Option<usize>,
    /// Longest sequence, in tokens
    #[arg(long, value_name = "N", default_value_t = 2048)]
    pub max_position_embeddings: usize,
    /// Seed of the initial weights
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// Overwrite an existing model
    #[arg(long, alias = "force")]
    pub overwrite_output_dir: bool,
}

impl InitOptions {
    /// Returns the options of the tiny preset.
    #[must_use]
    pub const fn tiny(output_dir: PathBuf) -> Self {
        Self {
            preset: Preset::Tiny,
            model_type: ModelType::Qwen2,
            output_dir,
            data: None,
            vocab_size: 1024,
            numbers: NumberSplitting::Whole,
            hidden_size: None,
            intermediate_size: None,
            num_hidden_layers: None,
            num_attention_heads: None,
            num_key_value_heads: None,
            head_dim: None,
            max_position_embeddings: 2048,
            seed: 0,
            overwrite_output_dir: false,
        }
    }

    /// Returns the shape of the model with a vocabulary of this size.
    ///
    /// # Errors
    /// If the sizes do not match.
    pub fn config(&self, vocabulary: usize) -> Result<ModelConfig, LmError> {
        // Hidden size, intermediate size, layers, query heads, key and value heads.
        let sizes = match self.preset {
            Preset::Tiny => [128, 384, 4, 4, 2],
            Preset::Small => [256, 768, 4, 4, 2],
        };
        let (hidden_size, heads) = (
            self.hidden_size.unwrap_or(sizes[0]),
            self.num_attention_heads.unwrap_or(sizes[3]),
        );
        let config = ModelConfig {
            model_type: self.model_type,
            vocab_size: vocabulary,
            hidden_size,
            intermediate_size: self.intermediate_size.unwrap_or(sizes[1]),
            num_hidden_layers: self.num_hidden_layers.unwrap_or(sizes[2]),
            num_attention_heads: heads,
            num_key_value_heads: self.num_key_value_heads.unwrap_or(sizes[4]),
            head_dim: (self.head_dim).filter(|width| width.checked_mul(heads) != Some(hidden_size)),
            max_position_embeddings: self.max_position_embeddings,
            rope_theta: 10_000.0,
            rope_scaling: None,
            // As in the family's checkpoints.
            rms_norm_eps: if self.model_type == ModelType::Llama {
                1e-5
            } else {
                1e-6
            },
            tie_word_embeddings: true,
            initializer_range: 0.02,
        };
        check_sizes(&config)?;
        Ok(config)
    }
}

/// Checks that the sizes of a new model match.
fn check_sizes(config: &ModelConfig) -> Result<(), LmError> {
    let (heads, pairs) = (config.num_attention_heads, config.num_key_value_heads);
    let layers = [config.num_hidden_layers, config.intermediate_size];
    let own_width = config.model_type != ModelType::Qwen2;
    let fits = match config.head_dim {
        // The widths of all heads together must not overflow.
        Some(width) => {
            own_width && width > 0 && width.is_multiple_of(2) && width.checked_mul(heads).is_some()
        }
        None => heads > 0 && config.hidden_size.is_multiple_of(heads.saturating_mul(2)),
    };
    if fits && heads > 0 && pairs > 0 && heads.is_multiple_of(pairs) && !layers.contains(&0) {
        return Ok(());
    }
    Err(LmError::Option {
        option: "sizes of the model",
        value: format!("{config:?}"),
        allowed: "such that 2 * heads divides the width, and kv_heads divides heads; head-dim is an even number, and \
                  type qwen2 has none",
    })
}

/// The size of a created model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreatedModel {
    /// Number of scalars in the model.
    pub parameters: usize,
    /// Number of tokens in the tokenizer.
    pub tokens: usize,
}

/// Creates a model and writes configuration, weights, and a tokenizer with the chat template of the
/// model's family.
///
/// The tokenizer is trained on `texts`; without any, its tokens are single bytes. `provenance`
/// records the origin of the model.
///
/// # Errors
/// If the sizes do not match, the folder is not empty, or a file cannot be written.
pub fn create(
    options: &InitOptions,
    texts: &[String],
    provenance: &Provenance,
) -> Result<CreatedModel, LmError> {
    let folder = &options.output_dir;
    if !options.overwrite_output_dir && files::is_occupied(folder, &[]) {
        return Err(Error::DirNotEmpty(folder.clone()).into());
    }
    let chat = ChatFormat::of_family(options.model_type);
    let trained = tokenizer::train(options.vocab_size, chat.special, options.numbers, texts)?;
    let tokens = trained.get_vocab_size(true);
    let config = options.config(tokens.next_multiple_of(8))?;
    let model = CausalLm::initialize(config, options.seed, &Device::flex())?;
    std::fs::create_dir_all(folder).map_err(|error| LmError::write(folder, error))?;
    let text = trained
        .to_string(true)
        .map_err(|error| LmError::Tokenizer {
            path: folder.join("tokenizer.json"),
            reason: error.to_string(),
        })?;
    write(folder, "tokenizer.json", &text)?;
    write(folder, "chat_template.jinja", chat.template)?;
    let tokenizer_config = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": chat.begin_of_text,
        "eos_token": chat.end_of_turn,
        "pad_token": chat.end_of_text,
        "unk_token": null,
        "add_prefix_space": false,
        "clean_up_tokenization_spaces": false,
        "model_max_length": options.max_position_embeddings,
        "chat_template": chat.template,
    });
    write(
        folder,
        "tokenizer_config.json",
        &format!("{tokenizer_config:#}\n"),
    )?;
    let id = |token: &str| trained.token_to_id(token);
    let mut generation = json!({
        "eos_token_id": [id(chat.end_of_turn), id(chat.end_of_text)],
        "pad_token_id": id(chat.end_of_text),
        "do_sample": true,
        "temperature": 1.0,
    });
    if let Some(token) = chat.begin_of_text {
        generation["bos_token_id"] = json!(id(token));
    }
    write(
        folder,
        "generation_config.json",
        &format!("{generation:#}\n"),
    )?;
    model.save_with(folder, chat.config_keys(id))?;
    // Check that the written files can be loaded.
    Tokenizer::load(folder)?.check_fits(model.config())?;
    // Last, so that a folder that has it is complete.
    provenance.write(folder)?;
    let sizes = model.parameters().into_iter();
    Ok(CreatedModel {
        parameters: sizes.map(|p| p.shape().iter().product::<usize>()).sum(),
        tokens,
    })
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), LmError> {
    Ok(files::write_atomic(&folder.join(name), text.as_bytes())?)
}
