//! The row above two episodes: where their actions first differ.

use sentinel_page_protocol::StepLine;

use crate::dom::El;
use crate::dom::html::{b, button, li, p, section, span, ul};
use crate::episode_view::{EpisodeView, first_difference};
use crate::page::Page;
use crate::reactive::memo;

/// Returns the row that says where the actions of the two episodes first differ.
#[must_use]
pub fn difference_row(page: Page) -> El {
    let first = memo(move || difference_of_episodes(page));
    let row = move || match first.get() {
        Some(action) => differs(page, action),
        None => p().child(same(page)),
    };
    section()
        .class("card differs")
        .label("Difference of the two episodes")
        .child(row)
}

/// Returns the number of the first action in which the two episodes differ; `None` if they do not,
/// or if that is not known yet.
pub fn difference_of_episodes(page: Page) -> Option<usize> {
    let [main, versus] = [page.main, page.versus].map(|episode| episode.steps.get());
    let first = first_difference(&main, &versus)?;
    let is_settled = |(episode, steps): (EpisodeView, &[StepLine])| {
        steps.len() >= first || episode.status.with(|status| status.complete)
    };
    let both = [
        (page.main, main.as_slice()),
        (page.versus, versus.as_slice()),
    ];
    both.into_iter().all(is_settled).then_some(first)
}

fn differs(page: Page, action: usize) -> El {
    let side = |episode: EpisodeView| {
        let player = episode
            .status
            .with(|status| status.episode.player_label.clone());
        let steps = episode.steps.get();
        let steps = steps.get(action - 1);
        let choice = steps.map_or("the episode has ended", |step| step.label.as_str());
        li().child(b().child(player))
            .child(span().child(choice.to_owned()))
    };
    let go = button()
        .id("first-difference")
        .attr("data-action", action.to_string())
        .on_press(move || page.seek(action))
        .child("Go to the first difference");
    let sentence = format!("The actions differ first at action {action}.");
    let sides = ul().child(side(page.main)).child(side(page.versus));
    crate::dom::html::div()
        .class("control-row")
        .child(p().child(sentence))
        .child(sides)
        .child(go)
}

/// Returns a sentence about two episodes without a difference.
fn same(page: Page) -> &'static str {
    let mut both = [page.main, page.versus].into_iter();
    if both.all(|episode| episode.status.with(|status| status.complete)) {
        "Same actions throughout."
    } else {
        "Same actions so far."
    }
}
