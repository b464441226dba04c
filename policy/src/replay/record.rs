//! Recording the actions of a player.

use sentinel_env::num::round_to;

use super::{Recordable, RecordedAction, ReplayRow};
use crate::policy::Player;
use crate::rollout::{EpisodeRun, run_with_choices};

/// Runs an episode with `player` to its end, and returns the run with one row per action.
///
/// ```
/// use sentinel_env::{rng::Streams, trust::{Setup, Task}};
/// use sentinel_policy::replay::{ReplayFile, record_episode, to_lines};
/// use sentinel_policy::{Scripted, trust::PolicyName};
///
/// let setup = Setup::new(Task::Task1, 7, Streams::Independent);
/// let mut player = PolicyName::Heuristic.start(&setup);
/// let (run, rows) = record_episode(&setup, &mut player, "heuristic");
/// let text = to_lines(&rows)?;
/// // Every row is played again and compared.
/// let file = ReplayFile::default().parse(&text);
/// assert_eq!(file.row_count(), run.rewards().len());
/// let found = file.verify();
/// assert_eq!((found.hits, found.misses, found.mismatches), (file.row_count(), 0, 0));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn record_episode<W: Recordable>(
    setup: &W::Setup,
    player: &mut Player<W>,
    model_source: &str,
) -> (EpisodeRun<W>, Vec<ReplayRow<W>>) {
    let origin = W::episode_spec(setup);
    let mut rows = Vec::with_capacity(32);
    let run = run_with_choices(setup, |episode: &W| {
        let action = player.act(episode)?;
        // For learned policies only: running a scripted policy again recomputes its belief.
        let probabilities = player.probabilities();
        let belief = player.belief().filter(|_| probabilities.is_some());
        let belief = belief.map(|rows| {
            let short_row = |row: Vec<f64>| row.into_iter().map(short).collect();
            rows.into_iter().map(short_row).collect()
        });
        rows.push(ReplayRow {
            origin,
            step: W::step_count(episode.observation()),
            action: RecordedAction::new(episode.observation(), action),
            scenario_id: episode.scenario_id(),
            model_source: model_source.to_owned(),
            probabilities: probabilities.map(|all| all.into_iter().map(short).collect()),
            belief,
            transcript: None,
        });
        Some(action)
    });
    (run, rows)
}

/// Rounds to three decimals, the precision that replay files store.
fn short(value: f64) -> f64 {
    round_to(value, 3)
}

/// Returns rows as the text of a replay file, one JSON object per line.
///
/// # Errors
/// If a row cannot be written as JSON. This does not happen for rows of finite numbers.
pub fn to_lines<'a, W: Recordable>(
    rows: impl IntoIterator<Item = &'a ReplayRow<W>>,
) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for row in rows {
        text.push_str(&serde_json::to_string(row)?);
        text.push('\n');
    }
    Ok(text)
}
