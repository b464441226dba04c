//! A stack of nine agents, each with one task, that choose together (spec polyguard §10): `MedRec
//! -> Evidence -> GraphSafety -> Dosing -> Candidate -> Supervisor -> Planner -> Critic ->`
//! environment `-> Explainer`.
//!
//! No agent sees hidden state. A [`Trace`] records the report of each agent.

mod candidate_report;
mod config;
mod debate;
mod dosing;
mod evidence;
mod explainer;
mod graph_safety;
mod planner;
mod reconciliation;
mod safety_critic;
mod scores;
mod supervisor;
mod trace;

#[cfg(test)]
mod tests;

use sentinel_env::polyguard::{
    Action, CandidateId, MAX_CANDIDATES, Observation, PolyguardEnv, Violation,
};

pub use candidate_report::CandidateReport;
pub use config::{Mode, StackConfig, StackPart};
pub use debate::Debate;
pub use dosing::{Dosing, LevelVsWindow};
pub use evidence::Evidence;
pub use explainer::Explanation;
pub use graph_safety::GraphSafety;
pub use planner::Plan;
pub use reconciliation::Reconciliation;
pub use safety_critic::{Critique, Veto};
pub use scores::Scores;
pub use supervisor::{Focus, Supervision};
pub use trace::{AGENTS, AgentReport, Trace};

use crate::policy::Policy;

/// Largest number of new plans after a veto.
const REPLANS: usize = 2;

/// A policy of nine cooperating agents, with the trace of its latest choice.
pub struct AgentStack {
    config: StackConfig,
    last: Option<Trace>,
}

/// The result of plan, debate and critique.
struct Decision {
    id: Option<CandidateId>,
    critique: Option<Critique>,
    debate: Option<Debate>,
}

impl AgentStack {
    /// Creates the policy. It has no trace before its first choice.
    #[must_use]
    pub const fn new(config: StackConfig) -> Self {
        Self { config, last: None }
    }

    /// Returns the trace of the latest choice; `None` before the first one.
    #[must_use]
    pub const fn last_trace(&self) -> Option<&Trace> {
        self.last.as_ref()
    }

    /// Runs all agents in order, and returns the action with its trace.
    fn run_agents(&self, o: &Observation) -> (Action, Trace) {
        let config = self.config;
        let may_hand_over = config.is_enabled(StackPart::Abstention);
        let med_rec = reconciliation::reconcile(o);
        let evidence =
            (config.is_enabled(StackPart::Evidence)).then(|| evidence::gather(o, &med_rec));
        let graph = config
            .is_enabled(StackPart::Graph)
            .then(|| graph_safety::assess(o));
        let dosing = config
            .is_enabled(StackPart::Dosing)
            .then(|| dosing::score_dose_changes(o));
        let offer = candidate_report::list_candidates(o, may_hand_over);
        let supervision = (config.is_enabled(StackPart::Supervisor))
            .then(|| supervisor::supervise(o, may_hand_over));
        let said = [
            evidence.as_ref().map(|said| &said.scores),
            graph.as_ref().map(|said| &said.scores),
            dosing.as_ref().map(|said| &said.scores),
            supervision.as_ref().map(|said| &said.scores),
        ];
        let sums = said
            .into_iter()
            .flatten()
            .fold(Scores::default(), |sum, s| sum.plus(s));
        let list = self.narrow(o, &offer, supervision.as_ref());
        let plan = planner::rank(&list, &sums);
        let settled = self.decide(o, &offer.open, &plan);
        let fallback = settled
            .critique
            .as_ref()
            .is_some_and(|c| c.fallback.is_some());
        let explanation = settled.id.map(|id| explainer::explain(o, id, fallback));
        // Without a proposal there is no candidate to choose, and the step is wasted.
        let action = explanation
            .as_ref()
            .map_or(Action::Invalid(Violation::NoCandidate), |e| {
                Action::Choose(e.choice)
            });
        let trace = Trace {
            mode: config.mode,
            formulary: o.formulary(),
            med_rec,
            evidence,
            graph,
            dosing,
            offer,
            supervision,
            sums,
            plan,
            debate: settled.debate,
            critique: settled.critique,
            explanation,
        };
        (action, trace)
    }

    /// Returns the candidates that the planner may rank.
    fn narrow(
        &self,
        o: &Observation,
        offer: &CandidateReport,
        supervision: Option<&Supervision>,
    ) -> Vec<CandidateId> {
        match supervision {
            Some(by) if self.config.mode == Mode::SupervisorRouted => {
                planner::supervised_candidates(o, &offer.open, by)
            }
            _ => offer.open.clone(),
        }
    }

    /// Turns a plan into a choice: the debate, the critic's vetoes, new plans and the fallback.
    fn decide(&self, o: &Observation, open: &[CandidateId], plan: &Plan) -> Decision {
        let debates = self.config.mode == Mode::LightweightDebate;
        let debate = debates.then(|| debate::run_debate(o, open, plan));
        let won = debate.as_ref().map(|debate| debate.winner);
        let proposed = won.or_else(|| plan.first());
        if !self.config.is_enabled(StackPart::Critic) {
            return Decision {
                id: proposed,
                critique: None,
                debate,
            };
        }
        let tries = match self.config.mode {
            Mode::ReplanOnVeto => 1 + REPLANS,
            _ => 1,
        };
        let next = plan
            .ranking
            .iter()
            .map(|(id, _)| *id)
            .filter(|id| Some(*id) != proposed);
        let mut critique = Critique::default();
        for id in proposed.into_iter().chain(next).take(tries) {
            match safety_critic::veto(o, id) {
                None => {
                    return Decision {
                        id: Some(id),
                        critique: Some(critique),
                        debate,
                    };
                }
                Some(veto) => critique.vetoes.push((id, veto)),
            }
        }
        // The fallback replaces a proposal, so without one there is none.
        critique.fallback = proposed.and_then(|_| safety_critic::replacement(o, open));
        Decision {
            id: critique.fallback.or(proposed),
            critique: Some(critique),
            debate,
        }
    }
}

impl Policy<PolyguardEnv> for AgentStack {
    fn choose(&mut self, o: &Observation) -> Action {
        let (action, trace) = self.run_agents(o);
        self.last = Some(trace);
        action
    }

    /// Returns the sums of the agents' scores at the latest choice, `-inf` for candidates that were
    /// not ranked.
    fn action_values(&self) -> Option<Vec<f64>> {
        let trace = self.last.as_ref()?;
        let mut values = [f64::NEG_INFINITY; MAX_CANDIDATES];
        for (id, sum) in &trace.plan.ranking {
            values[id.index()] = *sum;
        }
        Some(values.to_vec())
    }
}
