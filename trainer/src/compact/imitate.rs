//! Imitation along the learner's own episodes: it acts, the teacher says what it would have done
//! (DAgger, 1011.0686).

use rayon::prelude::*;
use sentinel_policy::Scripted;
use sentinel_policy::learned::Weights;
use sentinel_policy::play::Player;

use super::TrainError;
use super::actor::{Actor, Dice, Play};
use super::batch::{Batch, Token};
use super::collect::{Collected, Episodes, sample};
use super::config::TrainConfig;
use super::learn::Learn;
use crate::rl::Metrics;

/// Plays the episodes of an update and asks the teacher at every step. The `advantage` of a token is
/// the teacher's probability of its action.
///
/// # Errors
/// If the world has no teacher of that name.
pub fn collect<W: Learn>(
    config: &TrainConfig,
    weights: &Weights<W::Net>,
    update: u64,
) -> Result<Collected<W>, TrainError> {
    let teacher = config.teacher::<W>()?;
    let episodes = Episodes::<W>::of(config, update)?;
    let played: Vec<(Batch<W>, f64)> = (0..episodes.count)
        .into_par_iter()
        .map_init(
            || Actor::<W>::new(weights),
            |actor, index| {
                let dice = Dice::new(config.seed, &[update, index]);
                let setup = episodes.setup(index);
                let play = Play::new(W::reset(&setup), weights.config());
                let player = teacher.start(&setup);
                one_episode(player, actor, play, dice)
            },
        )
        .collect();
    let count = played.len() as f64;
    let (mut batch, mut reward) = (Batch::default(), 0.0);
    for (one, score) in played {
        batch.append(one);
        reward += score / count;
    }
    let steps = batch.samples.len() as u64;
    Ok(Collected {
        metrics: Metrics::from([
            ("reward".into(), reward),
            ("completions/mean_length".into(), steps as f64 / count),
        ]),
        steps,
        seeds: episodes.seeds(),
        batch,
    })
}

fn one_episode<W: Learn>(
    mut teacher: Player<W>,
    actor: &mut Actor<'_, W>,
    mut play: Play<W>,
    mut dice: Dice,
) -> (Batch<W>, f64) {
    let mut batch = Batch::default();
    while !play.done() {
        let decision = actor.decide(&play);
        let wanted = wanted(&mut teacher, &play.episode);
        let index = batch.samples.len() as u32;
        batch.samples.push(sample(&play, &decision));
        let share = 1.0 / wanted.len() as f64;
        let tokens = wanted.into_iter().flat_map(W::columns).map(|column| Token {
            sample: index,
            column: column as u16,
            old_logp: 0.0,
            ref_logp: 0.0,
            advantage: share,
        });
        batch.sequences.push(tokens.collect());
        play.step(decision.choose(&mut dice));
    }
    (batch, play.score())
}

/// The actions that the teacher finds best: several, where it weighs them and finds them alike.
fn wanted<W: Learn>(teacher: &mut Player<W>, episode: &W::Episode) -> Vec<W::Choice> {
    let chosen = teacher.act(episode).and_then(W::choice);
    let alike = W::as_good(teacher.action_values());
    alike.unwrap_or_else(|| chosen.into_iter().collect())
}
