//! Adaptive difficulty (spec trust §12). The caller owns the controller: episodes read a profile
//! from it at reset and report their results to it when they end.

use serde::Serialize;

use crate::num::{exact_mean, round_to};

const WINDOW: usize = 20;

/// The difficulty settings that an episode takes from the controller at reset. All numbers are
/// unrounded.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DifficultyProfile {
    /// `true` if the episode takes part in the adaptive curriculum.
    pub adaptive: bool,
    /// Number of adaptive episodes that have ended so far.
    pub episodes_seen: u32,
    /// Mean detection rate over the last 20 adaptive episodes, 0..=1.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Share"))]
    pub rolling_detection_rate: f64,
    /// Stakes at or above which the adversary poisons its answers, 0.40..=0.85; 0.70 by default.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Share"))]
    pub adversarial_threshold: f64,
    /// Fraction of an episode's nodes, counted from the end, whose stakes are raised, 0.25..=0.80.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Share"))]
    pub high_stakes_ratio: f64,
    /// Number of steps subtracted from the step budget, 0..=8.
    pub verify_budget_penalty: u8,
    /// Confidence that the adversary states when it answers honestly, 0.60..=0.88.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Share"))]
    pub adversary_benign_confidence: f64,
    /// Confidence that the adversary states when it poisons an answer, 0.70..=0.92.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Share"))]
    pub adversary_poison_confidence: f64,
}

impl Default for DifficultyProfile {
    fn default() -> Self {
        Self {
            adaptive: false,
            episodes_seen: 0,
            rolling_detection_rate: 0.0,
            adversarial_threshold: 0.70,
            high_stakes_ratio: 0.35,
            verify_budget_penalty: 0,
            adversary_benign_confidence: 0.88,
            adversary_poison_confidence: 0.92,
        }
    }
}

impl DifficultyProfile {
    /// Returns the settings for the adversarial specialist or worker.
    #[must_use]
    pub const fn adversary(&self) -> AdversaryProfile {
        AdversaryProfile {
            threshold: self.adversarial_threshold,
            benign_confidence: self.adversary_benign_confidence,
            poison_confidence: self.adversary_poison_confidence,
        }
    }
}

/// The settings of an adversarial specialist or worker that the curriculum may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdversaryProfile {
    /// Stakes at or above which it poisons its answers, 0..=1.
    pub threshold: f64,
    /// Stated confidence of an honest answer, 0..=1.
    pub benign_confidence: f64,
    /// Stated confidence of a poisoned answer, 0..=1.
    pub poison_confidence: f64,
}

impl Default for AdversaryProfile {
    fn default() -> Self {
        DifficultyProfile::default().adversary()
    }
}

impl Serialize for DifficultyProfile {
    /// Serialises the numbers rounded to three decimals, as the observation shows them.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut s = serializer.serialize_struct("DifficultyProfile", 8)?;
        s.serialize_field("adaptive", &self.adaptive)?;
        s.serialize_field("episodes_seen", &self.episodes_seen)?;
        s.serialize_field(
            "rolling_detection_rate",
            &round_to(self.rolling_detection_rate, 3),
        )?;
        s.serialize_field(
            "adversarial_threshold",
            &round_to(self.adversarial_threshold, 3),
        )?;
        s.serialize_field("high_stakes_ratio", &round_to(self.high_stakes_ratio, 3))?;
        s.serialize_field("verify_budget_penalty", &self.verify_budget_penalty)?;
        let benign = round_to(self.adversary_benign_confidence, 3);
        let poison = round_to(self.adversary_poison_confidence, 3);
        s.serialize_field("adversary_benign_confidence", &benign)?;
        s.serialize_field("adversary_poison_confidence", &poison)?;
        s.end()
    }
}

/// A controller that raises or lowers the difficulty every 20 adaptive episodes, based on the
/// fraction of attacks that were detected.
///
/// ```
/// use sentinel_env::adaptive_difficulty::DifficultyController;
///
/// let mut controller = DifficultyController::new();
/// for _ in 0..20 {
///     controller.record_episode(5, 5); // every attack was detected
/// }
/// assert_ne!(controller.profile(true), controller.profile(false));
/// ```
#[derive(Clone, Debug, Default)]
pub struct DifficultyController {
    profile: DifficultyProfile,
    rates: [f64; WINDOW],
    seen: u32,
}

impl DifficultyController {
    /// Creates a controller without history that returns the default difficulty.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the profile for the next episode. A non-adaptive episode always gets the default
    /// profile.
    #[must_use]
    pub fn profile(&self, adaptive: bool) -> DifficultyProfile {
        if adaptive {
            self.current_profile()
        } else {
            DifficultyProfile::default()
        }
    }

    /// Returns the current adaptive profile, unrounded.
    #[must_use]
    pub fn current_profile(&self) -> DifficultyProfile {
        DifficultyProfile {
            adaptive: true,
            ..self.profile
        }
    }

    /// Returns the detection rate of the most recently reported episode, 0..=1, or `None` if no
    /// episode has been reported.
    #[must_use]
    pub fn last_detection_rate(&self) -> Option<f64> {
        let last = self.seen.checked_sub(1)? as usize;
        Some(self.rates[last % WINDOW])
    }

    /// Records an ended episode: the number of attacks detected, and the number of attacks
    /// encountered (detected or not).
    pub fn record_episode(&mut self, detections: u16, encounters: u16) {
        let rate = f64::from(detections) / f64::from(encounters.max(1));
        self.rates[self.seen as usize % WINDOW] = rate;
        self.seen += 1;
        let filled = WINDOW.min(self.seen as usize);
        self.profile.episodes_seen = self.seen;
        self.profile.rolling_detection_rate = exact_mean(&self.rates[..filled]);
        if (self.seen as usize).is_multiple_of(WINDOW) {
            self.adapt();
        }
    }

    fn adapt(&mut self) {
        let p = &mut self.profile;
        let rate = p.rolling_detection_rate;
        if rate > 0.70 {
            p.adversarial_threshold -= 0.05;
            p.high_stakes_ratio += 0.10;
            p.verify_budget_penalty += 1;
        } else if rate < 0.30 {
            p.adversarial_threshold += 0.05;
            p.high_stakes_ratio -= 0.10;
            p.verify_budget_penalty = p.verify_budget_penalty.saturating_sub(1);
        }
        if rate > 0.60 {
            p.adversary_benign_confidence -= 0.03;
            p.adversary_poison_confidence -= 0.03;
        }
        p.adversarial_threshold = p.adversarial_threshold.clamp(0.40, 0.85);
        p.high_stakes_ratio = p.high_stakes_ratio.clamp(0.25, 0.80);
        p.verify_budget_penalty = p.verify_budget_penalty.min(8);
        p.adversary_benign_confidence = p.adversary_benign_confidence.clamp(0.60, 0.88);
        p.adversary_poison_confidence = p.adversary_poison_confidence.clamp(0.70, 0.92);
    }
}
