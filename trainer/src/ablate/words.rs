//! The rows that a language model plays: many episodes side by side, each asked at its step.

use sentinel_env::polyguard::{PolyguardWorld, Setup};
use sentinel_policy::polyguard::Spoken;
use sentinel_policy::text::PromptStyle;

use super::summary::Ended;
use super::{AblateConfig, Ablation, Plan, RowKey, ablate};
use crate::Progress;
use crate::corpus::rollout::{Asked, RolloutError, Speaker, ask};
use crate::lm::grpo::Speech;
use crate::lm::train::RunError;

/// A language model and how it is asked.
pub struct Words<'a> {
    /// What it is called.
    pub name: &'a str,
    /// How an observation is put into words.
    pub style: PromptStyle,
    /// Who answers.
    pub speaker: &'a mut dyn Speaker<PolyguardWorld>,
}

/// Plays all rows, with the language model that the options name, if they name one.
///
/// # Errors
/// If the model cannot be found, read or run.
pub fn play(
    config: &AblateConfig,
    plan: &Plan,
    progress: Progress<'_>,
) -> Result<Ablation, RunError> {
    let Some(model) = &config.model else {
        return Ok(ablate(plan, None, progress)?);
    };
    let speech = Speech::load(model, &config.speech)?;
    speech.voice().through(|voice| {
        let words = Words {
            name: &speech.name,
            style: config.prompt.unwrap_or_default(),
            speaker: voice,
        };
        ablate(plan, Some(words), progress)
    })
}

/// The episodes of a row, cell by cell.
pub(super) fn cells(
    plan: &Plan,
    key: RowKey,
    words: &mut Words<'_>,
    progress: Progress<'_>,
) -> Result<Vec<Vec<Ended>>, RolloutError> {
    let mut all = Vec::with_capacity(plan.cells.len());
    for case in &plan.cells {
        let setups = (plan.seeds.range()).map(|seed| Setup::new(*case, seed).under(plan.rules));
        let seats = setups.filter_map(|setup| key.spoken(&setup)).collect();
        all.push(side_by_side(seats, words, progress)?);
    }
    Ok(all)
}

/// Plays episodes to their ends.
fn side_by_side(
    mut seats: Vec<Spoken>,
    words: &mut Words<'_>,
    progress: Progress<'_>,
) -> Result<Vec<Ended>, RolloutError> {
    loop {
        let open = |at: &usize| !seats[*at].situation().done();
        let open: Vec<usize> = (0..seats.len()).filter(open).collect();
        if open.is_empty() {
            break;
        }
        let prompts = open.iter().map(|at| seats[*at].ask(words.style));
        let prompts: Vec<String> = prompts.collect();
        let asked = open.iter().map(|at| Asked {
            episode: *at,
            situation: seats[*at].situation(),
        });
        let asked: Vec<Asked<'_, PolyguardWorld>> = asked.collect();
        let said = ask(words.speaker, &prompts, &asked)?;
        for (at, text) in open.into_iter().zip(said) {
            let refused = |error: sentinel_env::polyguard::StepError| {
                RolloutError::Refused(error.to_string())
            };
            seats[at].answer(&text).map_err(refused)?;
            if seats[at].situation().done() {
                progress();
            }
        }
    }
    // No critic stands behind a model: nothing takes the place of what it said.
    let ended = seats.iter().map(|seat| Ended::of(seat.episode(), 0));
    Ok(ended.collect())
}
