//! Names of the files and folders in the folder of a run.

/// The name of a run's checkpoint file.
pub const CHECKPOINT_FILE: &str = "checkpoint.safetensors";
/// The name of the file with every event, one per line.
pub const EVENTS_FILE: &str = "events.jsonl";
/// The name of the state file of Hugging Face's trainer.
pub const TRAINER_STATE_FILE: &str = "trainer_state.json";

/// The prefix of the names of snapshots, as in Hugging Face's trainer.
pub(super) const SNAPSHOT_PREFIX: &str = "checkpoint-";

/// Returns the name of the folder in the run's folder that holds the snapshot of a step.
pub(super) fn dir_name(step: usize) -> String {
    format!("{SNAPSHOT_PREFIX}{step}")
}
