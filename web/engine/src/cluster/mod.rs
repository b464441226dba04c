//! The cluster world: jobs on GPUs that fail, workers that overstate progress, and an adversary that
//! forges reports.

mod action_code;
mod attacks;
mod board;
mod chart;
mod display_text;
mod info;
mod spot;
mod step;
mod suggestion;
mod terms;
mod truth;
mod view;
mod warning;
mod workers;

use sentinel_env::cluster::{Action, Change, ClusterEnv, Observation, Step, Task};
use sentinel_page_protocol::{
    AgentView, Answer, BoardSign, Chart, StepLine, Suspect, Truth, WorldInfo,
};
use sentinel_policy::cluster::PolicyName;
use sentinel_policy::cluster::learned::ClusterNet;
use sentinel_policy::nn::Model;

use crate::format::grouped;
use crate::run::{Frame, PublicFrame};
use crate::world::{Checkpoint, PageWorld};
use step::PublicStep;

/// The panel of GPUs.
const GPUS: &str = "gpus";
/// The panel of jobs.
const JOBS: &str = "jobs";
/// The panel of workers.
const WORKERS: &str = "workers";

impl PageWorld for ClusterEnv {
    const ANALYSIS_ROLLOUTS: u32 = 8;
    const ACTIONS_MAX: usize = 120;
    const CHECKPOINTS: &'static [Checkpoint] = &[
        Checkpoint {
            name: "1-start",
            label: "untrained",
        },
        Checkpoint {
            name: "2-middle",
            label: "after 100 of 1000 updates",
        },
        Checkpoint {
            name: "3-end",
            label: "after 1000 updates",
        },
    ];
    const TRAINING_RULES: &'static str = "hardened";
    const VALIDATION_SEED: u64 = 5000;
    const FALLBACK: &'static str = "the policy “Periodic checks” acts";

    const QUICK_ANALYSIS: bool = false;
    const SPOT_STEP_MS: u32 = 300;
    const SPOT_SEED: u64 = 5000;

    type Code = Action;
    type PublicStep = PublicStep;

    fn default_task() -> Task {
        Task::Task3
    }

    fn legacy_player() -> PolicyName {
        PolicyName::Planner
    }

    fn loophole() -> (Change, &'static str) {
        let text = "Under the rules as published every false report that is checked counts as an attack found, so checking the same worker again and again fills the detection rate.";
        (Change::Detections, text)
    }

    fn policy_label(policy: PolicyName) -> &'static str {
        match policy {
            PolicyName::Random => "Random",
            PolicyName::Blind => "Blind (first worker)",
            PolicyName::Trust => "Periodic checks",
            PolicyName::OracleLite => "Heuristic with hidden state",
            PolicyName::Planner => "Planner",
            PolicyName::Lookahead => "Look-ahead (slow)",
            PolicyName::Oracle => "Oracle (sees the hidden state, slow)",
        }
    }

    fn policy_help(policy: PolicyName) -> &'static str {
        policy.describe()
    }

    /// Both play the rest of the episode many times before each action.
    fn is_slow(policy: PolicyName) -> bool {
        matches!(policy, PolicyName::Lookahead | PolicyName::Oracle)
    }

    fn complete_info(info: &mut WorldInfo) {
        info::complete_info(info);
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
        display_text::describe(action)
    }

    fn complete_action(observation: &Observation, action: Action) -> Action {
        suggestion::complete(observation, action)
    }

    fn warning(observation: &Observation, action: Action) -> String {
        warning::warning(observation, action)
    }

    fn describe_network(model: &Model<ClusterNet>) -> String {
        format!(
            "2 layers of {} hidden units over jobs, GPUs and workers, {} parameters",
            model.config.net.hidden,
            grouped(model.weights.count())
        )
    }

    /// Takes nothing but the action from `info`.
    fn public_step(before: &Observation, info: &Step, after: &Observation) -> PublicStep {
        PublicStep::new(info.action, before, after)
    }

    fn step_line(step: &PublicStep) -> StepLine {
        step.line()
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
        vec![chart::cluster(frames), chart::trust(frames)]
    }

    fn true_step_line(frame: &Frame<Self>, line: StepLine) -> StepLine {
        truth::step_line(frame, line)
    }

    fn truth(frames: &[Frame<Self>], index: usize) -> Truth {
        truth::truth(frames, index)
    }

    fn answer(frames: &[Frame<Self>]) -> Option<Answer> {
        spot::answer(frames)
    }

    fn true_charts(frames: &[Frame<Self>], charts: Vec<Chart>) -> Vec<Chart> {
        chart::with_truth(frames, charts)
    }
}
