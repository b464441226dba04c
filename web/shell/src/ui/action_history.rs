//! The list of all actions; a press on one moves the cursor to it.

use leptos::prelude::{GetValue, request_animation_frame};
use sentinel_page_protocol::StepLine;

use super::widgets::tone_name;
use crate::browser;
use crate::dom::html::{button, details, h2, li, ol, section, small, span, summary};
use crate::dom::{El, NodeRef};
use crate::episode_view::{EpisodeView, differing};
use crate::number_format::fixed;
use crate::page::Page;
use crate::reactive::{Memo, effect_with_previous, memo};
use crate::state::to_u32;

/// Returns the list of actions, in which those that differ from the `other` episode are marked. When
/// the cursor moves, only the mark of the current row changes.
pub fn action_history(page: Page, episode: EpisodeView, other: EpisodeView) -> El {
    let list = NodeRef::new_local(None);
    let lines = memo(move || episode.step_lines());
    let differs = memo(move || {
        let (steps, complete) = (other.steps.get(), other.status.with(|s| s.complete));
        episode.steps.with(|own| differing(own, &steps, complete))
    });
    let mistakes = memo(move || episode.mistakes());
    let rows = move || {
        let (lines, differs) = (lines.get(), differs.get());
        let rows = lines.iter().enumerate();
        rows.map(|(index, line)| {
            let differs = differs.get(index).copied().unwrap_or_default();
            let loss = memo(move || mistakes.with(|all| all.get(index).copied().flatten()));
            row(page, index + 1, line, differs, loss)
        })
        .collect::<Vec<El>>()
    };
    effect_with_previous(move |before: Option<u32>| {
        let cursor = to_u32(episode.at.get());
        lines.track();
        if let Some(list) = list.get_value() {
            // Measured after the next paint: measuring earlier would lay out the page twice.
            request_animation_frame(move || {
                if let Some(before) = before {
                    set_current(&list, before, false);
                }
                set_current(&list, cursor, true);
                keep_in_sight(&list, cursor);
            });
        }
        cursor
    });
    let title = summary().child(h2().child("Actions"));
    let rows = ol().class("log").node(list).child(rows);
    let fold = details().attr("open", !browser::is_narrow());
    section()
        .class("card actions")
        .label("Actions")
        .child(fold.child(title).child(rows))
}

/// Returns the row of an action; `loss` is the score that it lost if it was a mistake.
fn row(page: Page, action: usize, line: &StepLine, differs: bool, loss: Memo<Option<f64>>) -> El {
    let StepLine {
        label,
        sign,
        result,
        ..
    } = line.clone();
    let mut name = format!("Action {action}: {label}");
    if !result.is_empty() {
        name = name + ", " + &result;
    }
    let mut badge = "";
    if line.missed {
        badge = "miss";
        name.push_str(", not in the replay");
    }
    if line.own {
        badge = "you";
        name.push_str(", yours");
    }
    if differs {
        name.push_str(", differs from the other episode");
    }
    let what = span().class("what").child(label);
    let mistake = move || {
        let loss = loss.get().map(|loss| fixed(loss, 3))?;
        let mark = span().class("mistake").attr("data-tone", "bad");
        Some(mark.child("−").child(loss))
    };
    let sign = span()
        .class("log-sign")
        .attr("data-tone", tone_name(line.tone))
        .child(sign);
    let row = button()
        .attr("data-index", action.to_string())
        .attr("data-differs", differs)
        .label(move || match loss.get() {
            Some(loss) => format!("{name}, a mistake that lost {}", fixed(loss, 3)),
            None => name.clone(),
        })
        .on_press(move || page.seek(action))
        .child(span().class("index").child(action.to_string()))
        .child(what.child(mistake).child(small().child(result)))
        .child(sign)
        .child(
            span()
                .class("badge-text")
                .child(differs.then_some("≠ "))
                .child(badge),
        )
        .child(span().class("num").child(fixed(line.reward, 3)));
    li().child(row)
}

/// Returns the row of an action; `None` for action 0 and beyond the end.
fn row_element(list: &web_sys::Element, action: u32) -> Option<web_sys::Element> {
    list.children().item(action.checked_sub(1)?)
}

/// Marks the row of an action as the current one, or removes the mark.
fn set_current(list: &web_sys::Element, action: u32, current: bool) {
    let row = row_element(list, action);
    let Some(button) = row.and_then(|row| row.first_element_child()) else {
        return;
    };
    let _ = if current {
        button.set_attribute("aria-current", "step")
    } else {
        button.remove_attribute("aria-current")
    };
}

/// Scrolls the list, but not the page, so that the current action is near its middle.
fn keep_in_sight(list: &web_sys::Element, cursor: u32) {
    let row = cursor
        .checked_sub(1)
        .and_then(|row| list.children().item(row));
    let Some(row) = row else {
        list.set_scroll_top(0);
        return;
    };
    let offset = row.get_bounding_client_rect().top() - list.get_bounding_client_rect().top();
    let height = f64::from(list.client_height());
    if offset < height * 0.2 || offset > height * 0.75 {
        list.set_scroll_top(list.scroll_top() + (offset - height / 2.0) as i32);
    }
}
