//! Writing down what a player does.

use sentinel_env::num::round_to;
use sentinel_env::trust::{Session, Setup};

use super::{RecordedAction, ReplayRow, World};
use crate::Player;

/// Plays an episode to its end; the session, and a row for each action.
#[must_use]
pub fn record_episode(
    setup: &Setup,
    player: &mut Player,
    model_source: &str,
) -> (Session, Vec<ReplayRow>) {
    let mut session = Session::new(setup);
    let mut rows = Vec::with_capacity(32);
    while let Some(action) = player.act(session.episode()) {
        let episode = session.episode();
        // What a learned policy says of itself; the scripted ones say it again when they play.
        let probabilities = player.probabilities().map(|all| all.map(short));
        let belief = player.belief().filter(|_| probabilities.is_some());
        let belief = belief.map(|slots| slots.map(|slot| slot.map(short)));
        rows.push(ReplayRow {
            task_type: episode.observation().task,
            seed: setup.seed,
            step: episode.observation().step_count,
            action: RecordedAction::from(action),
            scenario_id: episode.scenario().id(),
            model_source: model_source.to_owned(),
            world: World::Trust,
            streams: setup.streams,
            probabilities: probabilities.map(Box::new),
            belief: belief.map(Box::new),
        });
        // A player acts only while the episode runs.
        if session.act(action).is_err() {
            break;
        }
    }
    (session, rows)
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
