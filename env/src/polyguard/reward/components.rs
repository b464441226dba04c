//! Thirteen components, four channels, two totals (spec polyguard §8).

use crate::num::round_to_thousandths;
use crate::polyguard::model::step::{CHANNEL_COUNT, COMPONENT_COUNT, Channel, Component, Reward};

impl Component {
    /// Returns the published weight; all weights add up to 1.
    #[must_use]
    pub const fn weight(self) -> f64 {
        const WEIGHTS: [f64; COMPONENT_COUNT] = [
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
pub(super) fn published_value(value: f64) -> f64 {
    round_to_thousandths(value.clamp(0.001, 0.999))
}

impl Reward {
    /// Computes the reward from raw components; `honest` is `true` if the step was neither refused
    /// nor an exploit.
    pub(super) fn from_components(raw: [f64; COMPONENT_COUNT], honest: bool) -> Self {
        let mut components = raw;
        for value in &mut components {
            *value = published_value(*value);
        }
        let (mut total, mut sums, mut counts) = (0.0, [0.0; CHANNEL_COUNT], [0.0; CHANNEL_COUNT]);
        for component in Component::ALL {
            let value = components[component as usize];
            total += component.weight() * value;
            sums[component.channel() as usize] += value;
            counts[component.channel() as usize] += 1.0;
        }
        let additive = published_value(total);
        let mut channels = [0.0; CHANNEL_COUNT];
        for (at, channel) in channels.iter_mut().enumerate() {
            *channel = published_value(sums[at] / counts[at]);
        }
        Self {
            components,
            channels,
            additive,
            gated: if honest {
                additive
            } else {
                published_value(0.0)
            },
        }
    }
}
