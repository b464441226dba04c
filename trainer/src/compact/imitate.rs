//! Imitation along the learner's own episodes: it acts, the teacher says what it would have done
//! (DAgger, 1011.0686).

use rayon::prelude::*;
use sentinel_env::trust::{Action, Episode, Setup};
use sentinel_policy::learned::Weights;
use sentinel_policy::{Bayes, Oracle, OracleLite, Policy};

use super::actor::{Actor, Dice, Play};
use super::batch::{Batch, Token};
use super::collect::{Collected, Episodes, sample};
use super::config::{Teacher, TrainConfig};
use crate::rl::Metrics;

/// Values of the teacher this close to its best are as good.
const TIE: f64 = 1e-9;

/// Plays the episodes of an update and asks the teacher at every step. The `advantage` of a token is
/// the teacher's probability of its action.
#[must_use]
pub fn collect(config: &TrainConfig, weights: &Weights, update: u64) -> Collected {
    let episodes = Episodes::of(config, update);
    let played: Vec<(Batch, f64)> = (0..episodes.count)
        .into_par_iter()
        .map_init(
            || Actor::new(weights),
            |actor, episode| {
                let dice = Dice::new(config.seed, &[update, episode]);
                one_episode(
                    config.teacher,
                    actor,
                    weights,
                    &episodes.setup(episode),
                    dice,
                )
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
    Collected {
        metrics: Metrics::from([
            ("reward".into(), reward),
            ("completions/mean_length".into(), steps as f64 / count),
        ]),
        steps,
        seeds: episodes.seeds(),
        batch,
    }
}

fn one_episode(
    teacher: Teacher,
    actor: &mut Actor<'_>,
    weights: &Weights,
    setup: &Setup,
    mut dice: Dice,
) -> (Batch, f64) {
    let mut play = Play::new(Episode::reset(setup), weights);
    let (mut batch, mut bayes) = (Batch::default(), Bayes::new());
    while !play.done() {
        let decision = actor.decide(&play);
        let wanted = match teacher {
            Teacher::Bayes => ask_bayes(&mut bayes, &play.episode),
            Teacher::OracleLite => ask_oracle(&play.episode),
        };
        let index = batch.samples.len() as u32;
        batch.samples.push(sample(&play, &decision));
        let share = 1.0 / wanted.len() as f64;
        let tokens = wanted.into_iter().map(|action| Token {
            sample: index,
            action: action as u8,
            old_logp: 0.0,
            ref_logp: 0.0,
            advantage: share,
        });
        batch.sequences.push(tokens.collect());
        play.step(dice.pick(&decision.probabilities));
    }
    (batch, play.score())
}

/// The actions that the exact posterior finds best: several, where slots are alike.
fn ask_bayes(bayes: &mut Bayes, episode: &Episode) -> Vec<usize> {
    let observation = episode.observation();
    bayes.observe(observation);
    let chosen = bayes.choose(observation);
    let Some(values) = bayes.action_values() else {
        return index_of(chosen);
    };
    let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (0..values.len())
        .filter(|index| values[*index] >= best - TIE)
        .collect()
}

fn ask_oracle(episode: &Episode) -> Vec<usize> {
    index_of(OracleLite.choose(episode.observation(), episode.hidden()))
}

fn index_of(action: Action) -> Vec<usize> {
    Action::ALL
        .iter()
        .position(|a| *a == action)
        .into_iter()
        .collect()
}
