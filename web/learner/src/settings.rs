//! The settings of a run: the configurations of its phases, their checks, and the commands that train the
//! same.

use sentinel_compact::{Credit, Learn, Method, TrainConfig};
use sentinel_env::rules::Rules;
use sentinel_page_engine::PageWorld;
use sentinel_page_engine::file_library::TAB;
use sentinel_page_engine::world::weights_path;
use sentinel_page_protocol::TrainingSpec;

/// Number of updates between two evaluations.
pub(crate) const EVALUATE_EVERY: usize = 4;
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
/// Name of the weights of the published policy, to start from.
const PUBLISHED: &str = "published";
/// Names of the returns of an action that the page offers.
const CREDITS: [(&str, Credit); 2] = [("step", Credit::Step), ("episode", Credit::Episode)];

/// Returns the configurations of a run, in order: imitation of the planner where GRPO needs a good start.
///
/// # Errors
/// Returns a phrase about a setting that is not possible.
pub(crate) fn phases<W: Learn>(spec: &TrainingSpec) -> Result<Vec<TrainConfig>, String> {
    let number = |name: &str, typed: &str| match typed {
        "" => Ok(None),
        typed => match typed.parse::<f64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("{name} is not a number: {typed}")),
        },
    };
    let learning_rate = number("the learning rate", &spec.learning_rate)?;
    let entropy = number("the entropy bonus", &spec.entropy)?;
    let is_fresh = match spec.start.as_str() {
        "" => true,
        PUBLISHED => false,
        other => return Err(format!("there are no weights {other} to start from")),
    };
    let credit = match spec.credit.as_str() {
        "" => None,
        name => {
            let found = CREDITS.iter().find(|(known, _)| *known == name);
            Some(found.ok_or_else(|| format!("there is no credit {name}"))?.1)
        }
    };
    let phase = |method| {
        let mut config = TrainConfig::preset::<W>(method, true);
        TAB.clone_into(&mut config.name);
        config.rules.clone_from(&spec.rules);
        config.seed = spec.seed;
        // A run that is taken away is evaluated as before, and has no folders of earlier steps.
        (config.eval_steps, config.save_total_limit) = (EVALUATE_EVERY, 0);
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
            config.credit = credit.unwrap_or(config.credit);
            config.without_reward_term.clone_from(&spec.without);
        }
        config
    };
    let needs_start = W::NEEDS_START && is_fresh;
    let first = needs_start.then(|| phase(Method::Imitation));
    let all: Vec<TrainConfig> = first.into_iter().chain([phase(Method::Grpo)]).collect();
    all.iter().try_for_each(check::<W>)?;
    Ok(all)
}

/// Returns the path of the published policy that a run starts from, relative to the page; `None` if it
/// starts from fresh weights.
///
/// # Errors
/// Returns a phrase if the rules are unknown.
pub(crate) fn published_path<W: PageWorld>(spec: &TrainingSpec) -> Result<Option<String>, String> {
    let rules = Rules::parse(&spec.rules).map_err(|error| error.to_string())?;
    let is_wanted = spec.start == PUBLISHED;
    Ok(is_wanted.then(|| weights_path(W::published_model(rules))))
}

/// Returns the name of a return of an action; empty for one that the page does not offer.
fn credit_name(credit: Credit) -> &'static str {
    let found = CREDITS.iter().find(|(_, known)| *known == credit);
    found.map_or("", |(name, _)| name)
}

/// Returns the settings with the values of the preset where they were open.
pub(crate) fn with_values(spec: TrainingSpec, grpo: &TrainConfig) -> TrainingSpec {
    TrainingSpec {
        learning_rate: grpo.learning_rate.to_string(),
        group_size: u32::try_from(grpo.num_generations).ok(),
        episodes: u32::try_from(grpo.episodes_per_update).ok(),
        entropy: grpo.entropy_coef.to_string(),
        hidden: u32::try_from(grpo.hidden).ok(),
        credit: credit_name(grpo.credit).to_owned(),
        ..spec
    }
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
/// `published` is the folder of the policy that they start from; empty for fresh weights.
pub(crate) fn commands(phases: &[TrainConfig], published: &str) -> String {
    let mut lines = Vec::new();
    for phase in phases {
        let common = format!(
            "--world {} --rules {} --seed {} --hidden {} --quick",
            phase.world, phase.rules, phase.seed, phase.hidden
        );
        lines.push(match phase.method {
            Method::Imitation => format!("sentinel imitate {common}"),
            Method::Grpo | Method::ExpertIteration => {
                let init = match (phases.len(), published) {
                    (1, "") => String::new(),
                    (1, folder) => format!(" --init {folder}"),
                    _ => " --init outputs/imitation".to_owned(),
                };
                let without = match phase.without_reward_term.as_str() {
                    "" => String::new(),
                    term => format!(" --without-reward-term {term}"),
                };
                format!(
                    "sentinel train {common}{init} --learning-rate {} --num-generations {} \
                     --episodes-per-update {} --entropy-coef {} --credit {}{without}",
                    phase.learning_rate,
                    phase.num_generations,
                    phase.episodes_per_update,
                    phase.entropy_coef,
                    credit_name(phase.credit)
                )
            }
        });
    }
    lines.join("\n")
}
