//! Token ids, texts, chat templates and masks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sentinel_language::sft::{OverlongRows, RowOptions, prepare_rows};
use sentinel_lm::{ChatTemplate, ChatTemplateKwargs, LmError, Message, ModelConfig, Tokenizer};
use sentinel_play::corpus::parse_example;
use serde::Deserialize;

use crate::oracle::{oracle, oracle_of};

#[derive(Deserialize)]
struct Cases {
    special_ids: BTreeMap<String, u32>,
    tokenizer_len: usize,
    templates: BTreeMap<String, String>,
    encode: Vec<Text>,
    chat: Vec<Chat>,
    assistant_masks_qwen2_5_training: Vec<Masked>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
    ids: Vec<u32>,
    decoded: String,
    decoded_skip_special: String,
}

#[derive(Deserialize)]
struct Chat {
    template: String,
    messages: Vec<Message>,
    tools: Option<Vec<Message>>,
    add_generation_prompt: bool,
    text: String,
    ids: Vec<u32>,
}

#[derive(Deserialize)]
struct Masked {
    messages: Vec<Message>,
    tools: Option<Vec<Message>>,
    ids: Vec<u32>,
    assistant_mask: Vec<u8>,
}

fn cases() -> Option<(Tokenizer, Cases)> {
    let oracle = oracle();
    let cases = oracle.json("tokenizer_cases.json")?;
    Some((oracle.tokenizer("tokenizer")?, cases))
}

fn with_template(tokenizer: &Tokenizer, source: &str) -> Tokenizer {
    let special = tokenizer.special_tokens().clone();
    let template = ChatTemplate::new(Path::new("case"), source, special).unwrap();
    let mut tokenizer = tokenizer.clone();
    tokenizer.set_template(template);
    tokenizer
}

#[test]
fn encoding_and_decoding_match_transformers() {
    let Some((tokenizer, cases)) = cases() else {
        return;
    };
    assert_eq!(tokenizer.len(), cases.tokenizer_len);
    for (token, id) in &cases.special_ids {
        assert_eq!(tokenizer.encode(token).unwrap(), [*id], "{token}");
    }
    assert!(!cases.encode.is_empty());
    for case in &cases.encode {
        assert_eq!(
            tokenizer.encode(&case.text).unwrap(),
            case.ids,
            "{:?}",
            case.text
        );
        assert_eq!(tokenizer.decode(&case.ids, false).unwrap(), case.decoded);
        assert_eq!(
            tokenizer.decode(&case.ids, true).unwrap(),
            case.decoded_skip_special
        );
    }
}

/// A prompt that is no chat gets the tokens that the tokenizer adds to texts, as in transformers, TRL and vLLM; a chat
/// has them from its template.
#[test]
fn plain_prompts_begin_with_the_token_that_the_tokenizer_adds() {
    let Some(folder) = oracle().model("tied") else {
        return;
    };
    let copy = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(folder.join("tokenizer.json")).unwrap();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let bos = "<|im_start|>";
    file["post_processor"] = serde_json::json!({
        "type": "TemplateProcessing", "pair": [],
        "single": [{"SpecialToken": {"id": bos, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "special_tokens": {bos: {"id": bos, "ids": [753], "tokens": [bos]}},
    });
    std::fs::write(copy.path().join("tokenizer.json"), file.to_string()).unwrap();
    let tokenizer = Tokenizer::load(copy.path()).unwrap();
    // By transformers' Qwen2Tokenizer.
    let plain = [32, 82, 74, 220, 50, 15];
    assert_eq!(tokenizer.encode("Ask S0").unwrap(), plain);
    let begun = [[753].as_slice(), &plain].concat();
    assert_eq!(tokenizer.encode_prompt("Ask S0").unwrap(), begun);

    let line = r#"{"prompt": "Ask", "completion": " S0"}"#;
    let example = parse_example(line, 1).unwrap();
    let options = RowOptions {
        max_length: 64,
        too_long: OverlongRows::Refuse,
        completion_only: true,
        last_answer_only: false,
    };
    let rows = prepare_rows(&tokenizer, &[example], options).unwrap().rows;
    assert_eq!((&rows[0].ids, rows[0].start), (&begun, 4));
}

#[test]
fn chat_templates_match_transformers() {
    let Some((tokenizer, cases)) = cases() else {
        return;
    };
    assert!(!cases.chat.is_empty());
    for case in &cases.chat {
        let tokenizer = with_template(&tokenizer, &cases.templates[&case.template]);
        let (tools, prompt) = (case.tools.as_deref(), case.add_generation_prompt);
        let rendered = tokenizer
            .template()
            .unwrap()
            .render(&case.messages, tools, prompt)
            .unwrap();
        assert_eq!(rendered.text, case.text);
        let encoded = tokenizer
            .encode_chat(&case.messages, tools, prompt)
            .unwrap();
        assert_eq!(encoded.ids, case.ids, "{}", case.text);
    }
}

/// Renderings with the templates of a family's checkpoints.
#[derive(Deserialize)]
pub(crate) struct Renderings {
    pub(crate) templates: BTreeMap<String, String>,
    special: BTreeMap<String, String>,
    pub(crate) chat: Vec<Rendering>,
}

/// A rendering of a conversation by transformers.
#[derive(Deserialize)]
pub(crate) struct Rendering {
    pub(crate) template: String,
    pub(crate) messages: Vec<Message>,
    pub(crate) tools: Option<Vec<Message>>,
    pub(crate) add_generation_prompt: bool,
    /// Variables that were passed to the template.
    pub(crate) chat_template_kwargs: Option<ChatTemplateKwargs>,
    pub(crate) text: String,
}

impl Rendering {
    /// Returns `true` if a message calls a tool or has the result of one.
    pub(crate) fn has_tool_message(&self) -> bool {
        let messages = serde_json::to_value(&self.messages).unwrap();
        let all = messages.as_array().unwrap();
        all.iter()
            .any(|message| message["role"] == "tool" || message.get("tool_calls").is_some())
    }
}

#[test]
fn chat_templates_of_other_families_match_transformers() {
    let today = template("{{ strftime_now('%d %b %Y') }}");
    let today = today.render(&[], None, false).unwrap().text;
    for family in ["qwen3", "llama"] {
        let Some(cases) = oracle_of(family).json::<Renderings>("chat_cases.json") else {
            continue;
        };
        let (mut compared, mut with_kwargs) = (BTreeSet::new(), 0);
        for case in &cases.chat {
            let source = &cases.templates[&case.template];
            let path = Path::new(&case.template);
            let template = ChatTemplate::new(path, source, cases.special.clone()).unwrap();
            let kwargs = case.chat_template_kwargs.clone();
            with_kwargs += usize::from(kwargs.is_some());
            let template = template.with_kwargs(kwargs.unwrap_or_default());
            let (tools, prompt) = (case.tools.as_deref(), case.add_generation_prompt);
            let rendered = template.render(&case.messages, tools, prompt).unwrap();
            assert_eq!(rendered.text, case.text.replace("TODAY", &today));
            compared.insert(&case.template);
        }
        assert_eq!(compared.len(), cases.templates.len());
        assert_eq!(with_kwargs, 12, "renderings with variables");
    }
}

#[test]
fn assistant_masks_match_transformers() {
    let Some((tokenizer, cases)) = cases() else {
        return;
    };
    let tokenizer = with_template(&tokenizer, &cases.templates["qwen2_5_training"]);
    for case in &cases.assistant_masks_qwen2_5_training {
        let encoded = tokenizer
            .encode_chat(&case.messages, case.tools.as_deref(), false)
            .unwrap();
        let mask: Vec<u8> = encoded.assistant.iter().map(|on| u8::from(*on)).collect();
        assert_eq!(
            (encoded.ids, mask),
            (case.ids.clone(), case.assistant_mask.clone())
        );
    }
}

#[test]
fn chat_template_is_read_from_model_folder() {
    let oracle = oracle();
    let (Some(folder), Some(own)) = (oracle.path("tokenizer"), oracle.tokenizer("tokenizer"))
    else {
        return;
    };
    let messages = [Message::new("user", "Hello")];
    let expected = own
        .template()
        .unwrap()
        .render(&messages, None, true)
        .unwrap();
    assert!(expected.text.contains("Hello") && expected.written.is_empty());

    // The same template in the places where older checkpoints store it: as a string or in a list of
    // named templates.
    let source = std::fs::read_to_string(folder.join("chat_template.jinja")).unwrap();
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(
        folder.join("tokenizer.json"),
        copy.path().join("tokenizer.json"),
    )
    .unwrap();
    let config = copy.path().join("tokenizer_config.json");
    let named = serde_json::json!([{"name": "default", "template": source}]);
    for value in [serde_json::json!(source), named] {
        let text = serde_json::json!({"chat_template": value}).to_string();
        std::fs::write(&config, text).unwrap();
        let loaded = Tokenizer::load(copy.path()).unwrap();
        let rendered = loaded
            .template()
            .unwrap()
            .render(&messages, None, true)
            .unwrap();
        assert_eq!(rendered, expected);
    }
    std::fs::remove_file(&config).unwrap();
    let error = Tokenizer::load(copy.path())
        .unwrap()
        .template()
        .unwrap_err();
    assert!(error.to_string().contains("chat_template.jinja"), "{error}");
}

fn template(source: &str) -> ChatTemplate {
    ChatTemplate::new(Path::new("t.jinja"), source, BTreeMap::new()).unwrap()
}

#[test]
fn templates_support_transformers_functions() {
    let source = "{%- for m in messages if m.role != 'x' %}\n{%- if loop.index > 2 %}{% break %}{% endif %}\
                  {{ m['content'].strip().split('|')[-1] }};\n{%- endfor %}{{ strftime_now('%Y') | int > 2000 }}";
    let messages = [Message::new("user", " a|b \n"), Message::new("user", "c")];
    let text = template(source)
        .render(&messages, None, false)
        .unwrap()
        .text;
    assert_eq!(text, "b;c;True");
    let refuse = template("{{ raise_exception('roles must alternate') }}");
    let error = refuse
        .render(&messages, None, false)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("t.jinja") && error.contains("roles must alternate"),
        "{error}"
    );
    let odd = ChatTemplate::new(Path::new("t.jinja"), "{% if %}", BTreeMap::new());
    assert!(odd.unwrap_err().to_string().contains("line 1"));
}

#[test]
fn tokenizer_larger_than_vocabulary_is_refused() {
    let oracle = oracle();
    let Some((tokenizer, cases)) = cases() else {
        return;
    };
    let variants = oracle.variants();
    let Some(folder) = variants.iter().find_map(|variant| oracle.model(variant)) else {
        return;
    };
    let mut config = ModelConfig::load(&folder).unwrap();
    tokenizer.check_fits(&config).unwrap();
    config.vocab_size = cases.tokenizer_len - 1;
    let error = tokenizer.check_fits(&config).unwrap_err();
    assert!(matches!(error, LmError::Vocabulary { .. }));
    assert!(
        error.to_string().contains(&cases.tokenizer_len.to_string()),
        "{error}"
    );
}
