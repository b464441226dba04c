//! The completions of an update: in groups with their rewards, then as samples with their advantages.

use sentinel_lm::Tokenizer;
use sentinel_rl::Metrics;
use sentinel_rl::advantage::AdvantageOutput;
use sentinel_rl::importance_sampling::completion_mask;

use super::config::GrpoConfig;
use super::sample::Sample;
use crate::agent::Generation;
use crate::training::{LoggedCompletion, RunError};

/// Names of the rewards, in the order of their weights.
pub(super) const REWARDS: [&str; 2] = ["environment", "valid_format"];

/// A completion with its reward; `valid` if it was parsed without a repair.
pub(super) struct RewardedGeneration {
    pub(super) generation: Generation,
    pub(super) reward: f64,
    pub(super) valid: bool,
}

/// The completions that are compared with each other; `None` where an episode had ended before.
pub(super) type CompletionGroup = Vec<Option<RewardedGeneration>>;

/// The groups of an update, with the metrics of its episodes.
pub(super) struct Groups {
    pub(super) groups: Vec<CompletionGroup>,
    pub(super) metrics: Metrics,
}

/// The samples of an update, with metrics and warnings.
pub(super) struct SampleBatch {
    /// Completions of all groups, the shortest first. Look-ahead leaves out those without an advantage.
    pub(super) samples: Vec<Sample>,
    /// Number of tokens that the loss is normalized by.
    pub(super) num_items: f64,
    pub(super) metrics: Metrics,
    pub(super) warnings: Vec<String>,
    /// Completions of the first groups, for the log.
    pub(super) completions: Vec<ScoredCompletion>,
}

/// A completion with its rewards and advantage, for the log.
pub(super) struct ScoredCompletion {
    /// Index of the completion's group.
    pub(super) group: usize,
    pub(super) prompt: Vec<u32>,
    pub(super) completion: Vec<u32>,
    /// Rewards of the completion by name.
    pub(super) rewards: Metrics,
    pub(super) advantage: f64,
}

impl SampleBatch {
    /// Returns all samples, as the functions of the loss take them.
    pub(super) fn rows(&self) -> Vec<&Sample> {
        self.samples.iter().collect()
    }
}

impl Groups {
    /// Returns the rewards of all completions, `[completions, REWARDS]`, group by group: the value to the
    /// episode, and 1 for a valid action, else 0.
    pub(super) fn rewards(&self) -> Vec<Option<f64>> {
        let slots = self.groups.iter().flatten();
        slots
            .flat_map(|slot| {
                let reward = slot.as_ref().map(|slot| slot.reward);
                let valid = slot.as_ref().map(|slot| f64::from(u8::from(slot.valid)));
                [reward, valid]
            })
            .collect()
    }

    /// Joins the completions with their advantages, shortest first, and records the metrics of both.
    pub(super) fn into_samples(self, config: &GrpoConfig, found: AdvantageOutput) -> SampleBatch {
        let Self {
            groups,
            mut metrics,
        } = self;
        metrics.extend(found.metrics);
        let generation: Vec<&RewardedGeneration> = groups.iter().flatten().flatten().collect();
        completion_metrics(&generation, &mut metrics);
        let mut warnings = Vec::new();
        let size = config.num_generations;
        let flat = found.advantages.chunks(size);
        let flat = flat.filter(|group| group.iter().all(|a| *a == 0.0)).count();
        metrics.insert("groups".into(), groups.len() as f64);
        metrics.insert("groups/zero_variance".into(), flat as f64);
        if flat > 0 {
            let all = groups.len();
            warnings.push(format!(
                "{flat} of {all} groups have equal rewards: they teach nothing"
            ));
        }
        let completions = completions_to_log(config, &groups, &found.advantages);
        let mut samples: Vec<Sample> = (groups.into_iter().flatten().zip(found.advantages))
            .filter_map(|(slot, advantage)| {
                let generation = slot?.generation;
                Some(Sample {
                    mask: Some(completion_mask(
                        generation.completion.ids.len(),
                        !generation.completion.stopped,
                        config.mask_truncated_completions,
                    )),
                    sampled: Some(
                        generation
                            .completion
                            .logps
                            .iter()
                            .map(|l| f64::from(*l))
                            .collect(),
                    ),
                    prompt: generation.prompt,
                    completion: generation.completion.ids,
                    advantage,
                    ..Sample::default()
                })
            })
            .collect();
        // Sorting by length reduces padding.
        samples.sort_by_key(|sample| sample.prompt.len() + sample.completion.len());
        let loss_tokens: usize = samples.iter().map(Sample::loss_tokens).sum();
        SampleBatch {
            samples,
            num_items: loss_tokens as f64,
            metrics,
            warnings,
            completions,
        }
    }
}

/// Returns the completions to log, in whole groups.
fn completions_to_log(
    config: &GrpoConfig,
    groups: &[CompletionGroup],
    advantages: &[f64],
) -> Vec<ScoredCompletion> {
    let size = config.num_generations;
    let logged = config.num_completions_to_log / size;
    let groups = groups.iter().zip(advantages.chunks(size)).enumerate();
    let rows = groups
        .take(logged)
        .flat_map(|(group, (slots, advantages))| {
            let slots = slots.iter().zip(advantages);
            slots.filter_map(move |(slot, advantage)| {
                let slot = slot.as_ref()?;
                let earned = [slot.reward, f64::from(u8::from(slot.valid))];
                let rewards = REWARDS.into_iter().map(str::to_owned).zip(earned);
                Some(ScoredCompletion {
                    group,
                    prompt: slot.generation.prompt.clone(),
                    completion: slot.generation.completion.ids.clone(),
                    rewards: rewards.collect(),
                    advantage: *advantage,
                })
            })
        });
    rows.collect()
}

/// Records TRL's completion lengths, and the share of completions that are not a valid action
/// without repair.
fn completion_metrics(generation: &[&RewardedGeneration], metrics: &mut Metrics) {
    let mut note = |name: &str, lengths: Vec<f64>| {
        let (min, mean, max) = sentinel_rl::min_mean_max(&lengths);
        for (what, value) in [("min", min), ("mean", mean), ("max", max)] {
            metrics.insert(format!("completions/{what}_{name}"), value);
        }
    };
    let length = |slot: &&RewardedGeneration| slot.generation.completion.ids.len() as f64;
    note("length", generation.iter().map(length).collect());
    let ended = generation
        .iter()
        .filter(|slot| slot.generation.completion.stopped);
    note("terminated_length", ended.map(length).collect());
    let count = generation.len().max(1) as f64;
    let share = |is: fn(&RewardedGeneration) -> bool| {
        generation.iter().filter(|slot| is(slot)).count() as f64 / count
    };
    let cut = share(|slot| !slot.generation.completion.stopped);
    let invalid = share(|slot| !slot.valid);
    metrics.insert("completions/clipped_ratio".into(), cut);
    metrics.insert("completions/invalid_rate".into(), invalid);
}

/// Decodes completions for the log.
pub(super) fn decode_completions(
    tokenizer: &Tokenizer,
    completions: &[ScoredCompletion],
) -> Result<Vec<LoggedCompletion>, RunError> {
    let text = |ids: &[u32]| tokenizer.decode(ids, false);
    let row = |scored: &ScoredCompletion| {
        Ok(LoggedCompletion {
            group: scored.group,
            prompt: text(&scored.prompt)?,
            completion: text(&scored.completion)?,
            rewards: scored.rewards.clone(),
            advantage: scored.advantage,
            tokens: None,
        })
    };
    completions.iter().map(row).collect()
}
