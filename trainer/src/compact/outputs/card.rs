//! The model card (`README.md`): what a model is, how it was trained and what it scored, in the form
//! that Hugging Face shows.
//!
//! Every number comes from the configuration, the events or the baselines.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::Error;
use crate::compact::config::{Method, TrainConfig};
use crate::compact::fields::display_value;
use crate::compact::learn::{Learn, NamedPolicy};
use crate::run::{Event, Scores, best_score, named_scores, rounded, score_name};

/// Options that the card shows elsewhere.
const ELSEWHERE: [&str; 4] = ["name", "train_seeds", "validation_seeds", "test_seeds"];

/// Returns the card. The baselines must be measured on the test seeds of `config` with independent
/// streams, as the policy was.
///
/// # Errors
/// If the configuration names tasks that the environment does not have.
pub fn text<W: Learn>(
    config: &TrainConfig,
    events: &[Event],
    baselines: &[(String, Scores)],
) -> Result<String, Error> {
    let tasks = config.task_names::<W>()?;
    let finished = events.iter().rev().find_map(|event| match event {
        Event::Finished {
            step,
            scores: Some(scores),
            ..
        } => Some((*step, scores)),
        _ => None,
    });
    let parts = [
        front(config, &tasks, finished.map(|(_, scores)| scores)),
        model::<W>(config, events),
        training::<W>(config, events, finished.map(|(step, _)| step))?,
        measured::<W>(
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

/// The section about the limits of the policy.
const LIMITS: &str = "\
## Limits

The world is a simulation: who acts in it, what is at stake and the adversary are made up, and
nothing here was measured on real agents. The policy knows only this world; it can neither read text nor play
another world. Scores are means over the seeds that are named; other seeds give other means.
";

/// Returns the front matter for the Hub.
fn front(config: &TrainConfig, tasks: &[&str], scores: Option<&Scores>) -> String {
    let tags = match config.method {
        Method::Grpo => "- reinforcement-learning\n- grpo\n",
        // No reward is learned from.
        Method::Sft => "- imitation-learning\n- dagger\n",
    };
    let mut yaml = format!("---\nlibrary_name: sentinel\ntags:\n{tags}");
    let results = scores
        .map(|scores| named_scores(tasks, scores))
        .unwrap_or_default();
    if !results.is_empty() {
        let _ = writeln!(yaml, "model-index:\n- name: {}", quoted(&config.name));
        yaml.push_str("  results:\n");
    }
    for (metric, score) in results {
        let task = tasks.iter().find(|task| metric == score_name(task));
        let task = task.copied().unwrap_or("all tasks");
        let dataset = format!(
            "{}, {task}, {} rules, seeds {}, independent streams",
            config.world, config.rules, config.test_seeds
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
            quoted(&format!("{}-{}", config.world, task.replace(' ', "-"))),
            rounded(score),
        );
    }
    yaml + "---\n"
}

/// Returns a string as YAML: in JSON's form.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns the heading and the description of the model.
fn model<W: Learn>(config: &TrainConfig, events: &[Event]) -> String {
    let parameters = events.iter().rev().find_map(|event| match event {
        Event::Started { parameters, .. } => Some(format!(" It has {parameters} parameters.")),
        _ => None,
    });
    let description = W::describe(&W::net(config));
    format!(
        "# {}\n\nA policy for the world `{}` of Sentinel, under its {} rules: {description}{}\n",
        config.name,
        config.world,
        config.rules,
        parameters.unwrap_or_default(),
    )
}

/// Returns a sentence about the training method.
fn method<W: Learn>(config: &TrainConfig) -> String {
    if config.method == Method::Grpo {
        return "Reinforcement learning with group-relative policy optimization (GRPO) on its own episodes."
            .to_owned();
    }
    let is_privileged = is_privileged::<W>(&config.teacher);
    format!(
        "Imitation, not reinforcement learning: the policy learned the actions of the teacher `{}` \
         along its own episodes (DAgger). The teacher sees {}",
        config.teacher,
        if is_privileged {
            "hidden state; the policy does not."
        } else {
            "what the policy sees."
        }
    )
}

/// Returns whether the policy of this name reads hidden state.
fn is_privileged<W: Learn>(name: &str) -> bool {
    let policies = W::policies();
    let named = policies.iter().find(|policy| policy.name() == name);
    named.is_some_and(NamedPolicy::is_privileged)
}

/// Returns the section about training.
fn training<W: Learn>(
    config: &TrainConfig,
    events: &[Event],
    finished: Option<usize>,
) -> Result<String, serde_json::Error> {
    let method = method::<W>(config);
    let mut text = format!("## Training\n\n{method}\n\n");
    if !config.init.is_empty() {
        let _ = writeln!(text, "It started from the model `{}`.\n", config.init);
    }
    let done = finished.map_or("It is not over yet.".to_owned(), |step| {
        format!("It ended after {step} of {} updates; the model is the policy that scored best on the validation seeds on the way.", config.max_steps)
    });
    text.push_str(&done);
    if let Some((_, best)) = best_score(events) {
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

/// Returns a table of the options that differ from their defaults.
fn options(config: &TrainConfig) -> Result<String, serde_json::Error> {
    let (chosen, default) = (fields(config)?, fields(&TrainConfig::default())?);
    let mut rows = String::new();
    for (option, value) in &chosen {
        let usual = default.get(option).unwrap_or(&Value::Null);
        if value != usual && !ELSEWHERE.contains(&option.as_str()) {
            let (value, usual) = (display_value(value), display_value(usual));
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

/// Returns the options by name. Through text, which keeps an `f32` as short as it is written.
fn fields(config: &TrainConfig) -> Result<Map<String, Value>, serde_json::Error> {
    serde_json::from_str(&serde_json::to_string(config)?)
}

/// Escapes text for a cell of a table.
fn cell(text: &str) -> String {
    match text {
        "" | "null" => "none".to_owned(),
        text => text.replace('|', "\\|"),
    }
}

/// With more tasks than this the table is transposed.
const ACROSS: usize = 6;

/// Returns the section with the scores of the model and of the baselines.
fn measured<W: Learn>(
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
        let note = if is_privileged::<W>(name) {
            " (sees hidden state)"
        } else {
            ""
        };
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

/// Returns the rows as columns.
fn transposed(table: &[Vec<String>]) -> Vec<Vec<String>> {
    let columns = 0..table.first().map_or(0, Vec::len);
    columns
        .map(|at| table.iter().map(|row| row[at].clone()).collect())
        .collect()
}

/// Returns a table in Markdown; its first row holds the heads.
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

/// Returns the section about evaluating the model again.
fn usage(config: &TrainConfig) -> String {
    format!(
        "## Use

With this folder as `DIR`, the scores are measured again by

```sh
sentinel eval --world {} --rules {} --policies trained --model DIR {} --seeds {} --streams independent
```
",
        config.world,
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
