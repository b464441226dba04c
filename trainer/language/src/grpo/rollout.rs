//! Rollouts: the episodes of an update, and the groups of completions that are formed from them.

use sentinel_base::provenance::Provenance;
use sentinel_base::rng::Rng;
use sentinel_base::task_selection;
use sentinel_env::EpisodeSpec;
use sentinel_env::rng::Streams;
use sentinel_play::analyze::{Analyzed, PolicySource};
use sentinel_play::rollout::{
    CompletionValue, Group, Member, RolloutStats, Trajectory, generate_groups, rollout,
};
use sentinel_policy::text::{ParseError, ParsedAction, PromptState, TextWorld};
use sentinel_rl::Metrics;
use sentinel_rl::credit_options::{Continuation, Credit};

use super::config::GrpoConfig;
use super::groups::{CompletionGroup, RewardedGeneration};
use crate::agent::{Generation, LanguageAgent as _, LmAgent};
use crate::training::RunError;

/// Returns `true` if a completion was parsed as an action without a repair.
fn is_valid_unrepaired<A>(parsed: &Result<ParsedAction<A>, ParseError>) -> bool {
    parsed.as_ref().is_ok_and(|parsed| !parsed.repaired)
}

/// Creates the setups of a run's episodes: the tasks in turn, on the seeds of the configuration.
pub(super) fn setups<W: TextWorld>(config: &GrpoConfig) -> Result<Vec<W::Setup>, RunError> {
    let rules = config.episode.rules::<W>()?;
    let streams = config.episode.streams_or::<W>(Streams::Independent)?;
    // The reference streams reveal hidden state (docs/trust.md), which must not be learned.
    if streams == Streams::Reference && W::STREAMS.contains(&Streams::Independent) {
        return Err(RunError::option("streams", "independent in training"));
    }
    let tasks =
        task_selection::training_tasks::<W>(config.episode.task.as_deref(), &config.episode.cells)?;
    let setup = |(index, seed): (usize, u64)| {
        EpisodeSpec::<W> {
            task: tasks[index % tasks.len()],
            seed,
            streams,
            rules,
        }
        .setup()
    };
    Ok(config.seeds()?.range().enumerate().map(setup).collect())
}

/// Plays episodes with the policy: where whole episodes are compared, `num_generations` from each start.
pub(super) fn play<W: TextWorld + Analyzed>(
    config: &GrpoConfig,
    setups: &[&W::Setup],
    agent: &mut LmAgent<'_>,
) -> Result<Vec<Trajectory<W>>, RunError> {
    let rollout_config = config.rollout_config()?;
    let copies = if compares_episodes(config) {
        config.num_generations
    } else {
        1
    };
    let starts: Vec<PromptState<W>> = (setups.iter())
        .flat_map(|setup| std::iter::repeat_n(PromptState::<W>::new(*setup), copies))
        .collect();
    agent.run(|agent| rollout(starts, rollout_config, agent, &|| ()))
}

/// Returns `true` if whole episodes from one start are compared, not completions of one state.
pub(super) fn compares_episodes(config: &GrpoConfig) -> bool {
    matches!(config.credit, Credit::RewardToGo | Credit::Episode)
}

/// Samples the steps to learn from among all steps of the played episodes, as pairs of an episode and a
/// step.
pub(super) fn sample_places<W: TextWorld>(
    config: &GrpoConfig,
    played: &[Trajectory<W>],
    seed: u64,
) -> Vec<(usize, usize)> {
    let places = (played.iter().enumerate())
        .flat_map(|(index, t)| (0..t.rows.len()).map(move |row| (index, row)));
    sample_subset(places.collect(), config.groups_per_update, seed)
}

/// Forms groups of completions of single states, which are sampled from all steps of the played
/// episodes.
pub(super) fn state_groups<W: TextWorld + Analyzed>(
    config: &GrpoConfig,
    continuation: Option<&PolicySource<W>>,
    played: &[Trajectory<W>],
    agent: &mut LmAgent<'_>,
    seed: u64,
) -> Result<Vec<CompletionGroup>, RunError> {
    let places = sample_places(config, played, seed);
    let states: Vec<PromptState<W>> = (places.iter())
        .map(|(index, row)| played[*index].state(*row))
        .collect();
    let value = match (config.credit, config.continuation, continuation) {
        (Credit::Step, Continuation::Sampled, _) => CompletionValue::Sampled,
        (Credit::Step, Continuation::Greedy, _) => CompletionValue::Greedy,
        (Credit::Step, _, Some(source)) => CompletionValue::Policy(source.clone()),
        _ => CompletionValue::StepReward,
    };
    agent.generations.clear();
    let size = config.num_generations;
    let rollout_config = config.rollout_config()?;
    let found = agent.run(|agent| generate_groups(&states, size, value, rollout_config, agent))?;
    // The completions of the groups come first, those of continuations after them.
    let mut generation = std::mem::take(&mut agent.generations).into_iter();
    let mut slot = |member: Member<W>| {
        Some(RewardedGeneration {
            generation: generation.next()?,
            reward: member.value,
            valid: is_valid_unrepaired(&member.parsed),
        })
    };
    let members = |group: Group<W>| group.members.into_iter().map(&mut slot).collect();
    Ok(found.into_iter().map(members).collect())
}

/// Loads the policy that plays on after a completion; `None` if the model itself does, or nothing does.
pub(super) fn continuation<W: Analyzed>(
    config: &GrpoConfig,
    provenance: &mut Provenance,
) -> Result<Option<PolicySource<W>>, RunError> {
    let default = match (config.credit, config.continuation) {
        (Credit::Lookahead, _) => W::ROLES.planner,
        (Credit::Step, Continuation::Scripted) => W::ROLES.heuristic,
        _ => return Ok(None),
    };
    let name = config.continuation_policy.as_deref().unwrap_or(default);
    let options = ["--continuation-policy", "--continuation-model"];
    let model = config.continuation_model.as_deref();
    let rules = config.episode.rules::<W>()?;
    let found = PolicySource::load(name, model, rules, options, provenance);
    Ok(Some(found?))
}

/// Returns the generations of each of `episodes` episodes in the order of their steps.
pub(super) fn generations_by_episode(
    generations: Vec<Generation>,
    episodes: usize,
) -> Vec<Vec<Generation>> {
    let mut found: Vec<Vec<Generation>> = (0..episodes).map(|_| Vec::new()).collect();
    for generation in generations {
        found[generation.episode].push(generation);
    }
    found
}

/// Forms groups of the rows that episodes from the same start have at the same step.
pub(super) fn episode_groups<W: TextWorld>(
    config: &GrpoConfig,
    played: &[Trajectory<W>],
    generations: Vec<Generation>,
    seed: u64,
) -> Vec<CompletionGroup> {
    let by_episode = generations_by_episode(generations, played.len());
    let size = config.num_generations;
    let mut all = Vec::new();
    for (start, episodes) in played.chunks(size).enumerate() {
        let longest = episodes.iter().map(|t| t.rows.len()).max().unwrap_or(0);
        all.extend((0..longest).map(|row| (start, row)));
    }
    // A step that only one episode reaches has nothing to be compared with.
    let there = |(start, row): &(usize, usize)| {
        let episodes = &played[start * size..(start + 1) * size];
        episodes.iter().filter(|t| t.rows.len() > *row).count() > 1
    };
    all.retain(there);
    let places = sample_subset(all, config.groups_per_update, seed);
    let group = |(start, row): &(usize, usize)| {
        let episodes = start * size..(start + 1) * size;
        let slot = |episode: usize| {
            let (row, generation) = (
                played[episode].rows.get(*row)?,
                by_episode[episode].get(*row)?,
            );
            Some(RewardedGeneration {
                generation: generation.clone(),
                reward: match config.credit {
                    Credit::Episode => played[episode].score,
                    _ => row.reward_to_go,
                },
                valid: is_valid_unrepaired(&row.parsed),
            })
        };
        episodes.map(slot).collect()
    };
    places.iter().map(group).collect()
}

/// Selects at most `most` items at random, and keeps their order.
fn sample_subset<T>(mut all: Vec<T>, most: usize, seed: u64) -> Vec<T> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    Rng::new(seed, &[]).shuffle(&mut order);
    let mut kept = vec![false; all.len()];
    order.iter().take(most).for_each(|at| kept[*at] = true);
    let mut kept = kept.into_iter();
    all.retain(|_| kept.next().unwrap_or(false));
    all
}

/// Returns the statistics of the played episodes under `rollout/`.
pub(super) fn rollout_metrics<W: TextWorld>(played: &[Trajectory<W>]) -> Metrics {
    let signals = RolloutStats::from_trajectories(played);
    let values = [
        ("rollout/score", signals.avg_score),
        ("rollout/rows", signals.rows as f64),
        ("rollout/invalid_rate", signals.invalid_rate),
        ("rollout/repaired_rate", signals.repaired_rate),
        ("rollout/aborted_rate", signals.aborted_rate),
        ("rollout/repeated_action_rate", signals.repeated_action_rate),
        ("rollout/constant_policy_rate", signals.constant_policy_rate),
        ("rollout/first_step_reward", signals.first_step_reward),
        ("rollout/later_reward", signals.later_reward),
    ];
    let named = values.map(|(name, value)| (name.to_owned(), value));
    named.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::is_valid_unrepaired;
    use sentinel_policy::text::{ParseError, ParseErrorKind, ParsedAction};

    /// The format reward is only for completions that need no repair.
    #[test]
    fn repaired_completion_is_not_valid_format() {
        let parsed = |repaired| {
            Ok(ParsedAction {
                action: (),
                repaired,
            })
        };
        assert!(is_valid_unrepaired(&parsed(false)));
        assert!(!is_valid_unrepaired(&parsed(true)));
        let reason = ParseErrorKind::NotJson;
        let detail = String::new();
        assert!(!is_valid_unrepaired::<()>(&Err(ParseError {
            reason,
            detail
        })));
    }
}
