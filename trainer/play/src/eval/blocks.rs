//! The episodes that were played, in blocks of one policy on one task, and their summary.

use std::path::Path;

use sentinel_base::EvalPolicy;
use sentinel_base::provenance::Provenance;
use sentinel_env::TaskName as _;
use sentinel_env::adaptive_difficulty::DifficultyProfile;
use sentinel_policy::replay::Replay;

use super::diagnostics::{Diagnostics, EpisodeFacts};
use super::origin::EvalOrigin;
use super::plan::Plan;
use super::summary::{DifficultyState, Evaluated, Evaluation, OrderedMap, ReplayUse};
use super::trained_source::TrainedSource;

/// The row of an episode, with the counts of its replay and what it adds to the diagnostics.
#[derive(Clone, Debug)]
pub(super) struct PlayedEpisode<W: Evaluated> {
    pub(super) row: W::Row,
    pub(super) replay: ReplayCounts,
    pub(super) facts: Option<EpisodeFacts>,
}

/// The counts of recorded and missing actions in one episode of policy `trained`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplayCounts {
    pub(super) hits: usize,
    pub(super) misses: usize,
    pub(super) mismatches: usize,
    pub(super) fallbacks: usize,
}

/// The episodes of one policy on one task, and the difficulty after them.
pub(super) struct Block<W: Evaluated> {
    pub(super) task: W::Task,
    pub(super) policy: EvalPolicy<W>,
    pub(super) played: Vec<PlayedEpisode<W>>,
    pub(super) difficulty: Option<DifficultyProfile>,
}

impl<W: Evaluated> Evaluation<W> {
    /// Summarizes the episodes that were played.
    pub(super) fn new(
        plan: &Plan<'_, W>,
        blocks: Vec<Block<W>>,
        trained: Option<&TrainedSource<W>>,
    ) -> Self {
        let mut states = OrderedMap::default();
        for block in &blocks {
            let of_task: &mut OrderedMap<DifficultyState> =
                states.get_or_insert_with(block.task.name(), OrderedMap::default);
            of_task.0.push((
                block.policy.name().to_owned(),
                DifficultyState(block.difficulty),
            ));
        }
        let config = plan.config;
        let mut tasks = plan.tasks.clone();
        tasks.sort_unstable();
        let by_task = tasks.iter().map(|task| {
            let summary = summarize(plan, &blocks, |other| other == *task);
            (task.name().to_owned(), summary)
        });
        let takes_part = plan.policies.contains(&EvalPolicy::Trained);
        let model = match trained {
            Some(TrainedSource::Model { path, .. }) => Some(path.clone()),
            _ => None,
        };
        let replay = (takes_part && model.is_none())
            .then(|| replay_use(&blocks, trained.and_then(TrainedSource::replay)));
        let sentinel = EvalOrigin {
            diagnostics: diagnostics(plan, &blocks),
            ..origin(plan, trained, model.as_deref(), replay.as_ref())
        };
        Self {
            task: (config.episode.task)
                .as_deref()
                .or(W::DEFAULT_TASK)
                .unwrap_or("all")
                .to_owned(),
            tasks: plan.tasks.iter().map(|task| task.name()).collect(),
            episodes_per_policy: config.seed_range().count(),
            adaptive: config.adaptive,
            streams: plan.streams,
            rules: plan.rules.to_string(),
            difficulty: blocks.last().and_then(|block| block.difficulty),
            difficulty_by_task_policy: states,
            summary: summarize(plan, &blocks, |_| true),
            by_task: OrderedMap(by_task.collect()),
            replay,
            model,
            adversary_threshold: config.adversary_threshold,
            episodes: blocks
                .into_iter()
                .flat_map(|block| block.played.into_iter().map(|played| played.row))
                .collect(),
            sentinel,
        }
    }
}

fn summarize<W: Evaluated>(
    plan: &Plan<'_, W>,
    blocks: &[Block<W>],
    counts: impl Fn(W::Task) -> bool,
) -> OrderedMap<W::Summary> {
    let summary = plan.policies.iter().map(|policy| {
        let of_policy = blocks.iter().filter(|block| block.policy == *policy);
        let of_tasks = of_policy.filter(|block| counts(block.task));
        let rows = of_tasks.flat_map(|block| block.played.iter().map(|played| &played.row));
        let rows: Vec<&W::Row> = rows.collect();
        (policy.name().to_owned(), W::summarize(&rows))
    });
    OrderedMap(summary.collect())
}

/// Returns the behavior of each policy, in the order given.
fn diagnostics<W: Evaluated>(plan: &Plan<'_, W>, blocks: &[Block<W>]) -> Vec<Diagnostics> {
    let of_policy = |policy: &EvalPolicy<W>| {
        let blocks = blocks.iter().filter(|block| block.policy == *policy);
        let played = blocks.flat_map(|block| &block.played);
        let facts = played.filter_map(|one| one.facts.as_ref());
        Diagnostics::summarize_by_split(policy.name(), facts, W::EXPLOITS)
    };
    plan.policies.iter().flat_map(of_policy).collect()
}

/// Returns the origin of the result, with the fallbacks of its sources and those that acted.
fn origin<W: Evaluated>(
    plan: &Plan<'_, W>,
    trained: Option<&TrainedSource<W>>,
    model: Option<&Path>,
    replay: Option<&ReplayUse>,
) -> EvalOrigin {
    let mut provenance = trained.map_or_else(Provenance::new, |source| source.provenance().clone());
    let acted = replay.map_or([0; 2], |used| [used.replay_fallbacks, used.replay_misses]);
    let why = ["the completion was not an action", "the replay has no row"];
    for (count, why) in acted.into_iter().zip(why).filter(|(count, _)| *count > 0) {
        provenance.add_fallback("eval", format!("{count} steps are the fallback's: {why}"));
    }
    EvalOrigin {
        world: W::NAME,
        model: model.map(|path| path.display().to_string()),
        endpoint: None,
        adapter: None,
        replay: replay.and_then(|used| used.file.clone()),
        seeds: plan.config.seed_range(),
        streams: plan.streams,
        rules: plan.rules.to_string(),
        diagnostics: Vec::new(),
        warnings: Vec::new(),
        provenance,
    }
}

fn replay_use<W: Evaluated>(blocks: &[Block<W>], replay: Option<(&Path, &Replay<W>)>) -> ReplayUse {
    let mut misses = OrderedMap::default();
    let mut sum = ReplayCounts::default();
    for block in blocks
        .iter()
        .filter(|block| block.policy == EvalPolicy::Trained)
    {
        let of_task = misses.get_or_insert_with(block.task.name(), || 0);
        for counts in block.played.iter().map(|played| played.replay) {
            *of_task += counts.misses;
            sum.hits += counts.hits;
            sum.misses += counts.misses;
            sum.mismatches += counts.mismatches;
            sum.fallbacks += counts.fallbacks;
        }
    }
    ReplayUse {
        file: replay.map(|(path, _)| path.to_owned()),
        rows: replay.map_or(0, |(_, replay)| replay.row_count()),
        problems: replay.map_or(0, |(_, replay)| replay.problem_count()),
        replay_hits: sum.hits,
        replay_misses: sum.misses,
        replay_mismatches: sum.mismatches,
        replay_fallbacks: sum.fallbacks,
        replay_misses_by_task: misses,
    }
}
