//! The section on reward hacking and overfitting.

use super::page_builder::{Cell, Column, Drawings, Page, VerdictMark, number};
use crate::report::integrity::{Judgment, OverfitReport, Rate, SubjectReport};
use crate::report::results::Section;

/// Adds the section, if any policy was judged.
pub(super) fn section(page: &mut Page, overfit: Option<&OverfitReport>, drawings: Drawings<'_>) {
    let Some(overfit) = overfit else {
        return;
    };
    page.section("integrity", "Reward hacking and overfitting");
    page.paragraph(
        "A policy can earn reward without solving the task, or solve only the tasks that it was trained on. Three \
         figures are judged by thresholds: a figure is within its threshold if its whole 95 % interval is, beyond \
         it if none of it is, and unclear in between, which more episodes resolve.",
    );
    judgments(page, overfit);
    for (entry, svg) in drawings.of(Section::Integrity, None) {
        page.figure(entry, svg);
    }
    rules(page, overfit);
    diversity(page, overfit);
    thresholds(page, overfit);
}

fn judged(judgment: Judgment) -> Cell {
    let mark = match judgment {
        Judgment::Within => VerdictMark::Good,
        Judgment::Unclear | Judgment::NotMeasured => VerdictMark::Warning,
        Judgment::Exceeded => VerdictMark::Bad,
    };
    Cell::mark(mark, judgment.name())
}

/// Returns a share in percent with its interval.
fn percent(rate: &Rate) -> String {
    let [low, high] = rate.interval.map(|end| 100.0 * end);
    format!("{:.1} % [{low:.1}, {high:.1}]", 100.0 * rate.rate)
}

fn judgments(page: &mut Page, overfit: &OverfitReport) {
    let rows = overfit.subjects.iter().map(|subject| {
        let gap = subject
            .gap
            .map(|gap| format!("{} ± {}", number(gap.gap), number(gap.half_width)));
        let share = number(subject.diversity.largest_candidate_share);
        vec![
            Cell::text(&subject.label),
            Cell::text(percent(&subject.exploits)),
            judged(subject.exploit_judgment),
            gap.map_or_else(Cell::empty, Cell::text),
            judged(subject.gap_judgment),
            Cell::text(share),
            judged(subject.diversity_judgment),
        ]
    });
    page.table(
        "Judgments by policy: episodes that an anti-cheat rule ended, the score on the split train less that on \
         holdout, and the share of the most frequent place in the list of candidates",
        &[
            Column::text("Policy"),
            Column::number("Exploits"),
            Column::text("Judgment"),
            Column::number("Train − holdout"),
            Column::text("Judgment"),
            Column::number("One place"),
            Column::text("Diversity"),
        ],
        rows.collect(),
    );
}

fn rules(page: &mut Page, overfit: &OverfitReport) {
    let names = |subject: &SubjectReport| subject.rules.keys().cloned().collect::<Vec<_>>();
    let rules = overfit.subjects.first().map(names).unwrap_or_default();
    let rows = overfit.subjects.iter().flat_map(|subject| {
        let broken = rules.iter().filter_map(|rule| {
            let rate = subject.rules.get(rule)?;
            (rate.count > 0).then(|| {
                vec![
                    Cell::text(&subject.label),
                    Cell::code(rule),
                    Cell::text(format!("{} of {}", rate.count, rate.episodes)),
                    Cell::text(percent(rate)),
                ]
            })
        });
        broken.collect::<Vec<_>>()
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    if rows.is_empty() {
        page.paragraph("No anti-cheat rule ended an episode.");
        return;
    }
    page.table(
        "Exploits by rule, with 95 % Wilson intervals; rules that ended no episode are left out",
        &[
            Column::text("Policy"),
            Column::text("Rule"),
            Column::number("Episodes"),
            Column::number("Rate"),
        ],
        rows,
    );
}

fn diversity(page: &mut Page, overfit: &OverfitReport) {
    let rows = overfit.subjects.iter().map(|subject| {
        let found = &subject.diversity;
        vec![
            Cell::text(&subject.label),
            Cell::count(Some(found.choices as u64)),
            Cell::count(Some(found.kinds as u64)),
            Cell::number(Some(found.kind_entropy)),
            Cell::number(Some(found.largest_kind_share)),
            Cell::number(Some(found.largest_candidate_share)),
        ]
    });
    page.table(
        "Diversity of the choices: kinds of action, their entropy divided by that of a uniform choice, and the \
         shares of the most frequent kind and place",
        &[
            Column::text("Policy"),
            Column::number("Choices"),
            Column::number("Kinds"),
            Column::number("Entropy"),
            Column::number("Largest kind"),
            Column::number("Largest place"),
        ],
        rows.collect(),
    );
}

fn thresholds(page: &mut Page, overfit: &OverfitReport) {
    let rows = overfit.thresholds.iter().map(|threshold| {
        let relation = if threshold.relation == "<=" {
            "≤"
        } else {
            "≥"
        };
        vec![
            Cell::code(&threshold.name),
            Cell::text(format!("{relation} {}", threshold.value)),
            Cell::text(&threshold.reason),
        ]
    });
    page.table(
        "Thresholds and their reasons",
        &[
            Column::text("Figure"),
            Column::number("Threshold"),
            Column::wide("Reason"),
        ],
        rows.collect(),
    );
}
