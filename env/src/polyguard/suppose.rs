//! What an agent can foresee of an act from what is observable: whether it would be refused or count
//! as cheating, and what the chart would look like after it.

use super::candidates::{Arg, Kind, effect, violation};
use super::cheating::{Attempt, exploit};
use super::formulary::Condition;
use super::history::{Act, Past};
use super::observation::Observation;
use super::regimen::{Bucket, Drug, Row};
use super::risk;
use super::violation::{Exploit, Violation};

impl Observation {
    /// Why the verifier would refuse an act now, if it would. It decides by what is shown.
    #[must_use]
    pub fn refusal(&self, act: Act) -> Option<Violation> {
        violation(self, act)
    }

    /// What cheating an act would count as now, if it would: the rules are public. Whether a step
    /// lowered the true risk is not, so that a retry is foreseen to fail unless something was seen
    /// to come of the steps since.
    #[must_use]
    pub fn counts_as(&self, act: Act) -> Option<Exploit> {
        let attempt = Attempt {
            act: Some(act),
            mismatch: false,
            withheld_choices: 0,
            serious_flag: self.has_serious_flag(),
            progressed: self.visibly_progressed(),
        };
        exploit(&self.history, &attempt)
    }

    /// Steps that were seen to get anywhere, as bits.
    fn visibly_progressed(&self) -> u16 {
        let tapers = |past: &Past| past.act.is_some_and(|act| act.kind.is_taper());
        let seen = |past: &Past| past.gained || tapers(past) && past.violation.is_none();
        let steps = self.history.iter().enumerate();
        steps.fold(0, |bits, (at, past)| bits | u16::from(seen(past)) << at)
    }

    /// The chart after an act, as far as it can be foreseen: medicines, observable risk and burden,
    /// the count of steps. What would be found out, and new flags, cannot be. The candidates stay
    /// those of now.
    #[must_use]
    pub fn supposing(&self, act: Act) -> Self {
        let mut next = self.clone();
        let place = act.drug.and_then(|drug| self.regimen.place(drug));
        if let Some(at) = place {
            next.change(at, act);
        }
        next.see_risk();
        next.step_count = next.step_count.saturating_add(1);
        next.history.push(Past {
            act: Some(act),
            violation: None,
            gained: false,
        });
        next
    }

    /// Observable risk and burden of the medicines.
    pub(super) fn see_risk(&mut self) {
        let doses = self.doses();
        let load = risk::load(
            self.formulary(),
            self.case.formulary(),
            &doses,
            self.flagged,
            self.egfr(),
        );
        self.risk = risk::saturate(load);
        self.burden = risk::burden(self.burden_counts());
    }

    fn change(&mut self, at: usize, act: Act) {
        let row = self.regimen[at];
        let tapers = row.drug.needs_taper(self.formulary());
        let foreseen = effect(act, row.bucket, row.resumes, tapers);
        let Some(bucket) = foreseen.dose else {
            return;
        };
        let replaced = foreseen.enters.is_some() && tapers;
        match bucket {
            Bucket::Hold if act.kind != Kind::HoldDose => self.regimen.remove(at),
            bucket => {
                let row = &mut self.regimen[at];
                row.tapering |= act.kind.is_taper() || replaced;
                row.resumes = if bucket == Bucket::Hold {
                    row.bucket
                } else {
                    bucket
                };
                row.bucket = bucket;
                row.level_is_old = row.level.is_some();
            }
        }
        if let Arg::Target(drug @ Drug::Known(_)) = act.arg {
            let indication = self.passes_on(&row, drug);
            self.regimen
                .push(Row::new(drug, Bucket::Medium, indication));
        }
    }

    /// What a medicine is given for that comes in for another: the same if it treats that.
    fn passes_on(&self, row: &Row, drug: Drug) -> Option<Condition> {
        let treats = self.formulary().get(drug.known()?).treats;
        let indication = row.indication?;
        if treats.has(indication) {
            return Some(indication);
        }
        treats.iter().next()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Action, Case, Episode, Setup};

    #[test]
    fn what_was_supposed_comes_true_where_it_can_be_foreseen() {
        let (mut acts, mut changes) = (0, 0);
        for case in Case::ALL {
            for seed in 0..20 {
                let first = Episode::reset(&Setup::new(case, seed));
                let o = first.observation();
                for candidate in o.candidates.iter() {
                    assert_eq!(o.refusal(candidate.act), None, "what is shown is legal");
                    assert_eq!(o.counts_as(candidate.act), None, "a first act is no loop");
                    let supposed = o.supposing(candidate.act);
                    let mut episode = first.clone();
                    let step = episode.step(Action::explained(o, candidate.id));
                    assert!(step.is_ok_and(|step| step.violation.is_none()));
                    let then = episode.observation();
                    let doses = |o: &super::Observation| -> Vec<_> {
                        o.regimen
                            .iter()
                            .map(|r| (r.drug, r.bucket, r.tapering))
                            .collect()
                    };
                    // An intolerance shows as a problem, a product comes apart: both are news.
                    if !candidate.act.kind.is_information() {
                        assert_eq!(doses(&supposed), doses(then), "{case} {seed} {candidate:?}");
                        changes += usize::from(candidate.act.kind.is_change());
                    }
                    acts += 1;
                }
            }
        }
        assert!(acts > 3000 && changes > 1500, "{acts} {changes}");
    }

    #[test]
    fn an_act_that_would_be_cheating_is_known_before_it_is_tried() {
        let (mut foreseen, mut steps) = (0, 0);
        for seed in 0..50 {
            let mut episode = Episode::reset(&Setup::new(Case::ALL[2], seed));
            let mut at = 0;
            while !episode.observation().done() {
                // Now and then a change, else the same few acts again and again.
                at += 1;
                let o = episode.observation();
                let shown = o.candidates.iter().nth(if at % 3 == 0 { 1 } else { 0 });
                let Some(candidate) = shown.copied() else {
                    break;
                };
                let expected = o.counts_as(candidate.act);
                let action = Action::explained(o, candidate.id);
                let step = episode.step(action).expect("not over");
                assert!(step.exploit.is_none() || step.exploit == expected);
                foreseen += usize::from(expected.is_some());
                steps += 1;
            }
        }
        assert!(foreseen > 5, "{foreseen} of {steps}");
    }
}
