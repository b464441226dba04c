//! What a world draws of itself.

use leptos::prelude::AnyView;

use super::{Parts, Scene};
use crate::page::Run;
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

    /// Draws the chart with this number.
    fn chart(number: usize, run: &Run<Self>, truth: bool) -> Drawing;
    /// What a chart says at the cursor, for those who cannot see it.
    fn spoken(number: usize, frame: &Frame<Self>) -> String;
    /// A step's reward taken apart.
    fn parts(frame: &Frame<Self>) -> Option<Parts>;
    /// What stands in the wide column below the charts, and in the narrow one above the actions.
    fn columns(scene: Scene<Self>) -> (AnyView, AnyView);
}
