//! The choice between a language model in this process and one behind an API.

use sentinel_base::provenance::Provenance;
use sentinel_lm::ChatTemplateKwargs;

use super::chat_endpoint::{ChatEndpoint, EndpointUsage};
use super::loaded_model::{GenerationArgs, LoadedModel};
use crate::training::RunError;

/// A language model that plays: in this process, or behind an API.
#[derive(Debug)]
pub(crate) enum TextModel {
    /// A model in this process.
    Local(Box<LoadedModel>),
    /// A model behind an API in OpenAI's dialect.
    Endpoint(Box<ChatEndpoint>),
}

/// Calls `$body` with an agent of the model, whichever kind it is.
macro_rules! with_agent {
    ($model:expr, $agent:ident => $body:expr) => {
        match $model {
            $crate::agent::text_model::TextModel::Local(model) => {
                #[allow(unused_mut)]
                let mut $agent = model.agent();
                $body
            }
            $crate::agent::text_model::TextModel::Endpoint(endpoint) => {
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
            Some(address) => Ok(Self::Endpoint(Box::new(ChatEndpoint::new(
                address, asked, options,
            )?))),
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
