//! The mission of the world, as replies explain it (spec cluster §10).

use serde::Serialize;

/// The mission of the cluster: its name, an example, and the skills that it trains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec cluster §10"
)]
pub struct ClusterMission {
    pub name: &'static str,
    pub real_life_example: &'static str,
    pub what_the_model_learns: [&'static str; 4],
}

impl ClusterMission {
    /// The mission that all tasks share.
    pub const SHARED: Self = Self {
        name: "Schedule GPU jobs with workers that may lie",
        real_life_example: "A scheduler gives training jobs to workers on a shared GPU cluster. Some \
                            workers overstate their progress, GPUs fail, and forged reports arrive.",
        what_the_model_learns: [
            "Place jobs so that they end before their deadlines.",
            "Check the reports of workers that earned no trust.",
            "Recognize forged progress and forged memory reports.",
            "Keep the cluster in use without repeating actions that do nothing.",
        ],
    };
}
