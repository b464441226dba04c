//! Completions of a language model, in the dialect of vLLM's server (0.33).
//!
//! * [`protocol`]: the messages, which clients of such servers can use as well.
//! * [`chat`]: the messages of conversations, as in OpenAI's API.
//! * [`CompletionEngine`]: the model behind the routes, which the command hands to the server, so that
//!   the server knows no tensor library.
//! * `http`: the routes under `/v1/`.
//!
//! Adapters are served by name: a name keeps its weights until it is unloaded, however many others
//! are loaded meanwhile.

pub mod chat;
pub(crate) mod http;
pub mod protocol;

use std::path::Path;

use self::chat::{ChatMessage, ChatPrompt};
use self::protocol::{CompletionRequest, ModelEntry};

/// The largest number of completions that a request can ask for: prompts times `n`.
pub const MAX_COMPLETIONS: usize = 1024;

/// The reason why an engine does not do what a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// There is no model and no adapter of this name.
    #[error("The model `{0}` does not exist.")]
    UnknownModel(String),
    /// There is no adapter of this name.
    #[error("The lora adapter '{0}' cannot be found.")]
    UnknownAdapter(String),
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The engine failed for a reason of its own.
    #[error("{0}")]
    Failed(String),
}

impl From<String> for EngineError {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

/// A completion that an engine generated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generated {
    /// Tokens of the prompt, as the model read them.
    pub prompt_ids: Vec<u32>,
    /// Tokens of the completion, including the stop token.
    pub ids: Vec<u32>,
    /// Log-probabilities of the tokens at the request's temperature; at temperature 1 for greedy
    /// decoding. Filters and the repetition penalty do not change them.
    pub logps: Vec<f32>,
    /// `true` if a stop token ended the completion.
    pub stopped: bool,
    /// Text of the completion without its stop token.
    pub text: String,
}

/// A language model with adapters that are loaded and unloaded while it serves. Its methods can take
/// long and are called from several threads.
pub trait CompletionEngine: Send + Sync {
    /// Returns the base model, then the adapters.
    fn models(&self) -> Vec<ModelEntry>;

    /// Renders a conversation with the chat template of a model, up to where its answer begins.
    ///
    /// # Errors
    /// If there is no such model, it has no chat template, or the template rejects the conversation.
    fn chat_prompt(&self, model: &str, messages: &[ChatMessage])
    -> Result<ChatPrompt, EngineError>;

    /// Generates `n` completions of each prompt, prompt by prompt. The request has a seed.
    ///
    /// # Errors
    /// If there is no such model, a prompt or an option is invalid, or the model fails.
    fn complete(&self, request: &CompletionRequest) -> Result<Vec<Generated>, EngineError>;

    /// Loads an adapter from a folder in PEFT's format, under a name that is not in use.
    ///
    /// # Errors
    /// If the name is in use, there are too many adapters, the folder may not be read, or its adapter
    /// does not belong to the model.
    fn load_adapter(&self, name: &str, folder: &Path) -> Result<(), EngineError>;

    /// Unloads an adapter. Completions that are being generated with it are not disturbed.
    ///
    /// # Errors
    /// If there is no adapter of this name.
    fn unload_adapter(&self, name: &str) -> Result<(), EngineError>;
}
