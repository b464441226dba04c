//! The audit ledger: anomaly scores of each agent's claims (spec cluster §6).
//!
//! Claims have one of four rewards, so counts are enough to compute the scores exactly.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::num::{clip01, exact_ratio, round_to};
use crate::schema::impl_json_schema;
use crate::slot::{SLOTS, Slot};

/// An agent in the audit ledger. The order is alphabetical by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// A worker, which reports on jobs and completes them.
    Worker(Slot),
    /// The adversary, which makes the attacks.
    Adversary,
    /// The scheduler in its role of verifying reports.
    Auditor,
    /// The cluster, which acts when GPUs fail.
    Cluster,
    /// The scheduler in its role of allocating, preempting and requesting reports.
    ResourceManager,
}

impl Agent {
    /// Number of agents in the ledger.
    pub const COUNT: usize = SLOTS + 4;
    /// All agents, in the order of their names.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Worker(Slot::ALL[0]),
        Self::Worker(Slot::ALL[1]),
        Self::Worker(Slot::ALL[2]),
        Self::Worker(Slot::ALL[3]),
        Self::Worker(Slot::ALL[4]),
        Self::Adversary,
        Self::Auditor,
        Self::Cluster,
        Self::ResourceManager,
    ];

    /// Returns the position in [`Agent::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Worker(slot) => slot.index(),
            Self::Adversary => SLOTS,
            Self::Auditor => SLOTS + 1,
            Self::Cluster => SLOTS + 2,
            Self::ResourceManager => SLOTS + 3,
        }
    }

    /// Returns the agent with this name in payloads.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// Returns the name used in payloads.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Worker(slot) => slot.name(),
            Self::Adversary => "adversary",
            Self::Auditor => "auditor",
            Self::Cluster => "cluster",
            Self::ResourceManager => "resource_manager",
        }
    }
}

/// The kinds of claim recorded for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ClaimKind {
    /// A report that was caught; reward 0.
    Denied,
    /// A report that was checked and not caught; reward 0.5.
    Checked,
    /// A completed job; reward 0.8.
    Completed,
    /// A forged completion; reward 0.99.
    Forged,
}

impl ClaimKind {
    const COUNT: usize = 4;

    /// Returns the claimed reward, 0..=1.
    pub(crate) const fn reward(self) -> f64 {
        REWARDS[self as usize]
    }

    /// Returns the verdict on the claim; `None` for a claim without one.
    pub(crate) const fn approved(self) -> Option<bool> {
        match self {
            Self::Denied => Some(false),
            Self::Checked | Self::Completed => Some(true),
            Self::Forged => None,
        }
    }
}

/// The claimed reward of each kind, 0..=1.
const REWARDS: [f64; ClaimKind::COUNT] = [0.0, 0.5, 0.8, 0.99];

/// The [`REWARDS`] in units of 2^-53, exactly.
const UNITS: [u64; ClaimKind::COUNT] = {
    let one = (1u64 << 53) as f64;
    let [a, b, c, d] = REWARDS;
    [
        (a * one) as u64,
        (b * one) as u64,
        (c * one) as u64,
        (d * one) as u64,
    ]
};

/// Number of claims of one agent, by kind.
type Claims = [u16; ClaimKind::COUNT];

/// The anomaly scores as the observation shows them, for agents with at least one claim or action.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Anomalies {
    scores: [f64; Agent::COUNT],
    listed: u16,
}

impl Anomalies {
    /// Iterates over the listed agents with their scores, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (Agent, f64)> {
        let listed = |agent: &Agent| self.listed >> agent.index() & 1 == 1;
        let score = |agent: Agent| (agent, self.scores[agent.index()]);
        Agent::ALL.into_iter().filter(listed).map(score)
    }

    /// Returns the score of an agent, 0..=1; 0 if it is not listed.
    #[must_use]
    pub const fn score(&self, agent: Agent) -> f64 {
        self.scores[agent.index()]
    }

    /// Returns the largest score, 0..=1.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.scores.iter().fold(0.0, |a, b| a.max(*b))
    }
}

impl Serialize for Anomalies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (agent, score) in self.iter() {
            map.serialize_entry(agent.name(), &score)?;
        }
        map.end()
    }
}

impl_json_schema!([] Anomalies, "Anomalies", |generator| {
    generator.subschema_for::<std::collections::BTreeMap<String, f64>>()
});

/// The running counts of claims and actions, from which the scores are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Audit {
    claims: [Claims; Agent::COUNT],
    actions: [u16; Agent::COUNT],
}

impl Audit {
    /// Records a claim and updates the scores.
    pub(crate) fn record_claim(&mut self, agent: Agent, kind: ClaimKind, scores: &mut Anomalies) {
        let claims = &mut self.claims[agent.index()];
        claims[kind as usize] += 1;
        scores.listed |= 1 << agent.index();
        scores.scores[agent.index()] = score(claims);
    }

    /// Records an action, which only adds the agent to the list.
    pub(crate) fn record_action(&mut self, agent: Agent, scores: &mut Anomalies) {
        self.actions[agent.index()] += 1;
        scores.listed |= 1 << agent.index();
    }

    /// Returns the number of claims.
    #[must_use]
    pub fn claim_count(&self) -> u16 {
        self.claims.iter().flatten().sum()
    }

    /// Returns the number of actions.
    #[must_use]
    pub fn action_count(&self) -> u16 {
        self.actions.iter().sum()
    }
}

/// Returns the anomaly score of an agent's claims, 0..=1, four decimals. The reference's term for
/// flags is always 0, because no agent raises flags.
fn score(claims: &Claims) -> f64 {
    let n = claims.iter().map(|c| u64::from(*c)).sum::<u64>();
    if n == 0 {
        return 0.0;
    }
    let count = n as f64;
    let share = |kind: ClaimKind| f64::from(claims[kind as usize]) / count;
    let (mean, deviation) = moments(claims, n);
    let score = 0.35 * share(ClaimKind::Forged)
        + 0.25 * (mean - 0.70).max(0.0) / 0.30
        + 0.20 * (deviation / 0.40).min(1.0)
        + 0.20 * share(ClaimKind::Denied);
    round_to(clip01(score), 4)
}

/// Returns the mean (the exact sum rounded, divided by `n`) and the population standard deviation
/// (the exact variance rounded, then its square root) of `n > 0` claims.
fn moments(claims: &Claims, n: u64) -> (f64, f64) {
    let (mut sum, mut squares) = (0, 0);
    for (count, unit) in claims.iter().zip(UNITS) {
        sum += u128::from(*count) * u128::from(unit);
        squares += u128::from(*count) * u128::from(unit) * u128::from(unit);
    }
    let mean = sum as f64 * 0.5f64.powi(53) / n as f64;
    // (n Σx² - (Σx)²) / n²; the numerator is below 2^125 for 256 claims, more than an episode can
    // reach.
    let variance = exact_ratio(u128::from(n) * squares - sum * sum, n * n);
    (mean, (variance * 0.5f64.powi(106)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reward_units_are_exact() {
        for (unit, reward) in UNITS.into_iter().zip(REWARDS) {
            assert_eq!(unit as f64 * 0.5f64.powi(53), reward);
        }
    }

    #[test]
    fn moments_match_direct_mean_and_deviation() {
        let (mean, deviation) = moments(&[1, 0, 1, 0], 2);
        assert_eq!((mean, deviation), (0.4, 0.4));
        assert_eq!(moments(&[0, 3, 0, 0], 3), (0.5, 0.0));
        let (mean, deviation) = moments(&[2, 3, 4, 5], 14);
        let all = [
            0.0, 0.0, 0.5, 0.5, 0.5, 0.8, 0.8, 0.8, 0.8, 0.99, 0.99, 0.99, 0.99, 0.99,
        ];
        let plain = all.iter().sum::<f64>() / 14.0;
        let spread = all.iter().map(|x| (x - plain) * (x - plain)).sum::<f64>() / 14.0;
        assert!((mean - plain).abs() < 1e-15 && (deviation - spread.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn agent_is_listed_after_first_action() {
        let (mut audit, mut scores) = (Audit::default(), Anomalies::default());
        assert_eq!(scores.iter().count(), 0);
        audit.record_action(Agent::Cluster, &mut scores);
        audit.record_claim(
            Agent::Worker(Slot::ALL[1]),
            ClaimKind::Completed,
            &mut scores,
        );
        let names: Vec<&str> = scores.iter().map(|(agent, _)| agent.name()).collect();
        assert_eq!(names, ["S1", "cluster"]);
        assert_eq!(scores.score(Agent::Worker(Slot::ALL[1])), 0.0833);
        assert_eq!(scores.max(), 0.0833);
        assert_eq!((audit.claim_count(), audit.action_count()), (1, 1));
    }
}
