//! Training in the page: a button, the curve of the mean score, and the settings of a run.

mod board;
mod form;
pub(crate) mod indicator;

use std::sync::Arc;

use leptos::prelude::{document, set_timeout};

use super::attempts::learned;
use super::records::live_curve;
use crate::browser;
use crate::dom::El;
use crate::dom::html::{
    b, button, details, div, h1, li, ol, p, pre, section, small, span, summary,
};
use crate::number_format::{fixed, grouped};
use crate::page::{ModelUse, Page, Training};
use crate::reactive::{Memo, Signal, effect_with_previous, memo, memo_notify_always};
use crate::state::PageState;
use crate::training_curve::Passed;

/// The run of the world that is shown; `None` without one.
type RunHere = Memo<Option<Training>>;

/// Returns the part of the screen that trains.
#[must_use]
pub fn train(page: Page) -> El {
    let world = memo(move || page.without_cursor.with(|state| state.world.clone()));
    let current: RunHere = memo_notify_always(move || {
        let world = world.get();
        let run = page.training.current.get();
        run.filter(|training| training.update.spec.world == world)
    });
    let has_policy = memo(move || {
        let has_digest = |training: &Training| !training.update.digest.is_empty();
        current.with(|training| training.as_ref().is_some_and(has_digest))
    });
    section()
        .class("train")
        .id("train")
        .label("Train a policy")
        .child(headline(page, current))
        .child(elsewhere(page, world))
        .child(super::kept_run::kept_run(page))
        .child(
            div()
                .class("pane-grid")
                .child(
                    div()
                        .class("column wide")
                        .child(curve(current))
                        .child(progress(current))
                        .child(board::board(page, current))
                        .child(learned(current)),
                )
                .child(
                    div()
                        .class("column narrow")
                        .child(form::settings(page, current))
                        .child(move || has_policy.get().then(|| taking_away(page, current))),
                ),
        )
}

/// Returns a note about a run of another world, with the way there.
fn elsewhere(page: Page, world: Memo<String>) -> El {
    let other = memo(move || {
        let world = world.get();
        page.training.current.with(|training| {
            let own = &training.as_ref()?.update.spec.world;
            (*own != world).then(|| own.clone())
        })
    });
    let note = move || {
        let title = page.world_title(&other.get()?);
        Some(format!(
            "The policy that you train plays in the world “{title}”. Training one here ends that run. "
        ))
    };
    let show = move || {
        if let Some(world) = other.get_untracked() {
            page.open_training(&world);
        }
    };
    let show = button().id("train-show").on_press(show).child("Show it");
    let row = div().class("card control-row").child(p().child(note));
    row.hidden(move || other.with(Option::is_none)).child(show)
}

fn headline(page: Page, current: RunHere) -> El {
    let is_running = memo(move || current.with(|t| t.as_ref().is_some_and(|t| t.is_running)));
    let is_over = memo(move || current.with(|t| t.as_ref().is_some_and(Training::is_over)));
    let has_run = memo(move || current.with(Option::is_some));
    let start = move || {
        let spec = |state: &PageState| state.training.spec(&state.world);
        match page.state.with_untracked(spec) {
            Ok(spec) => {
                page.train(spec);
                focus_soon("train-pause");
            }
            Err(sentence) => page.add_notice(sentence),
        }
    };
    let begin = button()
        .id("train-start")
        .class("primary")
        .hidden(move || has_run.get());
    let pause = button()
        .id("train-pause")
        .hidden(move || !has_run.get() || is_over.get());
    let step = button()
        .id("train-step")
        .hidden(move || !has_run.get() || is_over.get());
    let step = step.attr("disabled", move || is_running.get());
    let reset = button().id("train-reset").hidden(move || !has_run.get());
    let stop = move || {
        page.stop_training();
        focus_soon("train-start");
    };
    // The line about the state changes too often to be read out.
    let end = memo(move || {
        current.with(|training| {
            let training = training.as_ref().filter(|training| training.is_over());
            training.map_or_else(String::new, |training| state_sentence(page, training))
        })
    });
    // A memo of `current` alone: an effect that reads both it and a memo of it can miss a change.
    let detail = memo(move || {
        current.with(|training| match training {
            None => {
                "A small network learns from its own episodes, in this tab and without a server. It takes \
                 about a minute; what it has learned shows after some seconds."
                    .to_owned()
            }
            Some(training) => state_sentence(page, training),
        })
    });
    div()
        .class("headline")
        .child(
            div()
                .class("story")
                .child(h1().child("Train a policy in this tab"))
                .child(
                    p().class("detail")
                        .id("train-state")
                        .child(move || detail.get()),
                )
                .child(
                    p().class("sr")
                        .attr("role", "status")
                        .child(move || end.get()),
                ),
        )
        .child(
            div()
                .class("control-row")
                .child(begin.on_press(start).child("Train a policy"))
                .child(
                    pause
                        .on_press(move || page.pause_training())
                        .child(move || {
                            if is_running.get() {
                                "Pause"
                            } else {
                                "Continue"
                            }
                        }),
                )
                .child(
                    step.on_press(move || page.step_training())
                        .child("One update"),
                )
                .child(reset.on_press(stop).child("Reset")),
        )
}

/// Moves the focus to an element that appears with the next change of the page.
fn focus_soon(id: &'static str) {
    let focus = move || browser::focus(document().get_element_by_id(id));
    set_timeout(focus, std::time::Duration::ZERO);
}

/// Returns where a run is, in words.
fn state_sentence(page: Page, training: &Training) -> String {
    let update = &training.update;
    if !update.failure.is_empty() {
        return update.failure.clone();
    }
    if update.total == 0 {
        return "Loading the trainer…".to_owned();
    }
    let phase = match update.phase.as_str() {
        "imitation" => "It imitates a rule-based player first",
        _ => "It learns from the rewards of its own episodes",
    };
    let steps = grouped(update.env_steps);
    let place = format!(
        "update {} of {}, {steps} steps",
        update.updates, update.total
    );
    let title = match update.spec.rules.as_str() {
        "reference" => "rules as published",
        rules => rules,
    };
    let world = page.world_title(&update.spec.world);
    let state = match (training.is_over(), training.is_running) {
        (true, _) => "Done",
        (_, false) => "Paused",
        _ => phase,
    };
    format!("World “{world}”, {title}: {place}. {state}.")
}

fn curve(current: RunHere) -> El {
    // It changes with every evaluation and result of another player, not with every update.
    let chart = memo(move || {
        let chart = |training: &Training| {
            let players = &training.update.validation.players;
            training.curve.chart(&training.rivals, players)
        };
        let found = current.with(|training| training.as_ref().map(chart));
        Arc::new(found.unwrap_or_default())
    });
    let score = move || {
        let newest = current.with(|training| training.as_ref()?.curve.newest())?;
        Some(
            p().class("train-score")
                .attr("data-mean", fixed(newest.mean, 4))
                .attr("data-updates", newest.updates.to_string())
                .child(b().class("num").child(fixed(newest.mean, 3)))
                .child(span().child(format!(" ± {}", fixed(newest.half_width, 3))))
                .child(small().child(" mean score on fixed validation seeds")),
        )
    };
    let doubt = move || {
        let found = current.with(|training| training.as_ref().and_then(doubt))?;
        Some(p().class("quiet").id("train-doubt").child(found))
    };
    let is_empty =
        memo(move || chart.with(|chart| chart.lines.iter().all(|line| line.y.is_empty())));
    let waits = p()
        .class("quiet")
        .hidden(move || !is_empty.get())
        .child("The curve of the mean score appears here, with the other players as level lines.");
    let drawn = div()
        .hidden(move || is_empty.get())
        .child(live_curve(chart));
    let card = div().class("card").child(score).child(waits);
    card.child(drawn).child(doubt)
}

/// Returns a sentence about a run that does not learn, and its likely reason.
fn doubt(training: &Training) -> Option<String> {
    const REASON: &str = "The learning rate may be too high for these groups and episodes.";
    if let Some(best) = training.curve.lost() {
        let score = fixed(best.mean, 3);
        return Some(format!(
            "It has forgotten: the score was {score} after {} updates. {REASON}",
            best.updates
        ));
    }
    // A run that has learned what it can ends without changes, too.
    let since = training.curve.still_since()?;
    (since < training.update.total / 2).then(|| {
        format!("Its actions have not changed since update {since}, whatever it is rewarded for. {REASON}")
    })
}

/// Returns sentences about the players that the run has passed. Only the newest one is read out.
fn progress(current: RunHere) -> El {
    let passed = memo(move || {
        current.with(|training| {
            let training = training.as_ref();
            training.map_or_else(Vec::new, |training| training.curve.passed(&training.rivals))
        })
    });
    let newest = Signal::new(String::new());
    effect_with_previous(move |before: Option<Vec<Passed>>| {
        let all = passed.get();
        // What is there already when the screen opens is no news.
        let lines = new_lines(before.as_ref().unwrap_or(&all), &all);
        if !lines.is_empty() || all.is_empty() {
            newest.set(lines);
        }
        all
    });
    let lines = move || {
        let line = |found: &Passed| li().child(passed_sentence(found));
        passed.with(|all| all.iter().map(line).collect::<Vec<El>>())
    };
    div().child(ol().id("train-passed").child(lines)).child(
        p().class("sr")
            .id("train-news")
            .attr("aria-live", "polite")
            .child(move || newest.get()),
    )
}

fn passed_sentence(found: &Passed) -> String {
    let (seconds, mean) = (fixed(found.seconds, 0), fixed(found.mean, 3));
    format!("After {seconds} s above {} ({mean})", found.label)
}

/// Returns the sentences about players that are not among those of `before`.
fn new_lines(before: &[Passed], all: &[Passed]) -> String {
    let is_new = |found: &&Passed| !before.iter().any(|old| old.label == found.label);
    let lines = all.iter().filter(is_new).map(passed_sentence);
    lines.collect::<Vec<_>>().join(". ")
}

/// Returns what can be done with the policy.
fn taking_away(page: Page, current: RunHere) -> El {
    let digest = move || {
        current.with(|training| {
            let update = &training.as_ref()?.update;
            (!update.digest.is_empty()).then(|| update.digest.clone())
        })
    };
    let updates = move || {
        let done = current.with(|t| t.as_ref().map_or(0, |t| t.update.updates));
        done.to_string()
    };
    let command = move || {
        current.with(|t| {
            t.as_ref()
                .map_or_else(String::new, |t| t.update.command.clone())
        })
    };
    let waits = move || page.training.wanted.with(Option::is_some);
    let play = button()
        .id("train-play")
        .attr("disabled", waits)
        .on_press(move || page.take_trained(ModelUse::Play));
    let save = button()
        .id("train-save")
        .attr("disabled", waits)
        .on_press(move || page.take_trained(ModelUse::Save));
    let has_failed =
        memo(move || current.with(|t| t.as_ref().is_some_and(|t| !t.update.failure.is_empty())));
    let save_run = button()
        .id("train-save-run")
        .attr("disabled", waits)
        .hidden(move || has_failed.get())
        .on_press(move || page.take_trained(ModelUse::SaveRun));
    div()
        .class("card")
        .child(
            div()
                .class("control-row")
                .child(play.child("Let it play"))
                .child(save.child("Save model"))
                .child(save_run.child("Save run")),
        )
        .child(
            p().class("quiet").child("Digest of the weights: ").child(
                span()
                    .id("train-digest")
                    .class("num")
                    .attr("data-updates", updates)
                    .child(digest),
            ),
        )
        .child(
            details()
                .child(summary().child("The same on a command line"))
                .child(pre().child(command)),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_players_that_were_passed_since_are_news() {
        let passed = |label: &str| Passed {
            label: label.to_owned(),
            mean: 0.7231,
            seconds: 8.6,
        };
        let before = [passed("Random"), passed("Oracle")];
        let all = [passed("Random"), passed("Heuristic"), passed("Oracle")];
        assert_eq!(
            new_lines(&before, &all),
            "After 9 s above Heuristic (0.723)"
        );
        assert_eq!(new_lines(&all, &all), "");
    }
}
