//! Tests of each agent on charts with known right answers.

use sentinel_env::Environment;
use sentinel_env::polyguard::{
    ActArg, ActKind, Candidate, Drug, Episode, Medication, RationaleTerms, Setup, TaskSpec,
};

use super::super::*;

fn episode(case: &str, seed: u64) -> Episode {
    Episode::reset(&Setup::new(TaskSpec::parse(case).expect("a case"), seed))
}

/// Returns the first episode of a case whose observation satisfies `holds`.
fn first(case: &str, holds: impl Fn(&Observation) -> bool) -> Observation {
    let mut all = (0..500).map(|seed| episode(case, seed).observation().clone());
    all.find(|o| holds(o)).expect("one of five hundred")
}

fn of_kind(o: &Observation, kind: ActKind) -> CandidateId {
    o.candidates.find(|c| c.act.kind == kind).expect("shown").id
}

#[test]
fn reconciliation_matches_regimen() {
    let o = first("DDI-medium", |o| {
        o.regimen.iter().any(|r| r.indication.is_none())
    });
    let report = reconciliation::reconcile(&o);
    assert_eq!(
        usize::from(report.medicines),
        o.regimen.iter().filter(|r| r.is_active()).count()
    );
    let listed = |row: &Medication| report.without_indication.contains(&row.drug);
    assert!(
        o.regimen
            .iter()
            .all(|row| listed(row) == row.indication.is_none())
    );
    assert_eq!(report.burden, o.burden);
}

#[test]
fn evidence_requests_missing_egfr_when_needed() {
    let o = first("WEB_SEARCH_MISSING_DATA-easy", |o| o.egfr().is_none());
    let report = evidence::gather(&o, &reconciliation::reconcile(&o));
    assert!(report.needed.is_some() && !report.tried);
    assert_eq!(
        report
            .scores
            .get(of_kind(&o, ActKind::FetchExternalEvidence)),
        0.3
    );
    assert_eq!(
        report.scores.get(of_kind(&o, ActKind::OrderMonitoring)),
        0.3
    );
    assert_eq!(report.scores.get(CandidateId::FIRST), 0.0);
    let known = first("DDI-easy", |o| o.egfr().is_some());
    let report = evidence::gather(&known, &reconciliation::reconcile(&known));
    assert!(report.needed.is_none() && report.scores.nonzero().count() == 0);
    let mut ordered = o;
    ordered.labs_ordered = true;
    let report = evidence::gather(&ordered, &reconciliation::reconcile(&ordered));
    assert_eq!(report.scores.nonzero().count(), 0, "it is on its way");
}

#[test]
fn graph_safety_prefers_lower_estimated_risk() {
    let o = first("DDI-easy", Observation::has_serious_flag);
    let report = graph_safety::assess(&o);
    assert!(report.flagged >= 1);
    for candidate in o.candidates.iter() {
        assert_eq!(report.scores.get(candidate.id), -candidate.est_delta);
    }
    let hint = |(drug, pairs): &(Drug, u32)| {
        o.regimen
            .find(*drug)
            .is_some_and(|row| o.count_suspected_pairs(row) == *pairs && *pairs > 0)
    };
    assert!(report.suspected.iter().all(hint));
}

#[test]
fn dosing_adjusts_toward_target_window() {
    let mut o = first("PRECISION_DOSING-easy", |o| {
        let ups = o
            .candidates
            .iter()
            .filter(|c| c.act.kind == ActKind::AdjustDoseBucket);
        let drugs: Vec<_> = ups.filter_map(|c| c.act.drug).collect();
        drugs.len() == 2
            && drugs[0] == drugs[1]
            && o.regimen.find(drugs[0]).is_some_and(|r| r.questioned)
    });
    let change = |o: &Observation, by: i8| {
        let is = |c: &Candidate| {
            c.act.kind == ActKind::AdjustDoseBucket && c.act.arg == ActArg::Dose(by)
        };
        o.candidates.find(is).expect("shown").id
    };
    let score = |o: &Observation, by| dosing::score_dose_changes(o).scores.get(change(o, by));
    assert_eq!(
        [score(&o, 1), score(&o, -1)],
        [0.0, 0.0],
        "nothing is measured"
    );
    let drug = o
        .candidates
        .get(change(&o, 1))
        .and_then(|c| c.act.drug)
        .expect("a drug");
    let at = o.regimen.position(drug).expect("taken");
    for (level, expected) in [(0.5, [0.3, -0.3]), (1.0, [-0.3, -0.3]), (1.6, [-0.3, 0.3])] {
        o.regimen[at].level = Some(level);
        o.regimen[at].level_is_old = false;
        assert_eq!([score(&o, 1), score(&o, -1)], expected, "level {level}");
    }
    o.regimen[at].level_is_old = true;
    assert_eq!(score(&o, 1), 0.0, "the dose was changed since");
}

#[test]
fn candidate_list_omits_reviews_when_not_allowed() {
    let episode = episode("DDI-medium", 4);
    let o = episode.observation();
    let (all, some) = (
        candidate_report::list_candidates(o, true),
        candidate_report::list_candidates(o, false),
    );
    assert_eq!(all.open.len(), o.candidates.count());
    let review = |id: &CandidateId| {
        o.candidates
            .get(*id)
            .is_some_and(|c| c.act.kind.is_review())
    };
    assert!(all.open.iter().any(review) && !some.open.iter().any(review));
    assert_eq!(some.barred, all.open.iter().filter(|id| review(id)).count());
}

#[test]
fn supervisor_sets_focus_and_scores() {
    let focus = |o: &Observation| supervisor::supervise(o, true).focus;
    let doses = first("PRECISION_DOSING-easy", |_| true);
    assert_eq!(focus(&doses), Focus::DoseOpt);
    let narrow = |o: &Observation| {
        let delicate = |r: &Medication| {
            r.drug
                .archetype()
                .is_some_and(|id| o.formulary().get(id).narrow)
        };
        o.regimen.iter().any(delicate)
    };
    let plain = first("REGIMEN_RISK-easy", |o| !narrow(o));
    assert_eq!(focus(&plain), Focus::RegimenOpt);
    let mut unsure = plain;
    unsure.uncertainty = 0.6;
    assert_eq!(
        focus(&unsure),
        Focus::Review,
        "no lab is missing: evidence counts as tried"
    );
    let kept = supervisor::supervise(&unsure, false);
    assert_eq!(kept.focus, Focus::RegimenOpt);
    for candidate in unsure.candidates.iter() {
        let serves = kept.focus.is_served_by(candidate.act.kind);
        assert_eq!(
            kept.scores.get(candidate.id),
            if serves { 0.2 } else { 0.0 }
        );
    }
}

#[test]
fn planner_breaks_ties_by_lower_id() {
    let episode = episode("DDI-easy", 2);
    let o = episode.observation();
    let offer = candidate_report::list_candidates(o, true);
    let plan = planner::rank(&offer.open, &Scores::default());
    assert_eq!(plan.first(), Some(CandidateId::FIRST));
    let one = offer.open[2];
    let plan = planner::rank(
        &offer.open,
        &Scores::from_fn(o, |c| f64::from(u8::from(c.id == one))),
    );
    assert_eq!(plan.first(), Some(one));
}

#[test]
fn critic_vetoes_risk_increase_and_unjustified_stop() {
    let (mut stops, mut spared) = (0, 0);
    for seed in 0..200 {
        let episode = episode("DDI-medium", seed);
        let mut o = episode.observation().clone();
        for candidate in episode.observation().candidates.iter() {
            let veto = safety_critic::veto(&o, candidate.id);
            if candidate.est_delta > 0.15 {
                assert_eq!(veto, Some(Veto::RaisesRisk));
            } else if candidate.act.kind != ActKind::StopDrug {
                assert_eq!(veto, None, "{candidate:?}");
            }
            let Some(drug) = candidate
                .act
                .drug
                .filter(|_| candidate.act.kind == ActKind::StopDrug)
            else {
                continue;
            };
            let row = *o.regimen.find(drug).expect("taken");
            let others = o.regimen.iter().filter(|r| r.drug != drug && r.is_active());
            let alone = others.into_iter().all(|r| r.indication != row.indication);
            let at = o.regimen.position(drug).expect("taken");
            if veto.is_none() && alone && row.indication.is_some() {
                spared += 1;
            }
            if veto == Some(Veto::LeavesUntreated) {
                assert!(alone, "another is given for it");
                stops += 1;
                o.regimen[at].status = Some(false);
                assert_eq!(
                    safety_critic::veto(&o, candidate.id),
                    None,
                    "shown to be unneeded"
                );
                o.regimen[at].status = row.status;
            }
        }
    }
    assert!(stops > 20 && spared > 20, "{stops} {spared}");
}

#[test]
fn critic_fallback_is_review_or_keep() {
    let episode = episode("DDI-easy", 1);
    let o = episode.observation();
    let all = candidate_report::list_candidates(o, true).open;
    let some = candidate_report::list_candidates(o, false).open;
    let kind =
        |id: Option<CandidateId>| o.candidates.get(id.expect("one")).expect("shown").act.kind;
    assert!(kind(safety_critic::replacement(o, &all)).is_review());
    assert_eq!(
        kind(safety_critic::replacement(o, &some)),
        ActKind::KeepRegimen
    );
}

#[test]
fn explanations_cite_only_visible_terms() {
    for seed in 0..24 {
        let episode = Episode::reset(&Setup::new(TaskSpec::ALL[seed as usize], seed));
        let o = episode.observation();
        let sight = RationaleTerms::from_observation(o);
        for candidate in o.candidates.iter() {
            let report = explainer::explain(o, candidate.id, false);
            let cites = report.choice.cites;
            assert!(
                !cites.is_empty() && cites.count_shared(sight) == cites.len(),
                "{}",
                report.rationale
            );
            assert!(report.rationale.len() < 400 && !report.rationale.contains('\n'));
        }
    }
}
