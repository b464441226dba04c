//! Controls of the episode: its name, and a drawer in which player, task, seed and rules are chosen.

use leptos::prelude::{event_target_checked, event_target_value};
use sentinel_page_protocol::{Axis, Choice, PlayerInfo, WorldInfo};
use wasm_bindgen::JsCast;

use super::icons::{SETTINGS, icon};
use super::select::{Item, select};
use super::widgets::{check_field, checkbox};
use crate::browser;
use crate::dom::html::{button, details, div, h2, input, label, p, section, span, summary};
use crate::dom::{El, IntoView, View};
use crate::page::Page;
use crate::query::parse_seed;
use crate::reactive::{Memo, memo};
use crate::rules_param::RulesParam;
use crate::state::{PageState, REPLAY, SEED_MAX, VISITOR};

/// Returns a button that names the episode and opens a drawer with everything that chooses it, and a
/// button for a new seed.
#[must_use]
pub fn controls(page: Page) -> El {
    let settings = button()
        .id("settings")
        .attr("popovertarget", "drawer")
        .attr("aria-haspopup", "dialog")
        .child(span().class("chosen").child(move || chosen_episode(page)))
        .child(icon(SETTINGS));
    let another = button().id("new-seed").on_press(move || new_seed(page));
    let row = div()
        .class("control-row chooser")
        .child(settings)
        .child(another.child("New seed"));
    section()
        .class("controls")
        .label("Episode")
        .child(row)
        .child(drawer(page))
}

/// Returns the drawer: player, task, seed, a second player, streams and rules. The browser opens and
/// closes it, also for Escape and a press beside it.
fn drawer(page: Page) -> El {
    let close = button()
        .class("icon-button")
        .label("Close")
        .attr("popovertarget", "drawer")
        .attr("popovertargetaction", "hide")
        .child("×");
    let head = div()
        .class("dialog-head")
        .child(h2().child("This episode"))
        .child(close);
    let tasks = div().class("control-row").child(task_menus(page));
    let note = move || {
        // Warnings stand above the episode.
        let (text, warns) = page
            .main
            .status
            .with(|status| (status.note.clone(), status.warns));
        (!warns && !text.is_empty())
            .then(|| p().class("quiet").attr("data-note", "source").child(text))
    };
    div()
        .id("drawer")
        .class("drawer")
        .attr("popover", "auto")
        .attr("role", "dialog")
        .label("This episode")
        .child(head)
        .child(player_menu(page, false))
        .child(note)
        .child(tasks)
        .child(seed_field(page))
        .child(player_menu(page, true))
        .child(streams_menu(page))
        .child(rules_switch(page))
        .child(rule_changes(page))
}

/// Returns player, task and seed of the episode in words.
fn chosen_episode(page: Page) -> String {
    let (name, seed) = page
        .without_cursor
        .with(|state| (state.task.clone(), state.seed));
    let player = page
        .main
        .status
        .with(|status| status.episode.player_label.clone());
    let task = page.info.with(|info| {
        let mut tasks = info.iter().flat_map(|info| &info.tasks);
        let found = tasks.find(|task| task.name == name);
        found.map(|task| task.label.clone())
    });
    // The player, which stands above the headline, too, comes last: narrow windows cut the end.
    let parts = [task.unwrap_or_default(), format!("seed {seed}"), player];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

fn choices(choices: &[Choice]) -> Vec<Item> {
    choices
        .iter()
        .map(|choice| Item::new(&choice.name, &choice.label, &choice.help))
        .collect()
}

/// Returns a memo of a part of the world's description; the default while the description is
/// missing.
fn of_world<T>(page: Page, of: impl Fn(&WorldInfo) -> T + Send + Sync + 'static) -> Memo<T>
where
    T: Default + PartialEq + Send + Sync + 'static,
{
    memo(move || {
        page.info
            .with(|info| info.as_ref().map(|info| of(info)).unwrap_or_default())
    })
}

/// Returns a memo of a part of the page's state.
fn of_state(page: Page, of: impl Fn(&PageState) -> String + Send + Sync + 'static) -> Memo<String> {
    memo(move || page.without_cursor.with(|state| of(state)))
}

fn player_menu(page: Page, versus: bool) -> El {
    let items = memo(move || {
        let mut items = Vec::new();
        if versus {
            items.push(Item::new("", "None", ""));
        }
        page.info.with(|info| {
            let players = info.iter().flat_map(|info| &info.players);
            let all = players.filter(|player| !versus || player.name != VISITOR);
            let item = |player: &PlayerInfo, group| {
                Item::new(&player.name, &player.label, &player.help).in_group(group)
            };
            items.extend(all.map(|player| item(player, "Players")));
            page.replays.with(|replays| {
                items.extend(replays.iter().map(|replay| {
                    let value = format!("{REPLAY}{}", replay.name);
                    let label = &replay.first.player_label;
                    Item::new(&value, label, &replay.help).in_group("Recorded episodes")
                }));
            });
            let checkpoints = info.iter().flat_map(|info| &info.checkpoints);
            items.extend(checkpoints.map(|player| item(player, "Checkpoints")));
        });
        items
    });
    let chosen = of_state(page, move |state| {
        if versus { &state.versus } else { &state.player }.clone()
    });
    let change = move |word: String| {
        if versus {
            return page.state.update(|state| state.versus = word);
        }
        // A replay contains only some episodes, so one of them is opened.
        let name = word.strip_prefix(REPLAY);
        let first = page.replays.with_untracked(|replays| {
            let found = replays
                .iter()
                .find(|replay| Some(replay.name.as_str()) == name);
            found.map(|replay| replay.first.clone())
        });
        page.restart(|state| {
            if let Some(first) = first.filter(|first| !first.task.is_empty()) {
                state.apply_episode(&first);
            }
            state.player = word;
        });
    };
    let (id, label) = if versus {
        ("versus", "Compare with")
    } else {
        ("player", "Player")
    };
    select(id, label, "", items, chosen, change)
}

/// Returns the task that has `choice` on axis `axis` and shares as many other coordinates as
/// possible with the task `now`.
fn task_with(info: &WorldInfo, now: &str, axis: usize, choice: u8) -> Option<String> {
    let now = info.tasks.iter().find(|task| task.name == now);
    let now = now.map_or(&[][..], |task| task.coordinates.as_slice());
    let common = |coordinates: &[u8]| coordinates.iter().zip(now).filter(|(a, b)| a == b).count();
    let mut best = None;
    for task in &info.tasks {
        let likeness = common(&task.coordinates);
        let fits = task.coordinates.get(axis) == Some(&choice);
        if fits && best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, &task.name));
        }
    }
    best.map(|(_, name)| name.clone())
}

fn task_menus(page: Page) -> View {
    let axes = of_world(page, |info| info.axes.clone());
    let menus = move || {
        let axes = axes.get().into_iter().enumerate();
        axes.map(|(index, axis)| axis_menu(page, index, axis))
            .collect::<Vec<El>>()
    };
    menus.into_view()
}

fn axis_menu(page: Page, index: usize, axis: Axis) -> El {
    let items = choices(&axis.choices);
    let items = memo(move || items.clone());
    let chosen = memo(move || {
        let task = page.without_cursor.with(|state| state.task.clone());
        page.info
            .with(|info| {
                let info = info.as_ref()?;
                let task = info.tasks.iter().find(|found| found.name == task)?;
                let choice = usize::from(*task.coordinates.get(index)?);
                Some(info.axes.get(index)?.choices.get(choice)?.name.clone())
            })
            .unwrap_or_default()
    });
    let change = move |word: String| {
        let found = page.info.with_untracked(|info| {
            let info = info.as_ref()?;
            let choices = &info.axes.get(index)?.choices;
            let choice = choices.iter().position(|choice| choice.name == word)?;
            let now = page.state.with_untracked(|state| state.task.clone());
            task_with(info, &now, index, u8::try_from(choice).ok()?)
        });
        if let Some(task) = found {
            page.restart(|state| state.task = task);
        }
    };
    let id = format!("axis-{index}");
    select(id, axis.label, axis.help, items, chosen, change)
}

fn seed_field(page: Page) -> El {
    let text = of_state(page, |state| state.seed.to_string());
    let change = move |event: web_sys::Event| {
        let typed = event_target_value(&event);
        match parse_seed(&typed) {
            Some(seed) => page.restart(|state| state.seed = seed),
            None => {
                page.add_notice(format!(
                    "“{typed}” is not a seed: use a whole number from 0 to 2^63 − 1."
                ));
                // The field keeps showing the seed that is played.
                if let Some(input) = input_of(&event) {
                    input.set_value(&text.get_untracked());
                }
            }
        }
    };
    let step = move |by: i64| {
        page.restart(|state| state.seed = state.seed.saturating_add_signed(by).min(SEED_MAX));
    };
    let beside = |by: i64, name: &'static str, sign: &'static str| {
        button().label(name).on_press(move || step(by)).child(sign)
    };
    let number = input()
        .id("seed")
        .attr("inputmode", "numeric")
        .attr("size", "8")
        .attr("autocomplete", "off")
        .prop("value", move || text.get())
        .on("change", change);
    let joined = div()
        .class("joined")
        .child(beside(-1, "Previous seed", "−"))
        .child(number)
        .child(beside(1, "Next seed", "+"));
    let name = label().class("label").attr("for", "seed").child("Seed");
    div().class("field").child(name).child(joined)
}

/// Plays the episode of a new random seed.
pub fn new_seed(page: Page) {
    let seed = browser::random_seed();
    page.restart(|state| state.seed = seed);
}

fn streams_menu(page: Page) -> View {
    let items = of_world(page, |info| choices(&info.streams));
    let chosen = of_state(page, |state| state.streams.clone());
    let change = move |word| page.restart(|state| state.streams = word);
    let help = "How the random streams of an episode are seeded.";
    let menu = move || {
        let menu = || select("streams", "Random streams", help, items, chosen, change);
        (items.with(Vec::len) > 1).then(menu)
    };
    menu.into_view()
}

/// Returns a memo of the parsed rules; `None` until the world is known.
fn rules_param(page: Page) -> Memo<Option<RulesParam>> {
    memo(move || {
        let word = page.without_cursor.with(|state| state.rules.clone());
        page.info
            .with(|info| info.as_ref().map(|info| RulesParam::new(&word, info)))
    })
}

/// Returns the switch for the rules as published; nothing in worlds whose rules have no changes.
fn rules_switch(page: Page) -> View {
    let items = of_world(page, |info| info.rules.clone());
    let param = rules_param(page);
    let base =
        memo(move || param.with(|p| p.as_ref().map_or_else(String::new, |p| p.base.clone())));
    let switch = move || {
        let [published, other] = <[Choice; 2]>::try_from(items.get()).ok()?;
        let (name, named) = (published.name.clone(), published.name.clone());
        let flip = move |event| {
            let is_on = event_target_checked(&event);
            let word = if is_on { &name } else { &other.name }.clone();
            page.restart(|state| state.rules = word);
        };
        let switch = checkbox(move || base.with(|base| *base == named), flip);
        Some(check_field(&published, switch.id("rules")))
    };
    switch.into_view()
}

/// Returns a switch for each single change of the rules.
fn rule_changes(page: Page) -> El {
    let changes = of_world(page, |info| info.rule_changes.clone());
    let param = rules_param(page);
    let switches = move || {
        let changes = changes.get().into_iter();
        let switch = |change| rule_switch(page, param, change);
        changes.map(switch).collect::<Vec<El>>()
    };
    details()
        .class("changes")
        .hidden(move || changes.with(Vec::is_empty))
        .child(summary().child("Single rule changes"))
        .child(div().class("checks").child(switches))
}

fn rule_switch(page: Page, param: Memo<Option<RulesParam>>, change: Choice) -> El {
    let (name, flipped) = (change.name.clone(), change.name.clone());
    let has = move || {
        page.info.with(|info| {
            let has = |param: &Option<RulesParam>| Some(param.as_ref()?.has(&name, info.as_ref()?));
            param.with(has).unwrap_or_default()
        })
    };
    let toggle = move |_| {
        let word = page.info.with_untracked(|info| {
            let mut param = param.get_untracked()?;
            param.toggle(&flipped);
            Some(param.to_param(info.as_ref()?))
        });
        if let Some(word) = word {
            page.restart(|state| state.rules = word);
        }
    };
    check_field(&change, checkbox(has, toggle))
}

fn input_of(event: &web_sys::Event) -> Option<web_sys::HtmlInputElement> {
    event.target()?.dyn_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_page_protocol::TaskInfo;

    #[test]
    fn an_axis_keeps_the_others_where_it_can() {
        let task = |name: &str, coordinates: &[u8]| TaskInfo {
            name: name.to_owned(),
            coordinates: coordinates.to_vec(),
            ..TaskInfo::default()
        };
        let info = WorldInfo {
            tasks: vec![
                task("a0", &[0, 0]),
                task("a1", &[0, 1]),
                task("b0", &[1, 0]),
                task("b1", &[1, 1]),
            ],
            ..WorldInfo::default()
        };
        assert_eq!(task_with(&info, "a1", 0, 1).as_deref(), Some("b1"));
        assert_eq!(task_with(&info, "b0", 1, 1).as_deref(), Some("b1"));
        assert_eq!(task_with(&info, "unknown", 1, 1).as_deref(), Some("a1"));
        assert_eq!(task_with(&info, "a0", 2, 0), None);
    }
}
