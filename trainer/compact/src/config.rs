//! The configuration of a training run: one struct for the file, the flags and the first line of
//! the log. Names and meanings are those of TRL where TRL has them.

use clap::builder::{EnumValueParser, ValueParser};
use sentinel_env::polyguard::AXES;
use sentinel_env::rules::Rules;
use sentinel_env::task::TaskSelection;
use sentinel_env::{TaskName, World};
use sentinel_options::parsers::{supported_values, world_name_parser};
use sentinel_options::tasks::{TypedSelection, parse_selection};
use sentinel_options::{SAVE_TOTAL_LIMIT, SeedRange, seeds};
use sentinel_policy::trust::learned::{FeatureSet, Pooling};
use sentinel_rl::advantage::ScaleRewards;
use sentinel_rl::config::{LossConfig, LossType};
use sentinel_rl::credit_options::{Continuation, Credit};
use sentinel_rl::{LossArgs, Schedule, ScheduleKind};
use sentinel_tensor::adamw::AdamOptions;
use sentinel_tensor::device::DeviceName;
use serde::{Deserialize, Serialize};

use super::Error;
use super::option_values::{OptionValue, fields};

/// The algorithm that trains a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Method {
    /// Group-relative policy optimization on its own episodes.
    #[default]
    Grpo,
    /// Imitation of a teacher along its own episodes (DAgger, arXiv:1011.0686). Files call it `sft`.
    #[serde(rename = "sft")]
    #[value(name = "sft", alias = "imitation")]
    Imitation,
    /// Imitation of look-ahead over the learner itself (expert iteration, arXiv:1705.08439).
    ExpertIteration,
}

impl OptionValue for Method {
    fn parser() -> ValueParser {
        EnumValueParser::<Self>::new().into()
    }
}

/// The values of `--continuation` that the training of a compact policy supports.
const CONTINUATIONS: [Continuation; 2] = [Continuation::Sampled, Continuation::Greedy];

/// The values of `--credit` that the training of a compact policy supports.
const CREDITS: [Credit; 4] = [
    Credit::Episode,
    Credit::RewardToGo,
    Credit::Step,
    Credit::SingleStep,
];

/// Headings of the options in help.
const EPISODES: &str = "Episodes";
const POLICY: &str = "Policy";
const LOSS: &str = "Loss";
const OPTIMIZER: &str = "Optimizer";

fields! {
    /// The options of a training run.
    #[command(next_help_heading = "Training")]
    pub struct TrainConfig {
        /// Name of the model, which replays show as the policy
        #[arg(help_heading = POLICY)]
        name: String = "grpo".to_owned(),
        /// The algorithm, which the command decides
        #[arg(hide = true)]
        method: Method = Method::Grpo,
        /// The world to play
        #[arg(value_name = "WORLD", value_parser = world_name_parser())]
        #[arg(help_heading = EPISODES)]
        world: String = "trust".to_owned(),
        /// The rules: reference, the default, as in the published system, or hardened; with single changes
        /// as in reference+A or hardened-A-B
        #[arg(value_name = "RULES")]
        #[arg(help_heading = EPISODES)]
        rules: String = "reference".to_owned(),
        /// Tasks of the world, separated by commas, or all
        #[serde(alias = "tasks", skip_serializing_if = "String::is_empty")]
        #[arg(alias = "tasks", value_name = "TASKS")]
        #[arg(help_heading = EPISODES)]
        task: String = String::new(),
        /// Tasks of these sub-environments, separated by commas (world polyguard)
        #[serde(skip_serializing_if = "String::is_empty")]
        #[arg(help_heading = EPISODES, value_name = "LIST")]
        sub_environment: String = String::new(),
        /// Tasks of these difficulties, separated by commas (world polyguard)
        #[serde(skip_serializing_if = "String::is_empty")]
        #[arg(help_heading = EPISODES, value_name = "LIST")]
        difficulty: String = String::new(),
        /// Tasks with this formulary: reference or extended (world polyguard)
        #[serde(skip_serializing_if = "String::is_empty")]
        #[arg(help_heading = EPISODES)]
        formulary: String = String::new(),
        /// Tasks with this part of the formulary: all, train or holdout (world polyguard)
        #[serde(skip_serializing_if = "String::is_empty")]
        #[arg(help_heading = EPISODES)]
        split: String = String::new(),
        /// The policy to imitate, such as bayes or planner
        teacher: String = "bayes".to_owned(),
        /// Start from the model in this folder instead of from fresh weights
        #[arg(help_heading = POLICY, value_name = "DIR")]
        init: String = String::new(),
        /// Seed of fresh weights and of every sampled action
        seed: u64 = 1,
        /// Device of the tensors
        device: DeviceName = DeviceName::Cpu,
        /// Number of units of each hidden layer
        #[arg(help_heading = POLICY)]
        hidden: usize = 64,
        /// Pooling between slots (world trust)
        #[arg(help_heading = POLICY)]
        pooling: Pooling = Pooling::Mean,
        /// Input features; no_history is an ablation without earlier steps (world trust)
        #[arg(help_heading = POLICY)]
        features: FeatureSet = FeatureSet::Full,
        /// Seeds to train on, A..B without B
        #[arg(help_heading = EPISODES, value_name = "A..B")]
        train_seeds: SeedRange = seeds::TRAINING,
        /// Seeds to validate on while training
        #[arg(help_heading = EPISODES, value_name = "A..B")]
        validation_seeds: SeedRange = seeds::VALIDATION,
        /// Seeds to test on, once, at the end
        #[arg(help_heading = EPISODES, value_name = "A..B")]
        test_seeds: SeedRange = SeedRange::new(1_000, 3_000),
        /// Number of updates of the run
        max_steps: usize = 500,
        /// Number of episodes of an update, an equal share on each task
        #[serde(alias = "groups_per_update")]
        #[arg(alias = "groups-per-update")]
        episodes_per_update: usize = 384,
        /// Number of members of a group
        num_generations: usize = 16,
        /// Steps of each episode at which actions are compared; with train, those of --credit step
        snapshots_per_episode: usize = 2,
        /// Policy that plays on after an action with --credit step
        #[arg(value_parser = supported_values(&CONTINUATIONS))]
        continuation: Continuation = Continuation::Sampled,
        /// Return of an action, and what it is compared with
        #[serde(alias = "advantage")]
        #[arg(alias = "advantage", value_parser = supported_values(&CREDITS))]
        credit: Credit = Credit::Step,
        /// Sampled hidden states in which each action is tried
        lookahead_rollouts: usize = 16,
        /// Actions sampled from the policy that are tried besides the world's candidates
        lookahead_samples: usize = 4,
        /// Gain in score for which the target multiplies the probability of an action by e
        lookahead_temperature: f64 = 0.01,
        /// Train without this term of the reward, to show what the policy becomes then; evaluations
        /// have the whole reward
        #[serde(skip_serializing_if = "String::is_empty")]
        #[arg(value_name = "TERM")]
        without_reward_term: String = String::new(),
        /// The scale that advantages are divided by
        #[arg(help_heading = LOSS)]
        scale_rewards: ScaleRewards = ScaleRewards::Batch,
        /// Passes over the episodes of an update
        num_iterations: usize = 2,
        /// Optimizer steps of each pass
        mini_batches: usize = 4,
        /// The objective and its normalization
        #[arg(help_heading = LOSS)]
        loss_type: LossType = LossType::Dapo,
        /// The ratio is clipped below at 1 - epsilon
        #[arg(help_heading = LOSS)]
        epsilon: f64 = 0.2,
        /// The ratio is clipped above at 1 + epsilon_high
        #[arg(help_heading = LOSS)]
        epsilon_high: f64 = 0.2,
        /// The constant length that loss type dr_grpo divides by, in choices of an action
        #[arg(help_heading = LOSS)]
        max_completion_length: usize = LossConfig::default().max_completion_length,
        /// Weight of the divergence from the policy that training started from
        #[arg(help_heading = LOSS)]
        beta: f64 = 0.0,
        /// Weight of the entropy bonus; decays with the learning rate
        #[arg(help_heading = LOSS)]
        entropy_coef: f64 = 0.05,
        /// Weight of the belief's cross-entropy
        #[arg(help_heading = LOSS)]
        belief_coef: f64 = 0.1,
        /// Learning rate at the start
        #[arg(help_heading = OPTIMIZER)]
        learning_rate: f64 = 0.002,
        /// Schedule of the learning rate
        #[arg(help_heading = OPTIMIZER)]
        lr_scheduler_type: ScheduleKind = ScheduleKind::Linear,
        /// Decay rate of the first moment
        #[arg(help_heading = OPTIMIZER)]
        adam_beta1: f32 = 0.9,
        /// Decay rate of the second moment
        #[arg(help_heading = OPTIMIZER)]
        adam_beta2: f32 = 0.999,
        /// Number added to the root of the second moment
        #[arg(help_heading = OPTIMIZER)]
        adam_epsilon: f32 = 1e-8,
        /// Decoupled weight decay of AdamW
        #[arg(help_heading = OPTIMIZER)]
        weight_decay: f32 = 0.0,
        /// Largest global norm of a gradient; 0 turns clipping off
        #[arg(help_heading = OPTIMIZER)]
        max_grad_norm: f64 = 1.0,
        /// Updates between two evaluations on the validation seeds
        eval_steps: usize = 25,
        /// Updates between two checkpoints
        save_steps: usize = 25,
        /// Number of folders checkpoint-N to keep, the best one not counted; 0 for none
        save_total_limit: usize = SAVE_TOTAL_LIMIT,
        /// Evaluations without a better score after which the run ends; 0 to run to the end
        early_stopping_patience: usize = 0,
    } flatten {
        /// Additional options of the loss, the same for every policy.
        loss_args: LossArgs,
    }
}

impl TrainConfig {
    /// Returns the parsed rules.
    ///
    /// # Errors
    /// Returns an error if the environment does not know them.
    pub fn rules<W: World>(&self) -> Result<Rules<W::Change>, Error> {
        Rules::parse(&self.rules).map_err(|error| Error::Rules(error.to_string()))
    }

    /// Returns the term that the reward leaves out, as an index of [`World::REWARD_TERMS`]; `None` for
    /// the whole reward.
    ///
    /// # Errors
    /// Returns an error with the terms that the environment has, or if the method has no reward.
    pub fn left_out_term<W: World>(&self) -> Result<Option<usize>, Error> {
        let name = self.without_reward_term.as_str();
        if name.is_empty() {
            return Ok(None);
        }
        if self.method != Method::Grpo {
            return Err(Error::Option {
                option: "without_reward_term",
                allowed: "left out: only sentinel train learns from the reward",
            });
        }
        let found = W::REWARD_TERMS.iter().position(|term| term.name == name);
        found.map(Some).ok_or_else(|| Error::RewardTerm {
            name: name.to_owned(),
            world: W::NAME,
            known: W::REWARD_TERMS.iter().map(|term| term.name).collect(),
        })
    }

    /// Returns the options that select tasks.
    #[must_use]
    pub fn selection(&self) -> TaskSelection<'_> {
        fn given(text: &str) -> Option<&str> {
            Some(text).filter(|text| !text.is_empty())
        }
        let [sub_environment, difficulty, formulary, split] = AXES;
        TaskSelection::new(given(&self.task))
            .with_axis(sub_environment, given(&self.sub_environment))
            .with_axis(difficulty, given(&self.difficulty))
            .with_axis(formulary, given(&self.formulary))
            .with_axis(split, given(&self.split))
    }

    /// Returns the task options as they are typed for a command whose task option is called
    /// `option`.
    #[must_use]
    pub fn task_options_text(&self, option: &'static str) -> String {
        TypedSelection(option, self.selection()).to_string()
    }

    /// Returns the tasks to play, in order.
    ///
    /// # Errors
    /// Returns an error if the environment has no such tasks.
    pub fn selected<W: World>(&self) -> Result<Vec<W::Task>, Error> {
        Ok(parse_selection::<W>(&self.selection())?)
    }

    /// Returns the names of the tasks to play.
    ///
    /// # Errors
    /// Returns the errors of [`TrainConfig::selected`].
    pub fn task_names<W: World>(&self) -> Result<Vec<&'static str>, Error> {
        let tasks = self.selected::<W>()?;
        Ok(tasks.into_iter().map(TaskName::name).collect())
    }

    /// Returns the options of the optimizer.
    #[must_use]
    pub const fn adam(&self) -> AdamOptions {
        AdamOptions {
            beta1: self.adam_beta1,
            beta2: self.adam_beta2,
            epsilon: self.adam_epsilon,
            weight_decay: self.weight_decay,
            max_grad_norm: self.max_grad_norm,
        }
    }

    /// Returns the factor in `[0, 1]` of the learning rate and of the entropy bonus at an update.
    #[must_use]
    pub fn schedule(&self, update: usize) -> f64 {
        let schedule = Schedule {
            kind: self.lr_scheduler_type,
            peak: 1.0,
            warmup: 0,
            total: self.max_steps,
        };
        schedule.at(update)
    }

    /// Returns the options of the loss at an update.
    #[must_use]
    pub fn loss(&self, update: usize) -> LossConfig {
        self.loss_args.loss(LossConfig {
            loss_type: self.loss_type,
            epsilon: self.epsilon,
            epsilon_high: Some(self.epsilon_high),
            beta: self.beta,
            entropy_coef: self.entropy_coef * self.schedule(update),
            max_completion_length: self.max_completion_length,
            ..LossConfig::default()
        })
    }

    /// Returns the seed of the `index`-th training episode; after the last seed comes the first
    /// again.
    #[must_use]
    pub fn training_seed(&self, index: u64) -> u64 {
        self.train_seeds.range().start + index % self.train_seeds.count()
    }

    pub(super) fn check_numbers(&self) -> Result<(), Error> {
        let sizes = [
            ("hidden", self.hidden),
            ("max_steps", self.max_steps),
            ("episodes_per_update", self.episodes_per_update),
            ("snapshots_per_episode", self.snapshots_per_episode),
            ("num_iterations", self.num_iterations),
            ("mini_batches", self.mini_batches),
            ("lookahead_rollouts", self.lookahead_rollouts),
            ("eval_steps", self.eval_steps),
            ("save_steps", self.save_steps),
        ];
        let refuse = |option, allowed| Err(Error::Option { option, allowed });
        for (option, value) in sizes {
            if value == 0 {
                return refuse(option, "a whole number above 0");
            }
        }
        if self.num_generations < 2 {
            return refuse("num_generations", "at least 2: a group is its own baseline");
        }
        if u32::try_from(self.lookahead_rollouts).is_err() {
            return refuse("lookahead_rollouts", "less than 2^32");
        }
        if !(self.lookahead_temperature.is_finite() && self.lookahead_temperature > 0.0) {
            return refuse("lookahead_temperature", "a number above 0");
        }
        if !CREDITS.contains(&self.credit) {
            return refuse(
                "credit",
                "episode, reward_to_go, step or single_step; sentinel improve trains by look-ahead",
            );
        }
        if !CONTINUATIONS.contains(&self.continuation) {
            return refuse("continuation", "sampled or greedy");
        }
        let numbers = [
            ("learning_rate", self.learning_rate),
            ("entropy_coef", self.entropy_coef),
            ("belief_coef", self.belief_coef),
            ("max_grad_norm", self.max_grad_norm),
            ("weight_decay", f64::from(self.weight_decay)),
            ("adam_epsilon", f64::from(self.adam_epsilon)),
        ];
        for (option, value) in numbers {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(option, "a number that is not negative");
            }
        }
        for (option, value) in [
            ("adam_beta1", self.adam_beta1),
            ("adam_beta2", self.adam_beta2),
        ] {
            if !(0.0..1.0).contains(&value) {
                return refuse(option, "from 0 to below 1");
            }
        }
        Ok(self.loss(0).check()?)
    }

    /// Checks that no seed belongs to two of the ranges for training, validation and testing.
    pub(super) fn check_seeds(&self) -> Result<(), Error> {
        let ranges = [
            ("train_seeds", self.train_seeds),
            ("validation_seeds", self.validation_seeds),
            ("test_seeds", self.test_seeds),
        ];
        for (index, (one, a)) in ranges.iter().enumerate() {
            for (other, b) in &ranges[index + 1..] {
                if a.overlaps(*b) {
                    return Err(Error::Seeds {
                        one,
                        a: *a,
                        other,
                        b: *b,
                    });
                }
            }
        }
        Ok(())
    }
}
