//! Completions over HTTP: servers in this process, compared with generation in the trainer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use sentinel_language::agent::{GenerationBackend as _, ModelEngine, ModelEngineOptions};
use sentinel_language::rollout_engine::{Replica, RolloutEngine, RolloutEngineArgs};
use sentinel_lm::{
    BaseCheck, CausalLm, Completion, GenerateOptions, GenerationDefaults, Lora, Sampling,
};
use sentinel_server::completions::protocol::CompletionRequest;
use sentinel_server::completions::{CompletionEngine, EngineError};
use sentinel_server::{ServeOptions, Server};
use serde_json::{Value, json};

use crate::oracle::device;
use crate::runs::{made, succeeds};

/// A model with two adapters that differ from it and from each other.
pub(crate) struct Models {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) model: String,
    pub(crate) adapters: [PathBuf; 2],
}

impl Models {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (corpus, model) = made(folder.path());
        let adapters = ["3", "9"].map(|steps| {
            let out = folder.path().join(format!("adapter-{steps}"));
            succeeds(&format!(
                "lm sft --model {model} --data {corpus} --learning-rate 5e-2 --batch-size 4 --max-steps {steps} \
                 --save-total-limit 0 --output-dir {}",
                out.display()
            ));
            out
        });
        Self {
            folder,
            model,
            adapters,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the model with adapter `at`.
    fn with_adapter(&self, at: usize) -> CausalLm {
        let mut model = CausalLm::load(Path::new(&self.model), &device()).unwrap();
        Lora::load(&mut model, &self.adapters[at], BaseCheck::Weights).unwrap();
        model
    }

    /// Loads the model to serve it, with adapters from below `root`.
    pub(crate) fn engine(&self, root: &Path) -> ModelEngine {
        let options = ModelEngineOptions {
            name: Some("base".to_owned()),
            adapter_root: Some(root.to_owned()),
            max_adapters: 2,
        };
        ModelEngine::load(&self.model, options).unwrap()
    }

    fn options(&self) -> GenerateOptions {
        let defaults = GenerationDefaults::load(Path::new(&self.model)).unwrap();
        GenerateOptions {
            sampling: Sampling {
                temperature: 0.8,
                ..Sampling::default()
            },
            ..GenerateOptions::new(12, &defaults, 0xfedc_ba98_7654_3210)
        }
    }
}

/// Serves a model until the tests end, and returns the address.
pub(crate) fn serve(engine: impl CompletionEngine + 'static) -> String {
    let (sender, address) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let options = ServeOptions {
                port: 0,
                request_timeout: 300,
                ..ServeOptions::default()
            };
            let server = Server::bind(options, None).await.unwrap();
            sender.send(server.address()).unwrap();
            let server = server.with_engine(Arc::new(engine));
            server.run(std::future::pending()).await
        })
    });
    format!("http://{}", address.recv().unwrap())
}

fn args(addresses: &[&str]) -> RolloutEngineArgs {
    RolloutEngineArgs {
        rollouts: Some(addresses.join(",")),
        ..RolloutEngineArgs::default()
    }
}

fn replica(address: &str) -> Replica {
    Replica::new(address, Duration::from_secs(300)).unwrap()
}

/// Returns the names that a server has.
pub(crate) fn names(address: &str) -> Vec<String> {
    let models = replica(address).models().unwrap();
    models.into_iter().map(|model| model.id).collect()
}

/// Groups of equal prompts, as a batch of training has them.
fn prompts() -> Vec<Vec<u32>> {
    let prompt = |start: u32, length: u32| (start..start + length).collect::<Vec<u32>>();
    let groups = [
        (prompt(10, 7), 4),
        (prompt(60, 3), 3),
        (prompt(90, 11), 1),
        (prompt(10, 7), 2),
    ];
    let rows = groups
        .into_iter()
        .flat_map(|(prompt, count)| vec![prompt; count]);
    rows.collect()
}

#[track_caller]
fn assert_equal(ours: &[Completion], theirs: &[Completion]) {
    assert_eq!(ours.len(), theirs.len());
    for (row, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(
            (&ours.ids, ours.stopped),
            (&theirs.ids, theirs.stopped),
            "row {row}"
        );
        for (a, b) in ours.logps.iter().zip(&theirs.logps) {
            assert!((a - b).abs() < 1e-4, "row {row}: {a} {b}");
        }
    }
}

/// Greedy and sampled completions of servers equal those of the model in the trainer, whatever the
/// number of servers.
#[test]
fn remote_completions_equal_local_ones() {
    let models = Models::new();
    let local = models.with_adapter(1);
    let servers = [0, 1].map(|_| serve(models.engine(models.folder.path())));
    for count in [1, 2] {
        let addresses: Vec<&str> = servers[..count].iter().map(String::as_str).collect();
        let run = models.path(&format!("run-{count}"));
        let mut engine = RolloutEngine::connect(&args(&addresses), &run, 64).unwrap();
        let synced = engine.sync(&local, 3).unwrap();
        assert!(synced.staleness == 0 && synced.warnings.is_empty());
        let vocabulary = local.config().vocab_size;
        for greedy in [true, false] {
            let options = GenerateOptions {
                greedy,
                ..models.options()
            };
            let mut backend = engine.backend(vocabulary).unwrap();
            let remote = backend.generate(&prompts(), &options).unwrap();
            let expected = local.generate(&prompts(), &options).unwrap();
            assert_equal(&remote, &expected);
        }
        let metrics = engine.take_metrics(&synced);
        assert!(metrics["rollout_engine/tokens_per_second"] > 0.0);
        assert!(metrics["rollout_engine/sync_seconds"] > 0.0);
        // Too long prompts are the error of a local model.
        let options = GenerateOptions {
            max_prompt_tokens: Some(10),
            ..models.options()
        };
        let long = engine
            .backend(vocabulary)
            .unwrap()
            .generate(&prompts(), &options);
        let message = long.unwrap_err().to_string();
        assert!(message.contains("longer than 10 tokens"), "{message}");
        engine.close();
        assert!(!run.join("rollouts").exists(), "no adapter is left behind");
        assert_eq!(names(&servers[0]), ["base"]);
    }
}

/// A version is loaded at every N-th update, and the one before it is unloaded and removed.
#[test]
fn versions_replace_each_other_at_every_nth_update() {
    let models = Models::new();
    let server = serve(models.engine(models.folder.path()));
    let args = RolloutEngineArgs {
        rollout_sync_every: Some(2),
        rollout_dir: Some(models.path("shared")),
        ..args(&[&server])
    };
    let mut engine = RolloutEngine::connect(&args, &models.path("run"), 64).unwrap();
    let (first, second) = (models.with_adapter(0), models.with_adapter(1));
    let mut seen = Vec::new();
    // A resumed run begins at any update.
    for (update, model) in [(1, &first), (2, &second), (3, &first), (4, &first)] {
        seen.push(engine.sync(model, update).unwrap().staleness);
        let names = names(&server);
        let version = if update == 3 { 2 } else { update };
        assert!(
            names.len() == 2 && names[1].ends_with(&format!("-v{version}")),
            "{names:?}"
        );
        let mut backend = engine.backend(model.config().vocab_size).unwrap();
        let served = backend.generate(&prompts(), &models.options()).unwrap();
        let expected = if update == 3 { &second } else { model };
        assert_equal(
            &served,
            &expected.generate(&prompts(), &models.options()).unwrap(),
        );
        let runs = std::fs::read_dir(models.path("shared")).unwrap();
        let folder = runs.into_iter().next().unwrap().unwrap().path();
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
    }
    assert_eq!(seen, [0, 0, 1, 0]);
    // The next process of a run that was killed unloads what is left.
    drop(engine);
    assert_eq!(names(&server).len(), 2);
    let mut engine = RolloutEngine::connect(&args, &models.path("run"), 64).unwrap();
    assert_eq!(names(&server), ["base"]);
    engine.sync(&first, 4).unwrap();
    engine.close();
}

/// An old name serves old weights after a new load, until it is unloaded.
#[test]
fn names_keep_their_weights() {
    let models = Models::new();
    let server = replica(&serve(models.engine(models.folder.path())));
    let complete = |model: &str| {
        let request = json!({"model": model, "prompt": [[10, 11, 12], [60, 61]], "max_tokens": 8, "seed": 5,
            "n": 3, "logprobs": 0, "return_token_ids": true});
        let request: CompletionRequest = serde_json::from_value(request).unwrap();
        server.complete(&request).map(|answer| answer.choices)
    };
    let base = complete("base").unwrap();
    server.load_adapter("a", &models.adapters[0]).unwrap();
    let old = complete("a").unwrap();
    server.load_adapter("b", &models.adapters[1]).unwrap();
    assert_eq!(complete("a").unwrap(), old);
    assert_eq!(complete("base").unwrap(), base);
    assert!(old != base && complete("b").unwrap() != old);
    let message = |result: Result<(), _>| {
        let error: sentinel_language::rollout_engine::RolloutEngineError = result.unwrap_err();
        error.to_string()
    };
    let taken = message(server.load_adapter("a", &models.adapters[1]));
    assert!(
        taken.contains("400") && taken.contains("already been loaded"),
        "{taken}"
    );
    let full = message(server.load_adapter("c", &models.adapters[1]));
    assert!(full.contains("2 adapters are loaded"), "{full}");
    server.unload_adapter("a").unwrap();
    let unknown = message(complete("a").map(|_| ()));
    assert!(
        unknown.contains("404") && unknown.contains("does not exist"),
        "{unknown}"
    );
    let outside = message(server.load_adapter("c", Path::new("/")));
    assert!(
        outside.contains("not a folder below --adapter-root"),
        "{outside}"
    );
    let none = message(server.load_adapter("c", models.folder.path()));
    assert!(none.contains("adapter_config.json"), "{none}");
    server.load_adapter("c", &models.adapters[0]).unwrap();
    assert_eq!(complete("c").unwrap(), old);
}

/// The fields that the trainer does not send have the meaning of vLLM.
#[test]
fn texts_greedy_decoding_and_wrong_options_are_answered() {
    let models = Models::new();
    let engine = models.engine(models.folder.path());
    let complete = |fields: Value| {
        let mut request = json!({"model": "base", "prompt": "select", "max_tokens": 4, "seed": 1});
        for (name, value) in fields.as_object().unwrap() {
            request[name] = value.clone();
        }
        engine.complete(&serde_json::from_value(request).unwrap())
    };
    let texts = complete(json!({"prompt": ["select", "job"], "temperature": 0})).unwrap();
    let ids: Vec<&Vec<u32>> = texts.iter().map(|one| &one.prompt_ids).collect();
    let again = complete(json!({"prompt": ids, "temperature": 0, "seed": 2})).unwrap();
    assert_eq!(again, texts, "greedy decoding needs no seed");
    let stop = texts[0].ids[0];
    let short = complete(json!({"temperature": 0, "stop_token_ids": [stop]})).unwrap();
    assert!(short[0].stopped && short[0].ids == [stop] && short[0].text.is_empty());
    for (fields, word) in [
        (json!({"top_k": -2}), "top_k"),
        (json!({"top_p": 0}), "top_p"),
        (json!({"temperature": -1}), "temperature"),
        (json!({"max_tokens": 1_000_000}), "max_new_tokens"),
        (json!({"prompt": [[]]}), "a prompt has length 0"),
        (json!({"prompt": [999_999]}), "vocabulary"),
    ] {
        match complete(fields) {
            Err(EngineError::Invalid(reason)) => assert!(reason.contains(word), "{reason}"),
            other => panic!("{word}: {other:?}"),
        }
    }
}

/// If one server does not load an adapter, the others unload it and the run stops.
#[test]
fn half_loaded_adapter_is_rolled_back() {
    let models = Models::new();
    let whole = serve(models.engine(models.folder.path()));
    let elsewhere = tempfile::tempdir().unwrap();
    let other = serve(models.engine(elsewhere.path()));
    let run = models.path("run");
    let mut engine = RolloutEngine::connect(&args(&[&whole, &other]), &run, 64).unwrap();
    let message = engine
        .sync(&models.with_adapter(0), 0)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains(&other) && message.contains("unloaded from those that had it"),
        "{message}"
    );
    assert_eq!(
        (names(&whole), names(&other)),
        (vec!["base".to_owned()], vec!["base".to_owned()])
    );
    assert!(engine.backend(400).is_err());
}
