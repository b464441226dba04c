//! Evaluations, ablations and sweeps as panels.

use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_page_protocol::{
    Card, Column, Layout, Link, Meter, Note, Panel, PlayedEpisode, RecordsSection,
};
use sentinel_policy::nn::Published;

use super::file::{
    AblationRow, Ablations, Evaluation, Interval, PolicyScore, Results, ScoredEpisode, Sweep,
    TaskScore,
};
use super::labels::{TRAINED_PLAYER, ablation_name, player_name, stack_name, task_name};
use super::{WorldSection, charts};
use crate::file_library::episode_query;
use crate::format::{grouped, percent};
use crate::world::TRAINED;

/// Worlds with their titles, and the folders of the models that play as the page's trained policy.
const WORLDS: [(&str, &str, [&str; 2]); 3] = [
    ("trust", "Whom to trust", TrustEnv::MODELS),
    ("cluster", "GPU cluster", ClusterEnv::MODELS),
    ("polyguard", "PolyGuard", PolyguardEnv::MODELS),
];

/// Names of the places of an example among the episodes of a task.
const PLACES: [&str; 3] = ["lowest", "middle", "highest"];

fn title_of(world: &str) -> &str {
    let known = WORLDS.iter().find(|(name, ..)| *name == world);
    known.map_or(world, |(_, title, _)| title)
}

/// Returns `true` if the model of an evaluation is the page's trained policy under its rules, or none
/// played.
fn plays_here(evaluation: &Evaluation) -> bool {
    // The names of rules that are nearer to the hardened ones begin so.
    let place = usize::from(evaluation.rules.starts_with("hardened"));
    let own = |(name, _, folders): &(&str, &str, [&str; 2])| {
        *name == evaluation.world && evaluation.model.as_deref() == Some(folders[place])
    };
    evaluation.model.is_none() || WORLDS.iter().any(own)
}

/// Returns a table with columns of numbers beside the names.
pub(super) fn table(id: &str, title: &str, columns: &[(&str, &str)], cards: Vec<Card>) -> Panel {
    let column = |(title, help): &(&str, &str)| Column {
        title: (*title).to_owned(),
        help: (*help).to_owned(),
        numeric: true,
    };
    Panel {
        id: id.to_owned(),
        title: title.to_owned(),
        layout: Layout::Table(columns.iter().map(column).collect()),
        cards,
        ..Panel::default()
    }
}

/// Returns a score with its interval.
fn score_text(score: Interval) -> String {
    let mean = format!("{:.3}", score.mean);
    match score.half_width {
        Some(half_width) => format!("{mean} ± {half_width:.3}"),
        None => mean,
    }
}

/// Returns a whole number with thin spaces between groups of three digits.
fn count(number: u64) -> String {
    grouped(usize::try_from(number).unwrap_or(usize::MAX))
}

/// Returns a difference with its sign.
fn signed(difference: f64) -> String {
    format!("{difference:+.3}").replace('-', "−")
}

/// Returns a row of a table: its name, its score as the first cell and as a bar, and other cells.
fn score_row(name: String, score: Interval, cells: impl IntoIterator<Item = String>) -> Card {
    Card {
        key: name.clone(),
        title: name,
        cells: std::iter::once(score_text(score)).chain(cells).collect(),
        meters: vec![Meter {
            value: score.mean as f32,
            ..Meter::default()
        }],
        ..Card::default()
    }
}

/// Returns a note that explains how a number was made; none for an empty command.
pub(super) fn command_note(command: &str) -> Vec<Note> {
    let note = || Note {
        text: "Command".to_owned(),
        help: command.to_owned(),
        ..Note::default()
    };
    (!command.is_empty()).then(note).into_iter().collect()
}

/// Returns what was played: seeds, streams and rules.
fn conditions(evaluation: &Evaluation) -> String {
    format!(
        "Seeds {} of each task, {} streams, {} rules.",
        evaluation.seeds, evaluation.streams, evaluation.rules
    )
}

/// Returns a section for each evaluation whose players the page has.
pub(super) fn baselines(evaluations: &[Evaluation]) -> Vec<WorldSection> {
    let here = evaluations.iter().filter(|found| plays_here(found));
    here.map(|found| WorldSection::new(&found.world, baseline(found)))
        .collect()
}

fn baseline(evaluation: &Evaluation) -> RecordsSection {
    let mut policies: Vec<&PolicyScore> = evaluation.policies.iter().collect();
    policies.sort_by(|a, b| b.score.mean.total_cmp(&a.score.mean));
    let row = |policy: &&PolicyScore| Card {
        links: extremes(evaluation, policy),
        ..score_row(
            player_name(&evaluation.world, &policy.policy),
            policy.score,
            [count(policy.episodes)],
        )
    };
    let id = &evaluation.id;
    let mut scores = table(
        &format!("{id}-scores"),
        "Mean score",
        &[
            (
                "Score",
                "Mean over all tasks with half the width of its 95 % interval.",
            ),
            ("Episodes", ""),
        ],
        policies.iter().map(row).collect(),
    );
    scores.help = evaluation.provenance.command();
    let by_task = policies.iter().flat_map(|policy| {
        let row = |task: &TaskScore| task_row(evaluation, &policy.policy, task);
        policy.tasks.iter().map(row)
    });
    let mut tasks = table(
        &format!("{id}-tasks"),
        "Score by task",
        &[("Score", "")],
        by_task.collect(),
    );
    tasks.folded = true;
    RecordsSection {
        title: format!("Baselines: {}", title_of(&evaluation.world)),
        detail: format!(
            "{} The links open episodes: those with the lowest and the highest score, and others in between where there are more.",
            conditions(evaluation)
        ),
        panels: vec![scores, tasks],
        charts: Vec::new(),
    }
}

fn task_row(evaluation: &Evaluation, policy: &str, task: &TaskScore) -> Card {
    let places = match task.examples.len() {
        2 => &[PLACES[0], PLACES[2]][..],
        _ => &PLACES[..],
    };
    let links = places.iter().zip(&task.examples);
    let links = links.map(|(place, example)| {
        let text = format!("{place}: seed {}", example.seed);
        link(evaluation, policy, &task.task, &text, *example)
    });
    let name = format!(
        "{}, {}",
        player_name(&evaluation.world, policy),
        task_name(&evaluation.world, &task.task)
    );
    Card {
        links: links.collect(),
        ..score_row(name, task.score, [])
    }
}

/// Returns links to the episodes of a player with the lowest and the highest score of all tasks.
fn extremes(evaluation: &Evaluation, policy: &PolicyScore) -> Vec<Link> {
    let all = || {
        let tasks = policy.tasks.iter();
        tasks.flat_map(|task| task.examples.iter().map(|found| (&task.task, *found)))
    };
    let by_score = |a: &(&String, ScoredEpisode), b: &(&String, ScoredEpisode)| {
        a.1.score.total_cmp(&b.1.score)
    };
    let found = [all().min_by(by_score), all().max_by(by_score)];
    let places = [PLACES[0], PLACES[2]].into_iter().zip(found);
    let links = places.filter_map(|(place, found)| {
        let (task, example) = found?;
        let text = format!(
            "{place}: {}, seed {}",
            task_name(&evaluation.world, task),
            example.seed
        );
        Some(link(evaluation, &policy.policy, task, &text, example))
    });
    links.collect()
}

/// Returns a link to an episode, with its score.
fn link(
    evaluation: &Evaluation,
    policy: &str,
    task: &str,
    text: &str,
    example: ScoredEpisode,
) -> Link {
    let player = match policy {
        TRAINED_PLAYER => TRAINED,
        name => name,
    };
    let episode = PlayedEpisode {
        task: task.to_owned(),
        seed: example.seed,
        streams: evaluation.streams.clone(),
        rules: evaluation.rules.clone(),
        player: player.to_owned(),
        player_label: String::new(),
    };
    Link {
        text: format!("{text}, {:.3}", example.score),
        query: episode_query(&evaluation.world, &episode),
    }
}

/// Returns the evaluations of policies that were trained in another way; `None` if there are none.
pub(super) fn ablations(evaluations: &[Evaluation]) -> Option<WorldSection> {
    let other = || evaluations.iter().filter(|found| !plays_here(found));
    let first = other().next()?;
    let tasks = first.policies.first()?.tasks.iter();
    let mut columns = vec![("All tasks", "")];
    let tasks: Vec<String> = tasks
        .map(|task| task_name(&first.world, &task.task))
        .collect();
    columns.extend(tasks.iter().map(|task| (task.as_str(), "")));
    let row = |evaluation: &Evaluation| {
        let policy = evaluation.policies.first()?;
        let id = &evaluation.id;
        let name = ablation_name(id.strip_prefix("eval_").unwrap_or(id));
        let tasks = policy.tasks.iter().map(|task| score_text(task.score));
        Some(Card {
            notes: command_note(&evaluation.provenance.command()),
            ..score_row(name, policy.score, tasks)
        })
    };
    let section = RecordsSection {
        title: format!("What each input is worth: {}", title_of(&first.world)),
        detail: format!(
            "{} Each row is a training run of its own. These models are not included; each row has the command that reproduces it.",
            conditions(first)
        ),
        panels: vec![table(
            "ablations",
            "Mean score",
            &columns,
            other().filter_map(row).collect(),
        )],
        charts: Vec::new(),
    };
    Some(WorldSection::new(&first.world, section))
}

/// Returns the ablation of PolyGuard's stack of agents.
pub(super) fn ablation_of_the_stack(file: &Ablations) -> RecordsSection {
    let row = |row: &AblationRow| {
        let shares = [row.safe_resolution, row.exploit_detection, row.invalid];
        let cells = shares.map(percent).into_iter();
        score_row(
            stack_name(&row.row),
            row.score,
            cells.chain([count(row.episodes)]),
        )
    };
    let mut stack = table(
        "stack",
        "Mean score of each row",
        &[
            ("Score", ""),
            (
                "Resolved safely",
                "Share of the episodes that end with all problems resolved and no harm done.",
            ),
            (
                "Exploits",
                "Share of the episodes that an anti-cheat rule ended.",
            ),
            ("Invalid", "Share of the steps without a valid choice."),
            ("Episodes", ""),
        ],
        file.ablation.iter().map(row).collect(),
    );
    "sentinel ablate --episodes 50 --model sft".clone_into(&mut stack.help);
    RecordsSection {
        title: "Ablation of the agents: PolyGuard".to_owned(),
        detail: format!(
            "Seeds {} of each cell, {} rules. Parts of the stack are left out one at a time; two rows ask a language model.",
            file.seeds, file.rules
        ),
        panels: vec![stack],
        charts: Vec::new(),
    }
}

/// Returns the section of a sweep: scores of each stage, GRPO against SFT, and its charts.
pub(super) fn sweep(path: &str, sweep: &Sweep, results: &Results) -> WorldSection {
    let mut section = charts::section(path, results);
    // The first table has the numbers of this chart.
    let first = |panel: &Panel| panel.id.contains("sft_vs_grpo_reward");
    section.panels.retain(|panel| !first(panel));
    section
        .panels
        .splice(0..0, [stages(path, sweep), improvements(path, sweep)]);
    section.title = format!("Sweep: {}", results.title);
    "Language models that were fine-tuned on demonstrations (SFT) and then trained with GRPO. The page cannot play them.".clone_into(&mut section.detail);
    let evaluations = sweep
        .entries
        .iter()
        .flat_map(|entry| entry.evaluations.values());
    let world = evaluations.map(|found| found.world.clone()).next();
    WorldSection { world, section }
}

fn stages(path: &str, sweep: &Sweep) -> Panel {
    let row = |label: &str, name: &str, evaluation: &Evaluation| {
        let policy = evaluation.policies.first()?;
        let stage = name.strip_prefix("eval_").unwrap_or(name);
        let stage = stage.replace("sft", "SFT").replace("grpo", "GRPO");
        let valid = evaluation.validity.map_or_else(String::new, percent);
        let name = format!("{label}, {}", stage.replace('_', ", "));
        let cells = [valid, evaluation.seeds.clone()];
        Some(Card {
            notes: command_note(&evaluation.provenance.command()),
            ..score_row(name, policy.score, cells)
        })
    };
    // The order of training, not of the alphabet.
    let place = |name: &str| {
        let order = ["eval_base", "eval_sft", "eval_grpo"];
        order.iter().position(|known| *known == name)
    };
    let rows = sweep.entries.iter().flat_map(|entry| {
        let mut all: Vec<_> = entry.evaluations.iter().collect();
        all.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
        all.into_iter()
            .filter_map(|(name, found)| row(&entry.label, name, found))
            .collect::<Vec<_>>()
    });
    table(
        &format!("{path}-stages"),
        "Score of each stage",
        &[
            ("Score", "Mean with half the width of its 95 % interval."),
            ("Valid", "Share of the completions that are an action."),
            ("Seeds", ""),
        ],
        rows.collect(),
    )
}

fn improvements(path: &str, sweep: &Sweep) -> Panel {
    let rows = sweep.entries.iter().filter_map(|entry| {
        let found = entry.improvement.as_ref()?;
        let interval = found.interval.map_or_else(String::new, |[low, high]| {
            format!("{} to {}", signed(low), signed(high))
        });
        let verdict = entry.gate.as_ref().map_or("", |gate| match gate.accepted {
            true => "yes",
            false => "no",
        });
        let pairs = found.pairs.map_or_else(String::new, count);
        Some(Card {
            key: entry.label.clone(),
            title: entry.label.clone(),
            cells: vec![
                signed(found.difference),
                interval,
                pairs,
                found.seeds.clone().unwrap_or_default(),
                verdict.to_owned(),
            ],
            notes: command_note(&found.provenance.command()),
            ..Card::default()
        })
    });
    table(
        &format!("{path}-improvement"),
        "GRPO compared with SFT",
        &[
            (
                "Difference",
                "Mean difference in score on the same seeds, both played greedily.",
            ),
            ("95 % interval", ""),
            ("Pairs", ""),
            ("Seeds", ""),
            (
                "Significant?",
                "“Yes” only if the whole interval is above 0, which `sentinel gate` asks of a model.",
            ),
        ],
        rows.collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::file::Provenance;
    use super::*;

    /// The links of an evaluation open episodes of the page's trained policy, so that its model must be the
    /// one that plays under its rules.
    #[test]
    fn evaluation_plays_here_with_the_model_for_its_rules() {
        for (world, model, rules, expected) in [
            ("trust", "replays/grpo", "reference", true),
            ("trust", "replays/grpo", "hardened", false),
            ("trust", "replays/trust-grpo-hardened", "hardened", true),
            ("trust", "replays/trust-grpo-hardened", "reference", false),
            ("cluster", "replays/cluster-grpo", "hardened-health", true),
            ("cluster", "replays/cluster-grpo", "reference+health", false),
            (
                "cluster",
                "replays/cluster-grpo-reference",
                "reference",
                true,
            ),
            ("polyguard", "replays/polyguard-grpo", "reference", true),
            ("polyguard", "replays/polyguard-grpo", "hardened", true),
            ("polyguard", "replays/grpo", "reference", false),
        ] {
            let evaluation = Evaluation {
                id: String::new(),
                world: world.to_owned(),
                model: Some(model.to_owned()),
                seeds: String::new(),
                streams: String::new(),
                rules: rules.to_owned(),
                policies: Vec::new(),
                validity: None,
                provenance: Provenance { command: None },
            };
            assert_eq!(plays_here(&evaluation), expected, "{model} {rules}");
        }
    }
}
