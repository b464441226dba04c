//! A language model behind the completion routes of a server, with adapters by name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use sentinel_lm::{
    BaseCheck, CausalLm, ChatTemplateKwargs, GenerateOptions, GenerationDefaults, Generator,
    HubOptions, LmError, Lora, Message, PreparedLayers, Sampling, Tokenizer, find_model,
    load_tokenizer, tokenizer_folder,
};
use sentinel_server::completions::chat::{ChatMessage, ChatPrompt};
use sentinel_server::completions::protocol::{CompletionRequest, ModelEntry, Prompts};
use sentinel_server::completions::{CompletionEngine, EngineError, Generated};
use sentinel_tensor::device::DeviceName;

use crate::training::RunError;

/// Number of completions that are generated together.
const BATCH: usize = 64;

/// The limits of a [`ModelEngine`].
#[derive(Clone, Debug, Default)]
pub struct ModelEngineOptions {
    /// Name of the model in requests; `None` for that by which it is loaded.
    pub name: Option<String>,
    /// Folder below which adapters may be read; `None` to refuse all.
    pub adapter_root: Option<PathBuf>,
    /// Maximum number of adapters that are loaded at a time.
    pub max_adapters: usize,
}

/// A model that is served, with its layers once they were needed.
#[derive(Debug)]
struct ServedModel {
    model: CausalLm,
    tokenizer: Arc<Tokenizer>,
    defaults: GenerationDefaults,
    layers: OnceLock<PreparedLayers>,
}

impl ServedModel {
    const fn new(model: CausalLm, tokenizer: Arc<Tokenizer>, defaults: GenerationDefaults) -> Self {
        Self {
            model,
            tokenizer,
            defaults,
            layers: OnceLock::new(),
        }
    }

    fn generator(&self) -> Generator<'_> {
        let layers = self.layers.get_or_init(|| self.model.prepare_layers());
        Generator::from_layers(&self.model, layers.clone())
    }
}

/// An adapter that is served.
#[derive(Debug)]
struct ServedAdapter {
    /// The base model with the adapter. Its base weights are shared, its prepared layers are not.
    model: Arc<ServedModel>,
    folder: PathBuf,
}

/// A language model with adapters, each served by a name of its own.
#[derive(Debug)]
pub struct ModelEngine {
    base: Arc<ServedModel>,
    name: String,
    root: PathBuf,
    options: ModelEngineOptions,
    adapters: RwLock<BTreeMap<String, ServedAdapter>>,
    /// Warnings about files of the model, its tokenizer and its stop tokens.
    pub warnings: Vec<String>,
}

impl ModelEngine {
    /// Loads the model `asked`, a local folder or a name on the Hub.
    ///
    /// # Errors
    /// If it cannot be found or read, or the folder of adapters does not exist.
    pub fn load(asked: &str, mut options: ModelEngineOptions) -> Result<Self, RunError> {
        if let Some(root) = &mut options.adapter_root {
            *root = root
                .canonicalize()
                .map_err(|error| LmError::read(root, error))?;
        }
        let found = find_model(asked, &HubOptions::from_environment())?;
        let root = found.folder;
        let mut base = CausalLm::load(&root, &DeviceName::default().open()?)?;
        let kwargs = ChatTemplateKwargs::resolve(None, None, &root)?;
        let (tokenizer, defaults, _) = load_tokenizer(base.config(), &root, None, None, kwargs)?;
        // Every adapter is compared with it.
        base.keep_digest()?;
        Ok(Self {
            warnings: found
                .warning
                .into_iter()
                .chain(defaults.warnings(&tokenizer))
                .collect(),
            base: Arc::new(ServedModel::new(base, Arc::new(tokenizer), defaults)),
            name: options.name.clone().unwrap_or_else(|| asked.to_owned()),
            root,
            options,
            adapters: RwLock::default(),
        })
    }

    fn model(&self, name: &str) -> Result<Arc<ServedModel>, EngineError> {
        if name == self.name {
            return Ok(Arc::clone(&self.base));
        }
        let adapters = self.adapters.read().unwrap_or_else(PoisonError::into_inner);
        let found = adapters.get(name).map(|adapter| Arc::clone(&adapter.model));
        found.ok_or_else(|| EngineError::UnknownModel(name.chars().take(64).collect()))
    }

    /// Checks that an adapter of this name can be added to `adapters`.
    fn check_room(
        &self,
        adapters: &BTreeMap<String, ServedAdapter>,
        name: &str,
    ) -> Result<(), EngineError> {
        if name.is_empty() || name == self.name || adapters.contains_key(name) {
            let words =
                format!("The lora adapter '{name}' has already been loaded: use a new name");
            return Err(EngineError::Invalid(words));
        }
        let most = self.options.max_adapters;
        if adapters.len() >= most {
            let words = format!(
                "{most} adapters are loaded, which is the most: unload one with /v1/unload_lora_adapter, or start the \
                 server with a larger --max-adapters"
            );
            return Err(EngineError::Invalid(words));
        }
        Ok(())
    }

    /// Returns the real path of an adapter's folder, if it may be read.
    fn allowed_folder(&self, folder: &Path) -> Result<PathBuf, EngineError> {
        let shown = folder.display();
        let Some(root) = &self.options.adapter_root else {
            let words = "this server loads no adapters: start it with --adapter-root FOLDER";
            return Err(EngineError::Invalid(words.to_owned()));
        };
        let real = folder.canonicalize().ok();
        // The same words for a folder that does not exist, so that no one can probe the file system.
        real.filter(|real| real.starts_with(root)).ok_or_else(|| {
            let words = format!(
                "{shown} is not a folder below --adapter-root {}",
                root.display()
            );
            EngineError::Invalid(words)
        })
    }

    /// Loads the adapter in a folder, with its tokenizer and stop tokens.
    fn with_adapter(&self, folder: &Path) -> Result<ServedModel, LmError> {
        let mut model = CausalLm::clone(&self.base.model);
        Lora::load(&mut model, folder, BaseCheck::Weights)?;
        let of_tokenizer = tokenizer_folder(&self.root, Some(folder))?;
        let kwargs = ChatTemplateKwargs::resolve(None, Some(folder), &self.root)?;
        let of_base = ChatTemplateKwargs::resolve(None, None, &self.root)?;
        let tokenizer = if of_tokenizer == self.root && kwargs == of_base {
            Arc::clone(&self.base.tokenizer)
        } else {
            let config = model.config();
            Arc::new(load_tokenizer(config, &self.root, Some(folder), None, kwargs)?.0)
        };
        let defaults = GenerationDefaults::resolve(&self.root, Some(folder), &tokenizer, None)?;
        Ok(ServedModel::new(model, tokenizer, defaults))
    }
}

impl ServedModel {
    fn prompts(&self, prompts: &Prompts) -> Result<Vec<Vec<u32>>, LmError> {
        match prompts {
            Prompts::Ids(ids) => Ok(vec![ids.clone()]),
            Prompts::IdLists(all) => Ok(all.clone()),
            Prompts::Text(text) => Ok(vec![self.tokenizer.encode_prompt(text)?]),
            Prompts::Texts(all) => {
                let encoded = all.iter().map(|text| self.tokenizer.encode_prompt(text));
                encoded.collect()
            }
        }
    }

    fn generate_options(
        &self,
        request: &CompletionRequest,
    ) -> Result<GenerateOptions, EngineError> {
        let greedy = request.sampling.temperature == 0.0;
        let top_k = usize::try_from(request.sampling.top_k.max(0)).unwrap_or(0);
        if request.sampling.top_k < -1 {
            let words = format!(
                "top_k should be at least -1, not {}",
                request.sampling.top_k
            );
            return Err(EngineError::Invalid(words));
        }
        let first_row = u64::from(request.vllm_xargs.sentinel_first_row);
        let seed = request.sampling.seed.unwrap_or_default().cast_unsigned();
        let mut options = GenerateOptions::new(request.max_tokens, &self.defaults, 0);
        options.seed = seed.wrapping_sub(first_row);
        options.first_row = first_row;
        options.greedy = greedy;
        options.sampling = Sampling {
            temperature: if greedy {
                1.0
            } else {
                request.sampling.temperature
            },
            top_k,
            top_p: request.sampling.top_p,
            min_p: request.sampling.min_p,
            repetition_penalty: request.sampling.repetition_penalty,
        };
        options.stop_tokens.extend(&request.sampling.stop_token_ids);
        Ok(options)
    }

    fn generate(
        &self,
        request: &CompletionRequest,
        mut options: GenerateOptions,
    ) -> Result<Vec<Generated>, LmError> {
        let prompts = self.prompts(&request.prompt)?;
        let rows = prompts
            .iter()
            .flat_map(|prompt| std::iter::repeat_n(prompt.as_slice(), request.sampling.n));
        let rows: Vec<&[u32]> = rows.collect();
        let mut all = Vec::with_capacity(rows.len());
        let generator = self.generator();
        for rows in rows.chunks(BATCH) {
            let completions = generator.generate(rows, &options)?;
            options.first_row += rows.len() as u64;
            for (prompt, completion) in rows.iter().zip(completions) {
                let text = completion.text(&self.tokenizer)?;
                all.push(Generated {
                    prompt_ids: prompt.to_vec(),
                    ids: completion.ids,
                    logps: completion.logps,
                    stopped: completion.stopped,
                    text,
                });
            }
        }
        Ok(all)
    }
}

fn refused(error: &LmError) -> EngineError {
    match error {
        LmError::Device(_) => EngineError::Failed(error.to_string()),
        _ => EngineError::Invalid(error.to_string()),
    }
}

impl CompletionEngine for ModelEngine {
    fn models(&self) -> Vec<ModelEntry> {
        let entry = |id: &str, root: &Path| ModelEntry {
            id: id.to_owned(),
            object: "model".to_owned(),
            owned_by: "sentinel".to_owned(),
            root: Some(root.display().to_string()),
            ..ModelEntry::default()
        };
        let base = ModelEntry {
            max_model_len: Some(self.base.model.config().max_position_embeddings),
            ..entry(&self.name, &self.root)
        };
        let adapters = self.adapters.read().unwrap_or_else(PoisonError::into_inner);
        let adapters = adapters.iter().map(|(name, adapter)| ModelEntry {
            parent: Some(self.name.clone()),
            ..entry(name, &adapter.folder)
        });
        std::iter::once(base).chain(adapters).collect()
    }

    fn chat_prompt(
        &self,
        model: &str,
        messages: &[ChatMessage],
    ) -> Result<ChatPrompt, EngineError> {
        let model = self.model(model)?;
        let messages: Vec<Message> = (messages.iter())
            .map(|message| Message::new(&message.role, &message.text()))
            .collect();
        let encoded = model.tokenizer.encode_chat(&messages, None, true);
        Ok(ChatPrompt {
            ids: encoded.map_err(|error| refused(&error))?.ids,
            context: model.model.config().max_position_embeddings,
        })
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Vec<Generated>, EngineError> {
        let model = self.model(&request.model)?;
        let options = model.generate_options(request)?;
        let generated = model.generate(request, options);
        generated.map_err(|error| refused(&error))
    }

    fn load_adapter(&self, name: &str, folder: &Path) -> Result<(), EngineError> {
        let folder = self.allowed_folder(folder)?;
        let adapters = self.adapters.read().unwrap_or_else(PoisonError::into_inner);
        self.check_room(&adapters, name)?;
        drop(adapters);
        let model = self.with_adapter(&folder);
        let model = Arc::new(model.map_err(|error| refused(&error))?);
        let mut adapters = self
            .adapters
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // Another request may have been faster.
        self.check_room(&adapters, name)?;
        adapters.insert(name.to_owned(), ServedAdapter { model, folder });
        Ok(())
    }

    fn unload_adapter(&self, name: &str) -> Result<(), EngineError> {
        let mut adapters = self
            .adapters
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let removed = adapters.remove(name);
        let unknown = || EngineError::UnknownAdapter(name.chars().take(64).collect());
        removed.map(|_| ()).ok_or_else(unknown)
    }
}
