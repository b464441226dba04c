//! Faces of characters: a shape for each slot, with an expression.

use sentinel_page_protocol::Face;

use crate::dom::El;
use crate::dom::svg::{path, svg};

/// Returns a face. It is hidden from screen readers, since the name beside it says who it is and
/// the card's notes say what happened.
#[must_use]
pub fn face(slot: Option<u8>, expression: Face) -> El {
    drawing("face")
        .attr("data-face", word(expression))
        .child(line("shape", shape(slot)))
        .child(line("eyes", eyes(expression)))
        .child(line("mouth", mouth(expression)))
        .child(line("badge-ring", badge_ring(expression)))
        .child(line("badge", badge(expression)))
}

fn drawing(class: &'static str) -> El {
    let drawing = svg().class(class).attr("viewBox", "-42 -42 84 84");
    drawing.attr("aria-hidden", "true")
}

fn line(class: &'static str, outline: &'static str) -> El {
    path().class(class).attr("d", outline)
}

const fn word(expression: Face) -> &'static str {
    match expression {
        Face::Idle => "idle",
        Face::Called => "called",
        Face::Right => "right",
        Face::Wrong => "wrong",
        Face::Doubted => "doubted",
    }
}

/// Returns the SVG path of a slot's shape.
#[must_use]
pub const fn shape(slot: Option<u8>) -> &'static str {
    match slot {
        Some(0) => "M0-30A30 30 0 1 1 0 30A30 30 0 1 1 0-30Z",
        Some(1) => "M-20-28H20Q28-28 28-20V20Q28 28 20 28H-20Q-28 28-28 20V-20Q-28-28-20-28Z",
        Some(2) => "M0-35 32 24Q33 28 28 28H-28Q-33 28-32 24Z",
        Some(3) => "M-31 0-16-27H16L31 0 16 27H-16Z",
        Some(4) => "M0-33 33 0 0 33-33 0Z",
        Some(_) | None => "M-30 0A30 30 0 0 1 30 0V28H-30Z",
    }
}

const fn eyes(expression: Face) -> &'static str {
    match expression {
        Face::Right => "M-13-3q4-6 8 0M5-3q4-6 8 0",
        Face::Wrong => "M-12-6l6 6m0-6l-6 6M6-6l6 6m0-6l-6 6",
        Face::Doubted => "M-13-7l7 4M13-7l-7 4M-9-1h.1M9-1h.1",
        Face::Called => "M-9-4v3M9-4v3",
        Face::Idle => "M-9-3h.1M9-3h.1",
    }
}

const fn mouth(expression: Face) -> &'static str {
    match expression {
        Face::Right => "M-9 8q9 9 18 0",
        Face::Wrong | Face::Doubted => "M-8 14q8-7 16 0",
        Face::Called => "M0 9a3.5 3.5 0 1 1-.1 0",
        Face::Idle => "M-7 11h14",
    }
}

const fn badge_ring(expression: Face) -> &'static str {
    match expression {
        Face::Right | Face::Wrong | Face::Doubted => "M26-37a11 11 0 1 1-.1 0",
        Face::Idle | Face::Called => "",
    }
}

const fn badge(expression: Face) -> &'static str {
    match expression {
        Face::Right => "M21-26l4 4 7-8",
        Face::Wrong => "M22-30l8 8m0-8l-8 8",
        Face::Doubted => "M26-31v6M26-21v.1",
        Face::Idle | Face::Called => "",
    }
}

/// Returns the face of an adversary without its mask, with horns and glowing eyes. It belongs to
/// the Truth layer.
#[must_use]
pub fn unmasked_face() -> El {
    drawing("face unmasked")
        .child(line(
            "horn",
            "M-26-20Q-34-30-30-40Q-26-30-14-28ZM26-20Q34-30 30-40Q26-30 14-28Z",
        ))
        .child(line("glow", "M-14-6l9 5-7 2ZM14-6l-9 5 7 2Z"))
}
