//! What an environment needs to be trained on, beyond the network that plays it.

mod cluster;
mod polyguard;
mod trust;

use burn::tensor::Device;
use sentinel_env::Named;
use sentinel_env::{Environment, World};
use sentinel_policy::nn::{Architecture as _, Choice, ModelConfig, Network};
use sentinel_policy::policy::Player;
use sentinel_policy::{Playable, Scripted};

use super::TrainError;
use super::config::{Method, TrainConfig};
use super::net::{Net, Outputs};

/// The features of an environment's network.
pub type FeaturesOf<W> = <<W as Learn>::Net as Network>::Features;
/// The memory of an environment's network over an episode.
pub type ObserverOf<W> = <<W as Learn>::Net as Network>::Observer;

/// An environment that can be trained on: its network, and the same forward pass on tensors.
///
/// Everything else has a default: a teacher is needed for imitation alone, belief targets for an
/// auxiliary loss, presets and a description for the command line and the model card.
pub trait Learn: World {
    /// The network that plays.
    type Net: Network<Env = Self>;
    /// A batch of features on a device.
    type Inputs;

    /// The policies of [`Learn::policies`] that the model card compares with.
    const BASELINES: &'static [&'static str] = &[];

    /// Returns the network that a configuration asks for. It reads the options that it knows.
    fn net(config: &TrainConfig) -> Self::Net;

    /// Brings features to a device.
    fn inputs<'a>(
        features: impl Iterator<Item = &'a FeaturesOf<Self>>,
        device: &Device,
    ) -> Self::Inputs;

    /// Computes the same as [`Network::forward`], on tensors with gradients.
    fn forward(net: &Net<Self::Net>, inputs: &Self::Inputs) -> Outputs;

    /// Returns two sentences for the model card, the first of them without its subject.
    fn describe(net: &Self::Net) -> String {
        format!(
            "it is a network with {} hidden units and plays the most probable action.",
            net.hidden()
        )
    }

    /// Sets the environment's own defaults; with `quick`, those of a run of about a minute.
    fn preset(_config: &mut TrainConfig, _quick: bool) {}

    /// Returns the policies that can be a teacher or a baseline.
    fn policies() -> Vec<NamedPolicy<Self>> {
        Vec::new()
    }

    /// Returns the policies of [`Learn::BASELINES`].
    fn baselines() -> impl Iterator<Item = NamedPolicy<Self>> {
        let mut policies = Self::policies();
        Self::BASELINES.iter().filter_map(move |name| {
            let place = policies.iter().position(|policy| policy.name() == *name);
            place.map(|place| policies.swap_remove(place))
        })
    }

    /// Returns all choices that a teacher with these action values holds for as good as its best;
    /// `None` where only the action that it takes counts.
    fn best_choices(_action_values: &[f64]) -> Option<Vec<Choice>> {
        None
    }

    /// Returns the true class of each row of the network's belief, which only the auxiliary loss
    /// sees.
    fn belief_targets(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Returns the sum of the reward events so far, for rewards-to-go. By default the score is taken
    /// to be their mean.
    fn total_reward(&self) -> f64 {
        self.score() * self.reward_count()
    }

    /// Returns the number of reward events so far, for rewards-to-go. By default there is one per
    /// step.
    fn reward_count(&self) -> f64 {
        f64::from(Self::step_count(self.observation()))
    }
}

/// A policy that can be imitated or compared with.
pub struct NamedPolicy<E: Environment> {
    name: String,
    is_privileged: bool,
    start: StartPolicy<E>,
}

type StartPolicy<E> = Box<dyn Fn(&<E as Environment>::Setup) -> Player<E> + Send + Sync>;

impl<E: Environment> NamedPolicy<E> {
    /// A policy whose player for an episode `start` makes.
    pub fn new(
        name: &str,
        is_privileged: bool,
        start: impl Fn(&E::Setup) -> Player<E> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            is_privileged,
            start: Box::new(start),
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether it reads hidden state.
    #[must_use]
    pub const fn is_privileged(&self) -> bool {
        self.is_privileged
    }

    /// Returns a fresh player for an episode.
    #[must_use]
    pub fn start(&self, setup: &E::Setup) -> Player<E> {
        (self.start)(setup)
    }
}

/// Returns all scripted policies of a world.
fn scripted<W: Playable>() -> Vec<NamedPolicy<W>> {
    let named = |policy: &W::PolicyName| {
        let policy = *policy;
        NamedPolicy::new(policy.name(), policy.is_privileged(), move |setup| {
            policy.start(setup)
        })
    };
    W::PolicyName::ALL.iter().map(named).collect()
}

impl TrainConfig {
    /// The defaults of a method in an environment; with `quick`, those of a run of about a minute.
    #[must_use]
    pub fn preset<W: Learn>(method: Method, quick: bool) -> Self {
        let mut config = Self {
            world: W::NAME.to_owned(),
            method,
            ..Self::default()
        };
        if method == Method::Sft {
            config.name = "sft".to_owned();
            config.max_steps = 60;
            config.learning_rate = 0.003;
            config.eval_steps = 10;
            config.save_steps = 10;
        }
        W::preset(&mut config, quick);
        if quick {
            config.eval_steps = config.eval_steps.min(10);
            config.save_steps = config.save_steps.min(10);
        }
        config
    }

    /// Returns the policy to imitate.
    ///
    /// # Errors
    /// If the environment has no policy of that name.
    pub fn teacher<W: Learn>(&self) -> Result<NamedPolicy<W>, TrainError> {
        let mut policies = W::policies();
        match policies.iter().position(|p| p.name() == self.teacher) {
            Some(place) => Ok(policies.swap_remove(place)),
            None => Err(TrainError::Teacher {
                name: self.teacher.clone(),
                known: policies.iter().map(|p| p.name().to_owned()).collect(),
            }),
        }
    }

    /// Checks all options together.
    ///
    /// # Errors
    /// Names the first invalid option, or two ranges of seeds that overlap.
    pub fn check<W: Learn>(&self) -> Result<(), TrainError> {
        if self.world != W::NAME {
            return Err(TrainError::World {
                found: self.world.clone(),
                wanted: W::NAME,
            });
        }
        self.check_numbers()?;
        model_config::<W>(self).check()?;
        self.rules::<W>()?;
        self.selected::<W>()?;
        if self.method == Method::Sft {
            self.teacher::<W>()?;
        }
        self.check_seeds()
    }
}

/// Returns the configuration of the model that a run makes.
#[must_use]
pub fn model_config<W: Learn>(config: &TrainConfig) -> ModelConfig<W::Net> {
    let rules = if config.rules == "reference" {
        String::new()
    } else {
        config.rules.clone()
    };
    ModelConfig {
        rules,
        ..ModelConfig::new(&config.name, W::net(config))
    }
}
