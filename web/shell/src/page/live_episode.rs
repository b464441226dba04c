//! One validation episode that the newest policy of a training run plays again and again.

use super::*;
use crate::reactive::memo;

/// Name of the file of the policy that plays it; the engine lists it in no menu.
const FILE: &str = "tab-now.safetensors";
/// The player of this file, as the address writes it.
const PLAYER: &str = "model:tab-now";

/// Signals of the episode.
#[derive(Clone, Copy)]
pub struct LiveEpisode {
    /// The episode at the cursor.
    pub view: EpisodeView,
    /// Number of actions at the cursor.
    pub cursor: Signal<usize>,
    /// `true` while it is played back.
    pub is_playing: Signal<bool>,
    /// Number of updates of the policy that plays; `None` before the first one.
    pub updates: Signal<Option<u32>>,
    /// `true` if a policy was asked for and has not arrived.
    is_awaited: StoredValue<bool>,
}

impl Default for LiveEpisode {
    fn default() -> Self {
        let cursor = Signal::new(0);
        Self {
            view: EpisodeView::new(memo(move || cursor.get())),
            cursor,
            is_playing: Signal::new(true),
            updates: Signal::new(None),
            is_awaited: StoredValue::new(false),
        }
    }
}

impl LiveEpisode {
    /// Waits no longer for a policy, since the engine that was asked has failed.
    pub(super) fn forget_request(&self) {
        self.is_awaited.set_value(false);
    }

    /// Drops the episode, since its run has ended.
    pub(super) fn clear(&self) {
        self.view.clear();
        self.cursor.set(0);
        self.updates.set(None);
        self.forget_request();
    }
}

impl Page {
    /// Moves the episode by one action if it is played back. At its end, or while it is paused, asks for
    /// a newer policy if there is one.
    pub fn advance_live_episode(&self) {
        let live = self.training.live;
        let cursor = live.cursor.get_untracked();
        let is_at_end = untrack(|| cursor >= live.view.action_count());
        let is_playing = live.is_playing.get_untracked();
        if is_playing && !is_at_end {
            return live.cursor.set(cursor + 1);
        }
        let newest = self.read_training(|training| {
            let has_attempt = !training.attempts.rows().is_empty();
            has_attempt.then_some(training.update.updates)
        });
        let newest = newest.flatten();
        if live.is_awaited.get_value() || newest.is_none() || newest == live.updates.get_untracked()
        {
            return;
        }
        live.is_awaited.set_value(true);
        self.ask_for_model();
    }

    /// Lets the newest policy, with its file `content`, play the episode if it is awaited.
    pub(super) fn play_live_episode(&self, content: &[u8]) {
        let live = self.training.live;
        if !live.is_awaited.get_value() {
            return;
        }
        live.is_awaited.set_value(false);
        let setup = self.read_training(|training| {
            let (_, attempt) = training.attempts.rows().last()?;
            let update = &training.update;
            let episode = EpisodeRef {
                task: attempt.task.clone(),
                seed: attempt.seed,
                rules: update.spec.rules.clone(),
                ..EpisodeRef::default()
            };
            // Replies come in order: it is the policy of the update that was reported last.
            Some((update.updates, update.spec.world.clone(), episode))
        });
        let Some((updates, world, episode)) = setup.flatten() else {
            return;
        };
        let old = live.view.run.get_value();
        let run = self.next_run();
        live.view.run.set_value(run);
        live.updates.set(Some(updates));
        if live.is_playing.get_untracked() {
            live.cursor.set(0);
        }
        let requests = [
            Request::Stop { run: old },
            Request::Lend {
                name: FILE.to_owned(),
                content: content.to_vec(),
            },
            Request::Play {
                run,
                episode,
                player: PLAYER.to_owned(),
                branch: None,
                watched: false,
            },
        ];
        self.use_engines(Role::Play, |engines, _| {
            requests
                .iter()
                .try_for_each(|request| engines.send(&world, Role::Play, request))
        });
    }
}
