//! The settings of a tournament: players, tasks and seeds.

use sentinel_page_protocol::{Axis, TournamentSpec, WorldInfo};

use crate::dom::html::{button, details, div, input, label, p, small, span, summary};
use crate::dom::{El, IntoView, View};
use crate::number_format::grouped;
use crate::page::Page;
use crate::reactive::{Memo, Signal, effect, memo};
use crate::tournament_form::{Group, PlayerOption, Scope, TournamentForm, player_options};
use crate::ui::select::{Item, select};
use crate::ui::widgets::{checkbox, text_field};

/// Returns the settings, with the button that starts the tournament and further `buttons` in one
/// row; `runs` while a tournament is played.
pub(super) fn form(page: Page, runs: Memo<bool>, buttons: Vec<El>) -> El {
    let form = Signal::new(TournamentForm::default());
    // Players and tasks are those of a world.
    let world = memo(move || page.without_cursor.with(|state| state.world.clone()));
    effect(move || {
        world.track();
        form.set(TournamentForm::default());
    });
    let spec = memo(move || {
        let info = page.info.get()?;
        let spec = page.replays.with(|replays| {
            page.without_cursor
                .with(|state| form.with(|form| form.spec(&info, replays, state)))
        });
        Some(spec)
    });
    let found = move || spec.with(|spec| spec.as_ref().and_then(|spec| spec.clone().ok()));
    let start = move || {
        if let Some(Some(Ok(spec))) = spec.with_untracked(|spec| Some(spec.clone())) {
            page.start_tournament(spec);
        }
    };
    let play = button()
        .id("tournament")
        .attr("disabled", move || found().is_none() || runs.get())
        .on_press(start)
        .child("Play tournament");
    let seeds = number("tournament-seeds", "Seeds", form, |form| &mut form.seeds);
    let first = number("tournament-first", "First seed", form, |form| {
        &mut form.first_seed
    });
    let row = div()
        .class("control-row")
        .child(seeds)
        .child(task_menu(page, form))
        .child(play)
        .child(buttons);
    let problem = move || {
        let problem = spec.with(|spec| spec.as_ref().and_then(|spec| spec.clone().err()));
        problem.map(|problem| p().class("note").attr("data-tone", "warn").child(problem))
    };
    let size = move || found().map(|spec| small().child(size(&spec)));
    let title = summary().child("Choose players and tasks ").child(size);
    let choices = details()
        .id("tournament-form")
        .child(title)
        .child(
            div()
                .class("choices")
                .child(players(page, form, Group::Players))
                .child(axes(page, form))
                .child(players(page, form, Group::Checkpoints))
                .child(players(page, form, Group::Replays)),
        )
        .child(first);
    div()
        .class("tournament-form")
        .child(row)
        .child(choices)
        .child(div().attr("role", "status").child(problem))
}

/// Returns the size of a tournament in words.
fn size(spec: &TournamentSpec) -> String {
    let count = |count: usize, word: &str| match count {
        1 => "1 ".to_owned() + word,
        _ => format!("{} {word}s", grouped(count as u64)),
    };
    let (players, tasks) = (spec.players.len(), spec.tasks.len());
    let all = (players * tasks) as u64 * u64::from(spec.seeds);
    format!(
        "{}, {}: {} episodes",
        count(players, "player"),
        count(tasks, "task"),
        grouped(all)
    )
}

/// Returns a field for a number.
fn number(
    id: &'static str,
    name: &'static str,
    form: Signal<TournamentForm>,
    place: fn(&mut TournamentForm) -> &mut String,
) -> El {
    let field = input().attr("inputmode", "numeric").attr("size", "7");
    let text = move || place(&mut form.get()).clone();
    let change = move |typed| form.update(|form| *place(form) = typed);
    text_field(id, name, field, text, change)
}

fn task_menu(page: Page, form: Signal<TournamentForm>) -> El {
    let items = memo(move || {
        let all = page
            .info
            .with(|info| info.as_ref().map_or(0, |info| info.tasks.len()));
        vec![
            Item::new(Scope::This.as_str(), "this task", ""),
            Item::new(Scope::All.as_str(), &format!("all {all} tasks"), ""),
            Item::new(Scope::Chosen.as_str(), "chosen tasks", ""),
        ]
    });
    let chosen = memo(move || form.with(|form| form.scope.as_str().to_owned()));
    let change = move |word: String| {
        let scopes = [Scope::All, Scope::Chosen].into_iter();
        let scope = scopes.into_iter().find(|scope| scope.as_str() == word);
        with_task(page, |info, task| {
            form.update(|form| form.set_scope(info, task, scope.unwrap_or_default()));
        });
    };
    let menu = select("tournament-tasks", "Tasks", "", items, chosen, change);
    let few = move || {
        page.info
            .with(|info| info.as_ref().is_none_or(|info| info.tasks.len() < 2))
    };
    div().hidden(few).child(menu)
}

/// Calls `call` with the description of the world and the task of the main episode.
fn with_task(page: Page, call: impl FnOnce(&WorldInfo, &str)) {
    if let Some(info) = page.info.get_untracked() {
        let task = page
            .without_cursor
            .with_untracked(|state| state.task.clone());
        call(&info, &task);
    }
}

/// Returns a group of switches with its heading.
fn group(name: String, switches: View) -> El {
    div()
        .class("choice")
        .attr("role", "group")
        .label(name.clone())
        .child(span().class("label").child(name))
        .child(div().class("checks").child(switches))
}

/// Returns a switch with a label.
fn switch(
    data: (&'static str, String),
    text: String,
    help: String,
    is_on: impl Fn() -> bool + 'static,
    flip: impl Fn() + 'static,
) -> El {
    let switch = checkbox(is_on, move |_| flip()).attr(data.0, data.1);
    label()
        .class("check")
        .attr("data-help", help)
        .child(switch)
        .child(span().child(text))
}

/// Returns the switches of the players of a group.
fn players(page: Page, form: Signal<TournamentForm>, listed: Group) -> El {
    let all = memo(move || {
        let info = page.info.get();
        let mut all = page
            .replays
            .with(|replays| info.map_or_else(Vec::new, |info| player_options(&info, replays)));
        all.retain(|player| player.group == listed);
        all
    });
    let one = move |player: PlayerOption| {
        let (name, flipped) = (player.name.clone(), player.name.clone());
        let (text, help) = (player.label.clone(), player.help.clone());
        let is_on = move || form.with(|form| form.is_on(&player));
        let flip = move || form.update(|form| form.toggle_player(&flipped));
        switch(("data-contestant", name), text, help, is_on, flip)
    };
    let switches = move || all.get().into_iter().map(one).collect::<Vec<El>>();
    let group = group(listed.title().to_owned(), switches.into_view()).toggle_class("wide", true);
    let is_empty = move || all.with(Vec::is_empty);
    let has_slow = move || all.with(|all| all.iter().any(|player| player.is_slow));
    let slow = p().class("quiet").hidden(move || !has_slow());
    let note = "Slow players need seconds for each episode.";
    group.hidden(is_empty).child(slow.child(note))
}

fn axes(page: Page, form: Signal<TournamentForm>) -> View {
    let axes = memo(move || {
        page.info.with(|info| {
            info.as_ref()
                .map_or_else(Vec::new, |info| info.axes.clone())
        })
    });
    let draw = move |(index, axis): (usize, Axis)| {
        let one = |(item, choice): (usize, &sentinel_page_protocol::Choice)| {
            let is_on = move || {
                let task = page.without_cursor.with(|state| state.task.clone());
                page.info.with(|info| {
                    let picked = |info: &WorldInfo| {
                        form.with(|form| form.is_picked(info, &task, index, item))
                    };
                    info.as_ref().is_some_and(|info| picked(info))
                })
            };
            let flip = move || {
                with_task(page, |info, task| {
                    form.update(|form| form.pick(info, task, index, item));
                });
            };
            let data = ("data-cell", format!("{index}-{item}"));
            switch(data, choice.label.clone(), choice.help.clone(), is_on, flip)
        };
        let items = axis.choices.iter().enumerate();
        let switches: Vec<El> = items.map(one).collect();
        group(axis.label, switches.into_view())
    };
    let all = move || {
        axes.get()
            .into_iter()
            .enumerate()
            .map(draw)
            .collect::<Vec<El>>()
    };
    all.into_view()
}
