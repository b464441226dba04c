//! The requirements for training on an environment, beyond the network that plays it.

mod cluster;
mod polyguard;
mod rates;
mod trust;

use std::sync::Arc;

use sentinel_env::{Environment, Named};
use sentinel_options::SeedRange;
use sentinel_policy::analysis::{Analyzable, BeliefRollouts, CompareActions};
use sentinel_policy::nn::{
    Architecture as _, Choice, Model, ModelConfig, Network, NetworkWorld, TrainedPolicy,
};
use sentinel_policy::policy::Player;
use sentinel_policy::{Playable, Scripted};

use super::Error;
use super::config::{Method, TrainConfig};
use super::parameter_tensors::{Outputs, ParameterTensors};
use super::tensor::Tensor;

pub use rates::{ActionKind, Rate, RateCount, StepKind};

/// The feature type of an environment's network.
pub type FeaturesOf<W> = <<W as NetworkWorld>::Net as Network>::Features;
/// The per-episode memory of an environment's network.
pub type ObserverOf<W> = <<W as NetworkWorld>::Net as Network>::Observer;

/// An environment that can be trained on: its network, and the same forward pass on tensors.
///
/// Everything else has a default: a teacher is needed only for imitation, belief targets only for
/// an auxiliary loss, presets and a description only for the command line and the model card.
pub trait Learn: NetworkWorld {
    /// The options of [`TrainConfig`] that this network reads and others do not: `pooling`,
    /// `features`.
    const OPTIONS: &'static [&'static str] = &[];

    /// The names of the policies in [`Learn::policies`] that the model card compares with.
    const BASELINES: &'static [&'static str] = &[];

    /// `true` if GRPO hardly learns from fresh weights in a short run, since a random sequence of actions
    /// earns too little to learn from: it starts from an imitation then.
    const NEEDS_START: bool = false;

    /// The rates that say in plain words how a policy plays, the most telling first.
    const RATES: &'static [Rate] = &[];

    /// The kinds of actions that [`Learn::step_kind`] tells apart, at most five.
    const ACTION_KINDS: &'static [ActionKind] = &[];

    /// The harm that a step can do, as a participle or verb in the past, such as `fooled`.
    const HARM: &'static str = "";

    /// Returns the network that a configuration asks for, from the options that apply to it.
    fn net(config: &TrainConfig) -> Self::Net;

    /// Computes the same as [`Network::forward`] for a batch, on tensors with gradients.
    fn forward<T: Tensor>(
        net: &ParameterTensors<Self::Net, T>,
        features: &[&FeaturesOf<Self>],
    ) -> Outputs<T>;

    /// Returns two sentences for the model card, the first of them without its subject.
    fn describe(net: &Self::Net) -> String {
        format!(
            "it is a network with {} hidden units and plays the most probable action.",
            net.hidden()
        )
    }

    /// Sets the environment's own defaults; with `quick`, those of a run of about a minute. Where
    /// `quick` changes nothing, a quick run takes a tenth of the updates.
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

    /// Returns all choices whose action value ties with the teacher's best; `None` if only the
    /// action that the teacher takes is a label.
    fn best_choices(_action_values: &[f64]) -> Option<Vec<Choice>> {
        None
    }

    /// Returns a comparison of actions along an episode of `setup` by rollouts of a network; `None`
    /// if the environment cannot sample hidden states from public evidence.
    fn action_comparison(
        _model: &Arc<Model<Self::Net>>,
        _setup: &Self::Setup,
    ) -> Option<Box<dyn CompareActions<Self>>> {
        None
    }

    /// Returns the true class of each row of the network's belief, which only the auxiliary loss
    /// uses.
    fn belief_targets(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Returns the counts of [`Learn::RATES`] in an episode that has ended, in their order. Hidden state
    /// may be read: the counts are about episodes that no policy plays any more.
    fn rate_counts(_episode: &Self, _steps: &[Self::Info]) -> Vec<RateCount> {
        Vec::new()
    }

    /// Returns the kind of the step that led from one state of an episode to the next. Hidden state may be
    /// read, as for [`Learn::rate_counts`].
    fn step_kind(_before: &Self, _info: &Self::Info, _after: &Self) -> StepKind {
        StepKind::default()
    }

    /// Returns the task whose episodes show best how a policy plays: the last one, since tasks stand in
    /// the order of their difficulty.
    fn shown_task(tasks: &[Self::Task]) -> Option<Self::Task> {
        tasks.last().copied()
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
    /// Creates a policy; `start` makes its player for an episode.
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

    /// Returns the policy's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if the policy reads hidden state.
    #[must_use]
    pub const fn is_privileged(&self) -> bool {
        self.is_privileged
    }

    /// Returns a new player for an episode.
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

/// Returns [`Learn::action_comparison`] of a world whose episodes can be analyzed.
fn belief_rollouts<W: NetworkWorld + Analyzable>(
    model: &Arc<Model<W::Net>>,
    setup: &W::Setup,
) -> Option<Box<dyn CompareActions<W>>> {
    let policy = TrainedPolicy::new(Arc::clone(model));
    Some(Box::new(BeliefRollouts::new(&policy, setup)))
}

impl TrainConfig {
    /// Returns the defaults of a method in an environment; with `quick`, those of a run of about a
    /// minute.
    #[must_use]
    pub fn preset<W: Learn>(method: Method, quick: bool) -> Self {
        let mut config = Self {
            world: W::NAME.to_owned(),
            method,
            ..Self::default()
        };
        let of_labels = match method {
            Method::Grpo => None,
            Method::Imitation => Some(("imitation", 60)),
            Method::ExpertIteration => Some(("expert-iteration", 100)),
        };
        if let Some((name, max_steps)) = of_labels {
            config.name = name.to_owned();
            config.max_steps = max_steps;
            config.learning_rate = 0.003;
            config.eval_steps = 10;
            config.save_steps = 10;
        }
        let mut full = config.clone();
        W::preset(&mut config, quick);
        W::preset(&mut full, false);
        if quick {
            // An environment without a quick run of its own gets a tenth of the updates.
            if config.max_steps >= full.max_steps {
                config.max_steps = (full.max_steps / 10).max(5);
                let first = full.test_seeds.range().start;
                config.test_seeds = SeedRange::new(first, first + full.test_seeds.count().min(200));
            }
            config.eval_steps = config.eval_steps.min(10);
            config.save_steps = config.save_steps.min(10);
        }
        config
    }

    /// Returns the policy to imitate.
    ///
    /// # Errors
    /// Returns an error if the environment has no policy of that name.
    pub fn teacher<W: Learn>(&self) -> Result<NamedPolicy<W>, Error> {
        let mut policies = W::policies();
        match policies.iter().position(|p| p.name() == self.teacher) {
            Some(place) => Ok(policies.swap_remove(place)),
            None => Err(Error::Teacher {
                name: self.teacher.clone(),
                known: policies.iter().map(|p| p.name().to_owned()).collect(),
            }),
        }
    }

    /// Checks all options together.
    ///
    /// # Errors
    /// Returns an error that names the first invalid option, or two ranges of seeds that overlap.
    pub fn check<W: Learn>(&self) -> Result<(), Error> {
        if self.world != W::NAME {
            return Err(Error::World {
                found: self.world.clone(),
                wanted: W::NAME,
            });
        }
        self.check_numbers()?;
        model_config::<W>(self).check()?;
        self.rules::<W>()?;
        self.selected::<W>()?;
        self.left_out_term::<W>()?;
        if self.method == Method::Imitation {
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
