//! All actions in order; each leads to its moment.

use leptos::html;
use leptos::prelude::*;
use sentinel_page_protocol::StepLine;

use super::parts::tone;
use crate::browser;
use crate::lane::Lane;
use crate::num::fixed;
use crate::page::Page;
use crate::reactive::{effect, memo};
use crate::state::index;

/// The list of actions. Moving the cursor only moves the mark of the current row.
#[component]
pub fn Actions(page: Page, lane: Lane) -> impl IntoView {
    let list = NodeRef::<html::Ol>::new();
    let lines = memo(move |_| lane.lines());
    let rows = move || {
        let lines = lines.get();
        let rows = lines.iter().enumerate();
        rows.map(|(index, line)| row(page, index + 1, line))
            .collect::<Vec<AnyView>>()
    };
    effect(move |before: Option<u32>| {
        let cursor = index(lane.at.get());
        lines.track();
        if let Some(list) = list.get() {
            // After this frame is drawn: asking for heights before would lay out the page twice.
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
    let open = !browser::is_narrow();
    view! {
        <section class="card actions" aria-label="Actions">
            <details open=open>
                <summary><h2>"Actions"</h2></summary>
                <ol class="log" node_ref=list>{move || rows()}</ol>
            </details>
        </section>
    }
}

fn row(page: Page, action: usize, line: &StepLine) -> AnyView {
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
    view! {
        <li>
            <button type="button" data-index=action.to_string() aria-label=name on:click=move |_| page.seek(action)>
                <span class="index">{action.to_string()}</span>
                <span class="what">{label}<small>{result}</small></span>
                <span class="log-sign" data-tone=tone(line.tone)>{sign}</span>
                <span class="badge-text">{badge}</span>
                <span class="num">{fixed(line.reward, 3)}</span>
            </button>
        </li>
    }
    .into_any()
}

/// Marks the row of an action as the current one, or not.
fn set_current(list: &web_sys::Element, action: u32, current: bool) {
    let row = action
        .checked_sub(1)
        .and_then(|row| list.children().item(row));
    let Some(button) = row.and_then(|row| row.first_element_child()) else {
        return;
    };
    let _ = if current {
        button.set_attribute("aria-current", "step")
    } else {
        button.remove_attribute("aria-current")
    };
}

/// Scrolls the list, and only the list, so that the current action is in its middle.
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
