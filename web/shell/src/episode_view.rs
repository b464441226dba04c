//! An episode that is shown: the frames that an engine sent, and the one at the cursor.

use std::sync::Arc;

use leptos::prelude::*;
use sentinel_page_protocol::{
    AgentView, Branch, Chart, EpisodeRef, PlayedEpisode, RunUpdate, StepLine, Truth, TruthUpdate,
    WorldInfo, decode,
};

use crate::panel_signals::PanelSignals;
use crate::reactive::{Memo, Signal, memo, memo_notify_always};
use crate::state::PageState;

/// What a run depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunInputs {
    /// The world.
    pub world: String,
    /// The episode.
    pub episode: EpisodeRef,
    /// The player.
    pub player: String,
    /// The visitor's own actions.
    pub branch: Option<Branch>,
}

impl RunInputs {
    /// Returns the inputs of the main episode. `None` while it is not known which player an older
    /// address means.
    #[must_use]
    pub fn main(state: &PageState, info: Option<&WorldInfo>) -> Option<Self> {
        let player = match (state.legacy, info) {
            (false, _) => state.player.clone(),
            (true, Some(info)) if info.legacy_player.is_empty() => String::new(),
            (true, Some(info)) => info.legacy_player.clone(),
            (true, None) => return None,
        };
        Some(Self {
            world: state.world.clone(),
            episode: state.episode(),
            player,
            branch: state.branch.clone(),
        })
    }

    /// Returns the inputs of the episode beside it, if there is one.
    #[must_use]
    pub fn versus(state: &PageState) -> Option<Self> {
        (!state.versus.is_empty()).then(|| Self {
            world: state.world.clone(),
            episode: state.episode(),
            player: state.versus.clone(),
            branch: None,
        })
    }

    /// Takes over the words that an engine understood.
    pub fn apply_episode(&mut self, played: &PlayedEpisode) {
        self.episode = EpisodeRef {
            task: played.task.clone(),
            seed: played.seed,
            streams: played.streams.clone(),
            rules: played.rules.clone(),
        };
        self.player.clone_from(&played.player);
    }
}

/// What is said about a run as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStatus {
    /// The episode that is played.
    pub episode: PlayedEpisode,
    /// Number and hash of the trajectory.
    pub digest: String,
    /// `true` if no more frames come.
    pub complete: bool,
    /// `true` if the episode has ended.
    pub done: bool,
    /// The reason why the visitor's action was refused; empty if it was not.
    pub refused: String,
    /// A sentence about the replay or the model.
    pub note: String,
    /// `true` if the note is a warning.
    pub warns: bool,
}

/// TruthSignals state of a run. Only components of [`crate::ui::truth`] read the moment.
#[derive(Clone, Copy, Debug)]
pub struct TruthSignals {
    frames: Signal<Vec<Vec<u8>>>,
    /// The lines of the actions with the true results; empty if there are none.
    pub steps: Signal<Arc<Vec<StepLine>>>,
    /// The charts with hidden values; empty if there are none.
    pub charts: Signal<Arc<Vec<Chart>>>,
    /// The moment at the cursor; `None` while the truth is not shown.
    pub moment: Memo<Option<Arc<Truth>>>,
}

/// A run with its signals.
#[derive(Clone, Copy, Debug)]
pub struct EpisodeView {
    frames: Signal<Vec<Vec<u8>>>,
    /// The lines of the actions.
    pub steps: Signal<Arc<Vec<StepLine>>>,
    /// The charts.
    pub charts: Signal<Arc<Vec<Chart>>>,
    /// What is said about the run.
    pub status: Signal<RunStatus>,
    /// Number of actions at the cursor, within this run.
    pub at: Memo<usize>,
    /// The moment at the cursor; `None` before the first frame came.
    pub moment: Memo<Option<Arc<AgentView>>>,
    /// The panels of the moment.
    pub panels: PanelSignals,
    /// The hidden state.
    pub truth: TruthSignals,
    /// The number of the run that was requested last.
    pub run: StoredValue<u32>,
    /// The number of the run whose frames are shown.
    shown_run: StoredValue<u32>,
    /// The inputs of the run that was requested last.
    pub requested: StoredValue<Option<RunInputs>>,
}

impl EpisodeView {
    /// Shows nothing yet; `wanted` is the cursor, which may be beyond the end.
    #[must_use]
    pub fn new(wanted: Memo<usize>) -> Self {
        let frames = Signal::new(Vec::<Vec<u8>>::new());
        let at = memo(move || wanted.get().min(frames.with(Vec::len).saturating_sub(1)));
        let hidden_frames = Signal::new(Vec::<Vec<u8>>::new());
        Self {
            frames,
            steps: Signal::default(),
            charts: Signal::default(),
            status: Signal::default(),
            at,
            moment: memo_notify_always(move || decode_frame(frames, at.get())),
            panels: PanelSignals::default(),
            truth: TruthSignals {
                frames: hidden_frames,
                steps: Signal::default(),
                charts: Signal::default(),
                moment: memo_notify_always(move || decode_frame(hidden_frames, at.get())),
            },
            run: StoredValue::new(0),
            shown_run: StoredValue::new(0),
            requested: StoredValue::new(None),
        }
    }

    /// Returns the number of actions of the run so far.
    #[must_use]
    pub fn action_count(&self) -> usize {
        self.frames.with(Vec::len).saturating_sub(1)
    }

    /// Takes in new frames; returns `true` if they are the first of their run.
    pub fn apply_update(&self, update: RunUpdate) -> bool {
        let first = self.shown_run.get_value() != update.run;
        if first {
            self.shown_run.set_value(update.run);
            self.clear_truth();
        }
        let from = if first { 0 } else { update.from as usize };
        self.steps.update(|steps| {
            let steps = Arc::make_mut(steps);
            steps.truncate(from.saturating_sub(1));
            steps.extend(update.steps);
        });
        self.frames.update(|frames| {
            frames.truncate(from);
            frames.extend(update.frames);
        });
        self.charts.set(Arc::new(update.charts));
        self.status.set(RunStatus {
            episode: update.episode,
            digest: update.digest,
            complete: update.complete,
            done: update.done,
            refused: update.refused,
            note: update.source_note,
            warns: update.source_warning,
        });
        first
    }

    /// Takes in hidden state.
    pub fn apply_truth(&self, update: TruthUpdate) {
        let from = update.from as usize;
        self.truth.steps.update(|steps| {
            let steps = Arc::make_mut(steps);
            steps.truncate(from.saturating_sub(1));
            steps.extend(update.steps);
        });
        self.truth.charts.set(Arc::new(update.charts));
        self.truth.frames.update(|frames| {
            frames.truncate(from);
            frames.extend(update.frames);
        });
    }

    /// Drops all hidden state.
    pub fn clear_truth(&self) {
        if self
            .truth
            .frames
            .with_untracked(|frames| !frames.is_empty())
        {
            self.truth.frames.set(Vec::new());
            self.truth.steps.set(Arc::default());
            self.truth.charts.set(Arc::default());
        }
    }

    /// Drops the run.
    pub fn clear(&self) {
        self.clear_truth();
        self.requested.set_value(None);
        self.run.set_value(0);
        self.shown_run.set_value(0);
        if self.frames.with_untracked(|frames| !frames.is_empty()) {
            self.frames.set(Vec::new());
            self.steps.set(Arc::default());
            self.charts.set(Arc::default());
            self.status.set(RunStatus::default());
        }
    }

    /// The lines of the actions: with the true results while they are shown.
    #[must_use]
    pub fn step_lines(&self) -> Arc<Vec<StepLine>> {
        let hidden = self.truth.steps.get();
        if hidden.is_empty() {
            self.steps.get()
        } else {
            hidden
        }
    }
}

/// Decodes a frame.
fn decode_frame<T: serde::de::DeserializeOwned>(
    frames: Signal<Vec<Vec<u8>>>,
    at: usize,
) -> Option<Arc<T>> {
    frames.with(|frames| decode(frames.get(at)?).ok().map(Arc::new))
}

/// Returns the number of actions before the first one in which two runs differ; `None` if they do
/// not differ.
#[must_use]
pub fn first_difference(a: &[StepLine], b: &[StepLine]) -> Option<usize> {
    let common = a
        .iter()
        .zip(b)
        .take_while(|(a, b)| a.code == b.code)
        .count();
    (common < a.len().max(b.len())).then_some(common + 1)
}

/// Returns the next or previous action after or before `cursor` that a viewer may want to see.
#[must_use]
pub fn find_notable(steps: &[StepLine], cursor: usize, forward: bool) -> Option<usize> {
    let is_notable = |action: &usize| steps.get(action - 1).is_some_and(|s| s.notable || s.missed);
    if forward {
        (cursor + 1..=steps.len()).find(is_notable)
    } else {
        (1..cursor.min(steps.len() + 1)).rev().find(is_notable)
    }
}

#[cfg(test)]
#[path = "episode_view_tests.rs"]
mod tests;
