//! A policy of ordered rules, of which the first that applies decides (spec polyguard §10).

use sentinel_env::polyguard::{
    Act, ActArg, ActKind, Action, Candidate, CandidateId, Drug, Medication, Observation,
    PolyguardEnv, SubEnvironment, each_archetype,
};

use crate::policy::Policy;

/// Symptom level below which the symptom counts as gone.
const CALM: f64 = 0.65;

/// The policy that follows the ordered rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct RulesOnly;

impl Policy<PolyguardEnv> for RulesOnly {
    fn choose(&mut self, o: &Observation) -> Action {
        Action::with_grounded_rationale(o, RulesOnly::choose_candidate(o))
    }
}

type Found<'a> = Option<&'a Candidate>;

fn of_kind(o: &Observation, kind: ActKind) -> Found<'_> {
    o.candidates.find(|candidate| candidate.act.kind == kind)
}

fn about(o: &Observation, kind: ActKind, drug: Drug) -> Found<'_> {
    o.candidates
        .find(|candidate| candidate.act.kind == kind && candidate.act.drug == Some(drug))
}

fn exact(o: &Observation, kind: ActKind, drug: Drug, arg: ActArg) -> Found<'_> {
    let act = Act {
        kind,
        drug: Some(drug),
        arg,
    };
    o.candidates.find(|candidate| candidate.act == act)
}

impl RulesOnly {
    /// Returns the candidate that the rules choose.
    #[must_use]
    pub fn choose_candidate(o: &Observation) -> CandidateId {
        let mut found = RULES.iter().filter_map(|rule| rule(o));
        let found = found.find(|candidate| !is_futile(o, candidate.act));
        found.map_or(CandidateId::FIRST, |candidate| candidate.id)
    }
}

/// The rules in order; the first one that finds a useful candidate decides.
const RULES: [fn(&Observation) -> Found<'_>; 16] = [
    decompose,
    missing_egfr,
    taper,
    unmeasured,
    replacement,
    pair,
    renal,
    set,
    needless,
    stale_evidence,
    dose,
    suspect,
    conflict,
    evidence,
    keep,
    explore_further,
];

fn decompose(o: &Observation) -> Found<'_> {
    of_kind(o, ActKind::DecomposeNewDrug)
}

fn taper(o: &Observation) -> Found<'_> {
    of_kind(o, ActKind::ContinueTaper)
}

/// Returns `true` if the act would be the fourth identical one in a row, or would repeat a request
/// that found nothing.
fn is_futile(o: &Observation, act: Act) -> bool {
    let again = o
        .history
        .iter()
        .rev()
        .take_while(|past| past.act == Some(act))
        .count();
    again >= 3 || act.kind.is_information() && brought_nothing_before(o, act)
}

/// Keeps the regimen once, unless a serious pair is flagged.
fn keep(o: &Observation) -> Found<'_> {
    let kept = o.history.has_kind(ActKind::KeepRegimen);
    (!kept && !o.has_serious_flag())
        .then(|| of_kind(o, ActKind::KeepRegimen))
        .flatten()
}

/// Returns `true` if the act was carried out before, and neither it nor any step since brought
/// information.
fn brought_nothing_before(o: &Observation, act: Act) -> bool {
    let since = o.history.iter().rev().take_while(|past| !past.gained);
    since.filter_map(|past| past.act).any(|past| past == act)
}

/// Continues after keeping did not end the episode: requests evidence, then monitoring, then one
/// review, then a change that does not raise the estimated risk. Skips acts that brought nothing.
fn explore_further(o: &Observation) -> Found<'_> {
    let fresh = |candidate: &Candidate| !brought_nothing_before(o, candidate.act);
    let reviewed = o
        .history
        .iter()
        .filter_map(|past| past.act)
        .any(|act| act.kind.is_review());
    o.candidates
        .find(|c| c.act.kind == ActKind::FetchExternalEvidence && fresh(c))
        .or_else(|| {
            o.candidates
                .find(|c| c.act.kind == ActKind::OrderMonitoring && fresh(c))
        })
        .or_else(|| o.candidates.find(|c| c.act.kind.is_review() && !reviewed))
        .or_else(|| {
            o.candidates
                .find(|c| c.act.kind.is_change() && c.est_delta <= 0.0 && fresh(c))
        })
}

/// Requests the eGFR if a medicine depends on it: evidence once, then a measurement once.
fn missing_egfr(o: &Observation) -> Found<'_> {
    let formulary = o.formulary();
    let hangs = |row: &Medication| {
        each_archetype(o.known_archetypes(row.drug))
            .any(|id| formulary.get(id).renal_below.is_some())
    };
    if o.egfr().is_some() || !o.regimen.iter().any(hangs) {
        return None;
    }
    let labs = || {
        o.candidates
            .find(|c| c.act.kind == ActKind::OrderMonitoring && c.act.drug.is_none())
    };
    if !o.history.has_kind(ActKind::FetchExternalEvidence) {
        return of_kind(o, ActKind::FetchExternalEvidence).or_else(labs);
    }
    let measured = |act: Act| act.kind == ActKind::OrderMonitoring && act.drug.is_none();
    if o.history.iter().filter_map(|past| past.act).any(measured) {
        return None;
    }
    labs()
}

/// Measures the level of a questioned dose that was never measured.
fn unmeasured(o: &Observation) -> Found<'_> {
    if o.task.sub_environment() != SubEnvironment::PrecisionDosing {
        return None;
    }
    let rows = o
        .regimen
        .iter()
        .filter(|row| row.questioned && row.level.is_none());
    rows.into_iter()
        .find_map(|row| about(o, ActKind::OrderMonitoring, row.drug))
}

/// Replaces the problem drug by the tolerated one with the least risk, then the fewest tags.
fn replacement(o: &Observation) -> Found<'_> {
    let problem = o.problem?;
    let formulary = o.formulary();
    let mut best: Option<(f64, u32, &Candidate)> = None;
    for candidate in o.candidates.iter() {
        let act = candidate.act;
        let replaces = matches!(
            act.kind,
            ActKind::RecommendAlternative | ActKind::SubstituteWithinClass
        );
        let (true, Some(drug), ActArg::Target(Drug::Known(target))) = (replaces, act.drug, act.arg)
        else {
            continue;
        };
        if drug != problem || o.ade_history & target.bit() != 0 {
            continue;
        }
        let key = (o.risk_after(act), formulary.get(target).tags.len());
        if best.is_none_or(|(risk, tags, _)| key < (risk, tags)) {
            best = Some((key.0, key.1, candidate));
        }
    }
    best.map(|(_, _, candidate)| candidate)
}

/// Returns the best act against a medicine with its rank: 0 for a medicine shown to be unneeded,
/// then by the order in which acts are tried.
fn remedy(o: &Observation, row: &Medication) -> Option<(u8, CandidateId)> {
    let drug = row.drug;
    let needless = row.is_shown_unneeded();
    let stop =
        || about(o, ActKind::InitiateTaper, drug).or_else(|| about(o, ActKind::StopDrug, drug));
    let steps: [(u8, Found<'_>); 5] = [
        (0, needless.then(stop).flatten()),
        (1, about(o, ActKind::SubstituteWithinClass, drug)),
        (2, about(o, ActKind::RecommendAlternative, drug)),
        (3, about(o, ActKind::InitiateTaper, drug)),
        (4, about(o, ActKind::StopDrug, drug)),
    ];
    steps
        .into_iter()
        .find_map(|(rank, found)| Some((rank, found?.id)))
}

/// Returns the best remedy over several medicines; the lowest candidate id on a tie.
fn best_remedy<'a>(o: &'a Observation, rows: impl Iterator<Item = &'a Medication>) -> Found<'a> {
    let remedies = rows
        .filter(|row| row.is_active())
        .filter_map(|row| remedy(o, row));
    let (_, id) = remedies.min_by_key(|(rank, id)| (*rank, *id))?;
    o.candidates.get(id)
}

/// Breaks up the most serious flagged pair.
fn pair(o: &Observation) -> Found<'_> {
    let formulary = o.formulary();
    let mut worst = None;
    for (pair, severity) in o.flagged_pairs() {
        let heavier = worst.is_none_or(|(_, known)| severity > known);
        if severity.is_serious() && heavier {
            worst = Some((pair, severity));
        }
    }
    let pair = formulary.pair(worst?.0);
    let ends = pair.first.bit() | pair.second.bit();
    best_remedy(
        o,
        o.regimen
            .iter()
            .filter(|row| o.known_archetypes(row.drug) & ends != 0),
    )
}

fn renal(o: &Observation) -> Found<'_> {
    best_remedy(
        o,
        o.regimen
            .iter()
            .filter(|row| o.renal_alert(row) == Some(true)),
    )
}

fn set(o: &Observation) -> Found<'_> {
    let broken = o.broken_rules().into_iter().find(|(_, broken)| *broken);
    let (rule, _) = broken?;
    best_remedy(o, o.regimen.iter().filter(|row| o.is_member(rule, row)))
}

/// Tapers or stops a medicine that the chart shows to be unneeded.
fn needless(o: &Observation) -> Found<'_> {
    o.regimen
        .iter()
        .filter(|row| row.is_shown_unneeded())
        .find_map(|row| {
            about(o, ActKind::InitiateTaper, row.drug)
                .or_else(|| about(o, ActKind::StopDrug, row.drug))
        })
}

fn just_failed(o: &Observation) -> bool {
    o.history.last().is_some_and(|past| {
        past.act
            .is_some_and(|act| act.kind == ActKind::FetchExternalEvidence)
            && !past.gained
    })
}

/// Requests evidence about a medicine whose indication is under review.
fn stale_evidence(o: &Observation) -> Found<'_> {
    let open = o.task.sub_environment() == SubEnvironment::Deprescribing
        && o.regimen.iter().any(Medication::is_unrevealed)
        && !just_failed(o);
    open.then(|| of_kind(o, ActKind::FetchExternalEvidence))
        .flatten()
}

/// Moves a measured dose into its window, unless the dose was changed since the measurement.
fn dose(o: &Observation) -> Found<'_> {
    if o.task.sub_environment() != SubEnvironment::PrecisionDosing {
        return None;
    }
    o.regimen
        .iter()
        .filter(|row| row.questioned && !row.level_is_old)
        .find_map(|row| {
            let level = row.level?;
            let (low, high) = row.window(o.formulary());
            let by = match level {
                level if level < low => 1,
                level if level > high => -1,
                _ => return None,
            };
            exact(o, ActKind::AdjustDoseBucket, row.drug, ActArg::Dose(by))
        })
}

/// Pauses the suspects of a symptom one after the other, the likeliest first. Stops the one without
/// which the symptom goes away, and resumes the others.
fn suspect(o: &Observation) -> Found<'_> {
    let symptom = o.symptom?;
    if let Some(held) = o
        .regimen
        .iter()
        .find(|row| row.prior > 0 && !row.is_active())
    {
        return if symptom < CALM {
            about(o, ActKind::StopDrug, held.drug)
        } else {
            exact(o, ActKind::AdjustDoseBucket, held.drug, ActArg::Dose(1))
        };
    }
    let tried = |row: &Medication| {
        let mut acts = o.history.iter().filter_map(|past| past.act);
        acts.any(|act| act.kind == ActKind::HoldDose && act.drug == Some(row.drug))
    };
    let suspects = || o.regimen.iter().filter(|row| row.prior > 0);
    let next = suspects()
        .filter(|row| !tried(row))
        .min_by_key(|row| u8::MAX - row.prior);
    if symptom < CALM && o.history.has_kind(ActKind::StopDrug) {
        return None;
    }
    next.and_then(|row| about(o, ActKind::HoldDose, row.drug))
}

/// Requests a specialist review, once, if specialists disagree.
fn conflict(o: &Observation) -> Found<'_> {
    let asked = o.history.has_kind(ActKind::RequestSpecialistReview);
    (o.conflict && !asked)
        .then(|| of_kind(o, ActKind::RequestSpecialistReview))
        .flatten()
}

/// Requests evidence in the sub-environments that may hide unflagged pairs.
fn evidence(o: &Observation) -> Found<'_> {
    use SubEnvironment::{AlternativeSuggestion, Ddi, RegimenRisk};
    let hunts = matches!(
        o.task.sub_environment(),
        Ddi | RegimenRisk | AlternativeSuggestion
    );
    (hunts && !just_failed(o))
        .then(|| of_kind(o, ActKind::FetchExternalEvidence))
        .flatten()
}
