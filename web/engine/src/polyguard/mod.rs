//! The PolyGuard world: an agent makes a simulated medication regimen safer.
//!
//! A simulation with made-up archetypes of medicines, never for the care of a patient; the page
//! says so above everything else.

mod action_code;
mod actor;
mod agents;
mod anti_cheat_panel;
mod candidates;
mod chart;
mod describe;
mod display_text;
mod graph;
mod info;
mod names;
mod patient;
mod regimen;
mod reward_reasons;
mod spot;
mod step;
mod terms;
mod truth;
mod view;

use sentinel_env::polyguard::{
    Action, Change, Difficulty, Episode, MAX_STEPS, Observation, PolyguardEnv, Setup, Split, Step,
    SubEnvironment, TaskSpec,
};
use sentinel_env::{Environment as _, PrivilegedState as _};
use sentinel_page_protocol::{
    AgentView, Answer, BoardSign, Chart, StepLine, Suspect, Truth, WorldInfo,
};
use sentinel_policy::nn::Model;
use sentinel_policy::polyguard::PolicyName;
use sentinel_policy::polyguard::learned::PolyguardNet;

use crate::actor::Actor;
use crate::run::{Frame, PublicFrame};
use crate::world::{Checkpoint, PageWorld, TRAINED};

use action_code::ActionCode;
pub(crate) use info::task_label;
use step::PublicStep;

impl PageWorld for PolyguardEnv {
    const ACTIONS_MAX: usize = MAX_STEPS;
    const CHECKPOINTS: &'static [Checkpoint] = &[
        Checkpoint {
            name: "1-start",
            label: "untrained",
        },
        Checkpoint {
            name: "2-middle",
            label: "after expert iteration",
        },
        Checkpoint {
            name: "3-end",
            label: "after 400 updates",
        },
    ];
    const TRAINING_RULES: &'static str = "hardened";
    const VALIDATION_SEED: u64 = 5000;
    const FALLBACK: &'static str = "the regimen is kept";

    const SPOT_STEP_MS: u32 = 2600;
    const SPOT_PLAYER: &'static str = TRAINED;
    const SPOT_SEED: u64 = 5000;

    type Code = ActionCode;
    type PublicStep = PublicStep;

    fn default_task() -> TaskSpec {
        TaskSpec::new_extended(SubEnvironment::Ddi, Difficulty::Medium, Split::All)
    }

    fn checkpoint_task() -> TaskSpec {
        TaskSpec::new_extended(SubEnvironment::Ddi, Difficulty::Medium, Split::Train)
    }

    fn spot_task() -> TaskSpec {
        TaskSpec::new_extended(SubEnvironment::BanditMining, Difficulty::Hard, Split::All)
    }

    fn legacy_player() -> PolicyName {
        PolicyName::StackReplan
    }

    fn policies() -> Vec<PolicyName> {
        actor::PLAYERS.to_vec()
    }

    fn loophole() -> (Change, &'static str) {
        let text = "Under the rules as published a refused step still earns about 0.4, so mistakes cost little.";
        (Change::Gated, text)
    }

    fn policy_label(policy: PolicyName) -> &'static str {
        display_text::policy(policy)
    }

    fn policy_help(policy: PolicyName) -> &'static str {
        policy.describe()
    }

    fn is_slow(policy: PolicyName) -> bool {
        // It tries every candidate, two steps deep, before each action.
        matches!(policy, PolicyName::Oracle)
    }

    fn complete_info(info: &mut WorldInfo) {
        info::complete(info);
        spot::complete(&mut info.spot);
    }

    fn code(observation: &Observation, action: Action) -> ActionCode {
        ActionCode::new(observation, action)
    }

    fn action(observation: &Observation, code: ActionCode) -> Action {
        code.action(observation)
    }

    fn write_code(code: ActionCode, out: &mut String) {
        action_code::write(code, out);
    }

    fn read_code(text: &mut &str) -> Option<ActionCode> {
        action_code::read(text)
    }

    fn describe_action(observation: &Observation, action: Action) -> String {
        describe::describe_action(observation, action)
    }

    fn warning(observation: &Observation, action: Action) -> String {
        describe::warning(observation, action)
    }

    fn actor(policy: PolicyName, setup: &Setup) -> Box<dyn Actor<Self>> {
        actor::actor(policy, setup)
    }

    fn describe_network(model: &Model<PolyguardNet>) -> String {
        actor::describe_network(model)
    }

    /// While an episode runs, its score depends on the true risk and on resolved issues. The mean
    /// reward so far takes its place.
    fn public_score(episode: &Episode) -> f64 {
        let o = episode.observation();
        if o.done() {
            return episode.score();
        }
        episode.hidden().tally().returned / f64::from(o.step_count.max(1))
    }

    fn public_step(before: &Observation, info: &Step, after: &Observation) -> PublicStep {
        PublicStep::new(before, info, after)
    }

    fn step_line(step: &PublicStep) -> StepLine {
        step::line(step)
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

    fn suspicion(frame: &PublicFrame<'_, Self>) -> Vec<f32> {
        spot::suspicion(frame)
    }

    fn public_record(frame: &PublicFrame<'_, Self>, suspect: u8) -> String {
        spot::public_record(frame, suspect)
    }

    fn charts(frames: &[PublicFrame<'_, Self>]) -> Vec<Chart> {
        vec![chart::risk(frames)]
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
        let steps = frames.iter().filter_map(|frame| {
            let line = step::line(frame.step()?);
            Some(truth::step_line(frame, line))
        });
        chart::with_truth(frames, &steps.collect::<Vec<_>>(), charts)
    }
}
