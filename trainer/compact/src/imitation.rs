//! Imitation on the learner's own episodes: the learner acts, and the teacher labels every step
//! (DAgger, arXiv:1011.0686).

use std::ops::Range;

use sentinel_options::rng::Rng;
use sentinel_policy::nn::{Choice, Network as _, Weights};
use sentinel_policy::policy::Player;
use sentinel_rl::Metrics;
use serde::{Deserialize, Serialize};

use super::grpo::{Collected, Episodes, sample};
use crate::Error;
use crate::actor::{Actor, Rollout};
use crate::batch::{Batch, Token};
use crate::config::TrainConfig;
use crate::learn::Learn;
use crate::step::{LossGrad, TokenTable};
use crate::workers::Workers;

/// An episode with labels on its steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct LabeledEpisode<W: Learn> {
    batch: Batch<W>,
    score: f64,
}

/// Plays the episodes `indices` of update `update` and queries the teacher at every step. The
/// `advantage` of a token is the teacher's probability of its action.
///
/// # Errors
/// If the world has no teacher with that name.
pub fn play<W: Learn>(
    workers: &impl Workers,
    config: &TrainConfig,
    weights: &Weights<W::Net>,
    update: u64,
    indices: Range<u64>,
) -> Result<Vec<LabeledEpisode<W>>, Error> {
    let teacher = config.teacher::<W>()?;
    let episodes = Episodes::<W>::new(config, update)?;
    Ok(
        episodes.play(workers, weights, indices, |actor, index, setup, start| {
            let rng = Rng::new(config.seed, &[update, index]);
            one_episode(teacher.start(setup), actor, start, rng)
        }),
    )
}

/// Joins all episodes of update `update`, in order.
///
/// # Errors
/// If the teacher has labeled no step.
pub fn collect<W: Learn>(
    config: &TrainConfig,
    update: u64,
    played: Vec<LabeledEpisode<W>>,
) -> Result<Collected<W>, Error> {
    let count = played.len() as f64;
    let (mut batch, mut reward) = (Batch::default(), 0.0);
    for one in played {
        batch.append(one.batch);
        reward += one.score / count;
    }
    if batch.sequences.iter().all(Vec::is_empty) {
        return Err(Error::NoLabels(config.teacher.clone()));
    }
    let steps = batch.samples.len() as u64;
    Ok(Collected {
        metrics: Metrics::from([
            ("reward".into(), reward),
            ("completions/mean_length".into(), steps as f64 / count),
        ]),
        steps,
        seeds: Episodes::<W>::new(config, update)?.seeds(),
        batch,
    })
}

/// Plays one episode, and labels its steps.
fn one_episode<W: Learn>(
    mut teacher: Player<W>,
    actor: &mut Actor<'_, W>,
    mut rollout: Rollout<W>,
    mut rng: Rng,
) -> LabeledEpisode<W> {
    let mut batch = Batch::default();
    while !rollout.is_done() {
        let decision = actor.action_distribution(&rollout);
        let labels = teacher_choices(&mut teacher, &rollout.episode);
        let index = batch.samples.len() as u32;
        batch.samples.push(sample(&rollout, &decision));
        let share = 1.0 / labels.len() as f64;
        let labels = labels.into_iter().map(|choice| (choice, share));
        batch.sequences.push(label_tokens(index, labels));
        rollout.step(&decision.sample(&mut rng));
    }
    let score = rollout.episode.score();
    LabeledEpisode { batch, score }
}

/// Returns the tokens that label a sample with choices and their probabilities, as [`loss`] reads
/// them.
pub(super) fn label_tokens(
    sample: u32,
    labels: impl IntoIterator<Item = (Choice, f64)>,
) -> Vec<Token> {
    let columns = labels
        .into_iter()
        .flat_map(|(choice, share)| choice.chosen_columns().map(move |column| (column, share)));
    let token = |(column, share)| Token {
        sample,
        column: column as u16,
        old_logp: 0.0,
        ref_logp: 0.0,
        advantage: share,
    };
    columns.map(token).collect()
}

/// Returns the teacher's best choices: several if their values are equal.
fn teacher_choices<W: Learn>(teacher: &mut Player<W>, episode: &W) -> Vec<Choice> {
    let chosen = teacher.act(episode);
    let chosen = chosen.and_then(|action| W::Net::encode_action(action, episode.observation()));
    let values = teacher.action_values();
    let best = values.and_then(|values| W::best_choices(&values));
    best.unwrap_or_else(|| chosen.into_iter().collect())
}

/// Computes the cross-entropy against the teacher, averaged over samples. The `advantage` of a
/// token is the teacher's probability of it.
pub fn loss<W: Learn>(tokens: &TokenTable<'_, W>, logps: &[f32]) -> LossGrad {
    let mut by_logp = vec![0.0; logps.len()];
    let (mut loss, each) = (0.0, 1.0 / tokens.samples.len() as f64);
    for (_, place, token) in tokens.cells() {
        let at = tokens.logp_index(place, token);
        loss -= each * token.advantage * f64::from(logps[at]);
        by_logp[at] -= (each * token.advantage) as f32;
    }
    LossGrad {
        loss,
        by_logp,
        by_entropy: None,
        metrics: Metrics::new(),
    }
}
