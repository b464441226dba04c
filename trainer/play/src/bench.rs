//! `sentinel bench`: steps per second of a world on one core.
//!
//! The random policy's episodes are recorded first. Their steps are then timed alone, in a batch
//! that resets itself, and in a session with its payloads.

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use sentinel_base::episode_args::with_default;
use sentinel_base::{EpisodeArgs, Error, SeedRange, arg_parsers};
use sentinel_env::rng::Streams;
use sentinel_env::{Batch, EpisodeSpec, Protocol, Seeded as _, Session, TaskName as _, WorldName};
use sentinel_policy::rollout::run_steps;
use sentinel_policy::{Playable, Scripted};
use serde::Serialize;

use crate::error::PlayError;

/// The default seeds of the episodes that are repeated.
const SEEDS: SeedRange = SeedRange::new(0, 64);

/// The configuration of `sentinel bench`.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seeds", |arg| with_default(arg, SEEDS)))]
pub struct BenchConfig {
    /// Seconds of each measurement
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = parse_seconds)]
    pub seconds: f64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s| (0.0..=600.0).contains(s));
    seconds.ok_or_else(|| format!("{text:?} is not a number of seconds from 0 to 600"))
}

/// Speeds of one task, in steps per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TaskSpeed {
    /// The name of the task.
    pub task: &'static str,
    /// The mean number of actions per recorded episode.
    pub actions_per_episode: f64,
    /// Speed of the step alone, in copies of episodes that were reset beforehand.
    pub step_per_s: f64,
    /// Speed of a batch of one, resets included.
    pub step_with_resets_per_s: f64,
    /// Speed of the session with trace and full payload, resets included.
    pub session_per_s: f64,
}

/// The result of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Speeds {
    /// The world that was timed.
    pub world: WorldName,
    /// The rules of every episode.
    pub rules: String,
    /// The stream mode of the episodes.
    pub streams: Streams,
    /// The size of an episode value in bytes.
    pub episode_bytes: usize,
    /// The speeds of each task.
    pub tasks: Vec<TaskSpeed>,
}

/// Times every selected task of a world; calls `progress` after each task.
///
/// # Errors
/// Returns an error if the world has no such rules, tasks or streams, or refuses a recorded action.
pub fn bench<W: Playable + Protocol>(
    config: &BenchConfig,
    progress: impl Fn(),
) -> Result<Speeds, Error> {
    let rules = config.episode.rules::<W>()?;
    let random = arg_parsers::parse_policy::<W>(W::ROLES.random)?;
    let limit = Duration::from_secs_f64(config.seconds);
    let seeds = config.episode.seeds_or(SEEDS);
    let streams = config.episode.streams_or::<W>(Streams::Independent)?;
    let tasks = config.episode.tasks_or::<W>(None)?;
    let tasks = tasks.into_iter().map(|task| {
        let setup = EpisodeSpec::<W> {
            task,
            seed: 0,
            streams,
            rules,
        }
        .setup();
        let speed = speed_of::<W>(&setup, seeds, random, limit);
        progress();
        speed
    });
    Ok(Speeds {
        world: config.episode.world,
        rules: rules.to_string(),
        streams,
        tasks: tasks.collect::<Result<_, _>>()?,
        episode_bytes: size_of::<W>(),
    })
}

/// An episode before its first step, and the actions that it will take.
struct Recorded<W: Playable> {
    start: W,
    setup: W::Setup,
    actions: Vec<W::Action>,
}

fn speed_of<W: Playable + Protocol>(
    setup: &W::Setup,
    seeds: SeedRange,
    policy: W::PolicyName,
    limit: Duration,
) -> Result<TaskSpeed, Error> {
    let task = W::episode_spec(setup).task.name();
    let refused = |reason: &dyn std::fmt::Display| PlayError::Bench {
        task,
        reason: reason.to_string(),
    };
    let record = |seed| {
        let setup = setup.with_seed(seed);
        let mut player = policy.start(&setup);
        let mut actions = Vec::new();
        let choose = |episode: &W| player.act(episode).inspect(|a| actions.push(*a));
        run_steps::<W>(&setup, choose, |_, _| ());
        let start = W::reset(&setup);
        Recorded::<W> {
            start,
            setup,
            actions,
        }
    };
    let episodes: Vec<Recorded<W>> = seeds.range().map(record).collect();
    let steps: usize = episodes.iter().map(|e| e.actions.len()).sum();
    let per_s = |pass: &mut dyn FnMut() -> Result<(), Error>| per_second(pass, steps, limit);
    let mut batch = Batch::<W>::new(setup, seeds.range(), 1);
    let mut out = Vec::with_capacity(1);
    Ok(TaskSpeed {
        task,
        actions_per_episode: steps as f64 / seeds.count() as f64,
        step_per_s: per_s(&mut || {
            for recorded in &episodes {
                let mut episode = recorded.start.clone();
                for action in &recorded.actions {
                    black_box(episode.step(*action).map_err(|e| refused(&e))?);
                }
            }
            Ok(())
        })?,
        step_with_resets_per_s: per_s(&mut || {
            // The batch plays the same seeds in the same order.
            for action in episodes.iter().flat_map(|e| &e.actions) {
                let stepped = batch.step(std::slice::from_ref(action), &mut out);
                stepped.map_err(|(_, e)| refused(&e))?;
                black_box(&out);
            }
            Ok(())
        })?,
        session_per_s: per_s(&mut || {
            for recorded in &episodes {
                let mut session = Session::<W>::new(&recorded.setup);
                for action in &recorded.actions {
                    session.act(*action).map_err(|e| refused(&e))?;
                    black_box(session.reply());
                }
            }
            Ok(())
        })?,
    })
}

/// Repeats `pass`, which takes `steps` steps, for at least `limit`; returns the steps per second.
fn per_second(
    pass: &mut dyn FnMut() -> Result<(), Error>,
    steps: usize,
    limit: Duration,
) -> Result<f64, Error> {
    // The first pass is a warm-up.
    pass()?;
    let (start, mut passes) = (Instant::now(), 0u32);
    loop {
        pass()?;
        passes += 1;
        let taken = start.elapsed();
        if taken >= limit {
            return Ok((f64::from(passes) * steps as f64 / taken.as_secs_f64()).round());
        }
    }
}

/// Returns the speeds as a table for a terminal.
#[must_use]
pub fn format_table(speeds: &Speeds) -> String {
    let mut text = format!(
        "world {}, {} rules, {} streams, one core; an episode is {} bytes\n\n",
        speeds.world.name(),
        speeds.rules,
        speeds.streams.name(),
        speeds.episode_bytes
    );
    let first = "steps per second";
    let tasks = speeds.tasks.iter().map(|speed| speed.task.len());
    let place = tasks.max().unwrap_or(0).max(first.len() + 2);
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{first:<place$} {:>12} {:>13} {:>27}",
        "alone", "with resets", "with session and payloads"
    );
    for speed in &speeds.tasks {
        let _ = writeln!(
            text,
            "{:<place$} {:>12} {:>13} {:>27}",
            speed.task, speed.step_per_s, speed.step_with_resets_per_s, speed.session_per_s
        );
    }
    text
}
