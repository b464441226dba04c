//! `sentinel lm grpo --estimate`: a table of the memory that a run takes, without loading a model.

use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use sentinel_language::grpo::GrpoConfig;
use sentinel_language::grpo::memory_estimate::{MemoryEstimate, estimate_memory, qwen_presets};
use sentinel_lm::parallel::batches_at_once;
use sentinel_lm::{HubOptions, ModelConfig, Precision, find_model};

use super::output::print;

/// The accelerator sizes of the table, in GB of 10^9 bytes.
const SIZES: [u64; 3] = [16, 24, 80];
/// The share of memory that a driver and an allocator keep.
const SPARE: f64 = 0.05;
const GIB: f64 = (1_u64 << 30) as f64;

/// Prints the estimates of Qwen2.5's small models, and of `--model` if it is on this machine.
pub(crate) fn print_estimates(config: &GrpoConfig, matches: &ArgMatches) -> Result<()> {
    config.check()?;
    config.run.check()?;
    let lora = match config.run.named_adapter()? {
        Some(own) => own,
        None => config.run.lora()?,
    };
    let mut shapes: Vec<(String, ModelConfig)> = Vec::new();
    let listed = |model: &str| qwen_presets().iter().any(|(name, _)| model.ends_with(name));
    if matches.value_source("model") == Some(ValueSource::CommandLine) {
        // An estimate must not download a model.
        let offline = HubOptions::from_environment().offline();
        let model = &config.run.model;
        match find_model(model, &offline) {
            Ok(found) => shapes.push((model.clone(), ModelConfig::load(&found.folder)?)),
            Err(_) if listed(model) => {}
            Err(error) => return Err(error.into()),
        }
    }
    shapes.extend(qwen_presets().map(|(name, shape)| (name.to_owned(), shape)));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let fits = SIZES
        .map(|size| format!("{:>6}", format!("{size} GB")))
        .concat();
    let mut text = format!(
        "{:<24}{:>9}{:>11}{:>11}{:>13}{:>10}{:>11}{:>9}{fits}{:>9}{:>9}\n",
        match config.run.precision {
            Precision::F32 => "GiB, all f32",
            Precision::Bf16Weights => "GiB, frozen in bf16",
            Precision::Bf16 => "GiB, computed in bf16",
        },
        "weights",
        "trainable",
        "optimizer",
        "activations",
        "KV cache",
        "reference",
        "at most",
        "CPU",
        "params"
    );
    for (name, shape) in shapes {
        text.push_str(&line(
            &name,
            &estimate_memory(config, &lora, &shape)?,
            cores,
        ));
    }
    let at_once = batches_at_once(config.row_parts(), cores);
    text.push_str(&format!(
        "micro-batch {} x {} tokens, {} prompts per generation batch, {}\n\
         at most: of an accelerator, one micro-batch at a time; CPU: up to {at_once} at a time here\n",
        config.per_device_train_batch_size,
        config.run.max_length,
        config.generation_batch_size,
        if config.run.full {
            "all weights".to_owned()
        } else {
            format!("LoRA rank {}", lora.rank)
        }
    ));
    print(&text)
}

fn line(name: &str, found: &MemoryEstimate, cores: usize) -> String {
    let gib = |bytes: u128| bytes as f64 / GIB;
    let fits = |size: u64| {
        let room = size as f64 * 1e9 * (1.0 - SPARE);
        let word = if found.total_bytes() as f64 <= room {
            "yes"
        } else {
            "no"
        };
        format!("{word:>6}")
    };
    format!(
        "{name:<24}{:>9.2}{:>11.3}{:>11.2}{:>13.2}{:>10.2}{:>11.2}{:>9.2}{}{:>9.2}{:>8.3}B\n",
        gib(found.weights),
        gib(found.trained * 4),
        gib(found.optimizer),
        gib(found.activations),
        gib(found.generation),
        gib(found.reference),
        gib(found.total_bytes()),
        SIZES.map(fits).concat(),
        gib(found.total_bytes_on_cpu(cores)),
        found.parameters as f64 / 1e9,
    )
}
