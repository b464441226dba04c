//! Look-ahead as credit: the gain of every legal action over the others, instead of the value of
//! sampled completions.
//!
//! A policy that plays well and costs little plays on after each action, in hidden states that agree
//! with what was observed (AggreVaTe, arXiv:1406.5979 and arXiv:1703.01030). All legal actions of a
//! state are a group, and each is weighted by its probability, so that the gradient is that of an
//! expectation and has no noise of sampled completions. Where a state has too many, the group is the
//! candidates of the world and the sampled action. See [`lookahead_groups`].

use rayon::prelude::*;
use sentinel_policy::analysis::{ActionGain, BeliefRollouts, CompareActions as _};
use sentinel_policy::text::{PromptState, PromptStyle, TextWorld};

use super::config::GrpoConfig;
use super::loss::Sample;
use super::rollout::{Collected, ScoredCompletion, sample_places, signals};
use crate::analyze::{Analyzed, ContinuationSource};
use crate::corpus::rollout::Trajectory;
use crate::finetune::RunError;
use crate::lm::Tokenizer;
use crate::lm_agent::LmAgent;
use crate::rl::Metrics;
use crate::rl::advantage::improved_policy;
use crate::rng::Rng;

/// Actions of a lower probability are not tried, unless the options explore.
const PROBABILITY_MIN: f64 = 1e-3;
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
    /// The action that the model sampled, if its completion was one.
    sampled: Option<W::Action>,
    /// Seed of the sampled hidden states.
    seed: u64,
}

/// Calls `visit` at all `places`, pairs of an episode and a step in ascending order, each episode on one
/// core. Returns the results in that order.
fn visit_places<W: TextWorld + Analyzed, T: Send>(
    continuation: &ContinuationSource<W>,
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
                    sampled: row.parsed.as_ref().ok().map(|parsed| parsed.action),
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

/// The actions that are compared in a state.
struct Compared<W: TextWorld> {
    actions: Vec<W::Action>,
    /// `true` if the state has no other legal action.
    are_all: bool,
    prompt: String,
    /// The completion of each action; no two are equal.
    completions: Vec<String>,
    /// One sample for each action.
    samples: Vec<Sample>,
    /// Probability of each sample.
    probabilities: Vec<f64>,
}

impl<W: TextWorld + Analyzed> Compared<W> {
    /// Selects all legal actions, or, if there are more than `most`, the sampled one and the candidates
    /// of the world.
    fn new(visit: &Visit<'_, W>, style: PromptStyle, most: usize) -> Self {
        let observation = visit.state.observation();
        let mut actions = W::legal_actions(observation);
        let are_all = actions.len() <= most;
        if !are_all {
            actions = visit.rollouts.candidates(observation, visit.sampled);
        }
        let mut completions = Vec::with_capacity(actions.len());
        actions.retain(|action| {
            let text = W::format_action(style, observation, *action);
            let is_new = !completions.contains(&text);
            if is_new {
                completions.push(text);
            }
            is_new
        });
        Self {
            actions,
            are_all,
            prompt: visit.state.prompt(style),
            completions,
            samples: Vec::new(),
            probabilities: Vec::new(),
        }
    }

    /// Encodes the prompt and its completions.
    fn encode(&mut self, scorer: &Scorer<'_>) -> Result<(), RunError> {
        let prompt = LmAgent::encode(scorer.tokenizer, &self.prompt)?;
        let sample = |text: &String| {
            let mut completion = scorer.tokenizer.encode(text)?;
            completion.push(scorer.stop);
            Ok::<_, RunError>(Sample {
                prompt: prompt.clone(),
                completion,
                ..Sample::default()
            })
        };
        self.samples = self
            .completions
            .iter()
            .map(sample)
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Shortens completions to the tokens that tell an action from the others, if all legal actions are
    /// compared. What follows is no choice among actions: in PolyGuard it is a free text, and the
    /// completion as formatted is one of many for its action.
    fn keep_distinguishing_tokens(&mut self) {
        if !self.are_all {
            return;
        }
        let kept: Vec<usize> = (self.samples.iter().enumerate())
            .map(|(index, sample)| {
                let others = self.samples.iter().enumerate();
                let others = others.filter(|(other, _)| *other != index);
                let shared = others.map(|(_, other)| {
                    let both = sample.completion.iter().zip(&other.completion);
                    both.take_while(|(a, b)| a == b).count()
                });
                shared
                    .max()
                    .map_or(sample.completion.len(), |most| most + 1)
            })
            .collect();
        for (sample, kept) in self.samples.iter_mut().zip(kept) {
            sample.completion.truncate(kept);
        }
    }

    /// Returns the probability that the target shares out: 1 if all legal actions are compared, otherwise
    /// no more than the policy gives the compared ones, so that the others lose nothing.
    fn shared_probability(&self) -> f64 {
        if self.are_all {
            1.0
        } else {
            self.probabilities.iter().sum()
        }
    }

    /// Returns the probabilities among the compared actions, mixed with the uniform distribution.
    fn prior(&self, exploration: f64) -> Vec<f64> {
        let total: f64 = self.probabilities.iter().sum();
        let uniform = 1.0 / self.probabilities.len() as f64;
        let share = |probability: &f64| {
            let share = if total > 0.0 {
                probability / total
            } else {
                uniform
            };
            (1.0 - exploration) * share + exploration * uniform
        };
        self.probabilities.iter().map(share).collect()
    }

    /// Returns the gains of the actions that are tried, over the most probable one; nothing if there is
    /// only one.
    fn gains(
        &self,
        config: &GrpoConfig,
        prior: &[f64],
        visit: &Visit<'_, W>,
    ) -> Vec<(usize, ActionGain<W::Action>)> {
        let mut order: Vec<usize> = (0..prior.len()).collect();
        order.sort_by(|a, b| prior[*b].total_cmp(&prior[*a]));
        if config.lookahead_exploration == 0.0 {
            // More than a thousand equally probable actions are all tried.
            let least = PROBABILITY_MIN.min(1.0 / prior.len() as f64);
            order.retain(|index| prior[*index] >= least);
        }
        if order.len() < 2 {
            return Vec::new();
        }
        let actions: Vec<W::Action> = order.iter().map(|index| self.actions[*index]).collect();
        let (observation, rollouts) = (visit.state.observation(), config.lookahead_rollouts);
        let gains = visit
            .rollouts
            .gains(observation, &actions, rollouts, visit.seed);
        order.into_iter().zip(gains).collect()
    }

    /// Computes the target of the state, with the gains that lead to it.
    fn target(&self, config: &GrpoConfig, visit: &Visit<'_, W>) -> Target {
        let prior = self.prior(config.lookahead_exploration);
        let found = self.gains(config, &prior, visit);
        let mut gains = vec![0.0; prior.len()];
        for (at, gain) in &found {
            gains[*at] = gain.gain;
        }
        let mut shares = improved_policy(&prior, &gains, config.lookahead_temperature);
        let shared = self.shared_probability();
        shares.iter_mut().for_each(|share| *share *= shared);
        let errors = found.iter().skip(1).map(|(_, gain)| gain.standard_error);
        let compared = (found.len().max(1) - 1) as f64;
        Target {
            // A single rollout has no standard error.
            standard_error: if config.lookahead_rollouts > 1 {
                errors.sum::<f64>() / compared
            } else {
                f64::NAN
            },
            shares,
            gains,
        }
    }
}

/// The target of a state.
struct Target {
    /// Gain of each action; 0 for those that were not tried.
    gains: Vec<f64>,
    /// Probability of each action.
    shares: Vec<f64>,
    /// Mean standard error of the gains that were estimated; NaN without any.
    standard_error: f64,
}

/// Forms a group of all legal actions, or of some of them, at sampled steps of the played episodes. The
/// advantage of an action is its probability in [`improved_policy`] less that in the policy. While other
/// texts have next to no probability, the gradient is that of the cross-entropy against the target.
///
/// # Errors
/// If a text cannot be encoded, a completion is longer than the options allow, the model fails, or a
/// log-probability is not finite.
pub(super) fn lookahead_groups<W: TextWorld + Analyzed>(
    config: &GrpoConfig,
    continuation: &ContinuationSource<W>,
    played: &[Trajectory<W>],
    scorer: &Scorer<'_>,
    seed: u64,
) -> Result<Collected, RunError> {
    let places = sample_places(config, played, seed);
    let (style, most) = (config.prompts.prompt, config.lookahead_actions);
    let select = |_, visit: &Visit<'_, W>| Compared::new(visit, style, most);
    let groups: Vec<Compared<W>> = visit_places(continuation, played, &places, seed, select);
    let groups = places.into_iter().zip(groups);
    let (places, mut groups): (Vec<_>, Vec<_>) = groups
        .filter(|(_, group)| !group.actions.is_empty())
        .unzip();
    for group in &mut groups {
        group.encode(scorer)?;
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
    let count = groups.len().max(1) as f64;
    let (mut samples, mut logged, mut num_items) = (Vec::new(), Vec::new(), 0.0);
    let (mut gain, mut improved, mut valid, mut flat) = (0.0, 0.0, 0.0, 0.0);
    let (mut lengths, mut errors) = (Vec::new(), Vec::new());
    let mut logs = true;
    for (index, (group, target)) in groups.into_iter().zip(targets).enumerate() {
        let shared = group.shared_probability();
        let policy: Vec<f64> = group.prior(0.0).iter().map(|p| p * shared).collect();
        let changes = target.shares.iter().zip(&policy).zip(&target.gains);
        gain += changes.map(|((q, p), gain)| (q - p) * gain).sum::<f64>();
        let improves = argmax(&target.shares) != argmax(&policy);
        improved += f64::from(u8::from(improves));
        valid += group.probabilities.iter().sum::<f64>();
        if target.standard_error.is_finite() {
            errors.push(target.standard_error);
        }
        let own_lengths = group.samples.iter().map(|s| s.completion.len() as f64);
        let own_lengths: Vec<f64> = own_lengths.collect();
        num_items += own_lengths.iter().sum::<f64>() / own_lengths.len() as f64;
        lengths.extend(own_lengths);
        let before = samples.len();
        logs &= logged.len() + group.samples.len() <= config.num_completions_to_log;
        let shares = target.shares.iter().zip(&group.probabilities);
        for ((sample, (share, p)), gain) in group.samples.into_iter().zip(shares).zip(&target.gains)
        {
            let advantage = share - p;
            if logs {
                logged.push(ScoredCompletion {
                    group: index,
                    prompt: sample.prompt.clone(),
                    completion: sample.completion.clone(),
                    rewards: [("gain".to_owned(), *gain)].into(),
                    advantage,
                });
            }
            if advantage.abs() >= ADVANTAGE_MIN {
                samples.push(Sample {
                    advantage,
                    ..sample
                });
            }
        }
        flat += f64::from(u8::from(samples.len() == before));
    }
    // Sorting by length reduces padding, and completions of a prompt stay together to share it.
    samples.sort_by_key(|sample| sample.prompt.len());
    let (min, mean, max) = crate::rl::min_mean_max(&lengths);
    let metrics = [
        ("groups", count),
        ("groups/zero_variance", flat),
        ("completions/min_length", min),
        ("completions/mean_length", mean),
        ("completions/max_length", max),
        ("lookahead/completions", samples.len() as f64),
        ("lookahead/gain", gain / count),
        ("lookahead/improved", improved / count),
        ("lookahead/standard_error", crate::rl::nan_mean(&errors)),
        ("lookahead/compared_probability", valid / count),
    ];
    let metrics = metrics.map(|(name, value)| (name.to_owned(), value));
    let mut warnings = Vec::new();
    if samples.is_empty() {
        let reason = "no action gains anything over the policy: this update teaches nothing";
        warnings.push(reason.to_owned());
    }
    Collected {
        samples,
        num_items,
        metrics: Metrics::from(metrics),
        warnings,
        completions: logged,
    }
}

fn argmax(values: &[f64]) -> Option<usize> {
    (0..values.len()).max_by(|a, b| values[*a].total_cmp(&values[*b]))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use sentinel_env::trust::{Action, TrustEnv};

    use super::*;

    #[derive(clap::Parser)]
    struct Arguments {
        #[command(flatten)]
        config: GrpoConfig,
    }

    fn samples(completions: &[&[u32]]) -> Vec<Sample> {
        let sample = |completion: &&[u32]| Sample {
            completion: completion.to_vec(),
            ..Sample::default()
        };
        completions.iter().map(sample).collect()
    }

    fn group(are_all: bool, samples: Vec<Sample>, probabilities: &[f64]) -> Compared<TrustEnv> {
        Compared {
            actions: Action::ALL[..samples.len()].to_vec(),
            are_all,
            prompt: String::new(),
            completions: Vec::new(),
            samples,
            probabilities: probabilities.to_vec(),
        }
    }

    /// A completion is kept up to the first token that no other one has there, unless actions are missing
    /// that could begin with the same tokens.
    #[test]
    fn completions_are_kept_up_to_what_tells_them_apart() {
        let whole: [&[u32]; 3] = [&[1, 2, 3, 9], &[1, 2, 4, 9], &[1, 5, 9]];
        let lengths = |are_all, completions: &[&[u32]]| -> Vec<usize> {
            let mut group = group(are_all, samples(completions), &[]);
            group.keep_distinguishing_tokens();
            let samples = group.samples.iter();
            samples.map(|sample| sample.completion.len()).collect()
        };
        assert_eq!(lengths(true, &whole), [3, 3, 2]);
        assert_eq!(lengths(false, &whole), [4, 4, 3]);
        assert_eq!(lengths(true, &whole[..1]), [4]);
    }

    /// A target that is the policy gains nothing, whether or not it shares out the probability of all
    /// actions, and leaves no completion for the loss.
    #[test]
    fn target_that_is_the_policy_gains_nothing() {
        let config = Arguments::parse_from(["grpo"]).config;
        for (are_all, probabilities) in [(true, [0.8, 0.2]), (false, [0.4, 0.1])] {
            let group = group(are_all, samples(&[&[1], &[2]]), &probabilities);
            let target = Target {
                gains: vec![0.1, -0.2],
                shares: probabilities.to_vec(),
                standard_error: f64::NAN,
            };
            let found = collected(&config, vec![group], vec![target]);
            assert!(found.metrics["lookahead/gain"].abs() < 1e-12);
            assert!(found.samples.is_empty());
            assert_eq!(found.warnings.len(), 1);
        }
    }
}
