//! `README.md`: what a model is, how it came about and what it scored, as Hugging Face shows it.
//!
//! Every number comes from the configuration, the events or the baselines.

use std::fmt::Write;

use sentinel_policy::{Scripted, in_world};
use serde_json::{Map, Value};

use super::{named, of_task, rounded, state};
use crate::Error;
use crate::compact::config::{Method, TrainConfig};
use crate::compact::evaluate::Scores;
use crate::compact::events::Event;
use crate::compact::learn::Learn;

/// Options that the card says elsewhere.
const ELSEWHERE: [&str; 4] = ["name", "train_seeds", "validation_seeds", "test_seeds"];

/// The card. The baselines must be measured on the test seeds of `config` with independent
/// streams, as the policy was.
///
/// # Errors
/// If the configuration names tasks that the world does not have, or has no form as JSON, which
/// cannot be.
pub fn text(
    config: &TrainConfig,
    events: &[Event],
    baselines: &[(String, Scores)],
) -> Result<String, Error> {
    let tasks = config.task_names()?;
    let finished = events.iter().rev().find_map(|event| match event {
        Event::Finished { step, scores, .. } => Some((*step, scores)),
        _ => None,
    });
    let parts = [
        front(config, &tasks, finished.map(|(_, scores)| scores)),
        model(config, events),
        training(config, events, finished.map(|(step, _)| step))?,
        measured(
            config,
            &tasks,
            finished.map(|(_, scores)| scores),
            baselines,
        ),
        usage(config),
        LIMITS.to_owned(),
    ];
    Ok(parts.join("\n"))
}

/// What the policy cannot do.
const LIMITS: &str = "\
## Limits

The world is a simulation: who acts in it, what is at stake and the adversary are made up, and
nothing here was measured on real agents. The policy knows only this world; it can neither read text nor play
another world. Scores are means over the seeds that are named; other seeds give other means.
";

/// The YAML that the Hub reads.
fn front(config: &TrainConfig, tasks: &[&str], scores: Option<&Scores>) -> String {
    let tags = match config.method {
        Method::Grpo => "- reinforcement-learning\n- grpo\n",
        // No reward is learned from.
        Method::Sft => "- imitation-learning\n- dagger\n",
    };
    let mut yaml = format!("---\nlibrary_name: sentinel\ntags:\n{tags}");
    let results = scores
        .map(|scores| named(tasks, scores))
        .unwrap_or_default();
    if !results.is_empty() {
        let _ = writeln!(yaml, "model-index:\n- name: {}", quoted(&config.name));
        yaml.push_str("  results:\n");
    }
    for (metric, score) in results {
        let task = tasks.iter().find(|task| metric == of_task(task));
        let task = task.copied().unwrap_or("all tasks");
        let dataset = format!(
            "{}, {task}, {} rules, seeds {}, independent streams",
            config.world.name(),
            config.rules,
            config.test_seeds
        );
        let _ = write!(
            yaml,
            "  - task:
      type: reinforcement-learning
      name: reinforcement-learning
    dataset:
      name: {}
      type: {}
    metrics:
    - type: mean_reward
      value: {:?}
      name: mean episode score
      verified: false
",
            quoted(&dataset),
            quoted(&format!(
                "{}-{}",
                config.world.name(),
                task.replace(' ', "-")
            )),
            rounded(score),
        );
    }
    yaml + "---\n"
}

/// A string that YAML takes as it is: JSON's form.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// What it is.
fn model(config: &TrainConfig, events: &[Event]) -> String {
    let parameters = events.iter().rev().find_map(|event| match event {
        Event::Started { parameters, .. } => Some(format!(" It has {parameters} parameters.")),
        _ => None,
    });
    let about = in_world!(config.world, W => W::about(&W::net(config)));
    format!(
        "# {}\n\nA policy for the world `{}` of Sentinel, under its {} rules: {about}{}\n",
        config.name,
        config.world.name(),
        config.rules,
        parameters.unwrap_or_default(),
    )
}

/// A value as the configuration's file says it.
fn word(value: &impl serde::Serialize) -> String {
    crate::compact::fields::said(value)
}

/// One sentence on what was learned from.
fn method(config: &TrainConfig) -> String {
    if config.method == Method::Grpo {
        return "Reinforcement learning with group-relative policy optimization (GRPO) on its own episodes."
            .to_owned();
    }
    let sees_all = sees_hidden_state(config, &config.teacher);
    format!(
        "Imitation, not reinforcement learning: the policy learned the actions of the teacher `{}` \
         along its own episodes (DAgger). The teacher sees {}",
        config.teacher,
        if sees_all {
            "hidden state; the policy does not."
        } else {
            "what the policy sees."
        }
    )
}

/// Whether a policy of the world reads hidden state.
fn sees_hidden_state(config: &TrainConfig, name: &str) -> bool {
    in_world!(config.world, W => {
        <W as sentinel_policy::Playable>::PolicyName::named(name).is_some_and(Scripted::sees_all)
    })
}

/// How it came about.
fn training(
    config: &TrainConfig,
    events: &[Event],
    finished: Option<usize>,
) -> Result<String, serde_json::Error> {
    let method = method(config);
    let mut text = format!("## Training\n\n{method}\n\n");
    if !config.init.is_empty() {
        let _ = writeln!(text, "It started from the model `{}`.\n", config.init);
    }
    let done = finished.map_or("It is not over yet.".to_owned(), |step| {
        format!("It ended after {step} of {} updates; the model is the policy that scored best on the validation seeds on the way.", config.max_steps)
    });
    text.push_str(&done);
    if let Some(best) = state::best(events) {
        let _ = write!(text, " Best mean score on the validation seeds: {best:.4}.");
    }
    let _ = write!(
        text,
        "

| seeds | range (without its end) |
|---|---|
| to learn from | {} |
| to choose by | {} |
| to report | {} |

",
        config.train_seeds, config.validation_seeds, config.test_seeds,
    );
    text.push_str(&options(config)?);
    Ok(text)
}

/// The options that someone chose.
fn options(config: &TrainConfig) -> Result<String, serde_json::Error> {
    let (chosen, default) = (fields(config)?, fields(&TrainConfig::default())?);
    let mut rows = String::new();
    for (option, value) in &chosen {
        let usual = default.get(option).unwrap_or(&Value::Null);
        if value != usual && !ELSEWHERE.contains(&option.as_str()) {
            let (value, usual) = (word(value), word(usual));
            let _ = writeln!(rows, "| `{option}` | {} | {} |", cell(&value), cell(&usual));
        }
    }
    Ok(if rows.is_empty() {
        "All other options have their defaults.\n".to_owned()
    } else {
        format!(
            "Options that differ from their defaults:\n\n| option | value | default |\n|---|---|---|\n{rows}"
        )
    })
}

/// The options by name. Through text, which keeps an `f32` as short as it is written.
fn fields(config: &TrainConfig) -> Result<Map<String, Value>, serde_json::Error> {
    serde_json::from_str(&serde_json::to_string(config)?)
}

/// Text that stays in its cell.
fn cell(text: &str) -> String {
    match text {
        "" => "none".to_owned(),
        text => text.replace('|', "\\|"),
    }
}

/// What it scored, beside others.
fn measured(
    config: &TrainConfig,
    tasks: &[&str],
    scores: Option<&Scores>,
    baselines: &[(String, Scores)],
) -> String {
    let mut text = format!(
        "## Scores\n\nMean score per task on the test seeds {}, {} episodes of each task, independent streams.\n\n\
         | policy |",
        config.test_seeds,
        config.test_seeds.count(),
    );
    for task in tasks {
        let _ = write!(text, " {task} |");
    }
    text.push_str(" overall |\n|");
    text.push_str(&"---|".repeat(tasks.len() + 2));
    text.push('\n');
    match scores {
        Some(scores) => row(
            &mut text,
            &format!("**{}** (this model)", config.name),
            scores,
        ),
        None => {
            text.push_str("| this model | not measured yet |");
            text.push_str(&" |".repeat(tasks.len()));
            text.push('\n');
        }
    }
    for (name, scores) in baselines {
        let cheats = sees_hidden_state(config, name);
        let note = if cheats { " (sees hidden state)" } else { "" };
        row(&mut text, &format!("{}{note}", cell(name)), scores);
    }
    text
}

fn row(text: &mut String, name: &str, scores: &Scores) {
    let _ = write!(text, "| {name} |");
    for score in scores.tasks.iter().copied().chain([scores.overall]) {
        let _ = if score.is_finite() {
            write!(text, " {score:.4} |")
        } else {
            write!(text, " – |")
        };
    }
    text.push('\n');
}

/// How to measure it again.
fn usage(config: &TrainConfig) -> String {
    format!(
        "## Use

With this folder as `DIR`, the scores are measured again by

```sh
sentinel eval --world {} --rules {} --policies trained --model DIR {} --seeds {} --streams independent
```
",
        config.world.name(),
        config.rules,
        config.words_for("task"),
        config.test_seeds
    )
}
