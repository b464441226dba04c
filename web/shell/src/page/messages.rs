//! What the page does with the messages of engines, and when its world changes.

use super::*;

impl Page {
    pub(super) fn enter_world(&self, world: &str) {
        let known = self
            .known
            .with_value(|all| all.iter().find(|k| k.world == world).cloned());
        let known = known.unwrap_or_default();
        if known.info.is_none() {
            self.send(Role::Play, &Request::Describe);
        }
        self.info.set(known.info);
        self.replays.set(known.replays);
    }

    /// Takes in a message of an engine.
    pub(super) fn hear(&self, world: &str, role: Role, event: Event) {
        let here = self.view.with_untracked(|view| view.world == world);
        match event {
            Event::Ready => {}
            Event::Reply(reply) => self.hear_reply(world, here, *reply),
            Event::Failed(sentence) => {
                self.engines
                    .update_value(|engines| engines.stop(world, role));
                if here && role == Role::Play {
                    self.playing.set(false);
                    self.failure.set(sentence);
                } else if here {
                    self.tournament
                        .update(|tournament| tournament.stopped = true);
                    self.tell(sentence);
                }
            }
        }
    }

    pub(super) fn hear_reply(&self, world: &str, here: bool, reply: Reply) {
        match reply {
            Reply::World(info) => {
                let info = Arc::<WorldInfo>::from(info);
                self.remember(world, |known| known.info = Some(info.clone()));
                if here {
                    self.info.set(Some(info));
                }
            }
            Reply::Replays(replays) => {
                let replays = Arc::new(replays);
                self.remember(world, |known| known.replays = replays.clone());
                if here {
                    self.replays.set(replays);
                }
            }
            // What was asked for in another world is no longer wanted.
            _ if !here => {}
            Reply::Run(update) => self.hear_run(*update),
            Reply::Truth(update) => {
                let shown = self.view.with_untracked(|view| view.truth);
                if let Some(lane) = self.lane(update.run).filter(|_| shown) {
                    lane.receive_truth(*update);
                }
            }
            Reply::Checked {
                run,
                code,
                label,
                warning,
            } => {
                if run == self.main.run.get_value() {
                    self.composer.checked.set(Checked {
                        code,
                        label,
                        warning,
                    });
                }
            }
            Reply::Standings(standings) => self.tournament.update(|tournament| {
                if tournament.run == standings.run {
                    tournament.standings = Some(standings);
                }
            }),
            Reply::Curves(curves) => {
                self.curves.set(Some(Arc::new(curves)));
                if self.screen() != Screen::Training {
                    // A dropped file.
                    self.view.update(|view| view.screen = Screen::Training);
                }
            }
            Reply::Opened(episode) => self.restart(|view| view.open(&episode)),
            Reply::Problem(sentence) => self.tell(sentence),
            // Answered by the worker's script.
            Reply::Need(_) => {}
        }
    }

    pub(super) fn lane(&self, run: u32) -> Option<Lane> {
        let all = [self.main, self.versus];
        all.into_iter()
            .find(|lane| run != 0 && lane.run.get_value() == run)
    }

    pub(super) fn hear_run(&self, update: sentinel_page_protocol::RunUpdate) {
        let Some(lane) = self.lane(update.run) else {
            return;
        };
        let played = update.episode.clone();
        let is_main = self.main.run.get_value() == update.run;
        if !lane.receive(update) || played.player.is_empty() {
            return;
        }
        // The view takes over what was understood, without asking for the same run again.
        lane.asked.update_value(|asked| {
            if let Some(asked) = asked {
                asked.adopt(&played);
            }
        });
        let mut view = self.view.get_untracked();
        if is_main {
            view.adopt(&played);
        } else {
            view.versus.clone_from(&played.player);
        }
        if self.view.with_untracked(|old| *old != view) {
            self.entry.set_value(view.entry());
            self.view.set(view);
        }
    }
}
