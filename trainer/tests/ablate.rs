//! Tests of `sentinel ablate`: its rows, its file, and its errors for models that do not exist.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sentinel_base::provenance::Provenance;
use sentinel_base::{CellArgs, EpisodeArgs, SeedRange};
use sentinel_env::WorldName;
use sentinel_language::ablate::{
    AblateConfig, Ablation, AblationModel, RowKey, ablate, format_table,
};
use sentinel_language::agent::GenerationArgs;
use sentinel_play::rollout::RolloutError;
use sentinel_policy::text::PromptStyle;
use serde_json::Value;

use crate::common;
use common::{Callback, sentinel};

const ROWS: [&str; 13] = [
    "bandit_only",
    "llm_only",
    "llm_bandit",
    "stack_sequential_pipeline",
    "stack_supervisor_routed",
    "stack_replan_on_veto",
    "stack_lightweight_debate",
    "stack_without_graph",
    "stack_without_evidence",
    "stack_without_critic",
    "stack_without_supervisor",
    "stack_without_dosing",
    "stack_without_abstention",
];

fn config() -> AblateConfig {
    AblateConfig {
        episode: EpisodeArgs {
            rules: "hardened".to_owned(),
            cells: CellArgs {
                difficulty: Some("easy".to_owned()),
                ..CellArgs::default()
            },
            seeds: Some(SeedRange::new(1_000_000, 1_000_004)),
            ..EpisodeArgs::new(WorldName::Polyguard)
        },
        model: None,
        prompt: None,
        generation: GenerationArgs::default(),
        out: None,
    }
}

/// Returns, for each prompt, an answer that names its first candidate.
fn first(prompts: &[String]) -> Vec<String> {
    let name = |prompt: &String| {
        let at = prompt.find("\ncand_").unwrap();
        let id = &prompt[at + 1..at + 8];
        format!("candidate_id={id}; rationale=the first of the list")
    };
    prompts.iter().map(name).collect()
}

fn found(with_model: bool) -> Ablation {
    let plan = config().plan().unwrap();
    let mut generator = Callback(first);
    let provenance = Provenance::new();
    let words = with_model.then_some(AblationModel {
        name: "first",
        provenance: &provenance,
        style: PromptStyle::Compact,
        generator: &mut generator,
    });
    ablate(&plan, words, &AtomicBool::new(false), &|| ()).unwrap()
}

/// A request to stop ends an ablation after the episodes that have begun.
#[test]
fn ablation_ends_on_request() {
    let (plan, stop) = (config().plan().unwrap(), AtomicBool::new(false));
    let played = AtomicU64::new(0);
    let found = ablate(&plan, None, &stop, &|| {
        played.fetch_add(1, Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(found, Err(RolloutError::Interrupted));
    assert!(played.into_inner() < plan.episodes(false));
}

#[test]
fn model_rows_are_played_only_with_model() {
    let names: Vec<String> = RowKey::all().map(RowKey::name).collect();
    assert_eq!(names, ROWS);
    for with_model in [false, true] {
        let found = found(with_model);
        for row in &found.ablation {
            let silent = !with_model && row.row.starts_with("llm");
            assert_eq!(row.found.is_none(), silent, "{}", row.row);
            let Some(found) = &row.found else {
                continue;
            };
            assert_eq!((found.episodes, found.by_cell.len()), (32, 8));
            let mean = found.by_cell.iter().sum::<f64>() / 8.0;
            assert!((mean - found.score.mean).abs() < 1e-3, "{}", row.row);
            assert!(found.score.half_width > 0.0 && found.steps >= 1.0);
        }
        let text = format_table(&found);
        assert_eq!(
            text.contains("no model given (--model): llm_only, llm_bandit not played"),
            !with_model
        );
        assert_eq!(text.ends_with("llm: first\n"), with_model);
    }
}

#[test]
fn disabled_critic_has_zero_fallback_rate() {
    let found = found(false);
    let rate = |name: &str| {
        let row = found.ablation.iter().find(|row| row.row == name);
        row.unwrap().found.as_ref().unwrap().fallback_rate
    };
    assert!(rate("stack_sequential_pipeline") > 0.0);
    assert_eq!(rate("stack_without_critic"), 0.0);
    assert_eq!(rate("bandit_only"), 0.0);
}

#[test]
fn ablate_prints_table_and_writes_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ablation.json");
    let out = file.to_str().unwrap();
    let args = [
        "ablate",
        "--difficulty",
        "easy",
        "--episodes",
        "4",
        "--out",
        out,
    ];
    let run = sentinel(args);
    let text = run.succeeds();
    assert!(text.starts_with("8 cells, seeds 1000000..1000004 in each, hardened rules"));
    assert_eq!(
        text,
        format_table(&found(false)),
        "the same on any number of cores"
    );
    let read: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(read["cells"].as_array().unwrap().len(), 8);
    let rows = read["ablation"].as_array().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .map(|row| row["row"].as_str().unwrap())
        .collect();
    assert_eq!(names, ROWS);
    // An earlier ablation may be replaced, any other file not.
    sentinel(args).succeeds();
    std::fs::write(&file, "{\"mine\": 1}").unwrap();
    sentinel(args).fails(&["ablation.json", "is not an ablation"]);
}

#[test]
fn invalid_ablate_options_are_refused() {
    sentinel(["ablate", "--sub-environment", "XYZ"]).fails(&["XYZ", "DDI"]);
    sentinel(["ablate", "--rules", "soft"]).fails(&["soft"]);
    sentinel(["ablate", "--episodes", "0"]).fails(&["episodes"]);
    sentinel(["ablate", "--episodes", "2", "--seeds", "0..2"]).fails(&["--seeds"]);
}

/// Rows use the same seeds and can be compared: a model that names the bandit's first choice scores
/// as the bandit does.
#[test]
fn model_behind_bandit_scores_above_model_alone() {
    let all = found(true);
    let row = |name: &str| {
        let row = all.ablation.iter().find(|row| row.row == name).unwrap();
        row.found.clone().unwrap()
    };
    let (alone, behind) = (row("llm_only"), row("llm_bandit"));
    assert_eq!((alone.invalid, behind.invalid), (0.0, 0.0));
    assert!(
        behind.score.mean > alone.score.mean + 0.1,
        "{behind:?} {alone:?}"
    );
}

#[test]
fn language_model_plays_its_ablation_rows() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (model, out) = (at("tiny"), at("ablation.json"));
    let shape = "--preset tiny --hidden-size 16 --intermediate-size 32 --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 1";
    let init = ["init", "--output-dir", &model].into_iter();
    sentinel(init.chain(shape.split(' '))).succeeds();
    let small =
        "ablate --sub-environment DDI --difficulty easy --episodes 2 --max-completion-length 3";
    let with = |more: &[&str]| sentinel(small.split(' ').chain(more.iter().copied()));
    let run = with(&["--model", &model, "--out", &out]);
    let text = run.succeeds();
    assert!(text.ends_with("llm: tiny\n"), "{text}");
    let read: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!(read["model"], "tiny");
    for row in &read["ablation"].as_array().unwrap()[1..3] {
        // The three bytes of a new model are not an answer: every step counts as invalid.
        assert_eq!(
            (&row["episodes"], &row["invalid"]),
            (&2.into(), &1.0.into())
        );
    }
    with(&["--model", &at("none")]).fails(&["none", "config.json"]);
    with(&[]).fails(&["--model"]);
}
