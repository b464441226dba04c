//! An episode on the page: the frames that an engine sent, and signals of the frame at the cursor.

use std::sync::Arc;

use leptos::prelude::*;
use sentinel_page_protocol::{
    AgentView, AnalysisUpdate, Answer, Branch, Chart, EpisodeRef, PlayedEpisode, Request,
    RunUpdate, StepAnalysis, StepLine, Truth, TruthUpdate, WorldInfo, decode,
};

use crate::panel_signals::PanelSignals;
use crate::reactive::{Memo, Signal, memo, memo_notify_always};
use crate::state::{PageState, Screen};

/// Everything that determines a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunInputs {
    /// Name of the world.
    pub world: String,
    /// The episode, in the words of the address.
    pub episode: EpisodeRef,
    /// The player as the address writes it; empty for the default.
    pub player: String,
    /// The visitor's own actions, if any.
    pub branch: Option<Branch>,
    /// `true` if the trained policy watches.
    pub watched: bool,
}

impl RunInputs {
    /// Returns the inputs of the main episode; `None` while the episode of the question, or the
    /// default player of an older address, is unknown.
    #[must_use]
    pub fn main(state: &PageState, info: Option<&WorldInfo>) -> Option<Self> {
        if state.awaits_spot_episode() {
            return None;
        }
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
            watched: state.screen == Screen::Spot,
        })
    }

    /// Returns the request that plays the run under the number `run`.
    #[must_use]
    pub fn request(&self, run: u32) -> Request {
        Request::Play {
            run,
            episode: self.episode.clone(),
            player: self.player.clone(),
            branch: self.branch.clone(),
            watched: self.watched,
        }
    }

    /// Returns the inputs of the episode to compare with; `None` if there is none, or while the task of
    /// the main episode is unknown: a replay would choose one of its own.
    #[must_use]
    pub fn versus(state: &PageState) -> Option<Self> {
        (!state.versus.is_empty() && !state.task.is_empty()).then(|| Self {
            world: state.world.clone(),
            episode: state.episode(),
            player: state.versus.clone(),
            branch: None,
            watched: false,
        })
    }

    /// Replaces the words of the address by those that the engine understood.
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

/// State of a run as a whole, as opposed to a single frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStatus {
    /// The episode that is played, with the words that the engine understood.
    pub episode: PlayedEpisode,
    /// Number of actions and hash of the trajectory; empty before the end.
    pub digest: String,
    /// `true` if no more frames follow.
    pub complete: bool,
    /// `true` if the episode has ended.
    pub done: bool,
    /// Reason why the visitor's action was refused; empty if it was not.
    pub refused: String,
    /// Sentence about a loophole that the rules leave open; empty if there is none.
    pub loophole: String,
    /// Sentence about the replay or the model that plays; empty if there is none.
    pub note: String,
    /// `true` if the note is a warning.
    pub warns: bool,
}

/// Hidden state of a run. Only components of [`crate::ui::truth`] read its frames.
#[derive(Clone, Copy, Debug)]
pub struct TruthSignals {
    frames: Signal<Vec<Vec<u8>>>,
    /// Lines of the actions with their true results; empty while the truth is hidden.
    pub steps: Signal<Arc<Vec<StepLine>>>,
    /// Charts with hidden values; empty while the truth is hidden.
    pub charts: Signal<Arc<Vec<Chart>>>,
    /// Hidden state at the cursor; `None` while the truth is hidden.
    pub frame: Memo<Option<Arc<Truth>>>,
    /// Analysis from the true hidden state; `None` while the truth is hidden or not analyzed.
    pub analysis: Signal<Option<Arc<AnalysisUpdate>>>,
    /// `true` once that analysis was complete, also while the truth is hidden.
    pub is_complete: StoredValue<bool>,
}

/// Signals of one run: its frames, and the frame at the cursor.
#[derive(Clone, Copy, Debug)]
pub struct EpisodeView {
    frames: Signal<Vec<Vec<u8>>>,
    /// Lines of the actions so far.
    pub steps: Signal<Arc<Vec<StepLine>>>,
    /// Charts of the run so far.
    pub charts: Signal<Arc<Vec<Chart>>>,
    /// State of the run as a whole.
    pub status: Signal<RunStatus>,
    /// Analysis from public evidence; `None` until it was asked for.
    pub analysis: Signal<Option<Arc<AnalysisUpdate>>>,
    /// Number of actions at the cursor, at most that of this run.
    pub at: Memo<usize>,
    /// Frame at the cursor; `None` before the first frame arrives.
    pub frame: Memo<Option<Arc<AgentView>>>,
    /// Panels of the frame at the cursor.
    pub panels: PanelSignals,
    /// `true` if other engines analyze parts of the steps, or none needs to.
    pub has_helpers: StoredValue<bool>,
    /// Hidden state of the run.
    pub truth: TruthSignals,
    /// Answer to the world's question; `None` until it was asked for, at the end.
    pub answer: Signal<Option<Arc<Answer>>>,
    /// Number of the run that was requested last; 0 for none.
    pub run: StoredValue<u32>,
    /// Number of the run whose analysis started by itself last; 0 for none.
    pub analyzed_by_itself: StoredValue<u32>,
    /// Number of the run whose frames are shown; 0 for none.
    shown_run: Signal<u32>,
    /// Inputs of the run that was requested last.
    pub requested: StoredValue<Option<RunInputs>>,
}

impl EpisodeView {
    /// Creates a view without frames. `wanted` is the cursor, which may lie beyond the end.
    #[must_use]
    pub fn new(wanted: Memo<usize>) -> Self {
        let frames = Signal::new(Vec::<Vec<u8>>::new());
        let at = memo(move || wanted.get().min(frames.with(Vec::len).saturating_sub(1)));
        let hidden_frames = Signal::new(Vec::<Vec<u8>>::new());
        let status = Signal::<RunStatus>::default();
        // An address may name an action that is still to come: drawing another one first would only
        // move the page.
        let is_drawn = StoredValue::new(false);
        let is_awaited = move || {
            let is_complete = status.with(|status| status.complete);
            !is_complete && wanted.get() >= frames.with(Vec::len)
        };
        let frame_at_cursor = move || {
            if !is_drawn.get_value() && is_awaited() {
                return None;
            }
            let frame = decode_frame(frames, at.get());
            is_drawn.set_value(frame.is_some());
            frame
        };
        Self {
            frames,
            steps: Signal::default(),
            charts: Signal::default(),
            status,
            analysis: Signal::default(),
            at,
            frame: memo_notify_always(frame_at_cursor),
            panels: PanelSignals::default(),
            has_helpers: StoredValue::new(false),
            truth: TruthSignals {
                frames: hidden_frames,
                steps: Signal::default(),
                charts: Signal::default(),
                frame: memo_notify_always(move || decode_frame(hidden_frames, at.get())),
                analysis: Signal::default(),
                is_complete: StoredValue::new(false),
            },
            answer: Signal::default(),
            run: StoredValue::new(0),
            analyzed_by_itself: StoredValue::new(0),
            shown_run: Signal::new(0),
            requested: StoredValue::new(None),
        }
    }

    /// Returns the number of actions of the run so far.
    #[must_use]
    pub fn action_count(&self) -> usize {
        self.frames.with(Vec::len).saturating_sub(1)
    }

    /// Returns `true` if the shown frames are those of the run that was requested last.
    #[must_use]
    pub fn is_current(&self) -> bool {
        let run = self.run.get_value();
        run != 0 && run == self.shown_run.get_untracked()
    }

    /// Returns the number of the run whose frames are shown; 0 for none.
    #[must_use]
    pub fn shown_run(&self) -> u32 {
        self.shown_run.get()
    }

    /// Returns the score after the last action so far; `None` before the first frame arrives.
    #[must_use]
    pub fn last_score(&self) -> Option<f64> {
        let last = decode_frame::<AgentView>(self.frames, self.action_count());
        last.map(|frame| frame.score)
    }

    /// Applies new frames; returns `true` if they are the first of their run.
    pub fn apply_update(&self, update: RunUpdate) -> bool {
        let first = self.shown_run.get_untracked() != update.run;
        if first {
            self.shown_run.set(update.run);
            self.analysis.set(None);
            self.clear_truth();
            self.answer.set(None);
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
            loophole: update.loophole,
            note: update.source_note,
            warns: update.source_warning,
        });
        first
    }

    /// Applies the hidden state.
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

    /// Returns the losses of the actions that the complete analysis found to be mistakes; `None` for the
    /// others.
    #[must_use]
    pub fn mistakes(&self) -> Vec<Option<f64>> {
        let loss = |step: &StepAnalysis| step.is_mistake.then_some(step.loss);
        self.analysis.with(|found| {
            let complete = found.iter().filter(|found| found.is_complete());
            complete.flat_map(|found| &found.steps).map(loss).collect()
        })
    }

    /// Reads the step of the action that led to the cursor in the complete analysis; `None` where there is
    /// none.
    pub fn with_judged_step<R>(&self, read: impl FnOnce(&StepAnalysis) -> R) -> Option<R> {
        let last = self.at.get().checked_sub(1)?;
        self.analysis.with(|found| {
            let found = found.as_ref().filter(|found| found.is_complete())?;
            found.steps.get(last).map(read)
        })
    }

    /// Returns the expected final score at the cursor if the trained policy takes over; `None` where no
    /// analysis has it.
    #[must_use]
    pub fn expected_score(&self) -> Option<f64> {
        let at = self.at.get();
        self.analysis.with(|found| {
            let steps = &found.as_ref()?.steps;
            // Before the first action it is the value of the best one.
            let Some(last) = at.checked_sub(1) else {
                return Some(steps.first()?.actions.first()?.value);
            };
            let mut actions = steps.get(last)?.actions.iter();
            Some(actions.find(|action| action.is_chosen)?.value)
        })
    }

    /// Returns `true` if an analysis was asked for and not ended.
    #[must_use]
    pub fn is_analysis_requested(&self) -> bool {
        self.analysis.with_untracked(Option::is_some)
    }

    /// Returns `true` if the analysis is complete, with `truth` also that from the true hidden state.
    #[must_use]
    pub fn is_analysis_complete(&self, truth: bool) -> bool {
        let is_complete = |found: &Option<Arc<AnalysisUpdate>>| {
            found.as_ref().is_some_and(|found| found.is_complete())
        };
        self.analysis.with_untracked(is_complete) && (!truth || self.truth.is_complete.get_value())
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
            self.truth.analysis.set(None);
        }
    }

    /// Drops the run with its frames and hidden state.
    pub fn clear(&self) {
        self.clear_truth();
        self.answer.set(None);
        self.analysis.set(None);
        self.requested.set_value(None);
        self.run.set_value(0);
        self.shown_run.set(0);
        if self.frames.with_untracked(|frames| !frames.is_empty()) {
            self.frames.set(Vec::new());
            self.steps.set(Arc::default());
            self.charts.set(Arc::default());
            self.status.set(RunStatus::default());
        }
    }

    /// Returns the lines of the actions, with their true results while the truth is shown.
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

/// Decodes frame `at`; `None` if it is missing or invalid.
fn decode_frame<T: serde::de::DeserializeOwned>(
    frames: Signal<Vec<Vec<u8>>>,
    at: usize,
) -> Option<Arc<T>> {
    frames.with(|frames| decode(frames.get(at)?).ok().map(Arc::new))
}

/// Returns the number of the first action in which two runs differ, counted from 1; `None` if they
/// are equal.
#[must_use]
pub fn first_difference(a: &[StepLine], b: &[StepLine]) -> Option<usize> {
    let common = a
        .iter()
        .zip(b)
        .take_while(|(a, b)| a.code == b.code)
        .count();
    (common < a.len().max(b.len())).then_some(common + 1)
}

/// Returns for each action of `a` whether `b` has another one there. A run that is not `complete`
/// may still take the same action.
#[must_use]
pub fn differing(a: &[StepLine], b: &[StepLine], complete: bool) -> Vec<bool> {
    let differs = |(index, step): (usize, &StepLine)| match b.get(index) {
        Some(other) => other.code != step.code,
        None => complete && !b.is_empty(),
    };
    a.iter().enumerate().map(differs).collect()
}

/// Returns the number of the next (or previous) notable action after (or before) `cursor`.
#[must_use]
pub fn find_notable(steps: &[StepLine], cursor: usize, forward: bool) -> Option<usize> {
    find_action(steps, cursor, forward, |step| step.notable || step.missed)
}

/// Returns the number of the next (or previous) action after (or before) `cursor` whose entry in
/// `steps` is a match.
pub fn find_action<S>(
    steps: &[S],
    cursor: usize,
    forward: bool,
    is_match: impl Fn(&S) -> bool,
) -> Option<usize> {
    let is_match = |action: &usize| steps.get(action - 1).is_some_and(&is_match);
    if forward {
        (cursor + 1..=steps.len()).find(is_match)
    } else {
        (1..cursor.min(steps.len() + 1)).rev().find(is_match)
    }
}

#[cfg(test)]
#[path = "episode_view_tests.rs"]
mod tests;
