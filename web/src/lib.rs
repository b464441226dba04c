//! The page: runs, replays and compares episodes in the browser, without a server.
//!
//! A world is a type: [`trust::Trust`], [`cluster::Cluster`], [`polyguard::Polyguard`]. Everything that they share is
//! written against [`world::World`] and [`ui::Stage`], and each has a module of its own (`src/main.rs`, `src/bin/`),
//! so that a visitor loads one world.
//!
//! `state` says what is shown, `play` and `training` compute it (pure, no browser), `ui` draws it, `browser`
//! speaks to the one that it runs in.
#![allow(
    unreachable_pub,
    reason = "component macros make public items of their own"
)]

pub mod app;
pub mod browser;
pub mod cluster;
pub mod fetched;
pub mod page;
pub mod play;
pub mod polyguard;
pub mod shelf;
pub mod state;
pub mod text;
pub mod training;
pub mod trust;
pub mod ui;
pub mod weights;
pub mod world;

/// Puts the page into the document in place of what stands there while it loads.
pub fn start<W: ui::Stage>() {
    browser::clear_placeholder();
    leptos::mount::mount_to_body(|| {
        let page = page::Page::<W>::new();
        leptos::prelude::view! { <app::App page/> }
    });
}
