//! When an episode ends, and what it is worth (spec polyguard §7).

use super::candidates::Kind;
use super::case::named;
use super::episode::Episode;
use super::num::{clip, q};
use super::violation::Exploit;

named! {
    /// Why an episode ended.
    End {
        /// Cheating.
        ExploitDetection = "exploit_detection",
        /// The episode took too long by the clock.
        WallClockTimeout = "wall_clock_timeout",
        /// A step took too long by the clock.
        StepTimeout = "step_timeout",
        /// No step is left.
        StepBudgetExhausted = "step_budget_exhausted",
        /// Three steps were refused.
        RepeatedInvalid = "repeated_invalid",
        /// A critic had to step in three times.
        SafetyVeto = "safety_veto",
        /// The patient's conditions are out of control.
        Destabilised = "destabilised",
        /// Everything was put right.
        SafeResolution = "safe_resolution",
        /// Handed over with good reason.
        JustifiedReview = "justified_review",
    }
}

impl End {
    /// Whether it ended well.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::SafeResolution | Self::JustifiedReview)
    }

    /// Whether time ran out: nobody decided to end it.
    #[must_use]
    pub const fn is_truncated(self) -> bool {
        matches!(
            self,
            Self::WallClockTimeout | Self::StepTimeout | Self::StepBudgetExhausted
        )
    }
}

/// Steps that may be refused before it is enough.
pub const REFUSALS: u8 = 3;
/// Below this the patient is out of control.
const CONTROL_MIN: f64 = 0.25;

/// What the last step leaves open.
pub(super) struct Closing {
    /// What was carried out.
    pub kind: Option<Kind>,
    /// Whether it was cheating.
    pub exploit: Option<Exploit>,
    /// Whether a review that was asked for was justified.
    pub justified: bool,
}

impl Episode {
    /// Whether the episode ends after this step, in the order of the tests.
    pub(super) fn closes(&self, closing: &Closing) -> Option<End> {
        let (o, h) = (&self.observation, &self.hidden);
        if closing.exploit.is_some() {
            Some(End::ExploitDetection)
        } else if o.invalid_count >= REFUSALS {
            Some(End::RepeatedInvalid)
        } else if h.tally.vetoes >= REFUSALS {
            Some(End::SafetyVeto)
        } else if h.stability < CONTROL_MIN {
            Some(End::Destabilised)
        } else if closing.kind.is_some() && self.is_safe() {
            Some(End::SafeResolution)
        } else if closing.justified {
            Some(End::JustifiedReview)
        } else {
            (o.step_count >= o.budget).then_some(End::StepBudgetExhausted)
        }
    }

    /// Whether everything is put right and nothing was made worse. Only the verifier can say so.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        let (resolved, all) = self.resolved();
        let h = &self.hidden;
        resolved == all
            && h.stability_target >= f64::max(0.5, h.start.stability - 0.15)
            && self.all_treated()
            && self.serious_pairs() & !h.start.serious == 0
    }

    /// How good the state at the end is, 0..=1.
    #[must_use]
    pub fn outcome(&self) -> f64 {
        let h = &self.hidden;
        let (resolved, all) = self.resolved();
        let share = f64::from(resolved) / f64::from(all.max(1));
        let safer = clip((h.start.risk - h.risk) / h.start.risk.max(0.1));
        let lost = (h.start.stability - h.stability_target).max(0.0);
        let lighter = clip(0.5 + (h.start.burden - h.burden) / h.start.burden.max(0.1));
        0.4 * share + 0.3 * safer + 0.2 * clip(1.0 - 2.0 * lost) + 0.1 * lighter
    }

    /// What an end makes of the score, as things stand: the factor of everything, and what each step that
    /// is left counts (spec polyguard §7).
    #[must_use]
    pub fn price(&self, end: End) -> (f64, f64) {
        let good = self.outcome();
        match end {
            End::SafeResolution => (1.0, 0.85 + 0.149 * good),
            End::JustifiedReview => (0.7, 0.6),
            End::StepBudgetExhausted => (0.25 + 0.35 * good, 0.0),
            _ => (0.1, 0.001),
        }
    }

    /// Score of the episode if it ended so.
    pub(super) fn score_if(&self, end: End) -> f64 {
        let (factor, pad) = self.price(end);
        let budget = f64::from(self.observation.budget);
        let left = budget - f64::from(self.observation.step_count);
        q(factor * (self.hidden.tally.counted + left * pad) / budget)
    }
}
