//! The players of the PolyGuard world, and the reports of the agent stacks.

use sentinel_env::Environment as _;
use sentinel_env::polyguard::{Action, Formulary, Observation, PolyguardEnv, Setup};
use sentinel_policy::nn::Model;
use sentinel_policy::policy::Policy;
use sentinel_policy::polyguard::learned::PolyguardNet;
use sentinel_policy::polyguard::stack::AgentReport;
use sentinel_policy::polyguard::{
    AgentStack, BeamSearch, KeepRegimen, LeastRisk, LookaheadOracle, Mode, Player, PolicyName,
    Random, RulesOnly, StackConfig,
};

use super::names;
use crate::actor::{Actor, PolicyActor, PolicyOutput, Remark};
use crate::format::grouped;

/// Policies that the page plays. Policies fitted to data are left out, since their tables would be
/// a large part of the download.
pub(super) const PLAYERS: [PolicyName; 10] = [
    PolicyName::Random,
    PolicyName::KeepRegimen,
    PolicyName::LeastRisk,
    PolicyName::RulesOnly,
    PolicyName::BeamSearchPlanner,
    PolicyName::StackDebate,
    PolicyName::StackRouted,
    PolicyName::Stack,
    PolicyName::StackReplan,
    PolicyName::Oracle,
];

/// Number of steps that the oracle looks ahead (spec polyguard §10.4).
const ORACLE_DEPTH: u8 = 2;

/// Creates the actor of a policy. [`PolicyName::player`] is not called because it would load the
/// tables of the fitted policies; one of those never acts here.
pub(super) fn actor(policy: PolicyName, setup: &Setup) -> Box<dyn Actor<PolyguardEnv>> {
    let public: Box<dyn Policy<PolyguardEnv> + Send> = match policy {
        PolicyName::Random => Box::new(Random::new(setup.seed)),
        PolicyName::KeepRegimen => Box::new(KeepRegimen),
        PolicyName::LeastRisk => Box::new(LeastRisk),
        PolicyName::RulesOnly => Box::new(RulesOnly),
        PolicyName::BeamSearchPlanner => Box::new(BeamSearch),
        PolicyName::Oracle => {
            let oracle = Player::Privileged(Box::new(LookaheadOracle::new(ORACLE_DEPTH)));
            return Box::new(PolicyActor(oracle));
        }
        PolicyName::Stack => return stack(Mode::SequentialPipeline),
        PolicyName::StackRouted => return stack(Mode::SupervisorRouted),
        PolicyName::StackReplan => return stack(Mode::ReplanOnVeto),
        PolicyName::StackDebate => return stack(Mode::LightweightDebate),
        PolicyName::Imitation | PolicyName::ContextualBandit | PolicyName::Thompson => {
            return Box::new(StackActor::default());
        }
    };
    Box::new(PolicyActor(Player::Public(public)))
}

fn stack(mode: Mode) -> Box<dyn Actor<PolyguardEnv>> {
    Box::new(StackActor {
        stack: Some(AgentStack::new(StackConfig::new(mode))),
        fresh: false,
    })
}

/// A stack of agents whose reports are shown; without a stack it never acts.
#[derive(Default)]
struct StackActor {
    stack: Option<AgentStack>,
    /// `true` if the last choice was made in the state that was observed last.
    fresh: bool,
}

impl Actor<PolyguardEnv> for StackActor {
    fn observe(&mut self, episode: &PolyguardEnv) {
        self.fresh = false;
        if let Some(stack) = &mut self.stack {
            stack.observe(episode.observation());
        }
    }

    fn choose(&mut self, episode: &PolyguardEnv) -> (Option<Action>, bool) {
        let o: &Observation = episode.observation();
        let stack = self.stack.as_mut().filter(|_| !o.done());
        let action = stack.map(|stack| stack.choose(o));
        self.fresh = action.is_some();
        (action, false)
    }

    fn policy_output(&self, _episode: &PolyguardEnv) -> PolicyOutput {
        PolicyOutput::default()
    }

    /// Adds the reports of the agents. Where a person acts no agent was asked, and older reports
    /// concern another state.
    fn add_values(&self, policy_output: &mut PolicyOutput) {
        let Some(stack) = self.stack.as_ref().filter(|_| self.fresh) else {
            return;
        };
        policy_output.values = stack.action_values();
        if let Some(trace) = stack.last_trace() {
            let entries = trace.entries();
            policy_output.remarks = entries
                .iter()
                .map(|entry| remark(trace.formulary, entry))
                .collect();
        }
    }
}

fn remark(formulary: &Formulary, entry: &AgentReport) -> Remark {
    let number = |id: &str| {
        let digits = id.trim_start_matches("cand_");
        digits.trim_start_matches('0').to_owned()
    };
    Remark {
        speaker: entry.agent.to_owned(),
        role: role(entry.agent).to_owned(),
        verdict: names::plain(formulary, &entry.verdict),
        notes: entry
            .notes
            .iter()
            .map(|note| names::plain(formulary, note))
            .collect(),
        scores: entry
            .scores
            .iter()
            .map(|(id, score)| (number(id), *score))
            .collect(),
    }
}

/// Returns the task of an agent within the stack.
fn role(agent: &str) -> &'static str {
    match agent {
        "MedRec" => "Reconciles the chart: how much is taken, and what has no indication",
        "Evidence" => "Asks for laboratory values that a decision needs",
        "GraphSafety" => {
            "Scores each candidate by its effect on the estimated risk, and suspects pairs"
        }
        "Dosing" => "Scores changes of doses by the last level that was measured",
        "Candidate" => "Lists the candidates that may be chosen",
        "Supervisor" => "Sets the focus of the step: doses, regimen, or handing over",
        "Planner" => "Takes the candidate with the largest sum of scores",
        "Critic" => "Vetoes what is not allowed, looks riskier, or leaves a condition untreated",
        "Explainer" => "States the choice in words that the chart contains",
        _ => "An agent of the stack",
    }
}

/// Returns a clause about the size and the inputs of a model.
pub(super) fn describe_network(model: &Model<PolyguardNet>) -> String {
    format!(
        "2 layers of {} hidden units over the candidates, {} parameters. It knows medicines by their traits only",
        model.config.net.hidden,
        grouped(model.weights.count())
    )
}
