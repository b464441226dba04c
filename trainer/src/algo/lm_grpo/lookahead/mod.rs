//! Look-ahead as credit: the gain of every legal action over the others, instead of the value of
//! sampled completions.
//!
//! A policy that plays well and costs little plays on after each action, in hidden states that agree
//! with what was observed (AggreVaTe, arXiv:1406.5979 and arXiv:1703.01030). All legal actions of a
//! state are a group, and each is weighted by its probability, so that the gradient is that of an
//! expectation and has no noise of sampled completions. Where a state has too many, the group is the
//! candidates of the world, and a sampled completion that is none of them stands for all others. See
//! [`lookahead_groups`].

use rayon::prelude::*;
use sentinel_policy::analysis::{BeliefRollouts, CompareActions as _};
use sentinel_policy::text::{PromptState, TextWorld};

use self::compared::{Compared, METRICS, Outside, Target};
use super::config::GrpoConfig;
use super::loss::Sample;
use super::rollout::{Collected, ScoredCompletion, generations_by_episode, sample_places, signals};
use crate::analyze::{Analyzed, PolicySource};
use crate::corpus::rollout::Trajectory;
use crate::finetune::RunError;
use crate::lm::Tokenizer;
use crate::lm_agent::Generation;
use crate::rng::Rng;

mod compared;

/// Completions with a smaller advantage are left out of the loss.
const ADVANTAGE_MIN: f64 = 1e-3;

/// Computes the log-probability of every token of every completion.
type ComputeLogps<'a> = dyn Fn(&[&Sample]) -> Result<Vec<Vec<f64>>, RunError> + 'a;

/// The functions of a language model that look-ahead needs.
pub(super) struct Scorer<'a> {
    pub(super) tokenizer: &'a Tokenizer,
    /// Token that ends a completion.
    pub(super) stop: u32,
    /// Number of optimizer steps before, for errors.
    pub(super) step: usize,
    /// Computes the log-probabilities of the tokens of completions.
    pub(super) logps: &'a ComputeLogps<'a>,
}

/// A sampled step of a played episode, with what look-ahead knows there.
struct Visit<'a, W: TextWorld + Analyzed> {
    state: &'a PromptState<W>,
    /// The belief from the observations until then, and the policy that plays on.
    rollouts: &'a BeliefRollouts<W>,
    /// Seed of the sampled hidden states.
    seed: u64,
}

/// Calls `visit` at all `places`, pairs of an episode and a step in ascending order, each episode on one
/// core. Returns the results in that order.
fn visit_places<W: TextWorld + Analyzed, T: Send>(
    continuation: &PolicySource<W>,
    played: &[Trajectory<W>],
    places: &[(usize, usize)],
    seed: u64,
    visit: impl Fn(usize, &Visit<'_, W>) -> T + Sync,
) -> Vec<T> {
    let mut by_episode: Vec<Vec<(usize, usize)>> = played.iter().map(|_| Vec::new()).collect();
    for (at, (episode, step)) in places.iter().enumerate() {
        by_episode[*episode].push((at, *step));
    }
    let episode = |(index, places): (usize, &Vec<(usize, usize)>)| {
        let (trajectory, mut state) = (&played[index], played[index].state(0));
        let setup = *state.episode().setup();
        let policy = continuation.start(&setup);
        let mut rollouts = BeliefRollouts::<W>::new(policy.as_ref(), &setup);
        let mut waiting = places.iter().peekable();
        let mut found = Vec::with_capacity(places.len());
        let mut last = None;
        for (step, row) in trajectory.rows.iter().enumerate() {
            if waiting.peek().is_none() {
                break;
            }
            rollouts.observe(last, state.observation());
            if let Some((at, _)) = waiting.next_if(|(_, place)| *place == step) {
                let here = Visit {
                    state: &state,
                    rollouts: &rollouts,
                    seed: Rng::new(seed, &[index as u64, step as u64]).next(),
                };
                found.push(visit(*at, &here));
            }
            last = row.action;
            // The same state accepted the same action before; the last row may have none.
            if row.action.is_none_or(|action| state.step(action).is_err()) {
                break;
            }
        }
        found
    };
    let episodes = by_episode.par_iter().enumerate().map(episode);
    let all: Vec<Vec<T>> = episodes.collect();
    let all: Vec<T> = all.into_iter().flatten().collect();
    debug_assert_eq!(
        all.len(),
        places.len(),
        "every place is a step of its episode"
    );
    all
}

/// Forms a group of all legal actions, or of some of them, at sampled steps of the played episodes. The
/// advantage of an action is its probability in [`improved_policy`] less that in the policy. While other
/// texts have next to no probability, the gradient is that of the cross-entropy against the target. A
/// sampled completion that is none of some compared actions joins them: [`Compared::into_samples`].
///
/// # Errors
/// If a text cannot be encoded, a completion is longer than the options allow, the model fails, or a
/// log-probability is not finite.
pub(super) fn lookahead_groups<W: TextWorld + Analyzed>(
    config: &GrpoConfig,
    continuation: &PolicySource<W>,
    played: &[Trajectory<W>],
    generations: Vec<Generation>,
    scorer: &Scorer<'_>,
    seed: u64,
) -> Result<Collected, RunError> {
    let places = sample_places(config, played, seed);
    let select = |_, visit: &Visit<'_, W>| Compared::new(visit, config);
    let groups: Vec<Compared<W>> = visit_places(continuation, played, &places, seed, select);
    let groups = places.into_iter().zip(groups);
    let (places, mut groups): (Vec<_>, Vec<_>) = groups
        .filter(|(_, group)| !group.actions.is_empty())
        .unzip();
    let generated = generations_by_episode(generations, played.len());
    for ((episode, step), group) in places.iter().zip(&mut groups) {
        // Each row has one generation.
        let generation = &generated[*episode][*step];
        group.encode(&generation.prompt, scorer)?;
        let action = played[*episode].rows[*step].action;
        if !group.are_all && action.is_none_or(|action| !group.actions.contains(&action)) {
            let sample = Sample {
                prompt: generation.prompt.clone(),
                completion: generation.completion.ids.clone(),
                ..Sample::default()
            };
            group.outside = Some(Outside { sample, action });
        }
    }
    let samples = || groups.iter().flat_map(|group| &group.samples);
    let longest = samples().map(|sample| sample.completion.len()).max();
    if let Some(tokens) = longest.filter(|tokens| *tokens > config.max_completion_length) {
        return Err(RunError::CompletionLength { tokens });
    }
    for group in &mut groups {
        group.keep_distinguishing_tokens();
    }
    let samples = groups.iter().flat_map(|group| &group.samples);
    let rows: Vec<&Sample> = samples.collect();
    let mut logps = (scorer.logps)(&rows)?.into_iter();
    for group in &mut groups {
        let found = logps.by_ref().take(group.samples.len());
        let probability = |tokens: Vec<f64>| tokens.iter().sum::<f64>().exp();
        group.probabilities = found.map(probability).collect();
        if !group.probabilities.iter().all(|p| p.is_finite()) {
            return Err(RunError::NotFinite {
                step: scorer.step,
                what: "log-probability of a completion",
                saved: String::new(),
            });
        }
    }
    let targets = visit_places(continuation, played, &places, seed, |at, visit| {
        groups[at].target(config, visit)
    });
    let mut found = collected(config, groups, targets);
    let mut metrics = signals(played);
    let score = metrics.get("rollout/score").copied().unwrap_or(f64::NAN);
    found.metrics.insert("reward".into(), score);
    found.metrics.append(&mut metrics);
    Ok(found)
}

/// Computes advantages, and records metrics.
fn collected<W: TextWorld + Analyzed>(
    config: &GrpoConfig,
    groups: Vec<Compared<W>>,
    targets: Vec<Target>,
) -> Collected {
    let (mut samples, mut logged, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    let (mut num_items, mut flat, mut logs) = (0.0, 0.0, true);
    let count = groups.len();
    let mut states = Vec::with_capacity(count);
    for (index, (group, target)) in groups.into_iter().zip(targets).enumerate() {
        states.push(group.metrics(&target));
        let tokens = group.samples.iter().map(|s| s.completion.len() as f64);
        let tokens: Vec<f64> = tokens.collect();
        num_items += tokens.iter().sum::<f64>() / tokens.len() as f64;
        lengths.extend(tokens);
        let mut scored = group.into_samples(&target);
        logs &= logged.len() + scored.len() <= config.num_completions_to_log;
        if logs {
            logged.extend(scored.iter().map(|scored| logged_completion(index, scored)));
        }
        scored.retain(|(sample, _)| sample.advantage.abs() >= ADVANTAGE_MIN);
        flat += f64::from(u8::from(scored.is_empty()));
        samples.extend(scored.into_iter().map(|(sample, _)| sample));
    }
    // Sorting by length reduces padding, and completions of a prompt stay together to share it.
    samples.sort_by_key(|sample| sample.prompt.len());
    let (min, mean, max) = crate::rl::min_mean_max(&lengths);
    let totals = [
        ("groups", count as f64),
        ("groups/zero_variance", flat),
        ("completions/min_length", min),
        ("completions/mean_length", mean),
        ("completions/max_length", max),
        ("lookahead/completions", samples.len() as f64),
    ];
    let means = METRICS.into_iter().enumerate().map(|(at, name)| {
        let values: Vec<f64> = states.iter().map(|state| state[at]).collect();
        // A state where nothing was tried has no standard error.
        (name, crate::rl::nan_mean(&values))
    });
    let metrics = totals.into_iter().chain(means);
    let mut warnings = Vec::new();
    if samples.is_empty() {
        let reason = "no action gains anything over the policy: this update teaches nothing";
        warnings.push(reason.to_owned());
    }
    Collected {
        samples,
        num_items,
        metrics: metrics
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        warnings,
        completions: logged,
    }
}

/// Returns the log entry of a completion of group `group`. A completion that aborts the episode has no
/// gain.
fn logged_completion(group: usize, (sample, gain): &(Sample, f64)) -> ScoredCompletion {
    let gain = Some(*gain).filter(|gain| gain.is_finite());
    ScoredCompletion {
        group,
        prompt: sample.prompt.clone(),
        completion: sample.completion.clone(),
        rewards: gain
            .map(|gain| ("gain".to_owned(), gain))
            .into_iter()
            .collect(),
        advantage: sample.advantage,
    }
}
