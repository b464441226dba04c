//! What a world draws of itself.

use leptos::prelude::{AnyView, IntoAny, IntoView, view};

use super::controls::TaskButtons;
use super::{Parts, Scene};
use crate::page::{Page, Run};
use crate::play::{Drawing, Frame, Shape};
use crate::world::World;

/// The parts of the page that are a world's own.
pub trait Stage: World {
    /// What the world is about, in two sentences.
    const TAGLINE: &'static str;
    /// How an episode works, in a paragraph.
    const HELP: &'static str;
    /// The charts of a pane.
    const CHARTS: &'static [Shape];

    /// What everybody must know who looks at the world; it stands above everything.
    const WARNING: &'static str = "";
    /// Styles of the world's own, so that the other worlds need not load them.
    const STYLE: &'static str = "";
    /// Keys of the world's own, and what they do.
    const KEYS: &'static [(&'static str, &'static str)] = &[];

    /// Draws the chart with this number.
    fn chart(number: usize, run: &Run<Self>, truth: bool) -> Drawing;
    /// What a chart says at the cursor, for those who cannot see it.
    fn spoken(number: usize, frame: &Frame<Self>) -> String;
    /// A step's reward taken apart; `truth` is whether hidden state may be told.
    fn parts(frame: &Frame<Self>, truth: bool) -> Option<Parts>;
    /// The choice of a task.
    fn task_choice(page: Page<Self>) -> AnyView {
        view! { <TaskButtons page/> }.into_view().into_any()
    }
    /// Does what a key of the world's own stands for; whether it stands for anything.
    fn press(_page: Page<Self>, _key: &str) -> bool {
        false
    }
    /// What stands in the wide column below the charts, and in the narrow one above the actions.
    fn columns(scene: Scene<Self>) -> (AnyView, AnyView);
}
