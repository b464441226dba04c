//! Expert iteration (arXiv:1705.08439) of a compact policy, `sentinel improve`: the policy moves
//! toward one step of look-ahead over itself, again and again.
//!
//! One update:
//!
//! 1. The policy samples its actions in one episode per task and seed, in parallel.
//! 2. At some steps of each episode, [`CompareActions`] tries several actions in the same sampled
//!    hidden states, which agree with what was observed, and lets the greedy policy play on to the
//!    end. This gives the gain of each action over the policy's own.
//! 3. The target is the policy times the exponential of the gains, see [`improved_policy`] (mirror
//!    descent, as in MPO, arXiv:1806.06920). Noise in the gains averages out over observations, and
//!    at a step that decides nothing the target is the policy itself. Untried actions keep their
//!    probability.
//! 4. [`imitation::loss`](super::imitation::loss) is the cross-entropy against the target.
//!
//! GRPO estimates the same gains from one outcome of the actions that it samples, so that an action
//! of low probability is seldom tried. Here all candidates are tried at each of these steps.

use std::ops::Range;
use std::sync::Arc;

use sentinel_options::rng::Rng;
use sentinel_policy::analysis::{ActionGain, CompareActions};
use sentinel_policy::nn::{Choice, Model, Network as _, Weights};
use sentinel_rl::Metrics;
use sentinel_rl::advantage::improved_policy;
use serde::{Deserialize, Serialize};

use super::grpo::{Collected, Episodes, sample};
use super::imitation::label_tokens;
use crate::Error;
use crate::actor::{ActionDistribution, Actor, Rollout};
use crate::batch::Batch;
use crate::config::TrainConfig;
use crate::learn::{Learn, model_config};
use crate::workers::Workers;

/// Lowest probability of an action in the target's prior, so that an action which the policy has
/// given up can come back.
const LEAST_PRIOR: f64 = 1e-4;
/// Probability of untried actions below which all of them count as tried.
const UNTRIED: f64 = 1e-4;

/// Plays the episodes `indices` of update `update` and compares actions at some of their steps. The
/// `advantage` of a token is the target's probability of its action, or where actions are left untried
/// its change.
///
/// # Errors
/// If the world cannot sample hidden states.
pub fn play<W: Learn>(
    workers: &impl Workers,
    config: &TrainConfig,
    weights: &Weights<W::Net>,
    update: u64,
    indices: Range<u64>,
) -> Result<Vec<ComparedEpisode<W>>, Error> {
    let episodes = Episodes::<W>::new(config, update)?;
    let model = Arc::new(Model {
        config: model_config::<W>(config),
        weights: weights.clone(),
    });
    let played = episodes.play(workers, weights, indices, |actor, index, setup, start| {
        let rng = Rng::new(config.seed, &[update, index]);
        let comparison = W::action_comparison(&model, setup)?;
        Some(one_episode(config, actor, start, comparison, rng))
    });
    let no_hidden_states = || Error::NoHiddenStates { world: W::NAME };
    let played = played.into_iter();
    played.map(|one| one.ok_or_else(no_hidden_states)).collect()
}

/// Joins all episodes of update `update`, in order.
///
/// # Errors
/// If no step has a target.
pub fn collect<W: Learn>(
    config: &TrainConfig,
    update: u64,
    played: Vec<ComparedEpisode<W>>,
) -> Result<Collected<W>, Error> {
    let mut all = ComparedEpisode::<W>::default();
    let count = played.len() as f64;
    for one in played {
        all.batch.append(one.batch);
        all.score += one.score / count;
        all.steps += one.steps;
        all.gain += one.gain;
        all.improved += one.improved;
    }
    let compared = all.batch.samples.len() as f64;
    if compared == 0.0 {
        return Err(Error::NoLabels("look-ahead".to_owned()));
    }
    Ok(Collected {
        metrics: Metrics::from([
            ("reward".into(), all.score),
            ("completions/mean_length".into(), all.steps as f64 / count),
            ("lookahead/gain".into(), all.gain / compared),
            ("lookahead/improved".into(), all.improved / compared),
        ]),
        steps: all.steps,
        seeds: Episodes::<W>::new(config, update)?.seeds(),
        batch: all.batch,
    })
}

/// An episode, its steps with a target, and sums over them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct ComparedEpisode<W: Learn> {
    batch: Batch<W>,
    score: f64,
    steps: u64,
    /// Sum of the expected gain of the target over the policy's own action.
    gain: f64,
    /// Number of steps where the most probable action of the target is not the policy's own.
    improved: f64,
}

impl<W: Learn> Default for ComparedEpisode<W> {
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
) -> ComparedEpisode<W> {
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
    let mut played = ComparedEpisode {
        score: rollout.episode.score(),
        steps: visited.len() as u64,
        ..ComparedEpisode::default()
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

impl<W: Learn> ComparedEpisode<W> {
    fn add(&mut self, config: &TrainConfig, step: &Visited<W>, gains: &[ActionGain<W::Action>]) {
        let observation = step.rollout.episode.observation();
        // An action that leaves out a part which a choice must name cannot be learned.
        let tried = gains.iter().filter_map(|tried| {
            let choice = W::Net::encode_action(tried.action, observation)?;
            Some((choice, tried.gain))
        });
        let (choices, gains): (Vec<Choice>, Vec<f64>) = tried.unzip();
        let probabilities = choices
            .iter()
            .map(|choice| step.decision.probability(choice));
        let probabilities: Vec<f64> = probabilities.collect();
        let prior: Vec<f64> = probabilities.iter().map(|p| p.max(LEAST_PRIOR)).collect();
        let target = improved_policy(&prior, &gains, config.lookahead_temperature);
        let index = self.batch.samples.len() as u32;
        self.batch
            .samples
            .push(sample(&step.rollout, &step.decision));
        let labels = label_weights(&target, &probabilities);
        let labels = choices.into_iter().zip(labels);
        self.batch.sequences.push(label_tokens(index, labels));
        for (gain, share) in gains.iter().zip(&target) {
            self.gain += share * gain;
        }
        let own = target.first().copied().unwrap_or(1.0);
        self.improved += f64::from(u8::from(target.iter().any(|share| *share > own)));
    }
}

/// Returns the weights of the tried actions in the cross-entropy: `target`, their shares in the target,
/// if they have all of the policy's probability. Otherwise they share what the policy gives them, and
/// each weight is the change of an action's probability. The gradient is then that of a target in which
/// untried actions keep their probability, without having to list them.
fn label_weights(target: &[f64], probabilities: &[f64]) -> Vec<f64> {
    let tried: f64 = probabilities.iter().sum();
    if tried > 1.0 - UNTRIED {
        return target.to_vec();
    }
    let changes = target.iter().zip(probabilities);
    changes.map(|(share, p)| share * tried - p).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Method;
    use crate::workers::Sequential;

    #[test]
    fn untried_actions_keep_their_probability() {
        // All actions are tried: the target itself.
        assert_eq!(label_weights(&[0.25, 0.75], &[0.5, 0.5]), [0.25, 0.75]);
        // Half of the probability is untried: it stays there, whatever the tried ones gain.
        let weights = label_weights(&[0.2, 0.8], &[0.3, 0.2]);
        assert!(
            (weights[0] + 0.2).abs() < 1e-12 && (weights[1] - 0.2).abs() < 1e-12,
            "{weights:?}"
        );
        // Nothing is gained: nothing changes.
        let still = label_weights(&[0.6, 0.4], &[0.3, 0.2]);
        assert!(still.iter().all(|weight| weight.abs() < 1e-12), "{still:?}");
    }

    #[test]
    fn update_labels_steps() -> Result<(), Error> {
        use sentinel_env::polyguard::PolyguardEnv;

        let config = TrainConfig {
            episodes_per_update: 24,
            snapshots_per_episode: 2,
            lookahead_rollouts: 2,
            ..TrainConfig::preset::<PolyguardEnv>(Method::ExpertIteration, true)
        };
        let weights = Weights::init(PolyguardEnv::net(&config), 1);
        let played = play::<PolyguardEnv>(&Sequential, &config, &weights, 0, 0..24)?;
        let one = collect(&config, 0, played)?;
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
