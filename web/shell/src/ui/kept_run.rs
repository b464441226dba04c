//! The offer to continue the training run of an earlier visit.

use crate::dom::El;
use crate::dom::html::{button, div, p};
use crate::number_format::fixed;
use crate::page::{KeptTraining, Page};

/// Returns the offer, which is hidden without such a run.
#[must_use]
pub fn kept_run(page: Page) -> El {
    page.load_kept_training();
    let (kept, current) = (page.training.kept, page.training.current);
    let is_hidden = move || kept.with(Option::is_none) || current.with(Option::is_some);
    let is_over = move || kept.with(|kept| kept.as_ref().is_some_and(KeptTraining::is_over));
    let sentence = move || {
        kept.with(|kept| {
            kept.as_ref()
                .map_or_else(String::new, |kept| sentence(page, kept))
        })
    };
    div()
        .class("card")
        .id("kept-run")
        .hidden(is_hidden)
        .child(p().child(sentence))
        .child(
            div()
                .class("control-row")
                .child(
                    button()
                        .id("kept-continue")
                        .on_press(move || page.continue_kept_training())
                        .child(move || if is_over() { "Show it" } else { "Continue it" }),
                )
                .child(
                    button()
                        .class("quiet-button")
                        .on_press(move || page.forget_kept_training())
                        .child("Forget it"),
                ),
        )
}

fn sentence(page: Page, kept: &KeptTraining) -> String {
    let update = &kept.update;
    let score = update.evaluation.map(|score| fixed(score.mean, 3));
    let score = score.map_or_else(String::new, |score| format!(", score {score}"));
    format!(
        "Your browser keeps a training run of an earlier visit: world “{}”, update {} of {}{score}.",
        page.world_title(&update.spec.world),
        update.updates,
        update.total
    )
}
