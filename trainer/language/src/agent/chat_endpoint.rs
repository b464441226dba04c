//! A language model behind an API in OpenAI's dialect, which plays by chat completions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sentinel_base::provenance::Provenance;
use sentinel_http::{HttpClient, HttpConfig, HttpError, Request, Token};
use sentinel_play::rollout::{GenerationRequest, RolloutError, TextAgent};
use sentinel_policy::text::TextWorld;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::endpoint_error::EndpointError;
use super::examples::Examples;
use super::language_agent::LanguageAgent;
use super::loaded_model::GenerationArgs;
use crate::requests_at_once::send_at_once;
use crate::training::RunError;

/// The variables that hold a key of the API; the first that is set counts.
const KEYS: [&str; 2] = ["SENTINEL_API_KEY", "OPENAI_API_KEY"];
/// Path of the route below the address of an API.
const ROUTE: &str = "/chat/completions";
/// Time limit of one attempt.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Time limit of a request with all its attempts and pauses.
const DEADLINE: Duration = Duration::from_secs(1800);
/// Words of an answer that refuses a field, whatever its value.
const UNSUPPORTED: [&str; 5] = [
    "unsupported",
    "not supported",
    "unrecognized",
    "unknown",
    "not permitted",
];
/// Number of times that an answer without a completion is asked for again.
const REPEATS: usize = 2;
/// Largest number of characters of an answer in a message.
const SHOWN: usize = 200;

/// The completions of an endpoint, and their tokens as it counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EndpointUsage {
    /// Number of completions that the endpoint generated.
    pub completions: usize,
    /// Tokens of prompts, as the endpoint counts them; 0 if it does not.
    pub prompt_tokens: usize,
    /// Tokens of completions, as the endpoint counts them; 0 if it does not.
    pub completion_tokens: usize,
}

/// Fields that an endpoint does not accept, or calls otherwise.
#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    max_tokens: bool,
    temperature: bool,
    seed: bool,
}

/// An API in OpenAI's dialect with the model that is asked.
#[derive(Debug)]
pub(crate) struct ChatEndpoint {
    /// Address of the route for chats.
    address: String,
    /// Name of the model there.
    model: String,
    /// Display name: that of the model, marked if examples stand before the prompts.
    pub(crate) name: String,
    client: HttpClient,
    has_key: bool,
    temperature: f64,
    /// `true` if the temperature was chosen, so that the model must not play with another one.
    must_have_temperature: bool,
    max_tokens: usize,
    seed: u64,
    in_flight: usize,
    examples: Examples,
    /// Digests of the files that were read.
    pub(crate) provenance: Provenance,
    refused: Mutex<Refused>,
    usage: Mutex<EndpointUsage>,
}

/// The part of an answer that is read.
#[derive(Deserialize)]
struct Answer {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Reply,
}

#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Map<String, Value>>),
}

#[derive(Default, Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: usize,
    #[serde(default)]
    completion_tokens: usize,
}

/// Returns the text of the first choice. A refusal, or thoughts that took all tokens, are an empty text.
fn text(choices: Vec<Choice>) -> Option<String> {
    let part = |part: &Map<String, Value>| Some(part.get("text")?.as_str()?.to_owned());
    Some(match choices.into_iter().next()?.message.content {
        Some(Content::Text(text)) => text,
        Some(Content::Parts(parts)) => parts.iter().filter_map(part).collect(),
        None => String::new(),
    })
}

impl ChatEndpoint {
    /// Creates the client of the API at `address`, such as `http://127.0.0.1:8001/v1`, for the model that has
    /// the name `model` there, with the key in the environment. Nothing is sent yet.
    ///
    /// # Errors
    /// If the address, an option or the key is invalid, or the examples cannot be read.
    pub(crate) fn new(
        address: &str,
        model: &str,
        options: &GenerationArgs,
    ) -> Result<Self, RunError> {
        let mut key = None;
        for name in KEYS {
            if key.is_none() {
                let read = Token::from_environment(name);
                key = read.map_err(|source| EndpointError::Http { source, hint: "" })?;
            }
        }
        Self::with_key(address, model, options, key)
    }

    pub(super) fn with_key(
        address: &str,
        model: &str,
        options: &GenerationArgs,
        key: Option<Token>,
    ) -> Result<Self, RunError> {
        options.refuse_options_of_local_models()?;
        // A query may hold a key, and the address is shown.
        if address.contains(['?', '#']) {
            let allowed = "an address without a query; a key is read from SENTINEL_API_KEY";
            return Err(RunError::option("endpoint", allowed));
        }
        let address = address.trim_end_matches('/');
        let address = format!("{}{ROUTE}", address.strip_suffix(ROUTE).unwrap_or(address));
        Request::post(&address).map_err(|source| EndpointError::Http { source, hint: "" })?;
        let filled = options.with_defaults();
        let in_flight = filled.generation_batch_size.unwrap_or_default();
        if in_flight == 0 {
            return Err(RunError::option("generation-batch-size", "at least 1"));
        }
        let mut provenance = Provenance::new();
        let examples = Examples::load(options.examples.as_deref(), &mut provenance)?;
        let client = HttpClient::new(HttpConfig {
            timeout: TIMEOUT,
            deadline: DEADLINE,
            ..HttpConfig::default()
        });
        Ok(Self {
            address,
            model: model.to_owned(),
            name: format!("{model}{}", examples.suffix()),
            has_key: key.is_some(),
            client: client.with_token(key),
            temperature: filled.temperature.unwrap_or_default(),
            must_have_temperature: options.temperature.is_some(),
            max_tokens: filled.max_completion_length.unwrap_or_default(),
            seed: filled.seed.unwrap_or_default(),
            in_flight,
            examples,
            provenance,
            refused: Mutex::default(),
            usage: Mutex::default(),
        })
    }

    /// Returns the number of examples before every prompt.
    pub(crate) const fn example_count(&self) -> usize {
        self.examples.count()
    }

    /// Returns the address of the route, for messages and provenance.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns what was used so far.
    pub(crate) fn usage(&self) -> EndpointUsage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns descriptions of fields that the endpoint does not accept, so that they were left out.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let refused = *self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let left_out = |field: &str| format!("{} refuses {field}: it was left out", self.address);
        let temperature = refused.temperature.then(|| left_out("temperature"));
        let seed = refused.seed.then(|| left_out("seed"));
        temperature.into_iter().chain(seed).collect()
    }

    /// Creates an agent that completes prompts with this model.
    pub(crate) const fn agent(&self) -> EndpointAgent<'_> {
        EndpointAgent {
            endpoint: self,
            stop: None,
            failure: None,
        }
    }

    fn body(&self, prompt: &str, refused: Refused) -> Value {
        let mut body = json!({"model": self.model, "messages": self.examples.json(prompt)});
        // Newer models of OpenAI know only the second name, and many servers only the first.
        let length = if refused.max_tokens {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        body[length] = json!(self.max_tokens);
        if !refused.temperature {
            body["temperature"] = json!(self.temperature);
        }
        let samples = self.temperature != 0.0 || refused.temperature;
        if samples && !refused.seed {
            body["seed"] = json!(self.seed);
        }
        body
    }

    /// Completes one prompt.
    ///
    /// # Errors
    /// If there is no completion, also after repetitions.
    pub(crate) fn complete(&self, prompt: &str) -> Result<String, EndpointError> {
        let mut repeats = 0;
        loop {
            let refused = *self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            let body = self.body(prompt, refused);
            let reason = match self.send(&body) {
                Ok(answer) => {
                    let used = answer.usage.unwrap_or_default();
                    match text(answer.choices) {
                        Some(text) => {
                            let mut usage =
                                self.usage.lock().unwrap_or_else(PoisonError::into_inner);
                            usage.completions += 1;
                            usage.prompt_tokens += used.prompt_tokens;
                            usage.completion_tokens += used.completion_tokens;
                            return Ok(text);
                        }
                        None => "the answer has no choice".to_owned(),
                    }
                }
                Err(HttpError::Json { reason, .. }) => {
                    format!("the answer is not that of a chat: {reason}")
                }
                Err(source) => {
                    if self.remember_refusal(&source, &body) {
                        continue;
                    }
                    let hint = match source.status() {
                        Some(401 | 403) if !self.has_key => {
                            " (no key was sent: set SENTINEL_API_KEY or OPENAI_API_KEY)"
                        }
                        Some(404) => " (the address of OpenAI's dialect mostly ends with /v1)",
                        _ => "",
                    };
                    return Err(EndpointError::Http { source, hint });
                }
            };
            if repeats == REPEATS {
                return Err(EndpointError::Answer {
                    address: self.address.clone(),
                    reason: reason.chars().take(SHOWN).collect(),
                });
            }
            repeats += 1;
        }
    }

    fn send(&self, body: &Value) -> Result<Answer, HttpError> {
        let request = Request::post(&self.address)?.json(body)?.repeatable();
        self.client.send(&request)?.json()
    }

    /// Remembers a field that the endpoint does not know. Returns `true` if the request can be sent without it: a
    /// field whose value is refused, and a temperature that was chosen, stay.
    fn remember_refusal(&self, error: &HttpError, sent: &Value) -> bool {
        let HttpError::Status {
            status: 400 | 422,
            body,
            ..
        } = error
        else {
            return false;
        };
        let words = body.to_lowercase();
        if !UNSUPPORTED.iter().any(|word| words.contains(word)) {
            return false;
        }
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let names = |field: &str| {
            let is_chosen = field == "temperature" && self.must_have_temperature;
            !is_chosen && sent.get(field).is_some() && words.contains(field)
        };
        let Refused {
            max_tokens,
            temperature,
            seed,
        } = &mut *refused;
        let fields = [
            ("max_tokens", max_tokens),
            ("temperature", temperature),
            ("seed", seed),
        ];
        match fields.into_iter().find(|(name, _)| names(name)) {
            Some((_, known)) => {
                *known = true;
                true
            }
            None => false,
        }
    }
}

/// An endpoint as the generator of a rollout.
#[derive(Debug)]
pub(crate) struct EndpointAgent<'a> {
    endpoint: &'a ChatEndpoint,
    /// Request to stop, which is checked before each request.
    stop: Option<&'a AtomicBool>,
    /// Error of the first failed request.
    failure: Option<RunError>,
}

impl<'a> EndpointAgent<'a> {
    /// Sends no further request once `stop` is set.
    pub(crate) const fn with_stop(mut self, stop: &'a AtomicBool) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Completes prompts, several at a time, until one fails.
    pub(super) fn answer(&self, prompts: &[String]) -> Result<Vec<String>, RunError> {
        let is_stopped = || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        send_at_once(prompts.len(), self.endpoint.in_flight, |_, request| {
            if is_stopped() {
                return Err(RolloutError::Interrupted.into());
            }
            Ok(self.endpoint.complete(&prompts[request])?)
        })
    }
}

impl LanguageAgent for EndpointAgent<'_> {
    fn take_failure(&mut self) -> Option<RunError> {
        self.failure.take()
    }

    fn generated_tokens(&self) -> usize {
        self.endpoint.usage().completion_tokens
    }
}

impl<W: TextWorld> TextAgent<W> for EndpointAgent<'_> {
    fn generate(
        &mut self,
        prompts: &[String],
        _requests: &[GenerationRequest<'_, W>],
    ) -> Vec<String> {
        match self.answer(prompts) {
            Ok(texts) => texts,
            Err(error) => {
                self.failure = Some(error);
                Vec::new()
            }
        }
    }
}
