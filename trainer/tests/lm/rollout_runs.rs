//! Training with rollouts over HTTP: the whole loop against servers in this process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_language::agent::{ModelEngine, ModelEngineOptions};
use sentinel_server::completions::chat::{ChatMessage, ChatPrompt};
use sentinel_server::completions::protocol::{CompletionRequest, ModelEntry};
use sentinel_server::completions::{CompletionEngine, EngineError, Generated};
use serde_json::Value;

use crate::common::lm::model_naming_actions;
use crate::rollouts::{Models, names, serve};
use crate::runs::{curve, fails, refused, succeeds};

/// A server that loads another adapter than it is told, or forgets what it loaded.
struct Faulty {
    inner: ModelEngine,
    planted: Option<PathBuf>,
    forgets: bool,
}

impl CompletionEngine for Faulty {
    fn models(&self) -> Vec<ModelEntry> {
        self.inner.models()
    }

    fn chat_prompt(
        &self,
        model: &str,
        messages: &[ChatMessage],
    ) -> Result<ChatPrompt, EngineError> {
        self.inner.chat_prompt(model, messages)
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Vec<Generated>, EngineError> {
        self.inner.complete(request)
    }

    fn load_adapter(&self, name: &str, folder: &Path) -> Result<(), EngineError> {
        if self.forgets {
            return Ok(());
        }
        let folder = self.planted.as_deref().unwrap_or(folder);
        self.inner.load_adapter(name, folder)
    }

    fn unload_adapter(&self, name: &str) -> Result<(), EngineError> {
        self.inner.unload_adapter(name)
    }
}

/// Returns the command line of a short run.
fn run(models: &Models, name: &str, more: &str) -> String {
    format!(
        "lm grpo --model {} --adapter {} --task task1 --episodes 4 --learning-rate 1e-2 --num-generations 3 \
         --groups-per-update 2 --max-completion-length 6 --credit single-step --format-weight 1 --save-steps 1 \
         {more} --output-dir {}",
        models.model,
        models.adapters[0].display(),
        models.path(name).display()
    )
}

/// Guards stop a run before it trains on samples of other weights.
#[test]
fn wrong_or_unknown_adapter_stops_the_run() {
    let models = Models::new();
    let planted = serve(Faulty {
        inner: models.engine(models.folder.path()),
        planted: Some(models.adapters[1].clone()),
        forgets: false,
    });
    let message = fails(&run(&models, "planted", &format!("--rollouts {planted}")));
    assert!(
        message.contains("update 0") && message.contains("they serve other weights"),
        "{message}"
    );
    assert!(
        curve(&models.path("planted")).is_empty(),
        "no step was taken"
    );
    // With a bound that is never reached, the run goes on and corrects.
    let bound = "--rollout-max-logp-difference 1e3 --max-steps 1";
    succeeds(&run(
        &models,
        "corrected",
        &format!("--rollouts {planted} {bound}"),
    ));
    let step = &curve(&models.path("corrected"))[0];
    let number = |name: &str| step[name].as_f64().unwrap();
    assert!(number("sampling/sampling_logp_difference/mean") > 0.1);
    assert!(number("sampling/importance_sampling_ratio/max") <= 3.0);
    assert!(number("sampling/importance_sampling_ratio/raw_max") > 1.0);

    let forgetful = serve(Faulty {
        inner: models.engine(models.folder.path()),
        planted: None,
        forgets: true,
    });
    let message = fails(&run(&models, "unknown", &format!("--rollouts {forgetful}")));
    assert!(
        message.contains("404") && message.contains("does not exist"),
        "{message}"
    );
}

/// Checks that the metrics of two runs agree, without those that only one has.
#[track_caller]
fn assert_same_curve(ours: &Path, theirs: &Path) {
    let (ours, theirs) = (curve(ours), curve(theirs));
    assert_eq!(ours.len(), theirs.len());
    for (step, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let own = |name: &str| name.starts_with("rollout_engine/");
        let keys = |all: &BTreeMap<String, Value>| -> Vec<String> {
            all.keys().filter(|name| !own(name)).cloned().collect()
        };
        assert_eq!(keys(ours), keys(theirs));
        for name in keys(ours) {
            let (a, b) = (ours[&name].as_f64(), theirs[&name].as_f64());
            let near = a
                .zip(b)
                .map_or(a == b, |(a, b)| (a - b).abs() < 1e-3 * b.abs().max(1.0));
            assert!(near, "step {step}, {name}: {a:?} {b:?}");
        }
    }
}

/// A run with a server learns what a run without one learns, because the server samples with the same
/// random streams. It can be resumed.
#[test]
fn remote_run_equals_local_run_and_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let model = model_naming_actions(folder.path());
    let options = ModelEngineOptions {
        name: None,
        adapter_root: Some(folder.path().to_owned()),
        max_adapters: 2,
    };
    let server = serve(ModelEngine::load(&model, options).unwrap());
    let run = |name: &str, more: &str| {
        let out = folder.path().join(name);
        succeeds(&format!(
            "lm grpo --model {model} --task task1 --episodes 4 --num-train-epochs 2 --learning-rate 1e-2 \
             --num-generations 3 --groups-per-update 3 --max-completion-length 24 --format-weight 1 --save-steps 1 \
             --save-total-limit 4 {more} --output-dir {}",
            out.display()
        ));
        out
    };
    let here = run("local", "--importance-sampling-mode token_truncate");
    let there = run("remote", &format!("--rollouts {server}"));
    assert_eq!(curve(&here).len(), 4);
    assert_same_curve(&there, &here);
    let steps = curve(&there);
    let number = |step: &BTreeMap<String, Value>, name: &str| step[name].as_f64().unwrap();
    for step in &steps {
        assert!(number(step, "rollout_engine/staleness") == 0.0);
        assert!(number(step, "sampling/sampling_logp_difference/max") < 1e-4);
        assert!(
            number(step, "grad_norm") > 0.0,
            "there is something to learn"
        );
    }
    assert_eq!(names(&server), std::slice::from_ref(&model));

    // Resumed after its second step, by another address of the same server.
    let elsewhere = server.replace("127.0.0.1", "localhost");
    succeeds(&format!(
        "lm grpo --resume-from-checkpoint {} --rollouts {elsewhere} --output-dir {}",
        there.join("checkpoint-2").display(),
        there.display()
    ));
    assert_same_curve(&there, &here);

    // Older samples are corrected for, and not compared with the bound.
    let stale = "--rollout-sync-every 2 --rollout-max-logp-difference 1e-4";
    let steps = curve(&run("stale", &format!("--rollouts {server} {stale}")));
    let staleness = steps
        .iter()
        .map(|step| number(step, "rollout_engine/staleness"));
    assert_eq!(staleness.collect::<Vec<_>>(), [0.0, 1.0, 0.0, 1.0]);
    assert!(number(&steps[1], "sampling/sampling_logp_difference/max") > 1e-4);
}

#[test]
fn rollout_options_that_cannot_work_are_refused() {
    let message = fails("lm grpo --model none --rollouts http://a:1 --rollout-sync-every 5");
    assert!(
        message.contains("rollout-sync-every should be from 1 to 4"),
        "{message}"
    );
    let message = refused("lm grpo --model none --full --rollouts http://a:1");
    assert!(
        message.contains("--full") && message.contains("--rollouts"),
        "{message}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("options.toml");
    std::fs::write(&file, "full = true\nrollouts = \"http://a:1\"\n").unwrap();
    let message = fails(&format!("lm grpo --model none --config {}", file.display()));
    assert!(message.contains("only adapters are sent"), "{message}");
}
