//! Look-ahead as credit: the gain of every legal action over the others, instead of the value of
//! sampled completions.
//!
//! A policy that plays well and costs little plays on after each action, in hidden states that agree
//! with what was observed (AggreVaTe, arXiv:1406.5979 and arXiv:1703.01030). All legal actions of a
//! state are a group, and each is weighted by its probability, so that the gradient is that of an
//! expectation and has no noise of sampled completions. Where a state has too many, the group is the
//! candidates of the world, and a sampled completion that is none of them stands for all others. See
//! [`lookahead_groups`].

use sentinel_lm::Tokenizer;
use sentinel_play::analyze::{Analyzed, PolicySource};
use sentinel_play::rollout::Trajectory;
use sentinel_policy::text::TextWorld;

use self::compared::{Compared, METRICS, Outside, Target};
use self::visit::{Visit, visit_places};
use super::config::GrpoConfig;
use super::groups::{SampleBatch, ScoredCompletion};
use super::rollout::{generations_by_episode, rollout_metrics, sample_places};
use super::sample::Sample;
use crate::agent::Generation;
use crate::training::RunError;

mod compared;
mod visit;

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
) -> Result<SampleBatch, RunError> {
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
        group.encode(&generation.prompt, scorer.tokenizer, scorer.stop)?;
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
    let mut metrics = rollout_metrics(played);
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
) -> SampleBatch {
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
    let (min, mean, max) = sentinel_rl::min_mean_max(&lengths);
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
        (name, sentinel_rl::nan_mean(&values))
    });
    let metrics = totals.into_iter().chain(means);
    let mut warnings = Vec::new();
    if samples.is_empty() {
        let reason = "no action gains anything over the policy: this update teaches nothing";
        warnings.push(reason.to_owned());
    }
    SampleBatch {
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
