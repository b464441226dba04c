//! A custom environment, from its rules to a policy trained with GRPO, in one file that uses only
//! the published interfaces: `cargo run --release -p sentinel-trainer --example liar_bandit`.
//!
//! Four arms state what they will pay. Two of them lie, but only when the stakes are high, and the
//! observation does not say which. `docs/adding-a-world.md` explains this file.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "an example reports its scores"
)]

use sentinel_base::SeedRange;
use sentinel_compact::evaluate::evaluate_baseline;
use sentinel_compact::parameter_tensors::{Outputs, ParameterTensors};
use sentinel_compact::{
    Learn, NamedPolicy, NetworkWorld, RunDir, SetInputs, Tensor, Threads, TrainConfig, evaluate,
    load_model, train,
};
use sentinel_env::digest::Digest;
use sentinel_env::rng::{PyRandom, derive_seed};
use sentinel_env::rules::{NoRuleChange, Rules};
use sentinel_env::task::SingleTask;
use sentinel_env::{Environment, EpisodeSpec, Transition, World};
use sentinel_policy::nn::{ChoiceSet, FeatureSchema, RowWriter, SetNet, TrainedPolicy};
use sentinel_policy::replay::{
    Fields, Recordable, Replay, RowError, record_episode, to_lines, verify,
};
use sentinel_policy::{Player, Policy, nn};
use serde_json::{Value, json};

// 1. The rules: plain types, and an episode that implements `Environment`.

const ARMS: usize = 4;
const STEPS: u32 = 20;

/// The observation that a policy receives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Observation {
    step: u32,
    high_stakes: bool,
    /// The payment that each arm claims.
    claims: [f64; ARMS],
    /// `true` for each arm that was caught in a lie.
    lied: [bool; ARMS],
    /// `true` for each arm that paid its claim when the stakes were high.
    kept: [bool; ARMS],
}

#[derive(Clone, Debug)]
pub(crate) struct LiarBandit {
    setup: EpisodeSpec<Self>,
    observation: Observation,
    liars: [bool; ARMS],
    random: PyRandom,
    earned: f64,
    at_stake: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arm(usize);

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("the episode has ended: reset before the next step")]
    Over,
    #[error("there is no arm {0}: the arms are 0 to 3")]
    UnknownArm(usize),
}

impl std::fmt::Display for Arm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pull {}", self.0)
    }
}

impl LiarBandit {
    /// Draws the stakes and the claims of the arms for the next pull.
    fn next_offer(&mut self) {
        let o = &mut self.observation;
        o.high_stakes = self.random.random() < 0.5;
        // Liars make better claims than honest arms, most of all at high stakes.
        let liar = if o.high_stakes { 0.5 } else { 0.3 };
        for (claim, lies) in o.claims.iter_mut().zip(self.liars) {
            *claim = if lies { liar } else { 0.2 } + 0.5 * self.random.random();
        }
    }
}

impl Environment for LiarBandit {
    type Setup = EpisodeSpec<Self>;
    type Action = Arm;
    type Observation = Observation;
    type Info = ();
    type StepError = Refused;

    fn reset(setup: &Self::Setup) -> Self {
        let mut random = PyRandom::new(derive_seed(setup.seed, 1));
        let first = random.below(ARMS as u32) as usize;
        let second = (first + 1 + random.below(ARMS as u32 - 1) as usize) % ARMS;
        let mut episode = Self {
            setup: *setup,
            observation: Observation::default(),
            liars: std::array::from_fn(|arm| arm == first || arm == second),
            random,
            earned: 0.0,
            at_stake: 0.0,
        };
        episode.next_offer();
        episode
    }

    fn step(&mut self, Arm(arm): Arm) -> Result<Transition<()>, Refused> {
        let o = &mut self.observation;
        if o.step == STEPS {
            return Err(Refused::Over);
        }
        let claim = *o.claims.get(arm).ok_or(Refused::UnknownArm(arm))?;
        let lie = o.high_stakes && self.liars[arm];
        let weight = if o.high_stakes { 3.0 } else { 1.0 };
        let reward = if lie { 0.0 } else { weight * claim };
        o.lied[arm] |= lie;
        o.kept[arm] |= o.high_stakes && !lie;
        o.step += 1;
        self.earned += reward;
        self.at_stake += weight;
        self.next_offer();
        Ok(Transition {
            reward,
            terminated: Self::is_done(&self.observation),
            truncated: false,
            info: (),
        })
    }

    fn observation(&self) -> &Observation {
        &self.observation
    }

    fn setup(&self) -> &Self::Setup {
        &self.setup
    }

    fn is_done(observation: &Observation) -> bool {
        observation.step == STEPS
    }

    fn step_count(observation: &Observation) -> u32 {
        observation.step
    }

    fn score(&self) -> f64 {
        self.earned / self.at_stake.max(1.0)
    }
}

impl World for LiarBandit {
    const NAME: &'static str = "liar_bandit";
    type Task = SingleTask;
    type Change = NoRuleChange;

    fn setup_from_spec(spec: EpisodeSpec<Self>) -> Self::Setup {
        spec
    }

    fn episode_spec(setup: &Self::Setup) -> EpisodeSpec<Self> {
        *setup
    }

    fn max_steps(_task: SingleTask) -> u32 {
        STEPS
    }

    fn write_digest(&self, (): &(), digest: &mut Digest) {
        digest.write_f64(self.earned);
    }
}

// 2. Replays: the format of an action in a file.

impl Recordable for LiarBandit {
    const ACTION_DIM: usize = ARMS;

    fn scenario_id(&self) -> String {
        format!("BANDIT-{}", self.setup.seed)
    }

    fn fallback(_observation: &Observation) -> Arm {
        Arm(0)
    }

    fn write_action(Arm(arm): Arm) -> Vec<(&'static str, Value)> {
        vec![("arm", json!(arm))]
    }

    fn read_action(fields: &mut Fields) -> Result<Arm, RowError> {
        let arm = fields.take("arm").and_then(|value| value.as_u64());
        let arm = arm.filter(|arm| *arm < ARMS as u64);
        let unknown = || RowError::Action("arm is missing or unknown: use 0 to 3".to_owned());
        arm.map(|arm| Arm(arm as usize)).ok_or_else(unknown)
    }
}

// 3. A heuristic as a baseline: believe the best claim.

struct Gullible;

impl Policy<LiarBandit> for Gullible {
    fn choose(&mut self, o: &Observation) -> Arm {
        let better = |a: usize, b: usize| if o.claims[b] > o.claims[a] { b } else { a };
        Arm((1..ARMS).fold(0, better))
    }
}

// 4. The network's features of each arm. `SetNet` scores the arms by them and chooses among them.

impl ChoiceSet for LiarBandit {
    const ALTERNATIVES: usize = ARMS;
    const SCHEMA: FeatureSchema =
        FeatureSchema::new("arm", &["claim", "high", "high_claim", "lied", "kept"]);

    fn features(o: &Observation, arm: usize, row: &mut RowWriter<'_>) {
        row.push("claim", o.claims[arm]);
        row.push_bool("high", o.high_stakes);
        row.push("high_claim", o.claims[arm] * f64::from(o.high_stakes));
        row.push_bool("lied", o.lied[arm]);
        row.push_bool("kept", o.kept[arm]);
    }

    fn choose(_o: &Observation, arm: usize) -> Arm {
        Arm(arm)
    }
}

// 5. Training: the same network on tensors, and the baselines.

impl NetworkWorld for LiarBandit {
    type Net = SetNet<Self>;
}

impl Learn for LiarBandit {
    const BASELINES: &'static [&'static str] = &["gullible"];

    fn net(config: &TrainConfig) -> SetNet<Self> {
        SetNet::new(config.hidden)
    }

    fn forward<T: Tensor>(
        net: &ParameterTensors<SetNet<Self>, T>,
        features: &[&nn::SetFeatures],
    ) -> Outputs<T> {
        SetInputs::new::<Self>(features, net.device()).forward(net)
    }

    fn policies() -> Vec<NamedPolicy<Self>> {
        let start = |_: &EpisodeSpec<Self>| Player::Public(Box::new(Gullible));
        vec![NamedPolicy::new("gullible", false, start)]
    }
}

// 6. Train, evaluate, record and verify.

/// Returns the mean scores of the trained policy and of the heuristic on the test seeds.
pub(crate) fn run(
    folder: &std::path::Path,
    updates: usize,
) -> Result<[f64; 2], Box<dyn std::error::Error>> {
    let config = TrainConfig {
        world: LiarBandit::NAME.to_owned(),
        max_steps: updates,
        episodes_per_update: 16,
        num_generations: 8,
        hidden: 16,
        learning_rate: 0.02,
        eval_steps: 10,
        validation_seeds: SeedRange::new(5_000, 5_100),
        test_seeds: SeedRange::new(1_000, 1_500),
        ..TrainConfig::default()
    };
    train::<LiarBandit>(&config, &RunDir::new(folder), &mut |_| ())?;
    let model = std::sync::Arc::new(load_model(folder)?);

    let (tasks, rules) = ([SingleTask], Rules::REFERENCE);
    let trained =
        evaluate::<LiarBandit>(&Threads, &model.weights, rules, &tasks, config.test_seeds);
    let gullible = LiarBandit::policies().remove(0);
    let gullible =
        evaluate_baseline::<LiarBandit>(&Threads, &gullible, rules, &tasks, config.test_seeds);

    let mut player = Player::Public(Box::new(TrainedPolicy::new(model)));
    let (_, rows) = record_episode(&EpisodeSpec::new(SingleTask, 1_000), &mut player, "grpo");
    let replay = Replay::<LiarBandit>::parse(&to_lines(&rows)?);
    let found = verify(&replay);
    assert!(found.fits() && found.hits == rows.len(), "{found:?}");
    Ok([trained.overall, gullible.overall])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("liar-bandit-{}", std::process::id()));
    let [trained, gullible] = run(&folder, 60)?;
    println!("trained {trained:.3}, believing the best claim {gullible:.3}");
    println!("the model and its curves are in {}", folder.display());
    Ok(())
}
