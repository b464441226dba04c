//! The rows that a language model plays: many episodes in parallel, prompted step by step.

use std::sync::atomic::AtomicBool;

use sentinel_env::polyguard::{PolyguardEnv, Setup, StepError};
use sentinel_policy::polyguard::LmEpisode;
use sentinel_policy::text::{PromptState, PromptStyle};

use super::summary::EpisodeOutcome;
use super::{AblateConfig, Ablation, Plan, RowKey, ablate};
use crate::Progress;
use crate::corpus::rollout::{EpisodeSlot, Generator, RolloutError, run_batched};
use crate::finetune::RunError;
use crate::lm_agent::LoadedModel;
use crate::provenance::Provenance;

/// A language model and its prompt style.
pub struct AblationModel<'a> {
    /// The name of the model.
    pub name: &'a str,
    /// The provenance of the model.
    pub provenance: &'a Provenance,
    /// The style in which an observation is written as a prompt.
    pub style: PromptStyle,
    /// The generator of completions.
    pub generator: &'a mut dyn Generator<PolyguardEnv>,
}

/// Plays all rows, those of a language model only if the options name one, until the end or until
/// `stop` is set.
///
/// # Errors
/// Returns an error if the model cannot be found, read or run, or `stop` was set before the end.
pub fn play(
    config: &AblateConfig,
    plan: &Plan,
    stop: &AtomicBool,
    progress: Progress<'_>,
) -> Result<Ablation, RunError> {
    let Some(model) = &config.model else {
        return Ok(ablate(plan, None, stop, progress)?);
    };
    if config.generation.constrained {
        let allowed = "off in an ablation, whose prompts show a part of the candidates";
        return Err(RunError::option("constrained", allowed));
    }
    let loaded = LoadedModel::load(model, &config.generation)?;
    loaded.agent().with_stop(stop).run(|agent| {
        let words = AblationModel {
            name: &loaded.name,
            provenance: &loaded.provenance,
            style: config.prompt.unwrap_or_default(),
            generator: agent,
        };
        ablate(plan, Some(words), stop, progress)
    })
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

impl EpisodeSlot<PolyguardEnv> for LmEpisode {
    fn next_prompt(&mut self, style: PromptStyle) -> Option<String> {
        (!Self::prompt_state(self).done()).then(|| Self::prompt(self, style))
    }

    fn prompt_state(&self) -> &PromptState<PolyguardEnv> {
        Self::prompt_state(self)
    }

    fn apply_completion(&mut self, _prompt: String, said: String) -> Result<bool, RolloutError> {
        let refused = |error: StepError| RolloutError::Refused(error.to_string());
        Self::step_with_completion(self, &said).map_err(refused)?;
        Ok(Self::prompt_state(self).done())
    }
}
