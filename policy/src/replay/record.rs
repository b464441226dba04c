//! Writing down what a player does.

use sentinel_env::num::round_to;

use super::{EpisodeKey, RecordedAction, ReplayRow};
use crate::play::{Player, Run, run_with};
use crate::world::Playable;

/// Plays an episode to its end; what came of it, and a row for each action.
#[must_use]
pub fn record_episode<W: Playable>(
    setup: &W::Setup,
    player: &mut Player<W>,
    model_source: &str,
) -> (Run<W>, Vec<ReplayRow>) {
    let key = EpisodeKey::made_by::<W>(setup);
    let mut rows = Vec::with_capacity(32);
    let run = run_with(setup, |episode| {
        let action = player.act(episode)?;
        // What a learned policy says of itself; the scripted ones say it again when they play.
        let probabilities = player.probabilities();
        let belief = player.belief().filter(|_| probabilities.is_some());
        let belief = belief.map(|slots| slots.map(|slot| slot.map(short)));
        rows.push(ReplayRow {
            task_type: key.task,
            seed: key.seed,
            step: W::steps_used(W::observation(episode)),
            action: RecordedAction::from(W::widen(action)),
            scenario_id: W::scenario_id(episode),
            model_source: model_source.to_owned(),
            world: key.world,
            streams: key.streams,
            rules: key.rules,
            probabilities: probabilities
                .map(|all| all.as_ref().iter().copied().map(short).collect()),
            belief: belief.map(Box::new),
            text: None,
        });
        Some(action)
    });
    (run, rows)
}

/// Three decimals, which is what a person can see.
fn short(value: f64) -> f64 {
    round_to(value, 3)
}

/// The text of a replay file.
///
/// # Errors
/// Only if a row cannot be written as JSON, which no row of finite numbers does.
pub fn to_lines<'a>(
    rows: impl IntoIterator<Item = &'a ReplayRow>,
) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for row in rows {
        text.push_str(&serde_json::to_string(row)?);
        text.push('\n');
    }
    Ok(text)
}
