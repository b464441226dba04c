//! Evaluation files of `sentinel eval --out` and `sentinel lm eval --out`, as rows of means.

use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::strict_json::Json;
use sentinel_env::{EpisodeSpec, Named as _, TaskName as _, WorldName};
use sentinel_page_protocol::{Evaluation, EvaluationRow, PlayedEpisode};
use sentinel_policy::SEED_MAX;
use sentinel_policy::interval::ConfidenceInterval;

use crate::file_library;
use crate::world::{PageWorld, TRAINED, world_info};

/// Name of the learned policy or replay in evaluation files.
const TRAINED_ROW: &str = "trained";
/// Largest number of rows that are shown.
const ROWS_MAX: usize = 500;

/// The scores of one policy on one task.
struct Cell<'a> {
    task: &'a str,
    policy: &'a str,
    /// Seeds with their scores.
    scores: Vec<(u64, f64)>,
}

/// Returns `true` if a JSON file has the keys of an evaluation.
#[must_use]
pub fn is_evaluation(file: &Json) -> bool {
    let has = |key: &str| file.get(key).is_some();
    has("episodes") && has("summary") || has("validity") && has("score") && has("tasks")
}

/// Returns the name of the world that was evaluated; the default world if the file names none.
#[must_use]
pub fn world(file: &Json) -> &str {
    let origin = file.get("sentinel").unwrap_or(file);
    let world = origin.get("world").or_else(|| file.get("world"));
    let world = world.and_then(Json::as_str);
    world.unwrap_or_else(|| WorldName::DEFAULT.name())
}

/// Reads an evaluation of world `W`.
///
/// # Errors
/// Returns a sentence that names the place at which the file is wrong.
pub fn read<W: PageWorld>(name: &str, file: &Json) -> Result<Evaluation, String> {
    let mut rows = match file.get("episodes") {
        Some(episodes) => {
            let cells = cells(episodes)?;
            rows::<W>(&cells, &Origin::new(file))
        }
        None => language_model_rows(file)?,
    };
    rows.iter_mut().for_each(use_labels::<W>);
    let mut summary = summary(file);
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    if left_out > 0 {
        summary += &format!(" {left_out} more rows of the file are not shown.");
    }
    Ok(Evaluation {
        name: name.to_owned(),
        summary,
        rows: rows.into_iter().take(ROWS_MAX).collect(),
    })
}

/// Returns the scores of a file by task and policy, in the order of the file.
fn cells(episodes: &Json) -> Result<Vec<Cell<'_>>, String> {
    let episodes = episodes.as_array().ok_or("`episodes` is not a list")?;
    let mut cells: Vec<Cell<'_>> = Vec::new();
    for (index, row) in episodes.iter().enumerate() {
        let missing = |key: &str, what: &str| {
            let number = index + 1;
            format!("entry {number} of `episodes` has no `{key}` that is {what}")
        };
        let word = |key: &'static str| {
            let word = row.get(key).and_then(Json::as_str);
            word.ok_or_else(|| missing(key, "text"))
        };
        let (task, policy) = (word("task_type")?, word("policy")?);
        let seed = row.get("seed").and_then(Json::as_u64);
        let seed = seed.filter(|seed| *seed <= SEED_MAX);
        let seed = seed.ok_or_else(|| missing("seed", "a seed"))?;
        let score = row.get("score").and_then(Json::as_f64);
        let score = score.filter(|score| (-1e3..=1e3).contains(score));
        let score = score.ok_or_else(|| missing("score", "a score"))?;
        // Rows of a cell follow one another.
        let found = cells
            .iter()
            .rposition(|cell| cell.task == task && cell.policy == policy);
        match found {
            Some(index) => cells[index].scores.push((seed, score)),
            None if cells.len() >= 10 * ROWS_MAX => {
                return Err("`episodes` has too many tasks and policies".to_owned());
            }
            None => cells.push(Cell {
                task,
                policy,
                scores: vec![(seed, score)],
            }),
        }
    }
    if cells.is_empty() {
        return Err("`episodes` is empty".to_owned());
    }
    Ok(cells)
}

/// The conditions that all episodes of a file share.
struct Origin<'a> {
    streams: &'a str,
    rules: &'a str,
    /// `true` if a trained model played as policy `trained`.
    has_model: bool,
    /// `true` if the page can play the same episodes.
    repeatable: bool,
}

impl<'a> Origin<'a> {
    fn new(file: &'a Json) -> Self {
        let word = |key: &str| {
            let origin = file.get("sentinel").and_then(|origin| origin.get(key));
            origin.or_else(|| file.get(key)).and_then(Json::as_str)
        };
        Self {
            streams: word("streams").unwrap_or_else(|| Streams::Reference.name()),
            rules: word("rules").unwrap_or_default(),
            has_model: word("model").is_some(),
            repeatable: !is_adaptive(file) && file.get("adversary_threshold").is_none(),
        }
    }

    /// Returns an episode in the words of the address; `None` if the page cannot play it.
    fn episode<W: PageWorld>(&self, cell: &Cell<'_>, seed: u64) -> Option<PlayedEpisode> {
        let streams = Streams::parse(self.streams).filter(|mode| W::STREAMS.contains(mode))?;
        let rules = match self.rules {
            "" => Rules::REFERENCE,
            rules => Rules::parse(rules).ok()?,
        };
        let player = match (cell.policy, W::PolicyName::parse(cell.policy)) {
            (TRAINED_ROW, _) => self.has_model.then_some(TRAINED)?,
            (_, policy) => policy
                .filter(|policy| W::policies().contains(policy))?
                .name(),
        };
        let origin = EpisodeSpec::<W> {
            task: W::Task::parse(cell.task)?,
            seed,
            streams,
            rules,
        };
        let mut episode = file_library::episode(&origin);
        player.clone_into(&mut episode.player);
        self.repeatable.then_some(episode)
    }
}

fn is_adaptive(file: &Json) -> bool {
    file.get("adaptive") == Some(&Json::Bool(true))
}

/// Returns a row for each cell, and before them one for each policy over all of its tasks.
fn rows<W: PageWorld>(cells: &[Cell<'_>], origin: &Origin<'_>) -> Vec<EvaluationRow> {
    let mut policies: Vec<&str> = Vec::new();
    for cell in cells {
        if !policies.contains(&cell.policy) {
            policies.push(cell.policy);
        }
    }
    let mut rows = Vec::new();
    for policy in policies {
        let own: Vec<&Cell<'_>> = cells.iter().filter(|c| c.policy == policy).collect();
        if own.len() > 1 {
            let found = interval(&own);
            let count = own.iter().map(|cell| cell.scores.len()).sum();
            let (mean, half_width) = (found.mean, found.half_width);
            rows.push(row("All tasks", policy, count, mean, half_width));
        }
    }
    for cell in cells {
        let found = interval(&[cell]);
        let (mean, half_width) = (found.mean, found.half_width);
        let mut row = row(cell.task, cell.policy, cell.scores.len(), mean, half_width);
        let link = |word: &str, (seed, score): (u64, f64)| {
            let text = format!("{word}: seed {seed}, {score:.3}");
            Some((text, origin.episode::<W>(cell, seed)?))
        };
        let worst = extreme(&cell.scores, |score, worst| score < worst);
        let best = extreme(&cell.scores, |score, best| score > best);
        row.links = [("Worst", worst), ("Best", best)]
            .into_iter()
            .filter_map(|(word, episode)| link(word, episode?))
            .collect();
        rows.push(row);
    }
    rows
}

/// Replaces the names of task and policy by readable ones, where the world has them.
fn use_labels<W: PageWorld>(row: &mut EvaluationRow) {
    let tasks = world_info::<W>().tasks;
    if let Some(task) = tasks.into_iter().find(|task| task.name == row.task) {
        row.task = task.label;
    }
    if let Some(policy) = W::PolicyName::parse(&row.policy) {
        W::policy_label(policy).clone_into(&mut row.policy);
    }
}

fn row(task: &str, policy: &str, count: usize, mean: f64, half_width: f64) -> EvaluationRow {
    EvaluationRow {
        task: task.to_owned(),
        policy: policy.to_owned(),
        episodes: u32::try_from(count).unwrap_or(u32::MAX),
        mean,
        half_width,
        links: Vec::new(),
    }
}

/// Returns the interval of the mean over cells.
fn interval(cells: &[&Cell<'_>]) -> ConfidenceInterval {
    let scores = |cell: &&Cell<'_>| cell.scores.iter().map(|(_, score)| *score).collect();
    let cells: Vec<Vec<f64>> = cells.iter().map(scores).collect();
    ConfidenceInterval::from_cells(&cells)
}

/// Returns the first episode whose score is better than that of all others, by `is_better`.
fn extreme(scores: &[(u64, f64)], is_better: fn(f64, f64) -> bool) -> Option<(u64, f64)> {
    scores.iter().copied().reduce(|found, other| {
        if is_better(other.1, found.1) {
            other
        } else {
            found
        }
    })
}

/// Returns the rows of an evaluation of a language model, which has means only.
fn language_model_rows(file: &Json) -> Result<Vec<EvaluationRow>, String> {
    let tasks = file.get("tasks").and_then(Json::as_array);
    let tasks = tasks.ok_or("`tasks` is not a list")?;
    let number = |json: Option<&Json>, key: &str| json?.get(key)?.as_f64();
    let interval = |place: &str, json: Option<&Json>| {
        let mean = number(json, "mean").ok_or_else(|| format!("{place} has no number `mean`"))?;
        Ok::<_, String>((mean, number(json, "half_width").unwrap_or(f64::NAN)))
    };
    let episodes = file.get("signals").and_then(|all| all.get("episodes"));
    let episodes = episodes.and_then(Json::as_u64).unwrap_or(0);
    let episodes = usize::try_from(episodes).unwrap_or(usize::MAX);
    let mut rows = Vec::new();
    if tasks.len() != 1 {
        let (mean, half_width) = interval("`score`", file.get("score"))?;
        rows.push(row("All tasks", "model", episodes, mean, half_width));
    }
    for (index, task) in tasks.iter().enumerate() {
        let place = format!("entry {} of `tasks`", index + 1);
        let pair = task.as_array().unwrap_or_default();
        let name = pair.first().and_then(Json::as_str);
        let name = name.ok_or_else(|| format!("{place} names no task"))?;
        let (mean, half_width) = interval(&place, pair.get(1))?;
        // The file counts the episodes of all tasks together.
        let count = if tasks.len() == 1 { episodes } else { 0 };
        rows.push(row(name, "model", count, mean, half_width));
    }
    Ok(rows)
}

/// Returns sentences about models, seeds, streams and rules, and about what limits the file.
fn summary(file: &Json) -> String {
    let origin = file.get("sentinel");
    let word = |key: &str| origin.and_then(|origin| origin.get(key)?.as_str());
    let mut parts = Vec::new();
    for (key, name) in [
        ("model", "Model"),
        ("adapter", "adapter"),
        ("seeds", "seeds"),
    ] {
        if let Some(word) = word(key) {
            parts.push(format!("{name} {word}"));
        }
    }
    let common = Origin::new(file);
    let rules = match common.rules {
        "" => "reference",
        rules => rules,
    };
    parts.push(format!("{} streams, {rules} rules", common.streams));
    if let Some(validity) = file.get("validity").and_then(Json::as_f64) {
        parts.push(format!(
            "{:.1} % of the completions are valid",
            validity * 100.0
        ));
    }
    let mut text = crate::format::capitalized(&parts.join(", ")) + ". Intervals are 95 %.";
    if file.get("episodes").is_none() {
        text += " The file has means only, so no episode is linked.";
    } else if !common.repeatable {
        text +=
            " Episodes were played at a difficulty that the page does not set, so none is linked.";
    } else if common.has_model {
        text += " Links of “trained” play the trained policy that this page has loaded.";
    }
    let fallbacks = origin.and_then(|origin| origin.get("fallbacks")?.as_array());
    let fallbacks = fallbacks.map_or(0, <[Json]>::len);
    if fallbacks > 0 {
        let counted = crate::format::counted(fallbacks, "fallback", "fallbacks");
        text += &format!(" The file records {counted}: some results are not the model’s.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::cluster::ClusterEnv;
    use sentinel_env::trust::TrustEnv;

    fn parsed(text: &str) -> Json {
        serde_json::from_str(text).expect("JSON")
    }

    const FILE: &str = r#"{"adaptive": false, "summary": {}, "by_task": {}, "streams": "independent",
        "episodes": [
        {"policy": "bayes", "task_type": "task1", "seed": 3, "score": 0.5},
        {"policy": "bayes", "task_type": "task1", "seed": 4, "score": 0.7},
        {"policy": "trained", "task_type": "task1", "seed": 3, "score": 0.6},
        {"policy": "bayes", "task_type": "task2", "seed": 3, "score": 0.9},
        {"policy": "bayes", "task_type": "task2", "seed": 4, "score": 0.9}]}"#;

    #[test]
    fn rows_have_means_intervals_and_links() {
        let file = parsed(FILE);
        assert!(is_evaluation(&file));
        assert_eq!(world(&file), "trust");
        let found = read::<TrustEnv>("e.json", &file).expect("an evaluation");
        let row = |row: &EvaluationRow| (row.task.clone(), row.policy.clone(), row.episodes);
        let rows: Vec<_> = found.rows.iter().map(row).collect();
        let named = |task: &str, policy: &str, n| (task.to_owned(), policy.to_owned(), n);
        assert_eq!(
            rows,
            [
                named("All tasks", "Bayes look-ahead", 4),
                named("Task 1", "Bayes look-ahead", 2),
                named("Task 1", "trained", 1),
                named("Task 2", "Bayes look-ahead", 2)
            ]
        );
        assert!((found.rows[0].mean - 0.75).abs() < 1e-12);
        assert!((found.rows[0].half_width - 0.098).abs() < 1e-9);
        assert!((found.rows[1].half_width - 0.196).abs() < 1e-9);
        // One episode has no spread.
        assert_eq!(found.rows[2].half_width, 0.0);
        let (text, episode) = &found.rows[1].links[0];
        assert_eq!(text, "Worst: seed 3, 0.500");
        assert_eq!(
            (episode.task.as_str(), episode.player.as_str()),
            ("task1", "bayes")
        );
        assert_eq!(episode.streams, "independent");
        // The file names no model for `trained`.
        assert!(found.rows[2].links.is_empty());
        let other = read::<ClusterEnv>("e.json", &file).expect("an evaluation");
        assert!(other.rows.iter().all(|row| row.links.is_empty()));
    }

    /// The trainer's report reads the same cases (`trainer/evidence/src/report/read/evaluation.rs`).
    #[test]
    fn intervals_are_those_of_the_trainer() {
        let vector: serde_json::Value =
            serde_json::from_str(include_str!("../../../testdata/intervals.json")).expect("JSON");
        for case in vector["cases"].as_array().expect("cases") {
            let cells = case["cells"].as_array().expect("cells").iter().enumerate();
            let rows = cells.flat_map(|(task, scores)| {
                let scores = scores.as_array().expect("scores").iter().enumerate();
                scores.map(move |(seed, score)| {
                    format!(
                        r#"{{"policy": "p", "task_type": "t{task}", "seed": {seed}, "score": {score}}}"#
                    )
                })
            });
            let rows: Vec<String> = rows.collect();
            let file = format!(r#"{{"summary": {{}}, "episodes": [{}]}}"#, rows.join(", "));
            let found = read::<TrustEnv>("e.json", &parsed(&file)).expect("an evaluation");
            let of = |key: &str| case[key].as_f64().expect("a number");
            let row = &found.rows[0];
            assert_eq!(
                (row.mean, row.half_width),
                (of("mean"), of("half_width")),
                "{}",
                case["what"]
            );
        }
    }

    #[test]
    fn episodes_of_adapted_difficulty_are_not_linked() {
        let file = parsed(&FILE.replace("false", "true"));
        let found = read::<TrustEnv>("e.json", &file).expect("an evaluation");
        assert!(found.rows.iter().all(|row| row.links.is_empty()));
        assert!(found.summary.contains("difficulty"), "{}", found.summary);
    }

    #[test]
    fn language_models_have_means_only() {
        let text = r#"{"world": "trust", "tasks": [["task1", {"mean": 0.82, "half_width": 0.01}]],
            "score": {"mean": 0.82, "half_width": 0.01}, "validity": 0.5, "signals": {"episodes": 400},
            "sentinel": {"world": "trust", "model": "m", "fallbacks": ["one"]}}"#;
        let file = parsed(text);
        assert!(is_evaluation(&file));
        let found = read::<TrustEnv>("e.json", &file).expect("an evaluation");
        assert_eq!(found.rows.len(), 1);
        assert_eq!((found.rows[0].episodes, found.rows[0].mean), (400, 0.82));
        for part in ["Model m", "50.0 %", "means only", "1 fallback"] {
            assert!(found.summary.contains(part), "{part}: {}", found.summary);
        }
    }

    #[test]
    fn wrong_rows_are_named_with_their_place() {
        let at = |from: &str, to: &str| {
            let file = parsed(&FILE.replacen(from, to, 1));
            read::<TrustEnv>("e.json", &file).expect_err("a wrong file")
        };
        assert!(
            at("\"score\": 0.6", "\"score\": \"x\"")
                .contains("entry 3 of `episodes` has no `score`")
        );
        assert!(at("\"seed\": 4", "\"seed\": -4").contains("entry 2 of `episodes` has no `seed`"));
        let empty = parsed(r#"{"summary": {}, "episodes": []}"#);
        assert!(read::<TrustEnv>("e.json", &empty).is_err());
        let broken = parsed(r#"{"validity": 1, "score": 1, "tasks": [["a", 1]]}"#);
        let error = read::<TrustEnv>("e.json", &broken).expect_err("a wrong file");
        assert!(error.contains("entry 1 of `tasks`"), "{error}");
    }
}
