//! Agents of language models, in this process or behind an API, and the choice between them.

use sentinel_base::provenance::Provenance;
use sentinel_lm::ChatTemplateKwargs;
use sentinel_play::rollout::RolloutError;

use super::chat_endpoint::{ChatEndpoint, EndpointUsage};
use super::loaded_model::{GenerationArgs, LoadedModel};
use crate::training::RunError;

/// An agent of a language model. A [`TextAgent`](sentinel_play::rollout::TextAgent) cannot return errors; it returns
/// too few completions instead, which stops the rollout, and stores the error.
pub trait LanguageAgent {
    /// Returns the error of the last failed generation once.
    fn take_failure(&mut self) -> Option<RunError>;

    /// Returns the number of tokens that were generated so far.
    fn generated_tokens(&self) -> usize;

    /// Runs `play` with this agent. If the model failed, or the agent was asked to stop, this error
    /// replaces that of the rollout, which reports only a missing completion.
    ///
    /// # Errors
    /// The model's error, [`RolloutError::Interrupted`], or else the rollout's.
    fn run<T>(
        &mut self,
        play: impl FnOnce(&mut Self) -> Result<T, RolloutError>,
    ) -> Result<T, RunError>
    where
        Self: Sized,
    {
        let played = play(self);
        match self.take_failure() {
            Some(error) => Err(error),
            None => Ok(played?),
        }
    }
}

/// A language model that plays: in this process, or behind an API.
#[derive(Debug)]
pub(crate) enum TextModel {
    /// A model in this process.
    Local(Box<LoadedModel>),
    /// A model behind an API in OpenAI's dialect.
    Endpoint(ChatEndpoint),
}

/// Calls `$body` with an agent of the model, whichever kind it is.
macro_rules! with_agent {
    ($model:expr, $agent:ident => $body:expr) => {
        match $model {
            $crate::agent::TextModel::Local(model) => {
                #[allow(unused_mut)]
                let mut $agent = model.agent();
                $body
            }
            $crate::agent::TextModel::Endpoint(endpoint) => {
                #[allow(unused_mut)]
                let mut $agent = endpoint.agent();
                $body
            }
        }
    };
}

pub(crate) use with_agent;

impl TextModel {
    /// Loads the model `asked`, a local folder or a name on the Hub; or, with an endpoint among the options,
    /// prepares requests for the model of that name there.
    ///
    /// # Errors
    /// If it cannot be found or read, or an option is invalid.
    pub(crate) fn load(asked: &str, options: &GenerationArgs) -> Result<Self, RunError> {
        match &options.endpoint {
            Some(address) => Ok(Self::Endpoint(ChatEndpoint::new(address, asked, options)?)),
            None => Ok(Self::Local(Box::new(LoadedModel::load(asked, options)?))),
        }
    }

    /// Returns the name that rows of a replay record.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Local(model) => &model.name,
            Self::Endpoint(endpoint) => &endpoint.name,
        }
    }

    /// Returns the number of examples before every prompt.
    pub(crate) const fn example_count(&self) -> usize {
        match self {
            Self::Local(model) => model.example_count(),
            Self::Endpoint(endpoint) => endpoint.example_count(),
        }
    }

    /// Returns the origin of the model.
    pub(crate) const fn provenance(&self) -> &Provenance {
        match self {
            Self::Local(model) => &model.provenance,
            Self::Endpoint(endpoint) => &endpoint.provenance,
        }
    }

    /// Returns warnings about files of the model, or about options that the endpoint does not accept.
    pub(crate) fn warnings(&self) -> Vec<String> {
        match self {
            Self::Local(model) => model.warnings.clone(),
            Self::Endpoint(endpoint) => endpoint.warnings(),
        }
    }

    /// Returns the variables that are passed to the chat template; those of an endpoint are not known.
    pub(crate) fn chat_template_kwargs(&self) -> ChatTemplateKwargs {
        match self {
            Self::Local(model) => model.chat_template_kwargs.clone(),
            Self::Endpoint(_) => ChatTemplateKwargs::default(),
        }
    }

    /// Returns the address of the endpoint with what was used there; `None` for a model in this process.
    pub(crate) fn endpoint(&self) -> Option<(&str, EndpointUsage)> {
        match self {
            Self::Local(_) => None,
            Self::Endpoint(endpoint) => Some((endpoint.address(), endpoint.usage())),
        }
    }
}
