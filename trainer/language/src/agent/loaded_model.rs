//! A loaded language model with its generation options.

use std::path::{Path, PathBuf};

use sentinel_base::arg_parsers::{named_enum_parser, parse_number};
use sentinel_base::provenance::{Provenance, marked_name};
use sentinel_lm::{
    BaseCheck, CausalLm, ChatTemplateKwargs, FoundModel, GenerateOptions, HubOptions, Lora,
    Tokenizer, find_model, load_tokenizer,
};
use sentinel_tensor::device::DeviceName;

use super::examples::Examples;
use crate::agent::lm_agent::LmAgent;
use crate::training::RunError;

/// Options of an adapter and of generation.
///
/// Only given options are set, so that a command without a language model can reject them.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Language model")]
pub struct GenerationArgs {
    /// Ask the model of this name behind an API in OpenAI's dialect, such as http://127.0.0.1:8001/v1; its key is
    /// that of SENTINEL_API_KEY or OPENAI_API_KEY
    #[arg(long, value_name = "URL", requires = "model")]
    pub endpoint: Option<String>,
    /// LoRA adapter of the language model
    #[arg(long, alias = "adapter-dir", value_name = "DIR", requires = "model")]
    pub adapter: Option<PathBuf>,
    /// Sampling temperature; 0 selects greedy decoding [default: 0]
    #[arg(long, value_name = "T", requires = "model", value_parser = parse_number::<f64>)]
    pub temperature: Option<f64>,
    /// Longest completion, in tokens [default: 192]
    #[arg(long, value_name = "N", requires = "model")]
    pub max_completion_length: Option<usize>,
    /// Number of prompts completed together [default: 64; 8 requests to an endpoint]
    #[arg(long, alias = "batch-size", value_name = "N", requires = "model")]
    pub generation_batch_size: Option<usize>,
    /// Seed of the sampled tokens [default: 0]
    #[arg(long, value_name = "SEED", requires = "model")]
    pub seed: Option<u64>,
    /// Limit completions to the world's legal actions (constrained decoding); results are marked
    #[arg(long, requires = "model")]
    pub constrained: bool,
    /// Rows of a corpus whose questions and answers stand before every prompt (few-shot); results are
    /// marked
    #[arg(long, value_name = "FILE", requires = "model")]
    pub examples: Option<PathBuf>,
    /// Variables of the chat template as a JSON object, such as {"enable_thinking": false} [default:
    /// those that the adapter or the model was trained with]
    #[arg(long, value_name = "JSON", requires = "model")]
    pub chat_template_kwargs: Option<ChatTemplateKwargs>,
    /// Token that ends a completion, beside the stop tokens of the model
    #[arg(long, value_name = "TOKEN", requires = "model")]
    pub eos_token: Option<String>,
    /// Device that holds all tensors [default: cpu]
    #[arg(long, value_name = "DEVICE", requires = "model", value_parser = named_enum_parser::<DeviceName>())]
    pub device: Option<DeviceName>,
}

impl GenerationArgs {
    /// Returns the options with every default filled in.
    #[must_use]
    pub fn with_defaults(&self) -> Self {
        let is_local = self.endpoint.is_none();
        // Requests to an endpoint at a time; a model in this process computes a batch at once.
        let batch = if is_local { 64 } else { 8 };
        Self {
            endpoint: self.endpoint.clone(),
            adapter: self.adapter.clone(),
            temperature: Some(self.temperature.unwrap_or(0.0)),
            max_completion_length: Some(self.max_completion_length.unwrap_or(192)),
            generation_batch_size: Some(self.generation_batch_size.unwrap_or(batch)),
            seed: Some(self.seed.unwrap_or(0)),
            constrained: self.constrained,
            examples: self.examples.clone(),
            chat_template_kwargs: self.chat_template_kwargs.clone(),
            eos_token: self.eos_token.clone(),
            device: is_local.then(|| self.device.unwrap_or_default()),
        }
    }

    /// Returns the names and values of the options that were given, as on the command line.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, String)> {
        let path = |path: &PathBuf| path.display().to_string();
        let all = [
            ("endpoint", self.endpoint.clone()),
            ("adapter", self.adapter.as_ref().map(path)),
            ("temperature", self.temperature.map(|t| t.to_string())),
            (
                "max-completion-length",
                self.max_completion_length.map(|n| n.to_string()),
            ),
            (
                "generation-batch-size",
                self.generation_batch_size.map(|n| n.to_string()),
            ),
            ("seed", self.seed.map(|n| n.to_string())),
            ("constrained", self.constrained.then(String::new)),
            ("examples", self.examples.as_ref().map(path)),
            (
                "chat-template-kwargs",
                self.chat_template_kwargs.as_ref().map(ToString::to_string),
            ),
            ("eos-token", self.eos_token.clone()),
            ("device", self.device.map(|name| name.to_string())),
        ];
        all.into_iter()
            .filter_map(|(name, value)| value.map(|value| (name, value)))
    }

    /// Refuses the options that only a model in this process has.
    pub(super) fn refuse_options_of_local_models(&self) -> Result<(), RunError> {
        let given = [
            ("adapter", self.adapter.is_some()),
            ("constrained", self.constrained),
            ("chat-template-kwargs", self.chat_template_kwargs.is_some()),
            ("eos-token", self.eos_token.is_some()),
            ("device", self.device.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(RunError::option(name, "left out with --endpoint")),
            None => Ok(()),
        }
    }
}

/// A language model with its tokenizer and generation options.
#[derive(Debug)]
pub struct LoadedModel {
    model: CausalLm,
    tokenizer: Tokenizer,
    options: GenerateOptions,
    batch: usize,
    constrained: bool,
    /// Questions and answers before every prompt.
    examples: Examples,
    /// Variables that are passed to the chat template.
    pub chat_template_kwargs: ChatTemplateKwargs,
    /// Display name: the Hub name or the folder's, then `+` and the adapter's name; marked if
    /// decoding is constrained, examples stand before the prompts, or the model is a fallback.
    pub name: String,
    /// Origin of model and adapter.
    pub provenance: Provenance,
    /// Warnings about files of the model, its tokenizer and its stop tokens.
    pub warnings: Vec<String>,
}

impl LoadedModel {
    /// Loads the model `asked`, a local folder or a name on the Hub.
    ///
    /// # Errors
    /// If it cannot be found or read, the adapter belongs to another model, or there are too many
    /// examples.
    pub fn load(asked: &str, options: &GenerationArgs) -> Result<Self, RunError> {
        if options.endpoint.is_some() {
            let allowed = "left out: this command needs the model in this process";
            return Err(RunError::option("endpoint", allowed));
        }
        let said = options.with_defaults();
        let batch = said.generation_batch_size.unwrap_or_default();
        if batch == 0 {
            return Err(RunError::option("generation-batch-size", "at least 1"));
        }
        let FoundModel { folder, warning } = find_model(asked, &HubOptions::from_environment())?;
        let device = said.device.unwrap_or_default().open()?;
        let mut provenance = Provenance::new();
        provenance.add_model("model", &folder)?;
        let mut model = CausalLm::load(&folder, &device)?;
        let (adapter, eos_token) = (said.adapter.as_deref(), said.eos_token.as_deref());
        if let Some(adapter) = adapter {
            Lora::load(&mut model, adapter, BaseCheck::Weights)?;
            provenance.add_model("adapter", adapter)?;
        }
        let given = said.chat_template_kwargs.as_ref();
        let kwargs = ChatTemplateKwargs::resolve(given, adapter, &folder)?;
        let (tokenizer, defaults, _) =
            load_tokenizer(model.config(), &folder, adapter, eos_token, kwargs.clone())?;
        let examples = Examples::load(said.examples.as_deref(), &mut provenance)?;
        let warnings = warning.into_iter().chain(defaults.warnings(&tokenizer));
        let longest = said.max_completion_length.unwrap_or_default();
        let mut generate = GenerateOptions::new(longest, &defaults, said.seed.unwrap_or_default());
        match said.temperature {
            Some(temperature) if temperature != 0.0 => generate.sampling.temperature = temperature,
            _ => generate.greedy = true,
        }
        Ok(Self {
            model,
            tokenizer,
            options: generate,
            batch,
            constrained: said.constrained,
            chat_template_kwargs: kwargs,
            name: marked_name(
                &format!("{}{}", name(asked, &said), examples.suffix()),
                provenance.is_fallback(),
            ),
            examples,
            provenance,
            warnings: warnings.collect(),
        })
    }

    /// Returns the weights, with the adapter if one was named.
    #[must_use]
    pub const fn model(&self) -> &CausalLm {
        &self.model
    }

    /// Returns the token that pads rows.
    #[must_use]
    pub const fn pad_token(&self) -> u32 {
        self.options.pad_token
    }

    /// Creates an agent that completes prompts with this model.
    #[must_use]
    pub fn agent(&self) -> LmAgent<'_> {
        let options = self.options.clone();
        LmAgent::new(&self.model, &self.tokenizer, options, self.batch)
            .with_constrained_decoding(self.constrained)
            .with_examples(self.examples.clone())
    }

    /// Returns the number of examples before every prompt.
    #[must_use]
    pub const fn example_count(&self) -> usize {
        self.examples.count()
    }
}

/// Returns the policy name that rows of a replay record.
fn name(asked: &str, options: &GenerationArgs) -> String {
    let folder = |path: &Path| {
        // `canonicalize` also resolves `.` to a folder with a name.
        let whole = path.canonicalize().ok()?;
        Some(whole.file_name()?.to_string_lossy().into_owned())
    };
    let mut name = folder(Path::new(asked)).unwrap_or_else(|| asked.to_owned());
    if let Some(adapter) = options.adapter.as_deref().and_then(folder) {
        name.push('+');
        name.push_str(&adapter);
    }
    if options.constrained {
        name.push_str("+constrained");
    }
    name
}
