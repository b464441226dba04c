//! The components of the page.

mod action_button;
mod actions;
mod card;
mod chart;
mod composer;
mod controls;
mod embed;
mod face;
mod files;
mod graph;
mod header;
mod headline;
mod help;
mod icons;
mod keys;
mod notices;
mod pane;
mod panel;
mod parts;
mod reward;
mod select;
mod timeline;
mod tip;
mod tournament;
mod training;
mod transcript;
pub mod truth;

use leptos::prelude::*;

use crate::address;
use crate::browser;
use crate::page::Page;
use crate::reactive::{effect, memo};
use crate::state::Screen;

/// The page.
#[component]
pub fn App() -> impl IntoView {
    let page = Page::new();
    page.connect();
    address::follow(page);
    keys::listen(page);
    let training = memo(move |_| page.screen() == Screen::Training);
    let world = memo(move |_| page.still.with(|view| view.world.clone()));
    let theme = memo(move |_| page.still.with(|view| view.theme));
    effect(move |_| browser::set_root_attribute("data-theme", theme.get().word()));
    effect(move |_| {
        page.playing.set(false);
        let place = page.info.with(|info| {
            info.as_ref()
                .map_or_else(String::new, |i| format!("{} · ", i.title))
        });
        let screen = if training.get() { "Training · " } else { "" };
        browser::set_title(&format!("{screen}{place}Sentinel"));
    });
    let embed = page.view.with_untracked(|view| view.embed);
    if embed {
        embed::report_height();
    }
    let double = memo(move |_| page.still.with(|view| !view.versus.is_empty()));
    let ready = move || page.main.moment.with(Option::is_some);
    let warning = move || {
        let text = page.info.with(|info| {
            info.as_ref()
                .map_or_else(String::new, |info| info.warning.clone())
        });
        (!text.is_empty())
            .then(|| view! { <p class="world-warning" role="note">{text}</p> }.into_any())
    };
    let screen = move || {
        if training.get() {
            return view! { <training::Training page/> }.into_any();
        }
        view! {
            <div class="panes" class:double=move || double.get()>
                <pane::Pane page lane=page.main main=true/>
                {move || double.get().then(|| view! { <pane::Pane page lane=page.versus main=false/> })}
            </div>
            {(!embed).then(|| view! { <tournament::TournamentView page/> })}
        }
        .into_any()
    };
    view! {
        <div class="page" class:embed=embed class:training=move || training.get() data-of=move || world.get()
            data-ready=move || ready().then_some("true")>
            {(!embed).then(|| view! { <a class="skip" href="#main">"Skip to the content"</a><header::Header page/> })}
            <main id="main" tabindex="-1">
                {move || (!training.get()).then(|| view! { <controls::Controls page/> })}
                <notices::Notices page/>
                {move || warning()}
                {move || screen()}
                {embed.then(|| view! { <embed::FullPageLink page/> })}
                <tip::Tip/>
            </main>
            {move || (!training.get()).then(|| view! { <timeline::Timeline page/> })}
            <help::HelpDialog page/>
            <files::DropZone page/>
        </div>
    }
}
