//! The guided playback: the trained policy plays an episode, and captions say what happens.

use std::time::Duration;

use leptos::prelude::{TimeoutHandle, request_animation_frame, set_timeout_with_handle};
use sentinel_page_protocol::Caption;

use super::truth::{true_caption, truth_caption};
use crate::browser;
use crate::dom::html::{b, button, div, p, section};
use crate::dom::{El, IntoView, View};
use crate::page::Page;
use crate::reactive::{Memo, Signal, effect, effect_with_previous, memo};
use crate::state::{Screen, Speed, VISITOR};

/// Time below which a sentence cannot be read, in milliseconds.
const READABLE_MS: u32 = 700;

/// Selects the button of the player's next action.
const NEXT: &str = "[data-pane=main] .act.next";

/// Signals of the guided playback.
#[derive(Clone, Copy)]
struct Watch {
    page: Page,
    /// `true` while the playback is shown.
    on: Memo<bool>,
    /// `true` while the visitor is asked what comes next: at the end, and after skipping.
    asks: Memo<bool>,
    /// `true` after skipping, until the visitor has chosen.
    skipped: Signal<bool>,
}

/// Returns the bar of the guided playback, which takes the place of the playback bar.
#[must_use]
pub fn watch(page: Page) -> View {
    let on = memo(move || {
        let shown = page.without_cursor.with(|state| state.watch);
        shown && page.screen() == Screen::Episode
    });
    // While the weights are loading, a run without actions counts as complete.
    let ready = memo(move || {
        let complete = page.main.status.with(|status| status.complete);
        on.get() && complete && page.action_count() > 0
    });
    let ended = memo(move || ready.get() && page.cursor() == page.action_count());
    let skipped = Signal::new(false);
    let asks = memo(move || skipped.get() || ended.get());
    let watch = Watch {
        page,
        on,
        asks,
        skipped,
    };
    effect(move || {
        if ready.get() {
            page.start_guided_playback();
        }
    });
    effect_with_previous(move |before: Option<bool>| {
        let on = on.get();
        if ended.get() || before == Some(true) && !on {
            page.mark_guided_playback_seen();
        }
        on
    });
    // Another episode is an answer, too.
    let entry = memo(move || page.without_cursor.with(|state| state.history_entry()));
    effect_with_previous(move |before: Option<()>| {
        entry.track();
        if before.is_some() {
            skipped.set(false);
        }
    });
    // The bar covers the end of a long panel, where the player's next action may be.
    effect(move || {
        page.main.frame.track();
        if ready.get() {
            request_animation_frame(|| browser::reveal_above(NEXT, ".watch"));
        }
    });
    watch.run_clock();
    let shown = memo(move || on.get() || skipped.get());
    let view = move || shown.get().then(|| bar(watch));
    view.into_view()
}

impl Watch {
    /// Starts the clock, which shows every frame as long as its caption needs.
    fn run_clock(self) {
        let Self { page, on, .. } = self;
        effect_with_previous(move |before: Option<Option<TimeoutHandle>>| {
            if let Some(timer) = before.flatten() {
                timer.clear();
            }
            if !on.get() || !page.playing.get() {
                return None;
            }
            let truth = true_caption(page.main);
            let duration = caption(page).duration_ms(&truth);
            let speed = page.without_cursor.with(|state| state.speed);
            let pace = speed.period_ms() * u64::from(duration) / Speed::One.period_ms();
            let next = move || {
                let at = page.cursor_untracked();
                page.seek(at + 1);
                page.playing.set(page.cursor_untracked() > at);
            };
            set_timeout_with_handle(next, Duration::from_millis(pace)).ok()
        });
    }

    /// Performs the action of a button: pause or continue, next, skip; or, if the visitor is asked,
    /// play the episode, take the tour, stay.
    fn press(self, button: usize) {
        let page = self.page;
        match (self.asks.get_untracked(), button) {
            (false, 0) => page.toggle_play(),
            (false, 1) => page.seek(page.cursor_untracked() + 1),
            (true, 0) => page.restart(|state| state.player = VISITOR.to_owned()),
            (asks, _) => {
                let skips = self.on.get_untracked() && !asks;
                self.close();
                self.skipped.set(skips);
                if button == 1 {
                    page.tour.set(1);
                }
            }
        }
    }

    /// Ends the playback at this moment.
    fn close(self) {
        self.page.playing.set(false);
        self.skipped.set(false);
        if self.on.get_untracked() {
            self.page.state.update(|state| state.watch = false);
        }
    }
}

/// Returns the caption of the frame at the cursor.
fn caption(page: Page) -> Caption {
    page.main.frame.with(|frame| {
        let caption = frame.as_ref().map(|frame| frame.caption.clone());
        caption.unwrap_or_default()
    })
}

/// Returns the bar. It is computed as a whole and patched, so the focus stays on a button whose
/// meaning changes.
fn bar(watch: Watch) -> El {
    let page = watch.page;
    let Caption {
        moment,
        mut text,
        brief_ms,
    } = caption(page);
    // Steps that pass faster than they can be read only count.
    if page.playing.get() && moment.is_empty() && brief_ms < READABLE_MS {
        let standing = page
            .main
            .frame
            .with(|frame| frame.as_ref().map(|frame| frame.standing.clone()));
        text = format!("Step {}: {}.", page.cursor(), standing.unwrap_or_default());
    }
    // A screen reader is told the moments, not every step.
    let live = if moment.is_empty() { "off" } else { "polite" };
    let line = p()
        .class("caption")
        .attr("aria-live", live)
        .attr("data-moment", moment.clone())
        .child(b().child(moment))
        .child(" ")
        .child(text);
    let asks = watch.asks.get();
    let question =
        "What next? Play the same episode yourself, take a tour of the page, or stay here.";
    let choices = match (asks, page.playing.get()) {
        (true, _) => [
            ("watch-you", "Play it yourself"),
            ("watch-learn", "Learn: take the tour"),
            ("watch-stay", "Stay here"),
        ],
        (false, playing) => [
            ("watch-play", if playing { "Pause" } else { "Play" }),
            ("watch-next", "Next"),
            ("watch-skip", "Skip intro"),
        ],
    };
    let button = |(index, (id, name)): (usize, (&'static str, &'static str))| {
        button()
            .id(id)
            .toggle_class("primary", index == 0)
            .attr("data-escape", index == 2)
            .on_press(move || watch.press(index))
            .child(name)
    };
    let buttons: Vec<El> = choices.into_iter().enumerate().map(button).collect();
    let captions = div().class("captions").child(line);
    section()
        .class("watch")
        .label("Watch")
        .child(captions.child(truth_caption(page.main)))
        .child(p().class("quiet").hidden(!asks).child(question))
        .child(div().class("control-row").child(buttons))
}
