//! The rows that a language model plays: many episodes in parallel, prompted step by step.

use sentinel_base::Progress;
use sentinel_base::provenance::Provenance;
use sentinel_env::polyguard::{PolyguardEnv, Setup};
use sentinel_play::rollout::{RolloutError, TextAgent, run_batched};
use sentinel_policy::polyguard::LmEpisode;
use sentinel_policy::text::PromptStyle;

use super::config::Plan;
use super::rows::RowKey;
use super::summary::EpisodeOutcome;

/// A language model and its prompt style.
pub struct AblationModel<'a> {
    /// The name of the model.
    pub name: &'a str,
    /// The provenance of the model.
    pub provenance: &'a Provenance,
    /// The style in which an observation is written as a prompt.
    pub style: PromptStyle,
    /// The generator of completions.
    pub generator: &'a mut dyn TextAgent<PolyguardEnv>,
}

/// Plays a row of a language model and returns its episodes by cell.
pub(super) fn cells(
    plan: &Plan,
    key: RowKey,
    words: &mut AblationModel<'_>,
    progress: Progress<'_>,
) -> Result<Vec<Vec<EpisodeOutcome>>, RolloutError> {
    let mut all = Vec::with_capacity(plan.cells.len());
    for case in &plan.cells {
        let setups =
            (plan.seeds.range()).map(|seed| Setup::new(*case, seed).with_rules(plan.rules));
        let mut slots: Vec<LmEpisode> = setups.filter_map(|setup| key.lm_episode(&setup)).collect();
        run_batched(&mut slots, words.style, words.generator, progress)?;
        // A model has no critic, so no fallback replaces its choices.
        let ended = slots
            .iter()
            .map(|slot| EpisodeOutcome::from_episode(slot.episode(), 0));
        all.push(ended.collect());
    }
    Ok(all)
}
