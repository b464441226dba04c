//! The messages of the completion routes, with the names of vLLM's server. Fields that a server of
//! another version adds are ignored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Fields of vLLM's requests that this server does not implement. Only a value that switches them off
/// is accepted.
pub(super) const UNSUPPORTED: [&str; 22] = [
    "allowed_token_ids",
    "bad_words",
    "best_of",
    "echo",
    "frequency_penalty",
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_regex",
    "ignore_eos",
    "logit_bias",
    "min_tokens",
    "presence_penalty",
    "prompt_embeds",
    "prompt_logprobs",
    "response_format",
    "stop",
    "stream",
    "structured_outputs",
    "suffix",
    "truncate_prompt_tokens",
    "use_beam_search",
];

/// The prompts of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Prompts {
    /// One prompt as tokens.
    Ids(Vec<u32>),
    /// Several prompts as tokens.
    IdLists(Vec<Vec<u32>>),
    /// One prompt as text.
    Text(String),
    /// Several prompts as texts.
    Texts(Vec<String>),
}

impl Prompts {
    /// Returns the number of prompts.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Ids(_) | Self::Text(_) => 1,
            Self::IdLists(all) => all.len(),
            Self::Texts(all) => all.len(),
        }
    }

    /// Returns `true` if there is no prompt.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Arguments of this server that vLLM's requests carry for extensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtraArgs {
    /// Index of the request's first completion in the client's batch. Completion `k` is sampled with
    /// the random stream `sentinel_first_row + k` of the seed `seed - sentinel_first_row`, so that the
    /// division of a batch into requests does not change its samples.
    #[serde(default)]
    pub sentinel_first_row: u32,
}

/// The request of `POST /v1/completions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionRequest {
    /// Name of the model or adapter.
    pub model: String,
    /// Prompts to complete, as text or tokens.
    pub prompt: Prompts,
    /// Length of the longest completion, in tokens.
    #[serde(default = "max_tokens")]
    pub max_tokens: usize,
    /// Number of completions, and how they are sampled.
    #[serde(flatten)]
    pub sampling: SamplingParams,
    /// `0` to return the log-probability of each token; `None` for none.
    #[serde(default)]
    pub logprobs: Option<u32>,
    /// `true` to return the tokens of prompts and completions.
    #[serde(default)]
    pub return_token_ids: bool,
    /// Arguments of this server beyond vLLM's.
    #[serde(default)]
    pub vllm_xargs: ExtraArgs,
}

/// The number of completions of a prompt, and how they are sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SamplingParams {
    /// Number of completions of each prompt.
    #[serde(default = "one")]
    pub n: usize,
    /// Divisor of the logits; 0 selects greedy decoding.
    #[serde(default = "neutral")]
    pub temperature: f64,
    /// Probability mass of the most likely tokens that are kept; 1 keeps all.
    #[serde(default = "neutral")]
    pub top_p: f64,
    /// Number of most likely tokens that are kept; 0 and -1 keep all.
    #[serde(default)]
    pub top_k: i64,
    /// Lowest probability that is kept, relative to the most likely token; 0 keeps all.
    #[serde(default)]
    pub min_p: f64,
    /// Penalty for tokens that occur in the text; 1 has no effect.
    #[serde(default = "neutral")]
    pub repetition_penalty: f64,
    /// Seed of the sampled tokens; completion `k` of the request has the random stream `k` of it. A
    /// random one if it is left out. (In vLLM completion `k` of a prompt has the seed `seed + k`.)
    #[serde(default)]
    pub seed: Option<i64>,
    /// Tokens that end a completion, beside those of the model.
    #[serde(default)]
    pub stop_token_ids: Vec<u32>,
}

impl Default for SamplingParams {
    fn default() -> Self {
        Self {
            n: one(),
            temperature: neutral(),
            top_p: neutral(),
            top_k: 0,
            min_p: 0.0,
            repetition_penalty: neutral(),
            seed: None,
            stop_token_ids: Vec::new(),
        }
    }
}

const fn one() -> usize {
    1
}

const fn max_tokens() -> usize {
    16
}

const fn neutral() -> f64 {
    1.0
}

impl CompletionRequest {
    /// Reads a request. A field that is null counts as left out.
    ///
    /// # Errors
    /// Returns the reason why it is refused: a field that is missing, has a wrong type or asks for
    /// something that this server does not implement.
    pub fn from_fields(mut fields: Map<String, Value>) -> Result<Self, String> {
        check_supported(&mut fields, &UNSUPPORTED)?;
        if let Some(prompt) = fields.get("prompt")
            && Prompts::deserialize(prompt).is_err()
        {
            let forms = "a text, a list of texts, a list of token ids or a list of such lists";
            return Err(format!("prompt should be {forms}"));
        }
        serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
    }

    /// Returns the number of completions that are asked for.
    #[must_use]
    pub const fn completions(&self) -> usize {
        self.prompt.len().saturating_mul(self.sampling.n)
    }
}

/// Removes fields that are null, and refuses those of `unsupported` that are not off.
///
/// # Errors
/// Returns the reason with the name of the field.
pub(super) fn check_supported(
    fields: &mut Map<String, Value>,
    unsupported: &[&str],
) -> Result<(), String> {
    fields.retain(|_, value| !value.is_null());
    let is_on = |name: &&&str| fields.get(**name).is_some_and(|value| !is_off(name, value));
    match unsupported.iter().find(is_on) {
        Some(name) => Err(format!(
            "{name} is not supported by this server: leave it out"
        )),
        None => Ok(()),
    }
}

/// Returns `true` for a value that switches the field `name` off.
fn is_off(name: &str, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        // 0 is on for these: the log-probabilities of the prompt's own tokens, and no prompt at all.
        Value::Number(_) if ["prompt_logprobs", "truncate_prompt_tokens"].contains(&name) => false,
        Value::Number(number) if name == "best_of" => number.as_f64() == Some(1.0),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) if name == "response_format" => {
            fields.get("type").is_none_or(|kind| kind == "text")
        }
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    }
}

/// The answer of `POST /v1/completions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionResponse {
    /// Id of the answer.
    #[serde(default)]
    pub id: String,
    /// Kind of the answer: `text_completion`.
    #[serde(default)]
    pub object: String,
    /// Time of the answer, in seconds since 1970.
    #[serde(default)]
    pub created: u64,
    /// Name of the model or adapter that generated the completions.
    pub model: String,
    /// The completions, prompt by prompt.
    pub choices: Vec<Choice>,
    /// Numbers of tokens read and generated.
    #[serde(default)]
    pub usage: Usage,
}

/// A completion of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// Index of the completion: that of its prompt times `n`, plus that among those of the prompt.
    pub index: usize,
    /// Text without the stop token.
    #[serde(default)]
    pub text: String,
    /// Log-probabilities of the tokens, if the request asks for them.
    #[serde(default)]
    pub logprobs: Option<LogProbs>,
    /// `stop` if a stop token ended the completion, `length` if it reached `max_tokens`.
    #[serde(default)]
    pub finish_reason: Option<String>,
    /// The stop token, if it is one of the request's.
    #[serde(default)]
    pub stop_reason: Option<Value>,
    /// Tokens of the completion, including the stop token, if the request asks for them.
    #[serde(default)]
    pub token_ids: Option<Vec<u32>>,
    /// Tokens of the prompt, if the request asks for them.
    #[serde(default)]
    pub prompt_token_ids: Option<Vec<u32>>,
}

/// The log-probabilities of a completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogProbs {
    /// Log-probability of each token; null if it is not a number.
    pub token_logprobs: Vec<Option<f64>>,
    /// The tokens, each as `token_id:ID`.
    #[serde(default)]
    pub tokens: Vec<String>,
    /// Always empty: alternatives are not returned.
    #[serde(default)]
    pub top_logprobs: Vec<Value>,
    /// Always empty: the places of tokens in the text are not returned.
    #[serde(default)]
    pub text_offset: Vec<Value>,
}

/// The numbers of tokens of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens of the prompts.
    #[serde(default)]
    pub prompt_tokens: usize,
    /// Tokens of the completions.
    #[serde(default)]
    pub completion_tokens: usize,
    /// The sum of both.
    #[serde(default)]
    pub total_tokens: usize,
}

/// The answer of `GET /v1/models`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelList {
    /// Kind of the answer: `list`.
    #[serde(default)]
    pub object: String,
    /// The base model and the adapters.
    pub data: Vec<ModelEntry>,
}

/// A model or an adapter that a server has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEntry {
    /// Name of the model, for requests.
    pub id: String,
    /// Kind of the entry: `model`.
    #[serde(default)]
    pub object: String,
    /// `sentinel`, or `vllm` on a server of vLLM.
    #[serde(default)]
    pub owned_by: String,
    /// Folder or name that the model was loaded from.
    #[serde(default)]
    pub root: Option<String>,
    /// Name of the base model of an adapter.
    #[serde(default)]
    pub parent: Option<String>,
    /// Largest number of tokens of prompt and completion.
    #[serde(default)]
    pub max_model_len: Option<usize>,
}

/// The request of `POST /v1/load_lora_adapter`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadAdapter {
    /// Name of the adapter, for requests.
    pub lora_name: String,
    /// Folder of the adapter, as the server sees it.
    pub lora_path: String,
    /// `true` to replace an adapter of the same name, which this server refuses.
    #[serde(default)]
    pub load_inplace: bool,
}

/// The request of `POST /v1/unload_lora_adapter`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnloadAdapter {
    /// Name of the adapter.
    pub lora_name: String,
}

/// The body of an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorResponse {
    /// Error with its message and status.
    pub error: ErrorInfo,
}

/// An error with its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorInfo {
    /// Reason why the request failed.
    pub message: String,
    /// Kind of the error, such as `NotFoundError`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Field of the request that the error is about, if it names one.
    #[serde(default)]
    pub param: Option<String>,
    /// Status of the answer.
    pub code: u16,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Value) -> Result<CompletionRequest, String> {
        let fields = value.as_object().cloned().unwrap_or_default();
        CompletionRequest::from_fields(fields)
    }

    #[test]
    fn prompts_are_ids_or_texts_alone_or_in_a_list() {
        let prompt = |value: Value| read(&json!({"model": "m", "prompt": value})).map(|r| r.prompt);
        assert_eq!(prompt(json!([1, 2])), Ok(Prompts::Ids(vec![1, 2])));
        assert_eq!(prompt(json!([[1], [2]])).map(|p| p.len()), Ok(2));
        assert_eq!(prompt(json!("a")), Ok(Prompts::Text("a".to_owned())));
        assert_eq!(prompt(json!(["a", "b", "c"])).map(|p| p.len()), Ok(3));
        for wrong in [json!([1, "a"]), json!({}), json!([-1]), json!(7)] {
            assert!(prompt(wrong).is_err_and(|reason| reason.starts_with("prompt should be")));
        }
    }

    #[test]
    fn left_out_fields_leave_the_distribution_unchanged() {
        let found =
            read(&json!({"model": "m", "prompt": "a", "seed": null, "stop": [], "best_of": 1}));
        let found = found.expect("a request");
        assert_eq!(found.sampling, SamplingParams::default());
        assert_eq!((found.max_tokens, found.logprobs), (16, None));
    }

    #[test]
    fn unsupported_and_wrong_fields_are_refused_by_name() {
        for (name, value) in [
            ("structured_outputs", json!({"choice": ["a"]})),
            ("stream", json!(true)),
            ("stop", json!(["a"])),
            ("presence_penalty", json!(0.5)),
            ("prompt_logprobs", json!(0)),
            ("best_of", json!(2)),
            ("use_beam_search", json!(true)),
        ] {
            let mut fields = json!({"model": "m", "prompt": "a"});
            fields[name] = value;
            let reason = read(&fields).expect_err("refused");
            assert!(
                reason.contains(name) && reason.contains("leave it out"),
                "{reason}"
            );
        }
        assert!(read(&json!({"prompt": "a"})).is_err_and(|reason| reason.contains("model")));
    }
}
