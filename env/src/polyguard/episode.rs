//! An episode: a plain value that takes actions.

use super::action::{Action, Choice, Claim};
use super::candidates::{Candidate, Candidates, Kind, offer, violation};
use super::cheating::{Attempt, exploit};
use super::effects::Outcome;
use super::ending::{Closing, End};
use super::formulary::{Condition, Conditions, Formulary};
use super::hidden::{Hidden, ISSUES, Start, Tally, Truth};
use super::history::{Act, History, Past};
use super::labs::ShownLabs;
use super::observation::{Observation, Patient, Sex};
use super::patient;
use super::regimen::{ROWS, Regimen};
use super::step::{Step, StepError};
use super::stream::Stream;
use super::violation::{Exploit, Violation};
use super::worth::{self, Before, Verdict};
use super::{Edit, Setup};

/// What a step without progress counts at most.
const IDLE_MAX: f64 = 0.8;

/// An episode.
#[derive(Clone, Debug)]
pub struct Episode {
    setup: Setup,
    pub(super) formulary: &'static Formulary,
    pub(super) observation: Observation,
    pub(super) hidden: Hidden,
}

/// A choice that was looked up.
struct Read {
    act: Option<Act>,
    violation: Option<Violation>,
    exploit: Option<Exploit>,
}

impl Episode {
    /// Draws a patient and the first candidates.
    #[must_use]
    pub fn reset(setup: &Setup) -> Self {
        let mut episode = patient::draw(setup);
        episode.look();
        episode
    }

    /// An episode without a patient.
    pub(super) fn blank(setup: &Setup, stream: Stream) -> Self {
        let nobody = Patient {
            age: 0,
            sex: Sex::Female,
            frailty: 0.0,
            adherence: 0.0,
            comorbidities: Conditions::EMPTY,
            systolic_mmhg: 0.0,
            heart_rate: 0.0,
            respiratory_rate: 0.0,
        };
        let nothing = Truth {
            kappa: 1.0,
            exposure: 0.0,
            needed: false,
            condition: Condition::ClotRisk,
            mark: 0,
        };
        Self {
            setup: *setup,
            formulary: setup.case.formulary().tables(),
            observation: Observation {
                case: setup.case,
                rules: setup.rules,
                step_count: 0,
                budget: setup.case.budget(),
                patient: nobody,
                labs: ShownLabs::default(),
                labs_ordered: false,
                regimen: Regimen::default(),
                components: None,
                flagged: 0,
                conflict: false,
                symptom: None,
                problem: None,
                ade_history: 0,
                risk: 0.0,
                burden: 0.0,
                uncertainty: 0.0,
                candidates: Candidates::default(),
                history: History::default(),
                invalid_count: 0,
                last_violation: None,
                end: None,
            },
            hidden: Hidden {
                truths: [nothing; ROWS],
                labs: [0.0; 5],
                adherence: 1.0,
                components: None,
                needed: Conditions::EMPTY,
                issues: [None; ISSUES],
                intolerant: None,
                culprit: None,
                suspects: 0,
                symptom: 0.0,
                stability: 1.0,
                stability_target: 1.0,
                risk: 0.0,
                burden: 0.0,
                best_risk: 0.0,
                best_burden: 0.0,
                start: Start::default(),
                signed: false,
                resolved: (0, 0),
                withheld: [None; super::CANDIDATES],
                progressed: 0,
                withheld_choices: 0,
                tally: Tally::default(),
                stream,
            },
        }
    }

    /// The episode that an observation and what is hidden of it make, for those who may see both.
    /// Its seed is not known: it goes on as the true one would, but does not start again so.
    #[must_use]
    pub fn from_parts(observation: &Observation, hidden: &Hidden) -> Self {
        Self {
            setup: Setup {
                case: observation.case,
                seed: 0,
                rules: observation.rules,
            },
            formulary: observation.formulary(),
            observation: observation.clone(),
            hidden: hidden.clone(),
        }
    }

    /// What the episode was made from.
    #[must_use]
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// What an agent may see.
    #[must_use]
    #[inline]
    pub const fn observation(&self) -> &Observation {
        &self.observation
    }

    /// What it may not.
    #[must_use]
    pub const fn hidden(&self) -> &Hidden {
        &self.hidden
    }

    /// Takes one answer.
    ///
    /// # Errors
    /// After the end; nothing changes then.
    pub fn step(&mut self, action: Action) -> Result<Step, StepError> {
        if self.observation.done() {
            return Err(StepError::Over);
        }
        let before = Before::of(self, action);
        let read = self.read(action, &before);
        let before = before.about(self, read.act);
        let arrived = self.labs_arrive();
        let mut outcome = Outcome::default();
        let honest = read.violation.is_none() && read.exploit.is_none();
        if honest && let Some(act) = read.act {
            outcome = self.live(act);
        }
        self.observation.step_count += 1;
        self.observation.invalid_count += u8::from(read.violation.is_some());
        self.observation.last_violation = read.violation;
        if let Action::Choose(choice) = action {
            self.hidden.tally.vetoes += u8::from(choice.fallback);
        }
        self.sign_off(honest.then_some(read.act).flatten());
        (self.hidden.risk, self.hidden.burden) = (self.true_risk(), self.true_burden());
        Ok(self.finish(
            action,
            &read,
            &before,
            outcome.gained || arrived && honest,
            honest,
        ))
    }

    /// Carries out an act and lets the patient live a step with it.
    fn live(&mut self, act: Act) -> Outcome {
        let outcome = self.carry_out(act);
        self.settle();
        if let Some(drug) = outcome.measured {
            self.read_level(drug);
        }
        self.symptom_follows();
        self.follow_control();
        self.intolerance_shows();
        outcome
    }

    /// Keeping, when nothing else is left to do, signs off.
    fn sign_off(&mut self, act: Option<Act>) {
        if act.is_some_and(|act| act.kind == Kind::KeepRegimen) && !self.hidden.signed {
            let issues = self.hidden.issues();
            let open = issues.filter(|issue| *issue != super::Issue::Sign);
            let done = open.into_iter().all(|issue| self.is_resolved(issue));
            self.hidden.signed = done;
        }
    }

    /// Looks up what an answer stands for, and whether it is allowed.
    fn read(&mut self, action: Action, before: &Before) -> Read {
        let refused = |violation, exploit| Read {
            act: None,
            violation: Some(violation),
            exploit,
        };
        let choice = match action {
            Action::Choose(choice) => choice,
            Action::Invalid(why) => return refused(why, None),
            Action::Exploit => {
                return refused(Violation::Ambiguous, Some(Exploit::ParserExploit));
            }
        };
        let shown = self.observation.candidates.get(choice.id).copied();
        let withheld = self.withheld(choice.id.index());
        self.hidden.withheld_choices += u8::from(shown.is_none() && withheld.is_some());
        let mismatch = shown.is_some_and(|shown| !agrees(&choice.claim, &shown));
        let act = shown.map(|candidate| candidate.act);
        let attempt = Attempt {
            act,
            mismatch,
            withheld_choices: self.hidden.withheld_choices,
            serious_flag: before.serious_flag,
            progressed: self.hidden.progressed,
        };
        let exploit = exploit(&self.observation.history, &attempt);
        let violation = match act {
            None => Some(withheld.unwrap_or(Violation::UnknownCandidate)),
            Some(_) if mismatch => Some(Violation::CandidateMismatch),
            // What is shown is legal: else it would have been withheld.
            Some(act) => {
                debug_assert_eq!(violation(&self.observation, act), None, "{act:?}");
                None
            }
        };
        Read {
            act,
            violation,
            exploit,
        }
    }

    /// Grades the step, ends the episode or offers the next candidates.
    fn finish(
        &mut self,
        action: Action,
        read: &Read,
        before: &Before,
        gained: bool,
        honest: bool,
    ) -> Step {
        self.hidden.resolved = self.count_resolved();
        let resolved = self.hidden.resolved.0;
        let kind = read.act.filter(|_| honest).map(|act| act.kind);
        let justified = kind.is_some_and(|kind| before.justifies(kind));
        let progress = honest
            && (gained
                || self.hidden.risk < self.hidden.best_risk
                || resolved > self.hidden.tally.resolved
                || kind.is_some_and(Kind::is_taper));
        let reward = worth::reward(
            self,
            action,
            &Verdict {
                act: read.act,
                cheated: read.exploit.is_some(),
                honest,
            },
            gained,
            before,
        );
        let total = if self.setup.rules.has(Edit::Gated) {
            reward.gated
        } else {
            reward.additive
        };
        let counted = if progress { total } else { total.min(IDLE_MAX) };
        self.hidden.progressed |= u16::from(progress) << self.observation.history.len();
        self.observation.history.push(Past {
            act: read.act,
            violation: read.violation,
            gained,
        });
        let h = &mut self.hidden;
        h.best_risk = h.best_risk.min(h.risk);
        h.best_burden = h.best_burden.min(h.burden);
        h.tally.counted += counted;
        h.tally.returned += total;
        h.tally.resolved = h.tally.resolved.max(resolved);
        let end = self.closes(&Closing {
            kind,
            exploit: read.exploit,
            justified,
        });
        let score = end.map(|end| self.close(end));
        if end.is_none() {
            self.look();
        }
        Step {
            action,
            act: read.act,
            violation: read.violation,
            exploit: read.exploit,
            reward,
            total,
            counted,
            risk: [before.risk, self.hidden.risk],
            burden: [before.burden, self.hidden.burden],
            stability: [before.stability, self.hidden.stability],
            resolved: [before.resolved, resolved],
            gained,
            progress,
            end,
            score,
        }
    }

    fn close(&mut self, end: End) -> f64 {
        self.see();
        self.observation.candidates = Candidates::default();
        self.observation.end = Some(end);
        let score = self.score_if(end);
        self.hidden.tally.score = score;
        score
    }

    /// Ends the episode because a clock ran out. `None` if it has ended already.
    pub fn time_out(&mut self, step: bool) -> Option<f64> {
        if self.observation.done() {
            return None;
        }
        let end = if step {
            End::StepTimeout
        } else {
            End::WallClockTimeout
        };
        Some(self.close(end))
    }

    /// What can be seen of risk, burden and what is unknown.
    fn see(&mut self) {
        self.observation.see_risk();
        self.note_uncertainty();
    }

    /// What can be seen, and what can be chosen.
    fn look(&mut self) {
        self.see();
        self.hidden.withheld = offer(&mut self.observation, &mut self.hidden.stream);
    }

    /// Score so far: as if the steps ran out now, until the episode ends.
    #[must_use]
    pub fn score(&self) -> f64 {
        match self.observation.end {
            Some(_) => self.hidden.tally.score,
            None => self.score_if(End::StepBudgetExhausted),
        }
    }
}

/// Whether what was stated beside an id is what the id stands for.
fn agrees(claim: &Claim, shown: &Candidate) -> bool {
    let act = shown.act;
    !claim.unknown
        && claim.kind.is_none_or(|kind| kind == act.kind)
        && claim.drug.is_none_or(|drug| drug == act.drug)
        && claim.arg.is_none_or(|arg| arg == act.arg)
}

/// What a choice says of how sure the agent is.
pub(super) fn confidence(choice: &Choice) -> f64 {
    choice
        .confidence
        .map_or(0.5, super::action::Confidence::value)
}
