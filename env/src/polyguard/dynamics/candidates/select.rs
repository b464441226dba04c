//! Selection of the shown candidates from the proposals: reserved acts, a distractor, a shuffle,
//! and risk estimates.

use super::proposals::Proposals;
use super::propose::propose;
use crate::num::clip01;
use crate::polyguard::dynamics::estimates::RiskEstimator;
use crate::polyguard::dynamics::risk::Doses;
use crate::polyguard::model::candidate::{
    Act, ActArg, ActKind, Candidate, CandidateId, Candidates, MAX_CANDIDATES,
};
use crate::polyguard::model::hidden::WithheldCandidates;
use crate::polyguard::model::observation::Observation;
use crate::polyguard::model::state::State;
use crate::polyguard::model::task_spec::{Difficulty, SubEnvironment};
use crate::rng::PcgRandom;

/// Maximum error of a candidate's estimated risk.
const NOISE: f64 = 0.06;

const fn plain(kind: ActKind) -> Act {
    Act {
        kind,
        drug: None,
        arg: ActArg::None,
    }
}

/// Returns the acts that are always among the candidates.
fn reserved(o: &Observation) -> [Option<Act>; 3] {
    use SubEnvironment::{Deprescribing, WebSearchMissingData};
    let fetch = o.task.difficulty() != Difficulty::Easy
        || matches!(
            o.task.sub_environment(),
            Deprescribing | WebSearchMissingData
        )
        || o.labs.missing() > 0;
    let review = if o.conflict {
        ActKind::RequestSpecialistReview
    } else {
        ActKind::RequestPharmacistReview
    };
    [
        fetch.then_some(plain(ActKind::FetchExternalEvidence)),
        o.egfr()
            .is_none()
            .then_some(plain(ActKind::OrderMonitoring)),
        Some(plain(review)),
    ]
}

/// A list of up to ten acts.
struct Acts {
    rows: [Act; MAX_CANDIDATES],
    len: usize,
}

impl Acts {
    /// Adds an act that is not in the list yet; does nothing if the list is full.
    fn push(&mut self, act: Act) {
        if self.len < MAX_CANDIDATES {
            self.rows[self.len] = act;
            self.len += 1;
        }
    }

    fn has(&self, act: Act) -> bool {
        self.rows[..self.len].contains(&act)
    }
}

/// Returns a plausible random act on a medicine that is taken.
fn distractor(o: &Observation, stream: &mut PcgRandom) -> Option<Act> {
    let active = o
        .regimen
        .iter()
        .enumerate()
        .filter(|(_, row)| row.is_active());
    let bits = active.fold(0u64, |bits, (at, _)| bits | 1 << at);
    let at = stream.pick(bits)?;
    let (kind, arg) = match stream.below(3) {
        0 => (ActKind::StopDrug, ActArg::None),
        1 => (ActKind::AdjustDoseBucket, ActArg::Dose(-1)),
        _ => (ActKind::HoldDose, ActArg::None),
    };
    let drug = Some(o.regimen[usize::from(at)].drug);
    Some(Act { kind, drug, arg })
}

/// Updates the observation from the state: estimates and candidates.
pub(crate) fn refresh_observation(state: &mut State) {
    let doses = state.observation.update_estimates();
    let (o, stream) = (&mut state.observation, &mut state.hidden.stream);
    state.hidden.withheld = choose_candidates(o, stream, doses);
}

/// Writes the candidates of the next step into the observation and returns the illegal ones, which
/// are withheld.
fn choose_candidates(
    o: &mut Observation,
    stream: &mut PcgRandom,
    doses: Doses,
) -> WithheldCandidates {
    let mut list = Proposals::new();
    propose(o, doses.mask(), &mut list);
    let keep = plain(ActKind::KeepRegimen);
    let mut acts = Acts {
        rows: [keep; MAX_CANDIDATES],
        len: 1,
    };
    for act in reserved(o).into_iter().flatten() {
        acts.push(act);
    }
    while acts.len < MAX_CANDIDATES - 1 {
        match list.take_best() {
            Some(act) => acts.push(act),
            None => break,
        };
    }
    if let Some(act) = distractor(o, stream)
        && !acts.has(act)
    {
        acts.push(act);
        list.drop_act(act);
    }
    while acts.len < MAX_CANDIDATES {
        match list.take_best() {
            Some(act) => acts.push(act),
            None => break,
        };
    }
    stream.shuffle(&mut acts.rows[1..acts.len]);
    show(o, stream, &acts, doses)
}

/// Assigns ids and estimated risks to the acts, shows the legal ones and returns the others.
fn show(
    o: &mut Observation,
    stream: &mut PcgRandom,
    acts: &Acts,
    doses: Doses,
) -> WithheldCandidates {
    let estimate = RiskEstimator::new(o, doses);
    let (mut withheld, mut shown) = (WithheldCandidates::default(), Candidates::default());
    for (id, act) in CandidateId::all().zip(&acts.rows[..acts.len]) {
        let noise = stream.uniform_symmetric(NOISE);
        let row = act.drug.and_then(|drug| o.regimen.find(drug));
        match o.refusal_of(*act, row) {
            Some(why) => withheld[id.index()] = Some((*act, why)),
            None => {
                let risk = row.map_or(o.risk, |row| estimate.risk_after(*act, row));
                let est_risk = clip01(risk + noise);
                shown.0[id.index()] = Some(Candidate {
                    id,
                    act: *act,
                    est_risk,
                    est_delta: est_risk - o.risk,
                });
            }
        }
    }
    o.candidates = shown;
    withheld
}
