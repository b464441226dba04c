//! The settings of a training run: fields while there is none, the values of the run otherwise.

use super::RunHere;
use crate::address::query_of;
use crate::browser;
use crate::dom::El;
use crate::dom::html::{details, div, fieldset, h2, input, p, small, summary};
use crate::page::Page;
use crate::reactive::memo;
use crate::training_form::{Setting, TrainingForm};
use crate::ui::copy_button::{LINK_REFUSED, copy_button};
use crate::ui::select::{Item, select};
use crate::ui::widgets::text_field;

/// A field: its setting, identifier, name, text while it is empty, and a sentence.
type Field = (
    Setting,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const FIELDS: [Field; 7] = [
    (
        Setting::LearningRate,
        "learning-rate",
        "Learning rate",
        "preset",
        "How far an update moves the weights; if it is too large, the policy forgets.",
    ),
    (
        Setting::GroupSize,
        "group-size",
        "Group size",
        "preset",
        "The number of attempts that are compared with each other.",
    ),
    (
        Setting::Episodes,
        "episodes",
        "Episodes per update",
        "preset",
        "More episodes make updates steadier and slower.",
    ),
    (
        Setting::Entropy,
        "entropy",
        "Entropy bonus",
        "preset",
        "With a larger bonus the policy tries more actions and settles later.",
    ),
    (
        Setting::Width,
        "hidden",
        "Network width",
        "preset",
        "The number of units of each hidden layer.",
    ),
    (
        Setting::Seed,
        "training-seed",
        "Seed",
        "1",
        "The same seed and settings give the same weights, bit for bit.",
    ),
    (
        Setting::Workers,
        "training-workers",
        "Helpers",
        "automatic",
        "The number of workers, 0 to 8, that play episodes beside the one that learns; the result is the same.",
    ),
];

/// A menu: its setting, identifier, name, items with values and labels, and a sentence.
type Menu = (
    Setting,
    &'static str,
    &'static str,
    [(&'static str, &'static str); 2],
    &'static str,
);

const MENUS: [Menu; 3] = [
    (
        Setting::Start,
        "training-start",
        "Start from",
        [("", "fresh weights"), ("published", "the published policy")],
        "The published policy was trained for longer, and has a width of its own.",
    ),
    (
        Setting::Credit,
        "training-credit",
        "Credit",
        [("step", "each step"), ("episode", "whole episode")],
        "An action is compared with others at the same step, or an episode with others from the same start.",
    ),
    (
        Setting::Rules,
        "training-rules",
        "Rules",
        [("hardened", "hardened"), ("reference", "as published")],
        "The rules as published have loopholes, and training finds them.",
    ),
];

/// Returns the card with the settings.
pub(super) fn settings(page: Page, current: RunHere) -> El {
    let has_run = memo(move || current.with(Option::is_some));
    let form = memo(move || {
        let of_run = |training: &crate::page::Training| TrainingForm::from(&training.update.spec);
        let of_run = current.with(|training| training.as_ref().map(of_run));
        of_run.unwrap_or_else(|| page.without_cursor.with(|state| state.training.clone()))
    });
    let change = move |setting, typed| {
        page.state
            .update(|state| state.training.set(setting, typed));
    };
    let field = |(setting, id, name, empty, help): Field| {
        let field = input()
            .attr("inputmode", "decimal")
            .attr("maxlength", "24")
            .attr("placeholder", empty);
        let text = move || form.with(|form| form.typed(setting).to_owned());
        let field = text_field(id, name, field, text, move |typed| change(setting, typed));
        field.child(small().child(help))
    };
    let menu = |(setting, id, name, items, help): Menu| {
        let items = items.map(|(value, label)| Item::new(value, label, ""));
        let items = memo(move || items.to_vec());
        let chosen = memo(move || form.with(|form| form.chosen(setting).to_owned()));
        let menu = select(id, name, "", items, chosen, move |value| {
            change(setting, value);
        });
        menu.child(small().child(help))
    };
    let terms = memo(move || {
        let terms = page.info.with(|info| {
            let info = info.as_ref();
            info.map_or_else(Vec::new, |info| info.reward_terms.clone())
        });
        let whole = Item::new("", "nothing", "");
        let terms = terms
            .iter()
            .map(|term| Item::new(&term.name, &term.label, &term.help));
        std::iter::once(whole).chain(terms).collect::<Vec<_>>()
    });
    let left_out = memo(move || form.with(|form| form.chosen(Setting::Without).to_owned()));
    let without = select(
        "training-without",
        "Leave out of the reward",
        "",
        terms,
        left_out,
        move |term| {
            change(Setting::Without, term);
        },
    );
    let without = without.child(small().child(
        "The policy learns from the rest of the reward; the scores shown have the whole one.",
    ));
    let link = move || {
        let state = page.state.get_untracked();
        browser::address_with(&query_of(page, &state))
    };
    let copy = copy_button(page, "Copy link", "Link copied", LINK_REFUSED, link);
    let copy = copy
        .id("train-link")
        .attr("data-help", "Copies a link to these settings.");
    details()
        .class("card train-settings")
        .attr("open", true)
        .child(summary().child(h2().child("Settings")))
        .child(
            p().class("quiet")
                .id("train-locked")
                .hidden(move || !has_run.get())
                .child("Reset to change the settings."),
        )
        .child(
            fieldset()
                .label("Settings")
                .attr("disabled", move || has_run.get())
                .child(FIELDS.into_iter().map(field).collect::<Vec<El>>())
                .child(MENUS.into_iter().map(menu).collect::<Vec<El>>())
                .child(without),
        )
        .child(div().class("control-row").child(copy))
}
