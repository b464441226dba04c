//! The analysis of an episode: what each action was worth, which were mistakes, and what was luck.

use std::sync::Arc;

use sentinel_page_protocol::{ActionValue, AnalysisUpdate, StepAnalysis};

use super::chart::{Scrubber, chart_view};
use super::result_table::{heading, result_table, unseen_heading};
use super::widgets::{bar, text_with_help};
use crate::dom::html::{b, button, div, h2, p, section, span, td, th, tr};
use crate::dom::{El, View};
use crate::episode_view::{EpisodeView, find_action};
use crate::number_format::{fixed, percent, signed};
use crate::page::Page;
use crate::reactive::{Signal, memo};

const ABOUT: &str = "At every step, each action is tried in many situations that public evidence allows, and the trained policy plays on to the end. The mean final score is what an action was worth when it was taken.";
const ACCURACY: &str = "How much of the avoidable loss was avoided: 1 less the sum of the losses that stand out from the noise, over the sum of the differences between the best and the worst action.";
const LUCK: &str = "The final score less the expected one after this action: what chance added or took from there on.";

/// Loss at which a bar of the table is full.
const FULL_BAR: f64 = 0.1;

/// Sentence of the mistake keys before an analysis.
const NOT_ANALYZED: &str = "Find the mistakes first; then b and B go to them.";

/// Returns the card with the analysis of an episode, and with `hindsight` at its end; `main` for the
/// episode in which the visitor can act.
#[must_use]
pub fn analysis(page: Page, episode: EpisodeView, main: bool, hindsight: View) -> El {
    let found = episode.analysis;
    let is_asked = memo(move || found.with(Option::is_some));
    let runs = memo(move || found.with(|a| a.as_ref().is_some_and(|a| !a.is_complete())));
    let ended = memo(move || episode.status.with(|status| status.complete));
    if main {
        page.analyze_at_the_end();
    }
    let start = button()
        .id(if main { "analyze" } else { "analyze-versus" })
        .hidden(move || is_asked.get())
        .attr("disabled", move || !ended.get())
        .on_press(move || page.analyze(episode, true))
        .child("Find the mistakes");
    let stop = button()
        .id(if main {
            "analyze-stop"
        } else {
            "analyze-versus-stop"
        })
        .hidden(move || !runs.get())
        .on_press(move || page.analyze(episode, false))
        .child("Stop");
    let step = memo(move || {
        let at = episode.at.get().max(1) - 1;
        found.with(|a| a.as_ref().and_then(|a| a.steps.get(at).cloned()))
    });
    let summary = move || found.with(|a| a.as_deref().map(|a| summary(page, a, main)));
    let verdict = move || {
        let action = episode.at.get();
        step.with(|step| step.as_ref().map(|step| verdict(action, step)))
    };
    let table = move || {
        let at = episode.at.get().max(1) - 1;
        step.with(|step| step.as_ref().map(|step| actions(page, at, step, main)))
    };
    let has_mistakes = memo(move || {
        found.with(|a| {
            a.as_ref()
                .is_some_and(|a| a.steps.iter().any(|step| step.is_mistake))
        })
    });
    let to_mistake = |id: &'static str, name: &'static str, forward: bool| {
        button()
            .id(id)
            .hidden(move || !has_mistakes.get())
            .attr("aria-keyshortcuts", if forward { "b" } else { "B" })
            .on_press(move || seek_mistake(page, forward))
            .child(name)
    };
    let row = div()
        .class("control-row")
        .child(start)
        .child(stop)
        .child(main.then(|| to_mistake("previous-mistake", "Previous mistake", false)))
        .child(main.then(|| to_mistake("next-mistake", "Next mistake", true)));
    section()
        .class("card analysis")
        .label("Analysis")
        .child(h2().child(text_with_help("Was that a mistake?", ABOUT)))
        .child(row)
        .child(summary)
        .child(move || is_asked.get().then(|| chart(page, episode, found)))
        .child(verdict)
        .child(table)
        .child(hindsight)
        .child(main.then(|| brief_note(page)))
}

/// Returns the sentence that is shown for a few seconds above the playback bar.
fn brief_note(page: Page) -> El {
    let text = move || page.brief_note.get();
    p().id("brief-note")
        .attr("role", "status")
        .attr("aria-live", "polite")
        .child(text)
}

/// Returns progress, accuracy and the number of mistakes.
fn summary(page: Page, analysis: &AnalysisUpdate, main: bool) -> El {
    let share = analysis.done as f32 / analysis.total.max(1) as f32;
    let progress = (!analysis.is_complete()).then(|| {
        let text = format!("Playing on from every step… {}", percent(share));
        let progress = div().class("meter").attr("role", "status");
        progress
            .child(span().class("meter-label").child(text))
            .child(bar(share))
    });
    let count = analysis.steps.iter().filter(|step| step.is_mistake).count();
    let mistakes = match count {
        0 if !analysis.is_complete() => "No mistake so far".to_owned(),
        0 => "No mistake that stands out from the noise".to_owned(),
        1 => "1 mistake".to_owned(),
        _ => format!("{count} mistakes"),
    };
    let accuracy = analysis.accuracy.map(|accuracy| {
        let text = format!("Accuracy {}", percent(accuracy as f32));
        b().class("accuracy").child(text_with_help(&text, ACCURACY))
    });
    let line = p()
        .class("facts")
        .child(accuracy)
        .child(span().child(mistakes))
        .child(
            (main && analysis.is_complete())
                .then(|| worst(page, analysis))
                .flatten(),
        );
    div()
        .class("analysis-summary")
        .attr(
            "data-analysis",
            if analysis.is_complete() {
                "complete"
            } else {
                "running"
            },
        )
        .child(progress)
        .child(line)
}

/// Returns a button that leads to the worst of several mistakes.
fn worst(page: Page, analysis: &AnalysisUpdate) -> Option<El> {
    let mistakes = analysis.steps.iter().enumerate();
    let mistakes: Vec<_> = mistakes.filter(|(_, step)| step.is_mistake).collect();
    let loss = |found: &&(usize, &StepAnalysis)| found.1.loss;
    let (last, step) = mistakes.iter().max_by(|a, b| loss(a).total_cmp(&loss(b)))?;
    let action = last + 1;
    let words = format!("Worst: action {action} (−{})", fixed(step.loss, 3));
    let lead = button().id("worst-mistake").class("link");
    (mistakes.len() > 1).then(|| lead.on_press(move || page.seek(action)).child(words))
}

/// Returns the expected final score along the episode, with the cursor of the other charts.
pub(super) fn chart(
    page: Page,
    episode: EpisodeView,
    found: Signal<Option<Arc<AnalysisUpdate>>>,
) -> El {
    let chart = memo(move || {
        found.with(|a| Arc::new(a.as_ref().map(|a| a.chart.clone()).unwrap_or_default()))
    });
    let last = memo(move || page.action_count());
    chart_view(chart, Scrubber::over_episode(page, episode.at, last, true))
}

/// Returns the sentence about a mistake, without the uncertainty of its loss: one line of the headline.
pub(super) fn brief_mistake(action: usize, step: &StepAnalysis) -> Option<El> {
    let best = step.actions.first().filter(|_| step.is_mistake)?;
    let text = mistake(action, &best.label, &fixed(step.loss, 3));
    let line = p().class("verdict").attr("data-tone", "bad");
    Some(line.attr("role", "status").child(b().child(text)))
}

fn mistake(action: usize, best: &str, loss: &str) -> String {
    let action = action.max(1);
    format!("Action {action} was a mistake: “{best}” would have scored {loss} more.")
}

/// Returns a sentence on the action that led to the cursor.
fn verdict(action: usize, step: &StepAnalysis) -> El {
    let Some(best) = step.actions.first() else {
        return p().class("quiet").child("No rollout of this step yet.");
    };
    let chosen = step.actions.iter().find(|action| action.is_chosen);
    let name = format!("Action {}", action.max(1));
    let text = match chosen {
        _ if step.is_mistake => mistake(action, &best.label, &loss(step)),
        Some(chosen) if chosen.code == best.code => format!("{name} was the best one found."),
        _ => format!(
            "{name} is as good as “{}” (difference within noise: {}).",
            best.label,
            loss(step)
        ),
    };
    let tone = if step.is_mistake { "bad" } else { "good" };
    let luck = step.luck.map(|luck| {
        let text = format!("Luck from here: {}.", signed(luck, 3));
        span().child(text_with_help(&text, LUCK))
    });
    p().class("verdict")
        .attr("data-tone", tone)
        .attr("role", "status")
        .child(b().child(text))
        .child(" ")
        .child(luck)
}

/// Returns the loss of a step with its interval, such as `0.012 (0.004–0.020)`.
fn loss(step: &StepAnalysis) -> String {
    let loss = fixed(step.loss, 3);
    match step.interval {
        Some([low, high]) => format!("{loss} ({}–{})", fixed(low, 3), fixed(high, 3)),
        None => loss,
    }
}

/// Returns the table of actions at a step, best first.
pub(super) fn actions(page: Page, at: usize, step: &StepAnalysis, main: bool) -> Option<El> {
    let best = step.actions.first()?.value;
    let row = |action: &ActionValue| {
        let worth = match action.error {
            Some(error) => format!("{} ± {}", fixed(action.value, 3), fixed(error, 3)),
            None => fixed(action.value, 3),
        };
        let lost = (((best - action.value) / FULL_BAR) as f32).clamp(0.0, 1.0);
        let code = action.code.clone();
        let open = (main && !action.is_chosen).then(|| {
            let open = button()
                .class("link")
                .attr("data-instead", action.code.clone());
            let open = open.on_press(move || page.replace_action(at, &code));
            open.child("Play this instead")
        });
        let name = th().attr("scope", "row").child(action.label.clone());
        let taken = action
            .is_chosen
            .then(|| span().class("badge-text").child(" taken"));
        tr().toggle_class("active", action.is_chosen)
            .child(name.child(taken))
            .child(
                td().class("bar-cell")
                    .attr("data-tone", "bad")
                    .child(bar(lost)),
            )
            .child(number("Expected score", worth))
            .child(number("Below the best", fixed(best - action.value, 3)))
            .child(td().class("links").child(open))
    };
    let headings = vec![
        heading("Action", false),
        unseen_heading("Below the best as a bar"),
        heading("Expected score", true),
        heading("Below the best", true),
        unseen_heading("Branch"),
    ];
    let rows: Vec<El> = step.actions.iter().map(row).collect();
    Some(result_table("Actions at this step", headings, rows))
}

/// Returns a cell with a number, and with its heading where the table is stacked.
fn number(name: &'static str, text: String) -> El {
    let cell = td().class("num").attr("data-label", name);
    cell.child(text)
}

/// Moves the cursor to the next or previous mistake of the main episode; says so if there is none.
pub fn seek_mistake(page: Page, forward: bool) {
    let cursor = page.cursor_untracked();
    let found = page.main.analysis.with_untracked(|analysis| {
        let analysis = analysis.as_deref().ok_or(NOT_ANALYZED)?;
        find_mistake(&analysis.steps, cursor, forward).ok_or_else(|| no_mistake(analysis, forward))
    });
    match found {
        Ok(action) => page.seek(action),
        Err(sentence) => page.say_briefly(sentence),
    }
}

/// Returns a sentence about a mistake that was searched for in vain.
fn no_mistake(analysis: &AnalysisUpdate, forward: bool) -> &'static str {
    if analysis.steps.iter().any(|step| step.is_mistake) {
        return match forward {
            true => "No mistake after this action.",
            false => "No mistake before this action.",
        };
    }
    match analysis.is_complete() {
        true => "The analysis found no mistake in this episode.",
        false => "The analysis has found no mistake so far.",
    }
}

/// Returns the number of actions after the next or previous mistake.
fn find_mistake(steps: &[StepAnalysis], cursor: usize, forward: bool) -> Option<usize> {
    find_action(steps, cursor, forward, |step| step.is_mistake)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_found_in_both_directions() {
        let step = |is_mistake| StepAnalysis {
            is_mistake,
            ..StepAnalysis::default()
        };
        let steps = [false, true, false, true].map(step);
        assert_eq!(find_mistake(&steps, 0, true), Some(2));
        assert_eq!(find_mistake(&steps, 2, true), Some(4));
        assert_eq!(find_mistake(&steps, 4, true), None);
        assert_eq!(find_mistake(&steps, 99, false), Some(4));
        assert_eq!(find_mistake(&steps, 4, false), Some(2));
        assert_eq!(find_mistake(&[], 3, false), None);
    }

    #[test]
    fn a_search_in_vain_has_a_sentence() {
        let mut analysis = AnalysisUpdate {
            done: 1,
            total: 2,
            steps: vec![StepAnalysis::default()],
            ..AnalysisUpdate::default()
        };
        assert!(no_mistake(&analysis, true).ends_with("so far."));
        analysis.done = 2;
        assert!(no_mistake(&analysis, false).contains("in this episode"));
        analysis.steps[0].is_mistake = true;
        assert!(no_mistake(&analysis, true).contains("after"));
        assert!(no_mistake(&analysis, false).contains("before"));
    }

    #[test]
    fn a_loss_is_named_with_its_interval() {
        let mut step = StepAnalysis {
            loss: 0.0124,
            interval: Some([0.004, 0.02]),
            ..StepAnalysis::default()
        };
        assert_eq!(loss(&step), "0.012 (0.004–0.020)");
        step.interval = None;
        assert_eq!(loss(&step), "0.012");
    }
}
