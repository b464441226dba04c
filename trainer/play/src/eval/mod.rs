//! `sentinel eval`: policies on the same seeds, summarized as the reference does (spec
//! evaluation §1).

mod blocks;
mod diagnostics;
mod origin;
mod plan;
mod summary;
mod table;
mod trained_source;

pub(crate) use diagnostics::task_of;
pub use diagnostics::{Diagnostics, DiagnosticsSums, EpisodeFacts};
pub use origin::EvalOrigin;
pub use plan::{EvalConfig, Plan};
pub(crate) use summary::or_empty;
pub use summary::{Difficulty, DifficultyState, Evaluated, Evaluation, OrderedMap, ReplayUse};
pub use table::format_table;
pub use trained_source::{DEFAULT_REPLAY, TrainedSource, load_model};

use std::path::Path;

use rayon::prelude::*;
use sentinel_base::{Error, EvalPolicy, Progress, SeedRange, files};
use sentinel_env::adaptive_difficulty::{DifficultyController, DifficultyProfile};
use sentinel_policy::policy::Player;
use sentinel_policy::replay::{Replay, play_replay};
use sentinel_policy::rollout::EpisodeRun;
use sentinel_policy::{Scripted, run_episode};

use self::blocks::{Block, PlayedEpisode, ReplayCounts};

/// Checks that writing to `path` overwrites nothing but an earlier evaluation.
///
/// # Errors
/// Returns an error if the file exists and is something else, such as a replay, or cannot be
/// written.
pub fn check_replaces(path: &Path) -> Result<(), Error> {
    files::check_replaces(path, "an evaluation", &["summary", "episodes"])
}

/// Plays all episodes, in parallel over cores; rows come in the order task, policy, seed. `trained`
/// is the source of the policy of that name; without one every step of it is a replay miss.
#[must_use]
pub fn evaluate<W: Evaluated>(
    plan: &Plan<'_, W>,
    trained: Option<&TrainedSource<W>>,
    progress: Progress<'_>,
) -> Evaluation<W> {
    let seeds = plan.config.seed_range();
    let one = |task, policy, seed, profile| {
        let (run, played) = play_one(policy, &plan.setup(task, seed, profile), trained);
        progress();
        (run, played)
    };
    let tasks = plan.tasks.iter();
    let pairs: Vec<(W::Task, EvalPolicy<W>)> = tasks
        .flat_map(|task| plan.policies.iter().map(move |policy| (*task, *policy)))
        .collect();
    let blocks = pairs.into_par_iter().map(|(task, policy)| {
        if plan.config.adaptive {
            let (played, difficulty) = adaptive(seeds, |seed, at| one(task, policy, seed, at));
            return Block {
                task,
                policy,
                played,
                difficulty: Some(difficulty),
            };
        }
        let at = plan.config.profile();
        let played = seeds
            .range()
            .into_par_iter()
            .map(|seed| one(task, policy, seed, at).1);
        Block {
            task,
            policy,
            played: played.collect(),
            difficulty: None,
        }
    });
    Evaluation::new(plan, blocks.collect(), trained)
}

/// Plays episodes one after the other, each at the difficulty that the earlier ones led to.
fn adaptive<W: Evaluated>(
    seeds: SeedRange,
    one: impl Fn(u64, DifficultyProfile) -> (EpisodeRun<W>, PlayedEpisode<W>),
) -> (Vec<PlayedEpisode<W>>, DifficultyProfile) {
    let mut controller = DifficultyController::new();
    let mut all = Vec::new();
    for seed in seeds.range() {
        let (run, played) = one(seed, controller.profile(true));
        if let Some(adaptive) = W::ADAPTIVE {
            (adaptive.report_to)(run.episode(), &mut controller);
        }
        all.push(played);
    }
    (all, controller.current_profile())
}

fn play_one<W: Evaluated>(
    policy: EvalPolicy<W>,
    setup: &W::Setup,
    trained: Option<&TrainedSource<W>>,
) -> (EpisodeRun<W>, PlayedEpisode<W>) {
    let act = |mut player: Player<W>| (run_episode(setup, &mut player), ReplayCounts::default());
    let model = match (policy, trained) {
        (EvalPolicy::Trained, Some(TrainedSource::Model { model, .. })) => {
            Some(W::trained_player(model))
        }
        _ => None,
    };
    let (run, replay) = match (policy, model) {
        (EvalPolicy::Scripted(name), _) => act(name.start(setup)),
        (EvalPolicy::Trained, Some(player)) => act(player),
        (EvalPolicy::Trained, None) => {
            let empty = Replay::default();
            let replay = trained.and_then(TrainedSource::replay);
            let played = play_replay(replay.map_or(&empty, |(_, replay)| replay), setup);
            let counts = ReplayCounts {
                hits: played.source.hits().len(),
                misses: played.source.misses().len(),
                mismatches: played.mismatches().count(),
                fallbacks: played.source.fallbacks(),
            };
            (played.run, counts)
        }
    };
    let row = W::episode_row(policy.name(), &run);
    let episode = run.episode();
    let facts = EpisodeFacts::new::<W>(task_of(episode), episode.score(), run.steps());
    (run, PlayedEpisode { row, replay, facts })
}
