//! Thirteen components, four channels, two totals (spec polyguard §8).

use crate::num::round_to_thousandths;
use crate::polyguard::model::step::{CHANNELS, COMPONENTS, Channel, Component, Reward};

impl Component {
    /// Returns the published weight; all weights add up to 1.
    #[must_use]
    pub const fn weight(self) -> f64 {
        const WEIGHTS: [f64; COMPONENTS] = [
            0.08, 0.08, 0.12, 0.15, 0.08, 0.10, 0.08, 0.06, 0.06, 0.06, 0.03, 0.06, 0.04,
        ];
        WEIGHTS[self as usize]
    }

    /// Returns the channel that the component belongs to.
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

/// Returns a value as published: clamped to `[0.001, 0.999]` and rounded to three decimals (spec
/// polyguard §1).
#[inline]
pub(super) fn publish(value: f64) -> f64 {
    round_to_thousandths(value.clamp(0.001, 0.999))
}

impl Reward {
    /// Computes the reward from raw components; `honest` is `true` if the step was neither refused
    /// nor an exploit.
    pub(super) fn from_components(raw: [f64; COMPONENTS], honest: bool) -> Self {
        let mut components = raw;
        for value in &mut components {
            *value = publish(*value);
        }
        let (mut total, mut sums, mut counts) = (0.0, [0.0; CHANNELS], [0.0; CHANNELS]);
        for component in Component::ALL {
            let value = components[component as usize];
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
}
