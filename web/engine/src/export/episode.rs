//! An episode as the rows of a replay file.

use sentinel_policy::replay::{EpisodeRows, LmTranscript, ReplayRow};

use crate::run::Run;
use crate::world::{PageWorld, VISITOR};

/// Name of the actor in rows of a replay's fallback.
const FALLBACK: &str = "fallback";

/// Returns one row for each action of a run. `source` is the name of the player in the rows, and
/// `recorded` are the rows that it played, if it is a replay: they are returned as they were read.
///
/// Rows of the visitor name `you`; rows of a replay's fallback are marked as such.
#[must_use]
pub fn episode_rows<W: PageWorld>(
    run: &Run<W>,
    source: &str,
    recorded: Option<&EpisodeRows<W>>,
) -> Vec<ReplayRow<W>> {
    let mut is_own = false;
    let row = |pair: &[crate::Frame<W>]| {
        let [before, after] = pair else { return None };
        let (taken, episode) = (after.taken.as_ref()?, &before.episode);
        is_own |= taken.own;
        if taken.own {
            return Some(ReplayRow::new(episode, taken.action, VISITOR));
        }
        if taken.missed {
            let mut row = ReplayRow::new(episode, taken.action, FALLBACK);
            row.transcript = Some(Box::new(LmTranscript {
                fallback: true,
                ..LmTranscript::default()
            }));
            return Some(row);
        }
        let step = W::step_count(episode.observation());
        if let Some(row) = recorded.and_then(|rows| rows.get(step)) {
            let mut row = row.row.clone();
            if is_own {
                // Texts and numbers of the file describe another course of the episode.
                (row.probabilities, row.belief, row.transcript) = (None, None, None);
            }
            return Some(row);
        }
        let policy_output = &before.policy_output;
        let row = ReplayRow::new(episode, taken.action, source);
        Some(row.with_policy_output(
            policy_output.probabilities.clone(),
            policy_output.belief.clone(),
        ))
    };
    run.frames().windows(2).filter_map(row).collect()
}
