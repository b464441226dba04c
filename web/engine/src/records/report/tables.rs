//! Evaluations, ablations and sweeps as tables.

use sentinel_page_protocol::{
    Column, EpisodeLink, PlayedEpisode, ResultsCell, ResultsPart, ResultsRow, ResultsSection,
    ResultsTable,
};

use super::charts;
use super::file::{
    Ablations, Evaluation, Interval, PolicyScore, Results, ScoredEpisode, Sweep, TaskScore,
};
use crate::format::{capitalized, percent};
use crate::world::TRAINED;

/// Name of the trained policy in evaluations.
const MODEL_PLAYER: &str = "trained";

/// Worlds with their titles, and the folder of the model that plays as the page's trained policy.
const WORLDS: [(&str, &str, &str); 3] = [
    ("trust", "Trust", "replays/grpo"),
    ("cluster", "Cluster", "replays/cluster-grpo"),
    ("polyguard", "PolyGuard", "replays/polyguard-grpo"),
];

/// Names of the places of an example among the episodes of a task.
const PLACES: [&str; 3] = ["lowest", "middle", "highest"];

fn title_of(world: &str) -> &str {
    let known = WORLDS.iter().find(|(name, ..)| *name == world);
    known.map_or(world, |(_, title, _)| title)
}

/// Returns `true` if the model of an evaluation is the trained policy of the page, or none played.
fn plays_here(evaluation: &Evaluation) -> bool {
    let own = |(name, _, folder): &(&str, &str, &str)| {
        *name == evaluation.world && evaluation.model.as_deref() == Some(folder)
    };
    evaluation.model.is_none() || WORLDS.iter().any(own)
}

/// Returns a heading of a column.
pub(super) fn column(title: &str, help: &str, numeric: bool) -> Column {
    Column {
        title: title.to_owned(),
        help: help.to_owned(),
        numeric,
    }
}

fn text_cell(text: impl Into<String>) -> ResultsCell {
    ResultsCell {
        text: text.into(),
        bar: None,
    }
}

/// Returns a score with its interval, as the file has them.
fn score_cell(score: Interval) -> ResultsCell {
    let mut text = format!("{:.4}", score.mean);
    if let Some(half_width) = score.half_width {
        text += &format!(" ± {half_width:.4}");
    }
    ResultsCell {
        text,
        bar: Some(score.mean as f32),
    }
}

/// Returns what was played: seeds, streams and rules.
fn conditions(evaluation: &Evaluation) -> String {
    format!(
        "Seeds {} of each task, {} streams, {} rules.",
        evaluation.seeds, evaluation.streams, evaluation.rules
    )
}

/// Returns a section for each evaluation whose players the page has.
pub(super) fn baselines(evaluations: &[Evaluation]) -> Vec<ResultsSection> {
    let here = evaluations.iter().filter(|found| plays_here(found));
    here.map(baseline).collect()
}

fn baseline(evaluation: &Evaluation) -> ResultsSection {
    let mut policies: Vec<&PolicyScore> = evaluation.policies.iter().collect();
    policies.sort_by(|a, b| b.score.mean.total_cmp(&a.score.mean));
    let rows = policies.iter().map(|policy| ResultsRow {
        name: player_name(&policy.policy),
        cells: vec![
            score_cell(policy.score),
            text_cell(policy.episodes.to_string()),
        ],
        episodes: extremes(evaluation, policy),
        command: String::new(),
    });
    let scores = ResultsTable {
        id: format!("{}-scores", evaluation.id),
        title: "Mean score".to_owned(),
        help: "Mean over all tasks with half the width of its 95 % interval. The links open the episodes with the lowest and the highest score.".to_owned(),
        columns: vec![
            column("Player", "", false),
            column("Score", "", true),
            column("Episodes", "", true),
        ],
        rows: rows.collect(),
        folded: false,
    };
    let by_task = |policy: &&PolicyScore| {
        let row = |task: &TaskScore| task_row(evaluation, &policy.policy, task);
        policy.tasks.iter().map(row).collect::<Vec<_>>()
    };
    let tasks = ResultsTable {
        id: format!("{}-tasks", evaluation.id),
        title: "Score by task".to_owned(),
        help: "The links open the episodes with the lowest, the middle and the highest score."
            .to_owned(),
        columns: vec![
            column("Player and task", "", false),
            column("Score", "", true),
        ],
        rows: policies.iter().flat_map(by_task).collect(),
        folded: true,
    };
    ResultsSection {
        id: evaluation.id.clone(),
        title: format!("Baselines: {}", title_of(&evaluation.world)),
        detail: conditions(evaluation),
        parts: vec![ResultsPart::Table(scores), ResultsPart::Table(tasks)],
        source: String::new(),
        command: evaluation.provenance.command(),
    }
}

fn player_name(policy: &str) -> String {
    match policy {
        MODEL_PLAYER => "Trained policy".to_owned(),
        name => capitalized(&name.replace('_', " ")),
    }
}

fn task_row(evaluation: &Evaluation, policy: &str, task: &TaskScore) -> ResultsRow {
    let places = match task.examples.len() {
        2 => &[PLACES[0], PLACES[2]][..],
        _ => &PLACES[..],
    };
    let links = places
        .iter()
        .zip(&task.examples)
        .map(|(place, example)| link(evaluation, policy, &task.task, place, *example));
    ResultsRow {
        name: format!("{}, {}", player_name(policy), task.task),
        cells: vec![score_cell(task.score)],
        episodes: links.collect(),
        command: String::new(),
    }
}

/// Returns links to the episodes of a player with the lowest and the highest score of all tasks.
fn extremes(evaluation: &Evaluation, policy: &PolicyScore) -> Vec<EpisodeLink> {
    let all = || {
        let tasks = policy.tasks.iter();
        tasks.flat_map(|task| task.examples.iter().map(|found| (&task.task, *found)))
    };
    let by_score = |a: &(&String, ScoredEpisode), b: &(&String, ScoredEpisode)| {
        a.1.score.total_cmp(&b.1.score)
    };
    let found = [all().min_by(by_score), all().max_by(by_score)];
    [PLACES[0], PLACES[2]]
        .into_iter()
        .zip(found)
        .filter_map(|(place, found)| {
            let (task, example) = found?;
            let place = format!("{place}, {task}");
            Some(link(evaluation, &policy.policy, task, &place, example))
        })
        .collect()
}

fn link(
    evaluation: &Evaluation,
    policy: &str,
    task: &str,
    place: &str,
    example: ScoredEpisode,
) -> EpisodeLink {
    let player = match policy {
        MODEL_PLAYER => TRAINED,
        name => name,
    };
    EpisodeLink {
        label: place.to_owned(),
        world: evaluation.world.clone(),
        episode: PlayedEpisode {
            task: task.to_owned(),
            seed: example.seed,
            streams: evaluation.streams.clone(),
            rules: evaluation.rules.clone(),
            player: player.to_owned(),
            player_label: String::new(),
        },
        score: example.score,
    }
}

/// Returns the evaluations of policies that were trained in another way; `None` if there are none.
pub(super) fn ablations(evaluations: &[Evaluation]) -> Option<ResultsSection> {
    let other: Vec<&Evaluation> = evaluations
        .iter()
        .filter(|found| !plays_here(found))
        .collect();
    let first = other.first()?;
    let tasks = first.policies.first()?.tasks.iter();
    let mut columns = vec![
        column("Trained with", "", false),
        column("All tasks", "", true),
    ];
    columns.extend(tasks.map(|task| column(&task.task, "", true)));
    let row = |evaluation: &&Evaluation| {
        let policy = evaluation.policies.first()?;
        let tasks = policy.tasks.iter().map(|task| score_cell(task.score));
        let name = evaluation
            .id
            .strip_prefix("eval_")
            .unwrap_or(&evaluation.id);
        Some(ResultsRow {
            name: capitalized(&name.replace('_', " ")),
            cells: std::iter::once(score_cell(policy.score))
                .chain(tasks)
                .collect(),
            episodes: Vec::new(),
            command: evaluation.provenance.command(),
        })
    };
    let table = ResultsTable {
        id: "ablations".to_owned(),
        title: "Mean score".to_owned(),
        help: "Each row is a training run of its own. The page does not have these models, so the commands lead to the numbers.".to_owned(),
        columns,
        rows: other.iter().filter_map(row).collect(),
        folded: false,
    };
    Some(ResultsSection {
        id: "ablations".to_owned(),
        title: format!("Ablations of training: {}", title_of(&first.world)),
        detail: conditions(first),
        parts: vec![ResultsPart::Table(table)],
        source: String::new(),
        command: String::new(),
    })
}

/// Returns the ablation of PolyGuard's stack of agents.
pub(super) fn ablation_of_the_stack(file: &Ablations) -> ResultsSection {
    let rows = file.ablation.iter().map(|row| ResultsRow {
        name: capitalized(&row.row.replace('_', " ")),
        cells: vec![
            score_cell(row.score),
            text_cell(percent(row.safe_resolution)),
            text_cell(percent(row.exploit_detection)),
            text_cell(percent(row.invalid)),
            text_cell(row.episodes.to_string()),
        ],
        ..ResultsRow::default()
    });
    let table = ResultsTable {
        id: "stack".to_owned(),
        title: "Mean score of each row".to_owned(),
        help: "Parts of the stack are left out one at a time; two rows ask a language model."
            .to_owned(),
        columns: vec![
            column("Row", "", false),
            column("Score", "", true),
            column(
                "Resolved safely",
                "Share of the episodes that end with all problems resolved and no harm done.",
                true,
            ),
            column(
                "Exploits",
                "Share of the episodes that an anti-cheat rule ended.",
                true,
            ),
            column(
                "Invalid",
                "Share of the steps without a valid choice.",
                true,
            ),
            column("Episodes", "", true),
        ],
        rows: rows.collect(),
        folded: false,
    };
    ResultsSection {
        id: "stack".to_owned(),
        title: "Ablation of the agents: PolyGuard".to_owned(),
        detail: format!("Seeds {} of each cell, {} rules.", file.seeds, file.rules),
        parts: vec![ResultsPart::Table(table)],
        source: String::new(),
        command: "sentinel ablate --episodes 50 --model sft".to_owned(),
    }
}

/// Returns the section of a sweep: scores of each stage, GRPO against SFT, and its charts.
pub(super) fn sweep(title: &str, sweep: &Sweep, results: &Results) -> ResultsSection {
    let mut parts = vec![
        ResultsPart::Table(stages(sweep)),
        ResultsPart::Table(improvements(sweep)),
    ];
    // The first table has the numbers of the first chart.
    let charts = results.charts.iter();
    let charts = charts.filter(|entry| entry.chart.name != "sft_vs_grpo_reward");
    parts.extend(charts.map(charts::part));
    // The names of charts are the same in all sweeps.
    let prefix = format!("{}-{}", sweep.id, slug(title));
    for part in &mut parts {
        let id = match part {
            ResultsPart::Table(table) => &mut table.id,
            ResultsPart::Chart(chart) => &mut chart.chart.id,
        };
        *id = format!("{prefix}-{id}");
    }
    ResultsSection {
        id: prefix,
        title: format!("Sweep: {title}"),
        detail: "Language models that were fine-tuned on demonstrations (SFT) and then trained with GRPO. The page cannot play them; each row has the command that made its numbers.".to_owned(),
        parts,
        source: String::new(),
        command: results.provenance.command(),
    }
}

/// Returns a text as a part of an identifier.
fn slug(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    text.chars().map(plain).collect()
}

fn stages(sweep: &Sweep) -> ResultsTable {
    let stage = |label: &str, name: &str, evaluation: &Evaluation| {
        let stage = name.strip_prefix("eval_").unwrap_or(name).replace('_', " ");
        let stage = match stage.split_once(' ') {
            Some((first, rest)) => format!("{}, {rest}", stage_name(first)),
            None => stage_name(&stage),
        };
        let policy = evaluation.policies.first()?;
        let valid = evaluation.validity.map_or_else(String::new, percent);
        Some(ResultsRow {
            name: format!("{label}, {stage}"),
            cells: vec![
                score_cell(policy.score),
                text_cell(valid),
                text_cell(evaluation.seeds.clone()),
            ],
            episodes: Vec::new(),
            command: evaluation.provenance.command(),
        })
    };
    // The order of training, not of the alphabet.
    let place = |name: &str| {
        ["eval_base", "eval_sft", "eval_grpo"]
            .iter()
            .position(|n| *n == name)
    };
    let rows = sweep.entries.iter().flat_map(|entry| {
        let mut all: Vec<_> = entry.evaluations.iter().collect();
        all.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
        let rows = all
            .into_iter()
            .filter_map(|(name, found)| stage(&entry.label, name, found));
        rows.collect::<Vec<_>>()
    });
    ResultsTable {
        id: "stages".to_owned(),
        title: "Score of each stage".to_owned(),
        help: "Mean score with half the width of its 95 % interval over episodes, played greedily."
            .to_owned(),
        columns: vec![
            column("Model and stage", "", false),
            column("Score", "", true),
            column(
                "Valid",
                "Share of the completions that are an action.",
                true,
            ),
            column("Seeds", "", true),
        ],
        rows: rows.collect(),
        folded: false,
    }
}

fn stage_name(stage: &str) -> String {
    match stage {
        "sft" | "grpo" => stage.to_uppercase(),
        other => other.to_owned(),
    }
}

fn improvements(sweep: &Sweep) -> ResultsTable {
    let rows = sweep.entries.iter().filter_map(|entry| {
        let found = entry.improvement.as_ref()?;
        let interval = found.interval.map_or_else(String::new, |[low, high]| {
            format!("{low:+.4} to {high:+.4}")
        });
        let verdict =
            entry.gate.as_ref().map_or(
                "",
                |gate| {
                    if gate.accepted { "accepted" } else { "refused" }
                },
            );
        let seeds = found.seeds.clone().unwrap_or_default();
        let pairs = found.pairs.map_or_else(String::new, |n| n.to_string());
        let cells = [
            format!("{:+.4}", found.difference),
            interval,
            pairs,
            seeds,
            verdict.to_owned(),
        ];
        Some(ResultsRow {
            name: entry.label.clone(),
            cells: cells.into_iter().map(text_cell).collect(),
            episodes: Vec::new(),
            command: found.provenance.command(),
        })
    });
    ResultsTable {
        id: "improvement".to_owned(),
        title: "GRPO compared with SFT".to_owned(),
        help: "Mean difference in score on the same seeds, both played greedily. The gate accepts a model only if the whole interval is above 0.".to_owned(),
        columns: vec![
            column("Model", "", false),
            column("Difference", "", true),
            column("95 % interval", "", true),
            column("Pairs", "", true),
            column("Seeds", "", true),
            column("Gate", "Verdict of `sentinel gate`.", false),
        ],
        rows: rows.collect(),
        folded: false,
    }
}
