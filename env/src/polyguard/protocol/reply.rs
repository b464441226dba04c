//! The reply to a reset or a step (spec polyguard §9.4).
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec api §2.4"
)]

use serde::ser::{Serialize, Serializer};

use super::payload::ObservationPayload;
use super::request::{patient_id, scenario_id};
use crate::environment::Environment;
use crate::num::round_to;
use crate::polyguard::episode::Episode;
use crate::polyguard::model::action::Action;
use crate::polyguard::model::history::{EndReason, Exploit, Violation};
use crate::polyguard::model::step::Step;
use crate::polyguard::model::step::{CHANNEL_COUNT, COMPONENT_COUNT, Channel, Component};

/// The reply to a reset or a step.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Reply {
    pub observation: ObservationPayload,
    pub reward: f64,
    pub done: bool,
    pub truncated: bool,
    pub info: ReplyInfo,
}

/// The session data that a reply needs.
#[derive(Clone, Copy)]
pub(super) struct ReplyContext<'a> {
    pub(super) episode: &'a Episode,
    pub(super) session_id: &'a str,
    /// Explanation of why the last answer could not be read, if it could not.
    pub(super) detail: Option<&'a str>,
    /// `true` if replies include hidden state.
    pub(super) debug: bool,
}

/// The last event of a session.
#[derive(Clone, Copy)]
pub(super) enum LastEvent<'a> {
    Reset,
    Step(&'a Step),
    /// The answer came too late and was not parsed.
    TimedOut(EndReason),
}

/// Information about the last step.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ReplyInfo {
    pub research_only: bool,
    pub session_id: String,
    pub scenario_id: String,
    pub patient_id: String,
    pub step_count: u8,
    pub max_steps: u8,
    pub rules: String,
    pub failure_reasons: Vec<&'static str>,
    /// Explanation of why the answer could not be read, for a human reader.
    pub failure_detail: Option<String>,
    pub invalid_action_count: u8,
    pub checks: VerifierChecks,
    pub step_timeout: bool,
    pub wall_clock_timeout: bool,
    pub safety_report: VerifierReport,
    pub anti_cheat_reasons: Vec<&'static str>,
    pub primary_reward_channels: Option<Channels>,
    pub termination_reason: Option<&'static str>,
    /// Score of the episode, once it has ended. Score and success are withheld before, because they
    /// would reveal hidden state.
    pub score: Option<f64>,
    pub success: Option<bool>,
    /// The true values; only for evaluators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug: Option<TrueValues>,
}

/// The verifier's checks, in order; `null` if a check was not reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct VerifierChecks {
    pub readable: Option<bool>,
    pub candidate_shown: Option<bool>,
    pub claim_agrees: Option<bool>,
    pub legal: Option<bool>,
    pub honest: Option<bool>,
}

/// The verifier's report on the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct VerifierReport {
    pub legal: Option<bool>,
    pub violation: Option<&'static str>,
}

/// The four channels, keyed by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Channels(pub [f64; CHANNEL_COUNT]);

impl Serialize for Channels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = Channel::ALL.iter().map(|channel| channel.name());
        serializer.collect_map(names.zip(self.0))
    }
}

/// The thirteen components, keyed by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breakdown(pub [f64; COMPONENT_COUNT]);

impl Serialize for Breakdown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = Component::ALL.iter().map(|component| component.name());
        serializer.collect_map(names.zip(self.0))
    }
}

/// The true values of a step.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct TrueValues {
    pub reward_breakdown: Breakdown,
    pub additive: f64,
    pub gated: f64,
    pub transition_delta: TransitionDelta,
}

/// The true values before and after a step.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct TransitionDelta {
    pub safety_risk: [f64; 2],
    pub burden: [f64; 2],
    pub stability: [f64; 2],
    pub issues_resolved: [u8; 2],
    pub progress: bool,
}

impl TransitionDelta {
    pub(super) fn from_step(step: &Step) -> Self {
        let rounded = |pair: [f64; 2]| pair.map(|value| round_to(value, 4));
        Self {
            safety_risk: rounded(step.risk),
            burden: rounded(step.burden),
            stability: rounded(step.stability),
            issues_resolved: step.resolved,
            progress: step.progress,
        }
    }
}

impl VerifierChecks {
    fn from_step(step: &Step) -> Self {
        let shown = step.act.is_some();
        Self {
            readable: Some(matches!(step.action, Action::Choose(_))),
            candidate_shown: Some(shown),
            claim_agrees: shown.then_some(step.violation != Some(Violation::CandidateMismatch)),
            legal: Some(step.violation.is_none()),
            honest: Some(step.exploit.is_none()),
        }
    }
}

/// Returns the reasons why a step was refused or found to be an exploit.
fn failures(step: &Step) -> Vec<&'static str> {
    // The violation of an unreadable exploit is a placeholder and not reported.
    let refused = step.violation.filter(|_| step.action != Action::Exploit);
    let mut reasons: Vec<&str> = refused.map(Violation::name).into_iter().collect();
    if let Some(exploit) = step.exploit
        && !reasons.contains(&exploit.name())
    {
        reasons.push(exploit.name());
    }
    reasons
}

impl ReplyInfo {
    pub(super) fn new(context: &ReplyContext<'_>, last: LastEvent<'_>) -> Self {
        let (episode, setup) = (context.episode, context.episode.setup());
        let o = episode.observation();
        let step = match last {
            LastEvent::Step(step) => Some(step),
            LastEvent::Reset | LastEvent::TimedOut(_) => None,
        };
        let gated = step.is_some_and(|step| step.total < step.reward.additive);
        Self {
            research_only: true,
            session_id: context.session_id.to_owned(),
            scenario_id: scenario_id(setup),
            patient_id: patient_id(setup),
            step_count: o.step_count,
            max_steps: o.budget,
            rules: o.rules.to_string(),
            failure_reasons: match last {
                LastEvent::Reset => Vec::new(),
                LastEvent::Step(step) => failures(step),
                LastEvent::TimedOut(end) => vec![end.name()],
            },
            failure_detail: step.and(context.detail).map(str::to_owned),
            invalid_action_count: o.invalid_count,
            checks: step.map(VerifierChecks::from_step).unwrap_or_default(),
            step_timeout: o.end == Some(EndReason::StepTimeout),
            wall_clock_timeout: o.end == Some(EndReason::WallClockTimeout),
            safety_report: VerifierReport {
                legal: step.map(|step| step.violation.is_none()),
                violation: step.and_then(|step| step.violation).map(Violation::name),
            },
            anti_cheat_reasons: (step.and_then(|step| step.exploit))
                .map(Exploit::name)
                .into_iter()
                .collect(),
            primary_reward_channels: step.map(|step| {
                // Under gated rules, the channels of a refused step are as low as its total.
                Channels(if gated {
                    [step.reward.gated; CHANNEL_COUNT]
                } else {
                    step.reward.channels
                })
            }),
            termination_reason: o.end.map(EndReason::name),
            score: o.end.map(|_| episode.score()),
            success: o.end.map(EndReason::is_success),
            debug: step.filter(|_| context.debug).map(|step| TrueValues {
                reward_breakdown: Breakdown(step.reward.components),
                additive: step.reward.additive,
                gated: step.reward.gated,
                transition_delta: TransitionDelta::from_step(step),
            }),
        }
    }
}
