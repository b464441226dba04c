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
        "" | "null" => "none".to_owned(),
        text => text.replace('|', "\\|"),
    }
}

/// More tasks than this stand one below the other.
const ACROSS: usize = 6;

/// What it scored, beside others.
fn measured(
    config: &TrainConfig,
    tasks: &[&str],
    scores: Option<&Scores>,
    baselines: &[(String, Scores)],
) -> String {
    let heads = ["policy"].into_iter().chain(tasks.iter().copied());
    let mut table = vec![
        heads
            .chain(["overall"])
            .map(str::to_owned)
            .collect::<Vec<_>>(),
    ];
    table.push(match scores {
        Some(scores) => row(&format!("**{}** (this model)", config.name), scores),
        None => {
            let mut row = vec!["this model".to_owned(), "not measured yet".to_owned()];
            row.resize(tasks.len() + 2, String::new());
            row
        }
    });
    for (name, scores) in baselines {
        let cheats = sees_hidden_state(config, name);
        let note = if cheats { " (sees hidden state)" } else { "" };
        table.push(row(&format!("{}{note}", cell(name)), scores));
    }
    if tasks.len() > ACROSS {
        table = transposed(&table);
        "task".clone_into(&mut table[0][0]);
    }
    format!(
        "## Scores\n\nMean score per task on the test seeds {}, {} episodes of each task, independent streams.\n\n{}",
        config.test_seeds,
        config.test_seeds.count(),
        markdown(&table),
    )
}

/// The rows as columns.
fn transposed(table: &[Vec<String>]) -> Vec<Vec<String>> {
    let columns = 0..table.first().map_or(0, Vec::len);
    columns
        .map(|at| table.iter().map(|row| row[at].clone()).collect())
        .collect()
}

/// A table of which the first row is the heads.
fn markdown(table: &[Vec<String>]) -> String {
    let mut lines: Vec<String> = table
        .iter()
        .map(|row| format!("| {} |\n", row.join(" | ")))
        .collect();
    let columns = table.first().map_or(0, Vec::len);
    lines.insert(1, format!("|{}\n", "---|".repeat(columns)));
    lines.concat()
}

fn row(name: &str, scores: &Scores) -> Vec<String> {
    let all = scores.tasks.iter().copied().chain([scores.overall]);
    let cells = all.map(|score| {
        if score.is_finite() {
            format!("{score:.4}")
        } else {
            "–".to_owned()
        }
    });
    std::iter::once(name.to_owned()).chain(cells).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_can_lie_on_its_side() {
        let row = |words: [&str; 3]| words.map(str::to_owned).to_vec();
        let table = vec![row(["policy", "a", "b"]), row(["own", "1", "2"])];
        let tall = markdown(&transposed(&table));
        assert_eq!(tall, "| policy | own |\n|---|---|\n| a | 1 |\n| b | 2 |\n");
    }
}
