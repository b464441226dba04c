//! The header of the page: worlds, screens, and settings of the page itself.

use leptos::prelude::WithValue;

use super::copy_button::{LINK_REFUSED, copy_button};
use super::icons::{FILES, icon};
use crate::address::query_of;
use crate::browser;
use crate::deferred::deferred_view;
use crate::dom::El;
use crate::dom::html::{a, button, div, nav};
use crate::dom::svg::{circle, path, svg};
use crate::engine_pool::Program;
use crate::page::Page;
use crate::state::{PageState, Screen};

/// Returns the header of the page.
#[must_use]
pub fn header(page: Page) -> El {
    let worlds: Vec<El> = page.programs.with_value(|programs| {
        let link = |program| world_link(page, program);
        programs.iter().map(link).collect()
    });
    let screens = nav()
        .class("tabs screens")
        .label("Screens")
        .child(screen_link(page, Screen::Spot, move || {
            page.program_text(|program| &program.spot)
        }))
        .child(screen_link(page, Screen::Episode, || "Episode".to_owned()))
        .child(screen_link(page, Screen::Training, || {
            "Training".to_owned()
        }))
        .child(screen_link(page, Screen::Results, || "Results".to_owned()));
    crate::dom::html::header()
        .class("top")
        .child(brand())
        .child(nav().class("tabs").label("Worlds").child(worlds))
        .child(screens)
        .child(tools(page))
        .child(deferred_view(page, move |deferred| {
            (deferred.train_indicator)(page)
        }))
}

fn brand() -> El {
    let sign = svg()
        .attr("viewBox", "-13 -13 26 26")
        .attr("width", "26")
        .attr("height", "26")
        .attr("aria-hidden", "true")
        .child(path().class("lid").attr("d", "M-12 0Q0-13 12 0Q0 13-12 0Z"))
        .child(circle().attr("r", "4.6"));
    let brand = a().class("brand").attr("href", "?");
    brand.label("Sentinel, home").child(sign).child("Sentinel")
}

/// Returns the buttons of the page itself: share, theme and help.
fn tools(page: Page) -> El {
    let theme_name = move || format!("Theme: {}", page.theme().as_str());
    let theme = button()
        .id("theme")
        .class("icon-button")
        .label(theme_name)
        .attr("title", theme_name)
        .on_press(move || page.choose_next_theme())
        .child(icon("M8 1.5A6.5 6.5 0 1 0 8 14.5V1.5Z"));
    let help = button()
        .id("help-open")
        .class("icon-button")
        .label("Help")
        .attr("title", "Help")
        .on_press(move || page.help.set(true))
        .child("?");
    let files = button()
        .id("files-dialog")
        .class("icon-button")
        .label("Files: open and take away")
        .attr("title", "Files: open and take away")
        .on_press(move || page.open_dialog())
        .child(icon(FILES));
    let tools = div().class("tools").child(share(page));
    tools.child(files).child(theme).child(help)
}

/// Returns the button that copies the address; it reports when the link is on the clipboard.
fn share(page: Page) -> El {
    copy_button(page, "Share", "Link copied", LINK_REFUSED, browser::address)
        .id("share")
        .attr("data-help", "Copies a link to this exact view.")
}

/// Returns `true` if a click opens the link in this tab, not in another one.
pub(super) fn is_plain(event: &web_sys::MouseEvent) -> bool {
    !(event.ctrl_key() || event.meta_key() || event.shift_key() || event.button() != 0)
}

fn world_link(page: Page, program: &Program) -> El {
    let (there, world, target) = (
        program.world.clone(),
        program.world.clone(),
        program.world.clone(),
    );
    let href = move || {
        page.without_cursor.track();
        format!("?{}", query_of(page, &page.state_of_world(&there)))
    };
    let here = move || page.without_cursor.with(|state| state.world == world);
    let go = move |event: web_sys::MouseEvent| {
        if is_plain(&event) {
            event.prevent_default();
            page.open_world(&target);
        }
    };
    a().attr("href", href)
        .attr("data-world", program.world.clone())
        .attr("aria-current", move || here().then_some("true"))
        .on_mouse("click", go)
        .child(program.title.clone())
}

/// Returns a link to another screen. The question opens on an episode of its own.
fn screen_link(page: Page, screen: Screen, label: impl Fn() -> String + 'static) -> El {
    let there = move |state: &PageState| {
        let from = match screen {
            Screen::Spot => state.in_world(&state.world),
            _ => state.clone(),
        };
        PageState { screen, ..from }
    };
    let href = move || {
        let there = page.without_cursor.with(there);
        format!("?{}", query_of(page, &there))
    };
    let here = move || page.without_cursor.with(|state| state.screen == screen);
    let go = move |event: web_sys::MouseEvent| {
        if is_plain(&event) {
            event.prevent_default();
            page.playing.set(false);
            page.state.update(|state| *state = there(state));
        }
    };
    a().attr("href", href)
        .attr("data-screen", screen.as_str())
        .attr("aria-current", move || here().then_some("page"))
        .on_mouse("click", go)
        .child(label)
}
