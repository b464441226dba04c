//! New models: treatment of numbers by their tokenizer.

use sentinel_trainer::lm::init::{InitOptions, NumberSplitting, create};
use sentinel_trainer::lm::{Completion, Tokenizer};
use sentinel_trainer::provenance::Provenance;

/// Splits `text` with a new tokenizer that treats numbers as `numbers` says.
fn words(numbers: NumberSplitting, text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let options = InitOptions {
        numbers,
        hidden_size: Some(16),
        intermediate_size: Some(16),
        num_hidden_layers: Some(1),
        ..InitOptions::tiny(folder.path().join("model"))
    };
    let learned = "stakes 0.86 S3 0.86 A12/3 cost 4\nit's 0.5%\n".repeat(3);
    create(&options, &[learned], &Provenance::new()).unwrap();
    let tokenizer = Tokenizer::load(&options.output_dir).unwrap();
    let ids = tokenizer.encode(text).unwrap();
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), text);
    let word = |id: &u32| tokenizer.decode(&[*id], false).unwrap();
    ids.iter().map(word).collect()
}

#[test]
fn whole_mode_keeps_numbers_as_one_token() {
    let cut = words(NumberSplitting::Whole, "stakes 0.86\nS3 0.86 A12/3 cost 4");
    let whole = [
        "stakes", " 0.86", "\n", "S3", " 0.86", " A12", "/", "3", " cost", " 4",
    ];
    assert_eq!(cut, whole);
}

#[test]
fn digits_mode_splits_numbers_into_digits() {
    let cut = words(NumberSplitting::Digits, "S3 0.86");
    assert_eq!(cut, ["S", "3", " ", "0", ".", "8", "6"]);
}

/// Special tokens within a completion are kept as text; the stop token is not.
#[test]
fn special_tokens_in_completion_are_kept_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let options = InitOptions::tiny(folder.path().join("model"));
    create(&options, &[], &Provenance::new()).unwrap();
    let tokenizer = Tokenizer::load(&options.output_dir).unwrap();
    let completion_text = |text: &str, stopped| {
        let ids = tokenizer.encode(text).unwrap();
        let completion = Completion {
            ids,
            stopped,
            ..Completion::default()
        };
        completion.text(&tokenizer).unwrap()
    };
    assert_eq!(completion_text("{}<|im_end|>", true), "{}");
    assert_eq!(
        completion_text("<|im_start|>{}<|im_end|>", true),
        "<|im_start|>{}"
    );
    assert_eq!(
        completion_text("{}<|endoftext|>{", false),
        "{}<|endoftext|>{"
    );
    assert_eq!(completion_text("", true), "");
}

/// Unseen numbers, versions and letters after digits are split without loss.
#[test]
fn unseen_numbers_are_tokenized_without_loss() {
    for numbers in [NumberSplitting::Whole, NumberSplitting::Digits] {
        for text in ["7.31", "1.2.3", "3rd", "x²½", " 0.99  .5. 5.", "S3's 0.86%"] {
            let cut = words(numbers, text);
            assert!(!cut.is_empty(), "{text}");
        }
    }
}
