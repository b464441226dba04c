//! The page: runs, replays and compares episodes in the browser, without a server.
//!
//! `state` says what is shown, `play` and `training` compute it (pure, no browser), `ui` draws it, `browser`
//! speaks to the one that it runs in.
#![allow(
    unreachable_pub,
    reason = "component macros make public items of their own"
)]

pub mod app;
pub mod browser;
pub mod fetched;
pub mod page;
pub mod play;
pub mod shelf;
pub mod state;
pub mod training;
pub mod ui;
pub mod weights;

/// Puts the page into the document in place of what stands there while it loads.
pub fn start() {
    browser::clear_placeholder();
    leptos::mount::mount_to_body(app::App);
}
