//! The trust world in the page: five specialists with hidden behaviors.

use sentinel_env::Environment;
mod actor;
mod chart;
mod explain;
mod marks;
mod probability;
mod situation;
mod specialists;
mod weights;

use std::sync::Arc;

use leptos::prelude::*;
use sentinel_env::World as _;
use sentinel_env::rng::Streams;
use sentinel_env::slot::{SLOTS, Slot};
use sentinel_env::trust::{
    self, Action, Episode, Layout, Session, Setup, Status, Step, TrustEnv, text,
};
use sentinel_policy::nn::Model;
use sentinel_policy::replay::Replay;
use sentinel_policy::trust::PolicyName;
use sentinel_policy::trust::learned::NetConfig;

use crate::page::Run;
use crate::play::{Drawing, Frame, Mark, Said, Shape, said};
use crate::state::{Source, View};
use crate::ui::{Parts, Scene, Stage};
use crate::world::{Files, Learned, Named, Opened, World};
use actor::Actor;

pub use explain::{explain, explain_terminal};

/// The trust world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trust;

/// What a player of this world makes of a moment.
#[derive(Clone, Debug, Default)]
pub struct Mind {
    /// What the player believes now, `[slot][behavior]`.
    pub belief: Option<[[f64; SLOTS]; SLOTS]>,
    /// What the player made of each of [`Action::ALL`] before it chose the next.
    pub values: Option<[f64; 12]>,
    /// Probability that the player gives each of [`Action::ALL`] now; none after the end.
    pub probabilities: Option<[f64; 12]>,
}

impl Named for PolicyName {
    fn all() -> &'static [Self] {
        &Self::ALL
    }

    fn name(self) -> &'static str {
        Self::name(self)
    }
}

fn setup(view: &View<Trust>) -> Setup {
    Setup::new(view.task, view.seed, view.streams).with_rules(view.rules)
}

impl World for Trust {
    const NAME: &'static str = "trust";
    const ACTIONS_MAX: usize = 45;
    const STREAMS: &'static [Streams] = TrustEnv::STREAMS;
    const PLAYER: PolicyName = PolicyName::Bayes;
    const LEARNED: Option<Learned> = Some(Learned {
        weights: weights::ADDRESS,
        curves: Some("replays/grpo/trainer_state.json"),
    });
    const REPLAYS: bool = true;

    type Task = trust::Task;
    type Change = trust::Change;
    type Policy = PolicyName;
    type Action = Action;
    type Step = Step;
    type Episode = Episode;
    type Session = Session;
    type Mind = Mind;
    type Actor = Actor;
    type Model = Model<NetConfig>;
    type Replay = Replay<TrustEnv>;

    fn label(policy: PolicyName) -> &'static str {
        match policy {
            PolicyName::Random => "Random",
            PolicyName::Heuristic => "Heuristic",
            PolicyName::Heuristic70 => "Heuristic .70 (published as “GRPO”)",
            PolicyName::OracleLite => "Oracle (sees the truth)",
            PolicyName::SelfSolve => "Self-solve",
            PolicyName::Bayes => "Bayes look-ahead",
            PolicyName::Oracle => "Bayes, told the truth",
        }
    }

    fn describe(policy: PolicyName) -> &'static str {
        policy.describe()
    }

    fn cheats(policy: PolicyName) -> bool {
        policy.is_privileged()
    }

    fn task_title(task: trust::Task) -> String {
        format!(
            "{} subtasks, {}",
            Layout::for_task(task).len(),
            task.difficulty()
        )
    }

    fn start(view: &View<Self>) -> Session {
        Session::new(&setup(view))
    }

    fn act(session: &mut Session, action: Action) -> Result<Step, String> {
        session.act(action).map_err(|error| error.to_string())?;
        let step = session.last_step().copied();
        step.ok_or_else(|| "no step was taken".to_owned())
    }

    fn episode(session: &Session) -> &Episode {
        session.episode()
    }

    fn digest(session: &Session) -> String {
        session.digest().digest().to_string()
    }

    fn done(episode: &Episode) -> bool {
        episode.observation().done()
    }

    fn score(episode: &Episode) -> f64 {
        episode.tally().score()
    }

    fn standing(episode: &Episode) -> String {
        let status = match episode.observation().status {
            Status::Active => "running",
            Status::Completed => "completed",
            Status::Failed => "ended by poison",
        };
        format!("{} · {status}", episode.scenario().id())
    }

    fn action(step: &Step) -> Action {
        step.action
    }

    fn reward(step: &Step) -> f64 {
        step.grades.reward
    }

    fn mark(step: &Step, truth: bool) -> Mark {
        marks::mark(step, truth)
    }

    fn line(step: &Step) -> String {
        format!("{} {}", text::NodeId(step.node), step.action)
    }

    /// `d3` delegates to S3, `v3` verifies it, `s` solves, `k` skips.
    fn write(action: Action, out: &mut String) {
        let (letter, slot) = match action {
            Action::Delegate(slot) => ('d', Some(slot)),
            Action::Verify(slot) => ('v', Some(slot)),
            Action::SolveIndependently => ('s', None),
            Action::Skip => ('k', None),
        };
        out.push(letter);
        out.extend(slot.and_then(|slot| char::from_digit(slot.index() as u32, 10)));
    }

    fn read(text: &mut &str) -> Option<Action> {
        let mut letters = text.chars();
        let letter = letters.next()?;
        let mut slot = || Slot::new(letters.next()?.to_digit(10)? as usize);
        let action = match letter {
            'd' => Action::Delegate(slot()?),
            'v' => Action::Verify(slot()?),
            's' => Action::SolveIndependently,
            'k' => Action::Skip,
            _ => return None,
        };
        *text = letters.as_str();
        Some(action)
    }

    fn actor(view: &View<Self>, source: &Source<Self>, files: Files<'_, Self>) -> Option<Actor> {
        actor::actor(view, source, files)
    }

    fn read_model(bytes: Result<Vec<u8>, String>) -> Result<Arc<Model<NetConfig>>, String> {
        crate::weights::read(weights::ADDRESS, bytes)
    }

    fn model_words(model: &Model<NetConfig>) -> String {
        weights::words(model)
    }

    fn read_replay(text: &str) -> Opened<Self> {
        crate::shelf::open::<Self, TrustEnv>(text)
    }

    fn said(replay: &Replay<TrustEnv>, view: &View<Self>, before: &Episode) -> Option<Said> {
        said::<TrustEnv>(replay, &setup(view), before)
    }

    fn holds(replay: &Replay<TrustEnv>, view: &View<Self>) -> bool {
        replay.episode(&TrustEnv::origin(&setup(view))).is_some()
    }
}

impl Stage for Trust {
    const TAGLINE: &'static str = "An orchestrator has work to hand out and five specialists to choose from. One of them lies when it matters.";
    const HELP: &'static str = "Each subtask can be delegated to a specialist, verified (one step more, catches poison), solved alone (two steps, always right) or skipped. Behind the slots S0 to S4 sit five behaviors, shuffled in every episode: slow but right, fast and overconfident, good in its field only, adversarial once stakes reach .70, and wearing out with use. The score is the mean of all rewards, the final one included.";
    const CHARTS: &'static [Shape] = &[chart::SHAPE];

    fn chart(_number: usize, run: &Run<Self>, truth: bool) -> Drawing {
        chart::drawing(run, truth)
    }

    fn spoken(_number: usize, frame: &Frame<Self>) -> String {
        let trust = frame.episode.observation().ledger.trust();
        let list = Slot::ALL.iter().zip(trust);
        let list: Vec<String> = list.map(|(s, t)| format!("{s} {t:.2}")).collect();
        list.join(", ")
    }

    fn parts(frame: &Frame<Self>, _truth: bool) -> Option<Parts> {
        let step = frame.step?;
        let task = frame.episode.observation().task;
        let last = step.grades.reward;
        let end = step.terminal.map(|end| {
            let note = if end.forced {
                "Believed poison at stakes of .85 or more ended the episode: .01.".to_owned()
            } else {
                format!("Task 1 ends with its last step’s reward again: {last:.4}.")
            };
            ("Terminal reward", end.reward, explain_terminal(&end), note)
        });
        Some(Parts {
            reward: last,
            step: vec![(String::new(), explain(task, &step.grades))],
            end,
        })
    }

    fn columns(scene: Scene<Self>) -> (AnyView, AnyView) {
        (
            specialists::specialists(scene).into_any(),
            situation::situation(scene).into_any(),
        )
    }
}
