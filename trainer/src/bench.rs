//! `sentinel bench`: steps per second of a world on one core.
//!
//! What is timed are the random policy's episodes, chosen beforehand: the step alone, the step in a
//! batch that resets itself, and the session with its payloads.

use sentinel_env::Origin;
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use sentinel_env::WorldName;
use sentinel_env::rng::Streams;
use sentinel_env::{Batch, Protocol, Seeded as _, Session, TaskName as _};
use sentinel_policy::rollout::drive;
use sentinel_policy::{Playable, Scripted};
use serde::Serialize;

use crate::args;
use crate::episode::with_default;
use crate::{EpisodeArgs, Error, SeedRange};

/// The seeds of the episodes that are played over and over by default.
const SEEDS: SeedRange = SeedRange::new(0, 64);

/// What to time.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seeds", |arg| with_default(arg, SEEDS)))]
pub struct BenchConfig {
    /// Seconds for each number
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = parse_seconds)]
    pub seconds: f64,
    /// Print JSON
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

/// Steps per second of one task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TaskSpeed {
    /// The task.
    pub task: &'static str,
    /// Mean actions of an episode that was played.
    pub actions_per_episode: f64,
    /// Steps alone, in copies of episodes that were reset beforehand.
    pub step_per_s: f64,
    /// Steps of a batch of one, resets included.
    pub step_with_resets_per_s: f64,
    /// Steps of the session with trace and full payload, resets included.
    pub session_per_s: f64,
}

/// What was timed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Speeds {
    /// The world.
    pub world: WorldName,
    /// The rules.
    pub rules: String,
    /// How the streams were seeded.
    pub streams: Streams,
    /// Bytes of an episode as a value.
    pub episode_bytes: usize,
    /// One row for each task.
    pub tasks: Vec<TaskSpeed>,
}

/// Times a world; `progress` is told after each task.
///
/// # Errors
/// If the world has no such rules, tasks or streams.
pub fn bench<W: Playable + Protocol>(
    config: &BenchConfig,
    progress: impl Fn(),
) -> Result<Speeds, Error> {
    let rules = config.episode.rules::<W>()?;
    let random = args::policy::<W>(W::ROLES.random)?;
    let limit = Duration::from_secs_f64(config.seconds);
    let seeds = config.episode.seeds_or(SEEDS);
    let streams = config.episode.streams_or::<W>(Streams::Independent)?;
    let tasks = config.episode.tasks_or::<W>(None)?;
    let tasks = tasks.into_iter().map(|task| {
        let setup = Origin::<W> {
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

/// An episode before its first step, and what is done in it.
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
    let task = W::origin(setup).task.name();
    let refused = |reason: &dyn std::fmt::Display| Error::Bench {
        task,
        reason: reason.to_string(),
    };
    let record = |seed| {
        let setup = setup.with_seed(seed);
        let mut player = policy.start(&setup);
        let mut actions = Vec::new();
        let choose = |episode: &W| player.act(episode).inspect(|a| actions.push(*a));
        drive::<W>(&setup, choose, |_, _| ());
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

/// Repeats a pass of some steps for at least `limit`, and returns the steps per second.
fn per_second(
    pass: &mut dyn FnMut() -> Result<(), Error>,
    steps: usize,
    limit: Duration,
) -> Result<f64, Error> {
    // The first pass warms up.
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

/// The speeds for a terminal.
#[must_use]
pub fn text(speeds: &Speeds) -> String {
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
