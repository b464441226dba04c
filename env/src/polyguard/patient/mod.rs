//! Draws a patient (spec polyguard §4): who, what is planted, what else is taken, what is known.

mod dosing;
mod draft;
mod fill;
mod finish;
mod plant;
mod products;
mod sets;
mod stale;

use draft::Draft;

use super::Setup;
use super::case::{Difficulty, SubEnvironment};
use super::episode::Episode;
use super::stream::Stream;

/// Where a seed that yields no patient is tried again.
const NEXT_SEED: u64 = 1 << 40;

/// The patient of a setup, before the first candidates.
pub(super) fn draw(setup: &Setup) -> Episode {
    let case = setup.case;
    let formulary = 8 * u64::from(case.formulary() as u8);
    let split = u64::from(case.split() as u8) + formulary;
    let tags = [case.sub() as u64, case.difficulty() as u64, split];
    let mut seed = setup.seed;
    loop {
        let stream = Stream::of(seed, tags);
        if let Some(patient) = attempt(setup, stream) {
            return patient;
        }
        seed = seed.wrapping_add(NEXT_SEED);
    }
}

fn attempt(setup: &Setup, stream: Stream) -> Option<Episode> {
    let mut draft = Draft::person(setup, stream);
    plant(&mut draft)?;
    if setup.case.difficulty() == Difficulty::Hard {
        use SubEnvironment::{
            AlternativeSuggestion, NewDrugDecomposition, RegimenRisk, WebSearchMissingData,
        };
        let sub = setup.case.sub();
        let also = [
            RegimenRisk,
            WebSearchMissingData,
            AlternativeSuggestion,
            NewDrugDecomposition,
        ];
        if also.contains(&sub) {
            draft.plant_pair()?;
        }
    }
    draft.fill();
    draft.is_solvable().then_some(())?;
    draft.chart();
    draft.levels();
    Some(draft.episode)
}

/// Plants what must be put right.
fn plant(draft: &mut Draft) -> Option<()> {
    let level = draft.episode.observation.case.difficulty() as usize;
    match draft.episode.observation.case.sub() {
        SubEnvironment::Ddi => {
            let count = match level {
                0 => 1,
                1 => 2 + draft.below(2),
                _ => 3 + draft.below(2),
            };
            (0..count).try_for_each(|_| draft.plant_pair())
        }
        SubEnvironment::BanditMining => draft.plant_suspects(3 + level),
        SubEnvironment::RegimenRisk => draft.plant_sets([1, 2, 2][level]),
        SubEnvironment::PrecisionDosing => draft.plant_doses([1, 1, 2][level]),
        SubEnvironment::Deprescribing => draft.plant_stale([1, 2, 2][level], [1, 1, 2][level]),
        SubEnvironment::WebSearchMissingData => draft.plant_renal(),
        SubEnvironment::AlternativeSuggestion => draft.plant_problem(),
        SubEnvironment::NewDrugDecomposition => draft.plant_product(),
    }
}
