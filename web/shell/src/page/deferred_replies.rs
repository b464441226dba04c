//! Replies to the deferred parts of the page.

use sentinel_page_protocol::{DeferredReply, decode};

use super::*;

/// Prefix of the name of a model that the visitor dropped or trained, as a player.
const MODEL: &str = "model:";

impl Page {
    /// Takes an encoded [`DeferredReply`] of an engine with this role; `here` is `true` for an engine
    /// of the current world.
    pub fn take_reply(self, role: Role, here: bool, reply: &[u8]) {
        let Ok(reply) = decode(reply) else {
            return;
        };
        // The engine that plays an episode has sent everything else.
        if role.is_analysis() && !matches!(reply, DeferredReply::PartialResults { .. }) {
            return;
        }
        let is_file = matches!(
            reply,
            DeferredReply::Exported(_) | DeferredReply::FileProblem(_)
        );
        if role == Role::Learn && is_file {
            self.training.wanted.set(None);
        }
        match reply {
            DeferredReply::Foreign(file) => self.open_foreign(file),
            DeferredReply::FileRead(sentence) => self.note_file(sentence),
            DeferredReply::FileProblem(sentence) => self.report_file(sentence),
            DeferredReply::Exported(file) => self.save_exported(file),
            DeferredReply::FileHandled {
                world,
                name,
                player,
            } => {
                self.engines
                    .update_value(|engines| engines.keep_file(&world, &name, &player));
                if here && player.starts_with(MODEL) {
                    // Scores of an earlier model of this name are not those of this one.
                    self.forget_means();
                    self.leave_own_play();
                }
            }
            DeferredReply::Training(update) => self.handle_training(*update),
            DeferredReply::Part { run, helper, part } => self.send_part(run, helper, part),
            DeferredReply::PartPlayed { run, episodes } => self.handle_part(role, run, episodes),
            DeferredReply::TrainingCheckpoint { run, state } => self.keep_training(run, state),
            DeferredReply::TrainedModel { run, content } => self.handle_trained(run, content),
            DeferredReply::Standings(standings) if role == Role::Rivals => {
                self.handle_rivals(standings);
            }
            // Answers to requests from another world are dropped.
            _ if !here => {}
            DeferredReply::Analysis(update) => {
                // One that was on its way when the visitor ended the analysis is dropped.
                let episode = self.episode_of_run(update.run);
                if let Some(episode) = episode.filter(EpisodeView::is_analysis_requested) {
                    episode.analysis.set(Some(Arc::from(update)));
                    self.update_helpers();
                }
            }
            DeferredReply::TrueAnalysis(update) => {
                let shown = self.state.with_untracked(|state| state.truth);
                let episode = self.episode_of_run(update.run).filter(|_| shown);
                if let Some(episode) = episode.filter(EpisodeView::is_analysis_requested) {
                    if update.is_complete() {
                        episode.truth.is_complete.set_value(true);
                    }
                    episode.truth.analysis.set(Some(Arc::from(update)));
                    self.update_helpers();
                }
            }
            DeferredReply::Standings(standings) => self.handle_standings(standings),
            DeferredReply::PartialResults { run, results } => {
                // Parts of what has ended are dropped, so that they start nothing.
                let episode = self.episode_of_run(run);
                let to = match role {
                    Role::Analysis(_) if episode.is_some_and(|e| e.is_analysis_requested()) => {
                        Role::Play
                    }
                    Role::Tournament(_) if self.tournament.with_untracked(|t| t.run == run) => {
                        Role::Tournament(0)
                    }
                    _ => return,
                };
                self.send(to, &Request::PartialResults { run, results });
            }
            DeferredReply::TrainingLog { name, text } => self.add_run(name, text),
            DeferredReply::RunAdded(name) => self.show_added_run(&name),
            DeferredReply::Records(records) => self.records.set(Some(Arc::from(records))),
            DeferredReply::Checkpoints(panel) => self.checkpoints.set(Some(Arc::from(panel))),
            DeferredReply::Opened(episode) => self.open_played(&episode),
            DeferredReply::Evaluation(evaluation) => {
                self.files.evaluation.set(Some(Arc::new(evaluation)));
            }
        }
    }
}
