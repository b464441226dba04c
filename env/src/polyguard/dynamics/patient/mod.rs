//! Generation of a patient (spec polyguard §4): personal data, planted problems, further medicines,
//! and the chart.

mod belief;
mod chart;
mod draft;
mod plant;
mod plant_set_rules;
mod products;

pub(crate) use belief::sample;
use draft::Draft;

use crate::polyguard::model::hidden::Issue;
use crate::polyguard::model::setup::Setup;
use crate::polyguard::model::state::State;
use crate::polyguard::model::task_spec::{Difficulty, SubEnvironment, TaskSpec};
use crate::rng::PcgRandom;

/// Distance between a seed that yields no patient and the next one that is tried.
const NEXT_SEED: u64 = 1 << 40;
/// Maximum number of seeds that are tried for one patient. A test checks that no setup comes near
/// it.
const ATTEMPTS: u64 = 64;

/// Returns the patient of a setup, before the first candidates are chosen.
pub(crate) fn draw(setup: &Setup) -> State {
    let stream = |seed| stream(setup.case, seed);
    match first_of(setup.seed, |seed| attempt(setup, stream(seed))) {
        Some((_, patient)) => patient,
        None => fallback(setup, stream(setup.seed)),
    }
}

/// Returns the random stream of a case and a seed.
fn stream(case: TaskSpec, seed: u64) -> PcgRandom {
    let formulary = 8 * u64::from(case.formulary() as u8);
    let split = u64::from(case.split() as u8) + formulary;
    PcgRandom::new(seed, &[case.sub() as u64, case.difficulty() as u64, split])
}

/// Calls `attempt` with a seed and its successors. Returns the number of calls and the first
/// result, or `None` if [`ATTEMPTS`] calls yielded nothing.
fn first_of<T>(seed: u64, mut attempt: impl FnMut(u64) -> Option<T>) -> Option<(u64, T)> {
    (0..ATTEMPTS).find_map(|n| {
        let result = attempt(seed.wrapping_add(n.wrapping_mul(NEXT_SEED)))?;
        Some((n + 1, result))
    })
}

/// Draws a patient whose only issue is to sign off, which cannot fail.
fn fallback(setup: &Setup, stream: PcgRandom) -> State {
    let mut draft = Draft::new(setup, stream);
    draft.add_issue(Issue::Sign);
    draft.fill();
    draft.chart();
    draft.levels();
    draft.state
}

fn attempt(setup: &Setup, stream: PcgRandom) -> Option<State> {
    let mut draft = Draft::new(setup, stream);
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
    Some(draft.state)
}

/// Plants the problems of the sub-environment. Returns `None` if that fails.
fn plant(draft: &mut Draft) -> Option<()> {
    let level = draft.state.observation.case.difficulty() as usize;
    match draft.state.observation.case.sub() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polyguard::model::regimen::START_MAX;

    fn cases() -> impl Iterator<Item = TaskSpec> {
        (0..100).filter_map(TaskSpec::from_number)
    }

    #[test]
    fn generation_stops_after_max_attempts() {
        let mut tried = Vec::new();
        let none: Option<(u64, ())> = first_of(u64::MAX, |seed| {
            tried.push(seed);
            None
        });
        assert_eq!(none, None);
        assert_eq!(tried.len() as u64, ATTEMPTS);
        assert_eq!(tried[..2], [u64::MAX, NEXT_SEED - 1], "seeds wrap");
    }

    #[test]
    fn generation_stays_below_attempt_and_regimen_limits() {
        for case in cases() {
            for seed in 0..2000 {
                let setup = Setup::new(case, seed);
                let attempt = |seed| attempt(&setup, stream(case, seed));
                let (tries, state) = first_of(seed, attempt).expect("a patient");
                assert!(tries <= ATTEMPTS / 4, "{case} {seed}: {tries}");
                assert!(
                    state.observation.regimen.len() <= START_MAX,
                    "{case} {seed}"
                );
            }
        }
    }

    #[test]
    fn fallback_patient_has_regimen_and_one_issue() {
        for case in cases() {
            let state = fallback(&Setup::new(case, 1), stream(case, 1));
            assert!(state.observation.regimen.len() >= 3, "{case}");
            assert!(state.hidden.issues().eq([Issue::Sign]));
            assert_eq!(state.untreated(), 0);
        }
    }
}
