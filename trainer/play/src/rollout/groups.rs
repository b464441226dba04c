//! Groups of completions of one state: credit step by step.
//!
//! Each member continues a copy of the same state with the same random draws, so that their values
//! differ only by the completions (the Monte-Carlo values of VinePPO, arXiv:2410.01679).

use sentinel_policy::text::{ParseError, ParsedAction, PromptState, TextWorld};

use super::episode_summary::rollout_summaries;
use super::play::{RolloutConfig, Sample};
use super::text_agent::{GenerationRequest, RolloutError, TextAgent, generate_completions};
use crate::analyze::{Analyzed, PolicySource};

/// The value of a completion, by who plays on after it.
#[derive(Clone, Debug, PartialEq)]
pub enum CompletionValue<W: Analyzed> {
    /// No continuation: the value is the reward of the step, as the reference trains.
    StepReward,
    /// Another policy plays to the end; the value is the score.
    Policy(PolicySource<W>),
    /// The model itself plays to the end by sampling; the value is the score.
    Sampled,
    /// The model itself plays to the end by greedy decoding, so that the values of members differ
    /// by their completions and by no further draw.
    Greedy,
}

/// One completion of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Member<W: TextWorld> {
    /// The text of the completion.
    pub completion: String,
    /// The parsed action, or the reason why there is none.
    pub parsed: Result<ParsedAction<W::Action>, ParseError>,
    /// The reward of the step.
    pub reward: f64,
    /// The value of the completion, by the [`CompletionValue`].
    pub value: f64,
}

/// All completions of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Group<W: TextWorld> {
    /// The prompt of the state.
    pub prompt: String,
    /// The completions of the prompt.
    pub members: Vec<Member<W>>,
}

/// Generates `size` completions of each state and computes the value of each. The prompts of a
/// group are next to each other in one batch.
///
/// # Errors
/// Returns an error if `size` is below 2, or the generator does not complete every prompt.
pub fn generate_groups<W: TextWorld + Analyzed>(
    states: &[PromptState<W>],
    size: usize,
    value: CompletionValue<W>,
    rollout_config: RolloutConfig,
    generator: &mut dyn TextAgent<W>,
) -> Result<Vec<Group<W>>, RolloutError> {
    if size < 2 {
        return Err(RolloutError::Group(size));
    }
    let open: Vec<&PromptState<W>> = states.iter().filter(|state| !state.done()).collect();
    let each = || {
        open.iter()
            .flat_map(|state| std::iter::repeat_n(*state, size))
    };
    let requests: Vec<GenerationRequest<'_, W>> = (0..)
        .zip(each())
        .map(|(episode, prompt_state)| GenerationRequest {
            episode,
            prompt_state,
            style: rollout_config.style,
        })
        .collect();
    let prompts: Vec<String> = each()
        .map(|state| state.prompt(rollout_config.style))
        .collect();
    let said = generate_completions(generator, &prompts, &requests)?;
    let mut samples: Vec<Sample<W>> = each().cloned().map(Sample::new).collect();
    for (sample, (prompt, completion)) in samples.iter_mut().zip(prompts.into_iter().zip(said)) {
        sample.take(rollout_config, prompt, completion);
    }
    let values = values(&samples, size, value, rollout_config, generator)?;
    let mut groups: Vec<Group<W>> = Vec::with_capacity(open.len());
    for (at, (sample, value)) in samples.into_iter().zip(values).enumerate() {
        let Some(row) = sample.rows.into_iter().next() else {
            continue;
        };
        if at.is_multiple_of(size) {
            groups.push(Group {
                prompt: row.prompt,
                members: Vec::with_capacity(size),
            });
        }
        if let Some(group) = groups.last_mut() {
            group.members.push(Member {
                completion: row.completion,
                parsed: row.parsed,
                reward: row.reward,
                value,
            });
        }
    }
    Ok(groups)
}

fn values<W: TextWorld + Analyzed>(
    samples: &[Sample<W>],
    size: usize,
    value: CompletionValue<W>,
    rollout_config: RolloutConfig,
    generator: &mut dyn TextAgent<W>,
) -> Result<Vec<f64>, RolloutError> {
    match value {
        CompletionValue::StepReward => {
            let reward = |sample: &Sample<W>| sample.rows.first().map_or(0.0, |row| row.reward);
            Ok(samples.iter().map(reward).collect())
        }
        CompletionValue::Policy(source) => {
            let score = |sample: &Sample<W>| continued_score(sample, &source, rollout_config);
            Ok(samples.iter().map(score).collect())
        }
        CompletionValue::Sampled => {
            let open: Vec<Vec<usize>> = (0..samples.len())
                .filter(|index| !samples[*index].is_over())
                .map(|index| vec![index])
                .collect();
            continuation_scores(samples, open, rollout_config, generator)
        }
        CompletionValue::Greedy => {
            generator.set_greedy(true);
            let scores = continuation_scores(
                samples,
                group_by_state(samples, size),
                rollout_config,
                generator,
            );
            generator.set_greedy(false);
            scores
        }
    }
}

/// Returns the scores of all samples. Those in `open` are played on by the generator: the first of
/// each list, for all in the list.
fn continuation_scores<W: TextWorld + Analyzed>(
    samples: &[Sample<W>],
    open: Vec<Vec<usize>>,
    rollout_config: RolloutConfig,
    generator: &mut dyn TextAgent<W>,
) -> Result<Vec<f64>, RolloutError> {
    let first = |members: &Vec<usize>| samples[members[0]].now().clone();
    let starts = open.iter().map(first).collect();
    let played = rollout_summaries(starts, rollout_config, generator, &|| ())?;
    let mut scores: Vec<f64> = samples
        .iter()
        .map(|sample| sample.score(rollout_config))
        .collect();
    for (members, episode) in open.into_iter().zip(played) {
        for member in members {
            scores[member] = episode.score;
        }
    }
    Ok(scores)
}

/// Returns the samples that are not over, in lists of those in a group that took the same action
/// and so are in the same state.
fn group_by_state<W: TextWorld + Analyzed>(samples: &[Sample<W>], size: usize) -> Vec<Vec<usize>> {
    let mut lists: Vec<Vec<usize>> = Vec::new();
    let action = |index: usize| samples[index].rows.first().and_then(|row| row.action);
    for index in (0..samples.len()).filter(|index| !samples[*index].is_over()) {
        let same = |list: &&mut Vec<usize>| {
            list[0] / size == index / size && action(list[0]) == action(index)
        };
        match lists.iter_mut().rev().take(size).find(same) {
            Some(list) => list.push(index),
            None => lists.push(vec![index]),
        }
    }
    lists
}

/// Returns the score when another policy, which has observed all earlier steps, plays to the end.
fn continued_score<W: TextWorld + Analyzed>(
    sample: &Sample<W>,
    source: &PolicySource<W>,
    rollout_config: RolloutConfig,
) -> f64 {
    if sample.is_over() {
        return sample.score(rollout_config);
    }
    let mut player = source.player(sample.now().episode().setup());
    sample.now().replay_to(&mut player);
    let mut episode = sample.now().episode().clone();
    while let Some(action) = player.act(&episode) {
        if W::step(&mut episode, action).is_err() {
            break;
        }
    }
    W::score(&episode)
}
