//! GRPO on an environment of another crate, which implements only the required items.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sentinel_compact::parameter_tensors::{Outputs, ParameterTensors};
use sentinel_compact::{
    Event, Learn, Method, NamedPolicy, NetworkWorld, RunDir, Tensor, TrainConfig, load_model,
    train, train_until,
};
use sentinel_env::digest::Digest;
use sentinel_env::rng::derive_seed;
use sentinel_env::rules::{NoRuleChange, Rules};
use sentinel_env::{Environment, EpisodeSpec, Seeded, TaskName, Transition, World};
use sentinel_policy::nn::{
    Architecture, Choice, FeatureSchema, FeatureWriter, Init, Network, Observe, Output, Scratch,
    Shape, TrainedPolicy, Weights, linear,
};
use sentinel_policy::rollout::run_score;
use sentinel_policy::{Player, Policy};
use sentinel_rl::credit_options::Credit;
use sentinel_run::{Outcome, read_events};
use serde::{Deserialize, Serialize};

/// The number of steps of an episode.
const STEPS: u32 = 8;
/// The number of signals that can be shown.
const SIGNALS: usize = 3;

/// An environment that shows one of three signals. The action names the signal and states whether
/// this is the last step.
#[derive(Clone, Debug)]
struct Signals {
    setup: Setup,
    observation: Observation,
    right: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Setup {
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Observation {
    signal: usize,
    step: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Answer {
    signal: usize,
    is_last: bool,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.signal, self.is_last)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the episode has ended")]
struct Ended;

impl Seeded for Setup {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn with_seed(self, seed: u64) -> Self {
        Self { seed }
    }
}

impl Signals {
    fn look(&mut self, step: u32) {
        let signal = derive_seed(self.setup.seed, u64::from(step) + 1) % SIGNALS as u64;
        self.observation = Observation {
            signal: signal as usize,
            step,
        };
    }
}

impl Environment for Signals {
    type Setup = Setup;
    type Action = Answer;
    type Observation = Observation;
    type Info = ();
    type StepError = Ended;

    fn reset(setup: &Setup) -> Self {
        let observation = Observation { signal: 0, step: 0 };
        let mut episode = Self {
            setup: *setup,
            observation,
            right: 0,
        };
        episode.look(0);
        episode
    }

    fn step(&mut self, action: Answer) -> Result<Transition<()>, Ended> {
        let Observation { signal, step } = self.observation;
        if step == STEPS {
            return Err(Ended);
        }
        let is_last = step + 1 == STEPS;
        let right = action.signal == signal && action.is_last == is_last;
        self.right += u32::from(right);
        self.look(step + 1);
        Ok(Transition {
            reward: f64::from(u8::from(right)),
            terminated: is_last,
            truncated: false,
            info: (),
        })
    }

    fn observation(&self) -> &Observation {
        &self.observation
    }

    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn is_done(observation: &Observation) -> bool {
        observation.step == STEPS
    }

    fn step_count(observation: &Observation) -> u32 {
        observation.step
    }

    fn score(&self) -> f64 {
        f64::from(self.right) / f64::from(STEPS)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct OnlyTask;

impl fmt::Display for OnlyTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TaskName for OnlyTask {
    const ALL: &'static [Self] = &[Self];

    fn name(self) -> &'static str {
        "signals"
    }

    fn parse(name: &str) -> Option<Self> {
        (name == "signals").then_some(Self)
    }
}

impl World for Signals {
    const NAME: &'static str = "signals";
    type Task = OnlyTask;
    type Change = NoRuleChange;

    fn setup_from_spec(spec: EpisodeSpec<Self>) -> Setup {
        Setup { seed: spec.seed }
    }

    fn episode_spec(setup: &Setup) -> EpisodeSpec<Self> {
        EpisodeSpec {
            task: OnlyTask,
            seed: setup.seed,
            streams: Self::STREAMS[0],
            rules: Rules::REFERENCE,
        }
    }

    fn max_steps(_task: OnlyTask) -> u32 {
        STEPS
    }

    fn write_digest(&self, _info: &(), digest: &mut Digest) {
        digest.write_u64(u64::from(self.right));
    }
}

/// The features of an observation.
const SCHEMA: FeatureSchema = FeatureSchema::new(
    "global",
    &["signal=a", "signal=b", "signal=c", "is_last_step"],
);
const WIDTH: usize = SCHEMA.width();
/// The number of columns: the signals, then two for whether it is the last step.
const COLUMNS: usize = SIGNALS + 2;

/// A network with one linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct SignalsNet {
    hidden: usize,
}

impl Architecture for SignalsNet {
    const WORLD: &'static str = Signals::NAME;
    const FEATURE_VERSION: u32 = 1;

    fn shapes(&self) -> Vec<Shape> {
        vec![
            Shape::new("policy.weight", WIDTH, COLUMNS, Init::Head),
            Shape::new("policy.bias", 1, COLUMNS, Init::Zero),
        ]
    }

    fn feature_version(&self) -> u32 {
        1
    }

    fn hidden(&self) -> usize {
        self.hidden
    }
}

/// An observer without memory.
#[derive(Clone, Debug)]
struct Memoryless;

impl Observe for Memoryless {
    type Observation = Observation;
    type Features = [f32; WIDTH];

    fn observe(&mut self, _observation: &Observation) {}

    fn features(&self, observation: &Observation) -> [f32; WIDTH] {
        let mut row = FeatureWriter::new(&SCHEMA);
        row.push_one_hot("signal", SIGNALS, Some(observation.signal));
        row.push_bool("is_last_step", observation.step + 1 == STEPS);
        row.finish()
    }
}

impl Network for SignalsNet {
    type Env = Signals;
    type Observer = Memoryless;
    type Features = [f32; WIDTH];

    const LOGITS: usize = COLUMNS;
    const FACTOR_COLUMNS: &'static [Range<usize>] = &[0..SIGNALS, SIGNALS..COLUMNS];
    const FEATURE_SCHEMAS: &'static [FeatureSchema] = &[SCHEMA];

    fn observer(&self) -> Memoryless {
        Memoryless
    }

    fn forward(w: &Weights<Self>, x: &[f32; WIDTH], _scratch: &mut Scratch, out: &mut Output) {
        linear(x, w.tensor(0), w.tensor(1), &mut out.logits);
    }

    fn decode_action(choice: &Choice, _observation: &Observation) -> Answer {
        Answer {
            signal: choice.column(0),
            is_last: choice.column(1) == SIGNALS,
        }
    }

    fn encode_action(_action: Answer, _observation: &Observation) -> Option<Choice> {
        None
    }
}

/// A policy that always gives the same answer.
struct Stubborn;

impl Policy<Signals> for Stubborn {
    fn choose(&mut self, _observation: &Observation) -> Answer {
        Answer {
            signal: 0,
            is_last: false,
        }
    }
}

impl NetworkWorld for Signals {
    type Net = SignalsNet;
}

impl Learn for Signals {
    fn net(config: &TrainConfig) -> SignalsNet {
        SignalsNet {
            hidden: config.hidden,
        }
    }

    fn forward<T: Tensor>(
        net: &ParameterTensors<SignalsNet, T>,
        features: &[&[f32; WIDTH]],
    ) -> Outputs<T> {
        let values = features.iter().copied().flatten().copied().collect();
        let inputs = T::constant(values, [features.len(), WIDTH], net.device());
        Outputs {
            logits: net.linear(inputs, 0, 1),
            beliefs: None,
        }
    }

    fn policies() -> Vec<NamedPolicy<Self>> {
        let start = |_: &Setup| Player::Public(Box::new(Stubborn));
        vec![NamedPolicy::new("stubborn", false, start)]
    }
}

fn config() -> TrainConfig {
    TrainConfig {
        max_steps: 30,
        episodes_per_update: 8,
        num_generations: 8,
        learning_rate: 0.05,
        validation_seeds: "5000..5010".parse().expect("a range"),
        test_seeds: "1000..1010".parse().expect("a range"),
        eval_steps: 10,
        ..TrainConfig::preset::<Signals>(Method::Grpo, false)
    }
}

#[test]
fn grpo_learns_custom_environment() {
    for credit in [Credit::Step, Credit::RewardToGo, Credit::Episode] {
        let folder = tempfile::tempdir().expect("a folder");
        let config = TrainConfig { credit, ..config() };
        let mut score = 0.0;
        let mut listen = |event: &Event| {
            if let Event::Finished {
                scores: Some(scores),
                ..
            } = event
            {
                score = scores.overall;
            }
        };
        train::<Signals>(&config, &RunDir::new(folder.path()), &mut listen).expect("a run");
        assert!(score > 0.9, "{credit:?}: a score of {score}");
        let model = load_model::<SignalsNet>(folder.path()).expect("the model of the run");
        let policy = TrainedPolicy::new(Arc::new(model));
        let mut player = Player::Public(Box::new(policy));
        let replayed = run_score::<Signals>(&Setup { seed: 1000 }, &mut player);
        assert!(replayed > 0.8, "{credit:?}: the model scores {replayed}");
        let card = std::fs::read_to_string(folder.path().join("README.md")).expect("a card");
        assert!(card.contains("world `signals`"), "{card}");
    }
}

#[test]
fn stopped_run_resumes_to_same_weights() {
    let (whole, stopped) = (tempfile::tempdir(), tempfile::tempdir());
    let (whole, stopped) = (whole.expect("a folder"), stopped.expect("a folder"));
    train::<Signals>(&config(), &RunDir::new(whole.path()), &mut |_| ()).expect("a run");

    let (stop, dir) = (AtomicBool::new(false), RunDir::new(stopped.path()));
    let mut locked = None;
    let mut listen = |event: &Event| {
        if matches!(event, Event::Step { step: 7, .. }) {
            stop.store(true, Ordering::Relaxed);
            let forced = RunDir {
                force: true,
                ..dir.clone()
            };
            let second = train::<Signals>(&config(), &forced, &mut |_| ());
            locked = second.err().map(|error| error.to_string());
        }
    };
    let outcome = train_until::<Signals>(&config(), &dir, &stop, &mut listen);
    assert_eq!(outcome.expect("a run"), Outcome::Interrupted);
    let locked = locked.expect("no second run in the same folder");
    assert!(locked.contains("another run is using"), "{locked}");
    let resumed = RunDir {
        resume: true,
        ..dir
    };
    let outcome = train::<Signals>(&config(), &resumed, &mut |_| ());
    assert_eq!(outcome.expect("a run"), Outcome::Finished);

    let weights = |folder: &tempfile::TempDir| {
        let model = load_model::<SignalsNet>(folder.path()).expect("the model of the run");
        model.weights
    };
    assert!(weights(&stopped) == weights(&whole));
    let steps = |folder: &tempfile::TempDir| -> Vec<usize> {
        let events = read_events(&folder.path().join("events.jsonl")).expect("a log");
        let step = |event: Event| match event {
            Event::Step { step, .. } => Some(step),
            _ => None,
        };
        events.into_iter().filter_map(step).collect()
    };
    assert_eq!(steps(&stopped), (1..=30).collect::<Vec<_>>());
    assert_eq!(steps(&whole), steps(&stopped));
}

/// Without the choice of an action there is nothing to imitate.
#[test]
fn teacher_without_encoded_actions_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = TrainConfig {
        method: Method::Imitation,
        teacher: "stubborn".to_owned(),
        ..config()
    };
    let refused = train::<Signals>(&config, &RunDir::new(folder.path()), &mut |_| ());
    let reason = refused.expect_err("nothing to learn").to_string();
    assert!(reason.contains("teacher stubborn"), "{reason}");
}

#[test]
fn config_for_other_world_or_teacher_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |config: &TrainConfig| {
        let run = train::<Signals>(config, &RunDir::new(folder.path()), &mut |_| ());
        run.expect_err("it is refused").to_string()
    };
    let foreign = refused(&TrainConfig::default());
    assert_eq!(
        foreign,
        "the configuration is for world trust, and this is signals"
    );
    let without_teacher = refused(&TrainConfig {
        method: Method::Imitation,
        ..config()
    });
    assert!(
        without_teacher.contains("unknown teacher \"bayes\""),
        "{without_teacher}"
    );
}
