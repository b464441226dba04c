//! The messages of the chat route, with the names of OpenAI's API and vLLM's additions. A chat becomes a
//! completion of the prompt that the model's chat template makes of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::protocol::{
    CompletionRequest, ExtraArgs, Prompts, SamplingParams, UNSUPPORTED, Usage, check_supported,
};

/// Fields of a chat that this server does not implement, beside those of completions. Only a value that
/// switches them off is accepted.
const UNSUPPORTED_IN_CHATS: [&str; 12] = [
    "audio",
    "chat_template",
    "chat_template_kwargs",
    "continue_final_message",
    "documents",
    "function_call",
    "functions",
    "logprobs",
    "reasoning_effort",
    "tool_choice",
    "tools",
    "top_logprobs",
];
/// Length of the longest answer if the request does not name one and the context has room for more.
const MAX_TOKENS: usize = 1024;

/// The request of `POST /v1/chat/completions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatRequest {
    /// Name of the model or adapter.
    pub model: String,
    /// The conversation, to which an answer is generated.
    pub messages: Vec<ChatMessage>,
    /// Length of the longest answer, in tokens.
    #[serde(default)]
    pub max_completion_tokens: Option<usize>,
    /// The earlier name of `max_completion_tokens`, which counts if both are there.
    #[serde(default)]
    pub max_tokens: Option<usize>,
    /// Number of answers, and how they are sampled.
    #[serde(flatten)]
    pub sampling: SamplingParams,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatMessage {
    /// Role of the author, such as `system`, `user` or `assistant`.
    pub role: String,
    /// Text of the message.
    pub content: MessageContent,
}

/// The text of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MessageContent {
    /// The text of the whole message.
    Text(String),
    /// Parts of the text, which are joined.
    Parts(Vec<ContentPart>),
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContentPart {
    /// Kind of the part: `text`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Text of the part.
    pub text: String,
}

impl ChatMessage {
    /// Returns the text of the message.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.content {
            MessageContent::Text(text) => text.clone(),
            MessageContent::Parts(parts) => parts.iter().map(|part| part.text.as_str()).collect(),
        }
    }
}

/// The prompt that a model's chat template makes of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatPrompt {
    /// Tokens of the prompt.
    pub ids: Vec<u32>,
    /// Largest number of tokens that the model reads, prompt and answer together.
    pub context: usize,
}

impl ChatRequest {
    /// Reads a request. A field that is null counts as left out.
    ///
    /// # Errors
    /// Returns the reason why it is refused: a field that is missing, has a wrong type or asks for
    /// something that this server does not implement.
    pub fn from_fields(mut fields: Map<String, Value>) -> Result<Self, String> {
        check_supported(&mut fields, &UNSUPPORTED)?;
        check_supported(&mut fields, &UNSUPPORTED_IN_CHATS)?;
        if fields.get("add_generation_prompt") == Some(&Value::Bool(false)) {
            return Err("add_generation_prompt should be true: leave it out".to_owned());
        }
        let messages = fields.get("messages").ok_or("messages is missing")?;
        let read = Vec::<ChatMessage>::deserialize(messages);
        let is_text = |message: &ChatMessage| match &message.content {
            MessageContent::Text(_) => true,
            MessageContent::Parts(parts) => parts.iter().all(|part| part.kind == "text"),
        };
        if !read.is_ok_and(|messages| messages.iter().all(is_text)) {
            return Err(
                "messages should be a list of objects with role and content, a text or parts of the type text"
                    .to_owned(),
            );
        }
        let has_calls = |message: &Value| {
            message
                .get("tool_calls")
                .is_some_and(|calls| !calls.is_null())
        };
        if messages
            .as_array()
            .is_some_and(|all| all.iter().any(has_calls))
        {
            return Err("tool_calls of messages are not supported by this server".to_owned());
        }
        let request: Self =
            serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())?;
        if request.messages.is_empty() {
            return Err("messages should hold at least one message".to_owned());
        }
        Ok(request)
    }

    /// Returns the completion that is the answer to the conversation.
    #[must_use]
    pub fn completion(&self, prompt: ChatPrompt) -> CompletionRequest {
        let left = prompt.context.saturating_sub(prompt.ids.len());
        CompletionRequest {
            model: self.model.clone(),
            max_tokens: self
                .max_completion_tokens
                .or(self.max_tokens)
                .unwrap_or_else(|| left.clamp(1, MAX_TOKENS)),
            prompt: Prompts::Ids(prompt.ids),
            sampling: self.sampling.clone(),
            logprobs: None,
            return_token_ids: false,
            vllm_xargs: ExtraArgs::default(),
        }
    }
}

/// The answer of `POST /v1/chat/completions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatResponse {
    /// Id of the answer.
    pub id: String,
    /// Kind of the answer: `chat.completion`.
    pub object: String,
    /// Time of the answer, in seconds since 1970.
    pub created: u64,
    /// Name of the model or adapter that generated the answers.
    pub model: String,
    /// The answers to the conversation.
    pub choices: Vec<ChatChoice>,
    /// Numbers of tokens read and generated.
    pub usage: Usage,
}

/// An answer to a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatChoice {
    /// Index of the answer among those that were asked for.
    pub index: usize,
    /// The message of the assistant.
    pub message: Answer,
    /// Always null: log-probabilities are those of `/v1/completions`.
    pub logprobs: Option<Value>,
    /// `stop` if a stop token ended the answer, `length` if it reached `max_completion_tokens`.
    pub finish_reason: String,
}

/// The message of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Role of the author: `assistant`.
    pub role: String,
    /// Text without the stop token.
    pub content: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Value) -> Result<ChatRequest, String> {
        ChatRequest::from_fields(value.as_object().cloned().unwrap_or_default())
    }

    fn prompt() -> ChatPrompt {
        ChatPrompt {
            ids: vec![1, 2, 3],
            context: 10,
        }
    }

    #[test]
    fn messages_are_texts_or_parts() {
        let messages = json!([
            {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "user", "content": "c", "name": "ignored"},
        ]);
        let request = read(&json!({"model": "m", "messages": messages, "user": "ignored"}));
        let texts: Vec<String> = request
            .expect("a chat")
            .messages
            .iter()
            .map(ChatMessage::text)
            .collect();
        assert_eq!(texts, ["ab", "c"]);
        let refusal = json!([{"type": "refusal", "text": "no"}]);
        let image = json!([{"type": "image_url", "image_url": {"url": "x"}}]);
        for wrong in [
            json!(null),
            json!([]),
            json!("a"),
            json!([{"role": "user"}]),
            json!([{"role": "user", "content": image}]),
            json!([{"role": "assistant", "content": refusal}]),
        ] {
            let reason = read(&json!({"model": "m", "messages": wrong})).expect_err("refused");
            assert!(reason.starts_with("messages "), "{reason}");
        }
    }

    #[test]
    fn completion_has_the_options_of_the_chat() {
        let mut fields = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
        let left_out = read(&fields).expect("a chat").completion(prompt());
        assert_eq!(
            (left_out.max_tokens, left_out.sampling),
            (7, SamplingParams::default())
        );
        fields["temperature"] = json!(0);
        fields["max_tokens"] = json!(5);
        fields["seed"] = json!(-3);
        fields["n"] = json!(2);
        let request = read(&fields).expect("a chat").completion(prompt());
        assert_eq!((request.max_tokens, request.sampling.seed), (5, Some(-3)));
        assert_eq!(
            (request.completions(), request.sampling.temperature),
            (2, 0.0)
        );
        fields["max_completion_tokens"] = json!(4);
        assert_eq!(
            read(&fields)
                .expect("a chat")
                .completion(prompt())
                .max_tokens,
            4
        );
    }

    #[test]
    fn unsupported_fields_are_refused_by_name_unless_they_are_off() {
        for (name, on, off) in [
            ("tools", json!([{"type": "function"}]), json!([])),
            ("stream", json!(true), json!(false)),
            ("logprobs", json!(true), json!(false)),
            (
                "response_format",
                json!({"type": "json_object"}),
                json!({"type": "text"}),
            ),
            ("response_format", json!({"type": "json_schema"}), json!({})),
            ("add_generation_prompt", json!(false), json!(true)),
            ("tool_choice", json!("auto"), json!(null)),
            ("stop", json!("a"), json!(null)),
        ] {
            let mut fields = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
            fields[name] = on;
            let reason = read(&fields).expect_err(name);
            assert!(reason.contains(name), "{reason}");
            fields[name] = off;
            assert!(read(&fields).is_ok(), "{name}");
        }
    }
}
