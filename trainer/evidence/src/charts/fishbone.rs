//! The fishbone diagram: an effect at the head of a horizontal spine, and its counted causes on
//! bones above and below it.

use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::chart::{Chart, FishboneItem};
use super::frame::SIZE;
use super::palette::{GRID, INK, MUTED, VERMILLION};

/// The height of the spine.
const SPINE_Y: f64 = 272.0;
/// The left end of the spine.
const TAIL: f64 = 30.0;
/// The left side of the box of the effect.
const HEAD: f64 = 632.0;
/// The horizontal distance between both ends of a bone.
const SLANT: f64 = 44.0;
/// The vertical distance between both ends of a bone.
const REACH: f64 = 118.0;
/// The length of the bar of the largest cause.
const WIDEST: f64 = 110.0;
/// The height of the bars.
const BAR: f64 = 8.0;
/// The number of characters of a label on one line.
const LABEL: usize = 20;

/// Draws the diagram. The bar at the tip of a bone is in proportion to the amount of
/// its cause.
pub(super) fn scene(chart: &Chart, effect: &FishboneItem, causes: &[FishboneItem]) -> Scene {
    let mut scene = Scene::new(SIZE.0, SIZE.1);
    scene.text_color = Some(INK.to_owned());
    scene.font_family = Some("DejaVu Sans, Verdana, Liberation Sans, Arial, sans-serif".to_owned());
    text(
        &mut scene,
        (SIZE.0 / 2.0, 32.0),
        &chart.title,
        17,
        INK,
        false,
    );
    if let Some(subtitle) = &chart.subtitle {
        for (i, line) in wrapped(subtitle, 100).iter().enumerate() {
            let y = 54.0 + 16.0 * i as f64;
            text(&mut scene, (SIZE.0 / 2.0, y), line, 12, MUTED, false);
        }
    }
    line(&mut scene, (TAIL, SPINE_Y), (HEAD, SPINE_Y), INK, 3.0);
    head(&mut scene, chart, effect);
    let largest = causes
        .iter()
        .fold(0.0, |most: f64, bone| most.max(bone.value.abs()));
    let pairs = causes.len().div_ceil(2).max(1);
    let distance = (HEAD - TAIL - SLANT - 30.0) / pairs as f64;
    for (i, cause) in causes.iter().enumerate() {
        // Beginning at the head, where the largest stands.
        let foot = HEAD - 26.0 - (i / 2) as f64 * distance;
        let side = if i % 2 == 0 { -1.0 } else { 1.0 };
        let tip = (foot - SLANT, SPINE_Y + side * REACH);
        line(&mut scene, (foot, SPINE_Y), tip, MUTED, 1.6);
        let share = if largest > 0.0 {
            cause.value.abs() / largest
        } else {
            0.0
        };
        bar(&mut scene, tip, side, share);
        label(&mut scene, effect, cause, tip, side);
    }
    scene
}

/// Draws the box of the effect.
fn head(scene: &mut Scene, chart: &Chart, effect: &FishboneItem) {
    scene.add(Primitive::Rect {
        x: HEAD,
        y: SPINE_Y - 62.0,
        width: SIZE.0 - HEAD - 14.0,
        height: 124.0,
        fill: "#F4F4F4".into(),
        stroke: Some(INK.into()),
        stroke_width: Some(1.2),
        opacity: None,
    });
    let center = f64::midpoint(HEAD, SIZE.0 - 14.0);
    let mut lines: Vec<(String, u32, bool)> = wrapped(&effect.label, 18)
        .into_iter()
        .map(|line| (line, 12, true))
        .collect();
    lines.push((amount(effect.value), 17, true));
    lines.extend(
        wrapped(&chart.y.label_with_unit(), 22)
            .into_iter()
            .map(|line| (line, 10, false)),
    );
    let height: f64 = lines
        .iter()
        .map(|(_, size, _)| f64::from(*size) + 4.0)
        .sum();
    let mut y = SPINE_Y - height / 2.0;
    for (line, size, bold) in lines {
        y += f64::from(size);
        let color = if size == 10 { MUTED } else { INK };
        text(scene, (center, y), &line, size, color, bold);
        y += 4.0;
    }
}

/// Draws the bar of a cause at the tip of its bone, in proportion to the largest.
fn bar(scene: &mut Scene, tip: (f64, f64), side: f64, share: f64) {
    let y = if side < 0.0 { tip.1 - BAR } else { tip.1 };
    for (width, color) in [(WIDEST, GRID), (WIDEST * share, VERMILLION)] {
        scene.add(Primitive::Rect {
            x: tip.0 - WIDEST / 2.0,
            y,
            width,
            height: BAR,
            fill: color.into(),
            stroke: None,
            stroke_width: None,
            opacity: None,
        });
    }
}

/// Writes the name, amount, share and count of a cause at the tip of its bone.
fn label(
    scene: &mut Scene,
    effect: &FishboneItem,
    cause: &FishboneItem,
    tip: (f64, f64),
    side: f64,
) {
    let names = wrapped(&cause.label, LABEL);
    let share = if effect.value.abs() > f64::EPSILON {
        format!(" ({:.0} %)", 100.0 * cause.value / effect.value)
    } else {
        String::new()
    };
    let events = if cause.count == 1 { "event" } else { "events" };
    let numbers = [
        format!("{}{share}", amount(cause.value)),
        format!("{} {events}", cause.count),
    ];
    let count = (names.len() + numbers.len()) as f64;
    let mut y = if side < 0.0 {
        14.0f64.mul_add(-count, tip.1 - BAR) + 7.0
    } else {
        tip.1 + BAR + 15.0
    };
    let rows = names.iter().map(|name| (name, 12, INK, true));
    for (row, size, color, bold) in rows.chain(numbers.iter().map(|n| (n, 11, MUTED, false))) {
        text(scene, (tip.0, y), row, size, color, bold);
        y += 14.0;
    }
}

/// Formats an amount of reward.
fn amount(value: f64) -> String {
    if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

/// Splits a text into lines of at most `width` characters, at spaces.
fn wrapped(content: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in content.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn text(scene: &mut Scene, at: (f64, f64), content: &str, size: u32, color: &str, bold: bool) {
    scene.add(Primitive::Text {
        x: at.0,
        y: at.1,
        content: content.to_owned(),
        size,
        anchor: TextAnchor::Middle,
        rotate: None,
        bold,
        color: Some(Color::from(color)),
    });
}

fn line(scene: &mut Scene, from: (f64, f64), to: (f64, f64), color: &str, width: f64) {
    scene.add(Primitive::Line {
        x1: from.0,
        y1: from.1,
        x2: to.0,
        y2: to.1,
        stroke: Color::from(color),
        stroke_width: width,
        stroke_dasharray: None,
    });
}
