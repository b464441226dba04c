//! Training in the page: a button, the curve of the mean score, and the settings of a run.

use std::sync::Arc;

use leptos::prelude::{document, event_target_value, set_timeout};
use sentinel_page_protocol::TrainingSpec;

use super::attempts::learned;
use super::records::live_curve;
use super::select::{Item, select};
use crate::browser;
use crate::dom::El;
use crate::dom::html::{
    b, button, details, div, h1, h2, input, label, li, ol, p, pre, section, small, span, summary,
};
use crate::number_format::{fixed, grouped};
use crate::page::{ModelUse, Page, Training};
use crate::reactive::{Signal, memo};

/// The settings as the visitor typed them; an empty text stands for the preset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Form {
    learning_rate: String,
    group_size: String,
    episodes: String,
    entropy: String,
    hidden: String,
    seed: String,
    rules: String,
}

impl Form {
    /// Returns the settings of a run.
    ///
    /// # Errors
    /// Returns a sentence about the first number that cannot be read.
    fn spec(&self, world: &str) -> Result<TrainingSpec, String> {
        let number = |name: &str, typed: &str| match typed.trim() {
            "" => Ok(None),
            typed => match typed.parse::<u32>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(format!(
                    "{name} is not a whole number from 0 to {}: {typed}",
                    u32::MAX
                )),
            },
        };
        Ok(TrainingSpec {
            world: world.to_owned(),
            rules: match self.rules.as_str() {
                "" => "hardened".to_owned(),
                rules => rules.to_owned(),
            },
            seed: number("The seed", &self.seed)?.map_or(1, u64::from),
            learning_rate: self.learning_rate.trim().to_owned(),
            group_size: number("The group size", &self.group_size)?,
            episodes: number("The number of episodes", &self.episodes)?,
            entropy: self.entropy.trim().to_owned(),
            hidden: number("The width", &self.hidden)?,
            workers: None,
        })
    }
}

/// A setting: identifier, name, sentence, and its place in the form.
type Knob = (
    &'static str,
    &'static str,
    &'static str,
    fn(&mut Form) -> &mut String,
);

const KNOBS: [Knob; 6] = [
    (
        "learning-rate",
        "Learning rate",
        "How far one update moves. Too high, and it forgets.",
        |f| &mut f.learning_rate,
    ),
    (
        "group-size",
        "Group size",
        "Actions tried from the same step, compared with each other.",
        |f| &mut f.group_size,
    ),
    (
        "episodes",
        "Episodes per update",
        "More: steadier, slower.",
        |f| &mut f.episodes,
    ),
    (
        "entropy",
        "Entropy bonus",
        "More: it tries more actions, and settles later.",
        |f| &mut f.entropy,
    ),
    (
        "hidden",
        "Network width",
        "Units of each hidden layer.",
        |f| &mut f.hidden,
    ),
    (
        "training-seed",
        "Seed",
        "The same seed and settings give the same weights, bit for bit.",
        |f| &mut f.seed,
    ),
];

/// Returns the part of the screen that trains.
#[must_use]
pub fn train(page: Page) -> El {
    let form = Signal::new(Form::default());
    let current = page.training.current;
    let has_policy = memo(move || {
        let has_digest = |training: &Training| !training.update.digest.is_empty();
        current.with(|training| training.as_ref().is_some_and(has_digest))
    });
    section()
        .class("train")
        .id("train")
        .label("Train a policy")
        .child(headline(page, form))
        .child(super::kept_run::kept_run(page))
        .child(
            div()
                .class("pane-grid")
                .child(
                    div()
                        .class("column wide")
                        .child(curve(page))
                        .child(progress(page))
                        .child(learned(page)),
                )
                .child(
                    div()
                        .class("column narrow")
                        .child(settings(form))
                        .child(move || has_policy.get().then(|| taking_away(page))),
                ),
        )
}

fn headline(page: Page, form: Signal<Form>) -> El {
    let current = page.training.current;
    let with = move |say: fn(&Training) -> String| {
        move || current.with(|training| training.as_ref().map_or_else(String::new, say))
    };
    let is_running = memo(move || current.with(|t| t.as_ref().is_some_and(|t| t.is_running)));
    let is_over = memo(move || current.with(|t| t.as_ref().is_some_and(Training::is_over)));
    let has_run = memo(move || current.with(Option::is_some));
    let start = move || {
        let world = page
            .without_cursor
            .with_untracked(|state| state.world.clone());
        match form.with_untracked(|form| form.spec(&world)) {
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
            training.map_or_else(String::new, state_sentence)
        })
    });
    let detail = move || {
        match has_run.get() {
        false => {
            "A small network learns from its own episodes, in this tab and without a server. It takes one to \
             four minutes; what it has learned shows after some seconds."
                .to_owned()
        }
        true => with(state_sentence)(),
    }
    };
    div()
        .class("headline")
        .child(
            div()
                .class("story")
                .child(h1().child("Train a policy in this tab"))
                .child(p().class("detail").id("train-state").child(detail))
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
fn state_sentence(training: &Training) -> String {
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
    let world = &update.spec.world;
    let state = match (training.is_over(), training.is_running) {
        (true, _) => "Done",
        (_, false) => "Paused",
        _ => phase,
    };
    format!("World {world}, {title}: {place}. {state}.")
}

fn curve(page: Page) -> El {
    let current = page.training.current;
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
    let is_empty =
        memo(move || chart.with(|chart| chart.lines.iter().all(|line| line.y.is_empty())));
    let waits = p()
        .class("quiet")
        .hidden(move || !is_empty.get())
        .child("The curve of the mean score appears here, with the other players as level lines.");
    let drawn = div()
        .hidden(move || is_empty.get())
        .child(live_curve(chart));
    div().class("card").child(score).child(waits).child(drawn)
}

/// Returns sentences about the players that the run has passed.
fn progress(page: Page) -> El {
    let passed = memo(move || {
        page.training.current.with(|training| {
            let training = training.as_ref();
            training.map_or_else(Vec::new, |training| training.curve.passed(&training.rivals))
        })
    });
    let lines = move || {
        let line = |found: &crate::training_curve::Passed| {
            li().child(format!("After {} s above ", fixed(found.seconds, 0)))
                .child(b().child(found.label.clone()))
                .child(format!(" ({})", fixed(found.mean, 3)))
        };
        passed.with(|all| all.iter().map(line).collect::<Vec<El>>())
    };
    div()
        .attr("role", "status")
        .child(ol().id("train-passed").child(lines))
}

fn settings(form: Signal<Form>) -> El {
    let knob = |(id, name, help, place): Knob| {
        let change = move |event| {
            let typed = event_target_value(&event);
            form.update(|form| *place(form) = typed);
        };
        let field = input()
            .id(id)
            .attr("inputmode", "decimal")
            .attr("autocomplete", "off")
            .attr("placeholder", "preset")
            .prop("value", move || place(&mut form.get()).clone())
            .on("input", change);
        div()
            .class("field")
            .child(label().class("label").attr("for", id).child(name))
            .child(field)
            .child(small().child(help))
    };
    let rules = memo(
        move || match form.with(|form| form.rules.clone()).as_str() {
            "" => "hardened".to_owned(),
            rules => rules.to_owned(),
        },
    );
    let items = memo(|| {
        vec![
            Item::new("hardened", "hardened", ""),
            Item::new("reference", "as published", ""),
        ]
    });
    let choose = move |chosen| form.update(|form| form.rules = chosen);
    let rules = select("training-rules", "Rules", "", items, rules, choose);
    let help = small().child("The rules as published have loopholes; training finds them.");
    details()
        .class("card train-settings")
        .attr("open", true)
        .child(summary().child(h2().child("Settings")))
        .child(KNOBS.into_iter().map(knob).collect::<Vec<El>>())
        .child(rules)
        .child(help)
}

/// Returns what can be done with the policy.
fn taking_away(page: Page) -> El {
    let current = page.training.current;
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
    div()
        .class("card")
        .child(
            div()
                .class("control-row")
                .child(play.child("Let it play"))
                .child(save.child("Save model")),
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
    fn empty_fields_leave_the_preset() {
        let spec = Form::default().spec("trust").expect("the preset");
        assert_eq!((spec.seed, spec.rules.as_str()), (1, "hardened"));
        assert_eq!((spec.learning_rate.as_str(), spec.group_size), ("", None));
    }

    #[test]
    fn a_number_that_cannot_be_read_is_named() {
        let form = Form {
            group_size: "eight".to_owned(),
            ..Form::default()
        };
        let error = form.spec("trust").expect_err("no number");
        assert!(
            error.contains("group size") && error.contains("eight"),
            "{error}"
        );
    }
}
