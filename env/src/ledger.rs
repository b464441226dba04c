//! Evidence about each slot and the trust that follows from it (spec trust §5).
//!
//! Everything here is public: an agent that remembers its own actions and the observations after
//! them can rebuild every field.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::num::round_to;
use crate::slot::{PerSlot, SLOTS, Slot};

/// Stakes from which a report counts as high-stakes evidence.
pub const HIGH_STAKES: f64 = 0.70;

/// Successes among a number of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Reports that turned out right.
    pub successes: u16,
    /// All reports.
    pub count: u16,
}

impl Rate {
    /// `successes / count`, if there is any report.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        (self.count > 0).then(|| f64::from(self.successes) / f64::from(self.count))
    }

    fn record(&mut self, success: bool) {
        self.successes += u16::from(success);
        self.count += 1;
    }
}

/// What is known of one slot; `D` is the number of domains of the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence<const D: usize> {
    /// Beta posterior of success, weighted by stakes.
    pub alpha: f64,
    /// Beta posterior of failure, weighted by stakes.
    pub beta: f64,
    /// Sum of `max(0, confidence - outcome)`.
    pub gap_sum: f64,
    /// Reports so far. Every report carries a confidence.
    pub calls: u16,
    /// Success by domain.
    pub domains: [Rate; D],
    /// Success below [`HIGH_STAKES`].
    pub low: Rate,
    /// Success from [`HIGH_STAKES`] on.
    pub high: Rate,
}

impl<const D: usize> Default for Evidence<D> {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 1.0,
            gap_sum: 0.0,
            calls: 0,
            domains: [Rate::default(); D],
            low: Rate::default(),
            high: Rate::default(),
        }
    }
}

impl<const D: usize> Evidence<D> {
    /// Mean of the Beta posterior.
    #[must_use]
    pub fn trust(&self) -> f64 {
        self.alpha / (self.alpha + self.beta)
    }

    /// Reports that turned out right.
    #[must_use]
    pub const fn successes(&self) -> u16 {
        self.low.successes + self.high.successes
    }

    /// Reports that turned out wrong.
    #[must_use]
    pub const fn failures(&self) -> u16 {
        self.calls - self.successes()
    }

    /// Mean overconfidence per report, rounded as the observation shows it.
    #[must_use]
    pub fn confidence_gap(&self) -> f64 {
        if self.calls == 0 {
            0.0
        } else {
            round_to(self.gap_sum / f64::from(self.calls), 3)
        }
    }

    /// Difference between high- and low-stakes success, 0 until both have been seen.
    #[must_use]
    pub fn stakes_volatility(&self) -> f64 {
        match (self.high.value(), self.low.value()) {
            (Some(high), Some(low)) => round_to((high - low).abs(), 3),
            _ => 0.0,
        }
    }
}

/// What payloads show of one slot's history: numbers to three decimals, and success by the names
/// of the world's domains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvidenceRow<const D: usize> {
    evidence: Evidence<D>,
    domains: &'static [&'static str; D],
}

impl<const D: usize> EvidenceRow<D> {
    /// The row of `evidence`; `domains` names its domains in order.
    #[must_use]
    pub const fn new(evidence: Evidence<D>, domains: &'static [&'static str; D]) -> Self {
        Self { evidence, domains }
    }
}

struct HitRates<'a, const D: usize>(&'a EvidenceRow<D>);

impl<const D: usize> Serialize for HitRates<'_, D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rates = self.0.domains.iter().zip(&self.0.evidence.domains);
        serializer.collect_map(rates.filter_map(|(name, rate)| Some((name, rounded(*rate)?))))
    }
}

fn rounded(rate: Rate) -> Option<f64> {
    rate.value().map(|value| round_to(value, 3))
}

impl<const D: usize> Serialize for EvidenceRow<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let e = &self.evidence;
        let mut map = serializer.serialize_map(Some(6))?;
        map.serialize_entry("calls", &e.calls)?;
        map.serialize_entry("confidence_accuracy_gap", &e.confidence_gap())?;
        map.serialize_entry("domain_hit_rate", &HitRates(self))?;
        map.serialize_entry("stakes_volatility", &e.stakes_volatility())?;
        map.serialize_entry("low_stakes_accuracy", &rounded(e.low))?;
        map.serialize_entry("high_stakes_accuracy", &rounded(e.high))?;
        map.end()
    }
}

/// One report of a specialist, as the ledger takes it in.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Whether the report was right.
    pub success: bool,
    /// Stakes of the subtask, 0..1.
    pub stakes: f64,
    /// Stated confidence, 0..1.
    pub confidence: f64,
    /// Index of the subtask's domain.
    pub domain: usize,
}

/// Evidence about all slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ledger<const D: usize> {
    slots: [Evidence<D>; SLOTS],
}

impl<const D: usize> Default for Ledger<D> {
    fn default() -> Self {
        Self {
            slots: [Evidence::default(); SLOTS],
        }
    }
}

impl<const D: usize> std::ops::Index<Slot> for Ledger<D> {
    type Output = Evidence<D>;
    fn index(&self, slot: Slot) -> &Evidence<D> {
        &self.slots[slot.index()]
    }
}

impl<const D: usize> Ledger<D> {
    /// Takes in one report.
    pub fn update(&mut self, slot: Slot, report: Report) {
        let evidence = &mut self.slots[slot.index()];
        let weight = 1.0 + 2.0 * report.stakes;
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

    /// Unrounded trust per slot.
    #[must_use]
    pub fn trust(&self) -> [f64; SLOTS] {
        self.slots.map(|e| e.trust())
    }

    /// Trust per slot to three decimals, as the observation shows it.
    #[must_use]
    pub fn snapshot(&self) -> PerSlot<f64> {
        PerSlot(self.trust().map(|t| round_to(t, 3)))
    }

    /// How close trust is to the true reliabilities: `max(0, 1 - 4 * Brier score)`.
    #[must_use]
    pub fn calibration(&self, reliability: &[f64; SLOTS]) -> f64 {
        let mut sum = 0.0;
        for (trust, truth) in self.trust().iter().zip(reliability) {
            // The reference calls pow(x, 2), which differs by one ulp for about 0.09 % of inputs;
            // x * x is the same on every target.
            sum += (trust - truth) * (trust - truth);
        }
        (1.0 - 4.0 * (sum / SLOTS as f64)).max(0.0)
    }

    /// How close trust is to what the calls themselves could bring: as [`Ledger::calibration`], over
    /// the slots that were called. `promised` sums the chance of success over the calls to a slot.
    /// 0 when nobody was called: nothing was learned.
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
        (1.0 - 4.0 * (sum / f64::from(called))).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_held_against_what_they_could_bring() {
        let mut ledger = Ledger::<1>::default();
        let mut promised = PerSlot::default();
        assert_eq!(ledger.calibration_of_calls(&promised), 0.0);
        let report = Report {
            success: true,
            stakes: 0.5,
            confidence: 0.9,
            domain: 0,
        };
        // Two successes of weight 2: trust 5/6, against a mean chance of .7. Others do not count.
        for chance in [0.9, 0.5] {
            ledger.update(Slot::ALL[3], report);
            promised.0[3] += chance;
        }
        let gap: f64 = 5.0 / 6.0 - 0.7;
        let expected = 1.0 - 4.0 * gap * gap;
        assert!((ledger.calibration_of_calls(&promised) - expected).abs() < 1e-12);
    }
}
