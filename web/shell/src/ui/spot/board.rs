//! The board of the world's question: suspects, each with a lane of signs.

use sentinel_page_protocol::{BoardSign, Face, SpotInfo, Tone};

use crate::dom::html::{b, button, div, i, li, p, small, span, ul};
use crate::dom::svg::{circle, path, svg};
use crate::dom::{El, IntoView, View, each};
use crate::number_format::{css, fixed};
use crate::page::Page;
use crate::reactive::memo;
use crate::ui::face::{face, unmasked_face};
use crate::ui::widgets::tone_name;

/// Number of suspects that are drawn before the first frame arrives.
const EXPECTED: usize = 5;
/// Difference in height below which two signs are drawn beside each other.
const NEAR: f32 = 0.055;

/// Returns the board: one lane for each suspect, with the signs of the evidence so far.
#[must_use]
pub fn board(page: Page) -> El {
    let words = memo(move || page.spot_words());
    let level = memo(move || {
        let level = page.main.frame.with(|frame| frame.as_ref()?.board_level);
        level.filter(|_| page.answer().is_none())
    });
    let of_level =
        move |text: fn(f32) -> String| move || level.get().map_or_else(String::new, text);
    let ahead = div()
        .class("ahead")
        .hidden(move || level.get().is_none() || words.with(|words| words.ahead.is_empty()))
        .style(
            "--ahead",
            of_level(|level| css(f64::from(1.0 - level) * 100.0) + "%"),
        )
        .child(move || words.with(|words| words.ahead.clone()));
    let now = div()
        .class("level")
        .hidden(move || level.get().is_none())
        .style(
            "--height",
            of_level(|level| css(f64::from(level) * 100.0) + "%"),
        )
        .child(b().child(of_level(|level| {
            format!("now {}", fixed(f64::from(level), 2))
        })));
    let word = move |of: fn(&SpotInfo) -> &String| move || words.with(|words| of(words).clone());
    let scale = div()
        .class("scale")
        .toggle_class("at-high", move || {
            level.get().is_some_and(|level| level > 0.8)
        })
        .toggle_class("at-low", move || {
            level.get().is_some_and(|level| level < 0.15)
        })
        .attr("aria-hidden", "true")
        .child(ahead)
        .child(now)
        .child(small().class("high").child(word(|words| &words.ends[1])))
        .child(small().class("low").child(word(|words| &words.ends[0])));
    let count = memo(move || {
        let count = page
            .main
            .frame
            .with(|frame| frame.as_ref().map(|f| f.suspects.len()));
        count.unwrap_or(EXPECTED)
    });
    let none = move || {
        let text = "This case does not pose the question: it has no suspects.";
        (count.get() == 0).then(|| p().class("quiet").child(text))
    };
    let lanes = each(
        move || (0..count.get()).collect(),
        usize::to_string,
        move |index| lane(page, index),
    );
    let lineup = ul().class("lineup").child(lanes);
    let is_long = memo(move || !page.program_text(|program| &program.board).is_empty());
    div()
        .class("card board")
        .toggle_class("long", move || is_long.get())
        .toggle_class("empty", move || count.get() == 0)
        .child(scale)
        .child(lineup)
        .child(none)
        .child(move || legend(page))
}

/// Returns the meaning of the signs on the board.
fn legend(page: Page) -> El {
    let words = page.spot_words();
    let tones = [Tone::Good, Tone::Bad, Tone::Neutral];
    let named = words.signs.into_iter().zip(tones);
    let named = named.filter(|(text, _)| !text.is_empty());
    let mut items: Vec<El> = named
        .map(|(text, tone)| li().child(sign(tone)).child(text))
        .collect();
    if !words.checked.is_empty() {
        let ring = i().class("mark checked").child(sign(Tone::Quiet));
        items.push(li().child(ring).child(words.checked));
    }
    ul().class("legend").child(items)
}

/// Returns the drawing of a sign.
fn sign(tone: Tone) -> El {
    let drawing = svg()
        .attr("viewBox", "-9 -9 18 18")
        .attr("aria-hidden", "true");
    let drawing = drawing.attr("data-tone", tone_name(tone));
    let line = |d| path().class("stroke").attr("d", d);
    match tone {
        Tone::Good => drawing
            .child(circle().class("fill").attr("r", "8.4"))
            .child(line("M-4 .3L-1.2 3.3 4.2-3.2")),
        Tone::Bad => drawing
            .child(path().class("fill").attr("d", "M-8-8H8V8H-8Z"))
            .child(line("M-3.6-3.6 3.6 3.6M3.6-3.6-3.6 3.6")),
        Tone::Quiet => drawing,
        _ => drawing.child(circle().class("fill").attr("r", "6")),
    }
}

/// Returns the signs about a suspect up to the cursor, with their steps.
fn signs_about(page: Page, suspect: usize) -> Vec<(usize, BoardSign)> {
    let at = page.main.at.get();
    page.main.steps.with(|steps| {
        let shown = steps.iter().take(at).enumerate();
        let signs = shown.filter_map(|(index, step)| Some((index + 1, step.board_sign?)));
        signs
            .filter(|(_, sign)| sign.suspects & 1 << suspect != 0)
            .collect()
    })
}

/// Returns a suspect as a button, with its lane.
fn lane(page: Page, index: usize) -> El {
    let suspect = memo(move || {
        page.main
            .frame
            .with(|frame| frame.as_ref()?.suspects.get(index).cloned())
            .unwrap_or_default()
    });
    let is_named = memo(move || {
        page.named()
            .is_some_and(|named| usize::from(named.suspect) == index)
    });
    let truth = memo(move || {
        let answer = page.answer()?;
        let is_answer = usize::from(answer.suspect) == index;
        Some((
            answer.truths.get(index).cloned().unwrap_or_default(),
            is_answer,
        ))
    });
    let is_answer = memo(move || truth.with(|truth| truth.as_ref().is_some_and(|(_, is)| *is)));
    let signs = memo(move || signs_about(page, index));
    let expression = memo(move || {
        let at = page.main.at.get();
        let last = signs.with(|signs| signs.last().copied());
        match last {
            Some((step, sign)) if step == at => match sign.tone {
                Tone::Good => Face::Right,
                Tone::Bad => Face::Wrong,
                _ => Face::Idle,
            },
            _ => Face::Idle,
        }
    });
    let slot = u8::try_from(index).ok();
    let has_adversary = move || page.spot_words().has_adversary;
    let portrait = span()
        .class("portrait")
        .child(move || face(slot, expression.get()))
        .child(move || (is_answer.get() && has_adversary()).then(unmasked_face));
    let record = move || match truth.get() {
        Some((truth, _)) => truth,
        None => suspect.with(|suspect| suspect.record.clone()),
    };
    let tag = move || {
        let word = page.spot_words().answer;
        let tag = |class, text: String| span().class(class).child(text);
        View::Fragment(vec![
            is_answer.get().then(|| tag("tag answer", word)).into_view(),
            (is_named.get() && !is_answer.get())
                .then(|| tag("tag", "your suspect".to_owned()))
                .into_view(),
        ])
    };
    let name = move || {
        let (title, record) =
            suspect.with(|suspect| (suspect.title.clone(), suspect.record.clone()));
        match truth.get() {
            Some((truth, _)) => format!("{title}: {truth}"),
            None => format!("{title}: {record}. Name as the answer"),
        }
    };
    let press = button()
        .class(format!("suspect s{index}"))
        .attr("data-suspect", index.to_string())
        .attr("aria-pressed", move || {
            if is_named.get() { "true" } else { "false" }
        })
        .attr("aria-disabled", move || {
            page.knows_answer().then_some("true")
        })
        .toggle_class("is-answer", move || is_answer.get())
        .label(name)
        .on_press(move || page.name_suspect(index))
        .child(tag)
        .child(portrait)
        .child(b().child(move || suspect.with(|suspect| suspect.title.clone())))
        .child(small().child(record))
        .child(
            span()
                .class("lane")
                .child(move || marks(page, &signs.get())),
        );
    li().child(press)
}

/// Returns the signs of a lane. Signs of nearly the same height are drawn beside each other.
fn marks(page: Page, signs: &[(usize, BoardSign)]) -> Vec<El> {
    let at = page.main.at.get();
    let ended = page.answer().is_some();
    let mark = |(index, (step, shown)): (usize, &(usize, BoardSign))| {
        let near = signs[..index]
            .iter()
            .filter(|(_, other)| (other.height - shown.height).abs() < NEAR);
        let place = i32::try_from(near.count()).unwrap_or_default();
        // 0, 1, -1, 2, -2, and so on.
        let aside = (place % 5 + 1) / 2 * if place % 2 == 1 { 1 } else { -1 };
        i().class("mark")
            .toggle_class("checked", shown.is_checked)
            .toggle_class("new", *step == at && !ended)
            .style("--height", css(f64::from(shown.height) * 100.0) + "%")
            .style("--aside", aside.to_string())
            .child(sign(shown.tone))
    };
    signs.iter().enumerate().map(mark).collect()
}
