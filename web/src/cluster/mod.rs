//! The cluster world in the page: jobs on failing GPUs, workers that lie, an adversary that escalates.

use sentinel_env::Environment;
use sentinel_env::TrajectoryDigest;
mod act;
mod actor;
mod chart;
mod code;
mod explain;
mod gpus;
mod jobs;
mod marks;
mod mind;
mod pick;
mod situation;
mod workers;

use std::sync::Arc;

use leptos::prelude::*;
use sentinel_env::World as _;
use sentinel_env::cluster::{
    self, Action, ClusterEnv, Episode, JobStatus, Setup, Size, Step, Task,
};
use sentinel_env::rng::Streams;
use sentinel_env::slot::Slot;
use sentinel_policy::cluster::PolicyName;
use sentinel_policy::cluster::learned::ClusterNet;
use sentinel_policy::nn::Model;
use sentinel_policy::replay::Replay;

use crate::page::Run;
use crate::play::{Drawing, Frame, Mark, Said, Shape, said};
use crate::state::{Source, View};
use crate::ui::{Parts, Scene, Stage};
use crate::world::{Files, Learned, Named, Opened, World};

use actor::Actor;

pub use explain::{explain, explain_terminal};
pub use mind::Mind;

/// The cluster world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster;

/// An episode with the digest of its trajectory.
pub struct Session {
    episode: Episode,
    trajectory: TrajectoryDigest,
}

fn setup(view: &View<Cluster>) -> Setup {
    Setup::new(view.task, view.seed, view.streams).with_rules(view.rules)
}

impl Named for PolicyName {
    fn all() -> &'static [Self] {
        &Self::ALL
    }

    fn name(self) -> &'static str {
        Self::name(self)
    }
}

impl World for Cluster {
    const NAME: &'static str = "cluster";
    const ACTIONS_MAX: usize = 120;
    const STREAMS: &'static [Streams] = ClusterEnv::STREAMS;
    const PLAYER: PolicyName = PolicyName::Planner;
    const LEARNED: Option<Learned> = Some(Learned {
        weights: actor::WEIGHTS,
        // The page about training does not fit into this world's first load beside replays and weights.
        curves: None,
    });
    const REPLAYS: bool = true;

    type Task = Task;
    type Change = cluster::Change;
    type Policy = PolicyName;
    type Action = Action;
    type Step = Step;
    type Episode = Episode;
    type Session = Session;
    type Mind = Mind;
    type Actor = Actor;
    type Model = Model<ClusterNet>;
    type Replay = Replay<ClusterEnv>;

    fn label(policy: PolicyName) -> &'static str {
        match policy {
            PolicyName::Random => "Random",
            PolicyName::Blind => "Blind (first worker)",
            PolicyName::Trust => "Trust (checks now and then)",
            PolicyName::OracleLite => "Oracle lite (sees the truth)",
            PolicyName::Planner => "Planner",
            PolicyName::Lookahead => "Look-ahead (slow)",
            PolicyName::Oracle => "Oracle (sees the truth, slow)",
        }
    }

    fn describe(policy: PolicyName) -> &'static str {
        policy.describe()
    }

    fn cheats(policy: PolicyName) -> bool {
        policy.is_privileged()
    }

    fn slow(policy: PolicyName) -> bool {
        // They play the rest of the episode many times before each action.
        matches!(policy, PolicyName::Lookahead | PolicyName::Oracle)
    }

    fn task_title(task: Task) -> String {
        let size = Size::for_task(task);
        let attacks = if size.adversary { ", attacked" } else { "" };
        format!(
            "{} jobs on {} GPUs in {} steps{attacks}",
            size.jobs, size.gpus, size.max_steps
        )
    }

    fn start(view: &View<Self>) -> Session {
        Session {
            episode: Episode::reset(&setup(view)),
            trajectory: TrajectoryDigest::default(),
        }
    }

    fn act(session: &mut Session, action: Action) -> Result<Step, String> {
        let taken = session.episode.step(action).map_err(|e| e.to_string())?;
        session.trajectory.push(&session.episode, &taken.info);
        Ok(taken.info)
    }

    fn episode(session: &Session) -> &Episode {
        &session.episode
    }

    fn digest(session: &Session) -> String {
        session.trajectory.digest().to_string()
    }

    fn done(episode: &Episode) -> bool {
        episode.observation().done()
    }

    fn score(episode: &Episode) -> f64 {
        episode.tally().score()
    }

    fn standing(episode: &Episode) -> String {
        let o = episode.observation();
        let (done, all) = (o.jobs.count(JobStatus::Complete), o.jobs.rows().len());
        let ended = if o.done() { " · ended" } else { "" };
        format!("{done} of {all} jobs done{ended}")
    }

    fn action(step: &Step) -> Action {
        step.action
    }

    fn reward(step: &Step) -> f64 {
        step.grades.reward
    }

    fn mark(step: &Step, _truth: bool) -> Mark {
        marks::mark(step)
    }

    fn line(step: &Step) -> String {
        marks::line(step)
    }

    fn write(action: Action, out: &mut String) {
        code::write(action, out);
    }

    fn read(text: &mut &str) -> Option<Action> {
        code::read(text)
    }

    fn actor(view: &View<Self>, source: &Source<Self>, files: Files<'_, Self>) -> Option<Actor> {
        actor::actor(view, source, files)
    }

    fn read_model(bytes: Result<Vec<u8>, String>) -> Result<Arc<Model<ClusterNet>>, String> {
        crate::weights::read(actor::WEIGHTS, bytes)
    }

    fn model_words(model: &Model<ClusterNet>) -> String {
        actor::words(model)
    }

    fn read_replay(text: &str) -> Opened<Self> {
        crate::shelf::open::<Self, ClusterEnv>(text)
    }

    fn said(replay: &Replay<ClusterEnv>, view: &View<Self>, before: &Episode) -> Option<Said> {
        said::<ClusterEnv>(replay, &setup(view), before)
    }

    fn holds(replay: &Replay<ClusterEnv>, view: &View<Self>) -> bool {
        replay.episode(&ClusterEnv::origin(&setup(view))).is_some()
    }
}

impl Stage for Cluster {
    const TAGLINE: &'static str = "A scheduler runs jobs on GPUs that fail. Some of its workers lie about progress, and an adversary forges reports.";
    const HELP: &'static str = "Each step the scheduler takes one action: allocate a job to a GPU and a worker, preempt one, ask a worker for a report, verify a report, or wait. Behind the slots S0 to S4 sit behaviors, shuffled in every episode: reliable, overreporting, slow, adversarial once stakes are high, and degrading with every report. In task 3 an adversary forges reports and escalates through five levels. A step's reward is the weighted score of four roles, times the pool's health, times how reliably the scheduler behaves; the score is the mean of all rewards, the final one included.";
    const CHARTS: &'static [Shape] = &chart::SHAPES;

    fn chart(number: usize, run: &Run<Self>, truth: bool) -> Drawing {
        match number {
            0 => chart::cluster(run, truth),
            _ => chart::trust(run),
        }
    }

    fn spoken(number: usize, frame: &Frame<Self>) -> String {
        let o = frame.episode.observation();
        if number == 0 {
            let (health, used, done) = (o.health, o.utilization, o.jobs.completion());
            return format!("health {health:.1}, memory in use {used:.2}, jobs done {done:.2}");
        }
        let list = Slot::ALL.iter().zip(o.ledger.trust());
        let list: Vec<String> = list.map(|(s, t)| format!("{s} {t:.2}")).collect();
        list.join(", ")
    }

    fn parts(frame: &Frame<Self>, _truth: bool) -> Option<Parts> {
        explain::parts(frame)
    }

    fn columns(scene: Scene<Self>) -> (AnyView, AnyView) {
        let hand = pick::Hand::new(scene);
        let wide = view! {
            {gpus::gpus(scene, hand)}
            {jobs::jobs(scene, hand)}
            {workers::workers(scene, hand)}
        };
        let narrow = view! {
            {situation::situation(scene)}
            {mind::mind(scene)}
            {act::form(scene, hand)}
            {situation::attacks(scene)}
            {situation::audit(scene)}
        };
        (wide.into_any(), narrow.into_any())
    }
}
