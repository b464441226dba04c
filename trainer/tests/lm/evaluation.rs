//! Evaluation of a language model by a backend that answers without a model: the memory that it keeps, and
//! its end on request.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use sentinel_base::EpisodeArgs;
use sentinel_env::WorldName;
use sentinel_language::agent::{
    EvalEpisodes, EvalResult, GenerationArgs, GenerationBackend, LmAgent, LoadedModel,
    evaluate_agent,
};
use sentinel_language::training::RunError;
use sentinel_lm::{
    Completion, GenerateOptions, GenerationDefaults, LmError, Message, ModelType, Tokenizer,
};
use sentinel_play::rollout::{RolloutConfig, RolloutError};
use serde_json::Value;

use crate::init::new_model;
use crate::runs::{fails, made, succeeds};

/// Completes every prompt with the same tokens.
struct Constant<'a> {
    tokens: Vec<u32>,
    /// Called before each batch.
    before: &'a dyn Fn(),
}

impl GenerationBackend for Constant<'_> {
    fn generate(
        &mut self,
        prompts: &[Vec<u32>],
        _options: &GenerateOptions,
    ) -> Result<Vec<Completion>, LmError> {
        (self.before)();
        let completion = Completion {
            logps: vec![0.0; self.tokens.len()],
            ids: self.tokens.clone(),
            stopped: false,
        };
        Ok(vec![completion; prompts.len()])
    }
}

/// A tokenizer with options, and the tokens of an action that every task of world trust accepts.
struct Skipping {
    tokenizer: Tokenizer,
    options: GenerateOptions,
    tokens: Vec<u32>,
}

impl Skipping {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        new_model(folder.path(), ModelType::Qwen2);
        let tokenizer = Tokenizer::load(folder.path()).unwrap();
        let tokens = tokenizer.encode(r#"{"action_type":"skip"}"#).unwrap();
        Self {
            options: GenerateOptions::new(64, &GenerationDefaults::load(folder.path()).unwrap(), 0),
            tokenizer,
            tokens,
        }
    }

    /// Creates an agent that completes four prompts at a time, and calls `before` before each batch.
    fn agent<'a>(&'a self, before: &'a dyn Fn()) -> LmAgent<'a> {
        let backend = Box::new(Constant {
            tokens: self.tokens.clone(),
            before,
        });
        LmAgent::with_backend(backend, &self.tokenizer, self.options.clone(), 4)
    }
}

fn evaluate(agent: &mut LmAgent<'_>) -> Result<EvalResult, RunError> {
    let episodes = EvalEpisodes {
        episode: EpisodeArgs {
            task: Some("task1,task2".to_owned()),
            seeds: Some("1000..1006".parse().unwrap()),
            ..EpisodeArgs::new(WorldName::Trust)
        },
        rollout_config: RolloutConfig::default(),
    };
    evaluate_agent(&episodes, agent, &|| ())
}

/// The number of episodes does not change what an agent keeps; the tokens are counted all the same.
#[test]
fn evaluation_keeps_no_generation() {
    let model = Skipping::new();
    let mut agent = model.agent(&|| ());
    let result = evaluate(&mut agent).unwrap();
    assert_eq!(agent.generations, []);
    assert_eq!((result.signals.episodes, result.validity), (12, 1.0));
    assert!(result.signals.rows > 12);
    assert_eq!(result.tokens, result.signals.rows * model.tokens.len());
    // A second evaluation counts its own tokens.
    assert_eq!(evaluate(&mut agent).unwrap(), result);

    // Training asks for them.
    let mut agent = model.agent(&|| ()).with_recorded_generations();
    assert_eq!(evaluate(&mut agent).unwrap(), result);
    assert_eq!(agent.generations.len(), result.signals.rows);
}

/// A request to stop ends an evaluation before its next batch, in the middle of the episodes.
#[test]
fn evaluation_ends_before_next_batch() {
    let (model, stop, batches) = (Skipping::new(), AtomicBool::new(false), Cell::new(0));
    let before = || {
        batches.set(batches.get() + 1);
        if batches.get() == 2 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let mut agent = model.agent(&before).with_stop(&stop);
    let found = evaluate(&mut agent);
    let interrupted = |found| matches!(found, Err(RunError::Rollout(RolloutError::Interrupted)));
    assert!(interrupted(found));
    assert_eq!(batches.get(), 2);
    assert!(interrupted(evaluate(&mut agent)));
    assert_eq!(batches.get(), 2);
    stop.store(false, Ordering::Relaxed);
    assert!(evaluate(&mut agent).is_ok());
}

#[test]
fn examples_are_earlier_messages_of_the_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let all = std::fs::read_to_string(&corpus).unwrap();
    let rows: Vec<&str> = all.lines().take(2).collect();
    let two = folder.path().join("two.jsonl");
    std::fs::write(&two, rows.join("\n")).unwrap();

    let options = GenerationArgs {
        max_completion_length: Some(1),
        examples: Some(two.clone()),
        ..GenerationArgs::default()
    };
    let loaded = LoadedModel::load(&model, &options).unwrap();
    assert_eq!(loaded.name, "model+2-shot");
    let mut agent = loaded.agent().with_recorded_generations();
    agent.complete("Hi").unwrap();

    let mut messages = Vec::new();
    for row in &rows {
        let row: Value = serde_json::from_str(row).unwrap();
        for (role, key) in [("user", "prompt"), ("assistant", "completion")] {
            messages.push(Message::new(role, row[key][0]["content"].as_str().unwrap()));
        }
    }
    messages.push(Message::new("user", "Hi"));
    let tokenizer = Tokenizer::load(model.as_ref()).unwrap();
    let expected = tokenizer.encode_chat(&messages, None, true).unwrap().ids;
    assert_eq!(agent.generations[0].prompt, expected);

    // The result says so, and names the file by its digest.
    let play = "--world trust --task task1 --seeds 1000..1001 --max-completion-length 4";
    let two = two.display();
    let report = succeeds(&format!("lm eval --model {model} {play} --examples {two}"));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["examples"], 2);
    let digest = &report["sentinel"]["inputs"]["examples"];
    assert!(digest.is_string(), "{report:#}");
    let without = succeeds(&format!("lm eval --model {model} {play}"));
    assert!(!without.contains("examples"), "{without}");

    // A whole corpus is refused.
    let many = folder.path().join("many.jsonl");
    std::fs::write(&many, vec![rows[0]; 65].join("\n")).unwrap();
    let many = many.display();
    let error = fails(&format!("lm eval --model {model} {play} --examples {many}"));
    assert!(
        error.contains("examples") && error.contains("at most 64"),
        "{error}"
    );
}
