//! Steps of episodes that scripted policies play, as rows and as prompts for GRPO.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use sentinel_base::{CellArgs, Error, Progress, SeedRange, task_selection};
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::{EpisodeSpec, Named as _, TaskName as _, WorldName, in_world};
use sentinel_policy::Scripted;
use sentinel_policy::text::{PromptState, PromptStyle, TextWorld};

use super::row::StepOrigin;
use super::world_tables::LICENSE;
use super::{CorpusRow, Message, RowOrigin};
use crate::corpus::demonstrate;

/// The part of a step that becomes a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The prompt, and the action of the policy as completion.
    Demonstration,
    /// The prompt without a completion.
    Prompt,
}

/// The episodes to play.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<'a> {
    pub(super) seeds: SeedRange,
    pub(super) style: PromptStyle,
    pub(super) content: Content,
    /// Ends the episodes when it is set.
    pub(super) stop: &'a AtomicBool,
}

impl Plan<'_> {
    /// Plays every task of the worlds with every seed and returns the steps, in the order world,
    /// task, seed, step. Tasks are those of training: in PolyGuard without anything that is held
    /// out.
    ///
    /// # Errors
    /// Returns an error if a world has no scripted policy for demonstrations.
    pub(super) fn play(
        self,
        worlds: &[WorldName],
        progress: Progress<'_>,
    ) -> Result<Vec<CorpusRow>, Error> {
        let mut rows = Vec::new();
        for world in worlds {
            rows.extend(in_world!(*world, W => play::<W>(self, progress))?);
        }
        for (position, row) in (0..).zip(&mut rows) {
            row.position = position;
        }
        Ok(rows)
    }
}

fn play<W: TextWorld>(plan: Plan<'_>, progress: Progress<'_>) -> Result<Vec<CorpusRow>, Error> {
    let policy = demonstrate::best_policy::<W>()?;
    let tasks = task_selection::training_tasks::<W>(None, &CellArgs::default())?;
    let episodes =
        (tasks.iter()).flat_map(|task| plan.seeds.range().map(move |seed| (*task, seed)));
    let episodes: Vec<(W::Task, u64)> = episodes.collect();
    let played: Vec<Vec<CorpusRow>> = (episodes.par_iter())
        .map(|(task, seed)| {
            let rows = episode::<W>(plan, policy, *task, *seed);
            progress();
            rows
        })
        .collect();
    Ok(played.into_iter().flatten().collect())
}

fn episode<W: TextWorld>(
    plan: Plan<'_>,
    policy: W::PolicyName,
    task: W::Task,
    seed: u64,
) -> Vec<CorpusRow> {
    let style = plan.style;
    let rules = Rules::<W::Change>::default();
    let streams = W::streams_or_default(Streams::Independent);
    let setup = EpisodeSpec::<W> {
        task,
        seed,
        streams,
        rules,
    }
    .setup();
    let mut state = PromptState::<W>::new(&setup);
    let mut player = policy.start(&setup);
    let mut rows = Vec::new();
    while let Some(action) = player.act(state.episode()) {
        let observation = state.observation();
        rows.push(CorpusRow {
            prompt: vec![Message::user(state.prompt(style))],
            completion: match plan.content {
                Content::Demonstration => W::format_action(style, observation, action),
                Content::Prompt => String::new(),
            },
            origin: RowOrigin::Step(StepOrigin {
                world: W::NAME,
                task: task.name(),
                seed,
                step: W::step_count(observation),
                policy: policy.name(),
                rules: rules.to_string(),
                streams,
                style,
            }),
            license: LICENSE.to_owned(),
            position: 0,
        });
        if plan.stop.load(Ordering::Relaxed) {
            break;
        }
        // A player only names legal actions; if one is refused, the episode stops here.
        if state.step(action).is_err() {
            break;
        }
    }
    rows
}
