//! The interface that a world implements to be shown on the page.

use std::fmt::Debug;

use sentinel_env::rng::Streams;
use sentinel_env::rules::{RuleChange as _, Rules};
use sentinel_env::{Environment, EpisodeSpec, Named, TaskName as _};
use sentinel_page_protocol::{
    AgentView, Answer, BoardSign, Chart, Choice, PlayedEpisode, PlayerInfo, SpotInfo, StepLine,
    Suspect, TaskInfo, Truth, WorldInfo,
};
use sentinel_policy::analysis::{Analyzable, DEFAULT_ROLLOUTS};
use sentinel_policy::nn::{Model, Published};
use sentinel_policy::{Playable, Scripted as _};

use crate::actor::{Actor, PolicyActor};
use crate::file_library::episode;
use crate::run::{Frame, PublicFrame};

/// Name of the trained policy in addresses.
pub const TRAINED: &str = "grpo";
/// Readable name of the trained policy.
pub const TRAINED_LABEL: &str = "Trained policy (GRPO)";
/// Readable name of the visitor as a player.
pub const VISITOR_LABEL: &str = "You";
/// Name of the visitor as a player in addresses.
pub const VISITOR: &str = "you";
/// Prefix of the name of a replay in addresses.
pub const REPLAY: &str = "replay:";
/// Prefix of the name of a model that the visitor dropped, in addresses.
pub const MODEL: &str = "model:";

/// Prefix of the name of a checkpoint in addresses.
pub const CHECKPOINT: &str = "checkpoint:";

/// Lowest of the seeds over which the first screen computes a mean. No seed from 20 000 to 99 999 is
/// used for training, for choosing a model or for tests.
const MEAN_SEED: u64 = 20_000;

/// A checkpoint of the trained policy: a model file that ships with the page.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    /// Name in the address, which is that of its folder.
    pub name: &'static str,
    /// State of the training in a few words, such as `untrained`.
    pub label: &'static str,
}

/// Returns the folder of a checkpoint, relative to the page.
#[must_use]
pub fn checkpoint_folder<W: PageWorld>(checkpoint: &Checkpoint) -> String {
    format!("results/policies/{}/{}", W::NAME, checkpoint.name)
}

/// Returns the path of the weights in the folder of a model.
#[must_use]
pub fn weights_path(folder: &str) -> String {
    format!("{folder}/model.safetensors")
}

/// Returns the readable name of a checkpoint as a player.
#[must_use]
pub fn checkpoint_label(checkpoint: &Checkpoint) -> String {
    format!("Checkpoint, {}", checkpoint.label)
}

/// A world that the page shows.
pub trait PageWorld: Playable + Published + Analyzable<Observation: Clone> {
    /// Largest number of actions that an episode can have.
    const ACTIONS_MAX: usize;
    /// Checkpoints of the trained policy that ship with the page, in the order of training.
    const CHECKPOINTS: &'static [Checkpoint];
    /// Rules of the training run that the checkpoints are of, as the address writes them.
    const TRAINING_RULES: &'static str;
    /// First validation seed of the training run.
    const VALIDATION_SEED: u64;
    /// Clause about the fallback of a replay, such as `the .70 heuristic acts`.
    const FALLBACK: &'static str;

    /// Number of rollouts of each action in an analysis: as many as take about ten seconds.
    const ANALYSIS_ROLLOUTS: u32 = DEFAULT_ROLLOUTS;
    /// `true` if the analysis of an episode takes a second at most.
    const QUICK_ANALYSIS: bool = true;

    /// Milliseconds for which the first screen shows a step.
    const SPOT_STEP_MS: u32;
    /// Player of the episodes on the first screen, as the address writes it. The trained policy
    /// watches it.
    const SPOT_PLAYER: &'static str = "random";
    /// Seed of the first episode on the first screen. It is chosen by a rule: the first validation
    /// seed (from 5000 on) whose episode has what `web/engine/tests/spot.rs` asks for, and is shown
    /// in less than a minute.
    const SPOT_SEED: u64;

    /// An action in the form that the address writes.
    type Code: Copy + Debug + PartialEq + Send + Sync;
    /// The public part of a step: its action and visible results, without hidden state.
    type PublicStep: Clone + Debug;

    /// Returns the task of an address that names none.
    fn default_task() -> Self::Task;
    /// Returns the task on which checkpoints are compared.
    fn checkpoint_task() -> Self::Task {
        Self::default_task()
    }
    /// Returns the task whose episodes pose the world's question on the first screen.
    fn spot_task() -> Self::Task {
        Self::default_task()
    }
    /// Returns the player of an older address that names none.
    fn legacy_player() -> Self::PolicyName;
    /// Returns the policies that the page plays, in menu order.
    fn policies() -> Vec<Self::PolicyName> {
        Self::PolicyName::ALL.to_vec()
    }
    /// Returns the readable name of a policy.
    fn policy_label(policy: Self::PolicyName) -> &'static str;
    /// Returns one sentence about a policy.
    fn policy_help(policy: Self::PolicyName) -> &'static str;
    /// Returns `true` if a policy takes too long for a tournament of many episodes.
    fn is_slow(_policy: Self::PolicyName) -> bool {
        false
    }
    /// Returns a change of the rules that closes a loophole, and a sentence about the loophole, which the
    /// rules as published leave open.
    fn loophole() -> (Self::Change, &'static str);
    /// Fills in the parts of `info` that [`world_info`] cannot know: texts, axes, verbs, glossary.
    fn complete_info(info: &mut WorldInfo);

    /// Returns the code of an action taken at an observation.
    fn code(observation: &Self::Observation, action: Self::Action) -> Self::Code;
    /// Returns the action with this code at an observation.
    fn action(observation: &Self::Observation, code: Self::Code) -> Self::Action;
    /// Appends a code to the text of an address.
    fn write_code(code: Self::Code, out: &mut String);
    /// Parses the first code of an address's text and removes it from `text`; `None` if there is
    /// none.
    fn read_code(text: &mut &str) -> Option<Self::Code>;
    /// Returns an action in a few words, with names from the observation before it.
    fn describe_action(observation: &Self::Observation, action: Self::Action) -> String;
    /// Returns a sentence about what would go wrong with an action, judged by the observation;
    /// empty if nothing is known.
    fn warning(_observation: &Self::Observation, _action: Self::Action) -> String {
        String::new()
    }

    /// Returns the action with the parts that the rules ask for and it leaves out.
    fn complete_action(_observation: &Self::Observation, action: Self::Action) -> Self::Action {
        action
    }

    /// Returns an actor that plays as a policy.
    fn actor(policy: Self::PolicyName, setup: &Self::Setup) -> Box<dyn Actor<Self>> {
        Box::new(PolicyActor(policy.start(setup)))
    }
    /// Returns a clause about the size and the inputs of a model.
    fn describe_network(model: &Model<Self::Net>) -> String;

    /// Returns the public score, which is the mean reward so far. A world overrides this if its
    /// score depends on hidden state before the episode has ended.
    fn public_score(episode: &Self) -> f64 {
        episode.score()
    }
    /// Extracts the public part of a step. Every hidden field of `info` is dropped here.
    fn public_step(
        before: &Self::Observation,
        info: &Self::Info,
        after: &Self::Observation,
    ) -> Self::PublicStep;
    /// Returns the line of a step in the list of actions; `code`, `own` and `missed` are filled in
    /// by the caller.
    fn step_line(step: &Self::PublicStep) -> StepLine;
    /// Returns the frame as the agent sees it; `score`, `reward`, `done`, `next` and `transcript`
    /// are filled in by the caller.
    fn agent_view(frame: &PublicFrame<'_, Self>) -> AgentView;
    /// Returns the suspects of the world's question; empty if the episode does not pose it.
    fn suspects(frame: &PublicFrame<'_, Self>) -> Vec<Suspect>;
    /// Returns what the last action showed about suspects.
    fn board_sign(frame: &PublicFrame<'_, Self>) -> Option<BoardSign>;
    /// Returns a sentence about what the last action means for the question; empty for none.
    fn remark(_frame: &PublicFrame<'_, Self>) -> String {
        String::new()
    }
    /// Returns the probability of each suspect in the player's assessment; empty if it has none.
    fn suspicion(frame: &PublicFrame<'_, Self>) -> Vec<f32>;
    /// Returns a sentence about the record of a suspect so far.
    fn public_record(frame: &PublicFrame<'_, Self>, suspect: u8) -> String;
    /// Returns the charts of a run.
    fn charts(frames: &[PublicFrame<'_, Self>]) -> Vec<Chart>;

    /// Returns the line of a step with its true result.
    fn true_step_line(frame: &Frame<Self>, line: StepLine) -> StepLine;
    /// Returns the hidden state of frame `index`.
    fn truth(frames: &[Frame<Self>], index: usize) -> Truth;
    /// Returns the answer to the world's question, without the guess of the network, which is the
    /// caller's to fill in; `None` if the episode does not pose the question.
    fn answer(frames: &[Frame<Self>]) -> Option<Answer>;
    /// Adds hidden values to the charts of a run.
    fn true_charts(_frames: &[Frame<Self>], charts: Vec<Chart>) -> Vec<Chart> {
        charts
    }
}

/// The setup of episodes of world `W`.
pub type SetupOf<W> = <W as Environment>::Setup;

/// Returns the description of a world for menus.
#[must_use]
pub fn world_info<W: PageWorld>() -> WorldInfo {
    let streams = |streams: &Streams| Choice {
        name: streams.name().to_owned(),
        label: streams.name().to_owned(),
        help: String::new(),
    };
    let tasks = W::Task::ALL
        .iter()
        .enumerate()
        .map(|(index, task)| TaskInfo {
            name: task.name().to_owned(),
            label: task.name().to_owned(),
            help: String::new(),
            coordinates: vec![u8::try_from(index).unwrap_or(u8::MAX)],
        });
    let changes = W::Change::ALL.iter().map(|change| Choice {
        name: change.name().to_owned(),
        label: change.name().to_owned(),
        help: change.describe().to_owned(),
    });
    let terms = W::REWARD_TERMS.iter().map(|term| Choice {
        name: term.name.to_owned(),
        label: term.label.to_owned(),
        help: term.meaning.to_owned(),
    });
    let mut rules = vec![Choice {
        name: Rules::<W::Change>::REFERENCE.to_string(),
        label: "Rules as published".to_owned(),
        help: W::loophole().1.to_owned(),
    }];
    if !W::Change::ALL.is_empty() {
        rules.push(Choice {
            name: Rules::<W::Change>::HARDENED.to_string(),
            label: "Hardened".to_owned(),
            help: "With every change that closes a loophole".to_owned(),
        });
    }
    let mut info = WorldInfo {
        name: W::NAME.to_owned(),
        tasks: tasks.collect(),
        streams: W::STREAMS.iter().map(streams).collect(),
        rules,
        rule_changes: changes.collect(),
        reward_terms: terms.collect(),
        players: players::<W>(),
        default_player: TRAINED.to_owned(),
        legacy_player: W::legacy_player().name().to_owned(),
        default_streams: default_streams::<W>().name().to_owned(),
        checkpoints: checkpoints::<W>(),
        quick_analysis: W::QUICK_ANALYSIS,
        spot: SpotInfo {
            step_ms: W::SPOT_STEP_MS,
            episode: spot_episode::<W>(),
            mean_seed: MEAN_SEED,
            ..SpotInfo::default()
        },
        ..WorldInfo::default()
    };
    W::complete_info(&mut info);
    info
}

/// Returns the episode of the first screen.
fn spot_episode<W: PageWorld>() -> PlayedEpisode {
    let spec = EpisodeSpec {
        task: W::spot_task(),
        seed: W::SPOT_SEED,
        streams: default_streams::<W>(),
        rules: default_rules::<W>(),
    };
    PlayedEpisode {
        player: W::SPOT_PLAYER.to_owned(),
        ..episode::<W>(&spec)
    }
}

/// Returns the rules of the checkpoints' training run.
#[must_use]
pub fn training_rules<W: PageWorld>() -> Rules<W::Change> {
    Rules::parse(W::TRAINING_RULES).unwrap_or_default()
}

/// Returns the rules of an address that names none, which have no loopholes.
#[must_use]
pub fn default_rules<W: PageWorld>() -> Rules<W::Change> {
    Rules::HARDENED
}

/// Returns a sentence about a model: its name, rules, size and inputs.
#[must_use]
pub fn describe_model<W: PageWorld>(model: &Model<W::Net>) -> String {
    format!(
        "Model “{}”, trained under {} rules: {}",
        model.config.name,
        model.config.rules_name(),
        W::describe_network(model)
    )
}

/// Returns the stream mode of an address that names none.
#[must_use]
pub fn default_streams<W: PageWorld>() -> Streams {
    W::streams_or_default(Streams::Independent)
}

fn checkpoints<W: PageWorld>() -> Vec<PlayerInfo> {
    let player = |checkpoint: &Checkpoint| PlayerInfo {
        name: format!("{CHECKPOINT}{}", checkpoint.name),
        label: checkpoint_label(checkpoint),
        help: "The trained policy at an earlier or later point of a training run.".to_owned(),
        ..PlayerInfo::default()
    };
    W::CHECKPOINTS.iter().map(player).collect()
}

fn players<W: PageWorld>() -> Vec<PlayerInfo> {
    let trained = PlayerInfo {
        name: TRAINED.to_owned(),
        label: TRAINED_LABEL.to_owned(),
        help: "A small network trained with GRPO. It sees only public observations and takes its most probable action.".to_owned(),
        ..PlayerInfo::default()
    };
    let scripted = W::policies().into_iter().map(|policy| PlayerInfo {
        name: policy.name().to_owned(),
        label: W::policy_label(policy).to_owned(),
        help: W::policy_help(policy).to_owned(),
        privileged: policy.is_privileged(),
        slow: W::is_slow(policy),
    });
    let visitor = PlayerInfo {
        name: VISITOR.to_owned(),
        label: VISITOR_LABEL.to_owned(),
        help: "You choose every action.".to_owned(),
        ..PlayerInfo::default()
    };
    std::iter::once(trained)
        .chain(scripted)
        .chain(std::iter::once(visitor))
        .collect()
}
