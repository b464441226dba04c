//! Tiny language models for tests.

use std::path::Path;

use super::run;

fn succeeds(words: &str) {
    run(words).succeeds();
}

/// Creates a corpus of trust task1, and a very small model whose tokenizer was trained on it.
pub(crate) fn untrained(folder: &Path) -> (String, String) {
    let path = |name: &str| folder.join(name).display().to_string();
    let (corpus, model) = (path("corpus.jsonl"), path("model"));
    succeeds(&format!(
        "lm corpus --world trust --task task1 --seeds 100000..100020 --out {corpus}"
    ));
    succeeds(&format!(
        "lm init --output-dir {model} --data {corpus} --vocab-size 400 --hidden-size 32 --intermediate-size 64 \
         --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 1"
    ));
    (corpus, model)
}

/// Creates such a model after some supervised fine-tuning: most of its completions are actions of
/// trust task1.
pub(crate) fn model_naming_actions(folder: &Path) -> String {
    let (corpus, model) = untrained(folder);
    let speaking = folder.join("speaking").display().to_string();
    succeeds(&format!(
        "lm sft --model {model} --data {corpus} --full --learning-rate 2e-2 --batch-size 8 --max-steps 60 \
         --warmup-steps 10 --save-total-limit 0 --output-dir {speaking}"
    ));
    speaking
}
