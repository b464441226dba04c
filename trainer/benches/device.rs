//! Generation and training steps of a Qwen2 with random weights, or of a model in a folder, on a chosen
//! device, one JSON object for each measurement. `device_torch.py` does the same work with transformers and
//! PyTorch.
//!
//! `cargo bench -p sentinel-trainer --features cuda --bench device -- --device cuda --precision bf16`
//!
//! `cargo bench -p sentinel-trainer --bench device -- --device cpu --model outputs/smollm2 --rows 16,64 --samples 4`
#![allow(missing_docs)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use sentinel_compact::config::TrainConfig;
use sentinel_compact::learn::Learn as _;
use sentinel_compact::run::Threads;
use sentinel_compact::trainer::Trainer;
use sentinel_env::trust::TrustEnv;
use sentinel_language::grpo::memory_estimate::qwen_presets;
use sentinel_language::grpo::{Objective, Sample, accumulate};
use sentinel_language::sft::{OverlongRows, RowOptions, prepare_rows};
use sentinel_lm::{
    AdamOptions, CausalLm, ForwardOptions, GenerateOptions, GenerationDefaults, Generator, Lora,
    LoraConfig, ModelConfig, Optimizer, Precision, Tokenizer,
};
use sentinel_play::corpus::read_corpus;
use sentinel_policy::nn::Weights;
use sentinel_rl::config::LossConfig;
use sentinel_run::distributed::ProcessGroup;
use sentinel_tensor::device::DeviceName;
use serde_json::{Value, json};

/// The same allocator as in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Args {
    /// The device: cpu, wgpu or cuda; without it nothing is measured
    #[arg(long)]
    device: Option<DeviceName>,
    /// The number formats, from the most to the least exact: f32, bf16-weights, bf16
    #[arg(long, value_delimiter = ',', default_value = "f32", value_parser = parse_precision)]
    precision: Vec<Precision>,
    /// Sequences generated together, one measurement for each number; 0 for none
    #[arg(long, value_delimiter = ',', default_value = "1,64,256")]
    rows: Vec<u32>,
    /// Tokens of a prompt
    #[arg(long, default_value_t = 128)]
    prompt: u32,
    /// Tokens of a completion
    #[arg(long, default_value_t = 64)]
    completion: u32,
    /// Samples of a training step, in micro-batches of `--micro`; 0 for no step
    #[arg(long, default_value_t = 16)]
    samples: u32,
    /// Samples that are computed together
    #[arg(long, default_value_t = 16)]
    micro: usize,
    /// Runs after the first
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// Updates of the compact policy of the trust world, with the options of `sentinel train`; 0 for none
    #[arg(long, default_value_t = 0)]
    updates: usize,
    /// Steps of generation are started kernel by kernel, not as one recorded launch
    #[arg(long)]
    no_recording: bool,
    /// Layers of the model with random weights, for a short test
    #[arg(long)]
    layers: Option<usize>,
    /// Folder of a model in place of the one with random weights
    #[arg(long, conflicts_with = "layers")]
    model: Option<PathBuf>,
    /// Rank of the adapter
    #[arg(long, default_value_t = 8)]
    rank: usize,
    /// Corpus of `sentinel lm corpus`: one step of GRPO, with its first eight different prompts in the chat template of
    /// `--model` and eight completions each
    #[arg(long, requires = "model")]
    corpus: Option<PathBuf>,
    /// Given by `cargo bench` to every program
    #[arg(long, hide = true)]
    bench: bool,
}

fn parse_precision(text: &str) -> Result<Precision, String> {
    Precision::parse(text).ok_or_else(|| format!("{text:?} is none of f32, bf16-weights and bf16"))
}

fn main() -> Result<()> {
    let args = Args::parse();
    let Some(device) = args.device else {
        // All benchmarks of the package were asked for: this one takes minutes and gigabytes.
        return Ok(writeln!(
            std::io::stderr(),
            "device: name one with --device"
        )?);
    };
    if args.updates > 0 {
        return compact(&args, device);
    }
    language_model(&args, device)
}

/// Trains the compact policy of the trust world from fresh weights.
fn compact(args: &Args, device: DeviceName) -> Result<()> {
    let config = TrainConfig {
        device,
        max_steps: args.updates * (1 + args.repeat),
        ..TrainConfig::default()
    };
    let start = Weights::init(TrustEnv::net(&config), config.seed);
    let mut trainer = Trainer::<TrustEnv>::new(config, start)?;
    measure(args, "f32", "updates", 0, args.updates as f64, || {
        for _ in 0..args.updates {
            trainer.update(&Threads)?;
        }
        Ok(())
    })
}

/// Generates with a language model, and trains it.
fn language_model(args: &Args, device: DeviceName) -> Result<()> {
    let start = Instant::now();
    let device = device.open()?;
    let mut model = if let Some(folder) = &args.model {
        CausalLm::load(folder, &device)?
    } else {
        let (_, mut config) = (qwen_presets().into_iter().next()).context("a shape")?;
        config.num_hidden_layers = args.layers.unwrap_or(config.num_hidden_layers);
        CausalLm::initialize(config, 0, &device)?
    };
    let config = model.config().clone();
    let lora = LoraConfig {
        rank: args.rank,
        ..LoraConfig::default()
    };
    Lora::attach(&mut model, lora, 0)?;
    print_line(&json!({"what": "start", "s": start.elapsed().as_secs_f64()}))?;
    for &precision in &args.precision {
        model.lower_precision(precision)?;
        generate_and_train(args, &config, &mut model)?;
        if let Some(corpus) = &args.corpus {
            grpo_step(args, corpus, &mut model)?;
        }
    }
    Ok(())
}

/// Measures a step of GRPO: generation and training of eight completions of each of eight prompts, `generate_trl.py`'s.
fn grpo_step(args: &Args, corpus: &Path, model: &mut CausalLm) -> Result<()> {
    let folder = args.model.as_deref().context("a model")?;
    let tokenizer = Tokenizer::load(folder)?;
    let options = RowOptions {
        max_length: usize::MAX,
        too_long: OverlongRows::Refuse,
        completion_only: true,
        last_answer_only: false,
    };
    let mut prompts = Vec::new();
    for row in prepare_rows(&tokenizer, &read_corpus(corpus)?, options)?.rows {
        let prompt = row.ids[..row.start].to_vec();
        if prompts.len() < 8 && !prompts.contains(&prompt) {
            prompts.push(prompt);
        }
    }
    let prompts: Vec<Vec<u32>> = (prompts.iter())
        .flat_map(|prompt| std::iter::repeat_n(prompt.clone(), 8))
        .collect();
    let length = args.completion as usize;
    let options = GenerateOptions::new(length, &GenerationDefaults::default(), 0);
    let objective = Objective {
        loss: LossConfig::default(),
        temperature: 1.0,
        num_items: (prompts.len() * length) as f64,
        pad: 0,
    };
    let mut optimizer = Optimizer::new(&AdamOptions::default());
    let pass = ForwardOptions::training(0).with_gradient_checkpointing(false);
    let (precision, count) = (model.precision().name(), prompts.len() * length);
    let rows = u32::try_from(prompts.len())?;
    measure(args, precision, "GRPO step", rows, count as f64, || {
        let generator = Generator::new(model).with_recorded_steps(!args.no_recording);
        let done = generator.generate(&prompts, &options)?;
        anyhow::ensure!(
            done.iter().all(|row| row.ids.len() == length),
            "a completion is too short"
        );
        let samples: Vec<Sample> = (prompts.iter().zip(done).zip(0_u32..))
            .map(|((prompt, done), row)| Sample {
                prompt: prompt.clone(),
                completion: done.ids,
                advantage: f64::from(row % 4) - 1.5,
                ..Sample::default()
            })
            .collect();
        let samples: Vec<&Sample> = samples.iter().collect();
        let group = ProcessGroup::default();
        let found = accumulate(model, &samples, args.micro, &objective, pass, &group)?;
        anyhow::ensure!(found.loss.is_finite(), "the loss is {}", found.loss);
        optimizer.step(model, found.grads, 1e-9)?;
        wait(model)
    })
}

/// Measures a model in its precision.
fn generate_and_train(args: &Args, config: &ModelConfig, model: &mut CausalLm) -> Result<()> {
    let precision = model.precision().name();
    for &rows in args.rows.iter().filter(|rows| **rows > 0) {
        let generator = Generator::new(model).with_recorded_steps(!args.no_recording);
        let prompts: Vec<Vec<u32>> = (0..rows)
            .map(|row| tokens(config, row * 97, args.prompt))
            .collect();
        let length = args.completion as usize;
        let options = GenerateOptions::new(length, &GenerationDefaults::default(), 0);
        let generated = f64::from(rows * args.completion);
        measure(args, precision, "generate", rows, generated, || {
            let done = generator.generate(&prompts, &options)?;
            anyhow::ensure!(
                (done.iter())
                    .all(|row| row.ids.len() == length
                        && row.logps.iter().all(|logp| logp.is_finite())),
                "a completion is too short, or a log-probability is not finite"
            );
            Ok(())
        })?;
        let recorded = generator.has_recorded_steps();
        print_line(&json!({"what": "recorded steps", "rows": rows, "recorded": recorded}))?;
    }
    if args.samples > 0 {
        let samples: Vec<Sample> = (0..args.samples)
            .map(|row| Sample {
                prompt: tokens(config, row * 97, args.prompt),
                completion: tokens(config, row * 53 + 17, args.completion),
                advantage: f64::from(row % 4) - 1.5,
                ..Sample::default()
            })
            .collect();
        let samples: Vec<&Sample> = samples.iter().collect();
        let read = f64::from(args.samples * (args.prompt + args.completion));
        for checkpointing in [false, true] {
            let what = if checkpointing {
                "step, checkpointed"
            } else {
                "step"
            };
            let mut optimizer = Optimizer::new(&AdamOptions::default());
            let pass = ForwardOptions::training(0).with_gradient_checkpointing(checkpointing);
            let objective = Objective {
                loss: LossConfig::default(),
                temperature: 1.0,
                num_items: f64::from(args.samples * args.completion),
                pad: 0,
            };
            measure(args, precision, what, args.samples, read, || {
                let group = ProcessGroup::default();
                let found = accumulate(model, &samples, args.micro, &objective, pass, &group)?;
                anyhow::ensure!(found.loss.is_finite(), "the loss is {}", found.loss);
                optimizer.step(model, found.grads, 1e-9)?;
                wait(model)
            })?;
        }
    }
    Ok(())
}

/// Waits until the device of a model has finished.
fn wait(model: &CausalLm) -> Result<()> {
    let done = model.device().sync();
    done.map_err(|error| anyhow::anyhow!("{error:?}"))
}

/// Returns `count` tokens of a text that starts at `first`.
fn tokens(config: &ModelConfig, first: u32, count: u32) -> Vec<u32> {
    let vocabulary = u32::try_from(config.vocab_size).unwrap_or(u32::MAX);
    (0..count)
        .map(|at| (first + at * 31) % vocabulary)
        .collect()
}

/// Runs the work once, and then `--repeat` times; prints the time of the first run and the median of the
/// others.
fn measure(
    args: &Args,
    precision: &str,
    what: &str,
    rows: u32,
    tokens: f64,
    mut work: impl FnMut() -> Result<()>,
) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..=args.repeat {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64());
    }
    let first = times.remove(0);
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().unwrap_or(first);
    print_line(&json!({
        "what": what, "device": args.device.map(DeviceName::name), "precision": precision, "rows": rows,
        "first_s": first, "median_s": median, "tokens_per_s": tokens / median,
        "memory_mib": memory_mib(args.device),
    }))
}

fn print_line(line: &Value) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Returns the memory in use in MiB: that of the first NVIDIA device, or the most that the program has had on the
/// processor. `None` where neither can be read.
fn memory_mib(device: Option<DeviceName>) -> Option<u64> {
    if device == Some(DeviceName::Cpu) {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = peak.trim().trim_end_matches("kB").trim().parse().ok()?;
        return Some(kib / 1024);
    }
    let mut query = std::process::Command::new("nvidia-smi");
    query.args(["--query-gpu=memory.used", "--format=csv,noheader,nounits"]);
    let text = String::from_utf8(query.output().ok()?.stdout).ok()?;
    text.lines().next()?.trim().parse().ok()
}
