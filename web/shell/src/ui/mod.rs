//! The components of the page.

mod action_button;
mod action_history;
pub(crate) mod analysis;
mod attempts;
mod card;
mod chart;
mod composer;
pub(crate) mod controls;
mod copy_button;
pub(crate) mod difference;
mod drop_zone;
mod embed;
pub(crate) mod episode;
mod face;
pub(crate) mod files_dialog;
mod graph;
mod header;
mod headline;
pub(crate) mod help;
mod icons;
mod kept_run;
mod keyboard;
mod modal;
mod notices;
pub(crate) mod opened_files;
pub(crate) mod own_play;
mod own_results;
mod panel;
mod purpose;
pub(crate) mod records;
mod result_table;
mod reward;
mod select;
pub(crate) mod spot;
mod timeline;
mod tooltip;
pub(crate) mod tournament;
pub(crate) mod train;
pub(crate) mod transcript;
pub mod truth;
mod value_bar;
mod widgets;
pub(crate) mod yardstick;

use crate::address;
use crate::browser;
use crate::deferred::{self, deferred_view};
use crate::dom::html::{a, div, main, p};
use crate::dom::{El, IntoView, View};
use crate::page::Page;
use crate::reactive::{Memo, effect, effect_with_previous, memo};
use crate::state::Screen;

/// Creates the page and starts everything that drives it.
#[must_use]
pub fn app() -> View {
    let page = Page::new();
    page.connect();
    address::sync_with_page(page);
    keyboard::listen(page);
    deferred::load_when_idle(page);
    let shown = memo(move || page.screen());
    let world = memo(move || page.without_cursor.with(|state| state.world.clone()));
    let theme = memo(move || page.theme());
    effect(move || browser::set_root_attribute("data-theme", theme.get().as_str()));
    effect_with_previous(move |before: Option<Screen>| {
        let screen = shown.get();
        if before.is_some_and(|before| before != screen) {
            page.playing.set(false);
        }
        let place = page.info.with(|info| {
            info.as_ref()
                .map_or_else(String::new, |i| format!("{} · ", i.title))
        });
        let name = match screen {
            Screen::Episode | Screen::Spot => "",
            Screen::Training => "Training · ",
            Screen::Results => "Results · ",
        };
        browser::set_title(&format!("{name}{place}Sentinel"));
        screen
    });
    let embed = page.state.with_untracked(|state| state.embed);
    let double = memo(move || page.without_cursor.with(|state| !state.versus.is_empty()));
    let ready = move || {
        let is_drawn = shown.get() != Screen::Episode || page.episode_ui.with(Option::is_some);
        is_drawn && page.main.frame.with(Option::is_some)
    };
    if embed {
        embed::report_height(ready);
    }
    let screen = move || {
        let screen = shown.get();
        match screen {
            Screen::Spot => return spot::spot(page).into_view(),
            Screen::Training | Screen::Results => {
                return deferred_view(page, move |deferred| (deferred.records)(page, screen));
            }
            Screen::Episode => {}
        }
        episode_screen(page, double).into_view()
    };
    let episode = move || shown.get() == Screen::Episode;
    let is_of_records = memo(move || shown.get().is_of_records());
    let head = (!embed).then(|| {
        let skip = a().class("skip").attr("href", "#main");
        let skip = skip.child("Skip to the content");
        View::Fragment(vec![
            skip.into_view(),
            header::header(page).into_view(),
            purpose::purpose(page).into_view(),
        ])
    });
    let content = main()
        .id("main")
        .attr("tabindex", "-1")
        // At the top, since the frame may show only the beginning of the page.
        .child(embed.then(|| embed::full_page_link(page)))
        .child((!embed).then(|| chooser(page, episode)))
        .child(notices::notices(page))
        .child(deferred_view(page, move |deferred| {
            (deferred.opened_files)(page)
        }))
        .child(move || world_warning(page))
        .child(screen)
        .child(tooltip::tooltip());
    div()
        .class("page")
        .toggle_class("embed", embed)
        .toggle_class("training", move || is_of_records.get())
        .attr("data-of", move || world.get())
        .attr("data-ready", move || ready().then_some("true"))
        .child(head)
        .child(content)
        .child(move || (!is_of_records.get()).then(|| timeline::timeline(page)))
        .child(help::help_dialog(page))
        .child((!embed).then(|| files_dialog::files_dialog(page)))
        .child(drop_zone::drop_zone(page))
        .into_view()
}

/// Returns the row that names the episode, with the room that it needs once it is loaded.
fn chooser(page: Page, episode: impl Fn() -> bool + Copy + 'static) -> El {
    let controls = move || {
        let ui = page.episode_ui.get().filter(|_| episode());
        ui.map(|ui| (ui.controls)(page))
    };
    div()
        .class("chooser-place")
        .hidden(move || !episode())
        .child(controls)
}

/// Returns the notice that is always visible above a world, if it has one.
fn world_warning(page: Page) -> Option<El> {
    let text = page.program_text(|program| &program.warning);
    let warning = p().class("world-warning").attr("role", "note");
    (!text.is_empty()).then(|| warning.child(text))
}

/// Returns the Episode screen, with a second episode if `double`; boxes in its place until its module is
/// there.
fn episode_screen(page: Page, double: Memo<bool>) -> View {
    let embed = page.state.with_untracked(|state| state.embed);
    let Some(ui) = page.episode_ui.get() else {
        let boxes = div().class("skeleton").attr("aria-hidden", "true");
        return boxes.child(div()).child(div()).into_view();
    };
    let versus = move || double.get().then(|| (ui.episode)(page, page.versus, false));
    let panes = div()
        .class("panes")
        .toggle_class("double", move || double.get())
        .child((ui.episode)(page, page.main, true))
        .child(versus);
    let tournament =
        (!embed).then(|| deferred_view(page, move |deferred| (deferred.tournament)(page)));
    let differs = move || {
        let row = move || deferred_view(page, move |deferred| (deferred.difference)(page));
        double
            .get()
            .then(|| div().class("differs-place").child(row()))
    };
    View::Fragment(vec![
        differs.into_view(),
        panes.into_view(),
        tournament.into_view(),
    ])
}
