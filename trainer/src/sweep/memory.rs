//! The memory of an entry's stages, by the estimate of `sentinel lm grpo --estimate`, and the memory
//! of this machine.

use std::path::Path;

use clap::{Args as _, Command, FromArgMatches as _};
use sentinel_language::grpo::GrpoConfig;
use sentinel_language::grpo::memory_estimate::{estimate_memory, qwen_presets};
use sentinel_language::sft::SftConfig;
use sentinel_lm::{HubOptions, ModelConfig, find_model};

use super::plan::PlanEntry;

/// Returns the bytes that the largest stage of an entry needs on a processor with `cores` cores;
/// `None` if the shape of its model is not known without a download.
#[must_use]
pub fn needed_bytes(entry: &PlanEntry, cores: usize) -> Option<u128> {
    let shape = shape(entry)?;
    let of = |config: &GrpoConfig| {
        let lora = config.run.lora().ok()?;
        Some(
            estimate_memory(config, &lora, &shape)
                .ok()?
                .total_bytes_on_cpu(cores),
        )
    };
    let mut most = of(&entry.grpo.options)?.max(of(&as_grpo(&entry.sft.options)?)?);
    if let Some(base) = &entry.base {
        most = most.max(of(&as_grpo(&base.options)?)?);
    }
    Some(most)
}

/// Returns the shape of the base model, without a download.
fn shape(entry: &PlanEntry) -> Option<ModelConfig> {
    if let Some(init) = &entry.init {
        return init.options.config(init.options.vocab_size).ok();
    }
    let mut presets = qwen_presets().into_iter();
    let name = &entry.base_model;
    if let Some((_, shape)) = presets.find(|(preset, _)| name.ends_with(preset)) {
        return Some(shape);
    }
    let offline = HubOptions::from_environment().offline();
    ModelConfig::load(&find_model(name, &offline).ok()?.folder).ok()
}

/// Returns options of GRPO whose training passes take the memory of supervised fine-tuning: every
/// token of a row may be a label, and nothing is generated.
fn as_grpo(sft: &SftConfig) -> Option<GrpoConfig> {
    let mut command = GrpoConfig::augment_args(Command::new("grpo").no_binary_name(true));
    let matches = command.try_get_matches_from_mut([""; 0]).ok()?;
    let usual = GrpoConfig::from_arg_matches(&matches).ok()?;
    Some(GrpoConfig {
        per_device_train_batch_size: sft.per_device_train_batch_size,
        max_completion_length: sft.run.max_length,
        groups_per_update: sft.gradient_accumulation_steps,
        num_generations: sft.per_device_train_batch_size,
        episodes_per_update: 1,
        generation_batch_size: 1,
        beta: 0.0,
        run: sft.run.clone(),
        ..usual
    })
}

/// Returns the bytes of memory that programs can still use; `None` on a system without
/// `/proc/meminfo`.
#[must_use]
pub fn available_bytes() -> Option<u128> {
    read_available(Path::new("/proc/meminfo"))
}

fn read_available(path: &Path) -> Option<u128> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u128 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::SweepArgs;

    #[test]
    fn larger_models_need_more_memory() {
        let args = SweepArgs {
            models: Some("0.5B,1.5B,3B,tiny,small,no/such-model".to_owned()),
            reports_dir: "r".into(),
            checkpoints_dir: "c".into(),
            ..SweepArgs::default()
        };
        let plan = args.plan().expect("a plan");
        let found: Vec<Option<u128>> = plan.entries.iter().map(|e| needed_bytes(e, 2)).collect();
        assert!(found[..3].is_sorted_by(|a, b| a < b), "{found:?}");
        assert!(found[3] > Some(0) && found[3] < found[4], "{found:?}");
        assert_eq!(found[5], None);
    }

    #[test]
    fn available_memory_is_unknown_without_meminfo_file() {
        assert_eq!(read_available(Path::new("/no/such/file")), None);
    }
}
