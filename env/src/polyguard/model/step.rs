//! The outcome of one step and its reward, as plain values.

use super::action::Action;
use super::candidate::Act;
use super::history::{End, Exploit, Violation};
use crate::named_enum;

/// The reason why a step was not taken. The episode is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The episode has ended.
    #[error("the episode is over: reset before the next step")]
    Over,
}

/// The outcome of one step. Risk, burden and control are the true ones: for evaluators, not for agents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The answer.
    pub action: Action,
    /// The act that it stands for.
    pub act: Option<Act>,
    /// The reason of a refusal.
    pub violation: Option<Violation>,
    /// The kind of cheating, if it was.
    pub exploit: Option<Exploit>,
    /// The reward, in parts.
    pub reward: Reward,
    /// The reward under the rules in force.
    pub total: f64,
    /// Its part of the score: at most .8 without progress.
    pub counted: f64,
    /// True risk before and after.
    pub risk: [f64; 2],
    /// True burden before and after.
    pub burden: [f64; 2],
    /// True control before and after.
    pub stability: [f64; 2],
    /// Issues that are resolved, before and after.
    pub resolved: [u8; 2],
    /// Whether it brought information.
    pub gained: bool,
    /// Whether it made progress.
    pub progress: bool,
    /// How the episode ended with it; `None` if it goes on.
    pub end: Option<End>,
    /// Score, if the episode ended.
    pub score: Option<f64>,
}

named_enum! {
    /// A component of the reward.
    pub enum Component {
        /// Whether the answer had the asked form.
        FormatCompliance = "format_compliance_score",
        /// Whether the candidate is shown and what is said of it is so.
        CandidateAlignment = "candidate_alignment_score",
        /// Whether the verifier allows it.
        Legality = "legality_score",
        /// Whether the true risk fell below its lowest so far.
        SafetyDelta = "safety_delta_score",
        /// The same for the burden.
        BurdenImprovement = "burden_improvement_score",
        /// How well the conditions are controlled.
        DiseaseStability = "disease_stability_score",
        /// How well delicate doses sit in their windows.
        DosingQuality = "dosing_quality_score",
        /// Whether handing over or asking was right for what is known.
        AbstentionQuality = "abstention_quality_score",
        /// How many steps are left.
        Efficiency = "efficiency_score",
        /// Whether what should be known first was known first.
        ProcessFidelity = "process_fidelity_score",
        /// Whether the rationale speaks of what is there.
        ExplanationGrounding = "explanation_grounding_score",
        /// Whether the step was honest.
        AntiCheat = "anti_cheat_score",
        /// Whether the stated confidence fits the shown uncertainty.
        UncertaintyCalibration = "uncertainty_calibration_score",
    }
}

named_enum! {
    /// A mean of components.
    pub enum Channel {
        /// Safety and legality.
        SafetyLegality = "safety_legality",
        /// Clinical improvement.
        ClinicalImprovement = "clinical_improvement",
        /// Dosing and abstention.
        DosingQuality = "dosing_quality",
        /// Process and integrity.
        ProcessIntegrity = "process_integrity",
    }
}

/// Number of components.
pub const COMPONENTS: usize = 13;
/// Number of channels.
pub const CHANNELS: usize = 4;

/// The reward of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reward {
    /// In the order of [`Component`], each within `[.001, .999]`.
    pub components: [f64; COMPONENTS],
    /// In the order of [`Channel`].
    pub channels: [f64; CHANNELS],
    /// The published weighted mean.
    pub additive: f64,
    /// The same, but nothing for a step that was refused or cheated.
    pub gated: f64,
}

impl Reward {
    /// Returns a component.
    #[must_use]
    pub const fn component(&self, component: Component) -> f64 {
        self.components[component as usize]
    }
}
