//! Tests of the report: numbers equal their inputs, the page loads nothing, bad inputs are named.

mod bad_input;
mod fixture;

use std::path::Path;

use serde_json::Value;

use self::fixture::{Project, Tested};
use super::results::{Results, RunStatus, Section};
use super::*;
use crate::charts::Plot;

/// Writes a report of inputs into `OUT` in the same folder.
fn report(inputs: &[&Path], out: &Path) -> Result<WrittenReport, ReportError> {
    write_report(&ReportConfig {
        inputs: inputs.iter().map(|path| (*path).to_owned()).collect(),
        out: out.to_owned(),
        title: "A <title>".to_owned(),
    })
}

fn read(path: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// The charts of a whole sweep in PolyGuard, with the names of the published ones.
const NINE: [&str; 9] = [
    "sft_vs_grpo_reward",
    "sft_loss_curves",
    "grpo_reward_curves",
    "qwen_model_grpo_reward",
    "inference_validity_reward",
    "inference_latency_validity",
    "reward_component_bars",
    "anti_cheat_failure_rates",
    "train_holdout_gap",
];

#[test]
fn sweep_report_has_nine_charts_with_input_values() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a", "b"])?;
    let out = project.path("out");
    let written = report(&[&sweep], &out)?;
    let names: Vec<&str> = (written.results.charts.iter())
        .map(|entry| entry.chart.name.as_str())
        .collect();
    assert_eq!(names, NINE);
    assert_eq!(written.results.missing, []);
    for name in NINE {
        for ending in ["svg", "png", "json"] {
            assert!(
                out.join(format!("charts/{name}.{ending}")).is_file(),
                "{name}"
            );
        }
    }
    // The charts hold the numbers of the files.
    let chart = read(&out.join("charts/sft_vs_grpo_reward.json"))?;
    let grpo = &chart["plot"]["series"][2];
    let eval = read(&sweep.join("b/eval_grpo.json"))?;
    assert_eq!(grpo["label"], "GRPO");
    assert_eq!(grpo["values"][1]["value"], eval["score"]["mean"]);
    let curve = read(&out.join("charts/grpo_reward_curves.json"))?;
    let log = read(&project.path("checkpoints/sweeps/a/grpo_adapter/trainer_state.json"))?;
    let points = &curve["plot"]["series"][0]["points"];
    for (point, entry) in points
        .as_array()
        .into_iter()
        .flatten()
        .zip(log["log_history"].as_array().into_iter().flatten())
    {
        assert_eq!(
            (&point["x"], &point["y"]),
            (&Value::from(entry["step"].as_f64()), &entry["reward"])
        );
    }
    let rates = read(&out.join("charts/anti_cheat_failure_rates.json"))?;
    let loops = &rates["plot"]["series"][0]["values"][0]["value"];
    // One of 10 episodes on each split.
    assert_eq!(loops, &Value::from(10.0));
    let summary = read(&out.join(SWEEP_SUMMARY))?;
    let postsave = read(&sweep.join("a/postsave_inference.json"))?;
    assert_eq!(
        summary["models"][0]["postsave"]["validity"],
        postsave["validity"]
    );
    assert_eq!(summary["models"][1]["scores"]["grpo"], eval["score"]);
    Ok(())
}

#[test]
fn results_json_roundtrips_and_matches_page() -> Tested {
    let project = Project::new()?;
    let (sweep, run) = (project.sweep(&["a"])?, project.run("run")?);
    let (eval, lm) = (project.eval("eval.json")?, project.lm_eval("lm.json")?);
    let out = project.path("out");
    let written = report(&[&sweep, &run, &eval, &lm], &out)?;
    let text = std::fs::read_to_string(out.join("results.json"))?;
    assert!(text.ends_with("}\n"));
    let results: Results = serde_json::from_str(&text)?;
    assert_eq!((&results, results.format), (&written.results, FORMAT));
    let page = std::fs::read_to_string(out.join("index.html"))?;
    // The mean of the file, to the four decimals of the page; its interval from the rows.
    let policy = &results.evaluations[0].policies[0];
    assert_eq!(
        (policy.policy.as_str(), policy.score.mean),
        ("random", 0.55)
    );
    assert_eq!(policy.tasks[0].score.mean, 0.5);
    let examples = policy.tasks[0].examples.iter().map(|found| found.score);
    assert_eq!(examples.collect::<Vec<_>>(), [0.4, 0.6]);
    assert_eq!(results.evaluations[1].policies[0].tasks[0].examples, []);
    assert!(page.contains("<td class=\"n\">0.5500 ± "));
    assert!(page.contains("0.7300"), "the score of the language model");
    let trained = &results.runs[0];
    assert_eq!((trained.status, trained.steps), (RunStatus::Finished, 2));
    assert_eq!(trained.series["reward"], [[1.0, 0.25], [2.0, 0.5]]);
    assert!(page.contains("bayes"), "a baseline of the run");
    Ok(())
}

/// Nothing in the page names another place: links are to the folder of the report.
#[test]
fn page_has_no_external_resources_and_valid_links() -> Tested {
    let project = Project::new()?;
    let (sweep, run) = (project.sweep(&["a", "b"])?, project.run("run <b>\"x\"")?);
    let out = project.path("out");
    report(&[&sweep, &run], &out)?;
    let page = std::fs::read_to_string(out.join("index.html"))?;
    let without_namespaces = page
        .replace("http://www.w3.org/2000/svg", "")
        .replace("http://www.w3.org/1999/xlink", "");
    for word in [
        "http:",
        "https:",
        "//www",
        "src=",
        "url(http",
        "@import",
        "<script",
        "<link rel=\"style",
    ] {
        assert!(!without_namespaces.contains(word), "{word}");
    }
    assert!(page.contains("A &lt;title&gt;") && !page.contains("<b>\"x\""));
    for place in page.split("href=\"").skip(1) {
        let place = place.split('"').next().unwrap_or_default();
        if let Some(id) = place.strip_prefix('#') {
            assert!(page.contains(&format!("id=\"{id}\"")), "{place}");
        } else if !place.starts_with("data:") {
            assert!(out.join(decoded(place)).is_file(), "{place}");
        }
    }
    // Every table has a caption, every chart a text alternative, and ids are unique.
    assert_eq!(
        page.matches("<table>").count(),
        page.matches("<caption").count()
    );
    assert_eq!(
        page.matches("<svg").count(),
        page.matches("role=\"img\"").count()
    );
    let mut ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
    Ok(())
}

/// Returns a path without its escapes.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits: Vec<u8> = rest.by_ref().take(2).collect();
            let digits = String::from_utf8_lossy(&digits).into_owned();
            bytes.push(u8::from_str_radix(&digits, 16).unwrap_or_default());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn raw_data_is_copied_with_its_digest() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a"])?;
    let out = project.path("out");
    let written = report(&[&sweep], &out)?;
    assert!(written.results.files.len() >= 10);
    for raw in &written.results.files {
        let copy = std::fs::read(out.join(&raw.path))?;
        assert_eq!(copy, std::fs::read(&raw.source)?);
        assert_eq!(raw.bytes, copy.len() as u64);
        assert_eq!(written.results.provenance.inputs[&raw.source], raw.sha256);
    }
    assert!(out.join("data/sweeps/a/postsave_inference.json").is_file());
    Ok(())
}

#[test]
fn missing_inputs_are_listed_with_command() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a", "b"])?;
    for name in [
        "eval_grpo_holdout.json",
        "postsave_inference.json",
        "eval_sft.json",
    ] {
        std::fs::remove_file(sweep.join("a").join(name))?;
        std::fs::remove_file(sweep.join("b").join(name))?;
    }
    std::fs::remove_dir_all(project.path("checkpoints/sweeps/b"))?;
    let out = project.path("out");
    let written = report(&[&sweep], &out)?;
    let drawn: Vec<&str> = (written.results.charts.iter())
        .map(|entry| entry.chart.name.as_str())
        .collect();
    let expected = [
        "sft_loss_curves",
        "grpo_reward_curves",
        "qwen_model_grpo_reward",
        "reward_component_bars",
        "anti_cheat_failure_rates",
    ];
    assert_eq!(drawn, expected);
    let missing = |chart: &str| -> Vec<&MissingChart> {
        written
            .results
            .missing
            .iter()
            .filter(|m| m.chart == chart)
            .collect()
    };
    let gap = missing("train_holdout_gap");
    assert_eq!(gap.len(), 2);
    assert!(gap[0].command.contains("lm eval") && gap[0].command.contains("--split holdout"));
    assert_eq!(missing("inference_validity_reward").len(), 2);
    assert!(
        missing("inference_latency_validity")[0]
            .command
            .contains("postsave")
    );
    assert_eq!(missing("sft_vs_grpo_reward").len(), 2);
    let curve = missing("sft_loss_curves");
    assert_eq!(curve.len(), 1);
    assert!(
        curve[0]
            .reason
            .contains("the log of b is not at checkpoints/sweeps/b"),
        "{}",
        curve[0].reason
    );
    let page = std::fs::read_to_string(out.join("index.html"))?;
    assert!(
        page.contains("Missing inputs") && written.text().contains("missing in train_holdout_gap")
    );
    Ok(())
}

#[test]
fn evaluations_of_different_episodes_are_not_compared() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a"])?;
    let path = sweep.join("a/eval_sft.json");
    let text = std::fs::read_to_string(&path)?;
    std::fs::write(&path, text.replace("1000..1010", "1000..1020"))?;
    let written = report(&[&sweep], &project.path("out"))?;
    let missing = &written.results.missing[0];
    assert_eq!(missing.chart, "sft_vs_grpo_reward");
    assert!(missing.reason.contains("played different episodes"));
    Ok(())
}

#[test]
fn fallbacks_are_marked_everywhere() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a", "b"])?;
    let path = sweep.join("a/postsave_inference.json");
    let text = std::fs::read_to_string(&path)?;
    std::fs::write(
        &path,
        text.replace("\"grpo_adapter\"", "\"fallback_policy\""),
    )?;
    let out = project.path("out");
    let written = report(&[&sweep], &out)?;
    let entries = &written.results.sweeps[0].entries;
    assert!(entries[0].label.ends_with(" (fallback)") && !entries[1].label.contains("fallback"));
    assert!(written.results.provenance.is_fallback());
    let page = std::fs::read_to_string(out.join("index.html"))?;
    assert!(page.contains("Some results depend on a fallback"));
    assert!(written.text().contains("fallback (postsave)"));
    Ok(())
}

/// A sweep that has only begun is reported with the commands of its stages.
#[test]
fn sweep_without_reports_lists_stage_commands() -> Tested {
    let project = Project::new()?;
    let folder = project.folder("sweeps/a")?;
    let stages = r#"{"id": "a", "model": "tiny", "stages": {"sft": {"status": "failed",
        "command": "sentinel lm sft --model b", "inputs": {}, "error": "no space left on device"}}}"#;
    std::fs::write(folder.join("stages.json"), stages)?;
    let written = report(&[&project.path("sweeps")], &project.path("out"))?;
    assert_eq!(written.results.charts, []);
    let curve = (written.results.missing.iter()).find(|m| m.chart == "sft_loss_curves");
    let command = curve.map(|missing| missing.command.as_str());
    assert_eq!(command, Some("sentinel lm sft --model b"));
    assert_eq!(written.results.sweeps[0].entries[0].label, "tiny");
    let page = std::fs::read_to_string(project.path("out/index.html"))?;
    assert!(page.contains("no space left on device"));
    Ok(())
}

#[test]
fn single_split_evaluation_reports_missing_split() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a"])?;
    let eval = sweep.join("a/eval_grpo.json");
    let written = report(&[&eval], &project.path("out"))?;
    let names: Vec<&str> = (written.results.charts.iter())
        .map(|entry| entry.chart.name.as_str())
        .collect();
    let expected = [
        "reward_component_bars",
        "anti_cheat_failure_rates",
        "eval_grpo-scores",
    ];
    assert_eq!(names, expected);
    let missing = &written.results.missing;
    assert_eq!(
        (missing.len(), missing[0].chart.as_str()),
        (1, "train_holdout_gap")
    );
    assert!(
        missing[0]
            .command
            .contains("sentinel eval --world polyguard --split holdout")
    );
    Ok(())
}

/// Anti-cheat rules and splits are PolyGuard's: one line says so for all models of another world.
#[test]
fn sweep_of_other_world_lacks_polyguard_charts() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a", "b"])?;
    for run in ["a", "b"] {
        for entry in std::fs::read_dir(sweep.join(run))? {
            let path = entry?.path();
            let text = std::fs::read_to_string(&path)?;
            let text = text.replace("\"polyguard\"", "\"trust\"");
            std::fs::write(&path, text.replace("\"diagnostics\"", "\"none\""))?;
        }
    }
    let written = report(&[&sweep], &project.path("out"))?;
    let missing: Vec<&str> = (written.results.missing.iter())
        .map(|missing| missing.chart.as_str())
        .collect();
    assert_eq!(missing, &NINE[6..]);
    assert!(
        written.results.missing[0]
            .command
            .contains("--world polyguard")
    );
    Ok(())
}

/// Models of one name are told apart by the ids of their entries.
#[test]
fn models_with_equal_names_are_labeled_by_entry_id() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a", "b"])?;
    for run in ["a", "b"] {
        for report in ["sft_trl_run.json", "grpo_trl_run.json"] {
            let path = sweep.join(run).join(report);
            let text = std::fs::read_to_string(&path)?;
            std::fs::write(&path, text.replace(&format!("models/{run}"), "models/base"))?;
        }
    }
    let written = report(&[&sweep], &project.path("out"))?;
    let labels: Vec<&str> = (written.results.sweeps[0].entries.iter())
        .map(|entry| entry.label.as_str())
        .collect();
    assert_eq!(labels, ["a", "b"]);
    Ok(())
}

#[test]
fn charts_from_folders_are_shown_unchanged() -> Tested {
    let project = Project::new()?;
    let sweep = project.sweep(&["a"])?;
    let out = project.path("out");
    let first = report(&[&sweep], &out)?;
    let again = report(&[&out.join("charts")], &project.path("again"))?;
    let mut charts: Vec<_> = first
        .results
        .charts
        .into_iter()
        .map(|entry| entry.chart)
        .collect();
    charts.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(
        again
            .results
            .charts
            .iter()
            .all(|entry| entry.section == Section::Charts)
    );
    let found: Vec<_> = again
        .results
        .charts
        .into_iter()
        .map(|entry| entry.chart)
        .collect();
    assert_eq!(found, charts);
    // The copies keep the origin of the first report.
    let name = "charts/train_holdout_gap.json";
    let [before, after] =
        [out.join(name), project.path("again").join(name)].map(|path| read(&path));
    assert_eq!(before?, after?);
    // A single chart is an input too.
    let one = out.join("charts/train_holdout_gap.json");
    let single = report(&[&one], &project.path("single"))?;
    assert_eq!(single.results.charts.len(), 1);
    Ok(())
}

#[test]
fn long_log_is_averaged_over_windows() -> Tested {
    let project = Project::new()?;
    let run = project.run_of("long", 450)?;
    let written = report(&[&run], &project.path("out"))?;
    let entry = &written.results.charts[0];
    let Plot::Lines { series, .. } = &entry.chart.plot else {
        return Err("no lines".into());
    };
    // 450 values in windows of 3; the first window has the steps 1, 2 and 3.
    assert_eq!((series[0].points.len(), series[0].points[0].x), (150, 3.0));
    assert!(entry.caption.contains("the mean of up to 3 logged values"));
    assert_eq!(written.results.runs[0].series["reward"].len(), 450);
    Ok(())
}

/// A run of one step is drawn, and one without any is listed without a chart.
#[test]
fn runs_with_one_and_zero_steps_are_reported() -> Tested {
    let project = Project::new()?;
    let (one, none) = (project.run_of("one", 1)?, project.run_of("none", 0)?);
    let written = report(&[&one, &none], &project.path("out"))?;
    let names: Vec<&str> = (written.results.charts.iter())
        .map(|entry| entry.chart.name.as_str())
        .collect();
    assert_eq!(names, ["one-reward", "one-loss"]);
    assert_eq!(written.results.runs.len(), 2);
    Ok(())
}

#[test]
fn report_replaces_only_earlier_report() -> Tested {
    let project = Project::new()?;
    let (eval, lm) = (project.eval("eval.json")?, project.lm_eval("lm.json")?);
    let out = project.path("new/out");
    report(&[&eval], &out)?;
    report(&[&lm], &out)?;
    assert!(!out.join("data/eval").exists() && out.join("data/lm/lm.json").is_file());
    std::fs::write(out.join("notes.txt"), "mine")?;
    let error = report(&[&eval], &out).map_err(|error| error.to_string());
    assert!(error.is_err_and(|text| text.contains("holds no report: name another folder")));
    assert!(out.join("notes.txt").is_file() && out.join("index.html").is_file());
    // Nothing is left beside it.
    assert_eq!(std::fs::read_dir(project.path("new"))?.count(), 1);
    Ok(())
}
