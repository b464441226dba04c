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
    let mut rows = Vec::with_capacity(32);
    let run = run_with_choices(setup, |episode: &W| {
        let action = player.act(episode)?;
        let row = ReplayRow::new(episode, action, model_source);
        rows.push(row.with_policy_output(player.probabilities(), player.belief()));
        Some(action)
    });
    (run, rows)
}

impl<W: Recordable> ReplayRow<W> {
    /// Creates the row of an action that is taken in the state `episode`.
    #[must_use]
    pub fn new(episode: &W, action: W::Action, model_source: &str) -> Self {
        Self {
            origin: W::episode_spec(episode.setup()),
            step: W::step_count(episode.observation()),
            action: RecordedAction::new(episode.observation(), action),
            scenario_id: episode.scenario_id(),
            model_source: model_source.to_owned(),
            probabilities: None,
            belief: None,
            transcript: None,
        }
    }

    /// Adds what a learned policy thought before the action. Without probabilities the policy is a
    /// scripted one, whose belief is left out: running it again recomputes it.
    #[must_use]
    pub fn with_policy_output(
        mut self,
        probabilities: Option<Vec<f64>>,
        belief: Option<Vec<Vec<f64>>>,
    ) -> Self {
        let short_row = |row: Vec<f64>| row.into_iter().map(short).collect::<Vec<f64>>();
        self.belief = belief
            .filter(|_| probabilities.is_some())
            .map(|rows| rows.into_iter().map(short_row).collect());
        self.probabilities = probabilities.map(short_row);
        self
    }
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
