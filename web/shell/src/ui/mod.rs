//! The components of the page.

mod action_button;
mod action_list;
mod analysis;
mod card;
mod chart;
mod composer;
mod controls;
mod drop_zone;
mod embed;
mod episode;
mod face;
mod graph;
mod header;
mod headline;
mod help;
mod icons;
mod keyboard;
mod notices;
mod panel;
mod records;
mod reward;
mod select;
mod timeline;
mod tooltip;
mod tournament;
mod transcript;
pub mod truth;
mod widgets;

use crate::address;
use crate::browser;
use crate::dom::html::{a, div, main, p};
use crate::dom::{IntoView, View};
use crate::page::Page;
use crate::reactive::{effect, memo};
use crate::state::Screen;

/// Creates the page and starts everything that drives it.
#[must_use]
pub fn app() -> View {
    let page = Page::new();
    page.connect();
    address::sync(page);
    keyboard::listen(page);
    let shown = memo(move || page.screen());
    let world = memo(move || page.without_cursor.with(|state| state.world.clone()));
    let theme = memo(move || page.without_cursor.with(|state| state.theme));
    effect(move || browser::set_root_attribute("data-theme", theme.get().as_str()));
    effect(move || {
        page.playing.set(false);
        let place = page.info.with(|info| {
            info.as_ref()
                .map_or_else(String::new, |i| format!("{} · ", i.title))
        });
        let screen = match shown.get() {
            Screen::Episode => "",
            Screen::Training => "Training · ",
            Screen::Results => "Results · ",
        };
        browser::set_title(&format!("{screen}{place}Sentinel"));
    });
    let embed = page.state.with_untracked(|state| state.embed);
    if embed {
        embed::report_height();
    }
    let double = memo(move || page.without_cursor.with(|state| !state.versus.is_empty()));
    let ready = move || page.main.frame.with(Option::is_some);
    let warning = move || {
        let text = page.info.with(|info| {
            info.as_ref()
                .map_or_else(String::new, |info| info.warning.clone())
        });
        let warning = p().class("world-warning").attr("role", "note");
        (!text.is_empty()).then(|| warning.child(text))
    };
    let screen = move || {
        if shown.get() != Screen::Episode {
            return records::records(page, shown.get());
        }
        let versus = move || {
            double
                .get()
                .then(|| episode::episode(page, page.versus, false))
        };
        let panes = div()
            .class("panes")
            .toggle_class("double", move || double.get())
            .child(episode::episode(page, page.main, true))
            .child(versus);
        let tournament = (!embed).then(|| tournament::tournament(page));
        View::Fragment(vec![panes.into_view(), tournament.into_view()])
    };
    let episode = move || shown.get() == Screen::Episode;
    let head = (!embed).then(|| {
        let skip = a().class("skip").attr("href", "#main");
        let skip = skip.child("Skip to the content");
        View::Fragment(vec![skip.into_view(), header::header(page).into_view()])
    });
    let content = main()
        .id("main")
        .attr("tabindex", "-1")
        .child(move || episode().then(|| controls::controls(page)))
        .child(notices::notices(page))
        .child(warning)
        .child(screen)
        .child(embed.then(|| embed::full_page_link(page)))
        .child(tooltip::tooltip());
    div()
        .class("page")
        .toggle_class("embed", embed)
        .toggle_class("training", move || !episode())
        .attr("data-of", move || world.get())
        .attr("data-ready", move || ready().then_some("true"))
        .child(head)
        .child(content)
        .child(move || episode().then(|| timeline::timeline(page)))
        .child(help::help_dialog(page))
        .child(drop_zone::drop_zone(page))
        .into_view()
}
