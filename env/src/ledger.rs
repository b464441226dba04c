//! Evidence about each slot and the trust derived from it (spec trust §5).
//!
//! All of it is public: an agent that remembers its own actions and the observations after them can
//! reconstruct every field.

use serde::ser::{Serialize, Serializer};

use crate::num::round_to;
use crate::schema::impl_json_schema;
use crate::slot::{PerSlot, SLOTS, Slot};

/// Stakes at or above which a report counts as high-stakes evidence.
pub const HIGH_STAKES: f64 = 0.70;

/// Factor of the mean squared error of trust in the calibration.
pub const CALIBRATION_SLOPE: f64 = 4.0;

/// Returns the weight of a report at these stakes, 0..=1.
#[must_use]
#[inline]
pub fn report_weight(stakes: f64) -> f64 {
    1.0 + 2.0 * stakes
}

/// A success count out of a number of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuccessRate {
    /// Number of reports that turned out right.
    pub successes: u16,
    /// Number of all reports.
    pub count: u16,
}

impl SuccessRate {
    /// Returns `successes / count`, or `None` without any report.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        (self.count > 0).then(|| f64::from(self.successes) / f64::from(self.count))
    }

    fn record(&mut self, success: bool) {
        self.successes += u16::from(success);
        self.count += 1;
    }
}

/// The evidence about one slot; `D` is the number of domains in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence<const D: usize> {
    /// Alpha parameter of the Beta posterior: 1 plus the weights of the right reports.
    pub alpha: f64,
    /// Beta parameter of the Beta posterior: 1 plus the weights of the wrong reports.
    pub beta: f64,
    /// Sum of `max(0, confidence - outcome)` over the reports.
    pub gap_sum: f64,
    /// Number of reports so far, each of which states a confidence.
    pub calls: u16,
    /// Successes by domain index.
    pub domains: [SuccessRate; D],
    /// Successes at stakes below [`HIGH_STAKES`].
    pub low: SuccessRate,
    /// Successes at stakes of [`HIGH_STAKES`] or more.
    pub high: SuccessRate,
}

impl<const D: usize> Default for Evidence<D> {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 1.0,
            gap_sum: 0.0,
            calls: 0,
            domains: [SuccessRate::default(); D],
            low: SuccessRate::default(),
            high: SuccessRate::default(),
        }
    }
}

impl<const D: usize> Evidence<D> {
    /// Returns the mean of the Beta posterior, 0..=1.
    #[must_use]
    pub fn trust(&self) -> f64 {
        self.alpha / (self.alpha + self.beta)
    }

    /// Returns the number of reports that turned out right.
    #[must_use]
    pub const fn successes(&self) -> u16 {
        self.low.successes + self.high.successes
    }

    /// Returns the number of reports that turned out wrong.
    #[must_use]
    pub const fn failures(&self) -> u16 {
        self.calls - self.successes()
    }

    /// Returns the mean overconfidence per report, rounded to three decimals as in the observation.
    #[must_use]
    pub fn confidence_gap(&self) -> f64 {
        if self.calls == 0 {
            0.0
        } else {
            round_to(self.gap_sum / f64::from(self.calls), 3)
        }
    }

    /// Returns the absolute difference between high- and low-stakes success rates, rounded to three
    /// decimals; 0 until both kinds of stakes have been seen.
    #[must_use]
    pub fn stakes_volatility(&self) -> f64 {
        match (self.high.value(), self.low.value()) {
            (Some(high), Some(low)) => round_to((high - low).abs(), 3),
            _ => 0.0,
        }
    }
}

/// The evidence about one slot as payloads show it: numbers rounded to three decimals, and success
/// rates keyed by the names of the world's domains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvidenceRow<const D: usize> {
    evidence: Evidence<D>,
    domains: &'static [&'static str; D],
}

impl<const D: usize> EvidenceRow<D> {
    /// Creates the row of `evidence`; `domains` names its domains in order.
    #[must_use]
    pub const fn new(evidence: Evidence<D>, domains: &'static [&'static str; D]) -> Self {
        Self { evidence, domains }
    }
}

/// Public evidence about a slot; nothing hidden.
#[derive(serde::Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "Evidence")
)]
struct EvidenceFields<R> {
    /// Number of calls of the slot.
    calls: u16,
    /// Mean stated confidence beyond the share of right answers.
    confidence_accuracy_gap: f64,
    /// Share of right answers by domain.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "std::collections::BTreeMap<String, f64>")
    )]
    domain_hit_rate: R,
    /// Difference of the accuracy at low and at high stakes.
    stakes_volatility: f64,
    /// Share of right answers at low stakes; null without any.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Share>"))]
    low_stakes_accuracy: Option<f64>,
    /// Share of right answers at high stakes; null without any.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Share>"))]
    high_stakes_accuracy: Option<f64>,
}

struct HitRates<'a, const D: usize>(&'a EvidenceRow<D>);

impl<const D: usize> Serialize for HitRates<'_, D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rates = self.0.domains.iter().zip(&self.0.evidence.domains);
        serializer.collect_map(rates.filter_map(|(name, rate)| Some((name, rounded(*rate)?))))
    }
}

fn rounded(rate: SuccessRate) -> Option<f64> {
    rate.value().map(|value| round_to(value, 3))
}

impl<const D: usize> Serialize for EvidenceRow<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let e = &self.evidence;
        let fields = EvidenceFields {
            calls: e.calls,
            confidence_accuracy_gap: e.confidence_gap(),
            domain_hit_rate: HitRates(self),
            stakes_volatility: e.stakes_volatility(),
            low_stakes_accuracy: rounded(e.low),
            high_stakes_accuracy: rounded(e.high),
        };
        fields.serialize(serializer)
    }
}

impl_json_schema!([const D: usize] EvidenceRow<D>, "EvidenceRow", |generator| {
    generator.subschema_for::<EvidenceFields<()>>()
});

/// One report of a specialist, in the form that the ledger records.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// `true` if the report was right.
    pub success: bool,
    /// Stakes of the subtask, 0..=1.
    pub stakes: f64,
    /// Confidence stated with the report, 0..=1.
    pub confidence: f64,
    /// Index of the subtask's domain.
    pub domain: usize,
}

/// The evidence about all slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrustLedger<const D: usize> {
    slots: [Evidence<D>; SLOTS],
}

impl<const D: usize> Default for TrustLedger<D> {
    fn default() -> Self {
        Self {
            slots: [Evidence::default(); SLOTS],
        }
    }
}

impl<const D: usize> std::ops::Index<Slot> for TrustLedger<D> {
    type Output = Evidence<D>;
    fn index(&self, slot: Slot) -> &Evidence<D> {
        &self.slots[slot.index()]
    }
}

impl<const D: usize> TrustLedger<D> {
    /// Records one report of `slot`.
    pub fn update(&mut self, slot: Slot, report: Report) {
        let evidence = &mut self.slots[slot.index()];
        let weight = report_weight(report.stakes);
        evidence.calls += 1;
        if report.success {
            evidence.alpha += weight;
        } else {
            evidence.beta += weight;
            evidence.gap_sum += report.confidence;
        }
        evidence.domains[report.domain].record(report.success);
        let bucket = if report.stakes >= HIGH_STAKES {
            &mut evidence.high
        } else {
            &mut evidence.low
        };
        bucket.record(report.success);
    }

    /// Returns the unrounded trust in each slot, 0..=1.
    #[must_use]
    pub fn trust(&self) -> [f64; SLOTS] {
        self.slots.map(|e| e.trust())
    }

    /// Returns the trust in each slot, rounded to three decimals as in the observation.
    #[must_use]
    pub fn rounded_trust(&self) -> PerSlot<f64> {
        PerSlot(self.trust().map(|t| round_to(t, 3)))
    }

    /// Returns the closeness of trust to the true reliabilities: `max(0, 1 - 4 * Brier score)`.
    #[must_use]
    pub fn calibration(&self, reliability: &[f64; SLOTS]) -> f64 {
        let mut sum = 0.0;
        for (trust, truth) in self.trust().iter().zip(reliability) {
            // The reference calls pow(x, 2), which differs by one ulp for about 0.09 % of inputs; x
            // * x is the same on every target.
            sum += (trust - truth) * (trust - truth);
        }
        (1.0 - CALIBRATION_SLOPE * (sum / SLOTS as f64)).max(0.0)
    }

    /// Returns the closeness of trust to the mean success chance of the calls made: as
    /// [`TrustLedger::calibration`], over the slots that were called. `promised` holds, per slot, the
    /// sum of the success chances of its calls. Returns 0 if no slot was called, because nothing
    /// was learned.
    #[must_use]
    pub fn calibration_of_calls(&self, promised: &PerSlot<f64>) -> f64 {
        let (mut sum, mut called) = (0.0, 0u8);
        for (evidence, promised) in self.slots.iter().zip(&promised.0) {
            if evidence.calls > 0 {
                let gap = evidence.trust() - promised / f64::from(evidence.calls);
                sum += gap * gap;
                called += 1;
            }
        }
        if called == 0 {
            return 0.0;
        }
        (1.0 - CALIBRATION_SLOPE * (sum / f64::from(called))).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibration_compares_trust_with_chance_of_success() {
        let mut ledger = TrustLedger::<1>::default();
        let mut promised = PerSlot::default();
        assert_eq!(ledger.calibration_of_calls(&promised), 0.0);
        let report = Report {
            success: true,
            stakes: 0.5,
            confidence: 0.9,
            domain: 0,
        };
        // Two successes of weight 2 give trust 5/6, against a mean chance of 0.7. Slots that were
        // not called do not count.
        for chance in [0.9, 0.5] {
            ledger.update(Slot::ALL[3], report);
            promised.0[3] += chance;
        }
        let gap: f64 = 5.0 / 6.0 - 0.7;
        let expected = 1.0 - 4.0 * gap * gap;
        assert!((ledger.calibration_of_calls(&promised) - expected).abs() < 1e-12);
    }
}
