//! The special tokens and chat templates of new models.

use serde_json::{Map, Value, json};

use crate::ModelType;

/// The special tokens of a new tokenizer, and the chat template that writes them.
///
/// The tokens have the names of the family's checkpoints. The template renders roles and texts as
/// theirs do; it has no tools, no reasoning and no system message of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChatFormat {
    /// All special tokens, in the order of their ids.
    pub special: &'static [&'static str],
    /// Token at the beginning of a conversation, if any.
    pub begin_of_text: Option<&'static str>,
    /// Token after a text, which also pads rows.
    pub end_of_text: &'static str,
    /// Token after a message, at which generation stops.
    pub end_of_turn: &'static str,
    /// Source of the chat template.
    pub template: &'static str,
}

/// ChatML, the format of Qwen2 and Qwen3.
const CHATML: ChatFormat = ChatFormat {
    special: &["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    begin_of_text: None,
    end_of_text: "<|endoftext|>",
    end_of_turn: "<|im_end|>",
    template: "{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}
",
};

/// The format of Llama 3, which removes white space around a message.
const LLAMA3: ChatFormat = ChatFormat {
    special: &[
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
    ],
    begin_of_text: Some("<|begin_of_text|>"),
    end_of_text: "<|end_of_text|>",
    end_of_turn: "<|eot_id|>",
    template: "{{- bos_token }}
{%- for message in messages %}
{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' }}
{{- message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
",
};

impl ChatFormat {
    /// Returns the format of a family.
    pub(super) const fn of_family(model_type: ModelType) -> Self {
        match model_type {
            ModelType::Qwen2 | ModelType::Qwen3 => CHATML,
            ModelType::Llama => LLAMA3,
        }
    }

    /// Returns the keys of `config.json` with token ids. Only formats with a token at the beginning
    /// need them: where Llama's keys are missing, transformers takes the ids of Llama 2.
    pub(super) fn config_keys(&self, id: impl Fn(&str) -> Option<u32>) -> Map<String, Value> {
        let keys = self.begin_of_text.map(|token| {
            [
                ("bos_token_id".to_owned(), json!(id(token))),
                ("eos_token_id".to_owned(), json!(id(self.end_of_turn))),
                ("pad_token_id".to_owned(), json!(id(self.end_of_text))),
            ]
        });
        keys.into_iter().flatten().collect()
    }
}
