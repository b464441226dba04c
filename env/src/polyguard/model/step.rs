//! The outcome of one step and its reward, as plain values.

use super::action::Action;
use super::candidate::Act;
use super::history::{EndReason, Exploit, Violation};
use crate::named_enum;

/// The reason why a step was not taken. The episode is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The episode has ended.
    #[error("the episode is over: reset before the next step")]
    Over,
}

/// The outcome of one step. Risk, burden and stability are the true values, so it is meant for
/// evaluators and must not be shown to agents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The agent's answer in this step.
    pub action: Action,
    /// The act that the answer stands for, if it is shown.
    pub act: Option<Act>,
    /// The reason why the step was refused, if it was.
    pub violation: Option<Violation>,
    /// The exploit that the step was found to be, if any.
    pub exploit: Option<Exploit>,
    /// The reward and its parts.
    pub reward: Reward,
    /// Reward of the step under the rules in force.
    pub total: f64,
    /// Amount that counts towards the score: at most 0.8 without progress.
    pub counted: f64,
    /// True risk before and after the step.
    pub risk: [f64; 2],
    /// True burden before and after the step.
    pub burden: [f64; 2],
    /// True stability before and after the step.
    pub stability: [f64; 2],
    /// Number of issues resolved before and after the step.
    pub resolved: [u8; 2],
    /// `true` if the step brought information.
    pub gained: bool,
    /// `true` if the step made progress.
    pub progress: bool,
    /// The reason why the episode ended with this step; `None` if it continues.
    pub end: Option<EndReason>,
    /// Score of the episode, if it ended.
    pub score: Option<f64>,
}

named_enum! {
    /// A component of the reward; values are clamped to 0.001..=0.999.
    pub enum Component {
        /// Form of the answer: 1 if it had the requested form, 0.4 if it was repaired, otherwise 0.
        FormatCompliance = "format_compliance_score",
        /// Agreement of the answer with a shown candidate: 1 if the step was neither refused nor an
        /// exploit, otherwise 0.
        CandidateAlignment = "candidate_alignment_score",
        /// Legality of the step: 1 if it was neither refused nor an exploit, otherwise 0.
        Legality = "legality_score",
        /// Decrease of the true risk below its lowest value so far, or its increase; 0.5 without a
        /// change.
        SafetyDelta = "safety_delta_score",
        /// Decrease of the true burden below its lowest value so far, or its increase; 0.5 without
        /// a change.
        BurdenImprovement = "burden_improvement_score",
        /// Control of the needed conditions, less any decrease in this step.
        DiseaseStability = "disease_stability_score",
        /// Position of questioned and narrow doses within their windows.
        DosingQuality = "dosing_quality_score",
        /// Appropriateness of a review, an information act, keeping or a change for the
        /// uncertainty.
        AbstentionQuality = "abstention_quality_score",
        /// Fraction of the steps that is left.
        Efficiency = "efficiency_score",
        /// Order of the work: high if the information that an act needs was gathered before it.
        ProcessFidelity = "process_fidelity_score",
        /// Fraction of the terms in the rationale that occur in the observation.
        ExplanationGrounding = "explanation_grounding_score",
        /// Absence of exploits: 1 if the step was not an exploit, otherwise 0.
        AntiCheat = "anti_cheat_score",
        /// Agreement of the stated confidence with 1 minus the shown uncertainty.
        UncertaintyCalibration = "uncertainty_calibration_score",
    }
}

named_enum! {
    /// A channel of the reward: the mean of several components.
    pub enum Channel {
        /// Safety risk, legality, exploits and calibration of confidence.
        SafetyLegality = "safety_legality",
        /// Burden and control of conditions.
        ClinicalImprovement = "clinical_improvement",
        /// Quality of doses and of abstention.
        DosingQuality = "dosing_quality",
        /// Form, alignment, efficiency, process and rationale.
        ProcessIntegrity = "process_integrity",
    }
}

/// Number of components of the reward.
pub const COMPONENT_COUNT: usize = 13;
/// Number of channels of the reward.
pub const CHANNEL_COUNT: usize = 4;

/// The reward of a step, in several aggregations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reward {
    /// Components in the order of [`Component`], each within `[0.001, 0.999]`.
    pub components: [f64; COMPONENT_COUNT],
    /// Channels in the order of [`Channel`], each within `[0.001, 0.999]`.
    pub channels: [f64; CHANNEL_COUNT],
    /// Weighted mean of the components, as published.
    pub additive: f64,
    /// The same mean, but 0.001 for a step that was refused or an exploit.
    pub gated: f64,
}

impl Reward {
    /// Returns a component of the reward.
    #[must_use]
    pub const fn component(&self, component: Component) -> f64 {
        self.components[component as usize]
    }
}
