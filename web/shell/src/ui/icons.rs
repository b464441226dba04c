//! Icons of buttons, drawn because not every system has a font with them.

use crate::dom::El;
use crate::dom::svg;

/// Starts playback: a triangle.
pub const PLAY: &str = "M4 2 13 8 4 14Z";
/// Pauses playback: two bars.
pub const PAUSE: &str = "M3 2H7V14H3ZM9 2H13V14H9Z";
/// Goes to the start: a bar and a triangle.
pub const FIRST: &str = "M2 2H4V14H2ZM14 2 5 8 14 14Z";
/// Goes one action back.
pub const BACK: &str = "M11 2 3 8 11 14Z";
/// Goes one action forward.
pub const FORWARD: &str = "M5 2 13 8 5 14Z";
/// Goes to the end: a triangle and a bar.
pub const LAST: &str = "M2 2 11 8 2 14ZM12 2H14V14H12Z";
/// Goes to the previous notable action.
pub const PREVIOUS_NOTABLE: &str = "M8 2 1 8 8 14ZM12 2A2 2 0 1 1 11.9 2ZM11 8H13V14H11Z";
/// Goes to the next notable action.
pub const NEXT_NOTABLE: &str = "M8 2 15 8 8 14ZM4 2A2 2 0 1 1 3.9 2ZM3 8H5V14H3Z";

/// Opens the settings: two sliders.
pub const SETTINGS: &str = "M1 4H8V2H11V4H15V6H11V8H8V6H1ZM1 10H3V8H6V10H15V12H6V14H3V12H1Z";

/// Opens and saves files: an arrow above a tray.
pub const FILES: &str = "M7 1H9V7H12L8 11.5 4 7H7ZM1.5 9.5H3.5V13H12.5V9.5H14.5V15H1.5Z";

/// Returns an icon with this SVG path, 16 units wide and high.
#[must_use]
pub fn icon(path: &'static str) -> El {
    svg::svg()
        .class("icon")
        .attr("viewBox", "0 0 16 16")
        .attr("width", "15")
        .attr("height", "15")
        .attr("aria-hidden", "true")
        .child(svg::path().attr("d", path))
}
