//! The summary at the top, and where everything comes from at the end.

use sentinel_base::provenance::Provenance;

use super::page_builder::{Cell, Column, Page, VerdictMark, code, escape, group_thousands, number};
use crate::report::figures::counted;
use crate::report::integrity::{Judgment, OverfitReport};
use crate::report::results::Results;
use crate::report::sweep_results::SweepEntry;

/// The number of digits of a commit or digest that tables show.
const DIGITS: usize = 12;

/// Returns the line below the title, as HTML.
pub(super) fn lead(results: &Results) -> String {
    let models: usize = results.sweeps.iter().map(|sweep| sweep.entries.len()).sum();
    let counts = [
        (models, "model of a sweep", "models of sweeps"),
        (results.runs.len(), "training run", "training runs"),
        (results.evaluations.len(), "evaluation", "evaluations"),
        (results.charts.len(), "chart", "charts"),
    ];
    let parts: Vec<String> = (counts.into_iter())
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| counted(count, one, many))
        .collect();
    let made = &results.provenance;
    format!(
        "{}. Made by sentinel {} at commit {}. The same numbers as JSON: {}.",
        escape(&parts.join(", ")),
        escape(&made.version),
        code(&short(&made.commit)),
        super::page_builder::link("results.json", "results.json"),
    )
}

/// Returns the first digits of a commit or digest, with what follows a `-`.
fn short(digits: &str) -> String {
    let first = |text: &str| text.chars().take(DIGITS).collect::<String>();
    match digits.split_once('-') {
        Some((commit, mark)) => format!("{}-{mark}", first(commit)),
        None => first(digits),
    }
}

/// Adds what the report says in a few lines.
pub(super) fn summary(page: &mut Page, results: &Results, overfit: Option<&OverfitReport>) {
    page.section("summary", "Summary");
    let fallbacks = &results.provenance.fallbacks;
    if !fallbacks.is_empty() {
        page.highlighted_list(
            "Some results depend on a fallback, which acted or was trained in place of what was requested:",
            fallbacks.iter().map(|f| format!("{}: {}", f.stage, f.what)),
        );
    }
    let entries: Vec<&SweepEntry> = results.sweeps.iter().flat_map(|s| &s.entries).collect();
    for sentence in sweep_sentences(&entries) {
        page.paragraph(&sentence);
    }
    if let Some(overfit) = overfit {
        page.paragraph_html(&integrity_sentence(overfit));
    }
    for run in &results.runs {
        let mut text = format!("Run {}: {}", code(&run.id), escape(run.status.name()));
        text.push_str(&format!(
            " after {} of {} steps",
            group_thousands(run.steps as u64),
            group_thousands(run.max_steps as u64)
        ));
        match (&run.test, &run.best) {
            (Some(test), _) => {
                text.push_str(&format!(
                    ", score {} on its test seeds",
                    number(test.overall)
                ));
                let best = test.baselines.iter().max_by(|a, b| a.1.total_cmp(&b.1));
                if let Some((name, score)) = best {
                    text.push_str(&format!(
                        " (best scripted policy there: {}, {})",
                        escape(name),
                        number(*score)
                    ));
                }
            }
            (None, Some(best)) => text.push_str(&format!(
                ", best validation score {} at step {}",
                number(best.score),
                best.step
            )),
            (None, None) => {}
        }
        page.paragraph_html(&format!("{text}."));
    }
    for evaluation in &results.evaluations {
        let best =
            (evaluation.policies.iter()).max_by(|a, b| a.score.mean.total_cmp(&b.score.mean));
        if let Some(best) = best {
            page.paragraph_html(&format!(
                "Evaluation {}: {} in world {}, best mean score {} ± {} by {}.",
                code(&evaluation.id),
                escape(&counted(evaluation.policies.len(), "policy", "policies")),
                escape(&evaluation.world),
                number(best.score.mean),
                number(best.score.half_width),
                escape(&best.policy),
            ));
        }
    }
}

fn sweep_sentences(entries: &[&SweepEntry]) -> Vec<String> {
    if entries.is_empty() {
        return Vec::new();
    }
    let mut sentences = Vec::new();
    let judged: Vec<&SweepEntry> = (entries.iter().copied())
        .filter(|entry| entry.improvement.is_some())
        .collect();
    let improved = |entry: &&&SweepEntry| entry.improvement.as_ref().is_some_and(|i| i.improved);
    if judged.is_empty() {
        sentences.push("No model has a comparison of SFT and GRPO on paired seeds.".to_owned());
    } else {
        sentences.push(format!(
            "GRPO improved greedy play over SFT in {} of {}, judged on paired seeds: the whole 95 % interval of \
             the difference lies above 0.",
            judged.iter().filter(improved).count(),
            counted(judged.len(), "model", "models"),
        ));
    }
    let samples = entries.iter().filter_map(|entry| entry.postsave.as_ref());
    let (valid, all) = samples.fold((0, 0), |(valid, all), report| {
        (valid + report.valid, all + report.samples)
    });
    if all > 0 {
        sentences.push(format!(
            "Generation from the saved artifacts: {valid} of {} are an action.",
            counted(all, "sample", "samples")
        ));
    }
    sentences
}

fn integrity_sentence(overfit: &OverfitReport) -> String {
    let count = |judgment| {
        (overfit.subjects.iter())
            .filter(|s| s.judgment == judgment)
            .count()
    };
    let all = counted(overfit.subjects.len(), "policy", "policies");
    let of = |judgment: Judgment, words: &str| {
        let count = count(judgment);
        (count > 0).then(|| format!("{count} {words}"))
    };
    let parts: Vec<String> = [
        of(Judgment::Within, "within all thresholds"),
        of(
            Judgment::Unclear,
            "unclear, since an interval includes a threshold",
        ),
        of(Judgment::NotMeasured, "not measured completely"),
        of(Judgment::Exceeded, "beyond a threshold"),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!(
        "Checks against reward hacking and overfitting of {}: {} ({}).",
        escape(&all),
        escape(&parts.join(", ")),
        "<a href=\"#integrity\">details</a>",
    )
}

/// Adds the program and command of the report and of every input.
pub(super) fn provenance(page: &mut Page, results: &Results) {
    page.section("provenance", "Provenance");
    page.paragraph("This report was made by:");
    page.command(results.provenance.command.as_deref().unwrap_or("unknown"));
    let mut rows = Vec::new();
    let mut add = |name: &str, kind: &str, found: &Provenance| {
        rows.push(vec![
            Cell::code(name),
            Cell::text(kind),
            Cell::text(&found.version),
            Cell::code(short(&found.commit)),
            match &found.command {
                Some(command) => Cell::code(command),
                None => Cell::empty(),
            },
            fallbacks(found),
        ]);
    };
    for sweep in &results.sweeps {
        for entry in &sweep.entries {
            let name = |stage: &str| format!("{}/{stage}", entry.run);
            for (stage, report) in [("sft", &entry.sft), ("grpo", &entry.grpo)] {
                if let Some(report) = report {
                    add(&name(stage), "training stage", &report.provenance);
                }
            }
            if let Some(report) = &entry.postsave {
                add(&name("postsave"), "post-save check", &report.provenance);
            }
            if let Some(report) = &entry.improvement {
                add(&name("improvement"), "comparison", &report.provenance);
            }
            for (file, evaluation) in &entry.evaluations {
                add(&name(file), "evaluation", &evaluation.provenance);
            }
        }
    }
    for run in &results.runs {
        add(&run.id, "training run", &run.provenance);
    }
    for evaluation in &results.evaluations {
        add(&evaluation.id, "evaluation", &evaluation.provenance);
    }
    for entry in &results.charts {
        if let Some(found) = &entry.provenance {
            add(&entry.chart.name, "chart", found);
        }
    }
    if rows.is_empty() {
        return;
    }
    page.table(
        "The program that made each input, as the input says",
        &[
            Column::text("Input"),
            Column::text("Kind"),
            Column::text("Version"),
            Column::text("Commit"),
            Column::wide("Command"),
            Column::wide("Fallbacks"),
        ],
        rows,
    );
}

fn fallbacks(found: &Provenance) -> Cell {
    if found.fallbacks.is_empty() {
        return Cell::text("none");
    }
    let all: Vec<String> = (found.fallbacks.iter())
        .map(|fallback| format!("{}: {}", fallback.stage, fallback.what))
        .collect();
    Cell::mark(VerdictMark::Bad, &all.join("; "))
}

/// Lists the files beside the report.
pub(super) fn raw_data(page: &mut Page, results: &Results) {
    if results.files.is_empty() {
        return;
    }
    page.section("data", "Raw data");
    page.paragraph(
        "Copies of every file that was read, as it was read. The digests are SHA-256; results.json has them in \
         full.",
    );
    let rows = results.files.iter().map(|file| {
        vec![
            Cell::link(
                &file.path,
                file.path.strip_prefix("data/").unwrap_or(&file.path),
            ),
            Cell::code(&file.source),
            Cell::count(Some(file.bytes)),
            Cell::code(short(&file.sha256)),
        ]
    });
    page.table(
        "Files",
        &[
            Column::text("File"),
            Column::wide("Read from"),
            Column::number("Bytes"),
            Column::text("SHA-256"),
        ],
        rows.collect(),
    );
}
