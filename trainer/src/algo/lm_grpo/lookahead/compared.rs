//! The actions that are compared in a state, and the target that their gains lead to.

use sentinel_policy::analysis::ActionGain;
use sentinel_policy::text::{PromptStyle, TextWorld};

use super::super::config::GrpoConfig;
use super::super::loss::Sample;
use super::{Scorer, Visit};
use crate::analyze::Analyzed;
use crate::finetune::RunError;
use crate::lm_agent::LmAgent;
use crate::rl::advantage::improved_policy;

/// Actions of a lower probability are not tried, unless the options explore.
const PROBABILITY_MIN: f64 = 1e-3;
/// Highest factor by which the probability of completions that are not compared grows.
const KEPT_MAX: f64 = 2.0;
/// Least probability of these, where rounding leaves none.
const REST_MIN: f64 = 1e-9;

/// A sampled completion that is none of the compared ones.
pub(super) struct Outside<A> {
    pub(super) sample: Sample,
    /// The action that was taken; `None` if the completion aborted the episode.
    pub(super) action: Option<A>,
}

/// The actions that are compared in a state.
pub(super) struct Compared<W: TextWorld> {
    pub(super) actions: Vec<W::Action>,
    /// `true` if the state has no other legal action.
    pub(super) are_all: bool,
    prompt: String,
    /// The completion of each action; no two are equal.
    completions: Vec<String>,
    /// One sample for each action.
    pub(super) samples: Vec<Sample>,
    /// Probability of each sample.
    pub(super) probabilities: Vec<f64>,
    /// The completion that the model sampled, if it is none of these.
    pub(super) outside: Option<Outside<W::Action>>,
}

impl<W: TextWorld + Analyzed> Compared<W> {
    /// Selects all legal actions, or, if there are more than `most`, the candidates of the world.
    pub(super) fn new(visit: &Visit<'_, W>, style: PromptStyle, most: usize) -> Self {
        let observation = visit.state.observation();
        let mut actions = W::legal_actions(observation);
        let are_all = actions.len() <= most;
        if !are_all {
            actions = visit.rollouts.candidates(observation, None);
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
            outside: None,
        }
    }

    /// Encodes the prompt and its completions.
    pub(super) fn encode(&mut self, scorer: &Scorer<'_>) -> Result<(), RunError> {
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
    pub(super) fn keep_distinguishing_tokens(&mut self) {
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
    pub(super) fn shared_probability(&self) -> f64 {
        if self.are_all {
            1.0
        } else {
            self.probabilities.iter().sum()
        }
    }

    /// Returns the probabilities among the compared actions, mixed with the uniform distribution.
    pub(super) fn prior(&self, exploration: f64) -> Vec<f64> {
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

    /// Returns the gains of the tried actions over the most probable one, each with its place: that of
    /// the outside action is the number of compared ones. Empty if there is only one.
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
        let mut actions: Vec<W::Action> = order.iter().map(|index| self.actions[*index]).collect();
        if let Some(action) = self.outside.as_ref().and_then(|outside| outside.action) {
            order.push(prior.len());
            actions.push(action);
        }
        if order.len() < 2 {
            return Vec::new();
        }
        let (observation, rollouts) = (visit.state.observation(), config.lookahead_rollouts);
        let gains = visit
            .rollouts
            .gains(observation, &actions, rollouts, visit.seed);
        order.into_iter().zip(gains).collect()
    }

    /// Computes the target of the state, with the gains that lead to it.
    pub(super) fn target(&self, config: &GrpoConfig, visit: &Visit<'_, W>) -> Target {
        let prior = self.prior(config.lookahead_exploration);
        let found = self.gains(config, &prior, visit);
        // The last one is that of a sampled completion outside, which is not an action if none is found.
        let mut gains = vec![0.0; prior.len() + 1];
        gains[prior.len()] = f64::NEG_INFINITY;
        for (at, gain) in &found {
            gains[*at] = gain.gain;
        }
        let temperature = config.lookahead_temperature;
        let outside = gains.pop().unwrap_or(f64::NEG_INFINITY);
        let shared = self.shared_probability();
        let mut shares = improved_policy(&prior, &gains, temperature);
        shares.iter_mut().for_each(|share| *share *= shared);
        let rest = (1.0 - shared).max(REST_MIN);
        let mut all: Vec<f64> = prior.iter().map(|p| p * shared).collect();
        all.push(rest);
        gains.push(outside);
        let kept = improved_policy(&all, &gains, temperature)
            .pop()
            .unwrap_or(0.0)
            / rest;
        gains.pop();
        let errors = found.iter().skip(1).map(|(_, gain)| gain.standard_error);
        Target {
            // A single rollout has no standard error.
            standard_error: if config.lookahead_rollouts > 1 {
                errors.sum::<f64>() / (found.len().max(1) - 1) as f64
            } else {
                f64::NAN
            },
            kept_outside: kept.min(KEPT_MAX),
            outside,
            shares,
            gains,
        }
    }

    /// Returns the completions with the gains of their actions. The advantage of a compared one is its
    /// target less its probability. A sampled one outside stands for all that are not compared. It occurs
    /// as often as these together, so its advantage is the relative change of their probability, which the
    /// compared actions get or give.
    pub(super) fn into_samples(self, target: &Target) -> Vec<(Sample, f64)> {
        let change = self
            .outside
            .as_ref()
            .map_or(0.0, |_| target.kept_outside - 1.0);
        let total: f64 = target.shares.iter().sum();
        let scale = if total > 0.0 {
            1.0 - change / total
        } else {
            1.0
        };
        let targets = target.shares.iter().zip(&target.gains);
        let compared = self
            .samples
            .into_iter()
            .zip(self.probabilities)
            .zip(targets);
        let compared = compared.map(|((sample, probability), (share, gain))| {
            let advantage = share * scale - probability;
            (
                Sample {
                    advantage,
                    ..sample
                },
                *gain,
            )
        });
        let outside = self.outside.map(|outside| {
            let sample = Sample {
                advantage: change,
                ..outside.sample
            };
            (sample, target.outside)
        });
        compared.chain(outside).collect()
    }
}

/// The target of a state.
pub(super) struct Target {
    /// Gain of each action; 0 for those that were not tried.
    pub(super) gains: Vec<f64>,
    /// Probability of each action.
    pub(super) shares: Vec<f64>,
    /// Gain of a sampled completion outside; negative infinity if it is not an action.
    pub(super) outside: f64,
    /// Factor by which the probability of what is not compared changes.
    pub(super) kept_outside: f64,
    /// Mean standard error of the gains that were estimated; NaN without any.
    pub(super) standard_error: f64,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use sentinel_env::trust::{Action, TrustEnv};

    use super::super::collected;
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
            outside: None,
        }
    }

    fn target(shares: &[f64], kept_outside: f64) -> Target {
        Target {
            gains: vec![0.1, -0.2],
            shares: shares.to_vec(),
            outside: 0.0,
            kept_outside,
            standard_error: f64::NAN,
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
            let found = collected(&config, vec![group], vec![target(&probabilities, 1.0)]);
            assert!(found.metrics["lookahead/gain"].abs() < 1e-12);
            assert!(found.samples.is_empty());
            assert_eq!(found.warnings.len(), 1);
        }
    }

    /// The compared actions get what is taken from a sampled completion outside, in the proportions of the
    /// target.
    #[test]
    fn probability_of_a_completion_outside_moves_to_the_compared_actions() {
        for (kept, expected) in [(0.0, [0.5, 0.5, -1.0]), (2.0, [-0.7, -0.3, 1.0])] {
            let mut group = group(false, samples(&[&[1], &[2]]), &[0.4, 0.1]);
            group.outside = samples(&[&[7]]).pop().map(|sample| Outside {
                sample,
                action: None,
            });
            let target = target(&[0.3, 0.2], kept);
            let found = group.into_samples(&target);
            let advantages = found.iter().map(|(sample, _)| sample.advantage);
            for (found, expected) in advantages.zip(expected) {
                assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            }
            assert_eq!(found[2].0.completion, [7]);
        }
    }
}
