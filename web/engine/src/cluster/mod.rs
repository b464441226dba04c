//! The cluster world: jobs on GPUs that fail, workers that overstate progress, and an adversary that
//! forges reports.

mod action_code;
mod attacks;
mod board;
mod captions;
mod chart;
mod display_text;
mod info;
mod step;
mod terms;
mod truth;
mod view;
mod warning;
mod workers;

use sentinel_env::cluster::{Action, ClusterEnv, Observation, Rules, Step, Task};
use sentinel_page_protocol::{AgentView, Chart, StepLine, Truth, WorldInfo};
use sentinel_policy::cluster::PolicyName;
use sentinel_policy::cluster::learned::ClusterNet;
use sentinel_policy::nn::Model;

use crate::caption::CaptionEvent;
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

    const BRIEF_STEP_MS: u32 = 350;
    const GUIDED_PLAYBACK_SEED: u64 = 5004;
    const FOCUS: [&'static str; 2] = [
        "The GPUs",
        "Each tile is a GPU as its reports show it; jobs and workers follow below. Pick jobs, GPUs and workers here to compose an action of your own.",
    ];

    type Code = Action;
    type PublicStep = PublicStep;

    fn default_task() -> Task {
        Task::Task3
    }

    fn daily_task() -> Task {
        Task::Task2
    }

    fn guided_playback_task() -> (Task, Rules) {
        (Task::Task3, Rules::HARDENED)
    }

    fn legacy_player() -> PolicyName {
        PolicyName::Planner
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

    fn caption_events(frame: &PublicFrame<'_, Self>) -> Vec<CaptionEvent> {
        captions::caption_events(frame)
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

    fn true_caption(frames: &[Frame<Self>], index: usize) -> String {
        captions::true_caption(frames, index)
    }

    fn true_charts(frames: &[Frame<Self>], charts: Vec<Chart>) -> Vec<Chart> {
        chart::with_truth(frames, charts)
    }
}
