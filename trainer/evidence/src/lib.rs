//! The evidence that a training run is real, comparable and safe to use: reports, charts, checks, and
//! the gate that a model passes before it is used.
//!
//! It must never know a tensor or train anything: it reads what other parts wrote, and plays
//! episodes. Read `gate.rs` first, which judges all reports of a run. To add a chart: a function in
//! `plots/` that describes it with [`charts`], and its row in `plots/mod.rs`
//! (`docs/how-to/extend-the-trainer.md`).
//!
//! * [`reward_report`], [`cluster_health`]: reports of single episodes.
//! * [`charts`], [`plots`]: charts as SVG, PNG and JSON, and the charts of the published system.
//! * [`report`]: one HTML file of runs, evaluations and sweeps.
//! * [`run_report`]: the report of a training stage, `sft_trl_run.json` and `grpo_trl_run.json`.
//! * [`postsave`]: the report of inference with saved artifacts, `postsave_inference.json`.
//! * [`improvement`]: the paired comparison of greedy play, `improvement_report.json`.
//! * [`gate`]: the verdict on these reports, `acceptance_gate.json`.
//! * [`active_model`]: the model that commands use when none is named.
//! * [`check`]: the success criteria of a folder of results.
//! * [`artifact_index`]: the list of published files, with digests and links.
//! * [`run_paths`], [`artifact`]: the folders of a run and the models in them.
//! * [`json_file`]: the only code that reads and writes the files of a run's evidence.

pub mod active_model;
pub mod artifact;
pub mod artifact_index;
pub mod charts;
pub mod check;
pub mod cluster_health;
pub mod gate;
pub mod improvement;
mod input;
pub mod json_file;
mod pairs_as_map;
pub mod plots;
pub mod postsave;
pub mod report;
pub mod reward_report;
pub mod run_paths;
pub mod run_report;

pub use input::EvidenceError;
