//! The actions that are compared in a state, and the target that their gains lead to.

use sentinel_lm::Tokenizer;
use sentinel_play::analyze::Analyzed;
use sentinel_policy::analysis::ActionGain;
use sentinel_policy::text::TextWorld;
use sentinel_rl::advantage::improved_policy;

use super::super::config::GrpoConfig;
use super::super::sample::Sample;
use super::visit::Visit;
use crate::training::RunError;

/// Actions of a lower probability are not tried, unless the options explore.
const PROBABILITY_MIN: f64 = 1e-3;
/// Highest factor by which the probability of completions that are not compared grows.
const OUTSIDE_RATIO_MAX: f64 = 2.0;
/// Lower bound of the probability of all other completions; rounding can leave none.
const REST_MIN: f64 = 1e-9;

/// Names of the metrics that are means over states, in the order of [`Compared::metrics`].
pub(super) const METRICS: [&str; 5] = [
    "lookahead/gain",
    "lookahead/improved",
    "lookahead/standard_error",
    "lookahead/compared_probability",
    "lookahead/outside",
];

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
    /// Index of the action of the policy that plays on, if the prior contains it.
    expert: Option<usize>,
    /// The completion of each action; no two are equal.
    completions: Vec<String>,
    /// Number of tokens of each completion up to the end of what names its action; 0 if the first
    /// different token is enough.
    decisive: Vec<usize>,
    /// One sample for each action.
    pub(super) samples: Vec<Sample>,
    /// Probability of each sample.
    pub(super) probabilities: Vec<f64>,
    /// The completion that the model sampled, if it is none of these.
    pub(super) outside: Option<Outside<W::Action>>,
}

impl<W: TextWorld + Analyzed> Compared<W> {
    /// Selects all legal actions, or, if there are more than the options allow, the candidates of the
    /// world, with the action of the policy that plays on where the prior contains it.
    pub(super) fn new(visit: &Visit<'_, W>, config: &GrpoConfig) -> Self {
        let (style, observation) = (config.prompts.prompt, visit.state.observation());
        let expert =
            (config.lookahead_expert_share > 0.0).then(|| visit.rollouts.own_action(observation));
        let mut actions = W::legal_actions(observation);
        let are_all = actions.len() <= config.lookahead_actions;
        if !are_all {
            actions = visit.rollouts.candidates(observation, expert);
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
        let expert = expert.map(|action| W::format_action(style, observation, action));
        Self {
            expert: expert.and_then(|text| completions.iter().position(|other| *other == text)),
            actions,
            are_all,
            completions,
            decisive: Vec::new(),
            samples: Vec::new(),
            probabilities: Vec::new(),
            outside: None,
        }
    }

    /// Encodes the completions, which follow the tokens of `prompt` and end with the token `stop`.
    pub(super) fn encode(
        &mut self,
        prompt: &[u32],
        tokenizer: &Tokenizer,
        stop: u32,
    ) -> Result<(), RunError> {
        let sample = |text: &String| {
            let mut completion = tokenizer.encode(text)?;
            completion.push(stop);
            Ok::<_, RunError>(Sample {
                prompt: prompt.to_vec(),
                completion,
                ..Sample::default()
            })
        };
        let texts = || self.completions.iter();
        self.samples = texts().map(sample).collect::<Result<_, _>>()?;
        let decisive = texts().map(|text| tokenizer.encode(W::decisive_prefix(text)));
        let decisive = decisive.map(|ids| Ok::<_, RunError>(ids?.len()));
        self.decisive = decisive.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Shortens completions to the tokens that decide the action and tell it from the others, if all
    /// legal actions are compared. What follows is no choice among actions: in PolyGuard it is a free
    /// text, and the completion as formatted is one of many for its action.
    pub(super) fn keep_distinguishing_tokens(&mut self) {
        if !self.are_all {
            return;
        }
        let kept: Vec<usize> = (self.samples.iter().enumerate())
            .zip(&self.decisive)
            .map(|((index, sample), decisive)| {
                let others = self.samples.iter().enumerate();
                let others = others.filter(|(other, _)| *other != index);
                let shared = others.map(|(_, other)| {
                    let both = sample.completion.iter().zip(&other.completion);
                    both.take_while(|(a, b)| a == b).count()
                });
                let apart = shared.max().map_or(0, |most| most + 1).max(*decisive);
                // A single action without a decisive prefix is kept whole.
                if apart == 0 {
                    sample.completion.len()
                } else {
                    apart
                }
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

    /// Returns the probabilities among the compared actions.
    pub(super) fn policy(&self) -> Vec<f64> {
        let total: f64 = self.probabilities.iter().sum();
        if total > 0.0 {
            self.probabilities.iter().map(|p| p / total).collect()
        } else {
            vec![1.0 / self.probabilities.len() as f64; self.probabilities.len()]
        }
    }

    /// Returns what the target starts from: the policy, mixed with the uniform distribution and with the
    /// action of the policy that plays on.
    fn prior(&self, config: &GrpoConfig) -> Vec<f64> {
        let uniform = config.lookahead_exploration / self.probabilities.len() as f64;
        let expert = self.expert.map(|at| (at, config.lookahead_expert_share));
        let rest = 1.0 - config.lookahead_exploration - expert.map_or(0.0, |(_, share)| share);
        let rest = rest.max(0.0);
        let mut prior = self.policy();
        prior.iter_mut().for_each(|p| *p = rest * *p + uniform);
        if let Some((at, share)) = expert {
            prior[at] += share;
        }
        prior
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
        let prior = self.prior(config);
        let found = self.gains(config, &prior, visit);
        let mut gains = vec![0.0; prior.len()];
        let mut outside = f64::NEG_INFINITY;
        for (at, gain) in &found {
            *gains.get_mut(*at).unwrap_or(&mut outside) = gain.gain;
        }
        let temperature = config.lookahead_temperature;
        let shared = self.shared_probability();
        let outside_ratio = outside_ratio(&prior, &gains, shared, outside, temperature);
        let mut shares = improved_policy(&prior, &gains, temperature);
        shares.iter_mut().for_each(|share| *share *= shared);
        let errors = found.iter().skip(1).map(|(_, gain)| gain.standard_error);
        Target {
            // A single rollout has no standard error.
            standard_error: if config.lookahead_rollouts > 1 {
                errors.sum::<f64>() / (found.len().max(1) - 1) as f64
            } else {
                f64::NAN
            },
            outside_ratio,
            outside,
            shares,
            gains,
        }
    }

    /// Returns the metrics of the state, in the order of [`METRICS`].
    pub(super) fn metrics(&self, target: &Target) -> [f64; METRICS.len()] {
        let shared = self.shared_probability();
        let policy: Vec<f64> = self.policy().iter().map(|p| p * shared).collect();
        let changes = target.shares.iter().zip(&policy).zip(&target.gains);
        let improves = argmax(&target.shares) != argmax(&policy);
        [
            changes.map(|((q, p), gain)| (q - p) * gain).sum(),
            f64::from(u8::from(improves)),
            target.standard_error,
            self.probabilities.iter().sum(),
            f64::from(u8::from(self.outside.is_some())),
        ]
    }

    /// Returns the completions with the gains of their actions. The advantage of a compared one is its
    /// target less its probability. A sampled one outside stands for all that are not compared. It is
    /// drawn about as often as they are together (another text of a compared action is not counted), so its
    /// advantage is the relative change of their probability. The compared ones get or give it, unless they
    /// have no probability at all.
    pub(super) fn into_samples(self, target: &Target) -> Vec<(Sample, f64)> {
        let change = self
            .outside
            .as_ref()
            .map_or(0.0, |_| target.outside_ratio - 1.0);
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

fn argmax(values: &[f64]) -> Option<usize> {
    (0..values.len()).max_by(|a, b| values[*a].total_cmp(&values[*b]))
}

/// Returns the factor by which the probability of the completions that are not compared changes if all
/// of them have the gain `outside`: 0 for negative infinity, at most [`OUTSIDE_RATIO_MAX`]. `shared` is
/// the probability of the compared ones, of which `prior` has the shares.
fn outside_ratio(prior: &[f64], gains: &[f64], shared: f64, outside: f64, temperature: f64) -> f64 {
    if outside == f64::NEG_INFINITY {
        return 0.0;
    }
    let rest = (1.0 - shared).max(REST_MIN);
    let probabilities: Vec<f64> = prior.iter().map(|p| p * shared).chain([rest]).collect();
    let gains: Vec<f64> = gains.iter().copied().chain([outside]).collect();
    let target = improved_policy(&probabilities, &gains, temperature);
    (target[prior.len()] / rest).min(OUTSIDE_RATIO_MAX)
}

/// The target of a state.
pub(super) struct Target {
    /// Gain of each action; 0 for those that were not tried.
    pub(super) gains: Vec<f64>,
    /// Probability of each action.
    pub(super) shares: Vec<f64>,
    /// Gain of the sampled completion outside; negative infinity if there is none or it is not an action.
    pub(super) outside: f64,
    /// Target probability of all completions that are not compared, relative to their present one; has a
    /// meaning only with a sampled completion outside.
    pub(super) outside_ratio: f64,
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
            expert: None,
            completions: Vec::new(),
            decisive: vec![0; samples.len()],
            samples,
            probabilities: probabilities.to_vec(),
            outside: None,
        }
    }

    fn target(shares: &[f64], outside_ratio: f64) -> Target {
        Target {
            gains: vec![0.1, -0.2],
            shares: shares.to_vec(),
            outside: 0.0,
            outside_ratio,
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
        let mut group = group(true, samples(&whole), &[]);
        group.decisive = vec![4, 0, 1];
        group.keep_distinguishing_tokens();
        let lengths: Vec<usize> = (group.samples.iter())
            .map(|sample| sample.completion.len())
            .collect();
        assert_eq!(lengths, [4, 3, 2]);
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

    /// The probability of what is not compared falls to 0 with a completion that is not an action, also
    /// where the compared ones have none, stays where nothing is gained, and at most doubles.
    #[test]
    fn probability_outside_follows_the_gain() {
        let ratio = |shared, gain| outside_ratio(&[0.5, 0.5], &[0.0, 0.0], shared, gain, 0.01);
        assert_eq!(ratio(0.9, f64::NEG_INFINITY), 0.0);
        assert_eq!(ratio(0.0, f64::NEG_INFINITY), 0.0);
        assert!((ratio(0.9, 0.0) - 1.0).abs() < 1e-9);
        assert_eq!(ratio(0.9, 1.0), OUTSIDE_RATIO_MAX);
        assert!(ratio(0.9, -0.05) < 0.01 && ratio(1.0, 0.0) > 0.99);
    }

    /// The target starts from the policy, mixed with the action of the policy that plays on.
    #[test]
    fn prior_contains_the_action_of_the_policy_that_plays_on() {
        let mut group = group(true, samples(&[&[1], &[2]]), &[0.8, 0.2]);
        let parse =
            |share| Arguments::parse_from(["grpo", "--lookahead-expert-share", share]).config;
        assert_eq!(group.prior(&parse("0.5")), [0.8, 0.2]);
        group.expert = Some(1);
        let prior = group.prior(&parse("0.5"));
        assert!(
            (prior[0] - 0.4).abs() < 1e-12 && (prior[1] - 0.6).abs() < 1e-12,
            "{prior:?}"
        );
    }
}
