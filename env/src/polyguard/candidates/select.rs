//! From proposals to what is shown: places that are kept free, a distractor, a shuffle, estimates.

use super::legal::violation;
use super::propose::proposals;
use super::{Arg, CANDIDATES, Candidate, CandidateId, Candidates, Kind, effect};
use crate::num::clip01;
use crate::polyguard::case::{Difficulty, SubEnvironment};
use crate::polyguard::history::Act;
use crate::polyguard::observation::Observation;
use crate::polyguard::regimen::Bucket;
use crate::polyguard::risk::{self, Doses};
use crate::polyguard::stream::Stream;
use crate::polyguard::violation::Violation;

/// How far an estimate of the risk may be off.
const NOISE: f64 = 0.06;

/// What is not shown, and why.
pub(in crate::polyguard) type Withheld = [Option<(Act, Violation)>; CANDIDATES];

const fn plain(kind: Kind) -> Act {
    Act {
        kind,
        drug: None,
        arg: Arg::None,
    }
}

/// Acts that are always among the candidates.
fn reserved(o: &Observation) -> [Option<Act>; 3] {
    use SubEnvironment::{Deprescribing, WebSearchMissingData};
    let fetch = o.case.difficulty() != Difficulty::Easy
        || matches!(o.case.sub(), Deprescribing | WebSearchMissingData)
        || o.labs.missing() > 0;
    let review = if o.conflict {
        Kind::RequestSpecialistReview
    } else {
        Kind::RequestPharmacistReview
    };
    [
        fetch.then_some(plain(Kind::FetchExternalEvidence)),
        o.egfr().is_none().then_some(plain(Kind::OrderMonitoring)),
        Some(plain(review)),
    ]
}

/// Acts in a list of fixed length.
struct Acts {
    rows: [Act; CANDIDATES],
    len: usize,
}

impl Acts {
    /// Adds an act that is not in the list.
    fn push(&mut self, act: Act) {
        if self.len < CANDIDATES {
            self.rows[self.len] = act;
            self.len += 1;
        }
    }

    fn has(&self, act: Act) -> bool {
        self.rows[..self.len].contains(&act)
    }
}

/// A plausible act about a medicine that is taken.
fn distractor(o: &Observation, stream: &mut Stream) -> Option<Act> {
    let active = o
        .regimen
        .iter()
        .enumerate()
        .filter(|(_, row)| row.is_active());
    let bits = active.fold(0u64, |bits, (at, _)| bits | 1 << at);
    let at = stream.pick(bits)?;
    let (kind, arg) = match stream.below(3) {
        0 => (Kind::StopDrug, Arg::None),
        1 => (Kind::AdjustDoseBucket, Arg::Dose(-1)),
        _ => (Kind::HoldDose, Arg::None),
    };
    let drug = Some(o.regimen[usize::from(at)].drug);
    Some(Act { kind, drug, arg })
}

/// Writes the candidates of the next step into the observation; what is illegal is withheld.
pub(in crate::polyguard) fn offer(o: &mut Observation, stream: &mut Stream) -> Withheld {
    let mut list = proposals(o);
    let keep = plain(Kind::KeepRegimen);
    let mut acts = Acts {
        rows: [keep; CANDIDATES],
        len: 1,
    };
    for act in reserved(o).into_iter().flatten() {
        acts.push(act);
    }
    while acts.len < CANDIDATES - 1 {
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
    while acts.len < CANDIDATES {
        match list.take_best() {
            Some(act) => acts.push(act),
            None => break,
        };
    }
    stream.shuffle(&mut acts.rows[1..acts.len]);
    show(o, stream, &acts)
}

/// Numbers, estimates, and leaves out what is illegal.
fn show(o: &mut Observation, stream: &mut Stream, acts: &Acts) -> Withheld {
    let doses = o.doses();
    let estimate = Estimate::of(o, &doses);
    let (mut withheld, mut shown) = (Withheld::default(), Candidates::default());
    for (id, act) in CandidateId::all().zip(&acts.rows[..acts.len]) {
        let noise = stream.around_zero(NOISE);
        match violation(o, *act) {
            Some(why) => withheld[id.index()] = Some((*act, why)),
            None => {
                let est_risk = clip01(estimate.after(*act) + noise);
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

/// Estimates the observable risk after acts.
pub(in crate::polyguard) struct Estimate<'a> {
    o: &'a Observation,
    doses: &'a Doses,
}

impl<'a> Estimate<'a> {
    pub(in crate::polyguard) const fn of(o: &'a Observation, doses: &'a Doses) -> Self {
        Self { o, doses }
    }

    /// Observable risk after an act, without noise.
    pub(in crate::polyguard) fn after(&self, act: Act) -> f64 {
        let o = self.o;
        let Some(row) = act.drug.and_then(|drug| o.regimen.of(drug)) else {
            return o.risk;
        };
        let effect = effect(
            act,
            row.bucket,
            row.resumes,
            row.drug.needs_taper(o.formulary()),
        );
        let Some(dose) = effect.dose else {
            return o.risk;
        };
        let mut doses = self.doses.clone();
        doses.remove(o.parts(row.drug));
        doses.add(o.parts(row.drug), dose);
        if let Some(drug) = effect.enters {
            doses.add(o.parts(drug), Bucket::Medium);
        }
        let (formulary, name) = (o.formulary(), o.case.formulary());
        risk::saturate(risk::load(formulary, name, &doses, o.flagged, o.egfr()))
    }
}
