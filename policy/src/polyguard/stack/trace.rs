//! The record of every agent's report at one choice.

use sentinel_env::polyguard::{CandidateId, Drug, Formulary};
use serde::Serialize;

use super::{
    CandidateReport, Critique, Debate, Dosing, Evidence, Explanation, GraphSafety, LevelVsWindow,
    Mode, Plan, Reconciliation, Scores, Supervision,
};

/// Names of the agents, in the order in which they run.
pub const AGENTS: [&str; 9] = [
    "MedRec",
    "Evidence",
    "GraphSafety",
    "Dosing",
    "Candidate",
    "Supervisor",
    "Planner",
    "Critic",
    "Explainer",
];

/// The reports of all agents at one choice; `None` for agents that are switched off.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Mode in which the agents cooperate.
    pub mode: Mode,
    /// Tables that the names of medicines come from.
    pub formulary: &'static Formulary,
    /// Report of the reconciliation agent.
    pub med_rec: Reconciliation,
    /// Report of the evidence agent.
    pub evidence: Option<Evidence>,
    /// Report of the graph safety agent.
    pub graph: Option<GraphSafety>,
    /// Report of the dosing agent.
    pub dosing: Option<Dosing>,
    /// Report of the candidate agent.
    pub offer: CandidateReport,
    /// Report of the supervisor.
    pub supervision: Option<Supervision>,
    /// Sums of the agents' scores, which the planner ranks by.
    pub sums: Scores,
    /// Ranking of the planner, or the answer of a language model.
    pub plan: Plan,
    /// Proposals of the debate, in the mode that has one.
    pub debate: Option<Debate>,
    /// Vetoes and fallback of the critic.
    pub critique: Option<Critique>,
    /// Explanation of the choice; `None` if nothing was chosen.
    pub explanation: Option<Explanation>,
}

/// The report of one agent as text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentReport {
    /// Name of the agent, one of [`AGENTS`].
    pub agent: &'static str,
    /// Summary in a few words.
    pub verdict: String,
    /// Details of the report, one line each.
    pub notes: Vec<String>,
    /// Scores of single candidates, by candidate name.
    pub scores: Vec<(&'static str, f64)>,
}

impl AgentReport {
    fn new(agent: usize, verdict: impl Into<String>, notes: Vec<String>) -> Self {
        Self {
            agent: AGENTS[agent],
            verdict: verdict.into(),
            notes,
            scores: Vec::new(),
        }
    }

    fn off(agent: usize) -> Self {
        Self::new(agent, "off", Vec::new())
    }

    fn scoring(mut self, scores: impl Iterator<Item = (CandidateId, f64)>) -> Self {
        self.scores = scores.map(|(id, score)| (id.name(), score)).collect();
        self
    }
}

impl Trace {
    /// Returns the report of each agent as text, in the order of [`AGENTS`].
    #[must_use]
    pub fn entries(&self) -> [AgentReport; AGENTS.len()] {
        let or_off =
            |agent, entry: Option<AgentReport>| entry.unwrap_or_else(|| AgentReport::off(agent));
        [
            self.of_med_rec(),
            or_off(1, self.evidence.as_ref().map(of_evidence)),
            or_off(2, self.graph.as_ref().map(|said| self.of_graph(said))),
            or_off(3, self.dosing.as_ref().map(|said| self.of_dosing(said))),
            self.of_offer(),
            or_off(5, self.supervision.as_ref().map(of_supervision)),
            self.of_plan(),
            or_off(7, self.critique.as_ref().map(of_critique)),
            self.of_explanation(),
        ]
    }

    fn name(&self, drug: Drug) -> String {
        drug.name(self.formulary).to_owned()
    }

    fn names(&self, drugs: &[Drug]) -> String {
        let names: Vec<String> = drugs.iter().map(|drug| self.name(*drug)).collect();
        names.join(", ")
    }

    fn of_med_rec(&self) -> AgentReport {
        let said = &self.med_rec;
        let mut notes = vec![format!(
            "anticholinergic burden {}, {} act on the central nervous system, burden {:.2}",
            said.anticholinergic, said.central, said.burden
        )];
        if !said.without_indication.is_empty() {
            notes.push(format!(
                "no indication: {}",
                self.names(&said.without_indication)
            ));
        }
        if !said.kidney_bound.is_empty() {
            notes.push(format!(
                "hang on the eGFR: {}",
                self.names(&said.kidney_bound)
            ));
        }
        AgentReport::new(0, format!("{} medicines", said.medicines), notes)
    }

    fn of_graph(&self, said: &GraphSafety) -> AgentReport {
        let verdict = format!(
            "{} flagged pairs, {} broken rules",
            said.flagged, said.broken
        );
        let suspected = said.suspected.iter();
        let notes =
            suspected.map(|(drug, pairs)| format!("{}: {pairs} suspected", self.name(*drug)));
        AgentReport::new(2, verdict, notes.collect()).scoring(said.scores.nonzero())
    }

    fn of_dosing(&self, said: &Dosing) -> AgentReport {
        let off = said
            .levels
            .iter()
            .filter(|(_, level)| *level != LevelVsWindow::Within)
            .count();
        let notes = said.levels.iter().map(|(drug, level)| {
            let word = match level {
                LevelVsWindow::Below => "below",
                LevelVsWindow::Within => "within",
                LevelVsWindow::Above => "above",
            };
            format!("{}: {word} the window", self.name(*drug))
        });
        let verdict = format!("{off} of {} levels off", said.levels.len());
        AgentReport::new(3, verdict, notes.collect()).scoring(said.scores.nonzero())
    }

    fn of_offer(&self) -> AgentReport {
        let said = &self.offer;
        let ids: Vec<&str> = said.open.iter().map(|id| id.name()).collect();
        let verdict = format!("{} open, {} barred", said.open.len(), said.barred);
        AgentReport::new(4, verdict, vec![ids.join(", ")])
    }

    fn of_plan(&self) -> AgentReport {
        let first = self.plan.first().map_or("nothing", CandidateId::name);
        let mut notes = Vec::new();
        if let Some(debate) = &self.debate {
            notes.push(format!(
                "rules {}, least risk {}, planner {}: {} by {}",
                debate.rules,
                debate.greedy,
                debate.planner,
                debate.winner,
                if debate.majority {
                    "majority"
                } else {
                    "penalty"
                }
            ));
        }
        let ranking = self.plan.ranking.iter().copied();
        AgentReport::new(6, format!("{first} ({})", self.mode.name()), notes).scoring(ranking)
    }

    fn of_explanation(&self) -> AgentReport {
        match &self.explanation {
            None => AgentReport::new(8, "nothing chosen", Vec::new()),
            Some(said) => AgentReport::new(8, said.choice.id.name(), vec![said.rationale.clone()]),
        }
    }
}

fn of_evidence(said: &Evidence) -> AgentReport {
    let verdict = match said.needed {
        Some(lab) => format!("{} needed", lab.name()),
        None => "nothing needed".to_owned(),
    };
    let tried = if said.tried {
        ""
    } else {
        ", evidence not tried"
    };
    let notes = vec![format!("{} values missing{tried}", said.missing)];
    AgentReport::new(1, verdict, notes).scoring(said.scores.nonzero())
}

fn of_supervision(said: &Supervision) -> AgentReport {
    AgentReport::new(5, said.focus.name(), Vec::new()).scoring(said.scores.nonzero())
}

fn of_critique(said: &Critique) -> AgentReport {
    let vetoes = said.vetoes.iter();
    let notes = vetoes
        .map(|(id, veto)| format!("{id}: {}", veto.name()))
        .collect();
    let verdict = match (said.fallback, said.vetoes.is_empty()) {
        (Some(id), _) => format!("fallback {id}"),
        (None, true) => "no veto".to_owned(),
        (None, false) => "replanned".to_owned(),
    };
    AgentReport::new(7, verdict, notes)
}
