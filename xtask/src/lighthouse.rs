//! Grades the built page with Lighthouse: a phone on a slow network, as Lighthouse simulates both.

use crate::browser;
use crate::dirs::Dirs;
use crate::page;
use crate::run::{Steps, logged, print_note};
use crate::serve::{Server, serve};
use crate::site::copy_folder;
use crate::size;
use crate::test_counts::Tally;
use crate::tools;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The smallest score for performance of the first visit.
const PERFORMANCE: f64 = 0.95;
/// The number of runs of the first visit, of which the median counts.
const RUNS: usize = 5;
/// The categories whose score must be full in every view.
const FULL: [&str; 3] = ["accessibility", "best-practices", "seo"];
/// The views, by name and query.
const VIEWS: [(&str, &str); 6] = [
    ("first visit", ""),
    ("first visit, cluster", "?world=cluster"),
    ("first visit, polyguard", "?world=polyguard"),
    ("episode", "?task=3&seed=42&policy=grpo&t=14"),
    ("training", "?page=training"),
    ("results", "?page=results"),
];
/// Audits whose values explain the performance.
const METRICS: [(&str, &str); 4] = [
    ("first-contentful-paint", "first paint"),
    ("largest-contentful-paint", "largest paint"),
    ("total-blocking-time", "blocking time"),
    ("cumulative-layout-shift", "layout shift"),
];
/// The factor by which the simulated phone is slower than a fast desktop machine.
const SLOWDOWN: f64 = 4.0;
/// Lighthouse's index of such a desktop machine, the middle of the range that its documentation gives.
const FAST_MACHINE: f64 = 1750.0;
/// The quality of compression: that of hosts that compress while they send.
const QUALITY: i32 = 5;
/// The endings of files that are served compressed.
const COMPRESSED: [&str; 6] = ["html", "js", "css", "wasm", "json", "svg"];

/// Results of one run of Lighthouse.
#[derive(Debug, PartialEq)]
struct Report {
    /// Scores between 0 and 1 by category.
    scores: Vec<(String, f64)>,
    /// Audits without a full score, with the elements or files that they name.
    faults: Vec<String>,
    /// The values of [`METRICS`] in words, for the output.
    metrics: String,
    /// Lighthouse's index of the speed of this machine.
    machine: f64,
}

impl Report {
    /// Reads the JSON that Lighthouse writes.
    fn read(json: &Value) -> Result<Self> {
        let error = json["runtimeError"]["message"].as_str();
        anyhow::ensure!(error.is_none(), "Lighthouse: {}", error.unwrap_or_default());
        let categories = json["categories"]
            .as_object()
            .context("Lighthouse's report has no categories")?;
        let mut scores = Vec::new();
        let mut faults = Vec::new();
        for (name, category) in categories {
            let score = category["score"].as_f64();
            scores.push((name.clone(), score.unwrap_or(0.0)));
            let weighted = category["auditRefs"].as_array().into_iter().flatten();
            let weighted = weighted.filter(|audit| audit["weight"].as_f64() > Some(0.0));
            for audit in weighted.filter_map(|audit| audit["id"].as_str()) {
                if json["audits"][audit]["score"].as_f64() < Some(1.0) {
                    faults.extend(fault(audit, &json["audits"][audit]));
                }
            }
        }
        let metric = |(audit, name): &(&str, &str)| {
            let value = json["audits"][audit]["displayValue"].as_str()?;
            Some(format!("{name} {}", value.replace('\u{a0}', " ")))
        };
        let metrics: Vec<String> = METRICS.iter().filter_map(metric).collect();
        Ok(Self {
            scores,
            faults,
            metrics: metrics.join(", "),
            machine: json["environment"]["benchmarkIndex"]
                .as_f64()
                .unwrap_or(0.0),
        })
    }

    fn score(&self, category: &str) -> f64 {
        let found = self.scores.iter().find(|(name, _)| name == category);
        found.map_or(0.0, |(_, score)| *score)
    }
}

/// Returns the audit with the elements or files that it names; `None` for an audit that does not apply.
fn fault(name: &str, audit: &Value) -> Option<String> {
    audit["score"].as_f64()?;
    let items = audit["details"]["items"].as_array().into_iter().flatten();
    let named = |item: &Value| {
        let words = [&item["node"]["snippet"], &item["url"], &item["description"]];
        words.into_iter().find_map(Value::as_str).map(str::to_owned)
    };
    let value = audit["displayValue"].as_str().unwrap_or_default();
    let items: Vec<String> = items.filter_map(named).take(8).collect();
    let line = format!("{name} {value} {}", items.join(" "));
    Some(line.replace('\u{a0}', " ").trim_end().to_owned())
}

/// Returns the slowdown for a machine with this index. Lighthouse advises to lower it on machines that
/// are slower than the fast desktop which the preset assumes.
fn slowdown(machine: f64) -> f64 {
    (SLOWDOWN * machine / FAST_MACHINE).clamp(1.0, SLOWDOWN)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The programs and folders of the runs.
struct Runner<'a> {
    dirs: &'a Dirs,
    program: tools::Lighthouse,
    browser: PathBuf,
    server: Server,
}

impl Runner<'_> {
    /// Runs Lighthouse once on the page with this query.
    fn run(&self, query: &str, categories: &[&str], slowdown: f64) -> Result<Report> {
        let file = self.dirs.target.join("xtask/lighthouse.json");
        let _ = std::fs::remove_file(&file);
        let mut lighthouse = Command::new(&self.program.node);
        lighthouse
            .arg(&self.program.script)
            .arg(format!("{}{query}", self.server.url()))
            .args(["--quiet", "--output=json", "--form-factor=mobile"])
            .arg(format!("--output-path={}", file.display()))
            .arg(format!("--only-categories={}", categories.join(",")))
            .arg(format!("--throttling.cpuSlowdownMultiplier={slowdown:.2}"))
            .arg("--chrome-flags=--headless=new --no-sandbox --disable-gpu")
            .env("CHROME_PATH", &self.browser);
        let log = self.dirs.log("lighthouse");
        logged(&mut lighthouse, &log, None)?.require("Lighthouse", "See its log")?;
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("Lighthouse wrote no {}", file.display()))?;
        Report::read(&serde_json::from_str(&text)?)
    }
}

/// Copies the built page into a folder in which every file has a compressed one beside it, as hosts send
/// them.
fn compressed_page(dirs: &Dirs) -> Result<PathBuf> {
    let folder = dirs.target.join("xtask/lighthouse");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    copy_folder(&page::built(dirs)?, &folder)?;
    compress_files(&folder)?;
    Ok(folder)
}

fn compress_files(folder: &Path) -> Result<()> {
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            compress_files(&path)?;
        } else if COMPRESSED.contains(&&*ending) {
            let target = path.with_extension(format!("{ending}.br"));
            std::fs::write(target, size::compress(&std::fs::read(&path)?, QUALITY)?)?;
        }
    }
    Ok(())
}

/// Grades all views, prints scores, and counts those that are high enough.
///
/// # Errors
/// Returns an error if there is no built page, Lighthouse cannot be installed, or it fails.
pub fn grade(dirs: &Dirs) -> Result<Tally> {
    let browser = browser::ensure(dirs)?.browser;
    let program = tools::lighthouse(dirs, &mut Steps::inside(1))?;
    let server = serve(&compressed_page(dirs)?, "/", 0).context("no free port")?;
    let runner = Runner {
        dirs,
        program,
        browser,
        server,
    };
    let mut tally = Tally::default();
    let mut count = |passes: bool| match passes {
        true => tally.passed += 1,
        false => tally.failed += 1,
    };
    let mut machine = Vec::new();
    for (name, query) in VIEWS {
        let report = runner.run(query, &FULL, SLOWDOWN)?;
        let scores = FULL.map(|category| format!("{category} {}", report.score(category)));
        print_note(&format!("{name}: {}", scores.join(", ")));
        let is_full = FULL.iter().all(|category| report.score(category) >= 1.0);
        if !is_full {
            report.faults.iter().for_each(|line| print_note(line));
        }
        count(is_full);
        machine.push(report.machine);
    }
    let machine = median(machine);
    let slowdown = slowdown(machine);
    let mut scores = Vec::new();
    for _ in 0..RUNS {
        let report = runner.run("", &["performance"], slowdown)?;
        let score = report.score("performance");
        print_note(&format!("performance {score}: {}", report.metrics));
        scores.push(score);
    }
    let score = median(scores);
    print_note(&format!(
        "performance of the first visit: {score} (median of {RUNS}; slowdown {slowdown:.2}, machine {machine:.0})"
    ));
    if score < PERFORMANCE {
        print_note(&format!("it must be {PERFORMANCE} or more"));
    }
    count(score >= PERFORMANCE);
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn report_names_what_costs_points() -> Result<()> {
        let json = json!({
            "environment": {"benchmarkIndex": 875.0},
            "categories": {
                "seo": {"score": 0.9, "auditRefs": [
                    {"id": "meta-description", "weight": 1},
                    {"id": "hreflang", "weight": 1},
                    {"id": "structured-data", "weight": 0},
                ]},
            },
            "audits": {
                "meta-description": {"score": 0, "details": {"items": [{"node": {"snippet": "<head>"}}]}},
                "hreflang": {"score": 1},
                "structured-data": {"score": null},
                "total-blocking-time": {"score": 1, "displayValue": "90\u{a0}ms"},
            },
        });
        let report = Report::read(&json)?;
        assert_eq!(report.score("seo"), 0.9);
        assert_eq!(report.score("performance"), 0.0);
        assert_eq!(report.faults, ["meta-description  <head>"]);
        assert_eq!(report.metrics, "blocking time 90 ms");
        assert_eq!(slowdown(report.machine), 2.0);
        Ok(())
    }

    #[test]
    fn failed_run_is_an_error() {
        let json = json!({"runtimeError": {"message": "no paint"}, "categories": {}});
        let error = Report::read(&json).expect_err("it failed");
        assert!(error.to_string().contains("no paint"));
    }

    #[test]
    fn slowdown_is_that_of_the_preset_on_a_fast_machine() {
        assert_eq!([slowdown(3000.0), slowdown(1750.0)], [4.0, 4.0]);
        assert_eq!(slowdown(100.0), 1.0);
        assert_eq!(median(vec![0.9, 1.0, 0.7]), 0.9);
    }
}
