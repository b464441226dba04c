//! Thirteen components, four channels, two totals (spec polyguard §8).

use crate::num::round_to;
use crate::polyguard::model::named;

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

/// Number of components.
pub const COMPONENTS: usize = 13;
/// Number of channels.
pub const CHANNELS: usize = 4;

impl Component {
    /// Returns the published weight; all add up to 1.
    #[must_use]
    pub const fn weight(self) -> f64 {
        const WEIGHTS: [f64; COMPONENTS] = [
            0.08, 0.08, 0.12, 0.15, 0.08, 0.10, 0.08, 0.06, 0.06, 0.06, 0.03, 0.06, 0.04,
        ];
        WEIGHTS[self as usize]
    }

    /// Returns the channel that it belongs to.
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

/// Returns a published number: within `[0.001, 0.999]`, three decimals (spec polyguard §1).
#[inline]
pub(super) fn publish(value: f64) -> f64 {
    // Adding and taking away 1.5 * 2^52 leaves the nearest integer: `round_to` without its branches.
    const INTEGERS: f64 = 6_755_399_441_055_744.0;
    let value = value.clamp(0.001, 0.999);
    let scaled = value * 1000.0;
    let nearest = (scaled + INTEGERS) - INTEGERS;
    if 0.5 - (scaled - nearest).abs() > 1e-7 {
        nearest / 1000.0
    } else {
        round_to(value, 3)
    }
}

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
    /// Sums up components; `honest` is whether the step was neither refused nor cheating.
    pub(super) fn from_components(raw: [f64; COMPONENTS], honest: bool) -> Self {
        let mut components = raw;
        for value in &mut components {
            *value = publish(*value);
        }
        let (mut total, mut sums, mut counts) = (0.0, [0.0; CHANNELS], [0.0; CHANNELS]);
        for component in Component::ALL {
            let value = components[*component as usize];
            total += component.weight() * value;
            sums[component.channel() as usize] += value;
            counts[component.channel() as usize] += 1.0;
        }
        let additive = publish(total);
        let mut channels = [0.0; CHANNELS];
        for (at, channel) in channels.iter_mut().enumerate() {
            *channel = publish(sums[at] / counts[at]);
        }
        Self {
            components,
            channels,
            additive,
            gated: if honest { additive } else { publish(0.0) },
        }
    }

    /// Returns a component.
    #[must_use]
    pub const fn component(&self, component: Component) -> f64 {
        self.components[component as usize]
    }
}
