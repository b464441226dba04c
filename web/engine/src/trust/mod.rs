//! The trust world: five specialists with hidden behaviors.

mod action_code;
mod chart;
mod spot;
mod terms;
mod truth;
mod view;

use sentinel_env::trust::{self, Action, Domain, Observation, Step, Task, TaskLayout, TrustEnv};
use sentinel_page_protocol::{
    AgentView, Answer, BoardSign, Chart, StepLine, Suspect, Tone, Truth, WorldInfo,
};
use sentinel_policy::nn::Model;
use sentinel_policy::trust::PolicyName;
use sentinel_policy::trust::learned::{FeatureSet, Pooling, TrustNet};

pub(crate) use view::short;

use crate::format::grouped;
use crate::run::{Frame, PublicFrame};
use crate::world::{Checkpoint, PageWorld};

/// The public part of a step. It says that an answer was wrong; that it was poison stays hidden.
#[derive(Clone, Debug)]
pub struct PublicStep {
    /// The action as the agent sent it.
    pub action: Action,
    /// Index of the subtask.
    pub node: usize,
    /// Domain of the subtask.
    pub domain: Domain,
    /// Stakes of the subtask, 0..=1.
    pub stakes: f64,
    /// `true` if the subtask was completed, `false` if the attempt failed; `None` if it was skipped.
    pub completed: Option<bool>,
    /// `true` if the specialist's own answer was correct; `None` if none was called.
    pub answer: Option<bool>,
    /// Reward of the step.
    pub reward: f64,
}

impl PageWorld for TrustEnv {
    const ACTIONS_MAX: usize = 45;
    const CHECKPOINTS: &'static [Checkpoint] = &[
        Checkpoint {
            name: "1-start",
            label: "untrained",
        },
        Checkpoint {
            name: "2-middle",
            label: "after 100 of 500 updates",
        },
        Checkpoint {
            name: "3-end",
            label: "after 500 updates",
        },
    ];
    const TRAINING_RULES: &'static str = "reference";
    const VALIDATION_SEED: u64 = 5000;
    const FALLBACK: &'static str = "the .70 heuristic acts";

    const SPOT_STEP_MS: u32 = 1100;
    const SPOT_SEED: u64 = 5040;

    type Code = Action;
    type PublicStep = PublicStep;

    fn default_task() -> Task {
        Task::Task3
    }

    fn legacy_player() -> PolicyName {
        PolicyName::Bayes
    }

    fn loophole() -> (trust::Change, &'static str) {
        let text = "Under the rules as published a checked answer of the liar is corrected for free, so it pays to keep asking the liar.";
        (trust::Change::KnownLiar, text)
    }

    fn policy_label(policy: PolicyName) -> &'static str {
        match policy {
            PolicyName::Random => "Random",
            PolicyName::Heuristic => "Heuristic",
            PolicyName::Heuristic70 => "Heuristic .70 (the published “GRPO”)",
            PolicyName::OracleLite => "Heuristic with hidden state",
            PolicyName::SelfSolve => "Self-solve",
            PolicyName::Bayes => "Bayes look-ahead",
            PolicyName::Oracle => "Oracle (sees the hidden state)",
        }
    }

    fn policy_help(policy: PolicyName) -> &'static str {
        policy.describe()
    }

    fn complete_info(info: &mut WorldInfo) {
        view::complete_info(info);
        spot::complete(&mut info.spot);
    }

    fn code(_observation: &Observation, action: Action) -> Action {
        action
    }

    fn action(_observation: &Observation, code: Action) -> Action {
        code
    }

    fn write_code(code: Action, out: &mut String) {
        action_code::write(code, out);
    }

    fn read_code(text: &mut &str) -> Option<Action> {
        action_code::read(text)
    }

    fn describe_action(_observation: &Observation, action: Action) -> String {
        view::words(action)
    }

    fn describe_network(model: &Model<TrustNet>) -> String {
        let net = model.weights.config();
        let pooling = match net.pooling {
            Pooling::None => "each slot judged by itself",
            Pooling::Mean => "each slot compared with the mean of all",
            Pooling::Max => "each slot compared with the maximum of all",
        };
        let memory = match net.features {
            FeatureSet::Full => "",
            FeatureSet::NoHistory => ", blind to earlier steps",
        };
        format!(
            "2 layers of {} hidden units, {} parameters, {pooling}{memory}",
            net.hidden,
            grouped(model.weights.count())
        )
    }

    fn public_step(_before: &Observation, info: &Step, after: &Observation) -> PublicStep {
        PublicStep {
            action: info.action,
            node: info.node,
            domain: info.domain,
            stakes: info.stakes,
            completed: info.success,
            answer: after.last.and_then(|last| last.success),
            reward: info.grades.reward,
        }
    }

    fn step_line(step: &PublicStep) -> StepLine {
        let (sign, result, tone, notable) = match (step.action, step.completed) {
            (Action::Skip, _) => ("–", "skipped", Tone::Quiet, true),
            (Action::SolveIndependently, _) => ("●", "solved alone", Tone::Neutral, false),
            (_, Some(true)) if step.answer == Some(false) => {
                ("↺", "wrong, corrected", Tone::Good, true)
            }
            (_, Some(true)) => ("✓", "correct", Tone::Good, false),
            _ => ("✗", "wrong", Tone::Bad, true),
        };
        StepLine {
            label: format!("Subtask {}: {}", step.node + 1, view::words(step.action)),
            sign: sign.to_owned(),
            result: result.to_owned(),
            tone,
            notable,
            ..StepLine::default()
        }
    }

    fn agent_view(frame: &PublicFrame<'_, Self>) -> AgentView {
        view::agent_view(frame)
    }

    fn suspects(frame: &PublicFrame<'_, Self>) -> Vec<Suspect> {
        spot::suspects(frame)
    }

    fn board_sign(frame: &PublicFrame<'_, Self>) -> Option<BoardSign> {
        spot::board_sign(frame)
    }

    fn remark(frame: &PublicFrame<'_, Self>) -> String {
        spot::remark(frame)
    }

    fn suspicion(frame: &PublicFrame<'_, Self>) -> Vec<f32> {
        spot::suspicion(frame)
    }

    fn public_record(frame: &PublicFrame<'_, Self>, suspect: u8) -> String {
        spot::public_record(frame, suspect)
    }

    fn charts(frames: &[PublicFrame<'_, Self>]) -> Vec<Chart> {
        vec![chart::trust(frames)]
    }

    fn true_step_line(frame: &Frame<Self>, line: StepLine) -> StepLine {
        truth::step_line(frame, line)
    }

    fn truth(frames: &[Frame<Self>], index: usize) -> Truth {
        truth::truth(&frames[index])
    }

    fn answer(frames: &[Frame<Self>]) -> Option<Answer> {
        spot::answer(frames)
    }

    fn true_charts(frames: &[Frame<Self>], charts: Vec<Chart>) -> Vec<Chart> {
        truth::charts(frames, charts)
    }
}

/// Returns the number of subtasks of a task.
fn subtasks(task: trust::Task) -> usize {
    TaskLayout::for_task(task).len()
}
