//! The PolyGuard world in the page: a workbench for making a risky medication regimen safer under missing data.
//!
//! A simulation with made-up archetypes of medicines, never for the care of a patient; the page says so above
//! everything else.

use sentinel_env::Environment;
use sentinel_env::World as _;
mod actor;
mod audit;
mod beneath;
mod candidates;
mod chart;
mod choose;
mod does;
mod explain;
mod graph;
mod judge;
mod marks;
mod mind;
mod patient;
mod pick;
mod regimen;
mod situation;
mod story;
mod turn;
mod words;

use std::sync::Arc;

use leptos::prelude::*;
use sentinel_env::polyguard::{
    Change, Difficulty, Episode, PolyguardEnv, Setup, Split, SubEnvironment, TaskSpec,
};
use sentinel_env::rng::Streams;
use sentinel_policy::nn::Model;
use sentinel_policy::polyguard::PolicyName;
use sentinel_policy::polyguard::learned::PolyguardNet;
use sentinel_policy::replay::Replay;

use crate::page::{Page, Run};
use crate::play::{Drawing, Frame, Mark, Said, Shape, said};
use crate::state::{Source, View};
use crate::ui::{Parts, Scene, Stage};
use crate::world::{Files, Learned, Named, Opened, World};

use actor::Actor;
pub use mind::Mind;
pub use pick::Pick;
pub use turn::{Session, Turn};

/// The PolyGuard world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polyguard;

fn setup(view: &View<Polyguard>) -> Setup {
    Setup::new(view.task, view.seed).with_rules(view.rules)
}

impl Named for PolicyName {
    fn all() -> &'static [Self] {
        &actor::PLAYERS
    }

    fn name(self) -> &'static str {
        Self::name(self)
    }
}

impl World for Polyguard {
    const NAME: &'static str = "polyguard";
    const ACTIONS_MAX: usize = sentinel_env::polyguard::STEPS;
    const STREAMS: &'static [Streams] = &[Streams::Independent];
    const PLAYER: PolicyName = PolicyName::StackReplan;
    const LEARNED: Option<Learned> = Some(Learned {
        weights: actor::WEIGHTS,
        // The page about training does not fit into this world's first load.
        curves: None,
    });
    const REPLAYS: bool = true;
    const TASK: Option<TaskSpec> = Some(TaskSpec::new_extended(
        SubEnvironment::Ddi,
        Difficulty::Medium,
        Split::All,
    ));
    const ORIGIN: &'static str = "PolyGuard’s public pages";
    const FALLBACK: &'static str = "the regimen is kept";
    const HINTS: bool = true;

    type Task = TaskSpec;
    type Change = Change;
    type Policy = PolicyName;
    type Action = Pick;
    type Step = Turn;
    type Episode = Episode;
    type Session = Session;
    type Mind = Mind;
    type Actor = Actor;
    type Model = Model<PolyguardNet>;
    type Replay = Replay<PolyguardEnv>;

    fn label(policy: PolicyName) -> &'static str {
        words::player(policy)
    }

    fn describe(policy: PolicyName) -> &'static str {
        policy.describe()
    }

    fn cheats(policy: PolicyName) -> bool {
        policy.is_privileged()
    }

    fn slow(policy: PolicyName) -> bool {
        // It tries every candidate, two steps deep, before each action.
        matches!(policy, PolicyName::Oracle)
    }

    fn task_title(case: TaskSpec) -> String {
        words::sub(case.sub()).1.to_owned()
    }

    fn task_label(case: TaskSpec) -> String {
        format!("{}, {}", words::sub(case.sub()).0, case.difficulty().name())
    }

    fn start(view: &View<Self>) -> Session {
        Session::new(Episode::reset(&setup(view)))
    }

    fn act(session: &mut Session, pick: Pick) -> Result<Turn, String> {
        session.act(pick)
    }

    fn episode(session: &Session) -> &Episode {
        session.episode()
    }

    fn digest(session: &Session) -> String {
        session.digest()
    }

    fn done(episode: &Episode) -> bool {
        episode.observation().done()
    }

    fn score(episode: &Episode) -> f64 {
        episode.score()
    }

    fn standing(episode: &Episode) -> String {
        let o = episode.observation();
        match o.end {
            Some(end) => format!("Ended: {}", words::end(end).0),
            None => format!("Step {} of {}", o.step_count, o.budget),
        }
    }

    fn action(turn: &Turn) -> Pick {
        turn.pick
    }

    fn reward(turn: &Turn) -> f64 {
        turn.step.total
    }

    fn mark(turn: &Turn, truth: bool) -> Mark {
        marks::mark(turn, truth)
    }

    fn line(turn: &Turn) -> String {
        marks::line(turn)
    }

    fn write(pick: Pick, out: &mut String) {
        pick::write(pick, out);
    }

    fn read(text: &mut &str) -> Option<Pick> {
        pick::read(text)
    }

    fn actor(view: &View<Self>, source: &Source<Self>, files: Files<'_, Self>) -> Option<Actor> {
        actor::actor(view, source, files)
    }

    fn read_model(bytes: Result<Vec<u8>, String>) -> Result<Arc<Model<PolyguardNet>>, String> {
        crate::weights::read(actor::WEIGHTS, bytes)
    }

    fn model_words(model: &Model<PolyguardNet>) -> String {
        actor::words(model)
    }

    fn read_replay(text: &str) -> Opened<Self> {
        crate::shelf::open::<Self, PolyguardEnv>(text)
    }

    fn said(replay: &Replay<PolyguardEnv>, view: &View<Self>, before: &Episode) -> Option<Said> {
        said::<PolyguardEnv>(replay, &setup(view), before)
    }

    fn holds(replay: &Replay<PolyguardEnv>, view: &View<Self>) -> bool {
        let key = PolyguardEnv::origin(&setup(view));
        replay.episode(&key).is_some()
    }
}

impl Stage for Polyguard {
    const TAGLINE: &'static str = "Make a simulated medication regimen safer, step by step, while values are missing and not every interaction is flagged.";
    const HELP: &'static str = "A made-up patient takes medicines of made-up archetypes. Each step offers up to ten candidates; choose one by a click or its number. What must be put right depends on the case, and is hidden where it would give the answer away: pairs that interact but are not flagged, medicines that are no longer needed, doses that do not fit. A verifier refuses what is illegal, thirteen components grade each step, and the verifier alone ends an episode as a safe resolution. The score is the mean of what the steps counted over all steps that there are; steps saved by a good end count nearly in full, any other end costs most of it. Choose a candidate at any moment, also in a player’s episode: it branches there.";
    const CHARTS: &'static [Shape] = &chart::SHAPES;
    const WARNING: &'static str = "A simulation for research on reinforcement learning. Not a medical device, never for patient care.";
    const STYLE: &'static str = include_str!("style.css");
    const KEYS: &'static [(&'static str, &'static str)] = &[
        ("1 … 9 0", "choose the candidate with this number"),
        ("S", "suspected pairs in the graph"),
    ];

    fn chart(_number: usize, run: &Run<Self>, truth: bool) -> Drawing {
        chart::drawing(run, truth)
    }

    fn spoken(_number: usize, frame: &Frame<Self>) -> String {
        chart::spoken(&frame.episode)
    }

    fn parts(frame: &Frame<Self>, truth: bool) -> Option<Parts> {
        explain::parts(frame, truth)
    }

    fn task_choice(page: Page<Self>) -> AnyView {
        choose::choice(page).into_any()
    }

    fn press(page: Page<Self>, key: &str) -> bool {
        if matches!(key, "s" | "S") {
            page.view.update(|view| view.hints = !view.hints);
            return true;
        }
        candidates::press(page, key)
    }

    fn columns(scene: Scene<Self>) -> (AnyView, AnyView) {
        let wide = view! {
            {candidates::candidates(scene)}
            {regimen::regimen(scene)}
            {graph::graph(scene)}
        };
        let narrow = view! {
            {situation::situation(scene)}
            {patient::patient(scene)}
            {beneath::beneath(scene)}
            {mind::trace(scene)}
            {audit::audit(scene)}
        };
        (wide.into_any(), narrow.into_any())
    }
}
