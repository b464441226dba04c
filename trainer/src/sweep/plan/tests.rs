//! Tests of plans: models by name, options of stages, and manifests that are invalid.

use super::*;

fn args(models: &str) -> SweepArgs {
    SweepArgs {
        models: Some(models.to_owned()),
        reports_dir: "r".into(),
        checkpoints_dir: "c".into(),
        ..SweepArgs::default()
    }
}

fn manifest(text: &str, ending: &str) -> Result<SweepPlan, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("sweep.{ending}"));
    std::fs::write(&path, text).expect("a file");
    let args = SweepArgs {
        models: None,
        manifest: Some(path),
        ..args("")
    };
    args.plan().map_err(|error| error.to_string())
}

#[test]
fn sizes_and_presets_expand_to_models() {
    let plan = args("0.5B,3b,tiny, org/model").plan().expect("a plan");
    let found: Vec<(&str, &str)> = (plan.entries.iter())
        .map(|entry| (entry.id.as_str(), entry.base_model.as_str()))
        .collect();
    let expected = [
        ("qwen-qwen2-5-0-5b-instruct", "Qwen/Qwen2.5-0.5B-Instruct"),
        ("qwen-qwen2-5-3b-instruct", "Qwen/Qwen2.5-3B-Instruct"),
        ("tiny", "c/sweeps/tiny/base"),
        ("org-model", "org/model"),
    ];
    assert_eq!(found, expected);
    let stages = |at: usize| {
        plan.entries[at]
            .stages()
            .map(Stage::name)
            .collect::<Vec<_>>()
    };
    let whole = [
        "corpus",
        "sft",
        "merge",
        "grpo",
        "postsave",
        "eval",
        "improvement",
    ];
    assert_eq!(stages(0), whole);
    assert_eq!(stages(2)[..4], ["corpus", "init", "base", "sft"]);
    let tiny = &plan.entries[2];
    assert!(tiny.base.as_ref().is_some_and(|base| base.options.run.full));
    let command = tiny.command(Stage::Grpo);
    assert!(
        command.starts_with("sentinel lm grpo --model c/sweeps/tiny/merged"),
        "{command}"
    );
    assert!(
        command.ends_with("--output-dir c/sweeps/tiny/grpo_adapter"),
        "{command}"
    );
}

#[test]
fn entry_options_override_stage_and_shared_options() {
    let text = "
        world = 'polyguard'
        difficulty = 'easy'
        rules = 'hardened'
        [sft]
        max_steps = 3
        learning_rate = 1e-4
        [grpo]
        rules = 'reference'
        [[entry]]
        model = 'tiny'
        id = 'a'
        [entry.sft]
        max-steps = 5
        [[entry]]
        model = 'tiny'
        id = 'b'
    ";
    let plan = manifest(text, "toml").expect("a plan");
    let [a, b] = plan.entries.as_slice() else {
        panic!("{plan:?}");
    };
    let sft = |entry: &PlanEntry| {
        let config = &entry.sft.options;
        (
            config.run.max_steps,
            config.learning_rate,
            config.eval_rules.clone(),
        )
    };
    assert_eq!(sft(a), (5, 1e-4, "hardened".to_owned()));
    assert_eq!(sft(b), (3, 1e-4, "hardened".to_owned()));
    assert_eq!((&*a.world, &*a.rules), ("polyguard", "reference"));
    let corpus = a.corpus.as_ref().expect("a corpus");
    assert_eq!(
        corpus.options.episode.cells.difficulty.as_deref(),
        Some("easy")
    );
    assert!(a.stages().any(|stage| stage == Stage::Ablation));
    let json = r#"{"models": ["tiny"], "data": "d.jsonl", "grpo": {"max_steps": 1}}"#;
    let plan = manifest(json, "json").expect("a plan");
    assert_eq!(plan.entries[0].data, Path::new("d.jsonl"));
    assert!(plan.entries[0].stages().all(|stage| stage != Stage::Corpus));
}

#[test]
fn index_selects_one_entry() {
    let second = SweepArgs {
        index: Some(1),
        ..args("tiny,small")
    };
    let plan = second.plan().expect("a plan");
    assert_eq!(plan.entries.len(), 1);
    assert_eq!(plan.entries[0].id, "small");
    let beyond = SweepArgs {
        index: Some(2),
        ..second
    };
    let message = beyond
        .plan()
        .map_or_else(|error| error.to_string(), |_| String::new());
    assert!(
        message.contains("there are 2 entries, from 0 to 1"),
        "{message}"
    );
}

#[test]
fn invalid_manifest_error_names_place() {
    for (text, expected) in [
        ("", "it names no model"),
        ("models = ['tiny', 'tiny']", "are both run tiny"),
        ("models = 'tiny'", "models is not a list"),
        ("model = 'tiny'", "there is no key model"),
        (
            "models = ['tiny']\n[sft]\nrate = 1",
            "stage sft: unexpected argument '--rate'",
        ),
        ("models = ['tiny']\nworld = 'x'", "invalid value 'x'"),
        ("models = ['tiny']\n[sft", "not a manifest (line 2"),
        ("[[entry]]\nid = 'a'", "an entry has no model"),
        (
            "[[entry]]\nmodel = 'tiny'\nid = '../a'",
            "is not the id of a run",
        ),
        (
            "models = ['tiny']\n[grpo]\nmodel = 'x'",
            "the sweep sets model itself",
        ),
    ] {
        let found = manifest(text, "toml");
        let error = found.err().unwrap_or_default();
        assert!(
            error.contains(expected) && error.contains("sweep.toml"),
            "{text}: {error}"
        );
    }
    assert!(manifest("[1]", "json").is_err_and(|error| error.contains("not a table")));
}
