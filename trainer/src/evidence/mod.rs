//! The evidence that a training run is real, comparable and safe to use. Nothing here needs a
//! tensor library.
//!
//! * [`run_report`]: the report of a training stage, `sft_trl_run.json` and `grpo_trl_run.json`.
//! * [`postsave`]: the report of inference with saved artifacts, `postsave_inference.json`.
//! * [`improvement`]: the paired comparison of greedy play, `improvement_report.json`.
//! * [`gate`]: the verdict on these reports, `acceptance_gate.json`.
//! * [`activation`]: the model that commands use when none is named.
//! * [`check`]: the success criteria of a folder of results.
//! * [`artifact_index`]: the list of published files, with digests and links.
//! * [`layout`], [`artifact`]: the folders of a run and the models in them.
//! * [`report_file`]: the only code that reads and writes the files above.

pub mod activation;
pub mod artifact;
pub mod artifact_index;
pub mod check;
pub mod gate;
pub mod improvement;
pub mod layout;
pub mod postsave;
pub mod report_file;
pub mod run_report;
