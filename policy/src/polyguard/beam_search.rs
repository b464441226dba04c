//! Beam search over a model of the observable chart (spec polyguard §10).
//!
//! The model is the chart as [`Observation::predict`] changes it, without random outcomes, hidden
//! state or new findings. The value of a plan is the sum of the values of the charts that it leads
//! to.

use sentinel_env::polyguard::{
    Act, ActArg, ActKind, Action, Candidate, CandidateId, Conditions, Drug, Medication,
    Observation, PolyguardEnv, each_archetype,
};

use crate::policy::Policy;

use super::permitted_candidates::permitted_candidates;
use crate::insertion_sort::sort;

/// Number of plans that are kept at each depth.
const WIDTH: usize = 4;
/// Largest number of steps of a plan.
const DEPTH: u8 = 3;
/// Weight of observable risk, of burden and of the share of indications that no medicine treats.
const WEIGHT: f64 = 0.3;
/// Value of an act that obtains missing information.
const INFORMATION: f64 = 0.05;

/// A policy that plans by beam search.
#[derive(Clone, Copy, Debug, Default)]
pub struct BeamSearch;

/// A sequence of steps, with its value and the chart that it leads to.
#[derive(Clone)]
struct Plan {
    first: CandidateId,
    value: f64,
    chart: Observation,
}

impl Policy<PolyguardEnv> for BeamSearch {
    fn choose(&mut self, o: &Observation) -> Action {
        Action::with_grounded_rationale(o, search(o))
    }
}

/// Returns the first step of the best plan.
fn search(o: &Observation) -> CandidateId {
    let indications = shown(o);
    let first_step = |candidate: &Candidate| {
        let chart = o.predict(candidate.act);
        Plan {
            first: candidate.id,
            value: value(o, candidate.act, &chart, indications),
            chart,
        }
    };
    let mut plans: Vec<Plan> = permitted_candidates(o).map(first_step).collect();
    for _ in 1..DEPTH.min(o.budget - o.step_count) {
        keep_best(&mut plans);
        plans = (plans.iter())
            .flat_map(|plan| longer(plan, indications))
            .collect();
    }
    keep_best(&mut plans);
    plans.first().map_or(CandidateId::FIRST, |plan| plan.first)
}

/// Keeps the [`WIDTH`] best plans, sorted by descending value. On a tie, the plan with the lower
/// first candidate comes first.
fn keep_best(plans: &mut Vec<Plan>) {
    sort(plans, |a, b| {
        let order = b.value.total_cmp(&a.value);
        order.then(a.first.cmp(&b.first)).is_lt()
    });
    plans.truncate(WIDTH);
}

/// Returns the plans that extend `plan` by one step.
fn longer(plan: &Plan, indications: Conditions) -> Vec<Plan> {
    let chart = &plan.chart;
    let mut acts: Vec<Act> = chart.candidates.iter().map(|c| c.act).collect();
    for row in chart.regimen.iter().filter(|row| row.tapering) {
        let on = Act {
            kind: ActKind::ContinueTaper,
            drug: Some(row.drug),
            arg: ActArg::None,
        };
        if !acts.contains(&on) {
            acts.push(on);
        }
    }
    let again = |act: &Act| {
        act.kind != ActKind::ContinueTaper
            && chart.history.iter().any(|past| past.act == Some(*act))
    };
    let possible = acts.into_iter().filter(|act| {
        act.kind == ActKind::KeepRegimen
            || !again(act)
                && chart.refusal(*act).is_none()
                && chart.predicted_exploit(*act).is_none()
    });
    let step = |act| {
        let next = chart.predict(act);
        Plan {
            first: plan.first,
            value: plan.value + value(chart, act, &next, indications),
            chart: next,
        }
    };
    possible.map(step).collect()
}

/// Returns the value of a step that leads to the chart `after`.
fn value(before: &Observation, act: Act, after: &Observation, indications: Conditions) -> f64 {
    let lost = match indications.len() {
        0 => 0.0,
        all => f64::from(untreated(after, indications)) / f64::from(all),
    };
    let finds = if finds(before, act) { INFORMATION } else { 0.0 };
    finds - WEIGHT * after.risk - WEIGHT * after.burden - WEIGHT * lost
}

/// Returns `true` if the act would obtain information that is missing.
fn finds(o: &Observation, act: Act) -> bool {
    let labs = o.labs.missing() > 0;
    match act.kind {
        ActKind::FetchExternalEvidence => labs || o.regimen.iter().any(Medication::is_unrevealed),
        ActKind::OrderMonitoring => {
            let row = act.drug.and_then(|drug| o.regimen.find(drug));
            let unread = row.is_some_and(|row| row.level.is_none() || row.level_is_old);
            labs && !o.labs_ordered || unread
        }
        ActKind::DecomposeNewDrug => true,
        _ => false,
    }
}

/// Returns the indications of the medicines in the chart.
fn shown(o: &Observation) -> Conditions {
    let mut all = Conditions::EMPTY;
    for indication in o.regimen.iter().filter_map(|row| row.indication) {
        all.insert(indication);
    }
    all
}

/// Returns the number of `conditions` that no active medicine treats.
fn untreated(o: &Observation, conditions: Conditions) -> u32 {
    let formulary = o.formulary();
    let mut treated = Conditions::EMPTY;
    for row in o.regimen.iter().filter(|row| row.is_active()) {
        if let (Drug::Product, Some(indication)) = (row.drug, row.indication) {
            treated.insert(indication);
        }
        for id in each_archetype(o.known_archetypes(row.drug)) {
            treated = treated.union(formulary.get(id).treats);
        }
    }
    conditions.len() - conditions.intersection(treated).len()
}

#[cfg(test)]
mod tests {
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Episode, Setup, TaskSpec};

    use super::*;
    use crate::rollout::run_steps;

    fn easy(case: &str, seed: u64) -> Episode {
        Episode::reset(&Setup::new(TaskSpec::parse(case).expect("a case"), seed))
    }

    #[test]
    fn flagged_pair_gets_change_that_does_not_raise_risk() {
        let (mut treats, mut all) = (0, 0);
        for seed in 0..40 {
            let episode = easy("DDI-easy", seed);
            let o = episode.observation();
            let id = search(o);
            let act = o.candidates.get(id).expect("shown").act;
            let next = o.predict(act);
            assert!(
                act.kind.is_change() && next.risk <= o.risk,
                "{seed} {act:?}"
            );
            treats += usize::from(untreated(&next, shown(o)) == 0);
            all += 1;
        }
        assert!(treats * 10 >= all * 8, "{treats} of {all}");
    }

    #[test]
    fn beam_search_decomposes_unknown_product() {
        let case = TaskSpec::parse("NEW_DRUG_DECOMPOSITION-easy").expect("a case");
        let looked = (0..20).filter(|seed| {
            let mut policy = BeamSearch;
            let choose = |episode: &Episode| {
                let o = episode.observation();
                (!o.done()).then(|| policy.choose(o))
            };
            let end = run_steps::<PolyguardEnv>(&Setup::new(case, *seed), choose, |_, _| ());
            end.observation()
                .history
                .has_kind(ActKind::DecomposeNewDrug)
        });
        assert!(looked.count() >= 10);
    }

    #[test]
    fn beam_search_looks_beyond_one_step() {
        // A taper does not lower the risk within its first steps, and is chosen nevertheless.
        let tapers = (0..60).filter(|seed| {
            let episode = easy("REGIMEN_RISK-easy", *seed);
            let o = episode.observation();
            let act = o.candidates.get(search(o)).expect("shown").act;
            act.kind.is_taper() && o.predict(act).risk >= o.risk
        });
        assert!(tapers.count() > 0);
    }
}
