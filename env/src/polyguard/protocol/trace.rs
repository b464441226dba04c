//! An episode as rows: its start, its steps and its end. The rows contain hidden state and are
//! meant for evaluators.
#![allow(
    missing_docs,
    reason = "the field names are the format of `sentinel trace`"
)]

use serde::Serialize;

use super::payload::ObservationPayload;
use super::reply::{Breakdown, Channels, TransitionDelta};
use super::rows::{ActRow, ActionRow, CandidateRow};
use super::session::Session;
use crate::environment::{Environment, PrivilegedState};
use crate::polyguard::episode::Episode;
use crate::polyguard::model::formulary::Formulary;
use crate::polyguard::model::hidden::Issue;
use crate::polyguard::model::history::{EndReason, Exploit, Violation};
use crate::polyguard::model::patient::Lab;
use crate::polyguard::model::regimen::Drug;
use crate::polyguard::model::step::Step;

/// The first row of an episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceReset {
    pub kind: &'static str,
    pub research_only: bool,
    pub scenario_id: String,
    pub patient_id: String,
    pub max_steps: u8,
    pub observation: ObservationPayload,
    pub truth: TruthRow,
}

/// The hidden state at the start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TruthRow {
    pub issues: Vec<String>,
    /// True laboratory values, in the order of the observation.
    pub labs: Vec<f64>,
    pub adherence: f64,
    pub needed: Vec<&'static str>,
    pub components: Vec<&'static str>,
    pub intolerant: Option<&'static str>,
    pub risk: f64,
    pub burden: f64,
    pub stability: f64,
}

/// Formats an issue as text, such as `pair warfarin_like nsaid_like`.
fn issue_name(issue: Issue, formulary: &Formulary) -> String {
    let name = |id| formulary.get(id).name.as_str();
    let both = |id| {
        let pair = formulary.pair(id);
        format!("{} {}", name(pair.first), name(pair.second))
    };
    match issue {
        Issue::Pair(pair) => format!("pair {}", both(pair)),
        Issue::ComponentPair(pair) => format!("component_pair {}", both(pair)),
        Issue::Set(rule) => format!("set {}", rule.name()),
        Issue::NoIndication(mark) => format!("no_indication {mark}"),
        Issue::Culprit(id) => format!("culprit {}", name(id)),
        Issue::Dose(id) => format!("dose {}", name(id)),
        Issue::Info => "info egfr".to_owned(),
        Issue::Renal(id) => format!("renal {}", name(id)),
        Issue::Sign => "sign".to_owned(),
        Issue::Decompose => "decompose".to_owned(),
        Issue::Replace(drug, condition) => {
            format!("replace {} {}", drug.name(formulary), condition.name())
        }
    }
}

impl TruthRow {
    fn from_episode(episode: &Episode) -> Self {
        let (h, formulary) = (episode.hidden(), episode.observation().formulary());
        let name = |id| Drug::Known(id).name(formulary);
        Self {
            issues: h.issues().map(|i| issue_name(i, formulary)).collect(),
            labs: Lab::ALL.iter().map(|lab| h.labs[*lab as usize]).collect(),
            adherence: h.adherence,
            needed: h.needed.iter().map(|condition| condition.name()).collect(),
            components: h.components.into_iter().flatten().map(name).collect(),
            intolerant: h.intolerant.map(name),
            risk: h.start.risk,
            burden: h.start.burden,
            stability: h.start.stability,
        }
    }
}

impl TraceReset {
    /// Creates the row of an episode that has not taken a step yet.
    #[must_use]
    pub fn new(session: &Session) -> Self {
        let o = session.episode().observation();
        Self {
            kind: "reset",
            research_only: true,
            scenario_id: session.scenario_id(),
            patient_id: session.patient_id(),
            max_steps: o.budget,
            observation: ObservationPayload::from_observation(o),
            truth: TruthRow::from_episode(session.episode()),
        }
    }
}

/// The row for one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceStep {
    pub kind: &'static str,
    pub step: u8,
    pub action: ActionRow,
    /// The act that the action stands for.
    pub act: Option<ActRow>,
    pub violation: Option<&'static str>,
    pub exploit: Option<&'static str>,
    pub reward: f64,
    pub additive: f64,
    pub gated: f64,
    pub counted: f64,
    pub components: Breakdown,
    pub channels: Channels,
    pub delta: TransitionDelta,
    pub gained: bool,
    pub done: bool,
    pub observed_risk: f64,
    pub uncertainty: f64,
    pub medicines: usize,
    pub candidates: Vec<CandidateRow>,
}

impl TraceStep {
    /// Creates the row of the step that `session` has just taken.
    #[must_use]
    pub fn new(session: &Session, step: &Step) -> Self {
        let o = session.episode().observation();
        let formulary = o.formulary();
        Self {
            kind: "step",
            step: o.step_count,
            action: match session.last_completion() {
                Some(text) => ActionRow::completion(text),
                None => ActionRow::new(&step.action, formulary),
            },
            act: step.act.map(|act| ActRow::new(act, formulary)),
            violation: step.violation.map(Violation::name),
            exploit: step.exploit.map(Exploit::name),
            reward: step.total,
            additive: step.reward.additive,
            gated: step.reward.gated,
            counted: step.counted,
            components: Breakdown(step.reward.components),
            channels: Channels(step.reward.channels),
            delta: TransitionDelta::from_step(step),
            gained: step.gained,
            done: o.done(),
            observed_risk: o.risk,
            uncertainty: o.uncertainty,
            medicines: o.regimen.len(),
            candidates: CandidateRow::all(o),
        }
    }
}

/// The last row of an episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceFinal {
    pub kind: &'static str,
    pub steps: u8,
    pub termination_reason: &'static str,
    pub truncated: bool,
    pub success: bool,
    pub score: f64,
    pub total_reward: f64,
    pub counted: f64,
    pub outcome: f64,
    pub issues_resolved: u8,
    pub issues: u8,
    pub invalid: u8,
    pub vetoes: u8,
    pub risk: f64,
    pub burden: f64,
    pub stability: f64,
    pub policy_rng_next: Option<f64>,
}

impl TraceFinal {
    /// Creates the row of an episode that has ended; `None` while it is running. `policy_rng_next`
    /// is the next draw of the policy's own stream, if the caller has one.
    #[must_use]
    pub fn new(session: &Session, policy_rng_next: Option<f64>) -> Option<Self> {
        let episode = session.episode();
        let (o, h) = (episode.observation(), episode.hidden());
        let end = o.end?;
        let (issues_resolved, issues) = episode.count_resolved();
        Some(Self {
            kind: "final",
            steps: o.step_count,
            termination_reason: end.name(),
            truncated: EndReason::is_truncated(end),
            success: end.is_success(),
            score: episode.score(),
            total_reward: h.tally().returned,
            counted: h.tally().counted,
            outcome: episode.outcome_value(),
            issues_resolved,
            issues,
            invalid: o.invalid_count,
            vetoes: h.tally().vetoes,
            risk: h.risk,
            burden: h.burden,
            stability: h.stability,
            policy_rng_next,
        })
    }
}
