//! Trains a policy of the quick preset for each term that the reward can leave out, and measures what it
//! has become: its score with the whole reward, and its behavior.
//!
//! `cargo run --release -p sentinel-compact --example reward_terms -- WORLD [TERMS [SEEDS [UPDATES]]]`,
//! for instance `trust all,poison 1,2 80`; `all` is the whole reward. The rules are the hardened ones.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;

use sentinel_compact::learn::model_config;
use sentinel_compact::plain::{Cpu, Matrix};
use sentinel_compact::{Learn, Method, Sequential, TrainConfig, Trainer};
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::{EndReason, PolyguardEnv};
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Action, TrustEnv};
use sentinel_env::{Environment, EpisodeSpec, World};
use sentinel_policy::nn::{Model, TrainedPolicy, Weights};
use sentinel_policy::policy::Policy as _;

/// Seeds of the episodes that are measured, of each task; training has used none of them.
const SEEDS: std::ops::Range<u64> = 20_000..20_300;

/// Name of the whole reward.
const WHOLE: &str = "all";

/// The shares that describe a behavior: names, numbers of cases, and numbers of opportunities.
type Shares = Vec<(&'static str, f64, f64)>;

/// A world with a description of behavior in an ended episode.
trait Described: Learn {
    fn describe_behavior(&self, steps: &[Self::Info]) -> Shares;
}

fn count<T>(items: &[T], is: impl Fn(&T) -> bool) -> f64 {
    items.iter().filter(|item| is(item)).count() as f64
}

impl Described for TrustEnv {
    fn describe_behavior(&self, steps: &[Self::Info]) -> Shares {
        let high: Vec<_> = steps.iter().filter(|step| step.stakes >= 0.7).collect();
        let all = steps.len() as f64;
        vec![
            (
                "verified, high stakes",
                count(&high, |step| matches!(step.action, Action::Verify(_))),
                high.len() as f64,
            ),
            (
                "poison believed, high stakes",
                count(&high, |step| {
                    step.adversarial && matches!(step.action, Action::Delegate(_))
                }),
                high.len() as f64,
            ),
            (
                "forced ends",
                count(steps, |step| step.terminal.is_some_and(|end| end.forced)),
                1.0,
            ),
            (
                "solved alone",
                count(steps, |step| step.action == Action::SolveIndependently),
                all,
            ),
            (
                "skipped",
                count(steps, |step| step.action == Action::Skip),
                all,
            ),
            (
                "subtasks completed",
                self.observation().progress.completion_rate(),
                1.0,
            ),
            (
                "calibration at the end",
                steps
                    .iter()
                    .filter_map(|step| step.terminal)
                    .map(|end| end.calibration)
                    .sum(),
                1.0,
            ),
            (
                "budget used",
                f64::from(self.observation().step_count),
                f64::from(self.observation().max_steps),
            ),
        ]
    }
}

impl Described for ClusterEnv {
    fn describe_behavior(&self, steps: &[Self::Info]) -> Shares {
        let (o, counters) = (self.observation(), self.observation().counters);
        vec![
            ("jobs completed", o.jobs.completion_rate(), 1.0),
            (
                "attacks believed",
                f64::from(counters.poisonings),
                f64::from(counters.attempts),
            ),
            ("attacks detected", o.detection_rate(), 1.0),
            (
                "repeated actions",
                f64::from(counters.loop_events),
                steps.len() as f64,
            ),
            (
                "steps off the goal",
                f64::from(counters.drift_events),
                steps.len() as f64,
            ),
            (
                "steps used",
                f64::from(o.step_count),
                f64::from(o.max_steps),
            ),
        ]
    }
}

impl Described for PolyguardEnv {
    fn describe_behavior(&self, steps: &[Self::Info]) -> Shares {
        let end = |reason| f64::from(u8::from(self.observation().end == Some(reason)));
        let information = |step: &Self::Info| step.act.is_some_and(|act| act.kind.is_information());
        vec![
            ("safe resolutions", end(EndReason::SafeResolution), 1.0),
            ("justified reviews", end(EndReason::JustifiedReview), 1.0),
            ("exploits", end(EndReason::ExploitDetection), 1.0),
            ("budgets used up", end(EndReason::StepBudgetExhausted), 1.0),
            (
                "information acts",
                count(steps, information),
                steps.len() as f64,
            ),
            (
                "issues resolved",
                f64::from(self.count_resolved().0),
                f64::from(self.count_resolved().1),
            ),
        ]
    }
}

/// Plays the episodes of [`SEEDS`] greedily; prints the mean score and the shares.
fn measure<W: Described>(trainer: &Trainer<W, Matrix>) -> Result<(), Box<dyn Error>> {
    let config = trainer.config();
    let model = Arc::new(Model {
        config: model_config::<W>(config),
        weights: trainer.weights().clone(),
    });
    let (mut score, mut episodes) = (0.0, 0.0);
    let mut shares = Shares::new();
    for task in config.selected::<W>()? {
        for seed in SEEDS {
            let spec = EpisodeSpec::<W> {
                task,
                seed,
                streams: Streams::Independent,
                rules: config.rules::<W>()?,
            };
            let mut episode = W::reset(&spec.setup());
            let mut policy = TrainedPolicy::new(Arc::clone(&model));
            let mut steps = Vec::new();
            while !W::is_done(episode.observation()) {
                policy.observe(episode.observation());
                let action = policy.choose(episode.observation());
                let transition = episode.step(action).map_err(|error| error.to_string())?;
                steps.push(transition.info);
            }
            score += episode.score();
            episodes += 1.0;
            let found = episode.describe_behavior(&steps);
            if shares.is_empty() {
                shares = found;
            } else {
                for (sum, (_, cases, all)) in shares.iter_mut().zip(found) {
                    sum.1 += cases;
                    sum.2 += all;
                }
            }
        }
    }
    print!("score {:.4}", score / episodes);
    for (name, cases, all) in shares {
        print!(", {name} {:.3}", cases / f64::max(all, 1.0));
    }
    println!();
    Ok(())
}

fn run<W: Described>(
    terms: &[&str],
    seeds: &[u64],
    updates: Option<usize>,
) -> Result<(), Box<dyn Error>> {
    for term in terms {
        for seed in seeds {
            let mut trainer = trained::<W>(term, *seed, updates)?;
            let total = updates.unwrap_or(trainer.config().max_steps);
            while trainer.updates_done() < total {
                trainer.update(&Sequential)?;
            }
            print!("{} without {term}, seed {seed}, {total} updates: ", W::NAME);
            measure::<W>(&trainer)?;
        }
    }
    Ok(())
}

/// Returns a trainer before its first update of GRPO, after an imitation where the page starts with one.
fn trained<W: Learn>(
    term: &str,
    seed: u64,
    updates: Option<usize>,
) -> Result<Trainer<W, Matrix>, sentinel_compact::Error> {
    let preset = |method| TrainConfig {
        rules: "hardened".to_owned(),
        seed,
        ..TrainConfig::preset::<W>(method, true)
    };
    let mut config = preset(Method::Grpo);
    config.max_steps = updates.unwrap_or(config.max_steps);
    if term != WHOLE {
        term.clone_into(&mut config.without_reward_term);
    }
    let mut start = Weights::init(W::net(&config), seed);
    if W::NEEDS_START {
        let mut first = Trainer::<W, Matrix>::on_device(preset(Method::Imitation), start, &Cpu)?;
        while !first.finished() {
            first.update(&Sequential)?;
        }
        start = first.weights().clone();
    }
    Trainer::on_device(config, start, &Cpu)
}

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let given = |at: usize| given.get(at).map(String::as_str);
    let world = given(0).unwrap_or("trust");
    let known = match world {
        ClusterEnv::NAME => ClusterEnv::REWARD_TERMS,
        PolyguardEnv::NAME => PolyguardEnv::REWARD_TERMS,
        _ => TrustEnv::REWARD_TERMS,
    };
    let mut terms = vec![WHOLE];
    terms.extend(known.iter().map(|term| term.name));
    if let Some(named) = given(1) {
        terms = named.split(',').collect();
    }
    let seeds: Vec<u64> = (given(2).unwrap_or("1").split(','))
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let updates = given(3).map(str::parse).transpose()?;
    match world {
        TrustEnv::NAME => run::<TrustEnv>(&terms, &seeds, updates),
        ClusterEnv::NAME => run::<ClusterEnv>(&terms, &seeds, updates),
        PolyguardEnv::NAME => run::<PolyguardEnv>(&terms, &seeds, updates),
        other => Err(format!("no world {other}").into()),
    }
}
