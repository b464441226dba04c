//! A project in a temporary folder: a sweep, runs and evaluations, as the commands write them.

use std::path::{Path, PathBuf};

use sentinel_play::eval::{Diagnostics, EpisodeFacts};
use sentinel_policy::nn::StepFacts;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(super) type Tested = Result<(), Box<dyn std::error::Error>>;
type Made = Result<PathBuf, Box<dyn std::error::Error>>;

/// A temporary folder, which is removed at the end.
pub(super) struct Project {
    folder: tempfile::TempDir,
}

fn provenance() -> Value {
    json!({"version": "0.1.0", "commit": "0123456789abcdef0123", "inputs": {}, "fallbacks": []})
}

/// Returns the last object of an evaluation.
fn origin(world: &str, seeds: &str, diagnostics: &[Diagnostics]) -> Value {
    let mut origin = json!({
        "world": world, "model": null, "seeds": seeds, "streams": "independent",
        "rules": "reference", "diagnostics": diagnostics,
    });
    if let (Some(origin), Some(more)) = (origin.as_object_mut(), provenance().as_object()) {
        origin.extend(more.clone());
    }
    origin
}

/// Returns the statistics of ten episodes of a split, one of which ended as an action loop.
fn diagnostics(split: &'static str) -> Vec<Diagnostics> {
    let step = |exploit| StepFacts {
        components: vec![("format_compliance_score", 0.9), ("legality_score", 0.5)],
        exploit,
        refused: false,
        kind: Some("STOP_DRUG"),
        candidate: Some("cand_02".to_owned()),
    };
    let episode = |index: usize| EpisodeFacts {
        task: "DDI-easy",
        split,
        score: 0.1 * index as f64,
        steps: vec![step(None), step((index == 0).then_some("action_loop"))],
    };
    let episodes: Vec<EpisodeFacts> = (0..10).map(episode).collect();
    Diagnostics::summarize_by_split("model", &episodes, &["action_loop", "keep_abuse"])
}

/// Returns the text of a file of `lm eval --out`.
fn lm_eval(score: f64, seeds: &str, split: Option<&'static str>) -> Value {
    let found = split.map(diagnostics).unwrap_or_default();
    json!({
        "world": "polyguard",
        "tasks": [["DDI-easy", {"mean": score, "half_width": 0.05}]],
        "score": {"mean": score, "half_width": 0.05},
        "validity": 0.9,
        "signals": {"episodes": 10, "rows": 40, "invalid_rate": 0.1, "reasons": {}},
        "tokens": 400,
        "sentinel": origin("polyguard", seeds, &found),
    })
}

fn log(steps: usize) -> Value {
    let entry = |step: usize| {
        let progress = step as f64 / steps as f64;
        json!({"step": step, "loss": 2.0 - progress, "reward": 0.5 * progress})
    };
    let history: Vec<Value> = (1..=steps).map(entry).collect();
    json!({"global_step": steps, "max_steps": steps, "log_history": history})
}

impl Project {
    pub(super) fn new() -> Result<Self, std::io::Error> {
        Ok(Self {
            folder: tempfile::tempdir()?,
        })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn folder(&self, name: &str) -> Made {
        let path = self.path(name);
        std::fs::create_dir_all(&path)?;
        Ok(path)
    }

    fn write(&self, name: &str, value: &Value) -> Made {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        std::fs::write(&path, serde_json::to_string_pretty(value)? + "\n")?;
        Ok(path)
    }

    /// Writes a run of two steps.
    pub(super) fn run(&self, name: &str) -> Made {
        self.run_of(name, 2)
    }

    /// Writes a run of any number of steps.
    pub(super) fn run_of(&self, name: &str, steps: usize) -> Made {
        self.write(&format!("{name}/trainer_state.json"), &log(steps))?;
        self.write(&format!("{name}/sentinel.json"), &provenance())?;
        let scores = json!({"tasks": [0.5], "overall": 0.5});
        let events = [
            json!({"event": "started", "method": "grpo", "config": {"world": "trust", "seed": 1},
                "resumed_at": 0, "total": steps, "parameters": 10, "trained": 10, "unix_time": 0.0}),
            json!({"event": "finished", "step": steps, "seconds": 1.5, "scores": scores,
                "baselines": [["bayes", scores]]}),
        ];
        let lines: Vec<String> = events.iter().map(|event| format!("{event}\n")).collect();
        std::fs::write(self.path(name).join("events.jsonl"), lines.concat())?;
        Ok(self.path(name))
    }

    /// Writes a file of `eval --out` with one policy and two tasks.
    pub(super) fn eval(&self, name: &str) -> Made {
        let row = |task: &str, score: f64| json!({"policy": "random", "task_type": task, "seed": 0, "score": score});
        let file = json!({
            "summary": {"random": {"episodes": 4, "avg_score": 0.55, "avg_steps": 9.0}},
            "episodes": [row("task1", 0.4), row("task1", 0.6), row("task2", 0.5), row("task2", 0.7)],
            "sentinel": origin("trust", "0..2", &[]),
        });
        self.write(name, &file)
    }

    /// Writes a file of `lm eval --out`.
    pub(super) fn lm_eval(&self, name: &str) -> Made {
        self.write(name, &lm_eval(0.73, "0..10", None))
    }

    /// Writes the reports and logs of a sweep, and returns the folder of its reports.
    pub(super) fn sweep(&self, runs: &[&str]) -> Made {
        for run in runs {
            self.entry(run)?;
        }
        let entries: Vec<Value> = runs.iter().map(|run| json!({"run": run})).collect();
        self.write(
            "outputs/reports/sweeps/sweep.json",
            &json!({"entries": entries}),
        )?;
        Ok(self.path("outputs/reports/sweeps"))
    }

    fn entry(&self, run: &str) -> Tested {
        let report = |name: &str| format!("outputs/reports/sweeps/{run}/{name}");
        for stage in ["sft", "grpo"] {
            let artifact = format!("checkpoints/sweeps/{run}/{stage}_adapter");
            let place = format!("{artifact}/trainer_state.json");
            let path = self.write(&place, &log(3))?;
            let digest = Sha256::digest(std::fs::read(path)?);
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            let value = json!({
                "status": "ok", "backend": "sentinel_burn", "model_id": format!("models/{run}"),
                "base_model": "base", "artifact_path": artifact, "world": "polyguard", "task": "all",
                "rules": "reference", "steps": 3, "seconds": 1.0, "seed": 0,
                "metrics": {"loss": 1.0, "reward": 0.5},
                "log_history": {"path": place, "sha256": digest},
                "error": null, "provenance": provenance(),
            });
            self.write(&report(&format!("{stage}_trl_run.json")), &value)?;
        }
        let sample = |valid: bool, reward: f64| json!({"valid": valid, "reward": reward, "latency_ms": 20.0});
        let postsave = json!({
            "status": "ok", "backend": "sentinel_burn", "model_source": "grpo_adapter",
            "artifact_path": "a", "samples": 3, "valid": 2, "invalid": 1,
            "validity": 0.666_666_666_666_666_6, "mean_reward": 0.5,
            "latency_ms": {"mean": 20.0, "p50": 20.0, "p95": 20.0, "max": 20.0},
            "logprob_difference": null,
            "rows": [sample(true, 0.6), sample(true, 0.9), sample(false, 0.0)],
            "provenance": provenance(),
        });
        self.write(&report("postsave_inference.json"), &postsave)?;
        let improvement = json!({
            "improved": true, "baseline": "sft", "candidate": "grpo", "baseline_mean": 0.4,
            "candidate_mean": 0.6, "difference": 0.2, "interval": [0.1, 0.3], "by_task": {},
            "provenance": provenance(),
        });
        self.write(&report("improvement_report.json"), &improvement)?;
        let gate = json!({
            "accepted": true, "strict": true, "provenance": provenance(),
            "conditions": [{"name": "improved", "passed": true, "evidence": "0.2", "file": "x"}],
        });
        self.write(&report("acceptance_gate.json"), &gate)?;
        for (name, score, split) in [
            ("eval_base", 0.1, None),
            ("eval_sft", 0.4, None),
            ("eval_grpo", 0.6, Some("train")),
            ("eval_grpo_holdout", 0.5, Some("holdout")),
        ] {
            let value = lm_eval(score, "1000..1010", split);
            self.write(&report(&format!("{name}.json")), &value)?;
        }
        Ok(())
    }
}
