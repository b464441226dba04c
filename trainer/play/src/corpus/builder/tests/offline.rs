//! Corpora of tables and episodes, and the folder that holds them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use sentinel_base::SeedRange;
use sentinel_base::provenance::file_digest;
use serde_json::Value;

use super::super::{BuildConfig, HoldoutFilter, Profile, Refusal, SourceName, SourceStatus, build};
use super::{Tested, built, entries, failure, network, rows};

/// Returns a configuration of few episodes with tables and episodes.
fn local(folder: std::path::PathBuf) -> BuildConfig {
    BuildConfig {
        with_local: true,
        with_synthetic: true,
        seeds: Some(SeedRange::new(100_000, 100_001)),
        grpo_seeds: Some(SeedRange::new(200_000, 200_001)),
        ..BuildConfig::new(folder)
    }
}

#[test]
fn offline_corpus_has_provenance_for_every_row() -> Tested {
    let folder = tempfile::tempdir()?;
    let config = BuildConfig {
        worlds: "all".to_owned(),
        ..local(folder.path().join("a/b"))
    };
    let summary = built(&config, "")?;
    let files = [
        "grpo_prompts.jsonl",
        "sft.jsonl",
        "sft.jsonl.sentinel.json",
        "summary.json",
    ];
    assert_eq!(entries(&config.output_dir)?, files);
    let (values, examples) = rows(&config.output_dir)?;
    assert_eq!(values.len(), examples.len());
    assert_eq!(values.len() as u64, summary.sft.rows);
    assert_eq!(
        file_digest(&config.output_dir.join("sft.jsonl"))?,
        summary.sft.sha256
    );
    let mut worlds = BTreeMap::<&str, u64>::new();
    for row in &values {
        assert_eq!(row["license"], "MIT");
        assert!(
            row["digest"]
                .as_str()
                .is_some_and(|digest| digest.starts_with("sha256:"))
        );
        match row["source"].as_str() {
            Some("local") => assert!(row["line"].as_u64() > Some(1) && row["table"].is_string()),
            Some("synthetic") => {
                assert_eq!(row["seed"], 100_000);
                *worlds
                    .entry(row["world"].as_str().unwrap_or_default())
                    .or_default() += 1;
            }
            other => return Err(format!("{other:?}").into()),
        }
    }
    assert_eq!(
        worlds.keys().copied().collect::<Vec<_>>(),
        ["cluster", "polyguard", "trust"]
    );
    let text = std::fs::read_to_string(config.output_dir.join("grpo_prompts.jsonl"))?;
    for line in text.lines() {
        let row: Value = serde_json::from_str(line)?;
        assert_eq!(row["seed"], 200_000);
        assert!(row.get("completion").is_none() && row["prompt"][0]["role"] == "user");
        assert!(row["step"].is_u64() && row["task"].is_string() && row["world"].is_string());
    }
    assert_eq!(text.lines().count() as u64, summary.grpo_prompts.rows);
    assert!(summary.provenance.inputs.len() == 4 && !summary.provenance.is_fallback());
    Ok(())
}

#[test]
fn held_out_rows_are_refused_and_counted() -> Tested {
    let folder = tempfile::tempdir()?;
    let config = BuildConfig {
        profile: Profile::Massive,
        with_synthetic: false,
        ..local(folder.path().join("corpus"))
    };
    let summary = built(&config, "")?;
    let holdout = HoldoutFilter::new();
    let (_, examples) = rows(&config.output_dir)?;
    for example in &examples {
        let text = format!("{} {}", example.prompt.question(), example.completion);
        assert_eq!(holdout.check(&text), None, "{text}");
    }
    let report = &summary.sources[&SourceName::Local];
    // Three phrasings of each of the six pairs whose archetypes are not held out themselves.
    assert_eq!(report.refused[&Refusal::HeldOutPair], 18);
    assert!(report.refused[&Refusal::HeldOutArchetype] > 1000);
    let lost: u64 = report.refused.values().sum();
    assert_eq!(report.read, report.rows + lost);
    // No statement about a held-out pair is taught as if the table did not list it.
    let asked: BTreeSet<&str> = examples.iter().map(|e| e.prompt.question()).collect();
    assert!(
        !asked
            .iter()
            .any(|q| q.contains("warfarin_like and macrolide_like"))
    );
    assert!(
        asked
            .iter()
            .any(|q| q.contains("warfarin_like and nsaid_like"))
    );
    Ok(())
}

#[test]
fn same_options_give_same_corpus_digests() -> Tested {
    let folder = tempfile::tempdir()?;
    let mut digests = BTreeSet::new();
    for name in ["a", "b"] {
        let summary = built(&local(folder.path().join(name)), "")?;
        digests.insert((summary.sft.sha256, summary.grpo_prompts.sha256));
    }
    assert_eq!(digests.len(), 1);
    Ok(())
}

#[test]
fn build_config_defaults_match_command_line() -> Tested {
    use clap::{Args as _, FromArgMatches as _};

    let command = BuildConfig::augment_args(clap::Command::new("build").no_binary_name(true));
    let parsed = command.try_get_matches_from(["--output-dir", "x"])?;
    let parsed = BuildConfig::from_arg_matches(&parsed)?;
    let made = BuildConfig::new("x".into());
    assert_eq!(format!("{parsed:?}"), format!("{made:?}"));
    let command = "sentinel lm build-corpus --profile small --output-dir x --worlds polyguard \
                   --prompt compact";
    assert_eq!(made.command(), command);
    Ok(())
}

#[test]
fn unrequested_sources_are_reported_with_reason() -> Tested {
    let folder = tempfile::tempdir()?;
    let config = local(folder.path().join("corpus"));
    let summary = built(&config, "")?;
    for name in [SourceName::Hf, SourceName::DdiApi, SourceName::WebFallback] {
        let report = &summary.sources[&name];
        assert_eq!(report.status, SourceStatus::NotRequested);
        assert!(
            report
                .reason
                .as_ref()
                .is_some_and(|why| why.contains("was not given"))
        );
    }
    let text = summary.to_string();
    assert!(
        text.contains("hf            not requested: --with-hf was not given"),
        "{text}"
    );
    let config = BuildConfig {
        worlds: "trust".to_owned(),
        output_dir: folder.path().join("trust"),
        ..config
    };
    let report = &built(&config, "")?.sources[&SourceName::Local];
    assert_eq!(report.reason.as_deref(), Some("trust has no tables"));
    Ok(())
}

#[test]
fn invalid_build_options_are_refused() -> Tested {
    let folder = tempfile::tempdir()?;
    let config = |change: &dyn Fn(&mut BuildConfig)| {
        let mut config = local(folder.path().join("corpus"));
        change(&mut config);
        failure(&config, "")
    };
    let none = config(&|c| (c.with_local, c.with_synthetic) = (false, false))?;
    assert!(
        none.contains("choose at least one source: --with-local"),
        "{none}"
    );
    let seeds = config(&|c| c.seeds = Some(SeedRange::new(0, 3)))?;
    assert!(
        seeds.contains("--seeds: 0..3 are not all among 100000..1000000"),
        "{seeds}"
    );
    let overlap = config(&|c| c.grpo_seeds = c.seeds)?;
    assert!(overlap.contains("have seeds in common"), "{overlap}");
    let world = config(&|c| c.worlds = "mars".to_owned())?;
    assert!(world.contains("unknown world \"mars\""), "{world}");
    let empty = config(&|c| (c.worlds, c.with_synthetic) = ("trust".to_owned(), false))?;
    assert!(
        empty.contains("no row is left") && empty.contains("trust has no tables"),
        "{empty}"
    );
    Ok(())
}

#[test]
fn output_folder_is_replaced_only_if_it_holds_corpus() -> Tested {
    let folder = tempfile::tempdir()?;
    let message = |config: &BuildConfig| {
        let error = built(config, "").err();
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    let mut config = local(folder.path().join("corpus"));
    // An empty folder is as good as none.
    std::fs::create_dir(&config.output_dir)?;
    let first = built(&config, "")?;
    let exists = message(&config);
    assert!(exists.contains("holds a corpus: overwrite it"), "{exists}");
    config.overwrite_output_dir = true;
    config.with_synthetic = false;
    let second = built(&config, "")?;
    assert_ne!(first.sft.sha256, second.sft.sha256);
    let text = std::fs::read_to_string(config.output_dir.join("summary.json"))?;
    let written: Value = serde_json::from_str(&text)?;
    assert_eq!(written["sft"]["sha256"], second.sft.sha256.as_str());
    // A replacement that ended before its summary can be repeated.
    std::fs::remove_file(config.output_dir.join("summary.json"))?;
    built(&config, "")?;
    // Other files are never overwritten.
    config.output_dir = folder.path().join("other");
    std::fs::create_dir(&config.output_dir)?;
    std::fs::write(config.output_dir.join("thesis.txt"), "all of it")?;
    let other = message(&config);
    assert!(
        other.contains("is not an empty folder, and holds no corpus"),
        "{other}"
    );
    assert_eq!(entries(&config.output_dir)?, ["thesis.txt"]);
    // A file is in the way.
    config.output_dir = folder.path().join("other/thesis.txt/corpus");
    let file = message(&config);
    assert!(file.contains("cannot write"), "{file}");
    Ok(())
}

#[test]
fn interrupted_build_leaves_no_files() -> Tested {
    let folder = tempfile::tempdir()?;
    let config = local(folder.path().join("corpus"));
    let stop = AtomicBool::new(true);
    let error = build(&config, &network("")?, &stop, &|| ()).err();
    assert!(error.is_some_and(|error| error.to_string().contains("nothing was written")));
    assert!(entries(folder.path())?.is_empty());
    Ok(())
}
