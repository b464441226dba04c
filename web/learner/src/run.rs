//! A training run of one world: phases, updates, and evaluations between them.

use sentinel_compact::evaluate::greedy_scores;
use sentinel_compact::learn::model_config;
use sentinel_compact::plain::{Cpu, Matrix};
use sentinel_compact::{Learn, Method, Sequential, TrainConfig, Trainer};
use sentinel_env::TaskName;
use sentinel_page_protocol::{TrainingScore, TrainingSpec, TrainingUpdate, ValidationSet};
use sentinel_policy::interval::ConfidenceInterval;
use sentinel_policy::nn::{Model, Weights};

/// Number of updates between two evaluations.
const EVALUATE_EVERY: usize = 4;
/// Name of the model among the players.
const NAME: &str = "tab";
/// Largest group, so that a typing error does not exhaust the memory of the worker.
const GROUP_MAX: usize = 256;
/// Largest number of episodes of an update, for the same reason.
const EPISODES_MAX: usize = 4096;
/// Options of the command line, with the names of the page's fields for them.
const FIELDS: [(&str, &str); 6] = [
    ("num_generations", "the group size"),
    ("episodes_per_update", "the number of episodes"),
    ("learning_rate", "the learning rate"),
    ("entropy_coef", "the entropy bonus"),
    ("hidden", "the network width"),
    ("without_reward_term", "the reward"),
];
/// Players of every world to compare with, besides the baselines of its model card: the published policy.
const RIVALS: [&str; 1] = ["grpo"];

/// A training run whose world is not known to the caller.
pub(crate) trait TrainingRun {
    /// Returns `true` if anything is left to do.
    fn has_work(&self) -> bool;
    /// Returns `true` if the next step is an evaluation, no update.
    fn owes_evaluation(&self) -> bool;
    /// Evaluates the policy if that is due, or else takes one update; returns the state after it.
    fn advance(&mut self) -> TrainingUpdate;
    /// Returns the state of the run, without an evaluation.
    fn state(&self) -> TrainingUpdate;
    /// Returns the newest policy as a model file.
    fn model(&self) -> Result<Vec<u8>, String>;
}

/// A training run of the world `W`.
pub(crate) struct Run<W: Learn> {
    spec: TrainingSpec,
    /// The phases that follow, the last one first.
    later: Vec<TrainConfig>,
    trainer: Trainer<W, Matrix>,
    tasks: Vec<W::Task>,
    /// Number of updates of earlier phases.
    before: usize,
    total: usize,
    /// Environment steps of earlier phases.
    steps_before: u64,
    /// Number of updates at the newest evaluation; `None` before the first one.
    evaluated: Option<usize>,
    failure: String,
    command: String,
}

impl<W: Learn> Run<W> {
    /// Prepares a run.
    ///
    /// # Errors
    /// Returns a phrase about a setting that is not possible.
    pub(crate) fn new(spec: TrainingSpec) -> Result<Self, String> {
        let mut phases = phases::<W>(&spec)?;
        for phase in &phases {
            check::<W>(phase)?;
        }
        let total = phases.iter().map(|phase| phase.max_steps).sum();
        let command = commands(&phases);
        phases.reverse();
        let first = phases.pop().ok_or("a run needs a phase")?;
        let message = |error: sentinel_compact::Error| error.to_string();
        let tasks = first.selected::<W>().map_err(message)?;
        let grpo = phases.first().unwrap_or(&first);
        let spec = TrainingSpec {
            learning_rate: grpo.learning_rate.to_string(),
            group_size: u32::try_from(grpo.num_generations).ok(),
            episodes: u32::try_from(grpo.episodes_per_update).ok(),
            entropy: grpo.entropy_coef.to_string(),
            hidden: u32::try_from(grpo.hidden).ok(),
            ..spec
        };
        let start = Weights::init(W::net(&first), first.seed);
        Ok(Self {
            spec,
            later: phases,
            trainer: Trainer::on_device(first, start, &Cpu).map_err(message)?,
            tasks,
            before: 0,
            total,
            steps_before: 0,
            evaluated: None,
            failure: String::new(),
            command,
        })
    }

    fn done(&self) -> usize {
        self.before + self.trainer.updates_done()
    }

    /// Returns the mean score of the greedy policy on the validation episodes.
    fn evaluate(&self) -> Result<TrainingScore, String> {
        let config = self.trainer.config();
        let rules = config.rules::<W>().map_err(|error| error.to_string())?;
        let (weights, seeds) = (self.trainer.weights(), config.validation_seeds);
        let cells = greedy_scores::<W>(&Sequential, weights, rules, &self.tasks, seeds);
        let interval = ConfidenceInterval::from_cells(&cells);
        Ok(TrainingScore {
            updates: count(self.done()),
            mean: interval.mean,
            half_width: interval.half_width,
        })
    }

    /// Goes on to the next phase if this one is over.
    fn enter_phase(&mut self) -> Result<(), String> {
        if !self.trainer.finished() {
            return Ok(());
        }
        let Some(next) = self.later.pop() else {
            return Ok(());
        };
        let weights = self.trainer.weights().clone();
        let trainer = Trainer::on_device(next, weights, &Cpu);
        let trainer = trainer.map_err(|error| error.to_string())?;
        self.before += self.trainer.updates_done();
        self.steps_before += self.trainer.env_steps();
        self.trainer = trainer;
        Ok(())
    }
}

impl<W: Learn> TrainingRun for Run<W> {
    fn has_work(&self) -> bool {
        self.failure.is_empty() && (self.done() < self.total || self.owes_evaluation())
    }

    fn owes_evaluation(&self) -> bool {
        let is_due = self.done().is_multiple_of(EVALUATE_EVERY) || self.done() == self.total;
        self.failure.is_empty() && is_due && self.evaluated != Some(self.done())
    }

    fn advance(&mut self) -> TrainingUpdate {
        let mut evaluation = None;
        let result = if self.owes_evaluation() {
            self.evaluated = Some(self.done());
            self.evaluate().map(|score| evaluation = Some(score))
        } else {
            self.enter_phase().and_then(|()| {
                let done = self.trainer.update(&Sequential);
                done.map(|_| ()).map_err(|error| error.to_string())
            })
        };
        if let Err(reason) = result {
            self.failure = format!("Training ended: {reason}.");
        }
        TrainingUpdate {
            evaluation,
            ..self.state()
        }
    }

    fn state(&self) -> TrainingUpdate {
        let config = self.trainer.config();
        let seeds = config.validation_seeds;
        TrainingUpdate {
            run: 0,
            spec: self.spec.clone(),
            command: self.command.clone(),
            phase: match config.method {
                Method::Imitation => "imitation".to_owned(),
                Method::Grpo | Method::ExpertIteration => "grpo".to_owned(),
            },
            updates: count(self.done()),
            total: count(self.total),
            env_steps: self.steps_before + self.trainer.env_steps(),
            worked_ms: 0.0,
            validation: ValidationSet {
                tasks: self
                    .tasks
                    .iter()
                    .map(|task| task.name().to_owned())
                    .collect(),
                first_seed: seeds.range().start,
                seeds: u32::try_from(seeds.count()).unwrap_or(u32::MAX),
                players: RIVALS
                    .iter()
                    .chain(W::BASELINES)
                    .map(|name| (*name).to_owned())
                    .collect(),
            },
            evaluation: None,
            digest: digest(self.trainer.weights()),
            failure: self.failure.clone(),
        }
    }

    fn model(&self) -> Result<Vec<u8>, String> {
        let model = Model {
            config: model_config::<W>(self.trainer.config()),
            weights: self.trainer.weights().clone(),
        };
        model.to_bytes().map_err(|error| error.to_string())
    }
}

/// Returns the configurations of a run, in order: imitation of the planner where GRPO needs a good start.
///
/// # Errors
/// Returns a phrase about a setting that is no number.
fn phases<W: Learn>(spec: &TrainingSpec) -> Result<Vec<TrainConfig>, String> {
    let number = |name: &str, typed: &str| match typed {
        "" => Ok(None),
        typed => match typed.parse::<f64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("{name} is not a number: {typed}")),
        },
    };
    let learning_rate = number("the learning rate", &spec.learning_rate)?;
    let entropy = number("the entropy bonus", &spec.entropy)?;
    let phase = |method| {
        let mut config = TrainConfig::preset::<W>(method, true);
        NAME.clone_into(&mut config.name);
        config.rules.clone_from(&spec.rules);
        config.seed = spec.seed;
        if let Some(hidden) = spec.hidden {
            config.hidden = hidden as usize;
        }
        if method == Method::Grpo {
            let set = |place: &mut usize, value: Option<u32>| {
                *place = value.map_or(*place, |value| value as usize);
            };
            set(&mut config.num_generations, spec.group_size);
            set(&mut config.episodes_per_update, spec.episodes);
            config.learning_rate = learning_rate.unwrap_or(config.learning_rate);
            config.entropy_coef = entropy.unwrap_or(config.entropy_coef);
            config.without_reward_term.clone_from(&spec.without);
        }
        config
    };
    let first = W::NEEDS_START.then(|| phase(Method::Imitation));
    Ok(first.into_iter().chain([phase(Method::Grpo)]).collect())
}

/// Checks the settings of a phase, before memory is taken for them.
fn check<W: Learn>(phase: &TrainConfig) -> Result<(), String> {
    if phase.num_generations > GROUP_MAX {
        return Err(format!("the group size is above {GROUP_MAX}"));
    }
    if phase.episodes_per_update > EPISODES_MAX {
        return Err(format!("the number of episodes is above {EPISODES_MAX}"));
    }
    phase.check::<W>().map_err(|error| {
        let mut text = error.to_string();
        for (option, field) in FIELDS {
            text = text.replace(&format!("option {option}"), field);
        }
        text
    })
}

/// Returns the command lines that train the same.
fn commands(phases: &[TrainConfig]) -> String {
    let mut lines = Vec::new();
    for phase in phases {
        let common = format!(
            "--world {} --rules {} --seed {} --hidden {} --quick",
            phase.world, phase.rules, phase.seed, phase.hidden
        );
        lines.push(match phase.method {
            Method::Imitation => format!("sentinel imitate {common}"),
            Method::Grpo | Method::ExpertIteration => {
                let init = match phases.len() {
                    1 => "",
                    _ => " --init outputs/imitation",
                };
                let without = match phase.without_reward_term.as_str() {
                    "" => String::new(),
                    term => format!(" --without-reward-term {term}"),
                };
                format!(
                    "sentinel train {common}{init} --learning-rate {} --num-generations {} \
                     --episodes-per-update {} --entropy-coef {}{without}",
                    phase.learning_rate,
                    phase.num_generations,
                    phase.episodes_per_update,
                    phase.entropy_coef
                )
            }
        });
    }
    lines.join("\n")
}

/// Returns the hash of weights, in hexadecimal digits.
fn digest<A: sentinel_policy::nn::Architecture>(weights: &Weights<A>) -> String {
    let mut digest = sentinel_env::digest::Digest::default();
    for (_, values) in weights.iter() {
        for value in values {
            digest.write_bytes(&value.to_bits().to_le_bytes());
        }
    }
    format!("{:016x}", digest.hash)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
