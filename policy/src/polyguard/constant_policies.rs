//! ConstantPolicy policies that choose candidates by a fixed rule. The world must not reward them.

use sentinel_env::polyguard::{ActKind, Action, Candidate, CandidateId, Observation, PolyguardEnv};

use crate::policy::{ConstantPolicy, Routine};

type Habit = fn(&Observation) -> Action;

fn take(o: &Observation, wanted: Option<CandidateId>) -> Action {
    Action::with_grounded_rationale(o, wanted.unwrap_or(CandidateId::FIRST))
}

fn of(o: &Observation, is: impl Fn(&Candidate) -> bool) -> Option<CandidateId> {
    o.candidates.find(is).map(|candidate| candidate.id)
}

fn kind(o: &Observation, kind: ActKind) -> Option<CandidateId> {
    of(o, |candidate| candidate.act.kind == kind)
}

fn review(o: &Observation) -> Option<CandidateId> {
    of(o, |candidate| candidate.act.kind.is_review())
}

const HABITS: [(&str, Habit); 12] = [
    ("always_keep", |o| take(o, Some(CandidateId::FIRST))),
    ("always_review", |o| take(o, review(o))),
    ("always_fetch", |o| {
        take(o, kind(o, ActKind::FetchExternalEvidence))
    }),
    ("always_monitor", |o| {
        take(o, kind(o, ActKind::OrderMonitoring))
    }),
    ("always_stop", |o| take(o, kind(o, ActKind::StopDrug))),
    ("always_hold", |o| take(o, kind(o, ActKind::HoldDose))),
    ("always_substitute", |o| {
        let other = || kind(o, ActKind::RecommendAlternative);
        take(o, kind(o, ActKind::SubstituteWithinClass).or_else(other))
    }),
    ("always_taper", |o| {
        let next = kind(o, ActKind::ContinueTaper);
        take(o, next.or_else(|| kind(o, ActKind::InitiateTaper)))
    }),
    ("always_last", |o| {
        take(o, o.candidates.iter().next_back().map(|last| last.id))
    }),
    ("fetch_then_review", |o| {
        let fetch = kind(o, ActKind::FetchExternalEvidence).filter(|_| o.history.is_empty());
        take(o, fetch.or_else(|| review(o)))
    }),
    ("inform_then_keep", |o| {
        let ask = of(o, |candidate| candidate.act.kind.is_information());
        take(o, ask.filter(|_| o.history.is_empty()))
    }),
    ("review_then_keep", |o| {
        take(o, review(o).filter(|_| o.history.is_empty()))
    }),
];

/// Policies that always ask for the same candidate id, or for the first candidate if the id is not
/// shown.
const IDS: [Habit; 9] = [
    |o| fixed(o, 2),
    |o| fixed(o, 3),
    |o| fixed(o, 4),
    |o| fixed(o, 5),
    |o| fixed(o, 6),
    |o| fixed(o, 7),
    |o| fixed(o, 8),
    |o| fixed(o, 9),
    |o| fixed(o, 10),
];

fn fixed(o: &Observation, number: u8) -> Action {
    let id = CandidateId::new(number).filter(|id| o.candidates.get(*id).is_some());
    take(o, id)
}

/// Returns all constant policies of the world.
pub(super) fn constant_policies() -> Vec<ConstantPolicy<PolyguardEnv>> {
    let habit = |name: String, habit| ConstantPolicy {
        name,
        routine: Routine::Habit(habit),
    };
    let named = HABITS.iter().map(|(name, f)| habit((*name).to_owned(), *f));
    let ids = IDS
        .iter()
        .zip(2..)
        .map(|(f, id)| habit(format!("always_cand_{id:02}"), *f));
    named.chain(ids).collect()
}
