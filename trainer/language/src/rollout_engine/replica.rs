//! One server of an engine.

use std::path::Path;
use std::time::Duration;

use sentinel_http::{HttpClient, HttpConfig, HttpError, Request, Response, Token};
use sentinel_server::completions::protocol::{
    CompletionRequest, CompletionResponse, LoadAdapter, ModelEntry, ModelList, UnloadAdapter,
};
use serde::{Deserialize, Serialize};

use super::error::RolloutEngineError;

/// The variable with the token of the servers, as for `sentinel serve`.
const TOKEN: &str = "SENTINEL_TOKEN";
/// The number of attempts after the first.
const RETRIES: u32 = 3;
/// The largest answer: 1024 completions with their prompts.
const MAX_BYTES: u64 = 256 << 20;

/// A server that speaks vLLM's dialect.
#[derive(Clone, Debug)]
pub struct Replica {
    address: String,
    client: HttpClient,
}

impl Replica {
    /// Creates the client of the server at `address`, with a time limit for an answer. All attempts of
    /// a request together take at most twice as long.
    ///
    /// # Errors
    /// If the token in the environment is not one.
    pub fn new(address: &str, timeout: Duration) -> Result<Self, RolloutEngineError> {
        let token = Token::from_environment(TOKEN).map_err(|source| RolloutEngineError::Http {
            replica: address.to_owned(),
            source,
        })?;
        let client = HttpClient::new(HttpConfig {
            timeout,
            deadline: timeout * 2,
            retries: RETRIES,
            max_bytes: MAX_BYTES,
            ..HttpConfig::default()
        });
        Ok(Self {
            address: address.to_owned(),
            client: client.with_token(token),
        })
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the models and adapters of the server.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn models(&self) -> Result<Vec<ModelEntry>, RolloutEngineError> {
        let listed = || {
            let request = Request::get(&format!("{}/v1/models", self.address))?;
            let list: ModelList = self.client.send(&request)?.json()?;
            Ok(list.data)
        };
        listed().map_err(|source| self.failed(source))
    }

    /// Loads the adapter in `folder` under a new name.
    ///
    /// # Errors
    /// If the server does not answer, or refuses.
    pub fn load_adapter(&self, name: &str, folder: &Path) -> Result<(), RolloutEngineError> {
        let message = LoadAdapter {
            lora_name: name.to_owned(),
            lora_path: folder.display().to_string(),
            load_inplace: false,
        };
        self.post("load_lora_adapter", &message, false)?;
        Ok(())
    }

    /// Unloads an adapter.
    ///
    /// # Errors
    /// If the server does not answer, or has no such adapter.
    pub fn unload_adapter(&self, name: &str) -> Result<(), RolloutEngineError> {
        let lora_name = name.to_owned();
        self.post("unload_lora_adapter", &UnloadAdapter { lora_name }, false)?;
        Ok(())
    }

    /// Generates completions. The request is repeated after temporary failures, which is safe because
    /// its seed determines its samples.
    ///
    /// # Errors
    /// If the server does not answer, or refuses.
    pub fn complete(
        &self,
        request: &CompletionRequest,
    ) -> Result<CompletionResponse, RolloutEngineError> {
        let response = self.post("completions", request, true)?;
        response.json().map_err(|source| self.failed(source))
    }

    /// Returns the version of vLLM; `None` if the server is another program, which has no such route or answers
    /// something else there.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn version(&self) -> Result<Option<String>, RolloutEngineError> {
        #[derive(Deserialize)]
        struct Version {
            version: String,
        }
        let asked = || {
            let request = Request::get(&format!("{}/version", self.address))?;
            let version: Version = self.client.send(&request)?.json()?;
            Ok(version.version)
        };
        match asked() {
            Ok(version) => Ok(Some(version)),
            // Another program, or a proxy that offers only what a run needs.
            Err(HttpError::Json { .. }) => Ok(None),
            Err(error) if error.status().is_some() => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Moves the weights of the server to main memory, and forgets its cache.
    ///
    /// # Errors
    /// If the server does not answer, or cannot do it.
    pub fn sleep(&self) -> Result<(), RolloutEngineError> {
        self.command("sleep?level=1")
    }

    /// Moves the weights of the server back to its GPU.
    ///
    /// # Errors
    /// If the server does not answer, or cannot do it.
    pub fn wake_up(&self) -> Result<(), RolloutEngineError> {
        self.command("wake_up")
    }

    /// Calls a route of vLLM's development mode. Both can be repeated.
    fn command(&self, route: &str) -> Result<(), RolloutEngineError> {
        let sent = || {
            let request = Request::post(&format!("{}/{route}", self.address))?;
            self.client.send(&request.repeatable())
        };
        match sent() {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.status(), Some(404 | 405)) => {
                Err(RolloutEngineError::Unfit {
                    replica: self.address.clone(),
                    reason: "it cannot sleep: leave out --rollout-sleep, or start vLLM as its documentation says for sleep \
                             mode (VLLM_SERVER_DEV_MODE=1, --enable-sleep-mode)"
                        .to_owned(),
                })
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    fn post(
        &self,
        route: &str,
        message: &impl Serialize,
        repeatable: bool,
    ) -> Result<Response, RolloutEngineError> {
        let sent = || {
            let request = Request::post(&format!("{}/v1/{route}", self.address))?.json(message)?;
            let request = if repeatable {
                request.repeatable()
            } else {
                request
            };
            self.client.send(&request)
        };
        sent().map_err(|source| self.failed(source))
    }

    fn failed(&self, source: HttpError) -> RolloutEngineError {
        RolloutEngineError::Http {
            replica: self.address.clone(),
            source,
        }
    }

    /// Returns the error of an answer that cannot be trained on.
    pub(super) fn answer_error(&self, reason: String) -> RolloutEngineError {
        RolloutEngineError::Answer {
            replica: self.address.clone(),
            reason,
        }
    }
}
