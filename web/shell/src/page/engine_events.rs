//! Handling of events from the engines, and of changes of the world.

use super::*;
use crate::draft_action::{CheckedAction, DraftAt};

impl Page {
    pub(super) fn enter_world(&self, world: &str) {
        let cached = self
            .cached_worlds
            .with_value(|all| all.iter().find(|c| c.world == world).cloned());
        let cached = cached.unwrap_or_default();
        if cached.info.is_none() {
            self.send(Role::Play, &Request::Describe);
        }
        self.info.set(cached.info);
        self.replays.set(cached.replays);
    }

    /// Handles an event from the engine of `world`.
    pub(super) fn handle_event(&self, world: &str, role: Role, event: EngineEvent) {
        // Training goes on while another world is shown.
        let is_of_all = role.is_training() || matches!(role, Role::Records | Role::Rivals);
        let here = is_of_all || self.state.with_untracked(|state| state.world == world);
        match event {
            EngineEvent::Ready => {}
            EngineEvent::Reply(reply) => {
                // The engine that plays an episode has sent everything else.
                if let Reply::Deferred(reply) = &*reply {
                    // Only deferred parts of the page ask for these.
                    if let Some(deferred) = self.deferred.get_untracked() {
                        (deferred.take_reply)(*self, role, here, reply);
                    }
                } else if !role.is_analysis() {
                    self.handle_reply(world, here, *reply);
                }
            }
            EngineEvent::Failed(sentence) => {
                self.engines
                    .update_value(|engines| engines.stop(world, role));
                if here {
                    self.handle_failure(role, sentence);
                }
            }
        }
    }

    /// Shows that an engine could not be started or has failed: as a failure of the world only if it
    /// plays the episode.
    pub(super) fn handle_failure(&self, role: Role, sentence: String) {
        match role {
            Role::Play => {
                self.playing.set(false);
                self.failure.set(sentence);
                return;
            }
            Role::Records => {}
            Role::Comparison => self.stop_comparison(),
            Role::Mean => self.fail_means(),
            Role::Learn => {
                // Only deferred parts of the page train.
                if let Some(deferred) = self.deferred.get_untracked() {
                    (deferred.fail_training)(*self, &sentence);
                }
                return;
            }
            Role::Rollouts(_) => return self.with_deferred(|deferred| deferred.train_alone),
            // The curve has no lines to compare with then.
            Role::Rivals => {}
            Role::Analysis(_) => self.with_deferred(|deferred| deferred.analyze_alone),
            Role::Tournament(_) => {
                self.engines
                    .update_value(|engines| engines.stop_all(Role::is_tournament));
                self.tournament
                    .update(|tournament| tournament.stopped = true);
            }
        }
        self.add_notice(sentence);
    }

    pub(super) fn handle_reply(&self, world: &str, here: bool, reply: Reply) {
        match reply {
            Reply::World(info) => {
                let info = Arc::<WorldInfo>::from(info);
                self.cache_world(world, |cached| cached.info = Some(info.clone()));
                if here {
                    self.info.set(Some(info));
                }
            }
            Reply::Replays(replays) => {
                let replays = Arc::new(replays);
                self.cache_world(world, |cached| cached.replays = replays.clone());
                if here {
                    self.replays.set(replays);
                }
            }
            Reply::Problem(_) if !here => {}
            Reply::Problem(sentence) => self.report(sentence),
            // The worker's script answers the first, and the caller handles the second.
            Reply::Need(_) | Reply::Deferred(_) => {}
            // Answers to requests from another world are dropped.
            Reply::Run(_) | Reply::Truth(_) | Reply::Answer { .. } | Reply::Checked { .. }
                if !here => {}
            Reply::Run(update) => self.handle_run(*update),
            Reply::Truth(update) => {
                let is_shown = self.state.with_untracked(|state| state.truth);
                let episode = self.episode_of_run(update.run);
                if let Some(episode) = episode.filter(|_| is_shown) {
                    episode.apply_truth(*update);
                }
            }
            Reply::Answer { run, answer } => {
                if let Some(episode) = self.episode_of_run(run) {
                    episode.answer.set(Some(answer.into()));
                }
            }
            Reply::NoAnalysis { run } => {
                if let Some(episode) = self.episode_of_run(run) {
                    episode.analysis.set(None);
                }
            }
            Reply::Checked {
                run,
                at,
                code,
                completed,
                label,
                warning,
            } => {
                if run == self.main.run.get_value() {
                    self.handle_checked(CheckedAction {
                        about: DraftAt { run, at, code },
                        completed,
                        label,
                        warning,
                    });
                }
            }
        }
    }

    pub(super) fn episode_of_run(&self, run: u32) -> Option<EpisodeView> {
        let all = [self.main, self.versus];
        all.into_iter()
            .find(|episode| run != 0 && episode.run.get_value() == run)
    }

    pub(super) fn handle_run(&self, update: sentinel_page_protocol::RunUpdate) {
        let live = self.training.live.view;
        if live.run.get_value() == update.run {
            live.apply_update(update);
            return;
        }
        let Some(episode) = self.episode_of_run(update.run) else {
            return;
        };
        let played = update.episode.clone();
        let is_main = self.main.run.get_value() == update.run;
        if !episode.apply_update(update) || played.player.is_empty() {
            return;
        }
        // Another run begins, and the analysis of the former one is over.
        self.with_deferred(|deferred| deferred.update_helpers);
        // The state takes the words that were understood, without requesting the same run again.
        episode.requested.update_value(|requested| {
            if let Some(requested) = requested {
                requested.apply_episode(&played);
            }
        });
        let mut state = self.state.get_untracked();
        if is_main {
            state.apply_episode(&played);
        } else {
            state.versus.clone_from(&played.player);
        }
        if self.state.with_untracked(|old| *old != state) {
            self.history_entry.set_value(state.history_entry());
            self.state.set(state);
        }
    }

    pub(super) fn cache_world(&self, world: &str, change: impl FnOnce(&mut CachedWorld)) {
        self.cached_worlds.update_value(|all| {
            let found = all.iter().position(|cached| cached.world == world);
            let place = found.unwrap_or_else(|| {
                all.push(CachedWorld {
                    world: world.to_owned(),
                    ..CachedWorld::default()
                });
                all.len() - 1
            });
            change(&mut all[place]);
        });
    }

    /// Drops what belongs to a world that is left, and ends its runs.
    pub(super) fn leave_world(&self, left: &str) {
        for episode in [self.main, self.versus] {
            let run = episode.run.get_value();
            if run != 0 {
                let stop = Request::Stop { run };
                self.engines.update_value(|engines| {
                    engines.send_running(left, |role| role == Role::Play, &stop);
                });
            }
        }
        self.forget_means();
        self.main.clear();
        self.versus.clear();
        self.failure.set(String::new());
        self.engines
            .update_value(|engines| engines.stop_all(Role::is_divided));
        self.checkpoints.set(None);
        self.files.evaluation.set(None);
        self.tournament.set(Tournament::default());
        self.leave_own_play();
        self.composer
            .draft
            .set(crate::draft_action::DraftAction::default());
    }
}
