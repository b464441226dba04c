//! What is played: player, task and seed in one row, everything else under "Advanced".

use leptos::prelude::*;
use sentinel_page_protocol::{Axis, Choice, WorldInfo};
use wasm_bindgen::JsCast;

use super::select::{Item, select};
use crate::browser;
use crate::page::Page;
use crate::query::parse_seed;
use crate::reactive::memo;
use crate::rules::Parts;
use crate::state::{SEED_MAX, View};

/// The row of controls with its drawer.
#[component]
pub fn Controls(page: Page) -> impl IntoView {
    let open = RwSignal::new(false);
    let expanded = move || if open.get() { "true" } else { "false" };
    view! {
        <section class="controls" aria-label="Episode">
            <div class="control-row">
                <PlayerMenu page versus=false/>
                <TaskMenus page advanced=false/>
                <SeedField page/>
                <button type="button" id="advanced" class="quiet-button" aria-expanded=move || expanded() aria-controls="drawer"
                    on:click=move |_| open.update(|open| *open = !*open)>"Advanced"</button>
            </div>
            <div id="drawer" class="control-row drawer" hidden=move || !open.get()>
                <TaskMenus page advanced=true/>
                <PlayerMenu page versus=true/>
                <StreamsMenu page/>
                <RulesMenus page/>
                <FileButton page/>
            </div>
        </section>
    }
}

fn choices(choices: &[Choice]) -> Vec<Item> {
    choices
        .iter()
        .map(|choice| Item::new(&choice.name, &choice.label, &choice.help))
        .collect()
}

/// Returns a memo of something in the world's description.
fn of_world<T>(page: Page, of: impl Fn(&WorldInfo) -> T + Send + Sync + 'static) -> Memo<T>
where
    T: Default + PartialEq + Send + Sync + 'static,
{
    memo(move |_| {
        page.info
            .with(|info| info.as_ref().map(|info| of(info)).unwrap_or_default())
    })
}

/// Returns a memo of a word of the view.
fn of_view(page: Page, of: impl Fn(&View) -> String + Send + Sync + 'static) -> Memo<String> {
    memo(move |_| page.still.with(|view| of(view)))
}

#[component]
fn PlayerMenu(page: Page, versus: bool) -> impl IntoView {
    let items = memo(move |_| {
        let mut items = Vec::new();
        if versus {
            items.push(Item::new("", "None", ""));
        }
        page.info.with(|info| {
            let players = info.iter().flat_map(|info| &info.players);
            let all = players.filter(|player| !versus || player.name != "you");
            items.extend(all.map(|player| Item::new(&player.name, &player.label, &player.help)));
        });
        page.replays.with(|replays| {
            items.extend(replays.iter().map(|replay| {
                let (value, label) = (
                    format!("replay:{}", replay.name),
                    format!("Replay {}", replay.name),
                );
                Item::new(&value, &label, &replay.help)
            }));
        });
        items
    });
    let chosen = of_view(page, move |view| {
        if versus { &view.versus } else { &view.player }.clone()
    });
    let change = move |word: String| {
        if versus {
            return page.view.update(|view| view.versus = word);
        }
        // A replay has some episodes only: it opens one of them.
        let name = word.strip_prefix("replay:");
        let first = page.replays.with_untracked(|replays| {
            let found = replays
                .iter()
                .find(|replay| Some(replay.name.as_str()) == name);
            found.map(|replay| replay.first.clone())
        });
        page.restart(|view| {
            if let Some(first) = first.filter(|first| !first.task.is_empty()) {
                view.adopt(&first);
            }
            view.player = word;
        });
    };
    let (id, label) = if versus {
        ("versus", "Compare with")
    } else {
        ("player", "Player")
    };
    select(
        id.to_owned(),
        label.to_owned(),
        String::new(),
        items,
        chosen,
        change,
    )
}

/// Returns the task that has `choice` on axis `axis` and else as many coordinates as possible of
/// the task `now`.
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

#[component]
fn TaskMenus(page: Page, advanced: bool) -> impl IntoView {
    let axes = of_world(page, |info| info.axes.clone());
    let plain = of_world(page, |info| info.axes.is_empty() && info.tasks.len() > 1);
    let list = move || (plain.get() && !advanced).then(|| task_menu(page));
    let menus = move || {
        let axes = axes.get().into_iter().enumerate();
        let axes = axes.filter(|(_, axis)| axis.advanced == advanced);
        axes.map(|(index, axis)| axis_menu(page, index, axis))
            .collect::<Vec<AnyView>>()
    };
    view! { {move || list()}{move || menus()} }
}

fn task_menu(page: Page) -> AnyView {
    let items = of_world(page, |info| {
        info.tasks
            .iter()
            .map(|task| Item::new(&task.name, &task.label, &task.help))
            .collect::<Vec<_>>()
    });
    let chosen = of_view(page, |view| view.task.clone());
    let change = move |word| page.restart(|view| view.task = word);
    select(
        "task".to_owned(),
        "Task".to_owned(),
        String::new(),
        items,
        chosen,
        change,
    )
}

fn axis_menu(page: Page, index: usize, axis: Axis) -> AnyView {
    let items = choices(&axis.choices);
    let items = memo(move |_| items.clone());
    let chosen = memo(move |_| {
        let task = page.still.with(|view| view.task.clone());
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
            let now = page.view.with_untracked(|view| view.task.clone());
            task_with(info, &now, index, u8::try_from(choice).ok()?)
        });
        if let Some(task) = found {
            page.restart(|view| view.task = task);
        }
    };
    select(
        format!("axis-{index}"),
        axis.label,
        axis.help,
        items,
        chosen,
        change,
    )
}

#[component]
fn SeedField(page: Page) -> impl IntoView {
    let text = of_view(page, |view| view.seed.to_string());
    let change = move |event: web_sys::Event| {
        let typed = event_target_value(&event);
        match parse_seed(&typed) {
            Some(seed) => page.restart(|view| view.seed = seed),
            None => {
                page.tell(format!(
                    "“{typed}” is not a seed: use a whole number from 0 to 2^63 − 1."
                ));
                // The field shows what is played, not what was refused.
                if let Some(input) = input_of(&event) {
                    input.set_value(&text.get_untracked());
                }
            }
        }
    };
    let step = move |by: i64| {
        page.restart(|view| view.seed = view.seed.saturating_add_signed(by).min(SEED_MAX));
    };
    view! {
        <div class="field">
            <label class="label" for="seed">"Seed"</label>
            <div class="joined">
                <button type="button" on:click=move |_| step(-1) aria-label="Previous seed">"−"</button>
                <input id="seed" inputmode="numeric" size="8" autocomplete="off"
                    prop:value=move || text.get() on:change=change/>
                <button type="button" on:click=move |_| step(1) aria-label="Next seed">"+"</button>
                <button type="button" id="new-seed" on:click=move |_| new_seed(page)>"New seed"</button>
            </div>
        </div>
    }
}

/// Plays another seed.
pub fn new_seed(page: Page) {
    let seed = browser::random_seed();
    page.restart(|view| view.seed = seed);
}

#[component]
fn StreamsMenu(page: Page) -> impl IntoView {
    let items = of_world(page, |info| choices(&info.streams));
    let chosen = of_view(page, |view| view.streams.clone());
    let change = move |word| page.restart(|view| view.streams = word);
    let help = "How the random streams of an episode are seeded.".to_owned();
    move || {
        let change = change;
        (items.with(Vec::len) > 1).then(|| {
            select(
                "streams".to_owned(),
                "Random streams".to_owned(),
                help.clone(),
                items,
                chosen,
                change,
            )
        })
    }
}

#[component]
fn RulesMenus(page: Page) -> impl IntoView {
    let items = of_world(page, |info| choices(&info.rules));
    let changes = of_world(page, |info| info.rule_changes.clone());
    let parts = memo(move |_| {
        let word = page.still.with(|view| view.rules.clone());
        page.info
            .with(|info| info.as_ref().map(|info| Parts::new(&word, info)))
    });
    let chosen =
        memo(move |_| parts.with(|p| p.as_ref().map_or_else(String::new, |p| p.base.clone())));
    let change = move |word| page.restart(|view| view.rules = word);
    let toggle = move |name: &str| {
        let word = page.info.with_untracked(|info| {
            let mut parts = parts.get_untracked()?;
            parts.toggle(name);
            Some(parts.word(info.as_ref()?))
        });
        if let Some(word) = word {
            page.restart(|view| view.rules = word);
        }
    };
    let switch = move |choice: Choice| {
        let (name, flipped) = (choice.name.clone(), choice.name);
        let has = move || {
            page.info.with(|info| {
                let info = info.as_ref();
                parts.with(|p| {
                    p.as_ref()
                        .zip(info)
                        .is_some_and(|(p, info)| p.has(&name, info))
                })
            })
        };
        view! {
            <label class="check" data-help=choice.help>
                <input type="checkbox" prop:checked=move || has() on:change=move |_| toggle(&flipped)/>{choice.label}
            </label>
        }
        .into_any()
    };
    let help = "The rules of the reference, or rules that close its exploits.".to_owned();
    view! {
        {select("rules".to_owned(), "Rules".to_owned(), help, items, chosen, change)}
        <details class="changes" hidden=move || changes.with(Vec::is_empty)>
            <summary>"Single changes of the rules"</summary>
            <div class="checks">{move || changes.get().into_iter().map(switch).collect::<Vec<AnyView>>()}</div>
        </details>
    }
}

#[component]
fn FileButton(page: Page) -> impl IntoView {
    let change = move |event: web_sys::Event| {
        if let Some(input) = input_of(&event) {
            page.open_files(browser::files(input.files()));
            input.set_value("");
        }
    };
    view! {
        <div class="field">
            <span class="label">"Files"</span>
            <label class="file">"Open or drop…"
                <input type="file" multiple on:change=change aria-label="Open a replay, a model or a training log"/>
            </label>
        </div>
    }
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
