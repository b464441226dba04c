//! The model card (`README.md`): the description, training and scores of a model, in the form that
//! Hugging Face shows.
//!
//! Every number comes from the configuration, the history of the run or the baselines.

use std::fmt::Write;

use sentinel_base::Error;
use sentinel_rl::Scores;
use sentinel_run::model_card::{
    CardResult, ModelCard, changed_options, markdown_table, table_cell, transposed,
};
use sentinel_run::{Event, RunHistory, named_scores, rounded, score_name};
use serde_json::{Map, Value};

use super::TrainError;
use crate::config::{Method, TrainConfig};
use crate::learn::{Learn, NamedPolicy};
use crate::option_values::display_value;

/// The options that the card shows outside the table of options.
const ELSEWHERE: [&str; 4] = ["name", "train_seeds", "validation_seeds", "test_seeds"];

/// Returns the text of the card. The baselines must be measured on the test seeds of `config` with
/// independent streams, as the policy was.
///
/// # Errors
/// Returns an error if the configuration names tasks that the environment does not have.
pub fn card_text<W: Learn>(
    config: &TrainConfig,
    history: &RunHistory,
    baselines: &[(String, Scores)],
) -> Result<String, TrainError> {
    let tasks = config.task_names::<W>()?;
    let finished = match history.finished() {
        Some(Event::Finished {
            step,
            scores: Some(scores),
            ..
        }) => Some((*step, scores)),
        _ => None,
    };
    let scores = finished.map(|(_, scores)| scores);
    let card = ModelCard {
        library: "sentinel",
        tags: tags(config.method),
        name: config.name.clone(),
        results: scores.map_or_else(Vec::new, |scores| results(config, &tasks, scores)),
        title: config.name.clone(),
        sections: vec![
            description::<W>(config, history),
            training::<W>(config, history, finished.map(|(step, _)| step)).map_err(Error::from)?,
            measured::<W>(config, &tasks, scores, baselines),
            usage(config),
            LIMITS.to_owned(),
        ],
        ..ModelCard::default()
    };
    Ok(card.to_markdown())
}

/// The section about the limits of the policy.
const LIMITS: &str = "\
## Limits

The world is a simulation: who acts in it, what is at stake and the adversary are made up, and
nothing here was measured on real agents. The policy knows only this world; it can neither read text nor play
another world. Scores are means over the seeds that are named; other seeds give other means.
";

fn tags(method: Method) -> Vec<String> {
    let tags = match method {
        Method::Grpo => ["reinforcement-learning", "grpo"],
        // Imitation learns from no reward.
        Method::Imitation => ["imitation-learning", "dagger"],
        Method::ExpertIteration => ["imitation-learning", "expert-iteration"],
    };
    tags.map(str::to_owned).to_vec()
}

/// Returns the scores in the form of the Hub's `model-index`.
fn results(config: &TrainConfig, tasks: &[&str], scores: &Scores) -> Vec<CardResult> {
    let result = |(metric, score): (String, f64)| {
        let task = tasks.iter().find(|task| metric == score_name(task));
        let task = task.copied().unwrap_or("all tasks");
        CardResult {
            dataset: format!(
                "{}, {task}, {} rules, seeds {}, independent streams",
                config.world, config.rules, config.test_seeds
            ),
            dataset_type: format!("{}-{}", config.world, task.replace(' ', "-")),
            score: rounded(score),
        }
    };
    let scores = named_scores(tasks, scores);
    scores.into_iter().map(result).collect()
}

/// Returns the description of the model.
fn description<W: Learn>(config: &TrainConfig, history: &RunHistory) -> String {
    let parameters = history.parameters();
    let parameters = parameters.map(|count| format!(" It has {count} parameters."));
    let description = W::describe(&W::net(config));
    format!(
        "A policy for the world `{}` of Sentinel, under its {} rules: {description}{}\n",
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

/// Returns `true` if the policy of this name reads hidden state.
fn is_privileged<W: Learn>(name: &str) -> bool {
    let policies = W::policies();
    let named = policies.iter().find(|policy| policy.name() == name);
    named.is_some_and(NamedPolicy::is_privileged)
}

/// Returns the section about training.
fn training<W: Learn>(
    config: &TrainConfig,
    history: &RunHistory,
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
    if let Some((_, best)) = history.best_score() {
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
    // Convert via text, which keeps an `f32` as short as it is written.
    let fields = |config: &TrainConfig| -> Result<Map<String, Value>, _> {
        serde_json::from_str(&serde_json::to_string(config)?)
    };
    let (chosen, default) = (fields(config)?, fields(&TrainConfig::default())?);
    Ok(changed_options(
        &chosen,
        &default,
        &ELSEWHERE,
        display_value,
    ))
}

/// The largest number of tasks that are columns; with more, the table is transposed.
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
        table.push(row(&format!("{}{note}", table_cell(name)), scores));
    }
    if tasks.len() > ACROSS {
        table = transposed(&table);
        "task".clone_into(&mut table[0][0]);
    }
    format!(
        "## Scores\n\nMean score per task on the test seeds {}, {} episodes of each task, independent streams.\n\n{}",
        config.test_seeds,
        config.test_seeds.count(),
        markdown_table(&table),
    )
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
        config.task_options_text("task"),
        config.test_seeds
    )
}
