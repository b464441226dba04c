//! Generation of a patient (spec polyguard §4): personal data, planted problems, further medicines,
//! and the chart.

mod belief;
mod generate_chart;
mod inject_issues;
mod inject_products;
mod inject_set_rule_violations;
mod patient_generator;

pub(crate) use belief::sample_patient;
use patient_generator::PatientGenerator;

use super::effects::SUSPECTS;
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
pub(crate) fn generate_patient(setup: &Setup) -> State {
    let stream = |seed| stream(setup.task, seed);
    match first_of(setup.seed, |seed| attempt(setup, stream(seed))) {
        Some((_, patient)) => patient,
        None => fallback(setup, stream(setup.seed)),
    }
}

/// Returns the random stream of a case and a seed.
fn stream(case: TaskSpec, seed: u64) -> PcgRandom {
    let formulary = 8 * u64::from(case.formulary() as u8);
    let split = u64::from(case.split() as u8) + formulary;
    PcgRandom::new(
        seed,
        &[
            case.sub_environment() as u64,
            case.difficulty() as u64,
            split,
        ],
    )
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
    let mut draft = PatientGenerator::new(setup, stream);
    draft.add_issue(Issue::Sign);
    draft.fill_to_target();
    draft.generate_chart();
    draft.initialize_levels();
    draft.state
}

fn attempt(setup: &Setup, stream: PcgRandom) -> Option<State> {
    let mut draft = PatientGenerator::new(setup, stream);
    inject_issues(&mut draft)?;
    if setup.task.difficulty() == Difficulty::Hard {
        use SubEnvironment::{
            AlternativeSuggestion, NewDrugDecomposition, RegimenRisk, WebSearchMissingData,
        };
        let sub = setup.task.sub_environment();
        let also = [
            RegimenRisk,
            WebSearchMissingData,
            AlternativeSuggestion,
            NewDrugDecomposition,
        ];
        if also.contains(&sub) {
            draft.inject_serious_pair()?;
        }
    }
    draft.fill_to_target();
    draft.is_solvable().then_some(())?;
    draft.generate_chart();
    draft.initialize_levels();
    Some(draft.state)
}

/// Plants the problems of the sub-environment. Returns `None` if that fails.
fn inject_issues(draft: &mut PatientGenerator) -> Option<()> {
    let level = draft.state.observation.task.difficulty() as usize;
    match draft.state.observation.task.sub_environment() {
        SubEnvironment::Ddi => {
            let count = match level {
                0 => 1,
                1 => 2 + draft.below(2),
                _ => 3 + draft.below(2),
            };
            (0..count).try_for_each(|_| draft.inject_serious_pair())
        }
        SubEnvironment::BanditMining => draft.inject_suspects(SUSPECTS[level]),
        SubEnvironment::RegimenRisk => draft.inject_set_rule_violations([1, 2, 2][level]),
        SubEnvironment::PrecisionDosing => draft.inject_unsuitable_doses([1, 1, 2][level]),
        SubEnvironment::Deprescribing => {
            draft.inject_unneeded_medicines([1, 2, 2][level], [1, 1, 2][level])
        }
        SubEnvironment::WebSearchMissingData => draft.inject_renal_risk(),
        SubEnvironment::AlternativeSuggestion => draft.inject_medicine_to_replace(),
        SubEnvironment::NewDrugDecomposition => draft.inject_product(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polyguard::model::regimen::MAX_START_MEDICATIONS;

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
                    state.observation.regimen.len() <= MAX_START_MEDICATIONS,
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
            assert_eq!(state.count_untreated(), 0);
        }
    }
}
