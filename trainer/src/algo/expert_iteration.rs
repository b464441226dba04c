//! Expert iteration (arXiv:1705.08439) of a compact policy, `sentinel improve`: the policy imitates
//! one step of look-ahead over itself, again and again.
//!
//! One update:
//!
//! 1. The policy samples its actions in one episode per task and seed, in parallel.
//! 2. At some steps of each episode, [`CompareActions`] tries several actions in the same sampled
//!    hidden states, which agree with what was observed, and lets the greedy policy play on to the
//!    end. This gives the gain of each action over the policy's own.
//! 3. The target is a softmax of the gains at a temperature, see `target` below. Noise in the gains
//!    averages out over observations before the policy takes the most probable action. At a low
//!    temperature the target is the best action; subtracting standard errors then avoids actions
//!    that are best by chance.
//! 4. [`imitation::loss`](super::imitation::loss) is the cross-entropy against the target.
//!
//! GRPO estimates the same gains from one outcome of the actions that it samples, so that an action
//! of low probability is seldom tried. Here all candidates are tried at each of these steps.

use std::sync::Arc;

use sentinel_policy::analysis::{ActionGain, CompareActions};
use sentinel_policy::nn::{Choice, Model, Network as _, Weights};

use super::grpo::{Collected, Episodes, sample};
use super::imitation::label_tokens;
use crate::compact::TrainError;
use crate::compact::actor::{ActionDistribution, Actor, Rollout};
use crate::compact::batch::Batch;
use crate::compact::config::TrainConfig;
use crate::compact::learn::{Learn, model_config};
use crate::rl::Metrics;
use crate::rng::Rng;

/// Plays the episodes of an update and compares actions at some of their steps. The `advantage` of
/// a token is the target's probability of its action.
///
/// # Errors
/// If the world cannot sample hidden states, or no step has a target.
pub fn collect<W: Learn>(
    config: &TrainConfig,
    weights: &Weights<W::Net>,
    update: u64,
) -> Result<Collected<W>, TrainError> {
    let episodes = Episodes::<W>::new(config, update)?;
    let model = Arc::new(Model {
        config: model_config::<W>(config),
        weights: weights.clone(),
    });
    let played = episodes.play(weights, |actor, index, setup, start| {
        let rng = Rng::new(config.seed, &[update, index]);
        let comparison = W::action_comparison(&model, setup)?;
        Some(one_episode(config, actor, start, comparison, rng))
    });
    let mut all = Played::<W>::default();
    let count = played.len() as f64;
    for one in played {
        let one = one.ok_or(TrainError::NoHiddenStates { world: W::NAME })?;
        all.batch.append(one.batch);
        all.score += one.score / count;
        all.steps += one.steps;
        all.gain += one.gain;
        all.improved += one.improved;
    }
    let compared = all.batch.samples.len() as f64;
    if compared == 0.0 {
        return Err(TrainError::NoLabels("look-ahead".to_owned()));
    }
    Ok(Collected {
        metrics: Metrics::from([
            ("reward".into(), all.score),
            ("completions/mean_length".into(), all.steps as f64 / count),
            ("lookahead/gain".into(), all.gain / compared),
            ("lookahead/improved".into(), all.improved / compared),
        ]),
        steps: all.steps,
        seeds: episodes.seeds(),
        batch: all.batch,
    })
}

/// An episode, its steps with a target, and sums over them.
struct Played<W: Learn> {
    batch: Batch<W>,
    score: f64,
    steps: u64,
    /// Sum of the expected gain of the target over the policy's own action.
    gain: f64,
    /// Number of steps where the most probable action of the target is not the policy's own.
    improved: f64,
}

impl<W: Learn> Default for Played<W> {
    fn default() -> Self {
        Self {
            batch: Batch::default(),
            score: 0.0,
            steps: 0,
            gain: 0.0,
            improved: 0.0,
        }
    }
}

/// A step of an episode before its action.
struct Visited<W: Learn> {
    rollout: Rollout<W>,
    decision: ActionDistribution<W>,
    choice: Choice,
}

fn one_episode<W: Learn>(
    config: &TrainConfig,
    actor: &mut Actor<'_, W>,
    mut rollout: Rollout<W>,
    mut comparison: Box<dyn CompareActions<W>>,
    mut rng: Rng,
) -> Played<W> {
    let mut visited = Vec::new();
    while !rollout.is_done() {
        let decision = actor.action_distribution(&rollout);
        let choice = decision.sample(&mut rng);
        visited.push(Visited {
            rollout: rollout.clone(),
            decision,
            choice,
        });
        rollout.step(&choice);
    }
    let mut played = Played {
        score: rollout.episode.score(),
        steps: visited.len() as u64,
        ..Played::default()
    };
    let mut order: Vec<usize> = (0..visited.len()).collect();
    rng.shuffle(&mut order);
    order.truncate(config.snapshots_per_episode);
    let mut last = None;
    for (index, step) in visited.iter().enumerate() {
        let observation = step.rollout.episode.observation();
        comparison.observe(last, observation);
        last = Some(W::Net::decode_action(&step.choice, observation));
        if !order.contains(&index) {
            continue;
        }
        let sampled = (0..config.lookahead_samples).map(|_| {
            let choice = step.decision.sample(&mut rng);
            W::Net::decode_action(&choice, observation)
        });
        let sampled: Vec<W::Action> = sampled.collect();
        let rollouts = config.lookahead_rollouts as u32;
        let seed = (rng.uniform() * (1_u64 << 53) as f64) as u64;
        let gains = comparison.compare(observation, &sampled, rollouts, seed);
        played.add(config, step, &gains);
    }
    played
}

impl<W: Learn> Played<W> {
    fn add(&mut self, config: &TrainConfig, step: &Visited<W>, gains: &[ActionGain<W::Action>]) {
        let observation = step.rollout.episode.observation();
        let target = target(config, gains);
        let index = self.batch.samples.len() as u32;
        self.batch
            .samples
            .push(sample(&step.rollout, &step.decision));
        let labels = gains.iter().zip(&target).filter_map(|(action, share)| {
            Some((W::Net::encode_action(action.action, observation)?, *share))
        });
        self.batch.sequences.push(label_tokens(index, labels));
        for (action, share) in gains.iter().zip(&target) {
            self.gain += share * action.gain;
        }
        let own = target.first().copied().unwrap_or(1.0);
        self.improved += f64::from(u8::from(target.iter().any(|share| *share > own)));
    }
}

/// Returns the probability of each action: a softmax of its gain, less `lookahead_errors` standard
/// errors, divided by `lookahead_temperature`.
fn target<A>(config: &TrainConfig, gains: &[ActionGain<A>]) -> Vec<f64> {
    let value = |g: &ActionGain<A>| {
        (g.gain - config.lookahead_errors * g.standard_error) / config.lookahead_temperature
    };
    let highest = gains.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = gains.iter().map(|g| (value(g) - highest).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::config::Method;

    fn gain(gain: f64, standard_error: f64) -> ActionGain<u8> {
        ActionGain {
            action: 0,
            gain,
            standard_error,
        }
    }

    #[test]
    fn target_prefers_gains_that_exceed_their_error() {
        let config = TrainConfig {
            lookahead_temperature: 0.01,
            lookahead_errors: 1.0,
            ..TrainConfig::default()
        };
        let shares = target(
            &config,
            &[gain(0.0, 0.0), gain(0.03, 0.01), gain(0.03, 0.05)],
        );
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // One e-fold for each hundredth of score after the error is subtracted.
        assert!((shares[1] / shares[0] - 2.0_f64.exp()).abs() < 1e-9);
        assert!((shares[2] / shares[0] - (-2.0_f64).exp()).abs() < 1e-9);
    }

    #[test]
    fn update_labels_steps_and_does_not_depend_on_threads() -> Result<(), TrainError> {
        use sentinel_env::polyguard::PolyguardEnv;

        let config = TrainConfig {
            episodes_per_update: 24,
            snapshots_per_episode: 2,
            lookahead_rollouts: 2,
            ..TrainConfig::preset::<PolyguardEnv>(Method::ExpertIteration, true)
        };
        let weights = Weights::init(PolyguardEnv::net(&config), 1);
        let one = collect::<PolyguardEnv>(&config, &weights, 0)?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|error| TrainError::NoLabels(error.to_string()))?;
        let other = pool.install(|| collect::<PolyguardEnv>(&config, &weights, 0))?;
        assert_eq!(one.batch.sequences, other.batch.sequences);
        assert_eq!(one.metrics, other.metrics);
        assert_eq!(one.batch.samples.len(), one.batch.sequences.len());
        // Each candidate is one token here, so the shares of a sample sum to 1.
        for sequence in &one.batch.sequences {
            let total: f64 = sequence.iter().map(|token| token.advantage).sum();
            assert!((total - 1.0).abs() < 1e-9, "{total}");
        }
        assert!(one.metrics["lookahead/gain"] > 0.0, "{:?}", one.metrics);
        Ok(())
    }
}
