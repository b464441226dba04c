//! Group-relative policy optimization (GRPO, arXiv:2402.03300) of a compact policy, `sentinel train`.
//!
//! A group is one scenario, one hidden state and one stream of outcome draws; its members differ
//! only in the actions that they sample. An action is good if it did better than its group. In
//! `step` mode a group starts from a snapshot in the middle of an episode, and only the first
//! action of each member is trained on: a continuation rollout estimates its value (the
//! Monte-Carlo values of VinePPO, arXiv:2410.01679, with GRPO's baseline).
//!
//! One update, in the order of [`Trainer::update`](crate::Trainer::update):
//!
//! 1. [`play`] plays one group per episode, in parallel: `snapshot_group` or `episode_group`.
//! 2. [`collect`] compares the returns of the members of each group, in `with_advantages`.
//! 3. `add_reference` adds log-probabilities of the start policy, if `beta` is above 0.
//! 4. For each mini-batch [`loss`] computes the loss and its gradient by log-probabilities and
//!    entropies; [`step`](crate::step) carries them through the network and takes the
//!    optimizer step.

use std::ops::Range;

use sentinel_env::EpisodeSpec;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_options::rng::Rng;
use sentinel_policy::nn::{Choice, Network as _, Output, Weights, action_probabilities};
use sentinel_rl::Metrics;
use sentinel_rl::advantage::{AdvantageConfig, Rewards, advantages};
use sentinel_rl::config::LossConfig;
use sentinel_rl::credit_options::{Continuation, Credit};
use sentinel_rl::loss::{Advantages, LossInput, grpo_loss};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::actor::{ActionDistribution, Actor, Rollout};
use crate::batch::{Batch, Sample, Token};
use crate::config::TrainConfig;
use crate::learn::Learn;
use crate::step::{LossGrad, TokenTable};
use crate::workers::Workers;

/// A group of rollouts without advantages yet, and the returns that determine them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Group<W: Learn> {
    batch: Batch<W>,
    /// Returns of each row of a group, one per member: one row in `episode` mode, one per step in
    /// `reward_to_go` mode, one per snapshot in `step` mode.
    returns: Vec<Vec<f64>>,
    /// Scores of the episodes that were sampled from their start, with all terms of the reward.
    scores: Vec<f64>,
    /// Lengths of the same episodes, in steps.
    lengths: Vec<f64>,
    steps: u64,
}

/// The data of an update with its metrics.
pub struct Collected<W: Learn> {
    /// Samples and tokens with their advantages.
    pub batch: Batch<W>,
    /// Metrics `reward`, `reward_std`, `frac_reward_zero_std`, `completions/mean_length` and
    /// others.
    pub metrics: Metrics,
    /// Number of environment steps taken.
    pub steps: u64,
    /// Seeds of the episodes, for error messages.
    pub seeds: Range<u64>,
}

/// Plays the groups of the episodes `indices` of update `update`.
///
/// # Errors
/// If the rules or a task are unknown; that does not occur with a valid configuration.
pub fn play<W: Learn>(
    workers: &impl Workers,
    config: &TrainConfig,
    weights: &Weights<W::Net>,
    update: u64,
    indices: Range<u64>,
) -> Result<Vec<Group<W>>, Error> {
    let episodes = Episodes::<W>::new(config, update)?;
    Ok(
        episodes.play(workers, weights, indices, |actor, group, _, start| {
            let rng = |member| Rng::new(config.seed, &[update, group, member]);
            match config.credit {
                Credit::Step | Credit::SingleStep => snapshot_group(config, actor, start, rng),
                // The option `--credit` has no look-ahead here.
                Credit::Episode | Credit::RewardToGo | Credit::Lookahead => {
                    episode_group(config, actor, start, rng)
                }
            }
        }),
    )
}

/// Computes the advantages of all groups of update `update`, in the order of its episodes.
///
/// # Errors
/// If the rewards have no advantages or the rules are unknown; neither occurs with a valid
/// configuration.
pub fn collect<W: Learn>(
    config: &TrainConfig,
    reference: Option<&Weights<W::Net>>,
    update: u64,
    played: Vec<Group<W>>,
) -> Result<Collected<W>, Error> {
    let steps = played.iter().map(|group| group.steps).sum();
    let (mut batch, metrics) = with_advantages(config, played)?;
    if let Some(reference) = reference {
        add_reference::<W>(&mut batch, reference);
    }
    Ok(Collected {
        batch,
        metrics,
        steps,
        seeds: Episodes::<W>::new(config, update)?.seeds(),
    })
}

/// The episodes of an update: an equal share on each task, with the same seeds for every task.
pub(super) struct Episodes<'a, W: Learn> {
    config: &'a TrainConfig,
    rules: Rules<W::Change>,
    tasks: Vec<W::Task>,
    /// The term that the reward leaves out, as an index of `World::REWARD_TERMS`.
    left_out: Option<usize>,
    /// Number of episodes in the update.
    count: u64,
    first: u64,
}

impl<'a, W: Learn> Episodes<'a, W> {
    pub(super) fn new(config: &'a TrainConfig, update: u64) -> Result<Self, Error> {
        let count = config.episodes_per_update as u64;
        let tasks = config.selected::<W>()?;
        Ok(Self {
            config,
            rules: config.rules::<W>()?,
            left_out: config.left_out_term::<W>()?,
            count,
            first: update * count.div_ceil(tasks.len() as u64),
            tasks,
        })
    }

    /// Calls `play` for the episodes `indices`, by any of the workers, with an actor, the episode's
    /// index, its setup and its start. Returns the results in the order of the indices.
    pub(super) fn play<T: Send>(
        &self,
        workers: &impl Workers,
        weights: &Weights<W::Net>,
        indices: Range<u64>,
        play: impl Fn(&mut Actor<'_, W>, u64, &W::Setup, Rollout<W>) -> T + Sync + Send,
    ) -> Vec<T> {
        workers.map(
            indices,
            || Actor::<W>::new(weights),
            |actor, index| {
                let setup = self.setup(index);
                let start = Rollout::new(W::reset(&setup), weights.config());
                play(actor, index, &setup, start.without_term(self.left_out))
            },
        )
    }

    /// Returns the setup of the episode with this index.
    fn setup(&self, index: u64) -> W::Setup {
        let count = self.tasks.len() as u64;
        let task = self.tasks[(index % count) as usize];
        let seed = self.config.training_seed(self.first + index / count);
        EpisodeSpec::<W> {
            task,
            seed,
            streams: Streams::Independent,
            rules: self.rules,
        }
        .setup()
    }

    /// Returns the range of the seeds of all episodes.
    pub(super) fn seeds(&self) -> Range<u64> {
        let last = self.first + self.count.div_ceil(self.tasks.len() as u64) - 1;
        self.config.training_seed(self.first)..self.config.training_seed(last) + 1
    }
}

/// Returns the sample that records a decision.
pub(super) fn sample<W: Learn>(
    rollout: &Rollout<W>,
    decision: &ActionDistribution<W>,
) -> Sample<W> {
    Sample {
        features: decision.features.clone(),
        action_mask: decision.action_mask.clone(),
        belief_targets: rollout.episode.belief_targets(),
    }
}

/// Returns one token for each factor of a choice.
fn tokens<W: Learn>(
    sample: usize,
    choice: Choice,
    decision: &ActionDistribution<W>,
) -> impl Iterator<Item = Token> {
    choice.chosen_columns().map(move |column| Token {
        sample: sample as u32,
        column: column as u16,
        old_logp: decision.probabilities[column].ln(),
        ref_logp: 0.0,
        advantage: 0.0,
    })
}

/// Plays the whole episode once for every member.
fn episode_group<W: Learn>(
    config: &TrainConfig,
    actor: &mut Actor<'_, W>,
    start: Rollout<W>,
    rng: impl Fn(u64) -> Rng,
) -> Group<W> {
    let mut group = Group::empty();
    let (mut earned, mut returns) = (Vec::new(), Vec::new());
    for member in 0..config.num_generations as u64 {
        let (mut rollout, mut rng) = (start.clone(), rng(member));
        let (mut sequence, mut before) = (Vec::new(), Vec::new());
        while !rollout.is_done() {
            let decision = actor.action_distribution(&rollout);
            let choice = decision.sample(&mut rng);
            let chosen = tokens(group.batch.samples.len(), choice, &decision);
            sequence.extend(chosen);
            group.batch.samples.push(sample(&rollout, &decision));
            before.push(rollout.training_total());
            rollout.step(&choice);
        }
        group.steps += before.len() as u64;
        group.scores.push(rollout.episode.score());
        group.lengths.push(before.len() as f64);
        returns.push(rollout.training_score());
        earned.push(Earned {
            before,
            total: rollout.training_total(),
            events: rollout.training_events(),
        });
        group.batch.sequences.push(sequence);
    }
    group.returns = match config.credit {
        Credit::RewardToGo => rewards_to_go(&earned, &returns),
        _ => vec![returns],
    };
    group
}

/// Rewards of an episode: the total, and the part earned before each step.
struct Earned {
    before: Vec<f64>,
    total: f64,
    events: f64,
}

/// Returns the reward-to-go of each member minus the baseline, `[step][member]`, divided by the
/// mean number of reward events of an episode. The baseline is the group's mean score for each
/// remaining event. An episode that has ended has no reward to go.
fn rewards_to_go(members: &[Earned], scores: &[f64]) -> Vec<Vec<f64>> {
    let count = members.len() as f64;
    let group_baseline = scores.iter().sum::<f64>() / count;
    let mean_events = members.iter().map(|m| m.events).sum::<f64>() / count;
    let longest = members.iter().map(|m| m.before.len()).max().unwrap_or(0);
    let to_go = |member: &Earned, step: usize| {
        member.before.get(step).map_or(0.0, |before| {
            let left = member.events - step as f64;
            (member.total - before - group_baseline * left) / mean_events
        })
    };
    (0..longest)
        .map(|step| members.iter().map(|member| to_go(member, step)).collect())
        .collect()
}

/// Plays one episode, and from some of its steps one continuation rollout for each sampled action.
fn snapshot_group<W: Learn>(
    config: &TrainConfig,
    actor: &mut Actor<'_, W>,
    start: Rollout<W>,
    rng: impl Fn(u64) -> Rng,
) -> Group<W> {
    let mut group = Group::empty();
    let (mut rollout, mut own) = (start, rng(0));
    let mut visited = Vec::new();
    while !rollout.is_done() {
        let decision = actor.action_distribution(&rollout);
        let choice = decision.sample(&mut own);
        visited.push((rollout.clone(), decision));
        rollout.step(&choice);
    }
    group.steps += visited.len() as u64;
    group.scores.push(rollout.episode.score());
    group.lengths.push(visited.len() as f64);
    let members = config.num_generations;
    for snapshot in 0..config.snapshots_per_episode.min(visited.len()) {
        let (snapshot_at, decision) = &visited[own.below(visited.len())];
        let index = group.batch.samples.len();
        group.batch.samples.push(sample(snapshot_at, decision));
        let offset = own.uniform();
        let mut returns = Vec::with_capacity(members);
        for member in 0..members {
            // Systematic sampling: the points are evenly spaced in the distribution of the first
            // factor, so each value occurs as often as expected, give or take one.
            let place = (member as f64 + offset) / members as f64;
            let mut rng = rng(1 + (snapshot * members + member) as u64);
            let choice = decision.sample_at_quantile(place, &mut rng);
            let mut branch = snapshot_at.clone();
            branch.step(&choice);
            group.steps += 1;
            returns.push(if config.credit == Credit::SingleStep {
                branch.training_total() - snapshot_at.training_total()
            } else {
                group.steps += match config.continuation {
                    Continuation::Greedy => actor.finish_greedily(&mut branch),
                    _ => actor.finish(&mut branch, &mut rng),
                };
                branch.training_score()
            });
            let tokens = tokens(index, choice, decision);
            group.batch.sequences.push(tokens.collect());
        }
        group.returns.push(returns);
    }
    group
}

impl<W: Learn> Group<W> {
    fn empty() -> Self {
        Self {
            batch: Batch::default(),
            returns: Vec::new(),
            scores: Vec::new(),
            lengths: Vec::new(),
            steps: 0,
        }
    }
}

/// Joins the groups and sets the advantage of every token.
fn with_advantages<W: Learn>(
    config: &TrainConfig,
    groups: Vec<Group<W>>,
) -> Result<(Batch<W>, Metrics), Error> {
    let options = AdvantageConfig {
        num_generations: config.num_generations,
        scale_rewards: config.scale_rewards,
        ..AdvantageConfig::default()
    };
    let returns = groups.iter().flat_map(|g| g.returns.iter().flatten());
    let values: Vec<Option<f64>> = returns.map(|value| Some(*value)).collect();
    let found = advantages(
        &options,
        Rewards {
            names: &["score"],
            values: &values,
        },
    )?;
    let mut next = found.advantages.chunks_exact(config.num_generations);
    let (mut batch, mut scores, mut lengths) = (Batch::default(), Vec::new(), Vec::new());
    for mut group in groups {
        for (row, members) in (0..group.returns.len()).zip(&mut next) {
            group.assign(config.credit, row, members);
        }
        batch.append(group.batch);
        scores.append(&mut group.scores);
        lengths.append(&mut group.lengths);
    }
    let mut metrics = found.metrics;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    // In every mode the logged reward is that of whole episodes.
    metrics.insert("reward".into(), mean(&scores));
    metrics.insert("rewards/score/mean".into(), mean(&scores));
    metrics.insert("completions/mean_length".into(), mean(&lengths));
    Ok((batch, metrics))
}

impl<W: Learn> Group<W> {
    /// Sets the advantages of the tokens that belong to one row of `returns`.
    fn assign(&mut self, credit: Credit, row: usize, members: &[f64]) {
        let sequences = self.batch.sequences.iter_mut();
        match credit {
            Credit::Episode | Credit::Lookahead => {
                for (sequence, advantage) in sequences.zip(members) {
                    for token in sequence {
                        token.advantage = *advantage;
                    }
                }
            }
            Credit::RewardToGo => {
                for (sequence, advantage) in sequences.zip(members) {
                    // The tokens of one step refer to the same sample.
                    let steps = sequence.chunk_by_mut(|a, b| a.sample == b.sample);
                    for token in steps.skip(row).take(1).flatten() {
                        token.advantage = *advantage;
                    }
                }
            }
            Credit::Step | Credit::SingleStep => {
                let sequences = sequences.skip(row * members.len());
                for (sequence, advantage) in sequences.zip(members) {
                    for token in sequence {
                        token.advantage = *advantage;
                    }
                }
            }
        }
    }
}

/// Sets the log-probabilities under the reference policy, for the KL term.
fn add_reference<W: Learn>(batch: &mut Batch<W>, reference: &Weights<W::Net>) {
    let (mut scratch, mut output) = (reference.config().scratch(), Output::default());
    let logps: Vec<Vec<f64>> = (batch.samples.iter())
        .map(|sample| {
            reference.forward(&sample.features, &mut scratch, &mut output);
            let all = action_probabilities::<W::Net>(&output.logits, &sample.action_mask);
            all.into_iter().map(f64::ln).collect()
        })
        .collect();
    for token in batch.sequences.iter_mut().flatten() {
        token.ref_logp = logps[token.sample as usize][usize::from(token.column)];
    }
}

/// Computes the GRPO loss of a mini-batch and its gradients.
///
/// # Errors
/// If an option of the loss needs an input that is missing.
pub fn loss<W: Learn>(
    config: &LossConfig,
    tokens: &TokenTable<'_, W>,
    logps: &[f32],
    entropies: &[f32],
) -> Result<LossGrad, Error> {
    let entropy = tokens.table(0.0, |place, token| {
        f64::from(entropies[tokens.entropy_index(place, token)])
    });
    let mask = tokens.table(false, |_, _| true);
    let count = mask.iter().filter(|on| **on).count();
    let output = grpo_loss(
        config,
        &LossInput {
            tokens: tokens.width,
            logps: &tokens.table(0.0, |place, token| {
                f64::from(logps[tokens.logp_index(place, token)])
            }),
            old_logps: Some(&tokens.table(0.0, |_, token| token.old_logp)),
            ref_logps: Some(&tokens.table(0.0, |_, token| token.ref_logp)),
            entropies: Some(&entropy),
            completion_mask: &mask,
            advantages: Advantages::PerToken(&tokens.table(0.0, |_, token| token.advantage)),
            num_items_in_batch: Some(count as f64),
            importance_sampling_ratio: None,
            sampling_logps: None,
        },
    )?;
    let by_cell = output.grad_entropies.as_ref();
    let mut by_logp = vec![0.0; logps.len()];
    let mut by_entropy = by_cell.map(|_| vec![0.0; entropies.len()]);
    for (cell, place, token) in tokens.cells() {
        by_logp[tokens.logp_index(place, token)] += output.grad_logps[cell] as f32;
        if let (Some(sums), Some(by_cell)) = (&mut by_entropy, by_cell) {
            sums[tokens.entropy_index(place, token)] += by_cell[cell] as f32;
        }
    }
    Ok(LossGrad {
        loss: output.loss,
        by_logp,
        by_entropy,
        metrics: output.metrics,
    })
}
