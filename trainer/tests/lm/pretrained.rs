//! A published model, imported from a GGUF file, beside what transformers and PEFT compute with it. The folder that
//! `SENTINEL_PRETRAINED` names holds the model in `model`, and in `records` what `tests/pretrained/record.py` wrote;
//! without it nothing is compared.

use std::path::PathBuf;

use sentinel_lm::{
    BaseCheck, Batch, CausalLm, Entropy, ForwardOptions, GenerateOptions, GenerationDefaults, Lora,
    Message, Sampling, TokenSelection, Tokenizer, TrainedPart,
};
use serde::Deserialize;

use crate::oracle::{close, device, numbers, print_note, tensors};

/// Largest accepted difference of a logit. Those of the model reach 30.
const LOGITS: f32 = 2e-3;
/// Largest accepted difference of a gradient, as a share of the largest element of its matrix.
const GRADIENTS: f32 = 2e-3;

#[derive(Deserialize)]
struct Records {
    greedy: Vec<Greedy>,
    chats: Vec<Chat>,
    texts: Vec<Text>,
}

#[derive(Deserialize)]
struct Greedy {
    prompt: String,
    ids: Vec<u32>,
    completion: Vec<u32>,
    last_logits: Vec<f32>,
}

#[derive(Deserialize)]
struct Chat {
    messages: Vec<Message>,
    add_generation_prompt: bool,
    text: String,
}

#[derive(Deserialize)]
struct Text {
    text: String,
    ids: Vec<u32>,
}

/// Returns the folders of the model and of the records; `None` if there are none.
fn folders() -> Option<(PathBuf, PathBuf)> {
    let folder = std::env::var_os("SENTINEL_PRETRAINED").filter(|folder| !folder.is_empty());
    let Some(folder) = folder.map(PathBuf::from) else {
        print_note("SENTINEL_PRETRAINED names no folder: no published model is compared");
        return None;
    };
    Some((folder.join("model"), folder.join("records")))
}

fn records(folder: &std::path::Path) -> Records {
    let text = std::fs::read_to_string(folder.join("records.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn pretrained_tokens_and_chats_match_transformers() {
    let Some((model, folder)) = folders() else {
        return;
    };
    let recorded = records(&folder);
    let tokenizer = Tokenizer::load(&model).unwrap();
    assert_eq!(tokenizer.warning(), None);
    assert_eq!(recorded.texts.len(), 500);
    for Text { text, ids } in &recorded.texts {
        assert_eq!(&tokenizer.encode_prompt(text).unwrap(), ids, "{text:?}");
    }
    for chat in &recorded.chats {
        let template = tokenizer.template().unwrap();
        let rendered = template.render(&chat.messages, None, chat.add_generation_prompt);
        assert_eq!(rendered.unwrap().text, chat.text);
    }
}

#[test]
fn pretrained_logits_and_completions_match_transformers() {
    let Some((folder, records_folder)) = folders() else {
        return;
    };
    let recorded = records(&records_folder);
    let model = CausalLm::load(&folder, &device()).unwrap();
    let tokenizer = Tokenizer::load(&folder).unwrap();
    let defaults = GenerationDefaults::load(&folder).unwrap();
    for case in &recorded.greedy {
        assert_eq!(tokenizer.encode(&case.prompt).unwrap(), case.ids);
        let batch = Batch::left_padded(model.config(), std::slice::from_ref(&case.ids), 0).unwrap();
        let logits = numbers(model.forward(&batch, ForwardOptions::EVALUATION));
        let last = logits.len() - model.config().vocab_size;
        close(&case.prompt, &logits[last..], &case.last_logits, LOGITS);
        let options = GenerateOptions {
            greedy: true,
            sampling: Sampling::default(),
            stop_tokens: Vec::new(),
            ..GenerateOptions::new(case.completion.len(), &defaults, 0)
        };
        let made = model
            .generate(std::slice::from_ref(&case.ids), &options)
            .unwrap();
        assert_eq!(made[0].ids, case.completion, "{}", case.prompt);
    }
}

#[test]
fn pretrained_adapter_gradients_match_peft() {
    let Some((folder, records_folder)) = folders() else {
        return;
    };
    let recorded = tensors(&records_folder.join("gradients.safetensors"));
    let mut model = CausalLm::load(&folder, &device()).unwrap();
    Lora::load(
        &mut model,
        &records_folder.join("adapter"),
        BaseCheck::Weights,
    )
    .unwrap();
    model.set_trained_part(TrainedPart::Adapter);
    let batch = recorded["input_ids"].batch(model.config(), None);
    let labels = recorded["labels"].whole.iter().enumerate();
    let chosen = labels.map(|(at, label)| at % batch.tokens() > 0 && *label != -100);
    let selection = TokenSelection::new(&batch, &chosen.collect::<Vec<_>>()).unwrap();
    let pass = ForwardOptions::training(0);
    let mut loss = f32::NAN;
    let (_, grads) = model
        .backward_by_block(&batch, pass, |hidden| {
            let found = model.token_logprobs(hidden, &selection, 1.0, Entropy::Skipped, pass);
            let mean = found.logps.mean().neg();
            loss = numbers(mean.clone())[0];
            Ok(mean)
        })
        .unwrap();
    close("loss", &[loss], &recorded["loss"].values, 2e-4);
    let mut compared = 0;
    for (index, parameter) in model.parameters().iter().enumerate() {
        let Some(theirs) = recorded.get(parameter.name()) else {
            assert!(!parameter.is_trainable(), "{}", parameter.name());
            continue;
        };
        let ours = numbers(grads.get(index).unwrap().clone());
        let most = theirs
            .values
            .iter()
            .fold(0.0_f32, |most, x| most.max(x.abs()));
        close(parameter.name(), &ours, &theirs.values, GRADIENTS * most);
        compared += 1;
    }
    // Without ids, labels and loss.
    assert_eq!(compared, recorded.len() - 3);
}
