//! Tokenizers whose special tokens, settings and vocabulary are in files beside `tokenizer.json`. Ids were recorded
//! from `AutoTokenizer` of transformers 5.24.

use std::fs;
use std::path::Path;

use sentinel_lm::Tokenizer;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::foreign::{change, copy};
use crate::oracle::oracle;

/// Changes `tokenizer.json` of a folder.
fn edit(folder: &Path, changed: impl Fn(&mut Value)) {
    let path = folder.join("tokenizer.json");
    let mut whole: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    changed(&mut whole);
    fs::write(path, whole.to_string()).unwrap();
}

/// Lets AutoTokenizer take a class for the folder.
fn set_class(folder: &Path, model_type: &str, class: &str) {
    change(folder, "config.json", &json!({"model_type": model_type}));
    change(
        folder,
        "tokenizer_config.json",
        &json!({"tokenizer_class": class}),
    );
}

fn encode(folder: &Path, text: &str) -> Vec<u32> {
    Tokenizer::load(folder).unwrap().encode(text).unwrap()
}

/// The classes by which tokenizers are built in two ways.
const CLASSES: [(&str, &str); 2] = [
    ("qwen2", "Qwen2TokenizerFast"),
    ("qwen3", "PreTrainedTokenizerFast"),
];

/// The files beside tokenizer.json, and the ids of `<|x|>`, `<|y|>` and `<|z|>` if each is one token.
#[test]
fn special_tokens_of_all_files_get_the_ids_of_transformers() {
    let none = json!({});
    let typed = json!({"__type": "AddedToken", "content": "<|y|>", "lstrip": false, "rstrip": false,
                       "normalized": false, "single_word": false, "special": true});
    let map = "special_tokens_map.json";
    let (x, y) = (json!(["<|x|>"]), json!(["<|y|>"]));
    let cases = [
        (
            json!({"extra_special_tokens": {"q_token": "<|x|>"}, "additional_special_tokens": y}),
            "",
            none.clone(),
            [755, 756, 0],
        ),
        (
            json!({"extra_special_tokens": x, "additional_special_tokens": y}),
            "",
            none.clone(),
            [755, 0, 0],
        ),
        (
            json!({"extra_special_tokens": [], "additional_special_tokens": y}),
            "",
            none.clone(),
            [0, 755, 0],
        ),
        (
            json!({}),
            map,
            json!({"additional_special_tokens": y, "image_token": "<|x|>"}),
            [755, 0, 0],
        ),
        (
            json!({"additional_special_tokens": x}),
            map,
            json!({"additional_special_tokens": y}),
            [0, 0, 0],
        ),
        (
            json!({"extra_special_tokens": x}),
            map,
            json!({"extra_special_tokens": y}),
            [755, 756, 0],
        ),
        (
            json!({"b_token": "<|x|>", "a_token": typed, "model_specific_special_tokens": {"c_token": "<|z|>"}}),
            "",
            none.clone(),
            [756, 755, 0],
        ),
        (
            json!({"a_token": {"content": "<|y|>"}, "model_specific_special_tokens": {"c_token": "<|z|>"}}),
            "",
            none,
            [0, 0, 755],
        ),
        (
            json!({"eos_token": "<|x|>"}),
            "added_tokens.json",
            json!({"<|y|>": 755, "<|x|>": 756}),
            [756, 755, 0],
        ),
    ];
    for (model_type, class) in CLASSES {
        for (config, file, content, expected) in &cases {
            let Some(folder) = copy() else { return };
            set_class(folder.path(), model_type, class);
            change(folder.path(), "tokenizer_config.json", config);
            if !file.is_empty() {
                change(folder.path(), file, content);
            }
            let tokenizer = Tokenizer::load(folder.path()).unwrap();
            let id = |token: &str| match *tokenizer.encode(token).unwrap() {
                [id] => id,
                _ => 0,
            };
            let found = ["<|x|>", "<|y|>", "<|z|>"].map(id);
            assert_eq!(&found, expected, "{class}: {config} {content}");
        }
    }
}

/// Tokens get their ids in the order of the file, not of the alphabet.
#[test]
fn tokens_are_added_in_the_order_of_the_file() {
    for file in ["tokenizer_config.json", "special_tokens_map.json"] {
        let Some(folder) = copy() else { return };
        fs::remove_file(folder.path().join("tokenizer_config.json")).unwrap();
        // A value before them can read like a key.
        let text = r#"{"note": "a_token", "z_token": "<|x|>", "a_token": "<|y|>"}"#;
        fs::write(folder.path().join(file), text).unwrap();
        let ids = ["<|x|>", "<|y|>"].map(|token| encode(folder.path(), token));
        assert_eq!(ids, [[755], [756]], "{file}");
    }
}

/// A list of added tokens that lacks some of those in `tokenizer.json` gives transformers other ids.
#[test]
fn added_tokens_that_are_not_listed_are_warned_of() {
    let Some(folder) = copy() else { return };
    set_class(folder.path(), "qwen2", "Qwen2Tokenizer");
    let warning = || {
        let tokenizer = Tokenizer::load(folder.path()).unwrap();
        tokenizer.warning().unwrap_or_default().to_owned()
    };
    assert_eq!(warning(), "");
    change(
        folder.path(),
        "tokenizer_config.json",
        &json!({"added_tokens_decoder": {}}),
    );
    assert!(warning().contains("added_tokens"), "{}", warning());
}

#[test]
fn special_tokens_are_read_without_tokenizer_config() {
    let Some(folder) = copy() else { return };
    fs::remove_file(folder.path().join("tokenizer_config.json")).unwrap();
    let map = json!({"pad_token": "<|pad|>", "eos_token": "<|im_end|>"});
    change(folder.path(), "special_tokens_map.json", &map);
    assert_eq!(encode(folder.path(), "<|pad|>"), [755]);
    // Tokens of tokenizer.json stay as they are there.
    change(
        folder.path(),
        "added_tokens.json",
        &json!({"<|im_start|>": 753}),
    );
    let tokenizer = Tokenizer::load(folder.path()).unwrap();
    assert_eq!(tokenizer.decode(&[753], true).unwrap(), "");
    // An id that the tokenizer does not give.
    change(folder.path(), "added_tokens.json", &json!({"<|new|>": 760}));
    let error = Tokenizer::load(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("added_tokens.json") && error.contains("760"),
        "{error}"
    );
}

/// Tokens that the vocabulary has are no special ones yet.
#[test]
fn special_tokens_in_the_vocabulary_are_not_split() {
    for (model_type, class) in CLASSES {
        let Some(folder) = copy() else { return };
        set_class(folder.path(), model_type, class);
        edit(folder.path(), |whole| {
            let added = whole["added_tokens"].take();
            for token in added.as_array().unwrap() {
                let content = token["content"].as_str().unwrap();
                whole["model"]["vocab"][content] = token["id"].clone();
            }
            whole["added_tokens"] = json!([]);
        });
        assert_eq!(
            encode(folder.path(), "a<|im_end|>b"),
            [64, 754, 65],
            "{class}"
        );
    }
}

#[test]
fn settings_of_tokens_are_those_of_the_class() {
    let text = "a <|im_start|> b <|im_end|> c";
    let apart = [64, 220, 753, 220, 65, 220, 754, 295].as_slice();
    for ((model_type, class), expected) in CLASSES.into_iter().zip([apart, &[64, 753, 65, 754, 66]])
    {
        let Some(folder) = copy() else { return };
        set_class(folder.path(), model_type, class);
        assert_eq!(encode(folder.path(), text), apart, "{class}");
        let token = |content: &str| {
            json!({"content": content, "lstrip": true, "rstrip": true, "special": true,
                   "normalized": false, "single_word": false})
        };
        let tokens = json!({"752": token("<|endoftext|>"), "753": token("<|im_start|>"), "754": token("<|im_end|>")});
        change(
            folder.path(),
            "tokenizer_config.json",
            &json!({"added_tokens_decoder": tokens}),
        );
        assert_eq!(encode(folder.path(), text), expected, "{class}");
    }
    let Some(folder) = copy() else { return };
    change(
        folder.path(),
        "tokenizer_config.json",
        &json!({"split_special_tokens": true}),
    );
    assert_eq!(
        encode(folder.path(), "Hello <|im_end|> world"),
        [39, 68, 312, 78, 220, 328, 336, 412, 349, 278, 282, 456]
    );
}

/// transformers 5 builds some tokenizers anew from their class.
#[test]
fn steps_that_the_class_builds_anew_are_warned_of() {
    let Some(folder) = copy() else { return };
    let folder = folder.path();
    let warning = || {
        let warning = Tokenizer::load(folder)
            .unwrap()
            .warning()
            .map(str::to_owned);
        warning.unwrap_or_default()
    };
    assert_eq!(warning(), "");
    let pattern = "/pre_tokenizer/pretokenizers/0/pattern/Regex";
    edit(folder, |whole| {
        *whole.pointer_mut(pattern).unwrap() = json!("[0-9]+");
    });
    let found = warning();
    assert!(
        found.contains("builds pre_tokenizer anew") && found.contains("Qwen2Tokenizer"),
        "{found}"
    );
    edit(folder, |whole| {
        whole["normalizer"] = json!({"type": "NFKC"});
    });
    assert!(warning().contains("normalizer, pre_tokenizer"));
    set_class(folder, "qwen3", "PreTrainedTokenizerFast");
    assert_eq!(warning(), "");

    set_class(folder, "llama", "LlamaTokenizer");
    let steps = |scheme: &str| {
        edit(folder, |whole| {
            whole["normalizer"] = Value::Null;
            whole["pre_tokenizer"] = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme,
                                            "split": false});
            whole["decoder"] = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme,
                                      "split": false});
            whole["model"]["byte_fallback"] = json!(true);
            whole["model"]["fuse_unk"] = json!(true);
        });
    };
    steps("first");
    assert_eq!(warning(), "");
    change(
        folder,
        "tokenizer_config.json",
        &json!({"add_prefix_space": false}),
    );
    assert!(warning().contains("LlamaTokenizer"));
    steps("never");
    assert_eq!(warning(), "");
}

#[test]
fn space_before_texts_is_read_or_refused() {
    let Some(folder) = copy() else { return };
    let folder = folder.path();
    change(
        folder,
        "tokenizer_config.json",
        &json!({"add_prefix_space": true}),
    );
    let error = Tokenizer::load(folder).unwrap_err().to_string();
    assert!(
        error.contains("add_prefix_space") && error.contains("save it again"),
        "{error}"
    );
    let step = "/pre_tokenizer/pretokenizers/1/add_prefix_space";
    edit(folder, |whole| {
        *whole.pointer_mut(step).unwrap() = json!(true);
    });
    let tokenizer = Tokenizer::load(folder).unwrap();
    assert_eq!(tokenizer.warning(), None);
    assert_eq!(tokenizer.encode("Hello").unwrap(), [220, 39, 68, 312, 78]);
    // It has no effect on a tokenizer that is taken as it is.
    edit(folder, |whole| {
        *whole.pointer_mut(step).unwrap() = json!(false);
    });
    set_class(folder, "qwen3", "PreTrainedTokenizerFast");
    assert_eq!(encode(folder, "Hello"), [39, 68, 312, 78]);
}

#[test]
fn special_tokens_are_found_in_all_files() {
    let Some(folder) = copy() else { return };
    let path = folder.path().join("tokenizer_config.json");
    let mut config: Map<String, Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for key in ["bos_token", "eos_token", "added_tokens_decoder"] {
        config.remove(key);
    }
    let plain = Value::Object(config).to_string();
    fs::write(&path, &plain).unwrap();
    let size = Tokenizer::load(folder.path()).unwrap().len();
    // Only in special_tokens_map.json, as text and as object.
    let map = json!({"bos_token": "<|im_start|>", "eos_token": {"content": "<|im_end|>"}});
    change(folder.path(), "special_tokens_map.json", &map);
    let source = "{{ bos_token }}{{ eos_token }}";
    fs::write(folder.path().join("chat_template.jinja"), source).unwrap();
    let tokenizer = Tokenizer::load(folder.path()).unwrap();
    let chat = tokenizer.encode_chat(&[], None, false).unwrap();
    assert_eq!(
        chat.ids,
        tokenizer.encode("<|im_start|><|im_end|>").unwrap()
    );
    assert_eq!(tokenizer.len(), size);
    // Only in tokenizer_config.json: a new id after all others.
    let next = u32::try_from(size).unwrap();
    for extra in [
        json!({"extra_special_tokens": ["<|im_end|>", "<|act|>"]}),
        json!({"extra_special_tokens": {"act_token": "<|act|>"}}),
        json!({"extra_special_tokens": [], "additional_special_tokens": [{"content": "<|act|>"}]}),
        json!({"act_token": "<|act|>"}),
        json!({"added_tokens_decoder": {next.to_string(): {"content": "<|act|>", "special": true}}}),
    ] {
        fs::write(&path, &plain).unwrap();
        change(folder.path(), "tokenizer_config.json", &extra);
        let tokenizer = Tokenizer::load(folder.path()).unwrap();
        let ids = tokenizer.encode("a<|act|>").unwrap();
        assert_eq!(ids.last(), Some(&next), "{extra}");
        assert_eq!(tokenizer.decode(&[next], true).unwrap(), "", "{extra}");
    }
    // An id that tokenizer.json cannot give.
    let far = json!({"added_tokens_decoder": {"4000": {"content": "<|act|>"}}});
    fs::write(&path, &plain).unwrap();
    change(folder.path(), "tokenizer_config.json", &far);
    let error = Tokenizer::load(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("4000") && error.contains("<|act|>"),
        "{error}"
    );
}

/// Splits the recorded tokenizer into the files of the first checkpoints of Qwen2.
fn with_vocabulary_files() -> Option<TempDir> {
    let folder = copy()?;
    let path = folder.path().join("tokenizer.json");
    let whole: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    fs::remove_file(path).unwrap();
    let model = &whole["model"];
    let at = |name: &str| folder.path().join(name);
    fs::write(at("vocab.json"), model["vocab"].to_string()).unwrap();
    let merges = model["merges"].as_array().unwrap().iter();
    let merges = merges.map(|pair| match pair {
        Value::String(pair) => pair.clone(),
        pair => format!(
            "{} {}",
            pair[0].as_str().unwrap(),
            pair[1].as_str().unwrap()
        ),
    });
    let merges: Vec<String> = merges.collect();
    let text = format!("#version: 0.2\n{}\n", merges.join("\n"));
    fs::write(at("merges.txt"), text).unwrap();
    let added = whole["added_tokens"].as_array().unwrap().iter();
    let added = added.map(|token| (token["id"].to_string(), token.clone()));
    let added: Map<String, Value> = added.collect();
    let config = json!({"added_tokens_decoder": added, "tokenizer_class": "Qwen2Tokenizer"});
    change(folder.path(), "tokenizer_config.json", &config);
    Some(folder)
}

#[test]
fn vocabulary_files_of_qwen2_give_the_same_tokens_as_tokenizer_json() {
    let (Some(folder), Some(whole)) = (with_vocabulary_files(), oracle().tokenizer("model_tied"))
    else {
        return;
    };
    let cases: Value = oracle().json("tokenizer_cases.json").unwrap();
    let read = || Tokenizer::load(folder.path());
    let parts = read().unwrap();
    assert_eq!(parts.len(), whole.len());
    for case in cases["encode"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        assert_eq!(
            parts.encode(text).unwrap(),
            whole.encode(text).unwrap(),
            "{text:?}"
        );
        let ids: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
        assert_eq!(
            parts.decode(&ids, false).unwrap(),
            whole.decode(&ids, false).unwrap()
        );
    }
    // Without other files, the class has a token, and older ones list them in added_tokens.json.
    let path = folder.path().join("tokenizer_config.json");
    let config = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let bare = read().unwrap();
    assert_eq!(
        (bare.len(), bare.encode("<|endoftext|>").unwrap()),
        (753, vec![752])
    );
    let added = json!({"<|endoftext|>": 752, "<|im_start|>": 753, "<|im_end|>": 754});
    change(folder.path(), "added_tokens.json", &added);
    assert_eq!(encode(folder.path(), "<|im_end|>"), [754]);
    fs::write(&path, config).unwrap();
    let refused = |part: &str| {
        let error = read().unwrap_err().to_string();
        assert!(error.contains(part), "{part:?} is not in: {error}");
    };
    // Other tokenizers with these files split texts otherwise.
    change(
        folder.path(),
        "tokenizer_config.json",
        &json!({"tokenizer_class": "GPT2Tokenizer"}),
    );
    assert!(read().is_ok(), "the model is Qwen2's");
    change(
        folder.path(),
        "config.json",
        &json!({"model_type": "llama"}),
    );
    refused("save it again with AutoTokenizer");
    fs::remove_file(folder.path().join("merges.txt")).unwrap();
    refused("neither tokenizer.json nor vocab.json with merges.txt");
    fs::write(folder.path().join("tokenizer.model"), "").unwrap();
    refused("tokenizer.model");
    fs::write(
        folder.path().join("tokenizer.json"),
        "version https://git-lfs.github.com/spec/v1\noid",
    )
    .unwrap();
    refused("git lfs pull");
}
