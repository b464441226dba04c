//! Inputs that cannot be read: each is an error that names the file, the place and a remedy.

use std::path::Path;

use super::fixture::{Project, Tested};
use super::report;

/// Asserts that a report of `input` fails with all of `words`, and that nothing is written.
fn assert_fails(project: &Project, input: &Path, words: &[&str]) {
    let out = project.path("failed");
    let error = report(&[input], &out).map(|_| "no error".to_owned());
    let text = error.unwrap_or_else(|error| error.to_string());
    for word in words {
        assert!(text.contains(word), "{text:?} lacks {word:?}");
    }
    assert!(!out.exists());
}

fn truncate(path: &Path) -> Tested {
    let text = std::fs::read(path)?;
    std::fs::write(path, &text[..text.len() / 2])?;
    Ok(())
}

#[test]
fn missing_or_empty_input_is_refused() -> Tested {
    let project = Project::new()?;
    assert_fails(
        &project,
        &project.path("nowhere"),
        &["there is no", "nowhere", "name a run folder"],
    );
    let empty = project.folder("empty")?;
    assert_fails(
        &project,
        &empty,
        &["empty holds no run", "trainer_state.json"],
    );
    std::fs::write(empty.join("sentinel.json"), "{}")?;
    assert_fails(&project, &empty, &["holds no run"]);
    std::fs::write(empty.join("sweep.json"), "{\"entries\": []}")?;
    assert_fails(&project, &empty, &["holds no run"]);
    Ok(())
}

#[test]
fn run_without_trainer_state_is_refused() -> Tested {
    let project = Project::new()?;
    let run = project.run("run")?;
    std::fs::remove_file(run.join("trainer_state.json"))?;
    assert_fails(
        &project,
        &run,
        &["without trainer_state.json", "--resume-from-checkpoint"],
    );
    Ok(())
}

#[test]
fn log_of_a_run_may_hold_numbers_that_are_not_finite() -> Tested {
    let project = Project::new()?;
    let run = project.run("run")?;
    let path = run.join("trainer_state.json");
    let text = std::fs::read_to_string(&path)?;
    let text = text.replacen('{', "{\"best_metric\": -Infinity,", 1);
    std::fs::write(&path, text.replacen("1.5", "NaN", 1))?;
    let made = report(&[&run], &project.path("out"))?;
    let series = &made.results.runs[0].series;
    assert_eq!((series["loss"].len(), series["reward"].len()), (1, 2));
    Ok(())
}

#[test]
fn truncated_run_file_error_names_file_and_line() -> Tested {
    let project = Project::new()?;
    for file in ["trainer_state.json", "sentinel.json"] {
        let run = project.run(&format!("run-{file}"))?;
        truncate(&run.join(file))?;
        assert_fails(
            &project,
            &run,
            &[file, "line ", "truncated", "--resume-from-checkpoint"],
        );
    }
    let run = project.run("events")?;
    truncate(&run.join("events.jsonl"))?;
    assert_fails(&project, &run, &["events.jsonl line ", "resume the run"]);
    Ok(())
}

#[test]
fn truncated_sweep_report_error_names_file_and_remedy() -> Tested {
    for (file, remedy) in [
        ("sft_trl_run.json", "sentinel sweep"),
        ("grpo_trl_run.json", "sentinel sweep"),
        ("postsave_inference.json", "sentinel lm postsave"),
        ("improvement_report.json", "sentinel sweep"),
        ("acceptance_gate.json", "sentinel gate"),
        ("eval_grpo.json", "sentinel"),
    ] {
        let project = Project::new()?;
        let sweep = project.sweep(&["a"])?;
        truncate(&sweep.join("a").join(file))?;
        assert_fails(&project, &sweep, &[file, "truncated", remedy]);
    }
    Ok(())
}

#[test]
fn sweep_report_without_provenance_or_wrong_kind_is_refused() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a"])?;
    let path = sweep.join("a/sft_trl_run.json");
    std::fs::write(
        &path,
        "{\"status\": \"ok\", \"backend\": \"b\", \"model_id\": \"m\"}",
    )?;
    assert_fails(
        &project,
        &sweep,
        &[
            "sft_trl_run.json",
            "missing field `provenance`",
            "sentinel sweep",
        ],
    );
    std::fs::write(&path, "[1, 2]")?;
    assert_fails(
        &project,
        &sweep,
        &["sft_trl_run.json is not a report of a training stage"],
    );
    Ok(())
}

#[test]
fn log_changed_after_report_is_refused() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a"])?;
    let log = project.path("checkpoints/sweeps/a/sft_adapter/trainer_state.json");
    let text = std::fs::read_to_string(&log)?;
    std::fs::write(&log, text + " ")?;
    assert_fails(
        &project,
        &sweep,
        &[
            "trainer_state.json is not the file that",
            "sft_trl_run.json",
            "SHA-256",
        ],
    );
    Ok(())
}

#[test]
fn evaluation_without_origin_or_episodes_is_refused() -> Tested {
    let project = Project::new()?;
    let path = project.path("eval.json");
    // The reference's own files do not say where they come from.
    std::fs::write(&path, "{\"summary\": {}, \"episodes\": []}")?;
    assert_fails(
        &project,
        &path,
        &[
            "eval.json",
            "missing field `sentinel`",
            "sentinel eval --out",
        ],
    );
    let path = project.eval("rows.json")?;
    let text = std::fs::read_to_string(&path)?;
    std::fs::write(
        &path,
        text.replace("\"policy\": \"random\"", "\"policy\": \"other\""),
    )?;
    assert_fails(&project, &path, &["episodes has no row of policy random"]);
    truncate(&path)?;
    assert_fails(&project, &path, &["rows.json line ", "truncated"]);
    Ok(())
}

#[test]
fn unknown_file_formats_are_refused() -> Tested {
    let project = Project::new()?;
    let path = project.path("x.json");
    for (text, words) in [
        (
            "{\"a\": 1, \"b\": 2}",
            ["unknown format", "its keys are a, b"],
        ),
        ("[1]", ["unknown format", "not a JSON object"]),
        ("a: 1", ["unknown format", "not JSON"]),
        (
            "{\"backend\": 1, \"provenance\": 2}",
            ["unknown format", "name its folder"],
        ),
    ] {
        std::fs::write(&path, text)?;
        assert_fails(&project, &path, &words);
    }
    std::fs::write(&path, "")?;
    assert_fails(&project, &path, &["x.json line ", "truncated"]);
    Ok(())
}

#[test]
fn newer_or_empty_charts_are_refused() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a"])?;
    let out = project.path("first");
    report(&[&sweep], &out)?;
    let path = project.path("chart.json");
    let text = std::fs::read_to_string(out.join("charts/train_holdout_gap.json"))?;
    std::fs::write(&path, text.replacen("\"format\": 1", "\"format\": 2", 1))?;
    assert_fails(
        &project,
        &path,
        &["chart.json has format 2", "newer program"],
    );
    let mut chart: serde_json::Value = serde_json::from_str(&text)?;
    chart["plot"]["series"] = serde_json::json!([]);
    std::fs::write(&path, chart.to_string())?;
    assert_fails(&project, &path, &["train_holdout_gap", "nothing to draw"]);
    Ok(())
}

#[test]
fn duplicate_inputs_or_inputs_in_output_are_refused() -> Tested {
    let project = Project::new()?;
    let eval = project.eval("eval.json")?;
    let out = project.path("out");
    let again = project.path("./eval.json");
    let error = report(&[&eval, &again], &out).map_err(|error| error.to_string());
    assert!(error.is_err_and(|text| text.contains("is named twice")));
    report(&[&eval], &out)?;
    let copy = out.join("data/eval/eval.json");
    let error = report(&[&copy], &out).map_err(|error| error.to_string());
    assert!(error.is_err_and(|text| text.contains("lies in the output folder")));
    assert!(copy.is_file());
    // A file where the folder should be.
    let error = report(&[&eval], &eval).map_err(|error| error.to_string());
    assert!(error.is_err_and(|text| text.contains("holds no report")));
    Ok(())
}
