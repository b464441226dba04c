//! Thirteen components, four channels, two totals (spec polyguard §8).

use super::candidates::Kind;
use super::case::named;
use super::num::{clip, q};

named! {
    /// A component of the reward.
    Component {
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

named! {
    /// A mean of components.
    Channel {
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

/// How many components there are.
pub const COMPONENTS: usize = 13;
/// How many channels there are.
pub const CHANNELS: usize = 4;

impl Component {
    /// The published weight; all add up to 1.
    #[must_use]
    pub const fn weight(self) -> f64 {
        const WEIGHTS: [f64; COMPONENTS] = [
            0.08, 0.08, 0.12, 0.15, 0.08, 0.10, 0.08, 0.06, 0.06, 0.06, 0.03, 0.06, 0.04,
        ];
        WEIGHTS[self as usize]
    }

    /// Which mean it belongs to.
    #[must_use]
    pub const fn channel(self) -> Channel {
        match self {
            Self::Legality | Self::SafetyDelta | Self::AntiCheat | Self::UncertaintyCalibration => {
                Channel::SafetyLegality
            }
            Self::BurdenImprovement | Self::DiseaseStability => Channel::ClinicalImprovement,
            Self::DosingQuality | Self::AbstentionQuality => Channel::DosingQuality,
            Self::FormatCompliance
            | Self::CandidateAlignment
            | Self::Efficiency
            | Self::ProcessFidelity
            | Self::ExplanationGrounding => Channel::ProcessIntegrity,
        }
    }
}

/// What a step earned.
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
    /// Sums up components; `honest` is whether the step was neither refused nor cheating.
    #[must_use]
    pub(super) fn of(raw: [f64; COMPONENTS], honest: bool) -> Self {
        let mut components = raw;
        for value in &mut components {
            *value = q(*value);
        }
        let (mut total, mut sums, mut counts) = (0.0, [0.0; CHANNELS], [0.0; CHANNELS]);
        for component in Component::ALL {
            let value = components[*component as usize];
            total += component.weight() * value;
            sums[component.channel() as usize] += value;
            counts[component.channel() as usize] += 1.0;
        }
        let additive = q(total);
        let mut channels = [0.0; CHANNELS];
        for (at, channel) in channels.iter_mut().enumerate() {
            *channel = q(sums[at] / counts[at]);
        }
        Self {
            components,
            channels,
            additive,
            gated: if honest { additive } else { q(0.0) },
        }
    }

    /// A component.
    #[must_use]
    pub const fn component(&self, component: Component) -> f64 {
        self.components[component as usize]
    }
}

/// The part of a lowering that is new: coming back to where one has been earns nothing.
pub(super) fn improvement(best: f64, before: f64, after: f64) -> f64 {
    let gain = if after < best {
        best - after
    } else if after > before {
        before - after
    } else {
        0.0
    };
    0.5 + 0.5 * gain / before.max(0.1)
}

/// What the abstention component looks at.
pub(super) struct Abstention {
    pub kind: Kind,
    pub uncertainty: f64,
    pub gained: bool,
    pub justified: bool,
    pub first_review: bool,
}

/// Whether asking, handing over, keeping or changing was right for what was known.
pub(super) fn abstention(a: &Abstention) -> f64 {
    let unsure = a.uncertainty >= 0.6;
    if a.kind.is_review() {
        match (a.first_review, unsure || a.justified) {
            (false, _) => 0.1,
            (true, true) => 0.9,
            (true, false) => 0.2,
        }
    } else if a.kind.is_information() {
        if a.gained { 0.85 } else { 0.2 }
    } else if a.kind == Kind::KeepRegimen {
        if unsure { 0.3 } else { 0.5 }
    } else if unsure {
        0.4
    } else {
        0.75
    }
}

/// How well a stated confidence fits what is shown to be uncertain.
pub(super) fn calibration(confidence: f64, uncertainty: f64) -> f64 {
    clip(1.0 - (confidence - (1.0 - uncertainty)).abs())
}
